//! Connections that continue outside this process: in the kernel's record layer, or in another
//! process.
//!
//! These tests use real sockets and processes. If the machine lacks a feature, a line that begins
//! with `absent:` names it, and its checks are not counted.
//!
//! There is no test harness, because it would count a check that cannot run as passed. This program
//! is also the other process.

#[path = "../exchange/fixtures.rs"]
#[allow(dead_code)]
mod fixtures;
#[cfg(target_os = "linux")]
mod kernel;
#[path = "../exchange/pair.rs"]
#[allow(dead_code)]
mod pair;
#[cfg(unix)]
mod process;

use std::net::{TcpListener, TcpStream};
use std::time::Duration;

/// The result of a group of checks.
enum Outcome {
    /// The number of checks that passed.
    Passed(usize),
    /// The machine lacks this feature.
    Absent(String),
}

type Group = (&'static str, fn() -> Outcome);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    #[cfg(unix)]
    if let [kind, side] = &arguments[..] {
        if kind == process::ARGUMENT {
            return process::run_other_process(side);
        }
    }
    let groups: [Group; 2] = [("kernel_tls", kernel_tls), ("another_process", another_process)];
    let names: Vec<&String> = arguments.iter().filter(|word| !word.starts_with('-')).collect();
    let mut passed = 0;
    for (name, group) in groups {
        if !names.is_empty() && !names.iter().any(|wanted| name.contains(wanted.as_str())) {
            continue;
        }
        if arguments.iter().any(|word| word == "--list") {
            println!("{name}: test");
            continue;
        }
        match group() {
            Outcome::Passed(count) => {
                println!("{name}: {count} checks");
                passed += count;
            }
            Outcome::Absent(what) => println!("absent: {what}"),
        }
    }
    // A check that fails panics before this line.
    println!("test result: ok. {passed} passed; 0 failed; 0 ignored; hand-overs");
}

fn kernel_tls() -> Outcome {
    #[cfg(target_os = "linux")]
    return kernel::all();
    #[cfg(not(target_os = "linux"))]
    Outcome::Absent("kernel TLS, which only Linux has".to_owned())
}

fn another_process() -> Outcome {
    #[cfg(unix)]
    return process::all();
    #[cfg(not(unix))]
    Outcome::Absent("sockets that another process inherits as standard streams".to_owned())
}

/// Two ends of a connection on this machine, with a time limit for all calls.
pub(crate) fn sockets() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (far, _) = listener.accept().unwrap();
    for socket in [&near, &far] {
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        socket.set_write_timeout(Some(Duration::from_secs(60))).unwrap();
    }
    (near, far)
}

//! Connections that go on outside this process: in the kernel's record layer, and in another process.
//!
//! For: real sockets of this machine, real processes. What a machine lacks is named in a line that starts with
//! `absent:`, and is not among the checks that are counted. Must not know: how keys are exported and connections
//! saved; that is tested in `../exchange/`. Next: `kernel.rs`, `process.rs`.
//!
//! Not the usual harness: that one would count a check which could not run as passed, and this program is also
//! the other process.

#[path = "../exchange/identity.rs"]
#[allow(dead_code)]
mod identity;
#[cfg(target_os = "linux")]
mod kernel;
#[path = "../exchange/pair.rs"]
#[allow(dead_code)]
mod pair;
#[cfg(unix)]
mod process;

use std::net::{TcpListener, TcpStream};
use std::time::Duration;

/// What became of a group of checks.
enum Outcome {
    /// So many checks, none of which failed.
    Passed(usize),
    /// The machine lacks this.
    Absent(String),
}

type Group = (&'static str, fn() -> Outcome);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    #[cfg(unix)]
    if let [kind, side] = &arguments[..] {
        if kind == process::ARGUMENT {
            return process::go_on(side);
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
    // A check that fails panics before this.
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
    Outcome::Absent("sockets that are handed to another process as its standard streams".to_owned())
}

/// Two ends of a connection on this machine, on which nothing waits for ever.
pub(crate) fn sockets() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (far, _) = listener.accept().unwrap();
    for socket in [&near, &far] {
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        socket.set_write_timeout(Some(Duration::from_secs(20))).unwrap();
    }
    (near, far)
}

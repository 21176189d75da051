//! A run that is interrupted leaves nothing behind: no process, also none that hears nothing, and no folder.

#![cfg(unix)]

use std::env;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tercel_harness::children::{ENDING, is_ignored};
use tercel_harness::folder::TemporaryFolder;
use tercel_harness::process::Process;

/// Set for the run that is interrupted.
const RUN: &str = "TERCEL_HARNESS_TEST_RUN";

#[test]
fn nothing_stays_behind() {
    if env::var_os(RUN).is_some() {
        return run();
    }
    for signal in ENDING {
        if is_ignored(signal) {
            println!("left out: {signal} is ignored here");
            continue;
        }
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", "nothing_stays_behind", "--nocapture"]).env(RUN, "1");
        let mut run = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(run.stdout.take().unwrap()).lines();
        let told = lines.map(Result::unwrap).find(|line| line.starts_with(STARTED)).unwrap();
        let mut words = told.strip_prefix(STARTED).unwrap().split(' ');
        let folder = words.next_back().unwrap();
        let children: Vec<_> = words.map(|number| Pid::from_raw(number.parse().unwrap())).collect();
        assert_eq!(children.len(), 3);
        assert!(children.iter().all(|child| kill(*child, None).is_ok()));
        assert!(Path::new(folder).is_dir());
        // Not for its group: what its children would make of the signal does not count.
        kill(Pid::from_raw(run.id().try_into().unwrap()), signal).unwrap();
        assert_eq!(run.wait().unwrap().code(), Some(128 + signal as i32));
        for child in children {
            assert_eq!(kill(child, None), Err(Errno::ESRCH), "{signal}: {child} goes on");
        }
        assert!(!Path::new(folder).exists());
    }
}

const STARTED: &str = "started ";

/// One child as it comes, one that is stopped, and one that does not mind the signal.
fn run() {
    let folder = TemporaryFolder::create("tercel-interrupted").unwrap();
    let start = |script: &str| {
        let mut command = Command::new("sh");
        Process::start({
            command.args(["-c", script]);
            command
        })
        .unwrap()
    };
    let plain = start("exec sleep 600");
    let stopped = start("exec sleep 600");
    stopped.signal(Signal::SIGSTOP).unwrap();
    let stubborn = start("trap '' HUP INT TERM; exec sleep 600");
    let numbers = [&plain, &stopped, &stubborn].map(|child| child.id().to_string());
    println!("\n{STARTED}{} {}", numbers.join(" "), folder.path().display());
    // Bounded, should nobody interrupt it.
    std::thread::sleep(Duration::from_secs(60));
}

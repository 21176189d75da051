//! A program that is interrupted leaves no folder behind, and no process, not even one that ignores
//! signals.

#![cfg(unix)]

use std::env;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tercel_harness::children::{TERMINATION_SIGNALS, is_ignored};
use tercel_harness::folder::TemporaryFolder;
use tercel_harness::process::Process;

/// The environment variable that marks the process to be interrupted.
const RUN: &str = "TERCEL_HARNESS_TEST_RUN";

#[test]
fn an_interrupted_run_leaves_nothing_behind() {
    if env::var_os(RUN).is_some() {
        return run();
    }
    for signal in TERMINATION_SIGNALS {
        if is_ignored(signal) {
            println!("skipped: {signal} is ignored here");
            continue;
        }
        let mut command = Command::new(env::current_exe().unwrap());
        command
            .args(["--exact", "an_interrupted_run_leaves_nothing_behind", "--nocapture"])
            .env(RUN, "1");
        let mut run = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(run.stdout.take().unwrap()).lines();
        let report = lines.map(Result::unwrap).find(|line| line.starts_with(STARTED)).unwrap();
        let mut fields = report.strip_prefix(STARTED).unwrap().split(' ');
        let folder = fields.next_back().unwrap();
        let children: Vec<_> =
            fields.map(|number| Pid::from_raw(number.parse().unwrap())).collect();
        assert_eq!(children.len(), 3);
        assert!(children.iter().all(|child| kill(*child, None).is_ok()));
        assert!(Path::new(folder).is_dir());
        // The signal is sent only to the process, not to its process group, so that its children do
        // not receive the signal.
        kill(Pid::from_raw(run.id().try_into().unwrap()), signal).unwrap();
        assert_eq!(run.wait().unwrap().code(), Some(128 + signal as i32));
        for child in children {
            assert_eq!(kill(child, None), Err(Errno::ESRCH), "{signal}: {child} is still running");
        }
        assert!(!Path::new(folder).exists());
    }
}

const STARTED: &str = "started ";

/// Starts a plain child, a stopped child, and a child that ignores the signals.
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
    // The process ends after this time if no signal arrives.
    std::thread::sleep(Duration::from_secs(600));
}

//! How workers are started, and in which order: what `--allocator`, `--pin`, `--seed` and `--minutes`
//! promise. The workers are shell scripts that say what they see of themselves.

#![cfg(target_os = "linux")]
// A test may fail by panicking, also in what several share.
#![allow(clippy::unwrap_used)]

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::{Place, said};
use lab::report::Report;

const ROW: [&str; 2] = ["--rows", "full-13-rsa2048-hybrid"];
const SHORT: [&str; 4] = ["--rounds", "1", "--row-seconds", "0"];

/// A worker that gives what this command prints as its library's version.
fn tells(place: &Place, name: &str, command: &str) {
    let about = r#"{"reply":"about","protocol":1,"library":"x","crypto":"","interface":"","build":"","version":"'"#;
    place.fake(
        name,
        1000,
        &format!("*'\"do\":\"hello\"'*) echo '{about}\"$({command})\"'\"}}' ;;"),
    );
}

fn version(report: &Report) -> &str {
    report.peers[0].about.as_ref().map_or("", |about| about.version.as_str())
}

/// A library that can be preloaded, if there is a C compiler.
fn library(place: &Place) -> PathBuf {
    fs::create_dir_all(place.out()).unwrap();
    let library = std::path::absolute(place.out().join("liballocator-of-a-test.so")).unwrap();
    let mut command = Command::new("cc");
    command.args(["-shared", "-fPIC", "-x", "c", "/dev/null", "-o"]).arg(&library);
    assert!(command.stdin(Stdio::null()).status().unwrap().success());
    library
}

fn with_allocator(place: &Place, library: &Path) -> std::process::Output {
    // `--allocator system` comes first and would be a second one.
    let mut command = common::lab();
    command.arg("run").arg("--workers").arg(place.workers()).arg("--out").arg(place.out());
    command.arg("--allocator").arg(library).args(["--measure-ms", "8"]).args(ROW).args(SHORT);
    command.output().unwrap()
}

#[test]
fn the_allocator_is_loaded_into_every_worker() {
    let place = Place::new("preload");
    tells(&place, "a", "grep -c liballocator-of-a-test /proc/self/maps");
    let library = library(&place);
    let output = with_allocator(&place, &library);
    assert!(output.status.success(), "{}", said(&output));
    let report = place.report();
    assert_eq!(report.settings.allocator, library.display().to_string());
    assert!(version(&report).parse::<u32>().unwrap() > 0, "{}", version(&report));
}

#[test]
fn an_allocator_that_is_not_there_is_one_clear_line() {
    let place = Place::new("no-allocator");
    place.fake("a", 1000, "");
    let output = with_allocator(&place, Path::new("/nowhere/liballocator.so"));
    assert!(!output.status.success());
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(text, "error: --allocator: there is no file /nowhere/liballocator.so\n");
    // A file that cannot be loaded is found out by looking at the worker.
    let no_library = place.workers().join("a/worker.toml");
    let output = with_allocator(&place, &no_library);
    assert!(!output.status.success());
    assert!(said(&output).contains("worker.toml was not loaded into it"), "{}", said(&output));
}

#[test]
fn a_pinned_worker_has_one_cpu() {
    let allowed = "sed -n s/^Cpus_allowed_list:.//p /proc/self/status";
    let own = Command::new("sh").arg("-c").arg(allowed).output().unwrap().stdout;
    let own = String::from_utf8(own).unwrap();
    let last = own.trim().rsplit([',', '-']).next().unwrap();
    let place = Place::new("pin");
    tells(&place, "a", allowed);
    let output = place.run(&[&ROW[..], &SHORT, &["--pin", last]].concat());
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(version(&place.report()), last);
    assert_eq!(place.report().settings.pin.unwrap().to_string(), last);
    let output = place.run(&[&ROW[..], &SHORT, &["--pin", "4000"]].concat());
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(text, "error: --pin 4000: there is no such CPU, or it is not for us\n");
}

/// In which order three workers were measured in six rounds.
fn order(place: &Place, seed: &str) -> String {
    let log = std::path::absolute(place.out().join("order")).unwrap();
    let _ = fs::remove_file(&log);
    for name in ["a", "b", "c"] {
        let note = format!("echo {name} >> '{}'; echo '{{\"reply\":\"ready\"}}'", log.display());
        place.fake(name, 1000, &format!("*'\"do\":\"prepare\"'*) {note} ;;"));
    }
    let rounds = ["--rounds", "6", "--row-seconds", "0", "--seed", seed];
    let output = place.run(&[&ROW[..], &rounds].concat());
    assert!(output.status.success(), "{}", said(&output));
    fs::read_to_string(log).unwrap().replace('\n', "")
}

#[test]
fn a_seed_repeats_the_order_of_peers() {
    let place = Place::new("seed");
    let first = order(&place, "7");
    assert_eq!(first.len(), 18, "{first}");
    assert_eq!(first, order(&place, "7"));
    assert_ne!(first, order(&place, "8"));
    // Each round is a shuffle of all three.
    for round in first.as_bytes().chunks(3) {
        let mut round = round.to_vec();
        round.sort_unstable();
        assert_eq!(round, b"abc");
    }
}

#[test]
fn the_fewest_rounds_are_made_however_little_time_there_is() {
    let place = Place::new("minutes");
    place.fake("a", 1000, "");
    place.fake("b", 1000, "");
    let mut command = common::lab();
    command.arg("run").arg("--workers").arg(place.workers()).arg("--out").arg(place.out());
    command.args(["--allocator", "system", "--full", "--minutes", "0.01"]).args(ROW);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let report = place.report();
    assert_eq!(report.rows[0].rounds, 15);
    assert_eq!((report.settings.measure_ms, report.settings.minutes), (40, Some(0.01)));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("that is more than was asked for"), "{text}");
}

//! Start options and order of workers: `--allocator`, `--pin`, `--seed` and `--minutes`. The
//! workers are shell scripts that report their environment.

#![cfg(target_os = "linux")]
// A test may fail by panicking, also in shared code.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::{Place, said};
use lab::report::Report;
use lab_scenario::rows;

const ROW: [&str; 2] = ["--rows", "full-13-rsa2048-hybrid"];
const SHORT: [&str; 4] = ["--rounds", "1", "--row-seconds", "0"];

/// Adds a worker that reports the output of a command as its library's version.
fn reports(place: &Place, name: &str, command: &str) {
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

/// Compiles a library for preloading, if there is a C compiler.
fn library(place: &Place) -> PathBuf {
    fs::create_dir_all(place.out()).unwrap();
    let library = std::path::absolute(place.out().join("liballocator-of-a-test.so")).unwrap();
    let mut command = Command::new("cc");
    command.args(["-shared", "-fPIC", "-x", "c", "/dev/null", "-o"]).arg(&library);
    assert!(command.stdin(Stdio::null()).status().unwrap().success());
    library
}

fn with_allocator(place: &Place, library: &Path) -> std::process::Output {
    // The common arguments contain `--allocator system`, and a second one would be an error.
    let mut command = common::lab();
    command.arg("run").arg("--workers").arg(place.workers()).arg("--out").arg(place.out());
    command.arg("--allocator").arg(library).args(["--measure-ms", "8"]).args(ROW).args(SHORT);
    command.output().unwrap()
}

#[test]
fn the_allocator_is_loaded_into_every_worker() {
    let place = Place::new("preload");
    reports(&place, "a", "grep -c liballocator-of-a-test /proc/self/maps");
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
    assert_eq!(text, "error: --allocator: no such file: /nowhere/liballocator.so\n");
    // A file that cannot be preloaded is detected in the worker's process.
    let no_library = place.workers().join("a/worker.toml");
    let output = with_allocator(&place, &no_library);
    assert!(!output.status.success());
    assert!(
        said(&output).contains("worker.toml is not loaded in the worker process"),
        "{}",
        said(&output)
    );
}

#[test]
fn a_pinned_worker_has_one_cpu() {
    let allowed = "sed -n s/^Cpus_allowed_list:.//p /proc/self/status";
    let own = Command::new("sh").arg("-c").arg(allowed).output().unwrap().stdout;
    let own = String::from_utf8(own).unwrap();
    let last = own.trim().rsplit([',', '-']).next().unwrap();
    let place = Place::new("pin");
    reports(&place, "a", allowed);
    let output = place.run(&[&ROW[..], &SHORT, &["--pin", last]].concat());
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(version(&place.report()), last);
    assert_eq!(place.report().settings.pin.unwrap().to_string(), last);
    let output = place.run(&[&ROW[..], &SHORT, &["--pin", "4000"]].concat());
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(text, "error: --pin 4000: no such CPU, or not allowed\n");
}

/// The order in which three workers were measured in six rounds.
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
    // Each round contains all three workers.
    for round in first.as_bytes().chunks(3) {
        let mut round = round.to_vec();
        round.sort_unstable();
        assert_eq!(round, b"abc");
    }
}

/// The input of two workers in six rounds: name, checksums of certificate and keys, placement.
fn given(place: &Place, row: &str, seed: &str) -> Vec<[String; 5]> {
    let log = std::path::absolute(place.out().join("given")).unwrap();
    let sides = rows::all().into_iter().find(|each| each.id == row).unwrap().sides();
    let _ = fs::remove_file(&log);
    for name in ["a", "b"] {
        let note = format!(
            r#"files=${{line#*'"files":"'}}; files=${{files%%'"'*}}
      placement=${{line##*'"placement":'}}; placement=${{placement%%\}}*}}
      # The counter of memory rows is for the worker alone.
      unset LD_PRELOAD; sums=
      for file in server.pem server.key root.pem; do sums="$sums $(cat "$files"/*/$file | cksum | tr ' ' -)"; done
      echo "{name}$sums $placement" >> '{}'; echo '{{"reply":"ready"}}'"#,
            log.display()
        );
        let sides: Vec<_> = sides.iter().map(|side| format!("\"{side}\":1000")).collect();
        let measured = format!(
            r#"{{"reply":"measured","repetitions":1,"sides":{{{}}},"parts":{{}},"done":{{}}}}"#,
            sides.join(",")
        );
        let arms = format!(
            "*'\"do\":\"prepare\"'*) {note} ;;\n*'\"do\":\"measure\"'*) echo '{measured}' ;;"
        );
        place.fake(name, 1000, &arms);
    }
    let rounds = ["--rounds", "6", "--row-seconds", "0", "--rows", row];
    let seed = if seed.is_empty() { vec![] } else { vec!["--seed", seed] };
    let output = place.run(&[&rounds[..], &seed].concat());
    assert!(output.status.success(), "{}", said(&output));
    let text = fs::read_to_string(log).unwrap();
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let turns: Vec<[String; 5]> =
        text.lines().map(|line| words(line).try_into().unwrap()).collect();
    // The checksum and the length; an empty file would give 4294967295-0.
    assert!(
        turns
            .iter()
            .flat_map(|turn| &turn[1..4])
            .all(|sum| !sum.ends_with("-0") && sum.contains('-'))
    );
    turns
}

#[test]
fn each_round_has_other_keys_the_same_for_all_peers_and_a_seed_repeats_them() {
    let place = Place::new("material");
    let all = given(&place, "full-13-rsa2048-hybrid", "7");
    assert_eq!(all.len(), 12);
    for turn in all.chunks_exact(2) {
        let [one, other] = turn else { panic!("{turn:?}") };
        assert_ne!(one[0], other[0]);
        assert_eq!(one[1..4], other[1..4]);
    }
    let distinct = |all: &[[String; 5]], field: usize| -> BTreeSet<String> {
        all.iter().map(|turn| turn[field].clone()).collect()
    };
    for file in 1..4 {
        assert_eq!(distinct(&all, file).len(), 6, "{all:?}");
    }
    // Every process has a different placement, even within a round.
    assert_eq!(distinct(&all, 4).len(), 12, "{all:?}");
    assert!(all.iter().all(|turn| turn[4].parse::<u64>().unwrap() < 1 << 32));

    assert_eq!(given(&place, "full-13-rsa2048-hybrid", "7"), all);
    let other = given(&place, "full-13-rsa2048-hybrid", "8");
    // Without `--seed` the seed is random, and the report contains it.
    let unasked = given(&place, "full-13-rsa2048-hybrid", "");
    let seed = place.report().settings.seed;
    for field in 1..5 {
        assert!(distinct(&other, field).is_disjoint(&distinct(&all, field)));
        assert!(distinct(&unasked, field).is_disjoint(&distinct(&all, field)));
    }
    assert_eq!(given(&place, "full-13-rsa2048-hybrid", &seed.to_string()), unasked);
}

#[test]
fn what_is_counted_draws_nothing() {
    let place = Place::new("counted-material");
    let all = given(&place, "memory-13-rsa2048", "7");
    // Five rounds are enough for counts.
    assert_eq!(all.len(), 10);
    for turn in &all {
        assert_eq!(turn[1..4], all[0][1..4]);
        assert!(turn[4].parse::<u64>().is_err(), "{turn:?}");
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
    assert!(text.contains("this exceeds --minutes"), "{text}");
}

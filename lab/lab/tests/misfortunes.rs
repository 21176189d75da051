//! Failures of workers, which must not affect other workers. The workers are shell scripts, which
//! also proves that the protocol needs no library.

#![cfg(unix)]

mod common;

use std::process::Stdio;
use std::time::{Duration, Instant};

use common::{Place, lab, said};
use lab::report::Report;
use lab::statistics::Verdict;

const TWO_ROWS: [&str; 2] = ["--rows", "full-13-rsa2048-hybrid,full-13-ecdsa-p256-hybrid"];

#[test]
fn a_faster_peer_is_ahead_and_the_same_one_twice_is_a_tie() {
    let place = Place::new("ahead");
    place.fake("slow", 2000, "");
    place.fake("fast", 1000, "");
    let output = place.run(&[
        "--rounds",
        "5",
        "--rows",
        "full-13-rsa2048-hybrid",
        "--peers",
        "slow,fast,fast@2",
    ]);
    assert!(output.status.success(), "{}", said(&output));
    let report = place.report();
    let side = &report.rows[0].sides[0];
    let verdicts: Vec<_> = side
        .peers
        .iter()
        .map(|figure| (figure.peer.as_str(), figure.speed.as_ref().unwrap().verdict))
        .collect();
    assert_eq!(
        verdicts,
        [("slow", Verdict::Behind), ("fast", Verdict::Tie), ("fast@2", Verdict::Tie)]
    );
    assert_eq!(report.rows[0].rounds, 5);
    assert_eq!(report.label("fast@2"), "The library fast@2");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("slow 500000/s behind 0.500"), "{text}");
    let page = std::fs::read_to_string(place.out().join("report.html")).unwrap();
    assert!(page.contains("<td class=\"behind\" title=\"behind, against The library fast: 0.500–0.500\">▼ 0.50</td>"), "{page}");
    assert!(page.contains("aria-label=\"1000000/s\""), "{page}");
    // The page is self-contained.
    assert!(!page.contains("http") && !page.contains("src="), "{page}");
}

#[test]
fn a_worker_that_cannot_be_built_is_reported_and_left_out() {
    let place = Place::new("unbuilt");
    place.fake("good", 1000, "");
    place.manifest(
        "broken",
        "build = [\"sh\", \"-c\", \"echo cmake is missing >&2; exit 3\"]\nprogram = \"x\"\nneeds = \"cmake\"",
    );
    place.manifest("mute", "build = [\"true\"]\nprogram = \"/bin/true\"");
    let output = place.run(&["--rounds", "1", "--row-seconds", "0", TWO_ROWS[0], TWO_ROWS[1]]);
    assert!(output.status.success(), "{}", said(&output));
    let report = place.report();
    assert_eq!(report.rows.len(), 2);
    assert!(report.rows.iter().all(|row| row.sides[0].peers.len() == 1));
    let failure = |name: &str| {
        let peer = report.peers.iter().find(|peer| peer.name == name).unwrap();
        peer.failure.clone().unwrap_or_default()
    };
    assert!(failure("broken").contains("cmake is missing"), "{}", failure("broken"));
    assert!(failure("mute").contains("worker exited"), "{}", failure("mute"));
    assert_eq!(failure("good"), "");
    assert!(said(&output).contains("broken requires cmake"));
}

#[test]
fn a_worker_that_crashes_hangs_or_does_something_else_loses_that_row_only() {
    let place = Place::new("lost");
    place.fake("good", 1000, "");
    let in_one_row = |action: &str| format!("*'\"do\":\"prepare\"'*full-13-rsa2048*) {action} ;;");
    place.fake("crash", 1000, &in_one_row("echo out of luck >&2; kill -9 $$"));
    place.fake("hang", 1000, &in_one_row("exec sleep 600"));
    place.fake("babble", 1000, &in_one_row("echo hello"));
    place.fake(
        "wrong",
        1000,
        &in_one_row("echo '{\"reply\":\"failed\",\"why\":\"client: the group is X25519\"}'"),
    );
    place.fake(
        "unable",
        1000,
        &in_one_row("echo '{\"reply\":\"cannot\",\"why\":\"no such group\"}'"),
    );
    let output = place.run(&[
        "--rounds",
        "2",
        "--row-seconds",
        "0",
        "--time-limit",
        "5",
        TWO_ROWS[0],
        TWO_ROWS[1],
    ]);
    assert!(output.status.success(), "{}", said(&output));
    let report = place.report();
    let [lost, kept] = &report.rows[..] else { panic!("{} rows", report.rows.len()) };
    let why = |name: &str| lost.failures.get(name).map_or("", String::as_str);
    assert!(why("crash").contains("out of luck"), "{}", why("crash"));
    assert!(why("hang").contains("no reply within"), "{}", why("hang"));
    assert!(why("babble").contains("invalid reply: hello"), "{}", why("babble"));
    assert!(why("wrong").contains("the group is X25519"), "{}", why("wrong"));
    assert_eq!(lost.failures.len(), 4, "{:?}", lost.failures);
    assert_eq!(lost.unable.get("unable").map(String::as_str), Some("no such group"));
    assert_eq!(lost.sides[0].peers.len(), 1);
    assert!(kept.failures.is_empty() && kept.unable.is_empty(), "{:?}", kept.failures);
    assert_eq!(kept.sides[0].peers.len(), 6);
}

#[test]
fn what_was_measured_outlives_an_interrupt_and_is_taken_up() {
    let place = Place::new("interrupt");
    // The second row takes longer than the test, which kills `lab run` during that row. `exec`
    // replaces the shell, so that no other process remains.
    let forever = "*'\"do\":\"prepare\"'*full-13-ecdsa*) exec sleep 90 ;;";
    place.fake("a", 1000, forever);
    let arguments = ["--rounds", "1", "--row-seconds", "0", TWO_ROWS[0], TWO_ROWS[1]];
    let mut run = place.command(&arguments).stderr(Stdio::null()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    let file = place.out().join("report.json");
    while !file.exists() {
        assert!(Instant::now() < deadline, "no report after a minute");
        std::thread::sleep(Duration::from_millis(50));
    }
    run.kill().unwrap();
    run.wait().unwrap();
    let kept = place.report();
    assert_eq!(kept.rows.len(), 1);

    // A run with other settings cannot be resumed.
    let mut other = arguments.to_vec();
    other.extend(["--resume", "--seed", "2"]);
    let output = place.run(&other);
    assert!(!output.status.success());
    assert!(said(&output).contains("other settings"), "{}", said(&output));
    assert_eq!(place.report(), kept);

    place.fake("a", 1000, "");
    let mut same = arguments.to_vec();
    same.push("--resume");
    let output = place.run(&same);
    assert!(output.status.success(), "{}", said(&output));
    let report = place.report();
    assert_eq!(report.rows.len(), 2);
    assert_eq!(report.rows[0], kept.rows[0]);
    assert_eq!(report.started, kept.started);
}

#[test]
fn a_report_of_another_schema_is_refused() {
    let place = Place::new("schema");
    let path = place.out().join("report.json");
    std::fs::create_dir_all(place.out()).unwrap();
    std::fs::write(&path, "{\"schema\": 99}").unwrap();
    let error = Report::read(&path).unwrap_err().to_string();
    assert!(error.contains("schema Some(99)"), "{error}");
}

#[test]
fn two_reports_are_compared() {
    let place = Place::new("compare");
    let arguments = ["--rounds", "5", "--rows", "full-13-rsa2048-hybrid", "--peers", "a,b"];
    place.fake("a", 1000, "");
    place.fake("b", 1000, "");
    assert!(place.run(&arguments).status.success());
    let (old, new) = (place.out().join("old.json"), place.out().join("report.json"));
    std::fs::rename(&new, &old).unwrap();
    place.fake("a", 500, "");
    assert!(place.run(&arguments).status.success());
    let output = lab().arg("compare").args([&old, &new]).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find(|line| line.contains("client") && line.contains(" a ")).unwrap();
    assert!(
        line.contains("tie 1.000 [1.000, 1.000] against b -> ahead 2.000 [2.000, 2.000] against b"),
        "{line}"
    );
    assert!(line.contains("time -50.0 %"), "{line}");
}

#[test]
fn a_peer_asked_for_by_a_wrong_name_ends_the_run() {
    let place = Place::new("names");
    place.fake("a", 1000, "");
    let output = place.run(&["--peers", "a,nobody"]);
    assert!(said(&output).contains("unknown worker \"nobody\"; available: a"), "{}", said(&output));
    let output = place.run(&["--peers", "a,a"]);
    assert!(said(&output).contains("a@2"), "{}", said(&output));
}

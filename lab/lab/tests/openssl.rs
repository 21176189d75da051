//! `lab openssl`: results and failures of workers. The workers are shell scripts, except in the
//! last test.

#![cfg(unix)]
// A test may fail by panicking, also in shared code.
#![allow(clippy::unwrap_used)]

mod common;

use std::fs;
use std::process::Output;

use common::{Place, lab, said};
use lab::series::report::{NoFigure, SeriesReport};

/// Adds a fake worker for a release. It reports `nanoseconds` for every figure. Its shell script
/// matches the `case` arms in `arms` first.
fn release(place: &Place, series: &str, version: &str, nanoseconds: u32, arms: &str) {
    let sides = ["connection", "block", "key generation", "encapsulation", "decapsulation"];
    let sides: Vec<_> = sides
        .into_iter()
        .chain(["sign", "verify", "agreement"])
        .map(|side| format!("\"{side}\":{nanoseconds}"))
        .collect();
    let arms = format!(
        r#"{arms}
    *'"do":"hello"'*) echo '{{"reply":"about","protocol":1,"library":"OpenSSL","version":"{version}","crypto":"","interface":"sh","build":"cc -O9"}}' ;;
    *'"do":"measure"'*) echo '{{"reply":"measured","repetitions":1,"sides":{{{}}},"parts":{{}},"done":{{}}}}' ;;"#,
        sides.join(",")
    );
    place.fake(&format!("openssl-{series}"), nanoseconds, &arms);
}

fn run(place: &Place, arguments: &[&str]) -> Output {
    let mut command = lab();
    command.args(["openssl", "--allocator", "system", "--measure-ms", "1", "--threads", "2"]);
    command.arg("--series").arg(place.workers()).arg("--out").arg(place.out());
    command.args(arguments).output().unwrap()
}

fn report(place: &Place) -> SeriesReport {
    SeriesReport::read(&place.out().join("openssl.json")).unwrap()
}

#[test]
fn releases_are_held_against_the_first_and_one_that_cannot_be_built_is_left_out() {
    let place = Place::new("series");
    release(&place, "1.1.1", "1.1.1w  11 Sep 2023", 1000, "");
    let arms = r#"    *'"do":"prepare"'*ml-kem*) echo '{"reply":"cannot","why":"it has no ML-KEM"}' ;;
    *'"do":"prepare"'*agreement*p521*) echo out of luck >&2; exit 1 ;;"#;
    release(&place, "3.0", "3.0.8 7 Feb 2023", 2000, arms);
    place.manifest(
        "openssl-3.5",
        "build = [\"sh\", \"-c\", \"echo perl is missing >&2; exit 3\"]\nprogram = \"x\"\nneeds = \"perl\"",
    );
    let output = run(&place, &[]);
    assert!(output.status.success(), "{}", said(&output));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("unavailable: build failed with exit status: 3"), "{text}");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("new resumed 1.1.1w 1,000,000 ± 0.0 1,000,000 ± 0.0 3.0.8"), "{text}");
    assert!(
        words.contains("3.0.8 500,000 ± 0.0 -50.0 % 500,000 ± 0.0 -50.0 % Throughput"),
        "{text}"
    );
    assert!(said(&output).contains("openssl-3.5 requires perl"));

    let report = report(&place);
    assert_eq!((report.releases.len(), report.others.len()), (3, 3));
    let lost: Vec<_> = report.figures.iter().filter(|figure| figure.lost.is_some()).collect();
    let [failed, unable] = &lost[..] else { panic!("{lost:?}") };
    let (Some(NoFigure::Unable(unable)), Some(NoFigure::Failed(failed))) =
        (&failed.lost, &unable.lost)
    else {
        panic!("{lost:?}")
    };
    assert_eq!(unable, "it has no ML-KEM");
    assert!(failed.contains("out of luck"), "{failed}");
    let measured = report.figures.iter().filter(|figure| figure.lost.is_none());
    assert!(measured.clone().count() > 80);
    for figure in measured {
        assert_eq!(figure.runs(), 3, "{figure:?}");
    }

    let page = fs::read_to_string(place.out().join("openssl.html")).unwrap();
    assert!(page.contains("<td>3.5</td>") && page.contains("unavailable<pre>"), "{page}");
    assert!(page.contains("<td class=\"failed\">failed</td>"), "{page}");
    assert!(page.contains("aria-label=\"500,000 ± 0.0 -50.0 %\""), "{page}");
    assert!(!page.contains("NaN"), "a figure of nothing");
    // The page is self-contained.
    assert!(!page.contains("http") && !page.contains("src="), "{page}");
}

#[test]
fn an_interrupted_run_goes_on_with_what_is_missing() {
    let place = Place::new("series-resume");
    release(&place, "3.0", "3.0.8 7 Feb 2023", 1000, "");
    assert!(run(&place, &[]).status.success());
    let whole = report(&place);
    let mut kept = whole.clone();
    kept.others.pop();
    let last = kept.figures.len() - 1;
    kept.figures[last].sides.values_mut().for_each(|times| _ = times.pop());
    kept.write(&place.out().join("openssl.json")).unwrap();

    // A run with other settings cannot be resumed.
    let output = run(&place, &["--resume", "--runs", "4"]);
    assert!(said(&output).contains("other settings"), "{}", said(&output));
    assert_eq!(report(&place), kept);

    release(&place, "3.0", "3.0.8 7 Feb 2023", 500, "");
    let output = run(&place, &["--resume"]);
    assert!(output.status.success(), "{}", said(&output));
    let resumed = report(&place);
    assert_eq!((resumed.others.len(), resumed.started), (3, whole.started));
    assert_eq!(resumed.figures[..last], whole.figures[..last]);
    for times in resumed.figures[last].sides.values() {
        assert_eq!(*times, [1000.0, 1000.0, 500.0]);
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let place = Place::new("series-refused");
    release(&place, "3.0", "3.0.8 7 Feb 2023", 1000, "");
    let output = run(&place, &["--versions", "3.0,2.9"]);
    assert!(said(&output).contains("unknown worker \"openssl-2.9\""), "{}", said(&output));
    let output = run(&place, &["--runs", "2"]);
    assert!(said(&output).contains("at least 3"), "{}", said(&output));
    fs::create_dir_all(place.out()).unwrap();
    fs::write(place.out().join("openssl.json"), "{\"schema\": 99}").unwrap();
    let output = run(&place, &["--resume"]);
    assert!(said(&output).contains("schema Some(99)"), "{}", said(&output));
}

#[test]
#[ignore = "builds nine releases of OpenSSL"]
fn every_release_answers_every_table() {
    let place = Place::new("series-all");
    let output = lab()
        .args(["openssl", "--allocator", "system", "--measure-ms", "8", "--threads", "2", "--out"])
        .arg(place.out())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let report = report(&place);
    assert_eq!(report.releases.len(), 9);
    for release in &report.releases {
        let version = &release.about.as_ref().unwrap().version;
        let series = release.name.strip_prefix("openssl-").unwrap();
        assert!(version.starts_with(series), "{series}: {version}");
    }
    for figure in &report.figures {
        let (release, id) = (figure.release.as_str(), figure.id.as_str());
        let old = ["openssl-1.1.1", "openssl-3.0", "openssl-3.1", "openssl-3.2", "openssl-3.3"];
        let no_ml_kem = old.contains(&release) || release == "openssl-3.4";
        let unable = (id == "ML-KEM-768" && no_ml_kem)
            || (id.ends_with(" tuned") && release == "openssl-1.1.1");
        assert_eq!(figure.lost.is_some(), unable, "{release}, {id}: {:?}", figure.lost);
        assert!(unable || figure.runs() == 3, "{release}, {id}");
        let Some(group) = figure.done.get("group") else { continue };
        let hybrid = id.starts_with("TLS 1.3") && id.contains("any group") && !no_ml_kem;
        let expected = match (hybrid, id.contains("TLS 1.2 resumed") || id.contains(" AES256")) {
            (true, _) => "X25519MLKEM768",
            (_, true) => "none",
            _ => "X25519",
        };
        assert_eq!(group, expected, "{release}, {id}");
    }
}

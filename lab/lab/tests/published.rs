//! Published accounting in reports, with fake workers.

// A test may fail by panicking.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Place, said};
use lab_scenario::Accounting;

#[test]
fn a_report_says_its_accounting_and_has_the_published_table() {
    let place = Place::new("published-table");
    // 100,000 ns are 10,000 operations per second, and for writes of 1 MiB 10,000 MB/s.
    place.fake_that_follows("\"rustls-bench\"", "rustls", 100_000, "");
    place.fake_that_follows("\"openssl-bench\"", "boringssl", 200_000, "");
    place.fake("other", 1, "");
    let rows = "bulk-13-aes256,resumed-12-stateful";
    let few = ["--rounds", "1", "--row-seconds", "0", "--rows", rows];
    let output = place.run(&[&["--accounting", "published"], &few[..]].concat());
    assert!(output.status.success(), "{}", said(&output));
    let text = String::from_utf8_lossy(&output.stdout);
    for part in [
        "PUBLISHED ACCOUNTING",
        "The library boringssl like openssl-bench; The library rustls like rustls-bench",
        "| MB/s, handshakes/s | The library boringssl | The library rustls |",
        "| transfer, 1.3, aes-256-gcm, sending | 5000.00 | 10000.00 |",
        "| resumed handshakes, 1.2, by id, client | 5000.00 | 10000.00 |",
        "other does not support this: no program of its own has published figures",
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    let report = place.report();
    assert_eq!(report.settings.accounting, Accounting::Published);
    assert!(report.rows.iter().all(|row| row.row.accounting == Accounting::Published));
    let page = std::fs::read_to_string(place.out().join("report.html")).unwrap();
    assert!(page.contains("PUBLISHED ACCOUNTING</h1>") && page.contains("<td>10000.00</td>"));
}

#[test]
fn neutral_is_the_default_and_no_run_goes_on_in_another_accounting() {
    let place = Place::new("published-resume");
    place.fake_that_follows("\"rustls-bench\"", "rustls", 100_000, "");
    let few = ["--rounds", "1", "--row-seconds", "0", "--rows", "bulk-13-aes256"];
    let output = place.run(&few);
    assert!(output.status.success(), "{}", said(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains("NEUTRAL ACCOUNTING"));
    assert_eq!(place.report().settings.accounting, Accounting::Neutral);
    let output = place.run(&[&["--accounting", "published", "--resume"], &few[..]].concat());
    assert!(!output.status.success(), "{}", said(&output));
}

#[test]
fn rows_that_no_program_has_are_not_in_published_accounting() {
    let place = Place::new("published-rows");
    place.fake_that_follows("\"rustls-bench\"", "rustls", 100_000, "");
    let output = place.run(&["--accounting", "published", "--rows", "write-16"]);
    assert!(!output.status.success(), "{}", said(&output));
    assert!(said(&output).contains("in published accounting"), "{}", said(&output));
}

//! The workers that are built here, through every row: each must do what is asked, or the row fails.
//! Times mean nothing in this test.

mod common;

use common::{Place, lab, said};
use lab_scenario::{Task, rows};

#[test]
fn every_worker_does_every_row_as_asked() {
    let place = Place::new("every-row");
    let workers = concat!(env!("CARGO_MANIFEST_DIR"), "/../workers");
    let output = lab()
        .args([
            "run",
            "--profile",
            "dev",
            "--peers",
            "tercel,rustls,rustls-unbuffered,floor",
            "--allocator",
            "system",
        ])
        .args(["--rounds", "1", "--measure-ms", "8", "--row-seconds", "0", "--workers", workers])
        .arg("--out")
        .arg(place.out())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let report = place.report();
    for peer in &report.peers {
        assert_eq!(peer.failure, None);
        assert!(peer.about.as_ref().unwrap().crypto.contains("aws-lc-sys 0."), "{peer:?}");
    }
    let all = rows::all();
    assert_eq!(
        report.rows.iter().map(|row| &row.row).collect::<Vec<_>>(),
        all.iter().collect::<Vec<_>>()
    );
    for row in &report.rows {
        assert!(row.failures.is_empty(), "{}: {:?}", row.row.id, row.failures);
        let unable: Vec<_> = row.unable.keys().collect();
        let expected: &[&str] = match row.row.task {
            Task::SetUp => &["floor"],
            _ if row.row.early_data > 0 => &["rustls-unbuffered"],
            _ => &[],
        };
        assert_eq!(unable, expected, "{}", row.row.id);
        for peer in ["tercel", "rustls", "rustls-unbuffered"] {
            if expected.contains(&peer) {
                continue;
            }
            let done = &row.done[peer];
            assert_eq!(done["suite"], row.row.suite.name(), "{}", row.row.id);
            if row.row.task != Task::Bulk {
                let kind = if row.row.resumption.is_some() { "resumed" } else { "full" };
                assert_eq!(done["kind"], kind, "{}", row.row.id);
                assert_eq!(done["early data"], row.row.early_data.to_string(), "{}", row.row.id);
            }
        }
        for side in &row.sides {
            assert!(side.peers.iter().all(|figure| figure.nanoseconds > 0.0), "{}", row.row.id);
        }
    }
}

#[test]
fn the_floor_names_its_calls() {
    let output =
        lab().args(["list", "--floor", "full-13-rsa2048-hybrid", "--profile", "dev"]).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let text = String::from_utf8_lossy(&output.stdout);
    for call in ["1 x ML-KEM-768 decapsulation", "4 x record key", "1 x handshake signature"] {
        assert!(text.contains(call), "{call} is not in {text}");
    }
}

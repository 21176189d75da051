//! Instruction counts, if callgrind is installed: counts are reproducible, and each has a purpose.

// A test may fail by panicking, also in shared code.
#![allow(clippy::unwrap_used)]

mod common;

use std::process::{Command, Stdio};

use common::{Place, lab, said};
use lab::report::profile::PURPOSES;

const WORKERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../workers");

/// Counts of the same work differ by a few thousandths between processes, because each process has
/// random keys for its hash tables.
const SPREAD: f64 = 0.01;

fn valgrind_is_here() -> bool {
    let mut command = Command::new("valgrind");
    command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn count(place: &Place, arguments: &[&str]) {
    let common = ["--profile", "dev", "--allocator", "system", "--workers", WORKERS, "--out"];
    let output = lab().args(arguments).args(common).arg(place.out()).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
}

#[test]
fn counts_stand_still_and_have_purposes() {
    let place = Place::new("instructions");
    let (peers, row) = (["tercel", "rustls", "floor"], "instructions-12-stateless");
    count(&place, &["run", "--rows", row, "--peers", &peers.join(",")]);
    let report = place.report();
    let counted = &report.rows[0];
    assert!(counted.failures.is_empty(), "{:?}", counted.failures);
    if !valgrind_is_here() {
        assert_eq!(counted.unable.len(), 3);
        assert!(counted.unable["tercel"].contains("valgrind"), "{:?}", counted.unable);
        return;
    }
    assert!(counted.unable.is_empty(), "{:?}", counted.unable);
    for peer in ["tercel", "rustls"] {
        assert_eq!(counted.done[peer]["kind"], "resumed");
    }
    for side in &counted.sides {
        assert_eq!(side.peers.len(), 3, "{}", side.side);
        for figure in &side.peers {
            assert_eq!(figure.rounds.len(), 4);
            for slice in &figure.rounds {
                let off = slice / figure.nanoseconds - 1.0;
                assert!(off.abs() < SPREAD, "{} {}: {:?}", side.side, figure.peer, figure.rounds);
            }
            assert!(figure.floors.is_none_or(|floors| floors.ratio > 1.0));
        }
    }

    // The profile is added to the existing report, with similar counts.
    count(&place, &["profile", "resumed-12-stateless", "--peers", &peers.join(",")]);
    let report = place.report();
    assert_eq!(report.rows.len(), 1);
    let profile = &report.profiles[0];
    assert!(profile.failures.is_empty() && profile.unable.is_empty(), "{profile:?}");
    for peer in &profile.peers {
        for (side, of_row) in peer.sides.iter().zip(&counted.sides) {
            let figure = of_row.peers.iter().find(|figure| figure.peer == peer.peer).unwrap();
            let off = side.instructions / figure.nanoseconds - 1.0;
            assert!(off.abs() < SPREAD, "{} {}: {off}", peer.peer, side.side);
            let part = |purpose: &str| side.of(purpose).unwrap().instructions / side.instructions;
            assert_eq!(side.purposes.len(), PURPOSES.len());
            // Without signatures and key exchange, most of the work is the PRF.
            assert!(part("key schedule") > 0.3, "{peer:?}");
            assert!(part("signatures") + part("key exchange") < 0.001, "{peer:?}");
            assert!(part("other") < 0.25, "{peer:?}");
        }
    }
    let page = std::fs::read_to_string(place.out().join("report.html")).unwrap();
    assert!(
        page.contains("<h2>Instructions by purpose</h2>") && page.contains("class=\"u3\""),
        "{page}"
    );
    assert!(!page.contains("NaN"));
}

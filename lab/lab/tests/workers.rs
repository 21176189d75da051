//! Runs every row with the workers of this repository. The rows' checks must pass; times are
//! meaningless in this test.

// A test may fail by panicking, also in shared code.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeSet;

use common::{Place, lab, said};
use lab::report::{Report, RowReport};
use lab_scenario::row::LOADING_SIDES;
use lab_scenario::{
    Accounting, Chain, Load, Resumption, Task, Transport, Version, locked_version, rows,
};

#[test]
fn every_worker_does_every_row_as_asked() {
    // The worker with a memory has all code of `rustls-tercel`, too.
    let peers = ["tercel", "rustls", "rustls-tercel-memory", "rustls-unbuffered", "floor"];
    let (report, page) = every_row("every-row", "dev", Accounting::Neutral, &peers);
    assert!(page.contains("client parked"));
    for peer in &report.peers {
        assert!(peer.about.as_ref().unwrap().crypto.contains("aws-lc-sys 0."), "{peer:?}");
    }
    for row in &report.rows {
        let unable: &[&str] = match row.row.task {
            _ if row.row.transport == Transport::Quic => &["floor", "rustls-unbuffered"],
            _ if !row.row.ech.is_none() => {
                &["floor", "rustls", "rustls-tercel-memory", "rustls-unbuffered"]
            }
            Task::SetUp | Task::Memory => &["floor"],
            Task::Loading => &["floor", "rustls-unbuffered"],
            _ if row.row.early_data > 0 => &["rustls-unbuffered"],
            _ => &[],
        };
        as_asked(row, &peers[..4], unable);
    }
    check_many_connections(&report);
}

#[test]
#[ignore = "builds OpenSSL twice, and BoringSSL"]
fn every_worker_with_a_library_in_c_does_every_row_as_asked() {
    let peers = ["boringssl", "openssl", "openssl-3-5", "s2n-tls"];
    let (report, _) = every_row("every-row-in-c", "release", Accounting::Neutral, &peers);
    for row in &report.rows {
        let asked = &row.row;
        // Policies of s2n-tls cannot pin this chain and these suites, and s2n-tls does not renew
        // TLS 1.2 tickets.
        let pinned = asked.chain != Chain::Ed25519 && !asked.suite.name().contains("CHACHA20");
        let unable: &[&str] = match (asked.version, asked.resumption) {
            _ if asked.transport == Transport::Quic => &peers,
            _ if !asked.ech.is_none() => &["openssl-3-5", "s2n-tls"],
            _ if asked.load == Some(Load::Key) => &["s2n-tls"],
            (Version::Tls13, Some(Resumption::Stateful)) => &["boringssl", "s2n-tls"],
            (Version::Tls12, Some(Resumption::Stateless)) => &["s2n-tls"],
            _ if !pinned => &["s2n-tls"],
            _ => &[],
        };
        as_asked(row, &peers, unable);
    }
    let about = |name: &str| {
        let peer = report.peers.iter().find(|peer| peer.name == name).unwrap();
        peer.about.clone().unwrap()
    };
    assert!(about("openssl-3-5").version.starts_with("3.5."), "{:?}", about("openssl-3-5"));
    assert!(about("openssl").version.starts_with("4.0."), "{:?}", about("openssl"));
}

#[test]
#[ignore = "builds the C library with optimization"]
fn the_c_interface_does_every_row_as_asked() {
    let (report, _) = every_row("every-row-from-c", "release", Accounting::Neutral, &["tercel-c"]);
    for row in &report.rows {
        let unable = row.row.first_visit
            || row.row.load == Some(Load::Key)
            || row.row.transport == Transport::Quic
            || !row.row.ech.is_none();
        as_asked(row, &["tercel-c"], if unable { &["tercel-c"] } else { &[] });
    }
}

#[test]
#[ignore = "needs Go, and builds a pre-release"]
fn go_and_the_next_rustls_do_every_row_as_asked() {
    let peers = ["go", "rustls-0-24"];
    let (report, _) = every_row("every-row-of-others", "release", Accounting::Neutral, &peers);
    for row in &report.rows {
        let asked = &row.row;
        let stored = asked.resumption == Some(Resumption::Stateful);
        let unable: &[&str] = match (asked.task, asked.version) {
            _ if asked.transport == Transport::Quic || !asked.ech.is_none() => &peers,
            (Task::Memory, _) => &["go"],
            (_, Version::Tls12) if stored => &["go"],
            _ if asked.early_data > 0 => &["go"],
            _ => &[],
        };
        as_asked(row, &peers, unable);
    }
}

#[test]
fn workers_with_lock_files_of_their_own_have_the_same_aws_lc() {
    let locked = |folder: &str| {
        let path = format!("{}/../{folder}/Cargo.lock", env!("CARGO_MANIFEST_DIR"));
        let lock = std::fs::read_to_string(path).unwrap();
        ["aws-lc-rs", "aws-lc-sys"].map(|package| locked_version(&lock, package).to_owned())
    };
    for worker in ["workers/rustls-0-24", "workers/s2n-tls"] {
        assert_eq!(locked(worker), locked("."), "{worker}");
    }
}

#[test]
fn published_rows_are_done_by_those_who_follow_a_program() {
    let peers = ["tercel", "rustls", "rustls-unbuffered", "floor"];
    let (report, _) = every_row("published", "dev", Accounting::Published, &peers);
    for row in &report.rows {
        as_asked(row, &peers, &["floor", "rustls-unbuffered"]);
        group_as_asked(row, &["tercel", "rustls"]);
    }
}

#[test]
#[ignore = "builds OpenSSL and BoringSSL"]
fn published_rows_are_done_by_libraries_in_c() {
    let (report, page) = every_row("published-in-c", "release", Accounting::Published, &C_PEERS);
    for row in &report.rows {
        as_asked(row, &C_PEERS, &[]);
        group_as_asked(row, &C_PEERS);
    }
    assert!(page.contains("PUBLISHED ACCOUNTING"));
}

const C_PEERS: [&str; 3] = ["openssl", "openssl-3-5", "boringssl"];

/// Checks the group of a row in published accounting, where the library chooses it.
fn group_as_asked(row: &RowReport, peers: &[&str]) {
    let exchanges = row.row.version == Version::Tls13 || row.row.resumption.is_none();
    for peer in peers.iter().filter(|_| exchanges && row.row.task != Task::Bulk) {
        assert_eq!(row.done[*peer]["group"], row.row.group.name(), "{peer} {}", row.row.id);
    }
}

/// Runs all rows, each for a moment. All these peers must be available.
fn every_row(
    test: &str,
    profile: &str,
    accounting: Accounting,
    peers: &[&str],
) -> (Report, String) {
    let place = Place::new(test);
    // Another test counts instructions, for fewer rows.
    let ids: Vec<_> = rows::for_accounting(accounting)
        .into_iter()
        .filter(|row| row.task != Task::Instructions)
        .map(|row| row.id)
        .collect();
    let workers = concat!(env!("CARGO_MANIFEST_DIR"), "/../workers");
    let output = lab()
        .args(["run", "--profile", profile, "--peers", &peers.join(","), "--allocator", "system"])
        .args(["--accounting", accounting.name()])
        .args(["--rounds", "1", "--measure-ms", "8", "--row-seconds", "0", "--workers", workers])
        .args(["--threads", "1,3", "--connections", "20,40,80", "--rows", &ids.join(",")])
        .arg("--out")
        .arg(place.out())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let report = place.report();
    assert!(report.peers.iter().all(|peer| peer.failure.is_none()), "{:?}", report.peers);
    let page = std::fs::read_to_string(place.out().join("report.html")).unwrap();
    // Two charts for each row of threads and of latency, one for each side of each
    // section of write sizes.
    let all = rows::for_accounting(accounting);
    let count = |task| all.iter().filter(|row| row.task == task).count();
    let sections: BTreeSet<_> = all.iter().map(|row| row.section.as_str()).collect();
    let sweeps = sections.iter().filter(|section| section.starts_with("write sizes")).count();
    let plots = 2 * (count(Task::Threads) + count(Task::Latency) + sweeps);
    assert_eq!(page.matches("<svg class=\"plot\"").count(), plots);
    assert!(!page.contains("NaN"), "a figure of nothing");
    assert_eq!(report.rows.iter().map(|row| row.row.id.clone()).collect::<Vec<_>>(), ids);
    (report, page)
}

/// Checks the negotiated parameters of these peers, and that exactly the peers in `unable` do not
/// support the row.
fn as_asked(row: &RowReport, peers: &[&str], unable: &[&str]) {
    assert!(row.failures.is_empty(), "{}: {:?}", row.row.id, row.failures);
    assert_eq!(row.unable.keys().collect::<Vec<_>>(), unable, "{}", row.row.id);
    for peer in peers.iter().filter(|peer| !unable.contains(peer)) {
        let done = &row.done[*peer];
        assert_eq!(done["suite"], row.row.suite.name(), "{}", row.row.id);
        if row.row.task != Task::Bulk {
            let kind = if row.row.resumption.is_some() { "resumed" } else { "full" };
            assert_eq!(done["kind"], kind, "{}", row.row.id);
            assert_eq!(done["early data"], row.row.early_data.to_string(), "{}", row.row.id);
        }
    }
    // A row without any result has no sides.
    let is_able = |peer: &&str| !unable.contains(peer);
    let sides = if peers.iter().any(is_able) { row.row.sides().len() } else { 0 };
    assert_eq!(row.sides.len(), sides, "{}", row.row.id);
    for side in &row.sides {
        assert!(side.peers.iter().all(|figure| figure.nanoseconds > 0.0), "{}", row.row.id);
    }
}

/// Checks the results of rows with several open connections.
fn check_many_connections(report: &Report) {
    for row in &report.rows {
        let id = &row.row.id;
        let figure = |side: &str, peer: &str| {
            let side = row.sides.iter().find(|each| each.side == side);
            let figures = side.into_iter().flat_map(|side| &side.peers);
            let Some(figure) = figures.into_iter().find(|each| each.peer == peer) else {
                panic!("{id}: no figure of {peer}");
            };
            figure
        };
        // The other workers do not have this transport.
        let over_quic = row.row.transport == Transport::Quic;
        let peers = ["tercel", "rustls", "rustls-unbuffered"];
        for peer in peers.into_iter().take(if over_quic { 2 } else { 3 }) {
            match row.row.task {
                Task::Loading if peer == "rustls-unbuffered" => {}
                Task::Loading => {
                    let [load, with_use] = LOADING_SIDES.map(|side| figure(side, peer).nanoseconds);
                    assert!(load < with_use, "{id}");
                }
                Task::Threads => assert_eq!(row.row.threads, [1, 3], "{id}"),
                Task::Latency => {
                    for side in ["client", "server"] {
                        let times = &row.distributions[peer][side];
                        let [least, most] = ["P50", "P99"]
                            .map(|name| figure(&format!("{side} {name}"), peer).nanoseconds);
                        assert!(times.total() > 0 && least <= most, "{id}");
                        assert!(most <= times.max, "{id}: {most} {}", times.max);
                    }
                }
                Task::Memory => {
                    for side in ["client", "server"] {
                        let of = |what: &str| figure(&format!("{side} {what}"), peer).nanoseconds;
                        // AWS-LC alone needs more than a kilobyte during the key exchange.
                        assert!(of("peak") > 1024.0 && of("peak") >= of("connected"), "{id}");
                        assert!(of("allocations") >= 2.0, "{id}");
                        assert!(of("idle") < 256.0 * 1024.0, "{id}");
                        let parked = figure("resident", peer).parts.get(&format!("{side} parked"));
                        assert_eq!(parked.is_some(), peer == "tercel" && !over_quic, "{id}");
                        assert!(parked.is_none_or(|bytes| *bytes < of("idle")), "{id}");
                    }
                }
                _ => assert!(row.distributions.is_empty(), "{id}"),
            }
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

//! `tercel load --http3` and the row of `tercel scan`.

use serde_json::Value;

use super::super::scan::{feature, scan_json};
use super::super::support::{Folder, Outcome, Server, payload, run, tercel};
use super::peer::idle_server;
use super::start;

/// Runs `tercel load --http3` for a second.
fn load(server: &Server, path: &str, options: &[&str]) -> Outcome {
    let url = format!("https://{}{path}", server.address);
    let mut command = tercel();
    command.args(["load", &url, "--http3", "--json", "--ca", &server.ca, "--warm-up", "0.2"]);
    command.args(["--connections", "4", "--threads", "2"]).args(options);
    if !options.contains(&"--seconds") {
        command.args(["--seconds", "1"]);
    }
    run(&mut command, b"")
}

/// The report of [`load`], again and for longer if fewer than this number of operations is counted
/// at `place`, as on a busy machine.
fn load_until(count: u64, place: &str, server: &Server, path: &str, options: &[&str]) -> Value {
    let mut report = json(&load(server, path, options));
    for seconds in ["5", "30"] {
        if report.pointer(place).and_then(Value::as_u64) >= Some(count) {
            break;
        }
        report = json(&load(server, path, &[options, &["--seconds", seconds]].concat()));
    }
    report
}

fn json(outcome: &Outcome) -> Value {
    serde_json::from_slice(&outcome.output).unwrap_or_else(|error| panic!("{error}: {outcome:?}"))
}

#[test]
fn handshakes_are_counted() {
    for how in ["tickets", "memory"] {
        let server = start(&["--sessions", how]);
        let report = load_until(3, "/runs/0/done", &server, "/", &["--full"]);
        assert_eq!(report["transport"], "QUIC");
        let run = &report["runs"][0];
        assert!(run["done"].as_u64() > Some(2) && run["handshakes_resumed"] == 0, "{report}");
        let report = load_until(5, "/runs/0/done", &server, "/", &["--resumed"]);
        let run = &report["runs"][0];
        assert!(run["done"].as_u64() > Some(4), "{report}");
        let full =
            run["handshakes"].as_u64().unwrap() - run["handshakes_resumed"].as_u64().unwrap();
        assert_eq!(full, 4, "{how}: {report}");
    }
    let server = start(&["--sessions", "none"]);
    let outcome = load(&server, "/", &["--resumed", "--timeout", "1"]);
    assert!(outcome.failure().contains("no operation succeeded"), "{outcome:?}");
}

#[test]
fn requests_and_transfers_are_counted() {
    let folder = Folder::new();
    folder.write("big", payload(300_000));
    let server = start(&["--root", &folder.0.display().to_string()]);
    let report = load_until(5, "/runs/0/done", &server, "/big", &["--requests"]);
    let run = &report["runs"][0];
    assert!(run["done"].as_u64() > Some(4) && run["handshakes"] == 4, "{report}");
    let report = load_until(1, "/runs/0/done", &server, "/big", &["--bulk"]);
    let (done, bytes) = (&report["runs"][0]["done"], &report["runs"][0]["bytes"]);
    let (done, bytes) = (done.as_f64().unwrap(), bytes.as_f64().unwrap());
    assert!(done > 0.0 && (bytes - done * 300_000.0).abs() <= 4.0 * 300_000.0, "{report}");
    let report =
        load_until(1, "/runs/0/errors/request: status 404", &server, "/absent", &["--requests"]);
    assert!(report["runs"][0]["errors"]["request: status 404"].as_u64() > Some(0), "{report}");
    let report = load_until(
        1,
        "/runs/0/errors/request: status 405",
        &server,
        "/big",
        &["--bulk", "--upload", "100000"],
    );
    assert!(report["runs"][0]["errors"]["request: status 405"].as_u64() > Some(0), "{report}");
}

#[test]
fn idle_connections_stay_open_or_count_as_failed() {
    let server = start(&[]);
    let outcome = load(&server, "/", &["--idle", "20"]).success();
    assert_eq!(json(&outcome)["runs"][0]["done"], 20);
    let server = start(&["--timeout", "1"]);
    let outcome = load(&server, "/", &["--idle", "20", "--seconds", "3"]);
    assert_eq!(json(&outcome)["runs"][0]["failed"], 20, "{outcome:?}");
}

#[test]
fn servers_without_http3_are_one_line() {
    let plain = Server::start(&[]);
    let outcome = load(&plain, "/", &["--full", "--timeout", "1"]);
    assert!(outcome.failure().starts_with("cannot connect to 127.0.0.1:"), "{outcome:?}");
    let (server, other) = (start(&[]), start(&[]));
    let options = ["--full", "--http3", "--ca", &other.ca, "--allow-errors", "--seconds", "1"];
    let outcome = run(tercel().args(["load", &server.address]).args(options), b"");
    assert!(outcome.failure().contains("no operation succeeded"), "{outcome:?}");
    let text = String::from_utf8_lossy(&outcome.output);
    assert!(text.contains("× handshake: certificate refused: "), "{text}");
}

#[test]
fn a_scan_reports_http3() {
    let detail = |report: &Value| {
        let features = report["features"].as_array().unwrap();
        let found = features.iter().find(|feature| feature["name"] == "HTTP/3").unwrap();
        found["detail"].as_str().unwrap().to_owned()
    };
    let server = start(&["--groups", "secp256r1"]);
    let report = scan_json(&server.address, &["--insecure"]);
    assert_eq!(feature(&report, "HTTP/3"), Some(true));
    assert_eq!(detail(&report), "TLS_AES_128_GCM_SHA256, secp256r1");
    let table = run(tercel().args(["scan", &server.address, "--insecure"]), b"").success().text();
    assert!(table.contains("  HTTP/3                      "), "{table}");

    let plain = Server::start(&[]);
    let report = scan_json(&plain.address, &["--insecure"]);
    assert_eq!(feature(&report, "HTTP/3"), Some(false));
    let port = plain.address.rsplit(':').next().unwrap();
    assert!(detail(&report).contains(&format!("UDP port {port}")), "{report}");
    assert_eq!(report["complete"], true, "{report}");
}

/// QUIC without HTTP/3 at the UDP port of a server over TCP.
#[test]
fn a_scan_distinguishes_quic_from_http3() {
    let other = idle_server(b"doq");
    let server = Server::listen(&other.address, &[]);
    let report = scan_json(&server.address, &["--insecure"]);
    assert_eq!(feature(&report, "HTTP/3"), Some(false));
    assert!(report.to_string().contains("QUIC is served, but without HTTP/3"), "{report}");
}

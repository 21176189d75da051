//! `tercel load` against `tercel serve`: each mode works and reports failures.

use super::support::{Folder, Outcome, Server, payload, run, tercel};

/// Runs `tercel load` for a second against a server with the embedded certificate authority.
fn load(server: &Server, path: &str, options: &[&str]) -> Outcome {
    let url = format!("https://{}{path}", server.address);
    let terms = ["--warm-up", "0.2", "--connections", "4", "--threads", "2"];
    let mut command = tercel();
    command.args(["load", &url, "--json", "--ca", &server.ca]).args(terms).args(options);
    if !options.contains(&"--seconds") {
        command.args(["--seconds", "1"]);
    }
    run(&mut command, b"")
}

/// Like [`load`], again and for longer if fewer than this number of operations succeeded or failed
/// in a second, as on a busy machine.
fn load_until(count: f64, key: &str, server: &Server, path: &str, options: &[&str]) -> Outcome {
    let mut outcome = load(server, path, options);
    for seconds in ["5", "30"] {
        let report = String::from_utf8_lossy(&outcome.output);
        if report.contains(&format!("\"{key}\":")) && number(&report, key) >= count {
            break;
        }
        outcome = load(server, path, &[options, &["--seconds", seconds]].concat());
    }
    outcome
}

/// A number in the report.
fn number(report: &str, key: &str) -> f64 {
    let start = report.find(&format!("\"{key}\":")).unwrap_or_else(|| panic!("{key}: {report}"));
    let value = &report[start + key.len() + 3..];
    value[..value.find([',', '}']).unwrap()].parse().unwrap_or_else(|_| panic!("{key}: {report}"))
}

#[test]
fn full_handshakes_are_counted_and_none_is_resumed() {
    let server = Server::start(&[]);
    for version in ["--tls1.3", "--tls1.2"] {
        let report = load_until(3.0, "done", &server, "/", &["--full", version]).success().text();
        assert!(number(&report, "done") > 2.0, "{report}");
        assert_eq!(number(&report, "handshakes_resumed"), 0.0, "{report}");
        assert!(number(&report, "p50") > 0.0 && number(&report, "p99.9") > 0.0, "{report}");
    }
}

#[test]
fn all_handshakes_but_the_first_of_each_loop_are_resumed() {
    for how in ["tickets", "memory"] {
        let server = Server::start(&["--sessions", how]);
        for version in ["--tls1.3", "--tls1.2"] {
            let report =
                load_until(5.0, "done", &server, "/", &["--resumed", version]).success().text();
            assert!(number(&report, "done") > 4.0, "{report}");
            let full = number(&report, "handshakes") - number(&report, "handshakes_resumed");
            assert_eq!(full, 4.0, "{how} {version} {report}");
        }
    }
}

#[test]
fn a_server_that_does_not_resume_is_a_failure() {
    let server = Server::start(&["--sessions", "none"]);
    let outcome = load_until(1.0, "handshake: not resumed", &server, "/", &["--resumed"]);
    assert!(outcome.failure().contains("no operation succeeded"), "{outcome:?}");
    let report = String::from_utf8_lossy(&outcome.output);
    assert!(number(&report, "handshake: not resumed") > 0.0, "{report}");
}

#[test]
fn bulk_counts_the_content() {
    let folder = Folder::new();
    folder.write("big", payload(300_000));
    let server = Server::start(&["--root", &folder.0.display().to_string()]);
    let report = load_until(1.0, "done", &server, "/big", &["--bulk"]).success().text();
    let (done, bytes) = (number(&report, "done"), number(&report, "bytes"));
    // Operations in progress at the start or the end are counted in bytes, but not as requests.
    assert!(done > 0.0 && (bytes - done * 300_000.0).abs() <= 4.0 * 300_000.0, "{report}");
    assert_eq!(number(&report, "handshakes"), 4.0, "{report}");
}

#[test]
fn requests_go_over_connections_that_stay_open() {
    let server = Server::start(&[]);
    let report = load_until(5.0, "done", &server, "/", &["--requests"]).success().text();
    assert!(number(&report, "done") > 4.0, "{report}");
    assert_eq!(number(&report, "handshakes"), 4.0, "{report}");
}

#[test]
fn requests_and_transfers_over_http2() {
    let folder = Folder::new();
    folder.write("big", payload(300_000));
    let server = Server::start(&["--root", &folder.0.display().to_string()]);
    for options in [&["--http2"][..], &["--alpn", "h2:http/1.1"]] {
        let options = [&["--requests"], options].concat();
        let report = load_until(5.0, "done", &server, "/big", &options).success().text();
        assert!(number(&report, "done") > 4.0, "{report}");
        assert_eq!(number(&report, "handshakes"), 4.0, "{report}");
    }
    let report = load_until(1.0, "done", &server, "/big", &["--bulk", "--http2"]).success().text();
    let (done, bytes) = (number(&report, "done"), number(&report, "bytes"));
    assert!(done > 0.0 && (bytes - done * 300_000.0).abs() <= 4.0 * 300_000.0, "{report}");
    let outcome = load_until(
        1.0,
        "request: status 405",
        &server,
        "/big",
        &["--bulk", "--http2", "--upload", "100000"],
    );
    let report = String::from_utf8_lossy(&outcome.output);
    assert!(number(&report, "request: status 405") > 0.0, "{report}");
}

#[test]
fn a_server_without_http2_is_a_failure() {
    let server = Server::start(&["--alpn", "http/1.1"]);
    let outcome = load(&server, "/", &["--requests", "--http2"]);
    assert!(outcome.failure().contains("no operation succeeded"), "{outcome:?}");
}

#[test]
fn a_rate_is_kept() {
    let server = Server::start(&[]);
    let report = load(&server, "/", &["--requests", "--rate", "40"]).success().text();
    // Requests that were late during the warm-up are among those of the second after it. The tests
    // of the schedule check that a request starts at its time.
    let most = 40.0 * 1.2 + 4.0;
    assert!((1.0..=most).contains(&number(&report, "done")), "{report}");
    assert!(report.contains("\"rate\":40.000"), "{report}");
}

#[test]
fn an_error_status_is_a_failure() {
    let folder = Folder::new();
    let server = Server::start(&["--root", &folder.0.display().to_string()]);
    let outcome = load_until(1.0, "request: status 404", &server, "/absent", &["--requests"]);
    assert_eq!(outcome.status, Some(1));
    assert!(number(&String::from_utf8_lossy(&outcome.output), "request: status 404") > 0.0);
}

#[test]
fn idle_connections_stay_open_or_count_as_failed() {
    let server = Server::start(&[]);
    let report = load(&server, "/", &["--idle", "20"]).success();
    assert!(report.said.contains("holding 20 of 20 connections"), "{}", report.said);
    assert_eq!(number(&report.text(), "done"), 20.0);
    // This server closes idle connections after a second.
    let server = Server::start(&["--timeout", "1"]);
    let outcome = load(&server, "/", &["--idle", "20", "--seconds", "3"]);
    assert_eq!(outcome.status, Some(1));
    assert_eq!(number(&String::from_utf8_lossy(&outcome.output), "failed"), 20.0);
}

#[test]
fn a_certificate_that_is_not_trusted_is_a_failure_with_its_reason() {
    let (server, other) = (Server::start(&[]), Server::start(&[]));
    let options = ["--full", "--ca", &other.ca, "--allow-errors", "--seconds", "1"];
    let outcome = run(tercel().args(["load", &server.address]).args(options), b"");
    assert!(outcome.failure().contains("no operation succeeded"), "{outcome:?}");
    let text = String::from_utf8_lossy(&outcome.output);
    assert!(text.contains("× handshake: a certificate's signature is wrong"), "{text}");
}

#[test]
fn several_servers_are_measured_in_turn() {
    let (one, two) = (Server::start(&[]), Server::start(&[]));
    let options = ["--full", "--insecure", "--seconds", "1", "--warm-up", "0", "--rounds", "2"];
    let outcome = run(tercel().args(["load", &one.address, &two.address]).args(options), b"");
    let text = outcome.success().text();
    let order: Vec<&str> = text.lines().filter(|line| line.contains(" threads")).collect();
    assert_eq!(order.len(), 4, "{text}");
    assert!(order[0].contains(&one.address) && order[1].contains(&two.address), "{text}");
    assert!(text.contains("1.000 x first"), "{text}");
}

#[test]
fn an_unreachable_server_is_one_line() {
    let outcome = run(tercel().args(["load", "127.0.0.1:1", "--full", "--insecure"]), b"");
    assert!(outcome.failure().contains("connection refused"), "{outcome:?}");
}

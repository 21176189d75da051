//! Sessions over QUIC, with early data. RFC 9001 4.5, 4.6

use super::super::support::{Folder, Outcome, Server, connect};
use super::{request, start};

/// Requests the page with this session file.
fn with_sessions(server: &Server, file: &str, options: &[&str]) -> Outcome {
    request(server, "/", &[&["--session-file", file], options].concat()).success()
}

#[test]
fn sessions_are_resumed_by_a_later_run() {
    for how in ["both", "tickets", "memory"] {
        let (folder, server) = (Folder::new(), start(&["--sessions", how]));
        let file = folder.file("sessions").display().to_string();
        for resumed in ["no", "yes", "yes"] {
            assert_eq!(with_sessions(&server, &file, &[]).reported("resumed"), [resumed], "{how}");
        }
        // A connection without a request receives sessions as well.
        let _ = std::fs::remove_file(&file);
        for resumed in ["false", "true"] {
            let report = with_sessions(&server, &file, &["--json"]).text();
            assert!(report.contains(&format!("\"resumed\":{resumed}")), "{report}");
        }
    }
    let (folder, server) = (Folder::new(), start(&["--sessions", "none"]));
    let file = folder.file("sessions").display().to_string();
    for _ in 0..2 {
        assert_eq!(with_sessions(&server, &file, &[]).reported("resumed"), ["no"]);
    }
}

/// RFC 9001 4.5
#[test]
fn sessions_cross_neither_transports_nor_ports() {
    let (folder, servers) = (Folder::new(), [start(&[]), start(&[])]);
    let file = folder.file("sessions").display().to_string();
    let options = ["--insecure", "--name", "localhost", "--session-file", &file, "--json"];
    for resumed in ["false", "true"] {
        for server in &servers {
            for transport in [&["--http3"][..], &[]] {
                let options = [&options[..], transport].concat();
                let report = connect(&server.address, &options, b"").success().text();
                let expected = format!("\"resumed\":{resumed}");
                assert!(report.contains(&expected), "{transport:?}: {report}");
            }
        }
    }
}

#[test]
fn a_request_is_early_data_if_the_session_permits_it() {
    let server = start(&["--early-data", "1000"]);
    let folder = Folder::new();
    let file = folder.file("sessions").display().to_string();
    for expected in ["none", "accepted", "accepted"] {
        let outcome = with_sessions(&server, &file, &["--early-request"]);
        assert_eq!(outcome.reported("early-data"), [expected], "{}", outcome.said);
        let row = format!("<th>early-data</th><td>{expected}</td>");
        assert!(outcome.said.contains("HTTP/3 200 OK"), "{}", outcome.said);
        let page = outcome.text();
        assert!(page.contains(&row), "{page}");
    }
    server.wait_for(" resumed early-data=accepted");
    // Without the option nothing is sent early.
    let outcome = with_sessions(&server, &file, &[]);
    assert_eq!(
        (outcome.reported("early-data"), outcome.reported("resumed")),
        (vec!["none"], vec!["yes"])
    );
}

/// A HelloRetryRequest, which this group causes, rules out early data. RFC 9846 4.2.2
#[test]
fn a_rejected_request_is_sent_again() {
    let server = start(&["--early-data", "1000", "--groups", "secp384r1"]);
    let folder = Folder::new();
    let file = folder.file("sessions").display().to_string();
    for expected in ["none", "rejected"] {
        let outcome = with_sessions(&server, &file, &["--early-request"]);
        assert_eq!(outcome.reported("early-data"), [expected], "{}", outcome.said);
        assert!(outcome.said.contains("HTTP/3 200 OK"), "{}", outcome.said);
        assert!(outcome.text().contains("<th>alpn</th><td>h3</td>"));
    }
    server.wait_for(" resumed early-data=rejected");
}

#[test]
fn a_server_without_early_data_gets_no_early_request() {
    let (folder, server) = (Folder::new(), start(&[]));
    let file = folder.file("sessions").display().to_string();
    for resumed in ["no", "yes"] {
        let outcome = with_sessions(&server, &file, &["--early-request"]);
        assert_eq!(
            (outcome.reported("early-data"), outcome.reported("resumed")),
            (vec!["none"], vec![resumed])
        );
    }
}

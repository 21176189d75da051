//! `tercel scan` of `tercel serve`: each figure against what was configured.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::starttls::{dialogue_of, speak};
use super::support::{Folder, Leaf, Outcome, Server, connect, refs, run, tercel};

/// Runs `tercel scan`.
pub(crate) fn scan(address: &str, options: &[&str]) -> Outcome {
    run(tercel().args(["scan", address]).args(options), b"")
}

/// Runs `tercel scan --json`, and parses its output.
pub(crate) fn scan_json(address: &str, options: &[&str]) -> Value {
    let outcome = scan(address, &[&["--json"], options].concat()).success();
    serde_json::from_slice(&outcome.output).unwrap()
}

/// The names of the accepted versions.
pub(crate) fn versions(report: &Value) -> Vec<&str> {
    let all = report["versions"].as_array().unwrap();
    let accepted = all.iter().filter(|version| version["accepted"] == true);
    accepted.map(|version| version["name"].as_str().unwrap()).collect()
}

/// The entry of a list for this version.
pub(crate) fn of<'r>(list: &'r Value, version: &str) -> &'r Value {
    let entries = list.as_array().unwrap();
    entries.iter().find(|entry| entry["version"] == version).unwrap_or(&Value::Null)
}

/// Strings of an array.
pub(crate) fn strings(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
}

/// The names of the cipher suites of a version.
pub(crate) fn suites<'r>(report: &'r Value, version: &str) -> Vec<&'r str> {
    let list = of(&report["cipher_suites"], version)["suites"].as_array();
    list.into_iter().flatten().map(|suite| suite["name"].as_str().unwrap()).collect()
}

/// Whether a feature is supported; `None` if that is unknown.
pub(crate) fn feature(report: &Value, name: &str) -> Option<bool> {
    let features = report["features"].as_array().unwrap();
    let found = features.iter().find(|feature| feature["name"] == name);
    found.unwrap_or_else(|| panic!("no feature {name}"))["supported"].as_bool()
}

/// The findings of a severity.
pub(crate) fn findings<'r>(report: &'r Value, severity: &str) -> Vec<&'r str> {
    let all = report["findings"].as_array().unwrap();
    let chosen = all.iter().filter(|finding| finding["severity"] == severity);
    chosen.map(|finding| finding["text"].as_str().unwrap()).collect()
}

#[test]
fn certificates_have_the_same_keys_as_in_the_report_of_connect() {
    let folder = Folder::new();
    let leaf = Leaf::new("localhost", 2099);
    let server = Server::start(&refs(&leaf.write(&folder, "leaf")));
    let report = scan_json(&server.address, &["--insecure"]);
    let connected = connect(&server.address, &["--insecure", "--json"], b"").success();
    let connected: Value = serde_json::from_slice(&connected.output).unwrap();
    assert!(connected["certificates"][0]["valid_until"].is_string(), "{connected}");
    assert_eq!(report["chains"][0]["certificates"], connected["certificates"]);
}

/// RFC 5246 E.1
#[test]
fn a_restricted_server_is_described() {
    let server = Server::start(&[
        "--groups",
        "secp384r1:x25519:SecP256r1MLKEM768",
        "--suites",
        "TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:\
         TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384:TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
        "--alpn",
        "http/1.1,h2",
        "--certificate-compression",
        "zlib",
        "--record-size-limit",
        "2000",
        "--early-data",
        "4096",
    ]);
    let report = scan_json(&server.address, &["--ca", &server.ca]);
    assert_eq!(report["complete"], true, "{report}");
    assert_eq!(versions(&report), ["TLS 1.3", "TLS 1.2"]);
    assert_eq!(
        suites(&report, "TLS 1.3"),
        ["TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"]
    );
    assert_eq!(
        suites(&report, "TLS 1.2"),
        ["TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"]
    );
    assert_eq!(of(&report["cipher_suites"], "TLS 1.2")["order"], "server");
    let groups = |version| strings(&of(&report["groups"], version)["names"]);
    assert_eq!(groups("TLS 1.3"), ["secp384r1", "x25519", "SecP256r1MLKEM768"]);
    assert_eq!(groups("TLS 1.2"), ["secp384r1", "x25519"]);
    assert_eq!(strings(&report["alpn"]["names"]), ["http/1.1", "h2"]);
    assert_eq!(feature(&report, "certificate compression"), Some(true));
    assert_eq!(feature(&report, "record_size_limit"), Some(true));
    let details = report["features"].to_string();
    assert!(details.contains("\"zlib\"") && details.contains("\"2000 bytes\""), "{details}");
    for supported in [
        "extended main secret",
        "secure renegotiation",
        "fallback SCSV",
        "downgrade sentinel",
        "unknown values are ignored (GREASE)",
        "unknown versions are tolerated",
    ] {
        assert_eq!(feature(&report, supported), Some(true), "{supported}");
    }
    assert_eq!(feature(&report, "encrypt-then-MAC"), None);
    let resumption = of(&report["resumption"], "TLS 1.3");
    assert_eq!(
        (&resumption["resumed"], &resumption["early_data_bytes"]),
        (&true.into(), &4096.into())
    );
    // Early data is not offered unless that was requested.
    assert_eq!(resumption["early_data_accepted"], Value::Null);
    assert!(report["connections"].as_u64().unwrap() < 90, "{}", report["connections"]);
    // The test authority has an ECDSA and an RSA certificate, both trusted.
    let chains = report["chains"].as_array().unwrap();
    let key = |chain: &Value| chain["certificates"][0]["key"].as_str().unwrap().to_owned();
    assert_eq!(chains.iter().map(key).collect::<Vec<_>>(), ["ECDSA P-256", "RSA 2048"]);
    assert!(chains.iter().all(|chain| chain["trusted"] == true), "{report}");
    assert!(chains.iter().all(|chain| chain["key_proven"] == true), "{report}");
    assert!(findings(&report, "problem").is_empty(), "{report}");
}

#[test]
fn one_version_alone_is_found() {
    let server = Server::start(&["--tls1.3"]);
    let report = scan_json(&server.address, &["--insecure"]);
    assert_eq!(versions(&report), ["TLS 1.3"]);
    assert_eq!(suites(&report, "TLS 1.2").len(), 0);
    assert_eq!(report["chains"][0]["trusted"], Value::Null);

    let server = Server::start(&["--tls1.2"]);
    let report = scan_json(&server.address, &["--insecure"]);
    assert_eq!(versions(&report), ["TLS 1.2"]);
    assert!(findings(&report, "weakness").contains(&"TLS 1.3 is not accepted"), "{report}");
    // The chains and the protocols are read in TLS 1.2.
    assert_eq!(report["chains"].as_array().unwrap().len(), 2);
    assert_eq!(strings(&report["alpn"]["names"]), ["h2", "http/1.1"]);
    assert_eq!(report["alpn"]["version"], "TLS 1.2");
}

/// RFC 9846 7.1
#[test]
fn the_flight_of_tls13_is_read_with_every_suite_and_group() {
    for (suite, group) in [
        ("TLS_AES_128_GCM_SHA256", "SecP256r1MLKEM768"),
        ("TLS_AES_256_GCM_SHA384", "SecP384r1MLKEM1024"),
        ("TLS_CHACHA20_POLY1305_SHA256", "X25519MLKEM768"),
        ("TLS_AES_128_GCM_SHA256", "secp521r1"),
    ] {
        let server = Server::start(&["--tls1.3", "--suites", suite, "--groups", group]);
        let report = scan_json(&server.address, &["--insecure"]);
        assert_eq!(suites(&report, "TLS 1.3"), [suite]);
        assert_eq!(strings(&of(&report["groups"], "TLS 1.3")["names"]), [group]);
        let schemes = strings(&of(&report["signature_schemes"], "TLS 1.3")["names"]);
        assert!(schemes.contains(&"ecdsa_secp256r1_sha256"), "{suite} {group}: {schemes:?}");
        assert!(schemes.contains(&"rsa_pss_rsae_sha256"), "{suite} {group}: {schemes:?}");
        assert_eq!(report["chains"].as_array().unwrap().len(), 2);
    }
}

#[test]
fn resumption_is_tried() {
    for (mode, tickets, ids, resumed) in [
        ("tickets", true, false, true),
        ("memory", false, true, true),
        ("none", false, false, false),
    ] {
        let server = Server::start(&["--sessions", mode]);
        let report = scan_json(&server.address, &["--insecure"]);
        let older = of(&report["resumption"], "TLS 1.2");
        assert_eq!(older["issues_tickets"], tickets, "{mode} {older}");
        assert_eq!(older["issues_session_ids"], ids, "{mode} {older}");
        for version in ["TLS 1.2", "TLS 1.3"] {
            assert_eq!(of(&report["resumption"], version)["resumed"], resumed, "{mode} {version}");
        }
        assert_eq!(of(&report["resumption"], "TLS 1.3")["tickets"].as_u64() > Some(0), resumed);
    }
}

#[test]
fn early_data_is_offered_on_request_only() {
    let server = Server::start(&["--early-data", "100", "--tls1.3"]);
    let report = scan_json(&server.address, &["--insecure", "--early-data"]);
    let resumption = of(&report["resumption"], "TLS 1.3");
    assert_eq!(resumption["early_data_bytes"], 100);
    assert!(resumption["early_data_accepted"].is_boolean(), "{resumption}");
    let notes = findings(&report, "note").join("\n");
    assert!(notes.contains("100 bytes of early data"), "{notes}");
}

#[test]
fn every_problem_of_a_chain_is_found() {
    let folder = Folder::new();
    let expired = Leaf::new("localhost", 2020).write(&folder, "expired");
    let server = Server::start(&refs(&expired));
    let ca = folder.file("expired-ca.pem").display().to_string();
    let report = scan_json(&server.address, &["--ca", &ca, "--name", "localhost"]);
    let problems = findings(&report, "problem");
    assert_eq!(problems, ["the certificate expired at 2020-12-31 00:00:00 UTC"]);
    assert_eq!(report["chains"][0]["trusted"], false);

    Leaf::new("else.example", 2099).write(&folder, "other");
    let other = folder.file("other-ca.pem").display().to_string();
    let options = ["--ca", &other, "--server-name", "other.example"];
    let report = scan_json(&server.address, &options);
    let problems = findings(&report, "problem").join("\n");
    for part in [
        "expired at 2020-12-31",
        "not valid for other.example, only for: localhost",
        "`CN=authority of localhost` is neither sent nor trusted",
    ] {
        assert!(problems.contains(part), "{part}: {problems}");
    }
}

#[test]
fn a_staple_and_client_authentication_are_noticed() {
    let folder = Folder::new();
    let leaf = Leaf::new("localhost", 2099).write(&folder, "leaf");
    let staple = folder.write("staple", [0x30, 0]);
    let ca = folder.file("leaf-ca.pem").display().to_string();
    let [cert, certificate, key, key_file] = leaf.each_ref().map(String::as_str);
    let server = Server::start(&[
        cert,
        certificate,
        key,
        key_file,
        "--ocsp",
        &staple,
        "--client-auth",
        "required",
        "--client-ca",
        &ca,
    ]);
    let report = scan_json(&server.address, &["--ca", &ca, "--name", "localhost"]);
    assert_eq!(feature(&report, "OCSP stapling"), Some(true));
    assert_eq!(feature(&report, "client certificates are requested"), Some(true));
    assert_eq!(report["chains"][0]["trusted"], true, "{report}");
    let note = of(&report["resumption"], "TLS 1.3")["note"].as_str().unwrap();
    assert!(note.contains("client certificate"), "{note}");
}

#[test]
fn the_table_has_findings_at_its_end() {
    let server = Server::start(&[]);
    let text = scan(&server.address, &["--insecure"]).success().text();
    let position = |part: &str| text.find(part).unwrap_or_else(|| panic!("no {part:?} in {text}"));
    let order = [
        "  TLS 1.3    accepted\n",
        "  TLS 1.1    refused (alert protocol_version)\n",
        "Cipher suites of TLS 1.2, in the server's order\n",
        "  TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256\n",
        "  TLS 1.3    X25519MLKEM768, x25519",
        "Certificate chain 1 of 2 (not judged)\n",
        "Findings\n",
        " connections in ",
    ];
    let positions: Vec<usize> = order.iter().map(|part| position(part)).collect();
    assert!(positions.is_sorted(), "{text}");
}

#[test]
fn a_scan_has_limits() {
    let server = Server::start(&[]);
    let start = Instant::now();
    let options = ["--insecure", "--max-connections", "9", "--interval", "50"];
    let report = scan_json(&server.address, &options);
    assert!(start.elapsed() >= Duration::from_millis(8 * 50), "{:?}", start.elapsed());
    assert_eq!((&report["complete"], &report["connections"]), (&false.into(), &9.into()));
    let notes = strings(&report["notes"]).join("\n");
    assert!(notes.contains("stopped after 9 connections (--max-connections)"), "{notes}");
    assert_eq!(versions(&report), ["TLS 1.3", "TLS 1.2"]);
}

#[test]
fn wrong_use_and_unreachable_servers_are_one_line() {
    for (arguments, part) in [
        (&["--interval", "x"][..], "whole number of milliseconds"),
        (&["--name", "a b"], "neither a DNS name nor an IP address"),
        (&["--ca", "x", "--insecure"], "cannot be used with"),
    ] {
        let outcome = scan("127.0.0.1:1", arguments);
        assert_eq!(outcome.status, Some(2), "{outcome:?}");
        assert!(outcome.said.contains(part), "{}", outcome.said);
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let outcome = scan(&address, &["--insecure"]);
    let error = format!("cannot connect to {address}: connection refused");
    assert!(outcome.failure().starts_with(&error), "{}", outcome.said);
    assert!(outcome.output.is_empty());
    let json = run(tercel().args(["scan", &address, "--json", "--insecure"]), b"");
    let report: Value = serde_json::from_slice(&json.output).unwrap();
    assert!(report["error"].as_str().unwrap().starts_with(&error), "{report}");
}

/// Accepts connections, and forwards each to this server after the dialogue of the protocol.
fn forward_after_dialogue(protocol: &'static str, to: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for client in listener.incoming().take(150).map(Result::unwrap) {
            let to = to.clone();
            thread::spawn(move || {
                speak(&client, dialogue_of(protocol));
                let server = TcpStream::connect(to).unwrap();
                let (from_client, to_client) = (client.try_clone().unwrap(), client);
                let (from_server, to_server) = (server.try_clone().unwrap(), server);
                thread::spawn(move || copy(from_client, to_server));
                copy(from_server, to_client);
            });
        }
    });
    address
}

/// Copies until either side ends the connection.
fn copy(mut from: TcpStream, mut to: TcpStream) {
    let _ = io::copy(&mut from, &mut to);
    let _ = to.shutdown(std::net::Shutdown::Both);
}

#[test]
fn a_server_with_starttls_is_scanned_like_one_without() {
    let server = Server::start(&["--tls1.3", "--alpn", "http/1.1"]);
    let mut direct = scan_json(&server.address, &["--insecure", "--interval", "0"]);
    // After a dialogue over TCP, no connection is made over QUIC.
    direct["features"].as_array_mut().unwrap().retain(|feature| feature["name"] != "HTTP/3");
    let address = forward_after_dialogue("imap", server.address.clone());
    let name = ["--insecure", "--interval", "0", "--starttls", "imap"];
    let report = scan_json(&address, &name);
    assert_eq!(versions(&report), ["TLS 1.3"]);
    for key in ["versions", "cipher_suites", "groups", "alpn", "resumption", "features"] {
        assert_eq!(report[key], direct[key], "{key}");
    }
    assert_eq!(report["complete"], true);
}

#[test]
fn a_server_that_does_not_offer_starttls_is_not_scanned() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for mut client in listener.incoming().take(10).map(Result::unwrap) {
            let _ = io::Write::write_all(&mut client, b"220 mx\r\n250 mx\r\n");
            let _ = io::copy(&mut client, &mut io::sink());
        }
    });
    let outcome = scan(&address, &["--insecure", "--starttls", "smtp"]);
    let error = format!("{address}: the server does not offer STARTTLS");
    assert!(outcome.failure().starts_with(&error), "{}", outcome.said);
}

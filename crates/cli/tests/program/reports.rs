//! `tercel connect --show-certs` and `--json`: certificates and errors for people and programs.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener};
use std::process::Command;
use std::thread;

use serde_json::Value;
use tercel::pki::load_certs_pem;

use super::support::{Folder, Leaf, Outcome, Server, connect, refs, run};

/// The only line of the output, parsed.
fn json(outcome: &Outcome) -> Value {
    let text = std::str::from_utf8(&outcome.output).unwrap();
    assert_eq!(text.matches('\n').count(), 1, "{text}");
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn the_chain_is_shown_as_pem_and_nothing_is_relayed() {
    let folder = Folder::new();
    let leaf = Leaf::new("localhost", 2099);
    let server = Server::start(&refs(&leaf.write(&folder, "leaf")));
    let ca = folder.file("leaf-ca.pem").display().to_string();
    let options = ["--show-certs", "--ca", &ca, "--name", "localhost"];
    let outcome = connect(&server.address, &options, b"not sent").success();
    let shown = load_certs_pem(&outcome.output).unwrap();
    assert_eq!(shown, [leaf.certificate.der().clone()]);
    assert_eq!(outcome.reported("version"), ["TLS 1.3"]);
    assert!(outcome.reported("subject").is_empty(), "{}", outcome.said);
    let text = outcome.text();
    assert!(!text.contains("HTTP"), "{text}");
    for line in ["certificate  1 of 1", "names        localhost", "valid-until  2099-12-31"] {
        assert!(text.contains(line), "{text}");
    }

    if Command::new("openssl").arg("version").output().is_err() {
        eprintln!("skipped: there is no openssl");
        return;
    }
    let mut openssl = Command::new("openssl");
    openssl.args(["x509", "-noout", "-fingerprint", "-sha256", "-serial"]);
    let theirs = run(&mut openssl, text.as_bytes()).success().text().to_lowercase();
    let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).unwrap().trim();
    let fingerprint = theirs.lines().find_map(|line| line.split_once("fingerprint=")).unwrap().1;
    assert_eq!(fingerprint.replace(':', ""), value("sha256 "), "{theirs}");
    let serial = theirs.lines().find_map(|line| line.strip_prefix("serial=")).unwrap();
    assert_eq!(serial.trim_start_matches('0'), value("serial ").trim_start_matches('0'));
}

#[test]
fn a_refused_chain_is_shown_before_the_error() {
    let folder = Folder::new();
    let leaf = Leaf::new("localhost", 2020);
    let server = Server::start(&refs(&leaf.write(&folder, "expired")));
    let ca = folder.file("expired-ca.pem").display().to_string();
    let trust = ["--ca", &ca, "--name", "localhost"];
    let refused = |options: &[&str]| connect(&server.address, &[&trust, options].concat(), b"");

    let outcome = refused(&["--show-certs"]);
    assert!(outcome.failure().contains("expired"), "{}", outcome.said);
    let chain = [leaf.certificate.der().clone()];
    assert_eq!(load_certs_pem(&outcome.output).unwrap(), chain);

    assert_eq!(outcome.said.lines().count(), 1, "{}", outcome.said);
    assert!(outcome.text().contains("names        localhost\n"));

    let outcome = refused(&[]);
    assert!(outcome.failure().contains("expired") && outcome.output.is_empty());
    assert_eq!(outcome.said.lines().count(), 1, "{}", outcome.said);

    let outcome = refused(&["--json"]);
    assert!(outcome.failure().contains("expired"), "{}", outcome.said);
    let report = json(&outcome);
    assert_eq!(report["reason"], "certificate");
    assert_eq!(report["refusal"], "Expired");
    assert!(report["error"].as_str().unwrap().contains("2020-12-31"), "{report}");
    let pem = report["certificates"][0]["pem"].as_str().unwrap();
    assert_eq!(load_certs_pem(pem.as_bytes()).unwrap(), chain);
}

/// A certificate's text must not pass for a certificate or a line of the report.
#[test]
fn a_name_cannot_begin_a_line() {
    let folder = Folder::new();
    let name = "x\n-----BEGIN CERTIFICATE-----\nnames  other";
    let mut params = rcgen::CertificateParams::default();
    params.distinguished_name.push(rcgen::DnType::CommonName, name);
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let pem = folder.write("cert.pem", certificate.pem());
    let key = folder.write("key.pem", key.serialize_pem());
    let server = Server::start(&["--cert", &pem, "--key", &key]);
    let options = ["--insecure", "--name", "localhost", "--show-certs"];
    let outcome = connect(&server.address, &options, b"").success();
    assert_eq!(load_certs_pem(&outcome.output).unwrap(), [certificate.der().clone()]);
    assert!(!outcome.text().lines().any(|line| line.starts_with("names")));
    let described = connect(&server.address, &["--insecure", "--name", "localhost"], b"");
    assert!(described.reported("names").is_empty(), "{}", described.said);
}

#[test]
fn a_report_is_one_json_object() {
    let server = Server::start(&[]);
    let options = ["--json", "--name", "localhost", "--alpn", "http/1.1", "--groups", "x25519"];
    let outcome = server.connect(&options, b"not sent").success();
    assert!(outcome.said.is_empty(), "{}", outcome.said);
    let report = json(&outcome);
    for (key, value) in [
        ("peer", Value::from(server.address.clone())),
        ("version", "TLS 1.3".into()),
        ("group", "x25519".into()),
        ("alpn", "http/1.1".into()),
        ("signature_scheme", "ecdsa_secp256r1_sha256".into()),
        ("retried", false.into()),
        ("resumed", false.into()),
        ("early_data", Value::Null),
        ("extended_main_secret", true.into()),
        ("ocsp_staple", false.into()),
    ] {
        assert_eq!(report[key], value, "{key} in {report}");
    }
    assert!(report["handshake_ms"].as_f64().unwrap() > 0.0, "{report}");
    let certificates = report["certificates"].as_array().unwrap();
    assert_eq!(certificates.len(), 2);
    assert_eq!(certificates[0]["names"], Value::from(vec!["localhost", "127.0.0.1", "::1"]));
    for certificate in certificates {
        assert_eq!(certificate["sha256"].as_str().unwrap().len(), 64);
        assert!(certificate["serial"].as_str().is_some_and(|serial| !serial.is_empty()));
    }
}

/// The sessions of a connection over which nothing is relayed are kept.
#[test]
fn reports_resume_sessions() {
    let (folder, server) = (Folder::new(), Server::start(&[]));
    let file = folder.file("sessions").display().to_string();
    for version in ["--tls1.3", "--tls1.2"] {
        let _ = std::fs::remove_file(&file);
        for resumed in [false, true] {
            let outcome = server.connect(&["--json", version, "--session-file", &file], b"");
            assert_eq!(json(&outcome.success())["resumed"], resumed, "{version}");
        }
    }
}

#[test]
fn raw_public_keys_are_shown() {
    let folder = Folder::new();
    let key = rcgen::KeyPair::generate().unwrap();
    let private = folder.write("key.pem", key.serialize_pem());
    let public = folder.write("public.pem", key.public_key_pem());
    let server = Server::start(&["--raw-key", &private]);
    let trust = ["--server-keys", public.as_str()];
    let outcome =
        connect(&server.address, &[&trust[..], &["--show-certs"]].concat(), b"").success();
    let shown = outcome.text().replace('\r', "");
    assert!(shown.ends_with(&key.public_key_pem().replace('\r', "")), "{shown}");
    let report = json(&connect(&server.address, &[&trust[..], &["--json"]].concat(), b""));
    assert!(report["raw_public_key"]["sha256"].is_string(), "{report}");
    assert_eq!(report["certificates"], Value::Array(Vec::new()));
}

#[test]
fn errors_are_json_as_well() {
    let server = Server::start(&["--tls1.3", "--listen", "127.0.0.1:0"]);
    let plain = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = plain.local_addr().unwrap().to_string();
    for (address, options, reason) in [
        (server.address.as_str(), &["--insecure", "--tls1.2"][..], "alert"),
        ("127.43.21.9:1", &["--insecure", "--timeout", "2"], "connect"),
        (&silent, &["--insecure", "--timeout", "1"], "timed-out"),
        (&silent, &["--insecure", "--timeout", "1", "--starttls", "smtp"], "starttls"),
        (&silent, &["--ca", "/none.pem"], "configuration"),
    ] {
        let outcome = connect(address, &[options, &["--json"]].concat(), b"");
        let report = json(&outcome);
        assert_eq!(report["reason"], reason, "{report}");
        let line = outcome.failure();
        assert_eq!(report["error"], line);
        assert_eq!(report.get("alert").is_some(), reason == "alert", "{report}");
    }
    for (answer, reason) in [(&b"220 mx\r\n"[..], "not-tls"), (b"", "closed")] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let server = thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            socket.read_exact(&mut [0; 5]).unwrap();
            socket.write_all(answer).unwrap();
            socket.shutdown(Shutdown::Write).unwrap();
            while socket.read(&mut [0; 1024]).is_ok_and(|count| count > 0) {}
        });
        let outcome = connect(&address, &["--insecure", "--json"], b"");
        assert_eq!(json(&outcome)["reason"], reason, "{}", outcome.said);
        server.join().unwrap();
    }
    let outcome = connect("https://a", &["--starttls", "smtp", "--insecure", "--json"], b"");
    assert_eq!(outcome.status, Some(2));
    assert_eq!(json(&outcome)["reason"], "usage");
}

#[test]
fn the_error_in_json_is_the_text_on_standard_error() {
    let folder = Folder::new();
    let unreadable = folder.file("").display().to_string();
    for options in [["--session-file", &unreadable], ["--ca", &unreadable]] {
        let outcome = connect("localhost:1", &[&["--json"], &options[..]].concat(), b"");
        let text = outcome.failure().to_owned();
        assert_eq!(json(&outcome)["error"], text);
        assert!(text.ends_with("is a directory, not a file"), "{text}");
    }
}

//! Echo: bytes are carried in both directions at once and arrive unchanged.

use std::io::{Read, Write};
use std::process::Stdio;

use super::support::{Server, payload, tercel};

#[test]
fn a_mebibyte_comes_back_in_both_versions() {
    let server = Server::start(&["--echo"]);
    let data = payload(1 << 20);
    for version in ["--tls1.3", "--tls1.2"] {
        let outcome = server.connect(&[version], &data).success();
        assert!(outcome.output == data, "{version}: {} bytes returned", outcome.output.len());
    }
}

#[test]
fn keys_can_be_updated_under_way() {
    let server = Server::start(&["--echo"]);
    let data = payload(100_000);
    let outcome = server.connect(&["--update-key"], &data).success();
    assert!(outcome.output == data);
    let old = server.connect(&["--update-key", "--tls1.2"], &data);
    assert!(old.failure().contains("TLS 1.3"), "{}", old.said);
}

#[test]
fn a_server_can_update_keys_too() {
    let server = Server::start(&["--echo", "--update-key"]);
    let data = payload(100_000);
    for options in [&["--tls1.3"][..], &["--tls1.3", "--update-key"], &["--tls1.2"]] {
        let outcome = server.connect(options, &data).success();
        assert!(outcome.output == data, "{options:?}");
    }
}

#[test]
fn records_are_as_small_as_asked_for() {
    let server = Server::start(&["--echo", "--record-size-limit", "64"]);
    let data = payload(10_000);
    for version in ["--tls1.3", "--tls1.2"] {
        let options = [version, "--record-size-limit", "100"];
        let outcome = server.connect(&options, &data).success();
        assert!(outcome.output == data, "{version}");
    }
}

#[test]
fn no_input_is_an_orderly_end() {
    let server = Server::start(&["--echo"]);
    for version in ["--tls1.3", "--tls1.2"] {
        let outcome = server.connect(&[version, "--quiet"], b"").success();
        assert!(outcome.output.is_empty());
        assert_eq!(outcome.said, "");
    }
    // An orderly end leaves no error in the log lines of the server.
    server.wait_for("TLS 1.3");
    server.wait_for("TLS 1.2");
    let orderly = |line: &str| line.ends_with(" X25519MLKEM768") || line.ends_with(" x25519");
    let said = server.end();
    assert!(said.lines().all(orderly), "{said}");
}

#[test]
fn an_answer_arrives_while_input_is_still_open() {
    let server = Server::start(&["--echo"]);
    let mut command = tercel();
    command.args(["connect", &server.address, "--ca", &server.ca, "--quiet"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    for word in [&b"first"[..], b"second"] {
        stdin.write_all(word).unwrap();
        let mut answer = vec![0; word.len()];
        stdout.read_exact(&mut answer).unwrap();
        assert_eq!(answer, word);
    }
    drop(stdin);
    let mut rest = Vec::new();
    stdout.read_to_end(&mut rest).unwrap();
    assert!(rest.is_empty() && child.wait().unwrap().success());
}

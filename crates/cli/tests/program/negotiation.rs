//! The options decide which parameters are negotiated, and both sides report the same parameters.

use std::io::Read;
use std::net::TcpListener;
use std::process::Stdio;

use super::support::{Folder, Leaf, Server, refs, run, tercel};

const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

#[test]
fn the_page_and_the_report_agree() {
    let server = Server::start(&[]);
    for (option, version, suite) in [
        ("--tls1.3", "TLS 1.3", "TLS_AES_256_GCM_SHA384"),
        ("--tls1.2", "TLS 1.2", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"),
    ] {
        let options = [option, "--suites", suite, "--name", "localhost", "--alpn", "http/1.1"];
        let outcome = server.request(&options, GET).success();
        for (key, value) in [
            ("version", version),
            ("suite", suite),
            ("signature-scheme", "ecdsa_secp256r1_sha256"),
            ("alpn", "http/1.1"),
            ("retried", "no"),
            ("resumed", "no"),
            ("extended-main-secret", "yes"),
        ] {
            assert_eq!(outcome.reported(key), [value], "{key}");
            let row = format!("<th>{key}</th><td>{value}</td>");
            assert!(String::from_utf8_lossy(&outcome.output).contains(&row), "{row}");
        }
        assert_eq!(outcome.reported("certificate"), ["1 of 2", "2 of 2"]);
        assert_eq!(outcome.reported("names"), ["localhost, 127.0.0.1, ::1"]);
        assert_eq!(outcome.reported("key"), ["ECDSA P-256", "ECDSA P-256"]);
        assert_eq!(outcome.reported("handshake").len(), 1);
        assert!(outcome.text().contains("<th>server-name</th><td>localhost</td>"));
        server.wait_for(&format!("{version} {suite}"));
    }
}

#[test]
fn every_group_and_suite_can_be_asked_for() {
    let server = Server::start(&[]);
    let classic = ["secp256r1", "secp384r1", "secp521r1", "x25519"];
    let hybrid = ["X25519MLKEM768", "SecP256r1MLKEM768", "SecP384r1MLKEM1024"];
    for group in classic {
        let outcome = server.request(&["--tls1.2", "--groups", group], GET).success();
        assert_eq!(outcome.reported("group"), [group]);
    }
    for group in classic.iter().chain(&hybrid) {
        let outcome = server.request(&["--tls1.3", "--groups", group], GET).success();
        assert_eq!(outcome.reported("group"), [*group]);
    }
    for suite in
        ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"]
    {
        let outcome = server.request(&["--tls1.3", "--suites", suite], GET).success();
        assert_eq!(outcome.reported("suite"), [suite]);
    }
    for (kind, leaf) in [("ECDSA", "ECDSA P-256"), ("RSA", "RSA 2048")] {
        for rest in ["AES_128_GCM_SHA256", "AES_256_GCM_SHA384", "CHACHA20_POLY1305_SHA256"] {
            let suite = format!("TLS_ECDHE_{kind}_WITH_{rest}");
            let outcome = server.request(&["--tls1.2", "--suites", &suite], GET).success();
            assert_eq!(outcome.reported("suite"), [&suite]);
            assert_eq!(outcome.reported("key")[0], leaf);
        }
    }
}

#[test]
fn a_group_the_server_lacks_leads_to_a_retry() {
    let server = Server::start(&["--groups", "secp384r1"]);
    let outcome = server.request(&["--groups", "x25519:secp384r1"], GET).success();
    assert_eq!(outcome.reported("group"), ["secp384r1"]);
    assert_eq!(outcome.reported("retried"), ["yes"]);
    server.wait_for("secp384r1 retried");
}

#[test]
fn the_servers_restrictions_hold() {
    let server = Server::start(&["--tls1.2", "--suites", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"]);
    let outcome = server.request(&[], GET).success();
    assert_eq!(outcome.reported("version"), ["TLS 1.2"]);
    assert_eq!(outcome.reported("suite"), ["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"]);
}

#[test]
fn protocols_are_the_servers_choice_among_the_clients() {
    let server = Server::start(&["--echo", "--alpn", "h2,http/1.1"]);
    let outcome = server.connect(&["--alpn", "http/1.1:h2"], GET).success();
    assert_eq!(outcome.reported("alpn"), ["h2"]);
    let outcome = server.connect(&["--alpn", "spdy"], GET);
    assert!(outcome.failure().contains("no_application_protocol"), "{}", outcome.said);
}

/// A client that prefers HTTP/2 gets a protocol that the options permit.
#[test]
fn only_served_protocols_are_negotiated() {
    let server = Server::start(&["--alpn", "http/1.1"]);
    let outcome = server.request(&["--alpn", "h2:http/1.1"], GET).success();
    assert_eq!(outcome.reported("alpn"), ["http/1.1"]);
    for (options, served) in [
        (&["--alpn", "h3"][..], "only h2 and http/1.1 can be served"),
        (&["--alpn", "http/1.1,spdy"], "only h2 and http/1.1 can be served"),
        // RFC 9113 9.2.3
        (&["--alpn", "h2", "--client-auth", "later"], "only http/1.1 can be served"),
    ] {
        let outcome = run(tercel().arg("serve").args(options), b"");
        assert_eq!(outcome.status, Some(2), "{}", outcome.said);
        assert!(outcome.said.contains(served), "{}", outcome.said);
    }
}

#[test]
fn the_name_asked_for_chooses_the_certificate() {
    let folder = Folder::new();
    let one = Leaf::new("one.example", 2099).write(&folder, "one");
    let two = Leaf::new("two.example", 2099).write(&folder, "two");
    let options = [&one[..], &two[..]].concat();
    let server = Server::start(&refs(&options));
    let connect = |name: &str, ca: &str| {
        let ca = folder.file(ca).display().to_string();
        super::support::connect(&server.address, &["--name", name, "--ca", &ca], GET)
    };
    assert_eq!(connect("one.example", "one-ca.pem").success().reported("names"), ["one.example"]);
    assert_eq!(connect("two.example", "two-ca.pem").success().reported("names"), ["two.example"]);
    let unknown = connect("three.example", "one-ca.pem");
    assert!(unknown.failure().contains("one.example"), "{}", unknown.said);

    let strict = Server::start(&[&refs(&options)[..], &["--require-known-name"]].concat());
    let options = ["--name", "three.example", "--insecure"];
    let refused = super::support::connect(&strict.address, &options, GET);
    assert!(refused.failure().contains("unrecognized_name"), "{}", refused.said);
}

#[test]
fn keys_are_logged_on_request_only_and_privately() {
    let folder = Folder::new();
    let (new, old) = (folder.file("new.log"), folder.file("old.log"));
    let server = Server::start(&[]);
    for (version, file, label) in
        [("--tls1.3", &new, "CLIENT_TRAFFIC_SECRET_0 "), ("--tls1.2", &old, "CLIENT_RANDOM ")]
    {
        let file = file.display().to_string();
        server.request(&[version, "--key-log", &file], GET).success();
        let log = std::fs::read_to_string(&file).unwrap();
        assert!(log.lines().any(|line| line.starts_with(label)), "{log}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::metadata(&file).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }
}

#[test]
fn only_the_compressions_named_are_offered() {
    let server = Server::start(&[]);
    for (names, extension) in
        [("zlib", &[0, 27, 0, 3, 2, 0, 1][..]), ("brotli:zlib", &[0, 27, 0, 5, 4, 0, 2, 0, 1])]
    {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut command = tercel();
        command.arg("connect").arg(listener.local_addr().unwrap().to_string());
        command.args(["--ca", &server.ca, "--compressed-certificates"]);
        command.args(["--certificate-compression", names]);
        let mut client = command.stderr(Stdio::null()).stdin(Stdio::null()).spawn().unwrap();
        let mut tcp = listener.accept().unwrap().0;
        let mut hello = vec![0; 5];
        tcp.read_exact(&mut hello).unwrap();
        let length = usize::from(u16::from_be_bytes([hello[3], hello[4]]));
        hello.resize(length, 0);
        tcp.read_exact(&mut hello).unwrap();
        drop(tcp);
        client.wait().unwrap();
        assert!(hello.windows(extension.len()).any(|part| part == extension), "{names}");
    }
}

//! Every failure is one clear line that names its cause.

use std::net::TcpListener;
use std::sync::Arc;
use std::thread;

use tercel::Handshake;

use super::support::{Folder, Leaf, OpenSsl, Server, connect, refs, run, server_of_ours, tercel};

#[test]
fn certificates_are_refused_for_a_reason() {
    let folder = Folder::new();
    let expired = Leaf::new("localhost", 2020).write(&folder, "expired");
    let server = Server::start(&refs(&expired));
    let ca = folder.file("expired-ca.pem").display().to_string();
    let outcome = connect(&server.address, &["--ca", &ca, "--name", "localhost"], b"");
    let line = outcome.failure();
    assert!(line.contains("expired") && line.contains("2020-12-31"), "{line}");
    assert!(outcome.output.is_empty());

    let server = Server::start(&[]);
    let outcome = server.connect(&["--name", "other.example"], b"");
    let line = outcome.failure();
    assert!(line.contains("other.example") && line.contains("localhost"), "{line}");

    let outcome = connect(&server.address, &["--ca", &ca], b"");
    assert!(outcome.failure().contains("issuer is unknown"), "{}", outcome.said);
    server.wait_for("the peer sent the fatal alert unknown_ca");

    let trusting = connect(&server.address, &["--insecure", "--name", "other.example"], b"");
    assert!(trusting.success().said.starts_with("warning: "));
}

/// The rule is one of the protocol, as for BoringSSL: it does not depend on trust. RFC 9846 4.5.1
#[test]
fn a_key_that_may_not_sign_is_refused_without_verification_too() {
    let folder = Folder::new();
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(["localhost".to_owned()]).unwrap();
    params.key_usages = vec![rcgen::KeyUsagePurpose::KeyAgreement];
    let certificate = folder.write("own.pem", params.self_signed(&key).unwrap().pem());
    let key = folder.write("own.key", key.serialize_pem());
    let Some(server) = OpenSsl::serve(&certificate, &key, &["-tls1_3"]) else { return };
    let outcome = connect(&server.address, &["--insecure"], b"");
    let line = outcome.failure();
    assert!(line.contains("key usage does not allow signing handshakes"), "{line}");
    assert!(line.contains("digitalSignature, also with --insecure"), "{line}");
}

/// A server may present a trusted authority's own certificate, as `openssl req -x509` makes it, and
/// as a client's authority, too.
#[test]
fn a_self_signed_authority_may_present_itself() {
    let folder = Folder::new();
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(["localhost".to_owned()]).unwrap();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let certificate = folder.write("own.pem", params.self_signed(&key).unwrap().pem());
    let key = folder.write("own.key", key.serialize_pem());
    let own = ["--cert", &certificate, "--key", &key];
    let trusting = ["--client-auth", "required", "--client-ca", &certificate];
    let server = Server::start(&[&own[..], &trusting].concat());
    for version in ["--tls1.2", "--tls1.3"] {
        let trusted = ["--ca", &certificate, "--name", "localhost", version];
        connect(&server.address, &[&own[..], &trusted].concat(), b"").success();
    }
    let outcome = connect(&server.address, &["--ca", &certificate, "--name", "other.example"], b"");
    assert!(outcome.failure().contains("other.example"), "{}", outcome.said);
}

#[test]
fn what_is_left_out_of_the_systems_store_is_said() {
    let folder = Folder::new();
    let server = Server::start(&[]);
    let mut store = std::fs::read_to_string(&server.ca).unwrap();
    for number in 0..5 {
        let mut params = rcgen::CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(rcgen::DnType::CommonName, format!("other {number}"));
        let key = rcgen::KeyPair::generate().unwrap();
        store += &params.self_signed(&key).unwrap().pem();
    }
    let store = folder.write("store.pem", store);
    let said = |file: &str| {
        let mut command = tercel();
        command.args(["connect", &server.address, "--name", "localhost", "--quiet"]);
        run(command.env("SSL_CERT_FILE", file), b"").success().said
    };
    let text = said(&store);
    let expected = "warning: 5 left out of the system's trusted certificates (no authority, or \
                    unreadable): ";
    assert!(text.starts_with(expected), "{text}");
    assert!(text.matches("CN=other ").count() == 3 && text.contains(" and 2 more\n"), "{text}");
    assert_eq!(said(&server.ca), "");
}

#[test]
fn alerts_are_named() {
    let server = Server::start(&["--tls1.3"]);
    let outcome = server.connect(&["--tls1.2"], b"");
    assert!(outcome.failure().contains("alert protocol_version"), "{}", outcome.said);
    let server = Server::start(&["--groups", "x25519"]);
    let outcome = server.connect(&["--groups", "secp256r1"], b"");
    assert!(outcome.failure().contains("alert handshake_failure"), "{}", outcome.said);
}

#[test]
fn a_silent_server_is_a_timeout() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let outcome = connect(&address, &["--insecure", "--timeout", "1"], b"");
    let line = outcome.failure();
    assert!(line.starts_with("handshake timed out: the server sent nothing; "), "{line}");
}

#[test]
fn a_closed_port_is_refused() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let outcome = connect(&address, &["--insecure"], b"");
    let expected =
        format!("cannot connect to {address}: connection refused; nothing listens on that port");
    assert_eq!(outcome.failure(), expected);
}

#[test]
fn truncation_is_distinguished_from_closing() {
    let (config, listener, address) = server_of_ours();
    let server = thread::spawn(move || {
        // The server closes in the middle of the handshake, and later without close_notify.
        drop(listener.accept().unwrap());
        let (socket, _) = listener.accept().unwrap();
        let mut stream = Handshake::server(Arc::clone(&config)).complete(&socket).unwrap();
        std::io::Write::write_all(&mut stream, b"half a sen").unwrap();
        // Waits until the client has closed, so that the connection does not end with a reset.
        let heard = std::io::Read::read(&mut stream, &mut [0; 1]).unwrap();
        assert_eq!(heard, 0);
    });
    let outcome = connect(&address, &["--insecure"], b"");
    let line = outcome.failure();
    assert!(line.contains("during the handshake") || line.contains("reset"), "{line}");
    let outcome = connect(&address, &["--insecure"], b"");
    assert!(outcome.failure().starts_with("truncated: "), "{}", outcome.said);
    assert_eq!(outcome.output, b"half a sen");
    server.join().unwrap();
}

#[test]
fn a_server_that_never_closes_is_not_waited_for() {
    let (config, listener, address) = server_of_ours();
    let server = thread::spawn(move || {
        let (socket, _) = listener.accept().unwrap();
        let stream = Handshake::server(config).complete(&socket).unwrap();
        drop(stream);
        // The server stays silent until the client is gone.
        while std::io::Read::read(&mut &socket, &mut [0; 64]).is_ok_and(|count| count > 0) {}
    });
    let outcome = connect(&address, &["--insecure", "--timeout", "1"], b"");
    assert!(outcome.failure().starts_with("timed out waiting"), "{}", outcome.said);
    server.join().unwrap();
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let folder = Folder::new();
    let one = Leaf::new("one.example", 2099).write(&folder, "one");
    Leaf::new("two.example", 2099).write(&folder, "two");
    let other_key = folder.file("two.key").display().to_string();
    let serve = |cert: &str, key: &str| {
        let listen = ["serve", "--listen", "127.0.0.1:0"];
        run(tercel().args(listen).args(["--cert", cert, "--key", key]), b"")
    };
    let outcome = serve(&one[1], &other_key);
    assert!(outcome.failure().contains("does not match"), "{}", outcome.said);
    let outcome = serve("/none.pem", &one[3]);
    assert!(outcome.failure().contains("/none.pem"), "{}", outcome.said);
    let outcome = serve(&one[3], &one[3]);
    assert!(outcome.failure().contains("one.key"), "{}", outcome.said);
}

#[test]
fn invalid_command_lines_have_exit_status_2() {
    for arguments in [
        &["serve", "--groups", "nonesuch"][..],
        &["serve", "--suites", "TLS_RSA_WITH_NULL_MD5"],
        &["serve", "--cert", "x.pem"],
        &["serve", "--cert", "a", "--key", "b", "--cert", "c"],
        &["serve", "--cert", "a", "--key", "b", "--client-auth", "required"],
        &["serve", "--echo", "--root", "."],
        &["serve", "--max-connections", "0"],
        &["serve", "--client-keys", "x.pem"],
        &["serve", "--sessions", "none", "--early-data", "100"],
        &["serve", "--early-data", "0"],
        &["serve", "--record-size-limit", "63"],
        &["connect", ""],
        &["connect", "http://localhost"],
        &["connect", "::g:443"],
        &["connect", "[localhost]"],
        &["connect", "localhost:0"],
        &["connect", "a_b c:1"],
        &["connect", "localhost:1", "--ca", "x", "--insecure"],
        &["connect", "localhost:1", "--timeout", "0"],
        &["connect", "localhost:1", "--early-data", "x"],
        &["connect", "localhost:1", "--server-keys", "x", "--insecure"],
        &["connect", "localhost:1", "--cert", "a", "--key", "b", "--raw-key", "c"],
    ] {
        let outcome = run(tercel().args(arguments), b"");
        assert_eq!(outcome.status, Some(2), "{arguments:?}: {}", outcome.said);
        // The system's store may have certificates that are left out with a warning.
        let said = outcome.said.lines().find(|line| !line.starts_with("warning: "));
        assert!(said.is_some_and(|line| line.starts_with("error: ")), "{}", outcome.said);
    }
}

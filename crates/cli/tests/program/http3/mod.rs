//! HTTP/3: `serve`, `connect`, `load` and `scan` against each other, and against quinn with rustls.
//! RFC 9114

mod early_data;
mod limits;
mod load_and_scan;
mod peer;

use std::net::UdpSocket;
use std::process::Command;

use serde_json::Value;
use tercel::pki::load_certs_pem;

use super::support::{Folder, Leaf, Outcome, Server, connect, payload, refs, run, tercel};
use peer::{Client, answering_server};

/// A server of HTTP/3, which also has these options.
fn start(options: &[&str]) -> Server {
    Server::start(&[&["--http3"], options].concat())
}

/// Requests a path over HTTP/3.
fn request(server: &Server, path: &str, options: &[&str]) -> Outcome {
    let url = format!("https://{}{path}", server.address);
    connect(&url, &[&["--http3", "--ca", server.ca.as_str()], options].concat(), b"")
}

fn json(outcome: &Outcome) -> Value {
    serde_json::from_slice(&outcome.output).unwrap_or_else(|error| panic!("{error}: {outcome:?}"))
}

#[test]
fn files_are_served() {
    let folder = Folder::new();
    let data = payload(3_000_000);
    std::fs::create_dir_all(folder.file("site/sub")).unwrap();
    folder.write("secret", "secret");
    folder.write("site/data.bin", &data);
    let server = start(&["--root", &folder.file("site").display().to_string()]);
    let outcome = request(&server, "/data.bin?x=1", &[]).success();
    assert!(outcome.output == data, "{} bytes", outcome.output.len());
    for (key, value) in
        [("transport", "QUIC"), ("version", "TLS 1.3"), ("alpn", "h3"), ("resumed", "no")]
    {
        assert_eq!(outcome.reported(key), [value], "{}", outcome.said);
    }
    assert!(outcome.reported("tcp-connect").is_empty(), "{}", outcome.said);
    let said: Vec<&str> = outcome.said.lines().collect();
    assert!(said.contains(&"HTTP/3 200 OK") && said.contains(&"content-length: 3000000"));
    let head = request(&server, "/data.bin", &["--head"]).success();
    assert!(head.output.is_empty() && head.said.contains("content-length: 3000000"), "{head:?}");
    let quiet = request(&server, "/data.bin", &["--get", "--quiet"]).success();
    assert!(quiet.output == data && quiet.said.is_empty(), "{}", quiet.said);
    for (path, status) in [
        ("/none", "404 Not Found"),
        ("/../secret", "403 Forbidden"),
        ("/%2e%2e/secret", "403 Forbidden"),
        ("/%zz", "400 Bad Request"),
        ("/sub", "301 Moved Permanently"),
    ] {
        let outcome = request(&server, path, &[]).success();
        assert!(outcome.said.contains(&format!("HTTP/3 {status}")), "{path}: {}", outcome.said);
        assert!(!outcome.text().contains("secret"), "{path}");
    }
    server.wait_for("HTTP/3 TLS 1.3 TLS_");
}

/// RFC 7838 3, RFC 9114 3.1.1
#[test]
fn responses_over_tcp_announce_http3() {
    let server = start(&[]);
    let port = server.address.rsplit(':').next().unwrap().to_owned();
    let announced = format!("alt-svc: h3=\":{port}\"; ma=60");
    let url = format!("https://{}/", server.address);
    for protocol in ["h2", "http/1.1"] {
        let options = ["--get", "--ca", &server.ca, "--alpn", protocol];
        let outcome = connect(&url, &options, b"").success();
        assert!(outcome.said.contains(&announced), "{}", outcome.said);
    }
    let outcome = request(&server, "/", &[]).success();
    assert!(!outcome.said.contains("alt-svc"), "{}", outcome.said);
    assert!(outcome.text().contains("<th>alpn</th><td>h3</td>"));
    let plain = Server::start(&[]);
    assert!(!plain.get("/").to_lowercase().contains("alt-svc"));
}

/// A client of HTTP/3 over TCP, or of HTTP/2 over QUIC, gets no connection. RFC 9114 3.1
#[test]
fn each_transport_has_its_own_protocols() {
    let server = start(&[]);
    let outcome = server.connect(&["--alpn", "h3"], b"");
    assert!(outcome.failure().contains("alert no_application_protocol"), "{}", outcome.said);
    let error = peer::runtime().block_on(Client::connect(&server, b"h2")).err().unwrap();
    assert!(error.contains("120"), "{error}");
    server.wait_for("no application protocol in common");
}

#[test]
fn reports_have_the_chain_also_if_it_is_refused() {
    let folder = Folder::new();
    let leaf = Leaf::new("localhost", 2099);
    let server = start(&refs(&leaf.write(&folder, "leaf")));
    let chain = [leaf.certificate.der().clone()];
    let ca = folder.file("leaf-ca.pem").display().to_string();
    let trust = ["--http3", "--ca", &ca];
    let of = |name: &str, options: &[&str]| {
        connect(&server.address, &[&trust[..], &["--name", name], options].concat(), b"")
    };
    let shown = of("localhost", &["--show-certs"]).success();
    assert_eq!(load_certs_pem(&shown.output).unwrap(), chain);
    assert_eq!(shown.reported("transport"), ["QUIC"]);
    let outcome = of("localhost", &["--json"]).success();
    let report = json(&outcome);
    assert!(outcome.said.is_empty(), "{}", outcome.said);
    assert_eq!((&report["transport"], &report["alpn"]), (&"QUIC".into(), &"h3".into()));
    assert_eq!(report["certificates"].as_array().unwrap().len(), 1);
    assert_eq!(report["signature_scheme"], "ecdsa_secp256r1_sha256");
    assert!(report["handshake_ms"].as_f64().unwrap() > 0.0, "{report}");
    assert_eq!(report.get("tcp_connect_ms"), None);

    let refused = of("other.example", &["--show-certs"]);
    assert_eq!(load_certs_pem(&refused.output).unwrap(), chain);
    let line = refused.failure();
    assert!(line.starts_with("certificate refused: ") && line.contains("--name NAME"), "{line}");
    let refused = of("other.example", &["--json"]);
    let report = json(&refused);
    assert_eq!(
        (&report["reason"], &report["refusal"]),
        (&"certificate".into(), &"NameMismatch".into())
    );
    let pem = report["certificates"][0]["pem"].as_str().unwrap();
    assert_eq!(load_certs_pem(pem.as_bytes()).unwrap(), chain);
    assert_eq!(report["error"], refused.failure());
    server.wait_for("alert bad_certificate");
}

#[test]
fn failures_have_their_reasons() {
    let server = start(&["--groups", "x25519"]);
    let outcome = request(&server, "/", &["--groups", "secp256r1", "--json"]);
    let line = outcome.failure();
    assert!(line.contains("alert handshake_failure; usually no cipher suite"), "{line}");
    let report = json(&outcome);
    assert_eq!(
        (&report["reason"], &report["alert"]),
        (&"alert".into(), &"handshake_failure".into())
    );
    server.wait_for("no key exchange group in common");

    // On Linux, the operating system reports that nothing listens.
    if cfg!(target_os = "linux") {
        let plain = Server::start(&[]);
        let outcome = request(&plain, "/", &["--json"]);
        let expected = "connection refused; nothing listens on that UDP port: ";
        assert!(outcome.failure().starts_with(expected), "{}", outcome.said);
        assert_eq!(json(&outcome)["reason"], "connect");
    }
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let options = ["--http3", "--insecure", "--timeout", "1", "--json"];
    let outcome = connect(&address, &options, b"");
    assert!(outcome.failure().starts_with("handshake timed out: no answer over QUIC; "));
    assert_eq!(json(&outcome)["reason"], "timed-out");
}

/// RFC 9001 4.1.2
#[test]
fn clients_are_authenticated() {
    let server = start(&["--client-auth", "required"]);
    let page = request(&server, "/", &refs(&server.client)).success().text();
    let row = "<th>client-certificate</th><td>CN=Tercel test client</td>";
    assert!(page.contains(row), "{page}");
    server.wait_for("client=CN=Tercel test client");
    // The alert follows the client's handshake.
    for options in [&[][..], &["--json"], &["--show-certs"]] {
        let outcome = request(&server, "/", options);
        let line = outcome.failure();
        assert!(line.contains("alert certificate_required; the server requires"), "{line}");
    }
    let folder = Folder::new();
    let other = Leaf::new("client.example", 2099).write(&folder, "other");
    let outcome = request(&server, "/", &refs(&other));
    assert!(outcome.failure().contains("alert unknown_ca"), "{}", outcome.said);
    server.wait_for("certificate refused: the issuer is unknown");
    let server = start(&["--client-auth", "optional"]);
    let page = request(&server, "/", &[]).success().text();
    assert!(page.contains("<th>client-certificate</th><td>none</td>"), "{page}");
}

#[test]
fn pre_shared_keys_and_raw_keys_are_accepted() {
    let psk = "client:000102030405060708090a0b0c0d0e0f";
    let server = start(&["--psk", psk]);
    let outcome = connect(&server.address, &["--http3", "--psk", psk], b"").success();
    assert_eq!(outcome.reported("pre-shared-key"), ["client"]);

    let folder = Folder::new();
    let key = rcgen::KeyPair::generate().unwrap();
    let private = folder.write("key.pem", key.serialize_pem());
    let public = folder.write("public.pem", key.public_key_pem());
    let server = start(&["--raw-key", &private]);
    let options = ["--http3", "--server-keys", &public];
    let outcome = connect(&server.address, &options, b"").success();
    assert_eq!(outcome.reported("server-certificate-type"), ["RawPublicKey"]);
}

#[test]
fn keys_are_updated() {
    let folder = Folder::new();
    let data = payload(1_000_000);
    folder.write("data.bin", &data);
    let server = start(&["--update-key", "--root", &folder.0.display().to_string()]);
    let outcome = request(&server, "/data.bin", &[]).success();
    assert!(outcome.output == data, "{} bytes", outcome.output.len());
}

/// RFC 9114 4.1
#[test]
fn clients_with_rustls_are_served() {
    let folder = Folder::new();
    let data = payload(1 << 20);
    folder.write("data.bin", &data);
    folder.write("index.html", "<p>index");
    let server = start(&["--root", &folder.0.display().to_string()]);
    peer::runtime().block_on(async {
        let mut client = Box::pin(Client::connect(&server, b"h3")).await.unwrap();
        // The requests share a connection.
        let large = client.send("GET", "/data.bin", b"").await.unwrap();
        let small = client.send("GET", "/?query", b"").await.unwrap();
        let (head, content) = small.receive().await.unwrap();
        assert_eq!((head.status().as_u16(), &content[..]), (200, &b"<p>index"[..]));
        assert_eq!(head.headers()["content-type"], "text/html; charset=utf-8");
        assert!(large.receive().await.unwrap().1 == data);
        for (method, path, content, status) in [
            ("HEAD", "/data.bin", &b""[..], 200),
            ("GET", "/none", b"", 404),
            ("POST", "/", b"some content", 405),
            ("OPTIONS", "/", b"", 405),
        ] {
            let response = client.send(method, path, content).await.unwrap();
            let (head, body) = response.receive().await.unwrap();
            assert_eq!(head.status().as_u16(), status, "{method} {path}");
            assert_eq!(body.is_empty(), method == "HEAD");
            assert_eq!(head.headers().contains_key("allow"), status == 405, "{method} {path}");
        }
    });
}

#[test]
fn servers_with_rustls_are_reached() {
    let data = payload(300_000);
    let server = answering_server(&data);
    let url = format!("https://{}/some?query", server.address);
    let options = ["--http3", "--ca", &server.ca, "--name", "localhost"];
    let outcome = connect(&url, &options, b"").success();
    assert!(outcome.output == data, "{} bytes", outcome.output.len());
    assert!(outcome.said.contains("\nx-path: /some?query"), "{}", outcome.said);
    // The interim response is not shown.
    assert!(outcome.said.contains("HTTP/3 200 OK") && !outcome.said.contains("HTTP/3 103"));
}

#[test]
fn curl_is_served() {
    let version = Command::new("curl").arg("--version").output();
    if !version.is_ok_and(|version| String::from_utf8_lossy(&version.stdout).contains("HTTP3")) {
        eprintln!("skipped: there is no curl with HTTP/3");
        return;
    }
    let server = start(&[]);
    let port = server.address.rsplit(':').next().unwrap();
    let url = format!("https://localhost:{port}/");
    let mut curl = crate::support::curl();
    curl.args(["--silent", "--show-error", "--cacert", &server.ca, "--http3-only"]);
    curl.args(["--write-out", "[%{http_version}]", &url]);
    let text = run(&mut curl, b"").success().text();
    assert!(text.contains("[3]") && text.contains("<th>alpn</th><td>h3</td>"), "{text}");
}

#[test]
fn options_without_a_meaning_are_refused() {
    for arguments in [
        "serve --http3 --echo",
        "serve --http3 --tls1.2",
        "serve --http3 --client-auth later",
        "connect a --http3 --starttls smtp",
        "connect a --http3 --alpn h2",
        "connect a --http3 --tls1.2",
        "connect a --http3 --update-key",
        "connect a --http3 --post-handshake-auth",
        "connect a --http3 --record-size-limit 100",
        "connect a --http3 --session-file x --early-data y",
        "connect a --early-request --session-file x",
        "connect a --http3 --early-request",
        "connect imaps://a --http3",
        "load a --full --http3 --tls1.2",
        "load a --requests --http3 --http2",
        "load a --requests --http3 --alpn h2",
    ] {
        let outcome = run(tercel().args(arguments.split(' ')), b"");
        assert_eq!(outcome.status, Some(2), "{arguments}: {}", outcome.said);
    }
    let outcome = run(
        tercel().args([
            "serve",
            "--http3",
            "--suites",
            "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
            "--listen",
            "127.0.0.1:0",
        ]),
        b"",
    );
    assert!(outcome.failure().starts_with("--http3: "), "{}", outcome.said);
}

//! `tercel connect` takes a server in every form of an address, and verifies the name in it.

use super::support::{Server, connect, run, tercel};

const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

#[test]
fn a_server_is_named_by_host_address_or_url() {
    let server = Server::start(&[]);
    let port = server.address.rsplit(':').next().unwrap();
    for (address, name) in [
        (format!("localhost:{port}"), "localhost"),
        (format!("https://localhost:{port}"), "localhost"),
        (format!("https://localhost:{port}/any/path?query"), "localhost"),
        (format!("smtps://127.0.0.1:{port}"), "none"),
    ] {
        let outcome = connect(&address, &["--ca", &server.ca, "--alpn", "http/1.1"], GET).success();
        let row = format!("<th>server-name</th><td>{name}</td>");
        assert!(outcome.text().contains(&row), "{address}");
    }
    // The dot is neither sent nor compared with the certificate's names. RFC 6066 3
    let options = ["--ca", &server.ca, "--alpn", "http/1.1", "--name", "localhost."];
    let outcome = connect(&server.address, &options, GET).success();
    assert!(outcome.text().contains("<th>server-name</th><td>localhost</td>"));
}

#[test]
fn an_ipv6_address_is_verified_as_address() {
    let server = Server::start(&["--listen", "[::1]:0"]);
    let address = &server.address;
    assert!(address.starts_with("[::1]:"), "{address}");
    for target in [address.clone(), format!("https://{address}/")] {
        let outcome = connect(&target, &["--ca", &server.ca], GET).success();
        assert_eq!(outcome.reported("peer"), [address]);
    }
}

/// Nothing listens on port 443 of these addresses of the loopback network, so the error names the
/// port.
#[test]
fn the_default_port_is_443() {
    for address in ["127.43.21.9", "https://127.43.21.9", "127.43.21.9/path"] {
        let outcome = run(tercel().args(["connect", address, "--insecure", "--timeout", "2"]), b"");
        assert!(outcome.failure().starts_with("cannot connect to 127.43.21.9:443: "), "{address}");
    }
    let imaps = run(tercel().args(["connect", "imaps://127.43.21.9", "--insecure"]), b"");
    assert!(imaps.failure().starts_with("cannot connect to 127.43.21.9:993: "), "{imaps:?}");
}

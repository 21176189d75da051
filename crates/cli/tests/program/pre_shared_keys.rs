//! Pre-shared keys instead of certificates.

use super::support::{Server, connect};

const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
const KEY: &str = "gate 7:000102030405060708090a0b0c0d0e0f";
const OTHER: &str = "gate 7:ff0102030405060708090a0b0c0d0e0f";

#[test]
fn a_key_replaces_certificates_on_both_sides() {
    for option in ["--psk", "--import-psk"] {
        let server = Server::start(&[option, KEY]);
        let outcome = connect(&server.address, &[option, KEY], GET).success();
        assert_eq!(outcome.reported("pre-shared-key"), ["gate 7"]);
        assert_eq!(outcome.reported("signature-scheme"), ["none"]);
        assert!(outcome.reported("certificate").is_empty());
        assert!(outcome.text().contains("<th>pre-shared-key</th><td>gate 7</td>"));
        server.wait_for("psk=gate 7");
        let wrong = connect(&server.address, &[option, OTHER], GET);
        assert!(wrong.failure().contains("alert decrypt_error"), "{}", wrong.said);
        let none = connect(&server.address, &["--insecure"], GET);
        assert!(none.failure().contains("alert handshake_failure"), "{}", none.said);
    }
}

#[test]
fn imported_keys_depend_on_their_context() {
    let server = Server::start(&["--import-psk", KEY, "--psk-context", "gate to lodge"]);
    let with = |context: &str| {
        let options = ["--import-psk", KEY, "--psk-context", context];
        connect(&server.address, &options, GET)
    };
    with("gate to lodge").success();
    assert!(with("lodge to gate").failure().contains("handshake_failure"));
    // A key that is not imported differs from an imported key of the same name.
    assert!(connect(&server.address, &["--psk", KEY], GET).failure().contains("handshake_failure"));
}

#[test]
fn a_client_with_a_key_alone_trusts_no_certificate() {
    let server = Server::start(&[]);
    let refused = connect(&server.address, &["--psk", KEY], GET);
    assert!(refused.failure().contains("missing_extension"), "{}", refused.said);
    let both = server.request(&["--psk", KEY], GET).success();
    assert_eq!(both.reported("certificate"), ["1 of 2", "2 of 2"]);
}

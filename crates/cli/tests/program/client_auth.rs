//! Clients with and without certificates.

use super::support::{Folder, Leaf, Server, payload, refs};

const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
const VERSIONS: [&str; 2] = ["--tls1.3", "--tls1.2"];

#[test]
fn a_required_certificate_is_presented_and_reported() {
    let server = Server::start(&["--client-auth", "required"]);
    for version in VERSIONS {
        let options = [&refs(&server.client)[..], &[version]].concat();
        let outcome = server.request(&options, GET).success();
        assert_eq!(outcome.reported("client-signature-scheme"), ["ecdsa_secp256r1_sha256"]);
        let page = outcome.text();
        assert!(
            page.contains("<th>client-certificate</th><td>CN=Tercel test client</td>"),
            "{page}"
        );
    }
    server.wait_for("client=CN=Tercel test client");
}

#[test]
fn without_a_required_certificate_there_is_an_alert() {
    let server = Server::start(&["--client-auth", "required"]);
    let new = server.connect(&["--tls1.3"], GET);
    assert!(new.failure().contains("alert certificate_required"), "{}", new.said);
    // The alert follows the client's handshake, and counts although nothing is relayed.
    let json = server.connect(&["--tls1.3", "--json"], b"");
    assert!(json.failure().contains("alert certificate_required"), "{}", json.said);
    let text = json.text();
    assert!(text.contains(r#""alert":"certificate_required""#), "{text}");
    let shown = server.connect(&["--tls1.3", "--show-certs"], b"");
    assert!(shown.failure().contains("alert certificate_required"), "{}", shown.said);
    let old = server.connect(&["--tls1.2"], GET);
    assert!(old.failure().contains("alert"), "{}", old.said);
    // Other clients are still served.
    server.request(&refs(&server.client), GET).success();
}

#[test]
fn an_optional_certificate_may_be_missing() {
    let server = Server::start(&["--client-auth", "optional"]);
    for version in VERSIONS {
        let page = server.request(&[version], GET).success().text();
        assert!(page.contains("<th>client-certificate</th><td>none</td>"), "{page}");
    }
}

#[test]
fn a_certificate_of_another_authority_is_refused() {
    let folder = Folder::new();
    let other = Leaf::new("client.example", 2099).write(&folder, "other");
    let server = Server::start(&["--client-auth", "optional"]);
    let outcome = server.connect(&refs(&other), GET);
    assert!(outcome.failure().contains("alert unknown_ca"), "{}", outcome.said);
    server.wait_for("certificate refused: the issuer is unknown");

    let ca = folder.file("other-ca.pem").display().to_string();
    let server = Server::start(&["--client-auth", "required", "--client-ca", &ca]);
    server.request(&refs(&other), GET).success();
}

#[test]
fn a_client_may_be_authenticated_after_the_handshake() {
    let server = Server::start(&["--client-auth", "later"]);
    let options = [&refs(&server.client)[..], &["--post-handshake-auth"]].concat();
    let outcome = server.request(&options, GET).success();
    assert!(outcome.reported("client-signature-scheme").is_empty(), "{}", outcome.said);
    let shown = "certificate shown after the handshake: CN=Tercel test client";
    assert!(outcome.said.contains(shown), "{}", outcome.said);
    let page = outcome.text();
    assert!(page.contains("<th>client-certificate</th><td>CN=Tercel test client</td>"), "{page}");
    server.wait_for("client=CN=Tercel test client");
}

#[test]
fn a_client_without_post_handshake_auth_is_refused() {
    let server = Server::start(&["--client-auth", "later"]);
    let with_certificate = refs(&server.client);
    for options in [&["--tls1.3"][..], &["--tls1.2", "--post-handshake-auth"]] {
        let options = [&with_certificate[..], options].concat();
        let answer = server.request(&options, GET).success().text();
        assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    }
    let outcome = server.connect(&["--post-handshake-auth"], GET);
    assert!(outcome.failure().contains("alert certificate_required"), "{}", outcome.said);
}

#[test]
fn echo_ends_for_a_client_without_post_handshake_auth() {
    let server = Server::start(&["--echo", "--client-auth", "later"]);
    for version in VERSIONS {
        let outcome = server.connect(&[version], b"data");
        assert!(outcome.failure().contains("alert access_denied"), "{}", outcome.said);
    }
    server.wait_for("client does not support post-handshake authentication");
}

#[test]
fn echo_requests_a_certificate_between_data() {
    let server = Server::start(&["--echo", "--client-auth", "later"]);
    let options = [&refs(&server.client)[..], &["--post-handshake-auth", "--update-key"]].concat();
    let data = payload(1 << 20);
    let outcome = server.connect(&options, &data).success();
    assert!(outcome.output == data, "{} bytes returned", outcome.output.len());
    server.wait_for("client=CN=Tercel test client");
}

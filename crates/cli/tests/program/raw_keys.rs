//! Raw public keys instead of certificates. RFC 7250

use super::support::{Folder, Server, connect};

/// A private key and its public key, both PEM.
fn key(folder: &Folder, name: &str) -> [String; 2] {
    let key = rcgen::KeyPair::generate().unwrap();
    let private = folder.write(&format!("{name}.key"), key.serialize_pem());
    [private, folder.write(&format!("{name}.pub"), key.public_key_pem())]
}

#[test]
fn both_sides_may_authenticate_with_raw_public_keys() {
    let folder = Folder::new();
    let [server_key, server_public] = key(&folder, "server");
    let [client_key, client_public] = key(&folder, "client");
    let options = ["--client-auth", "required", "--client-keys", &client_public];
    let server = Server::start(&[&["--echo", "--raw-key", &server_key], &options[..]].concat());
    for version in ["--tls1.3", "--tls1.2"] {
        let options = ["--name", "localhost", "--server-keys", &server_public, version];
        let shown = [&options[..], &["--raw-key", &client_key]].concat();
        let outcome = connect(&server.address, &shown, b"word").success();
        assert_eq!(outcome.output, b"word");
        assert_eq!(outcome.reported("server-certificate-type"), ["RawPublicKey"]);
        assert_eq!(outcome.reported("client-certificate-type"), ["RawPublicKey"]);
        let other = [&options[..], &["--raw-key", &server_key]].concat();
        assert!(connect(&server.address, &other, b"word").failure().contains("alert"));
    }
    server.wait_for("client=raw-public-key");
}

#[test]
fn another_servers_key_is_refused() {
    let folder = Folder::new();
    let [server_key, _] = key(&folder, "server");
    let [_, other_public] = key(&folder, "other");
    let server = Server::start(&["--echo", "--raw-key", &server_key]);
    let options = ["--name", "localhost", "--server-keys", &other_public];
    let outcome = connect(&server.address, &options, b"word");
    assert!(outcome.failure().contains("certificate refused"), "{}", outcome.said);
}

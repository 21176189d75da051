//! The rule for host names, in a whole handshake: the name that the client sends, the name that the
//! server sees and selects a certificate by, and the name that the client verifies. The table is
//! shared by all places that take host names. RFC 6066 3

use tercel::error::PeerError;
use tercel::{ServerConfig, ServerName};

use crate::fixtures::{Kind, client, credential_for};
use crate::pair::Pair;
use crate::resumption::VERSIONS;

const TABLE: &str = include_str!("../../../wire/tests/material/host_names.txt");

fn rows() -> impl Iterator<Item = (&'static str, &'static str)> {
    let rows = TABLE.lines().filter(|line| !line.starts_with('#'));
    rows.map(|row| row.split_once('\t').unwrap())
}

#[test]
fn each_name_of_the_table() {
    for (text, expected) in rows() {
        let Ok(name) = ServerName::try_from(text) else {
            assert_eq!(expected, "", "{text}");
            continue;
        };
        assert_eq!(name.to_str(), expected);
        let named = || credential_for(Kind::P256, &[expected]);
        assert!(named().covers(text) && !named().covers(&format!("x{text}")), "{text}");
        for version in VERSIONS {
            let server = ServerConfig::builder()
                .credential(credential_for(Kind::P256, &["other.example"]))
                .credential(named())
                .require_known_name()
                .build()
                .unwrap();
            let client = client().versions(&[version]).build().unwrap();
            let ends = Pair::new(&client, &server, text).connect().unwrap();
            let info = &ends.server.connection.info;
            assert_eq!(info.server_name.as_deref(), Some(expected), "{text}");
        }
    }
}

/// Sessions belong to the host, with and without the dot.
#[test]
fn a_final_dot_is_the_same_server() {
    for version in VERSIONS {
        let client = client().versions(&[version]).build().unwrap();
        let credential = credential_for(Kind::P256, &["a.example"]);
        let server = ServerConfig::builder().credential(credential).build().unwrap();
        for (name, resumed) in [("a.example.", false), ("a.example", true), ("a.example.", true)] {
            let mut ends = Pair::new(&client, &server, name).connect().unwrap();
            ends.talk();
            assert_eq!(ends.client.connection.info.resumed, resumed, "{name}");
        }
    }
}

/// Other clients send the dot.
#[test]
fn a_server_receives_a_final_dot() {
    let server = ServerConfig::builder()
        .credential(credential_for(Kind::P256, &["a.exampl"]))
        .require_known_name()
        .build()
        .unwrap();
    let client = client().build().unwrap();
    let failure = Pair::new(&client, &server, "a.example")
        .tap_to_server(|bytes| {
            let name = b"a.example";
            if let Some(at) = bytes.windows(name.len()).position(|window| window == name) {
                bytes[at + name.len() - 1] = b'.';
            }
        })
        .connect()
        .unwrap_err();
    // The name was known to the server. Only the client notices that its ClientHello was changed.
    assert_ne!(failure.server, Some(PeerError::UnrecognizedName.into()), "{failure:?}");
    assert!(!matches!(failure.server, Some(tercel::Error::Peer(PeerError::Decode(_)))));
}

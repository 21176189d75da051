//! Clients that send no server name: by their configuration, or because they connect to an IP
//! address. RFC 6066 3

use tercel::pki::RefusalReason;
use tercel::wire::{AlertDescription, ProtocolVersion};
use tercel::{Error, ServerConfig, error::PeerError};

use crate::fixtures::{Kind, client, credential_for};
use crate::pair::Pair;

const BOTH_VERSIONS: [ProtocolVersion; 2] = [ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2];

#[test]
fn a_client_without_server_name_gets_the_first_credential() {
    for version in BOTH_VERSIONS {
        for strict in [false, true] {
            let builder = ServerConfig::builder()
                .credential(credential_for(Kind::P256, &["first.example"]))
                .credential(credential_for(Kind::P256, &["second.example"]));
            let builder = if strict { builder.require_known_name() } else { builder };
            let server = builder.build().unwrap();
            let client = client().versions(&[version]).send_server_name(false).build().unwrap();
            // A server that requires known names accepts a client that sends no name.
            Pair::new(&client, &server, "first.example").connect().unwrap();
            let failure = Pair::new(&client, &server, "second.example").connect().unwrap_err();
            let refused = |error| matches!(error, Error::Refused(RefusalReason::NameMismatch));
            assert!(failure.client.is_some_and(refused), "{failure:?}");
        }
    }
}

#[test]
fn an_ip_address_is_neither_sent_nor_accepted_as_a_name() {
    for version in BOTH_VERSIONS {
        let credential = || credential_for(Kind::P256, &["192.0.2.1", "known.example"]);
        let strict =
            ServerConfig::builder().credential(credential()).require_known_name().build().unwrap();
        let client = client().versions(&[version]).build().unwrap();
        let mut hello = Vec::new();
        Pair::new(&client, &strict, "192.0.2.1")
            .tap_to_server(|bytes| hello.extend_from_slice(bytes))
            .connect()
            .unwrap();
        assert!(!contains(&hello, b"192.0.2.1"));
        assert!(!contains(&hello, &[192, 0, 2, 1]));

        // Other clients send IP addresses. Here, an address replaces a name of the same length.
        let failure = Pair::new(&client, &strict, "aaa.bbb.c").connect().unwrap_err();
        assert_eq!(failure.server, Some(PeerError::UnrecognizedName.into()));
        let failure = Pair::new(&client, &strict, "aaa.bbb.c")
            .tap_to_server(|bytes| replace(bytes, b"aaa.bbb.c", b"192.0.2.1"))
            .connect()
            .unwrap_err();
        // The server ignored the name; only the client notices that its ClientHello was changed.
        assert_ne!(failure.server, Some(PeerError::UnrecognizedName.into()));
        assert!(failure.client.is_some_and(
            |error| error != Error::AlertReceived(AlertDescription::UNRECOGNIZED_NAME)
        ));
    }
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

fn replace(bytes: &mut [u8], from: &[u8], to: &[u8]) {
    if let Some(at) = bytes.windows(from.len()).position(|window| window == from) {
        bytes[at..at + from.len()].copy_from_slice(to);
    }
}

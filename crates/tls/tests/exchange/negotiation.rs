//! Negotiation between the two sides, and their alerts if it fails.
//!
//! The tests cover versions, names, protocols, groups and the options of a ClientHello.

use std::collections::HashSet;
use std::sync::Arc;

use tercel::wire::{AlertDescription, CipherSuite, ClientHello, NamedGroup, ProtocolVersion};
use tercel::{
    Credential, Error, Handshake, ReceiveBuffer, ServerConfig,
    error::{ConfigError, PeerError},
    server::ClientAuth,
};
use tercel_wire::HandshakeMessage;

use crate::fixtures::{Kind, NAME, client, credential, credential_for, plain, server};
use crate::pair::{Ends, Failure, Pair, records};

const TLS12: ProtocolVersion = ProtocolVersion::TLS1_2;
const TLS13: ProtocolVersion = ProtocolVersion::TLS1_3;

#[test]
fn the_highest_common_version_is_selected() {
    let cases: [(&[ProtocolVersion], &[ProtocolVersion], _); 5] = [
        (&[TLS13, TLS12], &[TLS13, TLS12], TLS13),
        (&[TLS12, TLS13], &[TLS12, TLS13], TLS13),
        (&[TLS13, TLS12], &[TLS13], TLS13),
        (&[TLS12], &[TLS13, TLS12], TLS12),
        (&[TLS12], &[TLS12], TLS12),
    ];
    for (ours, theirs, expected) in cases {
        let client = client().versions(ours).build().unwrap();
        let server = server().versions(theirs).build().unwrap();
        let ends = Pair::new(&client, &server, NAME).connect().unwrap();
        assert_eq!(ends.client.connection.info.version, expected);
    }
}

#[test]
fn a_version_without_a_suite_is_neither_offered_nor_chosen() {
    let old = [CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256];
    let new = [CipherSuite::TLS_AES_128_GCM_SHA256];
    for (suites, version) in [(old, TLS12), (new, TLS13)] {
        let ours = client().cipher_suites(&suites).build().unwrap();
        let theirs = server().cipher_suites(&suites).build().unwrap();
        let (any_client, any_server) = (client().build().unwrap(), server().build().unwrap());
        for (client, server) in [(&ours, &any_server), (&any_client, &theirs), (&ours, &theirs)] {
            let mut hello = Vec::new();
            let ends = Pair::new(client, server, NAME)
                .tap_to_server(|bytes| hello.extend_from_slice(bytes))
                .connect()
                .unwrap_or_else(|failure| panic!("{version:?} {failure:?}"));
            assert_eq!(ends.client.connection.info.version, version);
            if Arc::ptr_eq(client, &ours) {
                let message = &records(&hello)[0].1;
                let hello = ClientHello::parse(&message[4..]).unwrap();
                assert_eq!(hello.extensions.supported_versions.is_some(), version == TLS13);
            }
        }
    }
    let contradiction = client().versions(&[TLS13]).cipher_suites(&old).build();
    assert_eq!(contradiction.err(), Some(ConfigError::NoCipherSuite));
}

#[test]
fn a_client_detects_a_downgrade_by_the_servers_random() {
    // An attacker on the path removes supported_versions, so that the server selects TLS 1.2.
    // RFC 9846 4.2.3
    let (client, server) = plain();
    let failure = Pair::new(&client, &server, NAME)
        .tap_to_server(|bytes| {
            let versions = [0, 43, 0, 5, 4, 3, 4, 3, 3];
            if let Some(at) = bytes.windows(9).position(|window| window == versions) {
                bytes[at..at + 2].copy_from_slice(&[0xf9, 0xf9]);
            }
        })
        .connect()
        .unwrap_err();
    assert_eq!(failure.client, Some(PeerError::Downgrade.into()));
    refused_by_client(failure, AlertDescription::ILLEGAL_PARAMETER);
}

#[test]
fn no_common_version_is_a_protocol_version_alert() {
    for (ours, theirs) in [(TLS12, TLS13), (TLS13, TLS12)] {
        let client = client().versions(&[ours]).build().unwrap();
        let server = server().versions(&[theirs]).build().unwrap();
        let failure = Pair::new(&client, &server, NAME).connect().unwrap_err();
        refused_by_server(failure, AlertDescription::PROTOCOL_VERSION);
    }
}

#[test]
fn a_malformed_hello_is_refused_before_its_version() {
    let (_, server) = plain();
    let groups_cut: &[u8] = &[0, 5, 0, 10, 0, 1, 0xff];
    for (extensions, alert) in [
        (&[][..], AlertDescription::PROTOCOL_VERSION),
        (groups_cut, AlertDescription::DECODE_ERROR),
    ] {
        // A ClientHello of TLS 1.1.
        let suites_and_compression = [0, 2, 0xc0, 0x2f, 1, 0];
        let body = [&[3, 2][..], &[7; 32], &[0], &suites_and_compression, extensions].concat();
        let length = u8::try_from(body.len()).unwrap();
        let mut received = ReceiveBuffer::new();
        received.extend(&[&[22, 3, 1, 0, length + 4, 1, 0, 0, length], &body[..]].concat());
        let mut out = Vec::new();
        let error = Handshake::server(server.clone()).advance(&mut received, &mut out).unwrap_err();
        assert_eq!(error.alert(), Some(alert));
        assert_eq!(out, [21, 3, 3, 0, 2, 2, alert.0]);
    }
}

/// RFC 7507 3
#[test]
fn a_fallback_that_was_not_needed_is_inappropriate() {
    let client = |on| client().versions(&[TLS12]).fallback_scsv(on).build().unwrap();
    let capable = server().build().unwrap();
    let failure = Pair::new(&client(true), &capable, NAME).connect().unwrap_err();
    refused_by_server(failure, AlertDescription::INAPPROPRIATE_FALLBACK);
    Pair::new(&client(false), &capable, NAME).connect().unwrap();
    let old = server().versions(&[TLS12]).build().unwrap();
    Pair::new(&client(true), &old, NAME).connect().unwrap();
}

#[test]
fn no_common_suite_or_group_is_a_handshake_failure() {
    for version in [TLS13, TLS12] {
        let (aes, chacha) = match version {
            TLS13 => {
                (CipherSuite::TLS_AES_128_GCM_SHA256, CipherSuite::TLS_CHACHA20_POLY1305_SHA256)
            }
            _ => (
                CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
                CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
            ),
        };
        let ours = client().versions(&[version]).cipher_suites(&[aes]).build().unwrap();
        let theirs = server().cipher_suites(&[chacha]).build().unwrap();
        let failure = Pair::new(&ours, &theirs, NAME).connect().unwrap_err();
        refused_by_server(failure, AlertDescription::HANDSHAKE_FAILURE);

        let groups = [NamedGroup::SECP256R1, NamedGroup::X25519];
        let ours = client().versions(&[version]).groups(&groups[..1]).build().unwrap();
        let theirs = server().groups(&groups[1..]).build().unwrap();
        let failure = Pair::new(&ours, &theirs, NAME).connect().unwrap_err();
        refused_by_server(failure, AlertDescription::HANDSHAKE_FAILURE);
    }
}

#[test]
fn a_share_for_another_group_is_requested_once() {
    let server = server().groups(&[NamedGroup::SECP384R1]).build().unwrap();
    for compatible in [true, false] {
        let client = client().middlebox_compatibility(compatible).build().unwrap();
        let mut ends = Pair::new(&client, &server, NAME).connect().unwrap();
        for end in [&ends.client, &ends.server] {
            assert!(end.connection.info.retried);
            assert_eq!(end.connection.info.group, Some(NamedGroup::SECP384R1));
        }
        ends.talk();
    }
}

#[test]
fn the_classic_half_of_a_hybrid_is_a_separate_share() {
    let client = client().build().unwrap();
    let server = server().groups(&[NamedGroup::X25519]).build().unwrap();
    let mut ends = Pair::new(&client, &server, NAME).connect().unwrap();
    assert!(!ends.client.connection.info.retried);
    assert_eq!(ends.client.connection.info.group, Some(NamedGroup::X25519));
    ends.talk();
}

#[test]
fn the_servers_order_of_application_protocols_decides() {
    for version in [TLS13, TLS12] {
        let connect = |ours: &[&str], theirs: &[&str], ignore| {
            let client = client().versions(&[version]).alpn(ours).build().unwrap();
            let server = server().alpn(theirs).ignore_unknown_alpn(ignore).build().unwrap();
            Pair::new(&client, &server, NAME).connect()
        };
        let agreed = |ends: Ends| {
            assert_eq!(ends.client.connection.info.alpn, ends.server.connection.info.alpn);
            ends.client.connection.info.alpn
        };
        let h2 = agreed(connect(&["http/1.1", "h2"], &["h2", "http/1.1"], false).unwrap());
        assert_eq!(h2.as_deref(), Some(&b"h2"[..]));
        assert_eq!(agreed(connect(&[], &["h2"], false).unwrap()), None);
        assert_eq!(agreed(connect(&["h2"], &[], false).unwrap()), None);
        assert_eq!(agreed(connect(&["ftp"], &["h2"], true).unwrap()), None);
        let failure = connect(&["ftp"], &["h2"], false).unwrap_err();
        refused_by_server(failure, AlertDescription::NO_APPLICATION_PROTOCOL);
    }
}

#[test]
fn the_server_name_selects_the_credential() {
    let names = ["first.example", "second.example", "*.wild.example"];
    for version in [TLS13, TLS12] {
        let build = |strict: bool| {
            let mut builder = ServerConfig::builder();
            for name in names {
                builder = builder.credential(credential_for(Kind::P256, &[name]));
            }
            if strict { builder.require_known_name() } else { builder }.build().unwrap()
        };
        let client = client().versions(&[version]).build().unwrap();
        for name in ["first.example", "second.example", "SECOND.example", "any.wild.example"] {
            for strict in [false, true] {
                Pair::new(&client, &build(strict), name).connect().unwrap();
            }
        }
        // The server answers an unknown name with its first credential, which the client refuses.
        let failure = Pair::new(&client, &build(false), "third.example").connect().unwrap_err();
        assert!(matches!(failure.client, Some(Error::Refused(_))), "{failure:?}");
        refused_by_client(failure, AlertDescription::BAD_CERTIFICATE);
        let failure = Pair::new(&client, &build(true), "third.example").connect().unwrap_err();
        refused_by_server(failure, AlertDescription::UNRECOGNIZED_NAME);
    }
}

#[test]
fn an_ip_address_is_verified_and_not_sent() {
    for (address, version) in [("127.0.0.1", TLS13), ("::1", TLS12), ("::1", TLS13)] {
        let credential = credential_for(Kind::P256, &[address]);
        let server = ServerConfig::builder().credential(credential).build().unwrap();
        let client = client().versions(&[version]).build().unwrap();
        let ends = Pair::new(&client, &server, address).connect().unwrap();
        assert_eq!(ends.server.connection.info.server_name, None);
        let failure = Pair::new(&client, &server, "192.0.2.1").connect().unwrap_err();
        refused_by_client(failure, AlertDescription::BAD_CERTIFICATE);
    }
}

#[test]
fn a_name_can_be_omitted() {
    let client = client().send_server_name(false).build().unwrap();
    let mut seen = Vec::new();
    let ends = Pair::new(&client, &plain().1, NAME)
        .tap_to_server(|bytes| seen.extend_from_slice(bytes))
        .connect()
        .unwrap();
    assert_eq!(ends.server.connection.info.server_name, None);
    assert!(!contains(&seen, NAME.as_bytes()));
}

/// RFC 5246 7.4.6
#[test]
fn a_required_certificate_must_be_sent() {
    for (version, alert) in [
        (TLS13, AlertDescription::CERTIFICATE_REQUIRED),
        (TLS12, AlertDescription::HANDSHAKE_FAILURE),
    ] {
        let client = client().versions(&[version]).build().unwrap();
        let roots = crate::fixtures::roots();
        let server = server().client_auth(ClientAuth::Required, roots).build().unwrap();
        let failure = Pair::new(&client, &server, NAME).connect().unwrap_err();
        assert_eq!(failure.server.and_then(Error::alert), Some(alert), "{failure:?}");
    }
}

#[test]
fn a_client_without_a_common_scheme_sends_no_certificate() {
    // The server verifies RSA only, and the client has only a P-256 key.
    let rsa = [tercel::wire::SignatureScheme::RSA_PSS_RSAE_SHA256];
    let server = ServerConfig::builder()
        .credential(credential(Kind::Rsa2048))
        .signature_schemes(&rsa)
        .client_auth(ClientAuth::Optional, crate::fixtures::roots())
        .build()
        .unwrap();
    let client = client().credential(credential(Kind::P256)).build().unwrap();
    let ends = Pair::new(&client, &server, NAME).connect().unwrap();
    assert!(ends.server.connection.info.peer_chain().is_empty());
}

#[test]
fn shuffled_extensions_have_different_orders() {
    let order = |shuffle: bool| {
        let client = client().shuffle_extensions(shuffle).build().unwrap();
        let mut hello = Vec::new();
        Pair::new(&client, &plain().1, NAME)
            .tap_to_server(|bytes| hello.extend_from_slice(bytes))
            .connect()
            .unwrap();
        extension_types(&records(&hello)[0].1)
    };
    let shuffled: HashSet<_> = (0..8).map(|_| order(true)).collect();
    assert!(shuffled.len() > 1);
    assert_eq!((0..4).map(|_| order(false)).collect::<HashSet<_>>().len(), 1);
    let sorted = |mut types: Vec<u16>| {
        types.sort_unstable();
        types
    };
    let expected = sorted(order(false));
    assert!(shuffled.into_iter().all(|types| sorted(types) == expected));
}

#[test]
fn replaced_credentials_apply_to_new_handshakes_only() {
    let set =
        std::sync::Arc::new(tercel::certificates::Credentials::new(vec![credential(Kind::P256)]));
    let server = ServerConfig::builder().replaceable_credentials(set.clone()).build().unwrap();
    // Resumption is off, because a resumed handshake sends no credential.
    let client = client().without_resumption().build().unwrap();
    let mut before = Pair::new(&client, &server, NAME).connect().unwrap();
    set.replace(vec![credential(Kind::Ed25519)]);
    let mut after = Pair::new(&client, &server, NAME).connect().unwrap();
    let leaf = |ends: &Ends| ends.client.connection.info.peer_chain()[0].clone();
    assert_ne!(leaf(&before), leaf(&after));
    before.talk();
    after.talk();
    // Without a credential the server has no certificate to send.
    set.replace(Vec::<Credential>::new());
    let failure = Pair::new(&client, &server, NAME).connect().unwrap_err();
    assert_eq!(failure.server.and_then(Error::alert), Some(AlertDescription::HANDSHAKE_FAILURE));
}

/// Asserts that the server refused with this alert, and that the client received it.
fn refused_by_server(failure: Failure, alert: AlertDescription) {
    assert_eq!(failure.server.and_then(Error::alert), Some(alert), "{failure:?}");
    assert_eq!(failure.client, Some(Error::AlertReceived(alert)));
}

/// Asserts that the client refused with this alert, and that the server received it.
fn refused_by_client(failure: Failure, alert: AlertDescription) {
    assert_eq!(failure.client.and_then(Error::alert), Some(alert), "{failure:?}");
    assert_eq!(failure.server, Some(Error::AlertReceived(alert)));
}

/// The types of the extensions in a ClientHello.
fn extension_types(hello: &[u8]) -> Vec<u16> {
    let number = |at: usize| u16::from_be_bytes([hello[at], hello[at + 1]]);
    let mut at = 4 + 2 + 32;
    at += 1 + usize::from(hello[at]);
    at += 2 + usize::from(number(at));
    at += 1 + usize::from(hello[at]) + 2;
    let mut types = Vec::new();
    while at < hello.len() {
        types.push(number(at));
        at += 4 + usize::from(number(at + 2));
    }
    types
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

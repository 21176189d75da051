//! What the two sides agree on, and what they say when they cannot.
//!
//! For: versions, names, protocols, groups and the options of a ClientHello, by their outcome.
//! Must not know: what the messages look like, but for a byte on the wire where it is the point.
//! Next: `secrets.rs`.

use std::collections::HashSet;

use tercel::wire::{AlertDescription, CipherSuite, NamedGroup, ProtocolVersion};
use tercel::{ClientAuth, Credential, Error, Handshake, Peer, Received, ServerConfig};

use crate::identity::{Kind, NAME, client, credential, credential_for, plain, server};
use crate::pair::{Ends, Failure, Pair, records};

const TLS12: ProtocolVersion = ProtocolVersion::TLS1_2;
const TLS13: ProtocolVersion = ProtocolVersion::TLS1_3;

#[test]
fn the_highest_common_version_is_taken() {
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
        assert_eq!(ends.client.connection.facts.version, expected);
    }
}

#[test]
fn a_server_that_could_do_better_says_so_and_the_client_believes_it() {
    // Someone on the way hides supported_versions, so that the server takes TLS 1.2. RFC 9846 4.2.3
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
    assert_eq!(failure.client, Some(Peer::Downgrade.into()));
    refused_by_client(failure, AlertDescription::ILLEGAL_PARAMETER);
}

#[test]
fn no_common_version_is_told() {
    for (ours, theirs) in [(TLS12, TLS13), (TLS13, TLS12)] {
        let client = client().versions(&[ours]).build().unwrap();
        let server = server().versions(&[theirs]).build().unwrap();
        let failure = Pair::new(&client, &server, NAME).connect().unwrap_err();
        refused_by_server(failure, AlertDescription::PROTOCOL_VERSION);
    }
}

#[test]
fn what_is_wrong_with_a_hello_goes_before_its_version() {
    let (_, server) = plain();
    let groups_cut: &[u8] = &[0, 5, 0, 10, 0, 1, 0xff];
    for (extensions, alert) in [
        (&[][..], AlertDescription::PROTOCOL_VERSION),
        (groups_cut, AlertDescription::DECODE_ERROR),
    ] {
        // A hello of TLS 1.1.
        let suites_and_compression = [0, 2, 0xc0, 0x2f, 1, 0];
        let body = [&[3, 2][..], &[7; 32], &[0], &suites_and_compression, extensions].concat();
        let length = u8::try_from(body.len()).unwrap();
        let mut received = Received::new();
        received.extend(&[&[22, 3, 1, 0, length + 4, 1, 0, 0, length], &body[..]].concat());
        let mut out = Vec::new();
        let error = Handshake::server(server.clone()).advance(&mut received, &mut out).unwrap_err();
        assert_eq!(error.alert(), Some(alert));
        assert_eq!(out, [21, 3, 3, 0, 2, 2, alert.0]);
    }
}

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
        let ours = client().versions(&[version]).cipher_suites(&[aes]).unwrap().build().unwrap();
        let theirs = server().cipher_suites(&[chacha]).unwrap().build().unwrap();
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
fn a_share_for_another_group_is_asked_for_once() {
    let server = server().groups(&[NamedGroup::SECP384R1]).build().unwrap();
    for compatible in [true, false] {
        let client = client().middlebox_compatibility(compatible).build().unwrap();
        let mut ends = Pair::new(&client, &server, NAME).connect().unwrap();
        for end in [&ends.client, &ends.server] {
            assert!(end.connection.facts.retried);
            assert_eq!(end.connection.facts.group, Some(NamedGroup::SECP384R1));
        }
        ends.talk();
    }
}

#[test]
fn the_classic_half_of_a_hybrid_is_a_share_of_its_own() {
    let client = client().build().unwrap();
    let server = server().groups(&[NamedGroup::X25519]).build().unwrap();
    let mut ends = Pair::new(&client, &server, NAME).connect().unwrap();
    assert!(!ends.client.connection.facts.retried);
    assert_eq!(ends.client.connection.facts.group, Some(NamedGroup::X25519));
    ends.talk();
}

#[test]
fn application_protocols_go_by_the_servers_wish() {
    for version in [TLS13, TLS12] {
        let connect = |ours: &[&str], theirs: &[&str], ignore| {
            let client = client().versions(&[version]).alpn(ours).build().unwrap();
            let server = server().alpn(theirs).ignore_unknown_alpn(ignore).build().unwrap();
            Pair::new(&client, &server, NAME).connect()
        };
        let agreed = |ends: Ends| {
            assert_eq!(ends.client.connection.facts.alpn, ends.server.connection.facts.alpn);
            ends.client.connection.facts.alpn
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
fn the_name_asked_for_chooses_the_credential() {
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
        // An unknown name gets the first credential, which the client does not take.
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
        assert_eq!(ends.server.connection.facts.server_name, None);
        let failure = Pair::new(&client, &server, "192.0.2.1").connect().unwrap_err();
        refused_by_client(failure, AlertDescription::BAD_CERTIFICATE);
    }
}

#[test]
fn a_name_can_be_kept_back() {
    let client = client().send_server_name(false).build().unwrap();
    let mut seen = Vec::new();
    let ends = Pair::new(&client, &plain().1, NAME)
        .tap_to_server(|bytes| seen.extend_from_slice(bytes))
        .connect()
        .unwrap();
    assert_eq!(ends.server.connection.facts.server_name, None);
    assert!(!contains(&seen, NAME.as_bytes()));
}

#[test]
fn a_certificate_that_is_demanded_has_to_be_shown() {
    for (version, alert) in [
        (TLS13, AlertDescription::CERTIFICATE_REQUIRED),
        (TLS12, AlertDescription::HANDSHAKE_FAILURE),
    ] {
        let client = client().versions(&[version]).build().unwrap();
        let roots = crate::identity::roots();
        let server = server().client_auth(ClientAuth::Required, roots).build().unwrap();
        let failure = Pair::new(&client, &server, NAME).connect().unwrap_err();
        assert_eq!(failure.server.and_then(Error::alert), Some(alert), "{failure:?}");
    }
}

#[test]
fn a_client_signs_only_if_it_has_the_scheme() {
    // A server that verifies RSA only, and a client that has but a P-256 key, shows nothing.
    let rsa = [tercel::wire::SignatureScheme::RSA_PSS_RSAE_SHA256];
    let server = ServerConfig::builder()
        .credential(credential(Kind::Rsa2048))
        .signature_schemes(&rsa)
        .client_auth(ClientAuth::Optional, crate::identity::roots())
        .build()
        .unwrap();
    let client = client().credential(credential(Kind::P256)).build().unwrap();
    let ends = Pair::new(&client, &server, NAME).connect().unwrap();
    assert!(ends.server.connection.facts.peer_chain().is_empty());
}

#[test]
fn shuffled_extensions_come_in_other_orders() {
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
fn hot_replacement_changes_what_new_handshakes_see_and_nothing_else() {
    let set = std::sync::Arc::new(tercel::Credentials::new(vec![credential(Kind::P256)]));
    let server = ServerConfig::builder().replaceable_credentials(set.clone()).build().unwrap();
    // A resumed session shows no credential.
    let client = client().without_resumption().build().unwrap();
    let mut before = Pair::new(&client, &server, NAME).connect().unwrap();
    set.replace(vec![credential(Kind::Ed25519)]);
    let mut after = Pair::new(&client, &server, NAME).connect().unwrap();
    let leaf = |ends: &Ends| ends.client.connection.facts.peer_chain()[0].clone();
    assert_ne!(leaf(&before), leaf(&after));
    before.talk();
    after.talk();
    // Without any credential there is nothing to show.
    set.replace(Vec::<Credential>::new());
    let failure = Pair::new(&client, &server, NAME).connect().unwrap_err();
    assert_eq!(failure.server.and_then(Error::alert), Some(AlertDescription::HANDSHAKE_FAILURE));
}

/// The server refused with this alert, and the client heard it.
fn refused_by_server(failure: Failure, alert: AlertDescription) {
    assert_eq!(failure.server.and_then(Error::alert), Some(alert), "{failure:?}");
    assert_eq!(failure.client, Some(Error::AlertReceived(alert)));
}

/// The client refused with this alert, and the server heard it.
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

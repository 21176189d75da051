//! Peers that offer nothing approved are refused, each with its alert.

use tercel::error::PeerError;
use tercel::pki::RefusalReason;
use tercel::wire::{
    AlertDescription, CipherSuite, ClientHello, List, NamedGroup, ProtocolVersion, SignatureScheme,
};
use tercel::{ClientConfig, Error, ServerConfig};
use tercel_wire::{HandshakeMessage, ServerHello};

use super::{WeakChain, approved_client, approved_server, weak_credential, weak_roots};
use crate::fixtures::{NAME, client, server};
use crate::pair::{Failure, Pair, records};

const BOTH: [ProtocolVersion; 2] = [ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2];

/// The failure of a handshake that the server refuses.
fn by_server(error: impl Into<Error>) -> Failure {
    let error = error.into();
    Failure { client: Some(Error::AlertReceived(error.alert().unwrap())), server: Some(error) }
}

fn by_client(error: impl Into<Error>) -> Failure {
    let error = error.into();
    Failure { client: Some(error), server: Some(Error::AlertReceived(error.alert().unwrap())) }
}

#[test]
fn peers_with_chacha20_only() {
    for suites in [
        [CipherSuite::TLS_CHACHA20_POLY1305_SHA256],
        [CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256],
    ] {
        let other = client().cipher_suites(&suites).build().unwrap();
        let failure = Pair::new(&other, &approved_server(), NAME).connect().unwrap_err();
        assert_eq!(failure.client, Some(Error::AlertReceived(AlertDescription::HANDSHAKE_FAILURE)));
        assert!(
            matches!(
                failure.server,
                Some(Error::Peer(
                    PeerError::NoSharedCipherSuite | PeerError::NoCommonSignatureScheme
                ))
            ),
            "{failure:?}"
        );
        let version = if suites[0] == CipherSuite::TLS_CHACHA20_POLY1305_SHA256 { 0 } else { 1 };
        let ours = client().fips(true).versions(&[BOTH[version]]).build().unwrap();
        let other = server().cipher_suites(&suites).build().unwrap();
        let failure = Pair::new(&ours, &other, NAME).connect().unwrap_err();
        assert_eq!(failure.client, Some(Error::AlertReceived(AlertDescription::HANDSHAKE_FAILURE)));
    }
}

#[test]
fn peers_with_x25519_only() {
    for version in BOTH {
        let other = client().versions(&[version]).groups(&[NamedGroup::X25519]).build().unwrap();
        // Without groups of certificates in common, a TLS 1.2 server has no credential on a curve.
        let server = super::server_with_rsa().fips(true).build().unwrap();
        let failure = Pair::new(&other, &server, NAME).connect().unwrap_err();
        assert_eq!(failure, by_server(PeerError::NoSharedGroup), "{version}");
        let ours = client().fips(true).versions(&[version]).build().unwrap();
        let other = super::server_with_rsa().groups(&[NamedGroup::X25519]).build().unwrap();
        let failure = Pair::new(&ours, &other, NAME).connect().unwrap_err();
        assert_eq!(failure, by_server(PeerError::NoSharedGroup), "{version}");
    }
}

#[test]
fn chains_with_a_short_key_or_with_sha1() {
    for version in BOTH {
        for (which, reason) in [
            (WeakChain::ShortKey, RefusalReason::InvalidKey),
            (WeakChain::Sha1, RefusalReason::WeakSignatureAlgorithm),
        ] {
            let ours = ClientConfig::builder().roots(weak_roots()).fips(true);
            let ours = ours.versions(&[version]).build().unwrap();
            let other = ServerConfig::builder().credential(weak_credential(which)).build().unwrap();
            let failure = Pair::new(&ours, &other, NAME).connect().unwrap_err();
            assert_eq!(failure, by_client(Error::Refused(reason)), "{which:?} {version}");
            assert_eq!(
                Error::Refused(reason).alert(),
                Some(AlertDescription::BAD_CERTIFICATE),
                "{which:?}"
            );
        }
    }
}

/// Replaces the first message in these bytes, which are the first of a side.
fn replace_first(bytes: &mut Vec<u8>, change: impl FnOnce(&[u8]) -> Vec<u8>) {
    let content: Vec<u8> = records(bytes).into_iter().flat_map(|(_, fragment)| fragment).collect();
    let length = usize::from(u16::from_be_bytes([content[2], content[3]]));
    let (message, rest) = content.split_at(4 + length);
    let mut content = change(&message[4..]);
    content.extend_from_slice(rest);
    let length = u16::try_from(content.len()).unwrap().to_be_bytes();
    *bytes = [&[22, 3, 3][..], &length, &content].concat();
}

fn encoded<'a>(message: &impl HandshakeMessage<'a>) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.encode(&mut bytes).unwrap();
    bytes
}

/// RFC 7627 5.2, 5.3
#[test]
fn tls12_without_the_extended_main_secret() {
    let other = client().versions(&[ProtocolVersion::TLS1_2]).build().unwrap();
    let failure = Pair::new(&other, &approved_server(), NAME)
        .tap_to_server(|bytes| {
            if bytes[0] == 22 {
                replace_first(bytes, |body| {
                    let mut hello = ClientHello::parse(body).unwrap();
                    hello.extensions.extended_master_secret = None;
                    encoded(&hello)
                });
            }
        })
        .connect()
        .unwrap_err();
    assert_eq!(failure, by_server(PeerError::ExtendedMainSecretRequired));
    let expected = Error::AlertReceived(AlertDescription::HANDSHAKE_FAILURE);
    assert_eq!(failure.client, Some(expected));

    let ours = client().fips(true).versions(&[ProtocolVersion::TLS1_2]).build().unwrap();
    let failure = Pair::new(&ours, &server().build().unwrap(), NAME)
        .tap_to_client(|bytes| {
            if bytes[0] == 22 {
                replace_first(bytes, |body| {
                    let mut hello = ServerHello::parse(body).unwrap();
                    hello.extensions.extended_master_secret = None;
                    encoded(&hello)
                });
            }
        })
        .connect()
        .unwrap_err();
    assert_eq!(failure, by_client(PeerError::ExtendedMainSecretRequired));
}

#[test]
fn clients_with_sha1_signatures_only() {
    for version in BOTH {
        let other = client().versions(&[version]).build().unwrap();
        let failure =
            Pair::new(&other, &super::server_with_rsa().fips(true).build().unwrap(), NAME)
                .tap_to_server(|bytes| {
                    if bytes[0] == 22 {
                        replace_first(bytes, |body| {
                            let schemes =
                                [SignatureScheme::RSA_PKCS1_SHA1, SignatureScheme(0x0203)];
                            let mut hello = ClientHello::parse(body).unwrap();
                            hello.extensions.signature_algorithms = Some(List::new(&schemes));
                            encoded(&hello)
                        });
                    }
                })
                .connect()
                .unwrap_err();
        assert_eq!(failure, by_server(PeerError::NoCommonSignatureScheme), "{version}");
    }
}

/// A peer that offers more than is approved is served with what is approved.
#[test]
fn peers_with_default_options_are_accepted() {
    for version in BOTH {
        let other = client().versions(&[version]).build().unwrap();
        Pair::new(&other, &approved_server(), NAME).connect().unwrap().talk();
    }
    Pair::new(&approved_client(), &server().build().unwrap(), NAME).connect().unwrap().talk();
}

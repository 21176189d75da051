//! Selection and refusal of certificates in whole handshakes, by issuer, signature scheme and time.

use std::sync::Arc;
use std::time::Duration;

use tercel::pki_types::UnixTime;
use tercel::wire::{AlertDescription, ProtocolVersion, SignatureScheme};
use tercel::{
    Error, Policy, ServerConfig, certificates::AcceptAnyPeer, clock::Clock, server::ClientAuth,
};

use crate::fixtures::{Kind, NAME, client, credential, plain, roots, server};
use crate::pair::Pair;

const BOTH_VERSIONS: [ProtocolVersion; 2] = [ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2];

#[test]
fn time_comes_from_the_configured_clock() {
    struct At(u64);
    impl Clock for At {
        fn now(&self) -> UnixTime {
            UnixTime::since_unix_epoch(Duration::from_secs(self.0))
        }
    }
    // rcgen's certificates are valid from 1975 to 4096.
    for (year, fits) in [(1970, false), (2030, true), (4200, false)] {
        let clock = Arc::new(At((year - 1970) * 31_556_952));
        for version in BOTH_VERSIONS {
            let ours = client().versions(&[version]).clock(clock.clone()).build().unwrap();
            let outcome = Pair::new(&ours, &plain().1, NAME).connect();
            assert_eq!(outcome.is_ok(), fits, "{year}");
            if let Err(failure) = outcome {
                let expired = AlertDescription::CERTIFICATE_EXPIRED;
                assert_eq!(failure.client.and_then(Error::alert), Some(expired));
                assert_eq!(failure.server, Some(Error::AlertReceived(expired)));
            }
            // A server verifies its clients at the time of its own clock.
            let theirs = server()
                .clock(clock.clone())
                .client_auth(ClientAuth::Required, roots())
                .build()
                .unwrap();
            let ours =
                client().versions(&[version]).credential(credential(Kind::P256)).build().unwrap();
            let outcome = Pair::new(&ours, &theirs, NAME).connect();
            assert_eq!(outcome.is_ok(), fits, "{year}");
        }
    }
}

#[test]
fn a_credential_can_require_its_issuer() {
    let unrelated = rcgen::generate_simple_self_signed(vec!["unrelated".to_owned()]).unwrap();
    let mut unrelated_peers = tercel::pki::Roots::new();
    unrelated_peers.add_der(unrelated.cert.der()).unwrap();
    for version in BOTH_VERSIONS {
        let ours = client()
            .versions(&[version])
            .credential(credential(Kind::P256).must_match_issuer())
            .build()
            .unwrap();
        for (trusted, shown) in [(roots(), 1), (unrelated_peers.clone(), 0)] {
            let theirs = server().client_auth(ClientAuth::Optional, trusted).build().unwrap();
            let ends = Pair::new(&ours, &theirs, NAME).connect().unwrap();
            assert_eq!(ends.server.connection.info.peer_chain().len(), shown, "{version:?}");
        }
    }
}

#[test]
fn a_credential_can_be_limited_to_one_scheme() {
    let only = SignatureScheme::RSA_PSS_RSAE_SHA512;
    let restricted = credential(Kind::Rsa2048).signature_schemes(vec![only]);
    let server = ServerConfig::builder().credential(restricted).build().unwrap();
    for version in BOTH_VERSIONS {
        let ours = client().versions(&[version]).build().unwrap();
        let ends = Pair::new(&ours, &server, NAME).connect().unwrap();
        assert_eq!(ends.client.connection.info.peer_signature_scheme, Some(only));
        let ours = client()
            .versions(&[version])
            .signature_schemes(&[SignatureScheme::RSA_PSS_RSAE_SHA256])
            .build()
            .unwrap();
        let failure = Pair::new(&ours, &server, NAME).connect().unwrap_err();
        let expected = Some(AlertDescription::HANDSHAKE_FAILURE);
        assert_eq!(failure.server.and_then(Error::alert), expected, "{version:?}");
    }
}

#[test]
fn the_credential_that_the_client_can_verify_is_sent() {
    let server = ServerConfig::builder()
        .credential(credential(Kind::P256))
        .credential(credential(Kind::Rsa2048))
        .build()
        .unwrap();
    for version in BOTH_VERSIONS {
        for scheme in
            [SignatureScheme::ECDSA_SECP256R1_SHA256, SignatureScheme::RSA_PSS_RSAE_SHA256]
        {
            // An ECDSA key signs the chain, whatever key the leaf has.
            let ours = client()
                .versions(&[version])
                .verifier(Policy::Here(Arc::new(AcceptAnyPeer)))
                .signature_schemes(&[scheme])
                .build()
                .unwrap();
            let ends = Pair::new(&ours, &server, NAME).connect().unwrap();
            assert_eq!(ends.client.connection.info.peer_signature_scheme, Some(scheme));
        }
    }
}

#[test]
fn extensions_of_tls12_can_be_required() {
    // An attacker on the path removes an extension from the ClientHello.
    let hidden = |pattern: &'static [u8], strict: bool| {
        let ours = client().versions(&[ProtocolVersion::TLS1_2]).build().unwrap();
        let theirs = server().require_extended_main_secret(strict).build().unwrap();
        Pair::new(&ours, &theirs, NAME)
            .tap_to_server(move |bytes| {
                let found = bytes.windows(pattern.len()).position(|window| window == pattern);
                if let Some(at) = found {
                    bytes[at..at + 2].copy_from_slice(&[0xf9, 0xf9]);
                }
            })
            .connect()
            .unwrap_err()
    };
    let handshake_failure = Some(AlertDescription::HANDSHAKE_FAILURE);
    let failure = hidden(&[0, 23, 0, 0], true);
    assert_eq!(failure.server.and_then(Error::alert), handshake_failure, "{failure:?}");
    let failure = hidden(&[255, 1, 0, 1, 0], false);
    assert_eq!(failure.client.and_then(Error::alert), handshake_failure, "{failure:?}");
    // If the extension is not required, the Finished does not verify.
    let failure = hidden(&[0, 23, 0, 0], false);
    let expected = Some(AlertDescription::DECRYPT_ERROR);
    assert_eq!(failure.server.and_then(Error::alert), expected, "{failure:?}");
}

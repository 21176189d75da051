//! Which certificate is shown, and why one is refused.
//!
//! For: issuers, schemes and times, through a whole handshake. Must not know: how a chain is judged; that is
//! the pki crate's and tested there. Next: `staples.rs` for what travels with a certificate, `identity.rs`.

use std::sync::Arc;
use std::time::Duration;

use tercel::pki_types::UnixTime;
use tercel::wire::{AlertDescription, ProtocolVersion, SignatureScheme};
use tercel::{AcceptAnyPeer, ClientAuth, Clock, Error, Policy, ServerConfig};

use crate::identity::{Kind, NAME, client, credential, plain, roots, server};
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
    // rcgen's certificates live from 1975 to 4096.
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
            // A server judges its clients by its own clock.
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
fn a_credential_can_insist_on_its_issuer() {
    let stranger = rcgen::generate_simple_self_signed(vec!["stranger".to_owned()]).unwrap();
    let mut strangers = tercel::pki::Roots::new();
    strangers.add_der(stranger.cert.der()).unwrap();
    for version in BOTH_VERSIONS {
        let ours = client()
            .versions(&[version])
            .credential(credential(Kind::P256).must_match_issuer())
            .build()
            .unwrap();
        for (trusted, shown) in [(roots(), 1), (strangers.clone(), 0)] {
            let theirs = server().client_auth(ClientAuth::Optional, trusted).build().unwrap();
            let ends = Pair::new(&ours, &theirs, NAME).connect().unwrap();
            assert_eq!(ends.server.connection.facts.peer_chain().len(), shown, "{version:?}");
        }
    }
}

#[test]
fn a_credential_can_be_kept_to_one_scheme() {
    let only = SignatureScheme::RSA_PSS_RSAE_SHA512;
    let restricted = credential(Kind::Rsa2048).signature_schemes(vec![only]);
    let server = ServerConfig::builder().credential(restricted).build().unwrap();
    for version in BOTH_VERSIONS {
        let ours = client().versions(&[version]).build().unwrap();
        let ends = Pair::new(&ours, &server, NAME).connect().unwrap();
        assert_eq!(ends.client.connection.facts.peer_signature_scheme, Some(only));
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
fn the_credential_that_the_client_can_verify_is_shown() {
    let server = ServerConfig::builder()
        .credential(credential(Kind::P256))
        .credential(credential(Kind::Rsa2048))
        .build()
        .unwrap();
    for version in BOTH_VERSIONS {
        for scheme in
            [SignatureScheme::ECDSA_SECP256R1_SHA256, SignatureScheme::RSA_PSS_RSAE_SHA256]
        {
            // The chain is signed by ECDSA whatever the leaf is.
            let ours = client()
                .versions(&[version])
                .verifier(Policy::Here(Arc::new(AcceptAnyPeer)))
                .signature_schemes(&[scheme])
                .build()
                .unwrap();
            let ends = Pair::new(&ours, &server, NAME).connect().unwrap();
            assert_eq!(ends.client.connection.facts.peer_signature_scheme, Some(scheme));
        }
    }
}

#[test]
fn what_tls12_needs_can_be_demanded() {
    // Someone on the way hides an extension of the client.
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
    // Without the demand it is the Finished that does not fit.
    let failure = hidden(&[0, 23, 0, 0], false);
    let expected = Some(AlertDescription::DECRYPT_ERROR);
    assert_eq!(failure.server.and_then(Error::alert), expected, "{failure:?}");
}

//! HPKE with rustls' own provider on either side. RFC 9180's vectors are tests of `tercel-crypto`.

use std::sync::Arc;

use rustls::client::{EchGreaseConfig, EchMode, EchStatus};
use rustls::crypto::aws_lc_rs;
use rustls::crypto::hpke::{EncapsulatedSecret, Hpke, HpkePrivateKey, HpkePublicKey};
use rustls::version::TLS13;
use rustls::{ClientConfig, Connection};
use tercel_rustls::hpke::ALL_SUPPORTED_SUITES;

use crate::support::{Identity, Pair, Provider};

/// Each suite, and that of rustls' own provider.
fn suites() -> impl Iterator<Item = [&'static dyn Hpke; 2]> {
    ALL_SUPPORTED_SUITES.iter().map(|ours| {
        let mut theirs = aws_lc_rs::hpke::ALL_SUPPORTED_SUITES.iter();
        let theirs = theirs.find(|theirs| theirs.suite() == ours.suite()).unwrap();
        [*ours, *theirs]
    })
}

#[test]
fn messages_of_each_side_are_opened_by_the_other() {
    assert_eq!(suites().count(), 3);
    for [ours, theirs] in suites() {
        for (sender, recipient) in [(ours, ours), (ours, theirs), (theirs, ours)] {
            let (public, private) = recipient.generate_key_pair().unwrap();
            let (encapsulated, sealed) = sender.seal(b"info", b"aad", b"text", &public).unwrap();
            let open = |info, aad, sealed: &[u8]| {
                recipient.open(&encapsulated, info, aad, sealed, &private)
            };
            assert_eq!(open(b"info", b"aad", &sealed).unwrap(), b"text");
            assert!(open(b"other", b"aad", &sealed).is_err());
            assert!(open(b"info", b"other", &sealed).is_err());
            assert!(open(b"info", b"aad", &sealed[1..]).is_err());
            // A context numbers its messages.
            let (encapsulated, mut sealer) = sender.setup_sealer(b"info", &public).unwrap();
            let mut opener = recipient.setup_opener(&encapsulated, b"info", &private).unwrap();
            for text in [&b"one"[..], b"two", b""] {
                let sealed = sealer.seal(b"aad", text).unwrap();
                assert_eq!(opener.open(b"aad", &sealed).unwrap(), text);
            }
        }
        assert!(!ours.fips());
    }
}

#[test]
fn malformed_keys_are_refused() {
    for [suite, _] in suites() {
        for key in [vec![], vec![1; 31], vec![1; 33], vec![0; 32]] {
            assert!(suite.setup_sealer(b"", &HpkePublicKey(key.clone())).is_err());
            let (_, private) = suite.generate_key_pair().unwrap();
            assert!(suite.setup_opener(&EncapsulatedSecret(key.clone()), b"", &private).is_err());
            if key.len() != 32 {
                let (public, _) = suite.generate_key_pair().unwrap();
                let (encapsulated, _) = suite.setup_sealer(b"", &public).unwrap();
                let private = HpkePrivateKey::from(key);
                assert!(suite.setup_opener(&encapsulated, b"", &private).is_err());
            }
        }
    }
}

#[test]
fn a_client_sends_a_placeholder_of_encrypted_client_hello() {
    let identity = Identity::p256();
    for [suite, _] in suites() {
        let (placeholder, _) = suite.generate_key_pair().unwrap();
        let grease = EchMode::Grease(EchGreaseConfig::new(suite, placeholder));
        let provider = Arc::new(Provider::Tercel.default());
        let client = ClientConfig::builder_with_provider(provider)
            .with_ech(grease)
            .unwrap()
            .with_root_certificates(Arc::clone(&identity.roots))
            .with_no_client_auth();
        let server = identity.server(Provider::AwsLcRs.default(), &[&TLS13]);
        let pair = Pair::connected(client, server).unwrap();
        let Connection::Client(client) = &pair.client else { panic!("not a client") };
        assert_eq!(client.ech_status(), EchStatus::Grease);
    }
}

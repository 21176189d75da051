//! OCSP responses that are renewed while the server runs, by replacing one credential.

use std::sync::Arc;

use tercel::crypto::SigningKey;
use tercel::wire::{ProtocolVersion, SignatureScheme};
use tercel::{
    Credential, Policy, ServerConfig,
    certificates::{AcceptAnyPeer, Credentials},
};

use crate::fixtures::{Kind, NAME, client, credential, leaf};
use crate::pair::Pair;

const BOTH_VERSIONS: [ProtocolVersion; 2] = [ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2];

#[test]
fn an_ocsp_response_is_renewed_while_the_set_is_in_use() {
    let (first, second) = (credential(Kind::P256), credential(Kind::Rsa2048));
    let leaves = [first.chain()[0].clone(), second.chain()[0].clone()];
    let timestamps = vec![0, 3, 0, 1, 7];
    let first = first.signed_certificate_timestamps(timestamps.clone()).unwrap();
    let set =
        Arc::new(Credentials::new(vec![first, second.ocsp_response(b"of the other".to_vec())]));
    let server = ServerConfig::builder().replaceable_credentials(set.clone()).build().unwrap();
    for version in BOTH_VERSIONS {
        let info = |scheme| {
            let client = client()
                .versions(&[version])
                .verifier(Policy::Here(Arc::new(AcceptAnyPeer) as _))
                .request_signed_certificate_timestamps(true)
                .signature_schemes(&[scheme])
                .build()
                .unwrap();
            Pair::new(&client, &server, NAME).connect().unwrap().client.connection.info
        };
        let ecdsa = SignatureScheme::ECDSA_SECP256R1_SHA256;
        for response in [&b"one"[..], b"two", b""] {
            assert!(set.renew_ocsp_response(&leaves[0], response));
            let info = info(ecdsa);
            let expected = Some(response).filter(|response| !response.is_empty());
            assert_eq!(info.ocsp_response.as_deref(), expected);
            // The timestamps of the credential are unchanged.
            assert_eq!(info.signed_certificate_timestamps.as_ref(), Some(&timestamps));
        }
        let other = info(SignatureScheme::RSA_PSS_RSAE_SHA256);
        assert_eq!(other.ocsp_response.as_deref(), Some(&b"of the other"[..]));
    }
    let unrelated = credential(Kind::P384);
    assert!(!set.renew_ocsp_response(&unrelated.chain()[0], b"three"));
}

#[test]
fn a_credential_with_another_ocsp_response_shares_its_key() {
    let (chain, key) = leaf(Kind::P256, &[NAME]);
    let key = Arc::new(SigningKey::from_der(&key).unwrap());
    let only = SignatureScheme::ECDSA_SECP256R1_SHA256;
    let original =
        Credential::with_signer(chain, key.clone()).unwrap().signature_schemes(vec![only]);
    let renewed = original.with_ocsp_response(b"new".to_vec());
    assert_eq!(Arc::strong_count(&key), 3);
    assert_eq!(renewed.chain(), original.chain());
    assert!(renewed.covers(NAME));
    let client = client().build().unwrap();
    let server = ServerConfig::builder().credential(renewed).build().unwrap();
    let info = Pair::new(&client, &server, NAME).connect().unwrap().client.connection.info;
    assert_eq!(info.ocsp_response.as_deref(), Some(&b"new"[..]));
    assert_eq!(info.peer_signature_scheme, Some(only));
}

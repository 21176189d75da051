//! Raw keys in sessions, and their verification at a resumption.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tercel::pki::{Refusal, RefusalReason};
use tercel::wire::ProtocolVersion;
use tercel::{
    ClientConfig, Error, Policy,
    certificates::{PeerIdentity, TrustedRawKeys, VerifyPeer},
    server::ClientAuth,
};
use tercel_wire::{HandshakeMessage, ServerHello};

use super::{RAW, VERSIONS, client_of, public, raw, server_with};
use crate::fixtures::{self, Kind, NAME};
use crate::pair::{Pair, first_message};

#[test]
fn a_resumed_session_has_the_keys() {
    for version in VERSIONS {
        let client = client_of(Kind::P256, version)
            .verify_resumed(true)
            .credential(raw(Kind::Ed25519))
            .build()
            .unwrap();
        let trusted = vec![public(Kind::Ed25519)];
        let server = server_with([raw(Kind::P256)])
            .client_raw_keys(ClientAuth::Required, trusted)
            .build()
            .unwrap();
        for resumed in [false, true, true] {
            let mut answer = Vec::new();
            let mut ends = Pair::new(&client, &server, NAME)
                .tap_to_client(|bytes| answer.extend_from_slice(bytes))
                .connect()
                .unwrap();
            let (ours, theirs) = (&ends.client.connection.info, &ends.server.connection.info);
            assert_eq!((ours.resumed, theirs.resumed), (resumed, resumed), "{version:?}");
            // The client sends the type each time, since the default is X.509. In TLS 1.3 the
            // server's answer is encrypted.
            if version == ProtocolVersion::TLS1_2 {
                let body = first_message(&answer);
                let hello = ServerHello::parse(&body).unwrap();
                assert_eq!(hello.extensions.server_certificate_type, Some(RAW));
            }
            assert_eq!(ours.peer_raw_public_key, Some(public(Kind::P256)));
            assert_eq!((ours.server_certificate_type, theirs.server_certificate_type), (RAW, RAW));
            assert_eq!(theirs.peer_raw_public_key, Some(public(Kind::Ed25519)));
            ends.talk();
        }
    }
}

#[test]
fn a_stored_key_is_verified_again_like_a_chain() {
    for version in VERSIONS {
        let refuses = Arc::new(AtomicBool::new(false));
        let client = ClientConfig::builder()
            .verifier(Policy::Here(Arc::new(SwitchableVerifier(refuses.clone()))))
            .server_certificate_types(&[RAW])
            .versions(&[version])
            .verify_resumed(true)
            .build()
            .unwrap();
        let server = server_with([raw(Kind::P256)]).build().unwrap();
        for resumed in [false, true] {
            let mut ends = Pair::new(&client, &server, NAME).connect().unwrap();
            assert_eq!(ends.client.connection.info.resumed, resumed, "{version:?}");
            ends.talk();
        }
        // The verifier now refuses, so the full handshake fails for the same reason.
        refuses.store(true, Ordering::SeqCst);
        let failure = Pair::new(&client, &server, NAME).connect().unwrap_err();
        let refused = Error::Refused(RefusalReason::UntrustedRawKey);
        assert_eq!(failure.client, Some(refused), "{version:?}");
    }
}

/// Trusts every key until it is switched off.
struct SwitchableVerifier(Arc<AtomicBool>);

impl VerifyPeer for SwitchableVerifier {
    fn verify_peer(&self, identity: &PeerIdentity<'_>) -> Result<(), Box<Refusal>> {
        if !self.0.load(Ordering::SeqCst) {
            return Ok(());
        }
        TrustedRawKeys::new(vec![public(Kind::P384)]).unwrap().verify_peer(identity)
    }
}

#[test]
fn a_key_no_longer_trusted_is_not_resumed() {
    for version in VERSIONS {
        let store = std::sync::Arc::new(tercel::session::ServerMemoryStore::new(100));
        let client =
            fixtures::client().versions(&[version]).credential(raw(Kind::P384)).build().unwrap();
        let server = |kind| {
            let store = std::sync::Arc::clone(&store);
            let trusted = vec![public(kind)];
            let server = fixtures::server().session_store(Policy::Here(store));
            server.client_raw_keys(ClientAuth::Required, trusted).build().unwrap()
        };
        Pair::new(&client, &server(Kind::P384), NAME).connect().unwrap().talk();
        let failure = Pair::new(&client, &server(Kind::P521), NAME).connect().unwrap_err();
        assert_eq!(failure.server, Some(Error::Refused(RefusalReason::UntrustedRawKey)));
    }
}

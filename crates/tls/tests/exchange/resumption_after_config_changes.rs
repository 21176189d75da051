//! Resumption and early data after the configuration of a client or server was changed. A stricter
//! configuration does not use sessions of a laxer one, and sends no early data to a server that it
//! no longer trusts.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tercel::pki::{Refusal, Roots};
use tercel::pki_types::UnixTime;
use tercel::wire::{CipherSuite, NamedGroup, ProtocolVersion, SignatureScheme};
use tercel::{
    ClientConfig, ConnectionInfo, EarlyData, Error, Handshake, Next, Policy, ReceiveBuffer,
    ServerConfig,
    certificates::{AcceptAnyPeer, ChainPolicy, PeerIdentity, VerifyPeer},
    session::{AdmitEarlyData, ClientMemoryStore, RotatingTickets},
};

use crate::early_data::{RejectAll, guard};
use crate::fixtures::{Kind, NAME, client, credential, roots, server};
use crate::pair::Pair;
use crate::resumption::{VERSIONS, visit};

/// A verifier that trusts all peers until it is switched off, and counts its calls.
#[derive(Default)]
struct SwitchableVerifier {
    refuses: AtomicBool,
    asked: AtomicUsize,
}

impl VerifyPeer for SwitchableVerifier {
    fn verify_peer(&self, identity: &PeerIdentity<'_>) -> Result<(), Box<Refusal>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        if self.refuses.load(Ordering::SeqCst) {
            return ChainPolicy::new(unrelated_roots()).unwrap().verify_peer(identity);
        }
        Ok(())
    }
}

/// Roots that have issued none of the certificates.
fn unrelated_roots() -> Roots {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::default();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    params.distinguished_name.push(rcgen::DnType::CommonName, "Unrelated authority");
    let mut roots = Roots::new();
    roots.add_der(params.self_signed(&key).unwrap().der()).unwrap();
    roots
}

#[test]
fn a_session_of_a_lax_client_is_not_offered_by_a_strict_one() {
    for version in VERSIONS {
        let store = Arc::new(ClientMemoryStore::default());
        let with = |builder: tercel::client::ClientConfigBuilder| {
            builder.versions(&[version]).session_store(store.clone()).build().unwrap()
        };
        let lax = with(ClientConfig::builder().verifier(Policy::Here(Arc::new(AcceptAnyPeer))));
        let strict = with(ClientConfig::builder().roots(unrelated_roots()));
        let server = server().build().unwrap();
        assert!(!visit(&lax, &server));
        let failure = Pair::new(&strict, &server, NAME).connect().unwrap_err();
        assert!(matches!(failure.client, Some(Error::Refused(_))), "{version}: {failure:?}");
        assert!(visit(&lax, &server), "{version}: its own session is still stored");
    }
}

#[test]
fn a_session_is_not_resumed_if_its_signature_scheme_is_no_longer_accepted() {
    let only = [SignatureScheme::ED25519];
    for version in VERSIONS {
        let store = Arc::new(ClientMemoryStore::default());
        let with = |builder: tercel::client::ClientConfigBuilder| {
            builder.versions(&[version]).session_store(store.clone()).build().unwrap()
        };
        let public = server().build().unwrap();
        assert!(!visit(&with(client()), &public));
        assert!(visit(&with(client()), &public));
        let strict = with(client().signature_schemes(&only));
        assert!(Pair::new(&strict, &public, NAME).connect().is_err(), "client, {version}");

        let tickets = Arc::new(RotatingTickets::new(UnixTime::now()).unwrap());
        let demanding = || {
            server()
                .client_auth(tercel::server::ClientAuth::Required, roots())
                .tickets(tickets.clone())
        };
        let client = client().versions(&[version]).credential(credential(Kind::P256));
        let client = client.build().unwrap();
        assert!(!visit(&client, &demanding().build().unwrap()));
        assert!(visit(&client, &demanding().build().unwrap()));
        let strict = demanding().signature_schemes(&only).build().unwrap();
        let ends = Pair::new(&client, &strict, NAME).connect();
        // A TLS 1.3 client completes its handshake before it receives the alert.
        assert!(ends.is_err(), "server, {version}");
    }
}

#[test]
fn a_tls12_session_is_not_resumed_if_its_group_is_no_longer_accepted() {
    let both = [NamedGroup::X25519, NamedGroup::SECP256R1];
    for version in VERSIONS {
        for (ours, theirs) in [(&both[1..], &both[..]), (&both[..], &both[1..])] {
            let store = Arc::new(ClientMemoryStore::default());
            let tickets = Arc::new(RotatingTickets::new(UnixTime::now()).unwrap());
            let go = |ours: &[NamedGroup], theirs: &[NamedGroup]| {
                let client = client().versions(&[version]).session_store(store.clone());
                let server = server().tickets(tickets.clone()).groups(theirs);
                visit(&client.groups(ours).build().unwrap(), &server.build().unwrap())
            };
            assert!(!go(&both, &both));
            assert!(go(&both, &both));
            // TLS 1.3 makes a new key exchange at a resumption.
            let resumes = version == ProtocolVersion::TLS1_3;
            assert_eq!(go(ours, theirs), resumes, "{version} {ours:?} {theirs:?}");
        }
    }
}

#[test]
fn a_stored_chain_is_verified_again_if_configured() {
    for version in VERSIONS {
        let switch = Arc::new(SwitchableVerifier::default());
        let verifier: Arc<dyn VerifyPeer> = switch.clone();
        let client = ClientConfig::builder()
            .verifier(Policy::Here(verifier))
            .versions(&[version])
            .verify_resumed(true)
            .build()
            .unwrap();
        let server = server().build().unwrap();
        assert!(!visit(&client, &server));
        assert!(visit(&client, &server));
        assert_eq!(switch.asked.load(Ordering::SeqCst), 2, "{version}");
        // The verifier now refuses, so the full handshake fails for the same reason.
        switch.refuses.store(true, Ordering::SeqCst);
        let failure = Pair::new(&client, &server, NAME).connect().unwrap_err();
        assert!(matches!(failure.client, Some(Error::Refused(_))), "{version}: {failure:?}");
    }
}

#[test]
fn no_early_data_is_sent_to_a_server_that_is_no_longer_trusted() {
    let switch = Arc::new(SwitchableVerifier::default());
    let verifier: Arc<dyn VerifyPeer> = switch.clone();
    let client = ClientConfig::builder()
        .verifier(Policy::Here(verifier))
        .early_data(true)
        .verify_resumed(true)
        .build()
        .unwrap();
    let server = server().early_data(10_000, guard()).build().unwrap();
    go(&client, &server, b"early").unwrap();
    switch.refuses.store(true, Ordering::SeqCst);
    let mut handshake = Handshake::client(client, NAME.try_into().unwrap());
    handshake.advance(&mut ReceiveBuffer::new(), &mut Vec::new()).unwrap();
    assert!(handshake.early_sender().is_none());
}

#[test]
fn an_early_exporter_is_for_accepted_early_data_only() {
    let client = client().early_data(true).build().unwrap();
    let accepts = server().early_data(14336, guard()).build().unwrap();
    go(&client, &accepts, b"early").unwrap();
    let (info, exports) = go(&client, &accepts, b"early").unwrap();
    assert_eq!((info.early_data, exports), (EarlyData::Accepted, true));
    // A server with other ticket keys does not have the pre-shared key. Without a pre-shared key,
    // the early secret would be public.
    let other = server().build().unwrap();
    let (info, exports) = go(&client, &other, b"early").unwrap();
    assert_eq!((info.early_data, exports), (EarlyData::Rejected, false));
}

#[test]
fn a_large_amount_of_early_data_can_be_rejected() {
    let client = client().early_data(true).build().unwrap();
    let refuses: Arc<dyn AdmitEarlyData> = Arc::new(RejectAll);
    let server = server().early_data(100_000, Policy::Here(refuses)).build().unwrap();
    go(&client, &server, &[1; 40_000]).unwrap();
    let (info, _) = go(&client, &server, &[1; 40_000]).unwrap();
    assert_eq!((info.early_data, info.resumed), (EarlyData::Rejected, true));
}

#[test]
fn early_data_is_sent_before_the_record_size_limit_is_known() {
    let client = client().early_data(true).record_size_limit(16385).build().unwrap();
    let server = server().early_data(10_000, guard()).record_size_limit(1024).build().unwrap();
    go(&client, &server, &[1; 5_000]).unwrap();
    let (info, _) = go(&client, &server, &[1; 5_000]).unwrap();
    assert_eq!(info.early_data, EarlyData::Accepted);
}

#[test]
fn early_data_above_a_lowered_limit_is_rejected() {
    let client = client().early_data(true).build().unwrap();
    let tickets = Arc::new(RotatingTickets::new(UnixTime::now()).unwrap());
    let with =
        |bytes| server().tickets(tickets.clone()).early_data(bytes, guard()).build().unwrap();
    go(&client, &with(10_000), &[1; 5_000]).unwrap();
    let (info, _) = go(&client, &with(1_000), &[1; 5_000]).unwrap();
    assert_eq!((info.early_data, info.resumed), (EarlyData::Rejected, true));
}

#[test]
fn a_retry_keeps_the_session_of_the_other_version_in_the_hello() {
    let client = client().build().unwrap();
    let old = server()
        .versions(&[ProtocolVersion::TLS1_2])
        .cipher_suites(&[CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384])
        .build()
        .unwrap();
    let new = server()
        .groups(&[NamedGroup::SECP384R1])
        .cipher_suites(&[CipherSuite::TLS_AES_128_GCM_SHA256])
        .build()
        .unwrap();
    go(&client, &old, b"").unwrap();
    let (info, _) = go(&client, &new, b"").unwrap();
    assert!(info.retried);
}

/// Makes a connection, with early data if possible. Returns the connection information, and whether
/// there is an early exporter.
fn go(
    client: &Arc<ClientConfig>,
    server: &Arc<ServerConfig>,
    data: &[u8],
) -> Result<(ConnectionInfo, bool), Error> {
    let mut client = Handshake::client(Arc::clone(client), NAME.try_into().unwrap());
    let mut server = Handshake::server(Arc::clone(server));
    let (mut to_client, mut to_server) = (ReceiveBuffer::new(), ReceiveBuffer::new());
    let mut out = Vec::new();
    client.advance(&mut to_client, &mut out)?;
    if let Some(sender) = client.early_sender() {
        sender.seal_to(data, &mut out)?;
    }
    let (mut of_client, mut of_server) = (None, None);
    for _ in 0..6 {
        to_server.extend(&out);
        out.clear();
        while of_server.is_none() {
            match server.advance(&mut to_server, &mut out)? {
                Next::EarlyData(_) => {}
                Next::Connected(connection) => of_server = Some(connection),
                _ => break,
            }
        }
        to_client.extend(&out);
        out.clear();
        if of_client.is_none() {
            if let Next::Connected(connection) = client.advance(&mut to_client, &mut out)? {
                of_client = Some(connection);
            }
        }
    }
    let (mut connection, mut of_server) = (of_client.unwrap(), of_server.unwrap());
    // Tickets are sent before data.
    of_server.sender.seal_to(b"x", &mut out)?;
    to_client.extend(&out);
    while let tercel::Opened::Data(_) = connection.receiver.open(&mut to_client)? {}
    let exports = connection.early_exporter.is_some();
    Ok((connection.info, exports))
}

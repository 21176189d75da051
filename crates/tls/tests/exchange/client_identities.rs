//! Clients whose application selects a credential for each connection: a session of one identity is
//! not resumed for another. RFC 9846 4.7.1, C.4

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tercel::certificates::{CredentialRequest, SelectCredential};
use tercel::client::ClientConfigBuilder;
use tercel::pki_types::UnixTime;
use tercel::questions::SelectCredentialQuestion;
use tercel::server::ClientAuth;
use tercel::session::{ClientSessionKey, ClientSessionStore};
use tercel::wire::ProtocolVersion;
use tercel::{ClientConfig, Credential, Policy, ServerConfig};

use crate::fixtures::{Kind, NAME, client, credential, roots, server};
use crate::pair::Pair;

const VERSIONS: [ProtocolVersion; 2] = [ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2];

/// Selects these credentials in turn.
struct InTurn(Vec<Option<Arc<Credential>>>, AtomicUsize);

impl InTurn {
    fn new(credentials: Vec<Option<Arc<Credential>>>) -> Arc<Self> {
        Arc::new(Self(credentials, AtomicUsize::new(0)))
    }

    fn next(&self) -> Option<Arc<Credential>> {
        let place = self.1.fetch_add(1, Ordering::Relaxed);
        self.0[place % self.0.len()].clone()
    }
}

impl SelectCredential for InTurn {
    fn select_credential(&self, _: &CredentialRequest<'_>) -> Option<Arc<Credential>> {
        self.next()
    }
}

fn demanding(demand: ClientAuth) -> Arc<ServerConfig> {
    server().client_auth(demand, roots()).build().unwrap()
}

/// What the server knows after a connection: whether it was resumed, and the client's leaf.
fn seen(
    client: &Arc<ClientConfig>,
    server: &Arc<ServerConfig>,
    own: &InTurn,
) -> (bool, Option<Vec<u8>>) {
    let pair = Pair::new(client, server, NAME);
    let asked = pair.answering(|_, _| SelectCredentialQuestion::answer_from(own.next()));
    let mut ends = asked.connect().unwrap();
    ends.talk();
    let info = &ends.server.connection.info;
    (info.resumed, info.peer_chain().first().map(|leaf| leaf.to_vec()))
}

fn both() -> [Arc<Credential>; 2] {
    [Kind::P256, Kind::P384].map(|kind| Arc::new(credential(kind)))
}

fn of_version(version: ProtocolVersion) -> ClientConfigBuilder {
    client().versions(&[version])
}

#[test]
fn each_connection_authenticates_as_the_client_that_was_selected_for_it() {
    let [one, other] = both();
    // A client that declines is anonymous, which another connection must not become either.
    for (first, second) in [(Some(&one), Some(&other)), (None, Some(&other)), (Some(&one), None)] {
        for (version, asks) in VERSIONS.into_iter().flat_map(|v| [(v, false), (v, true)]) {
            let own = InTurn::new(vec![first.cloned(), second.cloned()]);
            let policy = if asks { Policy::Ask } else { Policy::Here(Arc::clone(&own) as _) };
            let client = of_version(version).credentials(policy).build().unwrap();
            let server = demanding(ClientAuth::Optional);
            for expected in [first, second, first, second] {
                let leaf = expected.map(|credential| credential.chain()[0].to_vec());
                assert_eq!(seen(&client, &server, &own), (false, leaf), "{version} {asks}");
            }
        }
    }
}

/// The context states that all connections are of one client.
#[test]
fn with_a_session_context_sessions_are_kept() {
    let [one, _] = both();
    for version in VERSIONS {
        let own = InTurn::new(vec![Some(Arc::clone(&one))]);
        let client = of_version(version).credentials(Policy::Ask).session_context(b"one client");
        let (client, server) = (client.build().unwrap(), demanding(ClientAuth::Required));
        for resumed in [false, true, true] {
            let leaf = Some(one.chain()[0].to_vec());
            assert_eq!(seen(&client, &server, &own), (resumed, leaf), "{version}");
        }
    }
}

#[test]
fn sessions_are_kept_if_no_certificate_was_requested_or_there_is_one_identity() {
    let [one, other] = both();
    for version in VERSIONS {
        let own = InTurn::new(vec![Some(Arc::clone(&one)), Some(Arc::clone(&other))]);
        let selecting = of_version(version).credentials(Policy::Ask).build().unwrap();
        let fixed = of_version(version).credential(Credential::clone(&one)).build().unwrap();
        let without = of_version(version).build().unwrap();
        let (open, optional) = (demanding(ClientAuth::None), demanding(ClientAuth::Optional));
        for resumed in [false, true] {
            assert_eq!(seen(&selecting, &open, &own), (resumed, None));
            assert_eq!(seen(&without, &optional, &own), (resumed, None));
            let leaf = Some(one.chain()[0].to_vec());
            assert_eq!(seen(&fixed, &optional, &own), (resumed, leaf));
        }
    }
}

/// A store of the application that must get no session.
struct NoSession;

impl ClientSessionStore for NoSession {
    fn put(&self, _: &ClientSessionKey, _: Vec<u8>, _: UnixTime) {
        panic!("a session is stored");
    }

    fn take(&self, _: &ClientSessionKey, _: UnixTime) -> Option<Vec<u8>> {
        None
    }
}

/// The application's own store gets no such session, and neither does the caller.
#[test]
fn such_a_session_is_neither_stored_nor_returned() {
    let [one, _] = both();
    for version in VERSIONS {
        for returns in [false, true] {
            let own = InTurn::new(vec![Some(Arc::clone(&one))]);
            let client = of_version(version)
                .credentials(Policy::Here(own))
                .session_store(Arc::new(NoSession))
                .return_new_sessions(returns);
            let (client, server) = (client.build().unwrap(), demanding(ClientAuth::Required));
            let mut ends = Pair::new(&client, &server, NAME).connect().unwrap();
            ends.talk();
            assert!(ends.client.connection.receiver.take_new_sessions().is_empty());
        }
    }
}

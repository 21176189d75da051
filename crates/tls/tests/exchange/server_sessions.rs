//! The data about clients in a server's sessions, and the configurations that resume them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tercel::crypto::HashAlgorithm;
use tercel::pki::{Refusal, RefusalReason};
use tercel::pki_types::UnixTime;
use tercel::wire::ProtocolVersion;
use tercel::{
    ClientConfig, Policy, ServerConfig,
    certificates::{AcceptAnyPeer, Credentials, PeerIdentity, VerifyPeer},
    error::ConfigError,
    server::ClientAuth,
    session::{
        ClientMemoryStore, ClientSessionKey, ClientSessionStore, RotatingTickets, ServerMemoryStore,
    },
};
use tercel_crypto::Hash;

use crate::fixtures::{Kind, NAME, client, credential, credential_for, roots, server};
use crate::pair::{Ends, Pair};
use crate::resumption::{ManualClock, VERSIONS, visit};

/// Accepts every client until it is switched off.
#[derive(Default)]
struct SwitchableVerifier(AtomicBool);

impl VerifyPeer for SwitchableVerifier {
    fn verify_peer(&self, identity: &PeerIdentity<'_>) -> Result<(), Box<Refusal>> {
        if !self.0.load(Ordering::SeqCst) {
            return Ok(());
        }
        Err(Box::new(identity.refusal(RefusalReason::Other)))
    }
}

#[test]
fn a_client_that_is_no_longer_trusted_resumes_only_without_verification() {
    for (version, looks) in
        VERSIONS.into_iter().flat_map(|version| [(version, true), (version, false)])
    {
        let verifier_switch = Arc::new(SwitchableVerifier::default());
        let verifier: Arc<dyn VerifyPeer> = verifier_switch.clone();
        let client = client_with_certificate(version);
        let server = server()
            .client_verifier(ClientAuth::Required, Policy::Here(verifier))
            .verify_resumed(looks)
            .build()
            .unwrap();
        assert!(!visit(&client, &server));
        assert!(visit(&client, &server));
        verifier_switch.0.store(true, Ordering::SeqCst);
        let last = Pair::new(&client, &server, NAME).connect();
        let resumed = last.map(|ends| ends.server.connection.info.resumed);
        assert_eq!(resumed.is_ok_and(|resumed| resumed), !looks, "{version} {looks}");
    }
}

#[test]
fn digests_instead_of_chains_make_sessions_small() {
    for version in VERSIONS {
        let client = client_with_certificate(version);
        let size_with = |digests| {
            let store = Arc::new(SizeRecordingStore::default());
            let policy: Arc<dyn tercel::session::ServerSessionStore> = store.clone();
            let server = demanding()
                .session_store(Policy::Here(policy))
                .verify_resumed(false)
                .store_only_certificate_digests(digests)
                .build()
                .unwrap();
            let first = talk(&client, &server);
            let info = &first.server.connection.info;
            let leaf = Hash::digest(HashAlgorithm::Sha256, &[&info.peer_chain()[0]]);
            let digest = info.peer_certificate_digest().copied();
            assert_eq!(digest.as_ref().map(<[u8; 32]>::as_slice), digests.then_some(&*leaf));
            let second = talk(&client, &server);
            let info = &second.server.connection.info;
            assert!(info.resumed, "{version}");
            assert_eq!(info.peer_chain().is_empty(), digests, "{version}");
            assert_eq!(info.peer_certificate_digest().copied(), digest, "{version}");
            store.longest()
        };
        let (with_digests, with_chains) = (size_with(true), size_with(false));
        assert!(with_digests < 250 && with_chains > with_digests + 200, "{with_digests}");
    }
}

#[test]
fn sessions_with_digests_are_not_resumed_where_chains_are_kept() {
    for version in VERSIONS {
        let tickets = Arc::new(RotatingTickets::new(UnixTime::now()).unwrap());
        let with = |digests| {
            let builder = demanding().tickets(tickets.clone()).verify_resumed(false);
            builder.store_only_certificate_digests(digests).build().unwrap()
        };
        for digests in [true, false] {
            let client = client_with_certificate(version);
            assert!(!visit(&client, &with(digests)));
            assert!(!visit(&client, &with(!digests)), "{version}");
            assert!(visit(&client, &with(!digests)), "{version}");
        }
    }
}

#[test]
fn digests_cannot_be_verified_again() {
    let refused = server().store_only_certificate_digests(true).build().err();
    assert_eq!(refused, Some(ConfigError::DigestsCannotBeVerified));
}

#[test]
fn a_ticket_may_be_valid_for_other_names_of_the_certificate() {
    let resumes = |promises: bool, names: &[&str]| {
        let client_store = Arc::new(SingleSessionStore::default());
        let client = client().session_store(client_store.clone()).build().unwrap();
        let server = ServerConfig::builder()
            .credential(credential_for(Kind::P256, names))
            .resumption_across_names(promises)
            .build()
            .unwrap();
        assert!(!visit(&client, &server));
        assert_eq!(*client_store.across.lock().unwrap(), promises);
        let other = Pair::new(&client, &server, "other.example").connect();
        other.map(|ends| ends.client.connection.info.resumed).map_err(|failure| failure.client)
    };
    assert_eq!(resumes(true, &[NAME, "other.example"]), Ok(true));
    assert_eq!(resumes(false, &[NAME, "other.example"]), Ok(false));
    // The certificate is not valid for the other name. So the session is not offered, and the full
    // handshake fails.
    let refused = resumes(true, &[NAME]).unwrap_err();
    assert_eq!(refused, Some(tercel::Error::Refused(RefusalReason::NameMismatch)));
}

#[test]
fn a_ticket_for_other_names_is_refused_after_that_is_switched_off() {
    let tickets = Arc::new(RotatingTickets::new(UnixTime::now()).unwrap());
    let with = |promises| {
        ServerConfig::builder()
            .credential(credential_for(Kind::P256, &[NAME, "other.example"]))
            .tickets(tickets.clone())
            .resumption_across_names(promises)
            .build()
            .unwrap()
    };
    let client = client().session_store(Arc::new(SingleSessionStore::default())).build().unwrap();
    assert!(!visit(&client, &with(true)));
    let other = Pair::new(&client, &with(false), "other.example").connect().unwrap();
    assert!(!other.client.connection.info.resumed);
}

#[test]
fn a_session_for_one_name_stays_so_when_new_ones_are_for_all() {
    let tickets = Arc::new(RotatingTickets::new(UnixTime::now()).unwrap());
    let set = Arc::new(Credentials::new(vec![credential(Kind::P256)]));
    let server = |promises| {
        let builder = ServerConfig::builder().replaceable_credentials(set.clone());
        builder.tickets(tickets.clone()).resumption_across_names(promises).build().unwrap()
    };
    // Tercel's client offers a session under another name only if the server allows it. But an
    // earlier connection to the server may have sent no name.
    let resumes = |first, second| {
        let store = Arc::new(ClientMemoryStore::default());
        let client = |sends_name| {
            client().session_store(store.clone()).send_server_name(sends_name).build().unwrap()
        };
        assert!(!visit(&client(false), &server(first)));
        visit(&client(true), &server(second))
    };
    assert!(resumes(true, true));
    assert!(!resumes(false, true));
}

#[test]
fn an_unverified_session_needs_the_same_roots_or_context() {
    for version in VERSIONS {
        let tickets = Arc::new(RotatingTickets::new(UnixTime::now()).unwrap());
        let unseen = |builder: tercel::server::ServerConfigBuilder| {
            builder.tickets(tickets.clone()).verify_resumed(false).build().unwrap()
        };
        let with = |label: &[u8], refuses: bool| {
            let verifier: Arc<dyn VerifyPeer> = Arc::new(SwitchableVerifier(refuses.into()));
            let builder = server().client_verifier(ClientAuth::Required, Policy::Here(verifier));
            unseen(builder.session_context(label))
        };
        let resumes = |client: &Arc<ClientConfig>, server: &Arc<ServerConfig>| {
            let ends = Pair::new(client, server, NAME).connect();
            ends.map(|mut ends| {
                ends.talk();
                ends.server.connection.info.resumed
            })
        };
        let client = client_with_certificate(version);
        assert!(!resumes(&client, &with(b"", false)).unwrap());
        // Neither verifier names authorities, so the server cannot find out whether they accept the
        // same clients.
        assert!(resumes(&client, &with(b"", true)).is_err(), "{version}");
        // With a session context, an application can declare the verifiers equivalent.
        assert!(!resumes(&client, &with(b"one", false)).unwrap());
        assert!(resumes(&client, &with(b"one", false)).unwrap(), "{version}");
        // Verifiers that consist of roots are compared, so they need no context.
        assert!(!resumes(&client, &unseen(demanding())).unwrap());
        assert!(resumes(&client, &unseen(demanding())).unwrap(), "{version}");
    }
}

#[test]
fn a_resumption_also_requires_a_known_name() {
    for version in VERSIONS {
        let credentials = Arc::new(
            Credentials::new(vec![credential_for(Kind::P256, &[NAME])]).require_known_name(),
        );
        let server = ServerConfig::builder().replaceable_credentials(credentials.clone());
        let server = server.build().unwrap();
        let client = client().versions(&[version]).build().unwrap();
        assert!(!visit(&client, &server));
        assert!(visit(&client, &server));
        credentials.replace(vec![credential_for(Kind::P256, &["other.example"])]);
        let failure = Pair::new(&client, &server, NAME).connect().unwrap_err();
        assert_eq!(
            failure.server,
            Some(tercel::error::PeerError::UnrecognizedName.into()),
            "{version}"
        );
    }
}

#[test]
fn resumption_across_names_is_limited_to_required_known_names() {
    let anyone = ClientConfig::builder().verifier(Policy::Here(Arc::new(AcceptAnyPeer)));
    let client = anyone.session_store(Arc::new(SingleSessionStore::default())).build().unwrap();
    let server = ServerConfig::builder()
        .credential(credential_for(Kind::P256, &[NAME, "other.example"]))
        .require_known_name()
        .resumption_across_names(true)
        .build()
        .unwrap();
    assert!(!visit(&client, &server));
    let mut other = Pair::new(&client, &server, "other.example").connect().unwrap();
    assert!(other.server.connection.info.resumed);
    other.talk();
    let failure = Pair::new(&client, &server, "third.example").connect().unwrap_err();
    assert_eq!(failure.server, Some(tercel::error::PeerError::UnrecognizedName.into()));
}

#[test]
fn a_server_reports_the_error_of_a_tickets_age() {
    let (ours, theirs) = (ManualClock::new(), ManualClock::new());
    let client = client().clock(ours.clone()).build().unwrap();
    let server = server().clock(theirs.clone()).build().unwrap();
    let first = talk(&client, &server);
    assert_eq!(first.server.connection.info.ticket_age_skew, None);
    ours.advance_by(30);
    theirs.advance_by(20);
    let second = talk(&client, &server);
    assert_eq!(second.server.connection.info.ticket_age_skew, Some(10_000));
    assert_eq!(second.client.connection.info.ticket_age_skew, None);
    theirs.advance_by(5);
    let third = talk(&client, &server);
    assert_eq!(third.server.connection.info.ticket_age_skew, Some(-5_000));
}

fn client_with_certificate(version: ProtocolVersion) -> Arc<ClientConfig> {
    client().versions(&[version]).credential(credential(Kind::P256)).build().unwrap()
}

fn demanding() -> tercel::server::ServerConfigBuilder {
    server().client_auth(ClientAuth::Required, roots())
}

/// Makes a connection, and transfers data so that the tickets arrive.
fn talk(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>) -> Ends {
    let mut ends = Pair::new(client, server, NAME).connect().unwrap();
    ends.talk();
    ends
}

/// A server's store that records the length of the longest session.
struct SizeRecordingStore {
    store: ServerMemoryStore,
    longest: Mutex<usize>,
}

impl Default for SizeRecordingStore {
    fn default() -> Self {
        Self { store: ServerMemoryStore::new(10), longest: Mutex::default() }
    }
}

impl SizeRecordingStore {
    fn longest(&self) -> usize {
        *self.longest.lock().unwrap()
    }
}

impl tercel::session::ServerSessionStore for SizeRecordingStore {
    fn put(&self, id: &[u8], session: Vec<u8>, expires: UnixTime) {
        let mut longest = self.longest.lock().unwrap();
        *longest = session.len().max(*longest);
        self.store.put(id, session, expires);
    }

    fn take(&self, id: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.store.take(id, now)
    }

    fn get(&self, id: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.store.get(id, now)
    }

    fn remove(&self, id: &[u8]) {
        self.store.remove(id);
    }
}

/// A client's store that returns its session for every name.
#[derive(Default)]
pub(crate) struct SingleSessionStore {
    pub(crate) session: Mutex<Option<Vec<u8>>>,
    across: Mutex<bool>,
}

impl ClientSessionStore for SingleSessionStore {
    fn put(&self, _: &ClientSessionKey, session: Vec<u8>, _: UnixTime) {
        *self.session.lock().unwrap() = Some(session);
    }

    fn put_across_names(&self, key: &ClientSessionKey, session: Vec<u8>, expires: UnixTime) {
        *self.across.lock().unwrap() = true;
        self.put(key, session, expires);
    }

    fn take(&self, _: &ClientSessionKey, _: UnixTime) -> Option<Vec<u8>> {
        self.session.lock().unwrap().take()
    }
}

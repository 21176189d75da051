//! What a server's sessions keep of clients, and for whom they are good.
//!
//! Must not know: what a session looks like. Next: `resumption.rs`, `resumed_trust.rs`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tercel::crypto::{Hash, HashAlgorithm};
use tercel::pki::{Refusal, RefusalReason};
use tercel::pki_types::UnixTime;
use tercel::wire::ProtocolVersion;
use tercel::{
    AcceptAnyPeer, ClientAuth, ClientConfig, ClientMemoryStore, ClientSessionKey,
    ClientSessionStore, ConfigError, Credentials, MemoryStore, PeerIdentity, Policy,
    RotatingTickets, ServerConfig, VerifyPeer,
};

use crate::identity::{Kind, NAME, client, credential, credential_for, roots, server};
use crate::pair::{Ends, Pair};
use crate::resumption::{Dial, VERSIONS, visit};

/// Accepts every client until it is told not to.
#[derive(Default)]
struct Turning(AtomicBool);

impl VerifyPeer for Turning {
    fn verify_peer(&self, identity: &PeerIdentity<'_>) -> Result<(), Box<Refusal>> {
        if !self.0.load(Ordering::SeqCst) {
            return Ok(());
        }
        Err(Box::new(Refusal {
            reason: RefusalReason::Other,
            chain: Vec::new(),
            names: Vec::new(),
            wanted: None,
            position: None,
            time: identity.now,
        }))
    }
}

#[test]
fn a_client_that_is_not_trusted_any_more_comes_back_only_where_nobody_looks() {
    for (version, looks) in
        VERSIONS.into_iter().flat_map(|version| [(version, true), (version, false)])
    {
        let turning = Arc::new(Turning::default());
        let verifier: Arc<dyn VerifyPeer> = turning.clone();
        let client = client_with_certificate(version);
        let server = server()
            .client_verifier(ClientAuth::Required, Policy::Here(verifier))
            .verify_resumed(looks)
            .build()
            .unwrap();
        assert!(!visit(&client, &server));
        assert!(visit(&client, &server));
        turning.0.store(true, Ordering::SeqCst);
        let last = Pair::new(&client, &server, NAME).connect();
        let resumed = last.map(|ends| ends.server.connection.facts.resumed);
        assert_eq!(resumed.is_ok_and(|resumed| resumed), !looks, "{version} {looks}");
    }
}

#[test]
fn digests_take_the_place_of_chains_and_sessions_get_small() {
    for version in VERSIONS {
        let client = client_with_certificate(version);
        let size_with = |digests| {
            let store = Arc::new(Weighing::default());
            let policy: Arc<dyn tercel::SessionStore> = store.clone();
            let server = demanding()
                .session_store(Policy::Here(policy))
                .verify_resumed(false)
                .keep_only_certificate_digests(digests)
                .build()
                .unwrap();
            let first = talk(&client, &server);
            let facts = &first.server.connection.facts;
            let leaf = Hash::digest(HashAlgorithm::Sha256, &[&facts.peer_chain()[0]]);
            let digest = facts.peer_certificate_digest().copied();
            assert_eq!(digest.as_ref().map(<[u8; 32]>::as_slice), digests.then_some(&*leaf));
            let second = talk(&client, &server);
            let facts = &second.server.connection.facts;
            assert!(facts.resumed, "{version}");
            assert_eq!(facts.peer_chain().is_empty(), digests, "{version}");
            assert_eq!(facts.peer_certificate_digest().copied(), digest, "{version}");
            store.longest()
        };
        let (with_digests, with_chains) = (size_with(true), size_with(false));
        assert!(with_digests < 250 && with_chains > with_digests + 200, "{with_digests}");
    }
}

#[test]
fn sessions_with_digests_and_with_chains_do_not_mix() {
    for version in VERSIONS {
        let tickets = Arc::new(RotatingTickets::new(UnixTime::now()).unwrap());
        let with = |digests| {
            let builder = demanding().tickets(tickets.clone()).verify_resumed(false);
            builder.keep_only_certificate_digests(digests).build().unwrap()
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
fn digests_cannot_be_judged_again() {
    let refused = server().keep_only_certificate_digests(true).build().err();
    assert_eq!(refused, Some(ConfigError::DigestsCannotBeVerified));
}

#[test]
fn a_ticket_may_be_good_for_other_names_of_the_certificate() {
    let resumes = |promises: bool, names: &[&str]| {
        let drawer = Arc::new(Drawer::default());
        let client = client().session_store(drawer.clone()).build().unwrap();
        let server = ServerConfig::builder()
            .credential(credential_for(Kind::P256, names))
            .resumption_across_names(promises)
            .build()
            .unwrap();
        assert!(!visit(&client, &server));
        assert_eq!(*drawer.across.lock().unwrap(), promises);
        let other = Pair::new(&client, &server, "other.example").connect();
        other.map(|ends| ends.client.connection.facts.resumed).map_err(|failure| failure.client)
    };
    assert_eq!(resumes(true, &[NAME, "other.example"]), Ok(true));
    assert_eq!(resumes(false, &[NAME, "other.example"]), Ok(false));
    // The certificate is not the other server's: the session is not offered, and a full handshake tells why.
    let refused = resumes(true, &[NAME]).unwrap_err();
    assert_eq!(refused, Some(tercel::Error::Refused(RefusalReason::NameMismatch)));
}

#[test]
fn a_ticket_that_was_good_for_other_names_is_not_once_that_is_switched_off() {
    let tickets = Arc::new(RotatingTickets::new(UnixTime::now()).unwrap());
    let with = |promises| {
        ServerConfig::builder()
            .credential(credential_for(Kind::P256, &[NAME, "other.example"]))
            .tickets(tickets.clone())
            .resumption_across_names(promises)
            .build()
            .unwrap()
    };
    let client = client().session_store(Arc::new(Drawer::default())).build().unwrap();
    assert!(!visit(&client, &with(true)));
    let other = Pair::new(&client, &with(false), "other.example").connect().unwrap();
    assert!(!other.client.connection.facts.resumed);
}

#[test]
fn a_session_that_was_for_one_name_stays_so_when_others_are_for_all() {
    let tickets = Arc::new(RotatingTickets::new(UnixTime::now()).unwrap());
    let set = Arc::new(Credentials::new(vec![credential(Kind::P256)]));
    let server = |promises| {
        let builder = ServerConfig::builder().replaceable_credentials(set.clone());
        builder.tickets(tickets.clone()).resumption_across_names(promises).build().unwrap()
    };
    // A client of ours offers no session under another name without a promise, but it may not have sent the name before.
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
fn where_nobody_looks_again_a_session_is_for_who_trusts_the_same() {
    for version in VERSIONS {
        let tickets = Arc::new(RotatingTickets::new(UnixTime::now()).unwrap());
        let unseen = |builder: tercel::ServerConfigBuilder| {
            builder.tickets(tickets.clone()).verify_resumed(false).build().unwrap()
        };
        let with = |label: &[u8], refuses: bool| {
            let verifier: Arc<dyn VerifyPeer> = Arc::new(Turning(refuses.into()));
            let builder = server().client_verifier(ClientAuth::Required, Policy::Here(verifier));
            unseen(builder.session_context(label))
        };
        let resumes = |client: &Arc<ClientConfig>, server: &Arc<ServerConfig>| {
            let ends = Pair::new(client, server, NAME).connect();
            ends.map(|mut ends| {
                ends.talk();
                ends.server.connection.facts.resumed
            })
        };
        let client = client_with_certificate(version);
        assert!(!resumes(&client, &with(b"", false)).unwrap());
        // Neither names an authority, and nobody can tell what they decide by.
        assert!(resumes(&client, &with(b"", true)).is_err(), "{version}");
        // An application can, and says so.
        assert!(!resumes(&client, &with(b"one", false)).unwrap());
        assert!(resumes(&client, &with(b"one", false)).unwrap(), "{version}");
        // Of roots it is known without.
        assert!(!resumes(&client, &unseen(demanding())).unwrap());
        assert!(resumes(&client, &unseen(demanding())).unwrap(), "{version}");
    }
}

#[test]
fn a_resumption_asks_for_a_known_name_too() {
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
        assert_eq!(failure.server, Some(tercel::Peer::UnrecognizedName.into()), "{version}");
    }
}

#[test]
fn across_names_means_across_known_names_where_others_are_refused() {
    let anyone = ClientConfig::builder().verifier(Policy::Here(Arc::new(AcceptAnyPeer)));
    let client = anyone.session_store(Arc::new(Drawer::default())).build().unwrap();
    let server = ServerConfig::builder()
        .credential(credential_for(Kind::P256, &[NAME, "other.example"]))
        .require_known_name()
        .resumption_across_names(true)
        .build()
        .unwrap();
    assert!(!visit(&client, &server));
    let mut other = Pair::new(&client, &server, "other.example").connect().unwrap();
    assert!(other.server.connection.facts.resumed);
    other.talk();
    let failure = Pair::new(&client, &server, "third.example").connect().unwrap_err();
    assert_eq!(failure.server, Some(tercel::Peer::UnrecognizedName.into()));
}

#[test]
fn a_server_is_told_by_how_much_a_tickets_age_is_off() {
    let (ours, theirs) = (Dial::new(), Dial::new());
    let client = client().clock(ours.clone()).build().unwrap();
    let server = server().clock(theirs.clone()).build().unwrap();
    let first = talk(&client, &server);
    assert_eq!(first.server.connection.facts.ticket_age_skew, None);
    ours.turn(30);
    theirs.turn(20);
    let second = talk(&client, &server);
    assert_eq!(second.server.connection.facts.ticket_age_skew, Some(10_000));
    assert_eq!(second.client.connection.facts.ticket_age_skew, None);
    theirs.turn(5);
    let third = talk(&client, &server);
    assert_eq!(third.server.connection.facts.ticket_age_skew, Some(-5_000));
}

fn client_with_certificate(version: ProtocolVersion) -> Arc<ClientConfig> {
    client().versions(&[version]).credential(credential(Kind::P256)).build().unwrap()
}

fn demanding() -> tercel::ServerConfigBuilder {
    server().client_auth(ClientAuth::Required, roots())
}

/// A connection that has moved data, and so its tickets.
fn talk(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>) -> Ends {
    let mut ends = Pair::new(client, server, NAME).connect().unwrap();
    ends.talk();
    ends
}

/// A server's store that notes the longest session.
struct Weighing {
    store: MemoryStore,
    longest: Mutex<usize>,
}

impl Default for Weighing {
    fn default() -> Self {
        Self { store: MemoryStore::new(10), longest: Mutex::default() }
    }
}

impl Weighing {
    fn longest(&self) -> usize {
        *self.longest.lock().unwrap()
    }
}

impl tercel::SessionStore for Weighing {
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

/// A client's store that hands out what it has, whoever is asked for.
#[derive(Default)]
pub(crate) struct Drawer {
    pub(crate) session: Mutex<Option<Vec<u8>>>,
    across: Mutex<bool>,
}

impl ClientSessionStore for Drawer {
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

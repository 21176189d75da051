//! Session IDs of TLS 1.2 in addition to tickets: a client that supports tickets gets a ticket, and
//! other clients get an ID. RFC 5246 7.3, RFC 5077 3.4

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tercel::pki_types::UnixTime;
use tercel::wire::ProtocolVersion;
use tercel::{
    ClientConfig, Credential, Policy, Question, ServerConfig,
    certificates::AcceptAnyPeer,
    server::ClientAuth,
    session::{ServerMemoryStore, ServerSessionStore},
};
use tercel_wire::{HandshakeMessage, ServerHello};

use crate::fixtures::{Kind, NAME, client, server};
use crate::pair::{Pair, first_message};

const TLS12: &[ProtocolVersion] = &[ProtocolVersion::TLS1_2];

/// Whether a server sent a session ID, and whether it sent a ticket.
fn announced(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>) -> (bool, bool) {
    let mut announced = None;
    let tap = |sent: &mut Vec<u8>| {
        announced.get_or_insert_with(|| {
            let body = first_message(sent);
            let hello = ServerHello::parse(&body).unwrap();
            (!hello.session_id_echo.is_empty(), hello.extensions.session_ticket.is_some())
        });
    };
    Pair::new(client, server, NAME).tap_to_client(tap).connect().unwrap().talk();
    announced.unwrap()
}

/// RFC 5077 3.2
#[test]
fn by_default_clients_get_a_ticket_or_an_id() {
    let takes_tickets = client().versions(TLS12).build().unwrap();
    let takes_none = client().versions(TLS12).without_resumption().build().unwrap();
    let by_default = server().build().unwrap();
    assert_eq!(announced(&takes_tickets, &by_default), (false, true));
    assert_eq!(announced(&takes_none, &by_default), (true, false));

    let tickets_only = server().without_session_ids().build().unwrap();
    assert_eq!(announced(&takes_tickets, &tickets_only), (false, true));
    assert_eq!(announced(&takes_none, &tickets_only), (false, false));
    let nothing = server().without_tickets().build().unwrap();
    assert_eq!(announced(&takes_none, &nothing), (false, false));
}

/// Counts the sessions that are put and looked up.
struct CountingStore {
    store: ServerMemoryStore,
    put: AtomicUsize,
    asked: AtomicUsize,
}

impl CountingStore {
    fn new() -> Arc<Self> {
        let (put, asked) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Arc::new(Self { store: ServerMemoryStore::new(100), put, asked })
    }

    fn counts(&self) -> (usize, usize) {
        (self.put.load(Ordering::Relaxed), self.asked.load(Ordering::Relaxed))
    }
}

impl ServerSessionStore for CountingStore {
    fn put(&self, id: &[u8], session: Vec<u8>, expires: UnixTime) {
        self.put.fetch_add(1, Ordering::Relaxed);
        self.store.put(id, session, expires);
    }

    fn take(&self, id: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.store.take(id, now)
    }

    fn get(&self, id: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.store.get(id, now)
    }

    fn remove(&self, id: &[u8]) {
        self.store.remove(id);
    }
}

#[test]
fn a_session_is_resumed_by_its_id_with_tickets_enabled() {
    let store = CountingStore::new();
    let shared = Policy::Here(Arc::clone(&store) as Arc<dyn ServerSessionStore>);
    let ids_only = server().without_tickets().session_store(shared).build().unwrap();
    let both = server().session_ids(Policy::Here(Arc::clone(&store) as _)).build().unwrap();
    // Tercel's client prefers a ticket, so its session comes from a server without tickets.
    let client = client().versions(TLS12).build().unwrap();
    Pair::new(&client, &ids_only, NAME).connect().unwrap().talk();
    for _ in 0..2 {
        let mut ends = Pair::new(&client, &both, NAME).connect().unwrap();
        assert!(ends.server.connection.info.resumed && ends.client.connection.info.resumed);
        ends.talk();
    }
}

/// An application that stores the sessions of clients without tickets is asked for these only.
#[test]
fn an_application_is_asked_for_sessions_with_an_id() {
    let builder = || server().session_ids(Policy::Ask);
    let sealed = builder().build().unwrap();
    let asks_for_all = builder().ask_for_tickets(Duration::from_secs(3600)).build().unwrap();
    for (server, asks_for_tickets) in [(sealed, false), (asks_for_all, true)] {
        for takes_tickets in [false, true] {
            let client = client().tickets_tls12(takes_tickets);
            for version in [ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2] {
                let client = client.clone().versions(&[version]).build().unwrap();
                let has_id = version == ProtocolVersion::TLS1_2 && !takes_tickets;
                let (mut stored, mut found) = (HashMap::new(), 0);
                for resumed in [false, true, true] {
                    let pair =
                        Pair::new(&client, &server, NAME).answering(|_, asked| match asked {
                            Question::FindSession(question) if has_id => {
                                assert!(!question.is_single_use());
                                found += 1;
                                question.answer(stored.get(question.identity()).cloned())
                            }
                            Question::SealTicket(question) if asks_for_tickets => {
                                question.answer(Some(question.session().to_vec()))
                            }
                            Question::OpenTicket(question) if asks_for_tickets => {
                                question.answer(Some(question.ticket().to_vec()))
                            }
                            other => panic!("{version:?} {takes_tickets} {other:?}"),
                        });
                    let mut ends = pair.connect().unwrap();
                    ends.talk();
                    assert_eq!(ends.server.connection.info.resumed, resumed, "{version:?}");
                    let new = ends.server.connection.info.take_new_sessions();
                    assert_eq!(new.len(), usize::from(has_id && !resumed), "{version:?}");
                    stored.extend(new.into_iter().map(|new| (new.id, new.session)));
                }
                assert_eq!(found, if has_id { 2 } else { 0 }, "{version:?} {takes_tickets}");
            }
        }
    }
}

/// A ticket that cannot be opened is no ID.
#[test]
fn no_session_is_looked_up_by_a_ticket() {
    let client = client().versions(TLS12).build().unwrap();
    let [one, other] = [(); 2].map(|()| server().session_ids(Policy::Ask).build().unwrap());
    for (server, resumed) in [(&one, false), (&one, true), (&other, false)] {
        let pair = Pair::new(&client, server, NAME).answering(|_, asked| panic!("{asked:?}"));
        assert_eq!(pair.connect().unwrap().server.connection.info.resumed, resumed);
    }
}

#[test]
fn tickets_are_not_put_into_the_store_of_ids() {
    for version in [ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2] {
        let store = CountingStore::new();
        let server = server().session_ids(Policy::Here(Arc::clone(&store) as _)).build().unwrap();
        let client = client().versions(&[version]).build().unwrap();
        for resumed in [false, true, true] {
            let mut ends = Pair::new(&client, &server, NAME).connect().unwrap();
            assert_eq!(ends.server.connection.info.resumed, resumed, "{version:?}");
            ends.talk();
        }
        assert_eq!(store.counts(), (0, 0), "{version:?}");
    }
}

/// A session with a long client chain would need too much memory in the default store, so no such
/// session is stored under an ID.
#[test]
fn sessions_with_long_client_chains_are_not_stored_under_an_id() {
    for (length, kept) in [(1, 1), (40, 0)] {
        let store = CountingStore::new();
        let by = |store: Policy<dyn ServerSessionStore>| {
            let verifier = Policy::Here(Arc::new(AcceptAnyPeer) as _);
            let builder = server().client_verifier(ClientAuth::Required, verifier);
            builder.session_ids(store).build().unwrap()
        };
        let (server, asking) = (by(Policy::Here(Arc::clone(&store) as _)), by(Policy::Ask));
        let (chain, key) = crate::fixtures::leaf(Kind::P256, &[NAME]);
        let chain = std::iter::repeat_n(chain, length).flatten().collect();
        let key = tercel::pki_types::PrivateKeyDer::Pkcs8(key.into());
        let client = client()
            .versions(TLS12)
            .without_resumption()
            .credential(Credential::new(chain, &key).unwrap())
            .build()
            .unwrap();
        Pair::new(&client, &server, NAME).connect().unwrap().talk();
        assert_eq!(store.counts(), (kept, 0), "a chain of {length}");
        let mut ends = Pair::new(&client, &asking, NAME).connect().unwrap();
        assert_eq!(ends.server.connection.info.take_new_sessions().len(), kept);
    }
}

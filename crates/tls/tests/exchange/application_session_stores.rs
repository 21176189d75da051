//! Applications that store sessions themselves, of servers and of clients.
//!
//! After a fatal alert a session of TLS 1.2 is discarded. This also holds if an application stores
//! sessions itself, and if the connection was restored from bytes. RFC 5246 7.2.2

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tercel::pki_types::UnixTime;
use tercel::wire::{AlertDescription, ProtocolVersion};
use tercel::{
    ClientConfig, Connection, EarlyData, Policy, Question, ServerConfig,
    certificates::AcceptAnyPeer,
    client::ClientConfigBuilder,
    session::{
        ClientMemoryStore, ClientSession, ClientSessionKey, ClientSessionStore, ServerMemoryStore,
    },
};
use tercel_wire::{ClientHello, HandshakeMessage};

use crate::early_data::guard;
use crate::fixtures::{NAME, client, server};
use crate::pair::{Ends, Pair, first_message};

/// An application that stores sessions itself.
#[derive(Clone, Default)]
struct ExternalStore(Arc<Mutex<HashMap<Vec<u8>, Vec<u8>>>>);

impl ExternalStore {
    fn config(&self) -> Arc<ServerConfig> {
        let kept = Arc::clone(&self.0);
        let forget = move |id: &[u8; 32]| {
            assert!(kept.lock().unwrap().remove(&id[..]).is_some(), "a stored session");
        };
        server_with_questions().forget_session(Arc::new(forget)).build().unwrap()
    }

    /// Connects. The assertion above checks that no session is removed before the handshake is
    /// complete.
    fn connect(&self, client: &Arc<ClientConfig>, server: &Arc<ServerConfig>) -> Ends {
        let mut ends = Pair::new(client, server, NAME)
            .answering(|_, question| match question {
                Question::FindSession(question) => {
                    question.answer(self.0.lock().unwrap().get(question.identity()).cloned())
                }
                other => panic!("{other:?}"),
            })
            .connect()
            .unwrap();
        for new in ends.server.connection.info.take_new_sessions() {
            self.0.lock().unwrap().insert(new.id, new.session);
        }
        ends
    }

    fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

fn server_with_questions() -> tercel::server::ServerConfigBuilder {
    server().without_tickets().session_store(Policy::Ask)
}

fn tls12() -> Arc<ClientConfig> {
    let store = Arc::new(ClientMemoryStore::default());
    client().versions(&[ProtocolVersion::TLS1_2]).session_store(store).build().unwrap()
}

/// An application that stores a client's sessions, and learns of new ones through its store.
#[derive(Default)]
struct ClientSessions(Mutex<HashMap<ClientSessionKey, Vec<Vec<u8>>>>);

impl ClientSessionStore for ClientSessions {
    fn put(&self, key: &ClientSessionKey, session: Vec<u8>, _: UnixTime) {
        self.0.lock().unwrap().entry(key.clone()).or_default().push(session);
    }

    fn take(&self, _: &ClientSessionKey, _: UnixTime) -> Option<Vec<u8>> {
        panic!("the application is asked instead")
    }

    fn remove(&self, key: &ClientSessionKey) {
        self.0.lock().unwrap().remove(key);
    }
}

impl ClientSessions {
    /// Connects twice. Returns whether the second connection was resumed, and the keys for which
    /// the client asked.
    fn connect(self: &Arc<Self>, version: ProtocolVersion, answer: Answered) -> (bool, Vec<Key>) {
        let builder = client().versions(&[version]).session_context(b"clients of this test");
        let client = builder.session_store(self.clone()).ask_for_session(true).build().unwrap();
        let server = server().build().unwrap();
        let (mut asked, mut resumed) = (Vec::new(), Vec::new());
        for _ in 0..2 {
            let pair = Pair::new(&client, &server, NAME).answering(|side, question| {
                let Question::FindClientSession(question) = question else { panic!("{side:?}") };
                let key = question.key();
                let name = key.server_name().to_str().into_owned();
                asked.push((name, key.port(), *key.configuration()));
                let bytes = self.0.lock().unwrap().get_mut(key).and_then(Vec::pop);
                question.answer(bytes.and_then(|bytes| match answer {
                    Answered::Session => ClientSession::from_bytes(&bytes),
                    Answered::Nothing => None,
                }))
            });
            let mut ends = pair.connect().unwrap();
            ends.talk();
            resumed.push(ends.client.connection.info.resumed);
        }
        assert!(!resumed[0]);
        (resumed[1], asked)
    }
}

#[derive(Clone, Copy)]
enum Answered {
    Session,
    Nothing,
}

/// The name, port and configuration of a key.
type Key = (String, Option<u16>, [u8; 32]);

#[test]
fn a_client_asks_its_application_for_a_session() {
    for version in [ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2] {
        for (answer, expected) in [(Answered::Session, true), (Answered::Nothing, false)] {
            let sessions = Arc::new(ClientSessions::default());
            let (resumed, asked) = sessions.connect(version, answer);
            assert_eq!(resumed, expected, "{version:?}");
            assert_eq!(asked.len(), 2);
            assert_eq!((asked[0].0.as_str(), asked[0].1), (NAME, None));
            assert_eq!(asked[0], asked[1]);
            assert_ne!(asked[0].2, [0; 32]);
        }
    }
}

#[test]
fn a_client_does_not_offer_the_session_of_another_name() {
    let sessions = Arc::new(ClientSessions::default());
    assert!(sessions.connect(ProtocolVersion::TLS1_3, Answered::Session).0);
    let bytes = sessions.0.lock().unwrap().values_mut().next().unwrap().pop().unwrap();
    let builder = client().session_context(b"clients of this test");
    let client = builder.session_store(sessions).ask_for_session(true).build().unwrap();
    let server = server().build().unwrap();
    let offers = |name: &str| {
        let mut flights = Vec::new();
        let pair = Pair::new(&client, &server, name).tap_to_server(|flight| {
            flights.push(flight.clone());
        });
        // The certificate is not valid for another name.
        let connected = pair.answering(|_, question| match question {
            Question::FindClientSession(question) => {
                question.answer(ClientSession::from_bytes(&bytes))
            }
            other => panic!("{other:?}"),
        });
        assert_eq!(connected.connect().is_ok(), name == NAME);
        let hello = first_message(&flights[0]);
        ClientHello::parse(&hello).unwrap().extensions.pre_shared_key.is_some()
    };
    assert!(!offers("other.example"));
    assert!(offers(NAME));
}

/// A session is bound to the configuration of the handshake that created it, although the
/// application selects the answer: this one was created without verifying the server.
#[test]
fn a_client_does_not_offer_the_session_of_another_configuration() {
    let server = server().build().unwrap();
    for (port, other_port) in [(None, None), (None, Some(443)), (Some(443), Some(8443))] {
        let store = Arc::new(ClientMemoryStore::default());
        let connect = |config: &Arc<ClientConfig>, port: Option<u16>, key: &ClientSessionKey| {
            let mut asked = None;
            let pair = match port {
                None => Pair::new(config, &server, NAME),
                Some(port) => Pair::at(config, &server, NAME, port),
            };
            let ends = pair.answering(|_, question| match question {
                Question::FindClientSession(question) => {
                    asked = Some(question.key().clone());
                    question.answer(store.take_session(key, UnixTime::now()))
                }
                other => panic!("{other:?}"),
            });
            let mut ends = ends.connect().unwrap();
            ends.talk();
            (ends.client.connection.info.resumed, asked.unwrap())
        };
        let asking = |builder: ClientConfigBuilder| {
            builder.session_store(store.clone()).ask_for_session(true).build().unwrap()
        };
        let careless =
            asking(ClientConfig::builder().verifier(Policy::Here(Arc::new(AcceptAnyPeer))));
        let none = ClientSessionKey::new(NAME.try_into().unwrap(), None, [0; 32]);
        let (_, key) = connect(&careless, port, &none);
        assert!(connect(&careless, port, &key).0, "its own session");
        if port == other_port {
            assert!(!connect(&asking(client()), port, &key).0, "of another configuration");
        } else {
            assert!(!connect(&careless, other_port, &key).0, "of another port");
        }
    }
}

#[test]
fn early_data_is_sent_with_a_session_that_the_application_finds() {
    let store = Arc::new(ClientMemoryStore::default());
    let builder = client().session_store(store.clone()).ask_for_session(true);
    let client = builder.early_data(true).build().unwrap();
    let server = server().early_data(14336, guard()).build().unwrap();
    for resumed in [false, true] {
        let pair = Pair::new(&client, &server, NAME);
        let pair = pair.answering(|_, question| match question {
            Question::FindClientSession(question) => {
                question.answer(store.take_session(question.key(), UnixTime::now()))
            }
            other => panic!("{other:?}"),
        });
        let mut ends = pair.connect().unwrap();
        ends.talk();
        let expected = if resumed { EarlyData::Accepted } else { EarlyData::NotOffered };
        assert_eq!(ends.client.connection.info.early_data, expected);
    }
}

#[test]
fn a_client_without_a_store_asks_for_no_session() {
    let client = client().without_resumption().ask_for_session(true).build().unwrap();
    let pair = Pair::new(&client, &server().build().unwrap(), NAME);
    let ends = pair.answering(|_, question| panic!("{question:?}")).connect().unwrap();
    assert!(!ends.client.connection.info.resumed);
}

/// Makes this connection send a fatal alert.
fn abort(mut connection: Connection) {
    let alert = AlertDescription::INTERNAL_ERROR;
    connection.sender.abort(alert, &mut Vec::new()).unwrap();
}

#[test]
fn an_application_is_notified_which_session_to_discard() {
    let (external, client) = (ExternalStore::default(), tls12());
    let server = external.config();
    for resumed in [false, true] {
        let ends = external.connect(&client, &server);
        assert_eq!((ends.server.connection.info.resumed, external.len()), (false, 1));
        if resumed {
            let again = external.connect(&client, &server);
            assert!(again.server.connection.info.resumed);
            abort(again.server.connection);
        } else {
            abort(ends.server.connection);
        }
        assert_eq!(external.len(), 0);
    }
}

#[test]
fn an_end_without_alert_is_no_notification() {
    let (external, client) = (ExternalStore::default(), tls12());
    let server = external.config();
    for resumed in [false, true, true] {
        let mut ends = external.connect(&client, &server);
        assert_eq!(ends.server.connection.info.resumed, resumed);
        ends.server.connection.sender.close(&mut Vec::new()).unwrap();
        drop(ends);
        assert_eq!(external.len(), 1);
    }
}

#[test]
fn without_a_handler_an_aborted_session_is_still_resumed() {
    let (external, client) = (ExternalStore::default(), tls12());
    let server = server_with_questions().build().unwrap();
    abort(external.connect(&client, &server).server.connection);
    assert!(external.connect(&client, &server).server.connection.info.resumed);
}

#[test]
fn a_restored_server_discards_its_session_in_either_kind_of_store() {
    let (external, client) = (ExternalStore::default(), tls12());
    let store = Policy::Here(Arc::new(ServerMemoryStore::new(10)) as _);
    let here = server().without_tickets().session_store(store).build().unwrap();
    for server in [external.config(), here] {
        for resumed in [false, true] {
            let ends = external.connect(&client, &server);
            assert_eq!(ends.server.connection.info.resumed, resumed);
            let saved = ends.server.connection.save().unwrap();
            // The connection is restored again, because the session key must be part of the saved
            // bytes.
            let restored = Connection::restore_server(&saved, &server).unwrap();
            let restored = Connection::restore_server(&restored.save().unwrap(), &server).unwrap();
            if resumed {
                abort(restored);
            }
        }
        let after = external.connect(&client, &server);
        assert!(!after.server.connection.info.resumed);
        // A configuration without a store has no session to discard; this is not an error.
        let saved = after.server.connection.save().unwrap();
        let nowhere = self::server().without_tickets().build().unwrap();
        abort(Connection::restore_server(&saved, &nowhere).unwrap());
        abort(after.client.connection);
    }
}

#[test]
fn a_restored_client_discards_its_sessions() {
    let (external, client) = (ExternalStore::default(), tls12());
    let server = server_with_questions().build().unwrap();
    for resumed in [false, true] {
        let ends = external.connect(&client, &server);
        assert_eq!(ends.client.connection.info.resumed, resumed);
        let saved = ends.client.connection.save().unwrap();
        let restored = Connection::restore_client(&saved, &client).unwrap();
        if resumed {
            abort(restored);
        }
    }
    assert!(!external.connect(&client, &server).client.connection.info.resumed);
}

//! A server removes a session of TLS 1.2 if a handshake that resumes it ends with a fatal alert,
//! and the client has proved that it has the session's key. RFC 5246 7.2.2
//!
//! Clients without the key are tested in `tests/exchange/clients_without_key.rs`, established
//! connections in `tests/exchange/sessions_after_alerts.rs`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use pki_types::UnixTime;
use tercel_wire::{ContentType, HandshakeType, ProtocolVersion};

use super::cases::{credential, name};
use super::scripted_peer::{Outcome, Outgoing, ScriptedPeer};
use crate::auth::server_identity::ServerIdentity;
use crate::auth::verifier::AcceptAnyPeer;
use crate::config::client::ClientConfig;
use crate::config::server::{ServerConfig, ServerConfigBuilder};
use crate::error::{Error, PeerError};
use crate::handshake::Handshake;
use crate::handshake::question::{Answer, Question};
use crate::handshake::task::Task;
use crate::policy::Policy;
use crate::resumption::server_memory_store::ServerMemoryStore;
use crate::resumption::session::client_store::{ClientSessionKey, ClientSessionStore};
use crate::resumption::session::store::ServerSessionStore;

/// A client's store that keeps its session, also after a fatal alert.
#[derive(Default)]
struct Keeps(Mutex<Option<Vec<u8>>>);

impl ClientSessionStore for Keeps {
    fn put(&self, _: &ClientSessionKey, session: Vec<u8>, _: UnixTime) {
        *self.0.lock().unwrap() = Some(session);
    }

    fn take(&self, _: &ClientSessionKey, _: UnixTime) -> Option<Vec<u8>> {
        self.0.lock().unwrap().clone()
    }

    fn remove(&self, _: &ClientSessionKey) {}
}

/// A server's store of bytes. The sessions of a `ServerMemoryStore` are values.
struct Bytes(ServerMemoryStore);

impl ServerSessionStore for Bytes {
    fn put(&self, id: &[u8], session: Vec<u8>, expires: UnixTime) {
        self.0.put(id, session, expires);
    }

    fn take(&self, id: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.0.take(id, now)
    }

    fn get(&self, id: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.0.get(id, now)
    }

    fn remove(&self, id: &[u8]) {
        self.0.remove(id);
    }
}

/// Where a server keeps its sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kept {
    Values,
    Bytes,
    BySessionId,
    /// By the application, which is notified by an object.
    Notified,
    /// By the application, which asks the handshake.
    Asked,
    /// As [`Self::Asked`], besides tickets.
    AskedBySessionId,
}

impl Kept {
    const ALL: [Self; 6] = [
        Self::Values,
        Self::Bytes,
        Self::BySessionId,
        Self::Notified,
        Self::Asked,
        Self::AskedBySessionId,
    ];

    fn is_asked(self) -> bool {
        matches!(self, Self::Asked | Self::AskedBySessionId)
    }
}

/// The sessions of an application.
type Sessions = Arc<Mutex<HashMap<Vec<u8>, Vec<u8>>>>;

/// A server and a client that has a session of it.
struct Ends {
    server: Arc<ServerConfig>,
    client: Arc<ClientConfig>,
    sessions: Sessions,
    kept: Kept,
}

impl Ends {
    fn new(kept: Kept) -> Self {
        let sessions = Sessions::default();
        let forgets = Arc::clone(&sessions);
        let forget = move |id: &[u8; 32]| drop(forgets.lock().unwrap().remove(&id[..]));
        let stored = |builder: ServerConfigBuilder, store: Policy<dyn ServerSessionStore>| {
            builder.without_tickets().session_store(store)
        };
        let builder = ServerConfig::builder().credential(credential());
        let builder = match kept {
            Kept::Values => stored(builder, Policy::Here(Arc::new(ServerMemoryStore::new(9)))),
            Kept::Bytes => {
                stored(builder, Policy::Here(Arc::new(Bytes(ServerMemoryStore::new(9)))))
            }
            Kept::BySessionId => {
                builder.session_ids(Policy::Here(Arc::new(ServerMemoryStore::new(9))))
            }
            Kept::Notified => stored(builder, Policy::Ask).forget_session(Arc::new(forget)),
            Kept::Asked => stored(builder, Policy::Ask),
            Kept::AskedBySessionId => builder.session_ids(Policy::Ask),
        };
        let client = ClientConfig::builder()
            .versions(&[ProtocolVersion::TLS1_2])
            .verifier(Policy::Here(Arc::new(AcceptAnyPeer)))
            .session_store(Arc::new(Keeps::default()))
            .tickets_tls12(false)
            .build()
            .unwrap();
        let ends = Self { server: builder.build().unwrap(), client, sessions, kept };
        assert!(!ends.resumes(), "the first connection");
        ends
    }

    /// Connects the client, whose records this script changes. Returns also whether the server's
    /// handshake has a session to forget.
    fn connect(&self, script: impl FnMut(usize, Outgoing) -> Vec<Outgoing>) -> (Outcome, bool) {
        let identity = ServerIdentity::new(name(), None);
        let client = Task::client(Arc::clone(&self.client), identity, Default::default());
        let mut peer = ScriptedPeer::new(client, Box::new(script));
        let mut server = Handshake::server(Arc::clone(&self.server));
        let mut outcome = peer.run_with_answers(&mut server, |question| self.answer(question));
        if let Outcome::Connected(connection) = &mut outcome {
            let new = connection.info.take_new_sessions();
            self.sessions.lock().unwrap().extend(new.into_iter().map(|new| (new.id, new.session)));
        }
        let forgotten = server.session_to_forget();
        if let Some(id) = forgotten.filter(|_| self.kept.is_asked()) {
            assert!(self.sessions.lock().unwrap().remove(&id[..]).is_some(), "{:?}", self.kept);
        }
        (outcome, forgotten.is_some())
    }

    fn answer(&self, question: &Question) -> Answer {
        let Question::FindSession(question) = question else { panic!("{question:?}") };
        question.answer(self.sessions.lock().unwrap().get(question.identity()).cloned())
    }

    /// Whether the client's session is resumed.
    fn resumes(&self) -> bool {
        match self.connect(|_, due| vec![due]) {
            (Outcome::Connected(connection), false) => connection.info.resumed,
            other => panic!("{other:?}"),
        }
    }
}

/// The record that a client sends in place of its Finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    WrongContent,
    TooShort,
    /// The beginning of another message follows in the same record.
    More,
    /// Another message.
    Other,
    Alert,
    ApplicationData,
    /// A record that cannot be opened.
    Damaged,
}

impl Last {
    fn apply(self, finished: &[u8]) -> Vec<Outgoing> {
        let mut message = finished.to_vec();
        let sealed =
            |content: &[u8]| vec![Outgoing::Sealed(ContentType::HANDSHAKE, content.to_vec())];
        match self {
            Self::WrongContent => {
                message[4] ^= 1;
                sealed(&message)
            }
            Self::TooShort => sealed(&[HandshakeType::FINISHED.0, 0, 0, 1, 7]),
            Self::More => sealed(&[&message[..], &[HandshakeType::CLIENT_HELLO.0]].concat()),
            Self::Other => sealed(&[HandshakeType::CLIENT_KEY_EXCHANGE.0, 0, 0, 1, 7]),
            Self::Alert => vec![Outgoing::Sealed(ContentType::ALERT, vec![2, 40])],
            Self::ApplicationData => {
                vec![Outgoing::Sealed(ContentType::APPLICATION_DATA, b"data".to_vec())]
            }
            Self::Damaged => vec![Outgoing::Corrupted(ContentType::HANDSHAKE, message, 20)],
        }
    }

    fn error(self) -> Error {
        let alert = tercel_wire::AlertDescription::HANDSHAKE_FAILURE;
        match self {
            Self::WrongContent => PeerError::BadFinished.into(),
            Self::TooShort => PeerError::wrong_finished(1, 12).into(),
            Self::More => PeerError::ExcessHandshakeData.into(),
            Self::Other => PeerError::UnexpectedMessage.into(),
            Self::Alert => Error::AlertReceived(alert),
            Self::ApplicationData => PeerError::UnexpectedRecord.into(),
            Self::Damaged => PeerError::BadRecordMac.into(),
        }
    }

    /// Whether the client has the session's key.
    fn proves_key(self) -> bool {
        self != Self::Damaged
    }
}

const ALL: [Last; 7] = [
    Last::WrongContent,
    Last::TooShort,
    Last::More,
    Last::Other,
    Last::Alert,
    Last::ApplicationData,
    Last::Damaged,
];

#[test]
fn a_session_is_removed_if_its_resumption_fails_after_the_client_has_proved_its_key() {
    for kept in Kept::ALL {
        for last in ALL {
            let ends = Ends::new(kept);
            assert!(ends.resumes(), "{kept:?}");
            let (outcome, forgets) = ends.connect(|_, due| match &due {
                Outgoing::Sealed(ContentType::HANDSHAKE, content)
                    if due.kind() == Some(HandshakeType::FINISHED) =>
                {
                    last.apply(content)
                }
                _ => vec![due],
            });
            let Outcome::Failed(error) = outcome else { panic!("{kept:?} {last:?} {outcome:?}") };
            assert_eq!(error, last.error(), "{kept:?} {last:?}");
            assert_eq!(forgets, last.proves_key(), "{kept:?} {last:?}");
            assert_eq!(ends.resumes(), !last.proves_key(), "{kept:?} {last:?}");
        }
    }
}

//! Clients that have seen a session ID or a ticket on the network, and do not have its key, cannot
//! remove the session of its owner, or use up its early data. RFC 9846 8.1, RFC 5246 7.2.2

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tercel::pki_types::UnixTime;
use tercel::server::ServerConfigBuilder;
use tercel::session::{ClientSessionKey, ClientSessionStore, ServerMemoryStore};
use tercel::wire::ProtocolVersion;
use tercel::{
    Answer, ClientConfig, EarlyData, Handshake, Next, Policy, Question, ReceiveBuffer, ServerConfig,
};

use crate::early_data::guard;
use crate::fixtures::{NAME, client, server};

const VERSIONS: [ProtocolVersion; 2] = [ProtocolVersion::TLS1_2, ProtocolVersion::TLS1_3];

/// A store that keeps the last session, even after its use or an alert.
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

fn owner(version: ProtocolVersion) -> Arc<ClientConfig> {
    let store = Arc::new(Keeps::default());
    client().versions(&[version]).session_store(store).early_data(true).build().unwrap()
}

/// An application that keeps sessions itself, and admits early data once.
#[derive(Default)]
struct Application {
    sessions: HashMap<Vec<u8>, Vec<u8>>,
    admitted: Vec<Vec<u8>>,
    asked: Vec<String>,
}

impl Application {
    fn answer(&mut self, question: &Question) -> Answer {
        self.asked.push(format!("{question:?}"));
        match question {
            Question::FindSession(question) => {
                question.answer(self.sessions.get(question.identity()).cloned())
            }
            Question::ClaimSession(question) => {
                question.answer(self.sessions.remove(question.identity()).is_some())
            }
            Question::AdmitEarlyData(question) => {
                let is_new = !self.admitted.iter().any(|known| known == question.unique());
                self.admitted.push(question.unique().to_vec());
                question.answer(is_new)
            }
            other => panic!("{other:?}"),
        }
    }

    /// Gives these bytes to a server, whatever it answers.
    fn receive(&mut self, config: &Arc<ServerConfig>, bytes: &[u8]) -> bool {
        let (mut server, mut input) = (Handshake::server(config.clone()), ReceiveBuffer::new());
        input.extend(bytes);
        loop {
            match server.advance(&mut input, &mut Vec::new()) {
                Ok(Next::Answer(question)) => server.answer(self.answer(&question)).unwrap(),
                Ok(Next::EarlyData(_)) => panic!("early data without the key"),
                Ok(Next::Receive) => return server.end_of_input().is_ok(),
                Ok(Next::Connected(_)) => return true,
                Ok(other) => panic!("{other:?}"),
                Err(_) => return false,
            }
        }
    }

    /// Connects the owner. Returns whether the session was resumed, and the outcome of early data.
    fn connect(
        &mut self,
        client: &Arc<ClientConfig>,
        server: &Arc<ServerConfig>,
    ) -> (bool, EarlyData) {
        let mut ends = [
            Handshake::client(client.clone(), NAME.try_into().unwrap()),
            Handshake::server(server.clone()),
        ];
        let mut inputs = [ReceiveBuffer::new(), ReceiveBuffer::new()];
        let mut connections = [None, None];
        for turn in 0..8 {
            let (at, mut out) = (turn % 2, Vec::new());
            while connections[at].is_none() {
                match ends[at].advance(&mut inputs[at], &mut out).unwrap() {
                    Next::Answer(question) => {
                        ends[at].answer(self.answer(&question)).unwrap();
                    }
                    Next::Connected(connection) => connections[at] = Some(connection),
                    Next::EarlyData(data) => assert_eq!(data, b"early"),
                    Next::Receive => break,
                    other => panic!("{other:?}"),
                }
            }
            if let (0, Some(sender)) = (turn, ends[at].early_sender()) {
                sender.seal_to(b"early", &mut out).unwrap();
            }
            if let Some(connection) = connections[at].as_mut().filter(|_| turn > 3) {
                connection.sender.seal_to(b"x", &mut out).unwrap();
            }
            inputs[1 - at].extend(&out);
        }
        let [Some(mut client), Some(mut server)] = connections else { panic!("not connected") };
        // Tickets arrive with the first data.
        while matches!(client.receiver.open(&mut inputs[0]), Ok(tercel::Opened::Data(_))) {}
        let new = server.info.take_new_sessions();
        self.sessions.extend(new.into_iter().map(|new| (new.id, new.session)));
        assert_eq!(client.info.resumed, server.info.resumed);
        (server.info.resumed, server.info.early_data)
    }
}

/// The ClientHello with which the owner offers its session.
fn hello_of(client: &Arc<ClientConfig>) -> Vec<u8> {
    let (mut hello, name) = (Vec::new(), NAME.try_into().unwrap());
    let mut client = Handshake::client(client.clone(), name);
    client.advance(&mut ReceiveBuffer::new(), &mut hello).unwrap();
    let length = usize::from(u16::from_be_bytes([hello[3], hello[4]]));
    hello.truncate(5 + length);
    hello
}

/// What clients send that have seen this ClientHello and do not have the key.
fn attempts(hello: &[u8], version: ProtocolVersion) -> Vec<Vec<u8>> {
    if version == ProtocolVersion::TLS1_3 {
        // The binder is at the end.
        let mut wrong = hello.to_vec();
        *wrong.last_mut().unwrap() ^= 1;
        return vec![wrong];
    }
    let finished = [&[20, 3, 3, 0, 1, 1, 22, 3, 3, 0, 40][..], &[7; 40]].concat();
    let unexpected = [&[22, 3, 3, 0, 16, 20, 0, 0, 12][..], &[7; 12]].concat();
    let alert = [21, 3, 3, 0, 2, 2, 40];
    [&finished[..], &unexpected, &alert, &[]].map(|then| [hello, then].concat()).to_vec()
}

/// Where a server keeps sessions.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kept {
    Here,
    Asked,
    InTickets,
    BySessionId,
}

impl Kept {
    fn apply(self, builder: ServerConfigBuilder) -> ServerConfigBuilder {
        let store = || Arc::new(ServerMemoryStore::new(100));
        match self {
            Self::Here => builder.without_tickets().session_store(Policy::Here(store())),
            Self::Asked => builder.without_tickets().session_store(Policy::Ask),
            Self::InTickets => builder,
            Self::BySessionId => builder.session_ids(Policy::Here(store())),
        }
    }
}

#[test]
fn a_client_without_key_removes_no_session_and_uses_up_no_early_data() {
    for kept in [Kept::Here, Kept::Asked, Kept::InTickets, Kept::BySessionId] {
        for version in VERSIONS {
            for asks in [false, true] {
                let what = format!("{kept:?} {version} {asks}");
                let guard = if asks { Policy::Ask } else { guard() };
                let forgets = Arc::new(|_: &[u8; 32]| panic!("forgotten"));
                let server = kept.apply(server()).forget_session(forgets);
                let server = server.early_data(1000, guard).build().unwrap();
                let mut owner = owner(version);
                if kept == Kept::BySessionId {
                    let builder = client().tickets_tls12(false).early_data(true);
                    let store = Arc::new(Keeps::default());
                    owner = builder.versions(&[version]).session_store(store).build().unwrap();
                }
                let mut application = Application::default();
                assert!(!application.connect(&owner, &server).0, "{what}");
                for attempt in attempts(&hello_of(&owner), version) {
                    assert!(!application.receive(&server, &attempt), "{what}");
                }
                // Only clients with the key claim anything.
                assert!(application.asked.iter().all(|asked| asked == "FindSession"), "{what}");
                let (resumed, early) = application.connect(&owner, &server);
                assert!(resumed, "{what}: the session was removed");
                let early_data = version == ProtocolVersion::TLS1_3;
                let expected = if early_data { EarlyData::Accepted } else { EarlyData::NotOffered };
                assert_eq!(early, expected, "{what}");
                let claimed = application.asked.iter().filter(|asked| *asked == "ClaimSession");
                let claims = kept == Kept::Asked && early_data;
                assert_eq!(claimed.count(), usize::from(claims), "{what}");
            }
        }
    }
}

#[test]
fn a_session_for_single_use_is_resumed_by_one_connection_only() {
    for kept in [Kept::Here, Kept::Asked] {
        let config = kept.apply(server()).build().unwrap();
        let owner = owner(ProtocolVersion::TLS1_3);
        let mut application = Application::default();
        assert!(!application.connect(&owner, &config).0);
        // A client with the key that stops in the handshake uses the session up.
        application.receive(&config, &hello_of(&owner));
        assert!(!application.connect(&owner, &config).0, "{kept:?}");
        assert!(application.connect(&owner, &config).0, "{kept:?}: a new session");
    }
}

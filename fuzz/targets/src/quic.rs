//! Two sides of a connection over QUIC, with an attacker who changes CRYPTO data.
//!
//! The attacker has no keys, but CRYPTO data of every level is changed here as if it had been
//! decrypted. So each side receives arbitrary data at each level, before and after the handshake.
//!
//! An input begins with the number of a configuration. Steps follow: the first byte of a step
//! selects what happens, see [`Attack::step`]. At the end, all data is delivered.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use pki_types::UnixTime;
use tercel::quic::{
    Connection, DirectionKeys, Ended, Handshake, KeyUpdates, Keys, Level, Next, PacketKey, Version,
};
use tercel::session::{AdmitEarlyData, ClientSessionKey, ClientSessionStore};
use tercel::wire::{CipherSuite, ProtocolVersion};
use tercel::{ClientConfig, Policy, Question, ServerConfig, ServerName, Side};
use tercel_crypto::deterministic::with_seed;

use crate::configs::{self, GROUPS, client_builder, server_builder};
use crate::material;
use crate::resumption::{self, FixedGuard, Storage};
use crate::script::Script;

/// The number of pairs of configurations.
const PAIRS: u8 = 6;

/// The limits of questions and of sent bytes, for one side of a connection.
const MAX_QUESTIONS: usize = 16;
const MAX_SENT: usize = 32 << 10;

/// CRYPTO data of a level.
type Data = (Level, Vec<u8>);

/// Two sides over QUIC with an attacker between them. Returns whether both are connected.
pub fn quic(input: &[u8]) -> bool {
    let mut script = Script::new(input);
    let choice = script.byte().unwrap_or_default();
    let (client, server) = pair(choice % PAIRS);
    let version = if choice & 0x80 == 0 { Version::V1 } else { Version::V2 };
    let mut attack = Attack {
        client: Party::new(Side::Client, &client, &server, version),
        server: Party::new(Side::Server, &client, &server, version),
    };
    attack.client.advance();
    while let Some(action) = script.byte() {
        attack.step(action, &mut script);
    }
    while attack.deliver(true, usize::MAX) | attack.deliver(false, usize::MAX) {}
    attack.check()
}

/// Inputs that reach each part of a connection.
pub fn quic_seeds() -> Vec<(String, Vec<u8>)> {
    let mut seeds: Vec<_> =
        (0..PAIRS).map(|choice| (format!("valid-{choice}"), vec![choice])).collect();
    seeds.push(("valid-version-2".into(), vec![0x80]));
    // This seed is long, because a fuzzer limits the length of inputs to that of the longest seed.
    seeds.push(("valid-long".into(), [&[4][..], &[3, 2].repeat(200)].concat()));
    for to_server in [0, 1] {
        let whole = 2 | to_server;
        seeds.push((format!("valid-pieces-{to_server}"), vec![0, to_server, 1, to_server, 9]));
        // Arbitrary messages at each level, before and after the handshake.
        for level in 0..3 {
            for message in [[24, 0, 0, 1, 0], [13, 0, 0, 1, 0], [4, 0, 0, 1, 0]] {
                let inject = [&[6 | to_server, level, 5][..], &message].concat();
                let after = [&[3, 2, 3, 2, 3, 2, 3, 2], &inject[..]].concat();
                let name = format!("inject-{to_server}-{level}-{}", message[0]);
                seeds.push((format!("{name}-early"), [&[4], &inject[..]].concat()));
                seeds.push((format!("{name}-late"), [&[4], &after[..]].concat()));
            }
        }
        seeds.push((format!("moved-{to_server}"), vec![0, whole, 8 | to_server, 2, whole]));
        seeds.push((format!("changed-{to_server}"), vec![4, 4 | to_server, 0, 50, 1, whole]));
    }
    seeds
}

struct Attack {
    client: Party,
    server: Party,
}

impl Attack {
    /// Performs one action. The lowest bit of `action` selects the direction: to the server if it
    /// is set.
    fn step(&mut self, action: u8, script: &mut Script<'_>) {
        let to_server = action & 1 == 1;
        let byte = |script: &mut Script<'_>| script.byte().unwrap_or_default();
        match action >> 1 & 7 {
            // Delivers some bytes, or all bytes of the next data.
            0 => {
                let length = usize::from(byte(script));
                self.deliver(to_server, length);
            }
            1 => {
                self.deliver(to_server, usize::MAX);
            }
            // Changes a byte.
            2 => {
                let at = script.number().unwrap_or_default();
                let mask = byte(script);
                if let Some((_, data)) = self.waiting(to_server).front_mut() {
                    let length = data.len().max(1);
                    data.get_mut(at % length).into_iter().for_each(|byte| *byte ^= mask);
                }
            }
            // Sends arbitrary bytes.
            3 => {
                let level = level(byte(script));
                let length = usize::from(byte(script));
                let bytes = script.take(length).to_vec();
                self.waiting(to_server).push_front((level, bytes));
                self.deliver(to_server, usize::MAX);
            }
            // Moves data to another level.
            4 => {
                let to = level(byte(script));
                self.waiting(to_server).front_mut().into_iter().for_each(|(at, _)| *at = to);
            }
            // Loses data, repeats it, or exchanges it with the next.
            5 => drop(self.waiting(to_server).pop_front()),
            6 => {
                let waiting = self.waiting(to_server);
                if let (Some(data), true) = (waiting.front().cloned(), waiting.len() < 16) {
                    waiting.push_front(data);
                }
            }
            _ => {
                let waiting = self.waiting(to_server);
                if waiting.len() > 1 {
                    waiting.swap(0, 1);
                }
            }
        }
    }

    /// The data that is on its way to a side.
    fn waiting(&mut self, to_server: bool) -> &mut VecDeque<Data> {
        if to_server { &mut self.client.sent } else { &mut self.server.sent }
    }

    /// Delivers at most this number of bytes. Returns whether there was any data.
    fn deliver(&mut self, to_server: bool, most: usize) -> bool {
        let (from, to) = match to_server {
            true => (&mut self.client, &mut self.server),
            false => (&mut self.server, &mut self.client),
        };
        let Some((level, data)) = from.sent.front_mut() else { return false };
        let (level, length) = (*level, data.len().min(most));
        let piece: Vec<u8> = data.drain(..length).collect();
        if data.is_empty() {
            from.sent.pop_front();
        }
        to.receive(level, &piece);
        true
    }

    /// Checks what both sides agree on. If both have completed the handshake, neither was deceived:
    /// keys, parameters and exporters are equal.
    fn check(mut self) -> bool {
        self.client.check_events();
        self.server.check_events();
        let (Some(ours), Some(theirs)) = (&self.client.connection, &self.server.connection) else {
            return false;
        };
        assert_eq!(ours.info.alpn, theirs.info.alpn);
        assert_eq!(ours.info.resumed, theirs.info.resumed);
        assert_eq!(ours.peer_parameters, parameters(Side::Server));
        assert_eq!(theirs.peer_parameters, parameters(Side::Client));
        let exported = [ours, theirs].map(|connection| {
            let mut out = [0; 32];
            connection.exporter.export(b"label", None, &mut out).expect("an exporter");
            out
        });
        assert_eq!(exported[0], exported[1]);
        let (client, server) = (&mut self.client, &mut self.server);
        check_keys(client.handshake_keys.as_deref(), server.handshake_keys.as_deref());
        check_keys(client.application_keys.as_deref(), server.application_keys.as_deref());
        if let (Some(ours), Some(theirs)) = (&mut client.updates, &mut server.updates) {
            let (ours, theirs) = (ours.next_keys(), theirs.next_keys());
            let (ours, theirs) = (ours.expect("keys"), theirs.expect("keys"));
            assert!(belong_together(&ours.local, &theirs.remote));
            assert!(belong_together(&theirs.local, &ours.remote));
        }
        if let (Some(ours), Some(theirs)) = (&client.early_keys, &server.early_keys) {
            assert!(!client.early_data_rejected);
            assert!(belong_together(&ours.packet, &theirs.packet));
        }
        client.error.is_none() && server.error.is_none()
    }
}

fn level(byte: u8) -> Level {
    match byte % 3 {
        0 => Level::Initial,
        1 => Level::Handshake,
        _ => Level::Application,
    }
}

/// One side: its handshake, then its connection.
struct Party {
    side: Side,
    handshake: Handshake,
    connection: Option<Box<Connection>>,
    error: Option<Ended>,
    /// The data that was sent and is not delivered yet.
    sent: VecDeque<Data>,
    sent_length: usize,
    last_level: Level,
    early_keys: Option<Box<DirectionKeys>>,
    early_data_rejected: bool,
    handshake_keys: Option<Box<Keys>>,
    application_keys: Option<Box<Keys>>,
    updates: Option<KeyUpdates>,
}

impl Party {
    fn new(
        side: Side,
        client: &Arc<ClientConfig>,
        server: &Arc<ServerConfig>,
        version: Version,
    ) -> Self {
        let parameters = parameters(side).to_vec();
        let handshake = with_seed(seed(side), || match side {
            Side::Client => {
                let name = ServerName::try_from("localhost").expect("a name");
                Handshake::client(client, name, version, parameters)
            }
            Side::Server => Handshake::server(server, version, parameters),
        });
        Self {
            side,
            handshake: handshake.expect("a configuration for QUIC"),
            connection: None,
            error: None,
            sent: VecDeque::new(),
            sent_length: 0,
            last_level: Level::Initial,
            early_keys: None,
            early_data_rejected: false,
            handshake_keys: None,
            application_keys: None,
            updates: None,
        }
    }

    fn receive(&mut self, level: Level, data: &[u8]) {
        if self.error.is_some() {
            return;
        }
        let received = match &mut self.connection {
            // The transport decrypts the data of this level only.
            Some(_) if level != Level::Application => return,
            Some(connection) => connection.incoming.receive(data),
            None => {
                let expected = self.handshake.read_level();
                let received = self.handshake.receive(level, data);
                assert!(received.is_err() || level == expected || data.is_empty());
                received
            }
        };
        match received {
            Ok(()) => self.advance(),
            Err(ended) => self.fail(ended),
        }
    }

    /// Continues until more data is needed.
    fn advance(&mut self) {
        if self.connection.is_some() {
            return;
        }
        let mut questions = 0;
        loop {
            let next = with_seed(seed(self.side), || self.handshake.advance());
            match next {
                Ok(Next::Receive) => return,
                Ok(Next::Answer(question)) => {
                    questions += 1;
                    assert!(questions < MAX_QUESTIONS, "too many questions");
                    let answer = match &question {
                        Question::AdmitEarlyData(question) => question.answer(true),
                        other => configs::answer(other),
                    };
                    self.handshake.answer(answer).expect("an answer of the right kind");
                }
                Ok(Next::Connected(connection)) => {
                    self.connection = Some(connection);
                    return;
                }
                Ok(event) => self.event(event),
                Err(ended) => return self.fail(ended),
            }
        }
    }

    fn event(&mut self, event: Next) {
        match event {
            Next::Send(level, data) => {
                assert!(level >= self.last_level, "the level of sent data decreases");
                assert!(!data.is_empty());
                self.last_level = level;
                self.sent_length += data.len();
                assert!(self.sent_length < MAX_SENT, "{} bytes", self.sent_length);
                self.sent.push_back((level, data));
            }
            Next::EarlyKeys(keys) => {
                assert!(self.early_keys.is_none());
                assert!(self.handshake.peer_parameters().is_some());
                self.early_keys = Some(keys);
            }
            Next::EarlyDataRejected => {
                assert!(self.side == Side::Client && self.early_keys.is_some());
                assert!(!self.early_data_rejected);
                self.early_data_rejected = true;
            }
            Next::HandshakeKeys(keys) => {
                assert!(self.handshake_keys.is_none());
                self.handshake_keys = Some(keys);
            }
            Next::ApplicationKeys(keys, updates) => {
                assert!(self.application_keys.is_none() && self.handshake_keys.is_some());
                self.application_keys = Some(keys);
                self.updates = Some(updates);
            }
            other => panic!("an unknown event: {other:?}"),
        }
    }

    /// An error has a code of the transport, and nothing is possible after it.
    fn fail(&mut self, ended: Ended) {
        assert!(matches!(ended.code, 0x0a | 0x0d | 0x0100..=0x01ff), "{ended:?}");
        match &mut self.connection {
            Some(connection) => {
                assert_eq!(connection.incoming.receive(&[]), Err(ended));
            }
            None => {
                let data = self.handshake.receive(Level::Initial, &[1]);
                assert!(data.is_err() && self.handshake.advance().is_err());
            }
        }
        self.error = Some(ended);
        self.sent.clear();
    }

    fn check_events(&self) {
        if let Some(connection) = &self.connection {
            assert!(self.application_keys.is_some());
            let info = &connection.info;
            assert_eq!(info.version, ProtocolVersion::TLS1_3);
            assert!(!info.post_handshake_auth);
        }
    }
}

/// Randomness restarts with the same seed at every call, as for handshakes over TCP.
fn seed(side: Side) -> u64 {
    match side {
        Side::Client => 1,
        Side::Server => 2,
    }
}

fn parameters(side: Side) -> &'static [u8] {
    match side {
        Side::Client => b"of the client",
        Side::Server => b"of the server",
    }
}

fn belong_together(local: &PacketKey, remote: &PacketKey) -> bool {
    let mut packet = [7; 6 + PacketKey::TAG_LEN];
    local.seal(1, b"header", &mut packet).expect("room for the tag");
    remote.open(1, b"header", &mut packet).is_ok()
}

fn check_keys(ours: Option<&Keys>, theirs: Option<&Keys>) {
    let (Some(ours), Some(theirs)) = (ours, theirs) else { panic!("keys are missing") };
    for (local, remote) in [(&ours.local, &theirs.remote), (&theirs.local, &ours.remote)] {
        assert!(belong_together(&local.packet, &remote.packet));
        assert_eq!(local.header.mask(&[3; 16]), remote.header.mask(&[3; 16]));
    }
}

/// A client and a server: plain ones, with a retry, with client certificates, with questions; and
/// two that resume with early data, which is accepted or rejected.
fn pair(choice: u8) -> (Arc<ClientConfig>, Arc<ServerConfig>) {
    static ALL: OnceLock<Vec<(Arc<ClientConfig>, Arc<ServerConfig>)>> = OnceLock::new();
    ALL.get_or_init(pairs)[usize::from(choice)].clone()
}

fn pairs() -> Vec<(Arc<ClientConfig>, Arc<ServerConfig>)> {
    use tercel::server::ClientAuth;
    let client = || {
        let builder = client_builder().roots(material::roots()).without_resumption();
        builder.groups(&GROUPS[1..])
    };
    let server = || server_builder().credential(material::server()).groups(&GROUPS[1..]);
    let resuming = |admitted| {
        let guard = Policy::Here(Arc::new(FixedGuard(admitted)) as Arc<dyn AdmitEarlyData>);
        let builder = resumption::resuming(server(), Storage::Sealed).early_data(1, guard);
        builder.quic_early_data_context(b"fuzz").build().expect("a server")
    };
    let with_session = || {
        let builder = client_builder().roots(material::roots()).groups(&GROUPS[1..]);
        let builder = builder.session_context(b"fuzz").quic_early_data_context(b"fuzz");
        builder.early_data(true).session_store(Arc::new(Recorded(session())))
    };
    [
        (client(), server().build()),
        (client(), server().groups(&GROUPS[2..]).build()),
        (
            client().credential(material::client()),
            server().client_auth(ClientAuth::Required, material::roots()).build(),
        ),
        (
            client().verifier(Policy::Ask).credentials(Policy::Ask),
            server_builder()
                .credentials(Policy::Ask)
                .groups(&GROUPS[1..])
                .client_verifier(ClientAuth::Required, Policy::Ask)
                .build(),
        ),
        (with_session(), Ok(resuming(true))),
        (with_session(), Ok(resuming(false))),
    ]
    .map(|(client, server)| (client.build().expect("a client"), server.expect("a server")))
    .into()
}

/// The 1-RTT keys of the client and of the server, of a connection without an attacker.
pub(crate) fn application_keys(
    version: Version,
    suite: CipherSuite,
) -> [(Box<Keys>, KeyUpdates); 2] {
    let client = client_builder().roots(material::roots()).without_resumption();
    let client = client.cipher_suites(&[suite]).build().expect("a client");
    let server = server_builder().credential(material::server()).cipher_suites(&[suite]);
    let server = server.build().expect("a server");
    let mut attack = Attack {
        client: Party::new(Side::Client, &client, &server, version),
        server: Party::new(Side::Server, &client, &server, version),
    };
    attack.client.advance();
    while attack.deliver(true, usize::MAX) | attack.deliver(false, usize::MAX) {}
    [attack.client, attack.server].map(|party| {
        let keys = party.application_keys.expect("a connection without an attacker");
        (keys, party.updates.expect("keys of later phases"))
    })
}

/// A store that returns one session, and stores none.
struct Recorded(Vec<u8>);

impl ClientSessionStore for Recorded {
    fn put(&self, _: &ClientSessionKey, _: Vec<u8>, _: UnixTime) {}

    fn take(&self, _: &ClientSessionKey, _: UnixTime) -> Option<Vec<u8>> {
        (!self.0.is_empty()).then(|| self.0.clone())
    }
}

/// A store that records the last session.
#[derive(Default)]
struct Recorder(std::sync::Mutex<Vec<u8>>);

impl ClientSessionStore for Recorder {
    fn put(&self, _: &ClientSessionKey, session: Vec<u8>, _: UnixTime) {
        *self.0.lock().expect("no panic") = session;
    }

    fn take(&self, _: &ClientSessionKey, _: UnixTime) -> Option<Vec<u8>> {
        None
    }
}

/// A session of a client that may send early data, from a connection without an attacker.
fn session() -> Vec<u8> {
    let recorder = Arc::new(Recorder::default());
    let client = client_builder().roots(material::roots()).groups(&GROUPS[1..]);
    let client = client.session_context(b"fuzz").quic_early_data_context(b"fuzz");
    let client = client.session_store(recorder.clone()).build().expect("a client");
    let guard = Policy::Here(Arc::new(FixedGuard(true)) as Arc<dyn AdmitEarlyData>);
    let server = server_builder().credential(material::server()).groups(&GROUPS[1..]);
    let server = resumption::resuming(server, Storage::Sealed).early_data(1, guard);
    let server = server.quic_early_data_context(b"fuzz").build().expect("a server");
    let mut attack = Attack {
        client: Party::new(Side::Client, &client, &server, Version::V1),
        server: Party::new(Side::Server, &client, &server, Version::V1),
    };
    attack.client.advance();
    while attack.deliver(true, usize::MAX) | attack.deliver(false, usize::MAX) {}
    assert!(attack.check(), "a connection without an attacker");
    let session = recorder.0.lock().expect("no panic").clone();
    assert!(!session.is_empty());
    session
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The configurations that resume send early data, and one server accepts it.
    #[test]
    fn early_data_is_part_of_the_inputs() {
        for (choice, accepted) in [(4, true), (5, false)] {
            let (client, server) = pair(choice);
            let mut attack = Attack {
                client: Party::new(Side::Client, &client, &server, Version::V1),
                server: Party::new(Side::Server, &client, &server, Version::V1),
            };
            attack.client.advance();
            while attack.deliver(true, usize::MAX) | attack.deliver(false, usize::MAX) {}
            assert!(attack.client.early_keys.is_some());
            assert_eq!(attack.server.early_keys.is_some(), accepted);
            assert_eq!(attack.client.early_data_rejected, !accepted);
            assert!(attack.check());
        }
    }
}

//! Tests with a server that renews TLS 1.2 tickets when it resumes a session. The tests check which
//! session a client stores after such a resumption, with a new ticket and without.
//!
//! The library's server renews a ticket only if the sealer wants that, so most tests implement the
//! server themselves, using the session's secret.

use core::time::Duration;
use std::sync::{Arc, Mutex};

use pki_types::{PrivateKeyDer, UnixTime};
use tercel_wire::{
    ClientHello, CompressionMethod, ContentType, Finished, HandshakeMessage, NewSessionTicketTls12,
    ProtocolName, ProtocolVersion, ServerHello, ServerHelloExtensions,
};

use super::misbehaving_peer::{credential, name};
use crate::auth::credential::Credential;
use crate::auth::verifier::AcceptAnyPeer;
use crate::config::clock::Clock;
use crate::connection::Connection;
use crate::connection::buffer::ReceiveBuffer;
use crate::error::{Error, PeerError};
use crate::handshake::client_session::LIFETIME_OF_ID;
use crate::handshake::transcript::Transcript;
use crate::handshake::{Handshake, Next};
use crate::keys::suite;
use crate::keys::tls12::{MainSecret12, Randoms};
use crate::policy::Policy;
use crate::record::limits;
use crate::record::sealer::Sealer;
use crate::resumption::client_memory_store::ClientMemoryStore;
use crate::resumption::session::Session;
use crate::resumption::session::client_session::ClientSession;
use crate::resumption::session::client_store::{ClientSessionKey, ClientSessionStore};
use crate::resumption::tickets::TicketSealer;
use crate::resumption::tickets::rotating::RotatingTickets;
use crate::{ClientConfig, ServerConfig};

const BEGIN: u64 = 1_800_000_000;
const HOUR: u64 = 3600;

struct ManualClock(Mutex<u64>);

impl Clock for ManualClock {
    fn now(&self) -> UnixTime {
        UnixTime::since_unix_epoch(Duration::from_secs(*self.0.lock().unwrap()))
    }
}

/// A client that has connected to a server once.
struct TestClient {
    clock: Arc<ManualClock>,
    store: Arc<ClientMemoryStore>,
    config: Arc<ClientConfig>,
}

/// Optional parts of a server's flight, and its faults.
#[derive(Clone, Copy, Default)]
struct ServerOptions<'a> {
    /// The lifetime hint and the ticket in a resumed handshake.
    ticket: Option<(u32, &'a [u8])>,
    alpn: Option<&'a [u8]>,
    wrong_finished: bool,
    loses_extended_main_secret: bool,
    another_suite: bool,
}

impl TestClient {
    fn new() -> Self {
        Self::of(credential())
    }

    fn of(credential: Credential) -> Self {
        let clock = Arc::new(ManualClock(Mutex::new(BEGIN)));
        let store = Arc::new(ClientMemoryStore::default());
        let config = ClientConfig::builder()
            .versions(&[ProtocolVersion::TLS1_2])
            .verifier(Policy::Here(Arc::new(AcceptAnyPeer)))
            .clock(clock.clone())
            .alpn(&["first", "second"])
            .session_store(store.clone())
            .build()
            .unwrap();
        let server = ServerConfig::builder().credential(credential).clock(clock.clone());
        let server = Handshake::server(server.alpn(&["first"]).build().unwrap());
        let client = Self { clock, store, config };
        client.first_visit(server);
        client
    }

    fn first_visit(&self, mut server: Handshake) {
        let mut client = Handshake::client(self.config.clone(), name());
        let (mut to_client, mut to_server) = (ReceiveBuffer::new(), ReceiveBuffer::new());
        let (mut client_ended, mut server_ended) = (false, false);
        for _ in 0..3 {
            let mut out = Vec::new();
            if !client_ended {
                let next = client.advance(&mut to_client, &mut out).unwrap();
                client_ended = matches!(next, Next::Connected(_));
            }
            to_server.extend(&out);
            out.clear();
            if !to_server.is_empty() && !server_ended {
                let next = server.advance(&mut to_server, &mut out).unwrap();
                server_ended = matches!(next, Next::Connected(_));
                to_client.extend(&out);
            }
        }
        assert!(client_ended && server_ended);
    }

    /// Connects to a server that resumes the session.
    fn visit(&self, options: ServerOptions<'_>) -> Result<Connection, Error> {
        let session = self.session().unwrap();
        let mut client = Handshake::client(self.config.clone(), name());
        let (mut received, mut out) = (ReceiveBuffer::new(), Vec::new());
        client.advance(&mut received, &mut out)?;
        assert!(self.session().is_none(), "it is not stored while in use");
        received.extend(&resuming_flight(&out, &session, options));
        out.clear();
        match client.advance(&mut received, &mut out)? {
            Next::Connected(connection) => Ok(*connection),
            other => panic!("{other:?}"),
        }
    }

    /// Whether the client offers the session. The session stays in the store.
    fn offers(&self) -> bool {
        let bytes = self.bytes();
        let mut hello = Vec::new();
        let mut client = Handshake::client(self.config.clone(), name());
        client.advance(&mut ReceiveBuffer::new(), &mut hello).unwrap();
        self.store.put(&self.key(), bytes, self.clock.now_and(100 * HOUR));
        let hello = ClientHello::parse(&hello[limits::HEADER + 4..]).unwrap();
        hello.extensions.session_ticket.is_some_and(|ticket| !ticket.is_empty())
    }

    /// The stored session. It is put back into the store, with an expiry in 100 hours.
    fn session(&self) -> Option<Session> {
        let key = self.key();
        let session = self.store.take_session(&key, self.clock.now())?;
        let bytes = session.to_bytes().unwrap();
        let kept = session.into_inner();
        self.store.put_session(&key, ClientSession::new(kept), self.clock.now_and(100 * HOUR));
        Session::from_stored_bytes(&bytes)
    }

    fn key(&self) -> ClientSessionKey {
        ClientSessionKey::new(name(), None, self.config.resumption.context_digest)
    }

    fn bytes(&self) -> Vec<u8> {
        self.session().unwrap().to_stored_bytes().unwrap()
    }
}

impl ManualClock {
    fn turn(&self, seconds: u64) {
        *self.0.lock().unwrap() += seconds;
    }

    fn now_and(&self, seconds: u64) -> UnixTime {
        UnixTime::since_unix_epoch(Duration::from_secs(self.now().as_secs() + seconds))
    }
}

/// All messages of a server from the answer to this ClientHello to its Finished.
fn resuming_flight(hello: &[u8], session: &Session, options: ServerOptions<'_>) -> Vec<u8> {
    let message = &hello[limits::HEADER..];
    let hello = ClientHello::parse(&message[4..]).unwrap();
    let suite = session.suite;
    let mut others = hello.cipher_suites.iter().filter(|code| *code != suite.code);
    let other = others.find(|code| suite::find(*code).is_some()).unwrap();
    let code = if options.another_suite { other } else { suite.code };
    let answer = ServerHello {
        legacy_version: ProtocolVersion::TLS1_2,
        random: &[9; 32],
        session_id_echo: hello.session_id,
        cipher_suite: code,
        compression_method: CompressionMethod::NULL,
        extensions: ServerHelloExtensions {
            alpn: options.alpn.map(ProtocolName),
            extended_master_secret: (!options.loses_extended_main_secret).then_some(()),
            session_ticket: options.ticket.map(|_| ()),
            renegotiation_info: Some(&[]),
            ..Default::default()
        },
    };
    let mut flight = Vec::new();
    answer.encode(&mut flight).unwrap();
    if let Some((ticket_lifetime_hint, ticket)) = options.ticket {
        NewSessionTicketTls12 { ticket_lifetime_hint, ticket }.encode(&mut flight).unwrap();
    }
    let mut transcript = Transcript::new(suite.hash);
    transcript.add(message);
    transcript.add(&flight);
    let main = MainSecret12::resumed(suite, session.secret.duplicate());
    let randoms = Randoms { client: *hello.random, server: [9; 32] };
    let (keys, _) = main.keys_and_client_finished(&randoms, &transcript.digest());
    let mut verify_data = main.server_verify_data(&transcript.digest());
    verify_data[0] ^= u8::from(options.wrong_finished);
    let (mut sealer, mut out) = (Sealer::new(), Vec::new());
    sealer.seal_to(ContentType::HANDSHAKE, &flight, &mut out).unwrap();
    sealer.seal_to(ContentType::CHANGE_CIPHER_SPEC, &[1], &mut out).unwrap();
    sealer.protection = Some(keys.server.protection().unwrap());
    let mut finished = Vec::new();
    Finished { verify_data: &verify_data }.encode(&mut finished).unwrap();
    sealer.seal_to(ContentType::HANDSHAKE, &finished, &mut out).unwrap();
    out
}

/// A sealer that wants each ticket to be replaced.
struct Renewing(RotatingTickets);

impl TicketSealer for Renewing {
    fn seal(&self, session: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.0.seal(session, now)
    }

    fn open(&self, ticket: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.0.open(ticket, now)
    }

    fn needs_renewal(&self, _: &[u8], _: UnixTime) -> bool {
        true
    }

    fn lifetime(&self) -> Duration {
        self.0.lifetime()
    }
}

/// RFC 5077 3.3
#[test]
fn a_server_renews_tickets_if_the_sealer_wants_that() {
    let client = TestClient::new();
    let tickets = RotatingTickets::new(client.clock.now()).unwrap();
    let server = ServerConfig::builder()
        .credential(credential())
        .clock(client.clock.clone())
        .alpn(&["first"])
        .tickets(Arc::new(Renewing(tickets)))
        .build()
        .unwrap();
    let visit = || {
        client.first_visit(Handshake::server(server.clone()));
        client.session().unwrap()
    };
    let first = visit();
    let mut last = first.identity.clone();
    for _ in 0..3 {
        client.clock.turn(60);
        let again = visit();
        assert_ne!(again.identity, last, "the ticket is new");
        assert!(again.secret.as_bytes() == first.secret.as_bytes(), "the session is resumed");
        let end = |session: &Session| session.created + u64::from(session.lifetime);
        assert_eq!(end(&again), end(&first), "the session ends as before");
        last = again.identity;
    }
}

/// RFC 5077 3.2
#[test]
fn a_client_without_tickets_offers_none() {
    let client = TestClient::new();
    assert!(client.offers());
    let mut config = (*client.config).clone();
    config.resumption.tickets_tls12 = false;
    let mut hello = Vec::new();
    let mut other = Handshake::client(Arc::new(config), name());
    other.advance(&mut ReceiveBuffer::new(), &mut hello).unwrap();
    let hello = ClientHello::parse(&hello[limits::HEADER + 4..]).unwrap();
    assert_eq!(hello.extensions.session_ticket, None);
    assert!(hello.session_id.is_empty());
}

/// RFC 5246 F.1.4
#[test]
fn a_renewed_ticket_replaces_the_old_one() {
    let client = TestClient::new();
    let before = client.session().unwrap();
    for (visit, hint) in [(1, 7200), (2, 0)] {
        client.clock.turn(HOUR);
        let ticket = [visit; 50];
        let options = ServerOptions {
            ticket: Some((hint, &ticket)),
            alpn: Some(b"second"),
            ..ServerOptions::default()
        };
        assert!(client.visit(options).unwrap().info.resumed);
        let kept = client.session().unwrap();
        assert_eq!(kept.identity, ticket);
        assert_eq!(kept.created, BEGIN + u64::from(visit) * HOUR);
        assert_eq!(kept.lifetime, if hint == 0 { LIFETIME_OF_ID } else { hint });
        assert_eq!(kept.alpn.as_deref(), Some(&b"second"[..]));
        // Only the ticket differs; the time of authentication, in particular, is unchanged.
        assert!(kept.by_ticket && kept.authenticated == before.authenticated);
        assert!(kept.secret.as_bytes() == before.secret.as_bytes());
        assert_eq!((kept.suite.code, kept.extended), (before.suite.code, before.extended));
        assert_eq!(
            (kept.peer_chain, kept.server_name),
            (before.peer_chain.clone(), before.server_name.clone())
        );
    }
}

#[test]
fn without_a_new_ticket_the_session_is_unchanged() {
    let client = TestClient::new();
    let before = client.bytes();
    for _ in 0..2 {
        client.clock.turn(HOUR);
        client.visit(ServerOptions { alpn: Some(b"first"), ..ServerOptions::default() }).unwrap();
        assert!(client.bytes() == before);
    }
}

/// RFC 5077 3.3
#[test]
fn an_unusable_ticket_leaves_no_session() {
    for ticket in [&[][..], &[1; limits::MAX_TICKET_LENGTH + 1]] {
        let client = TestClient::new();
        client
            .visit(ServerOptions { ticket: Some((7200, ticket)), ..ServerOptions::default() })
            .unwrap();
        assert!(client.session().is_none());
    }
}

/// RFC 5246 7.2.2, 7.4.1.3; RFC 7627 5.3
#[test]
fn an_invalid_resumption_leaves_no_session() {
    let good = ServerOptions { ticket: Some((7200, &[1; 50])), ..ServerOptions::default() };
    for (options, error) in [
        (ServerOptions { wrong_finished: true, ..good }, PeerError::BadFinished),
        (
            ServerOptions { loses_extended_main_secret: true, ..good },
            PeerError::ExtendedMainSecretLost,
        ),
        (ServerOptions { another_suite: true, ..good }, PeerError::WrongCipherSuiteChosen),
    ] {
        let client = TestClient::new();
        assert_eq!(client.visit(options).err(), Some(Error::Peer(error)));
        assert!(client.session().is_none(), "{error:?}");
    }
}

/// The client checks the expiry of a session itself, even if the store does not. RFC 5077 3.3
#[test]
fn an_expired_session_from_a_store_is_not_offered() {
    let client = TestClient::new();
    client
        .visit(ServerOptions { ticket: Some((7200, &[1; 50])), ..ServerOptions::default() })
        .unwrap();
    client.clock.turn(7199);
    assert!(client.offers());
    client.clock.turn(1);
    assert!(!client.offers());
}

/// Renewed tickets do not extend a session's lifetime, which begins when the server is
/// authenticated.
#[test]
fn renewed_tickets_do_not_extend_a_session() {
    let client = TestClient::new();
    let mut visits = 0_u32;
    while client.session().is_some() && client.offers() {
        client
            .visit(ServerOptions { ticket: Some((7200, &[1; 50])), ..ServerOptions::default() })
            .unwrap();
        client.clock.turn(HOUR);
        visits += 1;
        assert!(visits <= 7 * 24, "the session does not expire");
    }
    assert!(visits > 1);
}

#[test]
fn a_session_ends_with_the_certificate_of_its_server() {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    // The certificate expires 16 hours after the start of the test.
    params.not_after = rcgen::date_time_ymd(2027, 1, 16);
    let certificate = params.self_signed(&key).unwrap().der().clone();
    let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
    let client = TestClient::of(Credential::new(vec![certificate], &key).unwrap());
    client
        .visit(ServerOptions { ticket: Some((48 * 3600, &[1; 50])), ..ServerOptions::default() })
        .unwrap();
    client.clock.turn(16 * HOUR);
    assert!(client.offers());
    // A session that was resumed meanwhile expires at the same time.
    client
        .visit(ServerOptions { ticket: Some((48 * 3600, &[2; 50])), ..ServerOptions::default() })
        .unwrap();
    client.clock.turn(1);
    assert!(!client.offers());
}

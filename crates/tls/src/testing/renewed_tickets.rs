//! A server that renews tickets of TLS 1.2 when it resumes, as ours never does.
//!
//! What it is for: what a client keeps of a resumed session, with a new ticket and without. The server is written out
//! here, with the session's secret in hand. Must not know: how the client does it. Next: `handshake/tls12/resumption.rs`.

use core::time::Duration;
use std::sync::{Arc, Mutex};

use pki_types::{PrivateKeyDer, UnixTime};
use tercel_wire::{
    ClientHello, CompressionMethod, ContentType, Finished, HandshakeMessage, NewSessionTicketTls12,
    ProtocolName, ProtocolVersion, ServerHello, ServerHelloExtensions,
};

use super::adversary::{credential, name};
use crate::config::credential::Credential;
use crate::config::policy::{Clock, Policy};
use crate::config::verifier::AcceptAnyPeer;
use crate::connection::Connection;
use crate::connection::buffer::Received;
use crate::error::{Error, Peer};
use crate::handshake::client_session::LIFETIME_OF_ID;
use crate::handshake::transcript::Transcript;
use crate::handshake::{Handshake, Next};
use crate::keys::suite;
use crate::keys::tls12::{MainSecret12, Randoms};
use crate::record::limits;
use crate::record::sealer::Sealer;
use crate::session::client_store::{ClientMemoryStore, ClientSessionKey, ClientSessionStore};
use crate::session::client_value::ClientSession;
use crate::session::state::Session;
use crate::{ClientConfig, ServerConfig};

const BEGIN: u64 = 1_800_000_000;
const HOUR: u64 = 3600;

struct Hand(Mutex<u64>);

impl Clock for Hand {
    fn now(&self) -> UnixTime {
        UnixTime::since_unix_epoch(Duration::from_secs(*self.0.lock().unwrap()))
    }
}

/// A client that has been at a server once.
struct Guest {
    clock: Arc<Hand>,
    store: Arc<ClientMemoryStore>,
    config: Arc<ClientConfig>,
}

/// What a server says besides.
#[derive(Clone, Copy, Default)]
struct Says<'a> {
    /// In a resumed handshake: lifetime hint and ticket.
    ticket: Option<(u32, &'a [u8])>,
    alpn: Option<&'a [u8]>,
    wrong_finished: bool,
    loses_extended_main_secret: bool,
    another_suite: bool,
}

impl Guest {
    fn new() -> Self {
        Self::of(credential())
    }

    fn of(credential: Credential) -> Self {
        let clock = Arc::new(Hand(Mutex::new(BEGIN)));
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
        let guest = Self { clock, store, config };
        guest.first_visit(server);
        guest
    }

    fn first_visit(&self, mut server: Handshake) {
        let mut client = Handshake::client(self.config.clone(), name());
        let (mut to_client, mut to_server) = (Received::new(), Received::new());
        for _ in 0..3 {
            let mut out = Vec::new();
            client.advance(&mut to_client, &mut out).unwrap();
            to_server.extend(&out);
            out.clear();
            if !to_server.is_empty() {
                server.advance(&mut to_server, &mut out).unwrap();
                to_client.extend(&out);
            }
        }
    }

    /// Comes back to a server that resumes.
    fn visit(&self, says: Says<'_>) -> Result<Connection, Error> {
        let session = self.session().unwrap();
        let mut client = Handshake::client(self.config.clone(), name());
        let (mut received, mut out) = (Received::new(), Vec::new());
        client.advance(&mut received, &mut out)?;
        assert!(self.session().is_none(), "while it is used nobody else has it");
        received.extend(&resuming_flight(&out, &session, says));
        out.clear();
        match client.advance(&mut received, &mut out)? {
            Next::Connected(connection) => Ok(*connection),
            other => panic!("{other:?}"),
        }
    }

    /// Whether the session is offered, which stays where it is.
    fn offers(&self) -> bool {
        let bytes = self.bytes();
        let mut hello = Vec::new();
        let mut client = Handshake::client(self.config.clone(), name());
        client.advance(&mut Received::new(), &mut hello).unwrap();
        self.store.put(&self.key(), bytes, self.clock.now_and(100 * HOUR));
        let hello = ClientHello::parse(&hello[limits::HEADER + 4..]).unwrap();
        hello.extensions.session_ticket.is_some_and(|ticket| !ticket.is_empty())
    }

    /// What is kept, which stays there, for longer than it should.
    fn session(&self) -> Option<Session> {
        let key = self.key();
        let session = self.store.take_session(&key, self.clock.now())?;
        let bytes = session.to_bytes().unwrap();
        let kept = session.into_inner();
        self.store.put_session(&key, ClientSession::new(kept), self.clock.now_and(100 * HOUR));
        Session::from_stored_bytes(&bytes)
    }

    fn key(&self) -> ClientSessionKey {
        ClientSessionKey::new(name(), None, self.config.resumption.context)
    }

    fn bytes(&self) -> Vec<u8> {
        self.session().unwrap().to_stored_bytes().unwrap()
    }
}

impl Hand {
    fn turn(&self, seconds: u64) {
        *self.0.lock().unwrap() += seconds;
    }

    fn now_and(&self, seconds: u64) -> UnixTime {
        UnixTime::since_unix_epoch(Duration::from_secs(self.now().as_secs() + seconds))
    }
}

/// All that a server says to this ClientHello up to its Finished.
fn resuming_flight(hello: &[u8], session: &Session, says: Says<'_>) -> Vec<u8> {
    let message = &hello[limits::HEADER..];
    let hello = ClientHello::parse(&message[4..]).unwrap();
    let suite = session.suite;
    let mut others = hello.cipher_suites.iter().filter(|code| *code != suite.code);
    let other = others.find(|code| suite::find(*code).is_some()).unwrap();
    let code = if says.another_suite { other } else { suite.code };
    let answer = ServerHello {
        legacy_version: ProtocolVersion::TLS1_2,
        random: &[9; 32],
        session_id_echo: hello.session_id,
        cipher_suite: code,
        compression_method: CompressionMethod::NULL,
        extensions: ServerHelloExtensions {
            alpn: says.alpn.map(ProtocolName),
            extended_master_secret: (!says.loses_extended_main_secret).then_some(()),
            session_ticket: says.ticket.map(|_| ()),
            renegotiation_info: Some(&[]),
            ..Default::default()
        },
    };
    let mut flight = Vec::new();
    answer.encode(&mut flight).unwrap();
    if let Some((ticket_lifetime_hint, ticket)) = says.ticket {
        NewSessionTicketTls12 { ticket_lifetime_hint, ticket }.encode(&mut flight).unwrap();
    }
    let mut transcript = Transcript::new(suite.hash);
    transcript.add(message);
    transcript.add(&flight);
    let main = MainSecret12::resumed(suite, session.secret.duplicate());
    let randoms = Randoms { client: *hello.random, server: [9; 32] };
    let (keys, _) = main.keys_and_client_finished(&randoms, &transcript.digest());
    let mut verify_data = main.server_verify_data(&transcript.digest());
    verify_data[0] ^= u8::from(says.wrong_finished);
    let (mut sealer, mut out) = (Sealer::new(), Vec::new());
    sealer.seal_to(ContentType::HANDSHAKE, &flight, &mut out).unwrap();
    sealer.seal_to(ContentType::CHANGE_CIPHER_SPEC, &[1], &mut out).unwrap();
    sealer.install(keys.server.protection().unwrap());
    let mut finished = Vec::new();
    Finished { verify_data: &verify_data }.encode(&mut finished).unwrap();
    sealer.seal_to(ContentType::HANDSHAKE, &finished, &mut out).unwrap();
    out
}

#[test]
fn a_renewed_ticket_takes_the_place_of_the_old_one() {
    let guest = Guest::new();
    let before = guest.session().unwrap();
    for (visit, hint) in [(1, 7200), (2, 0)] {
        guest.clock.turn(HOUR);
        let ticket = [visit; 50];
        let says = Says { ticket: Some((hint, &ticket)), alpn: Some(b"second"), ..Says::default() };
        assert!(guest.visit(says).unwrap().facts.resumed);
        let kept = guest.session().unwrap();
        assert_eq!(kept.identity, ticket);
        assert_eq!(kept.created, BEGIN + u64::from(visit) * HOUR);
        assert_eq!(kept.lifetime, if hint == 0 { LIFETIME_OF_ID } else { hint });
        assert_eq!(kept.alpn.as_deref(), Some(&b"second"[..]));
        // The same session in all else; above all nobody has shown who he is since.
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
fn without_a_new_ticket_the_session_stays_as_it_is() {
    let guest = Guest::new();
    let before = guest.bytes();
    for _ in 0..2 {
        guest.clock.turn(HOUR);
        guest.visit(Says { alpn: Some(b"first"), ..Says::default() }).unwrap();
        assert!(guest.bytes() == before);
    }
}

/// RFC 5077 3.3
#[test]
fn a_ticket_that_cannot_be_used_leaves_no_session() {
    for ticket in [&[][..], &[1; limits::MAX_KEPT_TICKET + 1]] {
        let guest = Guest::new();
        guest.visit(Says { ticket: Some((7200, ticket)), ..Says::default() }).unwrap();
        assert!(guest.session().is_none());
    }
}

/// RFC 5246 7.2.2, 7.4.1.3; RFC 7627 5.3
#[test]
fn who_resumes_wrongly_leaves_no_session() {
    let good = Says { ticket: Some((7200, &[1; 50])), ..Says::default() };
    for (says, error) in [
        (Says { wrong_finished: true, ..good }, Peer::BadFinished),
        (Says { loses_extended_main_secret: true, ..good }, Peer::ExtendedMainSecretLost),
        (Says { another_suite: true, ..good }, Peer::WrongCipherSuiteChosen),
    ] {
        let guest = Guest::new();
        assert_eq!(guest.visit(says).err(), Some(Error::Peer(error)));
        assert!(guest.session().is_none(), "{error:?}");
    }
}

/// The end of the session is looked at wherever it was kept. RFC 5077 3.3
#[test]
fn an_old_session_is_not_offered_whatever_the_store_thinks() {
    let guest = Guest::new();
    guest.visit(Says { ticket: Some((7200, &[1; 50])), ..Says::default() }).unwrap();
    guest.clock.turn(7199);
    assert!(guest.offers());
    guest.clock.turn(1);
    assert!(!guest.offers());
}

/// However often a ticket is renewed, the server has shown who it is once.
#[test]
fn renewed_tickets_do_not_make_a_session_younger() {
    let guest = Guest::new();
    let mut visits = 0_u32;
    while guest.session().is_some() && guest.offers() {
        guest.visit(Says { ticket: Some((7200, &[1; 50])), ..Says::default() }).unwrap();
        guest.clock.turn(HOUR);
        visits += 1;
        assert!(visits <= 7 * 24, "a session without end");
    }
    assert!(visits > 1);
}

#[test]
fn a_session_ends_with_the_certificate_of_its_server() {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    // 16 hours after the beginning.
    params.not_after = rcgen::date_time_ymd(2027, 1, 16);
    let certificate = params.self_signed(&key).unwrap().der().clone();
    let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
    let guest = Guest::of(Credential::new(vec![certificate], &key).unwrap());
    guest.visit(Says { ticket: Some((48 * 3600, &[1; 50])), ..Says::default() }).unwrap();
    guest.clock.turn(16 * HOUR);
    assert!(guest.offers());
    // Also where somebody has looked before.
    guest.visit(Says { ticket: Some((48 * 3600, &[2; 50])), ..Says::default() }).unwrap();
    guest.clock.turn(1);
    assert!(!guest.offers());
}

//! CRYPTO data as quinn passes it to a session, and the memory for tickets.

#[allow(dead_code)]
mod peers;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use quinn_proto::crypto::{self, ServerConfig as _, Session};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectionId, Side, TransportErrorCode};
use tercel_quinn::quinn_proto;
use tercel_quinn::tercel::pki_types::UnixTime;
use tercel_quinn::tercel::session::{ClientSessionKey, ClientSessionStore};
use tercel_quinn::tercel::{ClientConfig, ServerConfig};
use tercel_quinn::{QuicClientConfig, QuicServerConfig};

use peers::{credential, names, roots};

/// A store that counts the sessions it gets, and keeps none.
#[derive(Default)]
struct Counter(AtomicUsize);

impl ClientSessionStore for Counter {
    fn put(&self, _: &ClientSessionKey, _: Vec<u8>, _: UnixTime) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn take(&self, _: &ClientSessionKey, _: UnixTime) -> Option<Vec<u8>> {
        None
    }
}

/// Both sessions of a connection.
struct Sessions {
    client: Box<dyn Session>,
    server: Box<dyn Session>,
    stored: Arc<Counter>,
}

fn server_config() -> QuicServerConfig {
    let server = ServerConfig::builder().credential(credential(&names())).alpn(&["echo"]);
    QuicServerConfig::try_from(server.ticket_counts(2, 0).build().unwrap()).unwrap()
}

impl Sessions {
    fn new() -> Self {
        let stored = Arc::new(Counter::default());
        let client = ClientConfig::builder().roots(roots()).alpn(&["echo"]);
        let client = client.session_store(Arc::clone(&stored) as _).build().unwrap();
        let client: Arc<dyn crypto::ClientConfig> =
            Arc::new(QuicClientConfig::try_from(client).unwrap());
        let server: Arc<dyn crypto::ServerConfig> = Arc::new(server_config());
        let parameters = TransportParameters::read(Side::Client, &mut &[][..]).unwrap();
        Self {
            client: client.start_session(1, "localhost", &parameters).unwrap(),
            server: server.start_session(1, &parameters),
            stored,
        }
    }

    /// Both sessions after the server has received the ClientHello, and what the server sends in
    /// Initial packets and in Handshake packets.
    fn with_flights() -> (Self, Vec<u8>, Vec<u8>) {
        let mut sessions = Self::new();
        let (hello, gives_keys) = flight(&mut *sessions.client);
        assert!(!gives_keys);
        sessions.server.read_handshake(&hello).unwrap();
        let [(initial, _), (handshake, _)] = [(); 2].map(|()| flight(&mut *sessions.server));
        (sessions, initial, handshake)
    }

    /// The client after a whole handshake, and the server's tickets.
    fn connected() -> (Self, Vec<u8>) {
        let (mut sessions, initial, handshake) = Self::with_flights();
        sessions.client.read_handshake(&initial).unwrap();
        assert_eq!(flight(&mut *sessions.client), (Vec::new(), true));
        sessions.client.read_handshake(&handshake).unwrap();
        let (finished, gives_keys) = flight(&mut *sessions.client);
        assert!(gives_keys && !sessions.client.is_handshaking());
        sessions.server.read_handshake(&finished).unwrap();
        let (tickets, gives_keys) = flight(&mut *sessions.server);
        assert!(!tickets.is_empty() && !gives_keys);
        (sessions, tickets)
    }

    fn stored(&self) -> usize {
        self.stored.0.load(Ordering::Relaxed)
    }
}

/// The data that a session sends until it gives keys, and whether it gives keys.
fn flight(session: &mut dyn Session) -> (Vec<u8>, bool) {
    let mut data = Vec::new();
    let gives_keys = session.write_handshake(&mut data).is_some();
    (data, gives_keys)
}

fn check_refused(session: &mut dyn Session, data: &[u8]) {
    let error = session.read_handshake(data).unwrap_err();
    assert_eq!(error.code, TransportErrorCode::PROTOCOL_VIOLATION, "{error}");
}

/// Quinn has no Handshake keys yet, so the second part is in an Initial packet too. RFC 9001 4.1.3
#[test]
fn handshake_messages_in_initial_packets_are_refused() {
    let (mut sessions, initial, handshake) = Sessions::with_flights();
    sessions.client.read_handshake(&initial).unwrap();
    check_refused(&mut *sessions.client, &handshake);
}

/// Quinn has no 1-RTT keys yet, so the ticket is in a Handshake packet. RFC 9001 4.1.3
#[test]
fn tickets_in_handshake_packets_are_refused() {
    let (_, tickets) = Sessions::connected();
    let (mut sessions, initial, handshake) = Sessions::with_flights();
    sessions.client.read_handshake(&initial).unwrap();
    flight(&mut *sessions.client);
    sessions.client.read_handshake(&handshake).unwrap();
    check_refused(&mut *sessions.client, &tickets);
    assert_eq!(sessions.stored(), 0);
}

/// A session keeps the secret for further tickets only until the server's first tickets are
/// complete.
#[test]
fn tickets_are_stored_until_a_flight_of_tickets_is_complete() {
    for at_once in [true, false] {
        let (mut sessions, tickets) = Sessions::connected();
        let parts = if at_once { vec![&tickets[..]] } else { tickets.chunks(100).collect() };
        assert_eq!(sessions.stored(), 0);
        for part in parts {
            sessions.client.read_handshake(part).unwrap();
        }
        assert_eq!(sessions.stored(), 2);
        sessions.client.read_handshake(&tickets).unwrap();
        assert_eq!(sessions.stored(), 2);
    }
}

/// A client that cannot form its ClientHello sends nothing, so only `start_session` can say why.
/// Here, the extensions are longer than 65,535 bytes. RFC 9846 4.2.2
#[test]
fn a_handshake_that_cannot_begin_is_an_error_at_once() {
    let protocols: Vec<_> = (0..255_u8).map(|number| vec![number; 255]).collect();
    let client = ClientConfig::builder().roots(roots()).alpn(&protocols);
    let client: Arc<dyn crypto::ClientConfig> =
        Arc::new(QuicClientConfig::try_from(client.build().unwrap()).unwrap());
    let parameters = TransportParameters::read(Side::Client, &mut &[][..]).unwrap();
    let Err(error) = client.start_session(1, &format!("{}.example", "a".repeat(60)), &parameters)
    else {
        panic!("the handshake has begun");
    };
    assert!(error.to_string().contains("aaaa.example: "), "{error}");
}

/// Quinn does not pass such a packet. If it did, the packet would be sent without protection.
#[test]
#[should_panic(expected = "too short for a sample")]
fn a_header_without_a_sample_is_not_left_unprotected() {
    let id = ConnectionId::new(&[1; 8]);
    let keys = server_config().initial_keys(1, &id).unwrap();
    keys.header.local.encrypt(1, &mut [0; 20]);
}

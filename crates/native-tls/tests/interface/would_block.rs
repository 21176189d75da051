//! Transports that would block, in the handshake and after it; buffered data; the end of a
//! connection.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::io::{self, ErrorKind, Read, Write};
use std::sync::{Arc, Mutex};

use tercel_native_tls::{HandshakeError, MidHandshakeTlsStream, Protocol, TlsStream};

use crate::fixtures::{Connected, connect, localhost, trusting};

/// One end of a connection in memory. Each call of `read` and `write` transfers one byte at most,
/// and each second call would block.
#[derive(Debug)]
struct Trickle {
    incoming: Arc<Mutex<VecDeque<u8>>>,
    outgoing: Arc<Mutex<VecDeque<u8>>>,
    calls: usize,
}

impl Trickle {
    fn pair() -> (Self, Self) {
        let (one, two) = (Arc::default(), Arc::default());
        let end = |incoming: &Arc<_>, outgoing: &Arc<_>| Self {
            incoming: Arc::clone(incoming),
            outgoing: Arc::clone(outgoing),
            calls: 0,
        };
        (end(&one, &two), end(&two, &one))
    }

    fn turn(&mut self) -> io::Result<()> {
        self.calls += 1;
        if self.calls % 2 == 1 { Err(ErrorKind::WouldBlock.into()) } else { Ok(()) }
    }
}

impl Read for Trickle {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.turn()?;
        out[0] = self.incoming.lock().unwrap().pop_front().ok_or(ErrorKind::WouldBlock)?;
        Ok(1)
    }
}

impl Write for Trickle {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.turn()?;
        self.outgoing.lock().unwrap().push_back(bytes[0]);
        Ok(1)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.turn()
    }
}

/// A handshake that is interrupted, complete or failed.
enum Side {
    Interrupted(MidHandshakeTlsStream<Trickle>),
    Complete(Box<TlsStream<Trickle>>),
    Failed(String),
}

impl Side {
    fn of(result: Result<TlsStream<Trickle>, HandshakeError<Trickle>>) -> Self {
        match result {
            Ok(stream) => Self::Complete(Box::new(stream)),
            Err(HandshakeError::WouldBlock(interrupted)) => Self::Interrupted(interrupted),
            Err(HandshakeError::Failure(error)) => Self::Failed(error.to_string()),
        }
    }

    fn advance(self, interruptions: &mut usize) -> Self {
        let Self::Interrupted(mut interrupted) = self else { return self };
        *interruptions += 1;
        let calls = interrupted.get_ref().calls;
        assert_eq!(interrupted.get_mut().calls, calls);
        Self::of(interrupted.handshake())
    }
}

/// Runs both handshakes by turns. Returns the number of interruptions.
fn handshake(domain: &str, version: Protocol) -> (Side, Side, usize) {
    let (authority, issued) = localhost();
    let connector = trusting(&authority)
        .min_protocol_version(Some(version))
        .max_protocol_version(Some(version))
        .build()
        .unwrap();
    let (near, far) = Trickle::pair();
    let mut client = Side::of(connector.connect(domain, near));
    let mut server = Side::of(issued.acceptor().accept(far));
    let mut interruptions = 0;
    for _ in 0..100_000 {
        client = client.advance(&mut interruptions);
        server = server.advance(&mut interruptions);
    }
    (client, server, interruptions)
}

fn connected(version: Protocol) -> (TlsStream<Trickle>, TlsStream<Trickle>) {
    match handshake("localhost", version) {
        (Side::Complete(client), Side::Complete(server), interruptions) => {
            assert!(interruptions > 1000, "{interruptions}");
            (*client, *server)
        }
        _ => panic!("a handshake is not complete"),
    }
}

const VERSIONS: [Protocol; 2] = [Protocol::Tlsv12, Protocol::Tlsv13];

/// Repeats a call until it does not return `WouldBlock`; `meanwhile` is called in between.
fn repeat<T: Debug>(
    mut call: impl FnMut() -> io::Result<T>,
    mut meanwhile: impl FnMut(),
) -> io::Result<T> {
    for _ in 0..1_000_000 {
        match call() {
            Err(error) if error.kind() == ErrorKind::WouldBlock => meanwhile(),
            other => return other,
        }
    }
    panic!("the call would block forever");
}

#[test]
fn a_handshake_continues_after_each_byte() {
    for version in VERSIONS {
        let (client, server) = connected(version);
        let certificate = client.peer_certificate().unwrap().unwrap().to_der().unwrap();
        assert!(!certificate.is_empty());
        assert!(server.peer_certificate().unwrap().is_none());
    }
}

#[test]
fn an_interrupted_handshake_can_still_fail() {
    for version in VERSIONS {
        let (client, server, interruptions) = handshake("other.test", version);
        let Side::Failed(error) = client else { panic!("the client has not failed") };
        assert!(error.contains("not valid for other.test"), "{error}");
        assert!(interruptions > 500, "{interruptions}");
        let Side::Failed(error) = server else { panic!("the server has not failed") };
        assert!(error.contains("alert"), "{error}");
    }
}

#[test]
fn an_interruption_is_an_error_with_a_text() {
    let (authority, _) = localhost();
    let connector = trusting(&authority).build().unwrap();
    let error = connector.connect("localhost", Trickle::pair().0).unwrap_err();
    assert!(matches!(error, HandshakeError::WouldBlock(_)));
    assert_eq!(error.to_string(), "the handshake is incomplete: it would block");
    assert!(std::error::Error::source(&error).is_none());
}

#[test]
fn data_is_neither_lost_nor_repeated() {
    let data: Vec<u8> = (0..200_000_u32).map(|at| at.to_be_bytes()[2]).collect();
    for version in VERSIONS {
        let (mut client, mut server) = connected(version);
        let mut received = Vec::new();
        let mut read = |server: &mut TlsStream<Trickle>| {
            let mut part = [0; 777];
            match server.read(&mut part) {
                Ok(count) => received.extend_from_slice(&part[..count]),
                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
            }
        };
        let mut rest = &data[..];
        while !rest.is_empty() {
            let count = repeat(|| client.write(rest), || read(&mut server)).unwrap();
            rest = &rest[count..];
        }
        repeat(|| client.flush(), || read(&mut server)).unwrap();
        repeat(|| client.shutdown(), || read(&mut server)).unwrap();
        // After a success there is nothing to repeat.
        repeat(|| client.shutdown(), || ()).unwrap();
        let mut part = [0; 777];
        loop {
            match repeat(|| server.read(&mut part), || ()).unwrap() {
                0 => break,
                count => received.extend_from_slice(&part[..count]),
            }
        }
        assert!(received == data, "{version:?}");
    }
}

#[test]
fn the_peers_close_notify_ends_reading() {
    for version in VERSIONS {
        let (mut client, mut server) = connected(version);
        repeat(|| client.shutdown(), || ()).unwrap();
        assert_eq!(repeat(|| server.read(&mut [0; 9]), || ()).unwrap(), 0);
        repeat(|| server.shutdown(), || ()).unwrap();
        assert_eq!(repeat(|| client.read(&mut [0; 9]), || ()).unwrap(), 0);
        assert!(client.write(b"late").is_err());
    }
}

/// With or without bytes of a record that is incomplete. RFC 9846 6.1
#[test]
fn an_end_without_close_notify_is_an_end() {
    for partial in [&b""[..], &[23, 3, 3]] {
        let (mut client, mut server) = loopback();
        server.write_all(b"hello").unwrap();
        server.get_mut().write_all(partial).unwrap();
        server.get_ref().shutdown(std::net::Shutdown::Write).unwrap();
        let mut received = Vec::new();
        client.read_to_end(&mut received).unwrap();
        assert_eq!(received, b"hello");
        assert_eq!(client.read(&mut [0; 9]).unwrap(), 0);
        client.write_all(b"world").unwrap();
        client.flush().unwrap();
        let mut received = [0; 5];
        server.read_exact(&mut received).unwrap();
        assert_eq!(&received, b"world");
    }
}

#[test]
fn the_rest_of_a_record_is_buffered() {
    let (mut client, mut server) = loopback();
    assert_eq!(client.buffered_read_size().unwrap(), 0);
    server.write_all(b"hello, world").unwrap();
    client.read_exact(&mut [0; 5]).unwrap();
    assert_eq!(client.buffered_read_size().unwrap(), 7);
    client.get_mut().set_nonblocking(true).unwrap();
    let mut rest = [0; 7];
    client.read_exact(&mut rest).unwrap();
    assert_eq!(&rest, b", world");
    assert_eq!(client.buffered_read_size().unwrap(), 0);
    assert_eq!(client.read(&mut rest).unwrap_err().kind(), ErrorKind::WouldBlock);
}

fn loopback() -> (Connected, Connected) {
    let (authority, issued) = localhost();
    let connector = trusting(&authority).build().unwrap();
    let connected = connect(&connector, "localhost", &issued.acceptor());
    (connected.client.unwrap(), connected.server.unwrap())
}

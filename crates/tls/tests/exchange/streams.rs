//! The blocking stream, on real sockets of this machine.
//!
//! For: `complete`, `Read` and `Write` as an application uses them. Must not know: records.
//! Next: `sizes.rs`, the same without a transport.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;

use tercel::wire::ProtocolVersion;
use tercel::{Error, Handshake, Stream};

use crate::identity::{NAME, client, plain, server};
use crate::pair::{Delivery, Pair};

const BOTH_VERSIONS: [ProtocolVersion; 2] = [ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2];

#[test]
fn an_echo_over_sockets() {
    let data: Vec<u8> = (0..300_000_u32).map(|at| at.to_be_bytes()[2]).collect();
    for version in BOTH_VERSIONS {
        let (mut stream, echo) = connect(version, |mut stream| {
            let mut data = Vec::new();
            stream.read_to_end(&mut data).unwrap();
            stream.write_all(&data).ok();
            stream.close().ok();
            data
        });
        stream.write_all(&data).unwrap();
        stream.close().unwrap();
        assert!(echo.join().unwrap() == data);
        let mut echoed = Vec::new();
        let end = stream.read_to_end(&mut echoed);
        // In TLS 1.2 a close_notify is for both directions. RFC 5246 7.2.1
        if version == ProtocolVersion::TLS1_3 {
            end.unwrap();
            assert!(echoed == data);
        }
    }
}

#[test]
fn small_reads_get_everything() {
    for version in BOTH_VERSIONS {
        let (mut stream, sent) = connect(version, |mut stream| {
            stream.write_all(&[7; 5000]).unwrap();
            stream.close().unwrap();
        });
        let (mut count, mut out) = (0, [0; 3]);
        loop {
            let read = stream.read(&mut out).unwrap();
            assert!(out[..read].iter().all(|byte| *byte == 7));
            count += read;
            if read == 0 {
                break;
            }
        }
        sent.join().unwrap();
        assert_eq!(count, 5000);
        assert_eq!(stream.read(&mut out).unwrap(), 0, "the end stays the end");
    }
}

#[test]
fn an_end_without_close_notify_is_an_unexpected_one() {
    for version in BOTH_VERSIONS {
        let (mut stream, sent) = connect(version, |mut stream| {
            stream.write_all(b"cut").unwrap();
            stream.transport().shutdown(Shutdown::Write).unwrap();
        });
        let mut out = [0; 3];
        stream.read_exact(&mut out).unwrap();
        let error = stream.read(&mut out).unwrap_err();
        sent.join().unwrap();
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
        assert_eq!(inner, Some(&Error::Truncated));
    }
}

#[test]
fn a_failed_handshake_says_why_on_both_ends() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let server = thread::spawn(move || {
        let (transport, _) = listener.accept().unwrap();
        Handshake::server(plain().1).complete(transport).unwrap_err().to_string()
    });
    let transport = TcpStream::connect(address).unwrap();
    let name = "other.example".try_into().unwrap();
    let error = Handshake::client(plain().0, name).complete(transport).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
    assert!(error.to_string().contains("certificate refused"), "{error}");
    assert!(server.join().unwrap().contains("alert"));
}

#[test]
fn plain_http_is_recognised() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let server = thread::spawn(move || {
        let (transport, _) = listener.accept().unwrap();
        Handshake::server(plain().1).complete(transport).unwrap_err().to_string()
    });
    let mut transport = TcpStream::connect(address).unwrap();
    transport.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    transport.read_to_end(&mut answer).ok();
    assert!(server.join().unwrap().contains("plain HTTP"));
}

#[test]
fn a_transport_that_stalls_loses_and_repeats_nothing() {
    let data: Vec<u8> = (0..100_000_u32).map(|at| at.to_be_bytes()[2]).collect();
    let ends = Pair::new(&plain().0, &plain().1, NAME).connect().unwrap();
    let (ours, mut theirs) = (ends.client, ends.server);
    let stalling = Stalling { taken: Vec::new(), calls: 0, error: ErrorKind::WouldBlock };
    let mut stream = Stream::new(stalling, ours.connection, ours.received);
    let mut rest = &data[..];
    while !rest.is_empty() {
        match stream.write(rest) {
            Ok(count) => rest = &rest[count..],
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
        }
    }
    while let Err(error) = stream.flush() {
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
    }
    let taken = &stream.transport().taken;
    assert!(theirs.read(taken, Delivery::Whole).unwrap() == data);
}

#[test]
fn an_answer_that_cannot_be_sent_does_not_hide_what_was_read() {
    let mut ends = Pair::new(&plain().0, &plain().1, NAME).connect().unwrap();
    let mut wire = Vec::new();
    ends.client.connection.sender.update_key(true, &mut wire).unwrap();
    ends.client.connection.sender.seal_to(b"last words", &mut wire).unwrap();
    ends.client.connection.sender.close(&mut wire).unwrap();
    ends.server.received.extend(&wire);
    let broken = Stalling { taken: Vec::new(), calls: 0, error: ErrorKind::BrokenPipe };
    let mut stream = Stream::new(broken, ends.server.connection, ends.server.received);
    let mut read = Vec::new();
    stream.read_to_end(&mut read).unwrap();
    assert_eq!(read, b"last words");
    assert_eq!(stream.write(b"answer").unwrap_err().kind(), ErrorKind::BrokenPipe);
}

/// Takes a few bytes now and then, and has none to give.
struct Stalling {
    taken: Vec<u8>,
    calls: usize,
    error: ErrorKind,
}

impl Write for Stalling {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.calls += 1;
        if self.calls % 3 != 0 || self.error != ErrorKind::WouldBlock {
            return Err(self.error.into());
        }
        let count = bytes.len().min(1000);
        self.taken.extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Stalling {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(self.error.into())
    }
}

/// A client's stream, and a thread with what the server does with its own.
fn connect<T: Send + 'static>(
    version: ProtocolVersion,
    serve: impl FnOnce(Stream<TcpStream>) -> T + Send + 'static,
) -> (Stream<TcpStream>, thread::JoinHandle<T>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let server = server().build().unwrap();
    let served = thread::spawn(move || {
        let (transport, _) = listener.accept().unwrap();
        serve(Handshake::server(server).complete(transport).unwrap())
    });
    let config = client().versions(&[version]).build().unwrap();
    let transport = TcpStream::connect(address).unwrap();
    let name = NAME.try_into().unwrap();
    (Handshake::client(config, name).complete(transport).unwrap(), served)
}

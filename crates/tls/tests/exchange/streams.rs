//! The blocking stream, on real sockets of this machine.
//!
//! The tests use `complete`, `Read` and `Write` as an application does.

use std::io::{self, BufWriter, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use tercel::crypto::HashAlgorithm;
use tercel::wire::ProtocolVersion;
use tercel::{
    Connection, EarlyData, Error, Handshake, Next, Opened, ReceiveBuffer, ServerConfig, Stream,
    error::PeerError, server::ClientAuth,
};
use tercel_crypto::Hash;

use crate::early_data::guard;
use crate::early_data_rejection::{tls13_client, visit};
use crate::fixtures::{KINDS, NAME, client, credential, plain, roots, server};
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
            stream.close_now().ok();
            data
        });
        stream.write_all(&data).unwrap();
        stream.close_now().unwrap();
        assert!(echo.join().unwrap() == data);
        let mut echoed = Vec::new();
        let end = stream.read_to_end(&mut echoed);
        // In TLS 1.2 a close_notify ends both directions. RFC 5246 7.2.1
        if version == ProtocolVersion::TLS1_3 {
            end.unwrap();
            assert!(echoed == data);
        }
    }
}

/// Decrypted bytes that the caller has not read are counted, and belong to the stream when its
/// transport is replaced.
#[test]
fn a_stream_with_another_transport_continues() {
    for version in BOTH_VERSIONS {
        let (mut stream, echo) = connect(version, |mut stream| {
            stream.write_all(b"hello").unwrap();
            let mut answer = [0; 7];
            stream.read_exact(&mut answer).unwrap();
            answer
        });
        assert_eq!(stream.buffered(), 0);
        stream.read_exact(&mut [0; 2]).unwrap();
        assert_eq!(stream.buffered(), 3);
        let mut stream = stream.map_transport(Box::new);
        assert_eq!(stream.buffered(), 3);
        let mut rest = [0; 3];
        stream.read_exact(&mut rest).unwrap();
        assert_eq!((&rest, stream.buffered()), (b"llo", 0));
        stream.write_all(b"goodbye").unwrap();
        stream.flush().unwrap();
        assert_eq!(&echo.join().unwrap(), b"goodbye");
    }
}

#[test]
fn small_reads_get_everything() {
    for version in BOTH_VERSIONS {
        let (mut stream, sent) = connect(version, |mut stream| {
            stream.write_all(&[7; 5000]).unwrap();
            stream.close_now().unwrap();
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
        assert_eq!(stream.read(&mut out).unwrap(), 0, "the end is permanent");
    }
}

#[test]
fn an_end_without_close_notify_is_an_unexpected_eof() {
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
fn a_failed_handshake_is_reported_on_both_ends() {
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
fn a_transport_that_stalls_neither_loses_nor_repeats_data() {
    let data: Vec<u8> = (0..100_000_u32).map(|at| at.to_be_bytes()[2]).collect();
    let ends = Pair::new(&plain().0, &plain().1, NAME).connect().unwrap();
    let (ours, mut theirs) = (ends.client, ends.server);
    let stalling = StallingTransport { taken: Vec::new(), calls: 0, error: ErrorKind::WouldBlock };
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
fn a_failed_answer_does_not_discard_data() {
    let mut ends = Pair::new(&plain().0, &plain().1, NAME).connect().unwrap();
    let mut wire = Vec::new();
    ends.client.connection.sender.update_key(true, &mut wire).unwrap();
    ends.client.connection.sender.seal_to(b"last data", &mut wire).unwrap();
    ends.client.connection.sender.close(&mut wire).unwrap();
    ends.server.received.extend(&wire);
    let broken = StallingTransport { taken: Vec::new(), calls: 0, error: ErrorKind::BrokenPipe };
    let mut stream = Stream::new(broken, ends.server.connection, ends.server.received);
    let mut read = Vec::new();
    stream.read_to_end(&mut read).unwrap();
    assert_eq!(read, b"last data");
    assert_eq!(stream.write(b"answer").unwrap_err().kind(), ErrorKind::BrokenPipe);
}

#[test]
#[cfg_attr(feature = "fips", ignore = "the FIPS module does not continue a saved connection")]
fn key_update_requests_of_a_peer_that_does_not_read_use_no_memory() {
    let (client, server) = plain();
    let ends = Pair::new(&client, &server, NAME).connect().unwrap();
    let input = Arc::default();
    let deaf = WriteBlocked(Arc::clone(&input));
    let (mut asking, ours) = (ends.server.connection, ends.client);
    let mut stream = Stream::new(deaf, ours.connection, ours.received);
    let kept = allocation_counter::measure(|| {
        for _ in 0..2000 {
            let mut wire = Vec::new();
            asking.sender.update_key(true, &mut wire).unwrap();
            asking.sender.seal_to(b"x", &mut wire).unwrap();
            // A Tercel connection sends no second request before the first is answered, so the
            // record of the first request is removed.
            asking = without_pending_request(asking, &server);
            *input.lock().unwrap() = wire;
            assert_eq!(stream.read(&mut [0]).unwrap(), 1);
        }
    });
    assert!(kept.bytes_current < 10_000, "{} bytes are buffered", kept.bytes_current);
}

#[test]
fn a_server_that_requests_certificates_and_does_not_read_is_refused() {
    let curious = server().client_auth(ClientAuth::None, roots()).build().unwrap();
    let willing = client().post_handshake_auth(true).credential(credential(KINDS[0]));
    let ends = Pair::new(&willing.build().unwrap(), &curious, NAME).connect().unwrap();
    let input = Arc::default();
    let deaf = WriteBlocked(Arc::clone(&input));
    let (mut asking, ours) = (ends.server.connection, ends.client);
    let requester = asking.requester.take().unwrap();
    let mut stream = Stream::new(deaf, ours.connection, ours.received);
    let refused = (0..2000).find_map(|_| {
        let mut wire = Vec::new();
        let (sender, demand) = (&mut asking.sender, ClientAuth::Optional);
        sender.request_certificate(&requester, demand, &mut wire).unwrap();
        sender.seal_to(b"x", &mut wire).unwrap();
        *input.lock().unwrap() = wire;
        stream.read(&mut [0]).err()
    });
    let refused = refused.as_ref().and_then(io::Error::get_ref);
    let inner = refused.and_then(|inner| inner.downcast_ref::<Error>());
    assert_eq!(inner, Some(&PeerError::TooManyCertificateRequests.into()));
}

#[test]
fn answers_of_a_reader_are_flushed() {
    let mut ends = Pair::new(&plain().0, &plain().1, NAME).connect().unwrap();
    let mut wire = Vec::new();
    ends.server.connection.sender.update_key(true, &mut wire).unwrap();
    ends.server.connection.sender.seal_to(b"x", &mut wire).unwrap();
    let transport = BufferedTransport(io::Cursor::new(wire), BufWriter::new(Vec::new()));
    let mut stream = Stream::new(transport, ends.client.connection, ends.client.received);
    assert_eq!(stream.read(&mut [0]).unwrap(), 1);
    assert!(!stream.transport().1.get_ref().is_empty());
}

#[test]
fn tickets_that_a_client_does_not_read_at_once_are_sent_later() {
    let transport = SlowTransport {
        client: Handshake::client(plain().0, NAME.try_into().unwrap()),
        to_client: ReceiveBuffer::new(),
        from_client: Vec::new(),
        connection: None,
        takes: 10,
    };
    let mut stream = Handshake::server(plain().1).complete(transport).unwrap();
    assert_eq!(stream.transport().takes, 100);
    stream.write_all(b"data").unwrap();
    let SlowTransport { connection, mut to_client, .. } = stream.into_parts().ok().unwrap().0;
    match connection.unwrap().receiver.open(&mut to_client) {
        Ok(Opened::Data(data)) => assert_eq!(data, b"data"),
        other => panic!("{other:?}"),
    }
}

/// A client transport that accepts a few bytes after the handshake, and then no bytes for a short
/// time.
struct SlowTransport {
    client: Handshake,
    to_client: ReceiveBuffer,
    from_client: Vec<u8>,
    connection: Option<Box<Connection>>,
    takes: usize,
}

impl Read for SlowTransport {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.connection.is_none() {
            match self.client.advance(&mut self.to_client, &mut self.from_client).unwrap() {
                Next::Connected(connection) => self.connection = Some(connection),
                next => assert!(matches!(next, Next::Receive), "{next:?}"),
            }
        }
        let count = self.from_client.len().min(out.len());
        out[..count].copy_from_slice(&self.from_client[..count]);
        self.from_client.drain(..count);
        Ok(count)
    }
}

impl Write for SlowTransport {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut count = bytes.len();
        if self.connection.is_some() && self.takes < 100 {
            count = count.min(std::mem::replace(&mut self.takes, 0));
            if count == 0 {
                self.takes = 100;
                return Err(ErrorKind::TimedOut.into());
            }
        }
        self.to_client.extend(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the connection without the record of its key update request.
fn without_pending_request(connection: Connection, config: &ServerConfig) -> Connection {
    let mut bytes = connection.save().unwrap();
    // The fields before the link: format, side, version, suite; the sender's keys, sequence number,
    // updates, limit and padding.
    let link = 7 + 1 + usize::from(bytes[7]) + 8 + 8 + 2 + 2;
    assert_eq!(bytes[link..link + 4], [0, 0, 0, 16]);
    bytes[link + 3] = 0;
    let sum = bytes.len() - 16;
    let digest = Hash::digest(HashAlgorithm::Sha256, &[&bytes[..sum]]);
    bytes[sum..].copy_from_slice(&digest[..16]);
    Connection::restore_server(&bytes, config).unwrap()
}

/// A transport with data to read that accepts no writes.
struct WriteBlocked(Arc<Mutex<Vec<u8>>>);

impl Read for WriteBlocked {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut input = self.0.lock().unwrap();
        let count = input.len().min(out.len());
        out[..count].copy_from_slice(&input[..count]);
        input.drain(..count);
        Ok(count)
    }
}

impl Write for WriteBlocked {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(ErrorKind::WouldBlock.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A transport that buffers writes until it is flushed.
struct BufferedTransport(io::Cursor<Vec<u8>>, BufWriter<Vec<u8>>);

impl Read for BufferedTransport {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.0.read(out)
    }
}

impl Write for BufferedTransport {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.1.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.1.flush()
    }
}

/// A transport that accepts a few bytes in some calls, and has nothing to read.
struct StallingTransport {
    taken: Vec<u8>,
    calls: usize,
    error: ErrorKind,
}

impl Write for StallingTransport {
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

impl Read for StallingTransport {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(self.error.into())
    }
}

/// Returns a client's stream, and a thread that runs a function with the server's stream.
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

/// A blocking server reads only the stream, so the client sends early data again.
#[test]
fn a_stream_rejects_early_data() {
    let client = tls13_client();
    let config = server().early_data(1000, guard()).build().unwrap();
    visit(&client, &config);
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let served = thread::spawn(move || {
        let (transport, _) = listener.accept().unwrap();
        let mut stream = Handshake::server(config).complete(transport).unwrap();
        let mut read = [0; 5];
        stream.read_exact(&mut read).unwrap();
        stream.close_now().unwrap();
        read
    });
    let mut transport = TcpStream::connect(address).unwrap();
    let mut handshake = Handshake::client(client, NAME.try_into().unwrap());
    let mut out = Vec::new();
    assert!(matches!(handshake.advance(&mut ReceiveBuffer::new(), &mut out), Ok(Next::Receive)));
    handshake.early_sender().unwrap().seal_to(b"early", &mut out).unwrap();
    transport.write_all(&out).unwrap();
    let mut stream = handshake.complete(transport).unwrap();
    assert_eq!(stream.connection().info.early_data, EarlyData::Rejected);
    stream.write_all(b"again").unwrap();
    stream.flush().unwrap();
    assert_eq!(&served.join().unwrap(), b"again");
}

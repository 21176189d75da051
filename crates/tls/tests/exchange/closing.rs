//! The end of a blocking stream over sockets: what was written arrives although the peer's data is
//! unread, and the wait for the peer has limits.

use std::cell::Cell;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use tercel::Stream;
use tercel::closing::{HalfClose, MAX_DRAIN_TIME, MAX_DRAINED_BYTES};

use crate::fixtures::{NAME, client, server};

/// A client and a server, connected over loopback. The client has not read the server's tickets.
fn connected() -> [Stream<TcpStream>; 2] {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (far, _) = listener.accept().unwrap();
    let (client, server) = (client().build().unwrap(), server().build().unwrap());
    let accepted = thread::spawn(move || Stream::accept(&server, far).unwrap());
    let connected = Stream::connect(&client, NAME.try_into().unwrap(), near).unwrap();
    [connected, accepted.join().unwrap()]
}

fn pattern(length: u32) -> Vec<u8> {
    (0..length).map(|at| (at % 251).to_be_bytes()[3]).collect()
}

/// Reads slowly until the end, so that the writer ends while data is in transit.
fn read_slowly(mut stream: Stream<TcpStream>) -> io::Result<Vec<u8>> {
    let (mut all, mut part) = (Vec::new(), vec![0; 16 * 1024]);
    loop {
        match stream.read(&mut part)? {
            0 => return Ok(all),
            count => all.extend_from_slice(&part[..count]),
        }
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn an_upload_arrives_although_the_tickets_are_unread() {
    let data = pattern(8 << 20);
    let [mut client, server] = connected();
    let received = thread::spawn(move || read_slowly(server));
    client.write_all(&data).unwrap();
    client.close().unwrap();
    drop(client);
    assert!(received.join().unwrap().unwrap() == data);
}

#[test]
fn an_answer_arrives_although_requests_are_unread() {
    let answer = pattern(1 << 20);
    let [mut client, mut server] = connected();
    client.write_all(&[7; 64 * 1024]).unwrap();
    let received = thread::spawn(move || read_slowly(client));
    server.read_exact(&mut [0; 100]).unwrap();
    server.write_all(&answer).unwrap();
    server.close().unwrap();
    drop(server);
    assert!(received.join().unwrap().unwrap() == answer);
}

#[test]
fn a_peer_that_never_closes_is_waited_for_until_the_limit() {
    let [mut client, mut server] = connected();
    server.write_all(b"unread").unwrap();
    client.close().unwrap();
    let limit = client.transport().read_timeout().unwrap().unwrap();
    assert!(limit <= MAX_DRAIN_TIME * 2, "the last read was limited");
    // A repetition does not wait again, and the discarded data is not a silent gap.
    client.close().unwrap();
    assert_eq!(client.read(&mut [0; 10]).unwrap_err().kind(), ErrorKind::NotConnected);
    drop(server);
}

#[test]
fn data_can_be_read_after_close_now() {
    let [mut client, mut server] = connected();
    client.close_now().unwrap();
    server.write_all(b"late").unwrap();
    server.close_now().unwrap();
    let mut late = Vec::new();
    client.read_to_end(&mut late).unwrap();
    assert_eq!(late, b"late");
    // The peer has closed, so there is nothing to wait for.
    client.close().unwrap();
}

/// A socket that counts the bytes that are read after its writing side was closed, and that may
/// refuse to block.
struct Counting<'t> {
    socket: TcpStream,
    has_closed: bool,
    blocks: &'t Cell<bool>,
    drained: &'t Cell<usize>,
}

impl Read for Counting<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.blocks.get() {
            return Err(ErrorKind::WouldBlock.into());
        }
        let count = self.socket.read(out)?;
        if self.has_closed {
            self.drained.set(self.drained.get() + count);
        }
        Ok(count)
    }
}

impl Write for Counting<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

impl HalfClose for Counting<'_> {
    fn close_write(&mut self) -> io::Result<()> {
        self.has_closed = true;
        self.socket.close_write()
    }

    fn limit_reads(&mut self, limit: Duration) -> io::Result<()> {
        self.socket.limit_reads(limit)
    }
}

#[test]
fn a_peer_that_sends_forever_is_read_until_the_limit() {
    let [client, mut server] = connected();
    let flood = thread::spawn(move || while server.write_all(&[7; 16 * 1024]).is_ok() {});
    let (blocks, drained) = (Cell::new(true), Cell::new(0));
    let mut client = client.map_transport(|socket| Counting {
        socket,
        has_closed: false,
        blocks: &blocks,
        drained: &drained,
    });
    assert_eq!(client.close().unwrap_err().kind(), ErrorKind::WouldBlock);
    blocks.set(false);
    client.close().unwrap();
    let most = MAX_DRAINED_BYTES + 64 * 1024;
    assert!((MAX_DRAINED_BYTES..most).contains(&drained.get()), "{}", drained.get());
    drop(client);
    flood.join().unwrap();
}

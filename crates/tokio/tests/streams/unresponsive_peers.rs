//! Peers that do not read, and transports that accept nothing for a while.

use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use tercel::crypto::HashAlgorithm;
use tercel::{
    ClientConfig, Connection, Handshake, Next, Policy, ReceiveBuffer, ServerConfig,
    certificates::AcceptAnyPeer, server::ClientAuth,
};
use tercel_crypto::Hash;
use tercel_tokio::TlsStream;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};

use crate::support::{client, credential, name, server};

#[test]
fn a_peer_that_asks_for_key_updates_and_does_not_read_costs_no_memory() {
    let config = server().build().unwrap();
    let (near, mut far) = ends(client().build().unwrap(), &config, Transport::default());
    let mut near = Some(near);
    let mut ask = |far: &mut TlsStream<Transport>| {
        let mut asking = near.take().unwrap();
        let mut record = Vec::new();
        asking.sender.update_key(true, &mut record).unwrap();
        asking.sender.seal_to(b"x", &mut record).unwrap();
        // The real sender does not request again before the answer, so the pending request is
        // removed.
        near = Some(without_pending_key_update(asking, &config));
        read(far, &record)
    };
    // These streams fill the buffer pool of the thread.
    for _ in 0..2 {
        ask(&mut far).unwrap();
    }
    let asking = allocation_counter::measure(|| {
        for _ in 0..5000 {
            ask(&mut far).unwrap();
        }
    });
    assert!(asking.bytes_current < 10_000, "{} bytes are kept", asking.bytes_current);
}

#[test]
fn a_server_that_asks_for_certificates_and_does_not_read_is_refused() {
    let anyone = Policy::Here(Arc::new(AcceptAnyPeer) as _);
    let server = server().client_verifier(ClientAuth::None, anyone).build().unwrap();
    let client = client().post_handshake_auth(true).credential(credential()).build().unwrap();
    let (mut near, mut far) = ends(client, &server, Transport::default());
    let requester = near.requester.take().unwrap();
    let refused = (0..5000).find_map(|_| {
        let mut record = Vec::new();
        near.sender.request_certificate(&requester, ClientAuth::Optional, &mut record).unwrap();
        near.sender.seal_to(b"x", &mut record).unwrap();
        let error = read(&mut far, &record).err()?;
        Some(error.to_string())
    });
    assert!(refused.is_some_and(|error| error.contains("certificate")));
}

#[test]
fn a_reader_sends_what_a_cancelled_write_left() {
    let (_, mut far) =
        ends(client().build().unwrap(), &server().build().unwrap(), Transport::default());
    let written = once(far.write(b"sealed, so it is on its way"));
    assert_eq!(written.unwrap().unwrap(), 27);
    let counter = Arc::new(Counter::default());
    let waker = Waker::from(Arc::clone(&counter));
    assert!(pin!(far.flush()).poll(&mut Context::from_waker(&waker)).is_pending());
    // The task that flushed has ended, and another one reads.
    let reader = Arc::new(Counter::default());
    let waker = Waker::from(Arc::clone(&reader));
    let mut byte = [0];
    assert!(pin!(far.read(&mut byte)).poll(&mut Context::from_waker(&waker)).is_pending());
    far.transport().shared.open();
    assert!(reader.0.load(Ordering::SeqCst) > 0, "the reader is woken");
    assert!(counter.0.load(Ordering::SeqCst) > 0, "and so is the writer");
    assert!(pin!(far.read(&mut byte)).poll(&mut Context::from_waker(&waker)).is_pending());
    assert!(far.transport().shared.taken() > 27);
}

#[test]
fn the_reply_of_a_reader_is_flushed() {
    let config = server().build().unwrap();
    let transport = Transport::default();
    transport.shared.open();
    let (mut near, mut far) = ends(client().build().unwrap(), &config, transport);
    let mut record = Vec::new();
    near.sender.update_key(true, &mut record).unwrap();
    near.sender.seal_to(b"x", &mut record).unwrap();
    read(&mut far, &record).unwrap();
    let shared = &far.transport().shared;
    assert!(shared.taken() > 0);
    assert_eq!(shared.flushed.load(Ordering::SeqCst), shared.taken());
}

#[test]
fn long_writes_follow_a_write_that_was_sent_and_end_when_the_transport_blocks() {
    let (_, mut far) =
        ends(client().build().unwrap(), &server().build().unwrap(), Transport::default());
    let data = vec![7; 1 << 20];
    let write = |far: &mut TlsStream<Transport>| once(far.write(&data)).unwrap().unwrap();
    far.transport().shared.open();
    assert_eq!(write(&mut far), 64 << 10);
    assert_eq!(write(&mut far), 256 << 10);
    far.transport().shared.close();
    assert_eq!(write(&mut far), 256 << 10, "the transport has not blocked before this write");
    far.transport().shared.open();
    assert_eq!(write(&mut far), 64 << 10);
    assert_eq!(write(&mut far), 256 << 10);
}

/// The connection of a server, and the stream of a client over this transport.
fn ends(
    client: Arc<ClientConfig>,
    server: &Arc<ServerConfig>,
    transport: Transport,
) -> (Connection, TlsStream<Transport>) {
    let mut near = Handshake::server(Arc::clone(server));
    let mut far = Handshake::client(client, name());
    let (mut to_near, mut to_far) = (ReceiveBuffer::new(), ReceiveBuffer::new());
    let (mut near_connection, mut far_connection) = (None, None);
    while near_connection.is_none() {
        let mut wire = Vec::new();
        if far_connection.is_none() {
            if let Next::Connected(connection) = far.advance(&mut to_far, &mut wire).unwrap() {
                far_connection = Some(*connection);
            }
        }
        to_near.extend(&wire);
        wire.clear();
        if let Next::Connected(connection) = near.advance(&mut to_near, &mut wire).unwrap() {
            near_connection = Some(*connection);
        }
        to_far.extend(&wire);
    }
    (near_connection.unwrap(), TlsStream::new(transport, far_connection.unwrap(), to_far))
}

/// Reads one byte after these bytes have arrived.
fn read(stream: &mut TlsStream<Transport>, wire: &[u8]) -> io::Result<u8> {
    stream.transport().shared.input.lock().unwrap().extend_from_slice(wire);
    let mut byte = [0];
    once(stream.read(&mut byte)).unwrap_or_else(|| Err(io::ErrorKind::WouldBlock.into()))?;
    Ok(byte[0])
}

/// The same connection without a pending key update.
fn without_pending_key_update(connection: Connection, config: &ServerConfig) -> Connection {
    let mut bytes = connection.save().unwrap();
    // The saved bytes begin with format, side, version, suite; then the sender's keys, sequence
    // number, updates, limit and padding; then the link.
    let keys = usize::from(bytes[7]);
    let link = 7 + 1 + keys + 8 + 8 + 2 + 2;
    assert_eq!(bytes[link..link + 4], [0, 0, 0, 16]);
    bytes[link + 3] = 0;
    let sum = bytes.len() - 16;
    let digest = Hash::digest(HashAlgorithm::Sha256, &[&bytes[..sum]]);
    bytes[sum..].copy_from_slice(&digest[..16]);
    Connection::restore_server(&bytes, config).unwrap()
}

fn once<F: Future>(future: F) -> Option<F::Output> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

/// A transport with given input, which accepts no output until it is opened.
#[derive(Default)]
struct Transport {
    shared: Shared,
}

#[derive(Default)]
struct Shared {
    input: Mutex<Vec<u8>>,
    output: Mutex<Output>,
    flushed: AtomicUsize,
}

#[derive(Default)]
struct Output {
    open: bool,
    taken: usize,
    waker: Option<Waker>,
}

impl Shared {
    fn open(&self) {
        let mut output = self.output.lock().unwrap();
        output.open = true;
        if let Some(waker) = output.waker.take() {
            waker.wake();
        }
    }

    fn close(&self) {
        self.output.lock().unwrap().open = false;
    }

    fn taken(&self) -> usize {
        self.output.lock().unwrap().taken
    }
}

impl AsyncRead for Transport {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut input = self.shared.input.lock().unwrap();
        if input.is_empty() {
            return Poll::Pending;
        }
        let count = input.len().min(out.remaining());
        out.put_slice(&input[..count]);
        input.drain(..count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Transport {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut output = self.shared.output.lock().unwrap();
        if !output.open {
            output.waker = Some(context.waker().clone());
            return Poll::Pending;
        }
        output.taken += bytes.len();
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.shared.flushed.store(self.shared.taken(), Ordering::SeqCst);
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(context)
    }
}

/// A waker that counts its calls.
#[derive(Default)]
struct Counter(AtomicUsize);

impl Wake for Counter {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

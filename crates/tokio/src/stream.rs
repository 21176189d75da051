//! A connection over an asynchronous transport, as `AsyncRead + AsyncWrite`.
//!
//! Must not know: the protocol. Next: [`crate::incoming`], [`crate::outgoing`].

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tercel::{ClientAuth, ClientCertificate, Connection, Facts, Received};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::incoming::Incoming;
use crate::outgoing::Outgoing;
use crate::split::{SplitTransport, TlsReadHalf, TlsWriteHalf};

/// A TLS stream over anything that reads and writes.
///
/// A read gives 0 bytes after the peer's close_notify; an end of the transport without it is
/// [`io::ErrorKind::UnexpectedEof`], unless the configuration tolerates truncation.
/// A client that offers authentication after the handshake answers requests for it while it reads, by the
/// credentials of its configuration; questions are not answered.
/// Small writes are sent at once: join them in a vectored write, or put a `BufWriter` before them.
#[derive(Debug)]
pub struct TlsStream<T> {
    transport: T,
    connection: Connection,
    incoming: Incoming,
    outgoing: Outgoing,
    early_data: Vec<u8>,
    closing: bool,
}

impl<T> TlsStream<T> {
    /// Joins a connection with its transport. `received` holds what the handshake has read too far.
    #[must_use]
    pub fn new(transport: T, connection: Connection, received: Received) -> Self {
        Self {
            transport,
            connection,
            incoming: Incoming::new(received),
            outgoing: Outgoing::default(),
            early_data: Vec::new(),
            closing: false,
        }
    }

    /// Goes on with what a handshake has left to send, and the early data it has received.
    pub(crate) fn with_handshake(mut self, outgoing: Outgoing, early_data: Vec<u8>) -> Self {
        self.outgoing = outgoing;
        self.early_data = early_data;
        self
    }

    /// Sends what the transport takes now.
    pub(crate) fn send_some(&mut self, context: &mut Context<'_>)
    where
        T: AsyncWrite + Unpin,
    {
        let Self { transport, connection, outgoing, .. } = self;
        outgoing.send_some(&mut connection.sender, transport, context);
    }

    /// What was agreed.
    #[must_use]
    pub fn facts(&self) -> &Facts {
        &self.connection.facts
    }

    /// What was agreed, to take the peer's chain out of it.
    pub fn facts_mut(&mut self) -> &mut Facts {
        &mut self.connection.facts
    }

    /// The connection: exporters, and more.
    #[must_use]
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The transport.
    #[must_use]
    pub fn transport(&self) -> &T {
        &self.transport
    }

    /// Server: the early data that was accepted. Whoever recorded it can send it again, to another server
    /// or after the guard has forgotten: act on it only if doing so twice does no harm. It is
    /// never part of what is read. RFC 9846 8
    #[must_use]
    pub fn take_early_data(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.early_data)
    }

    /// Lets go of the memory that the connection can do without while nothing is sent or received: see
    /// [`Connection::park`]. Buffers it has none then anyway.
    pub fn park(&mut self) {
        self.connection.park();
    }

    /// Changes to the next sending key with the next flush or write, and asks the peer to do the same if
    /// `request` is set. RFC 9846 4.7.3
    ///
    /// # Errors
    /// [`tercel::Misuse::WrongVersion`] in TLS 1.2.
    pub fn update_key(&mut self, request: bool) -> io::Result<()> {
        self.outgoing.update_key(&mut self.connection.sender, request)
    }

    /// Server: asks for the client's certificate with the next flush or write; the answer comes with
    /// later reads, see [`Self::take_client_certificates`]. The context of the request. RFC 9846 4.7.2
    ///
    /// # Errors
    /// Those of [`Connection::request_certificate`].
    pub fn request_certificate(&mut self, demand: ClientAuth) -> io::Result<Vec<u8>> {
        let mut request = Vec::new();
        let context = self.connection.request_certificate(demand, &mut request);
        self.outgoing.push(&mut request);
        context.map_err(io::Error::from)
    }

    /// Server: asks for the client's certificate and waits for the answer (TLS 1.3). Data that comes
    /// before it is kept for the next reads, 256 KiB at most. With [`ClientAuth::Required`], a client
    /// that declines is refused. If this is dropped, the answer comes with later reads. RFC 9846 4.7.2
    ///
    /// A certificate that comes back is judged only if [`ClientCertificate::is_verified`] says so: where the
    /// configuration asks, that is left to the caller.
    ///
    /// # Errors
    /// Those of [`Connection::request_certificate`] and of the transport; if the client closes instead
    /// of answering, [`io::ErrorKind::UnexpectedEof`].
    pub async fn authenticate_client(&mut self, demand: ClientAuth) -> io::Result<ClientCertificate>
    where
        T: AsyncRead + AsyncWrite + Unpin,
    {
        let request = self.request_certificate(demand)?;
        poll_fn(|context| self.outgoing.poll_flush(&mut self.transport, context)).await?;
        poll_fn(|context| {
            let Self { transport, connection, incoming, outgoing, .. } = self;
            let Connection { sender, receiver, .. } = connection;
            incoming.poll_certificate(receiver, transport, context, &request, |io, context, _| {
                outgoing.send_some(sender, io, context);
                Ok(())
            })
        })
        .await
    }

    /// Server: the answers to requests for a certificate, as far as they came with what was read.
    #[must_use]
    pub fn take_client_certificates(&mut self) -> Vec<ClientCertificate> {
        self.incoming.take_certificates()
    }

    /// Two halves for two tasks, which share no lock. Call before there is early data to be lost:
    /// what was not taken is dropped.
    ///
    /// What the reading half finds it has to say (the answer to a key update, an alert) is sent by the
    /// writing half, with its next write, flush or shutdown. A server's request for a certificate after
    /// the handshake cannot be answered then, and ends reading with [`io::ErrorKind::Unsupported`].
    #[must_use]
    pub fn into_split(self) -> (TlsReadHalf<T::Read>, TlsWriteHalf<T::Write>)
    where
        T: SplitTransport,
    {
        let Self { transport, connection, incoming, outgoing, closing, .. } = self;
        let (read, write) = transport.split();
        let Connection { sender, receiver, facts, exporter, .. } = connection;
        (
            TlsReadHalf::new(read, receiver, incoming, facts, exporter),
            TlsWriteHalf::new(write, sender, outgoing, closing),
        )
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> AsyncRead for TlsStream<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { transport, connection, incoming, outgoing, .. } = self.get_mut();
        let Connection { sender, receiver, .. } = connection;
        incoming.poll_read(receiver, transport, context, out, |transport, context, requests| {
            let answered = outgoing.authenticate(sender, requests);
            outgoing.send_some(sender, transport, context);
            answered
        })
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> AsyncWrite for TlsStream<T> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        plaintext: &[u8],
    ) -> Poll<io::Result<usize>> {
        let Self { transport, connection, outgoing, .. } = self.get_mut();
        outgoing.poll_write(&mut connection.sender, transport, context, plaintext)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let Self { transport, connection, outgoing, .. } = self.get_mut();
        outgoing.poll_write_vectored(&mut connection.sender, transport, context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { transport, connection, outgoing, .. } = self.get_mut();
        outgoing.poll_flush_all(&mut connection.sender, transport, context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { transport, connection, outgoing, closing, .. } = self.get_mut();
        if !*closing {
            *closing = true;
            outgoing.close(&mut connection.sender)?;
        }
        ready!(outgoing.poll_send(transport, context))?;
        Pin::new(transport).poll_shutdown(context)
    }
}

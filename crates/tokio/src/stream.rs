//! A TLS connection over an asynchronous transport, as `AsyncRead + AsyncWrite`.

use std::fmt;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

use tercel::{
    Connection, ConnectionInfo, ReceiveBuffer,
    closing::{MAX_DRAIN_TIME, MAX_DRAINED_BYTES},
    server::{ClientAuth, ClientCertificate},
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use crate::incoming::Incoming;
use crate::outgoing::{Outgoing, WakeBoth};
use crate::split::{SplitTransport, TlsReadHalf, TlsWriteHalf};
use crate::timer::make_timer;

/// A TLS stream over an asynchronous transport.
///
/// A read returns 0 bytes after the peer's close_notify; if the transport closes without it, the
/// error is [`io::ErrorKind::UnexpectedEof`], unless the configuration tolerates truncation. A
/// client that offers post-handshake authentication answers certificate requests while it reads,
/// with the credentials of its configuration, but without asking questions. Small writes are sent
/// at once: combine them in a vectored write, or use a `BufWriter`.
///
/// [`Self::close`] delivers what was written. Dropping a stream without it is an abort: the peer
/// gets no close_notify, and if received bytes are unread, the operating system may reset the
/// connection and discard data that was written before. The same holds after
/// [`AsyncWriteExt::shutdown`](tokio::io::AsyncWriteExt::shutdown), which is [`Self::close_now`].
///
/// ```
/// use tercel_tokio::TlsStream;
/// use tokio::io::{AsyncReadExt, AsyncWriteExt};
/// use tokio::net::TcpStream;
///
/// async fn echo(mut stream: TlsStream<TcpStream>) -> std::io::Result<()> {
///     println!("{}", stream.info().version);
///     let mut data = vec![0; 4096];
///     loop {
///         match stream.read(&mut data).await? {
///             0 => return stream.close().await,
///             count => stream.write_all(&data[..count]).await?,
///         }
///     }
/// }
/// ```
pub struct TlsStream<T> {
    transport: T,
    connection: Connection,
    incoming: Incoming,
    outgoing: Outgoing,
    /// `None` as long as no close has begun, and no shutdown will wait for the peer.
    closing: Option<Box<Closing>>,
}

/// The state of [`TlsStream::close`], and of a shutdown that waits for the peer.
#[derive(Default)]
struct Closing {
    /// Whether a shutdown waits.
    shutdown_waits: bool,
    /// The wait for the peer, after the writing side was closed.
    wait: Option<Wait>,
    /// Whether the wait discards received data, so that later reads fail.
    discards: bool,
    /// The task that reads while another one shuts down: both wait for the transport, which wakes
    /// only one of them.
    reader: Option<Waker>,
}

/// The rest of the limits of a wait for the peer.
struct Wait {
    bytes: usize,
    /// `None` in a runtime without timers.
    timer: Option<Pin<Box<Sleep>>>,
    has_ended: bool,
}

impl<T> TlsStream<T> {
    /// Combines a connection with its transport. `received` holds bytes that arrived after the end
    /// of the handshake.
    #[must_use]
    pub fn new(transport: T, connection: Connection, received: ReceiveBuffer) -> Self {
        Self {
            transport,
            connection,
            incoming: Incoming::new(received),
            outgoing: Outgoing::default(),
            closing: None,
        }
    }

    /// Adds the handshake's unsent records, and the early data that it received.
    pub(crate) fn with_handshake(mut self, outgoing: Outgoing, early_data: Vec<u8>) -> Self {
        self.outgoing = outgoing;
        self.incoming.early_data = early_data;
        self
    }

    /// Sends as much as the transport accepts now.
    pub(crate) fn try_send(&mut self, context: &mut Context<'_>)
    where
        T: AsyncWrite + Unpin,
    {
        let Self { transport, connection, outgoing, .. } = self;
        outgoing.try_send(&mut connection.sender, transport, context);
    }

    /// The negotiated parameters.
    #[must_use]
    pub fn info(&self) -> &ConnectionInfo {
        &self.connection.info
    }

    /// The negotiated parameters, mutable so that the peer's certificate chain can be taken out.
    pub fn info_mut(&mut self) -> &mut ConnectionInfo {
        &mut self.connection.info
    }

    /// The connection, for exporters and more.
    #[must_use]
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The transport.
    #[must_use]
    pub fn transport(&self) -> &T {
        &self.transport
    }

    /// The transport, to change its settings. Bytes must not be read from it or written to it.
    pub fn transport_mut(&mut self) -> &mut T {
        &mut self.transport
    }

    /// Closes the connection so that the peer receives all that was written: sends buffered data
    /// and close_notify, closes the transport for writing, and discards received data until the
    /// peer closes, but for at most [`MAX_DRAIN_TIME`] and [`MAX_DRAINED_BYTES`]. RFC 9846 6.1
    ///
    /// Read the peer's data before this call; later reads fail. To close without waiting, or to
    /// read afterwards, use [`Self::close_now`]. In a runtime without timers, only data that has
    /// already arrived is discarded.
    ///
    /// # Errors
    /// Errors of the transport while sending. An error while waiting for the peer only ends the
    /// wait.
    pub async fn close(&mut self) -> io::Result<()>
    where
        T: AsyncRead + AsyncWrite + Unpin,
    {
        poll_fn(|context| self.poll_close(context, true)).await
    }

    /// Sends buffered data and close_notify, and closes the transport for writing, without waiting
    /// for the peer. Reading continues until the peer closes too.
    ///
    /// If the transport is a socket and is dropped with received bytes unread, the operating system
    /// may reset the connection, and data that was written before may be lost. Read until the end
    /// first, or use [`Self::close`].
    ///
    /// # Errors
    /// Errors of the transport.
    pub async fn close_now(&mut self) -> io::Result<()>
    where
        T: AsyncRead + AsyncWrite + Unpin,
    {
        poll_fn(|context| self.poll_close_now(context)).await
    }

    /// Sets whether [`AsyncWrite::poll_shutdown`] waits for the peer like [`Self::close`]. Default:
    /// off; it is [`Self::close_now`]. This is for servers and clients that shut a stream down and
    /// drop it, such as those of hyper.
    ///
    /// Data that arrives during the wait is kept, [`MAX_DRAINED_BYTES`] at most, and can be read
    /// meanwhile and afterwards: a tunnel, such as an upgraded connection of HTTP, shuts one
    /// direction down and continues to read.
    pub fn set_shutdown_waits(&mut self, on: bool) {
        if on || self.closing.is_some() {
            self.closing.get_or_insert_default().shutdown_waits = on;
        }
    }

    fn poll_close_now(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>>
    where
        T: AsyncWrite + Unpin,
    {
        let Self { transport, connection, outgoing, .. } = self;
        outgoing.poll_shutdown(&mut connection.sender, transport, context)
    }

    fn poll_close(&mut self, context: &mut Context<'_>, discards: bool) -> Poll<io::Result<()>>
    where
        T: AsyncRead + AsyncWrite + Unpin,
    {
        if self.closing.as_ref().is_none_or(|closing| closing.wait.is_none()) {
            ready!(self.poll_close_now(context))?;
        }
        let Self { transport, connection, incoming, closing, .. } = self;
        let Closing { wait, discards: has_discarded, reader, .. } =
            closing.get_or_insert_default().as_mut();
        let wait = wait.get_or_insert_with(|| {
            let timer = make_timer(|| Box::pin(sleep(MAX_DRAIN_TIME)));
            Wait { bytes: MAX_DRAINED_BYTES, timer, has_ended: false }
        });
        *has_discarded |= discards;
        if !wait.has_ended {
            let reader = reader.as_ref().filter(|reader| !reader.will_wake(context.waker()));
            let both = reader.map(|reader| WakeBoth::waker(reader, context.waker()));
            let before = wait.bytes;
            let polled = incoming.poll_rest(
                &mut connection.receiver,
                transport,
                &mut Context::from_waker(both.as_ref().unwrap_or_else(|| context.waker())),
                &mut wait.bytes,
                *has_discarded,
            );
            if let Some(reader) = reader.filter(|_| polled.is_ready() || wait.bytes < before) {
                reader.wake_by_ref();
            }
            if let (true, Some(timer)) = (polled.is_pending(), &mut wait.timer) {
                ready!(timer.as_mut().poll(context));
            }
            wait.has_ended = true;
            wait.timer = None;
        }
        Poll::Ready(Ok(()))
    }

    /// Whether bytes of the peer have been received that no read has returned yet: data that did
    /// not fit into the buffer of a read, or a record that is not complete.
    #[must_use]
    pub fn has_unread(&self) -> bool {
        self.incoming.has_unread()
    }

    /// Server: takes the accepted early data, which is not part of the data that is read, and which
    /// precedes it: until then, reading fails with [`io::ErrorKind::InvalidInput`], so that the
    /// beginning of the client's data is not lost. [`crate::Acceptor::without_early_data`] is for
    /// servers that do not call this method.
    ///
    /// An attacker who recorded early data can send it again, to another server or after the replay
    /// guard has dropped its entry: process it only if doing so twice is harmless. RFC 9846 8
    #[must_use]
    pub fn take_early_data(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.incoming.early_data)
    }

    /// Frees memory that the connection does not need while it is idle: see [`Connection::park`].
    /// An idle stream has no buffers in any case.
    pub fn park(&mut self) {
        self.connection.park();
    }

    /// Updates the sending key with the next flush or write, and asks the peer to do the same if
    /// `request` is set. RFC 9846 4.7.3
    ///
    /// # Errors
    /// [`Misuse::WrongVersion`](tercel::error::Misuse::WrongVersion) in TLS 1.2.
    pub fn update_key(&mut self, request: bool) -> io::Result<()> {
        self.outgoing.update_key(&mut self.connection.sender, request)
    }

    /// Server: requests the client's certificate with the next flush or write. The answer arrives
    /// with later reads, see [`Self::take_client_certificates`]. Returns the context of the
    /// request. RFC 9846 4.7.2
    ///
    /// # Errors
    /// The errors of [`Connection::request_certificate`] and of
    /// [`check_verifies`](tercel::server::CertificateRequester::check_verifies).
    pub fn request_certificate(&mut self, demand: ClientAuth) -> io::Result<Vec<u8>> {
        if let Some(requester) = &self.connection.requester {
            requester.check_verifies()?;
        }
        let mut request = Vec::new();
        let context = self.connection.request_certificate(demand, &mut request);
        self.outgoing.push(&mut request);
        context.map_err(io::Error::from)
    }

    /// Server: requests the client's certificate and waits for the answer (TLS 1.3). Data that
    /// arrives before the answer is kept for the next reads, 256 KiB at most. With
    /// [`ClientAuth::Required`], a client that declines is refused. If the future is dropped, the
    /// answer arrives with later reads. RFC 9846 4.7.2
    ///
    /// The certificate was verified. A stream asks no questions, and has no
    /// [`Answers`](crate::Answers), which are for handshakes: with a verifier that is
    /// [`tercel::Policy::Ask`], nothing is requested. A server that authenticates clients after the
    /// handshake needs a verifier that decides at once.
    ///
    /// # Errors
    /// The errors of [`Self::request_certificate`] and of the transport;
    /// [`io::ErrorKind::UnexpectedEof`] if the client closes instead of answering.
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
                outgoing.try_send(sender, io, context);
                Ok(())
            })
        })
        .await
    }

    /// Server: takes the client certificates that arrived with the data read so far.
    #[must_use]
    pub fn take_client_certificates(&mut self) -> Vec<ClientCertificate> {
        self.incoming.take_certificates()
    }

    /// Splits the stream into halves for two tasks, which share no lock. Take early data before
    /// this call; otherwise the reading half fails.
    ///
    /// Replies that a read causes (to a key update, or an alert) are sent by the writing half, with
    /// its next write, flush or shutdown. A shutdown does not wait for the peer: before the halves
    /// are dropped, read until the end. After this call, a client cannot answer a server's
    /// request for a certificate after the handshake. Such a request ends reading with
    /// [`io::ErrorKind::Unsupported`].
    #[must_use]
    pub fn into_split(self) -> (TlsReadHalf<T::Read>, TlsWriteHalf<T::Write>)
    where
        T: SplitTransport,
    {
        let Self { transport, connection, incoming, outgoing, .. } = self;
        let (read, write) = transport.split();
        let Connection { sender, receiver, info, exporter, .. } = connection;
        (
            TlsReadHalf { transport: read, receiver, incoming, info, exporter },
            TlsWriteHalf { transport: write, sender, outgoing },
        )
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> AsyncRead for TlsStream<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { transport, connection, incoming, outgoing, closing, .. } = self.get_mut();
        if let Some(closing) = closing {
            if closing.discards {
                // Data was discarded, so a read must not look like the end of the peer's data.
                return Poll::Ready(Err(io::ErrorKind::NotConnected.into()));
            }
            closing.set_reader(context.waker());
        }
        let Connection { sender, receiver, .. } = connection;
        incoming.poll_read(receiver, transport, context, out, |transport, context, requests| {
            let answered = outgoing.authenticate(sender, requests);
            outgoing.try_send(sender, transport, context);
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
        let this = self.get_mut();
        if this.closing.as_ref().is_some_and(|closing| closing.shutdown_waits) {
            this.poll_close(context, false)
        } else {
            this.poll_close_now(context)
        }
    }
}

impl Closing {
    fn set_reader(&mut self, waker: &Waker) {
        if !self.reader.as_ref().is_some_and(|reader| reader.will_wake(waker)) {
            self.reader = Some(waker.clone());
        }
    }
}

/// Omits early data and other plaintext.
impl<T: fmt::Debug> fmt::Debug for TlsStream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsStream")
            .field("transport", &self.transport)
            .field("connection", &self.connection)
            .finish_non_exhaustive()
    }
}

//! The reading side of a stream: from the transport through the receiver into the buffer of the
//! reader.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tercel::{
    Filled, Opened, ReceiveBuffer, Receiver, client::CertificateRequested,
    server::ClientCertificate,
};
use tokio::io::{AsyncRead, ReadBuf};

use crate::pool;

/// Received data that has not been read yet.
#[derive(Default)]
pub(crate) struct Incoming {
    /// Server: early data that the application has not taken. It precedes what is read.
    pub(crate) early_data: Vec<u8>,
    /// The received bytes: in a buffer from the pool, or in a buffer of exactly the needed size
    /// while the transport has no more data.
    received: Option<ReceiveBuffer>,
    /// Plaintext of a record that did not fit into the buffer of the reader.
    plaintext: Vec<u8>,
    consumed: usize,
    post_handshake: Option<Box<PostHandshakeAuth>>,
}

/// State of post-handshake authentication. RFC 9846 4.7.2
#[derive(Default)]
struct PostHandshakeAuth {
    /// Client: requests that `on_records` has to answer.
    requests: Vec<CertificateRequested>,
    /// Server: certificates that have not been collected yet.
    certificates: Vec<ClientCertificate>,
    /// The reason why a request could not be answered. A read reports it after the earlier data.
    failed: Option<io::Error>,
}

impl Incoming {
    /// Makes the reading side, with bytes that arrived after the end of the handshake.
    pub(crate) fn new(received: ReceiveBuffer) -> Self {
        let received = (!received.is_empty()).then_some(received);
        Self {
            early_data: Vec::new(),
            received,
            plaintext: Vec::new(),
            consumed: 0,
            post_handshake: None,
        }
    }

    /// Fills `out` with available data, or waits for the transport. `on_records` is called
    /// whenever the receiver has processed records, which may require a reply.
    pub(crate) fn poll_read<T: AsyncRead + Unpin>(
        &mut self,
        receiver: &mut Receiver,
        transport: &mut T,
        context: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
        on_records: impl FnMut(&mut T, &mut Context<'_>, Requests) -> io::Result<()>,
    ) -> Poll<io::Result<()>> {
        if out.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        if !self.early_data.is_empty() {
            let reason = "early data was not taken: see TlsStream::take_early_data";
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidInput, reason)));
        }
        if self.drain_plaintext(out) {
            return Poll::Ready(Ok(()));
        }
        let open = |incoming: &mut Self, receiver: &mut Receiver, received: &mut ReceiveBuffer| {
            incoming.open(receiver, received, out)
        };
        self.poll_open(receiver, transport, context, open, on_records)
    }

    /// Waits until the client has answered the request with this context. Data that arrives first
    /// is kept for later reads.
    pub(crate) fn poll_certificate<T: AsyncRead + Unpin>(
        &mut self,
        receiver: &mut Receiver,
        transport: &mut T,
        context: &mut Context<'_>,
        request: &[u8],
        on_records: impl FnMut(&mut T, &mut Context<'_>, Requests) -> io::Result<()>,
    ) -> Poll<io::Result<ClientCertificate>> {
        let open = |incoming: &mut Self, receiver: &mut Receiver, received: &mut ReceiveBuffer| {
            while incoming.position_of(request).is_none() {
                if incoming.plaintext.len() > MAX_BUFFERED_PLAINTEXT {
                    return Err(io::Error::other("too much data before the client's certificate"));
                }
                match receiver.open(received)? {
                    Opened::Closed => return Err(io::ErrorKind::UnexpectedEof.into()),
                    Opened::More => return Ok(Step::More),
                    opened => incoming.keep(opened),
                }
            }
            Ok(Step::Done)
        };
        ready!(self.poll_open(receiver, transport, context, open, on_records))?;
        let position = self.position_of(request);
        let found = self.post_handshake.as_mut().zip(position);
        let found = found
            .map(|(post_handshake, position)| post_handshake.certificates.swap_remove(position));
        // The transport may have closed without close_notify, if the configuration permits that.
        Poll::Ready(found.ok_or_else(|| io::ErrorKind::UnexpectedEof.into()))
    }

    /// Server: the certificates that have arrived.
    pub(crate) fn take_certificates(&mut self) -> Vec<ClientCertificate> {
        self.take(|post_handshake| &mut post_handshake.certificates)
    }

    /// Takes a part of the state of post-handshake authentication, if there is such state.
    fn take<P: Default>(&mut self, part: impl FnOnce(&mut PostHandshakeAuth) -> &mut P) -> P {
        self.post_handshake.as_deref_mut().map(part).map(std::mem::take).unwrap_or_default()
    }

    fn position_of(&self, request: &[u8]) -> Option<usize> {
        let mut certificates = self.post_handshake.as_ref()?.certificates.iter();
        certificates.position(|certificate| certificate.context() == request)
    }

    /// Calls `open` with received bytes, and reads more bytes from the transport, until `open` is
    /// done.
    fn poll_open<T: AsyncRead + Unpin>(
        &mut self,
        receiver: &mut Receiver,
        transport: &mut T,
        context: &mut Context<'_>,
        mut open: impl FnMut(&mut Self, &mut Receiver, &mut ReceiveBuffer) -> io::Result<Step>,
        mut on_records: impl FnMut(&mut T, &mut Context<'_>, Requests) -> io::Result<()>,
    ) -> Poll<io::Result<()>> {
        loop {
            let mut received = self.received.take().unwrap_or_else(pool::take_received);
            let step = open(self, receiver, &mut received);
            let requests = self.take(|post_handshake| &mut post_handshake.requests);
            if let Err(error) = on_records(transport, context, requests) {
                self.post_handshake().failed = Some(error);
            }
            let ended = match step {
                Ok(Step::Done) => Some(Ok(())),
                Ok(Step::More) => self.take(|post_handshake| &mut post_handshake.failed).map(Err),
                Err(error) => {
                    // Only one of two errors is reported.
                    drop(self.take(|post_handshake| &mut post_handshake.failed));
                    Some(Err(error))
                }
            };
            if let Some(result) = ended {
                self.keep_or_return(received);
                return Poll::Ready(result);
            }
            let mut spare = ReadBuf::new(received.spare());
            let polled = Pin::new(&mut *transport).poll_read(context, &mut spare);
            let count = spare.filled().len();
            received.filled(count);
            match polled {
                Poll::Ready(Ok(())) if count > 0 => self.received = Some(received),
                Poll::Ready(Ok(())) => {
                    self.keep_or_return(received);
                    return Poll::Ready(receiver.end_of_input().map_err(io::Error::from));
                }
                Poll::Ready(Err(error)) => {
                    self.keep_or_return(received);
                    return Poll::Ready(Err(error));
                }
                Poll::Pending => {
                    self.shrink_to_unread(received);
                    return Poll::Pending;
                }
            }
        }
    }

    /// Whether there are received bytes that no read has returned.
    pub(crate) fn has_unread(&self) -> bool {
        let received = self.received.as_ref().is_some_and(|received| !received.is_empty());
        received || !self.plaintext.is_empty()
    }

    /// Receives until the peer closes or `left` bytes were received. The data is kept for later
    /// reads, or discarded. An error of the transport, an alert, and records that are not valid end
    /// the wait, too.
    pub(crate) fn poll_rest<T: AsyncRead + Unpin>(
        &mut self,
        receiver: &mut Receiver,
        transport: &mut T,
        context: &mut Context<'_>,
        left: &mut usize,
        discards: bool,
    ) -> Poll<()> {
        if discards {
            self.plaintext = Vec::new();
            self.consumed = 0;
        }
        loop {
            let mut received = self.received.take().unwrap_or_else(pool::take_received);
            let has_closed = loop {
                match receiver.open(&mut received) {
                    Ok(Opened::More) => break false,
                    Ok(Opened::Closed) | Err(_) => break true,
                    Ok(opened) if !discards => self.keep(opened),
                    Ok(Opened::Data(data)) => tercel_crypto::wipe(data),
                    Ok(_) => {}
                }
            };
            if has_closed || *left == 0 {
                self.keep_or_return(received);
                return Poll::Ready(());
            }
            let mut spare = ReadBuf::new(received.spare());
            let polled = Pin::new(&mut *transport).poll_read(context, &mut spare);
            let count = spare.filled().len();
            received.filled(count);
            *left = left.saturating_sub(count);
            if polled.is_pending() {
                self.shrink_to_unread(received);
                return Poll::Pending;
            }
            self.keep_or_return(received);
            if count == 0 {
                return Poll::Ready(());
            }
        }
    }

    /// Opens records into `out` while a complete record is available and fits.
    fn open(
        &mut self,
        receiver: &mut Receiver,
        received: &mut ReceiveBuffer,
        out: &mut ReadBuf<'_>,
    ) -> io::Result<Step> {
        let mut some = false;
        loop {
            // If data has been read by this call, the next read reports the error.
            let filled = match receiver.open_into(received, out.initialize_unfilled()) {
                Err(_) if some => return Ok(Step::Done),
                other => other?,
            };
            match filled {
                Filled::Data(count) => {
                    out.advance(count);
                    some = true;
                }
                Filled::TooSmall if some => return Ok(Step::Done),
                Filled::TooSmall => {
                    if self.open_in_place(receiver, received)? {
                        self.drain_plaintext(out);
                        return Ok(Step::Done);
                    }
                }
                Filled::More => return Ok(if some { Step::Done } else { Step::More }),
                // These messages do not end the read: an empty read means the end of the stream.
                Filled::CertificateRequested(request) => {
                    self.post_handshake().requests.push(request);
                }
                Filled::ClientCertificate(answer) => {
                    self.post_handshake().certificates.push(answer);
                }
                // The stream was closed, or streams do not support this kind of record.
                _ => return Ok(Step::Done),
            }
        }
    }

    /// Opens one record in place and keeps its plaintext; `false` if the record had none.
    fn open_in_place(
        &mut self,
        receiver: &mut Receiver,
        received: &mut ReceiveBuffer,
    ) -> io::Result<bool> {
        let opened = receiver.open(received)?;
        let is_data = matches!(opened, Opened::Data(_));
        self.keep(opened);
        Ok(is_data)
    }

    fn keep(&mut self, opened: Opened<'_>) {
        match opened {
            Opened::Data(data) => {
                self.plaintext.extend_from_slice(data);
                // The data is wiped, because another stream may get the buffer.
                tercel_crypto::wipe(data);
            }
            Opened::CertificateRequested(request) => self.post_handshake().requests.push(request),
            Opened::ClientCertificate(answer) => self.post_handshake().certificates.push(answer),
            _ => {}
        }
    }

    fn post_handshake(&mut self) -> &mut PostHandshakeAuth {
        self.post_handshake.get_or_insert_default()
    }

    /// Copies kept plaintext to `out`. Returns `false` if no plaintext is kept.
    fn drain_plaintext(&mut self, out: &mut ReadBuf<'_>) -> bool {
        let rest = self.plaintext.get(self.consumed..).unwrap_or_default();
        if rest.is_empty() {
            return false;
        }
        let now = rest.get(..out.remaining()).unwrap_or(rest);
        out.put_slice(now);
        self.consumed += now.len();
        if self.consumed == self.plaintext.len() {
            self.plaintext = Vec::new();
            self.consumed = 0;
        }
        true
    }

    /// Keeps the buffer if it has unread bytes, otherwise returns it to the pool. The bytes of a
    /// buffer of exact size are moved to a pool buffer, because more data may follow at once and
    /// the exact size fits only one record.
    fn keep_or_return(&mut self, received: ReceiveBuffer) {
        if received.is_empty() {
            pool::return_received(received);
        } else if pool::is_pooled(&received) {
            self.received = Some(received);
        } else {
            let mut pooled = pool::take_received();
            pooled.extend(received.unread());
            self.received = Some(pooled);
        }
    }

    /// Moves a partial record to a buffer of exact size, because the transport has no more data
    /// now.
    fn shrink_to_unread(&mut self, received: ReceiveBuffer) {
        if received.is_empty() {
            pool::return_received(received);
            return;
        }
        let mut kept = ReceiveBuffer::with_capacity(received.unread().len());
        kept.extend(received.unread());
        self.received = Some(kept);
    }
}

/// Requests for the certificate of the client.
pub(crate) type Requests = Vec<CertificateRequested>;

/// The maximum amount of plaintext that is kept while waiting for a client's certificate.
const MAX_BUFFERED_PLAINTEXT: usize = 1 << 18;

enum Step {
    /// Data was read, or the stream ended.
    Done,
    /// More bytes are needed from the transport.
    More,
}

impl Drop for Incoming {
    fn drop(&mut self) {
        if let Some(received) = self.received.take() {
            pool::return_received(received);
        }
    }
}

impl std::fmt::Debug for Incoming {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Incoming").finish_non_exhaustive()
    }
}

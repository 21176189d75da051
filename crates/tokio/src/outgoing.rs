//! The writing side of a stream: from the buffer of the writer through the sender into the
//! transport.
//!
//! Data must not be sealed twice. If the transport does not accept all sealed records at once, the
//! rest is kept and sent before the next ones, so a write may be cancelled at any moment.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker, ready};

use tercel::{
    Error, Sender,
    client::CertificateRequested,
    error::{InternalError, PeerError},
};
use tokio::io::AsyncWrite;

use crate::pool;

/// Sealed records that the transport has not accepted yet.
#[derive(Default)]
pub(crate) struct Outgoing {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// Whether there are records that a read caused, such as an alert. They are flushed by the
    /// read, since the application may not write again.
    urgent: bool,
    /// Whether close_notify was appended.
    closing: bool,
    /// Whether up to [`pool::LONG_PIECE`] bytes are sealed at once, because the transport has taken
    /// all records of the last write. Fewer and longer writes to a socket take less time, but a
    /// transport that blocks holds their records.
    long: bool,
    /// The wakers of the reader and of the writer that last waited for the transport.
    waiting: [Option<Waker>; 2],
}

const READER: usize = 0;
const WRITER: usize = 1;

/// The length from which on the first slice of a vectored write is written by itself.
const LARGE_SLICE: usize = 8 * 1024;

/// The maximum number of unsent bytes at which certificate requests are still answered.
const MAX_UNSENT: usize = 1 << 18;

impl Outgoing {
    fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Seals bytes from the start of `plaintext` and sends them. Returns the number of sealed
    /// bytes.
    pub(crate) fn poll_write<T: AsyncWrite + Unpin>(
        &mut self,
        sender: &mut Sender,
        transport: &mut T,
        context: &mut Context<'_>,
        plaintext: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_send(transport, context))?;
        if plaintext.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let most = if self.long { pool::LONG_PIECE } else { pool::SHORT_PIECE };
        let piece = plaintext.get(..most).unwrap_or(plaintext);
        let mut buffer = pool::take_bytes(piece);
        let sealed = sender.seal(piece, &mut buffer);
        let written = sealed.map_or(0, |sealed| sealed.written);
        self.keep(buffer, written);
        // Sealed bytes count as written: the rest is sent before the next data.
        let sent = self.poll_send(transport, context);
        self.long = sent.is_ready() && (self.long || piece.len() == most);
        let sealed = sealed?;
        if let Poll::Ready(Err(error)) = sent {
            return Poll::Ready(Err(error));
        }
        if sealed.consumed == 0 {
            // The sender has sent an alert and is closed.
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        Poll::Ready(Ok(sealed.consumed))
    }

    /// Like [`Self::poll_write`] for several slices; small ones share a record.
    pub(crate) fn poll_write_vectored<T: AsyncWrite + Unpin>(
        &mut self,
        sender: &mut Sender,
        transport: &mut T,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut filled = slices.iter().filter(|slice| !slice.is_empty());
        let Some(first) = filled.next() else {
            return self.poll_write(sender, transport, context, &[]);
        };
        if first.len() >= LARGE_SLICE || filled.next().is_none() {
            return self.poll_write(sender, transport, context, first);
        }
        ready!(self.poll_send(transport, context))?;
        let most = sender.max_fragment();
        let mut joined = Vec::with_capacity(most);
        for slice in slices {
            let room = most.saturating_sub(joined.len());
            joined.extend_from_slice(slice.get(..room).unwrap_or(slice));
        }
        let result = self.poll_write(sender, transport, context, &joined);
        tercel_crypto::wipe(&mut joined);
        result
    }

    /// Appends pending control messages, such as key updates and alerts.
    pub(crate) fn control(&mut self, sender: &mut Sender) -> io::Result<()> {
        self.append(|out| sender.control(out))
    }

    /// Appends a key update. RFC 9846 4.7.3
    pub(crate) fn update_key(&mut self, sender: &mut Sender, request: bool) -> io::Result<()> {
        self.append(|out| sender.update_key(request, out))
    }

    /// Appends answers to the server's requests for a client certificate, with the credentials of
    /// the configuration. Fails if a server sends many requests without reading the answers.
    /// RFC 9846 4.7.2
    pub(crate) fn authenticate(
        &mut self,
        sender: &mut Sender,
        requests: Vec<CertificateRequested>,
    ) -> io::Result<()> {
        for request in requests {
            if self.end.saturating_sub(self.start) > MAX_UNSENT {
                return Err(Error::from(PeerError::TooManyCertificateRequests).into());
            }
            let answered = self.append(|out| {
                let credential = request.select()?;
                match sender.authenticate(request, credential.as_ref(), out) {
                    // A closed sender cannot answer; reading continues.
                    Err(Error::Internal(InternalError::Closed)) => Ok(()),
                    other => other,
                }
            });
            answered?;
        }
        Ok(())
    }

    /// Sends pending records; ready when all were accepted.
    pub(crate) fn poll_send<T: AsyncWrite + Unpin>(
        &mut self,
        transport: &mut T,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        self.poll_for(WRITER, context, |this, context| this.poll_send_for(transport, context))
    }

    /// Sends pending records, and flushes the transport.
    pub(crate) fn poll_flush<T: AsyncWrite + Unpin>(
        &mut self,
        transport: &mut T,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        self.poll_for(WRITER, context, |this, context| this.poll_flush_for(transport, context))
    }

    /// Like [`Self::poll_flush`], but also sends pending control messages.
    pub(crate) fn poll_flush_all<T: AsyncWrite + Unpin>(
        &mut self,
        sender: &mut Sender,
        transport: &mut T,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.poll_send(transport, context))?;
        self.control(sender)?;
        self.poll_flush(transport, context)
    }

    /// Sends pending records and close_notify, and closes the transport.
    pub(crate) fn poll_shutdown<T: AsyncWrite + Unpin>(
        &mut self,
        sender: &mut Sender,
        transport: &mut T,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.closing {
            self.closing = true;
            self.append(|out| sender.close(out))?;
        }
        ready!(self.poll_send(transport, context))?;
        Pin::new(transport).poll_shutdown(context)
    }

    /// Sends records that a read has caused, as far as the transport accepts them. While there are
    /// unsent records, no further records are queued: a peer that requests key updates and does not
    /// read could otherwise fill the memory.
    pub(crate) fn try_send<T: AsyncWrite + Unpin>(
        &mut self,
        sender: &mut Sender,
        transport: &mut T,
        context: &mut Context<'_>,
    ) {
        // A failure to send is reported by the next write, so that the data of this read is not
        // lost.
        let _ = self.poll_for(READER, context, |this, context| {
            ready!(this.poll_send_for(transport, context))?;
            this.control(sender)?;
            if this.urgent { this.poll_flush_for(transport, context) } else { Poll::Ready(Ok(())) }
        });
    }

    /// Polls the transport for the reader or for the writer. A transport wakes one task per
    /// direction. The reader or the writer may have been dropped since it waited, so both are
    /// woken.
    fn poll_for<R>(
        &mut self,
        side: usize,
        context: &mut Context<'_>,
        mut poll: impl FnMut(&mut Self, &mut Context<'_>) -> Poll<R>,
    ) -> Poll<R> {
        let mut polled = poll(self, context);
        if polled.is_pending() {
            let waker = context.waker();
            self.waiting[side] = Some(waker.clone());
            let other = self.waiting[1 - side].as_ref();
            if let Some(other) = other.filter(|other| !other.will_wake(waker)) {
                let both = WakeBoth::waker(waker, other);
                polled = poll(self, &mut Context::from_waker(&both));
            }
        }
        if polled.is_ready() {
            self.waiting[side] = None;
            if let Some(other) = self.waiting[1 - side].take() {
                other.wake();
            }
        }
        polled
    }

    fn poll_flush_for<T: AsyncWrite + Unpin>(
        &mut self,
        transport: &mut T,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.poll_send_for(transport, context))?;
        ready!(Pin::new(transport).poll_flush(context))?;
        self.urgent = false;
        Poll::Ready(Ok(()))
    }

    fn poll_send_for<T: AsyncWrite + Unpin>(
        &mut self,
        transport: &mut T,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        while !self.is_empty() {
            let rest = self.bytes.get(self.start..self.end).unwrap_or_default();
            match Pin::new(&mut *transport).poll_write(context, rest) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(count)) => self.start = self.end.min(self.start + count),
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => {
                    self.shrink();
                    return Poll::Pending;
                }
            }
        }
        self.keep(Vec::new(), 0);
        Poll::Ready(Ok(()))
    }

    fn append(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<(), Error>) -> io::Result<()> {
        let mut more = Vec::new();
        let result = write(&mut more);
        self.urgent |= !more.is_empty();
        self.push(&mut more);
        result.map_err(io::Error::from)
    }

    /// Appends these records and empties the vector.
    pub(crate) fn push(&mut self, records: &mut Vec<u8>) {
        if records.is_empty() {
            return;
        }
        let mut all = self.bytes.get(self.start..self.end).unwrap_or_default().to_vec();
        all.append(records);
        let length = all.len();
        self.keep(all, length);
    }

    /// Replaces the buffer by `bytes`, of which `length` bytes are unsent; the old buffer returns
    /// to the pool.
    fn keep(&mut self, bytes: Vec<u8>, length: usize) {
        let old = std::mem::replace(&mut self.bytes, bytes);
        pool::return_bytes(old);
        self.start = 0;
        self.end = length;
        if length == 0 && !self.bytes.is_empty() {
            pool::return_bytes(std::mem::take(&mut self.bytes));
        }
    }

    /// Moves a small rest to a small buffer, because the transport is not ready now.
    fn shrink(&mut self) {
        let rest = self.bytes.get(self.start..self.end).unwrap_or_default();
        if rest.len() < self.bytes.len() / 2 {
            let rest = rest.to_vec();
            let length = rest.len();
            self.keep(rest, length);
        }
    }
}

/// A waker that wakes both tasks.
pub(crate) struct WakeBoth([Waker; 2]);

impl WakeBoth {
    pub(crate) fn waker(one: &Waker, other: &Waker) -> Waker {
        Arc::new(Self([one.clone(), other.clone()])).into()
    }
}

impl Wake for WakeBoth {
    fn wake(self: Arc<Self>) {
        self.0.iter().for_each(Waker::wake_by_ref);
    }
}

impl Drop for Outgoing {
    fn drop(&mut self) {
        pool::return_bytes(std::mem::take(&mut self.bytes));
    }
}

impl std::fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outgoing").finish_non_exhaustive()
    }
}

#[cfg(all(test, loom))]
mod models;

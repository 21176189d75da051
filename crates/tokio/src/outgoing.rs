//! The writing side of a stream: from the writer's buffer through the sender into a transport.
//!
//! Sealed records cannot be sealed again: what the transport does not take at once is kept and goes
//! first next time, so that a write may be dropped at any moment. Must not know: the receiver.
//! Next: [`crate::stream`], [`crate::split`].

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker, ready};

use tercel::{CertificateRequested, Error, Local, Peer, Sender};
use tokio::io::AsyncWrite;

use crate::pool;

/// Records that the transport has not taken yet.
#[derive(Default)]
pub(crate) struct Outgoing {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// Among them is what a reader has to say, which waits for no writer.
    urgent: bool,
    /// Who waited for the transport last: the reader and the writer.
    waiting: [Option<Waker>; 2],
}

const READER: usize = 0;
const WRITER: usize = 1;

/// Of this length or longer, the first slice of a vectored write is worth a write of its own.
const LARGE: usize = 8 * 1024;

/// Of what the transport has not taken so much may be there when a request for our certificate is answered.
const MAX_UNSENT: usize = 1 << 18;

impl Outgoing {
    fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Seals from the front of `plaintext` and sends; the number of bytes that are in records now.
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
        let mut buffer = pool::lend_bytes();
        let sealed = sender.seal(plaintext, &mut buffer);
        let written = sealed.map_or(0, |sealed| sealed.written);
        self.keep(buffer, written);
        // Sealed is written: the rest goes ahead of the next data.
        let sent = self.poll_send(transport, context);
        let sealed = sealed?;
        if let Poll::Ready(Err(error)) = sent {
            return Poll::Ready(Err(error));
        }
        if sealed.consumed == 0 {
            // The sender had an alert to send and is closed.
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        Poll::Ready(Ok(sealed.consumed))
    }

    /// The same for several slices; small ones share a record.
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
        if first.len() >= LARGE || filled.next().is_none() {
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
        tercel::crypto::wipe(&mut joined);
        result
    }

    /// Appends what the sender has to say without data.
    pub(crate) fn control(&mut self, sender: &mut Sender) -> io::Result<()> {
        self.append(|out| sender.control(out))
    }

    /// Appends close_notify, once.
    pub(crate) fn close(&mut self, sender: &mut Sender) -> io::Result<()> {
        self.append(|out| sender.close(out))
    }

    /// Appends a key update. RFC 9846 4.7.3
    pub(crate) fn update_key(&mut self, sender: &mut Sender, request: bool) -> io::Result<()> {
        self.append(|out| sender.update_key(request, out))
    }

    /// Appends answers to a server's requests for our certificate, by the credentials of the
    /// configuration. A server that asks on and on, and takes no answer, is refused. RFC 9846 4.7.2
    pub(crate) fn authenticate(
        &mut self,
        sender: &mut Sender,
        requests: Vec<CertificateRequested>,
    ) -> io::Result<()> {
        for request in requests {
            if self.end.saturating_sub(self.start) > MAX_UNSENT {
                return Err(Error::from(Peer::TooManyCertificateRequests).into());
            }
            let answered = self.append(|out| {
                let credential = request.select()?;
                match sender.authenticate(request, credential.as_ref(), out) {
                    // Who has closed says nothing more, and reads on.
                    Err(Error::Local(Local::Closed)) => Ok(()),
                    other => other,
                }
            });
            answered?;
        }
        Ok(())
    }

    /// Sends what is there; ready when all was taken.
    pub(crate) fn poll_send<T: AsyncWrite + Unpin>(
        &mut self,
        transport: &mut T,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        self.poll_as(WRITER, context, |this, context| this.poll_send_as(transport, context))
    }

    /// Sends what is there, and flushes the transport.
    pub(crate) fn poll_flush<T: AsyncWrite + Unpin>(
        &mut self,
        transport: &mut T,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        self.poll_as(WRITER, context, |this, context| this.poll_flush_as(transport, context))
    }

    /// The same, with what the sender has to say without data.
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

    /// What a reader can do for what is to be sent. Nothing is put behind what the transport does not take:
    /// a peer that asks for key updates and does not read could have us hold any amount of them.
    pub(crate) fn send_some<T: AsyncWrite + Unpin>(
        &mut self,
        sender: &mut Sender,
        transport: &mut T,
        context: &mut Context<'_>,
    ) {
        // What cannot be sent is the next write's trouble: it may not hide what was read.
        let _ = self.poll_as(READER, context, |this, context| {
            ready!(this.poll_send_as(transport, context))?;
            this.control(sender)?;
            if this.urgent { this.poll_flush_as(transport, context) } else { Poll::Ready(Ok(())) }
        });
    }

    /// Does something with the transport for the reader or for the writer. A transport wakes one task a
    /// direction, and one of the two may have been dropped since it waited, so both are woken.
    fn poll_as<R>(
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
                let both = Waker::from(Arc::new(Both([waker.clone(), other.clone()])));
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

    fn poll_flush_as<T: AsyncWrite + Unpin>(
        &mut self,
        transport: &mut T,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.poll_send_as(transport, context))?;
        ready!(Pin::new(transport).poll_flush(context))?;
        self.urgent = false;
        Poll::Ready(Ok(()))
    }

    fn poll_send_as<T: AsyncWrite + Unpin>(
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

    /// Goes on with the first `length` bytes of `bytes`; the buffer before goes back to the thread.
    fn keep(&mut self, bytes: Vec<u8>, length: usize) {
        let old = std::mem::replace(&mut self.bytes, bytes);
        pool::give_back_bytes(old);
        self.start = 0;
        self.end = length;
        if length == 0 && !self.bytes.is_empty() {
            pool::give_back_bytes(std::mem::take(&mut self.bytes));
        }
    }

    /// The transport makes us wait: a small rest does not hold on to a large buffer.
    fn shrink(&mut self) {
        let rest = self.bytes.get(self.start..self.end).unwrap_or_default();
        if rest.len() < self.bytes.len() / 2 {
            let rest = rest.to_vec();
            let length = rest.len();
            self.keep(rest, length);
        }
    }
}

/// Wakes both.
struct Both([Waker; 2]);

impl Wake for Both {
    fn wake(self: Arc<Self>) {
        self.0.iter().for_each(Waker::wake_by_ref);
    }
}

impl Drop for Outgoing {
    fn drop(&mut self) {
        pool::give_back_bytes(std::mem::take(&mut self.bytes));
    }
}

impl std::fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outgoing").finish_non_exhaustive()
    }
}

#[cfg(all(test, loom))]
mod models;

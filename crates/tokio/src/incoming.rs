//! The reading side of a stream: from a transport through the receiver into the reader's buffer.
//!
//! Must not know: the sender. Next: [`crate::stream`], [`crate::split`].

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tercel::{Filled, Opened, Received, Receiver};
use tokio::io::{AsyncRead, ReadBuf};

use crate::pool;

/// What has arrived and is not read yet.
#[derive(Default)]
pub(crate) struct Incoming {
    /// Lent by the thread, or of its own size while the transport has nothing more.
    received: Option<Received>,
    /// Plaintext of a record that the reader's buffer had no room for.
    plain: Vec<u8>,
    taken: usize,
}

impl Incoming {
    /// Begins with what a handshake has read too far.
    pub(crate) fn new(received: Received) -> Self {
        let received = (!received.is_empty()).then_some(received);
        Self { received, plain: Vec::new(), taken: 0 }
    }

    /// Fills `out` with what is there, or waits for the transport. `after` is called whenever the
    /// receiver has handled records, which may have left something to be sent.
    pub(crate) fn poll_read<T: AsyncRead + Unpin>(
        &mut self,
        receiver: &mut Receiver,
        transport: &mut T,
        context: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
        mut after: impl FnMut(&mut T, &mut Context<'_>),
    ) -> Poll<io::Result<()>> {
        if out.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        if self.take_plain(out) {
            return Poll::Ready(Ok(()));
        }
        loop {
            let mut received = self.received.take().unwrap_or_else(pool::lend_received);
            let step = self.open(receiver, &mut received, out);
            if !matches!(step, Ok(Step::More)) {
                self.put_back(received);
                after(transport, context);
                return Poll::Ready(step.map(|_| ()));
            }
            after(transport, context);
            let mut spare = ReadBuf::new(received.spare());
            let polled = Pin::new(&mut *transport).poll_read(context, &mut spare);
            let count = spare.filled().len();
            received.filled(count);
            match polled {
                Poll::Ready(Ok(())) if count > 0 => self.received = Some(received),
                Poll::Ready(Ok(())) => {
                    self.put_back(received);
                    return Poll::Ready(receiver.end_of_input().map_err(io::Error::from));
                }
                Poll::Ready(Err(error)) => {
                    self.put_back(received);
                    return Poll::Ready(Err(error));
                }
                Poll::Pending => {
                    self.put_aside(received);
                    return Poll::Pending;
                }
            }
        }
    }

    /// Opens records into `out` for as long as whole ones are there and fit.
    fn open(
        &mut self,
        receiver: &mut Receiver,
        received: &mut Received,
        out: &mut ReadBuf<'_>,
    ) -> io::Result<Step> {
        let mut some = false;
        loop {
            // An error after data is found again by the next read.
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
                    if self.open_aside(receiver, received)? {
                        self.take_plain(out);
                        return Ok(Step::Done);
                    }
                }
                Filled::More => return Ok(if some { Step::Done } else { Step::More }),
                // Closed; and what is not for streams ends nothing but this turn.
                _ => return Ok(Step::Done),
            }
        }
    }

    /// Opens one record in place and keeps its content; `false` if it had none.
    fn open_aside(&mut self, receiver: &mut Receiver, received: &mut Received) -> io::Result<bool> {
        if let Opened::Data(data) = receiver.open(received)? {
            self.plain.extend_from_slice(data);
            // The buffer may soon be another stream's.
            tercel::crypto::wipe(data);
            return Ok(true);
        }
        Ok(false)
    }

    /// Hands out what lies aside; `false` if nothing does.
    fn take_plain(&mut self, out: &mut ReadBuf<'_>) -> bool {
        let rest = self.plain.get(self.taken..).unwrap_or_default();
        if rest.is_empty() {
            return false;
        }
        let now = rest.get(..out.remaining()).unwrap_or(rest);
        out.put_slice(now);
        self.taken += now.len();
        if self.taken == self.plain.len() {
            self.plain = Vec::new();
            self.taken = 0;
        }
        true
    }

    /// Keeps the buffer if something unread is in it, otherwise gives it back to the thread.
    fn put_back(&mut self, received: Received) {
        if received.is_empty() {
            pool::give_back_received(received);
        } else {
            self.received = Some(received);
        }
    }

    /// Nothing more comes for now: what is half there moves to memory of its own size.
    fn put_aside(&mut self, received: Received) {
        if received.is_empty() {
            pool::give_back_received(received);
            return;
        }
        let mut kept = Received::with_capacity(received.unread().len());
        kept.extend(received.unread());
        self.received = Some(kept);
    }
}

enum Step {
    /// Data, or the end of it.
    Done,
    /// The transport has to give more first.
    More,
}

impl Drop for Incoming {
    fn drop(&mut self) {
        if let Some(received) = self.received.take() {
            pool::give_back_received(received);
        }
    }
}

impl std::fmt::Debug for Incoming {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Incoming").finish_non_exhaustive()
    }
}

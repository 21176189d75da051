//! Moves bytes between a connection and its BIOs.

use tercel::ReceiveBuffer;

use super::Ssl;
use super::state::{NO_UPDATE, WaitingMessage, Want};
use crate::errors::{self, reasons};
use crate::lock::current_thread;
use crate::objects::bio::{Bio, Transferred};

/// The length of a record's header.
const HEADER: usize = 5;
/// The longest fragment of a record that any version allows.
const LONGEST: usize = (1 << 14) + 2048;

/// The result of moving bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moved {
    /// Bytes were read, or all bytes were written.
    Done,
    /// The operation has to be repeated later; `want` says what for.
    Blocked,
    /// The end of the input.
    End,
    /// The BIO failed, and `SSL_get_error` reports an error of the system. `true`: it returned 0.
    Failed(bool),
}

impl Ssl {
    /// Reads from the BIO what the next record needs, and no more unless `READ_AHEAD` is set: other
    /// parts of the program may read what follows.
    pub(crate) fn receive(&self) -> Moved {
        let Some(bio) = self.input.borrow().clone() else {
            errors::push(reasons::READ_BIO_NOT_SET);
            return Moved::Failed(false);
        };
        let ahead = self.settings().read_ahead;
        // The buffer is taken out of its cell, because the BIO may be a program's.
        let mut received = self.received.take();
        let moved = loop {
            let Some(missing) = missing(&received) else { break Moved::Done };
            let spare = received.spare();
            let room = if ahead { spare.len() } else { spare.len().min(missing) };
            let spare = spare.get_mut(..room).unwrap_or_default();
            match self.outside(|| bio.read(spare)) {
                Transferred::Bytes(count) => {
                    received.filled(count);
                    // A header that is not one of TLS is reported without waiting for more bytes.
                    if is_malformed(&received) {
                        break Moved::Done;
                    }
                }
                Transferred::Retry => {
                    self.want.set(Want::Read);
                    break Moved::Blocked;
                }
                Transferred::End => break Moved::End,
                Transferred::Nothing => break Moved::Failed(true),
                Transferred::Failed => break Moved::Failed(false),
            }
        };
        self.received.replace(received);
        moved
    }

    /// Writes the bytes that are ready, and flushes the BIO if `flush` is set. `Blocked` while
    /// another thread writes, or this one in a function of the BIO: that also writes what is added
    /// meanwhile.
    pub(crate) fn send(&self, flush: bool) -> Moved {
        if self.sending.get() != 0 {
            self.want.set(Want::Write);
            return Moved::Blocked;
        }
        if self.unsent.borrow().is_empty() && !self.needs_flush(flush) {
            return Moved::Done;
        }
        let Some(bio) = self.output.borrow().clone() else {
            errors::push(reasons::BIO_NOT_SET);
            return Moved::Failed(false);
        };
        self.sending.set(current_thread());
        if let Some(WaitingMessage::KeyUpdate(_)) = self.waiting.get() {
            self.waiting.set(Some(WaitingMessage::KeyUpdate(NO_UPDATE)));
        }
        // A thread that waits is woken also if the operation panics.
        struct Sent<'a>(&'a Ssl);
        impl Drop for Sent<'_> {
            fn drop(&mut self) {
                self.0.sending.set(0);
                if self.0.awaits_sender.take() {
                    self.0.lock.wake();
                }
            }
        }
        let _sending = Sent(self);
        loop {
            let moved = self.send_all(&bio);
            if moved != Moved::Done || !self.needs_flush(flush) {
                return moved;
            }
            match self.outside(|| bio.flush()) {
                Transferred::Retry => {
                    self.want.set(Want::Write);
                    return Moved::Blocked;
                }
                // A BIO without buffers may not know the command.
                _ if self.unsent.borrow().is_empty() => {
                    self.waiting.set(None);
                    return Moved::Done;
                }
                _ => {}
            }
        }
    }

    /// Whether the BIO is flushed. As with OpenSSL, it is after a message of the application.
    fn needs_flush(&self, flush: bool) -> bool {
        flush || self.waiting.get().is_some()
    }

    /// While another thread writes to the BIO, waits for it: its bytes may be those of a write that
    /// is repeated, and a program does not add bytes without limit.
    pub(super) fn await_sender(&self) {
        while self.sending.get() != 0 && self.sending.get() != current_thread() {
            self.awaits_sender.set(true);
            self.lock.wait();
        }
    }

    fn send_all(&self, bio: &Bio) -> Moved {
        loop {
            // As in `receive`. What is added meanwhile follows.
            let mut unsent = self.unsent.take();
            if unsent.is_empty() {
                self.unsent.replace(unsent);
                return Moved::Done;
            }
            let written = self.outside(|| bio.write(unsent.bytes()));
            if let Transferred::Bytes(count) = written {
                unsent.sent(count);
            }
            unsent.append(&mut self.unsent.borrow_mut());
            self.unsent.replace(unsent);
            match written {
                Transferred::Bytes(_) => {}
                Transferred::Retry => {
                    self.want.set(Want::Write);
                    return Moved::Blocked;
                }
                _ => return Moved::Failed(false),
            }
        }
    }
}

/// How many bytes the next record still needs. `None` if it is complete.
fn missing(received: &ReceiveBuffer) -> Option<usize> {
    let unread = received.unread();
    let Some(header) = unread.first_chunk::<HEADER>() else {
        return Some(HEADER.saturating_sub(unread.len()));
    };
    let length = usize::from(u16::from_be_bytes([header[3], header[4]]));
    let missing = length.saturating_add(HEADER).saturating_sub(unread.len());
    (missing > 0).then_some(missing)
}

/// Whether the next record has not the version of a record, so that the peer may not use TLS.
pub(super) fn is_foreign(received: &ReceiveBuffer) -> bool {
    received.unread().first_chunk::<HEADER>().is_some_and(|header| header[1] != 3)
}

/// Whether the next record cannot be one of TLS. Tercel's record layer then reports the reason.
fn is_malformed(received: &ReceiveBuffer) -> bool {
    received.unread().first_chunk::<HEADER>().is_some_and(|header| {
        let length = usize::from(u16::from_be_bytes([header[3], header[4]]));
        !(20..=23).contains(&header[0]) || header[1] != 3 || length > LONGEST
    })
}

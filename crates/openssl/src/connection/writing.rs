//! Sending: `SSL_write`, and the bytes that wait for the BIO.

use core::cell::Cell;
use core::mem;

use tercel::error::{Error, InternalError};
use tercel::{Connection, Sender};

use super::Ssl;
use super::pump::Moved;
use super::state::{NO_UPDATE, Stage, WaitingMessage, Want};
use crate::errors::{self, reasons};
use crate::settings::options::{
    MODE_ACCEPT_MOVING_WRITE_BUFFER, MODE_ENABLE_PARTIAL_WRITE, SENT_SHUTDOWN,
};

/// The most plaintext that is sealed before it is written: a record, which is still in the
/// processor's nearest cache when the system copies it.
const PIECE: usize = 1 << 14;

/// Records that are sealed and not written.
#[derive(Default)]
pub(crate) struct Unsent {
    bytes: Vec<u8>,
    start: usize,
    /// The end of what waits, if memory follows it, which is not filled with zeros again.
    end: Option<usize>,
}

/// A write that the BIO interrupted. The program has to repeat it.
#[derive(Clone, Copy)]
pub(crate) struct Write {
    address: usize,
    /// The plaintext that is written, and that is sealed but not written.
    written: usize,
    sealed: usize,
}

impl Write {
    /// Whether it has more data than these.
    fn is_longer_than(self, data: &[u8]) -> bool {
        data.len() < self.written.saturating_add(self.sealed)
    }
}

/// Whether this is the error of a sender that has sent close_notify. As with OpenSSL, messages that
/// the application sends then succeed; this library does not send them. RFC 9846 6.1
pub(super) fn is_closed(error: Error) -> bool {
    error == Error::Internal(InternalError::Closed)
}

impl Unsent {
    fn end(&self) -> usize {
        self.end.unwrap_or(self.bytes.len())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.start == self.end()
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.get(self.start..self.end()).unwrap_or_default()
    }

    pub(crate) fn sent(&mut self, count: usize) {
        self.start = self.start.saturating_add(count).min(self.end());
        if self.is_empty() {
            self.release();
        }
    }

    /// Moves the bytes of `other` to the end of these.
    pub(crate) fn append(&mut self, other: &mut Self) {
        if !other.is_empty() {
            self.buffer().extend_from_slice(other.bytes());
            other.sent(other.bytes().len());
        }
    }

    /// Seals data, and adds the records.
    fn seal(&mut self, data: &[u8], sender: &mut Sender) -> Result<(), Error> {
        if self.bytes.capacity() == 0 {
            self.bytes = take_memory();
            self.end = Some(0);
        }
        let end = self.end();
        let length = end.saturating_add(sender.sealed_length(data.len()));
        if self.bytes.len() < length {
            self.bytes.resize(length, 0);
        }
        self.end = Some(end);
        let sealed = sender.seal(data, self.bytes.get_mut(end..).unwrap_or_default())?;
        self.end = Some(end.saturating_add(sealed.written));
        match data.get(sealed.consumed..) {
            // The room is sufficient for all data, unless a message of the protocol was longer.
            Some(rest) if !rest.is_empty() => sender.seal_to(rest, self.buffer()),
            _ => Ok(()),
        }
    }

    /// The buffer that messages of the protocol are appended to.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        if let Some(end) = self.end.take() {
            self.bytes.truncate(end);
        }
        &mut self.bytes
    }

    /// Gives the memory to the next connection if nothing waits.
    fn release(&mut self) {
        if self.is_empty() {
            keep_memory(mem::take(&mut self.bytes));
            self.start = 0;
            self.end = None;
        }
    }
}

thread_local! {
    /// Memory for the records of the connections that this thread uses one after another. It is
    /// in the processor's cache more often than memory of each connection, and it is filled with
    /// zeros once.
    static MEMORY: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// The most memory that a thread keeps: that of one piece.
const MOST_MEMORY: usize = PIECE + (1 << 12);

/// Returns the memory of the thread, or none. At the end of a thread there is none.
fn take_memory() -> Vec<u8> {
    MEMORY.try_with(Cell::take).unwrap_or_default()
}

/// Keeps memory for [`take_memory`], if there is not more already.
fn keep_memory(memory: Vec<u8>) {
    if memory.capacity() > MOST_MEMORY {
        return;
    }
    // The other one of both is freed.
    let _ = MEMORY.try_with(|kept| {
        let known = kept.take();
        kept.set(if known.capacity() > memory.capacity() { known } else { memory });
    });
}

/// The result of `SSL_write` and `SSL_read`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transfer {
    /// As many bytes.
    Bytes(usize),
    /// `SSL_get_error` says what the operation waits for, or why it failed.
    Stopped,
    /// The end of the peer's data, or of the transport.
    End,
}

impl Ssl {
    /// Encrypts and sends data. An interrupted write has to be repeated with the same data.
    pub(crate) fn write(&self, data: &[u8]) -> Transfer {
        self.want.set(Want::Nothing);
        if self.side.get().is_none() {
            errors::push(reasons::UNINITIALIZED);
            return Transfer::Stopped;
        }
        if self.shutdown.get() & SENT_SHUTDOWN != 0 {
            errors::push(reasons::PROTOCOL_IS_SHUTDOWN);
            return Transfer::Stopped;
        }
        if self.awaits_early_data() || self.reads_early_data() {
            return Transfer::End;
        }
        if !self.is_connected() && self.as_reader(|| self.do_handshake()) != Some(1) {
            return Transfer::Stopped;
        }
        if self.failed.get() {
            // As with OpenSSL, the reason is reported again.
            if self.interrupted.get().is_some_and(|write| write.is_longer_than(data)) {
                errors::push(reasons::BAD_LENGTH);
            }
            return Transfer::Stopped;
        }
        if !self.answer_requests() || !self.finish_answer_as_writer() {
            return Transfer::Stopped;
        }
        let sends_update = self.unsent.borrow().is_empty() && self.owes_update.take();
        if sends_update && !self.send_update() || self.send_message() != Moved::Done {
            return Transfer::Stopped;
        }
        self.write_by(data, |data| self.seal(data))
    }

    /// Sends the key update that the peer has requested. As with OpenSSL, data of an interrupted
    /// write precedes it. Returns whether the BIO accepted it.
    pub(super) fn send_update(&self) -> bool {
        if !self.unsent.borrow().is_empty() {
            return true;
        }
        // An error of the sender is that of the next data, too.
        let _ = self.sealing(|connection, unsent| connection.sender.control(unsent));
        self.message_waits(WaitingMessage::KeyUpdate(NO_UPDATE));
        self.send_message() == Moved::Done
    }

    /// Sends data that `seal` encrypts.
    pub(super) fn write_by(&self, data: &[u8], seal: impl Fn(&[u8]) -> Option<()>) -> Transfer {
        let settings = self.settings();
        let may_be_partial = settings.mode & MODE_ENABLE_PARTIAL_WRITE != 0;
        let Ok(mut write) = self.continued(data, settings.mode) else { return Transfer::Stopped };
        // As with OpenSSL, a write that is repeated continues after the interrupted record.
        let mut has_sealed = false;
        loop {
            self.await_sender();
            if self.send(false) != Moved::Done {
                // If no data is sealed yet, the program may write something else.
                let has_begun = write.written > 0 || write.sealed > 0;
                self.interrupted.set(has_begun.then_some(write));
                return Transfer::Stopped;
            }
            write.written = write.written.saturating_add(write.sealed);
            write.sealed = 0;
            if write.written == data.len() || (may_be_partial && has_sealed) {
                return Transfer::Bytes(write.written);
            }
            let rest = data.get(write.written..).unwrap_or_default();
            let piece = rest.get(..PIECE).unwrap_or(rest);
            match seal(piece) {
                Some(()) => {
                    write.sealed = piece.len();
                    has_sealed = true;
                }
                None => return Transfer::Stopped,
            }
        }
    }

    /// The write that this call continues, or a new one. An error if the program did not repeat the
    /// interrupted one.
    fn continued(&self, data: &[u8], mode: u32) -> Result<Write, ()> {
        let address = data.as_ptr().addr();
        let new = Write { address, written: 0, sealed: 0 };
        let Some(interrupted) = self.interrupted.take() else { return Ok(new) };
        let moved = interrupted.address != address && mode & MODE_ACCEPT_MOVING_WRITE_BUFFER == 0;
        if interrupted.is_longer_than(data) {
            self.interrupted.set(Some(interrupted));
            errors::push(reasons::BAD_LENGTH);
            self.abort_connection(None);
            if !self.is_connected() {
                self.stage.replace(Stage::Failed);
            }
            return Err(());
        }
        if moved {
            // The write remains, so that the program can still repeat it.
            self.interrupted.set(Some(interrupted));
            errors::push(reasons::BAD_WRITE_RETRY);
            return Err(());
        }
        Ok(Write { address, ..interrupted })
    }

    /// Seals data after the bytes that wait. If that fails, an error is in the queue.
    fn seal(&self, data: &[u8]) -> Option<()> {
        let sealed = self.sending_step(|| {
            let mut unsent = self.unsent.take();
            let seal = |connection: &mut Connection| unsent.seal(data, &mut connection.sender);
            let sealed = self.with_connection(seal);
            self.unsent.replace(unsent);
            sealed
        });
        match sealed {
            Some(Ok(())) => Some(()),
            // The peer's data can still be read.
            Some(Err(error)) if is_closed(error) => {
                errors::push_error(error, None);
                None
            }
            Some(Err(error)) => {
                self.fail(error);
                None
            }
            None => None,
        }
    }

    /// Runs an operation that appends records to those that wait. `None` if there is no connection.
    pub(crate) fn sealing<T>(
        &self,
        operation: impl FnOnce(&mut Connection, &mut Vec<u8>) -> T,
    ) -> Option<T> {
        self.sending_step(|| {
            let mut unsent = self.unsent.take();
            let result = self.with_connection(|connection| operation(connection, unsent.buffer()));
            self.unsent.replace(unsent);
            result
        })
    }

    /// Takes notice of a message of the program that was sealed.
    pub(super) fn message_waits(&self, message: WaitingMessage) {
        if !self.unsent.borrow().is_empty() {
            self.waiting.set(Some(message));
        }
    }

    /// Sends the message of the program that waits, if there is one.
    pub(super) fn send_message(&self) -> Moved {
        if self.waiting.get().is_none() { Moved::Done } else { self.send(true) }
    }

    /// Appends messages that the receiving side asks for, such as an answer to a key update or an
    /// alert, and writes what the BIO accepts. The rest is written before the next data.
    pub(crate) fn send_control(&self) {
        let waiting = self.unsent.borrow().bytes().len();
        // An error of the sender is reported by the next write.
        let _ = self.sealing(|connection, unsent| connection.sender.control(unsent));
        let want = self.want.get();
        // As with OpenSSL, what waits already is written by the functions that write.
        if self.unsent.borrow().bytes().len() > waiting {
            // A peer that receives nothing any more may have sent data. The next write fails.
            errors::without_errors(|| self.send(true));
        }
        self.want.set(want);
    }
}

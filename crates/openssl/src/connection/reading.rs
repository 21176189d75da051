//! Receiving: `SSL_read`, `SSL_peek`, `SSL_pending`.

use core::mem;

use tercel::client::CertificateRequested;
use tercel::error::Error;
use tercel::server::ClientCertificate;
use tercel::wire::AlertDescription;
use tercel::{Filled, Opened};

use super::Ssl;
use super::messages::Seen;
use super::pump::Moved;
use super::state::Want;
use super::writing::Transfer;
use crate::errors::{self, reasons};
use crate::settings::options::{
    CLEANSE_PLAINTEXT, IGNORE_UNEXPECTED_EOF, MODE_AUTO_RETRY, MODE_RELEASE_BUFFERS,
    RECEIVED_SHUTDOWN, SENT_SHUTDOWN,
};

/// Decrypted data of one record that no read has taken.
#[derive(Default)]
pub(crate) struct Plaintext {
    bytes: Vec<u8>,
    start: usize,
}

impl Plaintext {
    pub(crate) fn len(&self) -> usize {
        self.bytes.len().saturating_sub(self.start)
    }

    fn rest(&self) -> &[u8] {
        self.bytes.get(self.start..).unwrap_or_default()
    }

    pub(super) fn set(&mut self, data: &[u8]) {
        self.bytes.clear();
        self.bytes.extend_from_slice(data);
        self.start = 0;
    }

    /// Copies data to `out`, and removes it unless `peek` is set.
    pub(super) fn copy_to(&mut self, out: &mut [u8], peek: bool) -> usize {
        let count = self.len().min(out.len());
        if let (Some(to), Some(from)) = (out.get_mut(..count), self.rest().get(..count)) {
            to.copy_from_slice(from);
        }
        if !peek {
            self.start = self.start.saturating_add(count);
            if self.len() == 0 {
                zeroize::Zeroize::zeroize(&mut self.bytes[..]);
                self.bytes.clear();
                self.start = 0;
            }
        }
        count
    }
}

/// What opening the next record gave.
pub(super) enum Next {
    Data(usize),
    /// More bytes have to be received: the rest of the record, or of a message.
    More,
    /// The record had a message of the protocol, after which a read may end.
    Message,
    Closed,
    Requested(CertificateRequested),
    Answered(ClientCertificate),
    Failed(Error),
}

impl Ssl {
    /// Reads decrypted data, at most that of one record. `peek` leaves it for the next read.
    ///
    /// Without room, processes records up to the next one with data, and returns `End`.
    pub(crate) fn read(&self, out: &mut [u8], peek: bool) -> Transfer {
        self.want.set(Want::Nothing);
        if self.side.get().is_none() {
            errors::push(reasons::UNINITIALIZED);
            return Transfer::Stopped;
        }
        if self.shutdown.get() & RECEIVED_SHUTDOWN != 0 {
            return Transfer::End;
        }
        if !peek && self.awaits_early_data() {
            return Transfer::End;
        }
        if !self.is_connected() && self.as_writer(|| self.do_handshake()) != Some(1) {
            return Transfer::Stopped;
        }
        if self.failed.get() || !self.answer_requests() {
            return Transfer::Stopped;
        }
        // As with OpenSSL, a message of the application precedes what is read. Another thread that
        // writes sends it itself.
        if self.sending.get() == 0 && self.send_message() != Moved::Done {
            return Transfer::Stopped;
        }
        // A read that begins within a client's answer does not end after it, as with OpenSSL.
        let mut continues = self.receives_answer();
        loop {
            if self.plaintext.borrow().len() > 0 {
                // The data remain, and `SSL_pending` reports them.
                if out.is_empty() {
                    return Transfer::End;
                }
                let count = self.plaintext.borrow_mut().copy_to(out, peek);
                self.release_unneeded();
                return Transfer::Bytes(count);
            }
            let owes_update = self.owes_update.take();
            let next = self.open(out, peek);
            if owes_update && !self.update_before(&next) {
                return Transfer::Stopped;
            }
            match next {
                // An empty record is enough for a read without room.
                Next::Data(0) if out.is_empty() && self.plaintext.borrow().len() == 0 => {
                    return Transfer::End;
                }
                Next::Data(0) => {}
                Next::Data(count) => {
                    self.release_unneeded();
                    return Transfer::Bytes(count);
                }
                Next::Closed => return self.closed(),
                Next::Requested(request) => {
                    self.receive_request(request);
                    if !self.answer_requests() || self.stops_after_message() {
                        return Transfer::Stopped;
                    }
                }
                Next::Answered(answer) => {
                    if let Err(error) = self.accept_certificate(&answer) {
                        return self.receiving_failed(error);
                    }
                    if !mem::take(&mut continues) && self.stops_after_message() {
                        return Transfer::Stopped;
                    }
                }
                Next::Message if self.stops_after_message() => return Transfer::Stopped,
                Next::Message => {}
                Next::Failed(error) => return self.receiving_failed(error),
                Next::More => match self.receive() {
                    Moved::Done => {}
                    Moved::Blocked => {
                        // Connections that wait for their peer have no buffers.
                        self.release_buffers();
                        // The peer may wait for the message, so the program waits for room first.
                        errors::without_errors(|| self.send_message());
                        return Transfer::Stopped;
                    }
                    Moved::End => return self.truncated(),
                    Moved::Failed(true) => return self.ended(),
                    Moved::Failed(false) => return Transfer::Stopped,
                },
            }
        }
    }

    /// As with OpenSSL, the answer to a key update precedes a further message. Returns whether the
    /// read continues.
    fn update_before(&self, next: &Next) -> bool {
        if matches!(next, Next::Message | Next::Answered(_)) {
            return self.send_update();
        }
        self.owes_update.set(true);
        true
    }

    /// The result of a read that ended: within a client's answer, as with OpenSSL, that of a
    /// handshake.
    fn ended(&self) -> Transfer {
        if self.receives_answer() { Transfer::Stopped } else { Transfer::End }
    }

    /// Opens the next record into `out`, or into the plaintext buffer if `out` is too small.
    pub(super) fn open(&self, out: &mut [u8], peek: bool) -> Next {
        self.seen.take();
        let mut received = self.received.take();
        let before = received.unread().len();
        let open = |connection: &mut tercel::Connection| {
            if !peek && !out.is_empty() {
                match connection.receiver.open_into(&mut received, out) {
                    Ok(Filled::Data(count)) => return Next::Data(count),
                    Ok(Filled::More) => return Next::More,
                    Ok(Filled::Closed) => return Next::Closed,
                    Ok(Filled::TooSmall) => {}
                    Ok(Filled::CertificateRequested(request)) => return Next::Requested(request),
                    Ok(Filled::ClientCertificate(answer)) => return Next::Answered(answer),
                    Ok(_) => return Next::More,
                    Err(error) => return Next::Failed(error),
                }
            }
            match connection.receiver.open(&mut received) {
                Ok(Opened::Data(data)) => {
                    self.plaintext.borrow_mut().set(data);
                    Next::Data(0)
                }
                Ok(Opened::More) => Next::More,
                Ok(Opened::Closed) => Next::Closed,
                Ok(Opened::CertificateRequested(request)) => Next::Requested(request),
                Ok(Opened::ClientCertificate(answer)) => Next::Answered(answer),
                Ok(_) => Next::More,
                Err(error) => Next::Failed(error),
            }
        };
        let (next, tapped) = self.step(|| self.with_connection(open));
        let is_consumed = received.unread().len() < before;
        // Some records are decrypted in the buffer.
        let is_processed = received.is_empty() && received.capacity() > 0;
        if is_processed && self.settings().has(CLEANSE_PLAINTEXT) {
            zeroize::Zeroize::zeroize(received.spare());
        }
        self.received.replace(received);
        // Messages of the protocol may have come with the record: new sessions, key updates.
        self.deliver(tapped);
        let sessions = self.with_connection(|connection| connection.receiver.take_new_sessions());
        self.receive_sessions(sessions.unwrap_or_default(), false);
        // The alert of an error is sent when the connection has failed. As with OpenSSL, the answer
        // to a key update precedes the next data of this side. RFC 9846 4.7.3
        let is_silent = match next {
            Some(Next::Failed(_)) => true,
            Some(Next::Closed) => {
                self.settings().quiet_shutdown || self.shutdown.get() & SENT_SHUTDOWN != 0
            }
            _ => self.is_tls13(),
        };
        if !is_silent {
            self.send_control();
        }
        match next.unwrap_or(Next::Closed) {
            Next::More if is_consumed && self.has_exchanged() => Next::Message,
            next => next,
        }
    }

    /// Whether what a step has consumed ends a read. As with OpenSSL, alerts and incomplete
    /// messages do not. In TLS 1.2, each message is a refused request for renegotiation.
    fn has_exchanged(&self) -> bool {
        match self.seen.get() {
            Seen::Exchange => true,
            Seen::Alert => false,
            Seen::Nothing => !self.is_tls13(),
        }
    }

    /// Whether a read ends after a message of the protocol, so that a program whose BIO blocks can
    /// write. As in OpenSSL, that is if the program has removed `SSL_MODE_AUTO_RETRY`, and no byte
    /// of another record was received.
    fn stops_after_message(&self) -> bool {
        let repeats = self.settings().mode & MODE_AUTO_RETRY != 0;
        if repeats || !self.received.borrow().is_empty() {
            return false;
        }
        self.want.set(Want::Read);
        let input = self.input.borrow().clone();
        if let Some(bio) = input {
            bio.set_retry_read();
        }
        true
    }

    /// Fails the connection: adds the error to the queue, and sends its alert.
    pub(super) fn receiving_failed(&self, error: Error) -> Transfer {
        if let Error::AlertReceived(alert) = error {
            let ended = self.ended();
            self.alert_received(error, alert);
            return ended;
        }
        self.received.take();
        self.fail(error);
        self.abort_connection(error.alert());
        Transfer::Stopped
    }

    /// The peer sent close_notify.
    pub(super) fn closed(&self) -> Transfer {
        // The callback sees the connection before it is closed, as with OpenSSL.
        if !self.reported_close.get() {
            self.report_alert(true, super::alerts::WARNING, super::alerts::CLOSE_NOTIFY);
        }
        self.reported_close.set(true);
        self.shutdown.set(self.shutdown.get() | RECEIVED_SHUTDOWN);
        self.ended()
    }

    /// The transport ended without close_notify.
    pub(crate) fn truncated(&self) -> Transfer {
        let ended = self.ended();
        if self.settings().has(IGNORE_UNEXPECTED_EOF) {
            self.shutdown.set(self.shutdown.get() | RECEIVED_SHUTDOWN);
            return ended;
        }
        let _ = self.with_connection(|connection| connection.receiver.end_of_input());
        errors::push(reasons::UNEXPECTED_EOF_WHILE_READING);
        self.abort_connection(Some(AlertDescription::DECODE_ERROR));
        ended
    }

    /// Reads until the peer's close_notify, for `SSL_shutdown`. As with OpenSSL, data of the peer
    /// fails the connection.
    pub(crate) fn read_close(&self) -> Transfer {
        match self.read(&mut [0], true) {
            Transfer::Bytes(_) => {
                errors::push(reasons::APPLICATION_DATA_AFTER_CLOSE_NOTIFY);
                self.plaintext.take();
                self.abort_connection(None);
                Transfer::Stopped
            }
            other => other,
        }
    }

    /// Frees the buffers that are empty if the program asked for that.
    fn release_unneeded(&self) {
        if self.settings().mode & MODE_RELEASE_BUFFERS != 0 {
            self.release_buffers();
        }
    }

    /// Frees the buffers that are empty.
    fn release_buffers(&self) {
        if self.plaintext.borrow().len() == 0 {
            self.plaintext.take();
        }
        let mut received = self.received.borrow_mut();
        if received.is_empty() {
            received.release();
        }
    }
}

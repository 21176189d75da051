//! Early data of a client, and data that a server sends before the client's Finished.
//!
//! A server accepts early data only if the program reads it with `SSL_read_early_data`, so that a
//! program that does not know of it never takes data that may be a replay. Sessions that allow
//! early data are resumed once: they are kept in the server's cache, and the ticket is their name.
//! A program that sets `SSL_OP_NO_ANTI_REPLAY` has its own protection.

use core::cell::{Cell, RefCell};
use core::ffi::c_int;

use tercel::questions::AdmitEarlyDataQuestion;
use tercel::wire::AlertDescription;
use tercel::{Answer, EarlyData, Sender};

use super::Ssl;
use super::reading::Plaintext;
use super::state::{Side, Stage, Want};
use super::writing::Transfer;
use crate::errors::{self, reasons};

/// The state of early data of a connection.
#[derive(Default)]
pub(crate) struct Early {
    /// Server: how far the program has read early data.
    reads: Cell<Reads>,
    /// Server: whether the function that reads early data waits for the ClientHello. As with
    /// OpenSSL, the application calls it again, and neither `SSL_read` nor `SSL_write`.
    waits: Cell<bool>,
    /// Client: whether the program writes early data.
    pub(crate) writes: Cell<bool>,
    /// The call of the handshake that runs.
    pub(crate) call: Cell<Call>,
    /// Server: early data that the program has not read.
    pub(crate) unread: RefCell<Plaintext>,
    /// Server: the number of bytes that were received.
    received: Cell<usize>,
}

/// How far a server's program has read early data.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Reads {
    /// The program has not asked for any.
    #[default]
    Never,
    Begun,
    /// The program knows that no more follows.
    Finished,
}

/// The function that continues the handshake.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Call {
    #[default]
    Handshake,
    /// `SSL_read_early_data` of a server.
    ReadEarly,
    /// `SSL_write_early_data` of a client.
    WriteEarly,
}

/// The result of the handshake for [`Call::ReadEarly`]: early data arrived.
pub(crate) const RECEIVED: c_int = 2;

/// The result of the handshake for [`Call::WriteEarly`]: the ClientHello is sent.
pub(crate) const STARTED: c_int = 3;

/// The result of `SSL_read_early_data`.
pub(crate) enum EarlyRead {
    Data(usize),
    /// The handshake is complete: no early data follows.
    Finished,
    Stopped,
}

impl Early {
    /// Forgets the early data of the last connection.
    pub(crate) fn clear(&self) {
        self.reads.take();
        self.waits.set(false);
        self.writes.set(false);
        self.unread.take();
        self.received.set(0);
    }
}

impl Ssl {
    /// A server reads early data, and continues the handshake for that.
    pub(crate) fn read_early(&self, out: &mut [u8]) -> EarlyRead {
        let can_read = match self.early.reads.get() {
            Reads::Never => self.is_new(),
            Reads::Begun => true,
            Reads::Finished => false,
        };
        if !self.is_server() || !can_read {
            errors::push_not_now("only a server reads early data, before its handshake");
            return EarlyRead::Stopped;
        }
        self.take_side(Side::Server);
        self.early.reads.set(Reads::Begun);
        loop {
            if self.early.unread.borrow().len() > 0 {
                let count = self.early.unread.borrow_mut().copy_to(out, false);
                self.early.waits.set(false);
                return EarlyRead::Data(count);
            }
            if self.is_connected() {
                self.early.reads.set(Reads::Finished);
                self.early.waits.set(false);
                return EarlyRead::Finished;
            }
            if self.handshake_for(Call::ReadEarly) != RECEIVED && !self.is_connected() {
                self.early.waits.set(!self.has_received_hello());
                return EarlyRead::Stopped;
            }
        }
    }

    /// Whether a server waits for a ClientHello with early data: then an error is in the queue.
    pub(super) fn awaits_early_data(&self) -> bool {
        let waits = self.early.waits.get();
        if waits {
            errors::push_not_now("a function for early data is to be called again");
        }
        waits
    }

    /// Whether a server is receiving early data: then an error is in the queue.
    pub(super) fn reads_early_data(&self) -> bool {
        let has_begun = self.early.reads.get() == Reads::Begun && self.early.received.get() > 0;
        let reads = has_begun && !self.is_connected();
        if reads {
            errors::push_not_now("early data is being read");
        }
        reads
    }

    /// Writes early data of a client, or data of a server before the client's Finished.
    pub(crate) fn write_early(&self, data: &[u8]) -> Transfer {
        let is_server = self.is_server();
        if self.is_connected() && is_server {
            return self.write(data);
        }
        self.want.set(Want::Nothing);
        if !is_server && !self.may_write_early() {
            errors::push_not_now("the session allows no early data");
            return Transfer::Stopped;
        }
        if !is_server {
            self.take_side(Side::Client);
            self.early.writes.set(true);
            let started = self.as_reader(|| self.handshake_for(Call::WriteEarly));
            if started != Some(STARTED) {
                return Transfer::Stopped;
            }
            let left = self.with_handshake(|handshake| handshake.early_sender()?.early_data_left());
            let is_too_long = left.flatten().is_some_and(|left| data.len() > left);
            // A write that is repeated has been checked.
            if is_too_long && self.interrupted.get().is_none() {
                errors::push(reasons::TOO_MUCH_EARLY_DATA);
                return Transfer::Stopped;
            }
        }
        self.write_by(data, |data| self.seal_early(data))
    }

    /// Whether a client can begin with early data, or has begun with it.
    fn may_write_early(&self) -> bool {
        match &*self.stage.borrow() {
            Stage::New => {
                let session = self.session.borrow();
                session.as_ref().is_some_and(|session| session.fields().max_early_data > 0)
            }
            Stage::Handshake(_) => self.early.writes.get(),
            _ => false,
        }
    }

    /// Seals data before the end of the handshake. If that fails, an error is in the queue.
    fn seal_early(&self, data: &[u8]) -> Option<()> {
        let is_server = self.side.get() == Some(Side::Server);
        let seal = |sender: &mut Sender| {
            let mut unsent = self.unsent.take();
            let sealed = sender.seal_to(data, unsent.buffer());
            self.unsent.replace(unsent);
            sealed
        };
        let sealed = self.with_handshake(|handshake| {
            let sender =
                if is_server { handshake.half_rtt_sender() } else { handshake.early_sender() };
            sender.map(seal)
        });
        match sealed.flatten() {
            Some(Ok(())) => Some(()),
            Some(Err(error)) => {
                self.fail(error);
                None
            }
            None => {
                errors::push_not_now("no early data can be written now");
                None
            }
        }
    }

    /// Continues the handshake for one of the functions for early data.
    fn handshake_for(&self, call: Call) -> c_int {
        // The call is reset also if a function of the program panics.
        struct Reset<'a>(&'a Cell<Call>);
        impl Drop for Reset<'_> {
            fn drop(&mut self) {
                self.0.set(Call::Handshake);
            }
        }
        self.early.call.set(call);
        let _reset = Reset(&self.early.call);
        self.do_handshake()
    }

    /// Takes a piece of early data. The result is that of the call of the handshake.
    pub(crate) fn received_early(&self, data: &[u8]) -> c_int {
        let received = self.early.received.get().saturating_add(data.len());
        let limit = usize::try_from(self.settings().recv_max_early_data).unwrap_or(usize::MAX);
        self.early.received.set(received);
        if received > limit {
            self.refuse_early_data();
            return -1;
        }
        if received == data.len() {
            self.early_connected();
        }
        self.early.unread.borrow_mut().set(data);
        RECEIVED
    }

    /// Ends the handshake of a client that sent more early data than the program reads.
    fn refuse_early_data(&self) {
        let alert = AlertDescription::UNEXPECTED_MESSAGE;
        let abort = |sender: &mut Sender| {
            let mut unsent = self.unsent.take();
            // Without memory for the alert, the connection ends without one.
            let _ = sender.abort(alert, unsent.buffer());
            self.unsent.replace(unsent);
        };
        self.with_handshake(|handshake| handshake.half_rtt_sender().map(abort));
        self.stage.replace(Stage::Failed);
        errors::push(reasons::TOO_MUCH_EARLY_DATA);
        self.remove_session();
        self.send(true);
        self.report_alert(false, super::alerts::FATAL, alert.0);
    }

    /// Makes known what is negotiated, for functions that the program calls with early data.
    fn early_connected(&self) {
        let known = self.with_info(|info| (info.alpn.clone(), info.peer_chain().to_vec()));
        let Some((protocol, chain)) = known else { return };
        self.lent.protocol.replace(protocol.unwrap_or_default());
        let chain = errors::without_errors(|| crate::session::parse_chain(&chain));
        self.peer_chain.replace(chain.unwrap_or_default());
        if let Some(found) = self.found_result.get() {
            self.verify_result.set(found);
        }
    }

    /// Answers the question whether early data is admitted.
    pub(crate) fn answer_admission(&self, question: &AdmitEarlyDataQuestion) -> Answer {
        let callback = self.settings().callbacks.allow_early_data;
        let allowed = match callback.function {
            _ if self.early.call.get() != Call::ReadEarly => false,
            _ if !self.found_allows_early_data() => false,
            Some(function) => {
                // SAFETY: the program set this function for these arguments. No cell is borrowed.
                self.outside(|| unsafe { function(self.address(), callback.argument) }) > 0
            }
            None => true,
        };
        question.answer(allowed)
    }

    /// The result of early data, with OpenSSL's numbers.
    pub(crate) fn early_data_status(&self) -> c_int {
        match self.with_info(|info| info.early_data) {
            Some(EarlyData::Accepted) => 2,
            Some(EarlyData::Rejected) => 1,
            _ => 0,
        }
    }
}

//! `SSL_do_handshake` and `SSL_shutdown`.

use core::ffi::c_int;

use tercel::error::Error;
use tercel::wire::AlertDescription;
use tercel::{Connection, Handshake, Next, ServerName};

use super::Ssl;
use super::alerts::{DECODE_ERROR, FATAL, INTERNAL_ERROR};
use super::early_data::{self, Call};
use super::pump::Moved;
use super::state::{Side, Stage, Want};
use super::steps::Unanswered;
use super::tap::Message;
use super::writing::Transfer;
use crate::errors::{self, reasons};
use crate::settings::options::{RECEIVED_SHUTDOWN, SENT_SHUTDOWN};
use crate::sys::x509::V_ERR_UNSPECIFIED;

/// The name of a server whose name is unknown. Addresses are never sent.
const UNNAMED: &str = "0.0.0.0";

/// The random of a HelloRetryRequest: the SHA-256 hash of its name. RFC 9846 4.2.3
const RETRY_RANDOM: [u8; 32] = [
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
    0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
];

impl Ssl {
    /// Continues the handshake. 1 at its end, 0 if the method is for the other side, else -1.
    pub(crate) fn do_handshake(&self) -> c_int {
        self.want.set(Want::Nothing);
        let Some(side) = self.side.get() else {
            errors::push(reasons::CONNECTION_TYPE_NOT_SET);
            return -1;
        };
        let method = self.settings().method;
        let has_side = if side == Side::Server { method.server } else { method.client };
        if !has_side && !self.is_connected() {
            errors::push_not_now("the method is for the other side");
            return 0;
        }
        // As OpenSSL does: a program may not have read the errors of another connection.
        if !matches!(*self.stage.borrow(), Stage::Failed | Stage::Connected(_)) {
            errors::clear();
        }
        if self.is_new() {
            // The callback is called before anything has begun, as with OpenSSL.
            self.report_start();
            self.shutdown.set(0);
            if self.begin(side).is_none() {
                // A program finds out in this way whether a version is enabled.
                self.report_exit(-1);
                return -1;
            }
            if self.sees_messages() {
                self.message_state.set(Some(super::messages::BEFORE));
                self.sends.set(true);
            }
        }
        if self.is_connected() {
            return self.continue_connected();
        }
        let result = self.advance();
        self.report_exit(result);
        if result == early_data::RECEIVED && self.early.call.get() != Call::ReadEarly {
            errors::push_not_now("early data was not read");
            return -1;
        }
        result
    }

    /// Continues an established connection: sends a message of the application, and the answer to
    /// a request of the server, or receives the rest of a client's answer. As with OpenSSL, a
    /// failed connection fails without another error.
    fn continue_connected(&self) -> c_int {
        if self.failed.get() {
            return -1;
        }
        if self.refused_renegotiation.get() {
            errors::push(reasons::NO_RENEGOTIATION);
            self.stage.replace(Stage::Failed);
            self.failed.set(true);
            return -1;
        }
        let is_answered = self.answer_requests() && self.finish_answer();
        if is_answered && self.send_message() == Moved::Done { 1 } else { -1 }
    }

    /// Makes the handshake. `None`: an error is in the queue.
    fn begin(&self, side: Side) -> Option<()> {
        let counters = &self.session_context.counters;
        self.found_result.set(None);
        self.received_session.set(false);
        self.resumption.clear();
        let mut handshake = match side {
            Side::Client => {
                if let Some(session) = &*self.session.borrow() {
                    self.verify_result.set(session.fields().verify_result);
                }
                let config = self.client_configuration()?;
                let name = self
                    .host_name
                    .borrow()
                    .as_ref()
                    .map(|name| name.to_string_lossy().into_owned());
                let name = ServerName::try_from(name.unwrap_or_else(|| UNNAMED.to_owned()));
                let Ok(name) = name else {
                    errors::push(reasons::SSL3_EXT_INVALID_SERVERNAME);
                    return None;
                };
                counters.connect.count();
                Handshake::client(config, name)
            }
            Side::Server => {
                let config = self.first_server_configuration()?;
                counters.accept.count();
                Handshake::server(config)
            }
        };
        super::messages::set_tap(&mut handshake);
        self.values.replace(Some(Box::default()));
        self.stage.replace(Stage::Handshake(Box::new(handshake)));
        Some(())
    }

    fn advance(&self) -> c_int {
        if matches!(*self.stage.borrow(), Stage::Failed) {
            return -1;
        }
        // Data that may be a replay is not mixed with other data.
        if self.early.unread.borrow().len() > 0 {
            errors::push_not_now("early data was not read");
            return -1;
        }
        loop {
            match self.send(self.is_in_handshake() && !self.unsent.borrow().is_empty()) {
                Moved::Done => {}
                _ => return -1,
            }
            let step = match self.step.take() {
                Some(step) => step,
                None => match self.next_step() {
                    Ok(Some(step)) => step,
                    Ok(None) => continue,
                    Err(()) => return -1,
                },
            };
            match step {
                Next::Receive if self.early.call.get() == Call::WriteEarly => {
                    self.step.replace(Some(Next::Receive));
                    return early_data::STARTED;
                }
                Next::Receive => match self.receive_message() {
                    Moved::Done => {}
                    Moved::Blocked => return -1,
                    Moved::End => {
                        self.input_ended();
                        return -1;
                    }
                    Moved::Failed(_) => return -1,
                },
                Next::Answer(question) => match self.answer(&question) {
                    Ok(answer) => {
                        let _ = self.with_handshake(|handshake| handshake.answer(answer));
                    }
                    Err(Unanswered::Later) => {
                        self.step.replace(Some(Next::Answer(question)));
                        return -1;
                    }
                    Err(Unanswered::Alert(alert)) => {
                        self.abort(alert);
                        return -1;
                    }
                },
                Next::EarlyData(mut data) => {
                    let result = self.received_early(&data);
                    zeroize::Zeroize::zeroize(&mut data);
                    return result;
                }
                Next::Connected(connection) => {
                    // The program's function may ask for the parameters of the connection.
                    self.step.replace(Some(Next::Connected(connection)));
                    let checked = self.check_resumed();
                    let Some(Next::Connected(connection)) = self.step.take() else {
                        errors::push_internal();
                        return -1;
                    };
                    if let Err(alert) = checked {
                        self.refuse(connection, alert);
                        return -1;
                    }
                    self.connected(connection);
                    return 1;
                }
                _ => {
                    errors::push_internal();
                    return -1;
                }
            }
        }
    }

    fn receive_message(&self) -> Moved {
        self.report_waiting();
        self.receive()
    }

    /// The transport ended in the handshake. As with OpenSSL, the peer may learn it by an alert.
    fn input_ended(&self) {
        if self.settings().has(crate::settings::options::IGNORE_UNEXPECTED_EOF) {
            self.shutdown.set(self.shutdown.get() | RECEIVED_SHUTDOWN);
            self.stage.replace(Stage::Failed);
            return;
        }
        errors::push(reasons::UNEXPECTED_EOF_WHILE_READING);
        // A handshake that has not begun sends no alert of its own.
        if self.side.get() == Some(Side::Server) && !self.has_received_hello() {
            return self.abort_unsent(DECODE_ERROR);
        }
        self.abort(DECODE_ERROR);
    }

    /// Ends a connection that the application refused: with its last flight, if that is not sent
    /// yet, because the alert has the keys of the connection.
    fn refuse(&self, mut connection: Box<Connection>, alert: u8) {
        // The connection ends anyway.
        let _ = connection.sender.abort(AlertDescription(alert), self.unsent.borrow_mut().buffer());
        self.stage.replace(Stage::Failed);
        self.remove_session();
        self.send(true);
        self.deliver_alert([FATAL, alert]);
        self.report_alert(false, FATAL, alert);
        self.want.set(Want::Nothing);
    }

    /// Runs one step. The bytes that it made are sent before its result is acted upon.
    fn next_step(&self) -> Result<Option<Next>, ()> {
        let mut received = self.received.take();
        let mut unsent = self.unsent.take();
        let is_foreign = super::pump::is_foreign(&received) && !self.has_received_hello();
        let (mut step, mut tapped) = self.step(|| {
            self.with_handshake(|handshake| handshake.advance(&mut received, unsent.buffer()))
        });
        self.received.replace(received);
        self.unsent.replace(unsent);
        if let Some(Ok(Next::Connected(connection))) = &mut step {
            self.take_made(&mut connection.info);
        }
        let alert = match step {
            Some(Err(_)) => tapped.take_sent_alert(),
            _ => None,
        };
        self.deliver(tapped);
        if let Some(Ok(Next::Connected(connection))) = &mut step {
            let resumed = connection.info.resumed;
            self.receive_sessions(connection.receiver.take_new_sessions(), resumed);
        }
        if self.resumption.take_failure() {
            self.callback_failed(step);
            return Err(());
        }
        if self.demands_more() {
            self.callback_failed(step);
            return Err(());
        }
        // With its flight, a server has requested a certificate or has not.
        if !self.unsent.borrow().is_empty() && !self.has_sent_retry() {
            let requested = self.configured.take().is_some_and(|bits| bits != 0);
            self.has_requested.set(self.has_requested.get() || requested);
        }
        match step {
            Some(Ok(Next::Connected(connection))) => {
                // A client's result is that of the session that it offered.
                if connection.info.resumed && self.side.get() == Some(Side::Server) {
                    let unknown = V_ERR_UNSPECIFIED.into();
                    self.verify_result.set(self.found_result.get().unwrap_or(unknown));
                }
                let resumed = connection.info.resumed;
                let resumes = resumed && self.side.get() == Some(Side::Server);
                let fields = self.complete_session(&connection.info);
                self.step.replace(Some(Next::Connected(connection)));
                self.deliver_made(&fields, resumes);
                self.offer_received(resumed);
                Ok(None)
            }
            Some(Ok(step)) if self.unsent.borrow().is_empty() => Ok(Some(step)),
            Some(Ok(step)) => {
                self.step.replace(Some(step));
                Ok(None)
            }
            Some(Err(error)) => {
                // A peer that does not use TLS would take the alert for an answer.
                if is_foreign {
                    self.unsent.take();
                }
                self.failed(error, alert);
                Err(())
            }
            // A failed handshake stays failed, without another error.
            None => Err(()),
        }
    }

    /// Whether the bytes to send begin with a HelloRetryRequest. RFC 9846 4.2.4
    pub(super) fn has_sent_retry(&self) -> bool {
        // The headers of the record and of the message, and the version, precede the random.
        self.unsent.borrow().bytes().get(11..43) == Some(&RETRY_RANDOM)
    }

    /// Ends a handshake in which a callback failed before the step, or after it.
    fn callback_failed(&self, step: Option<Result<Next, Error>>) {
        errors::push(reasons::CALLBACK_FAILED);
        let Some(Ok(Next::Connected(connection))) = step else {
            return self.abort_unsent(INTERNAL_ERROR);
        };
        self.refuse(connection, INTERNAL_ERROR);
    }

    /// Fails the handshake after an error, whose alert callbacks have not seen.
    fn failed(&self, error: Error, message: Option<Message>) {
        let is_proved = |handshake: &mut Handshake| handshake.session_to_forget().is_some();
        self.resumption.is_proved.set(self.with_handshake(is_proved) == Some(true));
        if let Error::AlertReceived(alert) = error {
            return self.alert_received(error, alert);
        }
        let refusal = match self.stage.replace(Stage::Failed) {
            Stage::Handshake(handshake) => handshake.refusal().cloned(),
            _ => None,
        };
        self.fail_with(error, refusal.and_then(|refusal| refusal.explanation));
        if let Some(alert) = error.alert() {
            self.remove_session();
            // The alert is sent if the transport accepts it.
            self.send(true);
            self.deliver_messages(message.into_iter().collect());
            self.report_alert(false, FATAL, alert.0);
            self.want.set(Want::Nothing);
        }
    }

    /// Sends close_notify, then reads that of the peer. 1 when both are done, 0 after the first.
    pub(crate) fn close(&self) -> c_int {
        self.want.set(Want::Nothing);
        if self.side.get().is_none() {
            errors::push(reasons::UNINITIALIZED);
            return -1;
        }
        if !self.is_init_finished() {
            errors::push(reasons::SHUTDOWN_WHILE_IN_INIT);
            return -1;
        }
        if self.settings().quiet_shutdown {
            self.shutdown.set(SENT_SHUTDOWN | RECEIVED_SHUTDOWN);
            return 1;
        }
        let flags = self.shutdown.get();
        if flags & SENT_SHUTDOWN == 0 {
            self.shutdown.set(flags | SENT_SHUTDOWN);
            let closed = self.sealing(|connection, unsent| connection.sender.close(unsent));
            if closed.is_some() {
                self.report_alert(false, super::alerts::WARNING, super::alerts::CLOSE_NOTIFY);
            }
            if self.send(true) != Moved::Done {
                return -1;
            }
        } else if !self.unsent.borrow().is_empty() {
            if self.send(true) != Moved::Done {
                return -1;
            }
        } else if flags & RECEIVED_SHUTDOWN == 0 && self.is_connected() {
            match self.as_reader(|| self.read_close()) {
                Some(Transfer::End) if self.shutdown.get() & RECEIVED_SHUTDOWN != 0 => {}
                _ => return -1,
            }
        }
        let both = SENT_SHUTDOWN | RECEIVED_SHUTDOWN;
        c_int::from(self.shutdown.get() & both == both)
    }
}

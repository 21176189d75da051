//! `SSL_do_handshake` and `SSL_shutdown`.

use core::ffi::c_int;
use std::sync::Arc;

use tercel::error::Error;
use tercel::pki_types::ServerName;
use tercel::wire::ProtocolVersion;
use tercel::{Connection, ConnectionInfo, Handshake, Next};

use super::Ssl;
use super::early_data::{self, Call};
use super::pump::Moved;
use super::state::{Side, Stage, Want};
use super::steps::Unanswered;
use super::writing::Transfer;
use crate::errors::{self, reasons};
use crate::objects::certificate::Certificate;
use crate::session::{Session, parse_chain};
use crate::settings::options::{RECEIVED_SHUTDOWN, SENT_SHUTDOWN};
use crate::sys::x509::{V_ERR_UNSPECIFIED, V_OK};

/// The name of a server whose name is unknown. Addresses are never sent.
const UNNAMED: &str = "0.0.0.0";

impl Ssl {
    /// Continues the handshake. 1 at its end, else -1.
    pub(crate) fn do_handshake(&self) -> c_int {
        self.want.set(Want::Nothing);
        let Some(side) = self.side.get() else {
            errors::push(reasons::CONNECTION_TYPE_NOT_SET);
            return -1;
        };
        // As OpenSSL does: a program may not have read the errors of another connection.
        if !matches!(*self.stage.borrow(), Stage::Failed | Stage::Connected(_)) {
            errors::clear();
        }
        if matches!(*self.stage.borrow(), Stage::New) {
            if self.begin(side).is_none() {
                // A program finds out in this way whether a version is enabled.
                self.report_start();
                self.report_exit(-1);
                return -1;
            }
            if self.sees_messages() {
                self.message_state.set(Some(super::messages::BEFORE));
            }
            self.report_start();
            self.report_progress();
        }
        if self.is_connected() {
            return 1;
        }
        let result = self.advance();
        self.report_exit(result);
        if result == early_data::RECEIVED && self.early.call.get() != Call::ReadEarly {
            errors::push_not_now("early data was not read");
            return -1;
        }
        result
    }

    /// Makes the handshake. `None`: an error is in the queue.
    fn begin(&self, side: Side) -> Option<()> {
        let counters = &self.session_context.counters;
        self.found_result.set(None);
        self.received_session.set(false);
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
                Next::Receive => match self.receive() {
                    Moved::Done => {}
                    Moved::Blocked => return -1,
                    Moved::End => {
                        self.stage.replace(Stage::Failed);
                        if self.settings().has(crate::settings::options::IGNORE_UNEXPECTED_EOF) {
                            self.closed_by_peer.set(true);
                            self.shutdown.set(self.shutdown.get() | RECEIVED_SHUTDOWN);
                        } else {
                            errors::push(reasons::UNEXPECTED_EOF_WHILE_READING);
                        }
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

    /// Runs one step. The bytes that it made are sent before its result is acted upon.
    fn next_step(&self) -> Result<Option<Next>, ()> {
        let mut received = self.received.take();
        let mut unsent = self.unsent.take();
        let is_foreign = super::pump::is_foreign(&received) && !self.has_received_hello();
        // The handshake is taken out, because the program's ticket keys and cache may be asked.
        let (step, tapped) = match self.stage.replace(Stage::Stepping) {
            Stage::Handshake(mut handshake) => {
                let (step, tapped) =
                    self.step(|| handshake.advance(&mut received, unsent.buffer()));
                self.stage.replace(Stage::Handshake(handshake));
                (Some(step), Some(tapped))
            }
            other => {
                self.stage.replace(other);
                (None, None)
            }
        };
        self.received.replace(received);
        self.unsent.replace(unsent);
        if let Some(tapped) = tapped {
            if let Some(found) = tapped.found_result {
                self.found_result.set(Some(found));
            }
            self.deliver(tapped);
        }
        match step {
            Some(Ok(Next::Connected(connection))) => {
                // A client's result is that of the session that it offered.
                if connection.info.resumed && self.side.get() == Some(Side::Server) {
                    let unknown = V_ERR_UNSPECIFIED.into();
                    self.verify_result.set(self.found_result.get().unwrap_or(unknown));
                }
                self.step.replace(Some(Next::Connected(connection)));
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
                self.failed(error);
                Err(())
            }
            // A failed handshake stays failed, without another error.
            None => Err(()),
        }
    }

    fn failed(&self, error: Error) {
        self.stage.replace(Stage::Failed);
        self.report_received(error);
        self.after_failure(error);
        // The alert is sent if the transport accepts it.
        self.send(true);
        self.fail(error);
    }

    fn connected(&self, connection: Box<Connection>) {
        let info = &connection.info;
        let context = &self.session_context;
        let counters = &context.counters;
        if info.resumed {
            counters.hits.count();
        }
        match self.side.get() {
            Some(Side::Server) => counters.accept_good.count(),
            _ => counters.connect_good.count(),
        }
        self.take_peer(info);
        if self.status_response.borrow().is_none() {
            self.status_response.replace(info.ocsp_response.clone());
        }
        // A pointer that the program has received with early data remains valid.
        let protocol = info.alpn.clone().unwrap_or_default();
        if *self.lent.protocol.borrow() != protocol {
            self.lent.protocol.replace(protocol);
        }
        let settings = self.settings();
        let mut fields = Session::of(info, settings.session_timeout);
        fields.verify_result = self.verify_result.get();
        fields.context.clone_from(&settings.session_context);
        if self.side.get() == Some(Side::Server) && info.version == ProtocolVersion::TLS1_3 {
            fields.max_early_data = settings.max_early_data;
        }
        let name = self.host_name.borrow().as_ref().map(|name| name.as_bytes_with_nul().to_vec());
        fields.host_name = name;
        let made_with = fields.clone();
        // A client's TLS 1.2 session was received during the handshake, and is kept.
        let received = self.session.borrow().clone().filter(|_| self.received_session.get());
        match received.filter(|known| !info.resumed && known.fields().is_resumable()) {
            Some(known) => {
                let mut own = known.fields();
                fields.core = own.core.clone();
                fields.keep_parts_of(&mut own);
                (fields.has_ticket, fields.lifetime_hint) = (own.has_ticket, own.lifetime_hint);
                fields.max_early_data = own.max_early_data;
                *own = fields;
            }
            None if info.resumed && self.side.get() == Some(Side::Client) => {}
            None => {
                fields.id = random_id();
                // A server's session may have data of the program, which was set in a callback.
                let begun = self.session.borrow().clone();
                match begun.filter(|_| !info.resumed && self.received_session.get()) {
                    Some(begun) => *begun.fields() = fields,
                    None => _ = self.session.replace(Some(Session::new(fields))),
                }
            }
        }
        if self.early.writes.get() {
            // A blocked write of early data is not continued by other data, which arrives also if
            // the server refuses early data.
            self.unsent.borrow_mut().forget_write();
        }
        self.stage.replace(Stage::Connected(connection));
        self.report_done();
        self.deliver_made(&made_with);
    }

    /// Takes the peer's certificates of the connection. Those of a session that was refused after
    /// its verification are removed.
    fn take_peer(&self, info: &ConnectionInfo) {
        let verified = self.peer_chain.borrow().first().and_then(Certificate::to_der);
        if verified.as_deref() == info.peer_chain().first().map(AsRef::as_ref) {
            return;
        }
        self.peer_chain.replace(parse_chain(info.peer_chain()).unwrap_or_default());
        self.verified_chain.take();
        self.lent.peer_chain.take();
        self.lent.verified_chain.take();
        // A client without a certificate has the result that OpenSSL reports for it.
        if self.side.get() == Some(Side::Server) && !info.resumed {
            self.verify_result.set(V_OK);
        }
    }

    /// Sends close_notify, then reads that of the peer. 1 when both are done, 0 after the first.
    pub(crate) fn close(&self) -> c_int {
        self.want.set(Want::Nothing);
        if self.settings().quiet_shutdown {
            self.shutdown.set(SENT_SHUTDOWN | RECEIVED_SHUTDOWN);
            return 1;
        }
        match &*self.stage.borrow() {
            Stage::New if self.side.get().is_none() => {
                errors::push(reasons::UNINITIALIZED);
                return -1;
            }
            Stage::Handshake(_) | Stage::Stepping => {
                errors::push(reasons::SHUTDOWN_WHILE_IN_INIT);
                return -1;
            }
            _ => {}
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

    /// The session of the connection, or the one that a client offers. On a server it exists from
    /// the ClientHello on, and is complete after the handshake.
    pub(crate) fn current_session(&self) -> Option<Arc<Session>> {
        let begins = self.side.get() == Some(Side::Server)
            && self.is_in_handshake()
            && self.hello.borrow().is_some();
        if begins && !self.received_session.replace(true) {
            let old = self.session.replace(Some(Session::new(crate::session::Fields::default())));
            drop(old);
        }
        self.session.borrow().clone()
    }
}

/// A name for a session that has none: a server's, whose client holds the ticket.
fn random_id() -> Vec<u8> {
    let mut id = vec![0; 32];
    // Without randomness the name stays zero, which only programs with a cache would notice.
    let _ = crate::objects::digest::fill_random(&mut id);
    id
}

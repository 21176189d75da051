//! The end of a handshake, and the session of the connection.

use core::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;

use tercel::wire::ProtocolVersion;
use tercel::{Connection, ConnectionInfo, EarlyData};

use super::Ssl;
use super::state::{Side, Stage};
use crate::context::SESS_CACHE_SERVER;
use crate::objects::certificate::Certificate;
use crate::objects::id::Id;
use crate::session::{Fields, Session, now, parse_chain};
use crate::sys::x509::V_OK;

/// The program removes expired sessions itself.
const NO_AUTO_CLEAR: u32 = 0x80;

impl Ssl {
    /// The handshake is complete, and its last messages are sent.
    pub(super) fn connected(&self, connection: Box<Connection>) {
        let counters = &self.session_context.counters;
        if connection.info.resumed {
            counters.hits.count();
            self.has_requested.set(false);
        }
        let is_server = self.side.get() == Some(Side::Server);
        match is_server {
            true => counters.accept_good.count(),
            false => counters.connect_good.count(),
        }
        if self.early.writes.get() && connection.info.early_data != EarlyData::Accepted {
            // An interrupted write of early data is not continued by other data, because the server
            // has refused its beginning.
            self.interrupted.take();
        }
        if self.message_state.get().is_some() {
            self.report_progress();
        }
        self.stage.replace(Stage::Connected(connection));
        self.report_done();
        if is_server {
            self.remove_ended_sessions();
        }
    }

    /// Takes the parameters of the connection, whose last messages are not sent yet: they may
    /// contain the name of a session, which is in the cache when the client learns it. Returns the
    /// fields of the sessions that a server made.
    pub(super) fn complete_session(&self, info: &ConnectionInfo) -> Fields {
        self.take_peer(info);
        if self.status_response.borrow().is_none() {
            // As with OpenSSL, a resumed session has no status.
            let received = info.ocsp_response.as_ref().filter(|_| !info.resumed);
            self.status_response.replace(received.cloned());
        }
        // A pointer that the program has received with early data remains valid.
        let protocol = info.alpn.clone().unwrap_or_default();
        if *self.lent.protocol.borrow() != protocol {
            self.lent.protocol.replace(protocol);
        }
        let settings = self.settings();
        let mut fields = Session::of(info, settings.session_timeout);
        fields.verify_result = self.verify_result.get();
        fields.context = settings.session_context.clone();
        if self.side.get() == Some(Side::Server) && info.version == ProtocolVersion::TLS1_3 {
            fields.max_early_data = settings.max_early_data;
        }
        let name = self.host_name.borrow().as_ref().map(|name| name.as_bytes_with_nul().to_vec());
        fields.host_name = name;
        let is_server = self.side.get() == Some(Side::Server);
        let resumes = is_server && info.resumed;
        // The session of this handshake may have data of the program, which a callback has set.
        let is_full = !info.resumed && self.received_session.get();
        let begun = self.session.borrow().clone().filter(|_| is_full);
        let begun = begun.filter(|begun| is_server || !begun.fields().is_resumable());
        if let Some(begun) = &begun {
            fields.keep_added(&begun.fields());
        }
        let found = resumes.then(|| self.take_found(fields.clone()));
        if let Some(found) = &found {
            fields.keep_added(&found.fields());
        }
        let mut made_with = fields.clone();
        made_with.is_removed = false;
        if resumes {
            made_with.time = now();
        }
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
                match (begun, found) {
                    (Some(begun), _) => begun.fields().renew(fields),
                    (None, Some(found)) => {
                        if found.fields().id.is_empty() {
                            found.fields().id = fields.id;
                        }
                        drop(self.session.replace(Some(found)));
                    }
                    (None, None) => drop(self.session.replace(Some(Session::new(fields)))),
                }
            }
        }
        if is_server {
            // Callbacks that run now also see the connection's session.
            self.received_session.set(true);
        }
        made_with
    }

    /// Removes the sessions that have expired, after each 256 handshakes, as OpenSSL does.
    fn remove_ended_sessions(&self) {
        let context = &self.session_context;
        let mode = context.cache_mode.load(Relaxed);
        let is_time = context.counters.accept_good.get() & 0xff == 0xff;
        if is_time && mode & SESS_CACHE_SERVER != 0 && mode & NO_AUTO_CLEAR == 0 {
            self.outside(|| context.remove_ended(Some(now())));
        }
    }

    /// Takes the peer's certificates of the connection. Those of a session that was refused after
    /// its verification are removed.
    fn take_peer(&self, info: &ConnectionInfo) {
        let verified = self.peer_chain.borrow().first().and_then(Certificate::to_der);
        if verified.as_deref() == info.peer_chain().first().map(AsRef::as_ref) {
            return;
        }
        self.forget_chains();
        self.peer_chain.replace(parse_chain(info.peer_chain()).unwrap_or_default());
        // A client without a certificate has the result that OpenSSL reports for it.
        if self.side.get() == Some(Side::Server) && !info.resumed {
            self.verify_result.set(V_OK);
        }
    }

    /// Sets the session that a client offers. The session of a server's handshake is its own, so
    /// that the handshake does not complete this one.
    pub(crate) fn set_session(&self, session: Option<Arc<Session>>) {
        if let Some(session) = &session {
            self.verify_result.set(session.fields().verify_result);
        }
        if self.is_server() {
            self.received_session.set(false);
        }
        let old = self.session.replace(session);
        drop(old);
    }

    /// The session of the connection, or the one that a client offers. It exists from the
    /// ClientHello on, and is complete after the handshake.
    pub(crate) fn current_session(&self) -> Option<Arc<Session>> {
        let own = self.session.borrow().clone();
        if matches!(*self.stage.borrow(), Stage::New | Stage::Connected(_)) {
            return own;
        }
        let begins = match self.side.get() {
            Some(Side::Server) if self.hello.borrow().is_none() => false,
            Some(Side::Server) => match self.session_found() {
                Some(found) => return Some(found),
                None => true,
            },
            Some(Side::Client) => !own.is_some_and(|offered| offered.fields().is_resumable()),
            None => false,
        };
        if begins && !self.received_session.replace(true) {
            let settings = self.settings();
            let fields = Fields {
                time: now(),
                timeout: settings.session_timeout,
                context: settings.session_context.clone(),
                version: u16::try_from(self.version_of_messages(&settings)).unwrap_or_default(),
                ..Fields::default()
            };
            let old = self.session.replace(Some(Session::new(fields)));
            drop(old);
        }
        self.session.borrow().clone()
    }
}

/// A name for a session that has none: a server's, whose client holds the ticket.
pub(super) fn random_id() -> Id {
    let mut id = [0; Id::LONGEST];
    // Without randomness the name stays zero, which only programs with a cache would notice.
    let _ = crate::objects::digest::fill_random(&mut id);
    Id::from(id)
}

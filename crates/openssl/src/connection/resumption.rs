//! Where an application decides which sessions of a server are issued and resumed: its data in
//! tickets, its callbacks for them, and the session that it sees in a resumed handshake.
//!
//! The callbacks are called between two steps. What they refuse is not issued or not resumed; a
//! failure ends the connection after the next step.

use core::cell::{Cell, RefCell};
use core::ffi::c_int;
use std::sync::Arc;

use tercel::wire::ProtocolVersion;

use super::Ssl;
use super::server_sessions::Origin;
use super::state::Side;
use crate::session::{self, Added, Fields, Session, is_expired};
use crate::settings::options::NO_TICKET;

/// The state of a server's resumption.
#[derive(Default)]
pub(crate) struct Resumption {
    /// Whether a session was found that may be resumed. It is resumed unless the server sends its
    /// certificate.
    found: Cell<bool>,
    added: RefCell<Added>,
    /// The session that was found, if the program sees it.
    object: RefCell<Option<Arc<Session>>>,
    /// Where it was found, if it is one that other connections may have, too.
    origin: Cell<Option<Origin>>,
    /// Whether the client has proved that it has the session, and the handshake has failed.
    pub(super) is_proved: Cell<bool>,
    /// Whether the server sent its certificate: the handshake resumes no session.
    pub(super) is_full: Cell<bool>,
    /// Whether the program was asked about the client's ticket.
    asked: Cell<bool>,
    /// Whether the ticket that was used is to be replaced in TLS 1.2.
    renews: Cell<bool>,
    /// Whether the client gets no new ticket.
    no_ticket: Cell<bool>,
    /// Whether the security level or the program's function refuses tickets in TLS 1.2.
    pub(super) refuses_tickets: Cell<bool>,
    /// What the program's function said about the new session.
    not_resumable: Cell<Option<bool>>,
    /// The number of tickets of TLS 1.3 that were reported to the program.
    pub(super) reported: Cell<usize>,
    /// Whether one of the program's functions failed.
    failed: Cell<bool>,
}

impl Resumption {
    /// Forgets the last handshake.
    pub(super) fn clear(&self) {
        for mark in [&self.found, &self.is_proved, &self.is_full, &self.asked, &self.no_ticket] {
            mark.set(false);
        }
        self.origin.take();
        self.added.take();
        self.not_resumable.take();
        self.refuses_tickets.set(false);
        self.renews.set(false);
        self.reported.set(0);
        self.failed.set(false);
        drop(self.object.take());
    }

    /// Whether one of the program's functions failed in the last step, or before it.
    pub(super) fn take_failure(&self) -> bool {
        self.failed.take()
    }
}

/// The results of [`Ssl::ask_about_ticket`], with OpenSSL's numbers (`ssl.h`).
const EMPTY: c_int = 3;
const NO_DECRYPT: c_int = 4;
const SUCCESS: c_int = 5;
const SUCCESS_RENEW: c_int = 6;
const IGNORE: c_int = 1;
const IGNORE_RENEW: c_int = 2;
const USE: c_int = 3;
const USE_RENEW: c_int = 4;

impl Ssl {
    /// Asks the program about a ticket, which was opened or not. Returns whether it may be used.
    /// `None` as the version: it could not be opened.
    pub(super) fn may_use_ticket(&self, ticket: &[u8], version: Option<u16>) -> bool {
        let is_tls12 = version == Some(ProtocolVersion::TLS1_2.0);
        if is_tls12 && self.resumption.refuses_tickets.get() {
            self.forget_found();
            return false;
        }
        let status = match version {
            None => NO_DECRYPT,
            // As with OpenSSL, a ticket of TLS 1.3 is renewed.
            Some(version) if version == ProtocolVersion::TLS1_3.0 => SUCCESS_RENEW,
            Some(_) if self.renews_ticket() => SUCCESS_RENEW,
            Some(_) => SUCCESS,
        };
        self.ask_about_ticket(ticket, status, version.unwrap_or(0))
    }

    /// Whether the program wants the ticket that was used to be replaced.
    pub(super) fn renews_ticket(&self) -> bool {
        self.resumption.renews.get()
    }

    /// Notes whether the program wants the ticket that it opened to be replaced.
    pub(super) fn set_renews_ticket(&self, renews: bool) {
        self.resumption.renews.set(renews);
    }

    /// Whether TLS 1.3 was negotiated.
    pub(crate) fn is_tls13(&self) -> bool {
        self.negotiated_version() == Some(ProtocolVersion::TLS1_3)
    }

    pub(super) fn negotiated_version(&self) -> Option<ProtocolVersion> {
        self.values.borrow().as_ref().and_then(|values| values.version())
    }

    /// Forgets the session that was found if the handshake has become a full one, so that what the
    /// program added to it is not in the new session.
    fn settle(&self) {
        if self.resumption.is_full.get() && self.resumption.found.replace(false) {
            self.forget_found();
        }
    }

    /// The session that a server resumes or may resume. `None` in a full handshake.
    pub(super) fn session_found(&self) -> Option<Arc<Session>> {
        self.settle();
        if !self.resumption.found.get() {
            return None;
        }
        if let Some(known) = &*self.resumption.object.borrow() {
            return Some(Arc::clone(known));
        }
        let added = self.resumption.added.borrow().clone();
        let (time, timeout) =
            added.limit.unwrap_or((session::now(), self.settings().session_timeout));
        let made = Session::new(Fields {
            time,
            timeout,
            is_limited: added.limit.is_some(),
            data: added.data,
            context: self.settings().session_context.clone(),
            max_early_data: self.settings().max_early_data,
            ..Fields::default()
        });
        self.resumption.object.replace(Some(Arc::clone(&made)));
        Some(made)
    }

    /// Whether a server has found a session, and its handshake is not a full one.
    pub(super) fn has_found(&self) -> bool {
        self.settle();
        self.resumption.found.get()
    }

    /// The session of a resumed connection, with these fields unless it is that of a cache.
    pub(super) fn take_found(&self, fields: Fields) -> Arc<Session> {
        let is_whole = self.resumption.origin.take().is_some();
        self.resumption.found.set(false);
        let added = self.resumption.added.take();
        match self.resumption.object.take() {
            Some(object) if is_whole => {
                self.set_known_to_client(&object);
                object
            }
            Some(object) => {
                object.fields().renew(fields);
                object
            }
            None => {
                let made = Session::new(fields);
                made.fields().data = added.data;
                made
            }
        }
    }

    fn is_touched_before(&self) -> bool {
        self.received_session.get()
            && self.session.borrow().as_ref().is_some_and(|session| session.is_touched())
    }

    /// Notes that a session was found, with what the program has added to it. Returns whether it
    /// may be resumed.
    pub(super) fn may_use(&self, added: Added) -> bool {
        self.forget_found();
        // What the program has added to the session of this handshake would be lost.
        if added.is_expired() || self.is_touched_before() {
            return false;
        }
        self.resumption.found.set(true);
        self.resumption.added.replace(added);
        true
    }

    /// Notes that a session was found that other connections may have, too. Returns whether it may
    /// be resumed.
    pub(super) fn may_use_whole(&self, session: &Arc<Session>, origin: Origin) -> bool {
        // This can call the application, which may use the session.
        let settings = self.settings();
        let usable = {
            let fields = session.fields();
            !is_expired(fields.time, fields.timeout)
                && !fields.is_removed
                && fields.context == settings.session_context
        };
        if !usable || !self.may_use(Added::of(&session.fields())) {
            self.forget_found();
            return false;
        }
        self.resumption.object.replace(Some(Arc::clone(session)));
        self.resumption.origin.set(Some(origin));
        true
    }

    /// The session that was found, if other connections may have it, too.
    pub(super) fn whole_session_found(&self) -> Option<(Arc<Session>, Origin)> {
        let origin = self.resumption.origin.get()?;
        let session = self.resumption.object.borrow().clone()?;
        Some((session, origin))
    }

    /// Forgets the session that was found.
    pub(super) fn forget_found(&self) {
        self.resumption.found.set(false);
        self.resumption.origin.take();
        self.resumption.added.take();
        // Freeing a session can call the application.
        if let Some(old) = self.resumption.object.take() {
            self.outside(|| drop(old));
        }
    }

    /// Whether the session that was found allows early data.
    pub(super) fn found_allows_early_data(&self) -> bool {
        let object = self.resumption.object.borrow();
        object.as_ref().is_none_or(|session| session.fields().max_early_data > 0)
    }

    fn ask_about_ticket(&self, ticket: &[u8], status: c_int, version: u16) -> bool {
        let opened = matches!(status, SUCCESS | SUCCESS_RENEW);
        let callback = self.session_context.settings().callbacks.decrypt_ticket;
        let Some(function) = callback.function else { return opened };
        self.resumption.asked.set(true);
        let session = if opened { self.session_found() } else { None };
        if let Some(session) = &session {
            session.fields().version = version;
        }
        let pointer = session.as_ref().map_or(core::ptr::null(), Arc::as_ptr);
        let name = ticket.get(..16).unwrap_or(ticket);
        let call = || {
            let (ssl, argument) = (self.address(), callback.argument);
            let (session, start) = (pointer.cast_mut().cast(), name.as_ptr());
            // SAFETY: the program set this function for these arguments: the session is NULL, or
            // exists until the end of the call. No cell is borrowed.
            unsafe { function(ssl, session, start, name.len(), status, argument) }
        };
        let result = self.outside(call);
        let is_used = opened && matches!(result, USE | USE_RENEW);
        if !is_used && !matches!(result, IGNORE | IGNORE_RENEW) {
            self.resumption.failed.set(true);
        }
        // A ticket that is ignored is replaced in a full handshake of TLS 1.3.
        self.resumption.no_ticket.set(matches!(result, IGNORE | USE));
        self.resumption.renews.set(result == USE_RENEW);
        if !is_used {
            self.forget_found();
        }
        is_used
    }

    /// Whether a session may be issued now. `in_ticket`: the client keeps it.
    pub(super) fn may_issue(&self, in_ticket: bool) -> bool {
        let is_resumed = self.has_found();
        let settings = self.settings();
        let is_tls13 = self.is_tls13();
        if is_tls13 && settings.tickets == 0 || in_ticket && settings.has(NO_TICKET) {
            return false;
        }
        if in_ticket && !is_tls13 && self.resumption.refuses_tickets.get() {
            return false;
        }
        if in_ticket && !is_tls13 && !self.resumption.asked.get() {
            self.ask_about_ticket(&[], EMPTY, 0);
        }
        let refuses = in_ticket && self.resumption.no_ticket.get() && (is_resumed || !is_tls13);
        let is_removed = || {
            let begun = self.session.borrow().clone().filter(|_| self.received_session.get());
            begun.is_some_and(|session| session.fields().is_removed)
        };
        if refuses || self.resumption.failed.get() || !is_resumed && is_removed() {
            return false;
        }
        if !is_resumed && self.is_marked_not_resumable(is_tls13) {
            return false;
        }
        !(in_ticket || is_tls13) || self.generate_data()
    }

    /// Asks the program once whether the new session may be resumed.
    fn is_marked_not_resumable(&self, is_tls13: bool) -> bool {
        if let Some(known) = self.resumption.not_resumable.get() {
            return known;
        }
        let Some(function) = self.settings().callbacks.not_resumable else { return false };
        // OpenSSL reports the group only for TLS 1.2 with ECDHE.
        let is_forward_secure = c_int::from(!is_tls13);
        // SAFETY: the program set this function for these arguments. No cell is borrowed.
        let call = || unsafe { function(self.address(), is_forward_secure) };
        let refused = self.outside(call) != 0;
        self.resumption.not_resumable.set(Some(refused));
        refused
    }

    /// Lets the program add data to a ticket. Returns whether the ticket may be issued.
    fn generate_data(&self) -> bool {
        let callback = self.session_context.settings().callbacks.generate_ticket;
        let Some(function) = callback.function else { return true };
        // SAFETY: the program set this function for these arguments. No cell is borrowed.
        let generated = self.outside(|| unsafe { function(self.address(), callback.argument) });
        if generated == 0 {
            self.resumption.failed.set(true);
        }
        generated != 0
    }

    /// The data and the limit that the program has given the session that is issued now.
    pub(super) fn added_to_session(&self) -> Added {
        if self.has_found() {
            let object = self.resumption.object.borrow().clone();
            let added = match object {
                Some(object) => Added::of(&object.fields()),
                None => self.resumption.added.borrow().clone(),
            };
            // The lifetime begins again, as with OpenSSL.
            let limit = added.limit.map(|(_, timeout)| (session::now(), timeout));
            return Added { limit, ..added };
        }
        let begun = self.session.borrow().clone();
        let is_server = self.side.get() == Some(Side::Server);
        let begun = begun.filter(|_| is_server && self.received_session.get());
        begun.map(|session| Added::of(&session.fields())).unwrap_or_default()
    }
}

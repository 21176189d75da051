//! The session cache of a server, in which the application takes part: the answers to the
//! handshake's questions about sessions, the sessions that it made, and the removal of sessions.
//!
//! The questions are asked between two steps, so callbacks run with the lock released, and no cell
//! is borrowed.

use core::ffi::c_int;
use core::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;

use tercel::pki_types::UnixTime;
use tercel::questions::{ClaimSessionQuestion, FindSessionQuestion};
use tercel::{Answer, ConnectionInfo};
use zeroize::Zeroizing;

use super::Ssl;
use crate::objects::id::Id;
use crate::session::cache::Lookup;
use crate::session::{self, Session};

const NO_INTERNAL_LOOKUP: u32 = 0x100;
const NO_INTERNAL_STORE: u32 = 0x200;

/// A session that a server made.
pub(crate) struct MadeSession {
    id: Id,
    core: Zeroizing<Vec<u8>>,
    /// Whether the client has the session in a ticket, and does not know its ID.
    is_sealed: bool,
}

impl MadeSession {
    pub(super) fn new(id: Id, core: Zeroizing<Vec<u8>>, is_sealed: bool) -> Self {
        Self { id, core, is_sealed }
    }
}

/// Where a session was found that other connections may have, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// In the cache of the context.
    Cache,
    /// The application's callback returned it.
    Callback,
}

impl Ssl {
    fn has_cache_mode(&self, bit: u32) -> bool {
        self.session_context.cache_mode.load(Relaxed) & bit != 0
    }

    /// Answers with the session that has this ID, if it may be resumed.
    pub(super) fn answer_find_session(&self, question: &FindSessionQuestion) -> Answer {
        question.answer(self.find_session(question.identity()))
    }

    /// Finds a session in the cache of the context. As with OpenSSL, the callback is called if the
    /// cache does not have it.
    fn find_session(&self, id: &[u8]) -> Option<Vec<u8>> {
        // The client may have offered another session before this one.
        self.forget_found();
        if self.has_cache_mode(NO_INTERNAL_LOOKUP) {
            return self.ask_for_session(id);
        }
        let context = &self.session_context;
        match context.tickets.cache().get(id, UnixTime::now()) {
            Lookup::Found(session) => self.usable(&session, Origin::Cache),
            Lookup::Expired(removed) => {
                context.counters.timeouts.count();
                self.outside(|| context.after_removal(vec![removed]));
                None
            }
            Lookup::Unknown => {
                context.counters.misses.count();
                self.ask_for_session(id)
            }
        }
    }

    /// Calls the application's callback for a session with this ID.
    fn ask_for_session(&self, id: &[u8]) -> Option<Vec<u8>> {
        // Applications expect no longer ID, and a ticket that is no ID can be longer.
        if !(1..=Id::LONGEST).contains(&id.len()) {
            return None;
        }
        let context = &self.session_context;
        let function = context.settings().callbacks.get_session?;
        let mut copy: c_int = 1;
        let length = c_int::try_from(id.len()).ok()?;
        let ask = || {
            // SAFETY: the application set this function for these arguments. No cell is borrowed.
            unsafe { function(self.address(), id.as_ptr(), length, &raw mut copy) }
        };
        let pointer = self.outside(ask).cast::<Session>();
        // SAFETY: the callback returned NULL or a session. With `copy` the application keeps its
        // reference.
        let session = unsafe {
            if copy != 0 { crate::entry::object(pointer) } else { crate::entry::take(pointer) }
        }?;
        let is_resumable = session.fields().is_resumable();
        if is_resumable {
            context.counters.callback_hits.count();
        }
        let usable = if is_resumable && self.has_ended(&session) {
            context.counters.timeouts.count();
            self.outside(|| context.remove_session(&session));
            None
        } else {
            self.usable(&session, Origin::Callback)
        };
        // The application's last reference may end here.
        self.outside(|| drop(session));
        usable
    }

    /// Whether the lifetime of a session has ended that is one of this connection's context.
    fn has_ended(&self, session: &Session) -> bool {
        // This can call the application, which may use the session.
        let settings = self.settings();
        let fields = session.fields();
        fields.context == settings.session_context
            && session::is_expired(fields.time, fields.timeout)
    }

    /// Tercel's session in one that was found, if it may be resumed.
    fn usable(&self, session: &Arc<Session>, origin: Origin) -> Option<Vec<u8>> {
        if !session.fields().is_resumable() || !self.may_use_whole(session, origin) {
            return None;
        }
        let fields = session.fields();
        self.found_result.set(Some(fields.verify_result));
        Some(fields.core.to_vec())
    }

    /// Answers whether this connection has removed the session that it found, after the client has
    /// proved that it has the session's key.
    pub(super) fn answer_claim_session(&self, question: &ClaimSessionQuestion) -> Answer {
        question.answer(self.claim_session(question.identity()))
    }

    fn claim_session(&self, id: &[u8]) -> bool {
        let is_claimed = self.remove_found(id);
        if !is_claimed {
            self.forget_found();
        }
        is_claimed
    }

    /// Removes the session that was found from the caches, so that no other connection resumes it.
    /// Returns whether that is so.
    fn remove_found(&self, id: &[u8]) -> bool {
        let Some((session, origin)) = self.whole_session_found() else { return false };
        if !self.is_first_use(id) {
            return false;
        }
        if origin == Origin::Callback && !self.application_removes() {
            return false;
        }
        let context = &self.session_context;
        let removed = context.tickets.cache().remove(id);
        // Only one of several threads removes a session from the cache.
        let is_removed = removed.is_some() || origin == Origin::Callback;
        self.outside(|| {
            drop(removed);
            if is_removed {
                context.remove_from_program(&session);
            }
        });
        is_removed
    }

    /// Whether no other process resumes a session that the application has. As with OpenSSL, a
    /// session that allows early data is not resumed if the application does not remove it, or if
    /// the context does not store sessions.
    fn application_removes(&self) -> bool {
        let has_callback = self.session_context.settings().callbacks.remove_session.is_some();
        has_callback && !self.has_cache_mode(NO_INTERNAL_STORE)
            || self.settings().max_early_data == 0
    }

    /// Whether a session that is resumed once may be resumed now. The IDs of sessions that the
    /// application may also have are remembered, because two threads can find one there, and
    /// because the application may not remove it.
    fn is_first_use(&self, id: &[u8]) -> bool {
        let context = &self.session_context;
        let callbacks = context.settings().callbacks;
        callbacks.get_session.is_none() || context.used.add(id, UnixTime::now())
    }

    /// Takes the sessions that the handshake made. Each enters the cache before the client learns
    /// its ID: see [`Self::deliver_made`].
    pub(super) fn take_made(&self, info: &mut ConnectionInfo) {
        for new in info.take_new_sessions() {
            let core = Zeroizing::new(new.session);
            if let Some(id) = Id::new(&new.id).filter(|_| self.may_issue(false)) {
                self.made.borrow_mut().push(MadeSession::new(id, core, false));
            }
        }
    }

    /// Counts a ticket. Returns whether it is reported to the application.
    pub(super) fn reports_ticket(&self) -> bool {
        let most = if self.has_found() { 1 } else { self.settings().tickets };
        let reported = self.resumption.reported.get();
        self.resumption.reported.set(reported.saturating_add(1));
        reported < most
    }

    /// Whether a session of a server enters the cache of the context. `is_sealed`: the client has
    /// the session in a ticket, so it is there only for an application that wants to know which
    /// sessions end.
    fn is_stored(&self, is_sealed: bool) -> bool {
        let callbacks = self.session_context.settings().callbacks;
        !self.has_cache_mode(NO_INTERNAL_STORE)
            && (!is_sealed || callbacks.remove_session.is_some())
    }

    /// Adds the sessions that a server made to the cache, and passes them to the application. As
    /// with OpenSSL, each is in the cache when the application sees it, and before the client can
    /// use it.
    pub(crate) fn deliver_made(&self, fields: &session::Fields, resumed: bool) {
        let made = self.made.take();
        for (index, MadeSession { id, core, is_sealed }) in made.into_iter().enumerate() {
            // The first one is that of the connection, with the data of the application.
            let own = self.session.borrow().clone();
            let session = match own {
                Some(own) if index == 0 && !resumed && !own.fields().is_resumable() => {
                    own.fields().complete(id, core, is_sealed);
                    own
                }
                own => {
                    let fields = session::Fields { id, core, is_sealed, ..fields.clone() };
                    Session::copied(fields, own.as_deref())
                }
            };
            let context = &self.session_context;
            session.set_cache(context.cache());
            if let Some(old) = self.session.replace(Some(Arc::clone(&session))) {
                self.outside(|| old.let_go());
            }
            if !is_sealed {
                self.set_known_to_client(&session);
            }
            if self.is_stored(is_sealed) {
                self.outside(|| context.add_session(&session));
            }
            self.offer_new_session(session);
        }
    }

    /// Notes the session of this connection that the client can resume by its ID.
    pub(super) fn set_known_to_client(&self, session: &Arc<Session>) {
        if !self.is_tls13() {
            self.known_to_client.replace(Arc::downgrade(session));
        }
    }

    /// After a fatal alert of either side: the session is not resumed any more, and the application
    /// removes it from its cache. RFC 5246 7.2.2
    pub(crate) fn remove_session(&self) {
        if self.has_found() {
            // A session that the client has not proved to have is not removed.
            if self.resumption.is_proved.get() {
                self.remove_resumable(self.session_found());
            }
            return;
        }
        self.remove_resumable(self.current_session());
        // The application may have set another session for the connection.
        let known_to_client = self.known_to_client.take().upgrade();
        self.remove_resumable(known_to_client);
    }

    fn remove_resumable(&self, session: Option<Arc<Session>>) {
        if let Some(session) = session.filter(|session| session.fields().is_resumable()) {
            let context = &self.session_context;
            self.outside(|| context.remove_session(&session));
        }
    }
}

#[cfg(test)]
mod tests {
    use core::ffi::c_uchar;

    use super::*;
    use crate::context::Context;

    /// A callback of an application that finds each session, and never removes one.
    unsafe extern "C" fn find(
        _: *mut core::ffi::c_void,
        _: *const c_uchar,
        _: c_int,
        copy: *mut c_int,
    ) -> *mut core::ffi::c_void {
        // SAFETY: the caller passes a variable.
        unsafe { copy.write(0) };
        crate::entry::give(resumable()).cast()
    }

    unsafe extern "C" fn keep(_: *mut core::ffi::c_void, _: *mut core::ffi::c_void) {}

    fn resumable() -> Arc<Session> {
        let (core, time) = (vec![1].into(), session::now());
        Session::new(session::Fields { core, time, timeout: 60, ..Default::default() })
    }

    fn server() -> Arc<Context> {
        // SAFETY: the function returns a static object.
        let method = unsafe { &*crate::method::TLS_server_method() };
        Context::new(method).unwrap()
    }

    /// The ticket that a server takes of those in a ClientHello, which it tries one after another.
    fn taken<'a>(ssl: &Ssl, offered: &[&'a str]) -> Option<&'a str> {
        let is_usable = |ticket: &str| {
            ssl.find_session(ticket.as_bytes()).is_some() && ssl.claim_session(ticket.as_bytes())
        };
        offered.iter().copied().find(|ticket| is_usable(ticket))
    }

    /// A client requests as many tickets as it wants. RFC 9149 3
    #[test]
    fn a_client_does_not_multiply_what_is_reported() {
        let ssl = Ssl::new(&server()).unwrap();
        let reported = |ssl: &Ssl| (0..10).filter(|_| ssl.reports_ticket()).count();
        assert_eq!(reported(&ssl), 2);
        ssl.clear();
        ssl.change(|settings| settings.tickets = 5);
        assert_eq!(reported(&ssl), 5);
        // A resumed handshake.
        ssl.clear();
        assert!(ssl.may_use_whole(&resumable(), Origin::Cache));
        assert_eq!(reported(&ssl), 1);
    }

    /// RFC 9846 8.1
    #[test]
    fn a_ticket_is_used_once_among_several() {
        let context = server();
        context.change(|settings| {
            settings.callbacks.get_session = Some(find);
            settings.callbacks.remove_session = Some(keep);
            settings.max_early_data = 1;
        });
        let connect = |offered: &[&'static str]| taken(&Ssl::new(&context).unwrap(), offered);
        assert_eq!(connect(&["one", "other"]), Some("one"));
        // The ClientHello again, and in another order: each ticket is used once in all.
        assert_eq!(connect(&["one", "other"]), Some("other"));
        assert_eq!(connect(&["one", "other"]), None);
        assert_eq!(connect(&["other", "one", "one"]), None);
    }

    /// RFC 9846 8.1
    #[test]
    fn a_session_that_two_connections_have_found_is_claimed_once() {
        let context = server();
        let id = Id::new(b"one").unwrap();
        let session = resumable();
        session.fields().id = id;
        assert!(context.add_session(&session));
        let [one, other] = [(); 2].map(|()| Ssl::new(&context).unwrap());
        assert!(one.find_session(b"one").is_some() && other.find_session(b"one").is_some());
        assert!(other.claim_session(b"one") && !one.claim_session(b"one"));
        assert!(other.has_found() && !one.has_found());
        // A session that was not found is not claimed.
        assert!(!Ssl::new(&context).unwrap().claim_session(b"one"));
    }

    /// Another process could resume a session that the application does not remove.
    #[test]
    fn early_data_needs_an_application_that_removes_sessions() {
        for (removes, mode, early_data, expected) in [
            (false, 0, 0, true),
            (false, 0, 1, false),
            (true, 0, 1, true),
            (true, NO_INTERNAL_STORE, 1, false),
        ] {
            let context = server();
            context.change(|settings| {
                settings.callbacks.get_session = Some(find);
                settings.callbacks.remove_session = removes.then_some(keep);
                settings.max_early_data = early_data;
            });
            context.cache_mode.store(mode, Relaxed);
            let ssl = Ssl::new(&context).unwrap();
            assert_eq!(taken(&ssl, &["one"]).is_some(), expected, "{removes} {mode} {early_data}");
        }
    }

    /// The application may have set another session for the connection. RFC 5246 7.2.2
    #[test]
    fn the_session_that_the_client_knows_is_removed() {
        let context = server();
        let ssl = Ssl::new(&context).unwrap();
        let session = resumable();
        session.fields().id = Id::new(b"one").unwrap();
        assert!(context.add_session(&session));
        ssl.set_known_to_client(&session);
        ssl.set_session(Some(resumable()));
        ssl.remove_session();
        assert!(session.fields().is_removed);
        assert!(matches!(context.tickets.cache().get(b"one", UnixTime::now()), Lookup::Unknown));
    }
}

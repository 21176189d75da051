//! The session cache of a server, in which the program takes part.
//!
//! A configuration calls this object inside of a step. It finds the connection of the step by the
//! thread, and calls the program with its lock released and its handshake taken out, so that no
//! borrow is held.

use core::ffi::c_int;
use core::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;

use tercel::pki_types::UnixTime;
use tercel::session::ServerSessionStore;
use zeroize::Zeroizing;

use super::Ssl;
use super::{resumption, tap};
use crate::objects::id::Id;
use crate::session::Session;
use crate::session::cache::Lookup;
use crate::tickets::ContextStore;

const NO_INTERNAL_LOOKUP: u32 = 0x100;
const NO_INTERNAL_STORE: u32 = 0x200;

/// The cache of a context, and the program's functions for sessions.
pub(crate) struct Cache(pub(crate) Arc<ContextStore>);

impl Cache {
    fn has_mode(bit: u32) -> bool {
        let mode = |ssl: &Ssl| ssl.session_context.cache_mode.load(Relaxed);
        tap::with_current(mode).unwrap_or(0) & bit != 0
    }

    /// Whether a session that is resumed once may be resumed now. The names of sessions that a
    /// program may also have are remembered, because two threads can find one there, and because
    /// the program may not remove it.
    fn is_first_use(id: &[u8], now: UnixTime) -> bool {
        tap::with_current(|ssl| {
            let context = &ssl.session_context;
            let callbacks = context.settings().callbacks;
            callbacks.get_session.is_none() || context.used.add(id, now)
        })
        .unwrap_or(false)
    }

    /// The session inside of one that was found, if it may be resumed.
    fn usable(session: &Arc<Session>) -> Option<Vec<u8>> {
        if !session.fields().is_resumable() || !resumption::may_use_whole(session) {
            return None;
        }
        let fields = session.fields();
        tap::with_current(|ssl| ssl.found_result.set(Some(fields.verify_result)));
        Some(fields.core.to_vec())
    }

    /// Asks the program for a session. `once`: the program removes it, so that no other connection
    /// resumes it.
    fn ask(id: &[u8], once: bool) -> Option<Vec<u8>> {
        // A program expects no longer name, and a ticket that is not a name can be longer.
        if !(1..=Id::LONGEST).contains(&id.len()) {
            return None;
        }
        let core = tap::with_current(|ssl| {
            let callbacks = ssl.session_context.settings().callbacks;
            let function = callbacks.get_session?;
            // Another process could resume a session that the program does not remove, and that the
            // context does not store: OpenSSL then resumes none.
            let removes = callbacks.remove_session.is_some() && !Self::has_mode(NO_INTERNAL_STORE);
            if once && !removes && ssl.settings().max_early_data > 0 {
                return None;
            }
            let mut copy: c_int = 1;
            let length = c_int::try_from(id.len()).ok()?;
            let ask = || {
                // SAFETY: the program set this function for these arguments. No cell is borrowed.
                unsafe { function(ssl.address(), id.as_ptr(), length, &raw mut copy) }
            };
            let pointer = ssl.outside(ask).cast::<Session>();
            // SAFETY: the program returned NULL or a session. With `copy` it keeps its reference.
            let session = unsafe {
                if copy != 0 { crate::entry::object(pointer) } else { crate::entry::take(pointer) }
            }?;
            if once {
                let context = &ssl.session_context;
                ssl.outside(|| context.remove_from_program(&session));
            }
            let usable = Self::usable(&session)?;
            ssl.session_context.counters.callback_hits.count();
            Some(usable)
        });
        core.flatten()
    }
}

impl Cache {
    /// Looks up a session in the cache of the context.
    fn lookup(&self, id: &[u8], now: UnixTime) -> Option<Arc<Session>> {
        if Self::has_mode(NO_INTERNAL_LOOKUP) {
            return None;
        }
        let found = self.0.get(id, now);
        let missed = |ssl: &Ssl, found: Lookup| {
            let context = &ssl.session_context;
            match found {
                Lookup::Found(session) => return Some(session),
                Lookup::Expired(removed) => {
                    context.counters.timeouts.count();
                    ssl.outside(|| context.after_removal(vec![removed]));
                }
                Lookup::Unknown => context.counters.misses.count(),
            }
            None
        };
        tap::with_current(|ssl| missed(ssl, found)).flatten()
    }
}

impl ServerSessionStore for Cache {
    /// The session is added to the cache after the step, and before the client learns its name.
    fn put(&self, id: &[u8], session: Vec<u8>, _: UnixTime) {
        let session = Zeroizing::new(session);
        if let Some(id) = Id::new(id).filter(|_| resumption::may_store()) {
            tap::add_server_session(id, &session);
        }
    }

    fn take(&self, id: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        if !Self::is_first_use(id, now) {
            return None;
        }
        // Only one of several threads removes the session.
        let known = self.lookup(id, now).and_then(|_| self.0.remove(id));
        if let Some((session, usable)) =
            known.and_then(|known| Self::usable(&known).map(|usable| (known, usable)))
        {
            // The program removes its copy, too.
            tap::with_current(|ssl| {
                let context = &ssl.session_context;
                ssl.outside(|| context.remove_from_program(&session));
            });
            return Some(usable);
        }
        Self::ask(id, true)
    }

    fn get(&self, id: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        let known = self.lookup(id, now).as_ref().and_then(Self::usable);
        known.or_else(|| Self::ask(id, false))
    }

    fn remove(&self, id: &[u8]) {
        let removed = self.0.remove(id);
        if let Some(id) = Id::new(id) {
            tap::add_removed(id, removed);
        }
    }
}

impl Ssl {
    /// Counts a ticket. Returns whether it is reported to the program.
    pub(super) fn reports_ticket(&self) -> bool {
        let most = if self.has_found() { 1 } else { self.settings().tickets };
        let reported = self.resumption.reported.get();
        self.resumption.reported.set(reported.saturating_add(1));
        reported < most
    }

    /// Whether a session of a server enters the cache of the context. `is_sealed`: the client has
    /// it in a ticket, so it is there only for a program that wants to know which sessions end.
    pub(super) fn is_stored(&self, is_sealed: bool) -> bool {
        let context = &self.session_context;
        let is_off = context.cache_mode.load(Relaxed) & NO_INTERNAL_STORE != 0;
        !is_off && (!is_sealed || context.settings().callbacks.remove_session.is_some())
    }
}

#[cfg(test)]
mod tests {
    use core::ffi::c_uchar;

    use super::*;
    use crate::context::Context;
    use crate::session;

    /// A program that finds each session, and never removes one.
    unsafe extern "C" fn find(
        _: *mut core::ffi::c_void,
        _: *const c_uchar,
        _: c_int,
        copy: *mut c_int,
    ) -> *mut core::ffi::c_void {
        // SAFETY: the caller passes a variable.
        unsafe { copy.write(0) };
        let (core, time) = (vec![1].into(), session::now());
        let fields = session::Fields { core, time, timeout: 60, ..Default::default() };
        crate::entry::give(Session::new(fields)).cast()
    }

    unsafe extern "C" fn keep(_: *mut core::ffi::c_void, _: *mut core::ffi::c_void) {}

    /// The tickets that a server takes of those in a ClientHello, which it tries one after another.
    fn taken<'a>(ssl: &Ssl, cache: &Cache, offered: &[&'a str]) -> Option<&'a str> {
        let now = UnixTime::now();
        let usable = |ticket: &str| {
            cache.get(ticket.as_bytes(), now).is_some() && cache.claim(ticket.as_bytes(), now)
        };
        ssl.step(|| offered.iter().copied().find(|ticket| usable(ticket))).0
    }

    /// A client requests as many tickets as it wants. RFC 9149 3
    #[test]
    fn a_client_does_not_multiply_what_is_reported() {
        // SAFETY: the function returns a static object.
        let method = unsafe { &*crate::method::TLS_server_method() };
        let context = Context::new(method).unwrap();
        let ssl = Ssl::new(&context).unwrap();
        let reported = |ssl: &Ssl| (0..10).filter(|_| ssl.reports_ticket()).count();
        assert_eq!(reported(&ssl), 2);
        ssl.clear();
        ssl.change(|settings| settings.tickets = 5);
        assert_eq!(reported(&ssl), 5);
        // A resumed handshake.
        ssl.clear();
        let fields = session::Fields {
            core: vec![1].into(),
            time: session::now(),
            timeout: 60,
            ..Default::default()
        };
        let found = ssl.step(|| resumption::may_use_whole(&Session::new(fields)));
        assert!(found.0);
        assert_eq!(reported(&ssl), 1);
    }

    /// RFC 9846 8.1
    #[test]
    fn a_ticket_is_used_once_among_several() {
        // SAFETY: the function returns a static object.
        let method = unsafe { &*crate::method::TLS_server_method() };
        let context = Context::new(method).unwrap();
        context.change(|settings| {
            settings.callbacks.get_session = Some(find);
            settings.callbacks.remove_session = Some(keep);
            settings.max_early_data = 1;
        });
        let cache = Cache(Arc::clone(context.tickets.cache()));
        let connect = |offered: &[&'static str]| {
            let ssl = Ssl::new(&context).unwrap();
            taken(&ssl, &cache, offered)
        };
        assert_eq!(connect(&["one", "other"]), Some("one"));
        // The ClientHello again, and in another order: each ticket is used once in all.
        assert_eq!(connect(&["one", "other"]), Some("other"));
        assert_eq!(connect(&["one", "other"]), None);
        assert_eq!(connect(&["other", "one", "one"]), None);
    }
}

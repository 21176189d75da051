//! SSL_CTX: the session cache.

use core::ffi::{c_int, c_long, c_void};

use super::{FAIL, OK};
use crate::context::Context;
use crate::entry::{functions, give};
use crate::session::{Fields, Session, now};
use crate::settings::callbacks::{self as cb, Callback};
use crate::sys::crypto::HashTable;

functions! {
    fn SSL_CTX_add_session(context: &Context; session: *mut Session) -> c_int = FAIL => {
        // SAFETY: the caller's duty.
        let Some(session) = (unsafe { crate::entry::object(session) }) else { return FAIL };
        session.set_cache(context.cache());
        c_int::from(context.add_session(&session))
    }
    fn SSL_CTX_remove_session(context: &Context; session: *mut Session) -> c_int = FAIL => {
        // SAFETY: the caller's duty.
        let Some(session) = (unsafe { crate::entry::object(session) }) else { return FAIL };
        c_int::from(context.remove_session(&session))
    }
    /// Removes the sessions whose lifetime ends before this time: all of them for 0.
    fn SSL_CTX_flush_sessions(context: &Context; time: c_long) -> () = () => {
        context.remove_ended((time != 0).then_some(time));
    }
    fn SSL_CTX_set_session_ticket_cb(context: &Context;
        generate: cb::GenerateTicket, decrypt: cb::DecryptTicket, argument: *mut c_void)
        -> c_int = FAIL => {
        context.change(|settings| {
            settings.callbacks.generate_ticket = Callback { function: generate, argument };
            settings.callbacks.decrypt_ticket = Callback { function: decrypt, argument };
        });
        OK
    }
    fn SSL_CTX_set_not_resumable_session_callback(context: &Context; callback: cb::NotResumable)
        -> () = () => {
        context.change(|settings| settings.callbacks.not_resumable = callback);
    }
    /// An empty table of the context's own, because the cache has another form.
    fn SSL_CTX_sessions(context: &Context;) -> *mut HashTable = core::ptr::null_mut() => {
        context.sessions.lend()
    }
    fn SSL_SESSION_new(;) -> *mut Session = core::ptr::null_mut() => {
        /// The lifetime in seconds of a session that nothing else is known of.
        const TIMEOUT: c_long = 304;
        give(Session::new(Fields { time: now(), timeout: TIMEOUT, ..Fields::default() }))
    }
}

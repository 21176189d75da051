//! Messages and lines of the key log, which callbacks see after a step, and objects inside of a
//! configuration receive during the step. Connections share these objects, which find the
//! connection by the thread that runs the step.
//!
//! No C code is called inside of a step.

use core::cell::Cell;
use core::ffi::c_int;
use core::marker::PhantomData;
use std::ffi::CStr;
use std::sync::Arc;

use tercel::key_log::KeyLog;
use tercel::message_tap::Direction;
use tercel::pki_types::UnixTime;
use tercel::session::{ClientSession, ClientSessionKey, ClientSessionStore, NewClientSession};
use tercel::wire::ContentType;
use zeroize::Zeroizing;

use super::Ssl;
use super::state::Side;
use crate::objects::id::Id;
use crate::session::{self, Session};
use crate::settings::callbacks::SslPointer;

/// A message that callbacks see after the step.
pub(crate) struct Message {
    pub(super) direction: Direction,
    pub(super) content_type: ContentType,
    pub(super) content: Vec<u8>,
    /// The number of the version.
    pub(super) version: c_int,
}

/// What one step left.
pub(crate) struct Tapped {
    /// `None`: nothing, as most steps of an established connection.
    left: Option<Box<Left>>,
}

impl Tapped {
    /// Takes the alert that ended the step, which callbacks see when the handshake has failed.
    pub(crate) fn take_sent_alert(&mut self) -> Option<Message> {
        let messages = &mut self.left.as_mut()?.messages;
        let last = messages.last()?;
        let is_alert = last.content_type == ContentType::ALERT;
        if is_alert && last.direction == Direction::Sent { messages.pop() } else { None }
    }
}

/// The messages and lines that a step leaves for callbacks.
#[derive(Default)]
pub(super) struct Left {
    messages: Vec<Message>,
    key_log: Vec<Zeroizing<String>>,
}

thread_local! {
    /// The connection of the step that this thread runs.
    static CURRENT: Cell<*const Ssl> = const { Cell::new(core::ptr::null()) };
}

/// A step of a connection, which ends when this value is dropped.
struct Step<'a>(PhantomData<&'a Ssl>);

impl<'a> Step<'a> {
    fn begin(ssl: &'a Ssl) -> Self {
        let outer = CURRENT.replace(ssl);
        debug_assert!(outer.is_null(), "a step inside of another one");
        Self(PhantomData)
    }
}

impl Drop for Step<'_> {
    fn drop(&mut self) {
        CURRENT.set(core::ptr::null());
    }
}

/// Whether this thread runs a step.
pub(super) fn is_in_step() -> bool {
    !CURRENT.get().is_null()
}

/// Calls `body` with the connection of the step that this thread runs. `None` outside of a step.
pub(crate) fn with_current<T>(body: impl FnOnce(&Ssl) -> T) -> Option<T> {
    let ssl = CURRENT.get();
    // SAFETY: the pointer is NULL, or from a reference that lives until the step ends, which sets
    // the pointer to NULL.
    unsafe { ssl.as_ref() }.map(body)
}

/// The key log of configurations whose context has a function for it.
pub(crate) struct TapKeyLog;

impl KeyLog for TapKeyLog {
    fn log(&self, label: &str, client_random: &[u8; 32], secret: &[u8]) {
        let secret = Zeroizing::new(hex(secret));
        let line = Zeroizing::new(format!("{label} {} {}", hex(client_random), *secret));
        with_current(|ssl| ssl.leave(|left| left.key_log.push(line)));
    }
}

fn hex(bytes: &[u8]) -> String {
    use core::fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len().saturating_mul(2)), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The session store of clients' configurations, which return new sessions and ask for the session
/// to offer.
pub(crate) struct NoStore;

impl ClientSessionStore for NoStore {
    fn put(&self, _: &ClientSessionKey, _: Vec<u8>, _: UnixTime) {}

    fn take(&self, _: &ClientSessionKey, _: UnixTime) -> Option<Vec<u8>> {
        None
    }
}

impl Ssl {
    /// Runs a step: an operation of the handshake or of the connection. Returns what it left, which
    /// [`Self::deliver`] passes on when no cell is borrowed.
    pub(crate) fn step<T>(&self, operation: impl FnOnce() -> T) -> (T, Tapped) {
        let step = Step::begin(self);
        let result = operation();
        drop(step);
        (result, Tapped { left: self.left.take() })
    }

    /// Adds something to what the step leaves.
    fn leave(&self, add: impl FnOnce(&mut Left)) {
        add(self.left.borrow_mut().get_or_insert_default());
    }

    /// Adds a message that callbacks see.
    pub(super) fn add_message(&self, message: Message) {
        self.leave(|left| left.messages.push(message));
    }

    /// Runs an operation that sends, as a step if the program wants to see messages.
    pub(crate) fn sending_step<T>(&self, operation: impl FnOnce() -> T) -> T {
        if !self.sees_messages() {
            return operation();
        }
        let (result, tapped) = self.step(operation);
        self.deliver(tapped);
        result
    }

    /// Passes on what a step left.
    pub(crate) fn deliver(&self, tapped: Tapped) {
        let Some(left) = tapped.left else { return };
        let Left { messages, key_log } = *left;
        self.deliver_messages(messages);
        self.deliver_key_log(key_log);
    }

    fn deliver_key_log(&self, lines: Vec<Zeroizing<String>>) {
        if lines.is_empty() {
            return;
        }
        let Some(function) = self.context().settings().callbacks.key_log else { return };
        for mut line in lines {
            line.push('\0');
            let Ok(text) = CStr::from_bytes_with_nul(line.as_bytes()) else { continue };
            // SAFETY: the program set this function for these arguments. No cell is borrowed.
            self.outside(|| unsafe { function(self.address(), text.as_ptr()) });
        }
    }

    /// A client received new sessions, each of which becomes the connection's.
    pub(super) fn receive_sessions(&self, sessions: Vec<NewClientSession>, resumed: bool) {
        for NewClientSession { session, expires, .. } in sessions {
            let received = self.receive_session(&session, expires, resumed);
            // A TLS 1.2 session is complete when the handshake ends.
            if let Some(session) = received.filter(|_| self.is_connected()) {
                self.offer_new_session(session);
            }
        }
    }

    /// A client received a session, which becomes the connection's.
    fn receive_session(
        &self,
        session: &ClientSession,
        expires: UnixTime,
        resumed: bool,
    ) -> Option<Arc<Session>> {
        let core = session.to_bytes().map(Zeroizing::new)?;
        let id = Id::from(crate::objects::digest::sha256(&core));
        // In a full handshake of TLS 1.2, the session that was offered is not the connection's.
        let is_own = resumed || self.is_connected();
        let known = self.session.borrow().clone().filter(|_| is_own);
        let mut fields = known.as_ref().map(|known| known.fields().clone()).unwrap_or_default();
        // After a resumption in TLS 1.2 without a new ticket, it is the session that was offered.
        if fields.id == id && fields.is_resumable() {
            return None;
        }
        let now = session::now();
        fields.time = now;
        let left = i64::try_from(expires.as_secs()).unwrap_or(i64::MAX).saturating_sub(now);
        // The second in which the session was made may have ended.
        let own = self.settings().session_timeout;
        fields.timeout = if left.saturating_add(1) >= own { own } else { left };
        fields.has_ticket = session.ticket_lifetime().is_some();
        fields.lifetime_hint = session.ticket_lifetime().unwrap_or(0).into();
        fields.max_early_data = session.max_early_data();
        fields.id = id;
        fields.core = core;
        fields.verify_result = self.verify_result.get();
        self.received_session.set(true);
        // The new session has the application's data of the connection's session before.
        let session = Session::copied(fields, known.as_deref());
        self.session.replace(Some(Arc::clone(&session)));
        Some(session)
    }

    /// Passes a client's session of TLS 1.2, which the handshake completed, to the program. As with
    /// OpenSSL, not one of a resumed handshake, in which the server replaced the ticket.
    pub(super) fn offer_received(&self, resumed: bool) {
        let is_new = self.side.get() == Some(Side::Client) && self.received_session.get();
        let received = self.session.borrow().clone().filter(|_| is_new && !resumed);
        if let Some(session) = received.filter(|session| session.fields().is_resumable()) {
            self.offer_new_session(session);
        }
    }

    /// Passes a new session to the program's function, which keeps it if it returns 1.
    pub(crate) fn offer_new_session(&self, session: Arc<Session>) {
        let context = &self.session_context;
        let mode = context.cache_mode.load(core::sync::atomic::Ordering::Relaxed);
        let wanted = if self.side.get() == Some(Side::Server) { 2 } else { 1 };
        let Some(function) = context.settings().callbacks.new_session else { return };
        if mode & wanted == 0 {
            return;
        }
        let pointer = crate::entry::give(session);
        let outer = self.state_of_new_session.replace(Some(self.state_with_new_session()));
        // SAFETY: the program set this function for these arguments; it receives a reference.
        let kept =
            self.outside(|| unsafe { function(self.address() as SslPointer, pointer.cast()) });
        self.state_of_new_session.set(outer);
        if kept == 0 {
            // SAFETY: the program did not keep the reference.
            drop(unsafe { crate::entry::take::<Session>(pointer) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Context;

    #[test]
    fn a_step_leaves_what_its_own_connection_receives() {
        // SAFETY: the function returns a static object.
        let method = unsafe { &*crate::method::TLS_server_method() };
        let context = Context::new(method).unwrap();
        let [one, other] = [(); 2].map(|()| Ssl::new(&context).unwrap());
        let log = || TapKeyLog.log("label", &[0; 32], &[1]);
        let lines = |tapped: Tapped| tapped.left.map_or(0, |left| left.key_log.len());
        log();
        let ((), of_one) = one.step(|| {
            log();
            log();
        });
        log();
        let ((), of_other) = other.step(log);
        let ((), empty) = one.step(|| {});
        assert_eq!([of_one, of_other, empty].map(lines), [2, 1, 0]);
    }

    #[test]
    #[should_panic(expected = "C code is called inside of a step")]
    #[cfg(debug_assertions)]
    fn no_callback_runs_inside_of_a_step() {
        // SAFETY: the function returns a static object.
        let method = unsafe { &*crate::method::TLS_server_method() };
        let ssl = Ssl::new(&Context::new(method).unwrap()).unwrap();
        let _ = ssl.step(|| ssl.outside(|| {}));
    }
}

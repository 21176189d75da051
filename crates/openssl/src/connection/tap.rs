//! What objects inside of a configuration receive during a step: they are shared by connections, so
//! they leave it in the thread that runs the step, and the connection takes it from there. So the
//! program's functions run after the step, with no borrow of the connection held.

use core::cell::Cell;
use core::ffi::c_int;
use core::marker::PhantomData;
use std::ffi::CStr;
use std::sync::{Arc, Weak};

use tercel::key_log::KeyLog;
use tercel::message_tap::Direction;
use tercel::pki_types::UnixTime;
use tercel::session::{ClientSession, ClientSessionKey, ClientSessionStore, NewClientSession};
use tercel::wire::ContentType;
use zeroize::Zeroizing;

use super::Ssl;
use super::state::Side;
use crate::lock::Place;
use crate::objects::id::Id;
use crate::session::{self, Session};
use crate::settings::callbacks::SslPointer;

/// A session that a server made.
pub(crate) struct MadeSession {
    id: Id,
    core: Zeroizing<Vec<u8>>,
    /// Whether the client has it in a ticket, and does not know its name.
    is_sealed: bool,
}

impl MadeSession {
    pub(super) fn new(id: Id, core: &[u8], is_sealed: bool) -> Self {
        Self { id, core: Zeroizing::new(core.to_vec()), is_sealed }
    }
}

/// The name of a session that a server must not resume any more, and what the cache had.
type RemovedSession = (Id, Option<Arc<Session>>);

/// A message that the program's callbacks see after the step.
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

#[derive(Default)]
struct Left {
    messages: Vec<Message>,
    key_log: Vec<Zeroizing<String>>,
    server_sessions: Vec<MadeSession>,
    removed: Vec<RemovedSession>,
}

thread_local! {
    static LEFT: Place<Option<Box<Left>>> = const { Place::new(None) };
    /// The connection of the step that this thread runs.
    static CURRENT: Cell<*const Ssl> = const { Cell::new(core::ptr::null()) };
}

/// A step of a connection, which ends when this value is dropped. A step inside of another one, of
/// a program's function that uses another connection, leaves nothing in the outer one.
struct Step<'a> {
    outer: *const Ssl,
    outer_left: Option<Box<Left>>,
    _ssl: PhantomData<&'a Ssl>,
}

impl<'a> Step<'a> {
    fn begin(ssl: &'a Ssl) -> Self {
        Self { outer: CURRENT.replace(ssl), outer_left: LEFT.with(Place::take), _ssl: PhantomData }
    }

    fn end(self) -> Tapped {
        Tapped { left: LEFT.with(Place::take) }
    }
}

impl Drop for Step<'_> {
    fn drop(&mut self) {
        CURRENT.set(self.outer);
        LEFT.with(|place| place.replace(self.outer_left.take()));
    }
}

/// Calls `body` with the connection of the step that this thread runs. `None` outside of a step.
pub(crate) fn with_current<T>(body: impl FnOnce(&Ssl) -> T) -> Option<T> {
    let ssl = CURRENT.get();
    // SAFETY: the pointer is NULL, or from a reference that lives as long as the step, which
    // restores the pointer of the outer step when it ends.
    unsafe { ssl.as_ref() }.map(body)
}

/// Runs `body`, which calls C code, with the thread's step put aside: a fiber of the application
/// may be switched in it, and the thread may then run steps of other connections, which end before
/// or after this one.
pub(super) fn suspended<T>(body: impl FnOnce() -> T) -> T {
    struct Suspended(*const Ssl, Option<Box<Left>>);
    impl Drop for Suspended {
        fn drop(&mut self) {
            CURRENT.set(self.0);
            LEFT.with(|place| place.replace(self.1.take()));
        }
    }
    if CURRENT.get().is_null() {
        return body();
    }
    let _suspended = Suspended(CURRENT.replace(core::ptr::null()), LEFT.with(Place::take));
    body()
}

/// Adds something to what the step leaves.
fn leave(add: impl FnOnce(&mut Left)) {
    LEFT.with(|place| {
        let mut left = place.take().unwrap_or_default();
        add(&mut left);
        place.replace(Some(left));
    });
}

/// Adds a session that a server made.
pub(crate) fn add_server_session(id: Id, core: &[u8]) {
    let session = MadeSession::new(id, core, false);
    leave(|left| left.server_sessions.push(session));
}

/// Adds a session that a server must not resume any more, and that was removed from the cache.
pub(crate) fn add_removed(id: Id, session: Option<Arc<Session>>) {
    if !CURRENT.get().is_null() {
        leave(|left| left.removed.push((id, session)));
    }
}

/// Adds a message that the program wants to see.
pub(crate) fn add_message(message: Message) {
    leave(|left| left.messages.push(message));
}

/// The key log of configurations whose context has a function for it.
pub(crate) struct TapKeyLog;

impl KeyLog for TapKeyLog {
    fn log(&self, label: &str, client_random: &[u8; 32], secret: &[u8]) {
        let secret = Zeroizing::new(hex(secret));
        let line = Zeroizing::new(format!("{label} {} {}", hex(client_random), *secret));
        leave(|left| left.key_log.push(line));
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
        (result, step.end())
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
        let Left { messages, key_log, server_sessions, removed } = *left;
        self.deliver_messages(messages);
        self.deliver_key_log(key_log);
        self.made.borrow_mut().extend(server_sessions);
        removed.into_iter().for_each(|removed| self.deliver_removed(removed));
    }

    /// Removes a session of a server from the program's cache, too. The program receives the object
    /// that it may have.
    fn deliver_removed(&self, (id, known): RemovedSession) {
        let is_it = |session: &Arc<Session>| session.fields().id == id;
        let known = known.or_else(|| self.session.borrow().clone().filter(is_it));
        let issued = || {
            // No cell is borrowed when a session is freed, which can call functions.
            let issued: Vec<_> = self.issued.borrow().iter().filter_map(Weak::upgrade).collect();
            issued.into_iter().find(is_it)
        };
        let known = known.or_else(issued);
        let fields = || session::Fields { id: id.clone(), ..session::Fields::default() };
        let named = || Session::new(fields());
        self.remove_from_caches(&known.unwrap_or_else(named));
    }

    fn remove_from_caches(&self, session: &Arc<Session>) {
        let context = &self.session_context;
        self.outside(|| context.remove_session(session));
    }

    /// After a fatal alert of either side: the session is not resumed any more, and the program
    /// removes it from its cache. RFC 5246 7.2.2
    pub(crate) fn remove_session(&self) {
        // A session that the client has not proved to have is not removed.
        if self.has_found() {
            return;
        }
        let resumable = self.current_session().filter(|own| own.fields().is_resumable());
        if let Some(session) = resumable {
            self.remove_from_caches(&session);
        }
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
        if let Some(session) = received {
            self.offer_new_session(session);
        }
    }

    /// Adds the sessions that a server made to the cache, and passes them to the program. As with
    /// OpenSSL, each is in the cache when the program sees it, and before the client can use it.
    pub(crate) fn deliver_made(&self, fields: &session::Fields, resumed: bool) {
        let made = self.made.take();
        for (index, MadeSession { id, core, is_sealed }) in made.into_iter().enumerate() {
            // The first one is that of the connection, with the data of the program.
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
                self.issued.borrow_mut().push(Arc::downgrade(&session));
            }
            if self.is_stored(is_sealed) {
                self.outside(|| context.add_session(&session));
            }
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

    /// A fiber that is switched in a callback finds no connection, and the step continues with its
    /// own.
    #[test]
    fn callbacks_run_outside_of_the_step() {
        // SAFETY: the function returns a static object.
        let method = unsafe { &*crate::method::TLS_server_method() };
        let context = Context::new(method).unwrap();
        let [one, other] = [(); 2].map(|()| Ssl::new(&context).unwrap());
        let address = || with_current(Ssl::address);
        let removed = |tapped: Tapped| tapped.left.map_or(0, |left| left.removed.len());
        let ((), tapped) = one.step(|| {
            add_removed(Id::default(), None);
            one.outside(|| {
                assert_eq!(address(), None);
                let ((), tapped) = other.step(|| assert_eq!(address(), Some(other.address())));
                assert_eq!(removed(tapped), 0);
                assert_eq!(address(), None);
            });
            assert_eq!(address(), Some(one.address()));
            add_removed(Id::default(), None);
        });
        assert_eq!((removed(tapped), address()), (2, None));
    }
}

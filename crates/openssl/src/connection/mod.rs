//! SSL: a connection.
//!
//! A connection has a lock, which a function holds. It is released while a function of the program
//! or a BIO runs, which may call any function of the same connection, and while which another
//! thread may use it. The fields are cells, which are not borrowed then. `busy` refuses a second
//! read inside of a read, and a second write inside of a write.

pub(crate) mod alerts;
pub(crate) mod completion;
pub(crate) mod configuration;
pub(crate) mod credentials;
pub(crate) mod dane;
pub(crate) mod early_data;
pub(crate) mod handshake;
pub(crate) mod hello;
pub(crate) mod messages;
pub(crate) mod post_handshake;
pub(crate) mod pump;
pub(crate) mod reading;
pub(crate) mod resumption;
pub(crate) mod security;
pub(crate) mod server_sessions;
pub(crate) mod state;
pub(crate) mod steps;
pub(crate) mod tap;
pub(crate) mod tickets;
pub(crate) mod verification;
pub(crate) mod writing;

use core::cell::{Cell, RefCell};
use core::ffi::{c_int, c_long, c_void};
use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use tercel::client::CertificateRequested;
use tercel::message_tap::HandshakeValues;
use tercel::wire::HandshakeType;
use tercel::{Connection, ConnectionInfo, Handshake, Next, ReceiveBuffer};

use crate::context::{Context, InUse};
use crate::entry::Object;
use crate::lock::Lock;
use crate::objects::bio::Bio;
use crate::objects::certificate::Certificate;
use crate::objects::ex_data::ExData;
use crate::objects::name::Name;
use crate::objects::store::Parameters;
use crate::session::Session;
use crate::settings::Settings;
use crate::sys::crypto::EX_INDEX_SSL;
use state::{Side, Stage, Want};
use writing::Unsent;

/// A connection.
pub(crate) struct Ssl {
    lock: Lock,
    /// The context whose callbacks and store are used. `SSL_set_SSL_CTX` changes it.
    pub(crate) context: RefCell<InUse>,
    /// The context that the connection was made with, whose sessions are used.
    pub(crate) session_context: InUse,
    settings: RefCell<Arc<Settings>>,
    /// The changes of both contexts that the settings contain.
    followed: Cell<(u64, u64)>,
    /// The program may change the parameters of a connection, so it has its own.
    pub(crate) parameters: Parameters,
    pub(crate) ex_data: ExData,
    pub(crate) input: RefCell<Option<Bio>>,
    pub(crate) output: RefCell<Option<Bio>>,
    /// The side that the application has chosen.
    pub(crate) side: Cell<Option<Side>>,
    /// The side that getters show until then.
    side_of_method: Side,
    pub(crate) stage: RefCell<Stage>,
    /// A step of the handshake that waits until the bytes before it are sent.
    pub(crate) step: RefCell<Option<Next>>,
    pub(crate) received: RefCell<ReceiveBuffer>,
    /// Decrypted data that no read has taken.
    pub(crate) plaintext: RefCell<reading::Plaintext>,
    pub(crate) unsent: RefCell<Unsent>,
    /// The write of the program that the BIO interrupted.
    pub(crate) interrupted: Cell<Option<writing::Write>>,
    /// The message of the program that is not written yet.
    pub(crate) waiting: Cell<Option<state::WaitingMessage>>,
    /// Whether the client has not answered a server's request for a certificate after the
    /// handshake.
    pub(crate) awaits_certificate: Cell<bool>,
    /// The requests for a certificate after the handshake that a client has not answered, in the
    /// order of their arrival. The first one waits if its callback wants to be called again.
    pub(crate) requests: RefCell<VecDeque<CertificateRequested>>,
    /// The number of requests that the client answers now, in several threads.
    pub(crate) answers: Cell<u32>,
    /// The last message of an answer that a server is receiving, before the Finished.
    pub(crate) answer: Cell<Option<HandshakeType>>,
    /// Whether the peer has requested a key update of this side, which precedes the next data.
    pub(crate) owes_update: Cell<bool>,
    /// The kind of messages that were received besides data.
    pub(crate) seen: Cell<messages::Seen>,
    /// Whether a server has requested the client's certificate.
    pub(crate) has_requested: Cell<bool>,
    /// How the configuration of a server's handshake requests the client's certificate.
    pub(crate) configured: Cell<Option<c_int>>,
    /// Sessions that a server made, and that are not in its cache yet.
    made: RefCell<Vec<server_sessions::MadeSession>>,
    /// TLS 1.2: the session that the client can resume by its ID.
    known_to_client: RefCell<Weak<Session>>,
    /// The messages and lines that callbacks see after the step that runs.
    left: RefCell<Option<Box<tap::Left>>>,
    pub(crate) want: Cell<Want>,
    pub(crate) shutdown: Cell<c_int>,
    /// Whether the callback has seen the peer's close_notify.
    reported_close: Cell<bool>,
    /// Whether a fatal error was reported. As in OpenSSL, reading and writing then fails without an
    /// entry in the queue.
    pub(crate) failed: Cell<bool>,
    /// Whether the application has tried to renegotiate.
    pub(crate) refused_renegotiation: Cell<bool>,
    /// The thread that is writing to the BIO; 0 for none.
    pub(crate) sending: Cell<usize>,
    /// Whether a thread waits until another one is not writing to the BIO.
    pub(crate) awaits_sender: Cell<bool>,
    reading: Cell<bool>,
    writing: Cell<bool>,
    /// The name that a client sends, and that a server received.
    pub(crate) host_name: RefCell<Option<std::ffi::CString>>,
    /// The session that a client offers, and after the handshake that of the connection.
    pub(crate) session: RefCell<Option<Arc<Session>>>,
    pub(crate) verify_result: Cell<c_long>,
    /// The result of the current handshake: of its verification, or in a session that a server
    /// found.
    pub(crate) found_result: Cell<Option<c_long>>,
    /// Whether the session is of the current handshake: a client received it, or a server began it
    /// for a function of the program.
    pub(crate) received_session: Cell<bool>,
    pub(crate) dane: dane::Dane,
    pub(crate) verified_chain: RefCell<Vec<Certificate>>,
    pub(crate) peer_chain: RefCell<Vec<Certificate>>,
    /// Whether the peer's chain is not verified yet, or was refused: as with OpenSSL, its leaf is
    /// not the peer's certificate then.
    pub(crate) is_refused: Cell<bool>,
    /// Lists and texts that the program received without a reference.
    pub(crate) lent: state::Lent,
    pub(crate) hello: RefCell<Option<hello::Hello>>,
    pub(crate) early: early_data::Early,
    /// The randoms and the Finished values, from the beginning of the handshake on.
    pub(crate) values: RefCell<Option<Box<HandshakeValues>>>,
    /// The state after the last message, if the program sees messages.
    pub(crate) message_state: Cell<Option<messages::MessageState>>,
    /// Whether this side has sent messages since it last waited for the peer.
    pub(crate) sends: Cell<bool>,
    /// Whether a client of TLS 1.3 has sent a change_cipher_spec that is not in the state.
    pub(crate) changes: Cell<bool>,
    /// The state that the program's function for new sessions sees, while it runs.
    pub(crate) state_of_new_session: Cell<Option<messages::MessageState>>,
    pub(crate) resumption: resumption::Resumption,
    /// The index of the identity that a server selected.
    pub(crate) selected: Cell<Option<usize>>,
    /// The certificate status that a server sends, or that a client received.
    pub(crate) status_response: RefCell<Option<Vec<u8>>>,
    /// The authorities in a server's request for a certificate.
    pub(crate) requested_authorities: RefCell<Option<Arc<Vec<Name>>>>,
}

impl Object for Ssl {
    fn enter(&self) {
        self.lock.acquire();
    }

    fn leave(&self) {
        self.lock.release();
    }
}

impl Ssl {
    pub(crate) fn new(context: &Arc<Context>) -> Option<Arc<Self>> {
        let change = context.last_change();
        let settings = context.settings();
        // One thread at a time uses the object, but a program may pass it to another thread, so the
        // references are counted atomically.
        #[allow(clippy::arc_with_non_send_sync)]
        let ssl = Arc::new(Self {
            lock: Lock::default(),
            context: RefCell::new(InUse::new(context)),
            session_context: InUse::new(context),
            side: Cell::default(),
            side_of_method: if settings.method.server { Side::Server } else { Side::Client },
            settings: RefCell::new(settings),
            followed: Cell::new((change, change)),
            parameters: context.parameters.inherited()?,
            ex_data: ExData::new(EX_INDEX_SSL),
            input: RefCell::default(),
            output: RefCell::default(),
            stage: RefCell::new(Stage::New),
            step: RefCell::default(),
            received: RefCell::default(),
            plaintext: RefCell::default(),
            unsent: RefCell::default(),
            interrupted: Cell::default(),
            waiting: Cell::default(),
            awaits_certificate: Cell::default(),
            requests: RefCell::default(),
            answers: Cell::default(),
            answer: Cell::default(),
            owes_update: Cell::default(),
            seen: Cell::default(),
            has_requested: Cell::default(),
            configured: Cell::default(),
            made: RefCell::default(),
            known_to_client: RefCell::default(),
            left: RefCell::default(),
            want: Cell::new(Want::Nothing),
            shutdown: Cell::new(0),
            reported_close: Cell::new(false),
            failed: Cell::new(false),
            refused_renegotiation: Cell::default(),
            sending: Cell::new(0),
            awaits_sender: Cell::new(false),
            reading: Cell::new(false),
            writing: Cell::new(false),
            host_name: RefCell::default(),
            session: RefCell::default(),
            verify_result: Cell::new(0),
            found_result: Cell::new(None),
            received_session: Cell::new(false),
            dane: dane::Dane::default(),
            verified_chain: RefCell::default(),
            peer_chain: RefCell::default(),
            is_refused: Cell::default(),
            lent: state::Lent::default(),
            hello: RefCell::default(),
            early: early_data::Early::default(),
            values: RefCell::default(),
            message_state: Cell::default(),
            sends: Cell::default(),
            changes: Cell::default(),
            state_of_new_session: Cell::default(),
            resumption: resumption::Resumption::default(),
            selected: Cell::default(),
            status_response: RefCell::default(),
            requested_authorities: RefCell::default(),
        });
        ssl.dane.flags.set(context.dane.change_flags(|flags| flags));
        ssl.ex_data.attach(ssl.address());
        Some(ssl)
    }

    /// The address by which the program knows the connection.
    pub(crate) fn address(&self) -> *mut c_void {
        core::ptr::from_ref(self).cast_mut().cast()
    }

    pub(crate) fn settings(&self) -> Arc<Settings> {
        self.follow();
        Arc::clone(&self.settings.borrow())
    }

    /// The settings of the last call of [`Self::settings`]. No C code is called.
    fn known_settings(&self) -> Arc<Settings> {
        Arc::clone(&self.settings.borrow())
    }

    /// Takes the changes of the contexts that OpenSSL reads there, too.
    fn follow(&self) {
        let context = self.context();
        let changes = (context.last_change(), self.session_context.last_change());
        if self.followed.replace(changes) == changes {
            return;
        }
        let mut settings = Settings::clone(&self.settings.borrow());
        settings.follow(&context.settings(), &self.session_context.settings());
        // Freeing a certificate can call a function of the program, so the cell is not borrowed.
        let old = self.settings.replace(Arc::new(settings));
        drop(old);
    }

    /// Changes the settings of this connection only.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Settings) -> T) -> T {
        self.follow();
        self.selected.take();
        let mut settings = self.settings.borrow_mut();
        // The old settings live until the cell is released: see `Context::change`.
        let old = Arc::clone(&settings);
        let changed = Arc::make_mut(&mut settings);
        changed.compiled = crate::settings::Compiled::default();
        let result = change(changed);
        drop(settings);
        drop(old);
        result
    }

    pub(crate) fn context(&self) -> Arc<Context> {
        Arc::clone(&self.context.borrow())
    }

    /// Runs `body`, which calls C code, with the lock released. No cell may be borrowed, and the
    /// thread runs no step.
    pub(crate) fn outside<T>(&self, body: impl FnOnce() -> T) -> T {
        debug_assert!(!tap::is_in_step(), "C code is called inside of a step");
        self.lock.outside(body)
    }

    /// Runs an operation that reads. `None` inside of another one.
    pub(crate) fn as_reader<T>(&self, operation: impl FnOnce() -> T) -> Option<T> {
        exclusively(&self.reading, operation)
    }

    /// Runs an operation that writes. `None` inside of another one.
    pub(crate) fn as_writer<T>(&self, operation: impl FnOnce() -> T) -> Option<T> {
        exclusively(&self.writing, operation)
    }

    /// Whether an operation that reads runs.
    pub(crate) fn is_reading(&self) -> bool {
        self.reading.get()
    }

    /// Runs an operation that reads and writes. `None` inside of one that does either.
    pub(crate) fn as_both<T>(&self, operation: impl FnOnce() -> T) -> Option<T> {
        self.as_reader(|| self.as_writer(operation)).flatten()
    }

    /// Runs `body`, which calls the program, inside of an operation that reads or writes and that
    /// has come to a state in which the program may do both. No cell may be borrowed or taken.
    pub(crate) fn with_io_allowed<T>(&self, body: impl FnOnce() -> T) -> T {
        struct Marks<'a>(&'a Ssl, bool, bool);
        impl Drop for Marks<'_> {
            fn drop(&mut self) {
                self.0.reading.set(self.1);
                self.0.writing.set(self.2);
            }
        }
        let _marks = Marks(self, self.reading.replace(false), self.writing.replace(false));
        body()
    }

    /// Runs `body` with the established connection. `None` before the end of the handshake.
    pub(crate) fn with_connection<T>(&self, body: impl FnOnce(&mut Connection) -> T) -> Option<T> {
        match &mut *self.stage.borrow_mut() {
            Stage::Connected(connection) => Some(body(connection)),
            _ => None,
        }
    }

    /// Runs `body` with the negotiated parameters. `None` if neither the handshake is complete nor
    /// early data was received.
    pub(crate) fn with_info<T>(&self, body: impl FnOnce(&ConnectionInfo) -> T) -> Option<T> {
        match &mut *self.stage.borrow_mut() {
            Stage::Connected(connection) => Some(body(&connection.info)),
            Stage::Handshake(handshake) => match &*self.step.borrow() {
                // The last messages are being sent.
                Some(Next::Connected(connection)) => Some(body(&connection.info)),
                _ => handshake.early_info().map(body),
            },
            _ => None,
        }
    }

    /// Runs `body` with the handshake. `None` before and after it.
    pub(crate) fn with_handshake<T>(&self, body: impl FnOnce(&mut Handshake) -> T) -> Option<T> {
        match &mut *self.stage.borrow_mut() {
            Stage::Handshake(handshake) => Some(body(handshake)),
            _ => None,
        }
    }

    /// Prepares the object for another connection (`SSL_clear`).
    pub(crate) fn clear(&self) {
        self.stage.replace(Stage::New);
        self.step.replace(None);
        self.received.take();
        self.plaintext.take();
        self.unsent.take();
        self.interrupted.take();
        self.waiting.take();
        self.awaits_certificate.take();
        self.requests.take();
        self.answers.take();
        self.answer.take();
        self.owes_update.take();
        self.seen.take();
        self.has_requested.take();
        self.configured.take();
        self.made.take();
        self.known_to_client.take();
        self.want.set(Want::Nothing);
        self.shutdown.set(0);
        self.reported_close.set(false);
        self.failed.set(false);
        self.refused_renegotiation.take();
        self.verify_result.set(0);
        self.found_result.set(None);
        self.received_session.set(false);
        self.dane.found.take();
        self.parameters.forget_peer_name();
        self.lent.protocol.take();
        self.forget_chains();
        self.hello.take();
        self.selected.take();
        self.early.clear();
        self.values.take();
        self.message_state.take();
        self.sends.take();
        self.changes.take();
        self.resumption.clear();
        self.status_response.take();
        self.requested_authorities.take();
    }
}

/// Runs an operation with a mark. `None` if the mark is set already.
fn exclusively<T>(mark: &Cell<bool>, operation: impl FnOnce() -> T) -> Option<T> {
    if mark.replace(true) {
        crate::errors::push_not_now("called inside of a callback of the same connection");
        return None;
    }
    // The mark is removed also if the operation panics.
    struct Done<'a>(&'a Cell<bool>);
    impl Drop for Done<'_> {
        fn drop(&mut self) {
            self.0.set(false);
        }
    }
    let _done = Done(mark);
    Some(operation())
}

impl Drop for Ssl {
    fn drop(&mut self) {
        let _ending = crate::entry::Ending::new(self);
        self.end_session();
        self.ex_data.detach(self.address());
        if let Some(session) = self.session.take() {
            session.let_go();
        }
        self.resumption.clear();
        let contexts = [self.context.borrow().take_use(), self.session_context.take_use()];
        contexts.into_iter().flatten().for_each(|context| context.end_use());
        // Freeing a BIO can call a function of the program, too.
        self.input.take();
        self.output.take();
    }
}

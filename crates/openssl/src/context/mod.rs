//! SSL_CTX: the settings that connections share, and what belongs to all of them.

pub(crate) mod counters;
pub(crate) mod dane;
pub(crate) mod files;
pub(crate) mod used;

use core::cell::Cell;
use core::ffi::c_void;
use core::ops::Deref;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use core::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};

use crate::entry::Object;
use crate::method::Method;
use crate::objects::cipher_list::LentCiphers;
use crate::objects::ex_data::ExData;
use crate::objects::list::{LentCertificates, LentNames};
use crate::objects::store::{Parameters, Store};
use crate::objects::table::LentTable;
use crate::session::{Session, SessionCache};
use crate::settings::Settings;
use crate::settings::remembered::Configurations;
use crate::sys::crypto::EX_INDEX_SSL_CTX;
use crate::tickets::ContextTickets;
use counters::Counters;
use dane::ContextDane;

/// A context.
pub(crate) struct Context {
    settings: RwLock<Arc<Settings>>,
    /// The number of the last change of the settings, which no other context has.
    change: AtomicU64,
    store: Mutex<Store>,
    pub(crate) parameters: Parameters,
    pub(crate) ex_data: ExData,
    pub(crate) counters: Counters,
    pub(crate) ciphers: LentCiphers,
    pub(crate) names: LentNames,
    pub(crate) chains: LentCertificates,
    pub(crate) sessions: LentTable,
    pub(crate) tickets: ContextTickets,
    pub(crate) dane: ContextDane,
    /// Names of sessions that were resumed and that the program may also have.
    pub(crate) used: used::Used,
    /// Configurations of connections whose settings differ from the context's.
    pub(crate) configurations: Configurations,
    /// The number of references of the program and of connections.
    users: AtomicUsize,
    /// The mode of the session cache (`SSL_CTX_set_session_cache_mode`).
    pub(crate) cache_mode: core::sync::atomic::AtomicU32,
}

impl Object for Context {}

impl SessionCache for Context {
    fn set_end(&self, session: &Arc<Session>) {
        self.tickets.cache().set_end(session);
    }

    fn has(&self, session: &Arc<Session>) -> bool {
        self.tickets.cache().has(session)
    }
}

impl Context {
    /// The cache of sessions, as sessions know it.
    pub(crate) fn cache(self: &Arc<Self>) -> Weak<dyn SessionCache> {
        let own: Weak<Self> = Arc::downgrade(self);
        own
    }

    /// A new context. `None` if memory is short.
    pub(crate) fn new(method: &'static Method) -> Option<Arc<Self>> {
        let context = Arc::new(Self {
            settings: RwLock::new(Arc::new(Settings::new(method))),
            change: AtomicU64::new(next_change()),
            store: Mutex::new(Store::new()?),
            parameters: Parameters::new()?,
            ex_data: ExData::new(EX_INDEX_SSL_CTX),
            counters: Counters::default(),
            ciphers: LentCiphers::default(),
            names: LentNames::default(),
            chains: LentCertificates::default(),
            sessions: LentTable::default(),
            tickets: ContextTickets::new()?,
            dane: ContextDane::default(),
            used: used::Used::default(),
            configurations: Configurations::default(),
            users: AtomicUsize::new(1),
            cache_mode: SESS_CACHE_SERVER.into(),
        });
        context.ex_data.attach(context.address());
        Some(context)
    }

    /// Counts a reference of the program or of a connection.
    pub(crate) fn begin_use(&self) {
        self.users.fetch_add(1, SeqCst);
    }

    /// A reference of the program or of a connection ends. After the last one, the program's
    /// function is called for the sessions in the cache, while the context still exists.
    pub(crate) fn end_use(self: &Arc<Self>) {
        if self.users.fetch_sub(1, SeqCst) == 1 {
            self.remove_ended(None);
        }
    }

    /// The address by which programs know the context.
    pub(crate) fn address(self: &Arc<Self>) -> *mut c_void {
        Arc::as_ptr(self).cast_mut().cast()
    }

    pub(crate) fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.settings.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The number of the last change. Settings that are read after it contain this change.
    pub(crate) fn last_change(&self) -> u64 {
        self.change.load(Acquire)
    }

    /// Changes the settings. No function of the program is called meanwhile.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Settings) -> T) -> T {
        let mut settings = self.settings.write().unwrap_or_else(PoisonError::into_inner);
        // What the change removes, such as a certificate, is freed after the lock is released,
        // because that can call a function of the program, which may use the context.
        let old = Arc::clone(&settings);
        // Configurations that were made from the old settings are discarded.
        let changed = Arc::make_mut(&mut settings);
        changed.compiled = crate::settings::Compiled::default();
        self.configurations.clear();
        let result = change(changed);
        self.change.store(next_change(), Release);
        drop(settings);
        drop(old);
        result
    }

    /// Calls the program's function that removes a session from its cache; once for each time that
    /// the session was added, because programs free their reference there.
    pub(crate) fn remove_from_program(self: &Arc<Self>, session: &Arc<Session>) {
        if !session.claim_removal() {
            return;
        }
        if let Some(function) = self.settings().callbacks.remove_session {
            // SAFETY: the program set this function for these arguments.
            unsafe { function(self.address(), Arc::as_ptr(session).cast_mut().cast()) };
        }
    }

    /// Removes a session from the cache and from the program's, so that none of its owners resumes
    /// it any more. Returns whether it was in the cache.
    pub(crate) fn remove_session(self: &Arc<Self>, session: &Arc<Session>) -> bool {
        let id = session.fields().id.to_vec();
        let known = self.tickets.cache().remove(&id);
        self.remove_from_program(session);
        session.set_removed();
        // The cache may have another object with the same name.
        known.map(|known| known.set_removed()).is_some()
    }

    /// Adds a session of a server to the cache. Returns whether it was added.
    pub(crate) fn add_session(self: &Arc<Self>, session: &Arc<Session>) -> bool {
        let Some(place) = self.tickets.cache().add(session) else { return false };
        place.removed.iter().for_each(|_| self.counters.cache_full.count());
        self.after_removal(place.removed);
        drop(place.replaced);
        true
    }

    /// Removes the sessions whose lifetime ends before `time` from the cache; all for `None`.
    pub(crate) fn remove_ended(self: &Arc<Self>, time: Option<i64>) {
        let removed = self.tickets.cache().remove_ended(time);
        self.after_removal(removed);
    }

    /// Calls the program's function for sessions that were removed from the cache.
    pub(crate) fn after_removal(self: &Arc<Self>, removed: Vec<Arc<Session>>) {
        for session in removed {
            session.set_removed();
            self.remove_from_program(&session);
        }
    }

    pub(crate) fn store(&self) -> Store {
        self.store.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_store(&self, store: Store) {
        let mut slot = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        let old = core::mem::replace(&mut *slot, store);
        // As in `change`.
        drop(slot);
        drop(old);
    }
}

/// A number for a change of a context's settings.
fn next_change() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Relaxed)
}

impl Drop for Context {
    fn drop(&mut self) {
        let _ending = crate::entry::Ending::new(self);
        let address: *mut Self = self;
        self.ex_data.detach(address.cast());
        // Those that the program's function for removed sessions has added.
        drop(self.tickets.cache().remove_ended(None));
    }
}

/// The context of a connection.
pub(crate) struct InUse {
    context: Arc<Context>,
    has_ended: Cell<bool>,
}

impl InUse {
    pub(crate) fn new(context: &Arc<Context>) -> Self {
        context.begin_use();
        Self { context: Arc::clone(context), has_ended: Cell::new(false) }
    }

    /// The context, whose use the caller ends, unless that has been done.
    pub(crate) fn take_use(&self) -> Option<Arc<Context>> {
        (!self.has_ended.replace(true)).then(|| Arc::clone(&self.context))
    }
}

impl Deref for InUse {
    type Target = Arc<Context>;

    fn deref(&self) -> &Arc<Context> {
        &self.context
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        if let Some(context) = self.take_use() {
            context.end_use();
        }
    }
}

pub(crate) const SESS_CACHE_SERVER: u32 = 2;

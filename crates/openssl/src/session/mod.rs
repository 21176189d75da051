//! SSL_SESSION: a session as programs see it, with Tercel's session inside.

pub(crate) mod cache;
pub(crate) mod encoding;

use core::ffi::{c_long, c_void};
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{SystemTime, UNIX_EPOCH};

use tercel::ConnectionInfo;
use tercel::pki_types::CertificateDer;
use tercel::wire::CipherSuite;
use zeroize::Zeroizing;

use crate::entry::Object;
use crate::objects::certificate::Certificate;
use crate::objects::ex_data::ExData;
use crate::objects::id::Id;
use crate::sys::crypto::EX_INDEX_SSL_SESSION;
use crate::sys::x509::X509;

/// A session.
pub(crate) struct Session {
    fields: Mutex<Fields>,
    pub(crate) ex_data: ExData,
    /// The peer's certificate, if the program asked for it.
    peer: OnceLock<Certificate>,
    /// Whether the program has added something to the session, or may have done so.
    touched: AtomicBool,
    /// Whether the removal of the session was reported to the program.
    removal_is_known: AtomicBool,
    /// The cache that the session is in.
    cache: OnceLock<Weak<dyn SessionCache>>,
}

/// A cache of sessions, that of a context.
pub(crate) trait SessionCache: Send + Sync {
    /// Takes notice of another end of a session of the cache.
    fn set_end(&self, session: &Arc<Session>);

    /// Whether this object is in the cache.
    fn has(&self, session: &Arc<Session>) -> bool;
}

impl Object for Session {}

/// What a session consists of.
#[derive(Clone, Default)]
pub(crate) struct Fields {
    /// The bytes of Tercel's session, which contain its secret. Empty if the session cannot be
    /// resumed: a server's whose client holds the ticket, or one without a ticket yet.
    pub(crate) core: Zeroizing<Vec<u8>>,
    pub(crate) id: Id,
    pub(crate) context: Id,
    pub(crate) version: u16,
    pub(crate) suite: u16,
    /// The time of the handshake, in seconds since 1970, and the lifetime.
    pub(crate) time: i64,
    pub(crate) timeout: i64,
    pub(crate) verify_result: c_long,
    /// With a NUL at its end.
    pub(crate) host_name: Option<Vec<u8>>,
    pub(crate) protocol: Vec<u8>,
    pub(crate) max_early_data: u32,
    pub(crate) lifetime_hint: u64,
    pub(crate) has_ticket: bool,
    /// Whether it is in a ticket that a server sealed, so that no client finds it in a cache.
    pub(crate) is_sealed: bool,
    /// The peer's certificates (DER), the leaf first.
    pub(crate) peer_chain: Vec<Vec<u8>>,
    /// Whether the main secret is extended (RFC 7627), or is of TLS 1.3, for which OpenSSL says no.
    /// `None` for a session from outside.
    pub(crate) extended_main_secret: Option<bool>,
    /// The program's data in the ticket.
    pub(crate) data: Vec<u8>,
    /// Whether the program has set the time or the lifetime.
    pub(crate) is_limited: bool,
    /// Whether the program has removed the session, so that it is not resumed.
    pub(crate) is_removed: bool,
}

impl Session {
    pub(crate) fn new(fields: Fields) -> Arc<Self> {
        let ex_data = ExData::new(EX_INDEX_SSL_SESSION);
        let session = Arc::new(Self {
            fields: Mutex::new(fields),
            ex_data,
            peer: OnceLock::new(),
            touched: AtomicBool::new(false),
            removal_is_known: AtomicBool::new(false),
            cache: OnceLock::new(),
        });
        session.ex_data.attach(Arc::as_ptr(&session).cast_mut().cast());
        session
    }

    /// A session with the program's data of another one.
    pub(crate) fn copied(fields: Fields, from: Option<&Self>) -> Arc<Self> {
        let session = Self::new(fields);
        if let Some(from) = from {
            session.ex_data.copy_from(&from.ex_data);
            session.touched.store(from.is_touched(), Relaxed);
        }
        session
    }

    /// Whether the program has added something to the session, or may have done so.
    pub(crate) fn is_touched(&self) -> bool {
        self.touched.load(Relaxed)
    }

    /// The program adds something to the session.
    pub(crate) fn touch(&self) {
        self.touched.store(true, Relaxed);
    }

    /// The program sets the time or the lifetime, which may change the end of the session in its
    /// cache.
    pub(crate) fn limit(self: &Arc<Self>, change: impl FnOnce(&mut Fields)) {
        let mut fields = self.fields();
        change(&mut fields);
        fields.is_limited = true;
        drop(fields);
        self.touch();
        if let Some(cache) = self.cache.get().and_then(Weak::upgrade) {
            cache.set_end(self);
        }
    }

    /// Sets the cache that the session is in.
    pub(crate) fn set_cache(&self, cache: Weak<dyn SessionCache>) {
        let _ = self.cache.set(cache);
    }

    /// The fields, which no function of the program uses meanwhile.
    pub(crate) fn fields(&self) -> MutexGuard<'_, Fields> {
        self.fields.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The session is not resumed any more.
    pub(crate) fn set_removed(&self) {
        let mut fields = self.fields();
        fields.core = Zeroizing::default();
        fields.is_removed = true;
    }

    /// Returns whether the removal of the session was not reported to the program yet; it is now.
    pub(crate) fn claim_removal(&self) -> bool {
        !self.removal_is_known.swap(true, Relaxed)
    }

    /// The session was added to the cache, from which it may be removed again.
    pub(crate) fn renew_removal(&self) {
        self.removal_is_known.store(false, Relaxed);
    }

    /// A connection does not use the session any more. If only its cache has it, which is for the
    /// program's function for removed sessions, it keeps no secret and no chain.
    pub(crate) fn let_go(self: Arc<Self>) {
        const CACHE_AND_THIS: usize = 2;
        let cache = self.cache.get().and_then(Weak::upgrade);
        let is_cached = cache.is_some_and(|cache| cache.has(&self));
        if is_cached && Arc::strong_count(&self) <= CACHE_AND_THIS {
            let mut fields = self.fields();
            if fields.is_sealed {
                fields.core = Zeroizing::default();
                fields.peer_chain = Vec::new();
            }
        }
    }

    /// The fields for a connection with these parameters.
    pub(crate) fn of(info: &ConnectionInfo, timeout: i64) -> Fields {
        Fields {
            version: info.version.0,
            suite: info.cipher_suite.0,
            time: now(),
            timeout,
            protocol: info.alpn.clone().unwrap_or_default(),
            extended_main_secret: Some(info.extended_main_secret && info.version.0 < 0x0304),
            peer_chain: info.peer_chain().iter().map(|each| each.to_vec()).collect(),
            ..Fields::default()
        }
    }

    /// The leaf of the peer's chain, which exists as long as the session. NULL if there is none.
    pub(crate) fn lent_peer(&self) -> *mut X509 {
        if self.peer.get().is_none() {
            // A session of a server may get its chain later, in the handshake.
            let leaf = self.fields().peer_chain.first().cloned();
            let parsed = leaf.and_then(|leaf| Certificate::from_der(&leaf));
            // Another thread may have set it meanwhile.
            parsed.map(|certificate| self.peer.set(certificate));
        }
        self.peer.get().map_or(core::ptr::null_mut(), Certificate::as_ptr)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ending = crate::entry::Ending::new(self);
        let address: *mut Self = self;
        self.ex_data.detach(address.cast::<c_void>());
    }
}

/// What a program has added to a session.
#[derive(Clone, Default)]
pub(crate) struct Added {
    /// The time and the lifetime of the session, if the program has set one of them.
    pub(crate) limit: Option<(i64, i64)>,
    /// The data in the ticket.
    pub(crate) data: Vec<u8>,
}

impl Added {
    pub(crate) fn of(fields: &Fields) -> Self {
        let limit = fields.is_limited.then_some((fields.time, fields.timeout));
        Self { limit, data: fields.data.clone() }
    }

    pub(crate) fn is_expired(&self) -> bool {
        self.limit.is_some_and(|(time, timeout)| is_expired(time, timeout))
    }
}

/// Whether this lifetime has ended.
pub(crate) fn is_expired(time: i64, timeout: i64) -> bool {
    now() > time.saturating_add(timeout)
}

impl Fields {
    pub(crate) fn cipher(&self) -> Option<&'static crate::ciphers::suite::Cipher> {
        crate::ciphers::suite::find(CipherSuite(self.suite))
    }

    /// Takes what the program has added to another session.
    pub(crate) fn keep_added(&mut self, from: &Self) {
        self.data.clone_from(&from.data);
        self.is_removed = from.is_removed;
        if from.is_limited {
            (self.time, self.timeout, self.is_limited) = (from.time, from.timeout, true);
        }
    }

    /// Becomes `new`, except for what the program has added. It may have pointers to that and to
    /// other parts, which remain valid if the parts are equal.
    pub(crate) fn renew(&mut self, mut new: Self) {
        new.keep_added(self);
        core::mem::swap(&mut new.data, &mut self.data);
        new.keep_equal_parts_of(self);
        *self = new;
    }

    /// Takes the name of `old`, and other parts that are equal. The program may have pointers to
    /// them, which remain valid.
    pub(crate) fn keep_parts_of(&mut self, old: &mut Self) {
        self.id = old.id.clone();
        self.keep_equal_parts_of(old);
    }

    fn keep_equal_parts_of(&mut self, old: &mut Self) {
        if self.protocol == old.protocol {
            core::mem::swap(&mut self.protocol, &mut old.protocol);
        }
        if self.host_name == old.host_name {
            core::mem::swap(&mut self.host_name, &mut old.host_name);
        }
    }

    /// Makes it resumable, with this name.
    pub(crate) fn complete(&mut self, id: Id, core: Zeroizing<Vec<u8>>, is_sealed: bool) {
        self.id = id;
        self.core = core;
        self.is_sealed = is_sealed;
    }

    /// The end of the lifetime.
    pub(crate) fn end(&self) -> i64 {
        self.time.saturating_add(self.timeout)
    }

    /// Whether a client can offer it, or a server resume it.
    pub(crate) fn is_resumable(&self) -> bool {
        !self.core.is_empty()
    }
}

/// The certificates of a chain, parsed by libcrypto. `None` if it refuses one of them: the first
/// one must be that whose key signed the handshake.
pub(crate) fn parse_chain(chain: &[CertificateDer<'_>]) -> Option<Vec<Certificate>> {
    chain.iter().map(|each| Certificate::from_whole_der(each)).collect()
}

/// The current time in seconds since 1970.
pub(crate) fn now() -> i64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(elapsed.as_secs()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The next certificate does not take the place of one that libcrypto refuses: the first one is
    /// that whose key signs the handshake.
    #[test]
    fn a_chain_is_parsed_whole_or_not_at_all() {
        let refused = CertificateDer::from(vec![0x30, 0]);
        assert!(parse_chain(&[refused]).is_none());
        assert!(parse_chain(&[]).is_some_and(|chain| chain.is_empty()));
    }
}

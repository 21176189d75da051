//! What the two halves of a connection share: one block of memory, with an atomic word, the keys of each, and where its
//! session is kept.
//!
//! The receiver sets bits of the word, the sender acts on them before its next record. Keys stay in their place from
//! the first to the last, whatever is moved around them: a move would leave a copy behind. Each half reaches its own
//! keys and no others, so that nobody ever waits for their lock.
//! Must not know: records. Next: [`super::sender`], `keys/direction.rs`.

use std::sync::{Arc, PoisonError};

use tercel_wire::AlertDescription;

use crate::keys::direction::Keys;
use crate::session::stored::StoredSession;
use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::{Mutex, MutexGuard};

/// Shared by sender and receiver.
#[derive(Clone, Default)]
pub(crate) struct Link(Arc<Shared>);

#[derive(Default)]
struct Shared {
    word: AtomicU32,
    write: Mutex<Option<Keys>>,
    read: Mutex<Option<Keys>>,
    /// TLS 1.2: for a session that lies in a store. Either half may have to say that it is to be forgotten.
    stored: Mutex<Option<Arc<StoredSession>>>,
}

/// The place of one half's keys, if it has any. They are wiped with it, whatever becomes of the other half.
pub(crate) struct KeyCell<const WRITES: bool>(Link);

/// What a sender's key is made of.
pub(crate) type WriteKeys = KeyCell<true>;

/// What a receiver's key is made of.
pub(crate) type ReadKeys = KeyCell<false>;

impl<const WRITES: bool> KeyCell<WRITES> {
    /// The place on this link, which no other may have.
    pub(crate) fn on(link: &Link) -> Self {
        Self(link.clone())
    }

    pub(crate) fn link(&self) -> &Link {
        &self.0
    }

    /// The keys. Let go of them before the place is looked at again.
    pub(crate) fn get(&self) -> MutexGuard<'_, Option<Keys>> {
        let Link(shared) = &self.0;
        let place = if WRITES { &shared.write } else { &shared.read };
        place.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// These in place of those before.
    pub(crate) fn put(&self, keys: Keys) {
        *self.get() = Some(keys);
    }

    pub(crate) fn clear(&self) {
        *self.get() = None;
    }
}

impl<const WRITES: bool> Drop for KeyCell<WRITES> {
    fn drop(&mut self) {
        self.clear();
    }
}

const UPDATE_REQUESTED: u32 = 1;
const PEER_CLOSED: u32 = 2;
const FAILED: u32 = 4;
const ALERT_PRESENT: u32 = 8;
const UPDATE_AWAITED: u32 = 16;
const RENEGOTIATION_REFUSED: u32 = 32;
const WRITE_CLOSED: u32 = 64;
const ALERT_SHIFT: u32 = 8;

/// What a connection goes on with elsewhere.
const LASTING: u32 = UPDATE_REQUESTED | PEER_CLOSED | UPDATE_AWAITED | RENEGOTIATION_REFUSED;

/// What the sender finds on the link.
#[derive(Clone, Copy)]
pub(crate) struct Signals(u32);

impl Link {
    /// The peer asked for a key update in our direction. RFC 9846 4.7.3
    pub(crate) fn request_update(&self) {
        self.0.word.fetch_or(UPDATE_REQUESTED, Ordering::Release);
    }

    /// The peer sent close_notify.
    pub(crate) fn peer_closed(&self) {
        self.0.word.fetch_or(PEER_CLOSED, Ordering::Release);
    }

    /// The peer asked for renegotiation and is to be refused by a warning: `false` if our half is
    /// closed and cannot send one. RFC 5246 7.2.2
    pub(crate) fn refuse_renegotiation(&self) -> bool {
        self.0.word.fetch_or(RENEGOTIATION_REFUSED, Ordering::AcqRel) & WRITE_CLOSED == 0
    }

    /// The refusal was sent.
    pub(crate) fn renegotiation_refused(&self) {
        self.0.word.fetch_and(!RENEGOTIATION_REFUSED, Ordering::AcqRel);
    }

    /// The sender sends nothing any more.
    pub(crate) fn write_closed(&self) {
        self.0.word.fetch_or(WRITE_CLOSED, Ordering::Release);
    }

    /// The receiver failed; the peer is to be told, if there is something to tell.
    pub(crate) fn fail(&self, alert: Option<AlertDescription>) {
        let alert = alert.map_or(0, |alert| ALERT_PRESENT | u32::from(alert.0) << ALERT_SHIFT);
        self.0.word.fetch_or(FAILED | alert, Ordering::Release);
    }

    /// Has the session forgotten if this connection ends with a fatal alert. RFC 5246 7.2.2
    pub(crate) fn forget_on_alert(&self, session: Arc<StoredSession>) {
        *self.stored() = Some(session);
    }

    /// The connection ends with a fatal alert, which takes its session along. RFC 5246 7.2.2
    #[cold]
    pub(crate) fn forget_session(&self) {
        let session = self.stored().take();
        // A store may take its time, and nobody is to wait for that here.
        if let Some(session) = session {
            session.forget();
        }
    }

    /// Where the session lies that is to be forgotten then.
    pub(crate) fn to_forget(&self) -> Option<Arc<StoredSession>> {
        self.stored().clone()
    }

    fn stored(&self) -> MutexGuard<'_, Option<Arc<StoredSession>>> {
        self.0.stored.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// We asked the peer for a key update.
    pub(crate) fn await_update(&self) {
        self.0.word.fetch_or(UPDATE_AWAITED, Ordering::Release);
    }

    /// The peer updated its key, asked or not.
    pub(crate) fn update_arrived(&self) {
        self.0.word.fetch_and(!UPDATE_AWAITED, Ordering::AcqRel);
    }

    /// Whether both are of one connection.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// A link on which these signals are set, of those that a connection goes on with.
    pub(crate) fn from_word(word: u32) -> Option<Self> {
        (word & !LASTING == 0)
            .then(|| Self(Arc::new(Shared { word: AtomicU32::new(word), ..Shared::default() })))
    }

    /// Whether there is no signal at all.
    pub(crate) fn is_quiet(&self) -> bool {
        self.signals().0 == 0
    }

    pub(crate) fn signals(&self) -> Signals {
        Signals(self.0.word.load(Ordering::Acquire))
    }

    /// The update was made.
    pub(crate) fn update_done(&self) {
        self.0.word.fetch_and(!UPDATE_REQUESTED, Ordering::AcqRel);
    }
}

impl Signals {
    pub(crate) fn update_requested(self) -> bool {
        self.0 & UPDATE_REQUESTED != 0
    }

    pub(crate) fn update_awaited(self) -> bool {
        self.0 & UPDATE_AWAITED != 0
    }

    pub(crate) fn renegotiation_to_refuse(self) -> bool {
        self.0 & RENEGOTIATION_REFUSED != 0
    }

    pub(crate) fn peer_closed(self) -> bool {
        self.0 & PEER_CLOSED != 0
    }

    /// Those that a connection goes on with.
    pub(crate) fn lasting(self) -> u32 {
        self.0 & LASTING
    }

    /// `Some` if the receiver failed: with the alert to send, if any.
    pub(crate) fn failed(self) -> Option<Option<AlertDescription>> {
        if self.0 & FAILED == 0 {
            return None;
        }
        let [_, _, alert, _] = self.0.to_be_bytes();
        Some((self.0 & ALERT_PRESENT != 0).then_some(AlertDescription(alert)))
    }
}

#[cfg(all(test, loom))]
mod models;
#[cfg(test)]
mod tests {
    use tercel_wire::CipherSuite;

    use super::*;
    use crate::keys::suite;

    #[test]
    fn a_half_s_keys_go_with_it_and_with_nobody_else() {
        let suite = suite::find(CipherSuite::TLS_AES_128_GCM_SHA256).unwrap();
        let keys = |byte| Keys::from_bytes(suite, &[byte; 32]).unwrap();
        let link = Link::default();
        let (write, read) = (WriteKeys::on(&link), ReadKeys::on(&link));
        write.put(keys(1));
        read.put(keys(2));
        assert_eq!(write.get().as_ref().unwrap().as_bytes(), [1; 32]);
        assert_eq!(read.get().as_ref().unwrap().as_bytes(), [2; 32]);
        drop(write);
        assert!(link.0.write.lock().unwrap().is_none());
        assert!(read.get().is_some());
        drop(read);
        assert!(link.0.read.lock().unwrap().is_none());
    }
}

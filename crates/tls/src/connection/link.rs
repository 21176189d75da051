//! The state that a sender and a receiver share: an atomic word of signals, the keys of both
//! directions, and a reference to the session in its store.
//!
//! The receiver sets most bits of the word, and the sender acts on them before its next record. The
//! keys are in this allocation because it never moves: moving a key would leave a copy in memory.
//! Sender and receiver each access only their own keys, so the locks are never contended.

use std::sync::{Arc, PoisonError};

use tercel_wire::AlertDescription;

use crate::keys::direction::Keys;
use crate::message_tap::TapCell;
use crate::resumption::session::invalidation::StoredSession;
use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::{Mutex, MutexGuard};

/// The state shared by sender and receiver.
#[derive(Clone, Default)]
pub(crate) struct Link(Arc<Shared>);

#[derive(Default)]
struct Shared {
    word: AtomicU32,
    write: Mutex<Option<Keys>>,
    read: Mutex<Option<Keys>>,
    /// TLS 1.2: the stored session, which an error of the sender or the receiver invalidates.
    stored: Mutex<Option<Arc<StoredSession>>>,
    tap: TapCell,
}

/// The keys of a sender or receiver in the shared state. Dropping the cell wipes them.
pub(crate) struct KeyCell<const WRITES: bool>(Link);

/// The keys of a sender.
pub(crate) type WriteKeys = KeyCell<true>;

/// The keys of a receiver.
pub(crate) type ReadKeys = KeyCell<false>;

impl<const WRITES: bool> KeyCell<WRITES> {
    /// Creates the cell of one direction on this link. There must be only one for each direction.
    pub(crate) fn on(link: &Link) -> Self {
        Self(link.clone())
    }

    pub(crate) fn link(&self) -> &Link {
        &self.0
    }

    /// Locks the keys. The guard has to be dropped before the next call.
    pub(crate) fn get(&self) -> MutexGuard<'_, Option<Keys>> {
        let Link(shared) = &self.0;
        let place = if WRITES { &shared.write } else { &shared.read };
        place.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the keys.
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
const ALERT_SHIFT: u32 = 8;

/// The signals that are kept when a connection is saved.
const PERSISTENT: u32 = UPDATE_REQUESTED | PEER_CLOSED | UPDATE_AWAITED | RENEGOTIATION_REFUSED;

/// A snapshot of the signals.
#[derive(Clone, Copy)]
pub(crate) struct Signals(u32);

impl Link {
    /// Signals that the peer requested a key update of this side. RFC 9846 4.7.3
    pub(crate) fn request_update(&self) {
        self.0.word.fetch_or(UPDATE_REQUESTED, Ordering::Release);
    }

    /// Signals that the peer sent close_notify.
    pub(crate) fn peer_closed(&self) {
        self.0.word.fetch_or(PEER_CLOSED, Ordering::Release);
    }

    /// Signals that a renegotiation request has to be refused with a warning alert. RFC 5246 7.2.2
    pub(crate) fn refuse_renegotiation(&self) {
        self.0.word.fetch_or(RENEGOTIATION_REFUSED, Ordering::AcqRel);
    }

    /// Clears the signal of [`Self::refuse_renegotiation`], after the refusal was sent.
    pub(crate) fn renegotiation_refused(&self) {
        self.0.word.fetch_and(!RENEGOTIATION_REFUSED, Ordering::AcqRel);
    }

    /// Signals that the receiver failed, with the alert to send, if any.
    pub(crate) fn fail(&self, alert: Option<AlertDescription>) {
        let alert = alert.map_or(0, |alert| ALERT_PRESENT | u32::from(alert.0) << ALERT_SHIFT);
        self.0.word.fetch_or(FAILED | alert, Ordering::Release);
    }

    /// Sets the session that a fatal alert on this connection invalidates. RFC 5246 7.2.2
    pub(crate) fn invalidate_on_alert(&self, session: Arc<StoredSession>) {
        *self.stored() = Some(session);
    }

    /// Invalidates the session, because the connection ends with a fatal alert. Returns the session
    /// if there is one. RFC 5246 7.2.2
    #[cold]
    pub(crate) fn invalidate_session(&self) -> Option<Arc<StoredSession>> {
        let session = self.stored().take()?;
        // The call is made without the lock, since a store may be slow.
        session.invalidate();
        Some(session)
    }

    /// Returns the session that a fatal alert on this connection invalidates.
    pub(crate) fn session_to_invalidate(&self) -> Option<Arc<StoredSession>> {
        self.stored().clone()
    }

    fn stored(&self) -> MutexGuard<'_, Option<Arc<StoredSession>>> {
        self.0.stored.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the tap of the connection's messages.
    #[inline(always)]
    pub(crate) fn tap(&self) -> &TapCell {
        &self.0.tap
    }

    /// Signals that a key update was requested from the peer.
    pub(crate) fn await_update(&self) {
        self.0.word.fetch_or(UPDATE_AWAITED, Ordering::Release);
    }

    /// Clears the signal of [`Self::await_update`]: the peer updated its key, whether requested or
    /// not.
    pub(crate) fn update_arrived(&self) {
        self.0.word.fetch_and(!UPDATE_AWAITED, Ordering::AcqRel);
    }

    /// Whether both links belong to the same connection.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Creates a link with the signals of a saved connection. Returns `None` if `word` has other
    /// signals.
    pub(crate) fn from_word(word: u32) -> Option<Self> {
        (word & !PERSISTENT == 0)
            .then(|| Self(Arc::new(Shared { word: AtomicU32::new(word), ..Shared::default() })))
    }

    /// Whether no signal is set.
    pub(crate) fn is_quiet(&self) -> bool {
        self.signals().0 == 0
    }

    pub(crate) fn signals(&self) -> Signals {
        Signals(self.0.word.load(Ordering::Acquire))
    }

    /// Clears the signal of [`Self::request_update`], after the key was updated.
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

    /// Returns the signals that are kept when a connection is saved.
    pub(crate) fn persistent(self) -> u32 {
        self.0 & PERSISTENT
    }

    /// Returns `Some` if the receiver failed, with the alert to send, if any.
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
    fn dropping_sender_or_receiver_wipes_its_own_keys_only() {
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

//! The one link between a connection's two halves: an atomic word.
//!
//! The receiver sets bits, the sender acts on them before its next record.
//! Must not know: records. Next: [`super::sender`].

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tercel_wire::AlertDescription;

/// Shared by sender and receiver.
#[derive(Clone, Default)]
pub(crate) struct Link(Arc<AtomicU32>);

const UPDATE_REQUESTED: u32 = 1;
const PEER_CLOSED: u32 = 2;
const FAILED: u32 = 4;
const ALERT_PRESENT: u32 = 8;
const UPDATE_AWAITED: u32 = 16;
const ABORTED: u32 = 32;
const ALERT_SHIFT: u32 = 8;

/// What a connection goes on with elsewhere.
const LASTING: u32 = UPDATE_REQUESTED | PEER_CLOSED | UPDATE_AWAITED;

/// What the sender finds on the link.
#[derive(Clone, Copy)]
pub(crate) struct Signals(u32);

impl Link {
    /// The peer asked for a key update in our direction. RFC 9846 4.7.3
    pub(crate) fn request_update(&self) {
        self.0.fetch_or(UPDATE_REQUESTED, Ordering::Release);
    }

    /// The peer sent close_notify.
    pub(crate) fn peer_closed(&self) {
        self.0.fetch_or(PEER_CLOSED, Ordering::Release);
    }

    /// The receiver failed; the peer is to be told, if there is something to tell.
    pub(crate) fn fail(&self, alert: Option<AlertDescription>) {
        let alert = alert.map_or(0, |alert| ALERT_PRESENT | u32::from(alert.0) << ALERT_SHIFT);
        self.0.fetch_or(FAILED | alert, Ordering::Release);
    }

    /// The application had a fatal alert sent.
    pub(crate) fn abort(&self) {
        self.0.fetch_or(ABORTED, Ordering::Release);
    }

    /// We asked the peer for a key update.
    pub(crate) fn await_update(&self) {
        self.0.fetch_or(UPDATE_AWAITED, Ordering::Release);
    }

    /// The peer updated its key, asked or not.
    pub(crate) fn update_arrived(&self) {
        self.0.fetch_and(!UPDATE_AWAITED, Ordering::AcqRel);
    }

    /// Whether both are of one connection.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// A link on which these signals are set, of those that a connection goes on with.
    pub(crate) fn from_word(word: u32) -> Option<Self> {
        (word & !LASTING == 0).then(|| Self(Arc::new(AtomicU32::new(word))))
    }

    /// Whether there is no signal at all.
    pub(crate) fn is_quiet(&self) -> bool {
        self.signals().0 == 0
    }

    pub(crate) fn signals(&self) -> Signals {
        Signals(self.0.load(Ordering::Acquire))
    }

    /// The update was made.
    pub(crate) fn update_done(&self) {
        self.0.fetch_and(!UPDATE_REQUESTED, Ordering::AcqRel);
    }
}

impl Signals {
    pub(crate) fn update_requested(self) -> bool {
        self.0 & UPDATE_REQUESTED != 0
    }

    pub(crate) fn update_awaited(self) -> bool {
        self.0 & UPDATE_AWAITED != 0
    }

    pub(crate) fn peer_closed(self) -> bool {
        self.0 & PEER_CLOSED != 0
    }

    /// Those that a connection goes on with.
    pub(crate) fn lasting(self) -> u32 {
        self.0 & LASTING
    }

    /// Whether the application had a fatal alert sent.
    pub(crate) fn aborted(self) -> bool {
        self.0 & ABORTED != 0
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

//! The epoch of a store, by which the replay guard notices that entries were lost.

use tokio::time::Instant;

/// The identity of the data in a store when it was last checked. As long as it does not change,
/// the store still has all entries of the replay guard.
pub(crate) struct Epoch {
    pub(crate) key: String,
    pub(crate) value: String,
    pub(crate) replication_id: String,
    /// The time until which early data is refused, because earlier entries may be missing.
    pub(crate) blind_until: Instant,
}

impl Epoch {
    pub(crate) fn admits(&self) -> bool {
        Instant::now() >= self.blind_until
    }

    pub(crate) fn is_of(&self, epoch: &str, replication_id: &str) -> bool {
        self.value == epoch && self.replication_id == replication_id
    }
}

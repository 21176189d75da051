//! Reports signatures that the RSA kernel computed wrongly, which indicates faulty hardware.
//!
//! The kernel verifies each signature and discards wrong ones (docs/security/kernels.md), so that
//! clients notice nothing. The count is also a metric.

use std::time::Duration;

use tercel::crypto::rejected_rsa_signatures;
use tokio::time::{Interval, MissedTickBehavior, interval};

/// The signatures that were reported before.
pub(super) struct RejectedSignatures {
    reported: u64,
    checks: Interval,
}

impl RejectedSignatures {
    pub(super) fn new() -> Self {
        let mut checks = interval(CHECK_INTERVAL);
        checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { reported: 0, checks }
    }

    /// Waits until it is time to check.
    pub(super) async fn tick(&mut self) {
        self.checks.tick().await;
    }

    /// Logs the number of signatures that were rejected since the last check, if there are any.
    pub(super) fn report(&mut self) {
        if let Some(signatures) = self.new_ones(rejected_rsa_signatures()) {
            tracing::error!(signatures, "wrong RSA signatures were computed and discarded");
        }
    }

    fn new_ones(&mut self, total: u64) -> Option<u64> {
        let count = total.saturating_sub(self.reported);
        self.reported = total;
        (count > 0).then_some(count)
    }
}

const CHECK_INTERVAL: Duration = Duration::from_secs(60);

#[tokio::test]
async fn each_rejected_signature_is_reported_once() {
    let mut rejected = RejectedSignatures::new();
    let reported = [0, 2, 2, 3, 3].map(|total| rejected.new_ones(total));
    assert_eq!(reported, [None, Some(2), None, Some(1), None]);
}

//! Watches of all certificate sources, and the metrics of their validity.

use std::sync::Arc;
use std::time::Duration;

use crate::certificates::watch::Watch;
use crate::certificates::{Certificates, Changes};
use crate::observability::metrics::{Metrics, labels};

/// Interval between polls of certificate files.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// Starts the watches. The call blocks while it reads file metadata.
pub(super) fn watch(metrics: &Arc<Metrics>, all: &[Arc<Certificates>]) -> Vec<Watch> {
    publish(metrics, all);
    let mut watches = Vec::new();
    for certificates in all {
        let (metrics, others) = (Arc::clone(metrics), all.to_vec());
        let changed = move |changes: &Changes| {
            changes.log();
            metrics.reloaded(labels::Reload::Certificates, changes.problems.is_empty());
            publish(&metrics, &others);
        };
        match Watch::start(Arc::clone(certificates), POLL_INTERVAL, changed) {
            Ok(watch) => watches.push(watch),
            Err(error) => tracing::error!(%error, "cannot start certificate watch"),
        }
    }
    watches
}

/// Stops the watches without waiting for a poll in progress.
pub(super) fn stop_watches(watches: &mut Vec<Watch>) {
    let ended = std::mem::take(watches);
    tokio::task::spawn_blocking(move || drop(ended));
}

fn publish(metrics: &Metrics, certificates: &[Arc<Certificates>]) {
    metrics.set_certificates(certificates.iter().flat_map(|each| each.expiries()).collect());
}

//! Watches of all certificate sources and of the keys for Encrypted ClientHello, and their metrics.

use std::sync::Arc;
use std::time::Duration;

use tercel::files::FileWatch;

use crate::certificates::{Certificates, Changes};
use crate::ech_keys::{EchChange, EchKeys};
use crate::observability::metrics::{Metrics, labels};

/// Interval between polls of certificate files.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// Starts the watches. The call blocks while it reads file metadata.
pub(super) fn watch(
    metrics: &Arc<Metrics>,
    all: &[Arc<Certificates>],
    ech: Option<&Arc<EchKeys>>,
) -> Vec<FileWatch> {
    publish(metrics, all);
    let mut watches = Vec::new();
    metrics.set_ech_key(ech.and_then(|ech| ech.since()));
    if let Some(ech) = ech {
        let (metrics, keys) = (Arc::clone(metrics), Arc::clone(ech));
        let changed = move |change: &EchChange| publish_ech(&metrics, &keys, change);
        match FileWatch::start("ech keys", Arc::clone(ech), POLL_INTERVAL, changed) {
            Ok(watch) => watches.push(watch),
            Err(error) => tracing::error!(%error, "cannot start certificate watch"),
        }
    }
    for certificates in all {
        let (metrics, others) = (Arc::clone(metrics), all.to_vec());
        let changed = move |changes: &Changes| {
            changes.log();
            metrics.reloaded(labels::Reload::Certificates, changes.problems.is_empty());
            publish(&metrics, &others);
        };
        match FileWatch::start("certificates", Arc::clone(certificates), POLL_INTERVAL, changed) {
            Ok(watch) => watches.push(watch),
            Err(error) => tracing::error!(%error, "cannot start certificate watch"),
        }
    }
    watches
}

/// Stops the watches without waiting for a poll in progress.
pub(super) fn stop_watches(watches: &mut Vec<FileWatch>) {
    let ended = std::mem::take(watches);
    tokio::task::spawn_blocking(move || drop(ended));
}

/// Logs and counts a reload of the keys for Encrypted ClientHello.
pub(super) fn publish_ech(metrics: &Metrics, keys: &EchKeys, change: &EchChange) {
    change.log();
    let succeeded = matches!(change, EchChange::Replaced(..));
    metrics.reloaded(labels::Reload::EchKeys, succeeded);
    metrics.set_ech_key(keys.since());
}

fn publish(metrics: &Metrics, certificates: &[Arc<Certificates>]) {
    metrics.set_certificates(certificates.iter().flat_map(|each| each.expiries()).collect());
}

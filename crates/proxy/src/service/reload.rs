//! Reloads. Files are read and names resolved on other threads, so that signals are handled
//! meanwhile.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tercel::files::FileWatch;
use tokio::task::{JoinSet, spawn_blocking};

use super::proxy::{PreparedConfig, Proxy};
use super::{certificate_watch, startup};
use crate::config::{Config, ConfigError};
use crate::observability::metrics::labels;

/// The reload in progress, which has two steps.
#[derive(Default)]
pub(super) struct Reload {
    step: JoinSet<Step>,
    is_queued: bool,
}

/// A completed step.
pub(super) enum Step {
    /// The configuration was loaded.
    Configuration(Result<Box<PreparedConfig>, ConfigError>),
    /// Ticket keys and certificates were reloaded, and the new watches were started.
    Files(Vec<FileWatch>),
    /// The thread of the step panicked.
    Panicked,
}

impl Reload {
    /// Starts a reload. If a reload is in progress, another reload is queued, because the first may
    /// have read files before they changed.
    pub(super) fn begin(&mut self, proxy: &Proxy, watches: &mut Vec<FileWatch>) {
        if !self.step.is_empty() {
            if !self.is_queued {
                // The queued reload is logged, because a slow name server or a FIFO may block the
                // reload in progress.
                tracing::info!("reload in progress; another one is queued");
            }
            self.is_queued = true;
            return;
        }
        self.is_queued = false;
        let Some(file) = proxy.config().file.clone() else {
            return self.read_files(proxy, watches);
        };
        let current = proxy.current();
        self.step.spawn_blocking(move || {
            let prepared = Config::load(&file).and_then(|config| current.prepare(config));
            Step::Configuration(prepared.map(Box::new))
        });
    }

    /// Waits for the next completed step; `None` without a reload in progress. Cancel safe.
    pub(super) async fn step(&mut self) -> Option<Step> {
        Some(self.step.join_next().await?.unwrap_or(Step::Panicked))
    }

    /// Activates what a step has loaded, or keeps the previous state after an error. Returns
    /// whether the reload is complete.
    pub(super) fn proceed(
        &mut self,
        step: Step,
        proxy: &mut Proxy,
        watches: &mut Vec<FileWatch>,
    ) -> bool {
        match step {
            Step::Configuration(prepared) => {
                proxy.metrics().reloaded(labels::Reload::Configuration, prepared.is_ok());
                match prepared {
                    Ok(prepared) => {
                        proxy.activate(*prepared);
                        tracing::info!("configuration reloaded");
                        startup::log_warnings(&proxy.warnings());
                    }
                    Err(error) => tracing::error!(
                        %error,
                        "configuration reload failed; keeping the previous configuration"
                    ),
                }
                self.read_files(proxy, watches);
                return false;
            }
            Step::Files(new) => *watches = new,
            Step::Panicked => tracing::error!("reload failed"),
        }
        if self.is_queued {
            self.begin(proxy, watches);
        }
        self.step.is_empty()
    }

    fn read_files(&mut self, proxy: &Proxy, watches: &mut Vec<FileWatch>) {
        let metrics = Arc::clone(proxy.metrics());
        let (fleet, all, ech) = (proxy.fleet(), proxy.certificates(), proxy.ech_files());
        let before = std::mem::take(watches);
        let counted = Arc::clone(&metrics);
        let read = spawn_blocking(move || {
            // Dropping the old watches waits for a poll in progress, so that the poll does not
            // report the old state later.
            drop(before);
            let reload = AssertUnwindSafe(|| {
                for certificates in &all {
                    let changes = certificates.reload();
                    changes.log();
                    counted.reloaded(labels::Reload::Certificates, changes.problems.is_empty());
                }
                if let Some(ech) = &ech {
                    if let Some(change) = ech.reload() {
                        certificate_watch::publish_ech(&counted, ech, &change);
                    }
                }
            });
            // Also after a panic, the files are watched.
            if catch_unwind(reload).is_err() {
                tracing::error!("reload failed");
            }
            Step::Files(certificate_watch::watch(&counted, &all, ech.as_ref()))
        });
        self.step.spawn(async move {
            if let Some(fleet) = fleet {
                let reloaded = fleet.reload().await;
                metrics.reloaded(labels::Reload::TicketKeys, reloaded.is_ok());
                if let Err(error) = reloaded {
                    tracing::error!(%error, "ticket key reload failed; keeping the previous keys");
                }
            }
            read.await.unwrap_or(Step::Panicked)
        });
    }
}

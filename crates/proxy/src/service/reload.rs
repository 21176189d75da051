//! A reload under way: files are read and names looked up on other threads, so that signals are heard meanwhile.
//!
//! Must not know: signals. Next: [`crate::run`], which serves by what was read; [`super::watch`].

use std::sync::Arc;

use tokio::task::{JoinSet, spawn_blocking};

use crate::certificates::watch::Watch;
use crate::config::{Config, Fault};
use crate::metrics::labels;
use crate::run::{Prepared, Proxy};

/// One reload at a time, in two steps.
#[derive(Default)]
pub(super) struct Reload {
    step: JoinSet<Step>,
    again: bool,
}

/// What was done.
pub(super) enum Step {
    /// The configuration was read, with all that it names.
    Configuration(Result<Box<Prepared>, Fault>),
    /// So was what stays across reloads: ticket keys and certificates, which are watched from now on.
    Files(Vec<Watch>),
    /// Nothing: what should have done it has panicked, and said so.
    Lost,
}

impl Reload {
    /// Begins. Where one is under way another one follows: whoever asks means the files as they are now.
    pub(super) fn begin(&mut self, proxy: &Proxy, watches: &mut Vec<Watch>) {
        if !self.step.is_empty() {
            if !self.again {
                // A name server or a pipe may keep it waiting, which nobody would know otherwise.
                tracing::info!("a reload is under way; another follows when it is done");
            }
            self.again = true;
            return;
        }
        self.again = false;
        let Some(file) = proxy.config().file.clone() else {
            return self.read_files(proxy, watches);
        };
        let current = proxy.current();
        self.step.spawn_blocking(move || {
            let prepared = Config::load(&file).and_then(|config| current.prepare(config));
            Step::Configuration(prepared.map(Box::new))
        });
    }

    /// The next step that is done; `None` if none is under way. Dropping the future loses none.
    pub(super) async fn step(&mut self) -> Option<Step> {
        Some(self.step.join_next().await?.unwrap_or(Step::Lost))
    }

    /// Serves by what was read; what is wrong leaves what it would replace as it was. Whether that was all.
    pub(super) fn proceed(
        &mut self,
        step: Step,
        proxy: &mut Proxy,
        watches: &mut Vec<Watch>,
    ) -> bool {
        match step {
            Step::Configuration(prepared) => {
                proxy.metrics().reloaded(labels::Reload::Configuration, prepared.is_ok());
                match prepared {
                    Ok(prepared) => {
                        proxy.adopt(*prepared);
                        tracing::info!("configuration read again");
                        super::warn(proxy.config());
                    }
                    Err(fault) => {
                        tracing::error!(error = %fault, "the configuration stays as it was");
                    }
                }
                self.read_files(proxy, watches);
                return false;
            }
            Step::Files(new) => *watches = new,
            Step::Lost => tracing::error!("the reload has failed"),
        }
        if self.again {
            self.begin(proxy, watches);
        }
        self.step.is_empty()
    }

    fn read_files(&mut self, proxy: &Proxy, watches: &mut Vec<Watch>) {
        let metrics = Arc::clone(proxy.metrics());
        let (fleet, all) = (proxy.fleet(), proxy.certificates());
        let before = std::mem::take(watches);
        let counted = Arc::clone(&metrics);
        let read = spawn_blocking(move || {
            // Waits for a look that is under way, which must not tell of the old ones later.
            drop(before);
            for certificates in &all {
                let changes = certificates.reload();
                changes.log();
                counted.reloaded(labels::Reload::Certificates, changes.problems.is_empty());
            }
            Step::Files(super::watch(&counted, &all))
        });
        self.step.spawn(async move {
            if let Some(fleet) = fleet {
                let reloaded = fleet.reload().await;
                metrics.reloaded(labels::Reload::TicketKeys, reloaded.is_ok());
                if let Err(error) = reloaded {
                    tracing::error!(%error, "the ticket keys stay as they were");
                }
            }
            read.await.unwrap_or(Step::Lost)
        });
    }
}

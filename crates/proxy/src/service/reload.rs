//! A reload under way: files are read and names looked up on other threads, so that signals are heard meanwhile.
//!
//! Must not know: signals. Next: [`crate::run`], which serves by what was read.

use std::sync::Arc;

use tokio::task::JoinSet;

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
    /// So was what stays across reloads: ticket keys and certificates.
    Files,
}

impl Reload {
    /// Begins. Where one is under way another one follows: whoever asks means the files as they are now.
    pub(super) fn begin(&mut self, proxy: &Proxy) {
        if !self.step.is_empty() {
            self.again = true;
            return;
        }
        self.again = false;
        let Some(file) = proxy.config().file.clone() else { return self.read_files(proxy) };
        let current = proxy.current();
        self.step.spawn_blocking(move || {
            let prepared = Config::load(&file).and_then(|config| current.prepare(config));
            Step::Configuration(prepared.map(Box::new))
        });
    }

    /// The next step that is done; `None` if none is under way. Dropping the future loses none.
    pub(super) async fn step(&mut self) -> Option<Step> {
        // Who has panicked while it read has read nothing; the panic itself is on standard error.
        Some(self.step.join_next().await?.unwrap_or(Step::Files))
    }

    /// Serves by what was read; what is wrong leaves what it would replace as it was. Whether that was all.
    pub(super) fn proceed(&mut self, step: Step, proxy: &mut Proxy) -> bool {
        let Step::Configuration(prepared) = step else {
            if self.again {
                self.begin(proxy);
            }
            return self.step.is_empty();
        };
        proxy.metrics().reloaded(labels::Reload::Configuration, prepared.is_ok());
        match prepared {
            Ok(prepared) => {
                proxy.adopt(*prepared);
                tracing::info!("configuration read again");
                super::warn(proxy.config());
            }
            Err(fault) => tracing::error!(error = %fault, "the configuration stays as it was"),
        }
        self.read_files(proxy);
        false
    }

    fn read_files(&mut self, proxy: &Proxy) {
        let metrics = Arc::clone(proxy.metrics());
        let (fleet, all) = (proxy.fleet(), proxy.certificates());
        self.step.spawn(async move {
            if let Some(fleet) = fleet {
                let reloaded = fleet.reload().await;
                metrics.reloaded(labels::Reload::TicketKeys, reloaded.is_ok());
                if let Err(error) = reloaded {
                    tracing::error!(%error, "the ticket keys stay as they were");
                }
            }
            let read = move || {
                for certificates in all {
                    let changes = certificates.reload();
                    changes.log();
                    metrics.reloaded(labels::Reload::Certificates, changes.problems.is_empty());
                }
            };
            // As above: a panic is told by itself.
            let _ = tokio::task::spawn_blocking(read).await;
            Step::Files
        });
    }
}

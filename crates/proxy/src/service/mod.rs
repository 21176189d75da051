//! The process: startup, signals, reload, drain and watchdog.

mod certificate_watch;
mod failed_self_tests;
pub(crate) mod proxy;
mod rejected_signatures;
mod reload;
mod startup;
pub(crate) mod watchdog;
pub(crate) mod worker_thread;

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use tercel::crypto::hash_lanes;
use tercel::files::FileWatch;
use tercel::fips::fips_module;
use tercel_fleet::Fleet;
use tokio::time::MissedTickBehavior;

use crate::config::Config;
use crate::observability::admin::{self, Health};
use crate::observability::logs;
use crate::system::signals::{Signal, Signals};
use crate::system::{notify, privileges, socket_activation};
use certificate_watch::{stop_watches, watch};
use failed_self_tests::FailedSelfTests;
use proxy::{BoundProxy, Proxy};
use rejected_signatures::RejectedSignatures;
use reload::Reload;
use startup::{bind_admin, kernel_states, log_warnings, raise_file_limit};
use watchdog::Watchdog;

/// Serves until a signal ends the process: SIGTERM or SIGINT begins a drain, and a second such
/// signal stops the process at once. SIGHUP reloads the configuration file and the certificates.
///
/// Call this function before the process has other threads.
///
/// # Errors
///
/// The reason why the process cannot serve, in one line.
pub fn run(config: Config) -> Result<()> {
    // These two come before any thread starts: a thread inherits the setting from the thread that
    // starts it, and environment variables are removed.
    privileges::forbid_new_privileges().context("cannot set no_new_privs")?;
    let inherited = socket_activation::inherited_listeners()?;
    let format = if config.log.json { logs::Format::Json } else { logs::Format::Text };
    let level = logs::level(&config.log.level).map_err(|reason| anyhow!(reason))?;
    let logging = logs::start(format, level).context("cannot initialize logging")?;
    let inherited: Vec<_> = inherited.into_iter().map(|each| each.listener).collect();
    raise_file_limit(&config);
    let (user, group) = (config.user.clone(), config.group.clone());
    let admin = match config.admin {
        None => None,
        Some(address) => Some(bind_admin(&config, address, &inherited)?),
    };
    let bound = BoundProxy::new(config, &inherited)?;
    log_warnings(bound.warnings());
    // The workers have duplicated the sockets.
    drop(inherited);
    if let Some(user) = user {
        privileges::drop_privileges(&user, group.as_deref()).context("cannot drop privileges")?;
    }
    if privileges::is_root() {
        tracing::warn!("running as root; set `user` to drop privileges");
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ended = runtime.block_on(supervise(bound, admin, &logging));
    // A reload may still be running; its result is not needed.
    runtime.shutdown_background();
    ended
}

/// Runs the process: handles signals, reloads, the watchdog and exits of threads.
async fn supervise(
    bound: BoundProxy,
    admin: Option<TcpListener>,
    logging: &logs::Logging,
) -> Result<()> {
    let signals = Signals::new().context("cannot install signal handlers")?;
    let proxy = bound.start()?;
    let health = Health::new();
    if let Some(listener) = admin {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let (metrics, health) = (Arc::clone(proxy.metrics()), Arc::clone(&health));
        tokio::spawn(admin::serve(listener, metrics, health));
    }
    let watches = watch(proxy.metrics(), &proxy.certificates(), proxy.ech_files().as_ref());
    let threads = proxy.config().workers;
    health.serving(proxy.addresses().len().saturating_mul(threads));
    tracing::info!(hash_lanes = ?hash_lanes(), kernels = %kernel_states(), "started");
    if proxy.config().fips {
        tracing::info!(module = fips_module().map(|module| module.version), "FIPS mode");
    }
    for address in proxy.addresses() {
        tracing::info!(listener = %address, threads, "listening");
    }
    notify::ready();
    Supervisor { proxy, health, watches, reload: Reload::default(), draining: false }
        .run(signals, logging)
        .await
}

/// The process while it serves and drains.
struct Supervisor {
    proxy: Proxy,
    health: Arc<Health>,
    watches: Vec<FileWatch>,
    reload: Reload,
    draining: bool,
}

impl Supervisor {
    async fn run(mut self, mut signals: Signals, logging: &logs::Logging) -> Result<()> {
        let mut watchdog = Watchdog::new();
        let mut rejected_signatures = RejectedSignatures::new();
        let mut failed_self_tests = FailedSelfTests::default();
        let mut thread_checks = tokio::time::interval(THREAD_CHECK_INTERVAL);
        thread_checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut lost_thread = None;
        loop {
            tokio::select! {
                () = watchdog.tick() => watchdog::keep_alive(self.proxy.unresponsive_workers()),
                () = rejected_signatures.tick() => {
                    rejected_signatures.report();
                    failed_self_tests.report();
                }
                _ = thread_checks.tick(), if !self.draining => {
                    lost_thread = ended_thread(logging, &self.proxy, &self.watches);
                    if let Some(thread) = lost_thread {
                        self.health.thread_lost();
                        self.drain_without(thread);
                    }
                }
                Some(step) = self.reload.step() => {
                    if self.reload.proceed(step, &mut self.proxy, &mut self.watches) {
                        notify::ready();
                    }
                }
                more = self.proxy.thread_ended() => {
                    if !more {
                        self.proxy.wait()?;
                        return match lost_thread {
                            None => Ok(()),
                            Some(thread) => Err(anyhow!("thread `{thread}` exited unexpectedly")),
                        };
                    }
                    if !self.draining {
                        self.health.listener_lost();
                        self.drain_without("worker");
                    }
                }
                signal = signals.next() => self.handle(signal),
            }
        }
    }

    fn handle(&mut self, signal: Signal) {
        match signal {
            Signal::Reload if !self.draining => {
                notify::reloading();
                self.reload.begin(&self.proxy, &mut self.watches);
            }
            Signal::Reload => tracing::warn!("reload ignored during shutdown"),
            // A drain may already be in progress, because a thread has ended. The second signal of
            // an operator is `Stop`.
            Signal::Drain => {
                notify::stopping();
                notify::extend_timeout(self.proxy.config().drain);
                let connections = self.proxy.connections();
                tracing::info!(connections, "draining; no new connections are accepted");
                if !self.draining {
                    self.health.draining();
                    self.end_reloads();
                    self.proxy.drain();
                }
            }
            Signal::Stop => {
                tracing::info!(connections = self.proxy.connections(), "stopping immediately");
                self.proxy.stop();
                self.end_reloads();
            }
        }
    }

    /// Drains because a thread has ended that the process needs. The service manager starts the
    /// process again.
    fn drain_without(&mut self, thread: &str) {
        tracing::error!(thread, "thread exited unexpectedly; draining");
        self.end_reloads();
        self.proxy.drain();
    }

    fn end_reloads(&mut self) {
        self.draining = true;
        self.reload = Reload::default();
        stop_watches(&mut self.watches);
    }
}

/// The name of a thread, other than a worker, that has ended although it is needed.
fn ended_thread(
    logging: &logs::Logging,
    proxy: &Proxy,
    watches: &[FileWatch],
) -> Option<&'static str> {
    let has_lost_thread = |fleet: Fleet| fleet.has_lost_thread();
    [
        (logging.has_ended(), "log"),
        (watches.iter().any(FileWatch::has_ended), "certificates"),
        (proxy.fleet().is_some_and(has_lost_thread), "tercel-fleet"),
    ]
    .into_iter()
    .find_map(|(ended, name)| ended.then_some(name))
}

/// Interval of checks whether a thread has ended.
const THREAD_CHECK_INTERVAL: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::terminator::{
        Folder, client, connect, echo, echoed, start, wait_for_end, wait_until_closed,
    };

    /// A service manager may send SIGTERM when it sees in `/healthz` that a thread was lost.
    #[tokio::test]
    async fn first_signal_does_not_cut_a_drain_that_a_lost_thread_has_begun() {
        let folder = Folder::new(&["a.example"]);
        let (listener, to) = (folder.listener(), echo().await);
        let proxy = start(&format!("workers = 1\ndrain = 600\n{listener}to = \"{to}\""));
        let address = proxy.addresses()[0];
        let (health, watches) = (Health::new(), Vec::new());
        let mut supervisor =
            Supervisor { proxy, health, watches, reload: Reload::default(), draining: false };
        let mut stream = connect(&supervisor.proxy, "a.example", client()).await.unwrap();
        assert_eq!(echoed(&mut stream, b"before").await, b"before");
        supervisor.drain_without("certificates");
        supervisor.handle(Signal::Drain);
        wait_until_closed(address).await;
        assert_eq!(echoed(&mut stream, b"after").await, b"after");
        supervisor.handle(Signal::Stop);
        wait_for_end(supervisor.proxy).await;
    }
}

//! A running terminator: its worker threads and the configuration that they use.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use tercel_fleet::Fleet;
use tokio::sync::{mpsc, watch};

use super::startup::listen_error;
use super::watchdog::Heartbeats;
use crate::active_config::ActiveConfig;
use crate::certificates::Certificates;
use crate::config::{Config, ConfigError};
use crate::ech_keys::{EchChange, EchKeys};
use crate::listener::socket::{self, ListeningSocket};
use crate::observability::metrics::Metrics;
use crate::service::worker_thread::{Control, Phase, WorkerSetup, run_worker};
use crate::worker::connection_limits::ConnectionCounts;

/// A running terminator. Dropping this value stops the terminator.
pub struct Proxy {
    control: watch::Sender<Control>,
    config: Config,
    addresses: Vec<SocketAddr>,
    threads: Vec<JoinHandle<io::Result<()>>>,
    metrics: Arc<Metrics>,
    counts: Arc<ConnectionCounts>,
    heartbeats: Heartbeats,
    ended: mpsc::UnboundedReceiver<()>,
}

/// A notification that is sent when a worker thread exits, for any reason.
struct ExitNotice(mpsc::UnboundedSender<()>);

impl Drop for ExitNotice {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

/// A terminator that listens, but does not serve yet. The caller may drop privileges in this state.
pub struct BoundProxy {
    config: Config,
    active: Arc<ActiveConfig>,
    addresses: Vec<SocketAddr>,
    /// The listeners of each worker, in the order of the configuration.
    listeners: Vec<Vec<ListeningSocket>>,
}

/// A copy of the active configuration. The next configuration is prepared from this copy on another
/// thread, because loading blocks.
pub(crate) struct CurrentConfig {
    config: Config,
    active: Arc<ActiveConfig>,
}

/// A loaded configuration, ready to be activated.
pub(crate) struct PreparedConfig {
    config: Config,
    active: Arc<ActiveConfig>,
    /// Changed settings that only a restart can apply.
    restart_required: Vec<ConfigError>,
}

/// Checks that everything in `config` can be loaded, without opening a listener. Returns problems
/// that do not prevent service.
///
/// # Errors
///
/// The first failure.
pub fn check(config: &Config) -> Result<Vec<ConfigError>, ConfigError> {
    Ok(check_files(config)?.0)
}

/// As [`check`], and also what each file of certificates and keys contains, with the sections that
/// are skipped.
///
/// # Errors
///
/// The first failure.
pub fn check_files(config: &Config) -> Result<(Vec<ConfigError>, Vec<String>), ConfigError> {
    let active = ActiveConfig::new(config, None)?;
    Ok((active.warnings().to_vec(), active.contents()))
}

impl BoundProxy {
    /// Problems of the configuration that do not prevent service.
    pub(crate) fn warnings(&self) -> &[ConfigError] {
        self.active.warnings()
    }

    /// Loads the configuration and opens its listeners. An inherited socket with the address of a
    /// listener is used for that listener.
    ///
    /// # Errors
    ///
    /// A [`ConfigError`], or the error of opening a listener.
    pub fn new(config: Config, inherited: &[TcpListener]) -> Result<Self> {
        if !config.hash_lanes {
            tercel::crypto::use_hash_lanes(false);
        }
        for kernel in &config.disabled_kernels {
            tercel::crypto::use_kernel(*kernel, false);
        }
        let active = Arc::new(ActiveConfig::new(&config, None)?);
        let mut listeners: Vec<Vec<ListeningSocket>> = Vec::new();
        listeners.resize_with(config.workers.max(1), Vec::new);
        let mut addresses = Vec::new();
        for listener in &config.listeners {
            let inherited_socket =
                inherited.iter().find(|each| has_address(each, listener.address));
            let mut address = listener.address;
            for thread in &mut listeners {
                let bound = match inherited_socket {
                    Some(inherited) => socket::inherit(inherited),
                    None => socket::bind(address),
                };
                let error_for = |error: io::Error| {
                    anyhow!(listener.location.error("address", listen_error(address, &error)))
                };
                let bound = bound.map_err(error_for)?;
                address = bound.socket.local_addr()?;
                thread.push(bound);
            }
            addresses.push(address);
        }
        Ok(Self { config, active, addresses, listeners })
    }

    /// Starts the worker threads.
    ///
    /// # Errors
    ///
    /// If a thread cannot be started.
    pub fn start(self) -> Result<Proxy> {
        let Self { config, active, addresses, listeners } = self;
        active.activate();
        wait_for_ech_keys(&active);
        let metrics = Metrics::new(listeners.len());
        metrics.set_ticket_keys(active.ticket_key_since());
        metrics.set_fleet(active.fleet().cloned());
        let counts = ConnectionCounts::new(addresses.len());
        let (control, _) = watch::channel(Control { active, phase: Phase::Serving });
        let (exit_notice, ended) = mpsc::unbounded_channel();
        let threads = Vec::new();
        let heartbeats = Heartbeats::new();
        let mut proxy =
            Proxy { control, config, addresses, threads, metrics, counts, heartbeats, ended };
        for (number, listeners) in listeners.into_iter().enumerate() {
            let setup = WorkerSetup {
                listeners,
                control: proxy.control.subscribe(),
                shard: proxy.metrics.shard(number),
                counts: Arc::clone(&proxy.counts),
                heartbeat: proxy.heartbeats.register(),
            };
            let exit_notice = ExitNotice(exit_notice.clone());
            let run = move || {
                let _exit_notice = exit_notice;
                run_worker(setup)
            };
            let thread = std::thread::Builder::new().name(format!("worker {number}")).spawn(run);
            proxy.threads.push(thread.context("cannot start a worker thread")?);
        }
        Ok(proxy)
    }
}

impl Proxy {
    /// Loads the configuration, opens its listeners and serves.
    ///
    /// # Errors
    ///
    /// As [`BoundProxy::new`] and [`BoundProxy::start`].
    pub fn start(config: Config) -> Result<Self> {
        BoundProxy::new(config, &[])?.start()
    }

    /// The listening addresses, in the order of the configuration.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The metrics.
    #[must_use]
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    /// The number of open connections of the process, including those in their handshake.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.counts.open()
    }

    /// Activates another configuration for new connections. Open connections keep theirs.
    ///
    /// # Errors
    ///
    /// If the configuration cannot be loaded, or has other listener addresses. The previous
    /// configuration stays active then. Settings that need a restart (threads, user, admin address,
    /// log) keep their values, and a warning is logged for each setting that differs.
    pub fn reload(&mut self, config: Config) -> Result<(), ConfigError> {
        let prepared = self.current().prepare(config)?;
        self.activate(prepared);
        Ok(())
    }

    /// Problems of the active configuration that do not prevent service.
    pub(crate) fn warnings(&self) -> Vec<ConfigError> {
        self.control.borrow().active.warnings().to_vec()
    }

    /// A copy of the active configuration, for [`CurrentConfig::prepare`].
    pub(crate) fn current(&self) -> CurrentConfig {
        CurrentConfig {
            config: self.config.clone(),
            active: Arc::clone(&self.control.borrow().active),
        }
    }

    /// Activates a prepared configuration.
    pub(crate) fn activate(&mut self, prepared: PreparedConfig) {
        let PreparedConfig { config, active, restart_required } = prepared;
        for what in restart_required {
            tracing::warn!(%what, "changed setting requires a restart");
        }
        active.activate();
        let previous_fleet = self.fleet();
        let previous_fleet =
            previous_fleet.filter(|old| !active.fleet().is_some_and(|fleet| fleet.is_same(old)));
        self.metrics.set_ticket_keys(active.ticket_key_since());
        self.metrics.set_fleet(active.fleet().cloned());
        self.control.send_modify(|control| control.active = active);
        // Open connections may use the previous guard for long, but its clock settings must no
        // longer be required of the other nodes.
        if let Some(previous_fleet) = previous_fleet {
            previous_fleet.retire_guard();
        }
        self.config = config;
    }

    /// Pings all workers. Returns the workers that have not answered the previous ping.
    pub(crate) fn unresponsive_workers(&self) -> Vec<usize> {
        self.heartbeats.ping()
    }

    /// The fleet: state shared with other processes.
    #[must_use]
    pub fn fleet(&self) -> Option<Fleet> {
        self.control.borrow().active.fleet().cloned()
    }

    /// The certificates of all routes.
    #[must_use]
    pub fn certificates(&self) -> Vec<Arc<Certificates>> {
        let active = &self.control.borrow().active;
        active.certificates.iter().map(|(_, certificates)| Arc::clone(certificates)).collect()
    }

    /// The files of keys for Encrypted ClientHello.
    pub(crate) fn ech_files(&self) -> Option<Arc<EchKeys>> {
        self.control.borrow().active.ech_files().cloned()
    }

    /// Reads the files of keys for Encrypted ClientHello again. [`run`](crate::run) does this when
    /// their files change.
    ///
    /// # Errors
    ///
    /// The reason, in one line, why they cannot be used. The previous keys stay in use. A reason
    /// that was returned before is not returned again.
    pub fn reload_ech_keys(&self) -> Result<(), String> {
        match self.ech_files().and_then(|keys| keys.reload()) {
            Some(EchChange::Rejected(problem)) => Err(problem.to_string()),
            Some(EchChange::Replaced(..)) | None => Ok(()),
        }
    }

    /// Stops accepting. The proxy ends when all connections are closed, at the latest after the
    /// drain timeout.
    pub fn drain(&self) {
        let until = Instant::now().checked_add(self.config.drain);
        let until = until.unwrap_or_else(Instant::now);
        self.control.send_modify(|control| control.phase = Phase::Draining(until));
    }

    /// Stops at once.
    pub fn stop(&self) {
        self.control.send_modify(|control| control.phase = Phase::Stopped);
    }

    /// Waits until a worker thread has exited, which is a failure (returned by [`Self::wait`])
    /// unless the proxy was draining or stopped. Returns `false` once all have exited.
    pub async fn thread_ended(&mut self) -> bool {
        self.ended.recv().await.is_some()
    }

    /// Waits until all worker threads have exited.
    ///
    /// # Errors
    ///
    /// If one of them failed.
    pub fn wait(mut self) -> Result<()> {
        for thread in std::mem::take(&mut self.threads) {
            match thread.join() {
                Ok(ended) => ended.context("worker thread failed")?,
                Err(_) => return Err(anyhow!("worker thread panicked")),
            }
        }
        Ok(())
    }

    /// The active configuration.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }
}

impl CurrentConfig {
    /// Loads another configuration. Blocks on files and on name resolution.
    pub(crate) fn prepare(&self, mut config: Config) -> Result<PreparedConfig, ConfigError> {
        let same =
            |ours: &Config| ours.listeners.iter().map(|each| each.address).collect::<Vec<_>>();
        if same(&config) != same(&self.config) {
            let reason = "addresses cannot be changed by a reload";
            return Err(config.location.error("listener", reason));
        }
        let restart_required = config.keep_restart_only_settings(&self.config);
        let active = Arc::new(ActiveConfig::new(&config, Some(&self.active))?);
        Ok(PreparedConfig { config, active, restart_required })
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.stop();
        for thread in std::mem::take(&mut self.threads) {
            let _ = thread.join();
        }
    }
}

/// Waits for shared keys for Encrypted ClientHello, because clients that are accepted without keys
/// connect again without Encrypted ClientHello. Clients wait in the accept queue meanwhile. A
/// reload needs no such wait: it keeps the keys in use until the shared ones are known.
fn wait_for_ech_keys(active: &ActiveConfig) {
    let Some(fleet) = active.fleet().filter(|fleet| fleet.ech_keys().is_some()) else { return };
    let began = Instant::now();
    while !fleet.state().ech_keys && began.elapsed() < ECH_KEYS_AT_START {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// How long a start waits for shared keys for Encrypted ClientHello.
const ECH_KEYS_AT_START: Duration = Duration::from_secs(2);

fn has_address(listener: &TcpListener, address: SocketAddr) -> bool {
    listener.local_addr().is_ok_and(|own| own == address)
}

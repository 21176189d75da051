//! The process: threads that serve, and what they are told.
//!
//! Must not know: connections. Next: [`crate::worker`].

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use tercel_fleet::Fleet;
use tokio::sync::{mpsc, watch};

use crate::certificates::Certificates;
use crate::config::{Config, Fault};
use crate::limits::Counts;
use crate::listener;
use crate::live::Live;
use crate::metrics::Metrics;
use crate::pulse::Pulse;
use crate::worker::{Orders, Phase, Work, work};

/// A terminator whose threads are running. Dropping it ends them at once.
pub struct Proxy {
    orders: watch::Sender<Orders>,
    config: Config,
    addresses: Vec<SocketAddr>,
    threads: Vec<JoinHandle<io::Result<()>>>,
    metrics: Arc<Metrics>,
    counts: Arc<Counts>,
    pulse: Pulse,
    ended: mpsc::UnboundedReceiver<()>,
}

/// Says that a thread has ended, however that came about.
struct Ending(mpsc::UnboundedSender<()>);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

/// A terminator that listens and does not serve yet: the moment to give up privileges.
pub struct Bound {
    config: Config,
    live: Arc<Live>,
    addresses: Vec<SocketAddr>,
    /// By thread, then by listener.
    listeners: Vec<Vec<TcpListener>>,
}

/// What is served by now, which another configuration is held against: on any thread, since that takes its time.
pub(crate) struct Current {
    config: Config,
    live: Arc<Live>,
}

/// Another configuration with everything that it names.
pub(crate) struct Prepared {
    config: Config,
    live: Arc<Live>,
    /// What of it has to wait for a start.
    waits: Vec<Fault>,
}

/// Whether everything that `config` names is as it says. Nothing is opened.
///
/// # Errors
/// The first thing that is not.
pub fn check(config: &Config) -> Result<(), Fault> {
    Live::new(config, None).map(|_| ())
}

impl Bound {
    /// Loads what `config` names, and then listens. A listener whose address one of `inherited` has is that one.
    ///
    /// # Errors
    /// A [`Fault`], or what the system says about an address.
    pub fn new(config: Config, inherited: &[TcpListener]) -> Result<Self> {
        if !config.hash_lanes {
            tercel::crypto::use_hash_lanes(false);
        }
        let live = Arc::new(Live::new(&config, None)?);
        let mut listeners: Vec<Vec<TcpListener>> = Vec::new();
        listeners.resize_with(config.workers.max(1), Vec::new);
        let mut addresses = Vec::new();
        for listener in &config.listeners {
            let taken = inherited.iter().find(|each| is_at(each, listener.address));
            let mut address = listener.address;
            for thread in &mut listeners {
                let bound = match taken {
                    Some(inherited) => listener::prepare(inherited),
                    None => listener::bind(address),
                };
                let fault = |error: io::Error| {
                    anyhow!(listener.place.fault("address", format!("{address}: {error}")))
                };
                let bound = bound.map_err(fault)?;
                address = bound.local_addr()?;
                thread.push(bound);
            }
            addresses.push(address);
        }
        Ok(Self { config, live, addresses, listeners })
    }

    /// Starts the threads.
    ///
    /// # Errors
    /// If the system has none to give.
    pub fn start(self) -> Result<Proxy> {
        let Self { config, live, addresses, listeners } = self;
        live.begin();
        let metrics = Metrics::new(listeners.len());
        metrics.set_ticket_keys(live.ticket_key_since());
        let counts = Counts::new(addresses.len());
        let (orders, _) = watch::channel(Orders { live, phase: Phase::Serving });
        let (ending, ended) = mpsc::unbounded_channel();
        let threads = Vec::new();
        let pulse = Pulse::new();
        let mut proxy = Proxy { orders, config, addresses, threads, metrics, counts, pulse, ended };
        for (number, listeners) in listeners.into_iter().enumerate() {
            let given = Work {
                listeners,
                orders: proxy.orders.subscribe(),
                shard: proxy.metrics.shard(number),
                counts: Arc::clone(&proxy.counts),
                beat: proxy.pulse.beat(),
            };
            let ending = Ending(ending.clone());
            let run = move || {
                let _ending = ending;
                work(given)
            };
            let thread = std::thread::Builder::new().name(format!("worker {number}")).spawn(run);
            proxy.threads.push(thread.context("no thread can be started")?);
        }
        Ok(proxy)
    }
}

impl Proxy {
    /// Loads what `config` names, listens and serves.
    ///
    /// # Errors
    /// As [`Bound::new`] and [`Bound::start`].
    pub fn start(config: Config) -> Result<Self> {
        Bound::new(config, &[])?.start()
    }

    /// Where it listens, in the order of the configuration.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// What is counted.
    #[must_use]
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    /// Connections in the whole process, those under way to a handshake included.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.counts.open()
    }

    /// Serves by another configuration from now on. Connections that are there keep theirs.
    ///
    /// # Errors
    /// What is wrong with it; then the one before stays. Listeners cannot change. What else only a start can change
    /// (threads, the user, the operators' address, what is logged) stays too, and a line is logged for each such key.
    pub fn reload(&mut self, config: Config) -> Result<(), Fault> {
        let prepared = self.current().prepare(config)?;
        self.adopt(prepared);
        Ok(())
    }

    /// For [`Current::prepare`].
    pub(crate) fn current(&self) -> Current {
        Current { config: self.config.clone(), live: Arc::clone(&self.orders.borrow().live) }
    }

    /// Serves by this from now on.
    pub(crate) fn adopt(&mut self, prepared: Prepared) {
        let Prepared { config, live, waits } = prepared;
        for what in waits {
            tracing::warn!(%what, "a change waits for a restart");
        }
        live.begin();
        let followed = self.fleet();
        let followed = followed.filter(|old| !live.fleet().is_some_and(|fleet| fleet.is_same(old)));
        self.metrics.set_ticket_keys(live.ticket_key_since());
        self.orders.send_modify(|orders| orders.live = live);
        // Connections may keep it for long, and others are not to be held to its settings for as long.
        if let Some(followed) = followed {
            followed.retire_guard();
        }
        self.config = config;
    }

    /// Asks all threads for an answer; the numbers of those that have not answered the time before.
    pub(crate) fn silent_threads(&self) -> Vec<usize> {
        self.pulse.ask()
    }

    /// What is shared with other processes, if anything is.
    #[must_use]
    pub fn fleet(&self) -> Option<Fleet> {
        self.orders.borrow().live.fleet().cloned()
    }

    /// The certificates of all routes, to be watched or read again.
    #[must_use]
    pub fn certificates(&self) -> Vec<Arc<Certificates>> {
        let live = &self.orders.borrow().live;
        live.certificates.iter().map(|(_, certificates)| Arc::clone(certificates)).collect()
    }

    /// Accepts no more; ends when the connections have, at the latest after the time that the configuration gives.
    pub fn drain(&self) {
        let until = Instant::now().checked_add(self.config.drain);
        let until = until.unwrap_or_else(Instant::now);
        self.orders.send_modify(|orders| orders.phase = Phase::Draining(until));
    }

    /// Ends at once.
    pub fn stop(&self) {
        self.orders.send_modify(|orders| orders.phase = Phase::Stopped);
    }

    /// Waits until a thread has ended. Unless it was told to, that is a failure which [`Self::wait`] names.
    /// `false`: all have.
    pub async fn thread_ended(&mut self) -> bool {
        self.ended.recv().await.is_some()
    }

    /// Waits until all threads have ended.
    ///
    /// # Errors
    /// If one of them failed.
    pub fn wait(mut self) -> Result<()> {
        for thread in std::mem::take(&mut self.threads) {
            match thread.join() {
                Ok(ended) => ended.context("a thread has failed")?,
                Err(_) => return Err(anyhow!("a thread has panicked")),
            }
        }
        Ok(())
    }

    /// What it serves by.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }
}

impl Current {
    /// Loads what `config` names. That reads files and asks for names, and lasts as long as they do.
    pub(crate) fn prepare(&self, mut config: Config) -> Result<Prepared, Fault> {
        let same =
            |ours: &Config| ours.listeners.iter().map(|each| each.address).collect::<Vec<_>>();
        if same(&config) != same(&self.config) {
            let reason = "addresses cannot change while the process runs";
            return Err(config.place.fault("listener", reason));
        }
        let waits = config.keep_until_restart(&self.config);
        let live = Arc::new(Live::new(&config, Some(&self.live))?);
        Ok(Prepared { config, live, waits })
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

fn is_at(listener: &TcpListener, address: SocketAddr) -> bool {
    listener.local_addr().is_ok_and(|own| own == address)
}

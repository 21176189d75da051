//! The terminator as a program: signals, files that change, the operators' address.
//!
//! Must not know: connections. Next: [`crate::run`], which it drives; [`crate::system`].

mod reload;

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};

use crate::admin::{self, Health};
use crate::certificates::Certificates;
use crate::certificates::watch::Watch;
use crate::config::Config;
use crate::logs;
use crate::metrics::Metrics;
use crate::metrics::labels;
use crate::run::{Bound, Proxy};
use crate::system::signals::{Signal, Signals};
use crate::system::{limits, notify, privileges, sockets};
use reload::Reload;

/// Serves by `config` until a signal ends it: SIGTERM or SIGINT when the connections have ended, a second one
/// at once. SIGHUP has the configuration's file and the certificates read again.
///
/// To be called before the process has other threads.
///
/// # Errors
/// What keeps it from serving, in one line.
pub fn run(config: Config) -> Result<()> {
    let format = if config.log.json { logs::Format::Json } else { logs::Format::Text };
    let level = logs::level(&config.log.level).map_err(|reason| anyhow!(reason))?;
    logs::start(format, level).context("nothing can be logged")?;
    // Before there are threads: each has this of its own, from the one that started it.
    privileges::forbid_new_privileges().context("privileges")?;
    let inherited = sockets::inherited_listeners()?;
    let inherited: Vec<_> = inherited.into_iter().map(|each| each.listener).collect();
    raise_file_limit(&config);
    warn(&config);
    let (user, group) = (config.user.clone(), config.group.clone());
    let admin = match config.admin {
        None => None,
        Some(address) => Some(bind_admin(&config, address, &inherited)?),
    };
    let bound = Bound::new(config, &inherited)?;
    // The threads have what they need of them.
    drop(inherited);
    if let Some(user) = user {
        privileges::drop_privileges(&user, group.as_deref()).context("privileges")?;
    }
    if privileges::is_root() {
        tracing::warn!("this process goes on as root: say whose rights are enough (`user`)");
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ended = runtime.block_on(operate(bound, admin));
    // A reload may be under way that nobody waits for any more.
    runtime.shutdown_background();
    ended
}

fn warn(config: &Config) {
    for warning in config.warnings() {
        tracing::warn!(%warning, "the configuration could be better");
    }
}

fn raise_file_limit(config: &Config) {
    match limits::raise_file_limit() {
        // A client and its backend.
        Ok(limit)
            if limit.soft / 2 < u64::try_from(config.limits.connections).unwrap_or(u64::MAX) =>
        {
            let (files, connections) = (limit.soft, config.limits.connections);
            tracing::warn!(
                files,
                connections,
                "fewer files may be open than connections would need"
            );
        }
        Ok(_) => {}
        Err(error) => tracing::warn!(%error, "the limit of open files cannot be raised"),
    }
}

fn bind_admin(
    config: &Config,
    address: std::net::SocketAddr,
    inherited: &[TcpListener],
) -> Result<TcpListener> {
    let known = inherited.iter().find(|each| each.local_addr().is_ok_and(|own| own == address));
    let bound = match known {
        Some(known) => known.try_clone(),
        None => TcpListener::bind(address),
    };
    let bound = bound.and_then(|bound| bound.set_nonblocking(true).map(|()| bound));
    bound.map_err(|error| {
        anyhow!(config.place.fault("admin.address", format!("{address}: {error}")))
    })
}

async fn operate(bound: Bound, admin: Option<TcpListener>) -> Result<()> {
    let mut signals = Signals::new().context("signals")?;
    let mut proxy = bound.start()?;
    let health = Health::new();
    if let Some(listener) = admin {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let (metrics, health) = (Arc::clone(proxy.metrics()), Arc::clone(&health));
        tokio::spawn(admin::serve(listener, metrics, health));
    }
    let mut watches = watch(proxy.metrics(), &proxy.certificates());
    let threads = proxy.config().workers;
    health.serving(proxy.addresses().len().saturating_mul(threads));
    tracing::info!(hash_lanes = ?tercel::crypto::hash_lanes(), "started");
    for address in proxy.addresses() {
        tracing::info!(listener = %address, threads, "listening");
    }
    notify::ready();
    let mut watchdog = Watchdog::new();
    let mut reload = Reload::default();
    let mut draining = false;
    loop {
        tokio::select! {
            () = watchdog.tick() => vouch(&proxy),
            Some(step) = reload.step() => {
                if reload.proceed(step, &mut proxy, &mut watches) {
                    notify::ready();
                }
            }
            more = proxy.thread_ended() => {
                if !more {
                    return proxy.wait();
                }
                if !draining {
                    // The service manager starts it anew, and whole.
                    tracing::error!("a thread has ended that was not told to");
                    health.listener_lost();
                    draining = true;
                    reload = Reload::default();
                    end(&mut watches);
                    proxy.drain();
                }
            }
            signal = signals.next() => match signal {
                Signal::Reload if !draining => {
                    notify::reloading();
                    reload.begin(&proxy, &mut watches);
                }
                Signal::Reload => tracing::warn!("nothing is read again while the process ends"),
                Signal::Drain if !draining => {
                    draining = true;
                    reload = Reload::default();
                    end(&mut watches);
                    health.draining();
                    notify::stopping();
                    notify::extend_timeout(proxy.config().drain);
                    let connections = proxy.connections();
                    tracing::info!(connections, "no new connections; ending when these have");
                    proxy.drain();
                }
                Signal::Drain | Signal::Stop => {
                    tracing::info!(connections = proxy.connections(), "ending at once");
                    proxy.stop();
                    reload = Reload::default();
                    end(&mut watches);
                    draining = true;
                }
            }
        }
    }
}

/// Tells the service manager that all is well, where it wants to know and all threads say so.
struct Watchdog(Option<tokio::time::Interval>);

impl Watchdog {
    fn new() -> Self {
        // Who is asked twice in that time may miss one question.
        let wanted = notify::watchdog_interval().and_then(|interval| interval.checked_div(2));
        Self(wanted.map(|interval| {
            let mut ticks = tokio::time::interval(interval);
            ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            ticks
        }))
    }

    async fn tick(&mut self) {
        match &mut self.0 {
            Some(ticks) => _ = ticks.tick().await,
            None => std::future::pending().await,
        }
    }
}

fn vouch(proxy: &Proxy) {
    let silent = proxy.silent_threads();
    if silent.is_empty() {
        return notify::alive();
    }
    for worker in silent {
        tracing::error!(
            worker,
            "a thread does not answer: the watchdog is not told that all is well"
        );
    }
}

/// How often certificates' files are looked at.
const LOOK: Duration = Duration::from_secs(5);

/// Looks at files, and so may take its time.
fn watch(metrics: &Arc<Metrics>, all: &[Arc<Certificates>]) -> Vec<Watch> {
    publish(metrics, all);
    let mut watches = Vec::new();
    for certificates in all {
        let (metrics, others) = (Arc::clone(metrics), all.to_vec());
        let changed = move |changes: &crate::certificates::Changes| {
            changes.log();
            metrics.reloaded(labels::Reload::Certificates, changes.problems.is_empty());
            publish(&metrics, &others);
        };
        match Watch::start(Arc::clone(certificates), LOOK, changed) {
            Ok(watch) => watches.push(watch),
            Err(error) => tracing::error!(%error, "certificates are not watched"),
        }
    }
    watches
}

/// Ends them, without waiting for a look that is under way.
fn end(watches: &mut Vec<Watch>) {
    let ended = std::mem::take(watches);
    tokio::task::spawn_blocking(move || drop(ended));
}

fn publish(metrics: &Metrics, certificates: &[Arc<Certificates>]) {
    metrics.set_certificates(certificates.iter().flat_map(|each| each.expiries()).collect());
}

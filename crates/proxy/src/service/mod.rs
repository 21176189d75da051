//! The process: startup, signals, reload, drain and watchdog.

mod certificate_watch;
pub(crate) mod proxy;
mod rejected_signatures;
mod reload;
mod startup;
pub(crate) mod watchdog;
pub(crate) mod worker_thread;

use std::net::TcpListener;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use tercel::crypto::hash_lanes;
use tercel::fips::fips_module;

use crate::config::Config;
use crate::observability::admin::{self, Health};
use crate::observability::logs;
use crate::system::signals::{Signal, Signals};
use crate::system::{notify, privileges, socket_activation};
use certificate_watch::{stop_watches, watch};
use proxy::BoundProxy;
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
    let format = if config.log.json { logs::Format::Json } else { logs::Format::Text };
    let level = logs::level(&config.log.level).map_err(|reason| anyhow!(reason))?;
    logs::start(format, level).context("cannot initialize logging")?;
    // This is set before any thread starts, because a thread inherits the setting from the thread
    // that starts it.
    privileges::forbid_new_privileges().context("cannot set no_new_privs")?;
    let inherited = socket_activation::inherited_listeners()?;
    let inherited: Vec<_> = inherited.into_iter().map(|each| each.listener).collect();
    raise_file_limit(&config);
    log_warnings(&config);
    let (user, group) = (config.user.clone(), config.group.clone());
    let admin = match config.admin {
        None => None,
        Some(address) => Some(bind_admin(&config, address, &inherited)?),
    };
    let bound = BoundProxy::new(config, &inherited)?;
    // The workers have duplicated the sockets.
    drop(inherited);
    if let Some(user) = user {
        privileges::drop_privileges(&user, group.as_deref()).context("cannot drop privileges")?;
    }
    if privileges::is_root() {
        tracing::warn!("running as root; set `user` to drop privileges");
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ended = runtime.block_on(supervise(bound, admin));
    // A reload may still be running; its result is not needed.
    runtime.shutdown_background();
    ended
}

/// Runs the process: handles signals, reloads, the watchdog and exits of workers.
async fn supervise(bound: BoundProxy, admin: Option<TcpListener>) -> Result<()> {
    let mut signals = Signals::new().context("cannot install signal handlers")?;
    let mut proxy = bound.start()?;
    let health = Health::new();
    if let Some(listener) = admin {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let (metrics, health) = (Arc::clone(proxy.metrics()), Arc::clone(&health));
        tokio::spawn(admin::serve(listener, metrics, health));
    }
    let mut watches = watch(proxy.metrics(), &proxy.certificates(), proxy.ech_files().as_ref());
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
    let mut watchdog = Watchdog::new();
    let mut rejected_signatures = RejectedSignatures::new();
    let mut reload = Reload::default();
    let mut draining = false;
    loop {
        tokio::select! {
            () = watchdog.tick() => watchdog::keep_alive(proxy.unresponsive_workers()),
            () = rejected_signatures.tick() => rejected_signatures.report(),
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
                    // The service manager restarts the whole process.
                    tracing::error!("worker thread exited unexpectedly; draining");
                    health.listener_lost();
                    draining = true;
                    reload = Reload::default();
                    stop_watches(&mut watches);
                    proxy.drain();
                }
            }
            signal = signals.next() => match signal {
                Signal::Reload if !draining => {
                    notify::reloading();
                    reload.begin(&proxy, &mut watches);
                }
                Signal::Reload => tracing::warn!("reload ignored during shutdown"),
                Signal::Drain if !draining => {
                    draining = true;
                    reload = Reload::default();
                    stop_watches(&mut watches);
                    health.draining();
                    notify::stopping();
                    notify::extend_timeout(proxy.config().drain);
                    let connections = proxy.connections();
                    tracing::info!(connections, "draining; no new connections are accepted");
                    proxy.drain();
                }
                Signal::Drain | Signal::Stop => {
                    tracing::info!(connections = proxy.connections(), "stopping immediately");
                    proxy.stop();
                    reload = Reload::default();
                    stop_watches(&mut watches);
                    draining = true;
                }
            }
        }
    }
}

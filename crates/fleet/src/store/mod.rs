//! The store: Redis or Valkey, behind connections that handshakes share.
//!
//! A handshake waits for a reply for a limited time. After a request has failed or timed out, the
//! store counts as unavailable for all handshakes, which then fail at once instead of each waiting
//! again; [`crate::node::store_task`] reconnects. A store that was only slow is still the same
//! store: its connections are used again once it replies in time. The thread of the node drives all
//! connections, so the connections do not depend on the runtime that a request comes from.

pub(crate) mod client;
pub(crate) mod epoch;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};

use self::client::{
    Cmd, FromRedisValue, MultiplexedConnection, Pipeline, RedisError, cmd, code, codes,
    makes_store_unusable, reason,
};
use self::epoch::Epoch;
use crate::counters::Counters;
use crate::error::FleetError;

/// The store, and the connections to it, if there are any.
pub(crate) struct Store {
    connections: ArcSwapOption<Connections>,
    /// Time limit of requests from handshakes.
    time_limit: Duration,
    /// Time limit of requests from the background thread. A store that does not reply within this
    /// time counts as lost.
    connect_time_limit: Duration,
    pub(crate) counters: Arc<Counters>,
}

/// The origin of a request, which determines its time limit.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Caller {
    Handshake,
    Background,
}

/// A group of connections to one store, opened and closed together.
pub(crate) struct Connections {
    connections: Vec<MultiplexedConnection>,
    next_index: AtomicUsize,
    /// The reason why the store cannot be used, as reported by it: waiting would not help.
    unusable: OnceLock<String>,
    /// The epoch that the replay guard saw over these connections; it is dropped with them.
    pub(crate) observed_epoch: ArcSwapOption<Epoch>,
    /// Notified when a request failed or a connection closed.
    pub(crate) lost: Arc<Notify>,
}

impl Connections {
    pub(crate) fn new(connections: Vec<MultiplexedConnection>, lost: Arc<Notify>) -> Self {
        let observed_epoch = ArcSwapOption::empty();
        Self {
            connections,
            next_index: AtomicUsize::new(0),
            unusable: OnceLock::new(),
            observed_epoch,
            lost,
        }
    }

    /// The reason why the store cannot be used, if it reported one.
    pub(crate) fn unusable(&self) -> Option<&str> {
        self.unusable.get().map(String::as_str)
    }

    /// The next connection in turn, so that requests are distributed over the connections.
    fn next(&self) -> Option<MultiplexedConnection> {
        let next_index = self.next_index.fetch_add(1, Ordering::Relaxed);
        self.connections.get(next_index.checked_rem(self.connections.len())?).cloned()
    }

    /// The longest reply time of all connections; `None` if a connection is broken.
    async fn slowest(&self) -> Option<Duration> {
        let mut slowest = Duration::ZERO;
        for connection in &self.connections {
            let began = Instant::now();
            let mut connection = connection.clone();
            cmd("PING").query_async::<String>(&mut connection).await.ok()?;
            slowest = slowest.max(began.elapsed());
        }
        Some(slowest)
    }
}

impl Store {
    pub(crate) fn new(
        time_limit: Duration,
        connect_time_limit: Duration,
        counters: Arc<Counters>,
    ) -> Self {
        Self { connections: ArcSwapOption::empty(), time_limit, connect_time_limit, counters }
    }

    /// How long the store may be silent before it counts as lost.
    pub(crate) fn connect_time_limit(&self) -> Duration {
        self.connect_time_limit
    }

    pub(crate) fn set_connections(&self, connections: Option<Arc<Connections>>) {
        self.connections.store(connections);
    }

    pub(crate) fn is_connected(&self) -> bool {
        self.connections.load().is_some()
    }

    pub(crate) fn current(&self) -> Option<Arc<Connections>> {
        self.connections.load_full()
    }

    /// The current connections, for requests that must go to the same store.
    pub(crate) fn connections(&self) -> Result<Arc<Connections>, FleetError> {
        self.current().ok_or_else(|| {
            self.counters.unavailable.add();
            FleetError::StoreUnavailable
        })
    }

    /// Waits until the store replies in time again over these connections. Returns `false` if it
    /// does not.
    pub(crate) async fn recovers(&self, connections: &Connections) -> bool {
        let until_in_time = async {
            loop {
                match connections.slowest().await {
                    _ if connections.unusable.get().is_some() => return false,
                    None => return false,
                    Some(slowest) if slowest <= self.time_limit => return true,
                    Some(_) => sleep(self.time_limit).await,
                }
            }
        };
        timeout(self.connect_time_limit, until_in_time).await.unwrap_or(false)
    }

    /// Sends one command and returns its reply.
    pub(crate) async fn run_command<T: FromRedisValue>(
        &self,
        caller: Caller,
        command: Cmd,
    ) -> Result<T, FleetError> {
        let connections = self.connections()?;
        let Some(mut connection) = connections.next() else {
            return Err(FleetError::StoreUnavailable);
        };
        let reply = timeout(self.time_limit_of(caller), command.query_async(&mut connection)).await;
        self.check_reply(&connections, reply.ok())
    }

    /// Sends several commands over these connections and returns their replies.
    pub(crate) async fn run_pipeline<T: FromRedisValue>(
        &self,
        caller: Caller,
        connections: &Arc<Connections>,
        commands: Pipeline,
    ) -> Result<T, FleetError> {
        let Some(mut connection) = connections.next() else {
            return Err(FleetError::StoreUnavailable);
        };
        let reply =
            timeout(self.time_limit_of(caller), commands.query_async(&mut connection)).await;
        self.check_reply(connections, reply.ok())
    }

    fn time_limit_of(&self, caller: Caller) -> Duration {
        match caller {
            Caller::Handshake => self.time_limit,
            Caller::Background => self.connect_time_limit,
        }
    }

    fn check_reply<T>(
        &self,
        connections: &Arc<Connections>,
        reply: Option<Result<T, RedisError>>,
    ) -> Result<T, FleetError> {
        match reply {
            Some(Ok(reply)) => Ok(reply),
            Some(Err(error)) if !makes_store_unusable(&error) => {
                self.counters.errors.add();
                Err(FleetError::Store(code(&error)))
            }
            failed => {
                if let Some(Err(error)) = failed {
                    // The first of several errors is kept.
                    let _ = connections.unusable.set(reason(&error));
                }
                self.mark_lost(connections);
                Err(FleetError::StoreUnavailable)
            }
        }
    }

    /// Marks the store unavailable, unless new connections have been set meanwhile.
    fn mark_lost(&self, connections: &Arc<Connections>) {
        self.counters.failures.add();
        self.connections.compare_and_swap(connections, None);
        connections.lost.notify_one();
    }
}

/// Checks that the store accepts writes. Replicas, cluster members and Sentinels reply to `PING`
/// as well. Nothing is written.
///
/// # Errors
/// The reason, for the log.
pub(crate) async fn probe(connection: &mut MultiplexedConnection, key: &str) -> Result<(), String> {
    let mut set = cmd("SET");
    set.arg(key).arg("").arg("XX");
    match set.query_async::<Option<String>>(connection).await {
        Ok(_) => Ok(()),
        // Each request handles temporary errors by itself, such as a lack of memory.
        Err(error)
            if codes(&error).iter().any(|code| TEMPORARY_ERRORS.contains(&code.as_str())) =>
        {
            Ok(())
        }
        Err(error) if code(&error) == "ERR" => Err(format!("ERR: {SET_UNKNOWN}")),
        Err(error) => Err(reason(&error)),
    }
}

const SET_UNKNOWN: &str = "does not know the command SET; is it a Sentinel?";

const TEMPORARY_ERRORS: [&str; 3] = ["OOM", "NOREPLICAS", "MISCONF"];

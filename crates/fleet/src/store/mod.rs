//! The store as handshakes see it: there, with an answer within the time limit, or away, which is an answer at once.
//!
//! A question that fails or takes too long makes the store count as away for everybody; [`crate::keeper`] finds it
//! again. So it is waited for once, and not by each handshake anew. A store that was only late is still the same one: its
//! connections are used again once it answers in time. All of them are driven by the keeper's thread: whoever
//! asks, on whatever runtime, hands its question over and waits for the answer there.
//! Must not know: what is asked. Next: `dial.rs`, how a connection is made.

pub(crate) mod dial;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use redis::aio::MultiplexedConnection;
use redis::{Cmd, ErrorKind, FromRedisValue, Pipeline, RedisError};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};

use crate::counts::Counters;
use crate::early_data::Standing;
use crate::error::FleetError;

/// The store, wherever it is now.
pub(crate) struct Store {
    lines: ArcSwapOption<Lines>,
    /// For an answer that a handshake waits for.
    limit: Duration,
    /// For one that nobody waits for.
    patience: Duration,
    counters: Arc<Counters>,
}

/// Who waits for an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Waits {
    Handshake,
    Nobody,
}

/// Connections to one store, which come and go together.
pub(crate) struct Lines {
    connections: Vec<MultiplexedConnection>,
    turn: AtomicUsize,
    /// Why the store said that it cannot be of use: waiting for its answers would not help.
    useless: OnceLock<String>,
    /// What early data is admitted by; it ends with the connections.
    pub(crate) standing: ArcSwapOption<Standing>,
    /// Somebody found that the store is away, or a connection ended.
    pub(crate) lost: Arc<Notify>,
}

impl Lines {
    pub(crate) fn new(connections: Vec<MultiplexedConnection>, lost: Arc<Notify>) -> Self {
        let standing = ArcSwapOption::empty();
        Self { connections, turn: AtomicUsize::new(0), useless: OnceLock::new(), standing, lost }
    }

    /// Why the store is of no use, if it has said so.
    pub(crate) fn useless(&self) -> Option<&str> {
        self.useless.get().map(String::as_str)
    }

    /// One after the other. Only the spread matters, not the order.
    fn next(&self) -> Option<MultiplexedConnection> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        self.connections.get(turn.checked_rem(self.connections.len())?).cloned()
    }

    /// How long the slowest of them takes to answer; `None` if one is broken.
    async fn slowest(&self) -> Option<Duration> {
        let mut slowest = Duration::ZERO;
        for connection in &self.connections {
            let began = Instant::now();
            let mut connection = connection.clone();
            redis::cmd("PING").query_async::<String>(&mut connection).await.ok()?;
            slowest = slowest.max(began.elapsed());
        }
        Some(slowest)
    }
}

impl Store {
    pub(crate) fn new(limit: Duration, patience: Duration, counters: Arc<Counters>) -> Self {
        Self { lines: ArcSwapOption::empty(), limit, patience, counters }
    }

    /// How late the store may be and still be the same one.
    pub(crate) fn patience(&self) -> Duration {
        self.patience
    }

    pub(crate) fn set(&self, lines: Option<Arc<Lines>>) {
        self.lines.store(lines);
    }

    pub(crate) fn is_there(&self) -> bool {
        self.lines.load().is_some()
    }

    pub(crate) fn current(&self) -> Option<Arc<Lines>> {
        self.lines.load_full()
    }

    /// The connections, for who must know that two questions went to the same store.
    pub(crate) fn lines(&self) -> Result<Arc<Lines>, FleetError> {
        self.current().ok_or_else(|| {
            self.counters.away.add();
            FleetError::Away
        })
    }

    /// Whether these connections answer in time again, so that they are of use again.
    pub(crate) async fn is_back(&self, lines: &Lines) -> bool {
        let again = async {
            loop {
                match lines.slowest().await {
                    _ if lines.useless.get().is_some() => return false,
                    None => return false,
                    Some(slowest) if slowest <= self.limit => return true,
                    Some(_) => sleep(self.limit).await,
                }
            }
        };
        timeout(self.patience, again).await.unwrap_or(false)
    }

    /// The answer to one command.
    pub(crate) async fn ask<T: FromRedisValue>(
        &self,
        who: Waits,
        command: Cmd,
    ) -> Result<T, FleetError> {
        let lines = self.lines()?;
        let Some(mut connection) = lines.next() else { return Err(FleetError::Away) };
        let asked = timeout(self.limit_of(who), command.query_async(&mut connection)).await;
        self.judge(&lines, asked.ok())
    }

    /// The answers to several commands over these connections.
    pub(crate) async fn ask_all<T: FromRedisValue>(
        &self,
        who: Waits,
        lines: &Arc<Lines>,
        commands: Pipeline,
    ) -> Result<T, FleetError> {
        let Some(mut connection) = lines.next() else { return Err(FleetError::Away) };
        let asked = timeout(self.limit_of(who), commands.query_async(&mut connection)).await;
        self.judge(lines, asked.ok())
    }

    fn limit_of(&self, who: Waits) -> Duration {
        match who {
            Waits::Handshake => self.limit,
            Waits::Nobody => self.patience,
        }
    }

    fn judge<T>(
        &self,
        lines: &Arc<Lines>,
        answer: Option<Result<T, RedisError>>,
    ) -> Result<T, FleetError> {
        match answer {
            Some(Ok(answer)) => Ok(answer),
            Some(Err(error)) if !is_away(&error) => {
                self.counters.errors.add();
                Err(FleetError::Store(code(&error)))
            }
            unanswered => {
                if let Some(Err(error)) = unanswered {
                    // The first reason is as good as any.
                    let _ = lines.useless.set(reason(&error));
                }
                self.lose(lines);
                Err(FleetError::Away)
            }
        }
    }

    /// From now on the store is away, unless others have found it again meanwhile.
    fn lose(&self, lines: &Arc<Lines>) {
        self.counters.failures.add();
        self.lines.compare_and_swap(lines, None);
        lines.lost.notify_one();
    }
}

/// Whether keys can be written over this connection: a replica, a part of a cluster and a Sentinel answer a `PING` as
/// well. Nothing is written.
///
/// # Errors
/// Why not, for the log.
pub(crate) async fn probe(connection: &mut MultiplexedConnection, key: &str) -> Result<(), String> {
    let mut set = redis::cmd("SET");
    set.arg(key).arg("").arg("XX");
    match set.query_async::<Option<String>>(connection).await {
        Ok(_) => Ok(()),
        // It may have no room, or no replica, for a while: that is each question's trouble.
        Err(error) if codes(&error).iter().any(|code| FOR_A_WHILE.contains(&code.as_str())) => {
            Ok(())
        }
        Err(error) if code(&error) == "ERR" => Err(format!("ERR: {NO_SET}")),
        Err(error) => Err(reason(&error)),
    }
}

const NO_SET: &str = "it does not know the command SET; is it a Sentinel?";

const FOR_A_WHILE: [&str; 3] = ["OOM", "NOREPLICAS", "MISCONF"];

/// Answers of a store that cannot be of use to anyone now, and what they mean.
const OF_NO_USE: [(&str, &str); 7] = [
    ("MOVED", "it is part of a cluster that spreads keys over servers, which is not supported"),
    ("ASK", "it is part of a cluster that spreads keys over servers, which is not supported"),
    (
        "CLUSTERDOWN",
        "it is part of a cluster that spreads keys over servers, which is not supported",
    ),
    ("READONLY", "it is a replica and does not write; name the primary"),
    ("LOADING", "it is loading its data"),
    ("MASTERDOWN", "it is a replica without its primary"),
    ("NOAUTH", "it asks for a password"),
];

/// What an error means for the whole store, for the log.
pub(crate) fn reason(error: &RedisError) -> String {
    let code = code(error);
    match OF_NO_USE.iter().find(|(known, _)| *known == code) {
        Some((_, meaning)) => format!("{code}: {meaning}"),
        None => code,
    }
}

/// Whether the store cannot be of use to anyone now. Errors that only one command meets are not of that kind.
fn is_away(error: &RedisError) -> bool {
    let codes = codes(error);
    if codes.is_empty() {
        return error.kind() != ErrorKind::UnexpectedReturnType;
    }
    codes.iter().any(|code| OF_NO_USE.iter().any(|(known, _)| known == code))
}

/// What went wrong, never in the store's words, which may repeat what was sent.
fn code(error: &RedisError) -> String {
    codes(error).into_iter().next().unwrap_or_else(|| error.category().to_owned())
}

/// The codes of all errors in one answer.
fn codes(error: &RedisError) -> Vec<String> {
    if let Some(code) = error.code() {
        return vec![code.to_owned()];
    }
    let errors = error.clone().into_server_errors();
    errors.iter().flat_map(|errors| errors.iter()).map(|(_, one)| one.code().to_owned()).collect()
}

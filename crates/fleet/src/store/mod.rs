//! The store as handshakes see it: there, with an answer within the time limit, or away, which is an answer at once.
//!
//! A question that fails or takes too long makes the store count as away for everybody; [`crate::keeper`] finds it
//! again. So it is waited for once, and not by each handshake anew. A store that was only late is still the same one: its
//! connections are used again once it answers in time. All of them are driven by the keeper's thread: whoever
//! asks, on whatever runtime, hands its question over and waits for the answer there.
//! Must not know: what is asked. Next: `dial.rs`, how a connection is made.

pub(crate) mod dial;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
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
    /// The store said that it cannot be of use: waiting for its answers would not help.
    useless: AtomicBool,
    /// What early data is admitted by; it ends with the connections.
    pub(crate) standing: ArcSwapOption<Standing>,
    /// Somebody found that the store is away, or a connection ended.
    pub(crate) lost: Arc<Notify>,
}

impl Lines {
    pub(crate) fn new(connections: Vec<MultiplexedConnection>, lost: Arc<Notify>) -> Self {
        let standing = ArcSwapOption::empty();
        Self {
            connections,
            turn: AtomicUsize::new(0),
            useless: AtomicBool::new(false),
            standing,
            lost,
        }
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
                    _ if lines.useless.load(Ordering::Relaxed) => return false,
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
                if unanswered.is_some() {
                    lines.useless.store(true, Ordering::Relaxed);
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

/// Whether the store cannot be of use to anyone now. Errors that only one command meets are not of that kind.
fn is_away(error: &RedisError) -> bool {
    const OF_NO_USE: [&str; 4] = ["READONLY", "LOADING", "MASTERDOWN", "NOAUTH"];
    let codes = codes(error);
    if codes.is_empty() {
        return error.kind() != ErrorKind::UnexpectedReturnType;
    }
    codes.iter().any(|code| OF_NO_USE.contains(&code.as_str()))
}

/// What went wrong, never in the store's words, which may repeat what was sent.
pub(crate) fn code(error: &RedisError) -> String {
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

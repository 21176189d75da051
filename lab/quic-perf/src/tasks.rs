//! What is measured.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use nix::time::{ClockId, clock_gettime};
use quinn::{Connection, RecvStream, VarInt};
use tokio::task::LocalSet;

use crate::providers::{Endpoints, Settings, Suite};

/// A task.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Task {
    /// Data from the server over one connection, on this number of streams.
    Bulk(Suite, usize),
    /// Requests of 8 bytes with answers of 64 bytes, [`REQUESTS`] at once on one connection.
    Requests,
    /// Connections with one request each, [`CONNECTIONS`] at once. Sessions are resumed or not.
    Connections { resumed: bool },
}

const REQUESTS: usize = 50;
const CONNECTIONS: usize = 4;

/// The result of a measurement.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Figure {
    /// Bytes, requests or connections per second.
    pub(crate) rate: f64,
    /// Processor time of both sides for one of them, in seconds.
    pub(crate) processor: f64,
}

impl Task {
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let suites = [Suite::Aes128, Suite::Aes256, Suite::ChaCha20];
        let bulk = [1, 100].into_iter().flat_map(move |streams| {
            suites.into_iter().map(move |suite| Self::Bulk(suite, streams))
        });
        let connections = [false, true].map(|resumed| Self::Connections { resumed });
        bulk.chain([Self::Requests]).chain(connections)
    }

    pub(crate) fn name(self) -> String {
        match self {
            Self::Bulk(suite, 1) => format!("bulk, {suite:?}, 1 stream"),
            Self::Bulk(suite, streams) => format!("bulk, {suite:?}, {streams} streams"),
            Self::Requests => "requests".to_owned(),
            Self::Connections { resumed: false } => "connections, full".to_owned(),
            Self::Connections { resumed: true } => "connections, resumed".to_owned(),
        }
    }

    pub(crate) fn options(self) -> Settings {
        match self {
            Self::Bulk(suite, _) => Settings { suite, resumes: false },
            Self::Requests => Settings { suite: Suite::Aes128, resumes: false },
            Self::Connections { resumed } => Settings { suite: Suite::Aes128, resumes: resumed },
        }
    }
}

/// Performs the task for about `budget`.
pub(crate) async fn measure(task: Task, endpoints: &Endpoints, budget: Duration) -> Result<Figure> {
    match task {
        Task::Bulk(_, streams) => bulk(endpoints, streams, budget).await,
        Task::Requests => requests(endpoints, budget).await,
        Task::Connections { resumed } => connections(endpoints, resumed, budget).await,
    }
}

/// The time and the processor time since a moment.
struct Stopwatch(Instant, Duration);

impl Stopwatch {
    fn start() -> Result<Self> {
        Ok(Self(Instant::now(), processor_time()?))
    }

    #[allow(clippy::cast_precision_loss)]
    fn figure(&self, count: u64) -> Result<Figure> {
        ensure!(count > 0, "nothing was done in this time");
        let (elapsed, processor) = (self.0.elapsed(), processor_time()? - self.1);
        let count = count as f64;
        Ok(Figure {
            rate: count / elapsed.as_secs_f64(),
            processor: processor.as_secs_f64() / count,
        })
    }
}

fn processor_time() -> Result<Duration> {
    Ok(clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID)?.into())
}

async fn ask(connection: &Connection, length: u64) -> Result<RecvStream> {
    let (mut send, receive) = connection.open_bi().await?;
    send.write_all(&length.to_be_bytes()).await?;
    send.finish()?;
    Ok(receive)
}

async fn bulk(endpoints: &Endpoints, streams: usize, budget: Duration) -> Result<Figure> {
    let connection = endpoints.connect().await?;
    let arrived = Rc::new(Cell::new(0_u64));
    let readers = LocalSet::new();
    for _ in 0..streams {
        let mut receive = ask(&connection, u64::MAX).await?;
        let arrived = Rc::clone(&arrived);
        readers.spawn_local(async move {
            while let Ok(Some(chunk)) = receive.read_chunk(usize::MAX, true).await {
                arrived.set(arrived.get() + chunk.bytes.len() as u64);
            }
        });
    }
    let timed = async {
        // The congestion window grows first.
        tokio::time::sleep(budget / 4).await;
        let (before, watch) = (arrived.get(), Stopwatch::start()?);
        tokio::time::sleep(budget * 3 / 4).await;
        let count = arrived.get() - before;
        watch.figure(count)
    };
    let figure = readers.run_until(timed).await;
    connection.close(VarInt::from_u32(0), &[]);
    readers.await;
    figure
}

async fn requests(endpoints: &Endpoints, budget: Duration) -> Result<Figure> {
    let connection = endpoints.connect().await?;
    let watch = Stopwatch::start()?;
    let count = at_once(REQUESTS, budget, async || {
        ask(&connection, 64).await?.read_to_end(64).await?;
        Ok(())
    });
    let count = count.await?;
    let figure = watch.figure(count);
    connection.close(VarInt::from_u32(0), &[]);
    figure
}

async fn connections(endpoints: &Endpoints, resumes: bool, budget: Duration) -> Result<Figure> {
    let (watch, before) = (Stopwatch::start()?, endpoints.resumed());
    let count = at_once(CONNECTIONS, budget, async || {
        let connection = endpoints.connect().await?;
        ask(&connection, 64).await?.read_to_end(64).await?;
        connection.close(VarInt::from_u32(0), &[]);
        Ok(())
    });
    let count = count.await?;
    let figure = watch.figure(count)?;
    // The first connections of the first measurement have no session yet.
    let (resumed, wanted) = (endpoints.resumed() - before, if resumes { count } else { 0 });
    let near = CONNECTIONS as u64;
    ensure!(
        resumed + near >= wanted && resumed <= wanted + near,
        "{resumed} of {count} connections were resumed"
    );
    Ok(figure)
}

/// Repeats `action` in this number of loops, until the budget is used. Returns how often.
async fn at_once(
    loops: usize,
    budget: Duration,
    action: impl AsyncFn() -> Result<()>,
) -> Result<u64> {
    let (start, count) = (Instant::now(), Cell::new(0));
    let one = async || -> Result<()> {
        while start.elapsed() < budget {
            action().await?;
            count.set(count.get() + 1);
        }
        Ok(())
    };
    let mut all: Vec<_> = (0..loops).map(|_| Box::pin(one())).collect();
    let mut done = vec![false; loops];
    std::future::poll_fn(|context| {
        for (future, done) in all.iter_mut().zip(&mut done) {
            if !*done {
                match future.as_mut().poll(context) {
                    std::task::Poll::Ready(Ok(())) => *done = true,
                    std::task::Poll::Ready(Err(error)) => {
                        return std::task::Poll::Ready(Err(error));
                    }
                    std::task::Poll::Pending => {}
                }
            }
        }
        match done.iter().all(|done| *done) {
            true => std::task::Poll::Ready(Ok(())),
            false => std::task::Poll::Pending,
        }
    })
    .await?;
    Ok(count.get())
}

//! Threads among which the connections are divided. Each thread has a runtime of its own, and
//! shares no data with the others while it measures.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use tercel::{ClientConfig, client::ClientConfigBuilder};
use tercel_tokio::Connector;
use tokio::task::LocalSet;

use super::connection::{ConnectionLoop, LiveCounters, Window, Workload};
#[cfg(feature = "http3")]
use super::http3::QuicClient;
use super::idle;
use super::options::{Mode, Options};
use super::progress::Progress;
use super::schedule::Schedule;
use super::sessions::Sessions;
use super::statistics::Statistics;
use super::thread_shares::{ThreadShare, thread_shares};
use super::{http1, http2};
use crate::target::Address;

/// Runs the load on one server, and returns the sum of all results.
pub(crate) fn run(
    options: &Options,
    builder: &ClientConfigBuilder,
    url: &Address,
    address: SocketAddr,
) -> Result<Statistics> {
    let threads = options.threads();
    let thread_shares = thread_shares(options, threads);
    // Each thread waits until all are prepared.
    let barrier = Barrier::new(threads + 1);
    let counters: Vec<Arc<LiveCounters>> = (0..threads).map(|_| Arc::default()).collect();
    let mut total = Statistics::new();
    thread::scope(|scope| {
        let mut running = Vec::new();
        for (share, counters) in thread_shares.into_iter().zip(&counters) {
            let counters = Arc::clone(counters);
            let barrier = &barrier;
            let plan = ThreadPlan { options, builder: builder.clone(), url, address };
            running.push(scope.spawn(move || {
                let prepared = plan.prepare(&share, counters);
                run_thread(prepared, &plan, &share, barrier)
            }));
        }
        let progress = Progress::new(options, url, &counters);
        progress.preparing();
        barrier.wait();
        progress.run(options.warm_up(), options.seconds);
        for thread in running {
            // A panic has already been printed by its thread.
            let statistics =
                thread.join().map_err(|_| anyhow!("a thread of this program panicked"))??;
            total.add(&statistics);
        }
        Ok(total)
    })
}

struct ThreadPlan<'a> {
    options: &'a Options,
    builder: ClientConfigBuilder,
    url: &'a Address,
    address: SocketAddr,
}

/// A runtime and its workload.
struct Prepared {
    runtime: tokio::runtime::Runtime,
    workload: Workload,
}

impl ThreadPlan<'_> {
    fn prepare(&self, share: &ThreadShare, counters: Arc<LiveCounters>) -> Result<Prepared> {
        let mode = self.options.mode();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.context("cannot create a runtime")?;
        let config = self.config(mode, share)?;
        let (authority, path) = (&self.url.authority(), self.url.request_target());
        let workload = Workload {
            mode,
            address: self.address,
            name: self.options.client.server_name(&self.url.host)?,
            // The connector has no time limit, because the workload applies its own.
            connector: Connector::new(Arc::clone(&config)).time_limit(None),
            ech: self.options.offer()?,
            #[cfg(feature = "http3")]
            quic: match self.options.http3 {
                true => {
                    let _context = runtime.enter();
                    let port = self.url.https_target().port;
                    Some(QuicClient::new(self.address, port, config, mode == Mode::Resumed)?)
                }
                false => None,
            },
            http1_head: match mode {
                Mode::Upload(length) => http1::post(authority, path, length),
                _ => http1::get(authority, path),
            },
            http2_head: http2::head(self.url, matches!(mode, Mode::Upload(_)))?,
            needs_http2: self.options.http2,
            timeout: self.options.timeout,
            statistics: RefCell::new(Statistics::new()),
            counters,
        };
        Ok(Prepared { runtime, workload })
    }

    fn config(&self, mode: Mode, share: &ThreadShare) -> Result<Arc<ClientConfig>> {
        let mut builder = self.builder.clone();
        if mode == Mode::Resumed {
            let sessions = Sessions::of(share.loops.len());
            builder = builder
                .session_store(Arc::new(sessions))
                .session_context(&self.options.client.session_context()?);
        } else {
            builder = builder.without_resumption();
        }
        if mode.speaks_http() && self.options.client.tls.alpn.is_none() {
            builder = builder.alpn(&[if self.options.http2 { "h2" } else { "http/1.1" }]);
        }
        #[cfg(feature = "http3")]
        if self.options.http3 {
            builder = builder.alpn(&[crate::http3::PROTOCOL]);
        }
        Ok(builder.build()?)
    }
}

fn run_thread(
    prepared: Result<Prepared>,
    plan: &ThreadPlan<'_>,
    share: &ThreadShare,
    barrier: &Barrier,
) -> Result<Statistics> {
    let Prepared { runtime, workload } = match prepared {
        Ok(prepared) => prepared,
        Err(error) => {
            // The other threads wait at the barrier, so a thread that failed has to reach it too.
            barrier.wait();
            return Err(error);
        }
    };
    let options = plan.options;
    let workload = Rc::new(workload);
    let tasks = LocalSet::new();
    if let Mode::Idle(_) = workload.mode {
        tasks.block_on(&runtime, idle::open(&workload, share));
        barrier.wait();
        tasks.block_on(&runtime, idle::hold(&workload, options.seconds));
    } else {
        let loops: Vec<ConnectionLoop> = tasks.block_on(&runtime, prepare_loops(&workload, share));
        barrier.wait();
        let start = Instant::now();
        let begin = start + options.warm_up();
        let window = Window { begin, end: begin + options.seconds };
        let schedule = |index| Schedule::new(start, options.rate, index, options.connections.get());
        let iterations = loops.into_iter().zip(&share.loops);
        let iterations = iterations
            .map(|(connection_loop, index)| connection_loop.run(schedule(*index), window));
        tasks.block_on(&runtime, run_all(&tasks, iterations));
    }
    // The tasks, which have references to the workload, end here.
    drop(tasks);
    let statistics = workload.statistics.borrow().clone();
    Ok(statistics)
}

async fn prepare_loops(workload: &Rc<Workload>, share: &ThreadShare) -> Vec<ConnectionLoop> {
    let loops = share.loops.iter().map(|_| {
        let mut connection_loop = ConnectionLoop::new(Rc::clone(workload));
        tokio::task::spawn_local(async move {
            connection_loop.prepare().await;
            connection_loop
        })
    });
    let running: Vec<_> = loops.collect();
    let mut ready = Vec::new();
    for connection_loop in running {
        // An error cannot be handled here: tasks are never aborted, and panics have been printed.
        ready.extend(connection_loop.await);
    }
    ready
}

async fn run_all(
    tasks: &LocalSet,
    iterations: impl Iterator<Item = impl Future<Output = ()> + 'static>,
) {
    let running: Vec<_> = iterations.map(|iteration| tasks.spawn_local(iteration)).collect();
    for task in running {
        let _ = task.await;
    }
}

//! Threads that share the connections, each with a runtime of its own and nothing in common while it counts.
//!
//! Must not know: what is reported. Next: [`super::slot`], [`super::idle`].

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use tercel::{ClientConfig, ClientConfigBuilder};
use tercel_tokio::Connector;
use tokio::task::LocalSet;

use super::http;
use super::idle;
use super::options::{Mode, Options};
use super::pace::Pace;
use super::progress::Progress;
use super::sessions::Sessions;
use super::slot::{Job, Live, Slot, Window};
use super::tally::Tally;
use super::url::Url;

/// Runs the load on one server; what all threads have counted.
pub(crate) fn run(
    options: &Options,
    builder: &ClientConfigBuilder,
    url: &Url,
    address: SocketAddr,
) -> Result<Tally> {
    let threads = options.threads();
    let shares = shares(options, threads);
    // Everyone is prepared before anyone begins.
    let barrier = Barrier::new(threads + 1);
    let lives: Vec<Arc<Live>> = (0..threads).map(|_| Arc::default()).collect();
    let mut total = Tally::new();
    thread::scope(|scope| {
        let mut running = Vec::new();
        for (share, live) in shares.into_iter().zip(&lives) {
            let live = Arc::clone(live);
            let barrier = &barrier;
            let plan = Plan { options, builder: builder.clone(), url, address };
            running.push(scope.spawn(move || {
                let prepared = plan.prepare(&share, live);
                work(prepared, &plan, &share, barrier)
            }));
        }
        let progress = Progress::new(options, url, &lives);
        progress.preparing();
        barrier.wait();
        progress.run(options.warm_up(), options.seconds);
        for thread in running {
            // A panic was printed when it happened.
            let tally = thread.join().map_err(|_| anyhow!("a thread of this program failed"))??;
            total.add(&tally);
        }
        Ok(total)
    })
}

/// A thread's connections out of all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    /// Numbers of the connections that are busy at once.
    pub(crate) slots: Vec<usize>,
    /// With idle connections, how many to make.
    pub(crate) idle: usize,
}

fn shares(options: &Options, threads: usize) -> Vec<Share> {
    let idle = if let Mode::Idle(number) = options.mode() { number } else { 0 };
    (0..threads)
        .map(|thread| Share {
            slots: (thread..options.connections.get()).step_by(threads).collect(),
            idle: (thread..idle).step_by(threads).count(),
        })
        .collect()
}

struct Plan<'a> {
    options: &'a Options,
    builder: ClientConfigBuilder,
    url: &'a Url,
    address: SocketAddr,
}

/// A runtime and what is to be done in it.
struct Prepared {
    runtime: tokio::runtime::Runtime,
    job: Job,
}

impl Plan<'_> {
    fn prepare(&self, share: &Share, live: Arc<Live>) -> Result<Prepared> {
        let mode = self.options.mode();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let Url { target, authority, path } = self.url;
        let job = Job {
            mode,
            address: self.address,
            name: self.options.client.server_name(&target.host),
            // The time limit is set beside it, with that of connecting.
            connector: Connector::new(self.config(mode, share)?).time_limit(None),
            request: match mode {
                Mode::Upload(length) => http::post(authority, path, length),
                _ => http::get(authority, path),
            },
            patience: self.options.timeout,
            tally: RefCell::new(Tally::new()),
            live,
        };
        Ok(Prepared { runtime: runtime.context("no runtime")?, job })
    }

    fn config(&self, mode: Mode, share: &Share) -> Result<Arc<ClientConfig>> {
        let mut builder = self.builder.clone();
        if mode == Mode::Resumed {
            let sessions = Sessions::of(share.slots.len());
            builder = builder
                .session_store(Arc::new(sessions))
                .session_context(&self.options.client.label()?);
        } else {
            builder = builder.without_resumption();
        }
        if mode.speaks_http() && self.options.client.tls.alpn.is_none() {
            builder = builder.alpn(&["http/1.1"]);
        }
        Ok(builder.build()?)
    }
}

fn work(
    prepared: Result<Prepared>,
    plan: &Plan<'_>,
    share: &Share,
    barrier: &Barrier,
) -> Result<Tally> {
    let Prepared { runtime, job } = match prepared {
        Ok(prepared) => prepared,
        Err(error) => {
            // The others wait for this one.
            barrier.wait();
            return Err(error);
        }
    };
    let options = plan.options;
    let job = Rc::new(job);
    let tasks = LocalSet::new();
    if let Mode::Idle(_) = job.mode {
        tasks.block_on(&runtime, idle::open(&job, share));
        barrier.wait();
        tasks.block_on(&runtime, idle::hold(&job, options.seconds));
    } else {
        let slots: Vec<Slot> = tasks.block_on(&runtime, prepare_slots(&job, share));
        barrier.wait();
        let start = Instant::now();
        let begin = start + options.warm_up();
        let window = Window { begin, end: begin + options.seconds };
        let pace = |index| Pace::new(start, options.rate, index, options.connections.get());
        let turns = slots.into_iter().zip(&share.slots);
        let turns = turns.map(|(slot, index)| slot.run(pace(*index), window));
        tasks.block_on(&runtime, all(&tasks, turns));
    }
    // The tasks hold connections and, with them, the job.
    drop(tasks);
    let tally = job.tally.borrow().clone();
    Ok(tally)
}

async fn prepare_slots(job: &Rc<Job>, share: &Share) -> Vec<Slot> {
    let slots = share.slots.iter().map(|_| {
        let mut slot = Slot::new(Rc::clone(job));
        tokio::task::spawn_local(async move {
            slot.prepare().await;
            slot
        })
    });
    let running: Vec<_> = slots.collect();
    let mut ready = Vec::new();
    for slot in running {
        // None is ever aborted, and a panic has been printed.
        ready.extend(slot.await);
    }
    ready
}

async fn all(tasks: &LocalSet, turns: impl Iterator<Item = impl Future<Output = ()> + 'static>) {
    let running: Vec<_> = turns.map(|turns| tasks.spawn_local(turns)).collect();
    for task in running {
        let _ = task.await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    #[test]
    fn every_connection_is_some_threads() {
        let words = ["load", "x:1", "--idle", "8", "--connections", "5"];
        let options = Line::parse_from(words).options;
        let [one, two, three] = shares(&options, 3).try_into().unwrap();
        assert_eq!(one, Share { slots: vec![0, 3], idle: 3 });
        assert_eq!(two, Share { slots: vec![1, 4], idle: 3 });
        assert_eq!(three, Share { slots: vec![2], idle: 2 });
    }
}

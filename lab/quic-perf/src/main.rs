//! quinn over loopback, with Tercel and with rustls in turns.
//!
//! A server and a client run in one process, each in its own thread. In each round, both providers
//! do each task once, in alternating order, so that both have the same machine. The result of a
//! task is the median, over all rounds, of the ratio of both providers in one round.
//!
//! | module | content |
//! |---|---|
//! | `providers` | endpoints of quinn with each provider |
//! | `server` | answers a request by as many bytes as it asks for |
//! | `tasks` | what is measured |
//! | `table` | ratios and their spread |

#![forbid(unsafe_code)]

mod providers;
mod server;
mod table;
mod tasks;

use std::time::Duration;

use anyhow::Result;
use clap::Parser;
use tercel::crypto::{Kernel, kernel_state};

use providers::{Endpoints, Provider};
use tasks::Task;

/// Measures quinn over loopback, with Tercel and with rustls in turns.
#[derive(Parser)]
struct Options {
    /// The number of rounds
    #[arg(long, default_value_t = 9)]
    rounds: usize,
    /// The time of each measurement
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 300)]
    measure_ms: u64,
    /// Only tasks whose name contains this
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// Only this provider, for profiles: `tercel` or `rustls`
    #[arg(long, value_name = "NAME")]
    provider: Option<Provider>,
}

fn main() -> Result<()> {
    let options = Options::parse();
    let budget = Duration::from_millis(options.measure_ms);
    let identity = providers::Identity::new()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let tasks: Vec<_> = Task::all().filter(|task| task.name().contains(&options.only)).collect();
    let state = |kernel: &Kernel| format!("{kernel} {}", kernel_state(*kernel));
    println!("kernels: {}", Kernel::ALL.iter().map(state).collect::<Vec<_>>().join(", "));
    for task in tasks {
        // Both providers have their endpoints during the whole task.
        let mut both = Vec::new();
        for provider in Provider::ALL {
            if options.provider.is_none_or(|only| only == provider) {
                let endpoints = Endpoints::start(provider, task.options(), &identity, &runtime)?;
                runtime.block_on(tasks::measure(task, &endpoints, budget / 4))?;
                both.push((endpoints, Vec::new()));
            }
        }
        for round in 0..options.rounds {
            for turn in 0..both.len() {
                let count = both.len();
                let (endpoints, figures) = &mut both[(turn + round) % count];
                figures.push(runtime.block_on(tasks::measure(task, endpoints, budget))?);
            }
        }
        let figures: Vec<_> = both.into_iter().map(|(_, figures)| figures).collect();
        println!("{}", table::line(task, &figures));
    }
    Ok(())
}

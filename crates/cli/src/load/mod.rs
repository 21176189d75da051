//! `tercel load`: a load generator for TLS servers.

pub(crate) mod connection;
pub(crate) mod http1;
pub(crate) mod http2;
#[cfg(feature = "http3")]
pub(crate) mod http3;
pub(crate) mod idle;
pub(crate) mod options;
pub(crate) mod progress;
pub(crate) mod report;
pub(crate) mod report_json;
pub(crate) mod schedule;
pub(crate) mod sessions;
pub(crate) mod statistics;
pub(crate) mod thread_shares;
pub(crate) mod threads;
pub(crate) mod transport;

use std::net::SocketAddr;

use anyhow::{Context, Result, bail};
use tercel::client::ClientConfigBuilder;

use crate::output;
use crate::target::Address;
pub(crate) use options::Options;
use report::{Run, RunSettings};

/// Measures each server in turn, in each round, and prints the report.
pub(crate) fn run(options: &Options) -> Result<()> {
    options.check()?;
    options.client.warn();
    let builder = options.client.builder()?;
    let addresses =
        options.targets.iter().map(|url| Ok((url, find_address(options, &builder, url)?)));
    let addresses = addresses.collect::<Result<Vec<_>>>()?;
    let settings = RunSettings::of(options);
    let mut runs = Vec::new();
    for round in 1..=options.rounds.get() {
        for (url, address) in &addresses {
            let statistics = threads::run(options, &builder, url, *address)?;
            let run = Run { target: url.to_string(), round, statistics };
            if !options.json {
                output::print(settings.text(&run))?;
            }
            runs.push(run);
        }
    }
    if options.json {
        output::print(settings.json(&runs)? + "\n")?;
    } else if runs.len() > 1 {
        output::print(format!("\n{}", settings.summary(&runs)))?;
    }
    check_failures(options, &runs)
}

/// The first address that accepts a connection. This is not part of the measurement.
fn find_address(
    options: &Options,
    builder: &ClientConfigBuilder,
    url: &Address,
) -> Result<SocketAddr> {
    #[cfg(feature = "http3")]
    if options.http3 {
        return http3::find_address(options, builder, url);
    }
    let _ = builder;
    let socket = url.https_target().connect(options.timeout)?;
    socket.peer_addr().context("connection lost")
}

fn check_failures(options: &Options, runs: &[Run]) -> Result<()> {
    let failed: u64 = runs.iter().map(|run| run.statistics.failed()).sum();
    if runs.iter().any(|run| run.statistics.done == 0) {
        bail!("no operation succeeded; see the failures above");
    }
    if failed > 0 && !options.allow_errors {
        bail!("{failed} failed; use --allow-errors to exit with 0 all the same");
    }
    Ok(())
}

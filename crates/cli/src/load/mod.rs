//! `tercel load`: many connections to a server, and what became of them.
//!
//! Must not know: the protocol, or who serves. Next: [`options`] for what can be asked, [`crew`] for the
//! threads, [`slot`] for one connection, [`pace`] for when it begins, [`report`] for what is told.

pub(crate) mod crew;
pub(crate) mod http;
pub(crate) mod idle;
pub(crate) mod json;
pub(crate) mod options;
pub(crate) mod pace;
pub(crate) mod progress;
pub(crate) mod report;
pub(crate) mod sessions;
pub(crate) mod slot;
pub(crate) mod tally;
pub(crate) mod url;

use std::io::{self, Write};
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, bail};

pub(crate) use options::Options;
use report::{Run, Terms};
use url::Url;

/// Measures every server in turn, as often as asked for, and reports.
pub(crate) fn run(options: &Options) -> Result<()> {
    options.check();
    options.client.warn();
    let builder = options.client.builder()?;
    let reached = options.targets.iter().map(|url| Ok((url, reach(url, options.timeout)?)));
    let reached = reached.collect::<Result<Vec<_>>>()?;
    let terms = Terms::of(options);
    let mut runs = Vec::new();
    for round in 1..=options.rounds.get() {
        for (url, address) in &reached {
            let tally = crew::run(options, &builder, url, *address)?;
            let run = Run { target: url.to_string(), round, tally };
            if !options.json {
                print(&terms.text(&run))?;
            }
            runs.push(run);
        }
    }
    if options.json {
        print(&format!("{}\n", terms.json(&runs)))?;
    } else if runs.len() > 1 {
        print(&format!("\n{}", terms.summary(&runs)))?;
    }
    judge(options, &runs)
}

/// The first address that answers; looking for it is no part of what is measured.
fn reach(url: &Url, patience: Duration) -> Result<SocketAddr> {
    let socket = url.target.connect(patience)?;
    socket.peer_addr().context("the connection is gone")
}

fn judge(options: &Options, runs: &[Run]) -> Result<()> {
    let failed: u64 = runs.iter().map(|run| run.tally.failed()).sum();
    if runs.iter().any(|run| run.tally.done == 0) {
        bail!("nothing was done: see what failed above");
    }
    if failed > 0 && !options.allow_errors {
        let s = if failed == 1 { "" } else { "s" };
        bail!("{failed} time{s} something failed; --allow-errors takes that");
    }
    Ok(())
}

fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("standard output")
}

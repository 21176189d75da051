//! Good clients of `tercel proxy` among thousands of bad ones.
//!
//! ```text
//! cargo run --release -p tercel-conformance-faults -- --tercel target/release/tercel --quick
//! ```
//!
//! `setting.rs` starts the terminator, with limits, and backends that work, fail, or are slow; `kinds.rs` says
//! what kinds of bad clients there are, `bad.rs` is what they do, and `partial.rs` cuts handshakes short for them; `phase.rs`
//! sends them, kind after kind and then mixed; `files.rs` takes away file descriptors,
//! `certificates.rs` puts bad certificates in the way, `clocks.rs` lets the clock jump and `virtual_hosts.rs` offers sessions of
//! one host to another. Good clients go on
//! all the time, and each of their requests must succeed. `verdict.rs` says what has to hold at the end.

#![forbid(unsafe_code)]

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use clap::Parser;
use tercel::ClientConfig;
use tercel::pki::Roots;
use tercel::pki_types::ServerName;
use tercel::wire::{NamedGroup, ProtocolVersion};
use tercel_harness::good::{self, Load};
use tercel_harness::{program, proxy};

mod bad;
mod certificates;
mod clocks;
mod files;
mod kinds;
mod partial;
mod phase;
mod setting;
mod verdict;
mod virtual_hosts;

use bad::Means;
use kinds::{Kind, Version};
use phase::{Line, Plan};
use setting::{PER_CLIENT, Setting};
use verdict::Level;

/// Good clients of a terminator among bad ones.
#[derive(Parser, Debug)]
struct Options {
    /// The tercel program.
    #[arg(long, value_name = "FILE", default_value = "target/release/tercel")]
    tercel: PathBuf,
    /// How many bad clients there are in all.
    #[arg(long, default_value_t = 24_000, conflicts_with = "quick")]
    clients: usize,
    /// Fewer bad clients: less than a minute.
    #[arg(long)]
    quick: bool,
    /// Run only kinds whose name contains this; `certificates`, `files`, `clocks` and `virtual hosts` are names too.
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
}

fn main() -> Result<ExitCode> {
    let options = Options::parse();
    let program = program::at(&options.tercel)?;
    let runtime = program::runtime(2)?;
    // Backends must not suffer from what clients do to this process.
    let behind = program::runtime(1)?;
    let mut setting = behind.block_on(Setting::start(&program))?;
    let roots = proxy::roots(&setting.authority.root_pem())?;
    let means = Arc::new(runtime.block_on(means(setting.target, &roots))?);
    let idle_files = setting.proxy.vitals()?.files;
    let start = Instant::now();
    let clients = if options.quick { 3000 } else { options.clients };
    let wanted =
        |name: &str| options.filter.as_ref().is_none_or(|filter| name.contains(filter.as_str()));
    let kinds: Vec<Kind> = Kind::ALL.into_iter().filter(|kind| wanted(kind.name())).collect();

    let load = Load::start(good_clients(setting.target), &roots)?;
    let mut lines = Vec::new();
    let mut done = |line: Line| {
        println!("{}", verdict::short(&line));
        lines.push(line);
    };
    // Without it, what is used for the first time would look like what is not given back.
    let warm_up = plan("warm up", mixed(&kinds, 4 * kinds.len()), 100);
    done(phase::run(warm_up, &runtime, &means, &setting.proxy, &load)?);
    let level = Level::now(&setting.proxy)?;
    for plan in plans(&kinds, &means, clients, options.quick) {
        done(phase::run(plan, &runtime, &means, &setting.proxy, &load)?);
    }
    // One for each of the two handshakes whose length was taken.
    let mut extra = 2;
    if wanted("certificates") {
        let folder =
            certificates::run(&setting, &runtime, &load, &roots, options.quick, &mut extra)?;
        folder.into_iter().for_each(&mut done);
    }
    if wanted("files") {
        done(files::run(&setting, &runtime, &means, &roots)?);
    }
    if wanted("clocks") {
        match clocks::run(&setting, &runtime, &means, &roots)? {
            Some(line) => done(line),
            None => println!("absent: libfaketime, by which clocks jump"),
        }
    }
    if wanted("virtual hosts") {
        match virtual_hosts::run(&program, &load)? {
            Some(line) => done(line),
            None => println!("absent: openssl, which offers a session to another virtual host"),
        }
    }
    let good = load.stop()?;
    let faults = verdict::at_the_end(&mut setting, &lines, &good, &level, idle_files, extra)?;
    println!("\n{}\n", verdict::table(&lines));
    let passed = verdict::conclude(&lines, &faults, &good, start.elapsed());
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// First each kind by itself, then all of them mixed for what is left. A quick run lets those wait together
/// that wait for a time limit.
fn plans(kinds: &[Kind], means: &Means, clients: usize, quick: bool) -> Vec<Plan> {
    let share = clients / (3 * kinds.len().max(1));
    let mut plans: Vec<Plan> = Vec::new();
    for &kind in kinds {
        // Each byte of a handshake at least once, where there are clients enough.
        let count = kind.cut().map_or(share, |version| means.length(version).min(share * 4));
        let step = kind.cut().map_or(1, |version| means.length(version).div_ceil(count).max(1));
        let clients = (0..count).map(|number| (kind, number * step)).collect();
        let together =
            quick && kind.waits() && plans.last().is_some_and(|last| last.clients[0].0.waits());
        match plans.last_mut() {
            Some(last) if together => {
                last.name += ", ";
                last.name += kind.name();
                last.clients.extend::<Vec<_>>(clients);
            }
            _ => plans.push(plan(kind.name(), clients, 400)),
        }
    }
    if kinds.contains(&Kind::HalfOpen) {
        let flood = |count: usize| (0..count).map(|number| (Kind::HalfOpen, number)).collect();
        plans.push(plan("half-open flood", flood((clients / 20).min(1000)), 1000));
        let one = plan("many from one address", flood(PER_CLIENT * 3), PER_CLIENT * 3);
        plans.push(Plan { one_address: true, ..one });
    }
    let so_far: usize = plans.iter().map(|plan| plan.clients.len()).sum();
    plans.push(plan("mixed", mixed(kinds, clients.saturating_sub(so_far)), 400));
    plans
}

fn plan(name: &str, clients: Vec<(Kind, usize)>, at_once: usize) -> Plan {
    Plan { name: name.to_owned(), clients, at_once, one_address: false }
}

/// All kinds in turns.
fn mixed(kinds: &[Kind], count: usize) -> Vec<(Kind, usize)> {
    if kinds.is_empty() {
        return Vec::new();
    }
    // A step without common factors with any handshake's length spreads the places where they are cut.
    (0..count).map(|at| (kinds[at % kinds.len()], at * 7919)).collect()
}

fn good_clients(target: SocketAddr) -> Vec<good::Kind> {
    let kind = |name, version, requests| good::Kind {
        name,
        target,
        source: Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        server: setting::GOOD.to_owned(),
        version,
        early: false,
        requests,
        clients: 4,
        pause: Duration::from_millis(200),
        limit: Duration::from_secs(10),
    };
    vec![
        kind("good 1.2", ProtocolVersion::TLS1_2, 1),
        kind("good 1.3", ProtocolVersion::TLS1_3, 1),
        kind("good 1.3 kept open", ProtocolVersion::TLS1_3, 50),
    ]
}

/// Bad clients do not resume, so that their handshakes have the same length each time.
async fn means(target: SocketAddr, roots: &Roots) -> Result<Means> {
    let config = |version| {
        // A small share, so that there are fewer bytes to stop after; the other one is the certificate's curve.
        let builder = ClientConfig::builder().roots(roots.clone()).versions(&[version]);
        builder.groups(&[NamedGroup::X25519, NamedGroup::SECP256R1]).without_resumption().build()
    };
    let mut means = Means {
        target,
        tls12: config(ProtocolVersion::TLS1_2)?,
        tls13: config(ProtocolVersion::TLS1_3)?,
        length12: 0,
        length13: 0,
    };
    let length = async |version: Version| {
        let server = ServerName::try_from(setting::GOOD)?;
        let source = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let config = means.config(version);
        let whole = partial::whole(target, source, config, server).await?;
        ensure!(whole > 100, "a handshake of {whole} bytes");
        anyhow::Ok(whole)
    };
    let lengths = (length(Version::Tls12).await?, length(Version::Tls13).await?);
    (means.length12, means.length13) = lengths;
    Ok(means)
}

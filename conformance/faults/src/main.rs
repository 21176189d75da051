//! Sends thousands of faulty clients to `tercel proxy`, while regular clients make requests that
//! must all succeed.
//!
//! ```text
//! cargo run --release -p tercel-conformance-faults -- --tercel target/release/tercel --quick
//! ```
//!
//! | module | content |
//! |---|---|
//! | `setup` | the terminator with its limits, and backends that work, fail, or are slow |
//! | `kinds`, `faulty_client`, `partial` | the kinds of faulty clients, and what they send |
//! | `phase` | sends clients of one kind, or of all kinds mixed |
//! | `files` | lets file descriptors run out |
//! | `certificates` | writes invalid certificates |
//! | `clocks` | lets the clock jump |
//! | `logs` | standard error that cannot be written |
//! | `restarts` | restarts and reloads under load |
//! | `virtual_hosts` | offers sessions of one host to another |
//! | `quic` | floods of a server of HTTP/3 |
//! | `ech` | Encrypted ClientHello without its keys, its store, or its backend |
//! | `final_checks` | the requirements at the end, and the table |

#![forbid(unsafe_code)]

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use clap::Parser;
use tercel::pki::Roots;
use tercel::wire::{NamedGroup, ProtocolVersion};
use tercel::{ClientConfig, ServerName};
use tercel_harness::clients::{self, Load};
use tercel_harness::{program, proxy};

mod certificates;
mod clocks;
mod ech;
mod faulty_client;
mod files;
mod final_checks;
mod kinds;
mod logs;
mod partial;
mod phase;
mod quic;
mod restarts;
mod setup;
mod virtual_hosts;

use faulty_client::ClientContext;
use final_checks::Baseline;
use kinds::{Kind, Version};
use phase::{Line, Plan};
use setup::{PER_CLIENT, Setup};

/// Sends faulty clients to a terminator while regular clients use it.
#[derive(Parser, Debug)]
struct Options {
    /// The tercel program
    #[arg(long, value_name = "FILE", default_value = "target/release/tercel")]
    tercel: PathBuf,
    /// The total number of faulty clients
    #[arg(long, default_value_t = 24_000, conflicts_with = "quick")]
    clients: usize,
    /// Send fewer clients: about a minute
    #[arg(long)]
    quick: bool,
    /// Run only kinds whose name contains this, or `certificates`, `files`, `clocks`, `logs`,
    /// `restarts`, `virtual hosts`, `quic`, `ech`
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
}

fn main() -> Result<ExitCode> {
    let options = Options::parse();
    let program = program::at(&options.tercel)?;
    let runtime = program::runtime(2)?;
    // The backends have a separate runtime, so that clients do not slow them.
    let behind = program::runtime(1)?;
    let mut setup = behind.block_on(Setup::start(&program))?;
    let roots = proxy::roots(&setup.authority.root_pem())?;
    let context = Arc::new(runtime.block_on(context(&setup, &roots))?);
    let idle_files = setup.proxy.resources()?.files;
    let start = Instant::now();
    let clients = if options.quick { 3000 } else { options.clients };
    let wanted =
        |name: &str| options.filter.as_ref().is_none_or(|filter| name.contains(filter.as_str()));
    let kinds: Vec<Kind> = Kind::ALL.into_iter().filter(|kind| wanted(kind.name())).collect();

    let load = Load::start(regular_clients(setup.target), &roots)?;
    let mut lines = Vec::new();
    let mut done = |line: Line| {
        println!("{}", final_checks::short(&line));
        lines.push(line);
    };
    // Without a warm-up, memory that is allocated on first use would look like a leak.
    let warm_up = plan("warm up", mixed(&kinds, 4 * kinds.len()), 100);
    done(phase::run(warm_up, &runtime, &context, &setup.proxy, &load)?);
    let baseline = Baseline::now(&setup.proxy)?;
    for plan in plans(&kinds, &context, clients, options.quick) {
        done(phase::run(plan, &runtime, &context, &setup.proxy, &load)?);
    }
    // The terminator has also counted one connection for each of the two handshakes whose length
    // was measured.
    let mut extra = 2;
    if wanted("certificates") {
        let folder = certificates::run(&setup, &runtime, &load, &roots, options.quick, &mut extra)?;
        folder.into_iter().for_each(&mut done);
    }
    if wanted("files") {
        done(files::run(&setup, &runtime, &context, &roots)?);
    }
    if wanted("clocks") {
        match clocks::run(&setup, &runtime, &context, &roots)? {
            Some(line) => done(line),
            None => println!("absent: libfaketime, which changes the clock"),
        }
    }
    if wanted("logs") {
        logs::run(&setup, &runtime, &roots, options.quick)?.into_iter().for_each(&mut done);
    }
    if wanted("restarts") {
        let lines = restarts::run(&program, &behind, &runtime, options.quick)?;
        lines.into_iter().for_each(&mut done);
    }
    if wanted("virtual hosts") {
        match virtual_hosts::run(&program, &load)? {
            Some(line) => done(line),
            None => println!("absent: openssl, which offers a session to another virtual host"),
        }
    }
    if wanted("quic") {
        quic::run(&program, &runtime, options.quick)?.into_iter().for_each(&mut done);
    }
    if wanted("ech") {
        ech::run(&program, &behind, options.quick)?.into_iter().for_each(&mut done);
    }
    let regular = load.stop()?;
    let faults =
        final_checks::at_the_end(&mut setup, &lines, &regular, &baseline, idle_files, extra)?;
    println!("\n{}\n", final_checks::table(&lines));
    let passed = final_checks::conclude(&lines, &faults, &regular, start.elapsed());
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Plans one phase per kind, then a phase with all kinds mixed. A quick run sends the kinds that
/// wait for a time limit in one phase.
fn plans(kinds: &[Kind], context: &ClientContext, clients: usize, quick: bool) -> Vec<Plan> {
    let share = clients / (3 * kinds.len().max(1));
    let mut plans: Vec<Plan> = Vec::new();
    for &kind in kinds {
        // Cuts the handshake at each byte at least once, if there are enough clients.
        let count =
            kind.cut_version().map_or(share, |version| context.length(version).min(share * 4));
        let step =
            kind.cut_version().map_or(1, |version| context.length(version).div_ceil(count).max(1));
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

/// Clients of all kinds, one kind after the other.
fn mixed(kinds: &[Kind], count: usize) -> Vec<(Kind, usize)> {
    if kinds.is_empty() {
        return Vec::new();
    }
    // A prime step spreads the bytes at which handshakes are cut.
    (0..count).map(|at| (kinds[at % kinds.len()], at * 7919)).collect()
}

fn regular_clients(target: SocketAddr) -> Vec<clients::ClientKind> {
    let kind = |name, version, requests| clients::ClientKind {
        name,
        target,
        source: Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        server: setup::WORKING.to_owned(),
        version,
        early: false,
        requests,
        clients: 4,
        pause: Duration::from_millis(200),
        limit: Duration::from_secs(60),
    };
    vec![
        kind("regular 1.2", ProtocolVersion::TLS1_2, 1),
        kind("regular 1.3", ProtocolVersion::TLS1_3, 1),
        kind("regular 1.3 kept open", ProtocolVersion::TLS1_3, 50),
    ]
}

/// Faulty clients do not resume, so that their handshakes always have the same length.
async fn context(setup: &Setup, roots: &Roots) -> Result<ClientContext> {
    let target = setup.target;
    let config = |version| {
        // P-256 has a short key share, so there are fewer positions at which to cut. It is also the
        // certificate's curve.
        let builder = ClientConfig::builder().roots(roots.clone()).versions(&[version]);
        builder.groups(&[NamedGroup::X25519, NamedGroup::SECP256R1]).without_resumption().build()
    };
    let mut context = ClientContext {
        target,
        tls12: config(ProtocolVersion::TLS1_2)?,
        tls13: config(ProtocolVersion::TLS1_3)?,
        length12: 0,
        length13: 0,
        ended: setup.backends.ended(),
    };
    let length = async |version: Version| {
        let server = ServerName::try_from(setup::WORKING)?;
        let source = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let config = context.config(version);
        let whole = partial::whole(target, source, config, server).await?;
        ensure!(whole > 100, "a handshake of {whole} bytes");
        anyhow::Ok(whole)
    };
    let lengths = (length(Version::Tls12).await?, length(Version::Tls13).await?);
    (context.length12, context.length13) = lengths;
    Ok(context)
}

//! Three nodes of `tercel proxy` that share what clients resume, under a steady load, and what befalls them.
//!
//! ```text
//! cargo run --release -p tercel-conformance-fleet -- --tercel target/release/tercel --quick
//! ```
//!
//! `cluster.rs` starts the nodes, `balancer.rs` haproxy before them, and
//! conformance/harness a real store, clients and backends. `events.rs` is what is done, one thing after the other, and `run.rs` watches; `early.rs`
//! records first flights and sends them again, and shows at `alone.rs` that it sees what becomes of them; `others.rs` is for clients of others; `report.rs` is the table.

#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Parser;
use tercel::wire::ProtocolVersion;
use tercel_harness::good::{Kind, Load};
use tercel_harness::pki::SERVER_NAME;
use tercel_harness::{program, proxy, store};

mod alone;
mod balancer;
mod cluster;
mod early;
mod events;
mod others;
mod report;
mod run;

use alone::Alone;
use cluster::{Cluster, Face};
use run::Run;

/// Three nodes that share what clients resume, and what befalls them.
#[derive(Parser, Debug)]
struct Options {
    /// The tercel program.
    #[arg(long, value_name = "FILE", default_value = "target/release/tercel")]
    tercel: PathBuf,
    /// With fewer troubles for early data and a freshness window of seconds, so that nodes are not blind for two
    /// minutes after each, but for the two that the first nodes of a fleet wait: some four minutes in all.
    #[arg(long)]
    quick: bool,
}

fn main() -> Result<ExitCode> {
    let options = Options::parse();
    let mut absent = Vec::new();
    if store::program().is_none() {
        absent.extend(store::PROGRAMS);
    }
    if program::find(balancer::PROGRAM).is_none() {
        absent.push(balancer::PROGRAM);
    }
    if !absent.is_empty() {
        println!("absent: {}", absent.join(", "));
        return Ok(ExitCode::SUCCESS);
    }
    let window = if options.quick { QUICK_WINDOW } else { WINDOW };
    let program = program::at(&options.tercel)?;
    let runtime = program::runtime(2)?;
    let cluster = runtime.block_on(Cluster::start(&program, window))?;
    println!("store: {}", cluster.store.version());
    let roots = proxy::roots(&cluster.root_pem())?;
    runtime.block_on(async {
        let alone = Alone::start(&cluster.certificate()?).await?;
        early::check_the_eye(alone.address, &roots).await
    })?;
    let clients = clients(&cluster);
    let kinds = clients.iter().map(|kind| kind.name).collect();
    let load = Load::start(clients, &roots)?;
    let begun = Instant::now();
    let window = Duration::from_secs(window.into());
    let mut run = Run::new(cluster, &runtime, load, kinds, roots, options.quick, window);
    run.all()?;

    let replays = run.replays();
    let Run { cluster, load, lines, .. } = run;
    let outcomes = load.stop()?;
    let (kinds, mut faults) = report::kinds(&outcomes);
    faults.extend(cluster.repeated().into_iter().map(|path| format!("{path} came twice")));
    if replays.once == 0 {
        faults.push("no early data was accepted at all".to_owned());
    }
    println!("\n{}\n\n{kinds}\n", report::table(&lines));
    println!(
        "{} requests; {} first flights sent again, {} accepted once, {} twice; {:.0} s",
        outcomes.len(),
        replays.tried,
        replays.once,
        replays.accepted,
        begun.elapsed().as_secs_f32()
    );
    for fault in &faults {
        println!("FAIL    {fault}");
    }
    let passed = faults.is_empty() && lines.iter().all(report::Line::passed);
    println!("{}", if passed { "passed" } else { "FAILED" });
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Seconds by which a ticket's age may be off for its early data to count as fresh: the default.
const WINDOW: u32 = 60;
/// Long enough for a replay right after a trouble to be fresh still.
const QUICK_WINDOW: u32 = 8;

/// The steady load.
fn clients(cluster: &Cluster) -> Vec<Kind> {
    let kind = |name, face, version, early, requests| Kind {
        name,
        target: cluster.front(face),
        source: None,
        server: SERVER_NAME.to_owned(),
        version,
        early,
        requests,
        clients: 3,
        pause: Duration::from_millis(200),
        limit: Duration::from_secs(10),
    };
    let (tls12, tls13) = (ProtocolVersion::TLS1_2, ProtocolVersion::TLS1_3);
    vec![
        kind("1.2 ticket, store", Face::StoreKeys, tls12, false, 1),
        kind("1.3 ticket, store", Face::StoreKeys, tls13, false, 1),
        kind("1.3 ticket, store, early", Face::StoreKeys, tls13, true, 1),
        kind("1.3 ticket, store, kept open", Face::StoreKeys, tls13, false, 4),
        kind("1.2 ticket, file", Face::FileKeys, tls12, false, 1),
        kind("1.3 ticket, file", Face::FileKeys, tls13, false, 1),
        kind("1.2 id", Face::Sessions, tls12, false, 1),
        kind("1.3 stateful", Face::Sessions, tls13, false, 1),
        kind("1.3 stateful, early", Face::Sessions, tls13, true, 1),
    ]
}

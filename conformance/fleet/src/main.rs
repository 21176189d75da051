//! Three nodes of `tercel proxy` that share sessions and ticket keys, under a steady load, while
//! nodes, store and files fail or change.
//!
//! ```text
//! cargo run --release -p tercel-conformance-fleet -- --tercel target/release/tercel --quick
//! ```
//!
//! | module | content |
//! |---|---|
//! | `cluster`, `balancer` | the nodes, and haproxy in front of them |
//! | `events`, `run` | the events, and what is measured around each |
//! | `early` | recorded first flights and their replays |
//! | `reference_server` | a server that checks the detection of accepted flights |
//! | `other_clients` | `openssl s_client` and curl |
//! | `report` | the table |

#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Parser;
use tercel::wire::ProtocolVersion;
use tercel_harness::clients::{ClientKind, Load};
use tercel_harness::pki::SERVER_NAME;
use tercel_harness::{program, proxy, store};

mod balancer;
mod cluster;
mod early;
mod events;
mod other_clients;
mod reference_server;
mod report;
mod run;

use cluster::{Cluster, ResumptionKind};
use reference_server::ReferenceServer;
use run::{Parameters, Run};

/// Three nodes that share sessions and ticket keys, while nodes, store and files fail or change.
#[derive(Parser, Debug)]
struct Options {
    /// The tercel program
    #[arg(long, value_name = "FILE", default_value = "target/release/tercel")]
    tercel: PathBuf,
    /// Test early data at fewer events, with a freshness window of seconds, so that nodes refuse
    /// early data for a shorter time: about four minutes in total
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
        let server = ReferenceServer::start(&cluster.certificate()?).await?;
        early::check_detection(server.address, &roots).await
    })?;
    let clients = clients(&cluster);
    let kinds = clients.iter().map(|kind| kind.name).collect();
    let load = Load::start(clients, &roots)?;
    let begun = Instant::now();
    let window = Duration::from_secs(window.into());
    let parameters = Parameters { kinds, roots, quick: options.quick, window };
    let mut run = Run::new(cluster, &runtime, load, parameters);
    run.all()?;

    let replays = run.replays();
    let Run { cluster, load, lines, .. } = run;
    let outcomes = load.stop()?;
    let (kinds, mut faults) = report::kinds(&outcomes);
    faults.extend(
        cluster.repeated().into_iter().map(|path| format!("{path} reached a backend twice")),
    );
    if replays.once == 0 {
        faults.push("no early data was accepted".to_owned());
    }
    println!("\n{}\n\n{kinds}\n", report::table(&lines));
    println!(
        "{} requests; {} replays of first flights, {} accepted once, {} twice; {:.0} s",
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

/// The default freshness window in seconds.
const WINDOW: u32 = 60;
/// A window that is long enough for a replay right after an event to be fresh.
const QUICK_WINDOW: u32 = 8;

/// The clients of the steady load.
fn clients(cluster: &Cluster) -> Vec<ClientKind> {
    let kind = |name, kind, version, early, requests| ClientKind {
        name,
        target: cluster.balancer_address(kind),
        source: None,
        server: SERVER_NAME.to_owned(),
        version,
        early,
        requests,
        clients: 3,
        pause: Duration::from_millis(200),
        limit: Duration::from_secs(60),
    };
    let (tls12, tls13) = (ProtocolVersion::TLS1_2, ProtocolVersion::TLS1_3);
    vec![
        kind("1.2 ticket, store", ResumptionKind::StoreKeys, tls12, false, 1),
        kind("1.3 ticket, store", ResumptionKind::StoreKeys, tls13, false, 1),
        kind("1.3 ticket, store, early", ResumptionKind::StoreKeys, tls13, true, 1),
        kind("1.3 ticket, store, kept open", ResumptionKind::StoreKeys, tls13, false, 4),
        kind("1.2 ticket, file", ResumptionKind::FileKeys, tls12, false, 1),
        kind("1.3 ticket, file", ResumptionKind::FileKeys, tls13, false, 1),
        kind("1.2 id", ResumptionKind::Sessions, tls12, false, 1),
        kind("1.3 stateful", ResumptionKind::Sessions, tls13, false, 1),
        kind("1.3 stateful, early", ResumptionKind::Sessions, tls13, true, 1),
    ]
}

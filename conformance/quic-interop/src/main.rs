//! Other QUIC programs against `tercel-quinn`, in both roles. `README.md` describes the cells.
//!
//! | module | content |
//! |---|---|
//! | [`run`], [`cells`], [`table`] | the run, its cells, its result |
//! | [`programs`] | the other programs |
//! | [`endpoint`], [`exchange`], [`stacks`], [`options`] | an endpoint, on Tercel or rustls |
//! | [`watched`], [`facts`] | what an endpoint observes and prints |
//! | [`version2`] | a client of QUIC version 2 |
//! | [`pki`] | certificates |

#![forbid(unsafe_code)]

mod cells;
mod endpoint;
mod exchange;
mod facts;
mod options;
mod pki;
mod programs;
mod run;
mod stacks;
mod table;
mod version2;
mod watched;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use cells::{Cell, Role};
use options::Options;
use pki::Pki;
use run::Outcome;
use stacks::Stack;
use table::{Entry, Table};

#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Runs all cells, and prints a table.
    Run {
        /// The folder of programs that tools/quic-interop.sh installed and built.
        #[arg(long)]
        build: PathBuf,
        /// Runs the cells whose name contains this text: `PROGRAM CELL ROLE`.
        #[arg(long, default_value = "")]
        filter: String,
    },
    /// Makes a connection in version 2 of QUIC, on Tercel.
    Version2(Options),
    /// Runs one endpoint.
    Endpoint {
        #[arg(long)]
        stack: Stack,
        #[command(subcommand)]
        role: EndpointRole,
    },
}

#[derive(Subcommand)]
enum EndpointRole {
    /// Serves until the process is ended.
    Serve(Options),
    /// Makes connections.
    Connect(Options),
}

fn main() -> Result<ExitCode> {
    match Arguments::parse().command {
        Task::Run { build, filter } => run_all(&build, &filter),
        Task::Version2(options) => {
            version2::connect(&options)?;
            Ok(ExitCode::SUCCESS)
        }
        Task::Endpoint { stack, role } => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                match role {
                    EndpointRole::Serve(options) => endpoint::serve(stack, options).await,
                    EndpointRole::Connect(options) => endpoint::connect(stack, options).await,
                }
            })?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn run_all(build: &std::path::Path, filter: &str) -> Result<ExitCode> {
    let folder = tempfile::tempdir()?;
    let pki = Pki::create(folder.path())?;
    let mut table = Table::default();
    for program in programs::all(build) {
        if let Some(reason) = program.absent() {
            println!("absent: {}: {reason}", program.name());
            table.set_absent(program.name());
            continue;
        }
        for cell in Cell::ALL {
            for role in [Role::Serve, Role::Connect] {
                let name = format!("{} {} {}", program.name(), cell.name(), role.name());
                if !program.supports(cell, role) || !name.contains(filter) {
                    continue;
                }
                let mut outcome = run::run(&*program, cell, role, &pki)?;
                for _ in 1..ATTEMPTS {
                    let Outcome::Failed(reason) = &outcome else { break };
                    println!("again: {name}: {reason}");
                    outcome = run::run(&*program, cell, role, &pki)?;
                }
                match &outcome {
                    Outcome::Passed => println!("ok: {name}"),
                    Outcome::Failed(reason) => println!("FAILED: {name}: {reason}"),
                }
                let passed = matches!(outcome, Outcome::Passed);
                table.set(program.name(), cell, Entry { role, passed });
            }
        }
    }
    println!("\n{table}");
    Ok(if table.has_failures() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Some programs depend on how busy the machine is, and quinn begins a key update at a random time,
/// which may be before the other side's.
const ATTEMPTS: usize = 3;

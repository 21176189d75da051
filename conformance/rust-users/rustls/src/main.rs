//! Runs libraries that use rustls on `tercel-rustls`, and prints a table of what they did. See
//! ../../README.md.
//!
//! Servers run in this process, and each client in a process of its own, so that the calls of
//! either side are counted apart.

mod certificates;
mod clients;
mod counted;
mod servers;

use std::path::Path;
use std::process::{Command, ExitCode, Output};

use anyhow::{Context, Result, bail, ensure};

use certificates::Certificates;
use servers::Servers;

/// Without arguments: runs everything. With the name of a client, a port, and the file of an
/// authority: runs the client.
#[tokio::main]
async fn main() -> Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [] => run_all().await,
        [client, port, authority] => {
            counted::install();
            let done = clients::run(client, port.parse()?, Path::new(authority)).await?;
            ensure!(counted::calls() > 0, "the provider was not used");
            println!("{done}");
            Ok(ExitCode::SUCCESS)
        }
        _ => bail!("usage: tercel-rustls-users [CLIENT PORT AUTHORITY]"),
    }
}

async fn run_all() -> Result<ExitCode> {
    counted::install();
    let folder = tempfile::tempdir()?;
    let certificates = Certificates::create(folder.path())?;
    let servers = Servers::start(&certificates).await?;
    let mut faults = 0;
    println!("{:<16}{:<14}{:<34}refused", "client", "server", "accepted");
    for (client, server) in clients::ALL {
        let port = servers.port(server)?;
        let before = counted::calls();
        let accepted =
            accepted(&child(client, port, &certificates.authority).await?).and_then(|done| {
                ensure!(counted::calls() > before, "{server} did not use the provider");
                Ok(done)
            });
        let refused = refused(&child(client, port, &certificates.other_authority).await?);
        faults += usize::from(accepted.is_err()) + usize::from(refused.is_err());
        let text =
            |result: Result<String>| result.unwrap_or_else(|error| format!("FAULT {error:#}"));
        println!("{client:<16}{server:<14}{:<34}{}", text(accepted), text(refused));
    }
    println!("{faults} faults");
    Ok(if faults == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs a client in a process of its own, which trusts the authority in this file.
async fn child(client: &str, port: u16, authority: &Path) -> Result<Output> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(client).arg(port.to_string()).arg(authority).env_remove("RUST_BACKTRACE");
    let output = tokio::task::spawn_blocking(move || command.output()).await?;
    output.context("the client could not be started")
}

/// The line that the client printed.
fn accepted(output: &Output) -> Result<String> {
    if !output.status.success() {
        bail!("{}", one_line(&output.stderr));
    }
    Ok(one_line(&output.stdout))
}

/// The reason of rustls in the client's error.
fn refused(output: &Output) -> Result<String> {
    const REASON: &str = "UnknownIssuer";
    if output.status.success() {
        bail!("the server was accepted");
    }
    let text = one_line(&output.stderr);
    if !text.contains(REASON) {
        bail!("another error: {text}");
    }
    Ok(REASON.to_owned())
}

fn one_line(text: &[u8]) -> String {
    String::from_utf8_lossy(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

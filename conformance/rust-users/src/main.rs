//! Runs client libraries that use native-tls, built with `tercel-native-tls` in its place, and
//! prints a table of what they did. See README.md.

mod certificates;
mod compare;
mod programs;
mod servers;
mod timed;

use std::path::Path;
use std::process::{Command, ExitCode, Output};

use anyhow::{Context, Result, bail};

use certificates::Certificates;
use compare::Contender;
use servers::Servers;

/// Without arguments: runs everything. With the name of a program and a port: runs the program.
/// `compare` and the programs on rustls and on OpenSSL: compares Tercel with them. `timed` and the
/// arguments of `timed_programs::run`: runs a program of the comparison.
#[tokio::main]
async fn main() -> Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [] => run_all().await,
        [command, rustls, openssl] if command == "compare" => {
            compare(rustls, openssl).await?;
            Ok(ExitCode::SUCCESS)
        }
        [command, arguments @ ..] if command == "timed" => {
            let arguments = arguments.to_vec();
            // It has a runtime of its own.
            tokio::task::spawn_blocking(move || timed(&arguments)).await??;
            Ok(ExitCode::SUCCESS)
        }
        [program, port] => {
            println!("{}", programs::run(program, port.parse()?).await?);
            Ok(ExitCode::SUCCESS)
        }
        _ => bail!("usage: tercel-rust-users [PROGRAM PORT]"),
    }
}

async fn compare(rustls: &str, openssl: &str) -> Result<()> {
    let this = std::env::current_exe()?.to_string_lossy().into_owned();
    let contender = |name, command| Contender { name, command };
    compare::run(&[
        contender("Tercel", vec![this, "timed".to_owned()]),
        contender("rustls", vec![rustls.to_owned()]),
        contender("OpenSSL", vec![openssl.to_owned()]),
    ])
    .await
}

fn timed(arguments: &[String]) -> Result<()> {
    timed_programs::run::<timed::Tls>(arguments, |authority| {
        let authority = reqwest::Certificate::from_pem(authority)?;
        reqwest::Client::builder().tls_certs_only([authority]).build()
    })
}

async fn run_all() -> Result<ExitCode> {
    let folder = tempfile::tempdir()?;
    let certificates = Certificates::create(folder.path())?;
    let servers = Servers::start(folder.path(), &certificates).await?;
    let mut faults = 0;
    println!("{:<30}{:<12}{:<34}refused", "program", "server", "accepted");
    for (program, server) in programs::ALL {
        let Some(port) = servers.port(server) else {
            println!("{program:<30}{server:<12}absent");
            continue;
        };
        let accepted = accepted(&child(program, port, &certificates.authority).await?);
        let refused = refused(&child(program, port, &certificates.other_authority).await?);
        faults += usize::from(accepted.is_err()) + usize::from(refused.is_err());
        let text =
            |result: Result<String>| result.unwrap_or_else(|error| format!("FAULT {error:#}"));
        println!("{program:<30}{server:<12}{:<34}{}", text(accepted), text(refused));
    }
    for absent in servers.absent() {
        println!("absent: {absent}");
    }
    println!("{faults} faults");
    Ok(if faults == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs a program in a process of its own, which trusts the authority in this file.
async fn child(program: &str, port: u16, authority: &Path) -> Result<Output> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args([program, &port.to_string()]);
    command.env("SSL_CERT_FILE", authority).env_remove("SSL_CERT_DIR");
    command.env_remove("RUST_BACKTRACE");
    let output = tokio::task::spawn_blocking(move || command.output()).await?;
    output.context("the program could not be started")
}

/// The line that the program printed.
fn accepted(output: &Output) -> Result<String> {
    if !output.status.success() {
        bail!("{}", one_line(&output.stderr));
    }
    Ok(one_line(&output.stdout))
}

/// The text of Tercel in the program's error.
fn refused(output: &Output) -> Result<String> {
    const REFUSAL: &str = "certificate refused: ";
    if output.status.success() {
        bail!("the server was accepted");
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let refusal = text.lines().find_map(|line| line.split_once(REFUSAL));
    let Some((_, refusal)) = refusal else { bail!("another error: {}", one_line(&output.stderr)) };
    // The first part is enough for a table.
    let reason = refusal.split([':', ';', '"']).next().unwrap_or_default();
    Ok(reason.to_owned())
}

fn one_line(text: &[u8]) -> String {
    String::from_utf8_lossy(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

//! Other clients: `openssl s_client` takes a session from node to node, and curl uses the balancer.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};
use tercel_harness::pki::SERVER_NAME;
use tercel_harness::process::Process;
use tercel_harness::program::find;

use crate::cluster::{Cluster, ResumptionKind};

/// The time limit of a program.
const LIMIT: Duration = Duration::from_secs(60);

/// The counts of requests, and the faults.
#[derive(Debug, Default)]
pub(crate) struct Results {
    pub(crate) requests: usize,
    pub(crate) resumed: usize,
    pub(crate) absent: Vec<&'static str>,
    pub(crate) faults: Vec<String>,
}

pub(crate) fn run(cluster: &Cluster) -> Result<Results> {
    let mut results = Results::default();
    let roots = cluster.folder().join("roots.pem");
    std::fs::write(&roots, cluster.root_pem())?;
    if find("openssl").is_some() {
        for (kind, options) in [
            (ResumptionKind::StoreKeys, ["-tls1_2"].as_slice()),
            (ResumptionKind::StoreKeys, ["-tls1_3"].as_slice()),
            (ResumptionKind::FileKeys, ["-tls1_3"].as_slice()),
            (ResumptionKind::Sessions, ["-tls1_2", "-no_ticket"].as_slice()),
            (ResumptionKind::Sessions, ["-tls1_3"].as_slice()),
        ] {
            let what = format!("openssl s_client {} {}", kind.name(), options.join(" "));
            if let Err(error) = openssl(cluster, kind, options, &roots, &mut results) {
                results.faults.push(format!("{what}: {error}"));
            }
        }
    } else {
        results.absent.push("openssl");
    }
    if find("curl").is_some() {
        for version in ["--tls-max 1.2", "--tlsv1.3"] {
            results.requests += 1;
            if let Err(error) = curl(cluster, version, &roots) {
                results.faults.push(format!("curl {version}: {error}"));
            }
        }
    } else {
        results.absent.push("curl");
    }
    Ok(results)
}

/// Connects to one node after the other, each time with the session of the previous connection.
fn openssl(
    cluster: &Cluster,
    kind: ResumptionKind,
    options: &[&str],
    roots: &Path,
    results: &mut Results,
) -> Result<()> {
    let session = cluster.folder().join("session.pem");
    for (number, node) in cluster.node_addresses(kind).into_iter().enumerate() {
        let mut command = Command::new("openssl");
        command.args(["s_client", "-connect", &node.to_string(), "-servername", SERVER_NAME]);
        command.args(["-verify_return_error", "-ign_eof", "-CAfile"]).arg(roots).args(options);
        command.arg("-sess_out").arg(&session);
        if number > 0 {
            command.arg("-sess_in").arg(&session);
        }
        let output = talk(command)?;
        ensure!(
            output.contains("HTTP/1.1 200"),
            "node {number} does not answer: {}",
            tail(&output)
        );
        let reused = output.contains("Reused, ");
        ensure!(reused == (number > 0), "node {number}: reused = {reused}");
        results.requests += 1;
        results.resumed += usize::from(reused);
    }
    Ok(())
}

fn talk(command: Command) -> Result<String> {
    let mut process = Process::start(command)?;
    process.send_input(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    let ended = process.wait(LIMIT);
    // The last output may still be in the pipe.
    std::thread::sleep(Duration::from_millis(50));
    let output = process.all_output();
    ensure!(ended.is_ok(), "the program did not end: {}", tail(&output));
    Ok(output)
}

fn curl(cluster: &Cluster, version: &str, roots: &Path) -> Result<()> {
    let front: SocketAddr = cluster.balancer_address(ResumptionKind::StoreKeys);
    let mut command = Command::new("curl");
    command.args(["--silent", "--show-error", "--fail", "--max-time", "10", "--cacert"]).arg(roots);
    command.args(version.split(' ')).arg(format!("https://{SERVER_NAME}:{}/", front.port()));
    let mut process = Process::start(command)?;
    let status = process.wait(LIMIT)?;
    ensure!(status.success(), "{status}: {}", tail(&process.all_output()));
    Ok(())
}

fn tail(text: &str) -> String {
    let lines: Vec<_> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(3)..].join(" | ")
}

//! Clients of others: `openssl s_client` takes a session from one node to the next, curl goes through the balancer.
//!
//! Must not know: what befalls the cluster. Next: `cluster.rs`.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};
use tercel_harness::pki::SERVER_NAME;
use tercel_harness::process::Process;
use tercel_harness::program::find;

use crate::cluster::{Cluster, Face};

/// How long a program may take.
const LIMIT: Duration = Duration::from_secs(10);

/// What was tried, and what of it failed.
#[derive(Debug, Default)]
pub(crate) struct Tried {
    pub(crate) requests: usize,
    pub(crate) resumed: usize,
    pub(crate) absent: Vec<&'static str>,
    pub(crate) faults: Vec<String>,
}

pub(crate) fn run(cluster: &Cluster) -> Result<Tried> {
    let mut tried = Tried::default();
    let roots = cluster.folder().join("roots.pem");
    std::fs::write(&roots, cluster.root_pem())?;
    if find("openssl").is_some() {
        for (face, options) in [
            (Face::StoreKeys, ["-tls1_2"].as_slice()),
            (Face::StoreKeys, ["-tls1_3"].as_slice()),
            (Face::FileKeys, ["-tls1_3"].as_slice()),
            (Face::Sessions, ["-tls1_2", "-no_ticket"].as_slice()),
            (Face::Sessions, ["-tls1_3"].as_slice()),
        ] {
            let what = format!("openssl s_client {} {}", face.name(), options.join(" "));
            if let Err(error) = openssl(cluster, face, options, &roots, &mut tried) {
                tried.faults.push(format!("{what}: {error}"));
            }
        }
    } else {
        tried.absent.push("openssl");
    }
    if find("curl").is_some() {
        for version in ["--tls-max 1.2", "--tlsv1.3"] {
            tried.requests += 1;
            if let Err(error) = curl(cluster, version, &roots) {
                tried.faults.push(format!("curl {version}: {error}"));
            }
        }
    } else {
        tried.absent.push("curl");
    }
    Ok(tried)
}

/// One node after the other, each with the session of the one before.
fn openssl(
    cluster: &Cluster,
    face: Face,
    options: &[&str],
    roots: &Path,
    tried: &mut Tried,
) -> Result<()> {
    let session = cluster.folder().join("session.pem");
    for (number, node) in cluster.behind(face).into_iter().enumerate() {
        let mut command = Command::new("openssl");
        command.args(["s_client", "-connect", &node.to_string(), "-servername", SERVER_NAME]);
        command.args(["-verify_return_error", "-ign_eof", "-CAfile"]).arg(roots).args(options);
        command.arg("-sess_out").arg(&session);
        if number > 0 {
            command.arg("-sess_in").arg(&session);
        }
        let said = talk(command)?;
        ensure!(said.contains("HTTP/1.1 200"), "node {number} does not answer: {}", tail(&said));
        let reused = said.contains("Reused, ");
        ensure!(reused == (number > 0), "node {number}: reused is {reused}");
        tried.requests += 1;
        tried.resumed += usize::from(reused);
    }
    Ok(())
}

fn talk(command: Command) -> Result<String> {
    let mut process = Process::start(command)?;
    process.give(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    let ended = process.wait(LIMIT);
    // The last words may still be in the pipe.
    std::thread::sleep(Duration::from_millis(50));
    let said = process.said();
    ensure!(ended.is_ok(), "did not end: {}", tail(&said));
    Ok(said)
}

fn curl(cluster: &Cluster, version: &str, roots: &Path) -> Result<()> {
    let front: SocketAddr = cluster.front(Face::StoreKeys);
    let mut command = Command::new("curl");
    command.args(["--silent", "--show-error", "--fail", "--max-time", "10", "--cacert"]).arg(roots);
    command.args(version.split(' ')).arg(format!("https://{SERVER_NAME}:{}/", front.port()));
    let mut process = Process::start(command)?;
    let status = process.wait(LIMIT)?;
    ensure!(status.success(), "{status}: {}", tail(&process.said()));
    Ok(())
}

fn tail(text: &str) -> String {
    let lines: Vec<_> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(3)..].join(" | ")
}

//! haproxy in front of the nodes: TCP, round robin.
//!
//! haproxy checks the health of each node as in a deployment, and connects to the next node if a
//! node does not accept.

use std::fmt::Write as _;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use tercel_harness::ports::free_port;
use tercel_harness::process::Process;
use tercel_harness::proxy::wait_for;

/// The program.
pub(crate) const PROGRAM: &str = "haproxy";

/// A running balancer.
#[derive(Debug)]
pub(crate) struct Balancer {
    /// Ends the process when dropped.
    _process: Process,
}

/// Equivalent nodes, each with its address and the address of its health check.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) front: SocketAddr,
    pub(crate) nodes: Vec<(SocketAddr, SocketAddr)>,
}

impl Group {
    pub(crate) fn new(nodes: Vec<(SocketAddr, SocketAddr)>) -> Result<Self> {
        Ok(Self { front: SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()?)), nodes })
    }
}

impl Balancer {
    pub(crate) fn start(folder: &Path, groups: &[&Group]) -> Result<Self> {
        let mut text = "global
    maxconn 2000
defaults
    mode tcp
    timeout connect 2s
    timeout client 60s
    timeout server 60s
    timeout check 1s
    retries 3
    option redispatch 1
    balance roundrobin
    option httpchk GET /healthz
"
        .to_owned();
        for (number, group) in groups.iter().enumerate() {
            writeln!(text, "listen group{number}\n    bind {}", group.front)?;
            for (node, (address, admin)) in group.nodes.iter().enumerate() {
                let check = format!("check port {} inter 200ms fall 1 rise 1", admin.port());
                writeln!(text, "    server node{node} {address} {check}")?;
            }
        }
        let config = folder.join("haproxy.cfg");
        fs::write(&config, text)?;
        let mut command = Command::new(PROGRAM);
        // `-db` keeps haproxy in the foreground, so that the process ends when its handle is
        // dropped.
        command.arg("-db").arg("-f").arg(&config);
        let process = Process::start(command)?;
        wait_for("haproxy listens", Duration::from_secs(60), || {
            groups.iter().all(|group| std::net::TcpStream::connect(group.front).is_ok())
        })?;
        Ok(Self { _process: process })
    }
}

//! Floods of a server of HTTP/3: Initial packets, half-finished handshakes, CRYPTO frames with
//! holes and overlaps, and huge tickets.
//!
//! `tercel serve --http3` runs with a limit of open connections. Each flood is sent while regular
//! clients make requests, all of which must be answered. The server's memory stays within a limit,
//! also during a flood, and its log has a line for each connection that it accepted.

mod initial;
mod regular;
mod unfinished;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use tercel::ClientConfig;
use tercel::pki::Roots;
use tercel::wire::NamedGroup;
use tercel_harness::folder::TemporaryFolder;
use tercel_harness::pki::{Authority, Key, Leaf};
use tercel_harness::ports::free_port;
use tercel_harness::process::Process;
use tercel_harness::resources::Resources;
use tokio::runtime::Runtime;

use crate::phase::{self, Line, Peak};
use initial::Shape;
use regular::RegularClients;

/// The name of the server's certificate.
const NAME: &str = "localhost";

/// The server's limit of open connections.
const CONNECTIONS: usize = 64;

/// The server's time limits.
const LIMIT: Duration = Duration::from_secs(3);

/// The memory that a flood may add, in KiB: the connections that may exist, four times as many as
/// may be open, with 128 KiB each.
const MEMORY: u64 = 4 * CONNECTIONS as u64 * 128;

/// A flood.
#[derive(Clone, Copy, Debug)]
enum Flood {
    /// Connections that begin with Initial packets and do not continue.
    Initial(Shape),
    /// Handshakes without the client's Finished.
    Unfinished,
}

impl Flood {
    const ALL: [Self; 5] = [
        Self::Initial(Shape::Hello),
        Self::Initial(Shape::Holes),
        Self::Initial(Shape::BeyondLimit),
        Self::Initial(Shape::HugeTicket),
        Self::Unfinished,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Initial(Shape::Hello) => "quic initial flood",
            Self::Initial(Shape::Holes) => "quic holes and overlaps",
            Self::Initial(Shape::BeyondLimit) => "quic crypto beyond limit",
            Self::Initial(Shape::HugeTicket) => "quic huge tickets",
            Self::Unfinished => "quic half-finished",
        }
    }

    /// The number of connections of this flood.
    fn connections(self, quick: bool) -> usize {
        let all = match self {
            Self::Initial(Shape::Hello) => 20_000,
            Self::Initial(_) => 2000,
            Self::Unfinished => 1200,
        };
        if quick { all / 10 } else { all }
    }

    /// The text of the server's log lines that this flood must cause.
    fn expected_reason(self) -> &'static str {
        match self {
            Self::Initial(Shape::BeyondLimit) => "crypto",
            Self::Initial(_) | Self::Unfinished => "timed out",
        }
    }
}

/// The server under test.
struct Server {
    process: Process,
    address: SocketAddr,
    roots: Roots,
    _folder: TemporaryFolder,
}

impl Server {
    fn start(program: &Path) -> Result<Self> {
        let folder = TemporaryFolder::create("tercel-faults-quic")?;
        let authority = Authority::new("QUIC floods", Key::P256)?;
        let pem = authority.issue(&Leaf { names: &[NAME], ..Leaf::SERVER }, Key::P256)?;
        let (certificate, key) = (folder.path().join("crt"), folder.path().join("key"));
        std::fs::write(&certificate, &pem.certificates)?;
        std::fs::write(&key, &pem.key)?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()?));
        let mut command = Command::new(program);
        command.args(["serve", "--http3", "--listen", &address.to_string()]);
        command.arg("--cert").arg(&certificate).arg("--key").arg(&key);
        command.args(["--max-connections", &CONNECTIONS.to_string()]);
        command.args(["--timeout", &LIMIT.as_secs().to_string()]);
        let process = Process::start(command)?;
        let roots = tercel_harness::proxy::roots(&authority.root_pem())?;
        let deadline = Instant::now() + Duration::from_secs(60);
        while !process.all_output().contains("HTTP/3") {
            ensure!(
                Instant::now() < deadline,
                "the server does not start: {}",
                process.all_output()
            );
            thread::sleep(Duration::from_millis(10));
        }
        Ok(Self { process, address, roots, _folder: folder })
    }

    fn resident(&self) -> Result<u64> {
        Ok(Resources::of(self.process.id())?.resident)
    }

    /// The ends of connections that were logged after this length of the log, by reason.
    fn reasons(&self, after: usize) -> BTreeMap<String, u64> {
        let mut reasons = BTreeMap::new();
        for line in self.process.all_output().get(after..).unwrap_or_default().lines() {
            if let Some((_, reason)) = line.split_once("  ") {
                // A line of a handshake that succeeded continues with its parameters.
                let reason = if reason.starts_with("HTTP/3") { "connected" } else { reason };
                *reasons.entry(reason.to_owned()).or_default() += 1;
            }
        }
        reasons
    }
}

/// Sends each flood to one server.
pub(crate) fn run(program: &Path, runtime: &Runtime, quick: bool) -> Result<Vec<Line>> {
    let server = Server::start(program)?;
    let tls = ClientConfig::builder().roots(server.roots.clone());
    // A short key share, so that a ClientHello fits into one packet.
    let tls = tls.groups(&[NamedGroup::X25519]).alpn(&["h3"]).build()?;
    let regular = RegularClients::start(server.address, &tls)?;
    let mut floods = Floods { server, tls, regular, runtime };
    // Without a warm-up, memory that is allocated on first use would look like a leak.
    for flood in Flood::ALL {
        floods.send(flood, 2 * CONNECTIONS)?;
    }
    thread::sleep(2 * LIMIT);
    let baseline = floods.server.resident()?;
    let mut lines = Vec::new();
    for flood in Flood::ALL {
        lines.push(floods.line(flood, flood.connections(quick), baseline)?);
    }
    floods.regular.stop()?;
    Ok(lines)
}

/// What floods share.
struct Floods<'r> {
    server: Server,
    tls: Arc<ClientConfig>,
    regular: RegularClients,
    runtime: &'r Runtime,
}

impl Floods<'_> {
    /// Sends a flood and checks the requirements.
    fn line(&mut self, flood: Flood, clients: usize, baseline: u64) -> Result<Line> {
        let (start, logged) = (Instant::now(), self.server.process.all_output().len());
        let peak = Peak::watch(self.server.process.id());
        let mut faults = Vec::new();
        let completed = self.send(flood, clients)?;
        if completed > 0 {
            faults.push(format!("{completed} handshakes without Finished are complete"));
        }
        // The last connections reach their time limit.
        thread::sleep(2 * LIMIT);
        let (peak, now) = (peak.end(), self.server.resident()?);
        for (what, resident) in [("during", peak), ("after", now)] {
            if resident > baseline + MEMORY {
                faults.push(format!("{resident} KiB {what} the flood, {baseline} KiB before"));
            }
        }
        let refused = self.server.reasons(logged);
        let expected = flood.expected_reason();
        if !refused.keys().any(|reason| reason.to_lowercase().contains(expected)) {
            faults.push(format!("no line in the log with {expected:?}"));
        }
        if let Some(status) = self.server.process.ended()? {
            faults.push(format!("the server ended: {status}"));
        }
        let regular = self.regular.since(start);
        if regular.is_empty() {
            faults.push("no regular client was served".to_owned());
        }
        Ok(Line {
            name: flood.name().to_owned(),
            clients,
            took: start.elapsed(),
            regular: regular.len(),
            regular_failed: phase::failures(&regular),
            slowest: phase::percentile(&regular, 99),
            peak,
            refused,
            backend_failures: 0,
            other_terminator: true,
            faults,
        })
    }

    /// Sends connections of a flood. Returns how many completed the handshake, which none can.
    fn send(&self, flood: Flood, connections: usize) -> Result<usize> {
        let (server, tls) = (self.server.address, &self.tls);
        match flood {
            Flood::Initial(shape) => {
                initial::send(shape, connections, server, tls)?;
                Ok(0)
            }
            Flood::Unfinished => self.runtime.block_on(unfinished::send(connections, server, tls)),
        }
    }
}

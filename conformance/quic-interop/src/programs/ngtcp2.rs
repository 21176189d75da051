//! ngtcp2's example programs over GnuTLS, as Debian packages them. They speak HTTP/3 only.

use std::fs;
use std::process::Command;
use std::time::Duration;

use super::{Program, Setup, is_installed};
use crate::cells::{Cell, Role};
use crate::exchange;
use crate::facts::Facts;

pub(super) struct Ngtcp2;

impl Program for Ngtcp2 {
    fn name(&self) -> &'static str {
        "ngtcp2"
    }

    fn absent(&self) -> Option<String> {
        let programs = [CLIENT, SERVER];
        let missing = programs.iter().find(|program| !is_installed(program))?;
        Some(format!("no {missing}: Debian's packages ngtcp2-client and ngtcp2-server"))
    }

    fn supports(&self, cell: Cell, role: Role) -> bool {
        match (cell, role) {
            // The client does not verify certificates.
            (Cell::RefusedCertificate, Role::Serve) => false,
            // Only the client updates its keys.
            (Cell::KeyUpdateThere, Role::Connect) => false,
            // Debian 12's has a draft of version 2.
            (Cell::Version2, _) => false,
            _ => true,
        }
    }

    fn alpn(&self) -> &'static str {
        "h3"
    }

    /// GnuTLS refuses early data of a ticket that seems older than the process, in whole seconds.
    fn start_time(&self, cell: Cell) -> Duration {
        if cell == Cell::EarlyData { Duration::from_millis(2500) } else { Duration::ZERO }
    }

    fn commands(&self, setup: &Setup<'_>) -> Vec<Command> {
        match setup.role {
            Role::Connect => vec![server(setup)],
            Role::Serve => (0..setup.cell.connections()).map(|_| client(setup)).collect(),
        }
    }

    fn facts(&self, setup: &Setup<'_>, outputs: &[String]) -> Vec<Facts> {
        if setup.role == Role::Connect {
            return Vec::new();
        }
        let downloaded =
            fs::read(setup.folder.join("page")).is_ok_and(|got| got == exchange::page());
        let facts = outputs.iter().map(|output| {
            let mut facts = Facts::default();
            facts.set("exchanges", u8::from(downloaded));
            if output.contains("Early data was rejected") {
                facts.set("early", 0);
            }
            facts
        });
        facts.collect()
    }
}

const CLIENT: &str = "gtlsclient";
const SERVER: &str = "/usr/sbin/gtlsserver";

/// P-384 only.
const ONLY_P384: &str = "--groups=-GROUP-ALL:+GROUP-SECP384R1";
/// GnuTLS's client has a share of the first group of each kind.
const ALSO_P384: &str = "--groups=-GROUP-ALL:+GROUP-X25519:+GROUP-SECP256R1:+GROUP-SECP384R1";

fn client(setup: &Setup<'_>) -> Command {
    let options = &setup.options;
    let mut command = Command::new(CLIENT);
    command.args(["--exit-on-all-streams-close", "--no-quic-dump", "--no-http-dump"]);
    command.arg(format!("--download={}", setup.folder.display())).arg("--sni=localhost");
    if options.p384 {
        command.arg(ALSO_P384);
    }
    if options.connections > 1 {
        command.arg(format!("--session-file={}", setup.folder.join("session").display()));
        command.arg(format!("--tp-file={}", setup.folder.join("parameters").display()));
        // Otherwise the first connection would end before it has a ticket.
        if !options.early_data {
            command.args(["--disable-early-data", "--delay-stream=300ms"]);
        }
    }
    if options.key_update {
        command.arg("--key-update=100ms");
    }
    if matches!(setup.cell, Cell::KeyUpdateHere | Cell::KeyUpdateThere) {
        // The exchange follows the update of either side.
        command.arg("--delay-stream=400ms");
    }
    if let (Some(cert), Some(key)) = (&options.cert, &options.key) {
        command.arg(format!("--cert={}", cert.display())).arg(format!("--key={}", key.display()));
    }
    command.args(["127.0.0.1", &options.port.to_string(), "https://localhost/page"]);
    command
}

fn server(setup: &Setup<'_>) -> Command {
    let options = &setup.options;
    // The server sends files, and an error if this cannot be written.
    _ = fs::write(setup.folder.join("page"), exchange::page());
    let mut command = Command::new(SERVER);
    command.args(["--no-quic-dump", "--no-http-dump"]);
    command.arg(format!("--htdocs={}", setup.folder.display()));
    if options.p384 {
        command.arg(ONLY_P384);
    }
    if options.retry {
        command.arg("--validate-addr");
    }
    if options.roots.is_some() {
        command.arg("--verify-client");
    }
    command.args(["127.0.0.1", &options.port.to_string()]);
    command.args(options.key.iter().chain(&options.cert));
    command
}

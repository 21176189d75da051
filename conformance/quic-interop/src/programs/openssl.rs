//! `openssl s_client -quic`, from OpenSSL 3.2 on.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Program, Setup};
use crate::cells::{Cell, Role};
use crate::facts::Facts;

pub(super) struct OpenSsl {
    program: Option<PathBuf>,
}

impl OpenSsl {
    /// The program that was built for this run, or else an installed one that has the option.
    pub(super) fn new(build: &Path) -> Self {
        let candidates = [build.join("openssl/apps/openssl"), PathBuf::from("openssl")];
        let has_quic = |program: &PathBuf| {
            let help = Command::new(program).args(["s_client", "-help"]).output();
            help.is_ok_and(|help| String::from_utf8_lossy(&help.stderr).contains("-quic"))
        };
        Self { program: candidates.into_iter().find(has_quic) }
    }
}

impl Program for OpenSsl {
    fn name(&self) -> &'static str {
        "openssl"
    }

    fn absent(&self) -> Option<String> {
        let reason = "no openssl with `s_client -quic`: tools/quic-interop.sh --openssl builds it";
        self.program.is_none().then(|| reason.to_owned())
    }

    /// There is no server, and the client has no HTTP/3, no 0-RTT, and no command for key updates.
    fn supports(&self, cell: Cell, role: Role) -> bool {
        let missing = [Cell::EarlyData, Cell::KeyUpdateThere, Cell::Http3, Cell::Version2];
        role == Role::Serve && !missing.contains(&cell)
    }

    fn commands(&self, setup: &Setup<'_>) -> Vec<Command> {
        let options = &setup.options;
        let quoted = |path: &Path| format!("'{}'", path.display());
        let program = self.program.as_deref().unwrap_or(Path::new("openssl"));
        let mut line = format!(
            "{} s_client -quic -alpn echo -connect 127.0.0.1:{} -servername localhost",
            quoted(program),
            options.port
        );
        if let Some(roots) = &options.roots {
            line += &format!(
                " -CAfile {} -verify_return_error -verify_hostname localhost",
                quoted(roots)
            );
        }
        if let (Some(cert), Some(key)) = (&options.cert, &options.key) {
            line += &format!(" -cert {} -key {}", quoted(cert), quoted(key));
        }
        if options.p384 {
            line += " -groups '*X25519:secp384r1'";
        }
        let session = quoted(&setup.folder.join("session"));
        (0..options.connections)
            .map(|number| {
                let direction = if number == 0 { "-sess_out" } else { "-sess_in" };
                let stored = match options.connections {
                    1 => String::new(),
                    _ => format!(" {direction} {session}"),
                };
                let mut command = Command::new("sh");
                // The input stays open until both echoes have arrived. In between, the server may
                // update its keys.
                let words = format!("echo {WORD}; sleep 0.4; echo {WORD}; sleep 0.6");
                command.arg("-c").arg(format!("({words}) | {line}{stored}"));
                command
            })
            .collect()
    }

    fn facts(&self, _: &Setup<'_>, outputs: &[String]) -> Vec<Facts> {
        let facts = outputs.iter().map(|output| {
            let mut facts = Facts::default();
            let echoes = output.lines().filter(|line| line.contains(WORD)).count();
            facts.set("exchanges", u8::from(echoes == 2));
            if output.contains("Reused, TLSv1.3") {
                facts.set("resumed", 1);
            } else if output.contains("New, TLSv1.3") {
                facts.set("resumed", 0);
            }
            facts
        });
        facts.collect()
    }
}

/// What the client sends, and nothing else prints.
const WORD: &str = "bytes-over-quic";

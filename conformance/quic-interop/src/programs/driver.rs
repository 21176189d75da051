//! Programs of this folder over other libraries, with the options of [`Options`](crate::options).

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Program, Setup};
use crate::cells::{Cell, Role};

pub(super) struct Driver {
    name: &'static str,
    program: PathBuf,
    arguments: Vec<PathBuf>,
    missing: &'static str,
    unsupported: &'static [(Cell, Role)],
}

impl Driver {
    /// This program, with rustls in the place of Tercel.
    pub(super) fn rustls() -> Self {
        Self {
            name: "quinn, rustls",
            program: std::env::current_exe().unwrap_or_default(),
            arguments: ["endpoint", "--stack", "rustls"].map(PathBuf::from).to_vec(),
            missing: "",
            unsupported: &[(Cell::Version2, Role::Serve), (Cell::Version2, Role::Connect)],
        }
    }

    pub(super) fn aioquic(build: &Path) -> Self {
        let peer = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/aioquic_peer.py");
        Self {
            name: "aioquic",
            program: build.join("aioquic/bin/python"),
            arguments: vec![peer],
            missing: "no aioquic: tools/quic-interop.sh installs it with python3-venv",
            // It has no HelloRetryRequest, and its server requests no certificates.
            unsupported: &[
                (Cell::HelloRetryRequest, Role::Serve),
                (Cell::HelloRetryRequest, Role::Connect),
                (Cell::ClientCertificate, Role::Connect),
                (Cell::Version2, Role::Serve),
            ],
        }
    }

    pub(super) fn quic_go(build: &Path) -> Self {
        Self {
            name: "quic-go",
            program: build.join("quic-go-peer"),
            arguments: Vec::new(),
            missing: "no quic-go: tools/quic-interop.sh builds it with Go 1.26 or newer",
            unsupported: &[(Cell::Version2, Role::Serve)],
        }
    }
}

impl Program for Driver {
    fn name(&self) -> &'static str {
        self.name
    }

    fn absent(&self) -> Option<String> {
        (!self.program.is_file()).then(|| self.missing.to_owned())
    }

    fn supports(&self, cell: Cell, role: Role) -> bool {
        !self.unsupported.contains(&(cell, role))
    }

    fn commands(&self, setup: &Setup<'_>) -> Vec<Command> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).arg(setup.role.other().name());
        command.args(setup.options.arguments());
        vec![command]
    }
}

//! The `tercel` program, which every other one is run against.

use std::path::PathBuf;
use std::process::Command;

use super::{Abilities, ClientAuth, Connect, Limits, Program, Serve, Server};
use crate::terms::{Key, Version, all_groups};

/// `tercel serve` and `tercel connect`.
#[derive(Debug)]
pub(crate) struct Tercel {
    path: PathBuf,
    abilities: Abilities,
}

impl Tercel {
    pub(crate) fn at(path: PathBuf) -> Self {
        let present = path.is_file();
        // A bare file name would be searched for on the path.
        let path = path.canonicalize().unwrap_or(path);
        let abilities = Abilities {
            keys: Key::ALL.to_vec(),
            groups: all_groups(),
            heeds_record_size: true,
            ..Abilities::usual(present)
        };
        Self { path, abilities }
    }
}

impl Program for Tercel {
    fn name(&self) -> &'static str {
        "tercel"
    }

    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    fn serve(&self, order: &Serve<'_>) -> Server {
        let mut command = Command::new(&self.path);
        command.arg("serve").arg("--listen").arg(format!("127.0.0.1:{}", order.port));
        command.arg("--cert").arg(&order.credential.certificate);
        command.arg("--key").arg(&order.credential.key);
        match order.files {
            Some(folder) => command.arg("--root").arg(folder),
            None => command.arg("--echo"),
        };
        match order.client_auth {
            ClientAuth::None => {}
            ClientAuth::Optional => {
                command.args(["--client-auth", "optional", "--client-ca"]).arg(&order.client_roots);
            }
            ClientAuth::Required => {
                command.args(["--client-auth", "required", "--client-ca"]).arg(&order.client_roots);
            }
        }
        limit(&mut command, order.limits);
        command.into()
    }

    fn connect(&self, order: &Connect<'_>) -> Command {
        let mut command = Command::new(&self.path);
        command.arg("connect").arg(format!("127.0.0.1:{}", order.port));
        command.arg("--ca").arg(&order.roots).args(["--timeout", "15"]);
        if !order.by_address() {
            command.args(["--name", order.name]);
        }
        if let Some(credential) = &order.credential {
            command.arg("--cert").arg(&credential.certificate).arg("--key").arg(&credential.key);
        }
        limit(&mut command, order.limits);
        command
    }

    fn explains(&self) -> bool {
        true
    }
}

fn limit(command: &mut Command, limits: Limits) {
    match limits.version {
        Some(Version::Tls12) => _ = command.arg("--tls1.2"),
        Some(Version::Tls13) => _ = command.arg("--tls1.3"),
        None => {}
    }
    if let Some(suite) = limits.suite {
        command.args(["--suites", suite.name]);
    }
    if let Some(group) = limits.group {
        command.args(["--groups", group.name]);
    }
}

//! `openssl s_server` and `openssl s_client`.

use std::process::Command;

use super::{
    Abilities, ClientAuth, Connect, Limits, Program, RecordSize, Serve, Server, find, output_of,
};
use crate::pki::Credential;
use crate::terms::{Key, Version, group};

/// The `openssl` program; since 3.5 it has the hybrid groups.
#[derive(Debug)]
pub(crate) struct OpenSsl {
    abilities: Abilities,
}

impl OpenSsl {
    pub(crate) fn find() -> Self {
        let present = find("openssl").is_some();
        let mut abilities = Abilities {
            keys: Key::ALL.to_vec(),
            record_size: RecordSize::Sent,
            ..Abilities::usual(present)
        };
        // Older ones do not know this question and fail, which is an answer too.
        let listed = output_of(Command::new("openssl").args(["list", "-tls-groups", "-tls1_3"]));
        for name in listed.unwrap_or_default().split([':', '\n']) {
            abilities.groups.extend(group(name.trim()).filter(|group| group.hybrid));
        }
        Self { abilities }
    }
}

impl Program for OpenSsl {
    fn name(&self) -> &'static str {
        "openssl"
    }

    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    fn serve(&self, order: &Serve<'_>) -> Server {
        let mut command = Command::new("openssl");
        command.arg("s_server").arg("-accept").arg(format!("127.0.0.1:{}", order.port));
        command.args(["-quiet", "-naccept", "1"]);
        present(&mut command, &order.credential);
        match order.client_auth {
            ClientAuth::None => {}
            ClientAuth::Optional => {
                command.args(["-verify", "4", "-CAfile"]).arg(&order.client_roots);
            }
            ClientAuth::Required => {
                command.args(["-Verify", "4", "-verify_return_error", "-CAfile"]);
                command.arg(&order.client_roots);
            }
        }
        if let Some(folder) = order.files {
            command.arg("-WWW").current_dir(folder);
        }
        limit(&mut command, order.limits);
        Server { command, harness_echoes: order.files.is_none() }
    }

    fn connect(&self, order: &Connect<'_>) -> Command {
        let mut command = Command::new("openssl");
        command.arg("s_client").arg("-connect").arg(format!("127.0.0.1:{}", order.port));
        // Quiet, so that only data is written; but it shall stop when its input ends.
        command.args(["-quiet", "-no_ign_eof", "-verify_return_error"]);
        command.arg("-CAfile").arg(&order.roots);
        if order.by_address() {
            command.args(["-noservername", "-verify_ip", order.name]);
        } else {
            command.args(["-servername", order.name, "-verify_hostname", order.name]);
        }
        if let Some(credential) = &order.credential {
            present(&mut command, credential);
        }
        limit(&mut command, order.limits);
        command
    }
}

fn present(command: &mut Command, credential: &Credential) {
    command.arg("-cert").arg(&credential.certificate);
    // The file is leaf then intermediate; `-cert` reads the first only.
    command.arg("-cert_chain").arg(&credential.certificate);
    command.arg("-key").arg(&credential.key);
}

fn limit(command: &mut Command, limits: Limits) {
    match limits.version {
        Some(Version::Tls12) => _ = command.arg("-tls1_2"),
        Some(Version::Tls13) => _ = command.arg("-tls1_3"),
        None => {}
    }
    if let Some(suite) = limits.suite {
        let option = if suite.version == Version::Tls13 { "-ciphersuites" } else { "-cipher" };
        command.args([option, suite.openssl]);
    }
    if let Some(group) = limits.group {
        command.args(["-groups", group.openssl]);
    }
    if let Some(size) = limits.record_size {
        command.args(["-max_send_frag", &size.to_string()]);
    }
}

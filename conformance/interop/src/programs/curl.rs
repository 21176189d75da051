//! `curl`, which fetches the payload by HTTP instead of echoing it.

use std::iter;
use std::process::Command;

use super::{
    Abilities, CONNECTIONS, Connect, ConnectionPlan, Program, Serve, Server, find, output_of,
    resumptions_by,
};
use crate::cells::Role;
use crate::features::{Feature, Sessions};
use crate::parameters::{Version, group};

/// The `curl` program, which is a client only.
#[derive(Debug)]
pub(crate) struct Curl {
    abilities: Abilities,
}

impl Curl {
    pub(crate) fn find() -> Self {
        let version = output_of(Command::new("curl").arg("--version")).unwrap_or_default();
        // The cells use OpenSSL's names of suites, so curl must use OpenSSL.
        let present = find("curl").is_some() && version.contains(" OpenSSL/");
        let mut abilities = Abilities { serves: false, fetches: true, ..Abilities::usual(present) };
        if version.contains(" OpenSSL/3.5") || version.contains(" OpenSSL/3.6") {
            abilities.groups.extend(group("X25519MLKEM768"));
        }
        Self { abilities }
    }
}

impl Program for Curl {
    fn name(&self) -> &'static str {
        "curl"
    }

    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    fn serve(&self, _: &Serve<'_>) -> Server {
        // No cell calls this: `abilities` excludes curl as a server.
        Command::new("false").into()
    }

    fn connect(&self, order: &Connect<'_>) -> Command {
        let mut command = Command::new("curl");
        // curl uses no user configuration and no proxy; it prints errors, but no progress.
        command.args(["--disable", "--silent", "--show-error", "--noproxy", "*", "--http1.1"]);
        command.arg("--cacert").arg(&order.roots);
        command.args(["--resolve", &format!("{}:{}:127.0.0.1", order.name, order.port)]);
        if let Some(credential) = &order.credential {
            command.arg("--cert").arg(&credential.certificate).arg("--key").arg(&credential.key);
        }
        match order.limits.version {
            Some(Version::Tls12) => _ = command.args(["--tlsv1.2", "--tls-max", "1.2"]),
            Some(Version::Tls13) => _ = command.args(["--tlsv1.3", "--tls-max", "1.3"]),
            None => {}
        }
        if let Some(suite) = order.limits.suite {
            let tls13 = suite.version == Version::Tls13;
            command.args([if tls13 { "--tls13-ciphers" } else { "--ciphers" }, suite.openssl]);
        }
        if let Some(group) = order.limits.group {
            command.args(["--curves", group.openssl]);
        }
        // Without this header, curl would request the next file on the same connection.
        command.args(["--header", "Connection: close"]);
        if order.extra.is_some() {
            command.arg("--verbose");
        }
        let url = format!("https://{}:{}/{}", order.name, order.port, order.fetch);
        command.args(iter::repeat_n(url, CONNECTIONS));
        command
    }

    fn features(&self, _: Role) -> Vec<Feature> {
        // curl disables the tickets of TLS 1.2.
        Feature::RESUMPTION
            .into_iter()
            .filter(|feature| *feature != Feature::Resumption(Sessions::Ticket))
            .collect()
    }

    fn connection_plan(&self) -> ConnectionPlan {
        ConnectionPlan::All
    }

    fn resumptions(&self, _: bool, output: &str) -> Option<Vec<bool>> {
        // Before version 8 curl wrote "re-using".
        let output = output.replace("re-using", "reusing");
        Some(resumptions_by(&output, "* Connected to ", "* SSL reusing session ID"))
    }
}

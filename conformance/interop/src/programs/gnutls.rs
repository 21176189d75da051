//! `gnutls-serv` and `gnutls-cli`.
//!
//! `gnutls-serv` cannot be told an address: it listens on all of them. The harness still reaches it
//! by 127.0.0.1 only.

use std::process::Command;

use super::{
    Abilities, ClientAuth, Connect, Limits, Program, RecordSize, Serve, Server, find, output_of,
};
use crate::terms::{Version, group};

/// The GnuTLS programs.
#[derive(Debug)]
pub(crate) struct GnuTls {
    abilities: Abilities,
}

impl GnuTls {
    pub(crate) fn find() -> Self {
        let present = find("gnutls-cli").is_some() && find("gnutls-serv").is_some();
        let mut abilities =
            Abilities { record_size: RecordSize::Received, ..Abilities::usual(present) };
        let listed = output_of(Command::new("gnutls-cli").arg("--list")).unwrap_or_default();
        for name in ["X25519MLKEM768", "SecP256r1MLKEM768", "SecP384r1MLKEM1024"] {
            let known = group(name).filter(|group| listed.contains(group_name(group.name)));
            abilities.groups.extend(known);
        }
        Self { abilities }
    }
}

impl Program for GnuTls {
    fn name(&self) -> &'static str {
        "gnutls"
    }

    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    fn serve(&self, order: &Serve<'_>) -> Server {
        let mut command = Command::new("gnutls-serv");
        command.args(["--quiet", "-p", &order.port.to_string()]);
        command.arg(if order.files.is_some() { "--http" } else { "--echo" });
        command.arg("--x509certfile").arg(&order.credential.certificate);
        command.arg("--x509keyfile").arg(&order.credential.key);
        match order.client_auth {
            ClientAuth::None => {
                command.arg("--disable-client-cert");
            }
            ClientAuth::Optional => {
                command.arg("--verify-client-cert").arg("--x509cafile").arg(&order.client_roots);
            }
            ClientAuth::Required => {
                command.args(["--require-client-cert", "--verify-client-cert", "--x509cafile"]);
                command.arg(&order.client_roots);
            }
        }
        limit(&mut command, order.limits);
        command.into()
    }

    fn connect(&self, order: &Connect<'_>) -> Command {
        let mut command = Command::new("gnutls-cli");
        command.args(["--logfile=/dev/stderr", "-p", &order.port.to_string(), "127.0.0.1"]);
        command.arg("--x509cafile").arg(&order.roots);
        command.args(["--verify-hostname", order.name]);
        if order.by_address() {
            command.arg("--disable-sni");
        } else {
            command.args(["--sni-hostname", order.name]);
        }
        if let Some(credential) = &order.credential {
            command.arg("--x509certfile").arg(&credential.certificate);
            command.arg("--x509keyfile").arg(&credential.key);
        }
        limit(&mut command, order.limits);
        command
    }
}

fn limit(command: &mut Command, limits: Limits) {
    command.args(["--priority", &priority(limits)]);
    if let Some(size) = limits.record_size {
        command.args(["--recordsize", &size.to_string()]);
    }
}

/// GnuTLS takes all limits as one "priority string": everything of a kind off, one thing on.
fn priority(limits: Limits) -> String {
    let mut priority = String::from("NORMAL");
    if let Some(version) = limits.version {
        priority += &format!(":-VERS-ALL:+VERS-TLS{version}");
    }
    if let Some(suite) = limits.suite {
        let cipher = ["AES_128_GCM", "AES_256_GCM", "CHACHA20_POLY1305"]
            .into_iter()
            .find(|cipher| suite.name.contains(cipher))
            .unwrap_or_default();
        priority += &format!(":-CIPHER-ALL:+{}", cipher.replace('_', "-"));
        if suite.version == Version::Tls12 {
            let by_rsa = suite.name.contains("ECDHE_RSA");
            priority += ":-KX-ALL:+ECDHE-";
            priority += if by_rsa { "RSA" } else { "ECDSA" };
        }
    }
    if let Some(group) = limits.group {
        priority += ":-GROUP-ALL:+";
        priority += group_name(group.name);
    }
    priority
}

fn group_name(name: &str) -> &'static str {
    match name {
        "x25519" => "GROUP-X25519",
        "secp256r1" => "GROUP-SECP256R1",
        "secp384r1" => "GROUP-SECP384R1",
        "secp521r1" => "GROUP-SECP521R1",
        "X25519MLKEM768" => "GROUP-X25519-MLKEM768",
        "SecP256r1MLKEM768" => "GROUP-SECP256R1-MLKEM768",
        _ => "GROUP-SECP384R1-MLKEM1024",
    }
}

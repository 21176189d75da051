//! `botan tls_client` and `botan tls_server`.
//!
//! All limits are in a policy file. The client continues if the server's certificate is invalid,
//! and neither program has options for client certificates. The server listens on all addresses.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{Abilities, Connect, Limits, Program, Serve, Server, find, output_of};
use crate::cells::Role;
use crate::features::{Feature, Sessions};
use crate::parameters::{Key, Version};

/// The program `botan` of version 2, which supports TLS up to 1.2.
#[derive(Debug)]
pub(crate) struct Botan {
    abilities: Abilities,
}

impl Botan {
    pub(crate) fn find() -> Self {
        let version = output_of(Command::new("botan").arg("version")).unwrap_or_default();
        // Version 3, which may have other options and TLS 1.3, is not supported here.
        let present = ["botan", "stdbuf"].iter().all(|name| find(name).is_some())
            && version.starts_with("2.");
        let abilities = Abilities {
            versions: vec![Version::Tls12],
            keys: vec![Key::Rsa2048, Key::P256, Key::P384, Key::P521],
            verifies: false,
            // Botan verifies no certificate, and stores sessions by server name only.
            checks_addresses: false,
            has_client_certificates: false,
            requests_certificates: false,
            prints_own_lines: true,
            ..Abilities::usual(present)
        };
        Self { abilities }
    }
}

impl Program for Botan {
    fn name(&self) -> &'static str {
        "botan"
    }

    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    fn serve(&self, order: &Serve<'_>) -> Server {
        let mut command = Command::new("botan");
        command.arg("tls_server").arg(&order.credential.certificate).arg(&order.credential.key);
        command.arg(format!("--port={}", order.port));
        limit(&mut command, order.limits, &order.scratch.join("server.policy"));
        command.into()
    }

    fn connect(&self, order: &Connect<'_>) -> Command {
        // Without `stdbuf`, botan would buffer its output until it ends.
        let mut command = Command::new("stdbuf");
        command.args(["-oL", "botan", "tls_client", order.name, &format!("--port={}", order.port)]);
        command.arg("--skip-system-cert-store");
        command.arg(format!("--trusted-cas={}", order.roots.display()));
        let sessions = order.scratch.join("sessions");
        command.arg(format!("--session-db={}", sessions.display()));
        command.arg("--session-db-pass=interop");
        limit(&mut command, order.limits, &order.scratch.join("client.policy"));
        command
    }

    fn features(&self, role: Role) -> Vec<Feature> {
        match role {
            Role::Serve => [Sessions::Ticket, Sessions::Id].map(Feature::Resumption).to_vec(),
            // Botan's server issues no tickets.
            Role::Connect => vec![Feature::Resumption(Sessions::Id)],
        }
    }
}

fn limit(command: &mut Command, limits: Limits, file: &Path) {
    let mut policy = String::from("allow_tls12 = true\n");
    if let Some(suite) = limits.suite {
        let cipher = [
            ("AES_128_GCM", "AES-128/GCM"),
            ("AES_256_GCM", "AES-256/GCM"),
            ("CHACHA20", "ChaCha20Poly1305"),
        ];
        let cipher = cipher.into_iter().find(|(name, _)| suite.name.contains(name));
        let cipher = cipher.map_or("", |(_, cipher)| cipher);
        let method = if suite.name.contains("ECDHE_RSA") { "RSA" } else { "ECDSA" };
        policy += &format!("ciphers = {cipher}\nmacs = AEAD\nsignature_methods = {method}\n");
    }
    if let Some(group) = limits.group {
        policy += &format!("key_exchange_groups = {}\n", group.name);
    }
    _ = fs::write(file, policy);
    command.arg(format!("--policy={}", file.display()));
}

//! `openssl s_server` and `openssl s_client`.

use std::process::Command;

use super::{
    Abilities, ClientAuth, Connect, Extra, Limits, Mark, Program, RecordSize, Serve, Server,
    early_file, find, output_of, resumptions_by, trace,
};
use crate::cells::Role;
use crate::features::{Feature, Sessions, Update};
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
        match order.extra {
            Some(extra) => serve_extra(&mut command, extra),
            None => _ = command.args(["-quiet", "-naccept", "1"]),
        }
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
        match order.extra {
            Some(extra) => connect_extra(&mut command, extra),
            // So that only data is written.
            None => _ = command.arg("-quiet"),
        }
        // It shall stop when its input ends.
        command.args(["-no_ign_eof", "-verify_return_error"]);
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

    fn features(&self, _: Role) -> Vec<Feature> {
        let mut features = Feature::RESUMPTION.to_vec();
        features.extend([
            Feature::EarlyData,
            Feature::RejectedEarlyData,
            Feature::ForgottenEarlyData,
            Feature::KeyUpdate(Update::BySubject),
            Feature::KeyUpdate(Update::ByPeer),
            Feature::KeyUpdate(Update::AskedByPeer),
        ]);
        features
    }

    fn resumptions(&self, serves: bool, said: &str) -> Vec<bool> {
        if serves {
            resumptions_by(said, "CIPHER is ", "Reused session-id")
        } else {
            resumptions_by(said, "SSL handshake has read ", "Reused, TLSv1.")
        }
    }

    fn early_data(&self, serves: bool, said: &str) -> Option<bool> {
        let words = if serves { SERVERS_WORDS } else { CLIENTS_WORDS };
        words.into_iter().find(|(words, _)| said.contains(words)).map(|(_, accepted)| accepted)
    }

    fn repeats_early_data(&self) -> bool {
        false
    }

    fn update_command(&self, asks: bool) -> &'static [u8] {
        if asks { b"K\n" } else { b"k\n" }
    }

    fn marks(&self, _: bool, feature: Feature) -> Vec<Mark> {
        // Records are traced with their direction: out, in.
        const SENT: Mark = Mark::Traced(">>> TLS 1.3, Handshake [length 0005], KeyUpdate");
        const RECEIVED: Mark = Mark::Traced("<<< TLS 1.3, Handshake [length 0005], KeyUpdate");
        match feature {
            Feature::KeyUpdate(Update::ByPeer) => vec![SENT],
            Feature::KeyUpdate(_) => vec![SENT, RECEIVED],
            _ => Vec::new(),
        }
    }
}

const SERVERS_WORDS: [(&str, bool); 2] =
    [("Early data received:", true), ("Early data was rejected", false)];
const CLIENTS_WORDS: [(&str, bool); 2] =
    [("Early data was accepted", true), ("Early data was rejected", false)];

fn serve_extra(command: &mut Command, extra: Extra<'_>) {
    command.args(["-naccept", &extra.feature.connections().to_string()]);
    match extra.feature {
        Feature::Resumption(Sessions::Id | Sessions::Stateful) => {
            command.arg("-no_ticket");
        }
        Feature::EarlyData | Feature::ForgottenEarlyData => {
            command.args(["-early_data", "-max_early_data", "1000"]);
        }
        Feature::RejectedEarlyData => {
            // The retry that this group takes leaves no room for early data. RFC 9846 4.2.2
            command.args(["-early_data", "-max_early_data", "1000", "-groups", "P-384"]);
            // Its guard takes the session away at the first hello, so that the second finds none.
            command.arg("-no_anti_replay");
        }
        Feature::KeyUpdate(_) => {
            command.args(["-msg", "-msgfile"]).arg(trace(extra.scratch, true));
        }
        _ => {}
    }
}

fn connect_extra(command: &mut Command, extra: Extra<'_>) {
    let session = extra.scratch.join("session.pem");
    if extra.again {
        command.arg("-sess_in").arg(session);
        if extra.feature.has_early_data() {
            command.arg("-early_data").arg(early_file(extra.scratch));
        }
    } else if extra.feature.returns() {
        command.arg("-sess_out").arg(session);
    }
    match extra.feature {
        Feature::Resumption(Sessions::Id) => {
            command.arg("-no_ticket");
        }
        Feature::KeyUpdate(_) => {
            command.args(["-msg", "-msgfile"]).arg(trace(extra.scratch, false));
        }
        _ => {}
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

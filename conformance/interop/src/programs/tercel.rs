//! The `tercel` program, the subject of all runs.

use std::path::PathBuf;
use std::process::Command;

use super::{
    Abilities, ClientAuth, Connect, Extra, Limits, Mark, Program, RECORD_LIMIT, Serve, Server,
    early_file, resumptions_by,
};
use crate::features::{Feature, Owner, Sessions, Update};
use crate::parameters::{Key, Version, all_groups};

/// The `tercel` program, with the commands `tercel serve` and `tercel connect`.
#[derive(Debug)]
pub(crate) struct Tercel {
    path: PathBuf,
    /// Whether the commands get the option --fips.
    fips: bool,
    abilities: Abilities,
}

impl Tercel {
    pub(crate) fn at(path: PathBuf, fips: bool) -> Self {
        let present = path.is_file();
        // A bare file name would be searched for on the search path.
        let path = path.canonicalize().unwrap_or(path);
        let abilities = Abilities {
            keys: Key::ALL.to_vec(),
            // X25519 is not approved by FIPS 140-3.
            groups: all_groups()
                .into_iter()
                .filter(|each| !fips || each.name != "x25519")
                .collect(),
            obeys_record_size: true,
            ..Abilities::usual(present)
        };
        Self { path, fips, abilities }
    }

    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(&self.path);
        command.arg(name);
        if self.fips {
            command.arg("--fips");
        }
        command
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
        let mut command = self.command("serve");
        command.arg("--listen").arg(format!("127.0.0.1:{}", order.port));
        if order.extra.is_some_and(|extra| extra.owns_raw_key(Owner::Server)) {
            command.arg("--raw-key").arg(&order.credential.key);
        } else {
            command.arg("--cert").arg(&order.credential.certificate);
            command.arg("--key").arg(&order.credential.key);
        }
        match order.files {
            Some(folder) => command.arg("--root").arg(folder),
            None => command.arg("--echo"),
        };
        match order.client_auth {
            ClientAuth::None => {}
            ClientAuth::Optional => {
                command.args(["--client-auth", "optional", "--client-ca"]).arg(&order.client_roots);
            }
            ClientAuth::Required => match order.extra.and_then(|extra| extra.peer_key) {
                Some(key) => {
                    command.args(["--client-auth", "required", "--client-keys"]).arg(key);
                }
                None => {
                    command.args(["--client-auth", "required", "--client-ca"]);
                    command.arg(&order.client_roots);
                }
            },
        }
        if let Some(extra) = order.extra {
            serve_extra(&mut command, extra);
        }
        limit(&mut command, order.limits);
        command.into()
    }

    fn connect(&self, order: &Connect<'_>) -> Command {
        let mut command = self.command("connect");
        command.arg(format!("127.0.0.1:{}", order.port));
        match order.extra.and_then(|extra| extra.peer_key) {
            Some(key) => command.arg("--server-keys").arg(key),
            None => command.arg("--ca").arg(&order.roots),
        };
        command.args(["--timeout", "15"]);
        if !order.by_address() {
            command.args(["--name", order.name]);
        }
        if let Some(credential) = &order.credential {
            if order.extra.is_some_and(|extra| extra.owns_raw_key(Owner::Client)) {
                command.arg("--raw-key").arg(&credential.key);
            } else {
                command.arg("--cert").arg(&credential.certificate);
                command.arg("--key").arg(&credential.key);
            }
        }
        command.arg("--session-file").arg(order.scratch.join("sessions"));
        if let Some(extra) = order.extra {
            connect_extra(&mut command, extra, order);
        }
        limit(&mut command, order.limits);
        command
    }

    fn names_causes(&self) -> bool {
        true
    }

    fn resumptions(&self, serves: bool, output: &str) -> Option<Vec<bool>> {
        if serves {
            // Tercel prints one line per established connection, in the order in which the
            // connections end.
            return Some(resumptions_by(output, "  TLS 1.", " resumed"));
        }
        let rows = output.lines().filter_map(|line| line.strip_prefix("resumed "));
        Some(rows.map(|value| value.trim() == "yes").collect())
    }

    fn early_data(&self, serves: bool, output: &str) -> Vec<bool> {
        if serves {
            let told = output.split(" early-data=").skip(1);
            return told.map(|what| !what.starts_with("rejected")).collect();
        }
        let rows = output.lines().filter_map(|line| line.strip_prefix("early-data "));
        rows.filter_map(|value| match value.trim() {
            "accepted" => Some(true),
            "rejected" => Some(false),
            _ => None,
        })
        .collect()
    }

    fn marks(&self, serves: bool, feature: Feature) -> Vec<Mark> {
        match (feature, serves) {
            (Feature::RawKey(Owner::Client), true) => vec![Mark::Printed("client=raw-public-key")],
            (Feature::RawKey(Owner::Client), false) => {
                vec![Mark::Printed("client-certificate-type"), Mark::Printed("RawPublicKey")]
            }
            (Feature::RawKey(Owner::Server), false) => {
                vec![Mark::Printed("server-certificate-type"), Mark::Printed("RawPublicKey")]
            }
            _ => Vec::new(),
        }
    }
}

fn serve_extra(command: &mut Command, extra: Extra<'_>) {
    match extra.feature {
        Feature::Resumption(Sessions::Id | Sessions::Stateful) => {
            command.args(["--sessions", "memory"]);
        }
        Feature::EarlyData | Feature::EarlyDataAtOtherServer => {
            command.args(["--early-data", "1000"]);
        }
        Feature::RejectedEarlyData => {
            // This group causes a retry, which rules out early data. RFC 9846 4.2.2
            command.args(["--early-data", "1000", "--groups", "secp384r1"]);
        }
        Feature::KeyUpdate(Update::BySubject) => {
            command.arg("--update-key");
        }
        Feature::Compression(compression) => {
            command.args(["--certificate-compression", compression.name()]);
        }
        Feature::RecordSizeLimit(Owner::Server) => {
            command.args(["--record-size-limit", &RECORD_LIMIT.to_string()]);
        }
        _ => {}
    }
}

fn connect_extra(command: &mut Command, extra: Extra<'_>, order: &Connect<'_>) {
    match extra.feature {
        feature if feature.has_early_data() && order.again => {
            command.arg("--early-data").arg(early_file(order.scratch));
        }
        Feature::KeyUpdate(Update::BySubject) => {
            command.arg("--update-key");
        }
        Feature::Compression(compression) => {
            command.args(["--compressed-certificates", "--certificate-compression"]);
            command.arg(compression.name());
        }
        Feature::RecordSizeLimit(Owner::Server) => {
            // A server may send its limit only to a client that has sent one. RFC 8449 4
            command.args(["--record-size-limit", "16385"]);
        }
        Feature::RecordSizeLimit(Owner::Client) => {
            command.args(["--record-size-limit", &RECORD_LIMIT.to_string()]);
        }
        _ => {}
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

//! `gnutls-serv` and `gnutls-cli`.
//!
//! `gnutls-serv` has no option for an address: it listens on all of them. The harness connects by
//! 127.0.0.1 only.

use std::process::Command;

use super::{
    Abilities, ClientAuth, Connect, ConnectionPlan, Extra, Limits, Mark, Program, RECORD_LIMIT,
    RecordSize, Serve, Server, early_file, find, output_of, resumptions_by,
};
use crate::cells::Role;
use crate::features::{Feature, Owner, Sessions, Update};
use crate::parameters::{Version, group};
use tercel_harness::pki::Credential;

/// The GnuTLS programs.
#[derive(Debug)]
pub(crate) struct GnuTls {
    abilities: Abilities,
}

impl GnuTls {
    pub(crate) fn find() -> Self {
        let present = find("gnutls-cli").is_some() && find("gnutls-serv").is_some();
        let mut abilities =
            Abilities { record_size: RecordSize::ReceiveBuffer, ..Abilities::usual(present) };
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
        command.args(["-p", &order.port.to_string()]);
        if order.extra.is_none() {
            command.arg("--quiet");
        }
        command.arg(if order.files.is_some() { "--http" } else { "--echo" });
        if order.extra.is_some_and(|extra| extra.owns_raw_key(Owner::Server)) {
            show_raw_key(&mut command, &order.credential);
        } else {
            command.arg("--x509certfile").arg(&order.credential.certificate);
            command.arg("--x509keyfile").arg(&order.credential.key);
        }
        match order.client_auth {
            ClientAuth::None => {
                command.arg("--disable-client-cert");
            }
            ClientAuth::Optional => {
                command.arg("--verify-client-cert").arg("--x509cafile").arg(&order.client_roots);
            }
            // gnutls-serv requests a key, and has no option that sets the expected key.
            ClientAuth::Required if order.extra.is_some_and(|extra| extra.peer_key.is_some()) => {
                command.arg("--require-client-cert");
            }
            ClientAuth::Required => {
                command.args(["--require-client-cert", "--verify-client-cert", "--x509cafile"]);
                command.arg(&order.client_roots);
            }
        }
        if let Some(extra) = order.extra {
            serve_extra(&mut command, extra);
        }
        limit(&mut command, order.limits, order.extra);
        command.into()
    }

    fn connect(&self, order: &Connect<'_>) -> Command {
        let mut command = Command::new("gnutls-cli");
        command.args(["--logfile=/dev/stderr", "-p", &order.port.to_string(), "127.0.0.1"]);
        if order.extra.is_some_and(|extra| extra.owns_raw_key(Owner::Server)) {
            // gnutls-cli compares keys with its own file only, and otherwise asks the user.
            command.arg("--insecure");
        } else {
            command.arg("--x509cafile").arg(&order.roots);
            command.args(["--verify-hostname", order.name]);
        }
        if order.by_address() {
            command.arg("--disable-sni");
        } else {
            command.args(["--sni-hostname", order.name]);
        }
        if let Some(credential) = &order.credential {
            if order.extra.is_some_and(|extra| extra.owns_raw_key(Owner::Client)) {
                show_raw_key(&mut command, credential);
            } else {
                command.arg("--x509certfile").arg(&credential.certificate);
                command.arg("--x509keyfile").arg(&credential.key);
            }
        }
        if let Some(extra) = order.extra {
            connect_extra(&mut command, extra, order);
        }
        if !order.refused {
            command.arg("--resume");
            if order.limits.version != Some(Version::Tls12) {
                // The option is omitted for a refused connection, because the client would also
                // wait after an alert.
                command.arg("--waitresumption");
            }
        }
        limit(&mut command, order.limits, order.extra);
        command
    }

    fn features(&self, role: Role) -> Vec<Feature> {
        let mut features = Feature::RESUMPTION.to_vec();
        if role == Role::Connect {
            // GnuTLS's server has no store for sessions of TLS 1.3.
            features.retain(|feature| *feature != Feature::Resumption(Sessions::Stateful));
        }
        features.extend([
            Feature::EarlyData,
            // RejectedEarlyData is absent: GnuTLS 3.7 fails at a retry with early data, even with
            // itself.
            Feature::EarlyDataAtOtherServer,
            Feature::RawKey(Owner::Server),
            Feature::RawKey(Owner::Client),
            Feature::RecordSizeLimit(Owner::Server),
            Feature::RecordSizeLimit(Owner::Client),
        ]);
        if role == Role::Serve {
            features.push(Feature::KeyUpdate(Update::AskedByPeer));
            features.push(Feature::KeyUpdate(Update::ByPeer));
        }
        features
    }

    fn connection_plan(&self) -> ConnectionPlan {
        ConnectionPlan::Two
    }

    fn resumptions(&self, serves: bool, output: &str) -> Option<Vec<bool>> {
        let connection = if serves { "* Accepted connection" } else { "- Description: " };
        Some(resumptions_by(output, connection, "*** This is a resumed session"))
    }

    fn early_data(&self, serves: bool, output: &str) -> Vec<bool> {
        let accepted = if serves {
            "early data accepted"
        } else {
            // In EncryptedExtensions the extension is empty; in a ticket it has content.
            // RFC 9846 4.3.10
            "Parsing extension 'Early Data/42' (0 bytes)"
        };
        vec![true; output.matches(accepted).count()]
    }

    fn reports_rejected_early_data(&self, _: bool) -> bool {
        false
    }

    fn repeats_early_data(&self) -> bool {
        false
    }

    fn echoes_early_data(&self) -> bool {
        false
    }

    fn update_command(&self, asks: bool) -> &'static [u8] {
        if asks { b"^rekey^\n" } else { b"^rekey1^\n" }
    }

    fn marks(&self, serves: bool, feature: Feature) -> Vec<Mark> {
        match (feature, serves) {
            (Feature::RawKey(Owner::Server), _) => {
                vec![Mark::Printed("(TLS1.3-X.509-Raw Public Key)")]
            }
            (Feature::RawKey(Owner::Client), _) => {
                vec![Mark::Printed("(TLS1.3-Raw Public Key-X.509)")]
            }
            (Feature::KeyUpdate(_), false) => vec![Mark::Printed("- Rekey was completed")],
            _ => Vec::new(),
        }
    }
}

fn show_raw_key(command: &mut Command, credential: &Credential) {
    command.arg("--rawpkfile").arg(&credential.public);
    command.arg("--rawpkkeyfile").arg(&credential.key);
}

fn serve_extra(command: &mut Command, extra: Extra<'_>) {
    match extra.feature {
        Feature::Resumption(Sessions::Id) => {
            command.arg("--noticket");
        }
        Feature::EarlyData | Feature::EarlyDataAtOtherServer => {
            // At this log level GnuTLS reports whether early data was accepted.
            command.args(["--earlydata", "--maxearlydata", "1000", "--debug", "4"]);
        }
        Feature::RecordSizeLimit(Owner::Server) => {
            command.args(["--recordsize", &RECORD_LIMIT.to_string()]);
        }
        _ => {}
    }
}

fn connect_extra(command: &mut Command, extra: Extra<'_>, order: &Connect<'_>) {
    match extra.feature {
        Feature::Resumption(Sessions::Id) => {
            command.arg("--noticket");
        }
        Feature::EarlyData | Feature::EarlyDataAtOtherServer => {
            command.args(["--debug", "4", "--earlydata"]).arg(early_file(order.scratch));
        }
        Feature::KeyUpdate(_) => {
            command.arg("--inline-commands");
        }
        Feature::RecordSizeLimit(Owner::Client) => {
            command.args(["--recordsize", &RECORD_LIMIT.to_string()]);
        }
        _ => {}
    }
}

fn limit(command: &mut Command, limits: Limits, extra: Option<Extra<'_>>) {
    command.args(["--priority", &(priority(limits) + priority_of_feature(extra))]);
    if let Some(size) = limits.record_size {
        command.args(["--recordsize", &size.to_string()]);
    }
}

/// GnuTLS has one "priority string" for all limits. The string removes all values of a kind and
/// adds one value.
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

fn priority_of_feature(extra: Option<Extra<'_>>) -> &'static str {
    match extra.map(|extra| extra.feature) {
        Some(Feature::RawKey(Owner::Server)) => ":-CTYPE-ALL:+CTYPE-SRV-RAWPK:+CTYPE-CLI-X509",
        Some(Feature::RawKey(Owner::Client)) => ":-CTYPE-ALL:+CTYPE-CLI-RAWPK:+CTYPE-SRV-X509",
        _ => "",
    }
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

//! `openssl s_server` and `openssl s_client`: the installed program, and the one of
//! `conformance/peers`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{
    Abilities, ClientAuth, Connect, Extra, Limits, Mark, Program, RecordSize, Serve, Server,
    early_file, find, output_of, resumptions_by, trace,
};
use crate::cells::Role;
use crate::features::{Compression, Feature, Owner, Sessions, Update};
use crate::parameters::{Key, Version, group};
use tercel_harness::pki::{Credential, DER, SERVER_NAME};

/// An `openssl` program. Since 3.2 it supports raw keys, and compression if built with it; since
/// 3.5 the hybrid groups.
#[derive(Debug)]
pub(crate) struct OpenSsl {
    name: String,
    program: PathBuf,
    abilities: Abilities,
    /// Features that only some versions have.
    newer: Vec<Feature>,
}

impl OpenSsl {
    /// The installed program.
    pub(crate) fn find() -> Self {
        Self::new("openssl", find("openssl"))
    }

    /// A program of `conformance/peers`.
    pub(crate) fn built(name: &str, path: &Path) -> Self {
        Self::new(name, path.canonicalize().ok())
    }

    fn new(name: &str, path: Option<PathBuf>) -> Self {
        let present = path.is_some();
        let program = path.unwrap_or_else(|| "openssl".into());
        let mut abilities = Abilities {
            keys: Key::ALL.to_vec(),
            record_size: RecordSize::Sent,
            ..Abilities::usual(present)
        };
        // Versions without this option have no hybrid groups: they fail, and nothing is listed.
        let listed = output_of(Command::new(&program).args(["list", "-tls-groups", "-tls1_3"]));
        for name in listed.unwrap_or_default().split([':', '\n']) {
            abilities.groups.extend(group(name.trim()).filter(|group| group.hybrid));
        }
        let newer = newer_features(&program);
        Self { name: name.to_owned(), program, abilities, newer }
    }
}

impl Program for OpenSsl {
    fn name(&self) -> &str {
        &self.name
    }

    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    fn serve(&self, order: &Serve<'_>) -> Server {
        let mut command = Command::new(&self.program);
        command.arg("s_server").arg("-accept").arg(format!("127.0.0.1:{}", order.port));
        match order.extra {
            Some(extra) => serve_extra(&mut command, extra, order.scratch),
            None => _ = command.arg("-quiet"),
        }
        present(&mut command, &order.credential);
        match order.client_auth {
            ClientAuth::None => {}
            ClientAuth::Optional => {
                command.args(["-verify", "4", "-CAfile"]).arg(&order.client_roots);
            }
            // `s_server` has no option for the expected key, so it prints the key that it receives.
            ClientAuth::Required if order.extra.is_some_and(|e| e.owns_raw_key(Owner::Client)) => {
                command.args(["-Verify", "4"]);
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
        let mut command = Command::new(&self.program);
        command.arg("s_client").arg("-connect").arg(format!("127.0.0.1:{}", order.port));
        match order.extra {
            Some(extra) => connect_extra(&mut command, extra, order),
            // Print application data only.
            None => _ = command.arg("-quiet"),
        }
        let session = order.scratch.join("session.pem");
        // After a refused connection there is no session file.
        if order.again && session.exists() {
            command.arg("-sess_in").arg(&session);
        }
        command.arg("-sess_out").arg(session);
        // Stop at the end of the input.
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
            Feature::EarlyDataAtOtherServer,
            Feature::KeyUpdate(Update::BySubject),
            Feature::KeyUpdate(Update::ByPeer),
            Feature::KeyUpdate(Update::AskedByPeer),
        ]);
        features.extend(&self.newer);
        features
    }

    fn resumptions(&self, serves: bool, output: &str) -> Option<Vec<bool>> {
        Some(if serves {
            resumptions_by(output, "CIPHER is ", "Reused session-id")
        } else {
            resumptions_by(output, "SSL handshake has read ", "Reused, TLSv1.")
        })
    }

    fn early_data(&self, serves: bool, output: &str) -> Vec<bool> {
        let accepted = if serves { "Early data received:" } else { "Early data was accepted" };
        output
            .lines()
            .filter_map(|line| match line {
                _ if line.contains(accepted) => Some(true),
                _ if line.contains("Early data was rejected") => Some(false),
                _ => None,
            })
            .collect()
    }

    fn repeats_early_data(&self) -> bool {
        false
    }

    fn update_command(&self, asks: bool) -> &'static [u8] {
        if asks { b"K\n" } else { b"k\n" }
    }

    fn marks(&self, serves: bool, feature: Feature) -> Vec<Mark> {
        // The trace marks sent records with `>>>` and received ones with `<<<`.
        const SENT: Mark = Mark::Traced(">>> TLS 1.3, Handshake [length 0005], KeyUpdate");
        const RECEIVED: Mark = Mark::Traced("<<< TLS 1.3, Handshake [length 0005], KeyUpdate");
        match feature {
            Feature::KeyUpdate(Update::ByPeer) => vec![SENT],
            Feature::KeyUpdate(_) => vec![SENT, RECEIVED],
            // Only the server has a certificate in these cells.
            Feature::Compression(_) => vec![Mark::Traced(", CompressedCertificate")],
            Feature::RawKey(owner) => {
                let shown_to_it = serves == (owner == Owner::Client);
                let mut marks = vec![Mark::Printed(match owner {
                    Owner::Server => "Server-to-client raw public key negotiated",
                    Owner::Client => "Client-to-server raw public key negotiated",
                })];
                marks.extend(shown_to_it.then_some(Mark::Printed(match owner {
                    Owner::Server => "Server raw public key",
                    Owner::Client => "Client raw public key",
                })));
                marks
            }
            _ => Vec::new(),
        }
    }
}

/// The features that are new in 3.2: raw keys (RFC 7250) and compression (RFC 8879).
fn newer_features(program: &Path) -> Vec<Feature> {
    let ask = |words: &[&str]| output_of(Command::new(program).args(words)).unwrap_or_default();
    // The output begins with a line such as "OpenSSL 3.6.3 ...".
    let version = ask(&["version"]);
    let mut numbers = version.split([' ', '.']).skip(1).map(|n| n.parse().unwrap_or_default());
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if version < (3, 2) {
        return Vec::new();
    }
    let disabled = ask(&["list", "-disabled"]);
    let built = |name| !disabled.lines().any(|line| line.trim() == name);
    let mut features = vec![Feature::RawKey(Owner::Server), Feature::RawKey(Owner::Client)];
    features.extend(built("ZLIB").then_some(Feature::Compression(Compression::Zlib)));
    features.extend(built("BROTLI").then_some(Feature::Compression(Compression::Brotli)));
    features
}

fn serve_extra(command: &mut Command, extra: Extra<'_>, scratch: &Path) {
    match extra.feature {
        Feature::Resumption(Sessions::Id | Sessions::Stateful) => {
            command.arg("-no_ticket");
        }
        Feature::EarlyData | Feature::EarlyDataAtOtherServer => {
            command.args(["-early_data", "-max_early_data", "1000"]);
        }
        Feature::RejectedEarlyData => {
            // This group causes a retry, which rules out early data. RFC 9846 4.2.2
            command.args(["-early_data", "-max_early_data", "1000", "-groups", "P-384"]);
            // OpenSSL's replay guard removes the session at the first ClientHello, before the
            // retry.
            command.arg("-no_anti_replay");
        }
        Feature::KeyUpdate(_) => {
            command.args(["-msg", "-msgfile"]).arg(trace(scratch, true));
        }
        Feature::Compression(_) => {
            command.args(["-cert_comp", "-msg", "-msgfile"]).arg(trace(scratch, true));
        }
        Feature::RawKey(Owner::Server) => _ = command.arg("-enable_server_rpk"),
        Feature::RawKey(Owner::Client) => _ = command.arg("-enable_client_rpk"),
        _ => {}
    }
}

fn connect_extra(command: &mut Command, extra: Extra<'_>, order: &Connect<'_>) {
    if order.again && extra.feature.has_early_data() {
        command.arg("-early_data").arg(early_file(order.scratch));
    }
    match extra.feature {
        Feature::Resumption(Sessions::Id) => {
            command.arg("-no_ticket");
        }
        Feature::KeyUpdate(_) | Feature::Compression(_) => {
            command.args(["-msg", "-msgfile"]).arg(trace(order.scratch, false));
        }
        Feature::RawKey(Owner::Client) => _ = command.arg("-enable_client_rpk"),
        Feature::RawKey(Owner::Server) => {
            command.arg("-enable_server_rpk");
            if let Some(key) = extra.peer_key {
                expect_key(command, key);
            }
        }
        _ => {}
    }
}

/// The expected key is given as a TLSA record of the whole key. RFC 7671 5.1
fn expect_key(command: &mut Command, key: &Path) {
    let key = fs::read(key.with_extension(DER)).unwrap_or_default();
    let key: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
    command.args(["-dane_tlsa_domain", SERVER_NAME]);
    command.args(["-dane_tlsa_rrdata", &format!("3 1 0 {key}")]);
}

fn present(command: &mut Command, credential: &Credential) {
    command.arg("-cert").arg(&credential.certificate);
    // The file has the leaf, then the intermediate. `-cert` reads only the leaf.
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

//! Small programs with a common command line, for libraries that have no program of their own.
//!
//! The command line, which the programs of `conformance/peers` also have:
//!
//! ```text
//! abilities                 prints `keys …`, `groups …`, `limits …`, `as-client …`, `as-server …`
//! serve   --port N --cert FILE --key FILE [--client-ca FILE]          echoes, until it is killed
//! connect --port N --ca FILE --name NAME [--cert FILE --key FILE]     stdin and stdout
//!         --connections N
//! both    [--version 1.2|1.3] [--suite NAME] [--group NAME]           IANA's names
//! ```
//!
//! `connect` makes N connections in one process, which share all that its library stores. On each
//! but the last it sends `0123` and a line feed, reads the echo and writes it to the standard
//! output. The last one carries standard input and output. `connect` fails at the first connection
//! that is refused; `serve` reports a connection that fails and continues.
//!
//! A feature, by its name in `features.rs` and listed in `as-client` or `as-server`, adds:
//!
//! ```text
//! both    --feature NAME
//! connect [--early-data FILE]         sent on each connection but the first, before anything else
//! ```
//!
//! The standard error has a line `resumed yes` or `resumed no` for each connection. If early data
//! was sent, a client adds `early-data accepted` or `early-data rejected`, a server `early-data
//! accepted`.
//!
//! The lines of `abilities` list:
//!
//! - `limits`: what can be limited: any of `group`, `hybrid`, `suite1.2`, `suite1.3`, and
//!   `record-size`, where `--record-size N` limits the plaintext of each sent record;
//! - `groups1.2`, optional: the groups with TLS 1.2 only;
//! - `versions`, optional: the supported versions;
//! - `resumes`, optional: the versions in which the client resumes without a feature;
//! - `gives`, optional: the versions in which the server issues sessions without a feature;
//! - `lacks`: what is missing: any of `alerts` (the server refuses with close_notify), `addresses`
//!   (the client compares names only), `certified-sessions` (the TLS 1.2 server issues none to
//!   clients with a certificate), `other-keys` (the TLS 1.2 server accepts only client keys of its
//!   own type), `server-group` (the TLS 1.2 server cannot be limited to a group), `server`, and
//!   `echo` (the client fetches `--fetch PATH` by HTTP on each connection, and writes all to the
//!   standard output).

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use super::{
    Abilities, CONNECTIONS, ClientAuth, Connect, ConnectionPlan, Limits, Mark, Program, RecordSize,
    Serve, Server, early_file, find, output_of,
};
use crate::cells::Role;
use crate::features::Feature;
use crate::parameters::{Version, group, key};

/// A driver and its command.
#[derive(Debug)]
pub(crate) struct Driver {
    name: String,
    launch: Vec<OsString>,
    abilities: Abilities,
    as_client: Vec<Feature>,
    as_server: Vec<Feature>,
}

impl Driver {
    /// Go's `crypto/tls`; the driver is built first.
    pub(crate) fn go(folder: &Path) -> Self {
        let built = build_go(folder, "go", include_str!("../../peers/go/main.go"));
        Self::new("go", built.map(|program| vec![program.into()]).unwrap_or_default())
    }

    /// Python's `ssl`.
    pub(crate) fn python(folder: &Path) -> Self {
        Self::new("python", prepare_python(folder).unwrap_or_default())
    }

    /// Node's `tls`.
    pub(crate) fn node(folder: &Path) -> Self {
        Self::new("node", prepare_node(folder).unwrap_or_default())
    }

    /// Java's JSSE.
    pub(crate) fn java(folder: &Path) -> Self {
        Self::new("java", prepare_java(folder).unwrap_or_default())
    }

    /// Ruby's `openssl`.
    pub(crate) fn ruby(folder: &Path) -> Self {
        let script = script(folder, "peer.rb", include_str!("../../peers/peer.rb"));
        Self::new("ruby", interpreted("ruby", &["-ropenssl"], script))
    }

    /// Perl's `IO::Socket::SSL`.
    pub(crate) fn perl(folder: &Path) -> Self {
        let script = script(folder, "peer.pl", include_str!("../../peers/peer.pl"));
        Self::new("perl", interpreted("perl", &[], script))
    }

    /// PHP's streams.
    pub(crate) fn php(folder: &Path) -> Self {
        let script = script(folder, "peer.php", include_str!("../../peers/peer.php"));
        // The script runs without a user's configuration.
        Self::new("php", interpreted("php", &["-n"], script))
    }

    /// Erlang's `ssl`.
    pub(crate) fn erlang(folder: &Path) -> Self {
        let mut driver = Self::new("erlang", prepare_erlang(folder).unwrap_or_default());
        driver.abilities.has_extended_main_secret = false;
        driver
    }

    /// wolfSSL, by a driver in C.
    pub(crate) fn wolfssl(folder: &Path) -> Self {
        let text = include_str!("../../peers/wolfssl.c");
        Self::new("wolfssl", build_c(folder, "wolfssl", text, &["wolfssl"]).unwrap_or_default())
    }

    /// mbedTLS, by a driver in C.
    pub(crate) fn mbedtls(folder: &Path) -> Self {
        let (text, libraries) =
            (include_str!("../../peers/mbedtls.c"), ["mbedtls", "mbedx509", "mbedcrypto"]);
        Self::new("mbedtls", build_c(folder, "mbedtls", text, &libraries).unwrap_or_default())
    }

    /// A program of `conformance/peers`.
    pub(crate) fn built(name: &str, path: &Path) -> Self {
        let launch = if path.is_file() { vec![path.into()] } else { Vec::new() };
        Self::new(name, launch)
    }

    /// Creates a driver. A driver without a command, or whose abilities cannot be read, counts as
    /// absent.
    fn new(name: &str, launch: Vec<OsString>) -> Self {
        let mut driver = Self {
            name: name.to_owned(),
            launch,
            abilities: Abilities::usual(false),
            as_client: Vec::new(),
            as_server: Vec::new(),
        };
        if !driver.launch.is_empty() {
            let output = output_of(driver.command().arg("abilities")).unwrap_or_default();
            driver.abilities = abilities(&output).unwrap_or(Abilities::usual(false));
            driver.as_client = features(&output, "as-client");
            driver.as_server = features(&output, "as-server");
        }
        driver
    }

    fn command(&self) -> Command {
        let mut words = self.launch.iter();
        let mut command = Command::new(words.next().map_or("false".as_ref(), OsString::as_os_str));
        command.args(words);
        command
    }
}

impl Program for Driver {
    fn name(&self) -> &str {
        &self.name
    }

    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    fn serve(&self, order: &Serve<'_>) -> Server {
        let mut command = self.command();
        command.args(["serve", "--port", &order.port.to_string()]);
        command.arg("--cert").arg(&order.credential.certificate);
        command.arg("--key").arg(&order.credential.key);
        if order.client_auth == ClientAuth::Required {
            command.arg("--client-ca").arg(&order.client_roots);
        }
        if let Some(extra) = order.extra {
            command.args(["--feature", extra.feature.name()]);
        }
        limit(&mut command, order.limits);
        command.into()
    }

    fn connect(&self, order: &Connect<'_>) -> Command {
        let mut command = self.command();
        command.args(["connect", "--port", &order.port.to_string(), "--name", order.name]);
        command.arg("--ca").arg(&order.roots);
        command.args(["--connections", &CONNECTIONS.to_string()]);
        if self.abilities.fetches {
            command.args(["--fetch", order.fetch]);
        }
        if let Some(credential) = &order.credential {
            command.arg("--cert").arg(&credential.certificate).arg("--key").arg(&credential.key);
        }
        if let Some(extra) = order.extra {
            command.args(["--feature", extra.feature.name()]);
            if extra.feature.has_early_data() {
                command.arg("--early-data").arg(early_file(order.scratch));
            }
        }
        limit(&mut command, order.limits);
        command
    }

    fn features(&self, role: Role) -> Vec<Feature> {
        match role {
            Role::Serve => self.as_client.clone(),
            Role::Connect => self.as_server.clone(),
        }
    }

    fn connection_plan(&self) -> ConnectionPlan {
        ConnectionPlan::All
    }

    fn resumptions(&self, _: bool, output: &str) -> Option<Vec<bool>> {
        let rows = output.lines().filter_map(|line| line.strip_prefix("resumed "));
        Some(rows.map(|value| value == "yes").collect())
    }

    fn early_data(&self, _: bool, output: &str) -> Vec<bool> {
        let rows = output.lines().filter_map(|line| line.strip_prefix("early-data "));
        rows.map(|value| value == "accepted").collect()
    }

    fn reports_rejected_early_data(&self, serves: bool) -> bool {
        !serves
    }

    fn marks(&self, _: bool, feature: Feature) -> Vec<Mark> {
        match feature {
            Feature::Compression(_) => vec![Mark::Printed("certificate compressed")],
            _ => Vec::new(),
        }
    }
}

fn limit(command: &mut Command, limits: Limits) {
    if let Some(version) = limits.version {
        command.args(["--version", &version.to_string()]);
    }
    if let Some(suite) = limits.suite {
        command.args(["--suite", suite.name]);
    }
    if let Some(group) = limits.group {
        command.args(["--group", group.name]);
    }
    if let Some(size) = limits.record_size {
        command.args(["--record-size", &size.to_string()]);
    }
}

fn values<'a>(output: &'a str, wanted: &str) -> Vec<&'a str> {
    let lines = output.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let line = lines.into_iter().find(|words| words.first() == Some(&wanted));
    line.map_or(Vec::new(), |words| words[1..].to_vec())
}

fn features(output: &str, wanted: &str) -> Vec<Feature> {
    values(output, wanted).into_iter().filter_map(Feature::named).collect()
}

/// The versions in a line; all versions without the line.
fn versions(output: &str, wanted: &str) -> Vec<Version> {
    let missing = !output.lines().any(|line| line.split(' ').next() == Some(wanted));
    let words = values(output, wanted);
    let all = Version::ALL.into_iter();
    all.filter(|version| missing || words.contains(&version.to_string().as_str())).collect()
}

fn abilities(output: &str) -> Option<Abilities> {
    let words = |wanted: &str| values(output, wanted);
    let limits = words("limits");
    let lacks = words("lacks");
    let abilities = Abilities {
        serves: !lacks.contains(&"server"),
        fetches: lacks.contains(&"echo"),
        versions: versions(output, "versions"),
        resumes: versions(output, "resumes"),
        issues_sessions: versions(output, "gives"),
        keys: words("keys").into_iter().filter_map(key).collect(),
        groups: words("groups").into_iter().filter_map(group).collect(),
        groups_tls12: Some(words("groups1.2").into_iter().filter_map(group).collect())
            .filter(|groups: &Vec<_>| !groups.is_empty()),
        limits_group: limits.contains(&"group"),
        limits_hybrid: limits.contains(&"hybrid"),
        limits_suite_tls12: limits.contains(&"suite1.2"),
        limits_suite_tls13: limits.contains(&"suite1.3"),
        sends_alerts: !lacks.contains(&"alerts"),
        checks_addresses: !lacks.contains(&"addresses"),
        resumes_authenticated: !lacks.contains(&"certified-sessions"),
        accepts_other_keys: !lacks.contains(&"other-keys"),
        limits_server_group: !lacks.contains(&"server-group"),
        record_size: if limits.contains(&"record-size") {
            RecordSize::Sent
        } else {
            RecordSize::Fixed
        },
        ..Abilities::usual(true)
    };
    let usable = !abilities.keys.is_empty() && abilities.groups.iter().any(|group| !group.hybrid);
    usable.then_some(abilities)
}

/// Builds this Go source in its own folder.
pub(crate) fn build_go(folder: &Path, name: &str, text: &str) -> Option<PathBuf> {
    let source = folder.join(name);
    fs::create_dir_all(&source).ok()?;
    fs::write(source.join("main.go"), text).ok()?;
    let go = find("go")?;
    // The version in go.mod also selects the default groups, so it must be the installed one.
    let version = output_of(Command::new(&go).args(["env", "GOVERSION"]))?;
    let numbers: Vec<_> = version.trim().trim_start_matches("go").splitn(3, ['.', '-']).collect();
    let [major, minor, ..] = numbers[..] else { return None };
    fs::write(source.join("go.mod"), format!("module peer\n\ngo {major}.{minor}\n")).ok()?;
    let mut build = Command::new(go);
    build.args(["build", "-o", "peer", "."]).current_dir(&source);
    // Uses the installed toolchain only, without downloads.
    build.env("GOTOOLCHAIN", "local").env("GOFLAGS", "-mod=mod").env("GOPROXY", "off");
    succeeds(&mut build).then(|| source.join("peer"))
}

fn prepare_python(folder: &Path) -> Option<Vec<OsString>> {
    let script = folder.join("peer.py");
    fs::write(&script, include_str!("../../peers/peer.py")).ok()?;
    Some(vec![python()?, script.into()])
}

/// A Python interpreter that has `ssl`.
pub(crate) fn python() -> Option<OsString> {
    // `python3` may be a wrapper that is slower than a handshake; this finds the interpreter.
    let mut ask = Command::new(find("python3")?);
    let real = output_of(ask.args(["-c", "import ssl, sys; print(sys.executable)"]))?;
    Some(real.trim().into())
}

fn prepare_node(folder: &Path) -> Option<Vec<OsString>> {
    let script = folder.join("peer.mjs");
    fs::write(&script, include_str!("../../peers/peer.mjs")).ok()?;
    let node = find("node").or_else(|| find("nodejs"))?;
    Some(vec![node.into(), script.into()])
}

fn prepare_java(folder: &Path) -> Option<Vec<OsString>> {
    let source = folder.join("Peer.java");
    fs::write(&source, include_str!("../../peers/Peer.java")).ok()?;
    let mut launch: Vec<OsString> = vec![find("java")?.into()];
    // These options only shorten the start.
    launch.extend(["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto"].map(Into::into));
    let compiled = find("javac")
        .is_some_and(|javac| succeeds(Command::new(javac).arg("-d").arg(folder).arg(&source)));
    if compiled {
        launch.extend(["-cp".into(), folder.into(), "Peer".into()]);
    } else {
        launch.push(source.into());
    }
    Some(launch)
}

fn script(folder: &Path, name: &str, text: &str) -> Option<PathBuf> {
    let script = folder.join(name);
    fs::write(&script, text).ok()?;
    Some(script)
}

fn interpreted(program: &str, options: &[&str], script: Option<PathBuf>) -> Vec<OsString> {
    let (Some(program), Some(script)) = (find(program), script) else { return Vec::new() };
    let options = options.iter().map(OsString::from);
    [program.into()].into_iter().chain(options).chain([script.into()]).collect()
}

fn prepare_erlang(folder: &Path) -> Option<Vec<OsString>> {
    let source = script(folder, "interop_peer.erl", include_str!("../../peers/interop_peer.erl"))?;
    let program = find("erl")?;
    let built = Command::new(find("erlc")?).arg("-o").arg(folder).arg(source).status();
    built.ok().filter(ExitStatus::success)?;
    let mut launch: Vec<OsString> = vec![program.into()];
    // Erlang gets one scheduler, because each cell starts a virtual machine.
    launch.extend(["+S1", "-noshell", "-noinput", "-pa"].map(Into::into));
    launch.push(folder.into());
    launch.extend(["-run", "interop_peer", "main", "-extra"].map(Into::into));
    Some(launch)
}

/// Builds a driver in C with the libraries of the distribution.
fn build_c(folder: &Path, name: &str, text: &str, libraries: &[&str]) -> Option<Vec<OsString>> {
    let source = script(folder, &format!("{name}.c"), text)?;
    script(folder, "peer.h", include_str!("../../peers/peer.h"))?;
    let program = folder.join(format!("driver-{name}"));
    let mut build = Command::new(find("cc")?);
    build.args(["-O1", "-o"]).arg(&program).arg(source);
    build.args(libraries.iter().map(|library| format!("-l{library}")));
    // A missing library only means that the peer is absent, so the error is discarded.
    build.stderr(Stdio::null());
    succeeds(&mut build).then(|| vec![program.into()])
}

fn succeeds(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

//! Small programs with one common command line, over libraries that bring no program of their own.
//!
//! The command line, which `conformance/peers` has too:
//!
//! ```text
//! abilities                 prints `keys …`, `groups …`, `limits …`, `as-client …`, `as-server …`
//! serve   --port N --cert FILE --key FILE [--client-ca FILE]          echoes, until it is killed
//! connect --port N --ca FILE --name NAME [--cert FILE --key FILE]     stdin and stdout
//!         --connections N
//! both    [--version 1.2|1.3] [--suite NAME] [--group NAME]           IANA's names
//! ```
//!
//! `connect` makes so many connections in one process, with all the memory that its library has. Each but the
//! last sends `0123` and a line feed, reads them back and writes them to the standard output; the last one
//! carries standard input and output. It fails at the first connection that is refused; `serve` complains of one
//! that fails and goes on.
//!
//! A feature (`features.rs` has their names, `as-client` and `as-server` list those there are) adds:
//!
//! ```text
//! both    --feature NAME
//! connect [--early-data FILE]         sent on each connection but the first, before anything else
//! ```
//!
//! Of each connection the standard error has a line `resumed yes` or `resumed no`. A client adds `early-data
//! accepted` or `early-data rejected` where it sent some, a server `early-data accepted`.
//!
//! `limits` lists what can be limited: `group`, `hybrid`, `suite1.2`, `suite1.3`, and
//! `record-size` where `--record-size N` bounds the plaintext of each record sent. `groups1.2`, if there is such
//! a line, lists the groups that there are with TLS 1.2 alone. `versions`, if there is such a
//! line, lists those it speaks, `resumes` those in which its client resumes without a feature, and `gives` those
//! in which its server lets clients do so. `lacks` lists what is missing: `alerts` (its server refuses with
//! close_notify), `addresses` (its client compares names only), `certified-sessions` (in TLS 1.2 its server gives
//! none to a client with a certificate), `other-keys` (there it asks clients for a key of its own kind only),
//! `server-group` (there it cannot be limited to a group), `server`, `echo` (its client fetches `--fetch PATH` by HTTP on each connection, and writes all
//! to the standard output).

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use super::{
    Abilities, CONNECTIONS, ClientAuth, Connect, Limits, Mark, Program, RecordSize, Returns, Serve,
    Server, early_file, find, output_of,
};
use crate::cells::Role;
use crate::features::Feature;
use crate::terms::{Version, group, key};

/// A driver and how it is started.
#[derive(Debug)]
pub(crate) struct Driver {
    name: String,
    launch: Vec<OsString>,
    abilities: Abilities,
    as_client: Vec<Feature>,
    as_server: Vec<Feature>,
}

impl Driver {
    /// Go's `crypto/tls`, built from the source at hand.
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
        // Without a user's configuration.
        Self::new("php", interpreted("php", &["-n"], script))
    }

    /// Erlang's `ssl`.
    pub(crate) fn erlang(folder: &Path) -> Self {
        Self::new("erlang", prepare_erlang(folder).unwrap_or_default())
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

    /// Nothing to launch, or a program that cannot say what it is able to do, is an absent program.
    fn new(name: &str, launch: Vec<OsString>) -> Self {
        let mut driver = Self {
            name: name.to_owned(),
            launch,
            abilities: Abilities::usual(false),
            as_client: Vec::new(),
            as_server: Vec::new(),
        };
        if !driver.launch.is_empty() {
            let told = output_of(driver.command().arg("abilities")).unwrap_or_default();
            driver.abilities = abilities(&told).unwrap_or(Abilities::usual(false));
            driver.as_client = features(&told, "as-client");
            driver.as_server = features(&told, "as-server");
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

    fn returns(&self) -> Returns {
        Returns::Itself
    }

    fn resumptions(&self, _: bool, said: &str) -> Option<Vec<bool>> {
        let rows = said.lines().filter_map(|line| line.strip_prefix("resumed "));
        Some(rows.map(|value| value == "yes").collect())
    }

    fn early_data(&self, _: bool, said: &str) -> Vec<bool> {
        let rows = said.lines().filter_map(|line| line.strip_prefix("early-data "));
        rows.map(|value| value == "accepted").collect()
    }

    fn tells_rejected_early_data(&self, serves: bool) -> bool {
        !serves
    }

    fn marks(&self, _: bool, feature: Feature) -> Vec<Mark> {
        match feature {
            Feature::Compression(_) => vec![Mark::Said("certificate compressed")],
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

fn words<'a>(told: &'a str, wanted: &str) -> Vec<&'a str> {
    let lines = told.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let line = lines.into_iter().find(|words| words.first() == Some(&wanted));
    line.map_or(Vec::new(), |words| words[1..].to_vec())
}

fn features(told: &str, wanted: &str) -> Vec<Feature> {
    words(told, wanted).into_iter().filter_map(Feature::named).collect()
}

/// Every version where the line is missing.
fn versions(told: &str, wanted: &str) -> Vec<Version> {
    let missing = !told.lines().any(|line| line.split(' ').next() == Some(wanted));
    let words = words(told, wanted);
    let all = Version::ALL.into_iter();
    all.filter(|version| missing || words.contains(&version.to_string().as_str())).collect()
}

fn abilities(told: &str) -> Option<Abilities> {
    let words = |wanted: &str| words(told, wanted);
    let limits = words("limits");
    let lacks = words("lacks");
    let abilities = Abilities {
        serves: !lacks.contains(&"server"),
        fetches: lacks.contains(&"echo"),
        versions: versions(told, "versions"),
        resumes: versions(told, "resumes"),
        gives_sessions: versions(told, "gives"),
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
        keeps_certified: !lacks.contains(&"certified-sessions"),
        asks_other_keys: !lacks.contains(&"other-keys"),
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

/// Builds this source in a folder of its own.
pub(crate) fn build_go(folder: &Path, name: &str, text: &str) -> Option<PathBuf> {
    let source = folder.join(name);
    fs::create_dir_all(&source).ok()?;
    fs::write(source.join("main.go"), text).ok()?;
    let go = find("go")?;
    // The version named in go.mod also decides which groups are on, so it must be the installed one.
    let version = output_of(Command::new(&go).args(["env", "GOVERSION"]))?;
    let numbers: Vec<_> = version.trim().trim_start_matches("go").splitn(3, ['.', '-']).collect();
    let [major, minor, ..] = numbers[..] else { return None };
    fs::write(source.join("go.mod"), format!("module peer\n\ngo {major}.{minor}\n")).ok()?;
    let mut build = Command::new(go);
    build.args(["build", "-o", "peer", "."]).current_dir(&source);
    // What is installed must do: nothing is fetched for a test.
    build.env("GOTOOLCHAIN", "local").env("GOFLAGS", "-mod=mod").env("GOPROXY", "off");
    succeeds(&mut build).then(|| source.join("peer"))
}

fn prepare_python(folder: &Path) -> Option<Vec<OsString>> {
    let script = folder.join("peer.py");
    fs::write(&script, include_str!("../../peers/peer.py")).ok()?;
    Some(vec![python()?, script.into()])
}

/// A Python that has `ssl`.
pub(crate) fn python() -> Option<OsString> {
    // `python3` may be a wrapper that takes longer than a handshake; ask it for the real thing.
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
    // These only shorten the start.
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
    // One scheduler, since a virtual machine is started for each cell.
    launch.extend(["+S1", "-noshell", "-noinput", "-pa"].map(Into::into));
    launch.push(folder.into());
    launch.extend(["-run", "interop_peer", "main", "-extra"].map(Into::into));
    Some(launch)
}

/// Builds a driver in C against the libraries of distribution packages.
fn build_c(folder: &Path, name: &str, text: &str, libraries: &[&str]) -> Option<Vec<OsString>> {
    let source = script(folder, &format!("{name}.c"), text)?;
    script(folder, "peer.h", include_str!("../../peers/peer.h"))?;
    let program = folder.join(format!("driver-{name}"));
    let mut build = Command::new(find("cc")?);
    build.args(["-O1", "-o"]).arg(&program).arg(source);
    build.args(libraries.iter().map(|library| format!("-l{library}")));
    // Without the library there is a complaint, which says no more than that it is absent.
    build.stderr(Stdio::null());
    succeeds(&mut build).then(|| vec![program.into()])
}

fn succeeds(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

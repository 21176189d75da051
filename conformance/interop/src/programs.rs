//! The interface to a TLS program, and the programs that exist.
//!
//! Each program is one end of an echo. A client sends its standard input and prints what it
//! receives. A server sends back what it receives; a server that can only print its input is echoed
//! by the harness. Each module below has the command line of one program.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cells::Role;
use crate::features::{Feature, Owner};
use crate::parameters::{Group, Key, Suite, Version, classic_groups};
use tercel_harness::pki::Credential;
pub(crate) use tercel_harness::program::find;

mod botan;
mod curl;
mod driver;
mod gnutls;
mod nss;
mod openssl;
mod tercel;

pub(crate) use botan::Botan;
pub(crate) use curl::Curl;
pub(crate) use driver::{Driver, build_go, python};
pub(crate) use gnutls::GnuTls;
pub(crate) use nss::Nss;
pub(crate) use openssl::OpenSsl;
pub(crate) use tercel::Tercel;

/// The name of OpenSSL's program among those of `conformance/peers`.
pub(crate) const BUILT_OPENSSL: &str = "peer-openssl";

/// A TLS program, such as Tercel.
pub(crate) trait Program: Sync {
    fn name(&self) -> &str;
    fn abilities(&self) -> &Abilities;
    fn serve(&self, order: &Serve<'_>) -> Server;
    fn connect(&self, order: &Connect<'_>) -> Command;

    /// Whether the program's error is one line that names the cause, so that it can be checked.
    fn names_causes(&self) -> bool {
        false
    }

    /// The features that the program supports as a peer, beyond a plain handshake, if the subject
    /// has this role.
    fn features(&self, _role: Role) -> Vec<Feature> {
        Vec::new()
    }

    /// How the program's client makes the connections of a cell.
    fn connection_plan(&self) -> ConnectionPlan {
        ConnectionPlan::One
    }

    /// Whether each connection in the output was resumed, in order; `None` if the program does not
    /// print that.
    fn resumptions(&self, _serves: bool, _output: &str) -> Option<Vec<bool>> {
        None
    }

    /// Whether early data was accepted, for each connection with early data in the output.
    fn early_data(&self, _serves: bool, _output: &str) -> Vec<bool> {
        Vec::new()
    }

    /// Whether the program reports early data that was rejected.
    fn reports_rejected_early_data(&self, _serves: bool) -> bool {
        true
    }

    /// Whether the program sends early data again after a rejection.
    fn repeats_early_data(&self) -> bool {
        true
    }

    /// Whether the program's echo includes early data.
    fn echoes_early_data(&self) -> bool {
        true
    }

    /// The input that makes the program update its keys, and request a key update from the other
    /// side if `asks` is set.
    fn update_command(&self, _asks: bool) -> &'static [u8] {
        b""
    }

    /// The texts that must be in the program's output or trace if the feature was used.
    fn marks(&self, _serves: bool, _feature: Feature) -> Vec<Mark> {
        Vec::new()
    }
}

/// The least number of connections of a cell. Data that a client stores from the first connection
/// (a session, the group of a HelloRetryRequest) changes the second connection, and data from the
/// second connection changes the third.
pub(crate) const CONNECTIONS: usize = 3;

/// The message that a driver sends and receives on each connection before the last.
pub(crate) const FIRST_MESSAGE: &[u8] = b"0123\n";

/// How a client makes the connections of a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ConnectionPlan {
    /// One run makes one connection. If sessions are stored, they are in a file.
    One,
    /// One run makes two connections and sends nothing on the first.
    Two,
    /// One run makes all connections, with [`FIRST_MESSAGE`] or the fetched file on each but the
    /// last.
    All,
}

impl ConnectionPlan {
    /// The number of connections of one run.
    pub(crate) fn per_run(self) -> usize {
        match self {
            Self::One => 1,
            Self::Two => 2,
            Self::All => CONNECTIONS,
        }
    }

    /// The number of runs of a cell.
    pub(crate) fn runs(self) -> usize {
        CONNECTIONS.div_ceil(self.per_run())
    }

    /// The number of connections of all runs.
    pub(crate) fn connections(self) -> usize {
        self.runs() * self.per_run()
    }

    /// Whether the client has the session of the connection before this one, counted from 0.
    pub(crate) fn has_session(self, connection: usize) -> bool {
        match self {
            Self::Two => connection % 2 == 1,
            Self::One | Self::All => connection > 0,
        }
    }
}

/// A text and the place where it must appear.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mark {
    /// The text must be in the standard output or error.
    Printed(&'static str),
    /// The text must be in the file that `trace` names.
    Traced(&'static str),
}

/// The file in a cell's folder in which a program may write a trace.
pub(crate) fn trace(scratch: &Path, serves: bool) -> PathBuf {
    scratch.join(if serves { "server.trace" } else { "client.trace" })
}

/// The file with the early data, in a cell's folder.
pub(crate) fn early_file(scratch: &Path) -> PathBuf {
    scratch.join("early.txt")
}

/// Reads resumptions from text in which `connection` begins each connection, and `resumed` follows
/// it if the connection was resumed.
fn resumptions_by(output: &str, connection: &str, resumed: &str) -> Vec<bool> {
    output.split(connection).skip(1).map(|part| part.contains(resumed)).collect()
}

/// The abilities and options of a program. An absent program has the usual abilities, so that the
/// cells that cannot run still have names.
#[derive(Clone, Debug)]
pub(crate) struct Abilities {
    pub(crate) present: bool,
    pub(crate) connects: bool,
    pub(crate) serves: bool,
    /// Whether the client fetches a file by HTTP, because it cannot echo.
    pub(crate) fetches: bool,
    /// Whether the server serves files by HTTP, because it cannot echo.
    pub(crate) serves_files: bool,
    pub(crate) versions: Vec<Version>,
    /// The versions in which the client resumes sessions by default.
    pub(crate) resumes: Vec<Version>,
    /// The versions in which the server issues sessions by default.
    pub(crate) issues_sessions: Vec<Version>,
    /// Whether the client writes additional lines to its standard output.
    pub(crate) prints_own_lines: bool,
    /// Whether the client ends the connection if it refuses the server's certificate.
    pub(crate) verifies: bool,
    /// Whether the client can verify that the certificate contains an IP address.
    pub(crate) checks_addresses: bool,
    /// Whether the TLS 1.2 server resumes sessions of clients that sent a certificate.
    pub(crate) resumes_authenticated: bool,
    /// Whether the TLS 1.2 server accepts client keys of another type than its own.
    pub(crate) accepts_other_keys: bool,
    /// Whether the program has the extended main secret (RFC 7627).
    pub(crate) has_extended_main_secret: bool,
    /// Whether `limits_group` also holds for the TLS 1.2 server.
    pub(crate) limits_server_group: bool,
    /// Whether the client has an option for a client certificate.
    pub(crate) has_client_certificates: bool,
    /// Whether the server has an option to request a client certificate.
    pub(crate) requests_certificates: bool,
    pub(crate) keys: Vec<Key>,
    pub(crate) groups: Vec<&'static Group>,
    /// The groups with TLS 1.2, if they differ.
    pub(crate) groups_tls12: Option<Vec<&'static Group>>,
    pub(crate) limits_group: bool,
    pub(crate) limits_hybrid: bool,
    pub(crate) limits_suite_tls12: bool,
    pub(crate) limits_suite_tls13: bool,
    pub(crate) record_size: RecordSize,
    /// Whether the program obeys the peer's record_size_limit (RFC 8449).
    pub(crate) obeys_record_size: bool,
    /// Whether the server refuses with an alert. A server that sends close_notify instead cannot be
    /// distinguished from one that has no more data.
    pub(crate) sends_alerts: bool,
}

/// The records that the option for a record size limits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RecordSize {
    /// No records: the program has no option for a record size.
    Fixed,
    /// The records that the program sends.
    Sent,
    /// The records that the program receives: it sends record_size_limit.
    ReceiveBuffer,
}

impl Abilities {
    /// The usual abilities: both roles, the classic groups, the common keys, and all limits.
    pub(crate) fn usual(present: bool) -> Self {
        Self {
            present,
            connects: true,
            serves: true,
            fetches: false,
            serves_files: false,
            versions: Version::ALL.to_vec(),
            resumes: Version::ALL.to_vec(),
            issues_sessions: Version::ALL.to_vec(),
            prints_own_lines: false,
            verifies: true,
            checks_addresses: true,
            resumes_authenticated: true,
            accepts_other_keys: true,
            has_extended_main_secret: true,
            limits_server_group: true,
            has_client_certificates: true,
            requests_certificates: true,
            keys: Key::COMMON.to_vec(),
            groups: classic_groups(),
            groups_tls12: None,
            limits_group: true,
            limits_hybrid: true,
            limits_suite_tls12: true,
            limits_suite_tls13: true,
            record_size: RecordSize::Fixed,
            obeys_record_size: false,
            sends_alerts: true,
        }
    }

    /// Whether the program itself can be limited to one group and one suite.
    pub(crate) fn can_limit(&self, suite: &Suite, group: &Group) -> bool {
        let suite_ok = match suite.version {
            Version::Tls12 => self.limits_suite_tls12,
            Version::Tls13 => self.limits_suite_tls13,
        };
        let group_ok = if group.hybrid { self.limits_hybrid } else { self.limits_group };
        suite_ok && group_ok
    }
}

/// The limits of a program. Without a value, the program keeps its default.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Limits {
    pub(crate) version: Option<Version>,
    pub(crate) suite: Option<&'static Suite>,
    pub(crate) group: Option<&'static Group>,
    pub(crate) record_size: Option<u16>,
}

/// Whether a server requests a certificate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ClientAuth {
    None,
    Optional,
    Required,
}

/// The parameters of a server on 127.0.0.1.
#[derive(Debug)]
pub(crate) struct Serve<'a> {
    pub(crate) port: u16,
    pub(crate) credential: Credential,
    pub(crate) limits: Limits,
    pub(crate) client_auth: ClientAuth,
    pub(crate) client_roots: PathBuf,
    /// Serve the files of this folder by HTTP instead of echoing.
    pub(crate) files: Option<&'a Path>,
    /// The folder of the cell.
    pub(crate) scratch: &'a Path,
    pub(crate) extra: Option<Extra<'a>>,
}

/// The parameters of a feature.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extra<'a> {
    pub(crate) feature: Feature,
    /// The peer's public key, if it has no certificate.
    pub(crate) peer_key: Option<&'a Path>,
}

impl Extra<'_> {
    pub(crate) fn owns_raw_key(&self, owner: Owner) -> bool {
        self.feature == Feature::RawKey(owner)
    }
}

/// The record size limit of the cells that have one. It is shorter than a Certificate message.
pub(crate) const RECORD_LIMIT: u16 = 512;

/// The parameters of a client of 127.0.0.1.
#[derive(Debug)]
pub(crate) struct Connect<'a> {
    pub(crate) port: u16,
    /// The name that the server's certificate must have: a DNS name, or 127.0.0.1.
    pub(crate) name: &'a str,
    pub(crate) roots: PathBuf,
    pub(crate) credential: Option<Credential>,
    pub(crate) limits: Limits,
    /// The path to fetch, for a program that does not echo.
    pub(crate) fetch: &'a str,
    /// The folder of the cell, in which a program may store sessions.
    pub(crate) scratch: &'a Path,
    /// Whether an earlier process of the same program made a connection.
    pub(crate) again: bool,
    /// Whether the connection will be refused, so that there will be no session.
    pub(crate) refused: bool,
    pub(crate) extra: Option<Extra<'a>>,
}

impl Connect<'_> {
    pub(crate) fn by_address(&self) -> bool {
        self.name == "127.0.0.1"
    }
}

/// The command of a server, and which side echoes.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) command: Command,
    /// Whether the harness echoes, because the program only prints the data that it receives and
    /// sends its standard input.
    pub(crate) harness_echoes: bool,
}

impl From<Command> for Server {
    fn from(command: Command) -> Self {
        Self { command, harness_echoes: false }
    }
}

/// The standard output of a command, if it succeeds.
fn output_of(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

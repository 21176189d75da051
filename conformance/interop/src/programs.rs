//! What a TLS program can be asked to do, and how each one is found and asked.
//!
//! Every program is either end of an echo: as a client it carries its standard input to the server
//! and what comes back to its standard output; as a server it sends back what it receives, or, when
//! it can only show it, leaves that to the harness. Each file below knows one program's command
//! line and nothing of cells. Next: `run.rs` starts what these files describe.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cells::Role;
use crate::features::{Feature, Owner};
use crate::terms::{Group, Key, Suite, Version, classic_groups};
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

/// OpenSSL's program among those of `conformance/peers`.
pub(crate) const BUILT_OPENSSL: &str = "peer-openssl";

/// A TLS program, Tercel included.
pub(crate) trait Program: Sync {
    fn name(&self) -> &str;
    fn abilities(&self) -> &Abilities;
    fn serve(&self, order: &Serve<'_>) -> Server;
    fn connect(&self, order: &Connect<'_>) -> Command;

    /// Whether its complaint is one line that names the cause, so that it can be checked.
    fn explains(&self) -> bool {
        false
    }

    /// What it can show as a peer beyond a plain handshake, the subject having this role.
    fn features(&self, _role: Role) -> Vec<Feature> {
        Vec::new()
    }

    /// How its client makes the three connections of a cell.
    fn returns(&self) -> Returns {
        Returns::Runs
    }

    /// What it has told of each of its connections, in their order: whether a session was resumed;
    /// `None` if it never tells.
    fn resumptions(&self, _serves: bool, _said: &str) -> Option<Vec<bool>> {
        None
    }

    /// For each connection with early data that it speaks of, whether it was accepted.
    fn early_data(&self, _serves: bool, _said: &str) -> Vec<bool> {
        Vec::new()
    }

    /// Whether it speaks of early data that was not accepted.
    fn tells_rejected_early_data(&self, _serves: bool) -> bool {
        true
    }

    /// Whether it sends again by itself what a server did not accept early.
    fn repeats_early_data(&self) -> bool {
        true
    }

    /// Whether its echo answers early data too.
    fn echoes_early_data(&self) -> bool {
        true
    }

    /// What it is told by its standard input to change its keys, and to ask for the same if `asks`.
    fn update_command(&self, _asks: bool) -> &'static [u8] {
        b""
    }

    /// What must appear in what it says, or in the trace it leaves, if the feature was used.
    fn marks(&self, _serves: bool, _feature: Feature) -> Vec<Mark> {
        Vec::new()
    }
}

/// The least number of connections of a cell. What a client remembers of the first one (a session, the
/// group that a server asked for) changes the second; what that one brought changes the third.
pub(crate) const CONNECTIONS: usize = 3;

/// What a driver sends, and hears, on each connection before the last.
pub(crate) const FIRST_WORDS: &[u8] = b"0123\n";

/// How a client makes the connections of a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Returns {
    /// One run makes one connection. What it remembers, if anything, is in a file.
    Runs,
    /// One run makes two connections and is silent on the first.
    Pairs,
    /// One run makes all connections and carries [`FIRST_WORDS`], or the fetched file, on each before the last.
    Itself,
}

impl Returns {
    /// How many connections one run makes.
    pub(crate) fn each(self) -> usize {
        match self {
            Self::Runs => 1,
            Self::Pairs => 2,
            Self::Itself => CONNECTIONS,
        }
    }

    /// How many runs make enough connections.
    pub(crate) fn runs(self) -> usize {
        CONNECTIONS.div_ceil(self.each())
    }

    /// How many connections these runs make.
    pub(crate) fn connections(self) -> usize {
        self.runs() * self.each()
    }

    /// Whether the client remembers the connection before this one, counted from 0.
    pub(crate) fn is_return(self, connection: usize) -> bool {
        match self {
            Self::Pairs => connection % 2 == 1,
            Self::Runs | Self::Itself => connection > 0,
        }
    }
}

/// A text and where to look for it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mark {
    /// In the standard output or error.
    Said(&'static str),
    /// In the file that `trace` names.
    Traced(&'static str),
}

/// The file in a cell's folder where a program may leave a trace.
pub(crate) fn trace(scratch: &Path, serves: bool) -> PathBuf {
    scratch.join(if serves { "server.trace" } else { "client.trace" })
}

/// The file of what is to be sent early, in a cell's folder.
pub(crate) fn early_file(scratch: &Path) -> PathBuf {
    scratch.join("early.txt")
}

/// Reads resumptions from text in which each connection begins with one mark and, if it was
/// resumed, has another before the next begins.
fn resumptions_by(said: &str, connection: &str, resumed: &str) -> Vec<bool> {
    said.split(connection).skip(1).map(|part| part.contains(resumed)).collect()
}

/// What a program has and lets us choose. A program that is absent keeps the usual abilities, so
/// that the cells it misses can be named.
#[derive(Clone, Debug)]
pub(crate) struct Abilities {
    pub(crate) present: bool,
    pub(crate) connects: bool,
    pub(crate) serves: bool,
    /// The client is given a file by HTTP, because it cannot echo.
    pub(crate) fetches: bool,
    /// The server gives files by HTTP, because it cannot echo.
    pub(crate) serves_files: bool,
    pub(crate) versions: Vec<Version>,
    /// The versions in which its client resumes sessions without being told to.
    pub(crate) resumes: Vec<Version>,
    /// The versions in which its server gives sessions without being told to.
    pub(crate) gives_sessions: Vec<Version>,
    /// The client writes words of its own to the standard output.
    pub(crate) chatty: bool,
    /// The client goes no further with a server whose certificate is not good.
    pub(crate) verifies: bool,
    /// The client can tell whether the certificate is for an address.
    pub(crate) checks_addresses: bool,
    /// Its server resumes sessions of TLS 1.2 in which the client showed a certificate.
    pub(crate) keeps_certified: bool,
    /// Its server of TLS 1.2 takes clients whose key is not of the server's kind.
    pub(crate) asks_other_keys: bool,
    /// Its server of TLS 1.2 can be limited to a group, if `limits_group`.
    pub(crate) limits_server_group: bool,
    /// The client has an option for a certificate of its own.
    pub(crate) shows_certificate: bool,
    /// The server has an option to ask for a client's certificate.
    pub(crate) asks_certificate: bool,
    pub(crate) keys: Vec<Key>,
    pub(crate) groups: Vec<&'static Group>,
    /// Where it speaks TLS 1.2 only, if that makes a difference.
    pub(crate) groups_tls12: Option<Vec<&'static Group>>,
    pub(crate) limits_group: bool,
    pub(crate) limits_hybrid: bool,
    pub(crate) limits_suite_tls12: bool,
    pub(crate) limits_suite_tls13: bool,
    pub(crate) record_size: RecordSize,
    /// It heeds the other side's record_size_limit (RFC 8449).
    pub(crate) heeds_record_size: bool,
    /// As a server it says why it refuses; one that says close_notify instead cannot be told from
    /// one that has nothing more to say.
    pub(crate) sends_alerts: bool,
}

/// Whose records become small when a program is told a record size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RecordSize {
    /// It cannot be told.
    Fixed,
    /// Those it sends.
    Sent,
    /// Those it receives: it sends record_size_limit.
    Received,
}

impl Abilities {
    /// Both ends, the classic groups, the common keys, everything limited at will.
    pub(crate) fn usual(present: bool) -> Self {
        Self {
            present,
            connects: true,
            serves: true,
            fetches: false,
            serves_files: false,
            versions: Version::ALL.to_vec(),
            resumes: Version::ALL.to_vec(),
            gives_sessions: Version::ALL.to_vec(),
            chatty: false,
            verifies: true,
            checks_addresses: true,
            keeps_certified: true,
            asks_other_keys: true,
            limits_server_group: true,
            shows_certificate: true,
            asks_certificate: true,
            keys: Key::COMMON.to_vec(),
            groups: classic_groups(),
            groups_tls12: None,
            limits_group: true,
            limits_hybrid: true,
            limits_suite_tls12: true,
            limits_suite_tls13: true,
            record_size: RecordSize::Fixed,
            heeds_record_size: false,
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

/// What a program is limited to; its defaults where nothing is said.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Limits {
    pub(crate) version: Option<Version>,
    pub(crate) suite: Option<&'static Suite>,
    pub(crate) group: Option<&'static Group>,
    pub(crate) record_size: Option<u16>,
}

/// What a server asks of its clients.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ClientAuth {
    None,
    Optional,
    Required,
}

/// An order to serve on 127.0.0.1.
#[derive(Debug)]
pub(crate) struct Serve<'a> {
    pub(crate) port: u16,
    pub(crate) credential: Credential,
    pub(crate) limits: Limits,
    pub(crate) client_auth: ClientAuth,
    pub(crate) client_roots: PathBuf,
    /// Serve the files of this folder by HTTP instead of echoing.
    pub(crate) files: Option<&'a Path>,
    /// A folder of the cell's own.
    pub(crate) scratch: &'a Path,
    pub(crate) extra: Option<Extra<'a>>,
}

/// What a feature adds to an order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extra<'a> {
    pub(crate) feature: Feature,
    /// The other side's public key, where that is all there is of it.
    pub(crate) peer_key: Option<&'a Path>,
}

impl Extra<'_> {
    pub(crate) fn owns_raw_key(&self, owner: Owner) -> bool {
        self.feature == Feature::RawKey(owner)
    }
}

/// The record size limit of the cells that have one: less than a Certificate message.
pub(crate) const RECORD_LIMIT: u16 = 512;

/// An order to connect to 127.0.0.1.
#[derive(Debug)]
pub(crate) struct Connect<'a> {
    pub(crate) port: u16,
    /// The name the server's certificate must have: a DNS name, or 127.0.0.1.
    pub(crate) name: &'a str,
    pub(crate) roots: PathBuf,
    pub(crate) credential: Option<Credential>,
    pub(crate) limits: Limits,
    /// The path to fetch, for a program that does not echo.
    pub(crate) fetch: &'a str,
    /// A folder of the cell's own, where a program may keep what it remembers.
    pub(crate) scratch: &'a Path,
    /// A run of the same program made a connection before.
    pub(crate) again: bool,
    /// The connection is to be refused, so that there will be no session.
    pub(crate) refused: bool,
    pub(crate) extra: Option<Extra<'a>>,
}

impl Connect<'_> {
    pub(crate) fn by_address(&self) -> bool {
        self.name == "127.0.0.1"
    }
}

/// How to start a server, and who echoes.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) command: Command,
    /// The program shows on its standard output what it receives and sends its standard input, so
    /// the harness connects the two.
    pub(crate) harness_echoes: bool,
}

impl From<Command> for Server {
    fn from(command: Command) -> Self {
        Self { command, harness_echoes: false }
    }
}

/// What a command prints, if it succeeds.
fn output_of(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

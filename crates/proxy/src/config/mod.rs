//! What the terminator is told to do: read, checked, and complete.
//!
//! What stands here cannot be wrong by itself; what it names (files, hosts) is looked at when
//! [`crate::live`] is made of it. Must not know: sockets. Next: [`parse`], which reads it.

pub(crate) mod address;
mod fault;
pub(crate) mod keys;
pub(crate) mod network;
mod parse;
mod start;

use std::fs::File;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tercel::ClientAuth;
use tercel::wire::ProtocolVersion;

pub use address::BackendAddress;
pub use fault::Fault;
use keys::Place;
pub use network::Network;

/// A whole configuration.
#[derive(Clone, Debug)]
pub struct Config {
    /// What it was read from.
    pub(crate) place: Place,
    /// The file it was read from, which a reload reads again.
    pub file: Option<PathBuf>,
    /// That file is for more eyes than a password in it should be.
    pub(crate) is_exposed: bool,
    /// Threads that serve, each with listeners of its own. Default: one for each core.
    pub workers: usize,
    /// Whether hashes go side by side where the processor can ([`use_hash_lanes`](tercel::crypto::use_hash_lanes)). `false`
    /// turns that off for the whole process.
    pub hash_lanes: bool,
    /// How long connections may go on after they were told to end.
    pub drain: Duration,
    /// Whose rights are kept after the listeners are open.
    pub user: Option<String>,
    /// The same for the group; default: the user's.
    pub group: Option<String>,
    /// Where metrics and health are asked for.
    pub admin: Option<SocketAddr>,
    /// What is logged, and how.
    pub log: Log,
    /// How many connections there may be.
    pub limits: Limits,
    /// How long things may take.
    pub timeouts: Timeouts,
    /// How clients come back.
    pub resumption: Resumption,
    /// Where clients come in; at least one.
    pub listeners: Vec<Listener>,
}

/// What a command line can say; values are written as in a file.
#[derive(Clone, Debug, Default)]
pub struct Simple {
    /// The listener's `address`.
    pub listen: String,
    /// Its backends.
    pub to: Vec<String>,
    /// A folder of certificates.
    pub certificates: Option<PathBuf>,
    /// A chain, with `key` instead of the folder.
    pub certificate: Option<PathBuf>,
    /// The chain's private key.
    pub key: Option<PathBuf>,
    /// Threads that serve.
    pub workers: Option<u32>,
    /// Hashes do not go side by side.
    pub no_hash_lanes: bool,
    /// Where metrics and health are asked for.
    pub admin: Option<String>,
    /// `text` or `json`.
    pub log: Option<String>,
    /// From which level on.
    pub log_level: Option<String>,
}

/// What is logged, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// JSON instead of text.
    pub json: bool,
    /// From which level on: `error`, `warn`, `info`, `debug`, `trace`.
    pub level: String,
}

/// How many connections there may be at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// In the whole process.
    pub connections: usize,
    /// From one IPv4 address or one IPv6 network of 64 bits; `None`: any number.
    pub per_client: Option<u32>,
}

/// How long things may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// From accept to the end of the handshake, a PROXY header included.
    pub handshake: Duration,
    /// To connect to one backend.
    pub connect: Duration,
    /// Without a byte in either direction.
    pub idle: Duration,
    /// The same once one direction has ended.
    pub half_closed: Duration,
    /// After so long without a byte the expanded keys are let go.
    pub park: Duration,
}

/// How clients come back.
#[derive(Clone, Debug)]
pub struct Resumption {
    /// Whose keys seal tickets.
    pub tickets: Tickets,
    /// Whether early data is admitted by the store, or by this process alone.
    pub shared_guard: bool,
    /// Somebody has said that this process's own guard is enough.
    pub own_guard_is_meant: bool,
    /// Sessions of TLS 1.2 kept for clients that take no tickets.
    pub session_ids: usize,
    /// Values that the replay guard of this process has room for.
    pub guard_capacity: usize,
    /// Seconds by which a ticket's age may be off for its early data to count as fresh.
    pub freshness_window: u32,
    /// What is shared with other processes, if anything is.
    pub fleet: Option<tercel_fleet::Settings>,
}

/// Whose keys seal tickets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tickets {
    /// Nobody's: there are none.
    Off,
    /// Keys of this process, changed every few hours.
    Own,
    /// Keys that the fleet shares.
    Shared,
}

/// One address where clients come in.
#[derive(Clone, Debug)]
pub struct Listener {
    /// Where it stands in the configuration.
    pub(crate) place: Place,
    /// The address; port 0 lets the system choose.
    pub address: SocketAddr,
    /// How many of its connections there may be at once.
    pub connections: Option<u32>,
    /// Every connection begins with a PROXY header, from the balancer in front.
    pub accept_proxy_protocol: bool,
    /// Who may send one; others are refused. Empty: whoever can reach the address.
    pub proxy_protocol_from: Vec<Network>,
    /// At least one.
    pub routes: Vec<Route>,
}

/// Whom clients of some names are served by, and on what terms.
#[derive(Clone, Debug)]
pub struct Route {
    /// Where it stands in the configuration.
    pub(crate) place: Place,
    /// In lower case; `*.` in front stands for one label. Empty: for who is in no other route.
    pub names: Vec<String>,
    /// Backends, tried in turn; at least one.
    pub to: Vec<BackendAddress>,
    /// What is shown to clients.
    pub certificates: CertificateSource,
    /// Application protocols, best first.
    pub alpn: Vec<String>,
    /// Whether clients show a certificate.
    pub client_auth: ClientAuth,
    /// Authorities in PEM that vouch for clients.
    pub client_ca: Option<PathBuf>,
    /// The oldest protocol version that is spoken.
    pub min_version: ProtocolVersion,
    /// Bytes of early data that are accepted; 0: none.
    pub early_data: u32,
    /// Whether a backend gets them before the handshake is complete.
    pub early_data_at_once: bool,
    /// When the backend is connected to.
    pub connect: Connect,
    /// What a client that ends without close_notify is for the backend.
    pub on_truncation: OnTruncation,
    /// Whether the backend is told about the client in a PROXY header of version 2.
    pub send_proxy_protocol: bool,
    /// Which routes resume each other's sessions: those of equal names and equal contexts. `None`: those with the same
    /// certificates and backends.
    pub session_context: Option<String>,
}

/// Where certificates are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CertificateSource {
    /// A folder of them.
    Folder(PathBuf),
    /// One chain and its key.
    Pair {
        /// The chain, leaf first, in PEM.
        certificate: PathBuf,
        /// The private key in PEM.
        key: PathBuf,
    },
}

/// When a backend is connected to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connect {
    /// At the client's first byte where its protocol is one in which clients speak first, else at once.
    Auto,
    /// When the handshake is complete.
    AtOnce,
    /// When the client has sent something.
    FirstByte,
}

/// What a client that ends without close_notify is for the backend. RFC 9846 6.1
///
/// Such an end can be made by anyone on the way, so it must not pass for one where an end says that all was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnTruncation {
    /// An end where the protocol agreed on is HTTP, whose requests tell their length; else a reset.
    Auto,
    /// A reset.
    Reset,
    /// An end, as of a client that has said so.
    Close,
}

impl Config {
    /// Reads the file.
    ///
    /// # Errors
    /// The first thing that is wrong in it.
    pub fn load(file: &Path) -> Result<Self, Fault> {
        let name = file.display().to_string();
        let fault = |reason: String| Fault { source: name.clone(), key: String::new(), reason };
        let read = || {
            let mut file = File::open(file)?;
            // Of the file that is open, not of the one that has the name by now.
            let is_exposed = tercel_fleet::is_exposed(&file.metadata()?);
            let mut text = Vec::new();
            file.read_to_end(&mut text).map(|_| (text, is_exposed))
        };
        let (text, is_exposed) = read().map_err(|error: io::Error| fault(error.to_string()))?;
        let text = String::from_utf8(text).map_err(|_| fault("is not UTF-8".to_owned()))?;
        let config = Self::parse(&name, &text)?;
        Ok(Self { file: Some(file.to_owned()), is_exposed, ..config })
    }

    /// Reads this text; `name` is what faults call it.
    ///
    /// # Errors
    /// The first thing that is wrong in it.
    pub fn parse(name: &str, text: &str) -> Result<Self, Fault> {
        parse::file(name, text)
    }

    /// What keeps nothing from being served, and should be mended all the same.
    #[must_use]
    pub fn warnings(&self) -> Vec<Fault> {
        let fleet = self.resumption.fleet.as_ref();
        let store = fleet.and_then(|fleet| fleet.store.as_ref());
        let has_password = store.is_some_and(tercel_fleet::StoreSettings::has_password);
        let reason = "has a password in it: the file should be its owner's and group's alone, as with chmod 640";
        let exposed = self.is_exposed && has_password;
        exposed.then(|| self.place.fault("resumption.store.url", reason)).into_iter().collect()
    }

    /// One listener with one route, as the command line describes it.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn simple(options: &Simple) -> Result<Self, Fault> {
        parse::simple(options)
    }
}

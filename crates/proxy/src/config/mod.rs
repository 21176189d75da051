//! The configuration, parsed and validated.
//!
//! The values of a [`Config`] are valid and consistent. Files and host names are checked when
//! `active_config` loads them.

pub(crate) mod address;
mod error;
pub(crate) mod network;
mod parse;
mod restart;
pub(crate) mod table;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use tercel::crypto::Kernel;
use tercel::server::ClientAuth;
use tercel::wire::ProtocolVersion;

pub use address::BackendAddress;
pub use error::ConfigError;
pub(crate) use error::without_number;
pub use network::Network;
pub(crate) use parse::ConfigText;
use table::Location;

/// A complete configuration.
#[derive(Clone, Debug)]
pub struct Config {
    /// The file or command line from which the configuration was read, for error messages.
    pub(crate) location: Location,
    /// The text of the configuration, for the lines of errors that are found later.
    pub(crate) text: ConfigText,
    /// The file from which the configuration was read. A reload reads it again.
    pub file: Option<PathBuf>,
    /// Whether other users can read the file. This matters if the file contains a password.
    pub(crate) is_exposed: bool,
    /// Number of worker threads. Default: one for each core.
    pub workers: usize,
    /// Whether hashes are computed in parallel lanes where the processor supports it
    /// ([`use_hash_lanes`](tercel::crypto::use_hash_lanes)). `false` disables hash lanes for the
    /// whole process.
    pub hash_lanes: bool,
    /// The kernels that are turned off for the whole process
    /// ([`use_kernel`](tercel::crypto::use_kernel)).
    pub disabled_kernels: Vec<Kernel>,
    /// Whether only approved cryptography of AWS-LC's FIPS module is used: see [`tercel::fips`].
    /// Requires the feature `fips`.
    pub fips: bool,
    /// How long connections may continue after a drain has begun.
    pub drain: Duration,
    /// The user to switch to once the listeners are open.
    pub user: Option<String>,
    /// The group to switch to. Default: the user's primary group.
    pub group: Option<String>,
    /// Address of the admin listener (metrics and health).
    pub admin: Option<SocketAddr>,
    /// Log settings.
    pub log: Log,
    /// Connection limits.
    pub limits: Limits,
    /// Timeouts.
    pub timeouts: Timeouts,
    /// Session resumption and early data.
    pub resumption: Resumption,
    /// Keys for Encrypted ClientHello.
    pub ech: Option<Ech>,
    /// The listeners; at least one.
    pub listeners: Vec<Listener>,
}

/// A configuration given as command line options. Values have the same syntax as in a file.
#[derive(Clone, Debug, Default)]
pub struct CommandLineOptions {
    /// The `address` setting of the listener.
    pub listen: String,
    /// The backends.
    pub to: Vec<String>,
    /// A folder of certificates.
    pub certificates: Option<PathBuf>,
    /// A certificate chain, used with `key` instead of the folder.
    pub certificate: Option<PathBuf>,
    /// The private key of `certificate`.
    pub key: Option<PathBuf>,
    /// Number of worker threads.
    pub workers: Option<u32>,
    /// Disables parallel hash lanes.
    pub no_hash_lanes: bool,
    /// Kernels to turn off.
    pub no_kernels: Vec<Kernel>,
    /// Allows only approved cryptography of AWS-LC's FIPS module.
    pub fips: bool,
    /// Address of the admin listener.
    pub admin: Option<String>,
    /// `text` or `json`.
    pub log: Option<String>,
    /// The log level.
    pub log_level: Option<String>,
}

/// Log settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// Whether logs are JSON instead of text.
    pub json: bool,
    /// The least severe level that is logged: `error`, `warn`, `info`, `debug` or `trace`.
    pub level: String,
}

/// Limits on concurrent connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of connections of the process.
    pub connections: usize,
    /// Maximum number of connections of a client: an IPv4 address or an IPv6 /64 network. `None`:
    /// unlimited.
    pub per_client: Option<u32>,
}

/// Timeouts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Timeout from accept to the end of the handshake, including a PROXY header.
    pub handshake: Duration,
    /// Timeout for connecting to one backend.
    pub connect: Duration,
    /// Time without data in either direction after which a connection is closed.
    pub idle: Duration,
    /// Time without data after which a connection is closed once one direction has ended.
    pub half_closed: Duration,
    /// Time without data after which the expanded traffic keys are freed.
    pub park: Duration,
}

/// Settings of session resumption and early data.
#[derive(Clone, Debug)]
pub struct Resumption {
    /// The keys that encrypt session tickets.
    pub tickets: Tickets,
    /// Whether the store admits early data, instead of the replay guard of this process.
    pub shared_guard: bool,
    /// Whether `guard = "own"` was set explicitly.
    pub own_guard_is_explicit: bool,
    /// Number of TLS 1.2 sessions stored for clients without ticket support.
    pub session_ids: usize,
    /// Capacity of this process's replay guard, in ClientHellos.
    pub guard_capacity: usize,
    /// Early data is fresh if the ticket's age by the client differs from its age by the server's
    /// clock by at most this much.
    pub freshness_window: Duration,
    /// State shared with other processes.
    pub fleet: Option<tercel_fleet::Settings>,
}

/// The keys that encrypt session tickets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tickets {
    /// No keys: tickets are not issued.
    Off,
    /// Keys of this process, rotated every few hours.
    Own,
    /// Keys shared by the fleet.
    Shared,
}

/// The source of keys for Encrypted ClientHello.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ech {
    /// Files of this machine.
    Folder(EchFolder),
    /// The fleet: its settings have the store, and the file in which the last keys are saved.
    Shared(SharedEch),
}

/// Keys for Encrypted ClientHello that the nodes of a fleet share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedEch {
    /// The location of the settings in the configuration.
    pub(crate) location: Location,
    /// The file in which the last keys are saved, encrypted with the fleet secret.
    pub cache: Option<PathBuf>,
}

/// A folder of keys for Encrypted ClientHello.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EchFolder {
    /// The location of the settings in the configuration.
    pub(crate) location: Location,
    /// The folder of the key files, `NAME.ech`.
    pub directory: PathBuf,
    /// The names of the files whose keys are sent to clients with an outdated key. Empty: the last
    /// file by name.
    pub retry: Vec<String>,
}

/// A listener.
#[derive(Clone, Debug)]
pub struct Listener {
    /// The location of the listener in the configuration.
    pub(crate) location: Location,
    /// The address. With port 0 the system chooses a port.
    pub address: SocketAddr,
    /// Maximum number of concurrent connections of this listener.
    pub connections: Option<u32>,
    /// Whether every connection must begin with a PROXY header from the load balancer in front.
    pub accept_proxy_protocol: bool,
    /// Networks that may send PROXY headers. Empty: any.
    pub proxy_protocol_from: Vec<Network>,
    /// Whether inner ClientHellos are accepted from a client-facing server (split mode).
    pub ech_backend: bool,
    /// The routes of this listener; at least one.
    pub routes: Vec<Route>,
}

/// A route: the backends for clients of some server names, and the TLS settings.
#[derive(Clone, Debug)]
pub struct Route {
    /// The location of the route in the configuration.
    pub(crate) location: Location,
    /// Server names in lowercase; a leading `*.` stands for one label. Empty: the default route.
    pub names: Vec<String>,
    /// The backends, used in turn; at least one.
    pub to: Vec<BackendAddress>,
    /// Whether connections are relayed without TLS, or terminated.
    pub passthrough: bool,
    /// Whether encrypted ClientHellos are decrypted before they are relayed (split mode).
    pub ech_front: bool,
    /// The certificates. `None` if the route relays connections without TLS.
    pub certificates: Option<CertificateSource>,
    /// ALPN protocols, in order of preference.
    pub alpn: Vec<String>,
    /// Whether clients are asked for a certificate.
    pub client_auth: ClientAuth,
    /// Certificate authorities of clients, in PEM.
    pub client_ca: Option<PathBuf>,
    /// The lowest protocol version accepted.
    pub min_version: ProtocolVersion,
    /// Maximum size of early data in bytes; 0 disables it.
    pub early_data: u32,
    /// Whether early data is forwarded before the handshake is complete.
    pub early_data_at_once: bool,
    /// The time at which to connect to the backend.
    pub connect: Connect,
    /// The action when a client closes without close_notify.
    pub on_truncation: OnTruncation,
    /// Whether to send the backend a PROXY header of version 2.
    pub send_proxy_protocol: bool,
    /// The session context. Routes with equal names and equal contexts resume each other's
    /// sessions. `None`: routes with the same certificates and backends resume each other's
    /// sessions.
    pub session_context: Option<String>,
}

/// The files from which a route's certificates are read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CertificateSource {
    /// A folder.
    Folder(PathBuf),
    /// One chain and its key.
    Pair {
        /// The chain, leaf first, in PEM.
        certificate: PathBuf,
        /// The private key in PEM.
        key: PathBuf,
    },
}

/// The time at which to connect to the backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connect {
    /// Connect at the client's first byte if ALPN selected a protocol in which clients send first,
    /// else when the handshake is complete.
    Auto,
    /// Connect when the handshake is complete.
    AtOnce,
    /// Connect when the client has sent data.
    FirstByte,
}

/// The action when a client closes without close_notify. RFC 9846 6.1
///
/// An attacker on the path can cause such a close. In a protocol in which the end of the connection
/// is the end of the data, the close must not be forwarded as a clean end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnTruncation {
    /// Close if ALPN selected HTTP, whose requests are self-delimiting; else reset.
    Auto,
    /// Reset the backend connection.
    Reset,
    /// Close the backend connection, as after close_notify.
    Close,
}

impl Config {
    /// Problems of the configuration itself that do not prevent service.
    pub(crate) fn warnings(&self) -> Vec<ConfigError> {
        let fleet = self.resumption.fleet.as_ref();
        let store = fleet.and_then(|fleet| fleet.store.as_ref());
        let has_password = store.is_some_and(tercel_fleet::StoreSettings::has_password);
        let reason = "contains a password, but other users can read this file; restrict it, \
                      for example with chmod 640";
        let exposed = self.is_exposed && has_password;
        let exposed = exposed.then(|| self.location.error("resumption.store.url", reason));
        exposed.into_iter().collect()
    }
}

//! The command line of `tercel serve`.
//!
//! Must not know: how anything is served. Next: [`super`].

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::options::{TlsOptions, seconds};
use crate::psk::PskOptions;
use crate::usage_error;

/// Serve HTTPS: a page that tells what was negotiated, or files, or an echo
///
/// Without --cert, an embedded test authority makes certificates for localhost on the spot and the
/// folder with its certificate is printed; with pre-shared keys there are no certificates then.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Where to listen; port 0 lets the system choose
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8443")]
    pub(crate) listen: SocketAddr,

    /// A certificate chain in PEM, leaf first; repeat with --key for several
    #[arg(long, value_name = "FILE", requires = "key")]
    pub(crate) cert: Vec<PathBuf>,

    /// The private key in PEM of the --cert before it
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub(crate) key: Vec<PathBuf>,

    /// An OCSP response in DER to staple to a --cert; repeat in their order for several
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub(crate) ocsp: Vec<PathBuf>,

    /// A private key in PEM whose public key is shown to clients that take raw public keys
    #[arg(long, value_name = "FILE")]
    pub(crate) raw_key: Option<PathBuf>,

    /// Serve the files of this folder instead of the page
    #[arg(long, value_name = "DIR", conflicts_with = "echo")]
    pub(crate) root: Option<PathBuf>,

    /// Send every byte back instead of speaking HTTP
    #[arg(long)]
    pub(crate) echo: bool,

    #[command(flatten)]
    pub(crate) tls: TlsOptions,

    #[command(flatten)]
    pub(crate) keys: PskOptions,

    /// Whether clients have to show a certificate
    #[arg(long, value_name = "WHETHER", default_value = "none")]
    pub(crate) client_auth: Demand,

    /// Authorities in PEM that vouch for clients; by default the embedded test authority
    #[arg(long, value_name = "FILE")]
    pub(crate) client_ca: Option<PathBuf>,

    /// Public keys in PEM that clients may show instead of a certificate
    #[arg(long, value_name = "FILE")]
    pub(crate) client_keys: Option<PathBuf>,

    /// How clients can resume their sessions
    #[arg(long, value_name = "HOW", default_value = "both")]
    pub(crate) sessions: Sessions,

    /// Accept up to so many bytes of early data in a resumed session (TLS 1.3)
    ///
    /// It can be recorded and sent again by others: what was seen before is refused, by this process
    /// only. An echo answers it at once, requests wait until the handshake is complete.
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub(crate) early_data: Option<u32>,

    /// Change the keys of both directions after each handshake (TLS 1.3)
    #[arg(long)]
    pub(crate) update_key: bool,

    /// Refuse clients that ask for a name no certificate has
    #[arg(long)]
    pub(crate) require_known_name: bool,

    /// Where the embedded test authority puts its files; by default a new temporary folder
    #[arg(long, value_name = "DIR", conflicts_with = "cert")]
    pub(crate) state_dir: Option<PathBuf>,

    /// How many connections may be open at once
    #[arg(long, value_name = "N", default_value = "256", value_parser = connections)]
    pub(crate) max_connections: usize,

    /// How long a handshake, a request's head or any wait for data may take
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds)]
    pub(crate) timeout: Duration,
}

/// Whether clients show a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Demand {
    /// They are not asked
    None,
    /// They are asked, and may decline
    Optional,
    /// They are refused without one
    Required,
    /// They are asked before the first answer, not in the handshake, and refused without one (TLS 1.3)
    Later,
}

/// Where sessions are until they are resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sessions {
    /// Sealed, with the clients that take tickets; in this process for other clients of TLS 1.2
    Both,
    /// Sealed, with the clients
    Tickets,
    /// In this process; clients have a name for them, good for one time in TLS 1.3
    Memory,
    /// Nowhere: there is no resumption
    None,
}

impl From<Demand> for tercel::ClientAuth {
    fn from(demand: Demand) -> Self {
        match demand {
            Demand::None | Demand::Later => Self::None,
            Demand::Optional => Self::Optional,
            Demand::Required => Self::Required,
        }
    }
}

impl Options {
    /// Ends the program if options that each make sense make none together.
    pub(crate) fn check(&self) {
        if self.cert.len() != self.key.len() {
            usage_error("there must be one --key for each --cert");
        }
        if self.keys.any() && self.cert.is_empty() && self.client_auth != Demand::None {
            usage_error("--client-auth with pre-shared keys needs --cert");
        }
        if self.ocsp.len() > self.cert.len() {
            usage_error("there must be a --cert for each --ocsp");
        }
        if self.client_auth != Demand::None
            && self.client_ca.is_none()
            && self.client_keys.is_none()
            && !(self.cert.is_empty() && self.raw_key.is_none())
        {
            usage_error("--client-auth with --cert needs --client-ca");
        }
        if self.client_keys.is_some() && self.client_auth == Demand::None {
            usage_error("--client-keys needs --client-auth");
        }
        let protocols = self.tls.alpn.iter().flat_map(|protocols| &protocols.0);
        // A client that is promised a protocol speaks it. RFC 7301 3.2
        let unspoken = protocols.into_iter().find(|name| !self.echo && *name != PROTOCOL);
        if let Some(name) = unspoken {
            usage_error(&format!(
                "--alpn: `{name}` is not spoken here: only {PROTOCOL} is served, and an --echo is of any protocol"
            ));
        }
        if self.early_data.is_some() && self.sessions == Sessions::None {
            usage_error("--early-data needs --sessions");
        }
    }
}

/// What pages and files are served by.
pub(crate) const PROTOCOL: &str = "http/1.1";

fn connections(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number @ 1..=65_536) => Ok(number),
        _ => Err("not a number from 1 to 65536".to_owned()),
    }
}

//! The command line of `tercel serve`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::explain::UsageError;
use crate::options::{TlsOptions, check_http3, listen_address, seconds};
use crate::psk::PskOptions;

/// Serve HTTPS: a page with the negotiated parameters, files, or an echo
///
/// Clients choose HTTP/2 or HTTP/1.1 with ALPN; without ALPN, HTTP/1.1 is served. With --http3,
/// HTTP/3 is served as well.
///
/// Without --cert, an embedded test authority issues certificates for localhost, and the directory
/// that contains its certificate is printed. With pre-shared keys and without --cert, the server
/// has no certificates.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Address to listen on; `:PORT` means all addresses, and port 0 selects a free port
    #[arg(
        long,
        value_name = "ADDRESS:PORT",
        default_value = "127.0.0.1:8443",
        value_parser = listen_address
    )]
    pub(crate) listen: SocketAddr,

    /// Certificate chain in PEM, leaf first; may be repeated, each with a --key
    #[arg(long, value_name = "FILE", requires = "key")]
    pub(crate) cert: Vec<PathBuf>,

    /// Private key of the preceding --cert, in PEM
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub(crate) key: Vec<PathBuf>,

    /// OCSP response in DER to staple to a certificate; repeat in the order of --cert
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub(crate) ocsp: Vec<PathBuf>,

    /// Private key in PEM; its raw public key is presented to clients that accept one
    #[arg(long, value_name = "FILE")]
    pub(crate) raw_key: Option<PathBuf>,

    /// Serve the files of this directory instead of the page
    #[arg(long, value_name = "DIR", conflicts_with = "echo")]
    pub(crate) root: Option<PathBuf>,

    /// Echo all data instead of serving HTTP
    #[arg(long)]
    pub(crate) echo: bool,

    /// Serve HTTP/3 as well, over QUIC at the UDP port of the same number
    ///
    /// Responses over TCP announce it (Alt-Svc). Certificates, files, client authentication (except
    /// `later`) and limits are the same for both; sessions of one are not resumed by the other.
    /// --alpn and --record-size-limit concern TCP only. Early data over QUIC is limited by flow
    /// control, not by the number of --early-data.
    #[arg(long, conflicts_with = "echo")]
    pub(crate) http3: bool,

    #[command(flatten)]
    pub(crate) tls: TlsOptions,

    #[command(flatten)]
    pub(crate) keys: PskOptions,

    /// Client authentication
    #[arg(long, value_name = "MODE", default_value = "none")]
    pub(crate) client_auth: ClientAuthMode,

    /// Certificate authorities for clients, in PEM; default: the embedded test authority
    #[arg(long, value_name = "FILE")]
    pub(crate) client_ca: Option<PathBuf>,

    /// Raw public keys of clients, in PEM, accepted instead of certificates
    #[arg(long, value_name = "FILE")]
    pub(crate) client_keys: Option<PathBuf>,

    /// How clients can resume sessions
    #[arg(long, value_name = "MODE", default_value = "both")]
    pub(crate) sessions: Sessions,

    /// Accept this many bytes of early data in a resumed session (TLS 1.3)
    ///
    /// Early data can be recorded and replayed by others. This process refuses early data that it
    /// has accepted before. Echo mode answers at once; requests are answered after the handshake.
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub(crate) early_data: Option<u32>,

    /// Accept Encrypted ClientHello (ECH, TLS 1.3) with the key of this file, or the keys *.ech of
    /// this directory; `tercel ech generate` makes them
    ///
    /// All keys of a directory decrypt; the configuration of the last file by name is sent to
    /// clients whose own is outdated. These clients verify a certificate for the public name, so
    /// the server needs one; without --cert, the test authority issues it.
    #[arg(long, value_name = "FILE|DIR")]
    pub(crate) ech: Option<PathBuf>,

    /// Update the keys of both directions after each handshake (TLS 1.3)
    #[arg(long)]
    pub(crate) update_key: bool,

    /// Refuse clients that request a server name without a certificate
    #[arg(long)]
    pub(crate) require_known_name: bool,

    /// Directory for the files of the embedded test authority; default: a new temporary directory
    #[arg(long, value_name = "DIR", conflicts_with = "cert")]
    pub(crate) state_dir: Option<PathBuf>,

    /// Maximum number of open connections
    #[arg(long, value_name = "N", default_value = "256", value_parser = connections)]
    pub(crate) max_connections: usize,

    /// Time limit for each of: a handshake, waiting for a request, waiting for a client to read
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds)]
    pub(crate) timeout: Duration,
}

/// Client authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClientAuthMode {
    /// Do not request a certificate
    None,
    /// Request a certificate, but accept clients without one
    Optional,
    /// Require a certificate
    Required,
    /// Require a certificate after the handshake, before the first response (TLS 1.3, HTTP/1.1)
    Later,
}

/// The form in which sessions are kept until they are resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sessions {
    /// Tickets, and session IDs for TLS 1.2 clients without ticket support
    Both,
    /// Tickets only
    Tickets,
    /// Session IDs only, for sessions in the memory of this process; single-use in TLS 1.3
    Memory,
    /// No resumption
    None,
}

impl From<ClientAuthMode> for tercel::server::ClientAuth {
    fn from(mode: ClientAuthMode) -> Self {
        match mode {
            ClientAuthMode::None | ClientAuthMode::Later => Self::None,
            ClientAuthMode::Optional => Self::Optional,
            ClientAuthMode::Required => Self::Required,
        }
    }
}

impl Options {
    /// Refuses combinations of options that make no sense.
    pub(crate) fn check(&self) -> Result<(), UsageError> {
        let refuse = |message: &str| Err(UsageError::new(message));
        if self.cert.len() != self.key.len() {
            return refuse("each --cert needs a --key");
        }
        if self.keys.is_set() && self.cert.is_empty() && self.client_auth != ClientAuthMode::None {
            return refuse("--client-auth with pre-shared keys needs --cert");
        }
        if self.ocsp.len() > self.cert.len() {
            return refuse("each --ocsp needs a --cert");
        }
        if self.client_auth != ClientAuthMode::None
            && self.client_ca.is_none()
            && self.client_keys.is_none()
            && !(self.cert.is_empty() && self.raw_key.is_none())
        {
            return refuse("--client-auth with --cert needs --client-ca");
        }
        if self.client_auth == ClientAuthMode::None {
            // Without this check, the server would request no certificate at all.
            if self.client_ca.is_some() {
                return refuse("--client-ca needs --client-auth optional, required or later");
            }
            if self.client_keys.is_some() {
                return refuse("--client-keys needs --client-auth");
            }
        }
        let served = self.protocols();
        let names = self.tls.alpn.iter().flat_map(|names| &names.0).map(String::as_str);
        // Only protocols that are served may be negotiated. RFC 7301 3.2
        let other = names.into_iter().find(|name| !self.echo && !served.contains(name));
        if let Some(name) = other {
            let served = served.join(" and ");
            let hint = if name == HTTP3 { "; --http3 serves HTTP/3" } else { "" };
            return Err(UsageError::new(format!(
                "--alpn: `{name}` is not supported: only {served} can be served with these \
                 options{hint}"
            )));
        }
        if self.http3 {
            check_http3(&self.tls)?;
            if self.client_auth == ClientAuthMode::Later {
                return refuse(
                    "--http3: a client cannot be asked for a certificate after a handshake over \
                     QUIC: use --client-auth optional or required",
                );
            }
        }
        if self.early_data.is_some() && self.sessions == Sessions::None {
            return refuse("--early-data needs resumption: --sessions none is set");
        }
        Ok(())
    }

    /// The protocols of pages and files.
    pub(crate) fn protocols(&self) -> &'static [&'static str] {
        match self.client_auth {
            // A server must not request a certificate in an HTTP/2 connection. RFC 9113 9.2.3
            ClientAuthMode::Later => &[HTTP1],
            _ => &[HTTP2, HTTP1],
        }
    }
}

pub(crate) const HTTP1: &str = "http/1.1";
pub(crate) const HTTP2: &str = "h2";
const HTTP3: &str = "h3";

fn connections(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number @ 1..=65_536) => Ok(number),
        _ => Err("must be a number from 1 to 65536".to_owned()),
    }
}

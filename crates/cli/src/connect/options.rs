//! The command line of `tercel connect`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use hyper::Method;

use crate::client::ClientOptions;
#[cfg(feature = "dns")]
use crate::dns::DnsServer;
use crate::ech_offer::EchSource;
use crate::explain::UsageError;
use crate::options::{check_http3, seconds};
use crate::starttls::{self, Protocol};
use crate::target::{Address, Scheme, Target};

/// Connect to a TLS server, report what was negotiated, then relay standard input and output
///
/// The report goes to standard error. At the end of standard input, close_notify is sent, and
/// reading continues until the server closes. The program exits when the server closes. Nothing is
/// relayed with --get, --head, --http3, --show-certs and --json. With pre-shared keys, certificates
/// are accepted only with --ca or --insecure.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Server; the default port is 443, or that of --starttls or of the URL's scheme
    ///
    /// Write an IPv6 address with a port as [ADDRESS]:PORT.
    #[arg(value_name = "HOST[:PORT] or URL")]
    pub(crate) address: Address,

    #[command(flatten)]
    pub(crate) client: ClientOptions,

    /// Start TLS by the command of this protocol; the default port is then the protocol's
    ///
    /// The time limit --timeout applies to the dialogue before the handshake as well.
    #[arg(long, value_name = "PROTOCOL")]
    pub(crate) starttls: Option<Protocol>,

    /// Encrypt the server's name (ECH, TLS 1.3) with the configurations in this file, Base64 or DNS
    /// record; or `auto`, `grease` or `off`
    ///
    /// `auto` looks up the HTTPS record of the server; it needs a program that was built with the
    /// feature `dns`. `grease` encrypts nothing: it sends an extension with random contents, so
    /// that observers cannot distinguish connections with and without ECH. `off` sends no
    /// extension. If the server rejects the configurations, the program connects once more: with
    /// those that the server sent, or without ECH if it sent none that is usable.
    #[arg(long, value_name = "SOURCE", default_value = "grease")]
    pub(crate) ech: EchSource,

    /// DNS server for the lookup of --ech auto: ADDRESS[:PORT], or the https URL of DNS over HTTPS,
    /// whose certificate is verified as the server's is; default: that of the system
    #[cfg(feature = "dns")]
    #[arg(long, value_name = "SERVER")]
    pub(crate) dns: Option<DnsServer>,

    /// Resume the newest session in this file, and save new sessions to it; created if missing
    ///
    /// The file is enough to resume its sessions, so only its owner may read it. A file that other
    /// users can write is refused, because a session is believed in place of a certificate.
    #[arg(long, value_name = "FILE")]
    pub(crate) session_file: Option<PathBuf>,

    /// Send this file before standard input, as early data as far as the session permits (TLS 1.3)
    ///
    /// Early data can be recorded and replayed by others. At most 64 KiB are sent early. The part
    /// that the server does not accept is sent after the handshake.
    #[arg(long, value_name = "FILE", requires = "session_file")]
    pub(crate) early_data: Option<PathBuf>,

    /// Time limit for each of: connecting, STARTTLS, the handshake, a response, and waiting for the
    /// server to close
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub(crate) timeout: Duration,

    /// Request the path of the URL instead of relaying: the head of the response goes to standard
    /// error, its content to standard output
    ///
    /// HTTP/2 and HTTP/1.1 are offered unless --alpn is given. The whole response must arrive
    /// within --timeout. The exit status does not depend on the status of the response.
    #[arg(long, conflicts_with_all = NOTHING_IS_SENT, conflicts_with_all = NO_REQUEST)]
    pub(crate) get: bool,

    /// Like --get, without the content of the response
    #[arg(long, conflicts_with_all = NOTHING_IS_SENT, conflicts_with_all = NO_REQUEST)]
    #[arg(conflicts_with = "get")]
    pub(crate) head: bool,

    /// Connect over QUIC, and send the request over HTTP/3; --get is the default
    ///
    /// With --show-certs and --json no request is sent.
    #[arg(long, conflicts_with_all = NOT_OVER_QUIC)]
    pub(crate) http3: bool,

    /// With --http3: send the request as early data, if the session of --session-file permits it
    ///
    /// Early data can be recorded and replayed by others. If the server rejects it, the request is
    /// sent again after the handshake.
    #[arg(long, requires = "http3", requires = "session_file")]
    #[arg(conflicts_with_all = ["show_certs", "json"])]
    pub(crate) early_request: bool,

    /// Print the server's certificates as PEM on standard output, then close the connection
    ///
    /// A description precedes each certificate. A refused chain is printed before the error.
    #[arg(long, conflicts_with_all = NOTHING_IS_SENT)]
    pub(crate) show_certs: bool,

    /// Print the report with the certificates, or the error, as one JSON object on standard output,
    /// then close the connection
    ///
    /// An error has the keys `error` (the text) and `reason`: usage, configuration, connect,
    /// starttls, certificate, alert, closed, ech-rejected, timed-out, not-tls or handshake. The
    /// exit status is the same as without --json, and the text is on standard error as well.
    #[arg(long, conflicts_with_all = NOTHING_IS_SENT, conflicts_with = "show_certs")]
    pub(crate) json: bool,

    /// Print only errors
    #[arg(long)]
    pub(crate) quiet: bool,

    /// Offer post-handshake authentication with --cert (TLS 1.3); close_notify waits for the
    /// request for at most --timeout
    #[arg(long)]
    pub(crate) post_handshake_auth: bool,

    /// Update the keys of both directions before sending anything (TLS 1.3)
    #[arg(long)]
    pub(crate) update_key: bool,
}

/// Options that need a connection over which data is sent.
const NOTHING_IS_SENT: [&str; 3] = ["early_data", "update_key", "post_handshake_auth"];

/// Options that cannot be combined with a request.
const NO_REQUEST: [&str; 3] = ["starttls", "show_certs", "json"];

/// Options that have no meaning over QUIC, or that HTTP/3 decides.
const NOT_OVER_QUIC: [&str; 6] =
    ["starttls", "alpn", "record_size_limit", "early_data", "update_key", "post_handshake_auth"];

impl Options {
    /// The method of the request, if one is sent.
    pub(crate) fn method(&self) -> Result<Option<Method>, UsageError> {
        if self.http3 {
            check_http3(&self.client.tls)?;
        }
        let method = match (self.get, self.head) {
            (true, _) => Method::GET,
            (_, true) => Method::HEAD,
            _ if self.http3 && !self.json && !self.show_certs => Method::GET,
            _ if self.http3 => return self.check_scheme("--http3 needs").map(|()| None),
            _ => return Ok(None),
        };
        self.check_scheme("--get, --head and --http3 need").map(|()| Some(method))
    }

    fn check_scheme(&self, need: &str) -> Result<(), UsageError> {
        match self.address.scheme {
            None | Some(Scheme::Https) => Ok(()),
            Some(other) => {
                Err(UsageError::new(format!("{need} an https URL, not one of {}", other.name())))
            }
        }
    }

    /// The server, at the default port of the protocol unless the address has a port.
    pub(crate) fn target(&self) -> Result<Target, UsageError> {
        starttls::target(&self.address, self.starttls)
    }
}

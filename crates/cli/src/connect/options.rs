//! The command line of `tercel connect`.
//!
//! Must not know: how a connection is made. Next: [`super`].

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use tercel::pki_types::ServerName;

use super::target::Target;
use crate::options::{TlsOptions, seconds};
use crate::psk::PskOptions;
use crate::usage_error;

/// Connect to a TLS server, report what was negotiated, then carry standard input and output
///
/// The report goes to standard error. At the end of standard input close_notify is sent, and reading
/// goes on until the server closes; when the server closes first, the program ends. With pre-shared
/// keys, certificates are taken only if --ca or --insecure says so.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// The server; an IPv6 address needs brackets
    #[arg(value_name = "HOST:PORT")]
    pub(crate) target: Target,

    /// Authorities in PEM to trust instead of the system's
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    pub(crate) ca: Option<PathBuf>,

    /// Trust whoever answers
    #[arg(long)]
    pub(crate) insecure: bool,

    /// Refuse a server that does not staple a good OCSP response to its certificate
    #[arg(long, conflicts_with = "insecure")]
    pub(crate) require_ocsp: bool,

    /// The name to verify and to send, instead of HOST
    #[arg(long, value_name = "NAME", value_parser = server_name)]
    pub(crate) name: Option<ServerName<'static>>,

    /// A certificate chain in PEM to show if the server asks for one
    #[arg(long, value_name = "FILE", requires = "key")]
    pub(crate) cert: Option<PathBuf>,

    /// The private key in PEM of --cert
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub(crate) key: Option<PathBuf>,

    /// Public keys in PEM that the server may show instead of a certificate; it need not have a name
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    pub(crate) server_keys: Option<PathBuf>,

    /// A private key in PEM whose public key is shown instead of a certificate, if the server asks
    #[arg(long, value_name = "FILE", conflicts_with = "cert")]
    pub(crate) raw_key: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) tls: TlsOptions,

    #[command(flatten)]
    pub(crate) keys: PskOptions,
    /// Resume the newest session in this file, and keep new ones there; it is made if it is missing
    ///
    /// Whoever reads it can continue the sessions in it, so only its owner may.
    #[arg(long, value_name = "FILE")]
    pub(crate) session_file: Option<PathBuf>,

    /// Send this file before standard input, as early data as far as the session allows (TLS 1.3)
    ///
    /// Early data can be recorded and sent to the server again by others. What the server does not
    /// accept early, at most 64 KiB in any case, is sent after the handshake.
    #[arg(long, value_name = "FILE", requires = "session_file")]
    pub(crate) early_data: Option<PathBuf>,

    /// How long connecting, the handshake, and the server's closing after ours may take, each
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub(crate) timeout: Duration,

    /// Report nothing but errors
    #[arg(long)]
    pub(crate) quiet: bool,

    /// Let the server ask for the certificate of --cert after the handshake (TLS 1.3); close_notify then
    /// waits for that, as long as --timeout at most
    #[arg(long)]
    pub(crate) post_handshake_auth: bool,

    /// Change the keys of both directions before sending anything (TLS 1.3)
    #[arg(long)]
    pub(crate) update_key: bool,
}

impl Options {
    /// The name the server has to have.
    pub(crate) fn server_name(&self) -> ServerName<'static> {
        let name = self.name.clone().map_or_else(|| server_name(&self.target.host), Ok);
        name.unwrap_or_else(|why| usage_error(&format!("{why}; give one with --name")))
    }
}

fn server_name(text: &str) -> Result<ServerName<'static>, String> {
    // A final dot is for the resolver; certificates and server_name have none. RFC 6066 3
    let name = text.strip_suffix('.').unwrap_or(text);
    ServerName::try_from(name.to_owned())
        .map_err(|_| format!("`{text}` is neither a DNS name nor an IP address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_dns_names_or_addresses() {
        assert_eq!(server_name("a.example.").unwrap().to_str(), "a.example");
        assert!(matches!(server_name("::1"), Ok(ServerName::IpAddress(_))));
        assert!(matches!(server_name("127.0.0.1"), Ok(ServerName::IpAddress(_))));
        assert!(server_name("a b").is_err() && server_name("").is_err());
    }
}

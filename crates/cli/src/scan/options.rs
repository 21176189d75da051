//! The command line of `tercel scan`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use tercel::ServerName;

use super::connections::Limits;
use crate::client::server_name;
use crate::options::seconds;
use crate::starttls::Protocol;
use crate::target::Address;

/// Find out what a TLS server supports: versions, cipher suites, groups, signature schemes,
/// application protocols, resumption, extensions, certificates
///
/// The result is a table on standard output, with findings at its end, the most serious first. The
/// server receives one connection at a time. Most of them end after the server's first messages; no
/// application data is sent. A busy or rate-limited server may refuse connections: the scan then
/// stops, and its notes say so.
///
/// The exit status is 0 after a scan, whatever it found; 1 if the server cannot be reached or has
/// no TLS; 2 for a wrong command line.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Server; the default port is 443, or that of --starttls or of the URL's scheme
    ///
    /// Write an IPv6 address with a port as [ADDRESS]:PORT.
    #[arg(value_name = "HOST[:PORT] or URL")]
    pub(crate) address: Address,

    /// Start TLS by the command of this protocol; the default port is then the protocol's
    #[arg(long, value_name = "PROTOCOL")]
    pub(crate) starttls: Option<Protocol>,

    /// Server name to send and to verify; default: HOST
    #[arg(
        long, visible_alias = "server-name", value_name = "NAME", value_parser = server_name
    )]
    pub(crate) name: Option<ServerName<'static>>,

    /// Trust the certificate authorities in this PEM file instead of those of the system
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    pub(crate) ca: Option<PathBuf>,

    /// Do not judge whether the certificates are trusted
    #[arg(long)]
    pub(crate) insecure: bool,

    /// Print one JSON object instead of the table
    #[arg(long)]
    pub(crate) json: bool,

    /// Offer early data in a resumed session (TLS 1.3), without sending any
    #[arg(long)]
    pub(crate) early_data: bool,

    /// Time limit for each connection
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub(crate) timeout: Duration,

    /// Pause between connections
    #[arg(long, value_name = "MILLISECONDS", default_value = "20", value_parser = interval)]
    pub(crate) interval: Duration,

    /// Maximum number of connections
    #[arg(
        long, value_name = "N", default_value = "150",
        value_parser = clap::value_parser!(u32).range(1..=10_000)
    )]
    pub(crate) max_connections: u32,

    /// Time limit for the whole scan
    #[arg(long, value_name = "SECONDS", default_value = "180", value_parser = seconds)]
    pub(crate) max_time: Duration,
}

impl Options {
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            timeout: self.timeout,
            interval: self.interval,
            max_connections: self.max_connections,
            max_time: self.max_time,
        }
    }
}

fn interval(text: &str) -> Result<Duration, String> {
    match text.parse() {
        Ok(milliseconds @ 0..=60_000) => Ok(Duration::from_millis(milliseconds)),
        _ => Err("must be a whole number of milliseconds from 0 to 60000".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_whole_milliseconds() {
        assert_eq!(interval("0"), Ok(Duration::ZERO));
        assert_eq!(interval("250"), Ok(Duration::from_millis(250)));
        assert!(interval("-1").is_err() && interval("1.5").is_err() && interval("60001").is_err());
    }
}

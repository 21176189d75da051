//! The command line of `tercel load`.

use std::num::NonZeroUsize;
use std::thread;
use std::time::Duration;

use anyhow::Result;
use clap::{ArgGroup, Args};
use tercel::ech::Offer;

use crate::client::ClientOptions;
use crate::ech_offer::{EchSource, configs};
use crate::explain::UsageError;
use crate::options::{check_http3, seconds};
use crate::target::Address;

/// Generate load on TLS servers and report throughput and latency
///
/// Each connection starts the next operation as soon as the previous one is done, or at fixed times
/// with --rate. Errors are counted by kind; if anything failed, the exit status is 1. The CPU usage
/// of this program is not reported: run it on cores that the server does not need.
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("mode").required(true).multiple(false))]
pub(crate) struct Options {
    /// Servers; several are measured in turn. The default port is 443, the default path /
    #[arg(value_name = "URL or HOST[:PORT]", required = true, value_parser = Address::parse_https)]
    pub(crate) targets: Vec<Address>,

    /// Full handshakes; each connection is closed at once
    #[arg(long, group = "mode")]
    pub(crate) full: bool,

    /// Resumed handshakes; each connection is closed at once
    ///
    /// Each loop makes one full handshake before the measurement. A connection that is not resumed
    /// after that counts as an error.
    #[arg(long, group = "mode")]
    pub(crate) resumed: bool,

    /// Download the path of the URL repeatedly over connections that stay open
    #[arg(long, group = "mode")]
    pub(crate) bulk: bool,

    /// Request the path of the URL, one request after the other, over connections that stay open
    #[arg(long, group = "mode")]
    pub(crate) requests: bool,

    /// Hold N idle connections for --seconds, and report how many stay open
    #[arg(long, group = "mode", value_name = "N")]
    pub(crate) idle: Option<NonZeroUsize>,

    /// With --bulk: upload this many bytes per request with POST instead of downloading
    #[arg(
        long,
        value_name = "BYTES",
        requires = "bulk",
        conflicts_with_all = ["full", "resumed", "requests", "idle"],
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    pub(crate) upload: Option<u64>,

    /// Send requests over HTTP/2 instead of HTTP/1.1; with --alpn, the server chooses
    #[arg(
        long,
        conflicts_with_all = ["full", "resumed", "idle", "alpn"],
    )]
    pub(crate) http2: bool,

    /// Connect over QUIC, and send requests over HTTP/3
    #[arg(long, conflicts_with_all = ["http2", "alpn", "record_size_limit"])]
    pub(crate) http3: bool,

    /// Number of concurrent connections; with --idle, how many are opened concurrently
    #[arg(long, value_name = "N", default_value = "16")]
    pub(crate) connections: NonZeroUsize,

    /// Number of threads; default: number of cores
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,

    /// Duration of the measurement
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub(crate) seconds: Duration,

    /// Warm-up time before the measurement
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = warm_up)]
    warm_up: Duration,

    /// Start N operations per second in total, whether or not earlier ones are done
    ///
    /// Latency counts from the scheduled time, and includes the wait for a free connection. Without
    /// this option a server that stalls receives fewer requests, and its latency looks better than
    /// it is (coordinated omission).
    #[arg(long, value_name = "N", conflicts_with_all = ["bulk", "idle"], value_parser = rate)]
    pub(crate) rate: Option<f64>,

    /// Number of measurements of each server
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) rounds: NonZeroUsize,

    /// Encrypt the server's name (ECH, TLS 1.3) with the configurations in this file, Base64 or DNS
    /// record; or `grease` or `off`; default: off
    ///
    /// `grease` encrypts nothing: it sends an extension with random contents. A connection whose
    /// server rejects the configurations counts as an error.
    #[arg(long, value_name = "SOURCE", conflicts_with = "http3")]
    pub(crate) ech: Option<EchSource>,

    #[command(flatten)]
    pub(crate) client: ClientOptions,

    /// Time limit for each of: connecting, a handshake, a request, closing
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub(crate) timeout: Duration,

    /// Exit with 0 even if some operations failed; still 1 if all did
    #[arg(long)]
    pub(crate) allow_errors: bool,

    /// Print the report as JSON, with times in microseconds
    #[arg(long)]
    pub(crate) json: bool,
}

/// The operation that each connection repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Full,
    Resumed,
    Bulk,
    Upload(u64),
    Requests,
    Idle(usize),
}

impl Mode {
    /// The name in reports, which is stable.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Resumed => "resumed",
            Self::Bulk => "bulk",
            Self::Upload(_) => "upload",
            Self::Requests => "requests",
            Self::Idle(_) => "idle",
        }
    }

    /// The unit of the operations that are counted.
    pub(crate) fn units(self) -> &'static str {
        match self {
            Self::Full => "full handshakes",
            Self::Resumed => "resumed handshakes",
            Self::Bulk | Self::Upload(_) | Self::Requests => "requests",
            Self::Idle(_) => "connections",
        }
    }

    pub(crate) fn speaks_http(self) -> bool {
        matches!(self, Self::Bulk | Self::Upload(_) | Self::Requests)
    }
}

impl Options {
    /// What each connection offers of Encrypted ClientHello.
    pub(crate) fn offer(&self) -> Result<Offer> {
        match &self.ech {
            None | Some(EchSource::Off) => Ok(Offer::None),
            Some(EchSource::Grease) => Ok(Offer::Grease),
            Some(EchSource::Named(argument)) => configs(argument),
            Some(EchSource::Auto) => {
                Err(UsageError::new("--ech auto is possible with `tercel connect` only: pass a file, Base64 or a record").into())
            }
        }
    }

    pub(crate) fn mode(&self) -> Mode {
        match (self.idle, self.upload) {
            (Some(number), _) => Mode::Idle(number.get()),
            (None, Some(bytes)) => Mode::Upload(bytes),
            (None, None) if self.full => Mode::Full,
            (None, None) if self.resumed => Mode::Resumed,
            (None, None) if self.bulk => Mode::Bulk,
            (None, None) => Mode::Requests,
        }
    }

    /// The warm-up time; none for idle connections.
    pub(crate) fn warm_up(&self) -> Duration {
        if let Mode::Idle(_) = self.mode() { Duration::ZERO } else { self.warm_up }
    }

    /// The number of threads: at most one per connection.
    pub(crate) fn threads(&self) -> usize {
        let cores = || thread::available_parallelism().map_or(1, NonZeroUsize::get);
        self.threads.map_or_else(cores, NonZeroUsize::get).min(self.connections.get())
    }

    /// Refuses combinations of options that make no sense.
    pub(crate) fn check(&self) -> Result<(), UsageError> {
        for target in &self.targets {
            self.client.server_name(&target.host)?;
        }
        if self.http3 {
            check_http3(&self.client.tls)?;
        }
        let other = |name: &String| name != "http/1.1" && name != "h2";
        if self.mode().speaks_http()
            && self.client.tls.alpn.as_ref().is_some_and(|names| names.0.iter().any(other))
        {
            let message = "--alpn: only h2 and http/1.1 are possible in this mode";
            return Err(UsageError::new(message));
        }
        Ok(())
    }
}

/// Parses seconds from 0 on, with a fraction.
fn warm_up(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.0..=3600.0).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| "must be a number from 0 to 3600".to_owned())
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate| (0.01..=10_000_000.0).contains(rate));
    rate.ok_or_else(|| "must be a number from 0.01 to 10000000".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser, Debug)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    fn parse(arguments: &str) -> Result<Options, clap::error::ErrorKind> {
        let line =
            Line::try_parse_from(["load", "localhost:1"].into_iter().chain(arguments.split(' ')));
        line.map(|line| line.options).map_err(|error| error.kind())
    }

    #[test]
    fn each_mode_is_named_by_one_option() {
        let mode = |arguments| parse(arguments).map(|options| options.mode());
        assert_eq!(mode("--full"), Ok(Mode::Full));
        assert_eq!(mode("--resumed"), Ok(Mode::Resumed));
        assert_eq!(mode("--bulk"), Ok(Mode::Bulk));
        assert_eq!(mode("--bulk --upload 7"), Ok(Mode::Upload(7)));
        assert_eq!(mode("--requests"), Ok(Mode::Requests));
        assert_eq!(mode("--idle 5"), Ok(Mode::Idle(5)));
    }

    #[test]
    fn invalid_combinations_are_refused() {
        use clap::error::ErrorKind;
        let refused = |arguments| parse(arguments).map(|options| options.mode()).unwrap_err();
        assert_eq!(refused("--json"), ErrorKind::MissingRequiredArgument);
        assert_eq!(refused("--full --resumed"), ErrorKind::ArgumentConflict);
        assert_eq!(refused("--idle 5 --rate 5"), ErrorKind::ArgumentConflict);
        assert_eq!(refused("--bulk --rate 5"), ErrorKind::ArgumentConflict);
        assert_eq!(refused("--full --upload 5"), ErrorKind::ArgumentConflict);
        assert_eq!(refused("--idle 0"), ErrorKind::ValueValidation);
        assert_eq!(refused("--full --rate 0"), ErrorKind::ValueValidation);
        assert_eq!(refused("--full --rate nan"), ErrorKind::ValueValidation);
        assert_eq!(refused("--full --warm-up inf"), ErrorKind::ValueValidation);
        assert_eq!(refused("--full --connections 0"), ErrorKind::ValueValidation);
    }

    #[test]
    fn every_thread_has_a_connection() {
        assert_eq!(parse("--full --connections 2 --threads 8").unwrap().threads(), 2);
        assert_eq!(parse("--full --connections 8 --threads 3").unwrap().threads(), 3);
    }
}

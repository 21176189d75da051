//! The command line of `tercel load`.
//!
//! Must not know: how load is made. Next: [`super`], [`super::url`].

use std::num::NonZeroUsize;
use std::thread;
use std::time::Duration;

use clap::{ArgGroup, Args};

use super::url::Url;
use crate::client::ClientOptions;
use crate::options::seconds;
use crate::usage_error;

/// Put load on TLS servers and tell what came of it
///
/// Each connection is a loop of its own: it begins again as soon as it is done, or at its moments of a
/// --rate. Errors are counted by kind and shown; a run in which anything failed exits with 1. How busy
/// this program itself was is for its user to see to: give it cores that the server does not need.
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("mode").required(true).multiple(false))]
pub(crate) struct Options {
    /// The servers, in turns if there are several; https and port 443 if not said otherwise
    #[arg(value_name = "URL or HOST:PORT", required = true)]
    pub(crate) targets: Vec<Url>,

    /// Connections with full handshakes, each closed at once
    #[arg(long, group = "mode")]
    pub(crate) full: bool,

    /// Connections that resume the session of an earlier one, each closed at once
    ///
    /// Everyone makes one full handshake before the counting starts. A connection that is not resumed
    /// after that is an error.
    #[arg(long, group = "mode")]
    pub(crate) resumed: bool,

    /// As many bytes as possible of the URL's path over connections that stay open (HTTP/1.1)
    #[arg(long, group = "mode")]
    pub(crate) bulk: bool,

    /// Requests for the URL's path, one after the other over connections that stay open (HTTP/1.1)
    #[arg(long, group = "mode")]
    pub(crate) requests: bool,

    /// So many connections that say nothing, held for --seconds; tells how many stayed
    #[arg(long, group = "mode", value_name = "N")]
    pub(crate) idle: Option<NonZeroUsize>,

    /// With --bulk: send so many bytes a request, by POST, instead of asking for some
    #[arg(long, value_name = "BYTES", requires = "bulk", conflicts_with_all = ["full", "resumed", "requests", "idle"], value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) upload: Option<u64>,

    /// How many connections are busy at once; with --idle, how many are made at once
    #[arg(long, value_name = "N", default_value = "16")]
    pub(crate) connections: NonZeroUsize,

    /// How many threads share them; by default as many as there are cores
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,

    /// How long to count
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub(crate) seconds: Duration,

    /// How long to run before the counting starts
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = warm_up)]
    warm_up: Duration,

    /// Begin so many a second whether or not earlier ones are done, over all connections together
    ///
    /// Who has to wait for a connection to be free has waited: times count from the moment at which it
    /// was due. Without this, a server that stalls is asked less, and looks better than it is.
    #[arg(long, value_name = "N", conflicts_with_all = ["bulk", "idle"], value_parser = rate)]
    pub(crate) rate: Option<f64>,

    /// How often to measure each server
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) rounds: NonZeroUsize,

    #[command(flatten)]
    pub(crate) client: ClientOptions,

    /// How long a connection with its handshake, or a request, may take
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub(crate) timeout: Duration,

    /// Exit with 0 though some failed; if all did, it is still 1
    #[arg(long)]
    pub(crate) allow_errors: bool,

    /// Report as JSON; times are in microseconds
    #[arg(long)]
    pub(crate) json: bool,
}

/// What each connection does.
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
    /// A stable name.
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

    /// What is counted.
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

    /// Nothing is warmed up by being idle.
    pub(crate) fn warm_up(&self) -> Duration {
        if let Mode::Idle(_) = self.mode() { Duration::ZERO } else { self.warm_up }
    }

    /// How many threads there are: none without a connection.
    pub(crate) fn threads(&self) -> usize {
        let cores = || thread::available_parallelism().map_or(1, NonZeroUsize::get);
        self.threads.map_or_else(cores, NonZeroUsize::get).min(self.connections.get())
    }

    /// Ends the program if options that each make sense make none together.
    pub(crate) fn check(&self) {
        for target in &self.targets {
            let _ = self.client.server_name(&target.target.host);
        }
        let other = |name: &String| name != "http/1.1";
        if self.mode().speaks_http()
            && self.client.tls.alpn.as_ref().is_some_and(|names| names.0.iter().any(other))
        {
            usage_error("requests are HTTP/1.1: --alpn can name nothing else");
        }
    }
}

/// Seconds from 0 on, with a fraction.
fn warm_up(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.0..=3600.0).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| "not a number from 0 to 3600".to_owned())
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate| (0.01..=10_000_000.0).contains(rate));
    rate.ok_or_else(|| "not a number from 0.01 to 10000000".to_owned())
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

    fn parse(words: &str) -> Result<Options, clap::error::ErrorKind> {
        let line =
            Line::try_parse_from(["load", "localhost:1"].into_iter().chain(words.split(' ')));
        line.map(|line| line.options).map_err(|error| error.kind())
    }

    #[test]
    fn each_mode_is_named_by_one_option() {
        let mode = |words| parse(words).map(|options| options.mode());
        assert_eq!(mode("--full"), Ok(Mode::Full));
        assert_eq!(mode("--resumed"), Ok(Mode::Resumed));
        assert_eq!(mode("--bulk"), Ok(Mode::Bulk));
        assert_eq!(mode("--bulk --upload 7"), Ok(Mode::Upload(7)));
        assert_eq!(mode("--requests"), Ok(Mode::Requests));
        assert_eq!(mode("--idle 5"), Ok(Mode::Idle(5)));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        use clap::error::ErrorKind;
        let refused = |words| parse(words).map(|options| options.mode()).unwrap_err();
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
    fn no_thread_is_without_a_connection() {
        assert_eq!(parse("--full --connections 2 --threads 8").unwrap().threads(), 2);
        assert_eq!(parse("--full --connections 8 --threads 3").unwrap().threads(), 3);
    }
}

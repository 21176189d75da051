//! The command line of `tercel connect`.
//!
//! Must not know: how a connection is made. Next: [`super`].

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::target::Target;
use crate::client::ClientOptions;
use crate::options::seconds;

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

    #[command(flatten)]
    pub(crate) client: ClientOptions,

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

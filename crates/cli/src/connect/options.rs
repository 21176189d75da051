//! The command line of `tercel connect`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::client::ClientOptions;
use crate::options::seconds;
use crate::target::Target;

/// Connect to a TLS server, report what was negotiated, then relay standard input and output
///
/// The report goes to standard error. At the end of standard input, close_notify is sent, and
/// reading continues until the server closes. The program exits when the server closes. With
/// pre-shared keys, certificates are accepted only with --ca or --insecure.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Server; write IPv6 addresses in brackets
    #[arg(value_name = "HOST:PORT")]
    pub(crate) target: Target,

    #[command(flatten)]
    pub(crate) client: ClientOptions,

    /// Resume the newest session in this file, and save new sessions to it; created if missing
    ///
    /// The file is enough to resume its sessions, so only its owner may read it.
    #[arg(long, value_name = "FILE")]
    pub(crate) session_file: Option<PathBuf>,

    /// Send this file before standard input, as early data as far as the session permits (TLS 1.3)
    ///
    /// Early data can be recorded and replayed by others. At most 64 KiB are sent early. The part
    /// that the server does not accept is sent after the handshake.
    #[arg(long, value_name = "FILE", requires = "session_file")]
    pub(crate) early_data: Option<PathBuf>,

    /// Time limit for each of: connecting, the handshake, and waiting for the server to close
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub(crate) timeout: Duration,

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

//! The options of one endpoint. The drivers in `peers` have the same.

use std::ffi::OsString;
use std::path::PathBuf;

#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Options {
    #[arg(long, default_value_t = 0)]
    pub(crate) port: u16,
    /// The application protocol: `echo`, or `h3` for HTTP/3.
    #[arg(long, default_value = "echo")]
    pub(crate) alpn: String,
    /// The roots by which the peer is verified, in PEM. A server with roots requires a certificate.
    #[arg(long)]
    pub(crate) roots: Option<PathBuf>,
    #[arg(long)]
    pub(crate) cert: Option<PathBuf>,
    #[arg(long)]
    pub(crate) key: Option<PathBuf>,
    /// The number of connections that a client makes, each with the session of the one before.
    #[arg(long, default_value_t = 1)]
    pub(crate) connections: usize,
    #[arg(long)]
    pub(crate) early_data: bool,
    /// Tercel has ChaCha20-Poly1305 only. The other side keeps its suites.
    #[arg(long)]
    pub(crate) chacha20: bool,
    /// A server supports P-384 only; a client supports it and has no key share of it.
    #[arg(long)]
    pub(crate) p384: bool,
    /// A server sends a Retry packet.
    #[arg(long)]
    pub(crate) retry: bool,
    /// A server supports version 2 of QUIC, in addition to version 1.
    #[arg(long)]
    pub(crate) version2: bool,
    /// Updates the keys after the first exchange.
    #[arg(long)]
    pub(crate) key_update: bool,
}

impl Options {
    /// The arguments that give these options.
    pub(crate) fn arguments(&self) -> Vec<OsString> {
        let mut all: Vec<OsString> = vec![
            "--port".into(),
            self.port.to_string().into(),
            "--alpn".into(),
            (&self.alpn).into(),
        ];
        let files = [("--roots", &self.roots), ("--cert", &self.cert), ("--key", &self.key)];
        for (name, file) in files {
            if let Some(file) = file {
                all.extend([name.into(), file.into()]);
            }
        }
        all.extend(["--connections".into(), self.connections.to_string().into()]);
        let flags = [
            ("--early-data", self.early_data),
            ("--chacha20", self.chacha20),
            ("--p384", self.p384),
            ("--retry", self.retry),
            ("--version2", self.version2),
            ("--key-update", self.key_update),
        ];
        all.extend(flags.iter().filter(|(_, is_set)| *is_set).map(|(name, _)| name.into()));
        all
    }
}

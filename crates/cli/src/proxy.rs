//! `tercel proxy`: the options, and one line for what is wrong with them.
//!
//! Must not know: how anything is served. Next: the crate `tercel-proxy`.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use tercel_proxy::{Config, Simple};

use crate::explain::say;

/// Terminate TLS: take clients' connections and hand their bytes to a backend
///
/// What options do not say, a configuration file can: see docs/proxy.md. SIGTERM ends it when the connections have
/// ended, SIGHUP has it read its files again.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Where to listen; `:443` is for every address
    #[arg(long, value_name = "ADDRESS:PORT", required_unless_present = "config")]
    listen: Option<String>,

    /// Where clients' bytes go: ADDRESS:PORT, NAME:PORT or unix:PATH; repeat for several, which take turns
    #[arg(long, value_name = "BACKEND", required_unless_present = "config")]
    to: Vec<String>,

    /// A folder of certificates and keys in PEM, watched for changes
    #[arg(
        long,
        value_name = "DIR",
        required_unless_present_any = ["config", "cert"],
        conflicts_with = "cert"
    )]
    cert_dir: Option<PathBuf>,

    /// A certificate chain in PEM, leaf first
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,

    /// Its private key in PEM
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,

    /// Threads that serve; by default as many as there are cores
    #[arg(long, value_name = "N")]
    workers: Option<u32>,

    /// Do not hash side by side in vector instructions
    #[arg(long)]
    no_hash_lanes: bool,

    /// Where /metrics and /healthz are served
    #[arg(long, value_name = "ADDRESS:PORT")]
    admin: Option<String>,

    /// How events are written: text or json
    #[arg(long, value_name = "FORMAT")]
    log: Option<String>,

    /// From which level on: error, warn, info, debug, trace
    #[arg(long, value_name = "LEVEL")]
    log_level: Option<String>,

    /// A configuration (TOML) instead of the options above
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = [
            "listen", "to", "cert_dir", "cert", "key", "workers", "no_hash_lanes", "admin", "log",
            "log_level",
        ]
    )]
    config: Option<PathBuf>,

    /// Only say whether the configuration, and all that it names, is good
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let config = match &options.config {
        Some(file) => Config::load(file)?,
        None => Config::simple(&options.simple())?,
    };
    if options.check {
        tercel_proxy::check(&config)?;
        for warning in config.warnings() {
            say(format_args!("warning: {warning}"));
        }
        say(format_args!("the configuration is good"));
        return Ok(());
    }
    tercel_proxy::run(config)
}

impl Options {
    fn simple(&self) -> Simple {
        Simple {
            listen: self.listen.clone().unwrap_or_default(),
            to: self.to.clone(),
            certificates: self.cert_dir.clone(),
            certificate: self.cert.clone(),
            key: self.key.clone(),
            workers: self.workers,
            no_hash_lanes: self.no_hash_lanes,
            admin: self.admin.clone(),
            log: self.log.clone(),
            log_level: self.log_level.clone(),
        }
    }
}

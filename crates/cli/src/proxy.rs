//! The command line of `tercel proxy`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use tercel::crypto::Kernel;
use tercel_proxy::{CommandLineOptions, Config};

use crate::explain::{chain, print_error, print_line, warn};
use crate::options::{self, List};

/// Terminate TLS and forward connections to a backend
///
/// A configuration file can set more than these options: see docs/proxy.md. SIGTERM shuts down
/// gracefully, SIGHUP reloads the configuration and certificates.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Address to listen on; `:443` means all addresses
    #[arg(long, value_name = "ADDRESS:PORT", required_unless_present = "config")]
    listen: Option<String>,

    /// Backend: ADDRESS:PORT, NAME:PORT or unix:PATH; if repeated, backends are used round robin
    #[arg(long, value_name = "BACKEND", required_unless_present = "config")]
    to: Vec<String>,

    /// Directory of certificates and keys in PEM, watched for changes
    #[arg(
        long,
        value_name = "DIR",
        required_unless_present_any = ["config", "cert"],
        conflicts_with = "cert"
    )]
    cert_dir: Option<PathBuf>,

    /// Certificate chain in PEM, leaf first
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,

    /// Private key of --cert, in PEM
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,

    /// Number of worker threads; default: number of cores
    #[arg(long, value_name = "N")]
    workers: Option<u32>,

    /// Do not use vector instructions to hash several messages in parallel
    #[arg(long)]
    no_hash_lanes: bool,

    /// Kernels for AVX-512 not to use: aes-gcm, chacha20-poly1305, rsa-2048, or all; separated by
    /// `:` or `,`
    #[arg(long, value_name = "NAMES", value_parser = options::kernels)]
    no_kernels: Option<List<Kernel>>,

    /// Use only approved cryptography of AWS-LC's FIPS module; requires a build with the feature
    /// fips
    #[arg(long)]
    fips: bool,

    /// Address to serve /metrics and /healthz on
    #[arg(long, value_name = "ADDRESS:PORT")]
    admin: Option<String>,

    /// Log format: text or json
    #[arg(long, value_name = "FORMAT")]
    log: Option<String>,

    /// Log level: error, warn, info, debug, trace
    #[arg(long, value_name = "LEVEL")]
    log_level: Option<String>,

    /// Configuration file (TOML), instead of the options above
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = [
            "listen", "to", "cert_dir", "cert", "key", "workers", "no_hash_lanes", "no_kernels",
            "fips", "admin", "log", "log_level",
        ]
    )]
    config: Option<PathBuf>,

    /// Check the configuration and the files it names, then exit
    #[arg(long)]
    check: bool,
}

/// Runs the terminator. Its error is printed here, because standard error is a log, whose reader
/// may have stopped: the process ends all the same.
pub(crate) fn run(options: &Options) -> ExitCode {
    let Err(error) = serve(options) else { return ExitCode::SUCCESS };
    let (printed, is_printed) = mpsc::channel();
    thread::spawn(move || {
        print_error("tercel:", format_args!("{}", chain(&error)));
        let _ = printed.send(());
    });
    let _ = is_printed.recv_timeout(PRINT_TIME);
    ExitCode::FAILURE
}

/// How long the end of the process waits for standard error.
const PRINT_TIME: Duration = Duration::from_secs(1);

fn serve(options: &Options) -> Result<()> {
    let config = match &options.config {
        Some(file) => Config::load(file)?,
        None => Config::from_options(&options.command_line_options())?,
    };
    if options.check {
        let (warnings, contents) = tercel_proxy::check_files(&config)?;
        for line in contents {
            print_line(format_args!("{line}"));
        }
        for warning in warnings {
            warn(format_args!("{warning}"));
        }
        print_line(format_args!("configuration is valid"));
        return Ok(());
    }
    tercel_proxy::run(config)
}

impl Options {
    fn command_line_options(&self) -> CommandLineOptions {
        CommandLineOptions {
            listen: self.listen.clone().unwrap_or_default(),
            to: self.to.clone(),
            certificates: self.cert_dir.clone(),
            certificate: self.cert.clone(),
            key: self.key.clone(),
            workers: self.workers,
            no_hash_lanes: self.no_hash_lanes,
            no_kernels: self.no_kernels.iter().flat_map(|list| list.0.clone()).collect(),
            fips: self.fips,
            admin: self.admin.clone(),
            log: self.log.clone(),
            log_level: self.log_level.clone(),
        }
    }
}

//! `tercel ech publish`: keys for all nodes of a fleet of `tercel proxy`.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use tercel_proxy::{Config, publish_ech_keys};

use crate::output;

/// Publish keys to all nodes of a fleet of `tercel proxy`
///
/// The keys are encrypted with the fleet secret, written to the store of the fleet, and replace
/// those that were published before. The command ends when the nodes that are connected to the
/// store use the new ones. docs/proxy.md has the steps of a rotation.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Configuration file of one of the nodes, with keys = "shared" in [ech]; the certificates and
    /// secrets that it names must be readable
    #[arg(long, value_name = "FILE")]
    config: PathBuf,

    /// Directory of the keys; all its files `*.ech` are published, and no others stay valid
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// Name of a file in the directory: its configuration is sent to clients whose own is outdated;
    /// may be repeated; default: the last file by name
    #[arg(long, value_name = "NAME")]
    retry: Vec<String>,
}

/// Publishes the keys, and prints what was published.
pub(super) fn run(options: &Options) -> Result<()> {
    let config = Config::load(&options.config)?;
    let published = publish_ech_keys(&config, &options.directory, &options.retry)?;
    output::print(format!(
        "published set {} of {} keys; sent to clients with an outdated one: {}\n",
        published.set,
        published.keys,
        published.sent.join(", ")
    ))
}

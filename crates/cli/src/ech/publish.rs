//! `tercel ech publish`: keys for all nodes of a fleet of `tercel proxy`.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use tercel_proxy::{Config, publish_ech_keys};

use crate::output;

/// Publish keys to all nodes of a fleet of `tercel proxy`
///
/// The nodes read the keys from their store, and the keys replace those published before. The
/// command ends when the nodes that are connected to the store use them. docs/proxy.md has the
/// steps of a rotation.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Configuration of one of the nodes, with keys = "shared" in [ech]
    #[arg(long, value_name = "FILE")]
    config: PathBuf,

    /// Directory of the keys; all files `*.ech` are published
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// File in the directory whose configuration is sent to clients with an outdated one; may be
    /// repeated; default: the last file by name
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

//! Publishes keys for Encrypted ClientHello to all nodes of a fleet.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use tercel::pki_types::UnixTime;
use tercel_fleet::{EchKeySet, Fleet, Settings};

use crate::active_config::ActiveConfig;
use crate::config::{Config, Ech, EchFolder};
use crate::ech_keys::{Loaded, without_certificate};

/// The result of [`publish_ech_keys`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishedEchKeys {
    /// The number of the set, which grows by one each time.
    pub set: u64,
    /// The number of keys.
    pub keys: usize,
    /// The files of the keys whose configurations are sent to clients with an outdated one.
    pub sent: Vec<String>,
}

/// Publishes the keys in the files `*.ech` of a folder to the nodes that share keys with this
/// configuration. The configurations of the files in `retry`, or of the last file by name, are sent
/// to clients with an outdated one. Waits for some seconds until connected nodes have the keys.
///
/// # Errors
/// If a file cannot be used, if no listener of the configuration has a certificate for a public
/// name, or if the store is unavailable.
pub fn publish_ech_keys(
    config: &Config,
    directory: &Path,
    retry: &[String],
) -> Result<PublishedEchKeys> {
    let Some(Ech::Shared(shared)) = &config.ech else {
        let error = config.location.error("ech.keys", "must be \"shared\" to publish keys");
        return Err(config.text.with_line(error).into());
    };
    let location = shared.location.clone();
    let folder = EchFolder { location, directory: directory.to_owned(), retry: retry.to_vec() };
    let Loaded { keys, sent, since, .. } = Loaded::read(&folder).map_err(|why| anyhow!("{why}"))?;
    let active = ActiveConfig::new(config, None)?;
    for (key, _) in &keys {
        let name = key.public_name();
        ensure!(active.shows_certificate(name), "{}", without_certificate(name));
    }
    let set = EchKeySet::new(&keys, since.unwrap_or_else(UnixTime::now))?;
    let fleet = config.resumption.fleet.clone().unwrap_or_default();
    // This node shares nothing else, so that it writes nothing else to the store.
    let settings =
        Settings { name: fleet.name, store: fleet.store, ech_keys: true, ..Settings::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let published = runtime.block_on(async {
        let fleet = Fleet::connect(&settings)?;
        // Keys in the store that cannot be read are the more exact error of publishing.
        fleet.reached(CONNECT_LIMIT).await;
        fleet.publish_ech_keys(&set).await
    });
    let set = published.context("cannot publish the keys")?;
    Ok(PublishedEchKeys { set, keys: keys.len(), sent })
}

/// How long to wait for the store.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

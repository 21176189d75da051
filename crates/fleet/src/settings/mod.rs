//! The settings of a node: the state that it shares with its fleet, and its store.

pub(crate) mod url;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::error::FleetError;

/// The settings of a node: which state it shares with its fleet. By default it shares no state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Distinguishes fleets that use the same store or secret. Default: `default`.
    pub name: String,
    /// The source of ticket keys. By default each configuration generates its own keys, which no
    /// other process can use.
    pub ticket_keys: TicketKeys,
    /// Lifetime of tickets under shared keys, between one minute and seven days. Keys in the store
    /// are replaced at this interval, so it must be the same on all nodes. Default: six hours.
    pub ticket_lifetime: Duration,
    /// Whether sessions are stored in the store, where each node finds them by session ID or
    /// ticket. Default: no.
    pub sessions: bool,
    /// The maximum amount of early data, in bytes, that a client may send; the store decides
    /// whether the early data is new. 0, the default, disables early data. See
    /// [`early_data`](tercel::server::ServerConfigBuilder::early_data) for what early data means.
    pub early_data: u32,
    /// The freshness window for early data, 2 to 60 whole seconds; see
    /// [`freshness_window`](tercel::server::ServerConfigBuilder::freshness_window).
    /// [`Fleet::blind_time`](crate::Fleet::blind_time) is twice the window, plus the difference
    /// allowed between clocks. Nodes may have different windows, and the window may be changed at
    /// any time: a ticket permits early data only under the window under which it was issued.
    /// Default: 60 seconds.
    pub freshness_window: Duration,
    /// Whether keys for Encrypted ClientHello are in the store, where
    /// [`Fleet::publish_ech_keys`](crate::Fleet::publish_ech_keys) writes them. Until a node has
    /// read them, it does not accept Encrypted ClientHello, and clients that offer it connect again
    /// without it; [`Self::ech_key_cache`] prevents that. Default: no.
    pub ech_keys: bool,
    /// The file in which the last keys for Encrypted ClientHello are saved, encrypted with the
    /// fleet secret, so that a node that starts while the store is unavailable has keys. Only its
    /// owner may be able to write it. Default: none.
    pub ech_key_cache: Option<PathBuf>,
    /// The store. It is required if one of the settings above uses it.
    pub store: Option<StoreSettings>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            name: "default".to_owned(),
            ticket_keys: TicketKeys::Own,
            ticket_lifetime: Duration::from_secs(6 * 60 * 60),
            sessions: false,
            early_data: 0,
            freshness_window: Duration::from_secs(60),
            ech_keys: false,
            ech_key_cache: None,
            store: None,
        }
    }
}

impl Settings {
    /// Whether `other` differs from these settings in its secret files only. If so, a running fleet
    /// can change to `other` with [`Fleet::use_secrets`](crate::Fleet::use_secrets). The contents
    /// of the files for TLS may differ even if all settings are equal: see
    /// [`Fleet::use_store_tls`](crate::Fleet::use_store_tls).
    #[must_use]
    pub fn is_same_but_for_secrets(&self, other: &Self) -> bool {
        let mut same = self.clone();
        if let (Some(ours), Some(theirs)) = (&mut same.store, &other.store) {
            ours.secret_file.clone_from(&theirs.secret_file);
            ours.next_secret_file.clone_from(&theirs.next_secret_file);
            ours.previous_secret_file.clone_from(&theirs.previous_secret_file);
        }
        same == *other
    }

    /// Refuses settings that are out of range or contradict each other.
    pub(crate) fn check(&self) -> Result<(), FleetError> {
        let refuse = |name, why| Err(FleetError::Setting(name, why));
        let name = &self.name;
        if !(1..=64).contains(&name.len())
            || !name.bytes().all(|b| b.is_ascii_graphic() && b != b'}')
        {
            return refuse("name", "must be 1 to 64 ASCII characters without spaces or braces");
        }
        if !(60..=604_800).contains(&self.ticket_lifetime.as_secs()) {
            return refuse("ticket_lifetime", "must be between one minute and seven days");
        }
        let (shortest, longest) = (Duration::from_secs(2), Duration::from_secs(60));
        let window = self.freshness_window;
        if !(shortest..=longest).contains(&window) || window.subsec_nanos() != 0 {
            return refuse("freshness_window", "must be 2 to 60 whole seconds");
        }
        let Some(store) = &self.store else {
            return match self {
                Self { ticket_keys: TicketKeys::Store, .. } => {
                    refuse("ticket_keys", "shared ticket keys need a store")
                }
                Self { ech_keys: true, .. } => refuse("ech_keys", "shared ECH keys need a store"),
                Self { sessions: true, .. } => refuse("sessions", "shared sessions need a store"),
                Self { early_data: 1.., .. } => refuse("early_data", "early data needs a store"),
                _ => Ok(()),
            };
        };
        if !(1..=64).contains(&store.connections) {
            return refuse("store.connections", "must be 1 to 64");
        }
        if store.time_limit.is_zero() || store.time_limit > Duration::from_secs(10) {
            return refuse("store.time_limit", "must be more than 0 and at most 10 seconds");
        }
        if store.connect_time_limit.is_zero() || store.connect_time_limit > Duration::from_secs(60)
        {
            return refuse(
                "store.connect_time_limit",
                "must be more than 0 and at most 60 seconds",
            );
        }
        if !(1..=60).contains(&store.clock_difference.as_secs()) {
            return refuse("store.clock_difference", "must be 1 to 60 seconds");
        }
        Ok(())
    }
}

/// The source of ticket keys.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TicketKeys {
    /// Each configuration generates its own keys.
    Own,
    /// A file that is distributed by other means. It is read again when it changes; if it cannot
    /// be used, the previous keys stay in use. It must not be readable by users other than its
    /// owner and group, nor writable by its group.
    ///
    /// The file has one to three lines, each a key: the time in seconds since 1970 from which the
    /// key seals, and 48 bytes in hexadecimal. `#` begins a comment. The newest key whose time has
    /// come seals. A key opens tickets as soon as it is in the file, until one ticket lifetime
    /// after the time of the next key. So add a key to the file before its time, and keep
    /// it for one lifetime after the time of the next key:
    ///
    /// ```sh
    /// echo "$(date -d '+1 hour' +%s) $(openssl rand -hex 48)" >> ticket.keys
    /// ```
    ///
    /// The binary form of a [`TicketKeySet`](tercel::session::TicketKeySet::to_bytes) is accepted
    /// as well.
    File(PathBuf),
    /// The store. At each change of keys, one node replaces the keys in the store.
    Store,
}

/// The address of a store, its credentials, and its time limits.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreSettings {
    /// `redis://[user][:password]@host[:port][/db]`, `rediss://` for TLS, or
    /// `unix:///path[?db=0&user=&pass=]`. `valkey` and `valkeys` mean the same as `redis` and
    /// `rediss`.
    pub url: String,
    /// The file of the fleet secret: at least 32 bytes, the same on all nodes. White space at its
    /// end is ignored.
    pub secret_file: PathBuf,
    /// The file of the next secret: data encrypted with it can already be read. See
    /// [`FleetSecrets`](crate::FleetSecrets) for how to rotate secrets.
    pub next_secret_file: Option<PathBuf>,
    /// The file of the previous secret: data encrypted with it can still be read.
    pub previous_secret_file: Option<PathBuf>,
    /// With `rediss`: a PEM file of trusted certificate authorities. Default: the authorities that
    /// the operating system trusts.
    pub roots: Option<PathBuf>,
    /// With `rediss`: PEM files of a client certificate chain and its private key.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// With `rediss`: whether the TLS connections to the store have the option
    /// [`fips`](tercel::client::ClientConfigBuilder::fips). It requires the feature `fips`.
    /// Default: no.
    pub fips: bool,
    /// Number of connections to the store, 1 to 64. Each one pipelines requests. Default: 2.
    pub connections: usize,
    /// How long a handshake waits for a reply of the store. If none arrives, the store counts as
    /// unavailable until it replies within this time again. Default: 50 milliseconds.
    pub time_limit: Duration,
    /// The time limit for connecting. If the store does not reply in time, it has this long to
    /// recover before the connections are replaced. If early data is enabled and the store has
    /// replicas, all nodes must use an equal value. Default: 2 seconds.
    pub connect_time_limit: Duration,
    /// The largest difference between the clocks of node and store, in whole seconds up to 60, at
    /// which early data is admitted. [`Fleet::blind_time`](crate::Fleet::blind_time) grows by twice
    /// this value. All nodes that admit early data must use an equal value. A node whose value
    /// differs from the value of the nodes that already use the store refuses early data, and logs
    /// the reason, until those nodes have not used the store for ten minutes. Default: 5 seconds.
    pub clock_difference: Duration,
}

impl StoreSettings {
    /// A store at this address, with defaults for everything else.
    #[must_use]
    pub fn new(url: impl Into<String>, secret_file: impl Into<PathBuf>) -> Self {
        Self {
            url: url.into(),
            secret_file: secret_file.into(),
            next_secret_file: None,
            previous_secret_file: None,
            roots: None,
            certificate: None,
            fips: false,
            connections: 2,
            time_limit: Duration::from_millis(50),
            connect_time_limit: Duration::from_secs(2),
            clock_difference: Duration::from_secs(5),
        }
    }

    /// Whether the address contains a password.
    #[must_use]
    pub fn has_password(&self) -> bool {
        url::has_password(&self.url)
    }
}

impl fmt::Debug for StoreSettings {
    /// Omits the address, which may contain a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreSettings")
            .field("secret_file", &self.secret_file)
            .field("next_secret_file", &self.next_secret_file)
            .field("previous_secret_file", &self.previous_secret_file)
            .field("roots", &self.roots)
            .field("fips", &self.fips)
            .field("connections", &self.connections)
            .field("time_limit", &self.time_limit)
            .finish_non_exhaustive()
    }
}

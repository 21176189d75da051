//! What a node shares with its fleet, as values that a configuration file can give.
//!
//! Must not know: what is done with them. Next: [`crate::fleet`].

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::error::FleetError;
use crate::store::dial;

/// What a node shares. The default shares nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Tells fleets apart that use one store or one secret. Default: `default`.
    pub name: String,
    /// Where ticket keys come from. Default: every configuration has its own, and nobody else opens its tickets.
    pub ticket_keys: TicketKeys,
    /// How long tickets under shared keys live, between one minute and seven days. Keys in the store are
    /// replaced as often, so it is the same on all nodes. Default: six hours.
    pub ticket_lifetime: Duration,
    /// Keeps sessions in the store, and gives clients names for them. Default: no.
    pub sessions: bool,
    /// Bytes of early data that a client may send, admitted by the store; 0 for none, which is the default.
    /// See [`early_data`](tercel::ServerConfigBuilder::early_data) for what early data means.
    pub early_data: u32,
    /// Seconds by which a ticket's age may be off for its early data to count as fresh, 2 to 60; see
    /// [`freshness_window`](tercel::ServerConfigBuilder::freshness_window). [`Fleet::blind_time`](crate::Fleet::blind_time)
    /// is twice that, and what clocks may differ by. Nodes may have different ones, and it may be changed at any time: a
    /// ticket is for early data under one of them only. Default: 60.
    pub freshness_window: u32,
    /// The store, if anything above needs one.
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
            freshness_window: 60,
            store: None,
        }
    }
}

impl Settings {
    /// Whether a fleet of these settings is one of `other` but for its secrets, and can go on with others:
    /// [`Fleet::use_secrets`](crate::Fleet::use_secrets).
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

    /// Refuses what is out of range or contradicts itself.
    pub(crate) fn check(&self) -> Result<(), FleetError> {
        let refuse = |name, why| Err(FleetError::Setting(name, why));
        let name = &self.name;
        if !(1..=64).contains(&name.len())
            || !name.bytes().all(|b| b.is_ascii_graphic() && b != b'}')
        {
            return refuse("name", "1 to 64 ASCII characters without spaces and braces");
        }
        if !(60..=604_800).contains(&self.ticket_lifetime.as_secs()) {
            return refuse("ticket_lifetime", "between one minute and seven days");
        }
        if !(2..=60).contains(&self.freshness_window) {
            return refuse("freshness_window", "2 to 60 seconds");
        }
        let Some(store) = &self.store else {
            return match self {
                Self { ticket_keys: TicketKeys::Store, .. } => {
                    refuse("ticket_keys", "no store is set that they could be in")
                }
                Self { sessions: true, .. } => refuse("sessions", "no store is set for them"),
                Self { early_data: 1.., .. } => refuse("early_data", "no store is set to admit it"),
                _ => Ok(()),
            };
        };
        if !(1..=64).contains(&store.connections) {
            return refuse("store.connections", "1 to 64");
        }
        if store.time_limit.is_zero() || store.time_limit > Duration::from_secs(10) {
            return refuse("store.time_limit", "more than nothing, at most 10 seconds");
        }
        if store.connect_time_limit.is_zero() || store.connect_time_limit > Duration::from_secs(60)
        {
            return refuse("store.connect_time_limit", "more than nothing, at most a minute");
        }
        if !(1..=60).contains(&store.clock_difference.as_secs()) {
            return refuse("store.clock_difference", "1 to 60 seconds");
        }
        Ok(())
    }
}

/// Where ticket keys come from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TicketKeys {
    /// Each configuration draws its own.
    Own,
    /// A file that something else distributes. It is read again when it changes; what cannot be read is refused,
    /// and the last good keys stay. Others than the owner and the group may not read it, nor the group write.
    ///
    /// One to three lines, each a key: when it begins to seal, in seconds since 1970, and 48 bytes in hexadecimal. `#`
    /// begins a comment. Of the keys whose time has come the newest seals; a key opens from when it is in the file, and
    /// for one ticket lifetime after its successor began. So distribute a key before its time, and leave it there for a
    /// lifetime after it was followed:
    ///
    /// ```sh
    /// echo "$(date -d '+1 hour' +%s) $(openssl rand -hex 48)" >> ticket.keys
    /// ```
    ///
    /// The bytes of a [`TicketKeySet`](tercel::TicketKeySet::to_bytes) are understood as well.
    File(PathBuf),
    /// The store, where nodes replace them in turn.
    Store,
}

/// Which store, and how to speak to it.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreSettings {
    /// `redis://[user][:password]@host[:port][/db]`, `rediss://` for TLS, `unix:///path[?db=0&user=&pass=]`.
    /// `valkey` and `valkeys` mean the same as `redis` and `rediss`.
    pub url: String,
    /// The file of the fleet secret: at least 32 bytes, the same on all nodes; white space at its end does not count.
    pub secret_file: PathBuf,
    /// The file of the secret that is to follow: what is written under it is read already.
    /// [`FleetSecrets`](crate::FleetSecrets) tells how one secret follows another.
    pub next_secret_file: Option<PathBuf>,
    /// The file of the secret that was followed: what was written under it is read still.
    pub previous_secret_file: Option<PathBuf>,
    /// With `rediss`: a PEM file of the authorities to trust. Default: those of the operating system.
    pub roots: Option<PathBuf>,
    /// With `rediss`: PEM files of a certificate chain and its key, for stores that ask for one.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// Connections to the store, 1 to 64; each carries many questions at once. Default: 2.
    pub connections: usize,
    /// How long a handshake waits for an answer; then the store counts as away until it answers in time again.
    /// Default: 50 milliseconds.
    pub time_limit: Duration,
    /// How long connecting may take, and how late a store may be that is to count as the same one. With early data and a
    /// store that has replicas it has to be the same on all nodes, as `clock_difference` has. Default: 2 seconds.
    pub connect_time_limit: Duration,
    /// By how much the clocks of node and store may differ for early data to be admitted, in whole seconds up to 60.
    /// [`Fleet::blind_time`](crate::Fleet::blind_time) grows by twice that. It has to be the same on all
    /// nodes: one that is set otherwise than those that admit early data now refuses it, and says so in the log, until none
    /// of them has been there for ten minutes. Default: 5 seconds.
    pub clock_difference: Duration,
}

impl StoreSettings {
    /// This store, with defaults for the rest.
    #[must_use]
    pub fn new(url: impl Into<String>, secret_file: impl Into<PathBuf>) -> Self {
        Self {
            url: url.into(),
            secret_file: secret_file.into(),
            next_secret_file: None,
            previous_secret_file: None,
            roots: None,
            certificate: None,
            connections: 2,
            time_limit: Duration::from_millis(50),
            connect_time_limit: Duration::from_secs(2),
            clock_difference: Duration::from_secs(5),
        }
    }

    /// Whether there is a password in the address.
    #[must_use]
    pub fn has_password(&self) -> bool {
        dial::has_password(&self.url)
    }
}

impl fmt::Debug for StoreSettings {
    /// Without the address: there may be a password in it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreSettings")
            .field("secret_file", &self.secret_file)
            .field("next_secret_file", &self.next_secret_file)
            .field("previous_secret_file", &self.previous_secret_file)
            .field("roots", &self.roots)
            .field("connections", &self.connections)
            .field("time_limit", &self.time_limit)
            .finish_non_exhaustive()
    }
}

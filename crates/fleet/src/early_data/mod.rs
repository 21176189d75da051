//! The replay guard of a fleet: early data that was admitted by one node is not admitted again by
//! any node. RFC 9846 8.2
//!
//! # Why nothing is admitted twice
//!
//! A ClientHello is identified by its binder, which no other ClientHello has. With the freshness
//! window of a server, the server's clock counts a ClientHello as fresh for
//! [`ReplayGuard::freshness_period`]. A node admits its early data only if the store created an
//! entry for it that did not exist ("set if absent"). So if two nodes admit the same ClientHello,
//! they have used different stores, or one store that lost the entry in between. Each cause of
//! this is excluded:
//!
//! - **Different entry names.** Names are digests of binders and of nothing else. In particular
//!   they do not depend on the fleet secret, which may differ between nodes during a rotation or
//!   by mistake. A binder is sent in the clear, so there is nothing to hide. (A binder depends on
//!   the ticket as well: nodes that share ticket keys must have the same fleet name.)
//! - **Different windows.** A ticket permits early data only under the freshness window under which
//!   it was issued (`ServerConfigBuilder::freshness_window` is one of the settings that a session
//!   is bound to). So all nodes that could admit a ClientHello judge it by the same window, even
//!   while nodes are configured differently.
//! - **Expired entries.** By the store's clock, a ClientHello is fresh for no longer than
//!   `freshness_period` plus twice the allowed clock difference (`blind_time`). To ensure this,
//!   each admission returns the store's time, and a node refuses if it differs too much from the
//!   node's time when the age of the ClientHello was checked. A request that was delayed between
//!   that check and the store is therefore refused too. An entry lives twice as long as
//!   `blind_time`. A store whose clock went back is refused by every node that saw the later time.
//! - **Lost entries**: after `FLUSHALL`, after a restart without data or with an older snapshot,
//!   with another store at the same address, or after the promotion of a replica that lags behind.
//!   The store's *epoch* reveals it: a random value under a name with the ID of the server process
//!   (`run_id`), together with the replication ID, which changes at each start and each promotion.
//!   Both are read in the transaction that creates the entry. Because the name contains the
//!   `run_id`, a snapshot cannot restore an epoch. A node that sees a new epoch, or has a new
//!   connection, refuses for `blind_time`; after that, nothing admitted earlier is still fresh.
//! - **Different clock or time limits on the nodes.** An epoch contains the [`Parameters`] of the
//!   node that began it, and no node admits anything in an epoch with other parameters. An epoch
//!   expires when no node with its parameters has checked or admitted for [`EPOCH_LIFETIME_MS`], so
//!   whatever was admitted in it is no longer fresh under any parameters when the next epoch
//!   begins. A node that has seen an epoch with other parameters refuses for longer
//!   ([`MAX_PARAMETER_SPREAD`]), since the store may lose that epoch early.
//! - **Different limits, and the store lost the epoch that shows it.** A node that starts then
//!   cannot know the parameters under which others admitted before. So a node that begins an
//!   epoch, or finds one in which no node admits yet, refuses for [`MAX_PARAMETER_SPREAD`] more.
//!   There are two exceptions. First, the epoch is *open*: a node with the same parameters, which
//!   has waited itself, states under a second name that it admits in this epoch. The store loses
//!   both names together, and the second value contains the epoch and the replication ID, so it is
//!   not valid in a later epoch. Second, the node itself admitted under these parameters less than
//!   [`MAX_PARAMETER_SPREAD`] ago: since then no node with other parameters can have begun an epoch
//!   and waited as long as required. A node with other parameters cannot have used this second
//!   exception either: the epoch in which our node first waited existed for longer than
//!   [`MAX_PARAMETER_SPREAD`], and only nodes with our parameters admit in that epoch.
//! - **Evicted entries**: refused unless the store's policy is `noeviction`, checked every second.
//! - **Two stores at once**, because one was cut off and a replica was promoted. A store with
//!   replicas is trusted only if it stops accepting writes when it has lost them
//!   (`min-replicas-to-write`), which takes as long as `min-replicas-max-lag`. So nodes that use
//!   the promoted store refuse for a minute more ([`REPLICA_LAG`]), after which the last
//!   admissions of the old store are no longer fresh.
//!   [`StoreSettings::connect_time_limit`](crate::StoreSettings::connect_time_limit), the time for
//!   which nodes keep their connections to a silent store, is added too: a suspended process
//!   considers its replicas connected until it checks again. A store counts as a store with
//!   replicas while it keeps a replication backlog, one hour by default.
//! - **Another guard admitted**: the guard of a previous configuration, which used another store or
//!   only the memory of its process. Connections from before a reload use that guard until their
//!   handshakes are complete. So this guard refuses until then, and for `blind_time` after that
//!   ([`Fleet::follow_another_guard`](crate::fleet::Fleet::follow_another_guard)).
//! - **The store was unavailable.** Nothing was admitted through it meanwhile, but it may have been
//!   replaced, so nodes refuse for `blind_time`. They do not refuse if the store was only slow and
//!   the connections still exist, since the connections lead to the same process as before.
//!
//! Not excluded are mistakes of an operator: nodes with the same ticket keys that use different
//! stores or different fleet names, even if only during a change; a running store that evicts for
//! less than a second; deletion of single entries; promotion of a replica while nodes still use its
//! primary; clocks of store and nodes that are set back together. Nor is a store that returns
//! false replies.

mod parameters;
mod store_info;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use tercel::crypto::HashAlgorithm;
use tercel::pki_types::UnixTime;
use tercel::session::{ReplayGuard, ReplayGuardId};
use tercel_crypto::{Hash, fill_random};
use tokio::time::Instant;
use tracing::info;

pub(crate) use self::parameters::Parameters;
use self::store_info::{Replication, StoreInfo};
use crate::error::FleetError;
use crate::hex;
use crate::store::client::pipe;
use crate::store::epoch::Epoch;
use crate::store::{Caller, Connections, Store};

/// The replay guard of a node, which shares its entries with the fleet through the store.
pub(crate) struct StoreReplayGuard {
    store: Arc<Store>,
    prefix: String,
    parameters: Parameters,
    blind_time: Duration,
    /// The additional time during which early data is refused if the parameters of earlier
    /// admissions are unknown.
    unknown_parameters: Duration,
    /// The last time at which the store had an epoch in which this node admits.
    last_admitting: ArcSwapOption<Instant>,
    /// The latest time that the store reported, in seconds since 1970.
    latest: AtomicU64,
    /// The start and the length of the time in which another guard may admit early data for which
    /// this guard has no entry.
    other_guard: ArcSwapOption<(Instant, Duration)>,
    /// Whether an epoch with other parameters was seen. It never expires: a node without a
    /// connection cannot know how long such an epoch is used.
    saw_other_parameters: AtomicBool,
    /// Whether another guard has taken over.
    retired: AtomicBool,
}

impl StoreReplayGuard {
    pub(crate) fn new(
        store: Arc<Store>,
        prefix: &str,
        parameters: Parameters,
        blind_time: Duration,
        unknown_parameters: Duration,
    ) -> Self {
        Self {
            store,
            prefix: format!("{prefix}early:"),
            parameters,
            blind_time,
            unknown_parameters,
            last_admitting: ArcSwapOption::empty(),
            latest: AtomicU64::new(0),
            other_guard: ArcSwapOption::empty(),
            saw_other_parameters: AtomicBool::new(false),
            retired: AtomicBool::new(false),
        }
    }

    /// The ID of the guard, which is the same on all nodes of a fleet.
    pub(crate) fn id(&self) -> ReplayGuardId {
        let digest =
            Hash::digest(HashAlgorithm::Sha256, &[b"tercel replay guard", self.prefix.as_bytes()]);
        digest.first_chunk().copied().unwrap_or_default()
    }

    /// Makes the guard refuse early data from now on. The guard also stops renewing the epoch, so
    /// that other nodes may change parameters.
    pub(crate) fn retire(&self) {
        self.retired.store(true, Ordering::Relaxed);
    }

    fn is_retired(&self) -> bool {
        self.retired.load(Ordering::Relaxed)
    }

    /// Makes the guard refuse early data for `overlap`, while another guard may continue to admit
    /// it, and after that for as long as early data admitted by the other guard is fresh.
    pub(crate) fn start_after_other_guard(&self, overlap: Duration) {
        let time = overlap.saturating_add(self.blind_time);
        self.other_guard.store(Some(Arc::new((Instant::now(), time))));
    }

    fn other_guard_may_admit(&self) -> bool {
        self.other_guard.load().as_ref().is_some_and(|other| other.0.elapsed() < other.1)
    }

    /// Whether early data can be admitted now.
    pub(crate) fn admits(&self) -> bool {
        let refuses = self.is_retired() || self.other_guard_may_admit();
        let connections = self.store.current().filter(|_| !refuses);
        connections.is_some_and(|connections| {
            connections.observed_epoch.load().as_ref().is_some_and(|s| s.admits())
        })
    }

    /// Whether early data with this unique value may be accepted. `checked_at` is the time at which
    /// this node found the early data fresh.
    pub(crate) async fn admit(&self, unique: &[u8], checked_at: UnixTime) -> bool {
        let verdict = self.run_transaction(unique, checked_at).await;
        match verdict {
            Some(true) => self.store.counters.early_data_admitted.add(),
            Some(false) => self.store.counters.early_data_replayed.add(),
            None => self.store.counters.early_data_unknown.add(),
        }
        verdict == Some(true)
    }

    /// Runs the transaction that adds the value. Returns whether the value is new; `None` if that
    /// is unknown.
    async fn run_transaction(&self, unique: &[u8], checked_at: UnixTime) -> Option<bool> {
        let connections = self.store.connections().ok()?;
        let observed_epoch = connections.observed_epoch.load_full().filter(|s| s.admits())?;
        if self.is_retired() || self.other_guard_may_admit() {
            return None;
        }
        let life = self.blind_time.saturating_mul(2).as_millis();
        let digest = Hash::digest(HashAlgorithm::Sha256, &[unique]);
        let key = format!("{}{}", self.prefix, hex::encode(&digest));
        let mut commands = pipe();
        commands.cmd("MULTI").ignore().cmd("GET").arg(&observed_epoch.key).ignore();
        // The epoch must outlive every entry created in it.
        commands.cmd("PEXPIRE").arg(&observed_epoch.key).arg(EPOCH_LIFETIME_MS).ignore();
        commands.cmd("TIME").ignore().cmd("INFO").arg("replication").ignore();
        commands.cmd("SET").arg(key).arg("1").arg("NX").arg("PX").arg(life.to_string()).ignore();
        commands.cmd("EXEC");
        let replies = self.store.run_pipeline(Caller::Handshake, &connections, commands).await;
        let ((epoch, _, time, replication, set),): (TransactionReply,) = replies.ok()?;
        let is_same = epoch.as_ref() == Some(&observed_epoch.value)
            && Replication::read(&replication)
                .is_ok_and(|now| now.id == observed_epoch.replication_id);
        if !is_same || !self.is_in_time(time.0, checked_at) {
            // The next check starts a new blind time. This is not too early: if other nodes have
            // begun a new epoch, they did so before this reply.
            connections.observed_epoch.store(None);
            return None;
        }
        Some(set.is_some())
    }

    /// Whether the store's clock is close to `own_time` and has not gone back.
    fn is_in_time(&self, store_time: u64, own_time: UnixTime) -> bool {
        // Replies may arrive out of order.
        let latest = self.latest.fetch_max(store_time, Ordering::Relaxed);
        let went_back = store_time.saturating_add(REORDERING) < latest;
        !went_back && own_time.as_secs().abs_diff(store_time) <= self.parameters.clock_difference
    }

    /// Checks whether the store still has its data; if not, a new blind time begins.
    ///
    /// # Errors
    /// If the store is unavailable, returns an error or must not decide about early data, or if
    /// other nodes admit early data under other parameters.
    pub(crate) async fn observe(&self, connections: &Arc<Connections>) -> Result<(), FleetError> {
        if self.is_retired() {
            return Ok(());
        }
        let now = match self.inspect_store(connections).await {
            Ok(now) => now,
            Err(error) => {
                connections.observed_epoch.store(None);
                return Err(error);
            }
        };
        let was = connections.observed_epoch.load_full();
        if !was.is_some_and(|was| was.is_of(&now.value, &now.replication_id)) {
            info!("early data refused for the blind time: store is new or was unavailable");
            connections.observed_epoch.store(Some(Arc::new(now)));
        }
        Ok(())
    }

    async fn inspect_store(&self, connections: &Arc<Connections>) -> Result<Epoch, FleetError> {
        let observed_at = Instant::now();
        let mut commands = pipe();
        for section in ["server", "memory", "replication"] {
            commands.cmd("INFO").arg(section);
        }
        commands.cmd("TIME");
        let replies: (String, String, String, (u64, u64)) =
            self.store.run_pipeline(Caller::Background, connections, commands).await?;
        let (server, memory, replication, time) = replies;
        let refuse = |reason| FleetError::Setting("store", reason);
        let info = StoreInfo::read(&server, &memory, &replication).map_err(refuse)?;
        if !self.is_in_time(time.0, UnixTime::now()) {
            return Err(refuse(
                "clocks of store and node differ too much, or the store's clock went back",
            ));
        }
        let epoch_key = format!("{}epoch:{}", self.prefix, info.run_id);
        let mut random = [0; 16];
        fill_random(&mut random).map_err(|_| FleetError::Random)?;
        let mut commands = pipe();
        commands.cmd("SET").arg(&epoch_key).arg(self.parameters.epoch(&random));
        commands.arg("PX").arg(EPOCH_LIFETIME_MS).arg("NX").ignore();
        commands.cmd("GET").arg(&epoch_key);
        let open_key = format!("{}open:{}", self.prefix, info.run_id);
        commands.cmd("GET").arg(&open_key);
        let (epoch, open): (String, Option<String>) =
            self.store.run_pipeline(Caller::Background, connections, commands).await?;
        let Replication { id: replication_id, has_no_replicas } = info.replication;
        if let Err(mismatch) = self.parameters.check(&epoch, has_no_replicas) {
            self.saw_other_parameters.store(true, Ordering::Relaxed);
            return Err(mismatch);
        }
        // The value includes the replication ID, because after a promotion other nodes may have
        // admitted through another store.
        let open_value = format!("{epoch} {replication_id}");
        // Only nodes with these parameters renew the epoch.
        let mut renew = pipe();
        renew.cmd("PEXPIRE").arg(&epoch_key).arg(EPOCH_LIFETIME_MS).ignore();
        let was = connections.observed_epoch.load_full();
        let admits = was.is_some_and(|was| was.is_of(&epoch, &replication_id) && was.admits());
        if admits {
            renew.cmd("SET").arg(&open_key).arg(&open_value);
            renew.arg("PX").arg(EPOCH_LIFETIME_MS).ignore();
        }
        self.store.run_pipeline::<()>(Caller::Background, connections, renew).await?;
        if admits {
            self.last_admitting.store(Some(Arc::new(observed_at)));
        }
        let parameters_are_known = open.as_ref() == Some(&open_value) || self.admitted_recently();
        let blind_time = self.blind_time_for(has_no_replicas, parameters_are_known);
        let blind_until = Instant::now().checked_add(blind_time);
        let blind_until = blind_until.ok_or(FleetError::StoreUnavailable)?;
        Ok(Epoch { key: epoch_key, value: epoch, replication_id, blind_until })
    }

    /// Whether this node admitted early data so recently that no node with other parameters can
    /// have begun to admit early data after that.
    fn admitted_recently(&self) -> bool {
        self.last_admitting.load().as_ref().is_some_and(|at| at.elapsed() < self.unknown_parameters)
    }

    /// Returns how long early data is refused with a store whose earlier entries are unknown. The
    /// time is longer unless the parameters of those entries are known.
    fn blind_time_for(&self, has_no_replicas: bool, parameters_are_known: bool) -> Duration {
        let lag = REPLICA_LAG.saturating_add(self.store.connect_time_limit());
        let lag = if has_no_replicas { Duration::ZERO } else { lag };
        let unknown = match self.saw_other_parameters.load(Ordering::Relaxed) {
            true => MAX_PARAMETER_SPREAD,
            false if parameters_are_known => Duration::ZERO,
            false => self.unknown_parameters,
        };
        self.blind_time.saturating_add(lag).saturating_add(unknown)
    }
}

/// Returns how long a ClientHello can be fresh by the store's clock. A node refuses early data for
/// this time if earlier entries are unknown. One second is added because clocks are read in whole
/// seconds.
pub(crate) const fn blind_time(window: Duration, clock_difference: u64) -> Duration {
    let clocks = Duration::from_secs(clock_difference.saturating_mul(2).saturating_add(1));
    ReplayGuard::freshness_period(window).saturating_add(clocks)
}

type TransactionReply = (Option<String>, i64, (u64, u64), String, Option<String>);

/// How long a store that lost its replicas may continue to accept writes.
const REPLICA_LAG: Duration = Duration::from_secs(60);

/// The number of seconds by which a reply may be older than an earlier one.
const REORDERING: u64 = 1;

/// The time that is added to the blind time if nodes with any other parameters may have admitted
/// early data, since that data may be fresh for longer: the largest clock difference plus the
/// largest connect time limit.
pub(crate) const MAX_PARAMETER_SPREAD: Duration = Duration::from_secs(60 + 60);

/// Milliseconds after which an epoch expires if no node with its parameters renews it. This is much
/// more than the longest `Fleet::blind_time` under any parameters. So when an epoch with other
/// parameters begins, no early data that was admitted in the expired one is still fresh.
const EPOCH_LIFETIME_MS: u64 = 600_000;

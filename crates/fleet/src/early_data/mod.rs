//! What one node admitted as early data, no node admits again. RFC 9846 8.2
//!
//! # Why nothing is admitted twice
//!
//! A hello is told by its binder, which no other hello has. It counts as fresh, by a server's clock, for
//! [`ReplayGuard::fresh_for`] its freshness window. A node admits it only if the store set an entry for it that was not
//! there ("set if absent"), so two nodes that both admit one hello must have met stores, or moments, that do not know of
//! each other. Each way to come to that is closed:
//!
//! - **The entry has another name.** Names are digests of binders and of nothing else: not of the fleet's secret, which two
//!   nodes may know differently while one follows another, and which operators may get wrong. A binder travels in the
//!   clear and tells nothing, so nothing is hidden by a key here. (A binder is of the ticket as well: who shares ticket
//!   keys has to share the fleet's name.)
//! - **The windows differ.** A ticket is for early data under the freshness window that it was given out under
//!   (`ServerConfigBuilder::freshness_window` is part of what a session is bound to), so all who could admit one hello
//!   judge it by one window, though nodes may be set otherwise, or be set anew, one after the other.
//! - **The entry expired.** By the store's clock a hello is fresh for no longer than `fresh_for` and twice the
//!   difference that is allowed between clocks (`blind_time`): every admission brings the store's time along, and a
//!   node refuses if its own was further from it when it looked at the hello's age. So what is held up between that look and the
//!   store is refused too. An entry lives twice as long. A store whose clock went back is refused by every node
//!   that saw the later time.
//! - **Entries were lost**: `FLUSHALL`, a restart with nothing or with an older snapshot, another store at
//!   the same address, a replica promoted that lags behind. The store's *epoch* tells: a random value set
//!   under the name of the store's process (`run_id`), and the replication id, which is new after each start and each
//!   promotion. Both are read in the same transaction that sets the entry. The `run_id` in the name keeps a snapshot
//!   from bringing an epoch back. Whoever sees another epoch than before, or a new connection, refuses for `blind_time`;
//!   what was admitted before is no longer fresh then.
//! - **Nodes differ about clocks**, or about how late a store may be: an epoch says by which [`Terms`] it was begun, and
//!   nobody admits anything in one of others. It ends when none of those who share its terms has looked or admitted for
//!   [`EPOCH_LIFE`], so that what they admitted is no longer fresh by any terms when another begins. A node that has seen an
//!   epoch of other terms is blind for longer ([`ANY_TERMS`]), since the store may lose it before its time.
//! - **Nodes differ about clocks, and the store lost the epoch that would tell**: a node that starts then cannot know by which
//!   terms others admitted before. So whoever begins an epoch, or finds one that nobody admits in yet, is blind for [`ANY_TERMS`]
//!   more. Two things spare a node that time. The epoch is *open*: a node of the same terms, which has waited itself, says
//!   under a second name that it admits in this epoch; the store loses both names together, and the second one's value is that
//!   of the epoch and the replication id, so it says nothing about a later one. Or the node admitted by these terms less than [`ANY_TERMS`] ago: in that
//!   gap nobody of other terms can have begun an epoch and waited as long as it has to. Nor can one of them have
//!   returned by the same exception, for the epoch that our node first waited in was there for longer than that.
//! - **Entries were evicted**: refused unless the store's policy is `noeviction`, looked at every second.
//! - **Two stores answer at once**, because one was cut off and a replica took its place. A store with replicas is
//!   trusted only if it stops writing when it has lost them (`min-replicas-to-write`), which takes it as long as
//!   `min-replicas-max-lag`. So those who meet its successor are blind for a minute more ([`LAG`]), and what it admitted
//!   last is no longer fresh then. As much is added as a store may be late and still count as the same one: a process
//!   that stood still takes its replicas for there until it looks again. A store counts as one with replicas for as long as it keeps a backlog for them,
//!   one hour by default.
//! - **Another guard admitted**: that of a configuration which this one follows, at another store or in the process alone. It
//!   is asked by the connections from before until their handshakes are over, so this one is blind until then, and for
//!   `blind_time` after ([`Fleet::follow_another_guard`](crate::Fleet::follow_another_guard)).
//! - **The store was away.** Nobody admitted anything through it then, but it may have been replaced: `blind_time`. Not so
//!   if it was only late and the connections are the ones from before, which lead to the process they led to.
//!
//! What remains: an operator who lets nodes with one set of ticket keys ask different stores, or under different names of the
//! fleet, if only while one follows another; lets a live store evict for less than a second, deletes single entries, promotes a
//! replica and lets nodes ask its primary further on, or sets the clocks of store and nodes back together; and a store that lies.
//!
//! Must not know: what early data says. Next: `facts.rs`, what a store tells of itself; `terms.rs`, what nodes agree on.

mod facts;
mod terms;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use tercel::ReplayGuard;
use tercel::crypto::{Hash, HashAlgorithm, fill_random};
use tercel::pki_types::UnixTime;
use tokio::time::Instant;
use tracing::{info, warn};

use self::facts::{Facts, Replication};
pub(crate) use self::terms::Terms;
use crate::counts::Counters;
use crate::error::FleetError;
use crate::secret::hexadecimal;
use crate::store::{Lines, Store, Waits};

/// The replay guard of a fleet.
pub(crate) struct Guard {
    store: Arc<Store>,
    prefix: String,
    terms: Terms,
    blind_time: Duration,
    /// How much longer to refuse where nothing says by which terms early data was admitted before.
    unknown_terms: Duration,
    /// When the store was last asked and still had an epoch in which this node admits.
    open_at: ArcSwapOption<Instant>,
    /// The store's latest time that was seen, in seconds.
    latest: AtomicU64,
    /// From when on, and for how long, another guard may have admitted what is not known here.
    beside: ArcSwapOption<(Instant, Duration)>,
    /// An epoch of other terms was seen. Not for a time: nobody tells a node that cannot look how long it goes on.
    differed: AtomicBool,
    /// Another guard has taken over.
    retired: AtomicBool,
    counters: Arc<Counters>,
}

/// What a store was when it was last looked at: as long as it is that, its entries are all there.
pub(crate) struct Standing {
    epoch_name: String,
    epoch: String,
    replication_id: String,
    /// Until then there may have been entries that are not.
    blind_until: Instant,
}

impl Standing {
    pub(crate) fn admits(&self) -> bool {
        Instant::now() >= self.blind_until
    }

    fn is_of(&self, epoch: &str, replication_id: &str) -> bool {
        self.epoch == epoch && self.replication_id == replication_id
    }
}

impl Guard {
    pub(crate) fn new(
        store: Arc<Store>,
        prefix: &str,
        terms: Terms,
        blind_time: Duration,
        unknown_terms: Duration,
        counters: Arc<Counters>,
    ) -> Self {
        let (prefix, latest) = (format!("{prefix}early:"), AtomicU64::new(0));
        let (open_at, beside) = (ArcSwapOption::empty(), ArcSwapOption::empty());
        let (differed, retired) = (AtomicBool::new(false), AtomicBool::new(false));
        Self {
            store,
            prefix,
            terms,
            blind_time,
            unknown_terms,
            open_at,
            latest,
            beside,
            differed,
            retired,
            counters,
        }
    }

    /// Refuses from now on, and holds nobody to its terms any more.
    pub(crate) fn retire(&self) {
        self.retired.store(true, Ordering::Relaxed);
    }

    fn is_retired(&self) -> bool {
        self.retired.load(Ordering::Relaxed)
    }

    /// Refuses for `still`, while another guard may go on admitting, and for as long after that as what it admitted is
    /// fresh.
    pub(crate) fn follow_another(&self, still: Duration) {
        let time = still.saturating_add(self.blind_time);
        self.beside.store(Some(Arc::new((Instant::now(), time))));
    }

    fn is_beside_another(&self) -> bool {
        self.beside.load().as_ref().is_some_and(|beside| beside.0.elapsed() < beside.1)
    }

    /// Whether a hello could be admitted now.
    pub(crate) fn admits(&self) -> bool {
        let refuses = self.is_retired() || self.is_beside_another();
        let lines = self.store.current().filter(|_| !refuses);
        lines.is_some_and(|lines| lines.standing.load().as_ref().is_some_and(|s| s.admits()))
    }

    /// Whether early data with this unique value may be accepted, which was fresh at `judged_at` by this node's clock.
    pub(crate) async fn admit(&self, unique: &[u8], judged_at: UnixTime) -> bool {
        let verdict = self.ask(unique, judged_at).await;
        match verdict {
            Some(true) => self.counters.early_data_admitted.add(),
            Some(false) => self.counters.early_data_replayed.add(),
            None => self.counters.early_data_unknown.add(),
        }
        verdict == Some(true)
    }

    /// Whether it is new; `None` if that cannot be known.
    async fn ask(&self, unique: &[u8], judged_at: UnixTime) -> Option<bool> {
        let lines = self.store.lines().ok()?;
        let standing = lines.standing.load_full().filter(|standing| standing.admits())?;
        if self.is_retired() || self.is_beside_another() {
            return None;
        }
        let life = self.blind_time.saturating_mul(2).as_millis();
        let digest = Hash::digest(HashAlgorithm::Sha256, &[unique]);
        let name = format!("{}{}", self.prefix, hexadecimal(&digest));
        let mut commands = redis::pipe();
        commands.cmd("MULTI").ignore().cmd("GET").arg(&standing.epoch_name).ignore();
        // It outlives all that was admitted in it.
        commands.cmd("PEXPIRE").arg(&standing.epoch_name).arg(EPOCH_LIFE).ignore();
        commands.cmd("TIME").ignore().cmd("INFO").arg("replication").ignore();
        commands.cmd("SET").arg(name).arg("1").arg("NX").arg("PX").arg(life.to_string()).ignore();
        commands.cmd("EXEC");
        let asked = self.store.ask_all(Waits::Handshake, &lines, commands).await;
        let ((epoch, _, time, replication, set),): (Answer,) = asked.ok()?;
        let is_same = epoch.as_ref() == Some(&standing.epoch)
            && Replication::read(&replication).is_ok_and(|now| now.id == standing.replication_id);
        if !is_same || !self.is_in_time(time.0, judged_at) {
            // The next look begins anew. If others have begun meanwhile, they looked before this answer.
            lines.standing.store(None);
            return None;
        }
        Some(set.is_some())
    }

    /// Whether the store's clock is near `ours`, and has not gone back.
    fn is_in_time(&self, theirs: u64, ours: UnixTime) -> bool {
        // Answers may overtake each other.
        let latest = self.latest.fetch_max(theirs, Ordering::Relaxed);
        let went_back = theirs.saturating_add(OVERTAKEN) < latest;
        !went_back && ours.as_secs().abs_diff(theirs) <= self.terms.difference
    }

    /// Looks whether the store is what it was; if not, a new blind time begins.
    ///
    /// # Errors
    /// If the store is away, refuses to tell, or cannot be trusted with early data, or other nodes admit it by other terms.
    pub(crate) async fn look(&self, lines: &Arc<Lines>) -> Result<(), FleetError> {
        if self.is_retired() {
            return Ok(());
        }
        let now = match self.try_look(lines).await {
            Ok(now) => now,
            Err(error) => {
                lines.standing.store(None);
                return Err(error);
            }
        };
        let was = lines.standing.load_full();
        if !was.is_some_and(|was| was.is_of(&now.epoch, &now.replication_id)) {
            info!("early data is refused for a while: the store is new, or was away");
            lines.standing.store(Some(Arc::new(now)));
        }
        Ok(())
    }

    async fn try_look(&self, lines: &Arc<Lines>) -> Result<Standing, FleetError> {
        let asked_at = Instant::now();
        let mut commands = redis::pipe();
        for section in ["server", "memory", "replication"] {
            commands.cmd("INFO").arg(section);
        }
        commands.cmd("TIME");
        let told: (String, String, String, (u64, u64)) =
            self.store.ask_all(Waits::Nobody, lines, commands).await?;
        let (server, memory, replication, time) = told;
        let refuse = |reason| FleetError::Setting("early_data", reason);
        let facts = Facts::read(&server, &memory, &replication).map_err(refuse)?;
        if !self.is_in_time(time.0, UnixTime::now()) {
            return Err(refuse(
                "the clocks of store and node differ by too much, or the store's went back",
            ));
        }
        let epoch_name = format!("{}epoch:{}", self.prefix, facts.run_id);
        let mut random = [0; 16];
        fill_random(&mut random).map_err(|_| FleetError::Random)?;
        let mut commands = redis::pipe();
        commands.cmd("SET").arg(&epoch_name).arg(self.terms.epoch(&random));
        commands.arg("PX").arg(EPOCH_LIFE).arg("NX").ignore();
        commands.cmd("GET").arg(&epoch_name);
        let open_name = format!("{}open:{}", self.prefix, facts.run_id);
        commands.cmd("GET").arg(&open_name);
        let (epoch, open): (String, Option<String>) =
            self.store.ask_all(Waits::Nobody, lines, commands).await?;
        let Replication { id: replication_id, is_alone } = facts.replication;
        if let Err(disagreement) = self.terms.agree(&epoch, is_alone) {
            self.differed.store(true, Ordering::Relaxed);
            return Err(disagreement);
        }
        // After a promotion others may have admitted elsewhere meanwhile.
        let is_open = format!("{epoch} {replication_id}");
        // Only those who share its terms keep it.
        let mut stay = redis::pipe();
        stay.cmd("PEXPIRE").arg(&epoch_name).arg(EPOCH_LIFE).ignore();
        let was = lines.standing.load_full();
        let admits = was.is_some_and(|was| was.is_of(&epoch, &replication_id) && was.admits());
        if admits {
            stay.cmd("SET").arg(&open_name).arg(&is_open).arg("PX").arg(EPOCH_LIFE).ignore();
        }
        self.store.ask_all::<()>(Waits::Nobody, lines, stay).await?;
        if admits {
            self.open_at.store(Some(Arc::new(asked_at)));
        }
        let terms_are_known = open.as_ref() == Some(&is_open) || self.was_open();
        let blind_time = self.blind_time_at(is_alone, terms_are_known);
        let blind_until = Instant::now().checked_add(blind_time);
        let blind_until = blind_until.ok_or(FleetError::Away)?;
        Ok(Standing { epoch_name, epoch, replication_id, blind_until })
    }

    /// Whether this node admitted by its terms so short a time ago that nobody of others can have begun to since.
    fn was_open(&self) -> bool {
        self.open_at.load().as_ref().is_some_and(|at| at.elapsed() < self.unknown_terms)
    }

    /// How long to refuse at a store whose past is not known, unless it is known to hold no entries of other terms.
    fn blind_time_at(&self, is_alone: bool, terms_are_known: bool) -> Duration {
        let lag = LAG.saturating_add(self.store.patience());
        let lag = if is_alone { Duration::ZERO } else { lag };
        let others = match self.differed.load(Ordering::Relaxed) {
            true => ANY_TERMS,
            false if terms_are_known => Duration::ZERO,
            false => self.unknown_terms,
        };
        self.blind_time.saturating_add(lag).saturating_add(others)
    }
}

/// How long a hello can be fresh by the store's clock, so how long a node refuses what it cannot know. A second
/// is for what is cut off where clocks are read in whole seconds.
pub(crate) const fn blind_time(window: u32, difference: u64) -> Duration {
    let clocks = Duration::from_secs(difference.saturating_mul(2).saturating_add(1));
    ReplayGuard::fresh_for(window).saturating_add(clocks)
}

/// Says once why early data is refused, and once when it no longer is.
#[derive(Default)]
pub(crate) struct Complaint(Option<String>);

impl Complaint {
    pub(crate) fn hear(&mut self, looked: &Result<(), FleetError>) {
        match looked {
            Ok(()) | Err(FleetError::Away) => self.0 = None,
            Err(error) => {
                let reason = error.to_string();
                if self.0.as_ref() != Some(&reason) {
                    warn!(reason, "early data is refused");
                    self.0 = Some(reason);
                }
            }
        }
    }
}

type Answer = (Option<String>, i64, (u64, u64), String, Option<String>);

/// How long a store that lost its replicas may go on writing.
const LAG: Duration = Duration::from_secs(60);

/// Seconds by which an answer may be older than one that came before it.
const OVERTAKEN: u64 = 1;

/// By how much more what was admitted by other terms may be fresh, or admitted: what clocks may differ by at most, and how
/// late a store may be at most.
pub(crate) const ANY_TERMS: Duration = Duration::from_secs(60 + 60);

/// Milliseconds for which an epoch stays if nobody looks who shares its terms: much more than the longest blind time of any
/// terms, so that two epochs of different terms are that far apart.
const EPOCH_LIFE: u64 = 600_000;

//! The public handle of a node.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tercel::ech::Keys;
use tercel::pki_types::UnixTime;
use tercel::{Policy, server::ServerConfigBuilder, session::TicketSealer};
use tercel_tokio::Answers;
use tokio::time::{Instant, sleep};

use crate::counters::Counts;
use crate::early_data::{MAX_PARAMETER_SPREAD, blind_time};
use crate::ech_keys::EchKeySet;
use crate::error::FleetError;
use crate::node::{BlindTime, Node};
use crate::secrets::FleetSecrets;
use crate::settings::Settings;
use crate::store::client::StoreTls;
use crate::ticket_keys::FleetTicketSealer;

/// A node of a fleet. [`apply`](Self::apply) adds it to configurations, and
/// [`answers`](Self::answers) to acceptors. It is cheap to clone. The node's thread ends when all
/// clones, configurations and answers that use the node are dropped.
#[derive(Clone)]
pub struct Fleet(Arc<Node>);

/// The state of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct State {
    /// Whether the node is connected to the store.
    pub store: bool,
    /// Whether the node has shared ticket keys.
    pub ticket_keys: bool,
    /// Whether early data can be admitted.
    pub early_data: bool,
    /// Whether the shared keys for Encrypted ClientHello are known: they were read from the store
    /// or from their file, or the store has none.
    pub ech_keys: bool,
}

impl Fleet {
    /// Reads the files that the settings name, and starts connecting to the store, which need not
    /// be reachable yet: see [`Self::reached`]. Starts a thread.
    ///
    /// # Errors
    /// If the settings contradict each other, or a file is missing, readable by others, or
    /// invalid.
    pub fn connect(settings: &Settings) -> Result<Self, FleetError> {
        let fleet = Self::prepare(settings)?;
        fleet.begin();
        Ok(fleet)
    }

    /// Reads the files that the settings name. The node connects to the store only in
    /// [`Self::begin`]. This is for a server that prepares a configuration and may not use it after
    /// all: a node that connects writes its ticket keys and its parameters of early data to the
    /// store, and both affect other nodes.
    ///
    /// # Errors
    /// As [`Self::connect`].
    pub fn prepare(settings: &Settings) -> Result<Self, FleetError> {
        let difference = settings.store.as_ref().map_or(0, |s| s.clock_difference.as_secs());
        let time = blind_time(settings.freshness_window, difference);
        Self::with_blind(settings, BlindTime { time, unknown_parameters: MAX_PARAMETER_SPREAD })
    }

    /// Starts connecting to the store, if that has not started yet.
    pub fn begin(&self) {
        self.0.begin();
    }

    /// Test seam. Like [`Self::prepare`], but with the given [blind time](Self::blind_time), and
    /// without the additional time for nodes whose settings differ, because a test cannot wait that
    /// long. With a shorter time, early data can be accepted twice.
    ///
    /// # Errors
    /// As [`Self::connect`].
    #[cfg(all(feature = "testing", debug_assertions))]
    pub fn prepare_blind_for(
        settings: &Settings,
        blind_time: Duration,
    ) -> Result<Self, FleetError> {
        Self::with_blind(
            settings,
            BlindTime { time: blind_time, unknown_parameters: Duration::ZERO },
        )
    }

    #[cfg(test)]
    pub(crate) fn with_blind_time(
        settings: &Settings,
        blind_time: Duration,
    ) -> Result<Self, FleetError> {
        let blind = BlindTime { time: blind_time, unknown_parameters: Duration::ZERO };
        let fleet = Self::with_blind(settings, blind)?;
        fleet.begin();
        Ok(fleet)
    }

    fn with_blind(settings: &Settings, blind: BlindTime) -> Result<Self, FleetError> {
        Ok(Self(Arc::new(Node::prepare(settings, blind)?)))
    }

    /// Adds the parts that this fleet shares to a configuration: ticket keys, sessions, early data,
    /// keys for Encrypted ClientHello.
    /// Everything else in the builder stays unchanged.
    ///
    /// With shared sessions or early data, handshakes ask questions, so the acceptor of the
    /// configuration needs [`Self::answers`].
    #[must_use]
    pub fn apply(&self, mut builder: ServerConfigBuilder) -> ServerConfigBuilder {
        let node = &self.0;
        if let Some(tickets) = &node.tickets {
            let tickets = Arc::clone(tickets);
            builder = builder.tickets(Arc::new(FleetSealer { tickets, _fleet: self.clone() }));
        }
        if node.sessions.is_some() {
            builder = builder.session_store(Policy::Ask);
        }
        if let Some(removal_queue) = &node.removal_queue {
            builder = builder.forget_session(Arc::new(removal_queue.clone()));
        }
        if let Some(guard) = &node.guard {
            builder = builder.early_data(node.early_data, Policy::Ask);
            builder = builder.replay_guard_id(guard.id());
            builder = builder.freshness_window(node.freshness_window);
        }
        if let Some(keys) = self.ech_keys() {
            builder = builder.ech(keys);
        }
        builder
    }

    /// Adds answers to the questions that a configuration made by [`Self::apply`] asks.
    #[must_use]
    pub fn answers(&self, mut answers: Answers) -> Answers {
        if self.0.sessions.is_some() {
            let (find_fleet, claim_fleet, keep_fleet) = (self.clone(), self.clone(), self.clone());
            answers = answers
                .find_session(move |question| {
                    let fleet = find_fleet.clone();
                    async move {
                        match &fleet.0.sessions {
                            Some(sessions) => sessions.find(question).await,
                            None => None,
                        }
                    }
                })
                .claim_session(move |question| {
                    let fleet = claim_fleet.clone();
                    async move {
                        match &fleet.0.sessions {
                            Some(sessions) => sessions.claim(question).await,
                            None => false,
                        }
                    }
                })
                .store_session(move |new| {
                    let fleet = keep_fleet.clone();
                    async move {
                        if let Some(sessions) = &fleet.0.sessions {
                            sessions.keep(new).await;
                        }
                    }
                });
        }
        if let Some(guard) = &self.0.guard {
            let (guard, fleet) = (Arc::clone(guard), self.clone());
            answers = answers.admit_early_data(move |question| {
                let (guard, fleet) = (Arc::clone(&guard), fleet.clone());
                async move {
                    // The window of the configuration may have been changed after `apply`, and this
                    // guard was not made for another window.
                    let is_ours = question.freshness_window() <= fleet.0.freshness_window;
                    let admitted =
                        is_ours && guard.admit(question.unique(), question.checked_at()).await;
                    drop(fleet);
                    admitted
                }
            });
        }
        answers
    }

    /// Reads ticket keys now, from the file or the store, for use on a signal. Otherwise they are
    /// read once a second. Needs a tokio runtime.
    ///
    /// # Errors
    /// If the keys were rejected or the store is unavailable. The previous keys stay in use.
    pub async fn reload(&self) -> Result<(), FleetError> {
        if let Some(file) = &self.0.ticket_key_file {
            let file = Arc::clone(file);
            let read = tokio::task::spawn_blocking(move || file.read());
            // The task is cancelled only if the runtime shuts down.
            return read.await.unwrap_or(Err(FleetError::StoreUnavailable));
        }
        match &self.0.store_ticket_keys {
            Some(keys) => keys.refresh(UnixTime::now()).await,
            None => Ok(()),
        }
    }

    /// The shared keys for Encrypted ClientHello, which [`Self::apply`] adds to configurations.
    /// The set is empty until keys are known. `None` unless [`Settings::ech_keys`] is set.
    #[must_use]
    pub fn ech_keys(&self) -> Option<Arc<Keys>> {
        self.0.ech_keys.as_ref().map(|shared| Arc::clone(&shared.keys))
    }

    /// Publishes keys for Encrypted ClientHello to all nodes, in place of the previous ones, and
    /// waits for some seconds until the nodes that are connected to the store use them. Returns
    /// the number of the set, which grows by one each time. To rotate keys, publish a set in which
    /// the new key has [`Retry::AcceptOnly`](tercel::ech::Retry::AcceptOnly) before its
    /// configuration is in DNS; [`Keys`] describes the steps. Needs a tokio runtime.
    ///
    /// # Errors
    /// [`FleetError::Setting`] unless [`Settings::ech_keys`] is set. [`FleetError::Superseded`] if
    /// other keys replaced these meanwhile. Other errors if the store is unavailable, or if its
    /// keys cannot be decrypted.
    pub async fn publish_ech_keys(&self, set: &EchKeySet) -> Result<u64, FleetError> {
        match &self.0.ech_keys {
            Some(shared) => shared.publish(set).await,
            None => Err(FleetError::Setting("ech_keys", "keys for ECH are not shared")),
        }
    }

    /// Checks the public names of the shared keys in use. A client whose key is out of date
    /// verifies a certificate for that name.
    ///
    /// # Errors
    /// [`FleetError::EchKeys`] for the first name for which `accepts` returns `false`.
    pub fn check_ech_keys(&self, accepts: impl Fn(&str) -> bool) -> Result<(), FleetError> {
        self.0.ech_keys.as_ref().map_or(Ok(()), |shared| shared.check(&accepts))
    }

    /// From now on, a set of shared keys is rejected if `accepts` returns `false` for the public
    /// name of one of them. The previous keys then stay in use.
    pub fn accept_ech_keys(&self, accepts: impl Fn(&str) -> bool + Send + Sync + 'static) {
        if let Some(shared) = &self.0.ech_keys {
            shared.set_accepts(Arc::new(accepts));
        }
    }

    /// Uses the shared keys for Encrypted ClientHello of `other`, unless this node has newer ones.
    /// This is for a server that replaces one fleet by another, and the store may not be reached
    /// at once. If `other` has another name, store or secret, its keys have the effect of those of
    /// [`Self::keep_ech_keys`].
    pub fn follow_ech_keys(&self, other: &Self) {
        if let (Some(own), Some(other)) = (&self.0.ech_keys, &other.0.ech_keys) {
            own.follow(other);
        }
    }

    /// Uses these keys for Encrypted ClientHello until the shared ones are known, unless this node
    /// has keys. They are never written to the store, and their public names are not checked. This
    /// is for a server that had other keys until now: without keys it would request clients to
    /// connect again without Encrypted ClientHello. They stay in use while the store has no keys.
    pub fn keep_ech_keys(&self, keys: &Keys) {
        if let Some(own) = &self.0.ech_keys {
            own.keep(keys);
        }
    }

    /// The number of the set of shared keys for Encrypted ClientHello in use; `None` without one.
    #[must_use]
    pub fn ech_key_set(&self) -> Option<u64> {
        self.0.ech_keys.as_ref()?.number()
    }

    /// The time at which the newest of the shared keys that are sent to clients was made; `None`
    /// without one.
    #[must_use]
    pub fn ech_key_since(&self) -> Option<UnixTime> {
        self.0.ech_keys.as_ref()?.since()
    }

    /// Replaces the secrets. Nothing else changes: connections to the store stay open, and early
    /// data is admitted as before. Has no effect without a store.
    pub fn use_secrets(&self, secrets: FleetSecrets) {
        if let Some(cell) = &self.0.secrets {
            cell.set(secrets);
        }
    }

    /// Replaces the TLS configuration of the connections to the store. If the contents of its files
    /// differ from those in use, the node connects again with the new ones and then closes the
    /// previous connections, also if the new attempt fails. Early data is refused for the
    /// [blind time](Self::blind_time) after that, as with each new connection. Has no effect
    /// without a store.
    pub fn use_store_tls(&self, tls: StoreTls) {
        if let Some(address) = &self.0.address {
            address.use_tls(tls);
        }
    }

    /// Refuses early data for `overlap` and one [blind time](Self::blind_time) from now on. This is
    /// for a server that used another guard so far. The server's remaining connections use the
    /// other guard for at most `overlap`, and this guard does not have the entries of the other
    /// guard. Has no effect without a guard.
    pub fn follow_another_guard(&self, overlap: Duration) {
        if let Some(guard) = &self.0.guard {
            guard.start_after_other_guard(overlap);
        }
    }

    /// Refuses early data from now on, and no longer requires other nodes to have the settings of
    /// this node. This is for a server whose new connections use another fleet while some old
    /// connections still use this fleet. Has no effect without a guard.
    pub fn retire_guard(&self) {
        if let Some(guard) = &self.0.guard {
            guard.retire();
        }
    }

    /// Whether `self` and `other` are clones of the same node.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Waits for at most `limit` until the store is connected, and ticket keys and keys for
    /// Encrypted ClientHello have arrived, if the settings require them. Returns whether this
    /// succeeded. A server that waits for this before it accepts connections avoids full handshakes
    /// at its start. Needs a tokio runtime.
    pub async fn reached(&self, limit: Duration) -> bool {
        let began = Instant::now();
        loop {
            let state = self.state();
            let has_store = state.store || self.0.store.is_none();
            let has_keys = state.ticket_keys || self.0.tickets.is_none();
            let has_ech_keys = state.ech_keys || self.0.ech_keys.is_none();
            let has_all = has_store && has_keys && has_ech_keys;
            if has_all || began.elapsed() >= limit {
                return has_all;
            }
            sleep(POLL_INTERVAL).await;
        }
    }

    /// The current state.
    #[must_use]
    pub fn state(&self) -> State {
        let store = self.0.store.as_ref();
        let early_data = self.0.guard.as_ref().is_some_and(|guard| guard.admits());
        let ticket_keys = self.0.tickets.as_ref().is_some_and(|tickets| tickets.has_keys());
        let ech_keys = self.0.ech_keys.as_ref().is_some_and(|shared| shared.is_known());
        let store = store.is_some_and(|store| store.is_connected());
        State { store, ticket_keys, early_data, ech_keys }
    }

    /// Whether the thread that refreshes shared state has ended, which is a defect: state that
    /// nodes share becomes outdated.
    #[must_use]
    pub fn has_lost_thread(&self) -> bool {
        self.0.has_lost_thread()
    }

    /// Whether the node has a store.
    #[must_use]
    pub fn has_store(&self) -> bool {
        self.0.store.is_some()
    }

    /// The time at which the current shared ticket key began to seal. `None` if no key seals, or
    /// keys are not shared.
    #[must_use]
    pub fn ticket_key_since(&self) -> Option<UnixTime> {
        self.0.tickets.as_ref()?.seals_since(UnixTime::now())
    }

    /// Counts of requests to the store so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.0.counters.read()
    }

    /// How long early data is refused after the store was unavailable or lost its data. This is as
    /// long as a ClientHello can count as fresh: twice the [window](Settings::freshness_window) and
    /// one second, plus one second, plus twice the [allowed clock
    /// difference](crate::settings::StoreSettings::clock_difference). With a store that has
    /// replicas, the time is longer by a minute and the [connect time
    /// limit](crate::settings::StoreSettings::connect_time_limit). The time is two minutes longer
    /// if the settings of earlier nodes are unknown: when the first nodes of a fleet start, or when
    /// the store lost everything and no node that admitted early data is left.
    #[must_use]
    pub fn blind_time(&self) -> Duration {
        self.0.blind.time
    }
}

/// The ticket sealer of a configuration. It keeps the node running.
struct FleetSealer {
    tickets: Arc<FleetTicketSealer>,
    _fleet: Fleet,
}

impl TicketSealer for FleetSealer {
    fn seal(&self, session: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.tickets.seal(session, now)
    }

    fn open(&self, ticket: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.tickets.open(ticket, now)
    }

    fn lifetime(&self) -> Duration {
        self.tickets.lifetime()
    }

    fn is_fips_approved(&self) -> bool {
        true
    }
}

impl fmt::Debug for Fleet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fleet").field("state", &self.state()).finish_non_exhaustive()
    }
}

/// Polling interval of [`Fleet::reached`].
const POLL_INTERVAL: Duration = Duration::from_millis(5);

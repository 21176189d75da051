//! A node's part in its fleet.
//!
//! Must not know: how anything is kept. Next: [`crate::node`], what there is of it; [`crate::keeper`], which
//! runs beside it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tercel::pki_types::UnixTime;
use tercel::{Policy, ServerConfigBuilder, TicketSealer};
use tercel_tokio::Answers;
use tokio::time::{Instant, sleep};

use crate::counts::Counts;
use crate::early_data::{ANY_TERMS, blind_time};
use crate::error::FleetError;
use crate::node::{Blind, Node};
use crate::secrets::FleetSecrets;
use crate::settings::Settings;
use crate::ticket_keys::FleetTickets;

/// A node's part in its fleet: put into configurations by [`apply`](Self::apply) and into acceptors by
/// [`answers`](Self::answers). Cheap to clone; what it runs ends with the last of its clones, configurations and answers.
#[derive(Clone)]
pub struct Fleet(Arc<Node>);

/// How a node stands to its store now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct State {
    /// Whether the store can be asked.
    pub store: bool,
    /// Whether there are shared ticket keys.
    pub ticket_keys: bool,
    /// Whether early data can be admitted.
    pub early_data: bool,
}

impl Fleet {
    /// Reads the files that the settings name and begins to look for the store, which need not be there yet: see
    /// [`Self::reached`]. Runs a thread of its own.
    ///
    /// # Errors
    /// If the settings contradict themselves, or a file is missing, open to others or not what it should be.
    pub fn connect(settings: &Settings) -> Result<Self, FleetError> {
        let fleet = Self::prepare(settings)?;
        fleet.begin();
        Ok(fleet)
    }

    /// Reads the files that the settings name. Nothing is asked of the store, or written there, before [`Self::begin`]: for a
    /// server that prepares a configuration which it may not come to serve. What nodes write into a store when they meet it
    /// (the settings by which they admit early data, ticket keys) binds other nodes.
    ///
    /// # Errors
    /// As [`Self::connect`].
    pub fn prepare(settings: &Settings) -> Result<Self, FleetError> {
        let difference = settings.store.as_ref().map_or(0, |s| s.clock_difference.as_secs());
        let time = blind_time(settings.freshness_window, difference);
        Self::blind_for(settings, Blind { time, unknown_terms: ANY_TERMS })
    }

    /// Begins to look for the store, if it has not begun yet.
    pub fn begin(&self) {
        self.0.begin();
    }

    /// Test seam. [`Self::prepare`] with another [blind time](Self::blind_time), and as if all nodes had the same settings, for tests,
    /// which cannot wait for as long as servers. Early data can be accepted twice by this.
    ///
    /// # Errors
    /// As [`Self::connect`].
    #[cfg(all(feature = "testing", debug_assertions))]
    pub fn prepare_blind_for(
        settings: &Settings,
        blind_time: Duration,
    ) -> Result<Self, FleetError> {
        Self::blind_for(settings, Blind { time: blind_time, unknown_terms: Duration::ZERO })
    }

    #[cfg(test)]
    pub(crate) fn with_blind_time(
        settings: &Settings,
        blind_time: Duration,
    ) -> Result<Self, FleetError> {
        let blind = Blind { time: blind_time, unknown_terms: Duration::ZERO };
        let fleet = Self::blind_for(settings, blind)?;
        fleet.begin();
        Ok(fleet)
    }

    fn blind_for(settings: &Settings, blind: Blind) -> Result<Self, FleetError> {
        Ok(Self(Arc::new(Node::prepare(settings, blind)?)))
    }

    /// The builder with what this fleet shares: ticket keys, sessions, early data. What it does not share stays as it was.
    ///
    /// A configuration with shared sessions or early data asks questions, so its acceptor needs [`Self::answers`].
    #[must_use]
    pub fn apply(&self, mut builder: ServerConfigBuilder) -> ServerConfigBuilder {
        let node = &self.0;
        if let Some(tickets) = &node.tickets {
            let tickets = Arc::clone(tickets);
            builder = builder.tickets(Arc::new(Held { tickets, _fleet: self.clone() }));
        }
        if node.sessions.is_some() {
            builder = builder.session_store(Policy::Ask);
        }
        if let Some(forgetting) = &node.forgetting {
            builder = builder.forget_session(Arc::new(forgetting.clone()));
        }
        if node.guard.is_some() {
            builder = builder.early_data(node.early_data, Policy::Ask);
            builder = builder.freshness_window(node.freshness_window);
        }
        builder
    }

    /// The answers with those to the questions that [`Self::apply`] brings about.
    #[must_use]
    pub fn answers(&self, mut answers: Answers) -> Answers {
        if self.0.sessions.is_some() {
            let (finder, keeper) = (self.clone(), self.clone());
            answers = answers
                .find_session(move |question| {
                    let fleet = finder.clone();
                    async move {
                        match &fleet.0.sessions {
                            Some(sessions) => sessions.find(question).await,
                            None => None,
                        }
                    }
                })
                .keep_session(move |new| {
                    let fleet = keeper.clone();
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
                    // A configuration that was changed since has a window which this guard was not made for.
                    let is_ours = question.freshness_window() <= fleet.0.freshness_window;
                    let admitted =
                        is_ours && guard.admit(question.unique(), question.judged_at()).await;
                    drop(fleet);
                    admitted
                }
            });
        }
        answers
    }

    /// Looks for new ticket keys now, in the file or the store, as on a signal. They are looked for once a second in
    /// any case. Needs a tokio runtime.
    ///
    /// # Errors
    /// Why they were refused, or that the store is away; those from before stay.
    pub async fn reload(&self) -> Result<(), FleetError> {
        if let Some(file) = &self.0.key_file {
            let file = Arc::clone(file);
            let read = tokio::task::spawn_blocking(move || file.read());
            // A task that was not run belongs to a runtime that ends.
            return read.await.unwrap_or(Err(FleetError::Away));
        }
        match &self.0.store_keys {
            Some(keys) => keys.refresh(UnixTime::now()).await,
            None => Ok(()),
        }
    }

    /// Goes on with these secrets, in the place of those that were known: nothing else changes, no connection to the
    /// store ends, and early data is admitted as before. Of no effect if there is no store.
    pub fn use_secrets(&self, secrets: FleetSecrets) {
        if let Some(cell) = &self.0.secrets {
            cell.set(secrets);
        }
    }

    /// Refuses early data for `still` and one [blind time](Self::blind_time) from now on: for a server that has let
    /// another guard admit it so far, and has connections left that ask that one, for so long at most. What one guard has
    /// admitted the other does not know. Of no effect if there is none here.
    pub fn follow_another_guard(&self, still: Duration) {
        if let Some(guard) = &self.0.guard {
            guard.follow_another(still);
        }
    }

    /// Refuses early data from now on, and holds other nodes to this one's settings no longer: for a server whose new
    /// connections ask another fleet, while some that are left keep this one. Of no effect if there is no guard here.
    pub fn retire_guard(&self) {
        if let Some(guard) = &self.0.guard {
            guard.retire();
        }
    }

    /// Whether both are clones of one.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Waits until the store is reached and ticket keys are there, as far as the settings want them, for no longer
    /// than `limit`: whether they are. For a server that would rather not begin with full handshakes. Needs a tokio
    /// runtime.
    pub async fn reached(&self, limit: Duration) -> bool {
        let began = Instant::now();
        loop {
            let state = self.state();
            let has_store = state.store || self.0.store.is_none();
            let has_keys = state.ticket_keys || self.0.tickets.is_none();
            if has_store && has_keys || began.elapsed() >= limit {
                return has_store && has_keys;
            }
            sleep(LOOK).await;
        }
    }

    /// How it stands now.
    #[must_use]
    pub fn state(&self) -> State {
        let store = self.0.store.as_ref();
        let early_data = self.0.guard.as_ref().is_some_and(|guard| guard.admits());
        let ticket_keys = self.0.tickets.as_ref().is_some_and(|tickets| tickets.has_keys());
        State { store: store.is_some_and(|store| store.is_there()), ticket_keys, early_data }
    }

    /// Since when the shared ticket key that seals now has been sealing. `None` if none does, or they are not shared.
    #[must_use]
    pub fn ticket_key_since(&self) -> Option<UnixTime> {
        self.0.tickets.as_ref()?.seals_since(UnixTime::now())
    }

    /// What was asked of the store so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.0.counters.read()
    }

    /// How long early data is refused after the store was away or is not what it was: as long as one hello can
    /// count as fresh, one second more than twice its [window](Settings::freshness_window), one more, and twice the
    /// [difference allowed between clocks](crate::StoreSettings::clock_difference). At a store with replicas it is a minute more,
    /// and as much as [the store may be late](crate::StoreSettings::connect_time_limit). It is two minutes more where nothing
    /// says that the nodes before had these settings: when the first nodes of a fleet start, or the store lost everything
    /// and no node that admitted early data is left.
    #[must_use]
    pub fn blind_time(&self) -> Duration {
        self.0.blind.time
    }
}

/// The tickets of a configuration, which keeps its fleet running.
struct Held {
    tickets: Arc<FleetTickets>,
    _fleet: Fleet,
}

impl TicketSealer for Held {
    fn seal(&self, session: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.tickets.seal(session, now)
    }

    fn open(&self, ticket: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.tickets.open(ticket, now)
    }

    fn lifetime(&self) -> u32 {
        self.tickets.lifetime()
    }
}

impl fmt::Debug for Fleet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fleet").field("state", &self.state()).finish_non_exhaustive()
    }
}

/// Between two looks at what is waited for.
const LOOK: Duration = Duration::from_millis(5);

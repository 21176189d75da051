//! A node: its store, the state that it shares with the fleet, and the thread that maintains them.

pub(crate) mod store_task;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, oneshot};

use self::store_task::{StoreTask, watch_file};
use crate::counters::Counters;
use crate::early_data::{Parameters, StoreReplayGuard};
use crate::ech_keys::StoreEchKeys;
use crate::error::FleetError;
use crate::secrets::{FleetSecrets, SharedSecrets};
use crate::sessions::Sessions;
use crate::sessions::removal::{RemovalQueue, RemovalTask, removal_queue};
use crate::sessions::secret_check::SecretCheck;
use crate::settings::{Settings, StoreSettings, TicketKeys};
use crate::store::Store;
use crate::store::client::StoreAddress;
use crate::ticket_keys::FleetTicketSealer;
use crate::ticket_keys::file::TicketKeyFile;
use crate::ticket_keys::shared::StoreTicketKeys;

/// How long a node refuses early data at a store whose earlier entries are unknown.
#[derive(Clone, Copy)]
pub(crate) struct BlindTime {
    /// The time for which a ClientHello is fresh by the parameters of this node.
    pub(crate) time: Duration,
    /// The additional time if early data may have been admitted under other parameters.
    pub(crate) unknown_parameters: Duration,
}

/// The parts of a node. The node's thread ends when the node is dropped.
pub(crate) struct Node {
    pub(crate) store: Option<Arc<Store>>,
    pub(crate) tickets: Option<Arc<FleetTicketSealer>>,
    pub(crate) ticket_key_file: Option<Arc<TicketKeyFile>>,
    pub(crate) store_ticket_keys: Option<Arc<StoreTicketKeys>>,
    pub(crate) ech_keys: Option<Arc<StoreEchKeys>>,
    pub(crate) sessions: Option<Arc<Sessions>>,
    pub(crate) removal_queue: Option<RemovalQueue>,
    pub(crate) guard: Option<Arc<StoreReplayGuard>>,
    pub(crate) secrets: Option<Arc<SharedSecrets>>,
    /// The address of the store.
    pub(crate) address: Option<Arc<StoreAddress>>,
    pub(crate) early_data: u32,
    pub(crate) freshness_window: Duration,
    pub(crate) blind: BlindTime,
    pub(crate) counters: Arc<Counters>,
    /// Starts the work of the thread.
    begin: Arc<Notify>,
    /// Ends the thread when dropped, which happens when the node is dropped. `None` if there is no
    /// thread.
    stop: Option<oneshot::Sender<()>>,
}

impl Node {
    /// Reads the files that the settings name. The thread does nothing before [`Self::begin`].
    ///
    /// # Errors
    /// As [`Fleet::connect`](crate::Fleet::connect).
    pub(crate) fn prepare(settings: &Settings, blind: BlindTime) -> Result<Self, FleetError> {
        settings.check()?;
        let counters = Arc::new(Counters::default());
        let shares_keys = settings.ticket_keys != TicketKeys::Own;
        let tickets =
            shares_keys.then(|| Arc::new(FleetTicketSealer::new(settings.ticket_lifetime)));
        let ticket_key_file = match (&settings.ticket_keys, &tickets) {
            (TicketKeys::File(path), Some(tickets)) => {
                let file = TicketKeyFile::new(path, Arc::clone(tickets), Arc::clone(&counters));
                file.read()?;
                Some(Arc::new(file))
            }
            _ => None,
        };
        let mut node = Node {
            store: None,
            tickets,
            ticket_key_file,
            store_ticket_keys: None,
            ech_keys: None,
            sessions: None,
            removal_queue: None,
            guard: None,
            secrets: None,
            address: None,
            early_data: settings.early_data,
            freshness_window: settings.freshness_window,
            blind,
            counters,
            begin: Arc::default(),
            stop: None,
        };
        let store_task =
            settings.store.as_ref().map(|s| node.add_store(settings, s)).transpose()?;
        let mut removal_task = None;
        if let Some(sessions) = &node.sessions {
            let (queue, task) = removal_queue(Arc::clone(sessions));
            node.removal_queue = Some(queue);
            removal_task = Some(task);
        }
        let file = node.ticket_key_file.clone();
        node.stop = run(store_task, file, removal_task, Arc::clone(&node.begin))?;
        Ok(node)
    }

    /// Whether the thread has ended before the node.
    pub(crate) fn has_lost_thread(&self) -> bool {
        self.stop.as_ref().is_some_and(oneshot::Sender::is_closed)
    }

    /// Starts the work of the thread. Further calls have no effect.
    pub(crate) fn begin(&self) {
        self.begin.notify_one();
    }

    fn add_store(
        &mut self,
        settings: &Settings,
        store_settings: &StoreSettings,
    ) -> Result<StoreTask, FleetError> {
        let secrets = SharedSecrets::new(FleetSecrets::read(store_settings, &settings.name)?);
        let shared_secrets = || Arc::clone(&secrets);
        let address = Arc::new(StoreAddress::of(store_settings)?);
        let store = Arc::new(Store::new(
            store_settings.time_limit,
            store_settings.connect_time_limit,
            Arc::clone(&self.counters),
        ));
        let shared_store = || Arc::clone(&store);
        // Braces make the name a hash tag: all keys of a fleet map to one slot.
        let prefix = format!("tercel:{{{}}}:", settings.name);
        self.sessions = settings
            .sessions
            .then(|| Arc::new(Sessions::new(shared_store(), &prefix, shared_secrets())));
        self.guard = (settings.early_data > 0).then(|| {
            let parameters = Parameters {
                clock_difference: store_settings.clock_difference.as_secs(),
                connect_time_limit: store_settings.connect_time_limit.as_millis(),
            };
            let BlindTime { time, unknown_parameters } = self.blind;
            Arc::new(StoreReplayGuard::new(
                shared_store(),
                &prefix,
                parameters,
                time,
                unknown_parameters,
            ))
        });
        let tickets = self.tickets.as_ref().filter(|_| settings.ticket_keys == TicketKeys::Store);
        self.store_ticket_keys = tickets.map(|tickets| {
            let period = settings.ticket_lifetime;
            let tickets = Arc::clone(tickets);
            Arc::new(StoreTicketKeys::new(
                shared_store(),
                &prefix,
                shared_secrets(),
                tickets,
                period,
            ))
        });
        self.ech_keys = settings.ech_keys.then(|| {
            let cache = settings.ech_key_cache.as_deref();
            let url = &store_settings.url;
            Arc::new(StoreEchKeys::new(shared_store(), &prefix, shared_secrets(), url, cache))
        });
        // If ticket keys are in the store, no check is needed: a node with a different secret
        // cannot decrypt them.
        let needs_secret_check = settings.sessions && self.store_ticket_keys.is_none();
        let secret_check =
            needs_secret_check.then(|| SecretCheck::new(shared_store(), &prefix, shared_secrets()));
        self.store = Some(shared_store());
        self.secrets = Some(secrets);
        self.address = Some(Arc::clone(&address));
        Ok(StoreTask {
            store: shared_store(),
            address,
            connections: store_settings.connections,
            connect_time_limit: store_settings.connect_time_limit,
            guard: self.guard.clone(),
            keys: self.store_ticket_keys.clone(),
            ech_keys: self.ech_keys.clone(),
            secret_check,
            probe: format!("{prefix}probe"),
        })
    }
}

/// Starts the thread, if there is work for one. Its work begins when `begin` is notified, and ends
/// when the returned sender is dropped.
fn run(
    store: Option<StoreTask>,
    file: Option<Arc<TicketKeyFile>>,
    removal_task: Option<RemovalTask>,
    begin: Arc<Notify>,
) -> Result<Option<oneshot::Sender<()>>, FleetError> {
    if store.is_none() && file.is_none() {
        return Ok(None);
    }
    let (stop, stopped) = oneshot::channel();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(FleetError::Thread)?;
    let work = async move {
        let store = async {
            if let Some(store) = &store {
                store.run().await;
            }
        };
        let file = async {
            if let Some(file) = &file {
                watch_file(file).await;
            }
        };
        let removal_task = async {
            if let Some(removal_task) = removal_task {
                removal_task.run().await;
            }
        };
        tokio::select! {
            _ = stopped => {}
            _ = async {
                begin.notified().await;
                tokio::join!(store, file, removal_task)
            } => {}
        }
    };
    let thread = std::thread::Builder::new().name("tercel-fleet".to_owned());
    thread.spawn(move || runtime.block_on(work)).map_err(FleetError::Thread)?;
    Ok(Some(stop))
}

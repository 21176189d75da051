//! What a node of a fleet consists of, as its settings say, and the thread beside it.
//!
//! Must not know: who asks it for what. Next: [`crate::fleet`], the door to it; [`crate::keeper`], which runs on the thread.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, oneshot};

use crate::counts::Counters;
use crate::early_data::{Guard, Terms};
use crate::error::FleetError;
use crate::forgetting::{Forgetting, Forgotten, forgetting};
use crate::keeper::{StoreKeeper, keep_file};
use crate::mark::Mark;
use crate::secrets::{FleetSecrets, SecretCell};
use crate::sessions::Sessions;
use crate::settings::{Settings, StoreSettings, TicketKeys};
use crate::store::Store;
use crate::store::dial::Address;
use crate::ticket_keys::FleetTickets;
use crate::ticket_keys::file::KeyFile;
use crate::ticket_keys::shared::StoreKeys;

/// How long a node refuses early data at a store whose past it does not know.
#[derive(Clone, Copy)]
pub(crate) struct Blind {
    /// As long as a hello is fresh by this node's terms.
    pub(crate) time: Duration,
    /// In addition, where it may have been admitted by other terms.
    pub(crate) unknown_terms: Duration,
}

/// A node: its store, what it shares, and the thread that looks after them, which ends with it.
pub(crate) struct Node {
    pub(crate) store: Option<Arc<Store>>,
    pub(crate) tickets: Option<Arc<FleetTickets>>,
    pub(crate) key_file: Option<Arc<KeyFile>>,
    pub(crate) store_keys: Option<Arc<StoreKeys>>,
    pub(crate) sessions: Option<Arc<Sessions>>,
    pub(crate) forgetting: Option<Forgetting>,
    pub(crate) guard: Option<Arc<Guard>>,
    pub(crate) secrets: Option<Arc<SecretCell>>,
    pub(crate) early_data: u32,
    pub(crate) freshness_window: u32,
    pub(crate) blind: Blind,
    pub(crate) counters: Arc<Counters>,
    /// Has the keeper begin.
    begin: Arc<Notify>,
    /// Dropped with the node, which ends the keeper.
    _stop: oneshot::Sender<()>,
}

impl Node {
    /// Reads what the settings name. The thread does nothing before [`Self::begin`].
    ///
    /// # Errors
    /// As [`Fleet::connect`](crate::Fleet::connect).
    pub(crate) fn prepare(settings: &Settings, blind: Blind) -> Result<Self, FleetError> {
        settings.check()?;
        let counters = Arc::new(Counters::default());
        let shares_keys = settings.ticket_keys != TicketKeys::Own;
        let tickets = shares_keys.then(|| Arc::new(FleetTickets::new(settings.ticket_lifetime)));
        let key_file = match (&settings.ticket_keys, &tickets) {
            (TicketKeys::File(path), Some(tickets)) => {
                let file = KeyFile::new(path, Arc::clone(tickets), Arc::clone(&counters));
                file.read()?;
                Some(Arc::new(file))
            }
            _ => None,
        };
        let (stop, stopped) = oneshot::channel();
        let mut node = Node {
            store: None,
            tickets,
            key_file,
            store_keys: None,
            sessions: None,
            forgetting: None,
            guard: None,
            secrets: None,
            early_data: settings.early_data,
            freshness_window: settings.freshness_window,
            blind,
            counters,
            begin: Arc::default(),
            _stop: stop,
        };
        let keeper = settings.store.as_ref().map(|s| node.with_store(settings, s)).transpose()?;
        let mut forgotten = None;
        if let Some(sessions) = &node.sessions {
            let both = forgetting(Arc::clone(sessions), Arc::clone(&node.counters));
            node.forgetting = Some(both.0);
            forgotten = Some(both.1);
        }
        run(keeper, node.key_file.clone(), forgotten, Arc::clone(&node.begin), stopped)?;
        Ok(node)
    }

    /// Has the thread look for the store. Once more is of no effect.
    pub(crate) fn begin(&self) {
        self.begin.notify_one();
    }

    fn with_store(
        &mut self,
        settings: &Settings,
        about: &StoreSettings,
    ) -> Result<StoreKeeper, FleetError> {
        let secrets = SecretCell::new(FleetSecrets::read(about, &settings.name)?);
        let known = || Arc::clone(&secrets);
        let address = Address::of(about)?;
        let counters = || Arc::clone(&self.counters);
        let store = Arc::new(Store::new(about.time_limit, about.connect_time_limit, counters()));
        let at = || Arc::clone(&store);
        // In braces, which keep what belongs together in one place where keys are spread.
        let prefix = format!("tercel:{{{}}}:", settings.name);
        self.sessions =
            settings.sessions.then(|| Arc::new(Sessions::new(at(), &prefix, known(), counters())));
        self.guard = (settings.early_data > 0).then(|| {
            let terms = Terms {
                difference: about.clock_difference.as_secs(),
                patience: about.connect_time_limit.as_millis(),
            };
            let Blind { time, unknown_terms } = self.blind;
            Arc::new(Guard::new(at(), &prefix, terms, time, unknown_terms, counters()))
        });
        let tickets = self.tickets.as_ref().filter(|_| settings.ticket_keys == TicketKeys::Store);
        self.store_keys = tickets.map(|tickets| {
            let period = settings.ticket_lifetime;
            let tickets = Arc::clone(tickets);
            Arc::new(StoreKeys::new(at(), &prefix, known(), tickets, period, counters()))
        });
        // Ticket keys tell by themselves.
        let wants_mark = settings.sessions && self.store_keys.is_none();
        let mark = wants_mark.then(|| Mark::new(at(), &prefix, known()));
        self.store = Some(at());
        self.secrets = Some(secrets);
        Ok(StoreKeeper {
            store: at(),
            address,
            connections: about.connections,
            connect_limit: about.connect_time_limit,
            guard: self.guard.clone(),
            keys: self.store_keys.clone(),
            mark,
            probe: format!("{prefix}probe"),
            counters: counters(),
        })
    }
}

/// Runs the keeper, from when `begin` is notified until `stopped` hears that nobody needs it.
fn run(
    store: Option<StoreKeeper>,
    file: Option<Arc<KeyFile>>,
    forgotten: Option<Forgotten>,
    begin: Arc<Notify>,
    stopped: oneshot::Receiver<()>,
) -> Result<(), FleetError> {
    if store.is_none() && file.is_none() {
        return Ok(());
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(FleetError::Thread)?;
    let keep = async move {
        let store = async {
            if let Some(store) = &store {
                store.keep().await;
            }
        };
        let file = async {
            if let Some(file) = &file {
                keep_file(file).await;
            }
        };
        let forgotten = async {
            if let Some(forgotten) = forgotten {
                forgotten.take_out().await;
            }
        };
        tokio::select! {
            _ = stopped => {}
            _ = async {
                begin.notified().await;
                tokio::join!(store, file, forgotten)
            } => {}
        }
    };
    let thread = std::thread::Builder::new().name("tercel-fleet".to_owned());
    thread.spawn(move || runtime.block_on(keep)).map_err(FleetError::Thread)?;
    Ok(())
}

//! What sessions are sealed with, and what remembers early data: all that outlives a reload unless it is to be another.
//!
//! Must not know: certificates and routes. Next: [`crate::blind`], the crate `tercel-fleet`.

use std::sync::Arc;
use std::time::Duration;

use tercel::pki_types::UnixTime;
use tercel::{MemoryStore, RotatingTickets};
use tercel_fleet::{Fleet, FleetError, FleetSecrets, Settings, TicketKeys};

use crate::blind::{self, OwnGuard};
use crate::config::{Config, Fault, Resumption, Tickets};

/// What sessions are sealed with, and what remembers early data.
#[derive(Clone)]
pub(super) struct Keys {
    pub(super) wanted: Resumption,
    pub(super) tickets: Option<Arc<RotatingTickets>>,
    /// Sessions of TLS 1.2 of all listeners, for clients that take no tickets.
    pub(super) session_ids: Option<Arc<MemoryStore>>,
    pub(super) fleet: Option<Fleet>,
    /// What the fleet is to go on with once this configuration is served.
    pub(super) secrets: Option<FleetSecrets>,
    pub(super) guard: Arc<OwnGuard>,
    /// Early data is admitted by another guard than under the configuration before.
    pub(super) has_other_guard: bool,
}

impl Keys {
    /// New ones, or those from before where the configuration wants the same.
    pub(super) fn new(config: &Config, before: Option<&Self>) -> Result<Self, Fault> {
        let wanted = &config.resumption;
        let now = UnixTime::now();
        let guard = match before {
            // What the store has admitted meanwhile this one has not seen: it is blind again.
            Some(before)
                if !before.wanted.shared_guard
                    && before.wanted.freshness_window == wanted.freshness_window =>
            {
                Arc::clone(&before.guard)
            }
            _ => Arc::new(OwnGuard::new(wanted.guard_capacity, now, wanted.freshness_window)),
        };
        let tickets = match (wanted.tickets, before.and_then(|before| before.tickets.clone())) {
            (Tickets::Off | Tickets::Shared, _) => None,
            (Tickets::Own, Some(tickets)) => Some(tickets),
            (Tickets::Own, None) => {
                let drawn = RotatingTickets::new(now)
                    .map_err(|error| config.place.fault("resumption.tickets", error.to_string()))?;
                Some(Arc::new(drawn))
            }
        };
        let session_ids = match before {
            Some(before) if before.wanted.session_ids == wanted.session_ids => {
                before.session_ids.clone()
            }
            _ => (wanted.session_ids > 0).then(|| Arc::new(MemoryStore::new(wanted.session_ids))),
        };
        let mut has_other_guard = before.is_some_and(|before| {
            before.wanted.shared_guard != wanted.shared_guard
                || (!wanted.shared_guard && !Arc::ptr_eq(&before.guard, &guard))
        });
        let (mut fleet, mut secrets) = (None, None);
        if let Some(settings) = &wanted.fleet {
            let fault = |error| fleet_fault(config, settings, &error);
            match before.and_then(|before| before.fleet_of(settings)) {
                // The files may hold others by now, or be others.
                Some(same) => {
                    let store = settings.store.as_ref();
                    let read = store.map(|store| FleetSecrets::read(store, &settings.name));
                    secrets = read.transpose().map_err(fault)?;
                    fleet = Some(same);
                }
                None => {
                    has_other_guard |= before.is_some() && wanted.shared_guard;
                    fleet = Some(blind::fleet(settings).map_err(fault)?);
                }
            }
        }
        let wanted = wanted.clone();
        Ok(Self { wanted, tickets, session_ids, fleet, secrets, guard, has_other_guard })
    }

    /// To be told when the guard before is asked only by connections that are there already, for `still` at most.
    pub(super) fn follow_another_guard(&self, still: Duration) {
        match &self.fleet {
            Some(fleet) if self.wanted.shared_guard => fleet.follow_another_guard(still),
            _ => self.guard.follow_another(UnixTime::now(), still),
        }
    }

    /// The fleet from before, if it can be that of these settings.
    fn fleet_of(&self, settings: &Settings) -> Option<Fleet> {
        let ours = self.wanted.fleet.as_ref()?;
        self.fleet.clone().filter(|_| ours.is_same_but_for_secrets(settings))
    }
}

/// The key that the error is about.
fn fleet_fault(config: &Config, settings: &Settings, error: &FleetError) -> Fault {
    let store = settings.store.as_ref();
    let key = match error {
        FleetError::Setting(name, why) => {
            return config.place.fault(&format!("resumption.{name}"), *why);
        }
        FleetError::File(file, _)
        | FleetError::Exposed(file)
        | FleetError::Content(file, _)
        | FleetError::Keys(file, _) => match store {
            _ if settings.ticket_keys == TicketKeys::File(file.clone()) => "resumption.ticket_keys",
            Some(store) if store.secret_file == *file => "resumption.store.secret",
            Some(store) if store.next_secret_file.as_ref() == Some(file) => {
                "resumption.store.next_secret"
            }
            Some(store) if store.previous_secret_file.as_ref() == Some(file) => {
                "resumption.store.previous_secret"
            }
            Some(store) if store.roots.as_ref() == Some(file) => "resumption.store.roots",
            _ => "resumption.store.certificate",
        },
        _ => "resumption",
    };
    config.place.fault(key, error.to_string())
}

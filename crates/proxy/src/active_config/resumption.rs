//! Resumption state: ticket keys, stored sessions and replay guard, kept across reloads unless
//! their settings change.

use std::sync::Arc;
use std::time::Duration;

use tercel::pki_types::UnixTime;
use tercel::session::{RotatingTickets, ServerMemoryStore};
use tercel_fleet::{Fleet, FleetError, FleetSecrets, Settings, StoreTls, TicketKeys};

use super::replay_guard::{self, LocalReplayGuard};
use crate::config::{Config, ConfigError, Resumption, Tickets};

/// Ticket keys, stored sessions and replay guard.
#[derive(Clone)]
pub(super) struct ResumptionState {
    pub(super) settings: Resumption,
    pub(super) tickets: Option<Arc<RotatingTickets>>,
    /// TLS 1.2 sessions of all listeners, for clients without ticket support.
    pub(super) session_ids: Option<Arc<ServerMemoryStore>>,
    pub(super) fleet: Option<Fleet>,
    /// The fleet secrets to be used from the activation of this configuration.
    pub(super) secrets: Option<FleetSecrets>,
    /// The TLS configuration of connections to the store, to be used from the activation of this
    /// configuration.
    pub(super) store_tls: Option<StoreTls>,
    pub(super) replay_guard: Arc<LocalReplayGuard>,
    /// Whether the replay guard is another one than that of the previous configuration.
    pub(super) guard_changed: bool,
}

impl ResumptionState {
    /// Takes over each part of the previous state whose settings are equal, and creates the other
    /// parts.
    pub(super) fn new(config: &Config, previous: Option<&Self>) -> Result<Self, ConfigError> {
        let settings = &config.resumption;
        let now = UnixTime::now();
        let guard = match previous {
            // The local guard starts empty if a store guard was used before: it has no entries for
            // early data that the store admitted.
            Some(previous)
                if !previous.settings.shared_guard
                    && previous.settings.freshness_window == settings.freshness_window =>
            {
                Arc::clone(&previous.replay_guard)
            }
            _ => Arc::new(LocalReplayGuard::new(
                settings.guard_capacity,
                now,
                settings.freshness_window,
            )),
        };
        let tickets =
            match (settings.tickets, previous.and_then(|previous| previous.tickets.clone())) {
                (Tickets::Off | Tickets::Shared, _) => None,
                (Tickets::Own, Some(tickets)) => Some(tickets),
                (Tickets::Own, None) => {
                    let drawn = RotatingTickets::new(now).map_err(|error| {
                        config.location.error("resumption.tickets", error.to_string())
                    })?;
                    Some(Arc::new(drawn))
                }
            };
        let session_ids = match previous {
            Some(previous) if previous.settings.session_ids == settings.session_ids => {
                previous.session_ids.clone()
            }
            _ => (settings.session_ids > 0)
                .then(|| Arc::new(ServerMemoryStore::new(settings.session_ids))),
        };
        let mut guard_changed = previous.is_some_and(|previous| {
            previous.settings.shared_guard != settings.shared_guard
                || (!settings.shared_guard && !Arc::ptr_eq(&previous.replay_guard, &guard))
        });
        let (mut fleet, mut secrets, mut store_tls) = (None, None, None);
        if let Some(fleet_settings) = &settings.fleet {
            let error_for = |error| fleet_error(config, fleet_settings, &error);
            match previous.and_then(|previous| previous.fleet_of(fleet_settings)) {
                // The secret files, or the contents of files, may have changed.
                Some(same) => {
                    if let Some(store) = &fleet_settings.store {
                        let read = FleetSecrets::read(store, &fleet_settings.name);
                        secrets = Some(read.map_err(error_for)?);
                        store_tls = Some(StoreTls::read(store).map_err(error_for)?);
                    }
                    fleet = Some(same);
                }
                None => {
                    guard_changed |= previous.is_some() && settings.shared_guard;
                    let new = replay_guard::fleet(fleet_settings).map_err(error_for)?;
                    if let Some(before) = previous.and_then(|previous| previous.fleet.as_ref()) {
                        new.follow_ech_keys(before);
                    }
                    fleet = Some(new);
                }
            }
        }
        let settings = settings.clone();
        Ok(Self {
            settings,
            tickets,
            session_ids,
            fleet,
            secrets,
            store_tls,
            replay_guard: guard,
            guard_changed,
        })
    }

    /// Makes the new guard refuse early data for `overlap`, during which connections accepted
    /// earlier may use the previous guard, and then until early data that the previous guard
    /// admitted is no longer fresh.
    pub(super) fn refuse_while_previous_guard_admits(&self, overlap: Duration) {
        match &self.fleet {
            Some(fleet) if self.settings.shared_guard => fleet.follow_another_guard(overlap),
            _ => self.replay_guard.refuse_while_previous_admits(UnixTime::now(), overlap),
        }
    }

    /// The fleet of this state, if it can be used with these settings.
    fn fleet_of(&self, settings: &Settings) -> Option<Fleet> {
        let ours = self.settings.fleet.as_ref()?;
        self.fleet.clone().filter(|_| ours.is_same_but_for_secrets(settings))
    }
}

/// Maps the error to the configuration key that caused it.
fn fleet_error(config: &Config, settings: &Settings, error: &FleetError) -> ConfigError {
    let store = settings.store.as_ref();
    let key = match error {
        FleetError::Setting(name, why) => {
            return config.location.error(&format!("resumption.{name}"), *why);
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
    config.location.error(key, error.to_string())
}

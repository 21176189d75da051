//! Parses `[resumption]` and `[resumption.store]`.

use std::path::PathBuf;
use std::time::Duration;

use tercel_fleet::{StoreSettings, TicketKeys};

use crate::config::error::ConfigError;
use crate::config::table::TableReader;
use crate::config::{Resumption, Tickets};

pub(super) fn parse_resumption(mut keys: TableReader) -> Result<Resumption, ConfigError> {
    let words = [("off", Tickets::Off), ("own", Tickets::Own), ("shared", Tickets::Shared)];
    let tickets = keys.keyword("tickets", &words)?.unwrap_or(Tickets::Own);
    let file = keys.string("ticket_keys")?;
    let lifetime = keys.seconds("ticket_lifetime", 60.0, 604_800.0)?;
    let sessions = keys.keyword("sessions", &[("none", false), ("shared", true)])?;
    let sessions = sessions.unwrap_or(false);
    let session_ids = keys.integer("session_ids", 0, 10_000_000)?;
    let guard = keys.keyword("guard", &[("own", false), ("shared", true)])?;
    let capacity = keys.integer("guard_capacity", 1000, 100_000_000)?.unwrap_or(1_000_000);
    let freshness_window = keys.integer("freshness_window", 2, 60)?.unwrap_or(60);
    let freshness_window = Duration::from_secs(freshness_window.into());
    let name = keys.string("fleet")?;
    let store = parse_store(keys.table("store")?)?;
    keys.finish()?;
    if tickets == Tickets::Off && session_ids.is_some() {
        return Err(keys.error("session_ids", "cannot be set with tickets = \"off\""));
    }
    if tickets != Tickets::Shared && file.is_some() {
        return Err(keys.error("ticket_keys", "requires tickets = \"shared\""));
    }
    if store.is_none() {
        let needs = [
            (
                "ticket_keys",
                tickets == Tickets::Shared && file.is_none(),
                "is missing: shared tickets require a key file or a store",
            ),
            ("sessions", sessions, "requires a store"),
            ("guard", guard == Some(true), "requires a store"),
        ];
        if let Some((key, _, reason)) = needs.into_iter().find(|(_, needed, _)| *needed) {
            return Err(keys.error(key, reason));
        }
    }
    let shared_guard = guard.unwrap_or(store.is_some());
    let shares = tickets == Tickets::Shared || sessions || store.is_some();
    let defaults = tercel_fleet::Settings::default();
    let fleet = shares.then(|| tercel_fleet::Settings {
        name: name.unwrap_or(defaults.name),
        ticket_keys: match (tickets, file) {
            (Tickets::Shared, Some(file)) => TicketKeys::File(file.into()),
            (Tickets::Shared, None) => TicketKeys::Store,
            _ => TicketKeys::Own,
        },
        ticket_lifetime: lifetime.unwrap_or(defaults.ticket_lifetime),
        sessions,
        early_data: 0,
        freshness_window,
        ech_keys: false,
        ech_key_cache: None,
        store,
    });
    let session_ids = usize::try_from(session_ids.unwrap_or(16_384)).unwrap_or(usize::MAX);
    let guard_capacity = usize::try_from(capacity).unwrap_or(usize::MAX);
    let own_guard_is_explicit = guard == Some(false);
    Ok(Resumption {
        tickets,
        shared_guard,
        own_guard_is_explicit,
        session_ids,
        guard_capacity,
        freshness_window,
        fleet,
    })
}

fn parse_store(mut keys: TableReader) -> Result<Option<StoreSettings>, ConfigError> {
    let (url, secret) = (keys.string("url")?, keys.string("secret")?);
    let mut store = StoreSettings::new("", "");
    store.next_secret_file = keys.string("next_secret")?.map(PathBuf::from);
    store.previous_secret_file = keys.string("previous_secret")?.map(PathBuf::from);
    store.roots = keys.string("roots")?.map(PathBuf::from);
    store.certificate = match (keys.string("certificate")?, keys.string("key")?) {
        (None, None) => None,
        (Some(certificate), Some(key)) => Some((certificate.into(), key.into())),
        (Some(_), None) => {
            keys.missing("key", "is missing; certificate requires it");
            None
        }
        (None, Some(_)) => {
            keys.missing("certificate", "is missing; key requires it");
            None
        }
    };
    if let Some(connections) = keys.integer("connections", 1, 64)? {
        store.connections = usize::try_from(connections).unwrap_or(1);
    }
    if let Some(limit) = keys.seconds("time_limit", 0.001, 10.0)? {
        store.time_limit = limit;
    }
    if let Some(limit) = keys.seconds("connect_time_limit", 0.001, 60.0)? {
        store.connect_time_limit = limit;
    }
    if let Some(difference) = keys.seconds("clock_difference", 1.0, 60.0)? {
        store.clock_difference = difference;
    }
    keys.finish()?;
    match (url, secret) {
        (None, None) if keys.is_empty_table() => Ok(None),
        (None, _) => Err(keys.error("url", "is missing")),
        (_, None) => {
            Err(keys.error("secret", "is missing: the file with the fleet secret is required"))
        }
        (Some(url), Some(secret)) => {
            Ok(Some(StoreSettings { url, secret_file: secret.into(), ..store }))
        }
    }
}

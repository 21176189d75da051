//! From the text of a configuration to [`Config`]: every key, its default, and what it may be.
//!
//! Must not know: what is done with it. Next: [`super::keys`], which gives values of the right kind; `listener.rs` and
//! `resumption.rs` for the tables with the most to say.

mod listener;
mod resumption;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use toml::{Table, Value};

use super::address;
use super::fault::Fault;
use super::keys::{Keys, Place};
use super::{Config, Limits, Listener, Log, Simple, Tickets, Timeouts};
use listener::listener;
use resumption::resumption;

pub(super) fn file(name: &str, text: &str) -> Result<Config, Fault> {
    let place = Place::file(name);
    let table: Table = text.parse().map_err(|error| syntax(&place, text, &error))?;
    whole(Keys::new(place, table))
}

pub(super) fn simple(options: &Simple) -> Result<Config, Fault> {
    let text = |text: &String| Value::String(text.clone());
    let path = |path: &PathBuf| Value::String(path.to_string_lossy().into_owned());
    let mut listener = Table::new();
    listener.insert("address".to_owned(), text(&options.listen));
    listener.insert("to".to_owned(), Value::Array(options.to.iter().map(text).collect()));
    let files = [
        ("certificates", &options.certificates),
        ("certificate", &options.certificate),
        ("key", &options.key),
    ];
    for (key, file) in files {
        listener.extend(file.as_ref().map(|file| (key.to_owned(), path(file))));
    }
    let mut all = Table::new();
    all.insert("listener".to_owned(), Value::Array(vec![Value::Table(listener)]));
    all.extend(options.workers.map(|number| ("workers".to_owned(), Value::Integer(number.into()))));
    if options.no_hash_lanes {
        all.insert("hash_lanes".to_owned(), Value::Boolean(false));
    }
    let mut log = Table::new();
    log.extend(options.log.as_ref().map(|format| ("format".to_owned(), text(format))));
    log.extend(options.log_level.as_ref().map(|level| ("level".to_owned(), text(level))));
    all.insert("log".to_owned(), Value::Table(log));
    if let Some(address) = &options.admin {
        let admin = Table::from_iter([("address".to_owned(), text(address))]);
        all.insert("admin".to_owned(), Value::Table(admin));
    }
    whole(Keys::new(Place::command_line(), all))
}

/// The parser's errors have several lines, and say where in the text they are.
fn syntax(place: &Place, text: &str, error: &toml::de::Error) -> Fault {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let line = before.matches('\n').count().saturating_add(1);
    place.whole_fault(format!("line {line}: {}", error.message()))
}

fn whole(mut keys: Keys) -> Result<Config, Fault> {
    let mut config = whole_but_listeners(&mut keys)?;
    let mut listeners = Vec::new();
    for table in keys.tables("listener")? {
        listeners.push(listener(table)?);
    }
    keys.finish()?;
    if listeners.is_empty() {
        return Err(keys.fault("listener", "there is none: nobody could come in"));
    }
    let mut addresses = BTreeMap::new();
    for listener in &listeners {
        let taken = addresses.insert(listener.address, ()).is_some();
        if taken && listener.address.port() != 0 {
            return Err(listener.place.fault("address", "is that of another listener"));
        }
    }
    for route in listeners.iter().flat_map(|listener: &Listener| &listener.routes) {
        let sessions = config.resumption.fleet.as_ref().is_some_and(|fleet| fleet.sessions);
        if route.early_data > 0 && config.resumption.tickets == Tickets::Off && !sessions {
            let reason = "needs sessions that clients come back with: see resumption.tickets";
            return Err(route.place.fault("early_data", reason));
        }
        let resumption = &config.resumption;
        let guards_alone = !resumption.shared_guard && !resumption.own_guard_is_meant;
        if route.early_data > 0 && resumption.tickets == Tickets::Shared && guards_alone {
            let reason = "could be accepted again by each process that has the ticket keys: it needs a \
                          store, or resumption.guard = \"own\" if there is but one process";
            return Err(route.place.fault("early_data", reason));
        }
        if let (Some(fleet), true) = (&mut config.resumption.fleet, config.resumption.shared_guard)
        {
            fleet.early_data = fleet.early_data.max(route.early_data);
        }
    }
    config.listeners = listeners;
    Ok(config)
}

fn whole_but_listeners(keys: &mut Keys) -> Result<Config, Fault> {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let workers = keys.whole("workers", 1, 1024)?;
    let hash_lanes = keys.flag("hash_lanes")?.unwrap_or(true);
    let drain = keys.seconds("drain", 0.0, DAY)?.unwrap_or(Duration::from_secs(30));
    let (user, group) = (keys.string("user")?, keys.string("group")?);
    if user.is_none() && group.is_some() {
        return Err(keys.fault("group", "is only for who gives up privileges: user is missing"));
    }
    let mut admin_keys = keys.table("admin")?;
    let admin = match admin_keys.string("address")? {
        None => None,
        Some(text) => {
            Some(address::listen(&text).map_err(|reason| admin_keys.fault("address", reason))?)
        }
    };
    admin_keys.finish()?;
    Ok(Config {
        place: keys.place().clone(),
        file: None,
        is_exposed: false,
        workers: workers.map_or(cores, |number| usize::try_from(number).unwrap_or(1)),
        hash_lanes,
        drain,
        user,
        group,
        admin,
        log: log(keys.table("log")?)?,
        limits: limits(keys.table("limits")?)?,
        timeouts: timeouts(keys.table("timeouts")?)?,
        resumption: resumption(keys.table("resumption")?)?,
        listeners: Vec::new(),
    })
}

fn log(mut keys: Keys) -> Result<Log, Fault> {
    let json = keys.word("format", &[("text", false), ("json", true)])?.unwrap_or(false);
    const LEVELS: [(&str, &str); 5] = [
        ("error", "error"),
        ("warn", "warn"),
        ("info", "info"),
        ("debug", "debug"),
        ("trace", "trace"),
    ];
    let level = keys.word("level", &LEVELS)?.unwrap_or("info").to_owned();
    keys.finish()?;
    Ok(Log { json, level })
}

fn limits(mut keys: Keys) -> Result<Limits, Fault> {
    let connections = keys.whole("connections", 1, 10_000_000)?.unwrap_or(100_000);
    let per_client = keys.whole("per_client", 1, 1_000_000)?;
    keys.finish()?;
    Ok(Limits { connections: usize::try_from(connections).unwrap_or(usize::MAX), per_client })
}

fn timeouts(mut keys: Keys) -> Result<Timeouts, Fault> {
    let mut seconds = |key, default: u64| {
        let found = keys.seconds(key, 0.1, DAY)?;
        Ok(found.unwrap_or(Duration::from_secs(default)))
    };
    let timeouts = Timeouts {
        handshake: seconds("handshake", 15)?,
        connect: seconds("connect", 5)?,
        idle: seconds("idle", 300)?,
        half_closed: seconds("half_closed", 60)?,
        park: seconds("park", 5)?,
    };
    keys.finish()?;
    Ok(timeouts)
}

/// In seconds: nothing here takes longer.
const DAY: f64 = 86_400.0;

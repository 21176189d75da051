//! Parses a configuration: every key, its default and its range.

mod lines;
mod listener;
mod resumption;

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tercel::crypto::Kernel;
use tercel::fips::FipsStatus;
use toml::{Table, Value};

use super::address;
use super::error::{ConfigError, without_number};
use super::table::{Location, TableReader};
use super::{
    CommandLineOptions, Config, Ech, EchFolder, Limits, Listener, Log, SharedEch, Tickets, Timeouts,
};
use listener::parse_listener;
use resumption::parse_resumption;

impl Config {
    /// Reads and parses a file.
    ///
    /// # Errors
    ///
    /// The first error in the file.
    pub fn load(file: &Path) -> Result<Self, ConfigError> {
        let name = file.display().to_string();
        let error_for = |reason: String| ConfigError::new(&name, "", reason);
        let read = || {
            let mut file = File::open(file)?;
            // The open file is checked, because the path may refer to another file by now.
            let is_exposed = tercel_fleet::is_exposed(&file.metadata()?);
            let mut text = Vec::new();
            file.read_to_end(&mut text).map(|_| (text, is_exposed))
        };
        let (text, is_exposed) =
            read().map_err(|error: io::Error| error_for(without_number(&error)))?;
        let text = String::from_utf8(text).map_err(|_| error_for("is not UTF-8".to_owned()))?;
        let config = Self::parse(&name, &text)?;
        Ok(Self { file: Some(file.to_owned()), is_exposed, ..config })
    }

    /// Parses a configuration from text. `name` is the file name in errors.
    ///
    /// # Errors
    ///
    /// The first error in the text.
    pub fn parse(name: &str, text: &str) -> Result<Self, ConfigError> {
        parse_file(name, text)
    }

    /// Builds a configuration of one listener with one route from command line options.
    ///
    /// # Errors
    ///
    /// The first error in the options.
    pub fn from_options(options: &CommandLineOptions) -> Result<Self, ConfigError> {
        parse_options(options)
    }
}

fn parse_file(name: &str, text: &str) -> Result<Config, ConfigError> {
    let location = Location::file(name);
    let table: Table = text.parse().map_err(|error| syntax_error(&location, text, &error))?;
    let parsed = parse_config(TableReader::new(location, table));
    let text = ConfigText(Arc::from(text));
    match parsed {
        Ok(config) => Ok(Config { text, ..config }),
        Err(error) => Err(text.with_line(error)),
    }
}

/// The text of a configuration file; empty without a file.
#[derive(Clone, Default)]
pub(crate) struct ConfigText(Arc<str>);

impl ConfigText {
    /// Adds the line of the key that an error names.
    pub(crate) fn with_line(&self, error: ConfigError) -> ConfigError {
        let line = error.line.or_else(|| lines::line_of(&self.0, &error.key));
        ConfigError { line, ..error }
    }
}

impl fmt::Debug for ConfigText {
    /// Omits the text, which may contain a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConfigText").finish_non_exhaustive()
    }
}

fn parse_options(options: &CommandLineOptions) -> Result<Config, ConfigError> {
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
    if options.fips {
        all.insert("fips".to_owned(), Value::Boolean(true));
    }
    let off = |kernel: &Kernel| (kernel.name().to_owned(), Value::Boolean(false));
    let kernels = options.no_kernels.iter().map(off).collect();
    all.insert("kernels".to_owned(), Value::Table(kernels));
    let mut log = Table::new();
    log.extend(options.log.as_ref().map(|format| ("format".to_owned(), text(format))));
    log.extend(options.log_level.as_ref().map(|level| ("level".to_owned(), text(level))));
    all.insert("log".to_owned(), Value::Table(log));
    if let Some(address) = &options.admin {
        let admin = Table::from_iter([("address".to_owned(), text(address))]);
        all.insert("admin".to_owned(), Value::Table(admin));
    }
    parse_config(TableReader::new(Location::command_line(), all))
}

/// Converts a TOML syntax error, which spans several lines, to one line with its position.
fn syntax_error(location: &Location, text: &str, error: &toml::de::Error) -> ConfigError {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let line = before.matches('\n').count().saturating_add(1);
    location.table_error(format!("line {line}: {}", error.message()))
}

fn parse_config(mut keys: TableReader) -> Result<Config, ConfigError> {
    let mut config = parse_global_settings(&mut keys)?;
    let mut listeners = Vec::new();
    for table in keys.tables("listener")? {
        listeners.push(parse_listener(table)?);
    }
    keys.finish()?;
    if listeners.is_empty() {
        return Err(keys.error("listener", "is missing: at least one listener is required"));
    }
    if let Some(Ech::Shared(shared)) = &config.ech {
        let fleet = config.resumption.fleet.as_mut().filter(|fleet| fleet.store.is_some());
        let Some(fleet) = fleet else {
            let reason = "requires a store: see [resumption.store]";
            return Err(shared.location.error("keys", reason));
        };
        (fleet.ech_keys, fleet.ech_key_cache) = (true, shared.cache.clone());
    }
    check_routes(&listeners, &mut config)?;
    config.listeners = listeners;
    Ok(config)
}

/// Checks the listeners against each other, and routes against the global settings.
fn check_routes(listeners: &[Listener], config: &mut Config) -> Result<(), ConfigError> {
    let mut addresses = BTreeMap::new();
    for listener in listeners {
        let taken = addresses.insert(listener.address, ()).is_some();
        if taken && listener.address.port() != 0 {
            return Err(listener.location.error("address", "is already used by another listener"));
        }
    }
    for route in listeners.iter().flat_map(|listener: &Listener| &listener.routes) {
        if route.ech_front && config.ech.is_none() {
            return Err(route.location.error("ech_front", "requires keys: see [ech]"));
        }
        let sessions = config.resumption.fleet.as_ref().is_some_and(|fleet| fleet.sessions);
        if route.early_data > 0 && config.resumption.tickets == Tickets::Off && !sessions {
            let reason = "requires session resumption: see resumption.tickets";
            return Err(route.location.error("early_data", reason));
        }
        let resumption = &config.resumption;
        let guards_alone = !resumption.shared_guard && !resumption.own_guard_is_explicit;
        if route.early_data > 0 && resumption.tickets == Tickets::Shared && guards_alone {
            let reason = "could be replayed to every process that has the ticket keys: configure a \
                          store, or resumption.guard = \"own\" if there is only one process";
            return Err(route.location.error("early_data", reason));
        }
        if let (Some(fleet), true) = (&mut config.resumption.fleet, config.resumption.shared_guard)
        {
            fleet.early_data = fleet.early_data.max(route.early_data);
        }
    }
    Ok(())
}

fn parse_global_settings(keys: &mut TableReader) -> Result<Config, ConfigError> {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let workers = keys.integer("workers", 1, 1024)?;
    let hash_lanes = keys.boolean("hash_lanes")?.unwrap_or(true);
    let drain = keys.seconds("drain", 0.0, MAX_SECONDS)?.unwrap_or(Duration::from_secs(30));
    let fips = keys.boolean("fips")?.unwrap_or(false);
    if let (true, FipsStatus::No(reason)) = (fips, FipsStatus::of_module()) {
        return Err(keys.error("fips", reason.to_string()));
    }
    let (user, group) = (keys.string("user")?, keys.string("group")?);
    if user.is_none() && group.is_some() {
        return Err(keys.error("group", "requires user"));
    }
    let mut admin_keys = keys.table("admin")?;
    let admin = match admin_keys.string("address")? {
        None => None,
        Some(text) => Some(
            address::parse_listen_address(&text)
                .map_err(|reason| admin_keys.error("address", reason))?,
        ),
    };
    admin_keys.finish()?;
    let disabled_kernels = parse_kernels(keys.table("kernels")?)?;
    let mut resumption = parse_resumption(keys.table("resumption")?)?;
    if let Some(store) = resumption.fleet.as_mut().and_then(|fleet| fleet.store.as_mut()) {
        store.fips = fips;
    }
    Ok(Config {
        location: keys.location().clone(),
        text: ConfigText::default(),
        file: None,
        is_exposed: false,
        workers: workers.map_or(cores, |number| usize::try_from(number).unwrap_or(1)),
        hash_lanes,
        disabled_kernels,
        fips,
        drain,
        user,
        group,
        admin,
        log: parse_log(keys.table("log")?)?,
        limits: parse_limits(keys.table("limits")?)?,
        timeouts: parse_timeouts(keys.table("timeouts")?)?,
        resumption,
        ech: parse_ech(keys.table("ech")?)?,
        listeners: Vec::new(),
    })
}

fn parse_ech(mut keys: TableReader) -> Result<Option<Ech>, ConfigError> {
    let location = keys.location().clone();
    let is_shared = keys.keyword("keys", &[("own", false), ("shared", true)])?.unwrap_or(false);
    let directory = keys.string("directory")?.map(PathBuf::from);
    let retry = keys.strings("retry")?;
    let cache = keys.string("cache")?.map(PathBuf::from);
    if directory.is_none() && !is_shared && !keys.is_empty_table() {
        keys.missing(
            "directory",
            "is missing: set it to the directory of the files *.ech, or set keys = \"shared\"",
        );
    }
    keys.finish()?;
    if !is_shared {
        if cache.is_some() {
            return Err(keys.error("cache", "requires keys = \"shared\""));
        }
        let retry = retry.unwrap_or_default();
        return Ok(directory.map(|directory| Ech::Folder(EchFolder { location, directory, retry })));
    }
    for (key, is_set) in [("directory", directory.is_some()), ("retry", retry.is_some())] {
        if is_set {
            let reason =
                "cannot be set with keys = \"shared\": `tercel ech publish` reads the folder";
            return Err(keys.error(key, reason));
        }
    }
    Ok(Some(Ech::Shared(SharedEch { location, cache })))
}

/// The kernels whose key is `false`.
fn parse_kernels(mut keys: TableReader) -> Result<Vec<Kernel>, ConfigError> {
    let mut disabled = Vec::new();
    for kernel in Kernel::ALL {
        if keys.boolean(kernel.name())? == Some(false) {
            disabled.push(*kernel);
        }
    }
    keys.finish()?;
    Ok(disabled)
}

fn parse_log(mut keys: TableReader) -> Result<Log, ConfigError> {
    let json = keys.keyword("format", &[("text", false), ("json", true)])?.unwrap_or(false);
    const LEVELS: [(&str, &str); 5] = [
        ("error", "error"),
        ("warn", "warn"),
        ("info", "info"),
        ("debug", "debug"),
        ("trace", "trace"),
    ];
    let level = keys.keyword("level", &LEVELS)?.unwrap_or("info").to_owned();
    keys.finish()?;
    Ok(Log { json, level })
}

fn parse_limits(mut keys: TableReader) -> Result<Limits, ConfigError> {
    let connections = keys.integer("connections", 1, 10_000_000)?.unwrap_or(100_000);
    let per_client = keys.integer("per_client", 1, 1_000_000)?;
    keys.finish()?;
    Ok(Limits { connections: usize::try_from(connections).unwrap_or(usize::MAX), per_client })
}

fn parse_timeouts(mut keys: TableReader) -> Result<Timeouts, ConfigError> {
    let mut seconds = |key, default: u64| {
        let found = keys.seconds(key, 0.1, MAX_SECONDS)?;
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

/// Upper limit of all durations, in seconds.
const MAX_SECONDS: f64 = 86_400.0;

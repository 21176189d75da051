//! From the text of a configuration to [`Config`]: every key, its default, and what it may be.
//!
//! Must not know: what is done with it. Next: [`super::keys`], which gives values of the right kind.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use tercel::ClientAuth;
use tercel::wire::ProtocolVersion;
use tercel_fleet::{StoreSettings, TicketKeys};
use toml::{Table, Value};

use super::address::{self, BackendAddress};
use super::fault::Fault;
use super::keys::{Keys, Place};
use super::{
    CertificateSource, Config, Connect, Limits, Listener, Log, OnTruncation, Resumption, Route,
    Simple, Tickets, Timeouts, network,
};

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
        workers: workers.map_or(cores, |number| usize::try_from(number).unwrap_or(1)),
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

fn resumption(mut keys: Keys) -> Result<Resumption, Fault> {
    let words = [("off", Tickets::Off), ("own", Tickets::Own), ("shared", Tickets::Shared)];
    let tickets = keys.word("tickets", &words)?.unwrap_or(Tickets::Own);
    let file = keys.string("ticket_keys")?;
    let lifetime = keys.seconds("ticket_lifetime", 60.0, 604_800.0)?;
    let sessions = keys.word("sessions", &[("none", false), ("shared", true)])?;
    let sessions = sessions.unwrap_or(false);
    let guard = keys.word("guard", &[("own", false), ("shared", true)])?;
    let capacity = keys.whole("guard_capacity", 1000, 100_000_000)?.unwrap_or(1_000_000);
    let freshness_window = keys.whole("freshness_window", 2, 60)?.unwrap_or(60);
    let name = keys.string("fleet")?;
    let store = store(keys.table("store")?)?;
    keys.finish()?;
    if tickets != Tickets::Shared && file.is_some() {
        return Err(keys.fault("ticket_keys", "is only for tickets = \"shared\""));
    }
    if store.is_none() {
        let needs = [
            (
                "ticket_keys",
                tickets == Tickets::Shared && file.is_none(),
                "is missing, and so is a store",
            ),
            ("sessions", sessions, "need a store to share them in"),
            ("guard", guard == Some(true), "needs a store to share it in"),
        ];
        if let Some((key, _, reason)) = needs.into_iter().find(|(_, needed, _)| *needed) {
            return Err(keys.fault(key, reason));
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
        store,
    });
    let guard_capacity = usize::try_from(capacity).unwrap_or(usize::MAX);
    let own_guard_is_meant = guard == Some(false);
    Ok(Resumption {
        tickets,
        shared_guard,
        own_guard_is_meant,
        guard_capacity,
        freshness_window,
        fleet,
    })
}

fn store(mut keys: Keys) -> Result<Option<StoreSettings>, Fault> {
    let (url, secret) = (keys.string("url")?, keys.string("secret")?);
    let mut store = StoreSettings::new("", "");
    store.next_secret_file = keys.string("next_secret")?.map(PathBuf::from);
    store.previous_secret_file = keys.string("previous_secret")?.map(PathBuf::from);
    store.roots = keys.string("roots")?.map(PathBuf::from);
    store.certificate = match (keys.string("certificate")?, keys.string("key")?) {
        (None, None) => None,
        (Some(certificate), Some(key)) => Some((certificate.into(), key.into())),
        (Some(_), None) => return Err(keys.fault("key", "is missing for the certificate")),
        (None, Some(_)) => return Err(keys.fault("certificate", "is missing for the key")),
    };
    if let Some(connections) = keys.whole("connections", 1, 64)? {
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
        (None, None) if keys.was_empty() => Ok(None),
        (None, _) => Err(keys.fault("url", "is missing")),
        (_, None) => Err(keys.fault("secret", "is missing: the file of the fleet's secret")),
        (Some(url), Some(secret)) => {
            Ok(Some(StoreSettings { url, secret_file: secret.into(), ..store }))
        }
    }
}

fn listener(mut keys: Keys) -> Result<Listener, Fault> {
    let place = keys.place().clone();
    let Some(text) = keys.string("address")? else {
        return Err(keys.fault("address", "is missing"));
    };
    let address = address::listen(&text).map_err(|reason| keys.fault("address", reason))?;
    let connections = keys.whole("connections", 1, 10_000_000)?;
    let accept_proxy_protocol = keys.flag("accept_proxy_protocol")?.unwrap_or(false);
    let mut proxy_protocol_from = Vec::new();
    if let Some(list) = keys.strings("proxy_protocol_from")? {
        if !accept_proxy_protocol || list.is_empty() {
            let reason = if list.is_empty() { "is empty" } else { "is for accept_proxy_protocol" };
            return Err(keys.fault("proxy_protocol_from", reason));
        }
        for (at, text) in list.iter().enumerate() {
            let fault = |reason| keys.fault(&format!("proxy_protocol_from[{at}]"), reason);
            proxy_protocol_from.push(network::network(text).map_err(fault)?);
        }
    }
    let terms = Terms::default().with(&mut keys)?;
    let tables = keys.tables("route")?;
    keys.finish()?;
    let mut routes = Vec::new();
    let mut known: BTreeMap<String, ()> = BTreeMap::new();
    for mut table in tables {
        let names = names(&mut table, &mut known)?;
        let terms = terms.clone().with(&mut table)?;
        table.finish()?;
        routes.push(Route { names, ..terms.checked(table.place())? });
    }
    if let Some(extra) = routes.iter().filter(|route: &&Route| route.names.is_empty()).nth(1) {
        let reason = "is missing, and another route is for all other names already";
        return Err(extra.place.fault("names", reason));
    }
    // What the listener says of its own is for all other names.
    let has_default = routes.iter().any(|route| route.names.is_empty());
    if routes.is_empty() || (!has_default && !terms.to.is_empty()) {
        routes.push(terms.checked(&place)?);
    }
    Ok(Listener { place, address, connections, accept_proxy_protocol, proxy_protocol_from, routes })
}

fn names(keys: &mut Keys, known: &mut BTreeMap<String, ()>) -> Result<Vec<String>, Fault> {
    let mut names = Vec::new();
    let Some(list) = keys.strings("names")? else { return Ok(names) };
    if list.is_empty() {
        return Err(keys.fault("names", "is empty; leave it out for all other names"));
    }
    for (at, text) in list.iter().enumerate() {
        let key = format!("names[{at}]");
        let name = address::server_name(text).map_err(|reason| keys.fault(&key, reason))?;
        if known.insert(name.clone(), ()).is_some() {
            return Err(keys.fault(&key, format!("\"{text}\" is in another route already")));
        }
        names.push(name);
    }
    Ok(names)
}

/// What a listener can say for all its routes, and each route for itself.
#[derive(Clone)]
struct Terms {
    to: Vec<BackendAddress>,
    certificates: Option<CertificateSource>,
    alpn: Vec<String>,
    client_auth: ClientAuth,
    client_ca: Option<PathBuf>,
    min_version: ProtocolVersion,
    early_data: u32,
    early_data_at_once: bool,
    connect: Connect,
    on_truncation: OnTruncation,
    send_proxy_protocol: bool,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            to: Vec::new(),
            certificates: None,
            alpn: Vec::new(),
            client_auth: ClientAuth::None,
            client_ca: None,
            min_version: ProtocolVersion::TLS1_2,
            early_data: 0,
            early_data_at_once: false,
            connect: Connect::Auto,
            on_truncation: OnTruncation::Auto,
            send_proxy_protocol: false,
        }
    }
}

impl Terms {
    /// The same with what this table says.
    fn with(mut self, keys: &mut Keys) -> Result<Self, Fault> {
        if let Some(list) = keys.strings("to")? {
            if list.is_empty() {
                return Err(keys.fault("to", "is empty"));
            }
            self.to.clear();
            for (at, text) in list.iter().enumerate() {
                let key = if list.len() == 1 { "to".to_owned() } else { format!("to[{at}]") };
                let backend = address::backend(text).map_err(|reason| keys.fault(&key, reason))?;
                self.to.push(backend);
            }
        }
        if let Some(source) = source(keys)? {
            self.certificates = Some(source);
        }
        if let Some(alpn) = keys.strings("alpn")? {
            for (at, name) in alpn.iter().enumerate() {
                if name.len() > 255 {
                    let key = format!("alpn[{at}]");
                    return Err(keys.fault(&key, "has more than 255 bytes"));
                }
            }
            self.alpn = alpn;
        }
        let words = [
            ("none", ClientAuth::None),
            ("optional", ClientAuth::Optional),
            ("required", ClientAuth::Required),
        ];
        self.client_auth = keys.word("client_auth", &words)?.unwrap_or(self.client_auth);
        self.client_ca = keys.string("client_ca")?.map(PathBuf::from).or(self.client_ca);
        let versions = [("1.2", ProtocolVersion::TLS1_2), ("1.3", ProtocolVersion::TLS1_3)];
        self.min_version = keys.word("min_version", &versions)?.unwrap_or(self.min_version);
        self.early_data = keys.whole("early_data", 0, 65_536)?.unwrap_or(self.early_data);
        let at_once = keys.flag("early_data_at_once")?;
        self.early_data_at_once = at_once.unwrap_or(self.early_data_at_once);
        let words = [
            ("auto", Connect::Auto),
            ("at-once", Connect::AtOnce),
            ("first-byte", Connect::FirstByte),
        ];
        self.connect = keys.word("connect", &words)?.unwrap_or(self.connect);
        let words = [
            ("auto", OnTruncation::Auto),
            ("reset", OnTruncation::Reset),
            ("close", OnTruncation::Close),
        ];
        self.on_truncation = keys.word("on_truncation", &words)?.unwrap_or(self.on_truncation);
        let told = keys.flag("send_proxy_protocol")?;
        self.send_proxy_protocol = told.unwrap_or(self.send_proxy_protocol);
        Ok(self)
    }

    /// A route on these terms, if they are complete and agree with each other.
    fn checked(&self, place: &Place) -> Result<Route, Fault> {
        if self.to.is_empty() {
            return Err(place.fault("to", "is missing"));
        }
        let Some(certificates) = self.certificates.clone() else {
            return Err(place.fault("certificates", "is missing"));
        };
        if self.client_auth != ClientAuth::None && self.client_ca.is_none() {
            return Err(place.fault("client_ca", "is missing: nobody vouches for clients"));
        }
        if self.client_auth == ClientAuth::None && self.client_ca.is_some() {
            return Err(place.fault("client_ca", "is of no use with client_auth = \"none\""));
        }
        if self.early_data_at_once && self.early_data == 0 {
            return Err(place.fault("early_data_at_once", "is for routes that accept early_data"));
        }
        // Who hands early data on has to say what it is. RFC 8470 5.1
        if self.early_data_at_once && !self.send_proxy_protocol {
            let reason = "needs send_proxy_protocol, by which backends know what came early";
            return Err(place.fault("early_data_at_once", reason));
        }
        Ok(Route { certificates, to: self.to.clone(), ..self.route(place.clone()) })
    }

    fn route(&self, place: Place) -> Route {
        Route {
            place,
            names: Vec::new(),
            to: Vec::new(),
            certificates: CertificateSource::Folder(PathBuf::new()),
            alpn: self.alpn.clone(),
            client_auth: self.client_auth,
            client_ca: self.client_ca.clone(),
            min_version: self.min_version,
            early_data: self.early_data,
            early_data_at_once: self.early_data_at_once,
            connect: self.connect,
            on_truncation: self.on_truncation,
            send_proxy_protocol: self.send_proxy_protocol,
        }
    }
}

/// Either a folder, or a certificate with its key.
fn source(keys: &mut Keys) -> Result<Option<CertificateSource>, Fault> {
    let folder = keys.string("certificates")?;
    let (certificate, key) = (keys.string("certificate")?, keys.string("key")?);
    match (folder, certificate, key) {
        (None, None, None) => Ok(None),
        (Some(folder), None, None) => Ok(Some(CertificateSource::Folder(folder.into()))),
        (None, Some(certificate), Some(key)) => {
            Ok(Some(CertificateSource::Pair { certificate: certificate.into(), key: key.into() }))
        }
        (Some(_), _, _) => Err(keys.fault("certificates", "goes without certificate and key")),
        (None, Some(_), None) => Err(keys.fault("key", "is missing for the certificate")),
        (None, None, Some(_)) => Err(keys.fault("certificate", "is missing for the key")),
    }
}

/// In seconds: nothing here takes longer.
const DAY: f64 = 86_400.0;

//! Parses `[[listener]]` and `[[listener.route]]`.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};

use tercel::server::ClientAuth;
use tercel::wire::ProtocolVersion;

use crate::config::address;
use crate::config::error::ConfigError;
use crate::config::table::{Location, TableReader};
use crate::config::{CertificateSource, Connect, Listener, OnTruncation, Route, network};

pub(super) fn parse_listener(mut keys: TableReader) -> Result<Listener, ConfigError> {
    let location = keys.location().clone();
    let address = match keys.string("address")? {
        Some(text) => {
            address::parse_listen_address(&text).map_err(|reason| keys.error("address", reason))?
        }
        None => {
            keys.missing("address", "is missing");
            // This address is never used, because `finish` returns the error.
            SocketAddr::from((Ipv4Addr::LOCALHOST, 0))
        }
    };
    let connections = keys.integer("connections", 1, 10_000_000)?;
    let accept_proxy_protocol = keys.boolean("accept_proxy_protocol")?.unwrap_or(false);
    let mut proxy_protocol_from = Vec::new();
    if let Some(list) = keys.strings("proxy_protocol_from")? {
        if !accept_proxy_protocol || list.is_empty() {
            let reason =
                if list.is_empty() { "is empty" } else { "requires accept_proxy_protocol = true" };
            return Err(keys.error("proxy_protocol_from", reason));
        }
        for (at, text) in list.iter().enumerate() {
            let error_for = |reason| keys.error(&format!("proxy_protocol_from[{at}]"), reason);
            proxy_protocol_from.push(network::parse_network(text).map_err(error_for)?);
        }
    }
    let ech_backend = keys.boolean("ech_backend")?.unwrap_or(false);
    let settings = RouteSettings::new(location.clone()).merge(&mut keys)?;
    let tables = keys.tables("route")?;
    keys.finish()?;
    let mut routes = Vec::new();
    let mut known: BTreeMap<String, ()> = BTreeMap::new();
    for mut table in tables {
        let names = parse_names(&mut table, &mut known)?;
        let of_tls = table.first_of(&TLS_KEYS);
        let settings = settings.clone().merge(&mut table)?;
        if let (Some(key), true) = (of_tls, settings.route.passthrough) {
            return Err(
                table.error(key, "has no effect on a route without TLS (passthrough, ech_front)")
            );
        }
        table.finish()?;
        routes.push(Route { names, ..settings.validate(table.location())? });
    }
    if let Some(extra) = routes.iter().filter(|route: &&Route| route.names.is_empty()).nth(1) {
        let reason = "is missing, but another route already serves all other names";
        return Err(extra.location.error("names", reason));
    }
    // The settings of the listener itself form the default route.
    let has_default = routes.iter().any(|route| route.names.is_empty());
    if routes.is_empty() || (!has_default && !settings.route.to.is_empty()) {
        routes.push(settings.validate(&location)?);
    }
    Ok(Listener {
        location,
        address,
        connections,
        accept_proxy_protocol,
        proxy_protocol_from,
        ech_backend,
        routes,
    })
}

/// Keys that concern only routes which terminate TLS.
const TLS_KEYS: [&str; 12] = [
    "certificates",
    "certificate",
    "key",
    "alpn",
    "client_auth",
    "client_ca",
    "min_version",
    "early_data",
    "early_data_at_once",
    "connect",
    "on_truncation",
    "session_context",
];

fn parse_names(
    keys: &mut TableReader,
    known: &mut BTreeMap<String, ()>,
) -> Result<Vec<String>, ConfigError> {
    let mut names = Vec::new();
    let Some(list) = keys.strings("names")? else { return Ok(names) };
    if list.is_empty() {
        return Err(keys.error("names", "is empty; omit it to serve all other names"));
    }
    for (at, text) in list.iter().enumerate() {
        let key = format!("names[{at}]");
        let name = address::parse_server_name(text).map_err(|reason| keys.error(&key, reason))?;
        if known.insert(name.clone(), ()).is_some() {
            return Err(keys.error(&key, format!("\"{text}\" is already used by another route")));
        }
        names.push(name);
    }
    Ok(names)
}

/// Settings that a listener specifies for all its routes. Each route may override them.
#[derive(Clone)]
struct RouteSettings {
    route: Route,
}

impl RouteSettings {
    fn new(location: Location) -> Self {
        let route = Route {
            location,
            names: Vec::new(),
            to: Vec::new(),
            passthrough: false,
            ech_front: false,
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
            session_context: None,
        };
        Self { route }
    }

    /// Overrides these settings with the settings in the table.
    fn merge(mut self, keys: &mut TableReader) -> Result<Self, ConfigError> {
        let route = &mut self.route;
        if let Some(list) = keys.strings("to")? {
            if list.is_empty() {
                return Err(keys.error("to", "is empty"));
            }
            route.to.clear();
            for (at, text) in list.iter().enumerate() {
                let key = if list.len() == 1 { "to".to_owned() } else { format!("to[{at}]") };
                let backend = address::parse_backend_address(text)
                    .map_err(|reason| keys.error(&key, reason))?;
                route.to.push(backend);
            }
        }
        let passthrough = keys.boolean("passthrough")?;
        route.passthrough = passthrough.unwrap_or(route.passthrough);
        if let Some(ech_front) = keys.boolean("ech_front")? {
            if ech_front && passthrough == Some(false) {
                return Err(keys.error("ech_front", "cannot be set with passthrough = false"));
            }
            route.ech_front = ech_front;
            route.passthrough |= ech_front;
        } else if passthrough.is_some() {
            // The listener's value is for routes that say nothing: `passthrough = true` relays
            // ClientHellos as they are.
            route.ech_front = false;
        }
        if let Some(source) = parse_certificate_source(keys)? {
            route.certificates = Some(source);
        }
        if let Some(alpn) = keys.strings("alpn")? {
            for (at, name) in alpn.iter().enumerate() {
                if name.len() > 255 {
                    let key = format!("alpn[{at}]");
                    return Err(keys.error(&key, "has more than 255 bytes"));
                }
            }
            route.alpn = alpn;
        }
        let words = [
            ("none", ClientAuth::None),
            ("optional", ClientAuth::Optional),
            ("required", ClientAuth::Required),
        ];
        route.client_auth = keys.keyword("client_auth", &words)?.unwrap_or(route.client_auth);
        if let Some(file) = keys.string("client_ca")? {
            route.client_ca = Some(file.into());
        }
        let versions = [("1.2", ProtocolVersion::TLS1_2), ("1.3", ProtocolVersion::TLS1_3)];
        route.min_version = keys.keyword("min_version", &versions)?.unwrap_or(route.min_version);
        route.early_data = keys.integer("early_data", 0, 65_536)?.unwrap_or(route.early_data);
        let at_once = keys.boolean("early_data_at_once")?;
        route.early_data_at_once = at_once.unwrap_or(route.early_data_at_once);
        let words = [
            ("auto", Connect::Auto),
            ("at-once", Connect::AtOnce),
            ("first-byte", Connect::FirstByte),
        ];
        route.connect = keys.keyword("connect", &words)?.unwrap_or(route.connect);
        let words = [
            ("auto", OnTruncation::Auto),
            ("reset", OnTruncation::Reset),
            ("close", OnTruncation::Close),
        ];
        route.on_truncation = keys.keyword("on_truncation", &words)?.unwrap_or(route.on_truncation);
        let send_proxy_protocol = keys.boolean("send_proxy_protocol")?;
        route.send_proxy_protocol = send_proxy_protocol.unwrap_or(route.send_proxy_protocol);
        if let Some(context) = keys.string("session_context")? {
            if context.is_empty() {
                return Err(keys.error("session_context", "is empty"));
            }
            route.session_context = Some(context);
        }
        Ok(self)
    }

    /// Builds a route, if the settings are complete and consistent.
    fn validate(&self, location: &Location) -> Result<Route, ConfigError> {
        let route = &self.route;
        if route.to.is_empty() {
            return Err(location.error("to", "is missing"));
        }
        if route.passthrough {
            return Ok(Self::without_tls(route, location));
        }
        if route.certificates.is_none() {
            return Err(location.error("certificates", "is missing"));
        }
        if route.client_auth != ClientAuth::None && route.client_ca.is_none() {
            return Err(location
                .error("client_ca", "is missing: client_auth requires certificate authorities"));
        }
        if route.client_auth == ClientAuth::None && route.client_ca.is_some() {
            return Err(location.error("client_ca", "has no effect with client_auth = \"none\""));
        }
        if route.early_data_at_once && route.early_data == 0 {
            return Err(location.error("early_data_at_once", "requires early_data"));
        }
        // An intermediary that forwards early data has to mark it. RFC 8470 5.1
        if route.early_data_at_once && !route.send_proxy_protocol {
            let reason = "requires send_proxy_protocol, which marks early data for backends";
            return Err(location.error("early_data_at_once", reason));
        }
        Ok(Route { location: location.clone(), ..route.clone() })
    }

    /// A route that does not terminate TLS. It keeps none of the listener's settings for TLS.
    fn without_tls(route: &Route, location: &Location) -> Route {
        let Route { to, send_proxy_protocol, passthrough, ech_front, .. } = route.clone();
        let unset = Self::new(location.clone()).route;
        Route { to, send_proxy_protocol, passthrough, ech_front, ..unset }
    }
}

/// Reads either a folder, or a certificate with its key.
fn parse_certificate_source(
    keys: &mut TableReader,
) -> Result<Option<CertificateSource>, ConfigError> {
    let folder = keys.string("certificates")?;
    let (certificate, key) = (keys.string("certificate")?, keys.string("key")?);
    match (folder, certificate, key) {
        (None, None, None) => Ok(None),
        (Some(folder), None, None) => Ok(Some(CertificateSource::Folder(folder.into()))),
        (None, Some(certificate), Some(key)) => {
            Ok(Some(CertificateSource::Pair { certificate: certificate.into(), key: key.into() }))
        }
        (Some(_), _, _) => {
            Err(keys.error("certificates", "cannot be combined with certificate and key"))
        }
        (None, Some(_), None) => {
            keys.missing("key", "is missing; certificate requires it");
            Ok(None)
        }
        (None, None, Some(_)) => {
            keys.missing("certificate", "is missing; key requires it");
            Ok(None)
        }
    }
}

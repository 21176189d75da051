//! A listener and its routes: `[[listener]]` and `[[listener.route]]`.
//!
//! Must not know: the rest of the configuration. Next: [`crate::config::address`].

use std::collections::BTreeMap;
use std::path::PathBuf;

use tercel::ClientAuth;
use tercel::wire::ProtocolVersion;

use crate::config::address::{self, BackendAddress};
use crate::config::fault::Fault;
use crate::config::keys::{Keys, Place};
use crate::config::{CertificateSource, Connect, Listener, OnTruncation, Route, network};

pub(super) fn listener(mut keys: Keys) -> Result<Listener, Fault> {
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
    session_context: Option<String>,
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
            session_context: None,
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
        if let Some(context) = keys.string("session_context")? {
            if context.is_empty() {
                return Err(keys.fault("session_context", "is empty"));
            }
            self.session_context = Some(context);
        }
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
            session_context: self.session_context.clone(),
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

//! A configuration with everything it names: certificates loaded, authorities read, backends' names looked up.
//!
//! Made as a whole before anything of it is used, at the start and at each reload. What outlives a reload
//! (ticket keys, the replay guard, certificates from one source) goes over from the one before.
//! Must not know: sockets. Next: [`crate::worker`], which serves by it.

mod keys;

use std::net::{IpAddr, ToSocketAddrs};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tercel::crypto::{Hash, HashAlgorithm};
use tercel::pki::Roots;
use tercel::pki_types::UnixTime;
use tercel::wire::ProtocolVersion;
use tercel::{ClientAuth, Policy, ServerConfig, SessionStore, TicketSealer};
use tercel_fleet::Fleet;
use tercel_tokio::{Acceptor, Answers};

use crate::backend::Endpoint;
use crate::certificates::layout::Files;
use crate::certificates::{self, Certificates};
use crate::config::{
    BackendAddress, CertificateSource, Config, Connect, Fault, Limits, Listener, Network,
    OnTruncation, Route, Timeouts,
};
use crate::names::{Chooser, Names};
use keys::Keys;

/// What is served at this moment.
pub(crate) struct Live {
    pub(crate) limits: Limits,
    pub(crate) timeouts: Timeouts,
    pub(crate) drain: Duration,
    pub(crate) listeners: Vec<LiveListener>,
    pub(crate) certificates: Vec<(CertificateSource, Arc<Certificates>)>,
    keys: Keys,
    /// For so long after this begins connections from before may still have a handshake, and ask another guard.
    another_guard_for: Option<Duration>,
}

/// What is served to those who come in at one address.
pub(crate) struct LiveListener {
    pub(crate) acceptor: Acceptor,
    pub(crate) names: Arc<Names>,
    pub(crate) routes: Vec<LiveRoute>,
    pub(crate) connections: Option<u32>,
    pub(crate) accept_proxy_protocol: bool,
    pub(crate) proxy_protocol_from: Vec<Network>,
    /// Whether any of the routes does that.
    pub(crate) early_data_at_once: bool,
}

/// Where clients of some names go.
pub(crate) struct LiveRoute {
    pub(crate) backends: Vec<Endpoint>,
    pub(crate) connect: Connect,
    pub(crate) on_truncation: OnTruncation,
    pub(crate) send_proxy_protocol: bool,
    /// Whether a backend gets early data before the handshake is complete.
    pub(crate) early_data_at_once: bool,
}

impl Live {
    /// Everything that `config` names, or the first thing that is not as it says.
    pub(crate) fn new(config: &Config, before: Option<&Self>) -> Result<Self, Fault> {
        let keys = Keys::new(config, before.map(|before| &before.keys))?;
        let another_guard_for =
            before.filter(|_| keys.has_other_guard).map(|before| before.timeouts.handshake);
        let mut live = Self {
            limits: config.limits.clone(),
            timeouts: config.timeouts.clone(),
            drain: config.drain,
            listeners: Vec::new(),
            certificates: Vec::new(),
            keys,
            another_guard_for,
        };
        for listener in &config.listeners {
            let listener = live.listener(listener, before)?;
            live.listeners.push(listener);
        }
        Ok(live)
    }

    /// To be told when all of it is served from now on: what it has taken over from the one before changes, and what it shares
    /// with other processes takes part. What is never served writes nothing that other nodes would have to agree with.
    pub(crate) fn begin(&self) {
        if let Some(fleet) = &self.keys.fleet {
            fleet.begin();
        }
        if let (Some(fleet), Some(secrets)) = (&self.keys.fleet, &self.keys.secrets) {
            fleet.use_secrets(secrets.clone());
        }
        // Only now: what it was made with may have taken its time, in which the guard before went on.
        if let Some(still) = self.another_guard_for {
            self.keys.follow_another_guard(still);
        }
    }

    /// What is shared with other processes.
    pub(crate) fn fleet(&self) -> Option<&Fleet> {
        self.keys.fleet.as_ref()
    }

    /// Since when the ticket key in use has been sealing, for whenever that is asked.
    pub(crate) fn ticket_key_since(&self) -> impl Fn() -> Option<UnixTime> + Send + Sync + use<> {
        let (own, fleet) = (self.keys.tickets.clone(), self.keys.fleet.clone());
        move || match &own {
            Some(own) => Some(own.seals_since()),
            None => fleet.as_ref()?.ticket_key_since(),
        }
    }

    fn listener(
        &mut self,
        listener: &Listener,
        before: Option<&Self>,
    ) -> Result<LiveListener, Fault> {
        let mut names = Names::default();
        let (mut routes, mut configs) = (Vec::new(), Vec::new());
        for (number, route) in listener.routes.iter().enumerate() {
            route.names.iter().for_each(|name| names.add(name, number));
            if route.names.is_empty() {
                names.add_other(number);
            }
            configs.push(self.server(route, before)?);
            routes.push(LiveRoute {
                backends: backends(route)?,
                connect: route.connect,
                on_truncation: route.on_truncation,
                send_proxy_protocol: route.send_proxy_protocol,
                early_data_at_once: route.early_data_at_once,
            });
        }
        let names = Arc::new(names);
        let config = match configs.as_slice() {
            // Whoever comes gets the one there is.
            [only] if names.find(None).is_some() => Arc::clone(only),
            _ => {
                let chooser = Chooser { names: Arc::clone(&names), configs };
                ServerConfig::builder()
                    .choose_config(Policy::Here(Arc::new(chooser)))
                    .without_tickets()
                    .build()
                    .map_err(|error| listener.place.whole_fault(error.to_string()))?
            }
        };
        Ok(LiveListener {
            acceptor: Acceptor::new(config)
                .time_limit(Some(self.timeouts.handshake))
                .answers(self.answers()),
            names,
            early_data_at_once: routes.iter().any(|route| route.early_data_at_once),
            routes,
            connections: listener.connections,
            accept_proxy_protocol: listener.accept_proxy_protocol,
            proxy_protocol_from: listener.proxy_protocol_from.clone(),
        })
    }

    fn answers(&self) -> Answers {
        let answers = Answers::new();
        match &self.keys.fleet {
            Some(fleet) => fleet.answers(answers),
            None => answers,
        }
    }

    fn server(&mut self, route: &Route, before: Option<&Self>) -> Result<Arc<ServerConfig>, Fault> {
        let certificates = self.certificates(route, before)?;
        let mut builder = ServerConfig::builder()
            .replaceable_credentials(certificates.credentials())
            .alpn(&route.alpn)
            .session_context(&session_context(route));
        if route.min_version == ProtocolVersion::TLS1_3 {
            builder = builder.versions(&[ProtocolVersion::TLS1_3]);
        }
        if let (true, Some(file)) = (route.client_auth != ClientAuth::None, &route.client_ca) {
            builder = builder.client_auth(route.client_auth, roots(route, file)?);
        }
        builder = match &self.keys.tickets {
            Some(tickets) => builder.tickets(Arc::clone(tickets) as Arc<dyn TicketSealer>),
            None => builder.without_tickets(),
        };
        builder = match &self.keys.session_ids {
            Some(store) => builder.session_ids(Arc::clone(store) as Arc<dyn SessionStore>),
            None => builder.without_session_ids(),
        };
        if let Some(fleet) = &self.keys.fleet {
            builder = fleet.apply(builder);
        }
        // The store admits for the whole fleet; how much is each route's to say.
        let shared = self.keys.fleet.is_some() && self.keys.wanted.shared_guard;
        let guard = Arc::clone(&self.keys.guard);
        let guard = if shared { Policy::Ask } else { Policy::Here(guard as Arc<_>) };
        builder = builder
            .early_data(route.early_data, guard)
            .freshness_window(self.keys.wanted.freshness_window);
        builder.build().map_err(|error| route.place.whole_fault(error.to_string()))
    }

    /// Those of this source: of another route, of the configuration before, or new.
    fn certificates(
        &mut self,
        route: &Route,
        before: Option<&Self>,
    ) -> Result<Arc<Certificates>, Fault> {
        let source = &route.certificates;
        let known = self.certificates.iter().chain(before.iter().flat_map(|b| &b.certificates));
        if let Some((_, known)) = known.into_iter().find(|(known, _)| known == source) {
            let known = Arc::clone(known);
            if !self.certificates.iter().any(|(own, _)| own == source) {
                self.certificates.push((source.clone(), Arc::clone(&known)));
            }
            return Ok(known);
        }
        let (key, wanted) = match source {
            CertificateSource::Folder(folder) => {
                let source =
                    certificates::Source { folder: Some(folder.clone()), ..Default::default() };
                ("certificates", source)
            }
            CertificateSource::Pair { certificate, key } => {
                let files =
                    Files { chain: certificate.clone(), key: key.clone(), ocsp_response: None };
                ("certificate", certificates::Source { files: vec![files], ..Default::default() })
            }
        };
        let loaded = Certificates::load(wanted);
        let (certificates, changes) =
            loaded.map_err(|problem| route.place.fault(key, problem.to_string()))?;
        changes.log();
        let certificates = Arc::new(certificates);
        self.certificates.push((source.clone(), Arc::clone(&certificates)));
        Ok(certificates)
    }
}

/// What the sessions of a route are bound to, besides the certificate that was shown: where the route leads. All routes share
/// ticket keys, and a session of one must not bring a client to the backends of another.
///
/// It is made of the configuration's words, so that nodes with equal configurations resume each other's sessions.
fn session_context(route: &Route) -> Vec<u8> {
    let mut parts: Vec<Vec<u8>> = Vec::new();
    if let Some(context) = &route.session_context {
        parts.push(b"session_context".to_vec());
        parts.push(context.clone().into_bytes());
        let mut names = route.names.clone();
        names.sort_unstable();
        parts.extend(names.into_iter().map(String::into_bytes));
    } else {
        parts.push(b"certificates and backends".to_vec());
        let path = |path: &Path| path.as_os_str().as_encoded_bytes().to_vec();
        match &route.certificates {
            CertificateSource::Folder(folder) => parts.extend([path(folder), Vec::new()]),
            CertificateSource::Pair { certificate, key } => {
                parts.extend([path(certificate), path(key)]);
            }
        }
        let mut backends: Vec<_> = route.to.iter().map(ToString::to_string).collect();
        backends.sort_unstable();
        backends.dedup();
        parts.extend(backends.into_iter().map(String::into_bytes));
    }
    // The length keeps two parts from being read as one.
    let mut bytes = Vec::new();
    for part in &parts {
        bytes.extend_from_slice(&part.len().to_be_bytes());
        bytes.extend_from_slice(part);
    }
    Hash::digest(HashAlgorithm::Sha256, &[&bytes]).to_vec()
}

fn roots(route: &Route, file: &Path) -> Result<Roots, Fault> {
    let fault =
        |reason: String| route.place.fault("client_ca", format!("{}: {reason}", file.display()));
    let pem = std::fs::read(file).map_err(|error| fault(error.to_string()))?;
    let mut roots = Roots::new();
    roots.add_pem(&pem).map_err(|error| fault(error.to_string()))?;
    Ok(roots)
}

fn backends(route: &Route) -> Result<Vec<Endpoint>, Fault> {
    let mut backends = Vec::with_capacity(route.to.len());
    for address in &route.to {
        backends.push(match address {
            BackendAddress::Ip(address) => Endpoint::Tcp(vec![*address]),
            BackendAddress::Unix(path) => Endpoint::Unix(path.clone()),
            BackendAddress::Name(name, port) => {
                let fault =
                    |reason: String| route.place.fault("to", format!("{address}: {reason}"));
                let found = (name.as_str(), *port).to_socket_addrs();
                let found: Vec<_> = found.map_err(|error| fault(error.to_string()))?.collect();
                if found.is_empty() {
                    return Err(fault("has no address".to_owned()));
                }
                Endpoint::Tcp(found)
            }
        });
    }
    Ok(backends)
}

impl LiveListener {
    /// Whether a PROXY header from there is to be believed.
    pub(crate) fn believes(&self, balancer: IpAddr) -> bool {
        let from = &self.proxy_protocol_from;
        from.is_empty() || from.iter().any(|network| network.contains(balancer))
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::net::{SocketAddr, TcpListener};
    use std::time::Instant;

    use super::*;

    /// Files that a configuration with a store names, in this folder.
    fn write_files(folder: &crate::testing::Folder) {
        let secret = folder.path().join("secret");
        std::fs::write(&secret, [b'x'; 32]).unwrap();
        let only_ours = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(&secret, only_ours).unwrap();
        let key = rcgen::KeyPair::generate().unwrap();
        let leaf = rcgen::CertificateParams::new(["a.example".to_owned()]).unwrap();
        std::fs::write(folder.path().join("a.crt"), leaf.self_signed(&key).unwrap().pem()).unwrap();
        std::fs::write(folder.path().join("a.key"), key.serialize_pem()).unwrap();
    }

    fn config(folder: &crate::testing::Folder, guard: &str, store: SocketAddr) -> Config {
        let folder = folder.path().display();
        let text = format!(
            "[resumption]\nguard = \"{guard}\"\n[resumption.store]\nurl = \"redis://{store}\"\n\
             secret = \"{folder}/secret\"\n[[listener]]\naddress = \"127.0.0.1:0\"\nto = \"127.0.0.1:1\"\n\
             certificates = \"{folder}\"\nearly_data = 1\n",
        );
        Config::parse("f.toml", &text).unwrap()
    }

    /// What a listener says for its only route, in a configuration of its own.
    fn context(terms: &str) -> Vec<u8> {
        let text = format!("[[listener]]\naddress = \"127.0.0.1:0\"\n{terms}");
        let config = Config::parse("f.toml", &text).unwrap();
        let [listener] = config.listeners.as_slice() else { panic!("{terms}") };
        let [route] = listener.routes.as_slice() else { panic!("{terms}") };
        session_context(route)
    }

    #[test]
    fn routes_that_differ_in_certificates_or_backends_have_contexts_of_their_own() {
        let route = |names: &str| {
            let terms = "certificates = '/a'\nto = '127.0.0.1:1'";
            format!("session_context = 'x'\n[[listener.route]]\nnames = {names}\n{terms}")
        };
        let different = [
            "certificates = '/a'\nto = '127.0.0.1:1'",
            "certificates = '/b'\nto = '127.0.0.1:1'",
            "certificate = '/a'\nkey = '/a'\nto = '127.0.0.1:1'",
            "certificate = '/a'\nkey = '/b'\nto = '127.0.0.1:1'",
            "certificate = '/a/'\nkey = 'b'\nto = '127.0.0.1:1'",
            "certificates = '/a'\nto = '127.0.0.1:11'",
            "certificates = '/a'\nto = ['127.0.0.1:1', '127.0.0.1:11']",
            "certificates = '/a'\nto = 'a.example:1'",
            "certificates = '/a'\nto = 'unix:/a'",
            "certificates = '/a'\nto = '127.0.0.1:1'\nsession_context = 'x'",
            "certificates = '/a'\nto = '127.0.0.1:1'\nsession_context = 'xy'",
            &route("'y'"),
            &route("['y', 'z']"),
            &route("'yz'"),
        ];
        let contexts: std::collections::BTreeSet<_> = different.into_iter().map(context).collect();
        assert_eq!(contexts.len(), different.len());
    }

    #[test]
    fn the_order_of_backends_and_names_is_not_in_the_context() {
        let terms = "certificates = '/a'\nto = ['127.0.0.1:1', '127.0.0.1:2']";
        let turned = "certificates = '/a'\nto = ['127.0.0.1:2', '127.0.0.1:1']\nalpn = ['h2']";
        assert_eq!(context(terms), context(turned));
        let named = |names: &str, terms: &str| {
            let route = format!("[[listener.route]]\nnames = {names}\n{terms}");
            [context(&route), context(&format!("session_context = 'x'\n{route}"))]
        };
        assert_eq!(named("['y', 'z']", terms), named("['Z', 'y']", turned));
        assert_eq!(named("'y'", terms)[0], context(terms));
    }

    /// Another node would have to agree with the clock settings of a configuration that was refused in the end.
    #[test]
    fn what_is_not_served_asks_nothing_of_its_store() {
        let folder = crate::testing::Folder::new();
        write_files(&folder);
        let store = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        store.set_nonblocking(true).unwrap();
        let is_asked = |within: Duration| {
            let began = Instant::now();
            while began.elapsed() < within {
                match store.accept() {
                    Ok(_) => return true,
                    Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
                }
                std::thread::sleep(Duration::from_millis(5));
            }
            false
        };
        let config = config(&folder, "shared", store.local_addr().unwrap());
        let first = Live::new(&config, None).unwrap();
        assert!(!is_asked(Duration::from_millis(500)), "before anything is served by it");
        first.begin();
        assert!(is_asked(Duration::from_secs(10)));
        // The one before goes on.
        let second = Live::new(&config, Some(&first)).unwrap();
        second.begin();
        assert!(second.fleet().unwrap().is_same(first.fleet().unwrap()));
    }

    /// A guard that has looked away has seen nothing of what another has admitted.
    #[test]
    fn a_guard_that_takes_over_from_the_store_is_a_new_one() {
        let folder = crate::testing::Folder::new();
        write_files(&folder);
        let config = |guard: &str| config(&folder, guard, ([127, 0, 0, 1], 1).into());
        let own = Live::new(&config("own"), None).unwrap();
        let still = Live::new(&config("own"), Some(&own)).unwrap();
        assert!(Arc::ptr_eq(&own.keys.guard, &still.keys.guard));
        let shared = Live::new(&config("shared"), Some(&still)).unwrap();
        let narrower = config("own\"\nfreshness_window = 5\nfleet = \"default");
        let narrower = Live::new(&narrower, Some(&still)).unwrap();
        assert!(!Arc::ptr_eq(&own.keys.guard, &narrower.keys.guard));
        let again = Live::new(&config("own"), Some(&shared)).unwrap();
        assert!(!Arc::ptr_eq(&own.keys.guard, &again.keys.guard));
    }
}

//! The active configuration: a [`Config`] with all files and names in it loaded.
//!
//! At the start and at each reload, certificates and certificate authorities are read and names of
//! backends are resolved before any part of the configuration is used. So a reload succeeds or
//! fails as a whole. State that outlives a reload (ticket keys, the replay guard, certificates of
//! an unchanged source) is taken over from the previous configuration.

mod client_authorities;
mod own_address;
pub(crate) mod replay_guard;
mod resumption;
pub(crate) mod server_names;
mod session_context;
mod shared_backends;

use std::mem;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use tercel::ech::Keys;
use tercel::pki::Roots;
use tercel::pki_types::UnixTime;
use tercel::wire::ProtocolVersion;
use tercel::{Policy, ServerConfig, server::ServerConfigBuilder, session::TicketSealer};
use tercel_fleet::Fleet;
use tercel_tokio::{Acceptor, Answers};

use crate::backend::endpoint::Endpoint;
use crate::certificates::{self, Certificates, Files};
use crate::config::{
    BackendAddress, CertificateSource, Config, ConfigError, Connect, Ech, EchFolder, Limits,
    Listener, Network, OnTruncation, Route, Timeouts,
};
use crate::ech_keys::{EchKeys, Problem};
use resumption::ResumptionState;
use server_names::{HelloSelector, RouteKind, RouteSelector, ServerNames};
use session_context::session_context;

/// The configuration that the workers use.
pub(crate) struct ActiveConfig {
    pub(crate) limits: Limits,
    pub(crate) timeouts: Timeouts,
    pub(crate) listeners: Vec<ActiveListener>,
    pub(crate) certificates: Vec<(CertificateSource, Arc<Certificates>)>,
    /// Whether only approved cryptography of AWS-LC's FIPS module is used.
    fips: bool,
    /// The keys for Encrypted ClientHello, from files. Those of the fleet are in the fleet.
    ech: Option<Arc<EchKeys>>,
    /// For each listener, its names and the certificates of its routes.
    shown: Vec<Shown>,
    /// Problems that do not prevent service.
    warnings: Vec<ConfigError>,
    /// What the files of clients' authorities contain.
    contents: Vec<String>,
    resumption: ResumptionState,
    /// `Some` if this configuration uses another replay guard than the previous configuration.
    /// Connections that were accepted earlier use the previous guard; their handshakes end at most
    /// this long after activation.
    previous_guard_admits_for: Option<Duration>,
}

/// The names of a listener's routes, and the certificates of those that terminate TLS.
type Shown = (Arc<ServerNames>, Vec<Option<Arc<Certificates>>>);

/// A listener with its TLS configuration and routes.
pub(crate) struct ActiveListener {
    pub(crate) acceptor: Acceptor,
    /// Reads the ClientHello before the handshake. `None` if all routes terminate TLS.
    pub(crate) hello_selector: Option<HelloSelector>,
    pub(crate) names: Arc<ServerNames>,
    pub(crate) routes: Vec<ActiveRoute>,
    pub(crate) connections: Option<u32>,
    pub(crate) accept_proxy_protocol: bool,
    pub(crate) proxy_protocol_from: Vec<Network>,
    /// Whether any route forwards early data at once.
    pub(crate) early_data_at_once: bool,
}

/// A route with its resolved backends.
pub(crate) struct ActiveRoute {
    pub(crate) backends: Vec<Endpoint>,
    pub(crate) connect: Connect,
    pub(crate) on_truncation: OnTruncation,
    pub(crate) send_proxy_protocol: bool,
    /// Whether early data is forwarded before the handshake is complete.
    pub(crate) early_data_at_once: bool,
}

impl ActiveConfig {
    /// Loads all files and names in `config`. The error is the first failure.
    pub(crate) fn new(config: &Config, previous: Option<&Self>) -> Result<Self, ConfigError> {
        Self::load(config, previous).map_err(|error| config.text.with_line(error))
    }

    fn load(config: &Config, previous: Option<&Self>) -> Result<Self, ConfigError> {
        let resumption =
            ResumptionState::new(config, previous.map(|previous| &previous.resumption))?;
        // Without keys, clients would be requested to connect again without Encrypted ClientHello.
        let keys_before = previous.and_then(Self::ech_keys);
        if let (Some(fleet), Some(before)) = (&resumption.fleet, keys_before) {
            fleet.keep_ech_keys(&before);
        }
        let previous_guard_admits_for = previous
            .filter(|_| resumption.guard_changed)
            .map(|previous| previous.timeouts.handshake);
        let mut active = Self {
            limits: config.limits.clone(),
            timeouts: config.timeouts.clone(),
            listeners: Vec::new(),
            certificates: Vec::new(),
            fips: config.fips,
            ech: load_ech_keys(config, previous)?,
            shown: Vec::new(),
            warnings: config.warnings(),
            contents: Vec::new(),
            resumption,
            previous_guard_admits_for,
        };
        let addresses: Vec<_> = config.listeners.iter().map(|each| each.address).collect();
        for settings in &config.listeners {
            let listener = active.listener(settings, previous)?;
            own_address::refuse_loops(settings, &listener, &addresses)?;
            active.listeners.push(listener);
        }
        active.check_ech_names(config)?;
        active.warnings.extend(shared_backends::warnings(&config.listeners, &active.listeners));
        Ok(active)
    }

    /// Clients whose key is out of date need a certificate for its public name.
    fn check_ech_names(&self, config: &Config) -> Result<(), ConfigError> {
        let accepts = |name: &str| shows_certificate(&self.shown, name);
        match (&config.ech, &self.ech, self.fleet()) {
            (Some(Ech::Folder(settings)), Some(ech), _) => {
                ech.check_public_names(accepts).map_err(|problem| ech_error(settings, &problem))
            }
            (Some(Ech::Shared(shared)), _, Some(fleet)) => fleet
                .check_ech_keys(accepts)
                .map_err(|error| shared.location.error("keys", error.to_string())),
            _ => Ok(()),
        }
    }

    /// Whether clients that request this name get a certificate for it.
    pub(crate) fn shows_certificate(&self, name: &str) -> bool {
        shows_certificate(&self.shown, name)
    }

    /// Activates this configuration: state that was taken over from the previous configuration now
    /// uses the settings of this one, and the fleet connects to its store. Until then nothing is
    /// written to the store, so that the settings of a configuration that is rejected never affect
    /// other nodes.
    pub(crate) fn activate(&self) {
        if let (Some(fleet), Some(secrets)) = (&self.resumption.fleet, &self.resumption.secrets) {
            fleet.use_secrets(secrets.clone());
        }
        if let (Some(fleet), Some(tls)) = (&self.resumption.fleet, &self.resumption.store_tls) {
            fleet.use_store_tls(tls.clone());
        }
        let shown = self.shown.clone();
        let accepts = move |name: &str| shows_certificate(&shown, name);
        if let Some(ech) = &self.ech {
            ech.set_listeners(accepts);
        } else if let Some(fleet) = &self.resumption.fleet {
            fleet.accept_ech_keys(accepts);
        }
        if let Some(fleet) = &self.resumption.fleet {
            fleet.begin();
        }
        // This is not done in `new`, because the previous guard was still in use during loading.
        if let Some(overlap) = self.previous_guard_admits_for {
            self.resumption.refuse_while_previous_guard_admits(overlap);
        }
    }

    /// Problems that do not prevent service.
    pub(crate) fn warnings(&self) -> &[ConfigError] {
        &self.warnings
    }

    /// What each file of certificates and keys contains, and what of it is skipped.
    pub(crate) fn contents(&self) -> Vec<String> {
        let certificates = self.certificates.iter().flat_map(|(_, loaded)| loaded.contents());
        certificates.chain(self.contents.iter().cloned()).collect()
    }

    /// The state shared with other processes.
    pub(crate) fn fleet(&self) -> Option<&Fleet> {
        self.resumption.fleet.as_ref()
    }

    /// The files of keys for Encrypted ClientHello.
    pub(crate) fn ech_files(&self) -> Option<&Arc<EchKeys>> {
        self.ech.as_ref()
    }

    /// The keys for Encrypted ClientHello, from files or of the fleet.
    pub(crate) fn ech_keys(&self) -> Option<Arc<Keys>> {
        match &self.ech {
            Some(files) => Some(files.keys()),
            None => self.fleet()?.ech_keys(),
        }
    }

    /// Returns a function that returns the time at which the current ticket key began to encrypt
    /// tickets.
    pub(crate) fn ticket_key_since(&self) -> impl Fn() -> Option<UnixTime> + Send + Sync + use<> {
        let (own, fleet) = (self.resumption.tickets.clone(), self.resumption.fleet.clone());
        move || match &own {
            Some(own) => Some(own.seals_since()),
            None => fleet.as_ref()?.ticket_key_since(),
        }
    }

    fn listener(
        &mut self,
        listener: &Listener,
        previous: Option<&Self>,
    ) -> Result<ActiveListener, ConfigError> {
        let mut names = ServerNames::default();
        let (mut routes, mut kinds, mut shown) = (Vec::new(), Vec::new(), Vec::new());
        for (number, route) in listener.routes.iter().enumerate() {
            route.names.iter().for_each(|name| names.add(name, number));
            if route.names.is_empty() {
                names.set_default(number);
            }
            let certificates = match &route.certificates {
                Some(source) => Some(self.certificates(route, source, previous)?),
                None => None,
            };
            let authorities =
                client_authorities::load(route, &mut self.warnings, &mut self.contents)?;
            kinds.push(match &certificates {
                Some(certificates) => {
                    let config = self.server_config(listener, route, certificates, authorities)?;
                    if config.omits_authorities() {
                        self.warnings.extend(client_authorities::too_many(route));
                    }
                    RouteKind::Terminate(config)
                }
                None if route.ech_front => RouteKind::EchFront,
                None => RouteKind::Passthrough,
            });
            shown.push(certificates);
            routes.push(ActiveRoute {
                backends: resolve_backends(route)?,
                connect: route.connect,
                on_truncation: route.on_truncation,
                send_proxy_protocol: route.send_proxy_protocol,
                early_data_at_once: route.early_data_at_once,
            });
        }
        let names = Arc::new(names);
        self.shown.push((Arc::clone(&names), shown));
        let (config, hello_selector) = self.listener_config(listener, &names, kinds)?;
        Ok(ActiveListener {
            acceptor: Acceptor::new(config)
                .time_limit(Some(self.timeouts.handshake))
                .answers(self.answers()),
            hello_selector,
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
        match &self.resumption.fleet {
            Some(fleet) => fleet.answers(answers),
            None => answers,
        }
    }

    fn server_config(
        &self,
        listener: &Listener,
        route: &Route,
        certificates: &Certificates,
        authorities: Option<Roots>,
    ) -> Result<Arc<ServerConfig>, ConfigError> {
        let mut builder = self
            .builder(listener)
            .replaceable_credentials(certificates.credentials())
            .alpn(&route.alpn)
            .session_context(&session_context(route));
        if route.min_version == ProtocolVersion::TLS1_3 {
            builder = builder.versions(&[ProtocolVersion::TLS1_3]);
        }
        if let Some(authorities) = authorities {
            builder = builder.client_auth(route.client_auth, authorities);
        }
        builder = match &self.resumption.tickets {
            Some(tickets) => builder.tickets(Arc::clone(tickets) as Arc<dyn TicketSealer>),
            None => builder.without_tickets(),
        };
        builder = match &self.resumption.session_ids {
            Some(store) => builder.session_ids(Policy::Here(Arc::clone(store) as _)),
            None => builder.without_session_ids(),
        };
        if let Some(fleet) = &self.resumption.fleet {
            builder = fleet.apply(builder);
        }
        // `apply` has set the fleet's maximum size of early data. The route's size replaces it.
        let shared = self.resumption.fleet.is_some() && self.resumption.settings.shared_guard;
        let guard = Arc::clone(&self.resumption.replay_guard);
        let guard = if shared { Policy::Ask } else { Policy::Here(guard as Arc<_>) };
        builder = builder
            .early_data(route.early_data, guard)
            .freshness_window(self.resumption.settings.freshness_window);
        builder.build().map_err(|error| route.location.table_error(error.to_string()))
    }

    /// The configuration of a listener with these routes.
    fn listener_config(
        &self,
        listener: &Listener,
        names: &Arc<ServerNames>,
        routes: Vec<RouteKind>,
    ) -> Result<(Arc<ServerConfig>, Option<HelloSelector>), ConfigError> {
        let with_policy = |policy| {
            let builder = self.builder(listener);
            let config = builder.choose_config(policy).without_tickets().build();
            config.map_err(|error| listener.location.table_error(error.to_string()))
        };
        let names = Arc::clone(names);
        let configs = routes.iter().map(|route| match route {
            RouteKind::Terminate(config) => Some(Arc::clone(config)),
            RouteKind::Passthrough | RouteKind::EchFront => None,
        });
        let Some(configs) = configs.collect::<Option<Vec<_>>>() else {
            let config = with_policy(Policy::Ask)?;
            let selector = HelloSelector { config: Arc::clone(&config), names, routes };
            return Ok((config, Some(selector)));
        };
        match configs.as_slice() {
            // With only a default route there is nothing to select by name.
            [only] if names.find(None).is_some() => Ok((Arc::clone(only), None)),
            _ => {
                let selector = RouteSelector { names, configs };
                Ok((with_policy(Policy::Here(Arc::new(selector)))?, None))
            }
        }
    }

    /// A builder with the settings of all configurations.
    fn builder(&self, listener: &Listener) -> ServerConfigBuilder {
        let builder = ServerConfig::builder().fips(self.fips).ech_backend(listener.ech_backend);
        match self.ech_keys() {
            Some(keys) => builder.ech(keys),
            None => builder,
        }
    }

    /// The certificates of this route's source. They are taken from another route or from the
    /// previous configuration if one has the same source, and loaded otherwise.
    fn certificates(
        &mut self,
        route: &Route,
        source: &CertificateSource,
        previous: Option<&Self>,
    ) -> Result<Arc<Certificates>, ConfigError> {
        let known = self.certificates.iter().chain(previous.iter().flat_map(|b| &b.certificates));
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
        let (certificates, mut changes) =
            loaded.map_err(|problem| route.location.error(key, problem.to_string()))?;
        // Problems other than a validity period are errors. These certificates are served.
        let out_of_date = mem::take(&mut changes.problems);
        self.warnings.extend(out_of_date.iter().map(|problem| {
            route.location.error(key, format!("{problem}; the certificate is served nevertheless"))
        }));
        changes.log();
        let certificates = Arc::new(certificates);
        self.certificates.push((source.clone(), Arc::clone(&certificates)));
        Ok(certificates)
    }
}

/// The keys of these settings, which are taken from the previous configuration if it has the same.
fn load_ech_keys(
    config: &Config,
    previous: Option<&ActiveConfig>,
) -> Result<Option<Arc<EchKeys>>, ConfigError> {
    let Some(Ech::Folder(settings)) = &config.ech else { return Ok(None) };
    let known = previous.and_then(|previous| previous.ech.as_ref());
    if let Some(known) = known.filter(|known| known.settings() == settings) {
        return Ok(Some(Arc::clone(known)));
    }
    let loaded = EchKeys::load(settings).map_err(|problem| ech_error(settings, &problem))?;
    Ok(Some(Arc::new(loaded)))
}

fn ech_error(settings: &EchFolder, problem: &Problem) -> ConfigError {
    settings.location.error("directory", problem.to_string())
}

/// Whether a client that requests this name gets a certificate for it from one of the listeners.
fn shows_certificate(shown: &[Shown], name: &str) -> bool {
    shown.iter().any(|(names, certificates)| {
        let of_route = names.find(Some(name)).and_then(|route| certificates.get(route));
        of_route.and_then(Option::as_ref).is_some_and(|certificates| certificates.covers(name))
    })
}

fn resolve_backends(route: &Route) -> Result<Vec<Endpoint>, ConfigError> {
    let mut backends = Vec::with_capacity(route.to.len());
    for address in &route.to {
        backends.push(match address {
            BackendAddress::Ip(address) => Endpoint::Tcp(vec![*address]),
            BackendAddress::Unix(path) => Endpoint::Unix(path.clone()),
            BackendAddress::Name(name, port) => {
                let error_for =
                    |reason: String| route.location.error("to", format!("{address}: {reason}"));
                let found = (name.as_str(), *port).to_socket_addrs();
                let found: Vec<_> = found.map_err(|error| error_for(error.to_string()))?.collect();
                if found.is_empty() {
                    return Err(error_for("resolves to no address".to_owned()));
                }
                Endpoint::Tcp(found)
            }
        });
    }
    Ok(backends)
}

impl ActiveListener {
    /// Whether a PROXY header from this address is accepted.
    pub(crate) fn trusts_proxy_header_from(&self, balancer: IpAddr) -> bool {
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

    /// Writes the files that a configuration with a store names.
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
             secret = \"{folder}/secret\"\n[[listener]]\n\
             address = \"127.0.0.1:0\"\nto = \"127.0.0.1:1\"\n\
             certificates = \"{folder}\"\nearly_data = 1\n",
        );
        Config::parse("f.toml", &text).unwrap()
    }

    /// If a rejected configuration contacted its store, other nodes would have to match its clock
    /// settings.
    #[test]
    fn inactive_configuration_does_not_contact_its_store() {
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
        let first = ActiveConfig::new(&config, None).unwrap();
        assert!(!is_asked(Duration::from_millis(500)), "before the configuration is active");
        first.activate();
        assert!(is_asked(Duration::from_secs(60)));
        // The previous fleet is kept.
        let second = ActiveConfig::new(&config, Some(&first)).unwrap();
        second.activate();
        assert!(second.fleet().unwrap().is_same(first.fleet().unwrap()));
    }

    /// A local guard that was not in use has no entries for the early data that the store's guard
    /// admitted meanwhile.
    #[test]
    fn local_guard_after_a_store_guard_starts_empty() {
        let folder = crate::testing::Folder::new();
        write_files(&folder);
        let config = |guard: &str| config(&folder, guard, ([127, 0, 0, 1], 1).into());
        let own = ActiveConfig::new(&config("own"), None).unwrap();
        let still = ActiveConfig::new(&config("own"), Some(&own)).unwrap();
        assert!(Arc::ptr_eq(&own.resumption.replay_guard, &still.resumption.replay_guard));
        let shared = ActiveConfig::new(&config("shared"), Some(&still)).unwrap();
        let narrower = config("own\"\nfreshness_window = 5\nfleet = \"default");
        let narrower = ActiveConfig::new(&narrower, Some(&still)).unwrap();
        assert!(!Arc::ptr_eq(&own.resumption.replay_guard, &narrower.resumption.replay_guard));
        let again = ActiveConfig::new(&config("own"), Some(&shared)).unwrap();
        assert!(!Arc::ptr_eq(&own.resumption.replay_guard, &again.resumption.replay_guard));
    }
}

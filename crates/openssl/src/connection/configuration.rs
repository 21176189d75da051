//! Tercel's configurations, made from the settings of a connection.

use core::ffi::c_int;
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;
use core::time::Duration;
use std::sync::{Arc, OnceLock, PoisonError};

use tercel::certificates::{CredentialRequest, SelectCredential};
use tercel::server::{ClientAuth, ServerConfigBuilder};
use tercel::wire::ProtocolVersion;
use tercel::{ClientConfig, Credential, Padding, Policy, ServerConfig};
use zeroize::Zeroizing;

use super::Ssl;
use super::hello::Hello;
use super::security::Permitted;
use super::state::Side;
use super::tap::{NoStore, TapKeyLog};
use crate::ciphers::suite;
use crate::entry;
use crate::errors::{self, reasons};
use crate::method::{TLS1_2, TLS1_3};
use crate::objects::name::Name;
use crate::session::Session;
use crate::settings::callbacks::Callbacks;
use crate::settings::options::{self as o, VERIFY_PEER};
use crate::settings::remembered::Inputs;
use crate::settings::{ForProtocol, Kind, Settings};

/// The context of all sessions of clients: a program decides itself with which server it offers a
/// session, as with OpenSSL.
const CLIENT_CONTEXT: &[u8] = b"libssl";

/// The most configurations of a server that are remembered for one set of settings.
const MOST_CONFIGURATIONS: usize = 16;

impl Settings {
    /// The enabled versions, highest first.
    pub(crate) fn versions(&self) -> Vec<ProtocolVersion> {
        self.versions_with(!self.suites13.is_empty(), !self.suites12.is_empty())
    }

    pub(crate) fn highest_version(&self) -> Option<c_int> {
        self.versions().first().map(|version| c_int::from(version.0))
    }

    /// The enabled versions if TLS 1.3 or TLS 1.2 have suites.
    pub(crate) fn versions_with(&self, suites13: bool, suites12: bool) -> Vec<ProtocolVersion> {
        if self.method.is_datagram {
            return Vec::new();
        }
        let table = [
            (TLS1_3, o::NO_TLS1_3, ProtocolVersion::TLS1_3, suites13),
            (TLS1_2, o::NO_TLS1_2, ProtocolVersion::TLS1_2, suites12),
        ];
        let bound = |limit: c_int| (limit != 0).then_some(limit);
        let (least, most) = match self.method.version {
            0 => (self.min_version, self.max_version),
            only => (only, only),
        };
        let enabled = table.iter().filter(|(number, option, _, has_suites)| {
            bound(least).is_none_or(|least| *number >= least)
                && bound(most).is_none_or(|most| *number <= most)
                && !self.has(*option)
                && *has_suites
        });
        enabled.map(|row| row.2).collect()
    }
}

/// Applies the options that both builders have.
macro_rules! common_options {
    ($builder:expr, $settings:expr, $permitted:expr, $log:expr) => {{
        let (settings, permitted, mut builder) = ($settings, $permitted, $builder);
        builder = builder.versions(&permitted.versions).cipher_suites(&permitted.suites);
        if let Some(groups) = &permitted.groups {
            builder = builder.groups(groups);
        }
        // libcrypto decides by the security level, and without verification each key is better
        // than the clear text to which mail servers return.
        builder = builder.signature_schemes(&permitted.schemes).legacy_peer_keys(true);
        if let Ok(fragment) = u16::try_from(settings.max_fragment) {
            builder = builder.max_fragment(fragment);
        }
        if settings.padding_block != 0 {
            builder = builder.padding(Padding::Block(settings.padding_block));
        }
        if $log {
            builder = builder.key_log(Arc::new(TapKeyLog));
        }
        builder
    }};
}

impl Ssl {
    /// What this side may use, with at least one version. `None`: an error is in the queue.
    fn enabled(&self, settings: &Settings, side: Side) -> Option<Permitted> {
        if settings.pads_by_callback {
            errors::push_unsupported("callbacks for the padding of records are not supported");
            return None;
        }
        let permitted = self.permitted(settings, side);
        if permitted.versions.is_empty() {
            let reason = if settings.method.is_datagram {
                errors::push_unsupported("DTLS is not supported");
                return None;
            } else if !permitted.suites.is_empty() {
                reasons::NO_PROTOCOLS_AVAILABLE
            } else {
                reasons::NO_CIPHERS_AVAILABLE
            };
            errors::push_with(reason, "only TLS 1.2 and 1.3 with AEAD suites are supported");
            return None;
        }
        Some(permitted)
    }

    /// Whether the client offered TLS 1.3.
    fn offers_tls13(&self) -> bool {
        self.hello.borrow().as_ref().is_some_and(|hello| hello.offers_tls13)
    }

    /// Whether a server requests the certificate after the handshake, as TLS 1.3 permits.
    fn requests_late(&self, settings: &Settings) -> bool {
        settings.verify_mode & o::VERIFY_POST_HANDSHAKE != 0 && self.offers_tls13()
    }

    /// Whether a server that has its own preferences follows a client that prefers ChaCha20.
    fn prefers_chacha(&self, settings: &Settings) -> bool {
        const BOTH: u64 = o::PRIORITIZE_CHACHA | o::CIPHER_SERVER_PREFERENCE;
        settings.options & BOTH == BOTH
            && self.hello.borrow().as_ref().is_some_and(Hello::prefers_chacha)
    }

    fn requested_bits(&self, settings: &Settings) -> c_int {
        requested(settings.verify_mode, self.requests_late(settings))
    }

    /// Whether a callback of a server demanded more of the client's certificate than the
    /// configuration of the handshake, which was selected before: OpenSSL calls the callbacks for
    /// tickets, certificate statuses and key logs before it requests the certificate.
    pub(crate) fn demands_more(&self) -> bool {
        let Some(configured) = self.configured.get() else { return false };
        self.requested_bits(&self.settings()) & !configured != 0
    }

    fn logs_keys(&self) -> bool {
        self.context().settings().callbacks.key_log.is_some()
    }

    /// Whether the application has an external pre-shared key for this connection, or fails to say
    /// it. Its callbacks are called as OpenSSL calls them for a ClientHello: some applications set
    /// them for each connection, and rarely have a key. A key is not used.
    fn has_external_psk(&self, settings: &Settings) -> bool {
        let Callbacks { psk_client, psk_use_session, .. } = settings.callbacks;
        if let Some(function) = psk_use_session {
            let (mut identity, mut length, mut session) = (ptr::null(), 0, ptr::null_mut());
            let call = || {
                let (identity, session) = (&raw mut identity, &raw mut session);
                // SAFETY: the application set this function for these arguments. No cell is
                // borrowed.
                unsafe { function(self.address(), ptr::null(), identity, &raw mut length, session) }
            };
            let result = self.outside(call);
            // SAFETY: the application passes on its reference to the session, if there is one.
            let session = unsafe { entry::take::<Session>(session.cast()) };
            if result == 0 || session.is_some() {
                return true;
            }
        }
        let Some(function) = psk_client else { return false };
        // `PSK_MAX_IDENTITY_LEN` with a NUL, and `PSK_MAX_PSK_LEN`.
        let (mut identity, mut key) = ([0; 257], Zeroizing::new([0; 512]));
        let call = || {
            let (identity, key) = (identity.as_mut_ptr(), key.as_mut_ptr());
            // SAFETY: as above; both buffers have these lengths.
            unsafe { function(self.address(), ptr::null(), identity, 256, key, 512) }
        };
        self.outside(call) != 0
    }

    /// The configuration of a client. `None`: an error is in the queue.
    pub(crate) fn client_configuration(&self) -> Option<Arc<ClientConfig>> {
        let settings = self.settings();
        // Without the secret, nothing would authenticate the server.
        let verifies = settings.verify_mode & VERIFY_PEER != 0;
        if !verifies && (settings.shared_secrets.is_any() || self.has_external_psk(&settings)) {
            errors::push_unsupported(
                "external pre-shared keys and SRP are not supported, and certificates are not verified",
            );
            return None;
        }
        let (log, early) = (self.logs_keys(), self.early.writes.get());
        let [compiled, with_early] = &settings.compiled.clients;
        let slot = if early { with_early } else { compiled };
        let made = || {
            let permitted = self.enabled(&settings, Side::Client)?;
            let inputs =
                self.inputs(&settings, &permitted, &settings.protocols, [log, early, false]);
            let known = &self.session_context.configurations.clients;
            known.get_or_make(inputs, || client(&settings, &permitted, log, early))
        };
        if Self::asks_program(&settings) {
            return made();
        }
        if let Some(known) = slot.get() {
            return Some(Arc::clone(known));
        }
        // A failure is not remembered, so that each connection has the error in its queue.
        let config = made()?;
        Some(Arc::clone(slot.get_or_init(|| config)))
    }

    /// The configuration of a server that begins: it asks for another one after the ClientHello.
    /// `None`: an error is in the queue.
    pub(crate) fn first_server_configuration(&self) -> Option<Arc<ServerConfig>> {
        static FIRST: OnceLock<Option<Arc<ServerConfig>>> = OnceLock::new();
        let settings = self.settings();
        // At these levels each version that has a suite may be used.
        let is_simple = settings.security_level <= 2 && settings.suite_b().is_none();
        if !is_simple || Self::asks_program(&settings) || settings.versions().is_empty() {
            self.enabled(&settings, Side::Server)?;
        }
        let first = FIRST.get_or_init(|| {
            ServerConfig::builder().choose_config(Policy::Ask).without_tickets().build().ok()
        });
        if first.is_none() {
            errors::push_internal();
        }
        first.clone()
    }

    /// The configuration of a server that selected this protocol. `None`: an error is in the queue.
    pub(crate) fn server_configuration(
        &self,
        protocol: Option<&[u8]>,
    ) -> Option<Arc<ServerConfig>> {
        let settings = self.settings();
        self.resumption.refuses_tickets.set(!self.permits_tickets(&settings));
        self.configured.set(Some(self.requested_bits(&settings)));
        let cache = || settings.compiled.servers.lock().unwrap_or_else(PoisonError::into_inner);
        // A certificate status belongs to one connection: its certificate is selected later.
        let staples = self.may_staple();
        let kind = Kind {
            staples,
            late: self.requests_late(&settings),
            prefers_chacha: self.prefers_chacha(&settings),
        };
        let fits = |known: &&ForProtocol| {
            known.0.as_deref() == protocol && known.1 == kind && !Self::asks_program(&settings)
        };
        if let Some((_, _, config)) = cache().iter().find(fits) {
            return Some(Arc::clone(config));
        }
        let protocols: Vec<_> = protocol.map(<[u8]>::to_vec).into_iter().collect();
        let mut permitted = self.enabled(&settings, Side::Server)?;
        let has_tls13 = permitted.versions.contains(&ProtocolVersion::TLS1_3);
        let made = Kind { late: kind.late && has_tls13, ..kind };
        if made.late {
            // No other version may be negotiated without the request.
            permitted.versions.retain(|version| *version == ProtocolVersion::TLS1_3);
        }
        if made.prefers_chacha {
            permitted.suites.sort_by_key(|code| !suite::has_chacha(*code));
        }
        let flags = [self.logs_keys(), staples, made.late];
        let mut inputs = self.inputs(&settings, &permitted, &protocols, flags);
        let own = self.own_credentials(&settings);
        inputs.credentials = own.into_iter().map(|(_, credential)| credential).collect();
        let credentials = inputs.credentials.clone();
        let make = || self.make_server(&settings, &permitted, (protocol, made), credentials);
        let config = self.session_context.configurations.servers.get_or_make(inputs, make)?;
        if Self::asks_program(&settings) {
            return Some(config);
        }
        let mut cache = cache();
        if cache.len() >= MOST_CONFIGURATIONS {
            cache.remove(0);
        }
        cache.push((protocol.map(<[u8]>::to_vec), kind, Arc::clone(&config)));
        Some(config)
    }

    /// What a configuration is made from, except for credentials. Each field of the settings that
    /// [`client`] and [`Self::make_server`] use is here.
    fn inputs(
        &self,
        settings: &Settings,
        permitted: &Permitted,
        protocols: &[Vec<u8>],
        flags: [bool; 3],
    ) -> Inputs {
        const OPTIONS: u64 = o::NO_TICKET
            | o::DISABLE_CA_NAMES
            | o::NO_ANTI_REPLAY
            | o::CIPHER_SERVER_PREFERENCE
            | o::LEGACY_SERVER_CONNECT
            | o::UNSAFE_LEGACY_RENEGOTIATION
            | o::ENABLE_MIDDLEBOX_COMPAT;
        let context = &self.session_context;
        let number = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        let [log, second, late] = flags;
        Inputs {
            versions: permitted.versions.clone(),
            suites: permitted.suites.clone(),
            groups: permitted.groups.clone(),
            schemes: permitted.schemes.clone(),
            protocols: protocols.to_vec(),
            session_context: settings.session_context.clone(),
            options: settings.options & OPTIONS,
            mode: settings.mode & o::MODE_SEND_FALLBACK_SCSV,
            cache_mode: context.cache_mode.load(Relaxed),
            numbers: [
                number(settings.max_fragment),
                settings.padding_block.into(),
                settings.verify_mode.into(),
                settings.session_timeout,
                number(settings.tickets),
                settings.max_early_data.into(),
                settings.status_type.into(),
            ],
            flags: [log, second, settings.post_handshake_auth, late, permitted.tickets],
            credentials: Vec::new(),
            authorities: Arc::clone(&settings.client_authorities),
        }
    }

    fn make_server(
        &self,
        settings: &Settings,
        permitted: &Permitted,
        (protocol, kind): (Option<&[u8]>, Kind),
        credentials: Vec<Arc<Credential>>,
    ) -> Option<Arc<ServerConfig>> {
        let credentials: Policy<dyn SelectCredential> =
            if kind.staples { Policy::Ask } else { Policy::Here(Arc::new(First(credentials))) };
        let mut builder =
            common_options!(ServerConfig::builder(), settings, permitted, self.logs_keys())
                .credentials(credentials)
                .prefer_client_order(!settings.has(o::CIPHER_SERVER_PREFERENCE))
                .session_context(&session_context(&settings.session_context));
        // Also without a request in the handshake, because an application may request it later.
        let demand = match requested(settings.verify_mode, kind.late) {
            0 => ClientAuth::None,
            mode if mode & o::VERIFY_FAIL_IF_NO_PEER_CERT != 0 => ClientAuth::Required,
            // The mode is read again if the client declines.
            _ => ClientAuth::Ask,
        };
        let mut names: Vec<_> =
            settings.client_authorities.iter().filter_map(Name::to_der).collect();
        // A request without a list serves all clients, a part of the list only some of them.
        if settings.has(o::DISABLE_CA_NAMES)
            || names.iter().map(|name| name.len() + 2).sum::<usize>()
                > ServerConfig::MAX_AUTHORITIES_LENGTH
        {
            names.clear();
        }
        builder = builder.client_verifier(demand, Policy::Ask).client_authorities(names);
        if let Some(protocol) = protocol {
            builder = builder.alpn(&[protocol]);
        }
        let lifetime = Duration::from_secs(settings.session_timeout.max(1).unsigned_abs());
        builder = builder.session_lifetime(lifetime);
        if settings.max_early_data > 0 {
            // The cache and the program's callback belong to all configurations of a context.
            builder = builder.early_data(settings.max_early_data, Policy::Ask);
            builder = builder.replay_guard_id(*b"libssl's program");
        }
        let count = u8::try_from(settings.tickets).unwrap_or(u8::MAX);
        builder = builder.ticket_counts(count, count.min(1));
        built(self.with_sessions(builder, settings, lifetime).build())
    }

    /// Sets how sessions are asked for: by tickets, or by IDs in the cache.
    fn with_sessions(
        &self,
        builder: ServerConfigBuilder,
        settings: &Settings,
        lifetime: Duration,
    ) -> ServerConfigBuilder {
        let context = &self.session_context;
        let stores = context.cache_mode.load(Relaxed) & crate::context::SESS_CACHE_SERVER != 0;
        // A session that allows early data is resumed once, which only the cache ensures.
        let single_use = settings.max_early_data > 0 && !settings.has(o::NO_ANTI_REPLAY);
        if settings.has(o::NO_TICKET) || single_use {
            return match stores {
                true => builder.session_store(Policy::Ask),
                false => builder.without_tickets().without_session_ids(),
            };
        }
        let builder = builder.ask_for_tickets(lifetime);
        if stores { builder.session_ids(Policy::Ask) } else { builder.without_session_ids() }
    }
}

/// The bits of a mode of verification by which a server requests a certificate in the handshake.
/// `late`: the certificate is requested after the handshake.
fn requested(mode: c_int, late: bool) -> c_int {
    const BITS: c_int = VERIFY_PEER | o::VERIFY_FAIL_IF_NO_PEER_CERT;
    if late || mode & VERIFY_PEER == 0 { 0 } else { mode & BITS }
}

/// The context of a server's sessions, which is never empty: an empty one would make sessions of
/// this configuration only.
fn session_context(program: &[u8]) -> Vec<u8> {
    [CLIENT_CONTEXT, program].concat()
}

fn client(
    settings: &Settings,
    permitted: &Permitted,
    log: bool,
    early: bool,
) -> Option<Arc<ClientConfig>> {
    let mut builder = common_options!(ClientConfig::builder(), settings, permitted, log)
        .verifier(Policy::Ask)
        .session_store(Arc::new(NoStore))
        .ask_for_session(true)
        .return_new_sessions(true)
        .tickets_tls12(permitted.tickets && !settings.has(o::NO_TICKET))
        .resume_after_certificate(true)
        .early_data(early)
        .session_context(CLIENT_CONTEXT)
        .request_ocsp(settings.status_type == 1)
        .require_secure_renegotiation(
            !settings.has(o::LEGACY_SERVER_CONNECT | o::UNSAFE_LEGACY_RENEGOTIATION),
        )
        .fallback_scsv(settings.mode & o::MODE_SEND_FALLBACK_SCSV != 0)
        .middlebox_compatibility(settings.has(o::ENABLE_MIDDLEBOX_COMPAT))
        .post_handshake_auth(settings.post_handshake_auth)
        // A certificate may be set until it is requested.
        .credentials(Policy::Ask);
    if !settings.protocols.is_empty() {
        builder = builder.alpn(&settings.protocols);
    }
    built(builder.build())
}

/// Returns a configuration, or adds the error of building it to the queue.
fn built<T>(result: Result<T, tercel::error::ConfigError>) -> Option<T> {
    match result {
        Ok(config) => Some(config),
        Err(error) => {
            errors::push_with(reasons::BAD_VALUE, &error.to_string());
            None
        }
    }
}

/// The credentials of a server: the first that fits the ClientHello is used, whatever names it has.
struct First(Vec<Arc<Credential>>);

impl SelectCredential for First {
    fn select_credential(&self, request: &CredentialRequest<'_>) -> Option<Arc<Credential>> {
        self.0.iter().find(|credential| request.scheme_for(credential).is_some()).cloned()
    }
}

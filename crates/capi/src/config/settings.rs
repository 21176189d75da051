//! The settings of a builder, and the core's configurations that are made of them.

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;

use tercel::certificates::Credentials;
use tercel::client::ClientConfigBuilder;
use tercel::clock::{Clock, SystemClock};
use tercel::error::ConfigError;
use tercel::key_log::KeyLog;
use tercel::pki_types::UnixTime;
use tercel::server::{ClientAuth, ServerConfigBuilder};
use tercel::session::{AdmitEarlyData, ReplayGuard, ReplayGuardId};
use tercel::wire::{CipherSuite, NamedGroup, ProtocolVersion, SignatureScheme};
use tercel::{ClientConfig, Padding, Policy, ServerConfig};

use super::Config;
use super::codes::*;
use crate::psk::{Psk, ServerKeys};
use crate::roots::Roots;
use crate::tickets::Tickets;

/// What was set so far.
pub struct Settings {
    pub(crate) side: Side,
    pub(super) options: BTreeMap<ConfigOption, u64>,
    pub(super) lists: BTreeMap<List, Vec<u16>>,
    pub(super) alpn: Vec<Vec<u8>>,
    pub(super) session_context: Vec<u8>,
    pub(super) replay_guard_id: Option<ReplayGuardId>,
    pub(super) roots: Option<Arc<Roots>>,
    pub(super) credentials: Vec<Arc<tercel::Credential>>,
    pub(super) tickets: Option<Arc<Tickets>>,
    pub(super) psks: Vec<Arc<Psk>>,
    pub(super) questions: Questions,
    pub(super) key_log: Option<Arc<dyn KeyLog>>,
    pub(super) clock: Option<Arc<dyn Clock>>,
    /// The reason why the configuration could not be built.
    pub(super) error: String,
}

/// An option that is on or off, and the method of a builder that sets it.
type Switch<B> = (ConfigOption, fn(B, bool) -> B);

/// The sides that have an option, and its largest value.
pub(super) fn option_range(option: ConfigOption, side: Side) -> Option<u64> {
    let most = match option {
        TERCEL_OPTION_MAX_FRAGMENT | TERCEL_OPTION_RECORD_SIZE_LIMIT | TERCEL_OPTION_PADDING => {
            u64::from(u16::MAX)
        }
        TERCEL_OPTION_EARLY_DATA if side == TERCEL_SERVER => u64::from(u32::MAX),
        TERCEL_OPTION_REQUIRE_EXTENDED_MAIN_SECRET..=TERCEL_OPTION_FIPS => 1,
        TERCEL_OPTION_SESSIONS if side == TERCEL_CLIENT => 2,
        TERCEL_OPTION_SEND_SERVER_NAME..=TERCEL_OPTION_POST_HANDSHAKE_AUTH
            if side == TERCEL_CLIENT =>
        {
            1
        }
        TERCEL_OPTION_CLIENT_AUTH if side == TERCEL_SERVER => 2,
        TERCEL_OPTION_TICKETS_AFTER_FULL | TERCEL_OPTION_TICKETS_AFTER_RESUMED
            if side == TERCEL_SERVER =>
        {
            10
        }
        TERCEL_OPTION_SESSION_LIFETIME
        | TERCEL_OPTION_FRESHNESS_WINDOW
        | TERCEL_OPTION_REPLAY_GUARD_CAPACITY
            if side == TERCEL_SERVER =>
        {
            u64::from(u32::MAX)
        }
        TERCEL_OPTION_REQUIRE_KNOWN_NAME..=TERCEL_OPTION_RESUMPTION_ACROSS_NAMES
            if side == TERCEL_SERVER =>
        {
            1
        }
        _ => return None,
    };
    Some(most)
}

/// The settings that both builders have. A macro, because their methods belong to no common trait.
macro_rules! common {
    ($builder:expr, $settings:expr) => {{
        let settings = $settings;
        let mut builder = $builder.alpn(&settings.alpn).session_context(&settings.session_context);
        if let Some(codes) = settings.codes(TERCEL_LIST_VERSIONS, ProtocolVersion) {
            builder = builder.versions(&codes);
        }
        if let Some(codes) = settings.codes(TERCEL_LIST_CIPHER_SUITES, CipherSuite) {
            builder = builder.cipher_suites(&codes);
        }
        if let Some(codes) = settings.codes(TERCEL_LIST_GROUPS, NamedGroup) {
            builder = builder.groups(&codes);
        }
        if let Some(codes) = settings.codes(TERCEL_LIST_SIGNATURE_SCHEMES, SignatureScheme) {
            builder = builder.signature_schemes(&codes);
        }
        let in_certificates = TERCEL_LIST_CERTIFICATE_SIGNATURE_SCHEMES;
        if let Some(codes) = settings.codes(in_certificates, SignatureScheme) {
            builder = builder.certificate_signature_schemes(&codes);
        }
        if let Some(bytes) = settings.number(TERCEL_OPTION_MAX_FRAGMENT) {
            builder = builder.max_fragment(bytes);
        }
        if let Some(bytes) = settings.number(TERCEL_OPTION_RECORD_SIZE_LIMIT) {
            builder = builder.record_size_limit(bytes);
        }
        if let Some(block) = settings.number(TERCEL_OPTION_PADDING).filter(|block| *block > 0) {
            builder = builder.padding(Padding::Block(block));
        }
        if let Some(on) = settings.switch(TERCEL_OPTION_REQUIRE_EXTENDED_MAIN_SECRET) {
            builder = builder.require_extended_main_secret(on);
        }
        if let Some(on) = settings.switch(TERCEL_OPTION_FIPS) {
            builder = builder.fips(on);
        }
        if let Some(on) = settings.switch(TERCEL_OPTION_TOLERATE_TRUNCATION) {
            builder = builder.tolerate_truncation(on);
        }
        if let Some(on) = settings.switch(TERCEL_OPTION_OFFER_CERTIFICATE_COMPRESSION) {
            builder = builder.offer_certificate_compression(on);
        }
        if let Some(on) = settings.switch(TERCEL_OPTION_REQUEST_OCSP) {
            builder = builder.request_ocsp(on);
        }
        if let Some(on) = settings.switch(TERCEL_OPTION_REQUEST_TIMESTAMPS) {
            builder = builder.request_signed_certificate_timestamps(on);
        }
        if let Some(on) = settings.switch(TERCEL_OPTION_VERIFY_RESUMED) {
            builder = builder.verify_resumed(on);
        }
        if let Some(key_log) = &settings.key_log {
            builder = builder.key_log(Arc::clone(key_log));
        }
        if let Some(clock) = &settings.clock {
            builder = builder.clock(Arc::clone(clock));
        }
        builder
    }};
}

impl Settings {
    pub(super) fn new(side: Side) -> Self {
        Self {
            side,
            options: BTreeMap::new(),
            lists: BTreeMap::new(),
            alpn: Vec::new(),
            session_context: Vec::new(),
            replay_guard_id: None,
            roots: None,
            credentials: Vec::new(),
            tickets: None,
            psks: Vec::new(),
            questions: 0,
            key_log: None,
            clock: None,
            error: String::new(),
        }
    }

    /// Builds the configuration.
    pub(super) fn build(&self) -> Result<Config, ConfigError> {
        if self.side == TERCEL_CLIENT {
            let given = self.option(TERCEL_OPTION_SESSIONS) == Some(TERCEL_SESSIONS_GIVEN);
            return Ok(Config::Client(self.client().build()?, given));
        }
        let claims = self.asks(TERCEL_ASK_CLAIM_SESSION);
        Ok(Config::Server(self.server()?.build()?, claims))
    }

    fn client(&self) -> ClientConfigBuilder {
        let mut builder = common!(ClientConfig::builder(), self);
        if let Some(codes) = self.codes(TERCEL_LIST_KEY_SHARES, NamedGroup) {
            builder = builder.key_shares(&codes);
        }
        if self.asks(TERCEL_ASK_VERIFY_PEER) {
            builder = builder.verifier(Policy::Ask);
        } else if let Some(roots) = &self.roots {
            builder = builder.verifier(Policy::Here(roots.verifier.clone()));
        }
        builder = match self.credentials.as_slice() {
            _ if self.asks(TERCEL_ASK_SELECT_CREDENTIAL) => builder.credentials(Policy::Ask),
            [] => builder,
            // Sessions are bound to a credential only if there is no other one.
            [only] => builder.credential(tercel::Credential::clone(only)),
            _ => builder.credentials(Policy::Here(self.credentials())),
        };
        // Each key was made once before, so no key is missing.
        for psk in &self.psks {
            builder = builder.pre_shared_keys(psk.make().unwrap_or_default());
        }
        if self.option(TERCEL_OPTION_SESSIONS) == Some(TERCEL_SESSIONS_NONE) {
            builder = builder.without_resumption();
        }
        let switches: [Switch<ClientConfigBuilder>; 8] = [
            (TERCEL_OPTION_EARLY_DATA, ClientConfigBuilder::early_data),
            (TERCEL_OPTION_SEND_SERVER_NAME, ClientConfigBuilder::send_server_name),
            (TERCEL_OPTION_MIDDLEBOX_COMPATIBILITY, ClientConfigBuilder::middlebox_compatibility),
            (TERCEL_OPTION_SHUFFLE_EXTENSIONS, ClientConfigBuilder::shuffle_extensions),
            (TERCEL_OPTION_GREASE, ClientConfigBuilder::grease),
            (TERCEL_OPTION_FALLBACK_SCSV, ClientConfigBuilder::fallback_scsv),
            (
                TERCEL_OPTION_REQUIRE_SECURE_RENEGOTIATION,
                ClientConfigBuilder::require_secure_renegotiation,
            ),
            (TERCEL_OPTION_POST_HANDSHAKE_AUTH, ClientConfigBuilder::post_handshake_auth),
        ];
        switches.into_iter().fold(builder, |builder, (option, set)| match self.switch(option) {
            Some(on) => set(builder, on),
            None => builder,
        })
    }

    fn server(&self) -> Result<ServerConfigBuilder, ConfigError> {
        let mut builder = common!(ServerConfig::builder(), self);
        if self.asks(TERCEL_ASK_CHOOSE_CONFIG) {
            builder = builder.choose_config(Policy::Ask);
        }
        if self.asks(TERCEL_ASK_SELECT_CREDENTIAL) {
            builder = builder.credentials(Policy::Ask);
        } else if !self.credentials.is_empty() {
            builder = builder.replaceable_credentials(self.credentials());
        }
        if self.asks(TERCEL_ASK_FIND_PSK) {
            builder = builder.find_pre_shared_key(Policy::Ask);
        } else if !self.psks.is_empty() {
            let keys = self.psks.iter().flat_map(|psk| psk.keys.iter().cloned());
            builder =
                builder.find_pre_shared_key(Policy::Here(Arc::new(ServerKeys(keys.collect()))));
        }
        builder = self.client_auth(builder)?;
        builder = self.server_sessions(builder)?;
        let switches: [Switch<ServerConfigBuilder>; 5] = [
            (TERCEL_OPTION_PREFER_CLIENT_ORDER, ServerConfigBuilder::prefer_client_order),
            (TERCEL_OPTION_IGNORE_UNKNOWN_ALPN, ServerConfigBuilder::ignore_unknown_alpn),
            (TERCEL_OPTION_ACKNOWLEDGE_SERVER_NAME, ServerConfigBuilder::acknowledge_server_name),
            (
                TERCEL_OPTION_STORE_ONLY_CERTIFICATE_DIGESTS,
                ServerConfigBuilder::store_only_certificate_digests,
            ),
            (TERCEL_OPTION_RESUMPTION_ACROSS_NAMES, ServerConfigBuilder::resumption_across_names),
        ];
        Ok(switches.into_iter().fold(builder, |builder, (option, set)| match self.switch(option) {
            Some(on) => set(builder, on),
            None => builder,
        }))
    }

    fn client_auth(
        &self,
        builder: ServerConfigBuilder,
    ) -> Result<ServerConfigBuilder, ConfigError> {
        let demand = match self.option(TERCEL_OPTION_CLIENT_AUTH) {
            Some(TERCEL_CLIENT_AUTH_OPTIONAL) => ClientAuth::Optional,
            Some(TERCEL_CLIENT_AUTH_REQUIRED) => ClientAuth::Required,
            _ => ClientAuth::None,
        };
        if self.asks(TERCEL_ASK_VERIFY_PEER) {
            return Ok(builder.client_verifier(demand, Policy::Ask));
        }
        match &self.roots {
            Some(roots) => {
                Ok(builder.client_verifier(demand, Policy::Here(roots.verifier.clone())))
            }
            None if demand == ClientAuth::None => Ok(builder),
            None => Err(ConfigError::NoTrustConfigured),
        }
    }

    fn server_sessions(
        &self,
        mut builder: ServerConfigBuilder,
    ) -> Result<ServerConfigBuilder, ConfigError> {
        if let Some(tickets) = &self.tickets {
            builder = builder.tickets(tickets.sealer(self.now())?);
        }
        if self.asks(TERCEL_ASK_FIND_SESSION) {
            builder = builder.session_store(Policy::Ask);
        }
        if self.switch(TERCEL_OPTION_TICKETS) == Some(false) {
            builder = builder.without_tickets();
        }
        if self.switch(TERCEL_OPTION_SESSION_IDS) == Some(false) {
            builder = builder.without_session_ids();
        }
        let full = self.number(TERCEL_OPTION_TICKETS_AFTER_FULL);
        let resumed = self.number(TERCEL_OPTION_TICKETS_AFTER_RESUMED);
        if full.is_some() || resumed.is_some() {
            builder = builder.ticket_counts(full.unwrap_or(2), resumed.unwrap_or(1));
        }
        if let Some(seconds) = self.option(TERCEL_OPTION_SESSION_LIFETIME) {
            builder = builder.session_lifetime(Duration::from_secs(seconds));
        }
        let window = self.option(TERCEL_OPTION_FRESHNESS_WINDOW).unwrap_or(DEFAULT_WINDOW);
        let window = Duration::from_secs(window);
        builder = builder.freshness_window(window);
        if let Some(bytes) = self.number(TERCEL_OPTION_EARLY_DATA).filter(|bytes| *bytes > 0) {
            builder = builder.early_data(bytes, self.replay_guard(window));
            if let Some(id) =
                self.replay_guard_id.filter(|_| self.asks(TERCEL_ASK_ADMIT_EARLY_DATA))
            {
                builder = builder.replay_guard_id(id);
            }
        }
        Ok(builder)
    }

    /// The time of the configuration's clock.
    fn now(&self) -> UnixTime {
        self.clock.as_ref().map_or_else(|| SystemClock.now(), |clock| clock.now())
    }

    fn replay_guard(&self, window: Duration) -> Policy<dyn AdmitEarlyData> {
        if self.asks(TERCEL_ASK_ADMIT_EARLY_DATA) {
            return Policy::Ask;
        }
        let capacity = self.number(TERCEL_OPTION_REPLAY_GUARD_CAPACITY).unwrap_or(DEFAULT_CAPACITY);
        let guard = ReplayGuard::for_freshness_window(capacity, self.now(), window);
        Policy::Here(Arc::new(guard))
    }

    fn credentials(&self) -> Arc<Credentials> {
        let credentials = self.credentials.iter().map(|each| tercel::Credential::clone(each));
        let mut set = Credentials::new(credentials.collect());
        if self.switch(TERCEL_OPTION_REQUIRE_KNOWN_NAME) == Some(true) {
            set = set.require_known_name();
        }
        Arc::new(set)
    }

    fn asks(&self, question: Questions) -> bool {
        self.questions & question != 0
    }

    fn option(&self, option: ConfigOption) -> Option<u64> {
        self.options.get(&option).copied()
    }

    fn switch(&self, option: ConfigOption) -> Option<bool> {
        self.option(option).map(|value| value != 0)
    }

    /// The value of an option whose range fits in this type.
    fn number<T: TryFrom<u64>>(&self, option: ConfigOption) -> Option<T> {
        self.option(option).and_then(|value| T::try_from(value).ok())
    }

    fn codes<T>(&self, list: List, code: fn(u16) -> T) -> Option<Vec<T>> {
        self.lists.get(&list).map(|codes| codes.iter().copied().map(code).collect())
    }
}

/// The core's default of the freshness window, in seconds.
const DEFAULT_WINDOW: u64 = 60;
/// The number of uses of early data that a replay guard remembers by default.
const DEFAULT_CAPACITY: usize = 1 << 16;

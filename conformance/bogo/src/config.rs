//! Makes the library's configurations from options.

use std::sync::Arc;

use tercel::wire::ClientHello;
use tercel::{
    Answer, ClientConfig, Handshake, Next, Policy, Question, ReceiveBuffer, ServerConfig,
    ServerName,
    certificates::{AcceptAnyPeer, SelectCredential, VerifyPeer},
    client::ClientConfigBuilder,
    clock::Clock,
    ech::Offer,
    error::ConfigError,
    key_log::KeyLog,
    psk::FindPreSharedKey,
    quic,
    server::ClientAuth,
    session::{AdmitEarlyData, ClientSessionStore, ReplayGuardId, ServerSessionStore},
};
use tercel_wire::HandshakeMessage;

use crate::application::Application;
use crate::choices::{
    accepted_types, available_types, groups, key_shares, suites, verified_schemes, versions,
};
use crate::compression::algorithms;
use crate::config_selector::ConfigSelector;
use crate::credentials::credentials;
use crate::ech;
use crate::options::Policy::{Cnsa1, Cnsa2, Cnsa202407};
use crate::options::{Options, Unsupported};
use crate::psk;
use crate::runner_only;
use crate::sessions::{FixedSession, Sessions};

/// The configuration of one connection, and the object that answers its questions.
pub(crate) struct Setup {
    side: SideConfig,
    /// The transport parameters of the shim.
    quic_parameters: Vec<u8>,
    pub(crate) application: Arc<Application>,
}

enum SideConfig {
    Client(Box<ClientConfigBuilder>, ServerName<'static>, Option<Offer>),
    /// The configuration until the ClientHello arrives, and the selector that replaces it then.
    Server(Arc<ServerConfig>, Arc<ConfigSelector>),
}

impl Setup {
    /// Configures a connection by `options`. The application's answers and checks use the options
    /// `checked`, which differ from `options` only in tests that reject early data.
    pub(crate) fn new(
        options: &Options,
        checked: &Options,
        sessions: &Arc<Sessions>,
    ) -> Result<Self, Unsupported> {
        let (chains, keys) = (credentials(options)?, psk::import(options)?);
        let application =
            Arc::new(Application::new(checked.clone(), chains, keys, Arc::clone(sessions)));
        let side = if options.server {
            server(options, &application)?
        } else {
            client(options, &application)?
        };
        let quic_parameters = options.quic_parameters.clone().unwrap_or_default();
        Ok(Self { side, quic_parameters, application })
    }

    pub(crate) fn handshake(&self) -> Result<Handshake, Unsupported> {
        Ok(match &self.side {
            SideConfig::Client(builder, name, offer) => {
                let config = (**builder).clone().build().map_err(unsupported)?;
                let handshake = Handshake::client(config, name.clone());
                match offer {
                    Some(offer) => handshake.with_ech(offer.clone()),
                    None => handshake,
                }
            }
            SideConfig::Server(greeting, _) => Handshake::server(Arc::clone(greeting)),
        })
    }

    /// A handshake over QUIC.
    pub(crate) fn quic_handshake(&self) -> Result<quic::Handshake, Unsupported> {
        let parameters = self.quic_parameters.clone();
        let made = match &self.side {
            SideConfig::Client(builder, name, offer) => {
                let config = (**builder).clone().build().map_err(unsupported)?;
                let version = quic::Version::V1;
                let made = quic::Handshake::client(&config, name.clone(), version, parameters);
                match offer {
                    Some(offer) => made.map(|handshake| handshake.with_ech(offer.clone())),
                    None => made,
                }
            }
            SideConfig::Server(greeting, _) => {
                quic::Handshake::server(greeting, quic::Version::V1, parameters)
            }
        };
        made.map_err(unsupported)
    }

    /// The answer to a question of the library.
    pub(crate) fn answer(&self, question: &Question) -> Option<Answer> {
        match (question, &self.side) {
            (Question::ChooseConfig(question), SideConfig::Server(_, host)) => {
                Some(question.resolve(&**host))
            }
            _ => self.application.answer(question),
        }
    }

    /// Whether a client that offers this session may send early data.
    pub(crate) fn allows_early_data(&self, session: Vec<u8>) -> Result<bool, Unsupported> {
        let SideConfig::Client(_, name, _) = &self.side else { return Ok(false) };
        Ok(self.begin(session, name.clone())?.early_data)
    }

    /// Whether a client offers this session to a server with another name.
    pub(crate) fn offers_across_names(&self, session: Vec<u8>) -> Result<bool, Unsupported> {
        let name = ServerName::try_from("another.test").map_err(|_| malformed("-host-name"))?;
        let sent = self.begin(session, name)?.message;
        // The ClientHello follows the header of a message.
        let hello = sent.get(4..).and_then(|body| ClientHello::parse(body).ok());
        let hello =
            hello.ok_or_else(|| Unsupported::Unimplemented("a hello of two records".to_owned()))?;
        Ok(hello.extensions.pre_shared_key.is_some())
    }

    /// Begins a client's connection that offers this session, and ends it after the first flight.
    fn begin(
        &self,
        session: Vec<u8>,
        name: ServerName<'static>,
    ) -> Result<FirstFlight, Unsupported> {
        let SideConfig::Client(builder, ..) = &self.side else { return Err(malformed("-server")) };
        let store: Arc<dyn ClientSessionStore> = Arc::new(FixedSession(session));
        let config = (**builder).clone().session_store(store).early_data(true);
        // Whether the server is still trusted does not matter here.
        let config = config.verify_resumed(false).build().map_err(unsupported)?;
        if self.application.options.quic {
            return FirstFlight::over_quic(&config, name);
        }
        let mut handshake = Handshake::client(config, name);
        let mut sent = Vec::new();
        // If a call fails, no bytes are sent, and there is no early data.
        while let Ok(Next::Answer(Question::VerifyPeer(question))) =
            handshake.advance(&mut ReceiveBuffer::new(), &mut sent)
        {
            let _ = handshake.answer(question.resolve(&AcceptAnyPeer));
        }
        let early_data = handshake.early_sender().is_some();
        // The message follows the header of its record.
        Ok(FirstFlight { early_data, message: sent.get(5..).unwrap_or_default().to_vec() })
    }
}

/// What a client begins with.
struct FirstFlight {
    /// Whether it may send early data.
    early_data: bool,
    /// The ClientHello with its header.
    message: Vec<u8>,
}

impl FirstFlight {
    fn over_quic(
        config: &Arc<ClientConfig>,
        name: ServerName<'static>,
    ) -> Result<Self, Unsupported> {
        let version = quic::Version::V1;
        let mut handshake =
            quic::Handshake::client(config, name, version, Vec::new()).map_err(unsupported)?;
        let mut flight = Self { early_data: false, message: Vec::new() };
        loop {
            match handshake.advance() {
                Ok(quic::Next::Send(_, data)) => flight.message.extend(data),
                Ok(quic::Next::EarlyKeys(_)) => flight.early_data = true,
                Ok(quic::Next::Answer(Question::VerifyPeer(question))) => {
                    let _ = handshake.answer(question.resolve(&AcceptAnyPeer));
                }
                _ => return Ok(flight),
            }
        }
    }
}

/// The common settings of both builders. This is a macro, because the methods belong to no common
/// trait.
macro_rules! common {
    ($builder:expr, $options:expr, $application:expr, $hello:expr) => {{
        let (options, sessions) = ($options, &$application.sessions);
        let mut builder = $builder
            .fips(options.fips)
            .versions(&versions(options))
            .clock(Arc::clone(&sessions.clock) as Arc<dyn Clock>)
            .tolerate_truncation(!options.check_close_notify)
            .certificate_compression(algorithms(options))
            .offer_certificate_compression(true)
            .signature_schemes(&verified_schemes(options));
        if let Some(groups) = groups(options, $hello)? {
            builder = builder.groups(&groups);
        }
        if let Some(bytes) = options.max_send_fragment {
            builder = builder.max_fragment(bytes);
        }
        if let Some(suites) = suites(options, $hello)? {
            builder = builder.cipher_suites(&suites);
        }
        if options.quic {
            builder = builder.key_log(Arc::clone(&$application.secrets) as Arc<dyn KeyLog>);
        }
        if !options.quic_early_data_context.is_empty() {
            builder = builder.quic_early_data_context(&options.quic_early_data_context);
        }
        builder
    }};
}

fn client(options: &Options, application: &Arc<Application>) -> Result<SideConfig, Unsupported> {
    let mut builder =
        common!(ClientConfig::builder(), options, application, None)
            .alpn(&protocols(&options.advertise_alpn)?)
            // The runner passes sessions from one configuration to another.
            .session_context(b"bogo")
            .pre_shared_keys(psk::for_client(options)?)
            .request_ocsp(options.enable_ocsp_stapling)
            .request_signed_certificate_timestamps(options.enable_signed_cert_timestamps)
            .fallback_scsv(options.fallback_scsv)
            .shuffle_extensions(options.permute_extensions)
            .grease(options.grease)
            .ech_grease(options.ech.grease)
            .require_secure_renegotiation(options.require_secure_renegotiation)
            .send_server_name(options.host_name.is_some())
            .session_store(
                Arc::clone(&application.sessions.client_store) as Arc<dyn ClientSessionStore>
            )
            .early_data(options.enable_early_data)
            .verify_resumed(options.reverify_on_resume);
    builder = runner_only::client(builder, options)?;
    // A client with pre-shared keys accepts certificates as well only if it has to verify them.
    if application.pre_shared_keys.is_empty() || options.verify_peer {
        builder = builder.verifier(verifier(options, application));
    }
    if options.no_ticket {
        builder = builder.without_resumption();
    }
    if !application.credentials.is_empty() || !options.expect.certificate_types.is_empty() {
        builder = builder
            .credentials(slot(options, Arc::clone(application) as Arc<dyn SelectCredential>));
    }
    if let Some(shares) = key_shares(options)? {
        builder = builder.key_shares(&shares);
    }
    if let Some(types) = accepted_types(options) {
        builder = builder.server_certificate_types(&types);
    }
    if let Some(types) = available_types(options) {
        builder = builder.client_certificate_types(&types);
    }
    let name = options.host_name.clone().unwrap_or_else(|| ech::UNNAMED.to_owned());
    let name = ServerName::try_from(name).map_err(|_| malformed("-host-name"))?;
    // Configuration errors must be found before the connection.
    builder.clone().build().map_err(unsupported)?;
    Ok(SideConfig::Client(Box::new(builder), name, ech::offer(options)?))
}

fn server(options: &Options, application: &Arc<Application>) -> Result<SideConfig, Unsupported> {
    // Configuration errors must be found before the connection.
    for stored in [false, true] {
        server_config(application, stored, None)?;
    }
    let host = Arc::new(ConfigSelector { application: Arc::clone(application) });
    let choose = slot(options, Arc::clone(&host) as _);
    let mut greeting = ServerConfig::builder().choose_config(choose).fips(options.fips);
    // BoringSSL confirms the ClientHello of a client-facing server without an option.
    greeting = match ech::keys(options)? {
        Some(keys) => greeting.ech(keys),
        None => greeting.ech_backend(true),
    };
    let greeting = greeting.build().map_err(unsupported)?;
    Ok(SideConfig::Server(greeting, host))
}

/// A server's configuration. `hello` is the client's ClientHello, if it has arrived. If `stored` is
/// set, sessions are stored on the server; otherwise they are in tickets.
pub(crate) fn server_config(
    application: &Arc<Application>,
    stored: bool,
    hello: Option<&ClientHello<'_>>,
) -> Result<Arc<ServerConfig>, Unsupported> {
    let (options, sessions) = (&application.options, &application.sessions);
    let demand = if options.verify_peer {
        ClientAuth::Optional
    } else if options.require_any_client_certificate {
        ClientAuth::Required
    } else {
        ClientAuth::None
    };
    // With `-reject-alpn` no protocol is acceptable, so a protocol is set that the runner never
    // offers. A configuration for QUIC has to have a protocol.
    let protocol = if options.reject_alpn || (options.quic && options.select_alpn.is_empty()) {
        &b"no such protocol"[..]
    } else {
        &options.select_alpn
    };
    let protocols: &[&[u8]] = if protocol.is_empty() { &[] } else { &[protocol] };
    // BoringSSL uses the server's order if the flag is set.
    let own_order = options.server_preference
        || options.cipher.is_some()
        || matches!(options.policy, Some(Cnsa202407 | Cnsa1 | Cnsa2));
    let mut builder = common!(ServerConfig::builder(), options, application, hello)
        .alpn(protocols)
        .client_verifier(demand, verifier(options, application))
        .prefer_client_order(!own_order)
        .acknowledge_server_name(!options.no_server_name_ack)
        .verify_resumed(options.reverify_on_resume)
        .store_only_certificate_digests(options.digests_only)
        .resumption_across_names(options.across_names)
        // All configurations share the object that answers questions.
        .session_context(b"bogo")
        .tickets(Arc::clone(&sessions.tickets));
    builder = runner_only::server(builder, options)?;
    // Without certificates, and with pre-shared keys, there is no credential to select.
    if application.pre_shared_keys.is_empty() || !application.credentials.is_empty() {
        let select = Arc::clone(application) as Arc<dyn SelectCredential>;
        builder = builder.credentials(slot(options, select));
    }
    if !application.pre_shared_keys.is_empty() {
        let find = Arc::clone(application) as Arc<dyn FindPreSharedKey>;
        builder = builder.find_pre_shared_key(slot(options, find));
    }
    if let Some(types) = accepted_types(options) {
        builder = builder.client_certificate_types(&types);
    }
    if stored {
        let store = Arc::clone(&sessions.store) as Arc<dyn ServerSessionStore>;
        builder = builder.session_store(slot(options, store));
    }
    if options.no_ticket {
        builder = builder.without_tickets();
    }
    if options.enable_early_data {
        let guard = Arc::clone(&sessions.guard) as Arc<dyn AdmitEarlyData>;
        builder = builder.replay_guard_id(GUARD).early_data(MAX_EARLY_DATA, slot(options, guard));
    }
    builder.build().map_err(unsupported)
}

/// The limit of early data that the runner assumes for a server.
const MAX_EARLY_DATA: u32 = 14336;

/// The ID of the one replay guard of the shim.
pub(crate) const GUARD: ReplayGuardId = *b"BoringSSL runner";

/// A policy that uses this object inside the library, or with `-async` asks the application.
fn slot<T: ?Sized>(options: &Options, object: Arc<T>) -> Policy<T> {
    if options.asynchronous { Policy::Ask } else { Policy::Here(object) }
}

/// The policy for the peer's certificates. The option `fips` does not allow to ask the application,
/// and a session with only the digest of a certificate is resumed only if the verifier has a
/// fingerprint.
fn verifier(options: &Options, application: &Arc<Application>) -> Policy<dyn VerifyPeer> {
    let verifier = Arc::clone(application) as Arc<dyn VerifyPeer>;
    let is_here = options.fips || options.digests_only;
    if is_here { Policy::Here(verifier) } else { slot(options, verifier) }
}

/// Parses a list of protocol names in the format of the extension.
fn protocols(mut list: &[u8]) -> Result<Vec<Vec<u8>>, Unsupported> {
    let mut names = Vec::new();
    while let Some((length, rest)) = list.split_first() {
        let name = rest.get(..usize::from(*length)).ok_or_else(|| malformed("-advertise-alpn"))?;
        names.push(name.to_vec());
        list = &rest[name.len()..];
    }
    Ok(names)
}

/// A configuration error means that the library lacks a feature, or that the flags conflict.
fn unsupported(error: ConfigError) -> Unsupported {
    match error {
        ConfigError::NotFips(reason) => Unsupported::NotFips(reason.to_string()),
        ConfigError::QuicWithoutAlpn => Unsupported::Refused(":NO_APPLICATION_PROTOCOL:"),
        ConfigError::NoVersion | ConfigError::QuicWithoutTls13 => {
            Unsupported::Refused(":NO_SUPPORTED_VERSIONS_ENABLED:")
        }
        other => Unsupported::Unimplemented(other.to_string()),
    }
}

pub(crate) fn malformed(flag: &str) -> Unsupported {
    Unsupported::Malformed(flag.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_protocol_list_is_split_by_its_length_bytes() {
        assert_eq!(protocols(b"\x03foo\x01x").ok(), Some(vec![b"foo".to_vec(), b"x".to_vec()]));
        assert!(protocols(b"\x04foo").is_err());
    }
}

//! The configuration of a server.

use std::sync::Arc;

use pki_types::SubjectPublicKeyInfoDer;
use tercel_crypto::HashAlgorithm;
use tercel_pki::{Roots, Usage};
use tercel_wire::{CertificateType, ProtocolVersion};

use super::client_auth::ClientAuth;
use super::common::Common;
use super::resumption::{
    ServerResumption, SessionIds, Tickets, context_digest, digest_for_psk, verifies_resumed,
};
use crate::auth::certificate_types;
use crate::auth::credential::certificate::compress_ahead;
use crate::auth::credential::{Credential, Credentials, SelectCredential};
use crate::auth::verifier::{from_roots, with_raw_keys};
use crate::auth::verify_peer::VerifyPeer;
use crate::error::config::ConfigError;
use crate::policy::Policy;
use crate::psk::PreSharedKey;
use crate::psk::request::FindPreSharedKey;
use crate::psk::set::PreSharedKeys;
use crate::resumption::tickets::rotating::RotatingTickets;

/// The selection of a server's configuration according to the ClientHello.
pub trait ChooseConfig: Send + Sync {
    /// Returns the configuration to continue with. `None` refuses the connection (alert
    /// access_denied).
    fn choose_config(&self, hello: &tercel_wire::ClientHello<'_>) -> Option<Arc<ServerConfig>>;
}

/// A server's configuration, shared by any number of connections.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use tercel::{Credential, ServerConfig};
///
/// let (chain, key) = (std::fs::read("cert.pem")?, std::fs::read("key.pem")?);
/// let credential = Credential::from_pem(&chain, &key)?;
/// let config = ServerConfig::builder().credential(credential).alpn(&["h2", "http/1.1"]).build()?;
/// # let _ = config; Ok(()) }
/// ```
#[derive(Clone)]
pub struct ServerConfig {
    pub(crate) common: Common,
    pub(crate) credentials: Policy<dyn SelectCredential>,
    /// The set of credentials, if `credentials` is a set. With a set, the credential that a full
    /// handshake would use can be determined in advance.
    pub(crate) credential_set: Option<Arc<Credentials>>,
    pub(crate) choose_config: Option<Policy<dyn ChooseConfig>>,
    pub(crate) pre_shared_keys: Option<Policy<dyn FindPreSharedKey>>,
    /// Whether there is no credential. Then clients without a pre-shared key are refused.
    pub(crate) only_pre_shared_keys: bool,
    pub(crate) client_auth: ClientAuth,
    pub(crate) client_verifier: Option<Policy<dyn VerifyPeer>>,
    pub(crate) client_certificate_types: Vec<CertificateType>,
    /// The authorities to list instead of the verifier's.
    client_authorities: Option<Vec<Vec<u8>>>,
    pub(crate) client_order: bool,
    pub(crate) ignore_unknown_alpn: bool,
    pub(crate) acknowledge_server_name: bool,
    pub(crate) server_padding: bool,
    #[cfg(feature = "ech")]
    pub(crate) ech: Option<Arc<crate::ech::Keys>>,
    #[cfg(feature = "ech")]
    pub(crate) ech_backend: bool,
    pub(crate) resumption: ServerResumption,
    #[cfg(feature = "quic")]
    pub(super) derived_for_quic: super::derived_for_quic::DerivedForQuic<ServerConfig>,
}

impl ServerConfig {
    /// The maximum length of all [`client_authorities`](ServerConfigBuilder::client_authorities)
    /// together, in bytes, where two bytes are added to each name. The other extensions of a
    /// CertificateRequest need less than 1 KiB. RFC 9846 4.3, RFC 5246 7.4.4
    pub const MAX_AUTHORITIES_LENGTH: usize = (1 << 16) - (1 << 10);

    /// Returns the authorities for a CertificateRequest. If those of the verifier do not fit, none
    /// is listed: a client then chooses a certificate without a list, whereas it would send none if
    /// its own authority were missing in a part of the list. RFC 9846 4.3.4, RFC 5246 7.4.4
    pub(crate) fn authorities(&self) -> Vec<Vec<u8>> {
        match (&self.client_authorities, &self.client_verifier) {
            (Some(names), _) => names.clone(),
            (None, Some(Policy::Here(verifier))) => {
                Some(verifier.authorities()).filter(|names| fit(names)).unwrap_or_default()
            }
            (None, _) => Vec::new(),
        }
    }

    /// Returns whether CertificateRequests list no authorities, because the names of those that the
    /// verifier trusts do not fit.
    #[must_use]
    pub fn omits_authorities(&self) -> bool {
        match (&self.client_authorities, &self.client_verifier) {
            (None, Some(Policy::Here(verifier))) => !fit(&verifier.authorities()),
            _ => false,
        }
    }

    /// Whether a session can be bound to the server's certificate. If the application selects
    /// credentials, the configuration does not know which credential a full handshake would use.
    /// Then a session context is required, and configurations with equal contexts share sessions.
    pub(crate) fn binds_sessions(&self) -> bool {
        self.credential_set.is_some() || self.resumption.has_session_context()
    }

    /// Compresses a credential with all algorithms of this configuration in advance, so that no
    /// handshake has to do so. Each compression takes some milliseconds. The method may be called
    /// on any thread. RFC 8879 6
    pub fn compress_certificate(&self, credential: &Credential) {
        compress_ahead(credential, &self.common.certificate_compression);
    }

    /// Creates a builder with secure defaults. It needs a credential, or pre-shared keys.
    #[must_use]
    pub fn builder() -> ServerConfigBuilder {
        ServerConfigBuilder {
            config: ServerConfig {
                common: Common::new(),
                credentials: Policy::Ask,
                credential_set: None,
                choose_config: None,
                pre_shared_keys: None,
                only_pre_shared_keys: false,
                client_auth: ClientAuth::None,
                client_verifier: None,
                client_certificate_types: Vec::new(),
                client_authorities: None,
                client_order: false,
                ignore_unknown_alpn: false,
                acknowledge_server_name: true,
                server_padding: false,
                #[cfg(feature = "ech")]
                ech: None,
                #[cfg(feature = "ech")]
                ech_backend: false,
                resumption: ServerResumption::new(),
                #[cfg(feature = "quic")]
                derived_for_quic: super::derived_for_quic::DerivedForQuic::new(),
            },
            own: Vec::new(),
            credentials: None,
            require_known_name: false,
            client_verifier: None,
            client_raw_keys: None,
            client_certificate_types: None,
            compress_certificates_ahead: false,
            default_tickets: true,
            session_ids: SessionIds::default(),
        }
    }
}

/// A builder of a [`ServerConfig`].
pub struct ServerConfigBuilder {
    /// The configuration so far. `build` sets what depends on several options.
    pub(super) config: ServerConfig,
    own: Vec<Credential>,
    credentials: Option<Policy<dyn SelectCredential>>,
    require_known_name: bool,
    /// The demand for chains, and their verifier.
    client_verifier: Option<(ClientAuth, GivenVerifier)>,
    /// The demand for raw public keys, and those that are accepted.
    client_raw_keys: Option<(ClientAuth, Vec<SubjectPublicKeyInfoDer<'static>>)>,
    client_certificate_types: Option<Vec<CertificateType>>,
    compress_certificates_ahead: bool,
    pub(super) default_tickets: bool,
    pub(super) session_ids: SessionIds,
}

setters! {
    for ServerConfigBuilder;

    /// Sets the keys for Encrypted ClientHello, which may be shared by configurations and replaced
    /// at any time: see [`crate::ech`]. The server needs a credential for their public names.
    ///
    /// ClientHellos are decrypted before a configuration is chosen: then the keys are those of the
    /// configuration with which the handshake began, and [`ChooseConfig`] sees the decrypted
    /// ClientHello. Default: none. RFC 9849 7
    #[cfg(feature = "ech")]
    pub fn ech(keys: Arc<crate::ech::Keys>) => config.ech = Some(keys);

    /// Sets whether the server accepts ClientHellos that a client-facing server has decrypted, and
    /// confirms to their clients that Encrypted ClientHello is used. Only client-facing servers
    /// must be able to reach such a server. ClientHellos that they could not decrypt are accepted,
    /// too. Default: off. RFC 9849 7, 7.2
    #[cfg(feature = "ech")]
    pub fn ech_backend(on: bool) => config.ech_backend = on;

    /// Sets how the whole configuration is selected for a ClientHello: by an object that is called
    /// during the handshake (`Policy::Here`), or by the caller, which receives a
    /// `Question::ChooseConfig` (`Policy::Ask`).
    pub fn choose_config(choose: Policy<dyn ChooseConfig>) => config.choose_config = Some(choose);

    /// Sets how pre-shared keys are found: by an object that is called during the handshake
    /// (`Policy::Here`), or by the caller, which receives a `Question::FindPreSharedKey`
    /// (`Policy::Ask`). This is for keys in a database, or for a set of [`PreSharedKeys`] that is
    /// replaced while the server runs.
    ///
    /// Before a session of a key is resumed, the object is asked whether it still
    /// [knows](FindPreSharedKey::knows) the key. With [`Policy::Ask`] keys are not checked again:
    /// their sessions are resumed until they expire, and only by this configuration, whatever its
    /// [`session_context`](Self::session_context) is.
    pub fn find_pre_shared_key(find: Policy<dyn FindPreSharedKey>) =>
        config.pre_shared_keys = Some(find);

    /// Sets the certificate types accepted from clients, most preferred first. Default: those that
    /// the roots, the verifier and the raw keys can verify. RFC 7250
    pub fn client_certificate_types(types: &[CertificateType]) =>
        client_certificate_types = Some(types.to_vec());

    /// Sets the authorities that a CertificateRequest lists, so that a client with several chains
    /// sends a suitable one. Each is a DER `Name`, as [`tercel_pki::Roots::subjects`] returns them.
    /// The verifier decides which chains are accepted. Default: the authorities that the roots or
    /// the verifier return; none with [`Policy::Ask`]. RFC 9846 4.3.4, RFC 5246 7.4.4
    pub fn client_authorities(names: Vec<Vec<u8>>) => config.client_authorities = Some(names);

    /// Sets whether the client's order of cipher suites and groups is used instead of the order of
    /// this configuration. Default: off.
    pub fn prefer_client_order(on: bool) => config.client_order = on;

    /// Sets whether clients without a common application protocol are accepted, as if they had
    /// offered none. Default: off; such clients are refused with no_application_protocol.
    /// RFC 7301 3.2
    pub fn ignore_unknown_alpn(on: bool) => config.ignore_unknown_alpn = on;

    /// Sets whether the server acknowledges the requested name. Default: yes. A server that does
    /// not use names may omit the acknowledgement. RFC 6066 3
    pub fn acknowledge_server_name(on: bool) => config.acknowledge_server_name = on;

    /// Test seam. Sets whether the server sends the additional bytes that a client requests with
    /// [`crate::client::ClientConfigBuilder::request_server_padding`], at most 16384. Default: off.
    #[cfg(all(feature = "testing", debug_assertions))]
    pub fn answer_server_padding(on: bool) => config.server_padding = on;

    /// Sets whether a stapled OCSP response is requested with a client's certificate (TLS 1.3; TLS
    /// 1.2 has no such request). Default: no. The response is passed to the verifier, which also
    /// decides whether a missing response is accepted. RFC 9846 4.5.1.1
    pub fn request_ocsp(request: bool) => config.common.request_ocsp = request;

    /// Sets whether signed certificate timestamps are requested with a client's certificate (TLS
    /// 1.3). Default: no. RFC 9846 4.5.1, RFC 6962 3.3
    pub fn request_signed_certificate_timestamps(request: bool) =>
        config.common.request_timestamps = request;

    /// Sets whether credentials are compressed in advance: all credentials when the configuration
    /// is built, and each later credential before it replaces another one. Default: off; then each
    /// compressed message is made in the first handshake that needs it.
    ///
    /// Compression takes some milliseconds, during which the handshake and its thread wait. The
    /// option is off by default, because a server with thousands of credentials would start slowly.
    /// The option has no effect on credentials that an object of the application selects, see
    /// [`ServerConfig::compress_certificate`]. RFC 8879 6
    pub fn compress_certificates_ahead(on: bool) => compress_certificates_ahead = on;
}

impl ServerConfigBuilder {
    /// Adds a credential. [`Credentials`] describes how a credential is selected for a client. The
    /// first credential is used for clients that send no server name, or a name that no credential
    /// covers.
    #[must_use]
    pub fn credential(mut self, credential: Credential) -> Self {
        self.own.push(credential);
        self
    }

    /// Sets how credentials are selected: by an object that is called during the handshake
    /// (`Policy::Here`), or by the caller, which receives a `Question::SelectCredential`
    /// (`Policy::Ask`). Sessions are then resumed only with a
    /// [`session_context`](Self::session_context), because the configuration does not know which
    /// credential a full handshake would use.
    #[must_use]
    pub fn credentials(mut self, credentials: Policy<dyn SelectCredential>) -> Self {
        self.credentials = Some(credentials);
        self.config.credential_set = None;
        self
    }

    /// Sets the credentials: a set whose content can be replaced while the server runs.
    #[must_use]
    pub fn replaceable_credentials(mut self, credentials: Arc<Credentials>) -> Self {
        self.config.credential_set = Some(Arc::clone(&credentials));
        self.credentials = Some(Policy::Here(credentials));
        self
    }

    /// Makes the server refuse clients that request a host name for which there is no credential,
    /// with the alert unrecognized_name. RFC 6066 3
    ///
    /// This applies to credentials that were added one by one. For a set of credentials, use
    /// [`Credentials::require_known_name`].
    #[must_use]
    pub fn require_known_name(mut self) -> Self {
        self.require_known_name = true;
        self
    }

    /// Sets the pre-shared keys of clients. A handshake with such a key exchanges no certificates;
    /// the key also satisfies a server that requires client certificates. Without a credential,
    /// only clients with a key are accepted, in TLS 1.3. Default: none.
    ///
    /// If a client's key needs another hash than the preferred suite has, another suite is
    /// selected. RFC 9846 4.3.11
    #[must_use]
    pub fn pre_shared_keys(self, keys: impl IntoIterator<Item = PreSharedKey>) -> Self {
        self.find_pre_shared_key(Policy::Here(Arc::new(PreSharedKeys::new(keys))))
    }

    /// Sets whether client certificates are requested or required, and the roots in which their
    /// chains must end. With [`ClientAuth::None`] they are requested only after the handshake, by
    /// [`crate::Connection::request_certificate`]. `client_auth` and
    /// [`client_verifier`](Self::client_verifier) are two forms of one option: a later call
    /// replaces demand, roots and verifier of an earlier one.
    ///
    /// With [`client_raw_keys`](Self::client_raw_keys) too, the stronger of both demands applies,
    /// whatever their order is: if one of them is [`ClientAuth::Required`], each client has to
    /// present a certificate chain or a raw public key that is accepted.
    #[must_use]
    pub fn client_auth(mut self, demand: ClientAuth, roots: Roots) -> Self {
        self.client_verifier = Some((demand, from_roots(roots)));
        self
    }

    /// Sets whether client certificates are requested or required, and how they are verified: by an
    /// object that is called during the handshake (`Policy::Here`), or by the caller, which
    /// receives a `Question::VerifyPeer` (`Policy::Ask`). For calls of several options see
    /// [`client_auth`](Self::client_auth).
    #[must_use]
    pub fn client_verifier(mut self, demand: ClientAuth, verifier: Policy<dyn VerifyPeer>) -> Self {
        self.client_verifier = Some((demand, Ok(verifier)));
        self
    }

    /// Sets whether client certificates are requested or required, and the raw public keys
    /// (`SubjectPublicKeyInfo`) to accept. If roots or a verifier are configured as well,
    /// certificate chains are also accepted, and the stronger of both demands applies: see
    /// [`client_auth`](Self::client_auth). In post-handshake authentication, a client can send a
    /// raw public key only if the handshake also requested a certificate. RFC 7250
    #[must_use]
    pub fn client_raw_keys(
        mut self,
        demand: ClientAuth,
        keys: Vec<SubjectPublicKeyInfoDer<'static>>,
    ) -> Self {
        self.client_raw_keys = Some((demand, keys));
        self
    }

    /// Builds the configuration.
    ///
    /// # Errors
    /// If a required option is missing, or options contradict each other: the [`ConfigError`] names
    /// the option.
    pub fn build(self) -> Result<Arc<ServerConfig>, ConfigError> {
        let mut config = self.config;
        let common = &mut config.common;
        common.prepare()?;
        if config.pre_shared_keys.is_some() && !common.has_version(ProtocolVersion::TLS1_3) {
            return Err(ConfigError::UnusablePreSharedKeys);
        }
        let has_credential = self.credentials.is_some() || !self.own.is_empty();
        if !has_credential && config.choose_config.is_none() {
            if config.pre_shared_keys.is_none() {
                return Err(ConfigError::NoCredential);
            }
            config.only_pre_shared_keys = true;
            common.only_for_pre_shared_keys(&[HashAlgorithm::Sha256, HashAlgorithm::Sha384]);
        }
        config.credentials = match self.credentials {
            Some(_) if self.require_known_name || !self.own.is_empty() => {
                return Err(ConfigError::ConflictingCredentials);
            }
            Some(policy) => policy,
            None => {
                let mut set = Credentials::new(self.own);
                if self.require_known_name {
                    set = set.require_known_name();
                }
                let set = Arc::new(set);
                config.credential_set = Some(Arc::clone(&set));
                Policy::Here(set)
            }
        };
        if let Some(set) = &config.credential_set {
            let checked = set.check_usage(Usage::Server);
            checked.map_err(|_| ConfigError::CredentialNotForServers)?;
        }
        if let (true, Some(set)) = (self.compress_certificates_ahead, &config.credential_set) {
            set.compress_ahead(&common.certificate_compression);
        }
        let (chain_demand, verifier) = self.client_verifier.unzip();
        let (key_demand, raw_keys) = self.client_raw_keys.unzip();
        config.client_auth = stronger(chain_demand, key_demand);
        let (client_verifier, verifiable_types) = with_raw_keys(raw_keys, verifier.transpose()?)?;
        common.check_legacy_peer_keys(client_verifier.as_ref())?;
        config.client_verifier = client_verifier;
        config.client_certificate_types = self.client_certificate_types.unwrap_or(verifiable_types);
        if !certificate_types::is_valid_list(&config.client_certificate_types) {
            return Err(ConfigError::BadCertificateTypes);
        }
        check_authorities(config.client_authorities.as_deref().unwrap_or_default())?;
        let resumption = &mut config.resumption;
        // A session store replaces the default tickets.
        if self.default_tickets && resumption.tickets.is_none() && resumption.store.is_none() {
            let tickets = RotatingTickets::new(common.clock.now());
            let tickets = tickets.map_err(|_| ConfigError::Random)?;
            resumption.tickets = Some(Tickets::Sealer(Arc::new(tickets)));
        }
        self.session_ids.apply_to(resumption);
        if resumption.store_only_certificate_digests && resumption.verify_resumed {
            return Err(ConfigError::DigestsCannotBeVerified);
        }
        // A digest cannot be verified again: such a configuration then shares no sessions.
        let context =
            (!resumption.store_only_certificate_digests).then_some(&resumption.session_context[..]);
        if let (Some(verifier), Some(context)) = (&config.client_verifier, context) {
            resumption.verify_resumed =
                verifies_resumed(resumption.verify_resumed, verifier, context);
        }
        resumption.check_window()?;
        if resumption.replay_guard.is_some() {
            resumption.draw_guard_id()?;
        }
        resumption.context_digest = context_digest(
            resumption,
            config.client_auth,
            config.client_verifier.as_ref(),
            common,
        )?;
        resumption.psk_context_digest =
            digest_for_psk(resumption, config.pre_shared_keys.as_ref())?;
        let broken = config.broken_fips_rule();
        config.common.set_fips_status(broken)?;
        Ok(Arc::new(config))
    }
}

/// The verifier of clients, or why the roots for it cannot be used.
type GivenVerifier = Result<Policy<dyn VerifyPeer>, ConfigError>;

/// The stronger of two demands, whatever the order of the calls that made them.
fn stronger(one: Option<ClientAuth>, other: Option<ClientAuth>) -> ClientAuth {
    one.unwrap_or_default().stronger(other.unwrap_or_default())
}

fn check_authorities(names: &[Vec<u8>]) -> Result<(), ConfigError> {
    match names.iter().any(Vec::is_empty) || !fit(names) {
        true => Err(ConfigError::BadAuthorities),
        false => Ok(()),
    }
}

/// Whether a CertificateRequest can list these names. An extension and a list in TLS 1.2 have at
/// most 65,535 bytes, and all extensions together, too. RFC 9846 4.3, 4.3.4, RFC 5246 7.4.4
fn fit(names: &[Vec<u8>]) -> bool {
    let length = |sum: usize, name: &Vec<u8>| sum.saturating_add(name.len()).saturating_add(2);
    names.iter().fold(0, length) <= ServerConfig::MAX_AUTHORITIES_LENGTH
}

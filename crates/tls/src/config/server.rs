//! What a server offers and demands.
//!
//! Must not know: how a handshake goes. Next: `handshake/hello/negotiate.rs`, which holds it against a hello.

use std::sync::Arc;

use pki_types::SubjectPublicKeyInfoDer;
use tercel_crypto::HashAlgorithm;
use tercel_pki::Roots;
use tercel_wire::{CertificateType, CipherSuite, NamedGroup, ProtocolVersion, SignatureScheme};

use super::builder::common_setters;
use super::certificate_types;
use super::common::Common;
use super::compression::CompressCertificate;
use super::credential::{Credential, Credentials};
use super::error::ConfigError;
use super::policy::{
    ChooseConfig, Clock, FindPreSharedKey, KeyLog, Policy, SelectCredential, VerifyPeer,
};
use super::pre_shared_key::PreSharedKey;
use super::pre_shared_key::set::PreSharedKeys;
use super::resumption::{ServerResumption, context, context_of_keys};
use super::verifier::{from_roots, with_raw_keys};
use crate::record::sealer::Padding;
use crate::ticket::rotating::RotatingTickets;

/// A server's configuration, shared by any number of connections.
#[derive(Clone)]
pub struct ServerConfig {
    pub(crate) common: Common,
    pub(crate) credentials: Policy<dyn SelectCredential>,
    pub(crate) known_names: Option<Arc<Credentials>>,
    pub(crate) choose_config: Option<Policy<dyn ChooseConfig>>,
    pub(crate) pre_shared_keys: Option<Policy<dyn FindPreSharedKey>>,
    /// There is no credential: who has no pre-shared key is not served.
    pub(crate) only_pre_shared_keys: bool,
    pub(crate) client_auth: ClientAuth,
    pub(crate) client_verifier: Option<Policy<dyn VerifyPeer>>,
    pub(crate) client_certificate_types: Vec<CertificateType>,
    pub(crate) request_ocsp: bool,
    pub(crate) request_timestamps: bool,
    pub(crate) client_order: bool,
    pub(crate) ignore_unknown_alpn: bool,
    pub(crate) acknowledge_server_name: bool,
    pub(crate) server_padding: bool,
    pub(crate) resumption: ServerResumption,
}

/// Whether clients show a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ClientAuth {
    /// They are not asked in the handshake.
    #[default]
    None,
    /// They are asked, and may decline.
    Optional,
    /// They are asked, and refused if they decline.
    Required,
}

impl ServerConfig {
    /// The authorities named to clients that are asked for a certificate. RFC 9846 4.3.4, RFC 5246 7.4.4
    pub(crate) fn authorities(&self) -> Vec<Vec<u8>> {
        match &self.client_verifier {
            Some(Policy::Here(verifier)) => verifier.authorities(),
            _ => Vec::new(),
        }
    }

    /// A builder with safe defaults. It needs a credential, or pre-shared keys.
    #[must_use]
    pub fn builder() -> ServerConfigBuilder {
        ServerConfigBuilder {
            common: Common::new(),
            own: Vec::new(),
            credentials: None,
            known_names: None,
            require_known_name: false,
            choose_config: None,
            pre_shared_keys: None,
            client_auth: ClientAuth::None,
            client_verifier: None,
            client_raw_keys: None,
            client_certificate_types: None,
            request_ocsp: false,
            request_timestamps: false,
            compress_certificates_ahead: false,
            client_order: false,
            ignore_unknown_alpn: false,
            acknowledge_server_name: true,
            server_padding: false,
            resumption: ServerResumption::new(),
            default_tickets: true,
        }
    }
}

/// Builds a [`ServerConfig`].
pub struct ServerConfigBuilder {
    common: Common,
    own: Vec<Credential>,
    credentials: Option<Policy<dyn SelectCredential>>,
    known_names: Option<Arc<Credentials>>,
    require_known_name: bool,
    choose_config: Option<Policy<dyn ChooseConfig>>,
    pre_shared_keys: Option<Policy<dyn FindPreSharedKey>>,
    client_auth: ClientAuth,
    client_verifier: Option<Result<Policy<dyn VerifyPeer>, ConfigError>>,
    client_raw_keys: Option<Vec<SubjectPublicKeyInfoDer<'static>>>,
    client_certificate_types: Option<Vec<CertificateType>>,
    pub(super) request_ocsp: bool,
    pub(super) request_timestamps: bool,
    pub(super) compress_certificates_ahead: bool,
    client_order: bool,
    ignore_unknown_alpn: bool,
    acknowledge_server_name: bool,
    server_padding: bool,
    pub(super) resumption: ServerResumption,
    pub(super) default_tickets: bool,
}

common_setters!(ServerConfigBuilder);

impl ServerConfigBuilder {
    /// Adds a credential. The first is for clients that name no host, or one that nobody here has.
    #[must_use]
    pub fn credential(mut self, credential: Credential) -> Self {
        self.own.push(credential);
        self
    }

    /// Chooses credentials by another object, or by asking.
    #[must_use]
    pub fn credentials(mut self, credentials: Policy<dyn SelectCredential>) -> Self {
        self.credentials = Some(credentials);
        self
    }

    /// Chooses from a set that can be replaced while the server runs.
    #[must_use]
    pub fn replaceable_credentials(mut self, credentials: Arc<Credentials>) -> Self {
        self.known_names = Some(Arc::clone(&credentials));
        self.credentials = Some(Policy::Here(credentials));
        self
    }

    /// Refuses clients that ask for a host none of the credentials has, with `unrecognized_name`. RFC 6066 3
    ///
    /// For credentials that were given one by one; a set has [`Credentials::require_known_name`].
    #[must_use]
    pub fn require_known_name(mut self) -> Self {
        self.require_known_name = true;
        self
    }

    /// Chooses the whole configuration by what the client says first.
    #[must_use]
    pub fn choose_config(mut self, choose: Policy<dyn ChooseConfig>) -> Self {
        self.choose_config = Some(choose);
        self
    }

    /// Serves clients that have one of these keys, which neither show a certificate nor are shown one: also
    /// where client certificates are required, a key does instead. Without a credential only such clients
    /// are served, in TLS 1.3. Default: none.
    ///
    /// Where a client's key goes with another hash than that of the suite we like best, another suite is
    /// chosen. RFC 9846 4.3.11
    #[must_use]
    pub fn pre_shared_keys(self, keys: impl IntoIterator<Item = PreSharedKey>) -> Self {
        self.find_pre_shared_key(Policy::Here(Arc::new(PreSharedKeys::new(keys))))
    }

    /// Finds pre-shared keys by another object, or by asking: for keys in a database, or a set of
    /// [`PreSharedKeys`] that is to be replaced while the server runs. Who is asked is not asked about the
    /// sessions of keys: those are good until they end, for configurations with the same
    /// [label](Self::session_context), and without a label for this one alone.
    #[must_use]
    pub fn find_pre_shared_key(mut self, find: Policy<dyn FindPreSharedKey>) -> Self {
        self.pre_shared_keys = Some(find);
        self
    }

    /// Asks clients for certificates that end in one of these roots. With [`ClientAuth::None`] they are
    /// asked only after the handshake, by [`crate::Connection::request_certificate`].
    #[must_use]
    pub fn client_auth(mut self, demand: ClientAuth, roots: Roots) -> Self {
        self.client_auth = demand;
        self.client_verifier = Some(from_roots(roots));
        self
    }

    /// Asks clients for certificates and decides by another verifier, or by asking.
    #[must_use]
    pub fn client_verifier(mut self, demand: ClientAuth, verifier: Policy<dyn VerifyPeer>) -> Self {
        self.client_auth = demand;
        self.client_verifier = Some(Ok(verifier));
        self
    }

    /// Asks clients for certificates and accepts one of these raw public keys
    /// (`SubjectPublicKeyInfo`), besides the chains that the roots or the verifier accept, if there
    /// are any. Clients that are not asked in the handshake show no raw key after it. RFC 7250
    #[must_use]
    pub fn client_raw_keys(
        mut self,
        demand: ClientAuth,
        keys: Vec<SubjectPublicKeyInfoDer<'static>>,
    ) -> Self {
        self.client_auth = demand;
        self.client_raw_keys = Some(keys);
        self
    }

    /// The forms of certificate a client may show, best first. Default: those that can be judged by
    /// the roots, the verifier and the raw keys given. RFC 7250
    #[must_use]
    pub fn client_certificate_types(mut self, types: &[CertificateType]) -> Self {
        self.client_certificate_types = Some(types.to_vec());
        self
    }

    /// Follows the client's order of cipher suites and groups instead of our own. Default: off.
    #[must_use]
    pub fn prefer_client_order(mut self, on: bool) -> Self {
        self.client_order = on;
        self
    }

    /// Serves clients with which no application protocol is in common, as if neither had named any.
    /// Default: off, they get no_application_protocol. RFC 7301 3.2
    #[must_use]
    pub fn ignore_unknown_alpn(mut self, on: bool) -> Self {
        self.ignore_unknown_alpn = on;
        self
    }

    /// Whether clients are told that the name they asked for was understood. Default: yes. A server to
    /// which names make no difference does not have to. RFC 6066 3
    #[must_use]
    pub fn acknowledge_server_name(mut self, on: bool) -> Self {
        self.acknowledge_server_name = on;
        self
    }

    /// Test seam. Sends as many bytes more as a client asks for with [`crate::ClientConfigBuilder::request_server_padding`], up
    /// to 16384. Default: off.
    #[cfg(all(feature = "testing", debug_assertions))]
    #[must_use]
    pub fn answer_server_padding(mut self, on: bool) -> Self {
        self.server_padding = on;
        self
    }

    /// The configuration.
    ///
    /// # Errors
    /// If something necessary is missing or contradicts itself.
    pub fn build(self) -> Result<Arc<ServerConfig>, ConfigError> {
        let mut common = self.common.checked()?;
        if self.pre_shared_keys.is_some() && !common.has_version(ProtocolVersion::TLS1_3) {
            return Err(ConfigError::UnusablePreSharedKeys);
        }
        let only_pre_shared_keys = self.pre_shared_keys.is_some()
            && self.credentials.is_none()
            && self.own.is_empty()
            && self.choose_config.is_none();
        if only_pre_shared_keys {
            common.only_for_pre_shared_keys(&[HashAlgorithm::Sha256, HashAlgorithm::Sha384]);
        }
        let mut known_names = self.known_names;
        let credentials = match self.credentials {
            Some(_) if self.require_known_name || !self.own.is_empty() => {
                return Err(ConfigError::CredentialsTwice);
            }
            Some(policy) => policy,
            None if self.own.is_empty()
                && self.choose_config.is_none()
                && self.pre_shared_keys.is_none() =>
            {
                return Err(ConfigError::NoCredential);
            }
            None => {
                let mut set = Credentials::new(self.own);
                if self.require_known_name {
                    set = set.require_known_name();
                }
                let set = Arc::new(set);
                known_names = Some(Arc::clone(&set));
                Policy::Here(set as Arc<dyn SelectCredential>)
            }
        };
        if let (true, Some(set)) = (self.compress_certificates_ahead, &known_names) {
            set.compress_ahead(&common.certificate_compression);
        }
        let (client_verifier, judged) =
            with_raw_keys(self.client_raw_keys, self.client_verifier.transpose()?)?;
        if self.client_auth != ClientAuth::None && client_verifier.is_none() {
            return Err(ConfigError::NoClientVerifier);
        }
        let client_certificate_types = self.client_certificate_types.unwrap_or(judged);
        if !certificate_types::are_sound(&client_certificate_types) {
            return Err(ConfigError::BadCertificateTypes);
        }
        let mut resumption = self.resumption;
        // Who keeps sessions does not give them away as well, unless asked to.
        if self.default_tickets && resumption.tickets.is_none() && resumption.store.is_none() {
            let tickets = RotatingTickets::new(common.clock.now());
            resumption.tickets = Some(Arc::new(tickets.map_err(|_| ConfigError::Random)?));
        }
        if resumption.digests_only && resumption.verify_again {
            return Err(ConfigError::DigestsCannotBeVerified);
        }
        resumption.check_window()?;
        resumption.context = context(&resumption, self.client_auth, client_verifier.as_ref())?;
        resumption.context_of_keys = context_of_keys(&resumption, self.pre_shared_keys.as_ref())?;
        Ok(Arc::new(ServerConfig {
            common,
            credentials,
            known_names,
            choose_config: self.choose_config,
            pre_shared_keys: self.pre_shared_keys,
            only_pre_shared_keys,
            client_auth: self.client_auth,
            client_verifier,
            client_certificate_types,
            request_ocsp: self.request_ocsp,
            request_timestamps: self.request_timestamps,
            client_order: self.client_order,
            ignore_unknown_alpn: self.ignore_unknown_alpn,
            acknowledge_server_name: self.acknowledge_server_name,
            server_padding: self.server_padding,
            resumption,
        }))
    }
}

//! What a client wants.
//!
//! Must not know: how a handshake goes. Next: `handshake/hello/offer.rs`, which turns it into a hello.

use std::sync::Arc;

use pki_types::SubjectPublicKeyInfoDer;
use tercel_crypto::HashAlgorithm;
use tercel_pki::Roots;
use tercel_wire::{CertificateType, CipherSuite, NamedGroup, ProtocolVersion, SignatureScheme};

use super::builder::common_setters;
use super::certificate_types;
use super::client_authorities::check_authorities;
use super::common::Common;
use super::compression::CompressCertificate;
use super::credential::{Credential, Credentials};
use super::error::ConfigError;
use super::policy::{Clock, KeyLog, Policy, SelectCredential, VerifyPeer};
use super::pre_shared_key::{PreSharedKey, usable};
use super::resumption::{ClientResumption, client_context};
use super::verifier::{TrustNobody, from_roots, with_raw_keys};
use crate::record::sealer::Padding;
use crate::session::client_store::ClientMemoryStore;

/// A client's configuration, shared by any number of connections.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let roots = tercel::pki::Roots::new();
/// let config = tercel::ClientConfig::builder().roots(roots).alpn(&["http/1.1"]).build()?;
/// # let _ = config; Ok(()) }
/// ```
#[derive(Clone)]
pub struct ClientConfig {
    pub(crate) common: Common,
    pub(crate) verifier: Policy<dyn VerifyPeer>,
    pub(crate) credentials: Option<Policy<dyn SelectCredential>>,
    pub(crate) pre_shared_keys: Vec<Arc<PreSharedKey>>,
    /// There is no verifier: a server that takes none of our keys is refused.
    pub(crate) only_pre_shared_keys: bool,
    pub(crate) server_certificate_types: Vec<CertificateType>,
    pub(crate) client_certificate_types: Vec<CertificateType>,
    /// Whole DER names, sent to servers. RFC 9846 4.3.4
    pub(crate) certificate_authorities: Vec<Vec<u8>>,
    pub(crate) key_shares: Option<Vec<NamedGroup>>,
    pub(crate) server_groups: Vec<NamedGroup>,
    pub(crate) send_server_name: bool,
    pub(crate) request_ocsp: bool,
    pub(crate) request_timestamps: bool,
    pub(crate) server_padding: Option<u16>,
    pub(crate) middlebox_compatibility: bool,
    pub(crate) shuffle_extensions: bool,
    pub(crate) grease: bool,
    pub(crate) fallback_scsv: bool,
    pub(crate) require_secure_renegotiation: bool,
    pub(crate) post_handshake_auth: bool,
    pub(crate) resumption: ClientResumption,
}

impl ClientConfig {
    /// A builder with safe defaults. It needs roots, another verifier, or pre-shared keys.
    #[must_use]
    pub fn builder() -> ClientConfigBuilder {
        ClientConfigBuilder {
            common: Common::new(),
            verifier: None,
            credentials: None,
            pre_shared_keys: Vec::new(),
            raw_keys: None,
            server_certificate_types: None,
            client_certificate_types: None,
            certificate_authorities: Vec::new(),
            key_shares: None,
            server_groups: Vec::new(),
            send_server_name: true,
            request_ocsp: true,
            request_timestamps: false,
            server_padding: None,
            middlebox_compatibility: true,
            shuffle_extensions: false,
            grease: false,
            fallback_scsv: false,
            require_secure_renegotiation: true,
            post_handshake_auth: false,
            resumption: ClientResumption::new(),
            default_store: true,
        }
    }
}

/// Builds a [`ClientConfig`].
#[derive(Clone)]
pub struct ClientConfigBuilder {
    common: Common,
    verifier: Option<Result<Policy<dyn VerifyPeer>, ConfigError>>,
    credentials: Option<Policy<dyn SelectCredential>>,
    pre_shared_keys: Vec<Arc<PreSharedKey>>,
    raw_keys: Option<Vec<SubjectPublicKeyInfoDer<'static>>>,
    server_certificate_types: Option<Vec<CertificateType>>,
    client_certificate_types: Option<Vec<CertificateType>>,
    pub(super) certificate_authorities: Vec<Vec<u8>>,
    key_shares: Option<Vec<NamedGroup>>,
    server_groups: Vec<NamedGroup>,
    send_server_name: bool,
    request_ocsp: bool,
    request_timestamps: bool,
    server_padding: Option<u16>,
    middlebox_compatibility: bool,
    shuffle_extensions: bool,
    grease: bool,
    fallback_scsv: bool,
    require_secure_renegotiation: bool,
    post_handshake_auth: bool,
    pub(super) resumption: ClientResumption,
    pub(super) default_store: bool,
}

common_setters!(ClientConfigBuilder);

impl ClientConfigBuilder {
    /// Trusts servers whose chain ends in one of these roots and whose leaf has the name asked for.
    #[must_use]
    pub fn roots(mut self, roots: Roots) -> Self {
        self.verifier = Some(from_roots(roots));
        self
    }

    /// Decides by another verifier, or by asking.
    #[must_use]
    pub fn verifier(mut self, verifier: Policy<dyn VerifyPeer>) -> Self {
        self.verifier = Some(Ok(verifier));
        self
    }

    /// Shows this certificate to servers that ask for one. To choose among several, see [`Self::credentials`].
    #[must_use]
    pub fn credential(mut self, credential: Credential) -> Self {
        let certificate_type = credential.certificate_type();
        self.client_certificate_types.get_or_insert(vec![certificate_type]);
        self.credentials(Policy::Here(Arc::new(Credentials::new(vec![credential]))))
    }

    /// Chooses among certificates for servers that ask for one.
    #[must_use]
    pub fn credentials(mut self, credentials: Policy<dyn SelectCredential>) -> Self {
        self.credentials = Some(credentials);
        self
    }

    /// Offers these keys, best first, behind a session's ticket if there is one. Default: none.
    ///
    /// With roots or a verifier beside them, a server may show a certificate instead; without, one that
    /// takes none of the keys is refused, and TLS 1.3 is all that is offered. A key is for one server: a client
    /// of several servers has a configuration for each. RFC 9257 4
    #[must_use]
    pub fn pre_shared_keys(mut self, keys: impl IntoIterator<Item = PreSharedKey>) -> Self {
        self.pre_shared_keys.extend(keys.into_iter().map(Arc::new));
        self
    }

    /// Trusts servers that show one of these raw public keys (`SubjectPublicKeyInfo`), besides
    /// those whose chain the roots or the verifier accept, if there are any. RFC 7250
    #[must_use]
    pub fn trusted_raw_keys(mut self, keys: Vec<SubjectPublicKeyInfoDer<'static>>) -> Self {
        self.raw_keys = Some(keys);
        self
    }

    /// The forms of certificate a server may show, best first. Default: those that can be judged by
    /// the roots, the verifier and the trusted raw keys given. RFC 7250
    #[must_use]
    pub fn server_certificate_types(mut self, types: &[CertificateType]) -> Self {
        self.server_certificate_types = Some(types.to_vec());
        self
    }

    /// The forms of certificate we can show, best first. Default: that of the one credential given,
    /// otherwise X.509 only. RFC 7250
    #[must_use]
    pub fn client_certificate_types(mut self, types: &[CertificateType]) -> Self {
        self.client_certificate_types = Some(types.to_vec());
        self
    }

    /// Lets servers ask for a certificate after the handshake too (TLS 1.3). Default: off. The receiver
    /// then yields [`crate::Opened::CertificateRequested`], which has to be answered;
    /// [`crate::Stream`] answers by itself. HTTP/2 does not allow it. RFC 9846 4.3.6, 4.7.2, RFC 8740
    #[must_use]
    pub fn post_handshake_auth(mut self, on: bool) -> Self {
        self.post_handshake_auth = on;
        self
    }

    /// The groups to send a key share for at once, of those that are used at all. Default: the first group,
    /// and the classic half of it when that is a group of ours too, which costs nothing.
    #[must_use]
    pub fn key_shares(mut self, groups: &[NamedGroup]) -> Self {
        self.key_shares = Some(groups.to_vec());
        self
    }

    /// Test seam. Groups that the server is known to take, in any order, from DNS or from an earlier connection. A share
    /// is then sent for the best of ours among them, instead of those of [`Self::key_shares`]. What is not true
    /// costs a round trip and nothing else. draft-ietf-tls-key-share-prediction 3
    #[cfg(all(feature = "testing", debug_assertions))]
    #[must_use]
    pub fn server_groups_hint(mut self, groups: &[NamedGroup]) -> Self {
        self.server_groups = groups.to_vec();
        self
    }

    /// Whether the server's name is sent. Default: yes. IP addresses are never sent. RFC 6066 3
    #[must_use]
    pub fn send_server_name(mut self, send: bool) -> Self {
        self.send_server_name = send;
        self
    }

    /// Whether an OCSP staple is asked for. Default: yes. What is made of it is up to the verifier:
    /// [`tercel_pki::OcspPolicy`]. RFC 6066 8
    #[must_use]
    pub fn request_ocsp(mut self, request: bool) -> Self {
        self.request_ocsp = request;
        self
    }

    /// Whether signed certificate timestamps are asked for. Default: no. RFC 6962 3.3.1
    #[must_use]
    pub fn request_signed_certificate_timestamps(mut self, request: bool) -> Self {
        self.request_timestamps = request;
        self
    }

    /// Test seam. Asks servers of TLS 1.3 for so many bytes more in their first flight, as if their certificates were that
    /// much larger. Default: not asked. For experiments with servers that know BoringSSL's extension
    /// `server_padding`, whose number is not registered. See [`crate::Facts::got_server_padding`].
    #[cfg(all(feature = "testing", debug_assertions))]
    #[must_use]
    pub fn request_server_padding(mut self, bytes: u16) -> Self {
        self.server_padding = Some(bytes);
        self
    }

    /// Middlebox compatibility mode. Default: on. RFC 9846 E.4
    #[must_use]
    pub fn middlebox_compatibility(mut self, on: bool) -> Self {
        self.middlebox_compatibility = on;
        self
    }

    /// Sends the extensions in another order each time. Default: off.
    #[must_use]
    pub fn shuffle_extensions(mut self, on: bool) -> Self {
        self.shuffle_extensions = on;
        self
    }

    /// Sends reserved values that servers must ignore. Default: off. RFC 8701
    #[must_use]
    pub fn grease(mut self, on: bool) -> Self {
        self.grease = on;
        self
    }

    /// Marks this connection as a repetition with a lower version. RFC 7507
    #[must_use]
    pub fn fallback_scsv(mut self, on: bool) -> Self {
        self.fallback_scsv = on;
        self
    }

    /// Refuses TLS 1.2 servers without the secure renegotiation indication. Default: on. RFC 5746 4.1
    #[must_use]
    pub fn require_secure_renegotiation(mut self, required: bool) -> Self {
        self.require_secure_renegotiation = required;
        self
    }

    /// The configuration.
    ///
    /// # Errors
    /// If something necessary is missing or contradicts itself.
    pub fn build(self) -> Result<Arc<ClientConfig>, ConfigError> {
        let mut common = self.common.checked()?;
        let (verifier, judged) = with_raw_keys(self.raw_keys, self.verifier.transpose()?)?;
        let server_certificate_types = self.server_certificate_types.unwrap_or(judged);
        let client_certificate_types =
            self.client_certificate_types.unwrap_or(certificate_types::DEFAULT.to_vec());
        if !certificate_types::are_sound(&server_certificate_types)
            || !certificate_types::are_sound(&client_certificate_types)
        {
            return Err(ConfigError::BadCertificateTypes);
        }
        check_authorities(&self.certificate_authorities)?;
        common.check_key_shares(self.key_shares.as_deref().unwrap_or_default())?;
        let mut resumption = self.resumption;
        if self.default_store && resumption.store.is_none() {
            resumption.store = Some(Arc::new(ClientMemoryStore::default()));
        }
        let keys = usable::keys(self.pre_shared_keys, &common)?;
        let only_pre_shared_keys = verifier.is_none();
        let verifier = match verifier {
            Some(verifier) => verifier,
            None if keys.is_empty() => return Err(ConfigError::NoVerifier),
            None => {
                let hashes: Vec<HashAlgorithm> = keys.iter().map(|key| key.hash()).collect();
                common.only_for_pre_shared_keys(&hashes);
                Policy::Here(Arc::new(TrustNobody) as Arc<dyn VerifyPeer>)
            }
        };
        if resumption.store.is_some() {
            let shows = self.credentials.is_some();
            let label = &resumption.label;
            resumption.context = client_context(label, &common, &verifier, shows, &keys)?;
        }
        Ok(Arc::new(ClientConfig {
            resumption,
            verifier,
            server_certificate_types,
            client_certificate_types,
            common,
            credentials: self.credentials,
            pre_shared_keys: keys,
            only_pre_shared_keys,
            certificate_authorities: self.certificate_authorities,
            key_shares: self.key_shares,
            server_groups: self.server_groups,
            send_server_name: self.send_server_name,
            request_ocsp: self.request_ocsp,
            request_timestamps: self.request_timestamps,
            server_padding: self.server_padding,
            middlebox_compatibility: self.middlebox_compatibility,
            shuffle_extensions: self.shuffle_extensions,
            grease: self.grease,
            fallback_scsv: self.fallback_scsv,
            require_secure_renegotiation: self.require_secure_renegotiation,
            post_handshake_auth: self.post_handshake_auth,
        }))
    }
}

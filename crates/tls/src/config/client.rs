//! The configuration of a client.

use std::sync::Arc;

use pki_types::SubjectPublicKeyInfoDer;
use tercel_crypto::HashAlgorithm;
use tercel_pki::Roots;
use tercel_wire::{CertificateType, CipherSuite, NamedGroup, ProtocolVersion, SignatureScheme};

use super::builder::common_setters;
use super::clock::Clock;
use super::common::Common;
use super::protocols::Protocols;
use super::resumption::{ClientResumption, client_context_digest};
use super::usable_psks;
use crate::auth::certificate_expectations::CertificateExpectations;
use crate::auth::certificate_types;
use crate::auth::compression::CompressCertificate;
use crate::auth::credential::{Credential, Credentials, SelectCredential};
use crate::auth::verifier::{RejectAllPeers, from_roots, with_raw_keys};
use crate::auth::verify_peer::VerifyPeer;
use crate::error::config::ConfigError;
use crate::key_log::KeyLog;
use crate::policy::Policy;
use crate::psk::PreSharedKey;
use crate::record::sealer::Padding;
use crate::resumption::client_memory_store::ClientMemoryStore;
use crate::side::Side;

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
    /// Whether there is no verifier. Then a server that selects no pre-shared key is refused.
    pub(crate) only_pre_shared_keys: bool,
    pub(crate) server_certificate_types: Vec<CertificateType>,
    pub(crate) client_certificate_types: Vec<CertificateType>,
    /// The certificate_authorities extension: DER names. RFC 9846 4.3.4
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
    /// Returns the requirements on a server's Certificate message.
    pub(crate) fn certificate_expectations(
        &self,
        certificate_type: CertificateType,
    ) -> CertificateExpectations<'_> {
        CertificateExpectations {
            side: Side::Server,
            ocsp: self.request_ocsp,
            timestamps: self.request_timestamps,
            certificate_type,
            schemes: &self.common.signature_schemes,
            compression: self.common.offered_compression(),
        }
    }

    /// Creates a builder with secure defaults. It needs roots, another verifier, or pre-shared
    /// keys.
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

/// A builder of a [`ClientConfig`].
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
    /// Sets the trusted roots. A server is trusted if its chain ends in one of them and its
    /// certificate is valid for the server's name.
    #[must_use]
    pub fn roots(mut self, roots: Roots) -> Self {
        self.verifier = Some(from_roots(roots));
        self
    }

    /// Sets the certificate authorities of the operating system as the trusted roots. The
    /// environment variables `SSL_CERT_FILE` and `SSL_CERT_DIR` are respected. Requires the feature
    /// `native-roots`, which is off by default.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let config = tercel::ClientConfig::builder().native_roots().build()?;
    /// # let _ = config; Ok(()) }
    /// ```
    #[cfg(feature = "native-roots")]
    #[cfg_attr(docsrs, doc(cfg(feature = "native-roots")))]
    #[must_use]
    pub fn native_roots(mut self) -> Self {
        self.verifier = Some(match Roots::native() {
            Ok(found) => from_roots(found.roots),
            Err(_) => Err(ConfigError::NoNativeRoots),
        });
        self
    }

    /// Sets the certificate authorities of Mozilla's root program, which are compiled in, as the
    /// trusted roots. Requires the feature `webpki-roots`, which is off by default.
    #[cfg(feature = "webpki-roots")]
    #[cfg_attr(docsrs, doc(cfg(feature = "webpki-roots")))]
    #[must_use]
    pub fn webpki_roots(self) -> Self {
        self.roots(Roots::webpki())
    }

    /// Sets who verifies servers: an object that is called during the handshake (`Policy::Here`),
    /// or the caller, who receives a `Question::VerifyPeer` (`Policy::Ask`).
    #[must_use]
    pub fn verifier(mut self, verifier: Policy<dyn VerifyPeer>) -> Self {
        self.verifier = Some(Ok(verifier));
        self
    }

    /// Sets the credential for servers that request client authentication. A second call replaces
    /// the first credential. To select among several credentials, see [`Self::credentials`].
    #[must_use]
    pub fn credential(mut self, credential: Credential) -> Self {
        let certificate_type = credential.certificate_type();
        self.client_certificate_types.get_or_insert(vec![certificate_type]);
        self.credentials(Policy::Here(Arc::new(Credentials::new(vec![credential]))))
    }

    /// Sets who selects the credential for servers that request client authentication: an object
    /// that is called during the handshake (`Policy::Here`), or the caller, who receives a
    /// `Question::SelectCredential` (`Policy::Ask`).
    #[must_use]
    pub fn credentials(mut self, credentials: Policy<dyn SelectCredential>) -> Self {
        self.credentials = Some(credentials);
        self
    }

    /// Adds pre-shared keys to offer, most preferred first. They follow a session's ticket if there
    /// is one. Default: none.
    ///
    /// If the configuration has roots or a verifier, a server may authenticate with a certificate
    /// instead. Otherwise a server that selects none of the keys is refused, and only TLS 1.3 is
    /// offered. A key is for one server: a client of several servers has a configuration for each.
    /// RFC 9257 4
    #[must_use]
    pub fn pre_shared_keys(mut self, keys: impl IntoIterator<Item = PreSharedKey>) -> Self {
        self.pre_shared_keys.extend(keys.into_iter().map(Arc::new));
        self
    }

    /// Sets the raw public keys (`SubjectPublicKeyInfo`) with which servers may authenticate.
    /// Servers with a chain that the roots or the verifier accept remain trusted. RFC 7250
    #[must_use]
    pub fn trusted_raw_keys(mut self, keys: Vec<SubjectPublicKeyInfoDer<'static>>) -> Self {
        self.raw_keys = Some(keys);
        self
    }

    /// Sets the certificate types accepted from servers, most preferred first. Default: those that
    /// the roots, the verifier and the trusted raw keys can verify. RFC 7250
    #[must_use]
    pub fn server_certificate_types(mut self, types: &[CertificateType]) -> Self {
        self.server_certificate_types = Some(types.to_vec());
        self
    }

    /// Sets the certificate types that the client can send, most preferred first. Default: the type
    /// of the credential if there is exactly one, otherwise X.509 only. RFC 7250
    #[must_use]
    pub fn client_certificate_types(mut self, types: &[CertificateType]) -> Self {
        self.client_certificate_types = Some(types.to_vec());
        self
    }

    /// Sets whether the client offers to authenticate after the handshake (TLS 1.3). Default: off.
    /// When a request arrives, the receiver returns [`crate::Opened::CertificateRequested`], which
    /// the caller has to answer. [`crate::Stream`] answers requests itself. HTTP/2 prohibits this
    /// authentication. RFC 9846 4.3.6, 4.7.2, RFC 8740
    #[must_use]
    pub fn post_handshake_auth(mut self, on: bool) -> Self {
        self.post_handshake_auth = on;
        self
    }

    /// Sets the groups for which the ClientHello contains a key share. Default: the first group. If
    /// that group is a hybrid and its traditional half is enabled too, a share for this half is
    /// added, since it needs no further computation.
    #[must_use]
    pub fn key_shares(mut self, groups: &[NamedGroup]) -> Self {
        self.key_shares = Some(groups.to_vec());
        self
    }

    /// Test seam. Sets groups that the server is known to support, in any order, from DNS or from
    /// an earlier connection. The client then sends a share for the best enabled group among them,
    /// instead of the shares set by [`Self::key_shares`]. A wrong hint costs only a round trip.
    /// draft-ietf-tls-key-share-prediction 3
    #[cfg(all(feature = "testing", debug_assertions))]
    #[must_use]
    pub fn server_groups_hint(mut self, groups: &[NamedGroup]) -> Self {
        self.server_groups = groups.to_vec();
        self
    }

    /// Sets whether the server's name is sent. Default: yes. IP addresses are never sent.
    /// RFC 6066 3
    #[must_use]
    pub fn send_server_name(mut self, send: bool) -> Self {
        self.send_server_name = send;
        self
    }

    /// Sets whether a stapled OCSP response is requested. Default: yes. The verifier decides
    /// whether the response is required: [`tercel_pki::OcspPolicy`]. RFC 6066 8
    #[must_use]
    pub fn request_ocsp(mut self, request: bool) -> Self {
        self.request_ocsp = request;
        self
    }

    /// Sets whether signed certificate timestamps are requested. Default: no. RFC 6962 3.3.1
    #[must_use]
    pub fn request_signed_certificate_timestamps(mut self, request: bool) -> Self {
        self.request_timestamps = request;
        self
    }

    /// Test seam. Sets the number of additional bytes to request in the first flight of a TLS 1.3
    /// server. The bytes simulate larger certificates. Default: not requested. The request uses
    /// BoringSSL's extension `server_padding`, whose number is not registered. See
    /// [`crate::ConnectionInfo::got_server_padding`].
    #[cfg(all(feature = "testing", debug_assertions))]
    #[must_use]
    pub fn request_server_padding(mut self, bytes: u16) -> Self {
        self.server_padding = Some(bytes);
        self
    }

    /// Sets whether middlebox compatibility mode is used. Default: on. RFC 9846 E.4
    #[must_use]
    pub fn middlebox_compatibility(mut self, on: bool) -> Self {
        self.middlebox_compatibility = on;
        self
    }

    /// Sets whether the extensions are sent in a random order. Default: off.
    #[must_use]
    pub fn shuffle_extensions(mut self, on: bool) -> Self {
        self.shuffle_extensions = on;
        self
    }

    /// Sets whether the client sends reserved values that servers must ignore: a cipher suite, a
    /// group with a key share, a version, a signature scheme, a PSK key exchange mode, an
    /// application protocol if there are any, and two extensions. Each connection chooses the
    /// values at random. Default: off. RFC 8701 3.1
    #[must_use]
    pub fn grease(mut self, on: bool) -> Self {
        self.grease = on;
        self
    }

    /// Sets whether TLS_FALLBACK_SCSV is sent, which marks the connection as a retry with a lower
    /// version. Default: off. RFC 7507
    #[must_use]
    pub fn fallback_scsv(mut self, on: bool) -> Self {
        self.fallback_scsv = on;
        self
    }

    /// Sets whether TLS 1.2 servers that do not indicate secure renegotiation are refused. Default:
    /// on. RFC 5746 4.1
    #[must_use]
    pub fn require_secure_renegotiation(mut self, required: bool) -> Self {
        self.require_secure_renegotiation = required;
        self
    }

    /// Builds the configuration.
    ///
    /// # Errors
    /// If a required option is missing, or options contradict each other: the [`ConfigError`] names
    /// the option.
    pub fn build(self) -> Result<Arc<ClientConfig>, ConfigError> {
        let mut common = self.common.checked()?;
        let (verifier, judged) = with_raw_keys(self.raw_keys, self.verifier.transpose()?)?;
        let server_certificate_types = self.server_certificate_types.unwrap_or(judged);
        let client_certificate_types =
            self.client_certificate_types.unwrap_or(certificate_types::DEFAULT.to_vec());
        if !certificate_types::is_valid_list(&server_certificate_types)
            || !certificate_types::is_valid_list(&client_certificate_types)
        {
            return Err(ConfigError::BadCertificateTypes);
        }
        check_authorities(&self.certificate_authorities)?;
        common.check_key_shares(self.key_shares.as_deref().unwrap_or_default())?;
        let mut resumption = self.resumption;
        if self.default_store && resumption.store.is_none() {
            resumption.store = Some(Arc::new(ClientMemoryStore::default()));
        }
        let keys = usable_psks::keys(self.pre_shared_keys, &common)?;
        let only_pre_shared_keys = verifier.is_none();
        let verifier = match verifier {
            Some(verifier) => verifier,
            None if keys.is_empty() => return Err(ConfigError::NoVerifier),
            None => {
                let hashes: Vec<HashAlgorithm> = keys.iter().map(|key| key.hash()).collect();
                common.only_for_pre_shared_keys(&hashes);
                Policy::Here(Arc::new(RejectAllPeers) as Arc<dyn VerifyPeer>)
            }
        };
        if resumption.store.is_some() {
            let shows = self.credentials.is_some();
            let session_context = &resumption.session_context;
            let requests = (self.request_ocsp, self.request_timestamps);
            resumption.context_digest =
                client_context_digest(session_context, &common, &verifier, shows, requests, &keys)?;
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

/// Checks the names of the certificate_authorities extension. No name may be empty, and the list
/// has to fit its length field and the ClientHello. RFC 9846 4.3.4
pub(super) fn check_authorities(names: &[Vec<u8>]) -> Result<(), ConfigError> {
    let all =
        names.iter().fold(0_usize, |sum, name| sum.saturating_add(name.len()).saturating_add(2));
    if all > MOST_OF_AUTHORITIES || names.iter().any(Vec::is_empty) {
        return Err(ConfigError::BadAuthorities);
    }
    Ok(())
}

/// The maximum length of the names: half of the maximum length of all extensions, so that the other
/// extensions fit too.
const MOST_OF_AUTHORITIES: usize = 1 << 15;

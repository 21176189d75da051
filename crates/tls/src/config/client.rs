//! The configuration of a client.

use std::sync::Arc;

use pki_types::SubjectPublicKeyInfoDer;
use tercel_crypto::PartsHash;
use tercel_pki::Roots;
use tercel_wire::{CertificateType, NamedGroup};

use super::common::Common;
use super::resumption::{ClientResumption, fingerprint, replacement_fingerprint, verifies_resumed};
use super::usable_psks;
use crate::auth::certificate_types;
use crate::auth::credential::{Credential, Credentials, SelectCredential};
#[cfg(feature = "native-roots")]
use crate::auth::native_roots::native_roots;
use crate::auth::verifier::{RefuseAnyPeer, from_roots, with_raw_keys};
use crate::auth::verify_peer::VerifyPeer;
use crate::error::config::ConfigError;
use crate::policy::Policy;
use crate::psk::PreSharedKey;
use crate::resumption::client_memory_store::ClientMemoryStore;
use crate::resumption::session::client_store::ClientSessionStore;

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
    pub(crate) server_padding: Option<u16>,
    pub(crate) middlebox_compatibility: bool,
    pub(crate) shuffle_extensions: bool,
    pub(crate) grease: bool,
    pub(crate) fallback_scsv: bool,
    #[cfg(feature = "ech")]
    pub(crate) ech_grease: bool,
    pub(crate) require_secure_renegotiation: bool,
    pub(crate) post_handshake_auth: bool,
    pub(crate) resumption: ClientResumption,
    /// Whether the private key of the credential is outside of the process.
    #[cfg(feature = "quic")]
    pub(super) asks_for_signatures: bool,
    #[cfg(feature = "quic")]
    pub(super) derived_for_quic: super::derived_for_quic::DerivedForQuic<ClientConfig>,
}

impl ClientConfig {
    /// Computes the digest of all options that decide which servers the client trusts: the session
    /// context, the trusted roots, the requests for staples and timestamps, the pre-shared keys,
    /// and the options `legacy_peer_keys` and `fips`. A session contains this digest, so that it is
    /// offered only by a configuration that trusts the same servers.
    ///
    /// The session context is added to these options and replaces none. If the verifier has no
    /// fingerprint, or the application selects credentials, a configuration without a session
    /// context shares no sessions. With a session context, the verifier verifies the server again
    /// ([`verifies_resumed`]).
    fn trust_digest(&self, own: Option<&Credential>) -> Result<[u8; 32], ConfigError> {
        let session_context = &self.resumption.session_context;
        let trusted = fingerprint(&self.verifier);
        let own: &[u8] = match (&self.credentials, own) {
            (None, _) => b"no credential",
            (Some(_), Some(own)) => own.id().leaf(),
            (Some(_), None) => b"selected by the application",
        };
        let is_known = trusted.is_some() && own != b"selected by the application";
        let replacement =
            if is_known { [0; 32] } else { replacement_fingerprint(session_context)? };
        let trusted = trusted.as_ref().map_or(&b"no fingerprint"[..], |trusted| trusted);
        // Both requests affect which certificates are accepted. Without a request for a staple, a
        // must-staple certificate is accepted (RFC 7633 4.2.3). A verifier may require timestamps,
        // which are sent only on request (RFC 6962 3.3.1).
        let staples =
            [u8::from(self.common.request_ocsp), u8::from(self.common.request_timestamps)];
        let mut hash = PartsHash::new();
        for part in [session_context, trusted, own, &replacement, &staples] {
            hash.add(part);
        }
        self.pre_shared_keys.iter().for_each(|key| hash.add(&key.fingerprint()));
        if self.common.fips {
            hash.add(b"fips");
        }
        if self.common.legacy_peer_keys {
            hash.add(b"legacy peer keys");
        }
        Ok(hash.finish())
    }

    /// Whether a session is kept although its server requested the client's certificate in the
    /// handshake. If the application selects a credential for each connection, a connection that
    /// resumes the session would authenticate as the client of this one.
    pub(crate) fn keeps_sessions_after_request(&self) -> bool {
        self.credentials.is_none() || self.resumption.has_one_identity
    }

    /// Computes the digest in the keys of stored sessions: of [`Self::trust_digest`] and the
    /// application protocols, because a session is most useful for the protocol it was made with.
    fn context_digest(&self, trust_digest: &[u8; 32]) -> [u8; 32] {
        let mut hash = PartsHash::new();
        hash.add(trust_digest);
        self.common.alpn.iter().for_each(|name| hash.add(name));
        hash.finish()
    }

    /// Returns a copy of this configuration that stores its sessions in `store`, and takes the
    /// sessions that it offers from there. A configuration without resumption is copied unchanged.
    ///
    /// This is for a store with the sessions of one connection, from which a program that has no
    /// store shared by all connections takes the sessions as values.
    #[must_use]
    pub fn with_session_store(&self, store: Arc<dyn ClientSessionStore>) -> Arc<Self> {
        let mut config = self.clone();
        if let Some(current) = &mut config.resumption.store {
            *current = store;
        }
        Arc::new(config)
    }

    /// Creates a builder with secure defaults. It needs roots, another verifier, or pre-shared
    /// keys.
    #[must_use]
    pub fn builder() -> ClientConfigBuilder {
        ClientConfigBuilder {
            config: ClientConfig {
                common: Common { request_ocsp: true, ..Common::new() },
                verifier: Policy::Here(Arc::new(RefuseAnyPeer)),
                credentials: None,
                pre_shared_keys: Vec::new(),
                only_pre_shared_keys: false,
                server_certificate_types: Vec::new(),
                client_certificate_types: Vec::new(),
                certificate_authorities: Vec::new(),
                key_shares: None,
                server_groups: Vec::new(),
                send_server_name: true,
                server_padding: None,
                middlebox_compatibility: true,
                shuffle_extensions: false,
                grease: false,
                fallback_scsv: false,
                #[cfg(feature = "ech")]
                ech_grease: false,
                require_secure_renegotiation: true,
                post_handshake_auth: false,
                resumption: ClientResumption::new(),
                #[cfg(feature = "quic")]
                asks_for_signatures: false,
                #[cfg(feature = "quic")]
                derived_for_quic: super::derived_for_quic::DerivedForQuic::new(),
            },
            verifier: None,
            own: None,
            raw_keys: None,
            server_certificate_types: None,
            client_certificate_types: None,
            default_store: true,
        }
    }
}

/// A builder of a [`ClientConfig`].
#[derive(Clone)]
pub struct ClientConfigBuilder {
    /// The configuration so far. `build` sets what depends on several options.
    pub(super) config: ClientConfig,
    verifier: Option<Result<Policy<dyn VerifyPeer>, ConfigError>>,
    /// The credential that `config.credentials` selects, if it is known.
    own: Option<Credential>,
    raw_keys: Option<Vec<SubjectPublicKeyInfoDer<'static>>>,
    server_certificate_types: Option<Vec<CertificateType>>,
    client_certificate_types: Option<Vec<CertificateType>>,
    default_store: bool,
}

setters! {
    for ClientConfigBuilder;

    /// Sets the trusted roots. A server is trusted if its chain ends in one of them and its
    /// certificate is valid for the server's name.
    pub fn roots(roots: Roots) => verifier = Some(from_roots(roots));

    /// Sets how servers are verified: by an object that is called during the handshake
    /// (`Policy::Here`), or by the caller, which receives a `Question::VerifyPeer` (`Policy::Ask`).
    pub fn verifier(verifier: Policy<dyn VerifyPeer>) => verifier = Some(Ok(verifier));

    /// Sets the raw public keys (`SubjectPublicKeyInfo`) with which servers may authenticate.
    /// Servers with a chain that the roots or the verifier accept remain trusted. RFC 7250
    pub fn trusted_raw_keys(keys: Vec<SubjectPublicKeyInfoDer<'static>>) => raw_keys = Some(keys);

    /// Sets the certificate types accepted from servers, most preferred first. Default: those that
    /// the roots, the verifier and the trusted raw keys can verify. RFC 7250
    pub fn server_certificate_types(types: &[CertificateType]) =>
        server_certificate_types = Some(types.to_vec());

    /// Sets the certificate types that the client can send, most preferred first. Default: the type
    /// of the credential if there is exactly one, otherwise X.509 only. RFC 7250
    pub fn client_certificate_types(types: &[CertificateType]) =>
        client_certificate_types = Some(types.to_vec());

    /// Sets whether the client offers to authenticate after the handshake (TLS 1.3). Default: off.
    /// When a request arrives, the receiver returns [`crate::Opened::CertificateRequested`], which
    /// the caller has to answer. [`crate::Stream`] answers requests itself. HTTP/2 prohibits this
    /// authentication. RFC 9846 4.3.6, 4.7.2, RFC 8740
    pub fn post_handshake_auth(on: bool) => config.post_handshake_auth = on;

    /// Sets the authorities announced to servers (TLS 1.3), so that a server with several chains
    /// sends one that the client trusts. Each is a DER `Name`, as [`tercel_pki::Roots::subjects`]
    /// returns them. The verifier decides which chains are accepted. Default: none, because the
    /// names enlarge the ClientHello and disclose which authorities the client trusts.
    /// RFC 9846 4.3.4
    pub fn certificate_authorities(names: Vec<Vec<u8>>) => config.certificate_authorities = names;

    /// Sets the groups for which the ClientHello contains a key share. Default: the first group. If
    /// that group is a hybrid and its traditional half is enabled too, a share for this half is
    /// added, since it needs no further computation.
    pub fn key_shares(groups: &[NamedGroup]) => config.key_shares = Some(groups.to_vec());

    /// Test seam. Sets groups that the server is known to support, in any order, from DNS or from
    /// an earlier connection. The client then sends a share for the best enabled group among them,
    /// instead of the shares set by [`Self::key_shares`]. A wrong hint costs only a round trip.
    /// draft-ietf-tls-key-share-prediction 3
    #[cfg(all(feature = "testing", debug_assertions))]
    pub fn server_groups_hint(groups: &[NamedGroup]) => config.server_groups = groups.to_vec();

    /// Sets whether the server's name is sent. Default: yes. IP addresses are never sent.
    /// RFC 6066 3
    pub fn send_server_name(send: bool) => config.send_server_name = send;

    /// Sets whether a stapled OCSP response is requested. Default: yes. The verifier decides
    /// whether the response is required: [`tercel_pki::OcspPolicy`]. RFC 6066 8
    pub fn request_ocsp(request: bool) => config.common.request_ocsp = request;

    /// Sets whether signed certificate timestamps are requested. Default: no. RFC 6962 3.3.1
    pub fn request_signed_certificate_timestamps(request: bool) =>
        config.common.request_timestamps = request;

    /// Test seam. Sets the number of additional bytes to request in the first flight of a TLS 1.3
    /// server. The bytes simulate larger certificates. Default: not requested. The request uses
    /// BoringSSL's extension `server_padding`, whose number is not registered. See
    /// [`crate::ConnectionInfo::got_server_padding`].
    #[cfg(all(feature = "testing", debug_assertions))]
    pub fn request_server_padding(bytes: u16) => config.server_padding = Some(bytes);

    /// Sets whether middlebox compatibility mode is used. Default: on. RFC 9846 E.4
    pub fn middlebox_compatibility(on: bool) => config.middlebox_compatibility = on;

    /// Sets whether the extensions are sent in a random order. Default: off.
    pub fn shuffle_extensions(on: bool) => config.shuffle_extensions = on;

    /// Sets whether the client sends reserved values that servers must ignore: a cipher suite, a
    /// group with a key share, a version, a signature scheme, a PSK key exchange mode, an
    /// application protocol if there are any, and two extensions. Each connection chooses the
    /// values at random. Default: off. RFC 8701 3.1
    pub fn grease(on: bool) => config.grease = on;

    /// Sets whether connections without another offer send the extension of Encrypted ClientHello
    /// with random contents, which servers ignore. An observer then cannot determine which
    /// connections use Encrypted ClientHello: see [`crate::ech`]. Default: off. RFC 9849 6.2
    #[cfg(feature = "ech")]
    pub fn ech_grease(on: bool) => config.ech_grease = on;

    /// Sets whether TLS_FALLBACK_SCSV is sent, which marks the connection as a retry with a lower
    /// version. Default: off. RFC 7507
    pub fn fallback_scsv(on: bool) => config.fallback_scsv = on;

    /// Sets whether TLS 1.2 servers that do not indicate secure renegotiation are refused. Default:
    /// on. RFC 5746 4.1
    pub fn require_secure_renegotiation(required: bool) =>
        config.require_secure_renegotiation = required;

    /// Sets the store for sessions. Default: a store in memory for this configuration only.
    pub fn session_store(store: Arc<dyn ClientSessionStore>) =>
        config.resumption.store = Some(store);

    /// Sets whether the caller is asked for a session to offer, with a
    /// `Question::FindClientSession`, instead of [`ClientSessionStore::take_session`]. Default: no.
    ///
    /// This is for stores that answer later, for example over a network. New sessions are passed to
    /// the [session store](Self::session_store) either way, unless they are
    /// [returned](Self::return_new_sessions): the methods `put_session` and `remove` of the store
    /// need no answer, so they can notify a task through a channel.
    pub fn ask_for_session(on: bool) => config.resumption.ask_for_session = on;

    /// Sets whether [`Receiver::take_new_sessions`](crate::Receiver::take_new_sessions) returns new
    /// sessions to the caller, and the [session store](Self::session_store) gets none. Default: no.
    ///
    /// This is for callers of the interface without I/O that have to know to which connection a
    /// session belongs. A session that is not taken is dropped with the connection. In TLS 1.2 a
    /// session that was resumed is returned again, since it can be resumed once more. After a fatal
    /// alert on a connection of TLS 1.2, its session must not be resumed: a session that is kept as
    /// a value is then no longer offered, and the store's [`ClientSessionStore::remove`] is called.
    /// RFC 5246 7.2.2
    pub fn return_new_sessions(on: bool) => config.resumption.return_new_sessions = on;

    /// Sets whether the client uses tickets in TLS 1.2. Default: yes. Without them, the ClientHello
    /// has no `session_ticket`, and sessions with a ticket are not offered. Sessions of TLS 1.3,
    /// which are always resumed by tickets, are not affected. RFC 5077 3.2
    pub fn tickets_tls12(on: bool) => config.resumption.tickets_tls12 = on;

    /// Sets whether early data is sent if the offered session allows it. Default: off.
    ///
    /// Early data can be replayed: send only data that the server may safely process twice.
    /// RFC 9846 8, F.5
    pub fn early_data(on: bool) => config.resumption.early_data = on;

    /// Sets whether the server's stored certificate is verified again before a session is offered.
    /// If the certificate is refused, a full handshake is performed. Default: off.
    ///
    /// Without this option, the certificate's end is checked nevertheless, unless
    /// [`resume_after_certificate`](Self::resume_after_certificate) is set.
    pub fn verify_resumed(on: bool) => config.resumption.verify_resumed = on;

    /// Sets whether a session is offered after the server's certificate has expired. Default: no,
    /// so that a session ends with the certificate that it was made with.
    ///
    /// This is for applications that decide about certificates themselves, and that resume the
    /// sessions of servers whose expired certificates they accept.
    pub fn resume_after_certificate(on: bool) => config.resumption.resume_after_certificate = on;

    /// Sets the context, for configurations that share a store. A session is offered only under an
    /// equal context, an equally configured verifier, an equal credential and equal application
    /// protocols.
    ///
    /// If the application has a verifier without a
    /// [fingerprint](crate::certificates::VerifyPeer::fingerprint), or selects the credentials,
    /// sessions are shared only with a context. Such a verifier then verifies the server again
    /// before each offer, as with [`verify_resumed`](Self::verify_resumed). Use one context only
    /// for configurations and connections that authenticate as the same client: with a context,
    /// sessions are kept although the application [selects](Self::credentials) a credential for
    /// each connection.
    pub fn session_context(context: &[u8]) => config.resumption.session_context = context.to_vec();
}

impl ClientConfigBuilder {
    /// Sets the certificate authorities of the operating system as the trusted roots. The
    /// environment variables `SSL_CERT_FILE` and `SSL_CERT_DIR` are respected: see
    /// [`Roots::native`]. Requires the feature `native-roots`, which is off by default.
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
        self.verifier = Some(match native_roots() {
            Ok(roots) => from_roots(roots),
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

    /// Sets how the credential is selected for servers that request client authentication: by an
    /// object that is called during the handshake (`Policy::Here`), or by the caller, which
    /// receives a `Question::SelectCredential` (`Policy::Ask`).
    ///
    /// A resumed session keeps the identity with which it was made, and no credential is selected.
    /// So a session is not kept if the server requested a certificate, except with a
    /// [`session_context`](Self::session_context), which states that all connections with it
    /// authenticate as the same client.
    #[must_use]
    pub fn credentials(mut self, credentials: Policy<dyn SelectCredential>) -> Self {
        self.config.credentials = Some(credentials);
        self.own = None;
        self
    }

    /// Sets the credential for servers that request client authentication. A second call replaces
    /// the first credential. To select among several credentials, see [`Self::credentials`].
    #[must_use]
    pub fn credential(mut self, credential: Credential) -> Self {
        let certificate_type = credential.certificate_type();
        #[cfg(feature = "quic")]
        {
            self.config.asks_for_signatures = credential.is_remote();
        }
        self.client_certificate_types.get_or_insert(vec![certificate_type]);
        let own = credential.clone();
        let set = Arc::new(Credentials::new(vec![credential]));
        Self { own: Some(own), ..self.credentials(Policy::Here(set)) }
    }

    /// Disables resumption and requests no tickets.
    #[must_use]
    pub fn without_resumption(mut self) -> Self {
        self.default_store = false;
        self.config.resumption.store = None;
        self
    }

    /// Adds pre-shared keys to offer, most preferred first. In the ClientHello they follow the
    /// ticket of a session, if one is offered. Default: none.
    ///
    /// If the configuration has roots or a verifier, a server may authenticate with a certificate
    /// instead. Otherwise a server that selects none of the keys is refused, and only TLS 1.3 is
    /// offered. A key is for one server: a client of several servers has a configuration for each.
    /// RFC 9257 4
    #[must_use]
    pub fn pre_shared_keys(mut self, keys: impl IntoIterator<Item = PreSharedKey>) -> Self {
        self.config.pre_shared_keys.extend(keys.into_iter().map(Arc::new));
        self
    }

    /// Builds the configuration.
    ///
    /// # Errors
    /// If a required option is missing, or options contradict each other: the [`ConfigError`] names
    /// the option.
    pub fn build(self) -> Result<Arc<ClientConfig>, ConfigError> {
        let mut config = self.config;
        let common = &mut config.common;
        common.prepare()?;
        let (verifier, verifiable_types) =
            with_raw_keys(self.raw_keys, self.verifier.transpose()?)?;
        common.check_legacy_peer_keys(verifier.as_ref())?;
        config.server_certificate_types = self.server_certificate_types.unwrap_or(verifiable_types);
        config.client_certificate_types =
            self.client_certificate_types.unwrap_or(certificate_types::DEFAULT.to_vec());
        if !certificate_types::is_valid_list(&config.server_certificate_types)
            || !certificate_types::is_valid_list(&config.client_certificate_types)
        {
            return Err(ConfigError::BadCertificateTypes);
        }
        check_authorities(&config.certificate_authorities)?;
        common.check_key_shares(config.key_shares.as_deref().unwrap_or_default())?;
        if self.default_store && config.resumption.store.is_none() {
            config.resumption.store = Some(Arc::new(ClientMemoryStore::default()));
        }
        config.pre_shared_keys = usable_psks::keys(config.pre_shared_keys, common)?;
        config.only_pre_shared_keys = verifier.is_none();
        match verifier {
            Some(verifier) => config.verifier = verifier,
            None if config.pre_shared_keys.is_empty() => return Err(ConfigError::NoVerifier),
            None => {
                let keys = config.pre_shared_keys.iter();
                common.only_for_pre_shared_keys(&keys.map(|key| key.hash()).collect::<Vec<_>>());
            }
        }
        let broken = config.broken_fips_rule(self.own.as_ref());
        config.common.set_fips_status(broken)?;
        if config.resumption.store.is_some() {
            let context = &config.resumption.session_context;
            config.resumption.has_one_identity = self.own.is_some() || !context.is_empty();
            config.resumption.verify_resumed =
                verifies_resumed(config.resumption.verify_resumed, &config.verifier, context);
            let trust_digest = config.trust_digest(self.own.as_ref())?;
            config.resumption.context_digest = config.context_digest(&trust_digest);
            config.resumption.trust_digest = trust_digest;
        }
        Ok(Arc::new(config))
    }
}

/// Checks the names of the certificate_authorities extension. No name may be empty, and the list
/// has to fit its length field and the ClientHello. RFC 9846 4.3.4
fn check_authorities(names: &[Vec<u8>]) -> Result<(), ConfigError> {
    let all =
        names.iter().fold(0_usize, |sum, name| sum.saturating_add(name.len()).saturating_add(2));
    if all > MAX_AUTHORITIES_LENGTH || names.iter().any(Vec::is_empty) {
        return Err(ConfigError::BadAuthorities);
    }
    Ok(())
}

/// The maximum length of the names: half of the maximum length of all extensions, so that the other
/// extensions fit too.
const MAX_AUTHORITIES_LENGTH: usize = 1 << 15;

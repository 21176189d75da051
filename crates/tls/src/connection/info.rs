//! [`ConnectionInfo`]: the negotiated parameters of a connection.

use core::fmt;

use pki_types::{CertificateDer, SubjectPublicKeyInfoDer, UnixTime};
use tercel_wire::{CertificateType, CipherSuite, NamedGroup, ProtocolVersion, SignatureScheme};

use crate::auth::chain::Chain;
use crate::auth::peer_certificate::PeerCertificate;
#[cfg(feature = "ech")]
use crate::ech::ConfigList;
use crate::fips::{FipsReason, FipsStatus};
use crate::keys::suite::Suite;
use crate::psk::PskReference;
use crate::resumption::session::Session;

/// The negotiated parameters of a connection, and the peer's certificate.
///
/// ```
/// # fn run(connection: tercel::Connection) {
/// let info = &connection.info;
/// println!("{}, {}, resumed: {}", info.version, info.cipher_suite, info.resumed);
/// if info.alpn.as_deref() == Some(b"h2") {
///     // Continue with HTTP/2.
/// }
/// if let Some(leaf) = info.peer_chain().first() {
///     println!("{:?}", tercel::pki::dns_names(leaf));
/// }
/// # }
/// ```
#[non_exhaustive]
pub struct ConnectionInfo {
    /// The protocol version.
    pub version: ProtocolVersion,
    /// The cipher suite.
    pub cipher_suite: CipherSuite,
    /// The key exchange group; `None` in a resumption without key exchange.
    pub group: Option<NamedGroup>,
    /// The scheme of the peer's handshake signature, if it signed.
    pub peer_signature_scheme: Option<SignatureScheme>,
    /// The scheme of this side's handshake signature, if it signed.
    pub own_signature_scheme: Option<SignatureScheme>,
    /// The application protocol. RFC 7301
    pub alpn: Option<Vec<u8>>,
    /// Server: the server name that the client requested. RFC 6066 3
    pub server_name: Option<String>,
    /// Whether a `HelloRetryRequest` was needed. RFC 9846 4.2.4
    pub retried: bool,
    /// Whether a session was resumed. False for an external pre-shared key.
    pub resumed: bool,
    /// TLS 1.2: whether the extended main secret is used. True in TLS 1.3. RFC 7627
    pub extended_main_secret: bool,
    /// TLS 1.2: whether the peer supports secure renegotiation. True in TLS 1.3. RFC 5746
    pub secure_renegotiation: bool,
    /// TLS 1.3: whether the client offered post-handshake authentication, and the connection
    /// permits it: not with an external key, and not with HTTP/2. RFC 9846 4.3.6, 4.4.2,
    /// RFC 9113 9.2.3
    pub post_handshake_auth: bool,
    /// Client: whether the server sent the requested padding.
    pub(crate) server_padding: bool,
    /// Server, if a TLS 1.3 session was resumed: the ticket's age that the client sent, minus the
    /// ticket's age by the server's clock, in milliseconds. The value is limited to the range of
    /// the type (24 days). RFC 9846 8.3
    pub ticket_age_skew: Option<i32>,
    /// Whether early data was offered, and whether it was accepted.
    pub early_data: EarlyData,
    /// The reason for [`EarlyData::Rejected`], if known. `None` in a restored connection.
    pub early_data_rejection: Option<EarlyDataRejection>,
    /// Whether the connection uses approved cryptography of a validated module only, which depends
    /// on its configuration.
    pub fips: FipsStatus,
    /// Whether Encrypted ClientHello was offered, and whether it was accepted. RFC 9849
    pub ech: Ech,
    /// The OCSP response (DER) that the peer stapled to its certificate. RFC 6066 8
    pub ocsp_response: Option<Vec<u8>>,
    /// The `SignedCertificateTimestampList` of the peer's certificate. RFC 6962 3.3
    pub signed_certificate_timestamps: Option<Vec<u8>>,
    /// The type of the server's certificate. After a resumption, this is the type in the original
    /// handshake. RFC 7250
    pub server_certificate_type: CertificateType,
    /// The type of the client's certificate. X.509 if no certificate was requested, and in every
    /// resumption. RFC 7250
    pub client_certificate_type: CertificateType,
    /// The raw public key that the peer sent instead of a chain, if any. RFC 7250
    pub peer_raw_public_key: Option<SubjectPublicKeyInfoDer<'static>>,
    pub(crate) peer_chain: Chain,
    pub(crate) cold: Option<Box<ColdInfo>>,
}

/// Rarely used fields, boxed to save memory in connections that do not use them.
#[derive(Debug, Default)]
pub(crate) struct ColdInfo {
    peer_certificate_digest: Option<[u8; 32]>,
    new_sessions: Vec<NewSession>,
    pre_shared_key: Option<PskReference>,
    outer_server_name: Option<String>,
    #[cfg(feature = "ech")]
    ech_retry_configs: ConfigList,
}

/// Wipes the sessions that were not taken.
impl Drop for ColdInfo {
    fn drop(&mut self) {
        for new in &mut self.new_sessions {
            tercel_crypto::wipe(&mut new.session);
        }
    }
}

/// A session that a server's application has to store, if the store of its configuration is
/// [`crate::Policy::Ask`].
#[derive(Clone, PartialEq, Eq)]
pub struct NewSession {
    /// The ID of the session, which a client sends to resume it. In TLS 1.2, remove the session
    /// after a fatal alert on one of its connections. RFC 5246 7.2.2
    pub id: Vec<u8>,
    /// The session, for the answer to a [`crate::questions::FindSessionQuestion`] with this ID. It
    /// contains secrets: the application that takes it has to wipe it.
    pub session: Vec<u8>,
    /// The time at which the session expires and can be removed.
    pub expires: UnixTime,
}

debug_fields!(NewSession: expires);

/// The result of offering early data. RFC 9846 4.3.10
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum EarlyData {
    /// The client offered no early data.
    #[default]
    NotOffered,
    /// The server accepted the early data.
    Accepted,
    /// The server rejected the early data: the client has to send the data again.
    Rejected,
}

/// The use of Encrypted ClientHello in a handshake. RFC 9849
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Ech {
    /// The client did not offer it, or this side does not use it.
    #[default]
    NotOffered,
    /// Client: an extension with random contents was sent. RFC 9849 6.2
    Grease,
    /// The encrypted ClientHello was used.
    Accepted,
    /// Server: a client-facing server has decrypted the ClientHello. RFC 9849 7
    Backend,
    /// Server: no key decrypts the ClientHello. The client's configuration is out of date, or the
    /// client sent random contents. A client's handshake ends with [`crate::Error::EchRejected`].
    Rejected,
}

/// The output contains no certificates, OCSP responses or keys.
impl fmt::Debug for ConnectionInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectionInfo")
            .field("version", &self.version)
            .field("cipher_suite", &self.cipher_suite)
            .field("group", &self.group)
            .field("alpn", &self.alpn.as_deref().map(String::from_utf8_lossy))
            .field("server_name", &self.server_name)
            .field("resumed", &self.resumed)
            .field("early_data", &self.early_data)
            .field("peer_chain", &self.peer_chain)
            .finish_non_exhaustive()
    }
}

/// The reason why early data was rejected. A client infers it from the handshake. RFC 9846 4.3.10
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EarlyDataRejection {
    /// The server sent a HelloRetryRequest. RFC 9846 4.2.4
    HelloRetryRequest,
    /// The session of the early data was not resumed.
    NotResumed,
    /// The session or the server's configuration allows no early data, or the configuration allows
    /// less than the session's ticket promised.
    NotAllowed,
    /// The cipher suite or the application protocol differs from the session's.
    ParametersChanged,
    /// The ticket's age is outside the freshness window. RFC 9846 8.3
    NotFresh,
    /// The replay guard did not admit the early data, or the ticket was issued under another guard.
    /// RFC 9846 8.2
    NotAdmitted,
    /// Client: the server resumed the session, but rejected the early data for an unknown reason.
    ByServer,
}

impl ConnectionInfo {
    /// Sets the reason why early data was rejected.
    pub(crate) fn reject_early_data(&mut self, reason: EarlyDataRejection) {
        self.early_data = EarlyData::Rejected;
        self.early_data_rejection = Some(reason);
    }

    pub(crate) fn new(version: ProtocolVersion, cipher_suite: CipherSuite) -> Self {
        Self {
            version,
            cipher_suite,
            group: None,
            peer_signature_scheme: None,
            own_signature_scheme: None,
            alpn: None,
            server_name: None,
            retried: false,
            resumed: false,
            extended_main_secret: version == ProtocolVersion::TLS1_3,
            secure_renegotiation: version == ProtocolVersion::TLS1_3,
            post_handshake_auth: false,
            server_padding: false,
            ticket_age_skew: None,
            early_data: EarlyData::NotOffered,
            early_data_rejection: None,
            fips: FipsStatus::No(FipsReason::Restored),
            ech: Ech::NotOffered,
            ocsp_response: None,
            signed_certificate_timestamps: None,
            server_certificate_type: CertificateType::X509,
            client_certificate_type: CertificateType::X509,
            peer_raw_public_key: None,
            peer_chain: Chain::default(),
            cold: None,
        }
    }

    /// Returns the fields that are known before the peer's Finished, for early data.
    pub(crate) fn before_finished(&self) -> Self {
        Self {
            group: self.group,
            alpn: self.alpn.clone(),
            server_name: self.server_name.clone(),
            retried: self.retried,
            resumed: self.resumed,
            ticket_age_skew: self.ticket_age_skew,
            early_data: self.early_data,
            fips: self.fips,
            ech: self.ech,
            ..Self::new(self.version, self.cipher_suite)
        }
    }

    /// Test seam. Client: returns whether the server sent the requested padding.
    #[cfg(all(feature = "testing", debug_assertions))]
    #[must_use]
    pub fn got_server_padding(&self) -> bool {
        self.server_padding
    }

    /// Takes the peer's certificate chain, leaf first. Empty if the peer sent no chain, or if the
    /// chain was taken before.
    #[must_use]
    pub fn take_peer_chain(&mut self) -> Vec<CertificateDer<'static>> {
        core::mem::take(&mut self.peer_chain).into_vec()
    }

    /// Takes the sessions to store, if the configuration's store is [`crate::Policy::Ask`].
    #[must_use]
    pub fn take_new_sessions(&mut self) -> Vec<NewSession> {
        self.cold.as_mut().map(|cold| core::mem::take(&mut cold.new_sessions)).unwrap_or_default()
    }

    /// Returns the [external identity](crate::psk::PreSharedKey::external_identity) of the
    /// pre-shared key that authenticated the peers instead of certificates. After a resumption, it
    /// is the key of the original handshake.
    #[must_use]
    pub fn pre_shared_key(&self) -> Option<&[u8]> {
        self.psk_reference().map(|key| key.external_identity.as_slice())
    }

    /// Returns the server name in the outer ClientHello, which observers see, if
    /// [`Self::ech`] is [`Ech::Accepted`]. RFC 9849 6.1
    #[must_use]
    pub fn outer_server_name(&self) -> Option<&str> {
        self.cold.as_ref()?.outer_server_name.as_deref()
    }

    #[cfg(feature = "ech")]
    pub(crate) fn set_outer_server_name(&mut self, name: Option<String>) {
        self.cold.get_or_insert_default().outer_server_name = name;
    }

    /// Takes the configurations that a server sent to a client whose configuration is out of date.
    #[cfg(feature = "ech")]
    pub(crate) fn take_ech_retry_configs(&mut self) -> ConfigList {
        self.cold
            .as_mut()
            .map(|cold| core::mem::take(&mut cold.ech_retry_configs))
            .unwrap_or_default()
    }

    #[cfg(feature = "ech")]
    pub(crate) fn set_ech_retry_configs(&mut self, configs: ConfigList) {
        self.cold.get_or_insert_default().ech_retry_configs = configs;
    }

    /// Creates a session from the negotiated parameters and the peer's identity. `now` and
    /// `authenticated` are those of [`Session::new`].
    pub(crate) fn to_session(
        &self,
        suite: &'static Suite,
        now: u64,
        authenticated: Option<u64>,
    ) -> Session {
        Session {
            extended: self.extended_main_secret,
            group: self.group,
            peer_signature_scheme: self.peer_signature_scheme,
            server_name: self.server_name.clone(),
            server_raw_key: self.server_certificate_type == CertificateType::RAW_PUBLIC_KEY,
            alpn: self.alpn.clone(),
            pre_shared_key: self.psk_reference().cloned(),
            peer_chain: self.peer_chain.clone(),
            peer_raw_public_key: self.peer_raw_public_key.clone(),
            peer_certificate_digest: self.peer_certificate_digest().copied(),
            ..Session::new(suite, now, authenticated)
        }
    }

    /// Copies the peer's identity from a resumed session.
    pub(crate) fn restore(&mut self, session: &Session) {
        self.server_certificate_type = session.server_certificate_type();
        self.peer_signature_scheme = session.peer_signature_scheme;
        if let Some(key) = &session.pre_shared_key {
            self.set_pre_shared_key(key.clone());
        }
        self.peer_chain.clone_from(&session.peer_chain);
        self.peer_raw_public_key.clone_from(&session.peer_raw_public_key);
        self.set_peer_certificate_digest(session.peer_certificate_digest);
        self.ocsp_response.clone_from(&session.ocsp_response);
        self.signed_certificate_timestamps.clone_from(&session.signed_certificate_timestamps);
    }

    /// Sets the content of the peer's Certificate message.
    pub(crate) fn set_peer(&mut self, peer: PeerCertificate) {
        self.peer_chain = peer.chain.into();
        self.peer_raw_public_key = peer.raw_public_key;
        self.ocsp_response = peer.ocsp_response;
        self.signed_certificate_timestamps = peer.signed_certificate_timestamps;
    }

    pub(crate) fn psk_reference(&self) -> Option<&PskReference> {
        self.cold.as_ref()?.pre_shared_key.as_ref()
    }

    pub(crate) fn set_pre_shared_key(&mut self, key: PskReference) {
        self.cold.get_or_insert_default().pre_shared_key = Some(key);
    }

    /// Whether the client may be authenticated after the handshake: not with an external key
    /// (RFC 9846 4.4.2), and not with HTTP/2, whose requests share the connection (RFC 9113 9.2.3).
    pub(crate) fn permits_post_handshake_auth(&self) -> bool {
        self.pre_shared_key().is_none() && self.alpn.as_deref() != Some(b"h2")
    }

    pub(crate) fn new_sessions(&self) -> &[NewSession] {
        self.cold.as_ref().map_or(&[], |cold| &cold.new_sessions)
    }

    pub(crate) fn add_new_session(&mut self, session: NewSession) {
        self.cold.get_or_insert_default().new_sessions.push(session);
    }

    /// Returns the SHA-256 digest of the client's certificate, if sessions contain only this
    /// digest. See `store_only_certificate_digests` of [`crate::server::ServerConfigBuilder`].
    #[must_use]
    pub fn peer_certificate_digest(&self) -> Option<&[u8; 32]> {
        self.cold.as_ref()?.peer_certificate_digest.as_ref()
    }

    pub(crate) fn set_peer_certificate_digest(&mut self, digest: Option<[u8; 32]>) {
        if digest.is_some() {
            self.cold.get_or_insert_default().peer_certificate_digest = digest;
        }
    }

    /// Returns the peer's certificate chain, leaf first. Empty if the peer sent no chain, or if the
    /// chain was taken.
    #[must_use]
    pub fn peer_chain(&self) -> &[CertificateDer<'static>] {
        &self.peer_chain
    }
}

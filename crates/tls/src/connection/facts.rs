//! What a handshake agreed on.
//!
//! Must not know: how it was agreed. Next: [`super`].

use pki_types::{CertificateDer, SubjectPublicKeyInfoDer, UnixTime};
use tercel_wire::{CertificateType, CipherSuite, NamedGroup, ProtocolVersion, SignatureScheme};

use crate::session::chain::Chain;

/// What was agreed, and what the peer showed of itself.
#[derive(Debug)]
#[non_exhaustive]
pub struct Facts {
    /// The protocol version.
    pub version: ProtocolVersion,
    /// The cipher suite.
    pub cipher_suite: CipherSuite,
    /// The key exchange group; `None` if a resumption went without.
    pub group: Option<NamedGroup>,
    /// The scheme with which the peer signed, if it did.
    pub peer_signature_scheme: Option<SignatureScheme>,
    /// The scheme with which our side signed, if it did.
    pub own_signature_scheme: Option<SignatureScheme>,
    /// The application protocol. RFC 7301
    pub alpn: Option<Vec<u8>>,
    /// On a server, the host name that the client asked for. RFC 6066 3
    pub server_name: Option<String>,
    /// Whether a `HelloRetryRequest` was needed. RFC 9846 4.2.4
    pub retried: bool,
    /// Whether an earlier session was resumed; a pre-shared key from outside of TLS is none.
    pub resumed: bool,
    /// TLS 1.2: whether the main secret is the extended one; always true in TLS 1.3. RFC 7627
    pub extended_main_secret: bool,
    /// TLS 1.2: whether the peer indicated secure renegotiation; always true in TLS 1.3. RFC 5746
    pub secure_renegotiation: bool,
    /// TLS 1.3: whether the client offered to be asked for a certificate after the handshake.
    /// RFC 9846 4.3.6
    pub post_handshake_auth: bool,
    /// On a client: whether the server sent the padding that it was asked for.
    pub(crate) server_padding: bool,
    /// On a server that resumed a session of TLS 1.3: by how many milliseconds the client thinks its ticket
    /// older than it is by our clock, or younger, if negative; 24 days are as much as can be told.
    /// RFC 9846 8.3
    pub ticket_age_skew: Option<i32>,
    /// What became of early data.
    pub early_data: EarlyData,
    /// The OCSP response that was stapled to the peer's certificate. RFC 6066 8
    pub ocsp_response: Option<Vec<u8>>,
    /// The `SignedCertificateTimestampList` of the peer's certificate. RFC 6962 3.3
    pub signed_certificate_timestamps: Option<Vec<u8>>,
    /// The form of the server's certificate, after a resumption of the one it showed before. RFC 7250
    pub server_certificate_type: CertificateType,
    /// The form of the client's certificate, if it was asked for one; X.509 after a resumption. RFC 7250
    pub client_certificate_type: CertificateType,
    /// The peer's key, if it showed that instead of a chain. RFC 7250
    pub peer_raw_public_key: Option<SubjectPublicKeyInfoDer<'static>>,
    pub(crate) peer_chain: Chain,
    pub(crate) rare: Option<Box<Rare>>,
}

/// What few connections have: the others need no room for it.
#[derive(Debug, Default)]
pub(crate) struct Rare {
    peer_certificate_digest: Option<[u8; 32]>,
    new_sessions: Vec<NewSession>,
    pre_shared_key: Option<UsedKey>,
}

/// Which external pre-shared key was used.
#[derive(Clone)]
pub(crate) struct UsedKey {
    /// Never empty.
    pub(crate) external_identity: Vec<u8>,
    pub(crate) fingerprint: [u8; 32],
}

impl core::fmt::Debug for UsedKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("UsedKey { .. }")
    }
}

/// A session that a server's application is to keep, because its configuration asks.
#[derive(Clone, PartialEq, Eq)]
pub struct NewSession {
    /// The name under which a client will ask for it. In TLS 1.2, to be forgotten after a connection that ended with a
    /// fatal alert. RFC 5246 7.2.2
    pub id: Vec<u8>,
    /// What to answer then. It holds keys: keep it as such.
    pub session: Vec<u8>,
    /// When it can be forgotten.
    pub expires: UnixTime,
}

impl core::fmt::Debug for NewSession {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("NewSession").field("expires", &self.expires).finish_non_exhaustive()
    }
}

/// What became of early data. RFC 9846 4.3.10
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum EarlyData {
    /// None was offered.
    #[default]
    NotOffered,
    /// The server accepted it.
    Accepted,
    /// The server rejected it: what was sent early has to be sent again.
    Rejected,
}

impl Facts {
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
            ocsp_response: None,
            signed_certificate_timestamps: None,
            server_certificate_type: CertificateType::X509,
            client_certificate_type: CertificateType::X509,
            peer_raw_public_key: None,
            peer_chain: Chain::default(),
            rare: None,
        }
    }

    /// What is known before the peer has finished, for who cannot wait for the rest.
    pub(crate) fn so_far(&self) -> Self {
        Self {
            group: self.group,
            alpn: self.alpn.clone(),
            server_name: self.server_name.clone(),
            retried: self.retried,
            resumed: self.resumed,
            ticket_age_skew: self.ticket_age_skew,
            early_data: self.early_data,
            ..Self::new(self.version, self.cipher_suite)
        }
    }

    /// Test seam. On a client: whether the server sent the padding that it was asked for.
    #[cfg(all(feature = "testing", debug_assertions))]
    #[must_use]
    pub fn got_server_padding(&self) -> bool {
        self.server_padding
    }

    /// The peer's certificates, leaf first; empty if it showed none, or if they were taken before.
    #[must_use]
    pub fn take_peer_chain(&mut self) -> Vec<CertificateDer<'static>> {
        core::mem::take(&mut self.peer_chain).into_vec()
    }

    /// The sessions to keep, if the configuration's store is [`crate::Policy::Ask`].
    #[must_use]
    pub fn take_new_sessions(&mut self) -> Vec<NewSession> {
        self.rare.as_mut().map(|rare| core::mem::take(&mut rare.new_sessions)).unwrap_or_default()
    }

    /// Whose external pre-shared key was used, now or in the handshake whose session was resumed: its name
    /// [outside of TLS](crate::PreSharedKey::external_identity). Neither side showed a certificate then.
    #[must_use]
    pub fn pre_shared_key(&self) -> Option<&[u8]> {
        self.used_key().map(|key| key.external_identity.as_slice())
    }

    pub(crate) fn used_key(&self) -> Option<&UsedKey> {
        self.rare.as_ref()?.pre_shared_key.as_ref()
    }

    pub(crate) fn set_pre_shared_key(&mut self, key: UsedKey) {
        self.rare.get_or_insert_default().pre_shared_key = Some(key);
    }

    pub(crate) fn new_sessions(&self) -> &[NewSession] {
        self.rare.as_ref().map_or(&[], |rare| &rare.new_sessions)
    }

    pub(crate) fn add_new_session(&mut self, session: NewSession) {
        self.rare.get_or_insert_default().new_sessions.push(session);
    }

    /// SHA-256 of the client's certificate, if sessions keep no more of it. See
    /// [`keep_only_certificate_digests`](crate::ServerConfigBuilder::keep_only_certificate_digests).
    #[must_use]
    pub fn peer_certificate_digest(&self) -> Option<&[u8; 32]> {
        self.rare.as_ref()?.peer_certificate_digest.as_ref()
    }

    pub(crate) fn set_peer_certificate_digest(&mut self, digest: Option<[u8; 32]>) {
        if digest.is_some() {
            self.rare.get_or_insert_default().peer_certificate_digest = digest;
        }
    }

    /// The peer's certificates without taking them.
    #[must_use]
    pub fn peer_chain(&self) -> &[CertificateDer<'static>] {
        &self.peer_chain
    }
}

//! The state of a resumable session, and its encoding. RFC 9846 4.7.1, RFC 5077 4
//!
//! One type serves both versions and both sides. A session is sealed in a ticket, or kept in a
//! store. Sealing detects every change of a ticket. A store may be a file, so the bytes for stores
//! include a checksum. Without it, a session with a damaged secret would be offered or accepted,
//! and the handshake would fail.

pub(crate) mod client_session;
pub(crate) mod client_store;
pub(crate) mod invalidation;
pub(crate) mod new_client_session;
pub(crate) mod server_session;
pub(crate) mod store;

use core::time::Duration;
use std::sync::{Arc, OnceLock};

use pki_types::{SubjectPublicKeyInfoDer, UnixTime};
use tercel_crypto::Secret;
use tercel_pki::ServerName;
use tercel_wire::{
    CertificateType, CipherSuite, NamedGroup, ProtocolVersion, Reader, SignatureScheme, Writer,
};

use super::codec::{
    not_empty, read_chain, read_code, read_name, read_psk_reference, write_chain,
    write_psk_reference,
};
use super::context_digest::ContextDigest;
use super::replay_guard::ReplayGuardId;
use crate::auth::chain::Chain;
use crate::auth::credential_id::SessionCredential;
use crate::auth::verify_peer::PeerIdentity;
use crate::keys::suite::{self, Suite};
use crate::keys::tls12::MainSecret12;
use crate::psk::PskReference;
use crate::record::limits;
use crate::side::Side;
use invalidation::StoredSession;

/// A session that can be resumed.
pub(crate) struct Session {
    pub(crate) version: ProtocolVersion,
    pub(crate) suite: &'static Suite,
    /// TLS 1.3: the pre-shared key. TLS 1.2: the main secret.
    pub(crate) secret: Secret,
    /// TLS 1.2: the value of [`Self::main_secret`], which is not encoded. It is boxed, because
    /// moving an empty cell that has the value inline would also copy uninitialized memory, which
    /// may contain old secrets.
    pub(crate) keyed_main_secret: OnceLock<Box<MainSecret12>>,
    /// TLS 1.2: a reference to the session in its store. It is set once a connection may have to
    /// remove the session, and is not encoded.
    pub(crate) stored: OnceLock<Arc<StoredSession>>,
    /// TLS 1.2: whether the extended main secret was used. RFC 7627 5.3
    pub(crate) extended: bool,
    /// The time at which the ticket was created, in seconds since the epoch.
    pub(crate) created: u64,
    /// The time of the original full handshake, in seconds since the epoch.
    pub(crate) authenticated: u64,
    /// The lifetime in seconds.
    pub(crate) lifetime: u32,
    /// `ticket_age_add`, which obfuscates the ticket's age. RFC 9846 4.3.11.1
    pub(crate) age_add: u32,
    pub(crate) max_early_data: u32,
    /// Server: the ID of the replay guard that has to admit early data. `None` if there is none.
    pub(crate) replay_guard: Option<Box<ReplayGuardId>>,
    pub(crate) group: Option<NamedGroup>,
    pub(crate) peer_signature_scheme: Option<SignatureScheme>,
    /// The server name. On a server, it is present only if the client sent it.
    pub(crate) server_name: Option<String>,
    /// Whether the server presented a raw public key. RFC 7250
    pub(crate) server_raw_key: bool,
    /// TLS 1.3: whether the ticket may be used for every name in the server's certificate.
    pub(crate) resumption_across_names: bool,
    pub(crate) alpn: Option<Vec<u8>>,
    /// The context digest: identifies the configurations that may resume the session.
    pub(crate) context_digest: ContextDigest,
    /// Server: the credential of the original full handshake. `None` if an external pre-shared key
    /// was used.
    pub(crate) credential: Option<SessionCredential>,
    /// Client: the ticket or session ID to send. Server: empty.
    pub(crate) identity: Vec<u8>,
    /// Client, TLS 1.2: whether `identity` is a ticket and not a session ID.
    pub(crate) by_ticket: bool,
    /// The external pre-shared key of the original handshake, which authenticates the peer.
    pub(crate) pre_shared_key: Option<PskReference>,
    pub(crate) peer_chain: Chain,
    /// Client: the time at which the server's certificate expires, in seconds since the epoch.
    /// `None` if it is not determined yet.
    pub(crate) chain_expires: Option<u64>,
    /// The raw public key that the peer presented instead of a chain. RFC 7250
    pub(crate) peer_raw_public_key: Option<SubjectPublicKeyInfoDer<'static>>,
    /// The SHA-256 digest of the peer's certificate, which is stored instead of the chain.
    pub(crate) peer_certificate_digest: Option<[u8; 32]>,
    pub(crate) ocsp_response: Option<Vec<u8>>,
    pub(crate) signed_certificate_timestamps: Option<Vec<u8>>,
    /// Present in a session that was made over QUIC.
    pub(crate) quic: Option<Box<QuicSession>>,
}

/// The part of a session that exists only over QUIC. RFC 9001 4.5, 4.6.3
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QuicSession {
    /// The number of the version of QUIC. Other versions do not resume the session. RFC 9369 5
    pub(crate) version: u32,
    /// Client: the transport parameters of the server. Server: empty.
    pub(crate) peer_parameters: Vec<u8>,
    /// The digest of the application context of early data.
    pub(crate) early_data_context: Option<[u8; 32]>,
}

/// The version of the encoding. Other versions are refused. Sessions of QUIC, and sessions with the
/// ID of a replay guard, have the same version and a flag, which older decoders refuse.
const FORMAT: u8 = 4;

/// The longest time, in seconds, for which certificates are trusted without a new check, however
/// often the session is renewed. RFC 9846 4.7.1
const MAX_AGE: u64 = limits::MAX_TICKET_LIFETIME as u64;

impl Session {
    /// Creates a session of this suite. The caller has to set its secret, its lifetime and the
    /// negotiated parameters. `now` and `authenticated` (the time of the original full handshake,
    /// if that was earlier) are seconds since the epoch.
    pub(crate) fn new(suite: &'static Suite, now: u64, authenticated: Option<u64>) -> Self {
        let tls13 = suite.is_tls13();
        Self {
            version: if tls13 { ProtocolVersion::TLS1_3 } else { ProtocolVersion::TLS1_2 },
            suite,
            secret: Secret::new(&[]),
            keyed_main_secret: OnceLock::new(),
            stored: OnceLock::new(),
            extended: tls13,
            created: now,
            authenticated: authenticated.unwrap_or(now),
            lifetime: 0,
            age_add: 0,
            max_early_data: 0,
            replay_guard: None,
            group: None,
            peer_signature_scheme: None,
            server_name: None,
            server_raw_key: false,
            resumption_across_names: false,
            alpn: None,
            context_digest: ContextDigest::NONE,
            credential: None,
            identity: Vec::new(),
            by_ticket: false,
            pre_shared_key: None,
            peer_chain: Chain::default(),
            chain_expires: None,
            peer_raw_public_key: None,
            peer_certificate_digest: None,
            ocsp_response: None,
            signed_certificate_timestamps: None,
            quic: None,
        }
    }

    /// TLS 1.2: returns the main secret. Hash states that depend only on the secret are computed on
    /// first use and shared by all handshakes that resume this session.
    pub(crate) fn main_secret(&self) -> &MainSecret12 {
        let make = || Box::new(MainSecret12::resumed(self.suite, self.secret.duplicate()));
        self.keyed_main_secret.get_or_init(make)
    }

    /// Client: whether the session is resumed by a ticket, and not by a session ID of TLS 1.2.
    pub(crate) fn has_ticket(&self) -> bool {
        self.by_ticket || self.version == ProtocolVersion::TLS1_3
    }

    /// Returns the peer's identity, as a verifier receives it.
    pub(crate) fn peer<'s>(
        &'s self,
        side: Side,
        server_name: Option<&'s ServerName<'static>>,
        ocsp_requested: bool,
        now: UnixTime,
    ) -> PeerIdentity<'s> {
        PeerIdentity {
            side,
            chain: &self.peer_chain,
            raw_public_key: self.peer_raw_public_key.as_deref(),
            server_name,
            ocsp_requested,
            ocsp_response: self.ocsp_response.as_deref(),
            signed_certificate_timestamps: self.signed_certificate_timestamps.as_deref(),
            now,
            resumed: true,
        }
    }

    /// Returns a copy of the session. The type does not implement `Clone`, so that copies of a
    /// secret are visible in review.
    pub(crate) fn duplicate(&self) -> Self {
        Self {
            secret: self.secret.duplicate(),
            keyed_main_secret: OnceLock::new(),
            replay_guard: self.replay_guard.clone(),
            stored: OnceLock::new(),
            server_name: self.server_name.clone(),
            alpn: self.alpn.clone(),
            identity: self.identity.clone(),
            pre_shared_key: self.pre_shared_key.clone(),
            peer_chain: self.peer_chain.clone(),
            peer_raw_public_key: self.peer_raw_public_key.clone(),
            ocsp_response: self.ocsp_response.clone(),
            signed_certificate_timestamps: self.signed_certificate_timestamps.clone(),
            quic: self.quic.clone(),
            ..*self
        }
    }

    /// Returns the type of the certificate that the server presented.
    pub(crate) fn server_certificate_type(&self) -> CertificateType {
        if self.server_raw_key { CertificateType::RAW_PUBLIC_KEY } else { CertificateType::X509 }
    }

    /// Whether the peer was authenticated with a certificate or raw public key.
    pub(crate) fn has_peer(&self) -> bool {
        !self.peer_chain.is_empty()
            || self.peer_raw_public_key.is_some()
            || self.peer_certificate_digest.is_some()
    }

    /// Whether the session may still be used.
    pub(crate) fn is_unexpired(&self, now: UnixTime) -> bool {
        let now = now.as_secs();
        let lifetime = u64::from(self.lifetime);
        // If the clock was set back, the age is 0.
        now.saturating_sub(self.created) < lifetime
            && now.saturating_sub(self.authenticated) < MAX_AGE
    }

    /// Returns the time at which the session expires.
    pub(crate) fn expires(&self) -> UnixTime {
        let end = self.created.saturating_add(u64::from(self.lifetime));
        let end = end.min(self.authenticated.saturating_add(MAX_AGE));
        UnixTime::since_unix_epoch(Duration::from_secs(end))
    }

    /// Encodes the session for a ticket. Returns `None` if a field is too long for its length
    /// prefix.
    pub(crate) fn to_bytes(&self) -> Option<Vec<u8>> {
        let mut bytes = Vec::with_capacity(self.max_encoded_length());
        let mut w = Writer::new(&mut bytes);
        w.u8(FORMAT);
        w.u16(self.version.0);
        w.u16(self.suite.code.0);
        w.opaque8(self.secret.as_bytes());
        let flags = [
            self.extended,
            self.by_ticket,
            self.resumption_across_names,
            self.server_raw_key,
            self.quic.is_some(),
            self.replay_guard.is_some(),
        ];
        w.u8(flags.into_iter().rev().fold(0, |bits, flag| bits << 1 | u8::from(flag)));
        w.u64(self.created);
        w.u64(self.authenticated);
        w.u32(self.lifetime);
        w.u32(self.age_add);
        w.u32(self.max_early_data);
        w.u16(self.group.map_or(0, |group| group.0));
        w.u16(self.peer_signature_scheme.map_or(0, |scheme| scheme.0));
        w.opaque8(self.server_name.as_deref().unwrap_or_default().as_bytes());
        w.opaque8(self.alpn.as_deref().unwrap_or_default());
        w.opaque8(&self.context_digest);
        SessionCredential::write(self.credential.as_ref(), &mut w);
        w.opaque16(&self.identity);
        write_psk_reference(&mut w, self.pre_shared_key.as_ref());
        write_chain(&mut w, &self.peer_chain);
        w.opaque16(self.peer_raw_public_key.as_deref().unwrap_or_default());
        w.opaque8(self.peer_certificate_digest.as_ref().map_or(&[], |digest| digest.as_slice()));
        w.opaque24(self.ocsp_response.as_deref().unwrap_or_default());
        w.opaque24(self.signed_certificate_timestamps.as_deref().unwrap_or_default());
        if let Some(quic) = &self.quic {
            w.u32(quic.version);
            w.opaque16(&quic.peer_parameters);
            w.opaque8(quic.early_data_context.as_ref().map_or(&[], |digest| digest.as_slice()));
        }
        if let Some(guard) = &self.replay_guard {
            w.bytes(&**guard);
        }
        w.finish().ok()?;
        Some(bytes)
    }

    /// Returns an upper bound for the length of both encodings. The full capacity of a buffer is
    /// allocated, because growing would leave copies of the secret in freed memory.
    pub(super) fn max_encoded_length(&self) -> usize {
        let of_chain =
            self.peer_chain.iter().map(|certificate| certificate.len().saturating_add(3));
        let parts = [
            self.identity.len(),
            self.pre_shared_key.as_ref().map_or(0, |key| key.external_identity.len()),
            self.peer_raw_public_key.as_ref().map_or(0, |key| key.len()),
            self.ocsp_response.as_ref().map_or(0, Vec::len),
            self.signed_certificate_timestamps.as_ref().map_or(0, Vec::len),
            self.quic.as_ref().map_or(0, |quic| quic.peer_parameters.len()),
            // This number covers all other fields, whose lengths are limited.
            1024,
        ];
        parts.into_iter().chain(of_chain).fold(0_usize, usize::saturating_add)
    }

    /// Encodes the session for a store: the encoding for a ticket, followed by a checksum.
    pub(crate) fn to_stored_bytes(&self) -> Option<Vec<u8>> {
        // The capacity is sufficient, see `max_encoded_length`.
        let mut bytes = self.to_bytes()?;
        let sum = checksum(&bytes);
        bytes.extend_from_slice(&sum);
        Some(bytes)
    }

    /// Decodes the bytes of [`Self::to_stored_bytes`], if their checksum is correct.
    pub(crate) fn from_stored_bytes(bytes: &[u8]) -> Option<Self> {
        let (bytes, found) = bytes.split_last_chunk()?;
        if checksum(bytes) != *found {
            return None;
        }
        Self::from_bytes(bytes)
    }

    /// Decodes the bytes of [`Self::to_bytes`]. Every field is checked, although the bytes are
    /// authenticated.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut r = Reader::new(bytes);
        if r.u8().ok()? != FORMAT {
            return None;
        }
        let version = ProtocolVersion(r.u16().ok()?);
        let suite = suite::find(CipherSuite(r.u16().ok()?))?;
        if suite.is_tls13() != (version == ProtocolVersion::TLS1_3) {
            return None;
        }
        // RFC 9846 4.7.1, RFC 5246 8.1
        let length = if suite.is_tls13() { suite.hash.output_len() } else { 48 };
        let secret = r.opaque8().ok().filter(|secret| secret.len() == length).map(Secret::new)?;
        let flags = r.u8().ok().filter(|flags| *flags < 64)?;
        let mut session = Self {
            version,
            suite,
            secret,
            keyed_main_secret: OnceLock::new(),
            stored: OnceLock::new(),
            extended: flags & 1 != 0,
            by_ticket: flags & 2 != 0,
            resumption_across_names: flags & 4 != 0,
            server_raw_key: flags & 8 != 0,
            created: r.u64().ok()?,
            authenticated: r.u64().ok()?,
            lifetime: r.u32().ok()?,
            age_add: r.u32().ok()?,
            max_early_data: r.u32().ok()?,
            replay_guard: None,
            group: read_code(&mut r, NamedGroup)?,
            peer_signature_scheme: read_code(&mut r, SignatureScheme)?,
            server_name: read_name(r.opaque8().ok()?)?,
            alpn: not_empty(r.opaque8().ok()?),
            context_digest: ContextDigest::read(r.opaque8().ok()?)?,
            credential: SessionCredential::read(&mut r)?,
            identity: r.opaque16().ok()?.to_vec(),
            pre_shared_key: read_psk_reference(&mut r)?,
            peer_chain: read_chain(&mut r)?.into(),
            chain_expires: None,
            peer_raw_public_key: not_empty(r.opaque16().ok()?).map(Into::into),
            peer_certificate_digest: read_digest(&mut r)?,
            ocsp_response: not_empty(r.opaque24().ok()?),
            signed_certificate_timestamps: not_empty(r.opaque24().ok()?),
            quic: if flags & 16 == 0 { None } else { Some(Box::new(QuicSession::read(&mut r)?)) },
        };
        if flags & 32 != 0 {
            session.replay_guard = Some(Box::new(*r.array().ok()?));
        }
        r.expect_end().ok()?;
        Some(session)
    }
}

impl QuicSession {
    fn read(r: &mut Reader<'_>) -> Option<Self> {
        let version = r.u32().ok()?;
        let peer_parameters = r.opaque16().ok()?.to_vec();
        let early_data_context = read_digest(r)?;
        Some(Self { version, peer_parameters, early_data_context })
    }
}

/// Reads an optional digest. Returns `None` if it has another length.
fn read_digest(r: &mut Reader<'_>) -> Option<Option<[u8; 32]>> {
    match r.opaque8().ok()? {
        [] => Some(None),
        digest => digest.try_into().ok().map(Some),
    }
}

/// A session as a value in a store. It zeroizes its secret on drop.
pub(super) trait SessionValue {
    fn from_session(session: Session) -> Self;
    fn session(&self) -> &Session;
}

/// Computes a checksum against accidental damage. It does not prevent forgery: a party that can
/// write to the store does not need to forge sessions. SHA-256 would take up to a third of a
/// client's work for a TLS 1.2 resumption.
///
/// Each step is a bijection of the sum. Therefore every change within one word of eight bytes is
/// detected, and all but one in 2^64 of the changes to several words. Each step multiplies twice.
/// After a single multiplication, a change of the highest bit would still change only one bit, and
/// a change of one bit in the lane's next word could cancel it. Words are summed in four
/// independent lanes for speed, since a session may contain long certificates.
fn checksum(bytes: &[u8]) -> [u8; 8] {
    let start = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    let step =
        |sum: u64, word: u64| (sum ^ word).wrapping_mul(ODD).rotate_left(29).wrapping_mul(ODD);
    let word = |bytes: &[u8]| bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
    let word = |bytes: &[u8]| match bytes.first_chunk() {
        Some(bytes) => u64::from_be_bytes(*bytes),
        None => word(bytes),
    };
    let (mut lanes, mut blocks) = ([start; 4], bytes.chunks_exact(4 * 8));
    for block in &mut blocks {
        for (lane, bytes) in lanes.iter_mut().zip(block.chunks_exact(8)) {
            *lane = step(*lane, word(bytes));
        }
    }
    let sum = blocks.remainder().chunks(8).map(word).fold(start, step);
    step(lanes.into_iter().fold(sum, step), 0).to_be_bytes()
}

/// 2^64 divided by the golden ratio, a multiplier that distributes bits well.
const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

#[cfg(test)]
mod tests;

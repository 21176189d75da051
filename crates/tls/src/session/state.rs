//! What two ends must remember of a session to resume it, and its bytes. RFC 9846 4.7.1, RFC 5077 4
//!
//! The same value serves both versions and both sides; it travels sealed in tickets, or lies in stores.
//! A seal notices every change of what is in it. A store may be a file, so the bytes for stores carry a
//! checksum: a session whose secret was damaged would be offered or accepted, and break the handshake.
//! Must not know: how it is sealed or stored. Next: `ticket/`, [`super::store`].

use core::time::Duration;
use std::sync::{Arc, OnceLock};

use pki_types::{ServerName, SubjectPublicKeyInfoDer, UnixTime};
use tercel_crypto::Secret;
use tercel_wire::{
    CertificateType, CipherSuite, NamedGroup, ProtocolVersion, Reader, SignatureScheme, Writer,
};

use super::chain::Chain;
use super::context::Context;
use super::credential_id::SessionCredential;
use super::parts::{
    not_empty, read_chain, read_code, read_name, read_used_key, write_chain, write_used_key,
};
use super::stored::StoredSession;
use crate::config::policy::{PeerIdentity, Side};
use crate::connection::facts::{Facts, UsedKey};
use crate::keys::suite::{self, Suite};
use crate::keys::tls12::MainSecret12;

/// A session that can be resumed.
pub(crate) struct Session {
    pub(crate) version: ProtocolVersion,
    pub(crate) suite: &'static Suite,
    /// TLS 1.3: the pre-shared key. TLS 1.2: the main secret.
    pub(crate) secret: Secret,
    /// TLS 1.2, see [`Self::main_secret`]. Not part of the bytes; in a box, for room without a value in it may bring
    /// what lay there before.
    pub(crate) ready: OnceLock<Box<MainSecret12>>,
    /// TLS 1.2: where it is kept, once a connection may have to say that it is to be forgotten. Not part of the bytes.
    pub(crate) stored: OnceLock<Arc<StoredSession>>,
    /// TLS 1.2: whether the main secret is the extended one. RFC 7627 5.3
    pub(crate) extended: bool,
    /// Seconds since the epoch at which the ticket was made.
    pub(crate) created: u64,
    /// Seconds since the epoch of the full handshake behind it, which a chain of resumptions keeps.
    pub(crate) authenticated: u64,
    /// Seconds for which it may be used.
    pub(crate) lifetime: u32,
    /// What obfuscates the ticket's age. RFC 9846 4.3.11.1
    pub(crate) age_add: u32,
    pub(crate) max_early_data: u32,
    pub(crate) group: Option<NamedGroup>,
    pub(crate) peer_signature_scheme: Option<SignatureScheme>,
    /// The name that the client asked for. A client knows it in any case, a server if it was sent.
    pub(crate) server_name: Option<String>,
    /// Whether the server showed a raw public key. RFC 7250
    pub(crate) server_raw_key: bool,
    /// TLS 1.3: whether the ticket is good for every name of the server's certificate.
    pub(crate) across_names: bool,
    pub(crate) alpn: Option<Vec<u8>>,
    /// Which configuration made it. Sessions of another are not accepted.
    pub(crate) context: Context,
    /// Server: the credential that was shown in the full handshake behind it. `None` if an external pre-shared key was used.
    pub(crate) credential: Option<SessionCredential>,
    /// Client: the ticket or session id to show. Server: empty.
    pub(crate) identity: Vec<u8>,
    /// Client, TLS 1.2: `identity` is a ticket, not a session id.
    pub(crate) by_ticket: bool,
    /// The external pre-shared key behind it, which stands for the peer.
    pub(crate) pre_shared_key: Option<UsedKey>,
    pub(crate) peer_chain: Chain,
    /// Client: seconds since the epoch at which the server's certificate ends, once somebody has looked.
    pub(crate) chain_ends: Option<u64>,
    /// What the peer showed in place of a chain. RFC 7250
    pub(crate) peer_raw_public_key: Option<SubjectPublicKeyInfoDer<'static>>,
    /// SHA-256 of the peer's certificate, in place of its chain.
    pub(crate) peer_certificate_digest: Option<[u8; 32]>,
    pub(crate) ocsp_response: Option<Vec<u8>>,
    pub(crate) signed_certificate_timestamps: Option<Vec<u8>>,
}

/// The form of the bytes; another number is another form and is not read.
const FORMAT: u8 = 4;

/// However often it is renewed, a session does not outlive its certificates' check by more. RFC 9846 4.7.1
const MAX_AGE: u64 = 604_800;

impl Session {
    /// A session after this handshake; the secret and what belongs to one ticket are still to come.
    pub(crate) fn of(
        suite: &'static Suite,
        facts: &Facts,
        now: u64,
        authenticated: Option<u64>,
    ) -> Self {
        Self {
            version: facts.version,
            suite,
            secret: Secret::new(&[]),
            ready: OnceLock::new(),
            stored: OnceLock::new(),
            extended: facts.extended_main_secret,
            created: now,
            authenticated: authenticated.unwrap_or(now),
            lifetime: 0,
            age_add: 0,
            max_early_data: 0,
            group: facts.group,
            peer_signature_scheme: facts.peer_signature_scheme,
            server_name: facts.server_name.clone(),
            server_raw_key: facts.server_certificate_type == CertificateType::RAW_PUBLIC_KEY,
            across_names: false,
            alpn: facts.alpn.clone(),
            context: Context::NONE,
            credential: None,
            identity: Vec::new(),
            by_ticket: false,
            pre_shared_key: facts.used_key().cloned(),
            peer_chain: facts.peer_chain.clone(),
            chain_ends: None,
            peer_raw_public_key: facts.peer_raw_public_key.clone(),
            peer_certificate_digest: facts.peer_certificate_digest().copied(),
            ocsp_response: None,
            signed_certificate_timestamps: None,
        }
    }

    /// TLS 1.2: the main secret, made ready when it is needed first. What is hashed of it alone is hashed once for all
    /// handshakes that it is met in.
    pub(crate) fn main_secret(&self) -> &MainSecret12 {
        let make = || Box::new(MainSecret12::resumed(self.suite, self.secret.duplicate()));
        self.ready.get_or_init(make)
    }

    /// What a verifier gets to see of the peer.
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
        }
    }

    /// A second session like this one, by a word that shows in review.
    pub(crate) fn duplicate(&self) -> Self {
        Self {
            secret: self.secret.duplicate(),
            ready: OnceLock::new(),
            stored: OnceLock::new(),
            server_name: self.server_name.clone(),
            alpn: self.alpn.clone(),
            identity: self.identity.clone(),
            pre_shared_key: self.pre_shared_key.clone(),
            peer_chain: self.peer_chain.clone(),
            peer_raw_public_key: self.peer_raw_public_key.clone(),
            ocsp_response: self.ocsp_response.clone(),
            signed_certificate_timestamps: self.signed_certificate_timestamps.clone(),
            ..*self
        }
    }

    /// What the facts of a resumed handshake take over from the first one.
    pub(crate) fn tell(&self, facts: &mut Facts) {
        facts.server_certificate_type = self.server_certificate_type();
        facts.peer_signature_scheme = self.peer_signature_scheme;
        if let Some(key) = &self.pre_shared_key {
            facts.set_pre_shared_key(key.clone());
        }
        facts.peer_chain.clone_from(&self.peer_chain);
        facts.peer_raw_public_key.clone_from(&self.peer_raw_public_key);
        facts.set_peer_certificate_digest(self.peer_certificate_digest);
        facts.ocsp_response.clone_from(&self.ocsp_response);
        facts.signed_certificate_timestamps.clone_from(&self.signed_certificate_timestamps);
    }

    /// The form of the certificate that the server showed.
    pub(crate) fn server_certificate_type(&self) -> CertificateType {
        if self.server_raw_key { CertificateType::RAW_PUBLIC_KEY } else { CertificateType::X509 }
    }

    /// Whether the peer showed who it is.
    pub(crate) fn has_peer(&self) -> bool {
        !self.peer_chain.is_empty()
            || self.peer_raw_public_key.is_some()
            || self.peer_certificate_digest.is_some()
    }

    /// Whether it may still be used.
    pub(crate) fn is_fresh(&self, now: UnixTime) -> bool {
        let now = now.as_secs();
        let lifetime = u64::from(self.lifetime);
        // A clock that was set back makes nothing older than new.
        now.saturating_sub(self.created) < lifetime
            && now.saturating_sub(self.authenticated) < MAX_AGE
    }

    /// Until when it may be used.
    pub(crate) fn expires(&self) -> UnixTime {
        let end = self.created.saturating_add(u64::from(self.lifetime));
        let end = end.min(self.authenticated.saturating_add(MAX_AGE));
        UnixTime::since_unix_epoch(Duration::from_secs(end))
    }

    /// The bytes for a seal, or `None` if a part is longer than its length field.
    pub(crate) fn to_bytes(&self) -> Option<Vec<u8>> {
        let mut bytes = Vec::with_capacity(self.room());
        let mut w = Writer::new(&mut bytes);
        w.u8(FORMAT);
        w.u16(self.version.0);
        w.u16(self.suite.code.0);
        w.opaque8(self.secret.as_bytes());
        let flags = [self.extended, self.by_ticket, self.across_names, self.server_raw_key];
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
        w.opaque8(&self.context);
        SessionCredential::write(self.credential.as_ref(), &mut w);
        w.opaque16(&self.identity);
        write_used_key(&mut w, self.pre_shared_key.as_ref());
        write_chain(&mut w, &self.peer_chain);
        w.opaque16(self.peer_raw_public_key.as_deref().unwrap_or_default());
        w.opaque8(self.peer_certificate_digest.as_ref().map_or(&[], |digest| digest.as_slice()));
        w.opaque24(self.ocsp_response.as_deref().unwrap_or_default());
        w.opaque24(self.signed_certificate_timestamps.as_deref().unwrap_or_default());
        w.finish().ok()?;
        Some(bytes)
    }

    /// At least the bytes of either form, from the start: what grows leaves its secret behind.
    pub(super) fn room(&self) -> usize {
        let of_chain =
            self.peer_chain.iter().map(|certificate| certificate.len().saturating_add(3));
        let parts = [
            self.identity.len(),
            self.pre_shared_key.as_ref().map_or(0, |key| key.external_identity.len()),
            self.peer_raw_public_key.as_ref().map_or(0, |key| key.len()),
            self.ocsp_response.as_ref().map_or(0, Vec::len),
            self.signed_certificate_timestamps.as_ref().map_or(0, Vec::len),
            // Everything else is at most as long as its fields are, and those are short.
            1024,
        ];
        parts.into_iter().chain(of_chain).fold(0_usize, usize::saturating_add)
    }

    /// The bytes for a store: those for a seal, and a checksum of them.
    pub(crate) fn to_stored_bytes(&self) -> Option<Vec<u8>> {
        // `to_bytes` leaves room enough.
        let mut bytes = self.to_bytes()?;
        let sum = checksum(&bytes);
        bytes.extend_from_slice(&sum);
        Some(bytes)
    }

    /// The session that [`Self::to_stored_bytes`] wrote, if not a bit of it has changed.
    pub(crate) fn from_stored_bytes(bytes: &[u8]) -> Option<Self> {
        let (bytes, found) = bytes.split_last_chunk()?;
        if checksum(bytes) != *found {
            return None;
        }
        Self::from_bytes(bytes)
    }

    /// The session in bytes for a seal. They come out of our own, yet nothing is taken on trust.
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
        let flags = r.u8().ok().filter(|flags| *flags < 16)?;
        let session = Self {
            version,
            suite,
            secret,
            ready: OnceLock::new(),
            stored: OnceLock::new(),
            extended: flags & 1 != 0,
            by_ticket: flags & 2 != 0,
            across_names: flags & 4 != 0,
            server_raw_key: flags & 8 != 0,
            created: r.u64().ok()?,
            authenticated: r.u64().ok()?,
            lifetime: r.u32().ok()?,
            age_add: r.u32().ok()?,
            max_early_data: r.u32().ok()?,
            group: read_code(&mut r, NamedGroup)?,
            peer_signature_scheme: read_code(&mut r, SignatureScheme)?,
            server_name: read_name(r.opaque8().ok()?)?,
            alpn: not_empty(r.opaque8().ok()?),
            context: Context::read(r.opaque8().ok()?)?,
            credential: SessionCredential::read(&mut r)?,
            identity: r.opaque16().ok()?.to_vec(),
            pre_shared_key: read_used_key(&mut r)?,
            peer_chain: read_chain(&mut r)?.into(),
            chain_ends: None,
            peer_raw_public_key: not_empty(r.opaque16().ok()?).map(Into::into),
            peer_certificate_digest: match r.opaque8().ok()? {
                [] => None,
                digest => Some(digest.try_into().ok()?),
            },
            ocsp_response: not_empty(r.opaque24().ok()?),
            signed_certificate_timestamps: not_empty(r.opaque24().ok()?),
        };
        r.expect_end().ok()?;
        Some(session)
    }
}

/// Against damage, not against forgery: who may write a store has better means. SHA-256 was up to a third
/// of what a client does to resume TLS 1.2.
///
/// Each step maps different sums to different ones, so no change within one word of eight bytes goes
/// unnoticed; of all changes to several words, one in 2^64 does. After one multiplication a changed highest bit
/// would be one changed bit still, which another in the lane's next word takes back: hence two. Most of a session
/// is certificates, so its words are summed in lanes, which do not wait for one another.
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

/// 2^64 divided by the golden ratio, which spreads bits well.
const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

#[cfg(test)]
mod tests;

//! The options that clients and servers share.

use std::sync::Arc;

#[cfg(feature = "quic")]
use tercel_crypto::Hash;
use tercel_crypto::{HashAlgorithm, Kernel, kernel_state};
use tercel_wire::{CertificateType, CipherSuite, NamedGroup, ProtocolVersion, SignatureScheme};

use super::clock::{Clock, SystemClock};
use super::protocols::Protocols;
use crate::auth::certificate_expectations::CertificateExpectations;
use crate::auth::compression::{self, CompressCertificate};
use crate::auth::verify_peer::VerifyPeer;
use crate::error::PeerError;
use crate::error::config::ConfigError;
use crate::fips::{FipsReason, FipsStatus};
use crate::key_log::KeyLog;
use crate::keys::scheme::SIGNATURE_SCHEMES;
use crate::keys::suite::Suite;
use crate::keys::{group, scheme, suite};
use crate::policy::Policy;
use crate::record::limits;
use crate::record::sealer::Padding;
use crate::resumption::session::{QuicSession, Session};
use crate::side::Side;

/// The options of a configuration that client and server have in common.
#[derive(Clone)]
pub(crate) struct Common {
    pub(crate) versions: Vec<ProtocolVersion>,
    pub(crate) suites: Vec<&'static Suite>,
    /// Whether the application chose the suites. If not, a server selects ChaCha20 for clients that
    /// prefer it.
    pub(crate) suites_chosen: bool,
    /// A chosen suite that is not implemented. With it the configuration cannot be built.
    pub(super) unknown_suite: Option<CipherSuite>,
    pub(crate) groups: Vec<NamedGroup>,
    pub(crate) signature_schemes: Vec<SignatureScheme>,
    /// The algorithms that compress the certificates of this side.
    pub(crate) certificate_compression: Vec<Arc<dyn CompressCertificate>>,
    /// The algorithms accepted from peers, if `offer_certificate_compression` is set.
    pub(crate) certificate_decompression: Vec<Arc<dyn CompressCertificate>>,
    pub(crate) offer_certificate_compression: bool,
    /// The schemes in the signature_algorithms_cert extension. `None`: the extension is not sent.
    pub(crate) certificate_signature_schemes: Option<Vec<SignatureScheme>>,
    /// Whether stapled OCSP responses are requested with the peer's certificate.
    pub(crate) request_ocsp: bool,
    /// Whether signed certificate timestamps are requested with the peer's certificate.
    pub(crate) request_timestamps: bool,
    /// Whether old RSA keys of peers are accepted.
    pub(crate) legacy_peer_keys: bool,
    pub(crate) alpn: Protocols,
    pub(crate) record_size_limit: Option<u16>,
    pub(crate) max_fragment: u16,
    pub(crate) padding: Padding,
    pub(crate) require_extended_main_secret: bool,
    pub(crate) tolerate_truncation: bool,
    pub(crate) key_log: Option<Arc<dyn KeyLog>>,
    pub(crate) clock: Arc<dyn Clock>,
    /// Whether only approved options are used, and choices in handshakes are checked.
    pub(crate) fips: bool,
    /// Set when the configuration is built.
    pub(crate) fips_status: FipsStatus,
    #[cfg(feature = "quic")]
    pub(super) quic_options: QuicOptions,
    /// The rules of a configuration for QUIC. `None` in a configuration for TCP.
    pub(crate) quic: Option<QuicRules>,
}

/// The options of a configuration that have an effect only over QUIC.
#[cfg(feature = "quic")]
#[derive(Clone, Default)]
pub(crate) struct QuicOptions {
    /// The digest of the application context that early data needs.
    pub(super) early_data_context: Option<[u8; 32]>,
    pub(super) alpn_by_other_means: bool,
}

#[cfg(feature = "quic")]
impl QuicOptions {
    /// Returns the digest of an application context, which sessions contain.
    pub(super) fn context_digest(context: &[u8]) -> Option<[u8; 32]> {
        Hash::digest(HashAlgorithm::Sha256, &[context]).first_chunk().copied()
    }
}

/// The rules of a configuration for QUIC.
#[derive(Clone)]
pub(crate) struct QuicRules {
    /// The number of the version of QUIC.
    pub(crate) version: u32,
    /// Whether handshakes without an application protocol fail. RFC 9001 8.1
    pub(crate) requires_alpn: bool,
    /// The digest of the application context that early data needs. `None`: no early data.
    pub(crate) early_data_context: Option<[u8; 32]>,
}

impl Common {
    pub(crate) fn new() -> Self {
        Self {
            versions: vec![ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2],
            suites: default_suites(),
            suites_chosen: false,
            unknown_suite: None,
            groups: GROUPS.to_vec(),
            signature_schemes: SIGNATURE_SCHEMES.to_vec(),
            certificate_compression: compression::sent_by_default(),
            certificate_decompression: compression::compiled(),
            offer_certificate_compression: false,
            certificate_signature_schemes: None,
            request_ocsp: false,
            request_timestamps: false,
            legacy_peer_keys: false,
            alpn: Protocols::default(),
            record_size_limit: None,
            max_fragment: 1 << 14,
            padding: Padding::None,
            require_extended_main_secret: false,
            tolerate_truncation: false,
            key_log: None,
            clock: Arc::new(SystemClock),
            fips: false,
            fips_status: FipsStatus::No(FipsReason::NotEnforced),
            #[cfg(feature = "quic")]
            quic_options: QuicOptions::default(),
            quic: None,
        }
    }

    /// Whether this is a configuration for QUIC.
    pub(crate) fn is_for_quic(&self) -> bool {
        self.quic.is_some()
    }

    /// Refuses a handshake over QUIC without an application protocol. RFC 9001 8.1
    pub(crate) fn check_protocol(&self, selected: Option<&[u8]>) -> Result<(), PeerError> {
        match &self.quic {
            Some(rules) if rules.requires_alpn && selected.is_none() => {
                Err(PeerError::NoApplicationProtocol)
            }
            _ => Ok(()),
        }
    }

    /// Returns the number of the version of QUIC. `None` in a configuration for TCP.
    pub(crate) fn quic_version(&self) -> Option<u32> {
        self.quic.as_ref().map(|rules| rules.version)
    }

    /// Whether a session was made over the same transport: TCP, or the same version of QUIC.
    /// RFC 9001 4.5, RFC 9369 5
    pub(crate) fn is_of_same_transport(&self, session: &Session) -> bool {
        self.quic_version() == session.quic.as_ref().map(|quic| quic.version)
    }

    /// Returns the part of a new session that exists only over QUIC.
    pub(crate) fn quic_session(
        &self,
        peer_parameters: impl FnOnce() -> Vec<u8>,
    ) -> Option<Box<QuicSession>> {
        let QuicRules { version, early_data_context, .. } = *self.quic.as_ref()?;
        let peer_parameters = peer_parameters();
        Some(Box::new(QuicSession { version, peer_parameters, early_data_context }))
    }

    /// Whether early data may be sent in a session with regard to its application context, which
    /// early data over QUIC needs. The comparison takes constant time. RFC 9001 4.6.1
    pub(crate) fn has_early_data_context_of(&self, session: &Session) -> bool {
        let (rules, session) = match (&self.quic, &session.quic) {
            (None, None) => return true,
            (Some(rules), Some(session)) => (rules, session),
            _ => return false,
        };
        match (&rules.early_data_context, &session.early_data_context) {
            (Some(ours), Some(theirs)) => tercel_crypto::constant_time_eq(ours, theirs),
            _ => false,
        }
    }

    pub(crate) fn set_suites(&mut self, codes: &[CipherSuite]) {
        self.suites = codes.iter().filter_map(|code| suite::find(*code)).collect();
        self.unknown_suite = codes.iter().copied().find(|code| suite::find(*code).is_none());
        self.suites_chosen = true;
    }

    /// Checks the options, and removes the versions without a suite.
    pub(super) fn prepare(&mut self) -> Result<(), ConfigError> {
        self.check()?;
        self.restrict_to_fips();
        // A version without a suite must not be offered: a server could choose it and fail.
        let Self { versions, suites, .. } = self;
        versions.retain(|version| suites.iter().any(|suite| version_of(suite) == *version));
        if versions.is_empty() {
            return Err(ConfigError::NoCipherSuite);
        }
        // The random generator is started here and not in a handshake, because the start takes
        // long.
        tercel_crypto::fill_random(&mut [0_u8; 1]).map_err(|_| ConfigError::Random)?;
        // These calls perform the self-tests of the hash lanes and of the kernels for records.
        _ = tercel_crypto::hash_lanes();
        _ = kernel_state(Kernel::AesGcm);
        _ = kernel_state(Kernel::ChaCha20Poly1305);
        Ok(())
    }

    fn check(&self) -> Result<(), ConfigError> {
        if self.versions.is_empty() {
            return Err(ConfigError::NoVersion);
        }
        let known = [ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2];
        if let Some(version) = self.versions.iter().find(|version| !known.contains(version)) {
            return Err(ConfigError::UnknownVersion(*version));
        }
        if let Some(suite) = self.unknown_suite {
            return Err(ConfigError::UnknownCipherSuite(suite));
        }
        if self.groups.is_empty() {
            return Err(ConfigError::NoGroup);
        }
        let is_known = |group: &&NamedGroup| group::algorithm(**group).is_some();
        if let Some(group) = self.groups.iter().find(|group| !is_known(group)) {
            return Err(ConfigError::UnknownGroup(*group));
        }
        let for_certificates = self.certificate_signature_schemes.as_deref();
        // Peers would refuse an empty list. RFC 9846 4.3.3
        if self.signature_schemes.is_empty() || for_certificates.is_some_and(<[_]>::is_empty) {
            return Err(ConfigError::NoSignatureScheme);
        }
        let unknown = |known: &&SignatureScheme| scheme::algorithm(**known).is_none();
        if let Some(unknown) = self.signature_schemes.iter().find(unknown) {
            return Err(ConfigError::UnknownSignatureScheme(*unknown));
        }
        let bad = |name: &Vec<u8>| name.is_empty() || name.len() > 255;
        let total: usize = self.alpn.iter().map(|name| name.len().saturating_add(1)).sum();
        if self.alpn.iter().any(bad) || total > 65535 {
            return Err(ConfigError::BadApplicationProtocol);
        }
        let mut codes: Vec<u16> =
            self.certificate_compression.iter().map(|each| each.algorithm().0).collect();
        codes.sort_unstable();
        codes.dedup();
        if codes.len() != self.certificate_compression.len() || codes.len() > 127 {
            return Err(ConfigError::BadCertificateCompression);
        }
        let range = limits::MIN_RECORD_SIZE_LIMIT..=16385;
        if self.record_size_limit.is_some_and(|limit| !range.contains(&limit)) {
            return Err(ConfigError::BadRecordSizeLimit);
        }
        // An alert must not be fragmented, so it has to fit into one record. RFC 9846 5.1
        if !(limits::MIN_RECORD_SIZE_LIMIT..=1 << 14).contains(&self.max_fragment) {
            return Err(ConfigError::BadMaxFragment);
        }
        Ok(())
    }

    /// Refuses `legacy_peer_keys` unless the caller verifies peers: the verifiers that decide by
    /// themselves do not look at the leaf's key, because without the option it is never short.
    pub(super) fn check_legacy_peer_keys(
        &self,
        verifier: Option<&Policy<dyn VerifyPeer>>,
    ) -> Result<(), ConfigError> {
        match verifier {
            Some(Policy::Here(_)) | None if self.legacy_peer_keys => {
                Err(ConfigError::LegacyPeerKeysWithoutAsk)
            }
            _ => Ok(()),
        }
    }

    /// Checks that each key share is for an enabled group, and that no group has two.
    /// RFC 9846 4.3.8
    pub(crate) fn check_key_shares(&self, shares: &[NamedGroup]) -> Result<(), ConfigError> {
        for (position, share) in shares.iter().enumerate() {
            let again = shares.iter().take(position).any(|earlier| earlier == share);
            if again || !self.groups.contains(share) {
                return Err(ConfigError::BadKeyShare(*share));
            }
        }
        Ok(())
    }

    /// Keeps only TLS 1.3 and the suites with one of these hashes. This is for a configuration that
    /// authenticates by pre-shared keys only.
    pub(crate) fn only_for_pre_shared_keys(&mut self, hashes: &[HashAlgorithm]) {
        self.versions = vec![ProtocolVersion::TLS1_3];
        self.suites.retain(|suite| suite.is_tls13() && hashes.contains(&suite.hash));
    }

    /// Whether a TLS 1.3 suite with this hash is enabled.
    pub(crate) fn has_hash13(&self, hash: HashAlgorithm) -> bool {
        self.usable_suites().any(|suite| suite.is_tls13() && suite.hash == hash)
    }

    /// Whether a full handshake could still use the signature scheme of this session. In TLS 1.2,
    /// where resumption performs no key exchange, the group of the session has to be enabled too.
    pub(crate) fn allows(&self, session: &Session) -> bool {
        let exchanged = session.group.filter(|_| session.version == ProtocolVersion::TLS1_2);
        let signed = session.peer_signature_scheme;
        exchanged.is_none_or(|group| self.groups.contains(&group))
            && signed.is_none_or(|scheme| self.signature_schemes.contains(&scheme))
    }

    pub(crate) fn has_version(&self, version: ProtocolVersion) -> bool {
        self.versions.contains(&version)
    }

    /// Returns the signature schemes to offer if `version` is the highest enabled version.
    pub(crate) fn schemes_for(
        &self,
        version: ProtocolVersion,
    ) -> impl Iterator<Item = SignatureScheme> {
        let tls13 = version == ProtocolVersion::TLS1_3;
        let fits = move |scheme: &SignatureScheme| tls13 || !scheme::is_for_tls13_only(*scheme);
        self.signature_schemes.iter().copied().filter(fits)
    }

    /// Returns the requirements on the Certificate message of this side's peers.
    pub(crate) fn certificate_expectations(
        &self,
        side: Side,
        certificate_type: CertificateType,
    ) -> CertificateExpectations<'_> {
        CertificateExpectations {
            side,
            ocsp: self.request_ocsp,
            timestamps: self.request_timestamps,
            certificate_type,
            legacy_keys: self.legacy_peer_keys,
            schemes: &self.signature_schemes,
            compression: self.offered_compression(),
        }
    }

    /// Returns the algorithms with which a peer may compress its certificate.
    pub(crate) fn offered_compression(&self) -> &[Arc<dyn CompressCertificate>] {
        if self.offer_certificate_compression { &self.certificate_decompression } else { &[] }
    }

    /// Returns the suites whose version is enabled, most preferred first.
    pub(crate) fn usable_suites(&self) -> impl Iterator<Item = &'static Suite> + '_ {
        self.suites.iter().copied().filter(|suite| self.has_version(version_of(suite)))
    }
}

/// Returns the version that a suite belongs to.
fn version_of(suite: &Suite) -> ProtocolVersion {
    if suite.is_tls13() { ProtocolVersion::TLS1_3 } else { ProtocolVersion::TLS1_2 }
}

/// The default groups. ML-KEM alone is not among them, because a hybrid is secure if either of its
/// halves is secure.
pub(crate) const GROUPS: &[NamedGroup] = &[
    NamedGroup::X25519MLKEM768,
    NamedGroup::X25519,
    NamedGroup::SECP256R1,
    NamedGroup::SECP384R1,
    NamedGroup::SECP521R1,
    NamedGroup::SECP256R1MLKEM768,
    NamedGroup::SECP384R1MLKEM1024,
];

/// Returns the default suites: AES first if the processor has AES instructions, otherwise ChaCha20
/// first.
fn default_suites() -> Vec<&'static Suite> {
    let mut suites: Vec<_> = suite::ALL.iter().collect();
    if !tercel_crypto::has_fast_aes() {
        suites.sort_by_key(|suite| suite.aead != tercel_crypto::AeadAlgorithm::ChaCha20Poly1305);
    }
    suites
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(change: impl FnOnce(&mut Common)) -> Option<ConfigError> {
        let mut common = Common::new();
        change(&mut common);
        common.check().err()
    }

    #[test]
    fn a_default_configuration_is_sound() {
        assert_eq!(refused(|_| {}), None);
    }

    #[test]
    fn signature_schemes_that_cannot_be_verified_are_refused() {
        let schemes = |schemes: &[SignatureScheme]| {
            let schemes = schemes.to_vec();
            refused(|common| common.signature_schemes = schemes)
        };
        let unknown = SignatureScheme::RSA_PKCS1_SHA1;
        assert_eq!(schemes(&[]), Some(ConfigError::NoSignatureScheme));
        assert_eq!(schemes(&[unknown]), Some(ConfigError::UnknownSignatureScheme(unknown)));
        assert_eq!(schemes(&[SignatureScheme::ED25519]), None);
    }

    #[test]
    fn key_shares_are_for_enabled_groups_one_each() {
        let common = Common { groups: vec![NamedGroup::X25519], ..Common::new() };
        let bad = |group| Err(ConfigError::BadKeyShare(group));
        assert_eq!(common.check_key_shares(&[]), Ok(()));
        assert_eq!(common.check_key_shares(&[NamedGroup::X25519]), Ok(()));
        assert_eq!(common.check_key_shares(&[NamedGroup::SECP256R1]), bad(NamedGroup::SECP256R1));
        assert_eq!(
            common.check_key_shares(&[NamedGroup::X25519, NamedGroup::X25519]),
            bad(NamedGroup::X25519)
        );
    }
}

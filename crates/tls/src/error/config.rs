//! The reasons why a configuration cannot be built.

use core::fmt;

use tercel_wire::{CipherSuite, NamedGroup, ProtocolVersion, SignatureScheme};

use crate::fips::FipsReason;

/// The reason why a configuration cannot be built. The error's text begins with the option of the
/// builder that causes the error, or with each option that may have caused it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// `versions` is empty.
    NoVersion,
    /// `versions` contains a version other than TLS 1.2 and TLS 1.3.
    UnknownVersion(ProtocolVersion),
    /// `cipher_suites` contains no suite for the enabled versions.
    NoCipherSuite,
    /// `cipher_suites` contains a suite that is not implemented.
    UnknownCipherSuite(CipherSuite),
    /// `groups` is empty.
    NoGroup,
    /// `groups` contains a group that is not implemented.
    UnknownGroup(NamedGroup),
    /// `key_shares` contains a group that is not enabled, or one group twice. RFC 9846 4.3.8
    BadKeyShare(NamedGroup),
    /// `signature_schemes` or `certificate_signature_schemes` is empty.
    NoSignatureScheme,
    /// `signature_schemes` contains a scheme that cannot be verified.
    UnknownSignatureScheme(SignatureScheme),
    /// A client has none of `roots`, `verifier`, `trusted_raw_keys` and `pre_shared_keys`.
    NoVerifier,
    /// A set of roots or a list of trusted raw keys is empty.
    NoTrustConfigured,
    /// The platform's root certificates cannot be read (`native_roots`).
    NoNativeRoots,
    /// A server has no `credential` and no option that replaces it.
    NoCredential,
    /// The extended key usage of a server's certificate does not allow servers. RFC 5280 4.2.1.12
    CredentialNotForServers,
    /// A server has an object that selects credentials, and also single credentials or
    /// `require_known_name`, which is for single credentials.
    ConflictingCredentials,
    /// `alpn` contains a name that is empty or longer than 255 bytes, or is longer than 65535 bytes
    /// in total. RFC 7301 3.1
    BadApplicationProtocol,
    /// `certificate_compression` contains two algorithms with the same code point, or more than 127
    /// algorithms.
    BadCertificateCompression,
    /// `server_certificate_types` or `client_certificate_types` contains something other than
    /// X.509, raw public key, or both. RFC 7250
    BadCertificateTypes,
    /// `pre_shared_keys` or `find_pre_shared_key` is set, but TLS 1.3 is not enabled or, on a
    /// client, no enabled cipher suite has the hash of any of the keys.
    UnusablePreSharedKeys,
    /// A client's `pre_shared_keys` contains two equal identities, more than 16 keys, or more than
    /// 32768 bytes of identities.
    TooManyPreSharedKeys,
    /// `trusted_raw_keys` or `client_raw_keys` is set, but has no effect because the verifier is
    /// `Policy::Ask`.
    RawKeysWithAsk,
    /// `legacy_peer_keys` is on, but the verifier is not `Policy::Ask`: an object would accept a
    /// leaf whose short key others may have broken. A server without a verifier of clients, and a
    /// client that has pre-shared keys only, have no use for the option.
    LegacyPeerKeysWithoutAsk,
    /// `store_only_certificate_digests` and `verify_resumed` are both on, but a digest cannot be
    /// verified again.
    DigestsCannotBeVerified,
    /// `freshness_window` is not a whole number of seconds from 2 to 60. RFC 9846 8.3
    BadFreshnessWindow,
    /// The guard of `early_data` remembers values for less time than `freshness_window` needs.
    /// RFC 9846 8.2
    ReplayGuardTooShort,
    /// `certificate_authorities` or `client_authorities` contains an empty name, or is too long:
    /// over 32,768 bytes for a client, over [`ServerConfig::MAX_AUTHORITIES_LENGTH`] for a server.
    /// RFC 9846 4.3.4
    ///
    /// [`ServerConfig::MAX_AUTHORITIES_LENGTH`]: crate::ServerConfig::MAX_AUTHORITIES_LENGTH
    BadAuthorities,
    /// `record_size_limit` is not in the range 64 to 16385. RFC 8449 4
    BadRecordSizeLimit,
    /// `max_fragment` is not in the range 64 to 16384.
    BadMaxFragment,
    /// A configuration without TLS 1.3, or without a cipher suite of TLS 1.3, is used over QUIC.
    /// RFC 9001 4.2
    QuicWithoutTls13,
    /// A configuration without `alpn` is used over QUIC, and `alpn_by_other_means` is off.
    /// RFC 9001 8.1
    QuicWithoutAlpn,
    /// The option `fips` is on, and the configuration breaks this rule.
    NotFips(FipsReason),
    /// The random generator failed.
    Random,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::UnknownVersion(version) => {
                return write!(f, "versions: {version} is not implemented");
            }
            Self::UnknownCipherSuite(suite) => {
                return write!(f, "cipher_suites: {suite} is not implemented");
            }
            Self::UnknownGroup(group) => return write!(f, "groups: {group} is not implemented"),
            Self::BadKeyShare(group) => {
                return write!(f, "key_shares: {group} is not among the groups, or is there twice");
            }
            Self::NotFips(reason) => return write!(f, "fips: {reason}"),
            Self::UnknownSignatureScheme(scheme) => {
                return write!(f, "signature_schemes: {scheme} is not implemented");
            }
            Self::NoVersion => "versions: no protocol version is enabled",
            Self::NoCipherSuite => "cipher_suites: none fits the enabled versions",
            Self::NoGroup => "groups: no key exchange group is enabled",
            Self::NoSignatureScheme => {
                "signature_schemes or certificate_signature_schemes: the list is empty"
            }
            Self::NoVerifier => "roots: a client needs roots, a verifier, or pre-shared keys",
            Self::NoTrustConfigured => {
                "roots, client_auth, trusted_raw_keys or client_raw_keys: there is nothing to trust"
            }
            Self::NoNativeRoots => "native_roots: the platform's root certificates cannot be read",
            Self::NoCredential => "credential: a server needs a credential, or pre-shared keys",
            Self::CredentialNotForServers => {
                "credential or replaceable_credentials: \
                 the extended key usage of a leaf certificate does not allow servers"
            }
            Self::ConflictingCredentials => {
                "credentials or replaceable_credentials: not with credential or require_known_name"
            }
            Self::BadApplicationProtocol => "alpn: a protocol name must have 1 to 255 bytes",
            Self::BadCertificateCompression => {
                "certificate_compression: algorithms must be different and at most 127"
            }
            Self::BadCertificateTypes => {
                "server_certificate_types or client_certificate_types: \
                 must be X.509, raw public key, or both"
            }
            Self::UnusablePreSharedKeys => {
                "pre_shared_keys or find_pre_shared_key: \
                 need TLS 1.3 and a cipher suite with their hash"
            }
            Self::TooManyPreSharedKeys => {
                "pre_shared_keys: too many, or two of them have the same identity"
            }
            Self::RawKeysWithAsk => {
                "trusted_raw_keys or client_raw_keys: \
                 no effect with a verifier that is Policy::Ask"
            }
            Self::LegacyPeerKeysWithoutAsk => {
                "legacy_peer_keys: needs a verifier that is Policy::Ask, \
                 since other verifiers do not check the size of a leaf's key"
            }
            Self::DigestsCannotBeVerified => {
                "store_only_certificate_digests: requires verify_resumed(false)"
            }
            Self::BadFreshnessWindow => "freshness_window: must be 2 to 60 whole seconds",
            Self::ReplayGuardTooShort => {
                "early_data: the replay guard remembers for less time than freshness_window needs"
            }
            Self::BadAuthorities => {
                "certificate_authorities or client_authorities: a name is empty, or all are too long"
            }
            Self::BadRecordSizeLimit => "record_size_limit: must be 64 to 16385",
            Self::BadMaxFragment => "max_fragment: must be 64 to 16384",
            Self::QuicWithoutTls13 => "versions or cipher_suites: QUIC needs TLS 1.3",
            Self::QuicWithoutAlpn => "alpn: QUIC needs an application protocol",
            Self::Random => "the random generator failed",
        };
        f.write_str(text)
    }
}

impl std::error::Error for ConfigError {}

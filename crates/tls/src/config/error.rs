//! Why a configuration cannot be built.
//!
//! Must not know: how it is found out. Next: [`super::common`], [`super::client`], [`super::server`].

use core::fmt;

use tercel_wire::{CipherSuite, NamedGroup, ProtocolVersion, SignatureScheme};

/// Why a configuration cannot be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// No protocol version is left.
    NoVersion,
    /// A version other than TLS 1.2 and TLS 1.3.
    UnknownVersion(ProtocolVersion),
    /// No cipher suite is left for any version.
    NoCipherSuite,
    /// A cipher suite that is not implemented.
    UnknownCipherSuite(CipherSuite),
    /// No group is left.
    NoGroup,
    /// A group that is not implemented.
    UnknownGroup(NamedGroup),
    /// A key share for a group that is not enabled, or a second one for it.
    BadKeyShare(NamedGroup),
    /// No signature scheme is left.
    NoSignatureScheme,
    /// A signature scheme that cannot be verified here.
    UnknownSignatureScheme(SignatureScheme),
    /// A client needs roots, a verifier, or pre-shared keys.
    NoVerifier,
    /// There is no root to trust.
    NothingTrusted,
    /// A server needs a credential, or pre-shared keys.
    NoCredential,
    /// A server has credentials of its own, or demands known names of them, and another that chooses.
    CredentialsTwice,
    /// A server that asks for client certificates needs roots or a verifier.
    NoClientVerifier,
    /// An application protocol name must have 1 to 255 bytes, all names together 65535. RFC 7301 3.1
    BadApplicationProtocol,
    /// Two certificate compressions with one code, or too many of them.
    BadCertificateCompression,
    /// A list of certificate types must name X.509, raw public keys, or both. RFC 7250
    BadCertificateTypes,
    /// Pre-shared keys need TLS 1.3, and a cipher suite with the hash of one of them.
    UnusablePreSharedKeys,
    /// A client's pre-shared keys must have different identities, at most 16 with 32768 bytes together.
    TooManyPreSharedKeys,
    /// Trusted raw keys are of no use beside a verifier that is asked about every peer.
    RawKeysBesideAsk,
    /// Of a digest of a client's certificate nobody can tell whether it is still to be trusted.
    DigestsCannotBeVerified,
    /// A freshness window has 2 to 60 seconds. RFC 9846 8.3
    BadFreshnessWindow,
    /// The replay guard remembers for a narrower freshness window than the configuration's. RFC 9846 8.2
    ForgetfulGuard,
    /// Names of authorities must not be empty, and all together have at most 32768 bytes. RFC 9846 4.3.4
    BadAuthorities,
    /// A record size limit must lie between 64 and 16385 bytes. RFC 8449 4
    BadRecordSizeLimit,
    /// What goes into one record must lie between 64 and 16384 bytes.
    BadMaxFragment,
    /// The random generator failed.
    Random,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoVersion => f.write_str("no protocol version is enabled"),
            Self::UnknownVersion(version) => write!(f, "the version {version} is not implemented"),
            Self::NoCipherSuite => f.write_str("no cipher suite fits the enabled versions"),
            Self::UnknownCipherSuite(suite) => {
                write!(f, "the cipher suite {suite} is not implemented")
            }
            Self::NoGroup => f.write_str("no key exchange group is enabled"),
            Self::UnknownGroup(group) => write!(f, "the group {group} is not implemented"),
            Self::BadKeyShare(group) => {
                write!(f, "a key share is for {group}, which is not enabled or has one already")
            }
            Self::NoSignatureScheme => f.write_str("no signature scheme is enabled"),
            Self::UnknownSignatureScheme(scheme) => {
                write!(f, "the signature scheme {scheme} is not implemented")
            }
            Self::NoVerifier => f.write_str("a client needs roots, a verifier, or pre-shared keys"),
            Self::NothingTrusted => f.write_str("there is no root certificate to trust"),
            Self::NoCredential => f.write_str("a server needs a credential, or pre-shared keys"),
            Self::CredentialsTwice => f.write_str(
                "a server's credentials are either given one by one or chosen by another object",
            ),
            Self::NoClientVerifier => {
                f.write_str("a server that asks for client certificates needs client roots")
            }
            Self::BadApplicationProtocol => {
                f.write_str("an application protocol name must have 1 to 255 bytes")
            }
            Self::BadCertificateCompression => {
                f.write_str("certificate compressions must have different codes and be at most 127")
            }
            Self::BadCertificateTypes => {
                f.write_str("certificate types must be X.509, raw public key, or both")
            }
            Self::UnusablePreSharedKeys => {
                f.write_str("pre-shared keys need TLS 1.3, and a cipher suite with their hash")
            }
            Self::TooManyPreSharedKeys => {
                f.write_str("a client's pre-shared keys are too many, or two have one identity")
            }
            Self::RawKeysBesideAsk => {
                f.write_str("trusted raw keys need a verifier that is not to be asked")
            }
            Self::DigestsCannotBeVerified => {
                f.write_str("of digests of certificates none can be verified again")
            }
            Self::BadFreshnessWindow => f.write_str("a freshness window has 2 to 60 seconds"),
            Self::ForgetfulGuard => {
                f.write_str("the replay guard forgets before the freshness window is over")
            }
            Self::BadAuthorities => {
                f.write_str("names of authorities must not be empty, nor too many to be sent")
            }
            Self::BadRecordSizeLimit => {
                f.write_str("a record size limit must lie between 64 and 16385")
            }
            Self::BadMaxFragment => {
                f.write_str("the most bytes put into a record must lie between 64 and 16384")
            }
            Self::Random => f.write_str("the random generator failed"),
        }
    }
}

impl std::error::Error for ConfigError {}

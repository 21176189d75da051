//! FIPS 140-3: whether a configuration uses approved cryptography of a validated module only.
//!
//! With the feature `fips`, the cryptography is that of AWS-LC's FIPS module.
//! [`ClientConfigBuilder::fips`](crate::client::ClientConfigBuilder::fips) and
//! [`ServerConfigBuilder::fips`](crate::server::ServerConfigBuilder::fips) restrict a configuration
//! to approved algorithms. [`ClientConfig::fips`](crate::ClientConfig::fips),
//! [`ServerConfig::fips`](crate::ServerConfig::fips) and
//! [`ConnectionInfo::fips`](crate::ConnectionInfo::fips) are the result. The document
//! `docs/fips.md` of the repository has the rules, and says what is not claimed.
//!
//! ```
//! use tercel::fips::{FipsReason, FipsStatus};
//!
//! # fn run(config: &tercel::ClientConfig) {
//! match config.fips() {
//!     FipsStatus::Certified => println!("a module with a certificate"),
//!     FipsStatus::InProcess => println!("a module that was submitted for validation"),
//!     FipsStatus::No(reason) => println!("not approved: {reason}"),
//!     _ => {}
//! }
//! # }
//! ```

use core::fmt;

use tercel_wire::{CipherSuite, NamedGroup, SignatureScheme};

pub use tercel_crypto::{FipsModule, fips_module};

/// Whether a configuration or a connection uses approved cryptography of a validated module only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FipsStatus {
    /// Only approved cryptography is used, and the module has a certificate: [`fips_module`]
    /// returns its number.
    Certified,
    /// Only approved cryptography is used, and the validation of the module's line is in process:
    /// there is no certificate yet, and `docs/fips.md` says which version was submitted.
    InProcess,
    /// A rule is broken: this reason.
    No(FipsReason),
}

impl FipsStatus {
    /// Returns the best status that a configuration of this build can have: that of the module, or
    /// [`FipsReason::NotBuilt`] without the feature `fips`.
    #[must_use]
    pub fn of_module() -> Self {
        Self::of(None)
    }

    /// Returns whether all rules are satisfied, with a certified module or with one in process.
    #[must_use]
    pub fn is_approved(self) -> bool {
        !matches!(self, Self::No(_))
    }

    /// Returns the reason of [`Self::No`].
    #[must_use]
    pub fn reason(self) -> Option<FipsReason> {
        match self {
            Self::No(reason) => Some(reason),
            _ => None,
        }
    }

    /// The status of a configuration that breaks the rule of this reason, or none.
    pub(crate) fn of(broken: Option<FipsReason>) -> Self {
        match (fips_module(), broken) {
            (None, _) if cfg!(feature = "fips") => Self::No(FipsReason::ModuleOff),
            (None, _) => Self::No(FipsReason::NotBuilt),
            (Some(_), Some(reason)) => Self::No(reason),
            (Some(FipsModule { certificate: Some(_), .. }), None) => Self::Certified,
            (Some(_), None) => Self::InProcess,
        }
    }
}

impl fmt::Display for FipsStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Certified => f.write_str("certified"),
            Self::InProcess => f.write_str("in process"),
            Self::No(reason) => write!(f, "no: {reason}"),
        }
    }
}

/// The first rule of `docs/fips.md` that a configuration breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FipsReason {
    /// The library was built without the feature `fips`.
    NotBuilt,
    /// AWS-LC's FIPS module is linked, but does not run in FIPS mode.
    ModuleOff,
    /// This cipher suite is enabled. Suites with AES-GCM are approved.
    CipherSuite(CipherSuite),
    /// This group is enabled. P-256, P-384, P-521 and the hybrids of ML-KEM with a curve are
    /// approved.
    Group(NamedGroup),
    /// This scheme is enabled, in `signature_schemes` or `certificate_signature_schemes`. RSA,
    /// ECDSA, Ed25519 and ML-DSA, without SHA-1, are approved.
    SignatureScheme(SignatureScheme),
    /// TLS 1.2 is enabled, and peers without the extended main secret are not refused.
    ExtendedMainSecret,
    /// Peers are verified by the caller ([`Policy::Ask`](crate::Policy::Ask)), or by an object
    /// whose [`is_fips_approved`](crate::certificates::VerifyPeer::is_fips_approved) is false.
    Verifier,
    /// The private key of a credential is outside of the process, or used by a signer whose
    /// [`is_fips_approved`](crate::crypto::Signer::is_fips_approved) is false.
    Signer,
    /// The chain of a credential has a certificate with a key that is not approved, such as an RSA
    /// key below 2048 bits, or a signature that is not approved, such as one with SHA-1.
    CredentialChain,
    /// External pre-shared keys are used, whose origin and strength are unknown to the library.
    PreSharedKeys,
    /// The tickets are sealed by an object whose
    /// [`is_fips_approved`](crate::session::TicketSealer::is_fips_approved) is false.
    TicketSealer,
    /// Secrets of connections are written to a key log.
    KeyLog,
    /// Encrypted ClientHello is used: HPKE is outside of the module's boundary.
    Ech,
    /// QUIC is used, whose packet protection uses nonces and keys in ways that the module does not
    /// approve.
    Quic,
    /// The option `fips` is off. Sessions, credentials and configurations that are used later would
    /// not be checked.
    NotEnforced,
    /// The connection was restored from saved bytes. Its keys have left the module.
    Restored,
    /// The traffic keys of the connection were exported to another record layer. They have left the
    /// module.
    Exported,
}

impl fmt::Display for FipsReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::CipherSuite(suite) => return write!(f, "cipher_suites: {suite} is not approved"),
            Self::Group(group) => return write!(f, "groups: {group} is not approved"),
            Self::SignatureScheme(scheme) => {
                return write!(f, "signature_schemes: {scheme} is not approved");
            }
            Self::NotBuilt => "the library was built without the feature `fips`",
            Self::ModuleOff => "the FIPS module does not run in FIPS mode",
            Self::ExtendedMainSecret => {
                "require_extended_main_secret: TLS 1.2 is enabled without it"
            }
            Self::Verifier => "verifier: it may verify certificates outside of the module",
            Self::Signer => "credential: its private key is used outside of the module",
            Self::CredentialChain => {
                "credential: a key or a signature of its chain is not approved"
            }
            Self::PreSharedKeys => {
                "pre_shared_keys or find_pre_shared_key: the origin of external keys is unknown"
            }
            Self::TicketSealer => "tickets: they may be sealed outside of the module",
            Self::KeyLog => "key_log: secrets leave the module",
            Self::Ech => "ech or ech_grease: HPKE is outside of the module",
            Self::Quic => "QUIC uses keys in ways that the module does not approve",
            Self::NotEnforced => "fips: the option is off, so that later choices are not checked",
            Self::Restored => "the connection was restored from saved keys",
            Self::Exported => "the traffic keys were exported to another record layer",
        };
        f.write_str(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_stays_small() {
        assert!(size_of::<FipsStatus>() <= 4);
    }

    #[test]
    fn without_a_module_no_configuration_is_approved() {
        let expected = match fips_module() {
            None => FipsStatus::No(FipsReason::NotBuilt),
            Some(FipsModule { certificate: None, .. }) => FipsStatus::InProcess,
            Some(_) => FipsStatus::Certified,
        };
        assert_eq!(FipsStatus::of(None), expected);
        assert_eq!(fips_module().is_some(), cfg!(feature = "fips"));
        assert!(!FipsStatus::of(Some(FipsReason::KeyLog)).is_approved());
    }
}

//! The reasons for refusing a chain.
//!
//! A reason is never less specific than its alert. The alerts are those of RFC 9846 6.2; the
//! `tercel` crate sends them.

use std::fmt;

use pki_types::UnixTime;

use crate::time::ReadableTime;

/// The reason for refusing a chain: small and `Copy`. Its `Display` is one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefusalReason {
    /// The chain is empty. Alert: `decode_error` to a server, `certificate_required` to a client
    /// (RFC 9846 4.5.1.3).
    EmptyChain,
    /// A certificate is not well-formed. Alert: `bad_certificate`.
    BadEncoding,
    /// A certificate is larger than 64 KiB. Alert: `bad_certificate`.
    CertificateTooLarge,
    /// A certificate is of an unknown version, or has extensions although it is not of version 3.
    /// Alert: `unsupported_certificate`.
    UnsupportedVersion,
    /// A certificate has a critical extension that is not supported. Alert:
    /// `unsupported_certificate`.
    UnsupportedCriticalExtension,
    /// A certificate has expired. Alert: `certificate_expired`.
    Expired {
        /// The last moment of the certificate's validity.
        not_after: UnixTime,
    },
    /// A certificate is not yet valid. Alert: `certificate_expired`, which covers "not currently
    /// valid".
    NotYetValid {
        /// The first moment of the certificate's validity.
        not_before: UnixTime,
    },
    /// A certificate's validity ends before it begins. Alert: `bad_certificate`.
    InvalidValidity,
    /// The leaf is not valid for the requested name. Alert: `bad_certificate`.
    NameMismatch,
    /// No path leads from the leaf to a trust anchor: an unknown authority or a missing
    /// intermediate. Alert: `unknown_ca`.
    UnknownIssuer,
    /// The leaf is self-signed and neither a trust anchor nor pinned. Alert: `unknown_ca`.
    SelfSigned,
    /// A certificate's signature does not verify. Alert: `bad_certificate`.
    BadSignature,
    /// A certificate is signed with MD5 or SHA-1. Alert: `bad_certificate` (RFC 9846 4.5.1.3).
    WeakSignatureAlgorithm,
    /// A certificate is signed with an algorithm that is unknown or disabled. Alert:
    /// `unsupported_certificate`.
    UnsupportedSignatureAlgorithm,
    /// A key is of an unknown kind, an EC key does not name its curve (RFC 5480 2.1.1), or an
    /// issuer's key is of a kind that cannot make the signature. Alert: `unsupported_certificate`.
    UnsupportedKey,
    /// The leaf's key usage does not allow its key to sign a handshake. Alert:
    /// `unsupported_certificate`.
    KeyMayNotSign,
    /// A key of the chain is not acceptable: it is an RSA key outside 2048 to 8192 bits, or a point
    /// that is not on its curve. Alert: `bad_certificate`.
    InvalidKey,
    /// A certificate of the path was revoked. Alert: `certificate_revoked`.
    Revoked,
    /// No revocation list covers a certificate of the path, and the policy requires one. Alert:
    /// `certificate_unknown`.
    UnknownRevocationStatus,
    /// The revocation list is past its nextUpdate. Alert: `certificate_unknown`.
    CrlExpired {
        /// The nextUpdate of the list.
        next_update: UnixTime,
    },
    /// The revocation list is not valid: bad signature, wrong signer, an
    /// unsupported algorithm, or not valid yet.
    /// Alert: `certificate_unknown`.
    InvalidCrl,
    /// The verifier does not accept the stapled OCSP response. Alert:
    /// `bad_certificate_status_response` (RFC 6066 8).
    StapleRejected,
    /// The leaf is a CA certificate. [`ChainVerifier`](crate::ChainVerifier) accepts one, as
    /// OpenSSL and Go do; only verifiers of applications give this reason. Alert:
    /// `bad_certificate`.
    CaUsedAsEndEntity,
    /// The leaf has the name and the key of a trust anchor. Only verifiers of applications give
    /// this reason. Alert: `bad_certificate`.
    TrustAnchorAsEndEntity,
    /// The issuer of a certificate is not a CA certificate. Alert: `bad_certificate`.
    EndEntityUsedAsCa,
    /// The issuer of a certificate is a CA certificate whose key usage does not allow its key to
    /// sign certificates (RFC 5280 6.1.4 n). Alert: `bad_certificate`.
    IssuerMayNotCertify,
    /// The trusted authority's own certificate has expired. Alert: `certificate_expired`.
    AuthorityExpired {
        /// The last moment of its validity.
        not_after: UnixTime,
    },
    /// The trusted authority's own certificate is not yet valid. Alert: `certificate_expired`.
    AuthorityNotYetValid {
        /// The first moment of its validity.
        not_before: UnixTime,
    },
    /// The extended key usage of a certificate, or of the trusted authority's own certificate, does
    /// not allow it to authenticate a server, or a client. Alert: `unsupported_certificate`.
    NotForThisUsage,
    /// A name violates an issuer's name constraints. Alert: `bad_certificate`.
    NameConstraint,
    /// The name constraints of an authority cannot be checked: their form is not supported, such as
    /// registeredID, or a constrained name is malformed. Alert: `unsupported_certificate`.
    UnsupportedNameConstraint,
    /// The path below a CA certificate is longer than its path length constraint. Alert:
    /// `bad_certificate`.
    PathTooLong,
    /// An authority of the chain requires a certificate policy (RFC 5280 6.1), and none is valid
    /// for the whole chain, or a policy is mapped in a prohibited way. Alert: `bad_certificate`.
    PolicyNotSatisfied,
    /// The chain exceeds the limits on path building: it has too many possible paths, or too
    /// many revocation lists. Alert: `bad_certificate`.
    PathLimits,
    /// A path has more than 32 intermediates. Alert: `bad_certificate`.
    PathTooDeep,
    /// A key of the path is on the list of compromised keys. Alert: `bad_certificate`.
    Distrusted,
    /// The leaf requires a stapled OCSP response (RFC 7633), and the peer sent no response although
    /// it was requested. Alert: `bad_certificate_status_response`.
    MissingStaple,
    /// The policy requires a stapled OCSP response, and there is no response. Alert:
    /// `bad_certificate_status_response`.
    StapleRequired,
    /// The stapled OCSP response is malformed or of an unsupported form. Alert:
    /// `bad_certificate_status_response`.
    StapleMalformed,
    /// The stapled OCSP response is an error response of the responder. Alert:
    /// `bad_certificate_status_response`.
    StapleUnsuccessful,
    /// The stapled OCSP response is not signed by the leaf's issuer or its delegated responder, or
    /// not with an accepted algorithm. Alert: `bad_certificate_status_response`.
    StapleUntrusted,
    /// The stapled OCSP response does not cover the leaf. Alert:
    /// `bad_certificate_status_response`.
    StapleForOtherCertificate,
    /// The stapled OCSP response is not yet valid. Alert: `bad_certificate_status_response`.
    StapleNotYetValid {
        /// The thisUpdate of the response.
        this_update: UnixTime,
    },
    /// The stapled OCSP response has expired. Alert: `bad_certificate_status_response`.
    StapleExpired {
        /// The end of the response's validity.
        next_update: UnixTime,
    },
    /// The stapled OCSP response has the status "unknown" for the leaf. Alert:
    /// `bad_certificate_status_response`.
    StapleUnknownStatus,
    /// A raw public key (RFC 7250) is not one of the trusted keys. Alert: `certificate_unknown`.
    UntrustedRawKey,
    /// A custom verifier's reason, with the alert to send: its code in RFC 9846 6.2. If no peer may
    /// be refused with that alert, `certificate_unknown` is sent.
    ByVerifier {
        /// The code of the alert.
        alert: u8,
    },
    /// Any other error of path building. Alert: `certificate_unknown`.
    Other,
}

impl RefusalReason {
    /// The text and the time of a reason that contains a time.
    fn dated(self) -> Option<(&'static str, UnixTime)> {
        Some(match self {
            Self::Expired { not_after } => ("the certificate expired on", not_after),
            Self::NotYetValid { not_before } => ("the certificate is not valid before", not_before),
            Self::AuthorityExpired { not_after } => {
                ("the trusted authority's own certificate expired on", not_after)
            }
            Self::AuthorityNotYetValid { not_before } => {
                ("the trusted authority's own certificate is not valid before", not_before)
            }
            Self::CrlExpired { next_update } => {
                ("the revocation list is out of date since", next_update)
            }
            Self::StapleNotYetValid { this_update } => {
                ("the stapled OCSP response is not valid before", this_update)
            }
            Self::StapleExpired { next_update } => {
                ("the stapled OCSP response is out of date since", next_update)
            }
            _ => return None,
        })
    }
}

impl fmt::Display for RefusalReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((text, moment)) = self.dated() {
            return write!(f, "{text} {}", ReadableTime(moment));
        }
        f.write_str(match *self {
            Self::EmptyChain => "no certificate was presented",
            Self::BadEncoding => "a certificate is malformed",
            Self::CertificateTooLarge => "a certificate is larger than 64 KiB",
            Self::UnsupportedVersion => {
                "a certificate has an unknown version, or a version without extensions and extensions"
            }
            Self::UnsupportedCriticalExtension => {
                "a certificate has a critical extension that is not supported"
            }
            Self::InvalidValidity => "a certificate's validity ends before it begins",
            Self::NameMismatch => "the certificate is not valid for this name",
            Self::UnknownIssuer => {
                "the issuer is unknown: not a trusted authority, or an intermediate certificate is missing"
            }
            Self::SelfSigned => "the certificate is self-signed and is neither trusted nor pinned",
            Self::BadSignature => "a certificate's signature is wrong",
            Self::WeakSignatureAlgorithm => "a certificate is signed with MD5 or SHA-1",
            Self::UnsupportedSignatureAlgorithm => {
                "a certificate is signed by an algorithm that is not supported"
            }
            Self::UnsupportedKey => {
                "a certificate's key is of a kind, or on a curve, that is not supported"
            }
            Self::KeyMayNotSign => "the certificate's key usage does not allow signing handshakes",
            Self::InvalidKey => "a certificate's key is invalid or too short",
            Self::Revoked => "a certificate was revoked",
            Self::UnknownRevocationStatus => "no revocation list covers a certificate of the chain",
            Self::InvalidCrl => "a revocation list is invalid",
            Self::StapleRejected => "the verifier does not accept the stapled OCSP response",
            Self::CaUsedAsEndEntity => {
                "the certificate is an authority's, not a server's or client's"
            }
            Self::TrustAnchorAsEndEntity => {
                "the certificate is a trusted authority's, not a server's or client's"
            }
            Self::EndEntityUsedAsCa => {
                "a certificate was issued by one that is not a CA certificate"
            }
            Self::IssuerMayNotCertify => {
                "a certificate was issued by one whose key usage does not allow signing certificates"
            }
            Self::NotForThisUsage => "a certificate's extended key usage does not allow this use",
            Self::NameConstraint => "a name violates its authority's name constraints",
            Self::UnsupportedNameConstraint => {
                "an authority's name constraints cannot be checked"
            }
            Self::PathTooLong => "the chain is longer than one of its authorities allows",
            Self::PolicyNotSatisfied => {
                "an authority requires a certificate policy that the chain does not have"
            }
            Self::PathLimits => "the chain has too many possible paths or revocation lists",
            Self::PathTooDeep => "the chain has more than 32 intermediate certificates in a row",
            Self::Distrusted => "a key of the chain is explicitly distrusted",
            Self::MissingStaple => {
                "the certificate demands a stapled OCSP response, and there is none"
            }
            Self::StapleRequired => "a stapled OCSP response is required, and there is none",
            Self::StapleMalformed => "the stapled OCSP response is malformed or not supported",
            Self::StapleUnsuccessful => {
                "the stapled OCSP response is not an answer but an error of the responder"
            }
            Self::StapleUntrusted => {
                "the stapled OCSP response is not signed by the certificate's issuer"
            }
            Self::StapleForOtherCertificate => {
                "the stapled OCSP response is about another certificate"
            }
            Self::StapleUnknownStatus => "the stapled OCSP response does not know the certificate",
            Self::UntrustedRawKey => "the raw public key is not one of the trusted keys",
            Self::ByVerifier { .. } => "the certificate was refused by the verifier's own rules",
            // The remaining reasons contain a time.
            _ => "the certificate was not accepted",
        })
    }
}

impl std::error::Error for RefusalReason {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_stays_small() {
        assert!(size_of::<RefusalReason>() <= 16);
    }
}

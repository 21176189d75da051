//! The reasons for refusing a chain.
//!
//! A reason is never less specific than the alert it calls for. The alerts are RFC 9846 6.2's; the `tercel` crate sends
//! them, this one only names them. Next: [`super::from_path_building`], where most of them come from.

use std::fmt;

use pki_types::UnixTime;

use crate::time::ReadableTime;

/// Why a chain was refused: small, to be compared and copied. Its `Display` is one clear line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefusalReason {
    /// There was no certificate at all. Alert: `decode_error` from a server's, `certificate_required` from a client's
    /// (RFC 9846 4.5.1.3).
    EmptyChain,
    /// A certificate is not well-formed. Alert: `bad_certificate`.
    BadEncoding,
    /// A certificate is not of version 3. Alert: `unsupported_certificate`.
    UnsupportedVersion,
    /// A certificate has a critical extension that is not understood. Alert: `unsupported_certificate`.
    UnsupportedCriticalExtension,
    /// A certificate's validity has ended. Alert: `certificate_expired`.
    Expired {
        /// The last moment at which it was valid.
        not_after: UnixTime,
    },
    /// A certificate's validity has not begun. Alert: `certificate_expired`, which covers "not currently valid".
    NotYetValid {
        /// The first moment at which it will be valid.
        not_before: UnixTime,
    },
    /// A certificate's validity ends before it begins. Alert: `bad_certificate`.
    InvalidValidity,
    /// The leaf is not valid for the name that was asked for. Alert: `bad_certificate`.
    NameMismatch,
    /// No path leads from the leaf to a trust anchor: an unknown authority or a missing intermediate. Alert: `unknown_ca`.
    UnknownIssuer,
    /// The leaf issued itself and is no trust anchor; pinning would accept it. Alert: `unknown_ca`.
    SelfSigned,
    /// A certificate's signature is not its issuer's. Alert: `bad_certificate`.
    BadSignature,
    /// A certificate is signed with MD5 or SHA-1. Alert: `bad_certificate` (RFC 9846 4.5.1.3).
    WeakSignatureAlgorithm,
    /// A certificate is signed by an algorithm that is unknown or turned off. Alert: `unsupported_certificate`.
    UnsupportedSignatureAlgorithm,
    /// A key is of an unknown kind, or an issuer's is of a kind that cannot have made the signature. Alert:
    /// `unsupported_certificate`.
    UnsupportedKey,
    /// The leaf's key usage does not allow its key to sign a handshake. Alert: `unsupported_certificate`.
    KeyMayNotSign,
    /// A key of the chain is not acceptable: an RSA key outside 2048 to 8192 bits, a point off its curve. Alert:
    /// `bad_certificate`.
    InvalidKey,
    /// A certificate of the path was revoked. Alert: `certificate_revoked`.
    Revoked,
    /// No revocation list covers a certificate of the path, and the policy wants one. Alert: `certificate_unknown`.
    UnknownRevocationStatus,
    /// The revocation list is too old to rely on. Alert: `certificate_unknown`.
    CrlExpired {
        /// When the next list was due.
        next_update: UnixTime,
    },
    /// The revocation list cannot be relied on: bad signature, wrong signer or an unsupported form. Alert:
    /// `certificate_unknown`.
    InvalidCrl,
    /// The stapled OCSP response does not satisfy who judges the chain. Alert: `bad_certificate_status_response`
    /// (RFC 6066 8).
    UnsatisfactoryStatus,
    /// The leaf is an authority's certificate; pinning would accept it. Alert: `bad_certificate`.
    CaUsedAsEndEntity,
    /// The leaf is itself one of the trust anchors, which can only vouch for others; pinning would accept it. Alert:
    /// `bad_certificate`.
    TrustAnchorAsEndEntity,
    /// A certificate that is no authority's has issued another. Alert: `bad_certificate`.
    EndEntityUsedAsCa,
    /// The extended key usage does not allow this use, as server or as client. Alert: `unsupported_certificate`.
    NotForThisUsage,
    /// A name lies outside what an authority may vouch for. Alert: `bad_certificate`.
    NameConstraint,
    /// An authority stands higher above the leaf than its path length allows. Alert: `bad_certificate`.
    PathTooLong,
    /// The chain is too long or too tangled to examine. Alert: `bad_certificate`.
    PathLimits,
    /// A key of the path is on the list of keys known to be misused. Alert: `bad_certificate`.
    Distrusted,
    /// The leaf demands a stapled OCSP response (RFC 7633), one was asked for and none came. Alert:
    /// `bad_certificate_status_response`.
    MissingStaple,
    /// A stapled OCSP response is required, and there is none. Alert: `bad_certificate_status_response`.
    StapleRequired,
    /// The stapled OCSP response is malformed or of a form that is not supported. Alert:
    /// `bad_certificate_status_response`.
    StapleMalformed,
    /// The stapled OCSP response says only that the responder could not answer. Alert:
    /// `bad_certificate_status_response`.
    StapleUnsuccessful,
    /// The stapled OCSP response is not signed by the leaf's issuer, nor by whom it has certified for that, or in a way
    /// that is not accepted. Alert: `bad_certificate_status_response`.
    StapleUntrusted,
    /// The stapled OCSP response says nothing of the leaf. Alert: `bad_certificate_status_response`.
    StapleForAnother,
    /// The stapled OCSP response is from the future. Alert: `bad_certificate_status_response`.
    StapleNotYetValid {
        /// The moment for which it speaks.
        this_update: UnixTime,
    },
    /// The stapled OCSP response is too old to rely on. Alert: `bad_certificate_status_response`.
    StapleExpired {
        /// When the next one was due.
        next_update: UnixTime,
    },
    /// The stapled OCSP response says that the leaf's issuer does not know it. Alert:
    /// `bad_certificate_status_response`.
    StapleUnknownStatus,
    /// A raw public key (RFC 7250), in place of a chain, that is none of the trusted ones. Alert:
    /// `certificate_unknown`.
    UntrustedRawKey,
    /// A verifier's own reason, with the alert that the peer is to get: its code in RFC 9846 6.2. If that is none
    /// with which a peer can be refused, `certificate_unknown`.
    ByVerifier {
        /// The alert's code.
        alert: u8,
    },
    /// Any other objection of path building. Alert: `certificate_unknown`.
    Other,
}

impl fmt::Display for RefusalReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match *self {
            Self::Expired { not_after } => {
                return write!(f, "the certificate expired on {}", ReadableTime(not_after));
            }
            Self::NotYetValid { not_before } => {
                let moment = ReadableTime(not_before);
                return write!(f, "the certificate is not valid before {moment}");
            }
            Self::CrlExpired { next_update } => {
                let moment = ReadableTime(next_update);
                return write!(f, "the revocation list is out of date since {moment}");
            }
            Self::StapleNotYetValid { this_update } => {
                let moment = ReadableTime(this_update);
                return write!(f, "the stapled OCSP response is not valid before {moment}");
            }
            Self::StapleExpired { next_update } => {
                let moment = ReadableTime(next_update);
                return write!(f, "the stapled OCSP response is out of date since {moment}");
            }
            Self::EmptyChain => "no certificate was presented",
            Self::BadEncoding => "a certificate is malformed",
            Self::UnsupportedVersion => "a certificate is not of X.509 version 3",
            Self::UnsupportedCriticalExtension => {
                "a certificate has a critical extension that is not supported"
            }
            Self::InvalidValidity => "a certificate ends before it begins to be valid",
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
            Self::UnsupportedKey => "a certificate's key is of a kind that is not supported",
            Self::KeyMayNotSign => "the certificate's key usage does not allow signing handshakes",
            Self::InvalidKey => "a certificate's key is invalid or too short",
            Self::Revoked => "a certificate was revoked",
            Self::UnknownRevocationStatus => "no revocation list covers a certificate of the chain",
            Self::InvalidCrl => "a revocation list is invalid",
            Self::UnsatisfactoryStatus => "the stapled OCSP response is not satisfactory",
            Self::CaUsedAsEndEntity => {
                "the certificate is an authority's, not a server's or client's, and is not pinned"
            }
            Self::TrustAnchorAsEndEntity => {
                "the certificate is itself a trusted authority's, used as a server's or client's, and is not pinned"
            }
            Self::EndEntityUsedAsCa => "a certificate was issued by one that is no authority's",
            Self::NotForThisUsage => "a certificate's extended key usage does not allow this use",
            Self::NameConstraint => "a name is outside what its authority may vouch for",
            Self::PathTooLong => "the chain is longer than one of its authorities allows",
            Self::PathLimits => "the chain has too many certificates or possible paths",
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
            Self::StapleForAnother => "the stapled OCSP response is about another certificate",
            Self::StapleUnknownStatus => "the stapled OCSP response does not know the certificate",
            Self::UntrustedRawKey => "the raw public key is not one of the trusted keys",
            Self::ByVerifier { .. } => "the certificate was refused by the verifier's own rules",
            Self::Other => "the certificate was not accepted",
        };
        f.write_str(text)
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

//! The mapping from errors of path building to reasons.
//!
//! It covers every error of `webpki`, and does not look at the chain.

use super::RefusalReason;

impl From<webpki::Error> for RefusalReason {
    // The variants without context are deprecated by webpki but still exist.
    #[expect(deprecated)]
    fn from(error: webpki::Error) -> Self {
        use webpki::Error as E;
        match error {
            E::BadDer
            | E::BadDerTime
            | E::ExtensionValueInvalid
            | E::InvalidNetworkMaskConstraint
            | E::InvalidSerialNumber
            | E::MalformedExtensions
            | E::MalformedNameConstraint
            | E::SignatureAlgorithmMismatch
            | E::EmptyEkuExtension
            | E::TrailingData(_) => Self::BadEncoding,
            E::UnsupportedCertVersion => Self::UnsupportedVersion,
            E::UnsupportedCriticalExtension => Self::UnsupportedCriticalExtension,
            E::CertExpired { not_after, .. } => Self::Expired { not_after },
            E::CertNotValidYet { not_before, .. } => Self::NotYetValid { not_before },
            E::InvalidCertValidity => Self::InvalidValidity,
            E::CertNotValidForName(_) => Self::NameMismatch,
            E::UnknownIssuer => Self::UnknownIssuer,
            E::InvalidSignatureForPublicKey => Self::BadSignature,
            E::UnsupportedSignatureAlgorithmContext(context)
                if is_weak(&context.signature_algorithm_id) =>
            {
                Self::WeakSignatureAlgorithm
            }
            E::UnsupportedSignatureAlgorithm | E::UnsupportedSignatureAlgorithmContext(_) => {
                Self::UnsupportedSignatureAlgorithm
            }
            E::UnsupportedSignatureAlgorithmForPublicKey
            | E::UnsupportedSignatureAlgorithmForPublicKeyContext(_) => Self::UnsupportedKey,
            E::CertRevoked => Self::Revoked,
            E::UnknownRevocationStatus => Self::UnknownRevocationStatus,
            E::CrlExpired { next_update, .. } => Self::CrlExpired { next_update },
            E::InvalidCrlNumber
            | E::InvalidCrlSignatureForPublicKey
            | E::IssuerNotCrlSigner
            | E::UnsupportedCrlIssuingDistributionPoint
            | E::UnsupportedCrlSignatureAlgorithm
            | E::UnsupportedCrlSignatureAlgorithmContext(_)
            | E::UnsupportedCrlSignatureAlgorithmForPublicKey
            | E::UnsupportedCrlSignatureAlgorithmForPublicKeyContext(_)
            | E::UnsupportedCrlVersion
            | E::UnsupportedDeltaCrl
            | E::UnsupportedIndirectCrl
            | E::UnsupportedRevocationReason
            | E::UnsupportedRevocationReasonsPartitioning => Self::InvalidCrl,
            E::CaUsedAsEndEntity => Self::CaUsedAsEndEntity,
            E::EndEntityUsedAsCa => Self::EndEntityUsedAsCa,
            E::RequiredEkuNotFound | E::RequiredEkuNotFoundContext(_) => Self::NotForThisUsage,
            // Only names that are held against constraints cause this error.
            E::MalformedDnsIdentifier => Self::UnsupportedNameConstraint,
            E::NameConstraintViolation => Self::NameConstraint,
            E::PathLenConstraintViolated => Self::PathTooLong,
            E::MaximumNameConstraintComparisonsExceeded
            | E::MaximumPathBuildCallsExceeded
            | E::MaximumSignatureChecksExceeded => Self::PathLimits,
            E::MaximumPathDepthExceeded => Self::PathTooDeep,
            E::CertDistrusted => Self::Distrusted,
            // UnsupportedNameType, and variants added by later versions of webpki.
            _ => Self::Other,
        }
    }
}

/// Whether the content of an AlgorithmIdentifier is MD2, MD4, MD5 or SHA-1. RFC 8017 A.2.4,
/// RFC 3279 2.2
fn is_weak(algorithm: &[u8]) -> bool {
    WEAK.iter().any(|oid| algorithm.starts_with(oid))
}

const WEAK: [&[u8]; 6] = [
    // 1.2.840.113549.1.1.2 to .5
    &[6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 2],
    &[6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 3],
    &[6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 4],
    &[6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 5],
    // ecdsa-with-SHA1 and id-dsa-with-sha1
    &[6, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 1],
    &[6, 7, 0x2a, 0x86, 0x48, 0xce, 0x38, 4, 3],
];

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8017 A.2.4
    #[test]
    fn weak_algorithms_are_distinguished_from_unknown_ones() {
        let refused = |id: &[u8]| {
            RefusalReason::from(webpki::Error::UnsupportedSignatureAlgorithmContext(
                webpki::UnsupportedSignatureAlgorithmContext {
                    signature_algorithm_id: id.to_vec(),
                    supported_algorithms: Vec::new(),
                },
            ))
        };
        let sha1_with_rsa = [6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 5, 5, 0];
        let ecdsa_with_sha1 = [6, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 1];
        assert_eq!(refused(&sha1_with_rsa), RefusalReason::WeakSignatureAlgorithm);
        assert_eq!(refused(&ecdsa_with_sha1), RefusalReason::WeakSignatureAlgorithm);
        let ed448 = pki_types::alg_id::ED448;
        assert_eq!(refused(&ed448), RefusalReason::UnsupportedSignatureAlgorithm);
    }
}

//! Signature schemes, and the keys and versions with which each may be used. RFC 9846 4.3.3,
//! RFC 5246 7.4.1.4.1, RFC 8422

use tercel_crypto::{KeyKind, SignatureAlgorithm};
use tercel_wire::{List, NamedGroup, ProtocolVersion, SignatureScheme};

/// A set of supported signature schemes. A peer's list of any length is reduced to it once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SchemeSet(u32);

impl SchemeSet {
    pub(crate) fn of(list: List<'_, SignatureScheme>) -> Self {
        let bits = list.iter().filter_map(index).filter_map(|index| 1_u32.checked_shl(index));
        Self(bits.fold(0, |set, bit| set | bit))
    }

    /// Returns the set of all supported schemes.
    pub(crate) fn all() -> Self {
        Self(ALL.iter().fold(0, |set, _| set << 1 | 1))
    }

    pub(crate) fn has(self, scheme: SignatureScheme) -> bool {
        let bit = index(scheme).and_then(|index| 1_u32.checked_shl(index));
        bit.is_some_and(|bit| self.0 & bit != 0)
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = SignatureScheme> {
        let bits = core::iter::successors(Some(1_u32), |bit| bit.checked_mul(2));
        ALL.iter()
            .copied()
            .zip(bits)
            .filter(move |(_, bit)| self.0 & bit != 0)
            .map(|(known, _)| known)
    }
}

/// All supported schemes. There can be at most 32.
const ALL: [SignatureScheme; 16] = [
    SignatureScheme::ECDSA_SECP256R1_SHA256,
    SignatureScheme::ECDSA_SECP384R1_SHA384,
    SignatureScheme::ECDSA_SECP521R1_SHA512,
    SignatureScheme::ED25519,
    SignatureScheme::RSA_PSS_RSAE_SHA256,
    SignatureScheme::RSA_PSS_RSAE_SHA384,
    SignatureScheme::RSA_PSS_RSAE_SHA512,
    SignatureScheme::RSA_PSS_PSS_SHA256,
    SignatureScheme::RSA_PSS_PSS_SHA384,
    SignatureScheme::RSA_PSS_PSS_SHA512,
    SignatureScheme::RSA_PKCS1_SHA256,
    SignatureScheme::RSA_PKCS1_SHA384,
    SignatureScheme::RSA_PKCS1_SHA512,
    SignatureScheme::MLDSA44,
    SignatureScheme::MLDSA65,
    SignatureScheme::MLDSA87,
];

/// Returns the index of a scheme in [`ALL`] without a search, since a peer's list may be long.
fn index(scheme: SignatureScheme) -> Option<u32> {
    Some(match scheme {
        SignatureScheme::ECDSA_SECP256R1_SHA256 => 0,
        SignatureScheme::ECDSA_SECP384R1_SHA384 => 1,
        SignatureScheme::ECDSA_SECP521R1_SHA512 => 2,
        SignatureScheme::ED25519 => 3,
        SignatureScheme::RSA_PSS_RSAE_SHA256 => 4,
        SignatureScheme::RSA_PSS_RSAE_SHA384 => 5,
        SignatureScheme::RSA_PSS_RSAE_SHA512 => 6,
        SignatureScheme::RSA_PSS_PSS_SHA256 => 7,
        SignatureScheme::RSA_PSS_PSS_SHA384 => 8,
        SignatureScheme::RSA_PSS_PSS_SHA512 => 9,
        SignatureScheme::RSA_PKCS1_SHA256 => 10,
        SignatureScheme::RSA_PKCS1_SHA384 => 11,
        SignatureScheme::RSA_PKCS1_SHA512 => 12,
        SignatureScheme::MLDSA44 => 13,
        SignatureScheme::MLDSA65 => 14,
        SignatureScheme::MLDSA87 => 15,
        _ => return None,
    })
}

/// Returns the algorithm of a scheme, or `None` if the scheme is not supported.
pub(crate) fn algorithm(scheme: SignatureScheme) -> Option<SignatureAlgorithm> {
    Some(match scheme {
        SignatureScheme::RSA_PKCS1_SHA256 => SignatureAlgorithm::RsaPkcs1Sha256,
        SignatureScheme::RSA_PKCS1_SHA384 => SignatureAlgorithm::RsaPkcs1Sha384,
        SignatureScheme::RSA_PKCS1_SHA512 => SignatureAlgorithm::RsaPkcs1Sha512,
        SignatureScheme::RSA_PSS_RSAE_SHA256 | SignatureScheme::RSA_PSS_PSS_SHA256 => {
            SignatureAlgorithm::RsaPssSha256
        }
        SignatureScheme::RSA_PSS_RSAE_SHA384 | SignatureScheme::RSA_PSS_PSS_SHA384 => {
            SignatureAlgorithm::RsaPssSha384
        }
        SignatureScheme::RSA_PSS_RSAE_SHA512 | SignatureScheme::RSA_PSS_PSS_SHA512 => {
            SignatureAlgorithm::RsaPssSha512
        }
        SignatureScheme::ECDSA_SECP256R1_SHA256 => SignatureAlgorithm::EcdsaSha256,
        SignatureScheme::ECDSA_SECP384R1_SHA384 => SignatureAlgorithm::EcdsaSha384,
        SignatureScheme::ECDSA_SECP521R1_SHA512 => SignatureAlgorithm::EcdsaSha512,
        SignatureScheme::ED25519 => SignatureAlgorithm::Ed25519,
        SignatureScheme::MLDSA44 => SignatureAlgorithm::MlDsa44,
        SignatureScheme::MLDSA65 => SignatureAlgorithm::MlDsa65,
        SignatureScheme::MLDSA87 => SignatureAlgorithm::MlDsa87,
        _ => return None,
    })
}

/// Whether a key of `kind` may sign a handshake of `version` with `scheme`.
pub(crate) fn usable(scheme: SignatureScheme, kind: KeyKind, version: ProtocolVersion) -> bool {
    let tls13 = version == ProtocolVersion::TLS1_3;
    match scheme {
        // In TLS 1.3, RSASSA-PKCS1-v1_5 is allowed only in certificates. RFC 9846 4.3.3
        SignatureScheme::RSA_PKCS1_SHA256
        | SignatureScheme::RSA_PKCS1_SHA384
        | SignatureScheme::RSA_PKCS1_SHA512 => kind == KeyKind::Rsa && !tls13,
        SignatureScheme::RSA_PSS_RSAE_SHA256
        | SignatureScheme::RSA_PSS_RSAE_SHA384
        | SignatureScheme::RSA_PSS_RSAE_SHA512 => kind == KeyKind::Rsa,
        SignatureScheme::RSA_PSS_PSS_SHA256
        | SignatureScheme::RSA_PSS_PSS_SHA384
        | SignatureScheme::RSA_PSS_PSS_SHA512 => kind == KeyKind::RsaPss,
        SignatureScheme::ED25519 => kind == KeyKind::Ed25519,
        SignatureScheme::MLDSA44 => kind == KeyKind::MlDsa44 && tls13,
        SignatureScheme::MLDSA65 => kind == KeyKind::MlDsa65 && tls13,
        SignatureScheme::MLDSA87 => kind == KeyKind::MlDsa87 && tls13,
        // In TLS 1.3 the scheme determines the curve; in TLS 1.2 it does not. RFC 9846 4.3.3
        SignatureScheme::ECDSA_SECP256R1_SHA256 => fits_curve(kind, KeyKind::EcdsaP256, tls13),
        SignatureScheme::ECDSA_SECP384R1_SHA384 => fits_curve(kind, KeyKind::EcdsaP384, tls13),
        SignatureScheme::ECDSA_SECP521R1_SHA512 => fits_curve(kind, KeyKind::EcdsaP521, tls13),
        _ => false,
    }
}

/// Whether a scheme is undefined in TLS 1.2, both for handshakes and for certificates.
pub(crate) fn is_for_tls13_only(scheme: SignatureScheme) -> bool {
    matches!(scheme, SignatureScheme::MLDSA44 | SignatureScheme::MLDSA65 | SignatureScheme::MLDSA87)
}

fn fits_curve(kind: KeyKind, wanted: KeyKind, tls13: bool) -> bool {
    kind == wanted || (!tls13 && curve(kind).is_some())
}

/// Returns the curve of an ECDSA key.
pub(crate) fn curve(kind: KeyKind) -> Option<NamedGroup> {
    match kind {
        KeyKind::EcdsaP256 => Some(NamedGroup::SECP256R1),
        KeyKind::EcdsaP384 => Some(NamedGroup::SECP384R1),
        KeyKind::EcdsaP521 => Some(NamedGroup::SECP521R1),
        _ => None,
    }
}

/// Returns the schemes with which a key can sign, most preferred first.
pub(crate) fn for_key(kind: KeyKind) -> Vec<SignatureScheme> {
    let preferred: &[SignatureScheme] = match kind {
        KeyKind::Rsa => &[
            SignatureScheme::RSA_PSS_RSAE_SHA256,
            SignatureScheme::RSA_PSS_RSAE_SHA384,
            SignatureScheme::RSA_PSS_RSAE_SHA512,
            SignatureScheme::RSA_PKCS1_SHA256,
            SignatureScheme::RSA_PKCS1_SHA384,
            SignatureScheme::RSA_PKCS1_SHA512,
        ],
        KeyKind::RsaPss => &[
            SignatureScheme::RSA_PSS_PSS_SHA256,
            SignatureScheme::RSA_PSS_PSS_SHA384,
            SignatureScheme::RSA_PSS_PSS_SHA512,
        ],
        KeyKind::EcdsaP256 => &[
            SignatureScheme::ECDSA_SECP256R1_SHA256,
            SignatureScheme::ECDSA_SECP384R1_SHA384,
            SignatureScheme::ECDSA_SECP521R1_SHA512,
        ],
        KeyKind::EcdsaP384 => &[
            SignatureScheme::ECDSA_SECP384R1_SHA384,
            SignatureScheme::ECDSA_SECP256R1_SHA256,
            SignatureScheme::ECDSA_SECP521R1_SHA512,
        ],
        KeyKind::EcdsaP521 => &[
            SignatureScheme::ECDSA_SECP521R1_SHA512,
            SignatureScheme::ECDSA_SECP384R1_SHA384,
            SignatureScheme::ECDSA_SECP256R1_SHA256,
        ],
        KeyKind::Ed25519 => &[SignatureScheme::ED25519],
        KeyKind::MlDsa44 => &[SignatureScheme::MLDSA44],
        KeyKind::MlDsa65 => &[SignatureScheme::MLDSA65],
        KeyKind::MlDsa87 => &[SignatureScheme::MLDSA87],
        _ => &[],
    };
    preferred.to_vec()
}

/// All schemes that [`tercel_crypto`] can verify, most preferred first.
pub(crate) const SIGNATURE_SCHEMES: &[SignatureScheme] = &[
    SignatureScheme::ECDSA_SECP256R1_SHA256,
    SignatureScheme::ECDSA_SECP384R1_SHA384,
    SignatureScheme::ECDSA_SECP521R1_SHA512,
    SignatureScheme::ED25519,
    SignatureScheme::RSA_PSS_RSAE_SHA256,
    SignatureScheme::RSA_PSS_RSAE_SHA384,
    SignatureScheme::RSA_PSS_RSAE_SHA512,
    SignatureScheme::RSA_PKCS1_SHA256,
    SignatureScheme::RSA_PKCS1_SHA384,
    SignatureScheme::RSA_PKCS1_SHA512,
    SignatureScheme::MLDSA65,
    SignatureScheme::MLDSA87,
    SignatureScheme::MLDSA44,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_contains_the_supported_schemes_of_its_list() {
        for scheme in SignatureScheme::NAMED {
            let known = algorithm(*scheme).is_some();
            assert_eq!(ALL.contains(scheme), known, "{scheme}");
            let list = [SignatureScheme(0xfefe), *scheme, *scheme];
            let set = SchemeSet::of(List::new(&list));
            assert_eq!(set.has(*scheme), known, "{scheme}");
            assert!(set.iter().all(|each| each == *scheme), "{scheme}");
            let expected = ALL.iter().position(|each| each == scheme);
            assert_eq!(index(*scheme).map(|index| index as usize), expected, "{scheme}");
            assert_eq!(set.iter().count(), usize::from(known));
        }
    }
}

//! Signature schemes, and the keys and versions with which each may be used. RFC 9846 4.3.3,
//! RFC 5246 7.4.1.4.1, RFC 8422

use tercel_crypto::SignatureAlgorithm as A;
use tercel_crypto::{KeyKind, SignatureAlgorithm, Signer};
use tercel_wire::{List, NamedGroup, ProtocolVersion, SignatureScheme};

use crate::error::{Error, InternalError};

use Versions::{Both, Only12, Only13};

/// A set of supported signature schemes. A peer's list is converted to a set once, so that later
/// checks do not depend on its length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SchemeSet(u32);

impl SchemeSet {
    pub(crate) fn of(list: List<'_, SignatureScheme>) -> Self {
        let bits = list.iter().filter_map(index).filter_map(|index| 1_u32.checked_shl(index));
        Self(bits.fold(0, |set, bit| set | bit))
    }

    /// Returns the set of all supported schemes.
    pub(crate) fn all() -> Self {
        Self(TABLE.iter().fold(0, |set, _| set << 1 | 1))
    }

    pub(crate) fn has(self, scheme: SignatureScheme) -> bool {
        let bit = index(scheme).and_then(|index| 1_u32.checked_shl(index));
        bit.is_some_and(|bit| self.0 & bit != 0)
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = SignatureScheme> {
        let bits = core::iter::successors(Some(1_u32), |bit| bit.checked_mul(2));
        let known = TABLE.iter().map(|row| row.0).zip(bits);
        known.filter(move |(_, bit)| self.0 & bit != 0).map(|(known, _)| known)
    }
}

/// The properties of a signature scheme: its algorithm, the kind of key, and the versions whose
/// handshakes may use the scheme.
struct Row(SignatureScheme, SignatureAlgorithm, KeyKind, Versions);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Versions {
    Both,
    /// In TLS 1.3, RSASSA-PKCS1-v1_5 is allowed only in certificates. RFC 9846 4.3.3
    Only12,
    /// The scheme is undefined in TLS 1.2, both for handshakes and for certificates.
    Only13,
}

/// All supported schemes, at most 32. For each kind of key, the most preferred scheme is first.
static TABLE: [Row; 16] = [
    Row(SignatureScheme::ECDSA_SECP256R1_SHA256, A::EcdsaSha256, KeyKind::EcdsaP256, Both),
    Row(SignatureScheme::ECDSA_SECP384R1_SHA384, A::EcdsaSha384, KeyKind::EcdsaP384, Both),
    Row(SignatureScheme::ECDSA_SECP521R1_SHA512, A::EcdsaSha512, KeyKind::EcdsaP521, Both),
    Row(SignatureScheme::ED25519, A::Ed25519, KeyKind::Ed25519, Both),
    Row(SignatureScheme::RSA_PSS_RSAE_SHA256, A::RsaPssSha256, KeyKind::Rsa, Both),
    Row(SignatureScheme::RSA_PSS_RSAE_SHA384, A::RsaPssSha384, KeyKind::Rsa, Both),
    Row(SignatureScheme::RSA_PSS_RSAE_SHA512, A::RsaPssSha512, KeyKind::Rsa, Both),
    Row(SignatureScheme::RSA_PSS_PSS_SHA256, A::RsaPssSha256, KeyKind::RsaPss, Both),
    Row(SignatureScheme::RSA_PSS_PSS_SHA384, A::RsaPssSha384, KeyKind::RsaPss, Both),
    Row(SignatureScheme::RSA_PSS_PSS_SHA512, A::RsaPssSha512, KeyKind::RsaPss, Both),
    Row(SignatureScheme::RSA_PKCS1_SHA256, A::RsaPkcs1Sha256, KeyKind::Rsa, Only12),
    Row(SignatureScheme::RSA_PKCS1_SHA384, A::RsaPkcs1Sha384, KeyKind::Rsa, Only12),
    Row(SignatureScheme::RSA_PKCS1_SHA512, A::RsaPkcs1Sha512, KeyKind::Rsa, Only12),
    Row(SignatureScheme::MLDSA44, A::MlDsa44, KeyKind::MlDsa44, Only13),
    Row(SignatureScheme::MLDSA65, A::MlDsa65, KeyKind::MlDsa65, Only13),
    Row(SignatureScheme::MLDSA87, A::MlDsa87, KeyKind::MlDsa87, Only13),
];

/// Returns the index of a scheme in [`TABLE`] without a search, since a peer's list may be long.
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

fn row(scheme: SignatureScheme) -> Option<&'static Row> {
    TABLE.get(usize::try_from(index(scheme)?).ok()?)
}

/// Returns the algorithm of a scheme, or `None` if the scheme is not supported.
pub(crate) fn algorithm(scheme: SignatureScheme) -> Option<SignatureAlgorithm> {
    row(scheme).map(|Row(_, algorithm, ..)| *algorithm)
}

/// Signs the content of a handshake signature.
pub(crate) fn sign(
    signer: &dyn Signer,
    scheme: SignatureScheme,
    content: &[u8],
) -> Result<Vec<u8>, Error> {
    let algorithm = algorithm(scheme).ok_or(InternalError::SigningFailed)?;
    signer.sign(algorithm, content).map_err(|_| InternalError::SigningFailed.into())
}

/// Whether a key of `kind` may sign a handshake of `version` with `scheme`.
pub(crate) fn usable(scheme: SignatureScheme, kind: KeyKind, version: ProtocolVersion) -> bool {
    let Some(Row(_, _, wanted, versions)) = row(scheme) else { return false };
    if version == ProtocolVersion::TLS1_3 {
        return kind == *wanted && *versions != Only12;
    }
    // In TLS 1.3 the scheme determines the curve; in TLS 1.2 it does not. RFC 9846 4.3.3
    let fits = kind == *wanted || (curve(kind).is_some() && curve(*wanted).is_some());
    fits && *versions != Only13
}

/// Whether a scheme is undefined in TLS 1.2, both for handshakes and for certificates.
pub(crate) fn is_for_tls13_only(scheme: SignatureScheme) -> bool {
    row(scheme).is_some_and(|Row(.., versions)| *versions == Only13)
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
    let first = TABLE.iter().filter(|Row(_, _, wanted, _)| *wanted == kind).map(|row| row.0);
    // In TLS 1.2 an ECDSA key can also sign with the schemes of other curves.
    let others: &[SignatureScheme] = match kind {
        KeyKind::EcdsaP256 => {
            &[SignatureScheme::ECDSA_SECP384R1_SHA384, SignatureScheme::ECDSA_SECP521R1_SHA512]
        }
        KeyKind::EcdsaP384 => {
            &[SignatureScheme::ECDSA_SECP256R1_SHA256, SignatureScheme::ECDSA_SECP521R1_SHA512]
        }
        KeyKind::EcdsaP521 => {
            &[SignatureScheme::ECDSA_SECP384R1_SHA384, SignatureScheme::ECDSA_SECP256R1_SHA256]
        }
        _ => &[],
    };
    first.chain(others.iter().copied()).collect()
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
            assert_eq!(TABLE.iter().any(|row| row.0 == *scheme), known, "{scheme}");
            let list = [SignatureScheme(0xfefe), *scheme, *scheme];
            let set = SchemeSet::of(List::new(&list));
            assert_eq!(set.has(*scheme), known, "{scheme}");
            assert!(set.iter().all(|each| each == *scheme), "{scheme}");
            let expected = TABLE.iter().position(|row| row.0 == *scheme);
            assert_eq!(index(*scheme).map(|index| index as usize), expected, "{scheme}");
            assert_eq!(set.iter().count(), usize::from(known));
        }
    }
}

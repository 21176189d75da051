//! Signature schemes: the lists of OpenSSL, by name and by pairs of numbers.

use core::ffi::c_int;

use tercel::wire::SignatureScheme;

use SignatureScheme as S;

/// A scheme that Tercel has: its name, its form `KEY+HASH`, and libcrypto's numbers of the hash and
/// of the kind of key.
///
/// In the form `KEY+HASH`, `PSS` and `RSA-PSS` are the schemes for ordinary RSA keys.
struct Row(SignatureScheme, &'static str, &'static str, c_int, c_int);

const RSA: c_int = 6;
const RSA_PSS: c_int = 912;
const EC: c_int = 408;
const ED25519: c_int = 1087;
const SHA256: c_int = 672;
const SHA384: c_int = 673;
const SHA512: c_int = 674;

static TABLE: [Row; 13] = [
    Row(S::ECDSA_SECP256R1_SHA256, "ecdsa_secp256r1_sha256", "ECDSA+SHA256", SHA256, EC),
    Row(S::ECDSA_SECP384R1_SHA384, "ecdsa_secp384r1_sha384", "ECDSA+SHA384", SHA384, EC),
    Row(S::ECDSA_SECP521R1_SHA512, "ecdsa_secp521r1_sha512", "ECDSA+SHA512", SHA512, EC),
    Row(S::ED25519, "ed25519", "ed25519", 0, ED25519),
    Row(S::RSA_PSS_RSAE_SHA256, "rsa_pss_rsae_sha256", "RSA-PSS+SHA256", SHA256, RSA_PSS),
    Row(S::RSA_PSS_RSAE_SHA384, "rsa_pss_rsae_sha384", "RSA-PSS+SHA384", SHA384, RSA_PSS),
    Row(S::RSA_PSS_RSAE_SHA512, "rsa_pss_rsae_sha512", "RSA-PSS+SHA512", SHA512, RSA_PSS),
    Row(S::RSA_PSS_PSS_SHA256, "rsa_pss_pss_sha256", "", SHA256, RSA_PSS),
    Row(S::RSA_PSS_PSS_SHA384, "rsa_pss_pss_sha384", "", SHA384, RSA_PSS),
    Row(S::RSA_PSS_PSS_SHA512, "rsa_pss_pss_sha512", "", SHA512, RSA_PSS),
    Row(S::RSA_PKCS1_SHA256, "rsa_pkcs1_sha256", "RSA+SHA256", SHA256, RSA),
    Row(S::RSA_PKCS1_SHA384, "rsa_pkcs1_sha384", "RSA+SHA384", SHA384, RSA),
    Row(S::RSA_PKCS1_SHA512, "rsa_pkcs1_sha512", "RSA+SHA512", SHA512, RSA),
];

/// The schemes that are offered if the program selects none, also those for RSASSA-PSS keys.
pub(crate) const DEFAULT: [SignatureScheme; 13] = [
    S::ECDSA_SECP256R1_SHA256,
    S::ECDSA_SECP384R1_SHA384,
    S::ECDSA_SECP521R1_SHA512,
    S::ED25519,
    S::RSA_PSS_RSAE_SHA256,
    S::RSA_PSS_RSAE_SHA384,
    S::RSA_PSS_RSAE_SHA512,
    S::RSA_PSS_PSS_SHA256,
    S::RSA_PSS_PSS_SHA384,
    S::RSA_PSS_PSS_SHA512,
    S::RSA_PKCS1_SHA256,
    S::RSA_PKCS1_SHA384,
    S::RSA_PKCS1_SHA512,
];

/// Parts of names that OpenSSL knows and Tercel refuses.
const REFUSED: [&str; 9] =
    ["sha1", "sha224", "ed448", "dsa+", "gost", "brainpool", "mldsa", "DSA", "md5"];

/// The schemes of a list such as `RSA+SHA256:ed25519`. `None` if a name is unknown, or nothing is
/// left.
pub(crate) fn from_names(text: &str) -> Option<Vec<SignatureScheme>> {
    let mut schemes = Vec::new();
    for name in text.split(':') {
        let pss = name.strip_prefix("PSS+").map(|hash| format!("RSA-PSS+{hash}"));
        let name = pss.as_deref().unwrap_or(name);
        let is_name = |known: &str| !known.is_empty() && known.eq_ignore_ascii_case(name);
        let row = TABLE.iter().find(|row| is_name(row.1) || is_name(row.2));
        let lower = name.to_ascii_lowercase();
        match row {
            Some(row) => schemes.push(row.0),
            None if REFUSED.iter().any(|part| lower.contains(&part.to_ascii_lowercase())) => {}
            None => return None,
        }
    }
    (!schemes.is_empty()).then_some(schemes)
}

/// The schemes of pairs of a hash's and a key's number.
pub(crate) fn from_nids(nids: &[c_int]) -> Option<Vec<SignatureScheme>> {
    let mut schemes = Vec::new();
    for pair in nids.chunks_exact(2) {
        let found = TABLE.iter().filter(|row| pair == [row.3, row.4]);
        schemes.extend(found.map(|row| row.0));
    }
    (!schemes.is_empty()).then_some(schemes)
}

/// libcrypto's number of the hash of a scheme; 0 if it has none.
pub(crate) fn hash_nid(scheme: SignatureScheme) -> c_int {
    TABLE.iter().find(|row| row.0 == scheme).map_or(0, |row| row.3)
}

/// The strength of a scheme in bits: half of the length of its hash.
pub(crate) fn bits(scheme: SignatureScheme) -> c_int {
    match hash_nid(scheme) {
        SHA512 => 256,
        SHA384 => 192,
        _ => 128,
    }
}

/// libcrypto's number of the kind of signature of a scheme; 0 if it is unknown.
pub(crate) fn key_nid(scheme: SignatureScheme) -> c_int {
    TABLE.iter().find(|row| row.0 == scheme).map_or(0, |row| row.4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read() {
        let pss = vec![S::RSA_PKCS1_SHA256, S::RSA_PSS_RSAE_SHA256];
        assert_eq!(from_names("RSA+SHA256:PSS+SHA256"), Some(pss));
        assert_eq!(from_names("ed25519:ecdsa_secp256r1_sha256:RSA+SHA1").unwrap().len(), 2);
        assert_eq!(from_names("RSA+SHA256:nonsense"), None);
        assert_eq!(from_names(""), None);
        assert_eq!(from_nids(&[SHA256, EC, SHA384]), Some(vec![S::ECDSA_SECP256R1_SHA256]));
    }
}

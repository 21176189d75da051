//! DER encoding of a `SubjectPublicKeyInfo` around a public key.
//!
//! This module encodes the public half of a private key in the form that a certificate has. It does
//! not parse input; AWS-LC does. It only finds the algorithm in what AWS-LC has parsed. The reader
//! of PKCS#12 files uses its encoding of lengths.

use crate::backend::ec::Curve;
use crate::backend::ml_dsa::ParameterSet;

/// `AlgorithmIdentifier` of rsaEncryption (RFC 3279 2.3.1).
pub(crate) const RSA_ENCRYPTION: &[u8] =
    &[0x30, 13, 6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1, 5, 0];

/// `AlgorithmIdentifier` of id-Ed25519 (RFC 8410 3).
pub(crate) const ED25519: &[u8] = &[0x30, 5, 6, 3, 0x2b, 0x65, 0x70];

/// `AlgorithmIdentifier` of id-ecPublicKey with the curve's name (RFC 5480 2.1).
pub(crate) fn ec_algorithm(curve: Curve) -> &'static [u8] {
    match curve {
        Curve::P256 => &[
            0x30, 19, 6, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1, // id-ecPublicKey
            6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7,
        ],
        Curve::P384 => &[
            0x30, 16, 6, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1, // id-ecPublicKey
            6, 5, 0x2b, 0x81, 4, 0, 34,
        ],
        Curve::P521 => &[
            0x30, 16, 6, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1, // id-ecPublicKey
            6, 5, 0x2b, 0x81, 4, 0, 35,
        ],
    }
}

/// `AlgorithmIdentifier` of id-ml-dsa-44, id-ml-dsa-65 and id-ml-dsa-87 (RFC 9881 2).
pub(crate) fn ml_dsa(set: ParameterSet) -> &'static [u8] {
    match set {
        ParameterSet::MlDsa44 => &[0x30, 11, 6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 3, 17],
        ParameterSet::MlDsa65 => &[0x30, 11, 6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 3, 18],
        ParameterSet::MlDsa87 => &[0x30, 11, 6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 3, 19],
    }
}

/// A `SubjectPublicKeyInfo` with this encoded algorithm, and a key without unused bits.
pub(crate) fn spki(algorithm: &[u8], key: &[u8]) -> Vec<u8> {
    let mut bits = vec![0]; // no unused bits in the last byte
    bits.extend_from_slice(key);
    let mut fields = algorithm.to_vec();
    append(&mut fields, BIT_STRING, &bits);
    let mut spki = Vec::new();
    append(&mut spki, SEQUENCE, &fields);
    spki
}

/// The encoded `AlgorithmIdentifier` of a PKCS#8 key that AWS-LC has parsed (RFC 5958 2).
pub(crate) fn pkcs8_algorithm(pkcs8: &[u8]) -> Option<&[u8]> {
    let (fields, _) = contents(pkcs8)?;
    let (_version, after_version) = contents(fields)?;
    let (_, after_algorithm) = contents(after_version)?;
    Some(&after_version[..after_version.len() - after_algorithm.len()])
}

/// The encoded `AlgorithmIdentifier` of a SubjectPublicKeyInfo that AWS-LC has parsed
/// (RFC 5280 4.1.2.7).
pub(crate) fn spki_algorithm(spki: &[u8]) -> Option<&[u8]> {
    let (fields, _) = contents(spki)?;
    let (_, after_algorithm) = contents(fields)?;
    Some(&fields[..fields.len() - after_algorithm.len()])
}

/// Appends an element with a tag of one byte.
pub(crate) fn append(out: &mut Vec<u8>, tag: u8, contents: &[u8]) {
    out.push(tag);
    let len = contents.len().to_be_bytes();
    let significant = &len[len.iter().take_while(|byte| **byte == 0).count()..];
    match significant {
        [] => out.push(0),
        [short] if *short < 0x80 => out.push(*short),
        long => {
            // A `usize` has at most eight bytes.
            #[allow(clippy::cast_possible_truncation)]
            out.push(0x80 | long.len() as u8);
            out.extend_from_slice(long);
        }
    }
    out.extend_from_slice(contents);
}

/// The contents of the first element, of any tag of one byte, and the bytes after it.
pub(crate) fn contents(input: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&first, rest) = input.get(1..)?.split_first()?;
    let (len, rest) = if first < 0x80 {
        (usize::from(first), rest)
    } else {
        let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
        let len = bytes.iter().try_fold(0_usize, |len, byte| {
            len.checked_mul(256).map(|len| len | usize::from(*byte))
        });
        (len?, rest)
    };
    rest.split_at_checked(len)
}

const SEQUENCE: u8 = 0x30;
const BIT_STRING: u8 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_encoded_in_the_shortest_form() {
        for (len, header) in [
            (0, &[4, 0][..]),
            (127, &[4, 127]),
            (128, &[4, 0x81, 128]),
            (255, &[4, 0x81, 255]),
            (256, &[4, 0x82, 1, 0]),
            (65536, &[4, 0x83, 1, 0, 0]),
        ] {
            let mut out = Vec::new();
            append(&mut out, 4, &vec![7; len]);
            assert_eq!(&out[..header.len()], header);
            assert_eq!(out.len(), header.len() + len);
            let (body, rest) = contents(&out).unwrap();
            assert_eq!((body.len(), rest.len()), (len, 0));
        }
    }

    #[test]
    fn truncated_elements_have_no_contents() {
        for input in [&[][..], &[4], &[4, 1], &[4, 0x82, 1], &[4, 0x89, 1, 1, 1, 1, 1, 1, 1, 1, 1]]
        {
            assert_eq!(contents(input), None);
        }
    }
}

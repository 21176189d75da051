//! Readable names of object identifiers.
//!
//! The names are for printing only; [`crate::algorithms`] has the algorithms that are accepted.

use tercel_crypto::HashAlgorithm;

use crate::der::{self, Malformed, Reader};

/// The short name of an attribute of a distinguished name. RFC 4514 3 and RFC 4519
pub(super) fn attribute_name(oid: &[u8]) -> Option<&'static str> {
    Some(match oid {
        [0x55, 0x04, 0x03] => "CN",
        [0x55, 0x04, 0x04] => "SN",
        [0x55, 0x04, 0x05] => "serialNumber",
        [0x55, 0x04, 0x06] => "C",
        [0x55, 0x04, 0x07] => "L",
        [0x55, 0x04, 0x08] => "ST",
        [0x55, 0x04, 0x09] => "STREET",
        [0x55, 0x04, 0x0a] => "O",
        [0x55, 0x04, 0x0b] => "OU",
        [0x55, 0x04, 0x0c] => "title",
        [0x55, 0x04, 0x11] => "postalCode",
        [0x55, 0x04, 0x2a] => "GN",
        [0x55, 0x04, 0x61] => "organizationIdentifier",
        [0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 0x01, 0x01] => "UID",
        [0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 0x01, 0x19] => "DC",
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x01] => "emailAddress",
        _ => return None,
    })
}

/// The description of a public key, as `RSA 2048` or `ECDSA P-256`, from its SubjectPublicKeyInfo.
/// RFC 5480, RFC 8017 A.1, RFC 8410
pub(super) fn key_name(subject_public_key_info: &[u8]) -> String {
    match read_key(subject_public_key_info) {
        Ok(name) => name,
        Err(Malformed) => "unreadable".to_owned(),
    }
}

/// The hash for the channel binding `tls-server-end-point`, from the content of the certificate's
/// AlgorithmIdentifier; SHA-256 in place of MD5 and SHA-1. RFC 5929 4.1
pub(super) fn signature_hash(algorithm: &[u8]) -> Option<HashAlgorithm> {
    let mut reader = Reader::new(algorithm);
    let oid = reader.expect(der::OBJECT_IDENTIFIER).ok()?;
    match signature_with_hash(oid, reader)? {
        (_, "MD5" | "SHA-1" | "SHA-256") => Some(HashAlgorithm::Sha256),
        (_, "SHA-384") => Some(HashAlgorithm::Sha384),
        (_, "SHA-512") => Some(HashAlgorithm::Sha512),
        _ => None,
    }
}

/// The description of a signature algorithm, from the content of its AlgorithmIdentifier.
/// RFC 8017 A.2.3, RFC 5758
pub(super) fn signature_name(algorithm: &[u8]) -> String {
    let mut reader = Reader::new(algorithm);
    let Ok(oid) = reader.expect(der::OBJECT_IDENTIFIER) else {
        return "unreadable".to_owned();
    };
    match signature_with_hash(oid, reader) {
        Some((signature, hash)) => format!("{signature} with {hash}"),
        None => edwards_or_lattice(oid).map_or_else(|| dotted(oid), ToOwned::to_owned),
    }
}

/// The signature scheme and the hash of an algorithm that combines the two.
fn signature_with_hash(oid: &[u8], parameters: Reader<'_>) -> Option<(&'static str, &'static str)> {
    const RSA: &str = "RSA PKCS#1";
    Some(match oid {
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, last] => match last {
            4 => (RSA, "MD5"),
            5 => (RSA, "SHA-1"),
            10 => ("RSA PSS", pss_hash(parameters)),
            11 => (RSA, "SHA-256"),
            12 => (RSA, "SHA-384"),
            13 => (RSA, "SHA-512"),
            _ => return None,
        },
        [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x01] => ("ECDSA", "SHA-1"),
        [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02] => ("ECDSA", "SHA-256"),
        [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x03] => ("ECDSA", "SHA-384"),
        [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x04] => ("ECDSA", "SHA-512"),
        _ => return None,
    })
}

/// An object identifier in dotted decimal: `1.2.840.113549`. X.690 8.19
pub(super) fn dotted(oid: &[u8]) -> String {
    let mut arcs = Vec::new();
    let mut arc = 0u128;
    for (index, &byte) in oid.iter().enumerate() {
        // Sixteen bytes hold every registered arc; longer arcs are not printed.
        if arc > u128::MAX >> 7 {
            return "unreadable".to_owned();
        }
        arc = (arc << 7) | u128::from(byte & 0x7f);
        let more = byte & 0x80 != 0;
        if more && index + 1 == oid.len() {
            return "unreadable".to_owned();
        }
        if more {
            continue;
        }
        if arcs.is_empty() {
            // The first two arcs are encoded as one number.
            let first = (arc / 40).min(2);
            arcs.push(first.to_string());
            arc -= first * 40;
        }
        arcs.push(arc.to_string());
        arc = 0;
    }
    arcs.join(".")
}

fn read_key(subject_public_key_info: &[u8]) -> Result<String, Malformed> {
    let mut reader = Reader::new(der::single(subject_public_key_info, der::SEQUENCE)?);
    let mut algorithm = Reader::new(reader.expect(der::SEQUENCE)?);
    let oid = algorithm.expect(der::OBJECT_IDENTIFIER)?;
    let key = reader.expect(der::BIT_STRING)?;
    Ok(match oid {
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01] => {
            format!("RSA {}", modulus_bits(key)?)
        }
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0a] => {
            format!("RSA-PSS {}", modulus_bits(key)?)
        }
        [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01] => {
            match algorithm.expect(der::OBJECT_IDENTIFIER)? {
                [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07] => "ECDSA P-256".to_owned(),
                [0x2b, 0x81, 0x04, 0x00, 0x22] => "ECDSA P-384".to_owned(),
                [0x2b, 0x81, 0x04, 0x00, 0x23] => "ECDSA P-521".to_owned(),
                [0x2b, 0x81, 0x04, 0x00, 0x0a] => "ECDSA secp256k1".to_owned(),
                curve => format!("ECDSA {}", dotted(curve)),
            }
        }
        _ => edwards_or_lattice(oid).map_or_else(|| dotted(oid), ToOwned::to_owned),
    })
}

fn modulus_bits(bit_string: &[u8]) -> Result<usize, Malformed> {
    let (_unused_bits, key) = bit_string.split_first().ok_or(Malformed)?;
    let mut key = Reader::new(der::single(key, der::SEQUENCE)?);
    let modulus = key.expect(der::INTEGER)?;
    let start = modulus.iter().take_while(|&&byte| byte == 0).count();
    let significant = modulus.get(start..).unwrap_or_default();
    let leading = significant.first().map_or(0, |byte| byte.leading_zeros());
    Ok((significant.len() * 8).saturating_sub(leading as usize))
}

/// Algorithms whose key and signature share one identifier. RFC 8410, RFC 9881
fn edwards_or_lattice(oid: &[u8]) -> Option<&'static str> {
    Some(match oid {
        [0x2b, 0x65, 0x70] => "Ed25519",
        [0x2b, 0x65, 0x71] => "Ed448",
        [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x03, 0x11] => "ML-DSA-44",
        [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x03, 0x12] => "ML-DSA-65",
        [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x03, 0x13] => "ML-DSA-87",
        _ => return None,
    })
}

/// The hash of RSASSA-PSS-params; SHA-1 is the default. RFC 8017 A.2.3
fn pss_hash(mut after_oid: Reader<'_>) -> &'static str {
    let mut find = || -> Result<Option<&[u8]>, Malformed> {
        let mut parameters = Reader::new(after_oid.expect(der::SEQUENCE)?);
        let Some(explicit) = parameters.optional(der::context_constructed(0))? else {
            return Ok(None);
        };
        Reader::new(der::single(explicit, der::SEQUENCE)?).expect(der::OBJECT_IDENTIFIER).map(Some)
    };
    match find() {
        Ok(None) => "SHA-1",
        Ok(Some([0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, hash])) => match hash {
            1 => "SHA-256",
            2 => "SHA-384",
            3 => "SHA-512",
            _ => "an unknown hash",
        },
        _ => "an unknown hash",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_in_numbers() {
        assert_eq!(dotted(&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d]), "1.2.840.113549");
        assert_eq!(dotted(&[0x88, 0x37, 0x03]), "2.999.3");
        assert_eq!(dotted(&[0x55, 0x1d, 0x11]), "2.5.29.17");
        assert_eq!(dotted(&[0x2a, 0x86]), "unreadable");
        assert_eq!(dotted(&[0xff; 40]), "unreadable");
    }

    /// RFC 8017 A.2.3
    #[test]
    fn signature_algorithms_in_words() {
        use pki_types::alg_id;
        assert_eq!(signature_name(&alg_id::RSA_PSS_SHA384), "RSA PSS with SHA-384");
        assert_eq!(signature_name(&alg_id::RSA_PKCS1_SHA256), "RSA PKCS#1 with SHA-256");
        assert_eq!(signature_name(&alg_id::ECDSA_SHA512), "ECDSA with SHA-512");
        assert_eq!(signature_name(&alg_id::ML_DSA_65), "ML-DSA-65");
        assert_eq!(signature_name(&[0x06, 0x03, 0x2a, 3, 4]), "1.2.3.4");
        assert_eq!(signature_name(&[0x06]), "unreadable");
    }
}

//! DER encoding of private keys.

/// The RSA parameters of an AlgorithmIdentifier.
pub(super) const NULL: &[u8] = &[0x05, 0];

/// The object identifier 1.2.840.113549.1.1.1. RFC 8017 A.1
pub(super) const RSA_ENCRYPTION: &[u8] = &[0x06, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1];

/// The object identifier 1.2.840.10045.2.1. RFC 5480 2.1.1
pub(super) const EC_PUBLIC_KEY: &[u8] = &[0x06, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1];

const INTEGER: u8 = 0x02;
const OCTET_STRING: u8 = 0x04;
const SEQUENCE: u8 = 0x30;

/// The INTEGER of an unsigned big-endian number.
pub(super) fn integer(bytes: &[u8]) -> Vec<u8> {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    let digits = bytes.get(zeros..).unwrap_or_default();
    // A leading byte of 0x80 or more would make the number negative. Zero is one zero byte.
    let sign = digits.first().is_none_or(|first| *first >= 0x80);
    element(INTEGER, &[&[0][..usize::from(sign)], digits].concat())
}

pub(super) fn octets(content: &[u8]) -> Vec<u8> {
    element(OCTET_STRING, content)
}

pub(super) fn sequence(content: &[u8]) -> Vec<u8> {
    element(SEQUENCE, content)
}

/// PrivateKeyInfo, RFC 5208 5, from the parts of the AlgorithmIdentifier and the encoded key.
pub(super) fn private_key(algorithm: &[&[u8]], key: &[u8]) -> Vec<u8> {
    sequence(&[integer(&[]), sequence(&algorithm.concat()), octets(key)].concat())
}

fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len().to_be_bytes();
    let zeros = length.iter().take_while(|byte| **byte == 0).count();
    let digits = length.get(zeros..).unwrap_or_default();
    let header = match content.len() {
        0..0x80 => vec![tag, u8::try_from(content.len()).unwrap_or_default()],
        _ => [&[tag, 0x80 | u8::try_from(digits.len()).unwrap_or_default()], digits].concat(),
    };
    [header.as_slice(), content].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_and_signs_are_those_of_der() {
        assert_eq!(integer(&[]), [2, 1, 0]);
        assert_eq!(integer(&[0, 0, 0x7f]), [2, 1, 0x7f]);
        assert_eq!(integer(&[0x80]), [2, 2, 0, 0x80]);
        assert_eq!(octets(&[7; 0x7f])[..3], [4, 0x7f, 7]);
        assert_eq!(octets(&[7; 0x80])[..4], [4, 0x81, 0x80, 7]);
        assert_eq!(octets(&[7; 300])[..5], [4, 0x82, 1, 44, 7]);
    }
}

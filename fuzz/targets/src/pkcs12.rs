//! PKCS#12 files: opened with their password, and refused with another one.

use tercel_crypto::{Hash, HashAlgorithm, HmacKey, Pkcs12, Pkcs12Error};

/// Opens a file. The first byte selects the password, and whether the rest is a file or the content
/// of one, to which a valid MAC is added: otherwise no changed content would be read. Returns
/// whether there is a key or a certificate.
pub fn pkcs12(input: &[u8]) -> bool {
    let Some((form, bytes)) = input.split_first() else { return false };
    if is_costly(bytes, 64) {
        return false;
    }
    let is_content = form & 1 == 1;
    let passwords = ["secret", "", "p\u{e4}ssw\u{f6}rd \u{20ac}"];
    let password = passwords[usize::from(form >> 1) % passwords.len()];
    let file = if is_content { with_mac(bytes, password) } else { bytes.to_vec() };
    match Pkcs12::open(&file, password) {
        Ok(opened) => {
            let other =
                Pkcs12::open(&file, "another password").expect_err("the MAC has a password");
            assert_eq!(other, Pkcs12Error::WrongPassword);
            if let Some(key) = &opened.key {
                assert!(!key.public_key_spki().is_empty());
            }
            assert!(opened.certificates.iter().all(|certificate| !certificate.is_empty()));
            opened.key.is_some() || !opened.certificates.is_empty()
        }
        Err(error) => {
            assert!(!is_content || error != Pkcs12Error::WrongPassword, "the MAC is valid");
            assert!(!error.to_string().is_empty());
            false
        }
    }
}

/// Whether a number of iterations may be large: a file states how much work its reader has.
fn is_costly(mut bytes: &[u8], depth: usize) -> bool {
    const INTEGER: u8 = 2;
    const OCTET_STRING: u8 = 4;
    const CONSTRUCTED: u8 = 0x20;
    while let [tag, length, rest @ ..] = bytes {
        let (len, rest) = match length {
            // The rest is read up to the end, with or without an end-of-contents.
            0x80 => (0, rest),
            0x81.. => match rest.split_at_checked(usize::from(length & 0x7f)) {
                Some((digits, rest)) => (digits.iter().fold(0, append), rest),
                None => return false,
            },
            short => (u64::from(*short), rest),
        };
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        let Some((content, rest)) = rest.split_at_checked(len) else { return false };
        let is_large = |digits: &[u8]| digits.len() <= 9 && digits.iter().fold(0, append) > 65_537;
        let contains = *tag == OCTET_STRING || tag & CONSTRUCTED != 0;
        if *tag == INTEGER && is_large(content)
            || contains && (depth == 0 || is_costly(content, depth - 1))
        {
            return true;
        }
        bytes = rest;
    }
    false
}

/// A number with one more digit of eight bits.
fn append(number: u64, digit: &u8) -> u64 {
    number.saturating_mul(256).saturating_add(u64::from(*digit))
}

/// A file with this content of the type AuthenticatedSafe, and its MAC with SHA-256. RFC 7292 4
fn with_mac(content: &[u8], password: &str) -> Vec<u8> {
    const SALT: &[u8] = b"salt of the file";
    let mut utf16: Vec<u8> = password.encode_utf16().flat_map(u16::to_be_bytes).collect();
    utf16.extend([0, 0]);
    // One iteration. RFC 7292 B.2
    let filled = |part: &[u8]| -> Vec<u8> {
        part.iter().copied().cycle().take(part.len().next_multiple_of(64)).collect()
    };
    let parts = [&[3; 64][..], &filled(SALT), &filled(&utf16)];
    let key = Hash::digest(HashAlgorithm::Sha256, &parts);
    let mac = HmacKey::new(HashAlgorithm::Sha256, &key).sign(&[content]);
    let authenticated = wrap(0x30, &[DATA, &wrap(0xa0, &wrap(4, content))].concat());
    let digest_info = wrap(0x30, &[SHA256, &wrap(4, &mac)].concat());
    let mac_data = wrap(0x30, &[digest_info, wrap(4, SALT)].concat());
    wrap(0x30, &[vec![2, 1, 3], authenticated, mac_data].concat())
}

fn wrap(tag: u8, content: &[u8]) -> Vec<u8> {
    let len = u32::try_from(content.len()).expect("inputs are shorter").to_be_bytes();
    [&[tag, 0x84], &len[..], content].concat()
}

/// pkcs7-data, 1.2.840.113549.1.7.1
const DATA: &[u8] = &[6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 7, 1];
/// The AlgorithmIdentifier of SHA-256.
const SHA256: &[u8] = &[0x30, 13, 6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 1, 5, 0];

//! Base64 with padding, RFC 4648 4.
//!
//! The encoding has no table, because its input may be a private key.

use tercel_crypto::wipe;

/// Appends the encoding of `bytes`.
pub(super) fn encode(bytes: &[u8], out: &mut String) {
    for chunk in bytes.chunks(3) {
        let mut group = [0_u8; 4];
        group.iter_mut().skip(1).zip(chunk).for_each(|(to, from)| *to = *from);
        let group = u32::from_be_bytes(group);
        for (place, shift) in [18_u32, 12, 6, 0].into_iter().enumerate() {
            out.push(if place <= chunk.len() { digit(group >> shift & 0x3f) } else { '=' });
        }
    }
}

/// Appends a PEM section, with lines of 64 characters. RFC 7468 3
pub(super) fn encode_pem(label: &str, bytes: &[u8], out: &mut String) {
    let mut text = String::with_capacity(bytes.len().saturating_mul(2));
    encode(bytes, &mut text);
    out.push_str("-----BEGIN ");
    out.push_str(label);
    out.push_str("-----\n");
    for (place, character) in text.chars().enumerate() {
        if place > 0 && place % 64 == 0 {
            out.push('\n');
        }
        out.push(character);
    }
    out.push_str("\n-----END ");
    out.push_str(label);
    out.push_str("-----\n");
    let mut text = text.into_bytes();
    wipe(&mut text);
}

/// The bytes that `text` encodes. Line ends and spaces are skipped.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let text: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let mut out = Vec::with_capacity(text.len());
    let mut groups = text.chunks_exact(4);
    let groups_left = groups.len();
    for (place, group) in groups.by_ref().enumerate() {
        let is_last = place.checked_add(1) == Some(groups_left);
        let digits = group.iter().take_while(|byte| **byte != b'=').count();
        // Only the last group may be shorter.
        if !(digits == 4 || is_last && digits >= 2)
            || !group.iter().skip(digits).all(|byte| *byte == b'=')
        {
            return None;
        }
        let mut bits = 0_u32;
        for byte in group.iter().take(digits) {
            bits = bits << 6 | value(*byte)?;
        }
        bits <<= if digits == 4 {
            0
        } else if digits == 3 {
            6
        } else {
            12
        };
        let [_, bytes @ ..] = bits.to_be_bytes();
        let (used, unused) = bytes.split_at_checked(digits.saturating_sub(1))?;
        // The bits after the last byte are zero.
        if unused.iter().any(|byte| *byte != 0) {
            return None;
        }
        out.extend_from_slice(used);
    }
    groups.remainder().is_empty().then_some(out)
}

/// The digit of a value below 64, without a branch or an address that depends on the value.
fn digit(value: u32) -> char {
    // Each term is the difference between two ranges, and applies above the first range's end.
    let above = |limit: u32| (limit.wrapping_sub(value) >> 31) & 1;
    let offset = u32::from(b'A')
        .wrapping_add(above(25).wrapping_mul(6))
        .wrapping_sub(above(51).wrapping_mul(75))
        .wrapping_sub(above(61).wrapping_mul(15))
        .wrapping_add(above(62).wrapping_mul(3));
    char::from_u32(value.wrapping_add(offset)).unwrap_or('A')
}

fn value(digit: u8) -> Option<u32> {
    let (first, offset) = match digit {
        b'A'..=b'Z' => (b'A', 0),
        b'a'..=b'z' => (b'a', 26),
        b'0'..=b'9' => (b'0', 52),
        b'+' => (b'+', 62),
        b'/' => (b'/', 63),
        _ => return None,
    };
    Some(u32::from(digit.wrapping_sub(first)).wrapping_add(offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(bytes: &[u8]) -> String {
        let mut out = String::new();
        encode(bytes, &mut out);
        out
    }

    /// RFC 4648 4
    #[test]
    fn the_vectors_are_encoded_and_decoded() {
        let all = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        assert_eq!((0..64).map(digit).collect::<String>(), all);
        for (text, expected) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(encoded(text.as_bytes()), expected);
            assert_eq!(decode(expected).unwrap(), text.as_bytes());
        }
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(decode(&encoded(&bytes)), Some(bytes));
        assert_eq!(decode(" Zm9v\r\nYg= =\n"), Some(b"foob".to_vec()));
    }

    #[test]
    fn malformed_text_is_refused() {
        for text in ["Z", "Zg", "Zg=", "Z===", "====", "Zg==Zg==", "Zm9v=", "Zh==", "Zm9=", "Zm9-"]
        {
            assert_eq!(decode(text), None, "{text}");
        }
    }

    /// RFC 7468 3
    #[test]
    fn pem_has_lines_of_64_characters() {
        for length in [0, 1, 47, 48, 49, 96, 97] {
            let mut pem = String::new();
            encode_pem("TEST", &vec![7; length], &mut pem);
            let lines: Vec<_> = pem.lines().collect();
            assert_eq!(lines[0], "-----BEGIN TEST-----");
            assert_eq!(*lines.last().unwrap(), "-----END TEST-----");
            assert!(lines.iter().all(|line| line.len() <= 64));
            assert_eq!(decode(&lines[1..lines.len() - 1].concat()), Some(vec![7; length]));
        }
    }
}

//! Decodes base64 as the runner writes it, and its hexadecimal lists of names.

/// Decodes standard base64 with padding; `None` if it is invalid.
pub(crate) fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let text = text.strip_suffix(b"==").or(text.strip_suffix(b"=")).unwrap_or(text);
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut count) = (0_u32, 0);
    for letter in text {
        bits = bits << 6 | u32::from(sextet(*letter)?);
        count += 6;
        if count >= 8 {
            count -= 8;
            let [.., low] = (bits >> count).to_be_bytes();
            bytes.push(low);
        }
    }
    Some(bytes)
}

/// Decodes a list of byte strings in hexadecimal, separated by commas.
pub(crate) fn decode_hex_list(text: &str) -> Option<Vec<Vec<u8>>> {
    text.split(',').map(decode_hex).collect()
}

fn decode_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text
        .chars()
        .map(|digit| digit.to_digit(16).and_then(|value| u8::try_from(value).ok()))
        .collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    Some(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

fn sextet(letter: u8) -> Option<u8> {
    match letter {
        b'A'..=b'Z' => Some(letter - b'A'),
        b'a'..=b'z' => Some(letter - b'a' + 26),
        b'0'..=b'9' => Some(letter - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_of_rfc_4648_are_decoded() {
        for (text, bytes) in [
            ("", &b""[..]),
            ("Zg==", b"f"),
            ("Zm8=", b"fo"),
            ("Zm9v", b"foo"),
            ("Zm9vYg==", b"foob"),
            ("Zm9vYmFy", b"foobar"),
            ("+/8=", b"\xfb\xff"),
        ] {
            assert_eq!(decode(text.as_bytes()).as_deref(), Some(bytes), "{text}");
        }
        assert_eq!(decode(b"a b="), None);
    }

    #[test]
    fn hexadecimal_names_are_decoded() {
        assert_eq!(decode_hex_list("00ff,3A"), Some(vec![vec![0, 255], vec![0x3a]]));
        assert_eq!(decode_hex_list("0"), None);
        assert_eq!(decode_hex_list("zz"), None);
    }
}

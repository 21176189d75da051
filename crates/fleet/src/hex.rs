//! Hexadecimal text.

pub(crate) fn encode(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_is_what_it_is_called() {
        assert_eq!(encode(&[0, 0x1f, 0xab, 0xff]), "001fabff");
    }
}

//! Comparing and wiping of sensitive bytes, in ways that the compiler must not optimise.

use crate::backend::memory;

/// Compares two byte strings in time that depends only on their lengths.
#[must_use]
pub fn constant_time_eq(a: &[u8], b: &[u8]) -> bool {
    memory::constant_time_eq(a, b)
}

/// Overwrites the bytes with zeros in a way that the compiler may not remove.
pub fn wipe(bytes: &mut [u8]) {
    memory::wipe(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equality_compares_length_and_every_byte() {
        assert!(constant_time_eq(b"", b""));
        assert!(constant_time_eq(b"tercel", b"tercel"));
        assert!(!constant_time_eq(b"tercel", b"terce"));
        assert!(!constant_time_eq(b"", b"t"));
        for at in 0..6 {
            let mut other = *b"tercel";
            other[at] ^= 0x80;
            assert!(!constant_time_eq(b"tercel", &other));
        }
    }

    #[test]
    fn wipe_clears_every_byte() {
        let mut bytes = [0xaa; 37];
        wipe(&mut bytes[..]);
        assert_eq!(bytes, [0; 37]);
        wipe(&mut []);
    }
}

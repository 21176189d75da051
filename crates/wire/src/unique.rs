//! Finds a repeated 16-bit value in linear time and without allocation, whatever a peer sends.
//!
//! It knows numbers only. Next: extension blocks and key shares use it.

/// The first value that appears a second time.
pub(crate) fn first_duplicate(values: impl Iterator<Item = u16> + Clone) -> Option<u16> {
    let mut low: u64 = 0;
    let mut high = [0_u16; FEW];
    let mut used = 0_usize;

    for value in values.clone() {
        if value < 64 {
            let bit = 1_u64 << value;
            if low & bit != 0 {
                return Some(value);
            }
            low |= bit;
            continue;
        }
        if high.iter().take(used).any(|&seen| seen == value) {
            return Some(value);
        }
        let Some(slot) = high.get_mut(used) else {
            return first_duplicate_of_many(values);
        };
        *slot = value;
        used = used.saturating_add(1);
    }
    None
}

/// Honest peers have a handful of values over 63; up to this many are searched one by one.
const FEW: usize = 32;

/// A bit for each value: 8 KB of stack that only a hostile or very odd peer makes us clear.
#[cold]
#[inline(never)]
fn first_duplicate_of_many(mut values: impl Iterator<Item = u16>) -> Option<u16> {
    let mut seen = [0_u64; 1024];
    values.find(|&value| {
        let bit = 1_u64 << (value & 63);
        let Some(word) = seen.get_mut(usize::from(value >> 6)) else {
            return false; // unreachable: 1,024 words of 64 bits hold every u16
        };
        let repeated = *word & bit != 0;
        *word |= bit;
        repeated
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_distinct_values_pass() {
        assert_eq!(FEW, 32); // the second range below just fits
        assert_eq!(first_duplicate(0..=u16::MAX), None);
        assert_eq!(first_duplicate(64..96), None);
        assert_eq!(first_duplicate(std::iter::empty()), None);
    }

    #[test]
    fn a_repeat_is_found_wherever_it_is() {
        for repeated in [0, 63, 64, 1000, u16::MAX] {
            assert_eq!(first_duplicate([repeated, 5, repeated].into_iter()), Some(repeated));
            let many = (0..=u16::MAX).chain([repeated]);
            assert_eq!(first_duplicate(many), Some(repeated));
        }
    }
}

//! Finds a repeated 16-bit value, or one that another list lacks, in linear time and without allocation, whatever a peer
//! sends.
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

/// The first of `values` that is not in `list`, whatever the order of both.
pub(crate) fn first_missing(
    mut values: impl Iterator<Item = u16> + Clone,
    list: impl Iterator<Item = u16> + Clone,
) -> Option<u16> {
    if values.clone().nth(FEW_SEARCHED).is_some() {
        return first_missing_of_many(values, list);
    }
    values.find(|&value| !list.clone().any(|listed| listed == value))
}

/// For so few values the list is searched once for each.
const FEW_SEARCHED: usize = 4;

#[cold]
#[inline(never)]
fn first_missing_of_many(
    mut values: impl Iterator<Item = u16>,
    list: impl Iterator<Item = u16>,
) -> Option<u16> {
    let mut listed = Seen::default();
    list.for_each(|value| {
        listed.insert(value);
    });
    values.find(|&value| !listed.contains(value))
}

#[cold]
#[inline(never)]
fn first_duplicate_of_many(mut values: impl Iterator<Item = u16>) -> Option<u16> {
    let mut seen = Seen::default();
    values.find(|&value| !seen.insert(value))
}

/// A bit for each value: 8 KB of stack that only a hostile or very odd peer makes us clear.
struct Seen([u64; 1024]);

impl Default for Seen {
    fn default() -> Self {
        Self([0; 1024])
    }
}

impl Seen {
    /// Whether the value is new.
    fn insert(&mut self, value: u16) -> bool {
        let bit = 1_u64 << (value & 63);
        let Some(word) = self.0.get_mut(usize::from(value >> 6)) else {
            return true; // unreachable: 1,024 words of 64 bits hold every u16
        };
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    fn contains(&self, value: u16) -> bool {
        let word = self.0.get(usize::from(value >> 6));
        word.is_some_and(|word| word >> (value & 63) & 1 != 0)
    }
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
    fn a_missing_value_is_found_in_any_order_and_number() {
        let all = 0..=u16::MAX;
        assert_eq!(first_missing(std::iter::empty(), std::iter::empty()), None);
        assert_eq!(first_missing([7].into_iter(), std::iter::empty()), Some(7));
        for count in [1, 4, 5, 1000] {
            let backwards = || (0..count).rev();
            assert_eq!(first_missing(backwards(), all.clone()), None, "{count}");
            assert_eq!(first_missing(backwards(), 0..count), None, "{count}");
            assert_eq!(first_missing(backwards(), 1..count), Some(0), "{count}");
            assert_eq!(first_missing(backwards(), 0..count - 1), Some(count - 1), "{count}");
            assert!(first_missing([64, u16::MAX].into_iter(), 0..count).is_some());
        }
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

//! Searches in lists of 16-bit values: for a value that occurs twice, or for a value that is absent
//! from a second list.
//!
//! Both searches take linear time for any input from a peer, and allocate nothing.

/// The first value that occurs a second time.
pub(crate) fn first_duplicate(values: impl Iterator<Item = u16> + Clone) -> Option<u16> {
    let mut low: u64 = 0;
    let mut high = [0_u16; INLINE_VALUES];
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
            return first_duplicate_by_bitmap(values);
        };
        *slot = value;
        used = used.saturating_add(1);
    }
    None
}

/// The maximum number of values over 63 that are compared one by one; real peers send fewer.
const INLINE_VALUES: usize = 32;

/// The first of `values` that is not in `list`; neither needs to be sorted.
pub(crate) fn first_missing(
    mut values: impl Iterator<Item = u16> + Clone,
    list: impl Iterator<Item = u16> + Clone,
) -> Option<u16> {
    if values.clone().nth(SEARCHED_VALUES).is_some() {
        return first_missing_by_bitmap(values, list);
    }
    values.find(|&value| !list.clone().any(|listed| listed == value))
}

/// The maximum number of values for each of which `list` is searched, instead of using a bitmap.
const SEARCHED_VALUES: usize = 4;

#[cold]
#[inline(never)]
fn first_missing_by_bitmap(
    mut values: impl Iterator<Item = u16>,
    list: impl Iterator<Item = u16>,
) -> Option<u16> {
    let mut listed = ValueSet::default();
    list.for_each(|value| {
        listed.insert(value);
    });
    values.find(|&value| !listed.contains(value))
}

#[cold]
#[inline(never)]
fn first_duplicate_by_bitmap(mut values: impl Iterator<Item = u16>) -> Option<u16> {
    let mut seen = ValueSet::default();
    values.find(|&value| !seen.insert(value))
}

/// A bitmap of 16-bit values. It takes 8 KB of stack, so only unusually long lists use it.
struct ValueSet([u64; 1024]);

impl Default for ValueSet {
    fn default() -> Self {
        Self([0; 1024])
    }
}

impl ValueSet {
    /// Adds the value and returns whether it was absent before.
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
        assert_eq!(INLINE_VALUES, 32); // the second range below has exactly this many values
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

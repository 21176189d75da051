//! A small seeded random number generator for the order of peers, resampling, keys and memory
//! placements.
//!
//! The generator is not cryptographically secure. A run can be repeated with the seed in its
//! report.

/// The generator SplitMix64.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The sequence for this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// An independent sequence for this seed, selected by a name.
    #[must_use]
    pub fn named(seed: u64, name: &str) -> Self {
        // The hash FNV-1a, with an offset basis that depends on the seed.
        let basis = Self(seed).next() ^ 0xcbf2_9ce4_8422_2325;
        let hash = |state: u64, byte: u8| (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        let mut state = Self(name.bytes().fold(basis, hash));
        Self(state.next())
    }

    /// A random number below `bound`, which must be small and not 0.
    #[must_use = "it is gone otherwise"]
    pub fn below(&mut self, bound: usize) -> usize {
        // The bias is bound / 2^64.
        let wide = u128::from(self.next()) * bound as u128;
        usize::try_from(wide >> 64).unwrap_or_default()
    }

    /// Shuffles `items`.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }

    /// Fills `bytes` with random bytes.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.next().to_be_bytes()[..chunk.len()]);
        }
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_comes_about_equally_often() {
        let mut random = Random::new(1);
        let mut counts = std::collections::HashMap::new();
        for _ in 0..6000 {
            let mut order = [0, 1, 2];
            random.shuffle(&mut order);
            *counts.entry(order).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 6);
        assert!(counts.values().all(|count| (850..1150).contains(count)), "{counts:?}");
    }

    #[test]
    fn a_seed_repeats() {
        let draw = |seed| {
            let mut random = Random::new(seed);
            [(); 8].map(|()| random.below(1000))
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    #[test]
    fn each_name_has_a_sequence_of_its_own() {
        let mut seen = std::collections::HashSet::new();
        for seed in 0..20 {
            for name in ["", "a", "b", "ab", "ba", "round 1", "round 2", "round 11"] {
                let draw = || {
                    let mut bytes = [0; 20];
                    Random::named(seed, name).fill(&mut bytes);
                    bytes
                };
                assert_eq!(draw(), draw());
                assert!(seen.insert(draw()), "{seed} {name}");
            }
        }
    }
}

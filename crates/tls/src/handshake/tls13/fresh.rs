//! The public random values of a server's handshake.
//!
//! Must not know: keys, which come from the generator directly. Next: [`super::server`].

use super::resumption::MAX_TICKETS;
use crate::error::{Error, Local};

/// All public values that are random.
pub(super) struct Fresh {
    pub(super) random: [u8; 32],
    /// What obfuscates the ages of this handshake's tickets. RFC 9846 4.7.1
    pub(super) age_adds: AgeAdds,
}

/// One for each ticket that there can be.
pub(super) type AgeAdds = [u32; MAX_TICKETS as usize];

impl Fresh {
    /// One call for all of them: the generator costs by the call.
    pub(super) fn draw() -> Result<Self, Error> {
        let mut drawn = [0_u8; 32 + 4 * MAX_TICKETS as usize];
        tercel_crypto::fill_random(&mut drawn)?;
        let (random, rest) = drawn.split_first_chunk::<32>().ok_or(Local::Encode)?;
        let mut age_adds = [0; MAX_TICKETS as usize];
        for (age_add, bytes) in age_adds.iter_mut().zip(rest.chunks_exact(4)) {
            *age_add = bytes.first_chunk().copied().map_or(0, u32::from_be_bytes);
        }
        Ok(Self { random: *random, age_adds })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_value_is_drawn_twice() {
        let draws = [Fresh::draw().unwrap(), Fresh::draw().unwrap()];
        let halves = draws.iter().flat_map(|draw| draw.random.chunks_exact(16));
        let mut halves: Vec<_> = halves.collect();
        halves.sort_unstable();
        halves.dedup();
        assert_eq!(halves.len(), 4);
        // Of 20 numbers two are the same in one of twenty million runs.
        let mut age_adds: Vec<_> = draws.iter().flat_map(|draw| draw.age_adds).collect();
        age_adds.sort_unstable();
        age_adds.dedup();
        assert_eq!(age_adds.len(), 2 * usize::from(MAX_TICKETS));
    }
}

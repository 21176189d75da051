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

//! Random bytes, from AWS-LC's generator.

use rustls::crypto::{GetRandomFailed, SecureRandom};

#[derive(Debug)]
pub(crate) struct Random;

impl SecureRandom for Random {
    fn fill(&self, out: &mut [u8]) -> Result<(), GetRandomFailed> {
        tercel_crypto::fill_random(out).map_err(|_| GetRandomFailed)
    }
}

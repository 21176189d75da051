//! Digests that name sessions.

use crate::sys::crypto::SHA256;

/// The SHA-256 digest of these bytes.
pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut digest = [0; 32];
    // SAFETY: the length is that of the input, and the output has the digest's length.
    unsafe { SHA256(bytes.as_ptr(), bytes.len(), digest.as_mut_ptr()) };
    digest
}

/// Fills memory with random bytes. `None` if the generator fails.
pub(crate) fn fill_random(to: &mut [u8]) -> Option<()> {
    let length = to.len().try_into().ok()?;
    // SAFETY: the length is that of the memory.
    let done = unsafe { crate::sys::crypto::RAND_bytes(to.as_mut_ptr(), length) };
    (done == 1).then_some(())
}

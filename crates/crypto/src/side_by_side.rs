//! MACs that do not wait for each other, side by side.
//!
//! What it is for: a key schedule asks for several MACs at once; here they are made together. What it must not know: whose
//! they are. Where to look next: `hmac.rs` for one MAC alone.

use crate::HmacKey;

/// A MAC to be made by [`macs`].
pub struct Mac<'a> {
    /// The key.
    pub key: &'a HmacKey,
    /// What is authenticated: the parts, one after the other.
    pub parts: &'a [&'a [u8]],
    /// Takes the MAC; it must be as long as the digest of the key's hash function.
    pub out: &'a mut [u8],
}

/// Makes all these MACs, which may differ in hash function, key and length. Each is what [`HmacKey::sign`] gives.
///
/// # Panics
///
/// When an `out` has another length than the digest.
pub fn macs(all: &mut [Mac<'_>]) {
    for mac in all {
        assert!(
            mac.out.len() == mac.key.algorithm().output_len(),
            "a MAC of {} bytes",
            mac.out.len()
        );
        mac.key.mac(&[mac.parts], mac.out);
    }
}

//! X25519, RFC 7748.
//!
//! What it is for: public values and the shared secret. What it must not know: who the peer is.
//! Where to look next: `key_exchange.rs` above.

use aws_lc_sys as lc;

use super::check;
use crate::CryptoError;

/// The public value of a given private key.
pub(crate) fn public_from_private(private: &[u8; 32]) -> [u8; 32] {
    let mut public = [0; 32];
    // SAFETY: arrays of the 32 bytes written and read.
    unsafe { lc::X25519_public_from_private(public.as_mut_ptr(), private.as_ptr()) };
    public
}

/// The shared secret, unless it would be all zeros (RFC 7748 6.1).
pub(crate) fn agree(
    private: &[u8; 32],
    peer: &[u8; 32],
    out: &mut [u8; 32],
) -> Result<(), CryptoError> {
    // SAFETY: arrays of the 32 bytes written and read.
    let code = unsafe { lc::X25519(out.as_mut_ptr(), private.as_ptr(), peer.as_ptr()) };
    check(code, CryptoError::InvalidShare)
}

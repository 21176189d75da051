//! The numbers of AWS-LC's keys that the kernel needs.

use super::number::{MODULUS_LEN, PRIME_LEN};
use crate::backend::check;
use crate::backend::handle::Handle;
use crate::backend::lc;
use crate::backend::memory::wipe;
use crate::error::CryptoError;

/// The parts of a private key, big-endian. They are wiped on drop.
pub(crate) struct KeyParts {
    pub(crate) p: [u8; PRIME_LEN],
    pub(crate) q: [u8; PRIME_LEN],
    /// `d` modulo `p - 1`.
    pub(crate) d_p: [u8; PRIME_LEN],
    /// `d` modulo `q - 1`.
    pub(crate) d_q: [u8; PRIME_LEN],
    /// `1 / q` modulo `p`.
    pub(crate) q_inverse: [u8; PRIME_LEN],
}

impl KeyParts {
    pub(crate) fn zeros() -> Box<Self> {
        let zeros = [0; PRIME_LEN];
        Box::new(Self { p: zeros, q: zeros, d_p: zeros, d_q: zeros, q_inverse: zeros })
    }
}

impl Drop for KeyParts {
    fn drop(&mut self) {
        for part in [&mut self.p, &mut self.q, &mut self.d_p, &mut self.d_q, &mut self.q_inverse] {
            wipe(part);
        }
    }
}

/// The modulus of a key, if the kernel supports the key: it has 2048 bits, and the exponent is
/// 65537.
pub(in crate::backend) fn modulus_for_kernel(key: &Handle<lc::RSA>) -> Option<[u8; MODULUS_LEN]> {
    let (key, mut n) = (key.as_ptr(), [0; MODULUS_LEN]);
    // SAFETY: the key is valid and has a modulus and an exponent; `n` is passed with its length.
    let is_supported = unsafe {
        lc::RSA_bits(key) as usize == 8 * MODULUS_LEN
            && lc::BN_is_word(lc::RSA_get0_e(key), EXPONENT) == 1
            && lc::BN_bn2bin_padded(n.as_mut_ptr(), n.len(), lc::RSA_get0_n(key)) == 1
    };
    is_supported.then_some(n)
}

/// The modulus and the other parts of a private key, if the kernel supports the key: it also has
/// two primes of at most 1024 bits.
pub(in crate::backend) fn parts_for_kernel(
    key: &Handle<lc::RSA>,
) -> Option<([u8; MODULUS_LEN], Box<KeyParts>)> {
    let n = modulus_for_kernel(key)?;
    let (key, mut parts) = (key.as_ptr(), KeyParts::zeros());
    // SAFETY: the key is valid; the numbers belong to it, or are null if it lacks them.
    let numbers = unsafe {
        [
            (lc::RSA_get0_p(key), &mut parts.p),
            (lc::RSA_get0_q(key), &mut parts.q),
            (lc::RSA_get0_dmp1(key), &mut parts.d_p),
            (lc::RSA_get0_dmq1(key), &mut parts.d_q),
            (lc::RSA_get0_iqmp(key), &mut parts.q_inverse),
        ]
    };
    for (number, bytes) in numbers {
        if number.is_null() {
            return None;
        }
        // SAFETY: the number is valid; the bytes are passed with their length.
        let code = unsafe { lc::BN_bn2bin_padded(bytes.as_mut_ptr(), bytes.len(), number) };
        check(code, CryptoError::Internal).ok()?;
    }
    Some((n, parts))
}

/// The public exponent that the kernel supports.
const EXPONENT: u64 = 65537;

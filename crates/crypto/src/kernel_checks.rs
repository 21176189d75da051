//! Comparisons of kernels with AWS-LC and with definitions, for arbitrary inputs. **For tests and
//! fuzzing only.**
//!
//! They reach what the crate's interface does not: the portable vectors, Poly1305 with arbitrary
//! one-time keys, and RSA with moduli that are not products of primes. Like the module
//! `deterministic`, no release has them. Each function panics if results differ. A build without
//! the kernel compares nothing, and the functions return true.

use crate::algorithm::AeadAlgorithm;

/// Test seam. The sealed message, computed by the kernel's text on portable vectors. The key must
/// have the length of the algorithm's.
#[must_use]
pub fn seal_portably(
    algorithm: AeadAlgorithm,
    key: &[u8],
    nonce: &[u8; 12],
    aad: &[u8],
    [data, extra]: [&[u8]; 2],
) -> Option<Vec<u8>> {
    match algorithm {
        #[cfg(kernel_aes_gcm)]
        AeadAlgorithm::Aes128Gcm | AeadAlgorithm::Aes256Gcm => {
            use crate::backend::kernels::aes_gcm::portable::seal_portably;
            Some(seal_portably(key, nonce, aad, data, extra))
        }
        #[cfg(kernel_chacha20_poly1305)]
        AeadAlgorithm::ChaCha20Poly1305 => {
            use crate::backend::kernels::chacha20_poly1305::comparison::seal_portably;
            Some(seal_portably(key.try_into().ok()?, nonce, aad, data, extra))
        }
        #[allow(unreachable_patterns, reason = "a build may have all kernels")]
        _ => {
            let _ = (key, nonce, aad, data, extra);
            None
        }
    }
}

/// Test seam. Compares each implementation of Poly1305 with the definition. The message must have
/// whole blocks, and at least one.
pub fn poly1305(key: &[u8; 32], message: &[u8]) {
    #[cfg(kernel_chacha20_poly1305)]
    crate::backend::kernels::chacha20_poly1305::comparison::check_poly1305(key, message);
    let _ = (key, message);
}

/// Test seam. Compares RSA's public-key operation, and the same on portable vectors if wanted. The
/// modulus is changed to an odd number of 2048 bits. Returns whether there is a result.
#[must_use]
pub fn rsa_public(n: [u8; 256], base: &[u8; 256], with_portable: bool) -> bool {
    #[cfg(kernel_rsa)]
    return crate::backend::kernels::rsa::comparison::check_public(n, base, with_portable);
    #[cfg(not(kernel_rsa))]
    {
        let _ = (n, base, with_portable);
        true
    }
}

/// Test seam. Compares the power of a base modulo two moduli, the first two numbers, by two
/// exponents. The moduli are changed to odd numbers of 1024 bits. Returns whether they are coprime.
#[must_use]
pub fn rsa_private(numbers: [[u8; 128]; 4], base: [u8; 256], with_portable: bool) -> bool {
    #[cfg(kernel_rsa)]
    {
        use crate::backend::kernels::rsa::comparison::{Powers, check_private};
        let [p, q, d_p, d_q] = numbers;
        check_private(Powers { p, q, d_p, d_q, base }, with_portable)
    }
    #[cfg(not(kernel_rsa))]
    {
        let _ = (numbers, base, with_portable);
        true
    }
}

/// Test seam. Compares the signature of a block, with blinding factors of a given random number.
/// Returns whether there is a signature.
#[must_use]
pub fn rsa_signature(random: [u8; 256], block: [u8; 256]) -> bool {
    #[cfg(kernel_rsa)]
    return crate::backend::kernels::rsa::comparison::check_signature(random, block);
    #[cfg(not(kernel_rsa))]
    {
        let _ = (random, block);
        true
    }
}

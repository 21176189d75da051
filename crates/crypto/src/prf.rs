//! The pseudorandom function of TLS 1.2, RFC 5246 5: `P_hash`.
//!
//! What it is for: key material from a secret that is absorbed once. What it must not know: the
//! labels. Where to look next: `hmac.rs`.

use core::fmt;

use crate::{HashAlgorithm, HmacKey, Secret};

/// `P_hash` keyed with one secret.
pub struct Tls12Prf(HmacKey);

impl Tls12Prf {
    /// Absorbs a secret of any length.
    #[must_use]
    pub fn new(algorithm: HashAlgorithm, secret: &[u8]) -> Self {
        Self(HmacKey::new(algorithm, secret))
    }

    /// Fills `out` with `PRF(secret, label, seed)`, the seed given in parts.
    pub fn fill(&self, label: &[u8], seed: &[&[u8]], out: &mut [u8]) {
        let hash_len = self.0.algorithm().output_len();
        // A(1) is over label and seed, A(i) over A(i-1).
        let mut a = self.block(&[], label, seed);
        let mut chunks = out.chunks_mut(hash_len).peekable();
        while let Some(chunk) = chunks.next() {
            let block = self.block(a.as_bytes(), label, seed);
            chunk.copy_from_slice(&block.as_bytes()[..chunk.len()]);
            if chunks.peek().is_some() {
                a = self.0.secret_tag(&[a.as_bytes()]);
            }
        }
    }

    fn block(&self, a: &[u8], label: &[u8], seed: &[&[u8]]) -> Secret {
        Secret::with(self.0.algorithm().output_len(), |out| {
            self.0.mac(&[&[a, label], seed], out);
        })
    }
}

impl fmt::Debug for Tls12Prf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tls12Prf({:?}, ..)", self.0.algorithm())
    }
}

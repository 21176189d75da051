//! RSA with moduli of 2048 bits and the exponent 65537.
//!
//! | what | where |
//! |---|---|
//! | vectors, in AVX-512 and portable | `vector.rs`, `avx512.rs`, `portable.rs` |
//! | numbers of limbs | `number.rs` |
//! | modular multiplication | `montgomery.rs` |
//! | bytes and limbs | `convert.rs` |
//! | single multiplications | `operations.rs` |
//! | the public-key operation | `public.rs` |
//! | the private-key operation | `private.rs`, over `blinding.rs` |
//! | its numbers and powers | `private_numbers.rs`, over `exponentiation.rs` |
//! | its memory | `scratch.rs` |
//! | the parts of AWS-LC's keys | `key_parts.rs` |
//! | faults that tests plant | `seams.rs` |
//! | comparison with AWS-LC at run time | `self_test.rs`, with `raw_key.rs` |
//!
//! AWS-LC parses and checks keys, and encodes and checks padding: see `backend/rsa.rs`, the caller.
//!
//! # Why this is sound
//!
//! The instructions may run only on processors that have them. Computations are [`Work`]
//! (`vector.rs`), which runs only by a proof of the instructions, and only [`Avx512::detect`] makes
//! the proof of AVX-512. Memory is accessed only through references to arrays.
//!
//! [`Work`]: vector::Work

mod avx512;
mod blinding;
#[cfg(any(test, all(feature = "deterministic", debug_assertions)))]
pub(crate) mod comparison;
mod convert;
mod exponentiation;
mod key_parts;
mod montgomery;
mod number;
mod operations;
#[cfg(any(test, all(feature = "deterministic", debug_assertions)))]
#[allow(clippy::cast_possible_truncation)]
mod portable;
mod private;
mod private_numbers;
mod public;
pub(in crate::backend::kernels) mod raw_key;
mod scratch;
mod seams;
mod self_test;
#[cfg(test)]
#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
mod tests;
mod vector;

use std::sync::OnceLock;

use avx512::Avx512;
use key_parts::KeyParts;
pub(in crate::backend) use key_parts::{modulus_for_kernel, parts_for_kernel};
pub(crate) use number::MODULUS_LEN;
use private::PrivateKey;
pub(super) use private::rejected_signatures;
use public::PublicKey;
use self_test::private_self_test;
pub(super) use self_test::{private_self_test_failed, self_test};

use super::{Kernel, is_in_use};

/// Whether the processor has the instructions of the kernel.
pub(super) fn is_available() -> bool {
    Avx512::detect().is_some()
}

/// What the kernel knows of an RSA key. It is computed when it is first needed.
pub(crate) struct KeyKernel {
    instructions: Option<Avx512>,
    public: OnceLock<Option<Box<PublicKey>>>,
    private: OnceLock<Option<Box<PrivateKey>>>,
}

impl KeyKernel {
    /// The kernel of a new key. Later changes of the switch do not affect the key.
    pub(crate) fn new() -> Self {
        let instructions = is_in_use(Kernel::Rsa2048).then(Avx512::detect).flatten();
        Self { instructions, public: OnceLock::new(), private: OnceLock::new() }
    }

    /// The public-key operation on a signature. `n` returns the modulus of the key, if the kernel
    /// can use the key.
    pub(crate) fn recover(
        &self,
        signature: &[u8],
        n: impl FnOnce() -> Option<[u8; MODULUS_LEN]>,
    ) -> Recovered {
        let Some((instructions, key)) = self.public(n) else { return Recovered::Unsupported };
        let block = signature.try_into().ok().and_then(|bytes| key.recover(instructions, bytes));
        block.map_or(Recovered::Refused, Recovered::Block)
    }

    fn public(
        &self,
        n: impl FnOnce() -> Option<[u8; MODULUS_LEN]>,
    ) -> Option<(Avx512, &PublicKey)> {
        let instructions = self.instructions?;
        let key = self.public.get_or_init(|| PublicKey::new(instructions, &n()?).map(Box::new));
        Some((instructions, key.as_deref()?))
    }

    /// Tests the private-key operation, unless that was done before, so that no signature waits for
    /// the test.
    pub(crate) fn prepare_to_sign(&self) {
        _ = self.instructions.map(private_self_test);
    }

    /// The private key, if the kernel can use it. `parts` returns the modulus and the other parts.
    pub(crate) fn signer(
        &self,
        parts: impl FnOnce() -> Option<([u8; MODULUS_LEN], Box<KeyParts>)>,
    ) -> Option<Signer<'_>> {
        let instructions = self.instructions?;
        let key = self.private.get_or_init(|| {
            if !private_self_test(instructions) {
                return None;
            }
            let (n, parts) = parts()?;
            PrivateKey::new(instructions, &n, &parts)
        });
        Some(Signer { instructions, key: key.as_deref()? })
    }

    /// Whether the kernel verifies signatures with this modulus.
    #[cfg(test)]
    pub(crate) fn is_public_key_supported(
        &self,
        n: impl FnOnce() -> Option<[u8; MODULUS_LEN]>,
    ) -> bool {
        self.public(n).is_some()
    }
}

/// A private key that the kernel can use.
pub(crate) struct Signer<'a> {
    instructions: Avx512,
    key: &'a PrivateKey,
}

impl Signer<'_> {
    /// The private-key operation on a block, which must be less than the modulus. The result is
    /// verified. Nothing is returned if it was wrong; AWS-LC must sign instead.
    pub(crate) fn sign(&self, block: &[u8; MODULUS_LEN]) -> Option<[u8; MODULUS_LEN]> {
        self.key.sign(self.instructions, block)
    }
}

/// The result of the public-key operation.
#[allow(clippy::large_enum_variant)]
pub(crate) enum Recovered {
    /// The block that was signed.
    Block([u8; MODULUS_LEN]),
    /// The signature has a wrong length, or is not less than the modulus.
    Refused,
    /// The kernel is not used for this key.
    Unsupported,
}

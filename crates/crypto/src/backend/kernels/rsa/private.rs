//! The private-key operation: `block^d` modulo a number of 2048 bits, by its two primes.
//!
//! The exponentiations modulo both primes run side by side in the lanes of one vector. The base is
//! blinded. Every result is verified with the public key before it is returned. See
//! `private_numbers.rs` for the power, and `blinding.rs` for blinding factors.
//!
//! No branch and no address depends on a secret.

use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};

use super::blinding::{Blinding, draw_below};
use super::convert::{read_bytes, reduce, write_bytes};
use super::key_parts::KeyParts;
#[cfg(test)]
use super::montgomery::Modulus;
#[cfg(test)]
use super::number::Number;
use super::number::{MODULUS_LEN, PRIME_LEN};
use super::operations::Product;
use super::private_numbers::PrivateNumbers;
use super::public::{Power, PublicKey};
use super::scratch::{Scratch, ScratchBox};
use super::seams::{Place, fault_at, publish};
use super::vector::{Instructions, LANES};
use crate::backend::memory::{constant_time_eq, wipe, wipe_words};
use crate::backend::stack;
use crate::lock::Mutex;

/// A private key with the constants of its multiplications. It is always in a box, so that moves
/// leave no copies.
pub(crate) struct PrivateKey {
    pub(super) public: PublicKey,
    secret: PrivateNumbers,
    /// Pairs that no thread uses. Boxes keep them in their places.
    #[allow(clippy::vec_box)]
    blindings: Mutex<Vec<Box<Blinding>>>,
}

impl Drop for PrivateKey {
    fn drop(&mut self) {
        wipe_words(core::slice::from_mut(&mut self.secret));
    }
}

/// The number of results that were not signatures, in this process.
static REJECTED: AtomicU64 = AtomicU64::new(0);

/// See [`rejected_rsa_signatures`](super::super::rejected_rsa_signatures).
pub(in super::super) fn rejected_signatures() -> u64 {
    REJECTED.load(Ordering::Relaxed)
}

impl PrivateKey {
    /// Computes the constants of a key, if the modulus has exactly 2048 bits and the primes have
    /// exactly 1024. AWS-LC has checked that the parts belong together.
    pub(super) fn new(
        run: impl Instructions,
        n: &[u8; MODULUS_LEN],
        parts: &KeyParts,
    ) -> Option<Box<Self>> {
        let is_prime_size =
            |prime: &[u8; PRIME_LEN]| prime[0] >= 0x80 && prime[PRIME_LEN - 1] % 2 == 1;
        if !is_prime_size(&parts.p) || !is_prime_size(&parts.q) {
            return None;
        }
        let mut key = Box::new(Self {
            public: PublicKey::new(run, n)?,
            secret: PrivateNumbers::ZERO,
            blindings: Mutex::new(Vec::new()),
        });
        let Self { public, secret, .. } = &mut *key;
        stack::wipe_after(&mut || secret.fill(run, public, parts));
        Some(key)
    }

    /// `block^d` modulo `n`, or nothing if the result is not a signature of the block, or if the
    /// system has no randomness. The block must be less than `n`.
    pub(super) fn sign(
        &self,
        run: impl Instructions,
        block: &[u8; MODULUS_LEN],
    ) -> Option<[u8; MODULUS_LEN]> {
        let mut signature = [0; MODULUS_LEN];
        let mut is_signed = false;
        let mut scratch = ScratchBox::new();
        let mut blinding = self.take_blinding(run, &mut scratch)?;
        stack::wipe_after(&mut || {
            is_signed = self.sign_with(run, &blinding, block, &mut scratch, &mut signature);
        });
        if is_signed {
            blinding.was_used();
            self.store_blinding(blinding);
            Some(signature)
        } else {
            // The factors are not used again, because they may be the cause.
            wipe(&mut signature);
            REJECTED.fetch_add(1, Ordering::Relaxed);
            None
        }
    }

    /// Computes and verifies a signature. If this returns false, `signature` is not one.
    #[inline(never)]
    pub(super) fn sign_with(
        &self,
        run: impl Instructions,
        blinding: &Blinding,
        block: &[u8; MODULUS_LEN],
        scratch: &mut Scratch,
        signature: &mut [u8; MODULUS_LEN],
    ) -> bool {
        let modulus = &self.public.modulus;
        read_bytes(&mut scratch.other, 0, block);
        let Scratch { other, base, .. } = scratch;
        run.run(Product::<LANES>::new(modulus, other, &blinding.factor, base));
        fault_at(Place::Blinded, &mut scratch.base);
        self.secret.power_by_primes(run, &self.public, &self.secret.exponents, scratch);
        let Scratch { other, result, .. } = scratch;
        run.run(Product::<LANES>::new(modulus, other, &blinding.inverse, result));
        fault_at(Place::Signature, &mut scratch.result);
        reduce(&mut scratch.result, &modulus.n);
        write_bytes(&scratch.result, signature);

        publish(signature);
        read_bytes(&mut scratch.result, 0, signature);
        run.run(Power { key: &self.public, number: &mut scratch.result });
        let mut found = [0; MODULUS_LEN];
        write_bytes(&scratch.result, &mut found);
        constant_time_eq(&found, block)
    }

    /// Blinding factors that no other operation uses at the same time.
    fn take_blinding(
        &self,
        run: impl Instructions,
        scratch: &mut Scratch,
    ) -> Option<Box<Blinding>> {
        let stored = self.blindings.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if let Some(mut blinding) = stored.filter(|blinding| blinding.is_usable()) {
            stack::wipe_after(&mut || blinding.square(run, &self.public.modulus));
            return Some(blinding);
        }
        let mut blinding = Blinding::zeros();
        if !draw_below(&self.public.modulus.n, &mut scratch.base) {
            return None;
        }
        stack::wipe_after(&mut || blinding.compute(run, &self.public, &self.secret, scratch));
        Some(blinding)
    }

    fn store_blinding(&self, blinding: Box<Blinding>) {
        let mut stored = self.blindings.lock().unwrap_or_else(PoisonError::into_inner);
        if stored.len() < MAX_BLINDINGS {
            stored.push(blinding);
        }
    }
}

#[cfg(any(test, all(feature = "deterministic", debug_assertions)))]
impl PrivateKey {
    /// The power of `scratch.base`, in `scratch.other`: see [`PrivateNumbers::power_by_primes`].
    pub(super) fn power(&self, run: impl Instructions, scratch: &mut Scratch) {
        self.secret.power_by_primes(run, &self.public, &self.secret.exponents, scratch);
    }

    /// Signs with blinding factors of this number, which is less than `n`.
    pub(super) fn sign_with_random(
        &self,
        run: impl Instructions,
        random: &[u8; MODULUS_LEN],
        block: &[u8; MODULUS_LEN],
    ) -> Option<[u8; MODULUS_LEN]> {
        let (mut scratch, mut blinding) = (ScratchBox::new(), Blinding::zeros());
        read_bytes(&mut scratch.base, 0, random);
        blinding.compute(run, &self.public, &self.secret, &mut scratch);
        let mut signature = [0; MODULUS_LEN];
        let is_signed = self.sign_with(run, &blinding, block, &mut scratch, &mut signature);
        is_signed.then_some(signature)
    }
}

#[cfg(test)]
impl PrivateKey {
    /// The blinding factors of the last signature.
    pub(super) fn stored_blinding(&self) -> [Number; 2] {
        let stored = self.blindings.lock().unwrap();
        let last = stored.last().unwrap();
        [last.factor, last.inverse]
    }

    pub(super) fn primes(&self) -> &Modulus {
        &self.secret.primes
    }

    pub(super) fn r_squared_of_primes(&self) -> &Number {
        &self.secret.r_squared
    }

    /// Makes this key equal to another one. Its stored blinding factors are not used after that.
    pub(super) fn copy_numbers(&mut self, other: &Self) {
        self.public.modulus = other.public.modulus;
        self.public.r_squared = other.public.r_squared;
        self.secret = other.secret;
    }

    pub(super) fn blinding_for_test(&self, run: impl Instructions) -> Box<Blinding> {
        self.take_blinding(run, &mut ScratchBox::new()).unwrap()
    }

    /// The numbers that are wiped.
    pub(super) fn secret_words(&self) -> &[u64] {
        let start = (&raw const self.secret).cast();
        // SAFETY: the numbers are words without padding.
        unsafe { core::slice::from_raw_parts(start, size_of::<PrivateNumbers>() / 8) }
    }

    /// Memory with a random number for blinding factors.
    pub(super) fn drawn(&self) -> ScratchBox {
        let mut scratch = ScratchBox::new();
        assert!(draw_below(&self.public.modulus.n, &mut scratch.base));
        scratch
    }

    /// Signs without wiping the stack, so that a test can measure its use.
    #[cfg(lanes_avx2)]
    pub(super) fn sign_without_wiping(
        &self,
        run: impl Instructions,
        block: &[u8; MODULUS_LEN],
        scratch: &mut Scratch,
    ) {
        let mut blinding = Blinding::zeros();
        blinding.compute(run, &self.public, &self.secret, scratch);
        blinding.square(run, &self.public.modulus);
        let mut signature = [0; MODULUS_LEN];
        assert!(self.sign_with(run, &blinding, block, scratch, &mut signature));
    }
}

/// The maximum number of unused pairs of blinding factors: as many threads sign at the same time
/// without drawing factors for each signature.
const MAX_BLINDINGS: usize = 64;

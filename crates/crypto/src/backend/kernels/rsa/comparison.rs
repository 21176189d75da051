//! The kernel against AWS-LC's big integers, for numbers of any kind, for fuzzing and tests.
//!
//! Moduli need not be products of primes: where the multiplication is wrong for one modulus in
//! 2^60, keys made of random primes do not show it.

use std::sync::OnceLock;

use super::avx512::Avx512;
use super::convert::{read_bytes, reduce, write_bytes};
use super::key_parts::KeyParts;
use super::number::{MODULUS_LEN, PRIME_LEN};
use super::portable::Portable;
use super::private::PrivateKey;
use super::public::PublicKey;
use super::raw_key::RawKey;
use super::raw_key::big;
use super::scratch::ScratchBox;
use super::self_test::{Bytes, fixed_key};
use super::vector::Instructions;
use crate::backend::handle::Handle;
use crate::backend::lc;
use crate::error::CryptoError;

type Prime = [u8; PRIME_LEN];

/// Compares `base^65537` modulo `n` with AWS-LC's. The modulus is made odd, of 2048 bits.
pub(crate) fn check_public(mut n: Bytes, base: &Bytes, with_portable: bool) -> bool {
    n[0] |= 0x80;
    n[MODULUS_LEN - 1] |= 1;
    let Ok(aws_lc) = RawKey::public(&n) else { return false };
    let expected = aws_lc.recover(base).ok();
    if let Some(run) = Avx512::detect() {
        assert_eq!(PublicKey::new(run, &n).unwrap().recover(run, base), expected);
    }
    if with_portable {
        assert_eq!(PublicKey::new(Portable, &n).unwrap().recover(Portable, base), expected);
    }
    expected.is_some()
}

/// The public-key operation by all vectors, which give AWS-LC's result.
#[cfg(test)]
pub(in crate::backend::kernels) fn recover_by_all(n: &Bytes, signature: &Bytes) -> Option<Bytes> {
    check_public(*n, signature, true);
    PublicKey::new(Portable, n).unwrap().recover(Portable, signature)
}

/// The private-key operation by all vectors, which give AWS-LC's result.
#[cfg(test)]
pub(in crate::backend::kernels) fn sign_by_all(raw: &RawKey, block: &Bytes) -> Option<Bytes> {
    let expected = raw.sign(block).ok()?;
    let (n, parts) = raw.parts().unwrap();
    if let Some(run) = Avx512::detect() {
        assert_eq!(PrivateKey::new(run, &n, &parts).unwrap().sign(run, block), Some(expected));
    }
    let portable = PrivateKey::new(Portable, &n, &parts).unwrap();
    assert_eq!(portable.sign(Portable, block), Some(expected));
    Some(expected)
}

/// The numbers of a private-key operation. The moduli `p` and `q` take the place of the primes.
pub(crate) struct Powers {
    pub(crate) p: Prime,
    pub(crate) q: Prime,
    pub(crate) d_p: Prime,
    pub(crate) d_q: Prime,
    pub(crate) base: Bytes,
}

/// Compares the powers of a base modulo two moduli, recombined, with AWS-LC's powers. The moduli
/// are made odd, of 1024 bits, and so large that the product has 2048 bits. Returns false if they
/// have a common divisor, for which the recombination is not defined.
pub(crate) fn check_private(mut powers: Powers, with_portable: bool) -> bool {
    for modulus in [&mut powers.p, &mut powers.q] {
        modulus[0] |= 0xc0;
        modulus[PRIME_LEN - 1] |= 1;
    }
    let Ok((n, q_inverse, expected)) = by_aws_lc(&powers) else { return false };
    let Powers { p, q, d_p, d_q, base } = powers;
    let parts = KeyParts { p, q, d_p, d_q, q_inverse };
    if let Some(run) = Avx512::detect() {
        assert_eq!(power(run, &n, &parts, &base), expected);
    }
    if with_portable {
        assert_eq!(power(Portable, &n, &parts, &base), expected);
    }
    true
}

fn power(run: impl Instructions, n: &Bytes, parts: &KeyParts, base: &Bytes) -> Bytes {
    let key = PrivateKey::new(run, n, parts).expect("the moduli have the size of primes");
    let mut scratch = ScratchBox::new();
    read_bytes(&mut scratch.base, 0, base);
    key.power(run, &mut scratch);
    reduce(&mut scratch.other, &key.public.modulus.n);
    let mut result = [0; MODULUS_LEN];
    write_bytes(&scratch.other, &mut result);
    result
}

/// The product of the moduli, `1 / q` modulo `p`, and the number below the product that is
/// `base^d_p` modulo `p` and `base^d_q` modulo `q`.
fn by_aws_lc(powers: &Powers) -> Result<(Bytes, Prime, Bytes), CryptoError> {
    let [p, q, d_p, d_q] = [&powers.p, &powers.q, &powers.d_p, &powers.d_q].map(|n| big(n));
    let (p, q, d_p, d_q, base) = (p?, q?, d_p?, d_q?, big(&powers.base)?);
    let [n, of_p, of_q, q_inverse] = [big(&[])?, big(&[])?, big(&[])?, big(&[])?];
    let [p, q, d_p, d_q, base, n, of_p, of_q] =
        [&p, &q, &d_p, &d_q, &base, &n, &of_p, &of_q].map(Handle::as_ptr);
    let check = |code| super::super::super::check(code, CryptoError::Internal);
    let (mut product, mut inverse, mut result) =
        ([0; MODULUS_LEN], [0; PRIME_LEN], [0; MODULUS_LEN]);
    // SAFETY: the numbers and the context are valid; outputs are passed with their lengths.
    unsafe {
        let context = Handle::new(lc::BN_CTX_new(), CryptoError::Internal)?;
        let context = context.as_ptr();
        let found = lc::BN_mod_inverse(q_inverse.as_ptr(), q, p, context);
        check(i32::from(!found.is_null()))?;
        check(lc::BN_mul(n, p, q, context))?;
        check(lc::BN_mod_exp(of_p, base, d_p, p, context))?;
        check(lc::BN_mod_exp(of_q, base, d_q, q, context))?;
        check(lc::BN_bn2bin_padded(product.as_mut_ptr(), product.len(), n))?;
        check(lc::BN_bn2bin_padded(inverse.as_mut_ptr(), inverse.len(), q_inverse.as_ptr()))?;
        // of_q + q ((of_p - of_q) / q modulo p). RFC 8017 5.1.2
        check(lc::BN_mod_sub(of_p, of_p, of_q, p, context))?;
        check(lc::BN_mod_mul(of_p, of_p, q_inverse.as_ptr(), p, context))?;
        check(lc::BN_mul(of_p, of_p, q, context))?;
        check(lc::BN_add(of_p, of_p, of_q))?;
        check(lc::BN_bn2bin_padded(result.as_mut_ptr(), result.len(), of_p))?;
    }
    Ok((product, inverse, result))
}

/// Compares a signature with AWS-LC's, by a fixed key and with this random number for blinding.
/// The numbers are made less than the modulus. Returns false if the random number is zero.
pub(crate) fn check_signature(mut random: Bytes, mut block: Bytes) -> bool {
    static KEY: OnceLock<Option<(Box<PrivateKey>, RawKey)>> = OnceLock::new();

    let Some(run) = Avx512::detect() else { return true };
    let Some((key, aws_lc)) = KEY.get_or_init(|| fixed_key(run)) else { return false };
    random[0] &= 0x7f;
    block[0] &= 0x7f;
    if random == [0; MODULUS_LEN] {
        return false;
    }
    // AWS-LC refuses 0 and 1, which are their own signatures.
    let expected = aws_lc.sign(&block).unwrap_or(block);
    assert!(expected != block || block[..MODULUS_LEN - 1] == [0; MODULUS_LEN - 1]);
    assert_eq!(key.sign_with_random(run, &random, &block), Some(expected));
    true
}

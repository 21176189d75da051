//! Comparison with AWS-LC at run time, before the first use.
//!
//! If a processor, an emulator or a compiler implements an instruction wrongly, the kernel is not
//! used.

use core::mem::MaybeUninit;

use super::{Data, Key, TAG_LEN};
use crate::algorithm::AeadAlgorithm;
use crate::backend::evp_aead::BoxedContext;
use crate::backend::memory::fill_random;

const ALGORITHMS: [AeadAlgorithm; 2] = [AeadAlgorithm::Aes128Gcm, AeadAlgorithm::Aes256Gcm];

/// Whether the kernel seals like AWS-LC, opens what was sealed, and rejects a change, for both key
/// lengths and for lengths of messages that run each part of the kernel.
pub(in crate::backend::kernels) fn self_test() -> bool {
    matches_aws_lc(|key, input, out| {
        let (body, tag) = out.split_at_mut(input.data.len());
        let data = Data { input: input.data.as_ptr(), out: body.as_mut_ptr(), len: body.len() };
        // SAFETY: the output is longer than the input by a tag.
        let _ = unsafe { key.seal(&input.nonce, input.aad, data, &[], tag.as_mut_ptr()) };
    })
}

/// What is sealed in a comparison.
pub(super) struct Input<'a> {
    pub(super) nonce: [u8; 12],
    pub(super) aad: &'a [u8],
    pub(super) data: &'a [u8],
}

/// The lengths that are compared: up to four vectors with a header, the inner loop once and several
/// times, and each number of vectors after it.
pub(super) const LENGTHS: [usize; 26] = [
    0, 1, 16, 17, 32, 33, 79, 80, 96, 144, 160, 208, 209, 256, 288, 336, 544, 575, 592, 600, 863,
    912, 1088, 1351, 1700, 2113,
];

const LONGEST: usize = LENGTHS[LENGTHS.len() - 1];

/// Runs the comparison. `seal` writes ciphertext and tag; tests pass a function that injects
/// faults.
pub(super) fn matches_aws_lc(seal: impl Fn(&Key, &Input<'_>, &mut [u8])) -> bool {
    let (mut secret, mut text) = ([0; 32], [0; LONGEST]);
    if fill_random(&mut secret).is_err() || fill_random(&mut text).is_err() {
        return false;
    }
    ALGORITHMS.into_iter().all(|algorithm| {
        let secret = &secret[..algorithm.key_len()];
        let Ok(aws_lc) = BoxedContext::new(algorithm, secret) else { return false };
        let mut place = MaybeUninit::uninit();
        // SAFETY: this test runs only if the instructions are available.
        let key = unsafe { Key::expand_in(&mut place, secret) };
        (0..).zip(LENGTHS).all(|(at, len)| {
            // Each length of additional data up to 39 bytes occurs with some length of data.
            let aad = &text[..(at * 13) % 40];
            let data = &text[LONGEST - len..];
            let input = Input { nonce: [at as u8; 12], aad, data };
            let mut expected = [0; LONGEST + TAG_LEN];
            let expected = &mut expected[..len + TAG_LEN];
            let is_sealed = aws_lc.seal(&input.nonce, aad, data, &[], expected).is_ok();
            let mut sealed = [0; LONGEST + TAG_LEN];
            let sealed = &mut sealed[..len + TAG_LEN];
            seal(key, &input, sealed);
            is_sealed && sealed == expected && opens(key, &input, sealed)
        })
    })
}

/// Whether the kernel opens this message, and rejects it after a change.
fn opens(key: &Key, input: &Input<'_>, sealed: &mut [u8]) -> bool {
    let mut out = [0xaa; LONGEST];
    let out = &mut out[..input.data.len()];
    let open = |sealed: &[u8], out: &mut [u8]| {
        let (body, tag) = sealed.split_last_chunk().expect("sealed messages end with a tag");
        let data = Data { input: body.as_ptr(), out: out.as_mut_ptr(), len: body.len() };
        // SAFETY: input and output have the same length.
        unsafe { key.open(&input.nonce, input.aad, data, tag) }
    };
    if open(sealed, out).is_err() || out != input.data {
        return false;
    }
    sealed[0] ^= 1;
    open(sealed, out).is_err() && out.iter().all(|byte| *byte == 0)
}

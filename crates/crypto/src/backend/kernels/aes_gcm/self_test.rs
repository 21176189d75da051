//! Comparison with AWS-LC at run time: of results before the first use, and of speed.
//!
//! If a processor, an emulator or a compiler implements an instruction wrongly, the kernel is not
//! used.

use core::mem::MaybeUninit;

use super::{Data, Key, TAG_LEN, is_available};
use crate::algorithm::AeadAlgorithm;
use crate::backend::evp_aead::BoxedContext;
use crate::backend::kernels::aead_trial;
use crate::backend::kernels::trial::Trial;
use crate::backend::memory::fill_random;
use crate::error::CryptoError;

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

/// Records of a small write, of a packet, and of half the maximum length. At the maximum length the
/// rounds of AES take nearly all of the time on processors that have one unit for them, and the
/// gain (7 % with AES-256 on Sapphire Rapids) is too close to the margin.
pub(in crate::backend::kernels) fn trials() -> Vec<Trial> {
    debug_assert!(is_available());
    let all = ALGORITHMS.map(|algorithm| [64, 1350, 8192].map(|len| (algorithm, len)));
    all.into_iter()
        .flatten()
        .flat_map(|(algorithm, len)| [seal_trial(algorithm, len), open_trial(algorithm, len)])
        .flatten()
        .collect()
}

const NONCE: [u8; 12] = [1; 12];
const AAD: [u8; 5] = [23, 3, 3, 0, 0];
const SECRET: [u8; 32] = [2; 32];

/// Keys of the kernel and of AWS-LC.
fn keys(algorithm: AeadAlgorithm) -> Option<(Box<Key>, BoxedContext)> {
    let secret = &SECRET[..algorithm.key_len()];
    let mut place = Box::new_uninit();
    // SAFETY: trials run only if the instructions are available; the call initialises the key.
    let kernel = unsafe {
        Key::expand_in(&mut place, secret);
        place.assume_init()
    };
    Some((kernel, BoxedContext::new(algorithm, secret).ok()?))
}

fn seal_trial(algorithm: AeadAlgorithm, len: usize) -> Option<Trial> {
    let (kernel, aws_lc) = keys(algorithm)?;
    let by_kernel = move |input: &[u8], out: &mut [u8]| {
        let (body, tag) = out.split_at_mut(input.len() + 1);
        let data = Data { input: input.as_ptr(), out: body.as_mut_ptr(), len: input.len() };
        let tag = tag[..TAG_LEN].as_mut_ptr();
        // SAFETY: the output is longer than the input by the extra byte and a tag.
        unsafe { kernel.seal(&NONCE, &AAD, data, &[23], tag) }
    };
    let by_aws_lc =
        move |input: &[u8], out: &mut [u8]| aws_lc.seal(&NONCE, &AAD, input, &[23], out);
    Some(aead_trial::seal(len, 1, by_kernel, by_aws_lc))
}

fn open_trial(algorithm: AeadAlgorithm, len: usize) -> Option<Trial> {
    let (kernel, aws_lc) = keys(algorithm)?;
    let mut sealed = vec![0; len + TAG_LEN];
    aws_lc.seal(&NONCE, &AAD, &vec![0; len], &[], &mut sealed).ok()?;
    let by_kernel = move |body: &[u8], tag: &[u8], out: &mut [u8]| {
        let tag = tag.try_into().map_err(|_| CryptoError::Rejected)?;
        let out = &mut out[..body.len()];
        let data = Data { input: body.as_ptr(), out: out.as_mut_ptr(), len: body.len() };
        // SAFETY: the output is as long as the input.
        unsafe { kernel.open(&NONCE, &AAD, data, tag) }
    };
    let by_aws_lc =
        move |body: &[u8], tag: &[u8], out: &mut [u8]| aws_lc.open(&NONCE, &AAD, body, tag, out);
    Some(aead_trial::open(sealed, by_kernel, by_aws_lc))
}

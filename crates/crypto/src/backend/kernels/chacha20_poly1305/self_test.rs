//! Comparison with AWS-LC at run time, before the first use.
//!
//! If a processor, an emulator or a compiler implements an instruction wrongly, the kernel is not
//! used.

use core::mem::MaybeUninit;

use super::{Key, TAG_LEN, Text};
use crate::algorithm::AeadAlgorithm;
use crate::backend::evp_aead::BoxedContext;
use crate::backend::memory::fill_random;

const CHACHA20_POLY1305: AeadAlgorithm = AeadAlgorithm::ChaCha20Poly1305;

/// Whether the kernel gives the same results as AWS-LC, on fixed and on random inputs, for lengths
/// that run each part of the kernel.
pub(in crate::backend::kernels) fn self_test() -> bool {
    matches_aws_lc(|key, input, out| {
        let (body, tag) = out.split_at_mut(input.total());
        let text = input.text(body.as_mut_ptr());
        // SAFETY: the output is longer than the input by a tag.
        unsafe { key.seal(&input.nonce, input.aad, text, tag.as_mut_ptr()) }.is_ok()
    })
}

/// What is sealed in a comparison.
pub(super) struct Input<'a> {
    pub(super) nonce: [u8; 12],
    pub(super) aad: &'a [u8],
    pub(super) data: &'a [u8],
    pub(super) extra: &'a [u8],
}

impl<'a> Input<'a> {
    pub(super) fn total(&self) -> usize {
        self.data.len() + self.extra.len()
    }

    pub(super) fn text(&self, output: *mut u8) -> Text<'a> {
        Text { input: self.data.as_ptr(), len: self.data.len(), extra: self.extra, output }
    }
}

/// The lengths that are compared: none to three blocks with the one-time key, each number of sets
/// of rows, the longest text without a chunk, a piece, chunks, and each with and without parts of
/// blocks.
pub(super) const LENGTHS: [usize; 26] = [
    0, 1, 16, 63, 64, 128, 191, 192, 193, 256, 257, 448, 449, 704, 960, 961, 1216, 1472, 1728,
    1983, 1984, 1985, 2047, 2048, 4096, 6300,
];

const LONGEST: usize = LENGTHS[LENGTHS.len() - 1];

/// Runs the comparison. `seal` writes ciphertext and tag, and returns whether it succeeded; tests
/// pass a function that injects faults.
pub(super) fn matches_aws_lc(seal: impl Fn(&Key, &Input<'_>, &mut [u8]) -> bool) -> bool {
    let (mut secret, mut data) = ([0; 32], [0; LONGEST]);
    if fill_random(&mut secret).is_err() || fill_random(&mut data).is_err() {
        return false;
    }
    let is_right = |secret: &[u8; 32], data: &[u8]| {
        let Ok(aws_lc) = BoxedContext::new(CHACHA20_POLY1305, secret) else { return false };
        let mut place = MaybeUninit::uninit();
        // SAFETY: this test runs only if the instructions are available.
        let key = unsafe { Key::write(&mut place, secret) };
        (0..).zip(LENGTHS).all(|(at, len)| {
            // Each length of additional data up to 39 bytes occurs with some length of data.
            let (aad, extra) = (&data[..at * 13 % 40], &data[..at % 3]);
            let mut nonce = [0x5a; 12];
            nonce[at % 12] = !0;
            let input = Input { nonce, aad, data: &data[..len], extra };
            let mut expected = [0; LONGEST + 2 + TAG_LEN];
            let mut sealed = [0; LONGEST + 2 + TAG_LEN];
            let (total, end) = (input.total(), input.total() + TAG_LEN);
            let (expected, sealed) = (&mut expected[..end], &mut sealed[..end]);
            aws_lc.seal(&nonce, aad, input.data, extra, expected).is_ok()
                && seal(key, &input, sealed)
                && sealed == expected
                && opens(key, &input, sealed, total)
        })
    };
    // With these bytes, limbs and carries of Poly1305 are often at their limits.
    is_right(&secret, &data) && is_right(&[0xff; 32], &[0xff; LONGEST])
}

/// Whether the kernel opens what was sealed, and rejects another tag.
fn opens(key: &Key, input: &Input<'_>, sealed: &[u8], total: usize) -> bool {
    let mut opened = [0; LONGEST + 2];
    let (body, tag) = sealed.split_at(total);
    let text = Text { input: body.as_ptr(), len: total, extra: &[], output: opened.as_mut_ptr() };
    // SAFETY: the output is as long as the input.
    let is_open = unsafe { key.open(&input.nonce, input.aad, text, tag) }.is_ok();
    let (data, extra) = opened[..total].split_at(input.data.len());
    let is_equal = data == input.data && extra == input.extra;
    let mut other = [0; TAG_LEN];
    other.copy_from_slice(tag);
    other[total % TAG_LEN] ^= 1;
    // SAFETY: as above.
    let is_rejected = unsafe { key.open(&input.nonce, input.aad, text, &other) }.is_err();
    is_open && is_equal && is_rejected && opened == [0; LONGEST + 2]
}

//! Compares the kernel with AWS-LC, with the standards' vectors, and with the definitions.
//!
//! Tests that need AVX-512 print "absent" on processors without it. Those with a portable vector
//! run everywhere.

mod definition;
mod miri;
mod ratios;
#[cfg(target_os = "linux")]
mod residue;
mod timing;
#[cfg(target_os = "linux")]
mod valgrind;
mod vectors;

use super::portable::PortableEntries;
use super::self_test::{LENGTHS, matches_aws_lc};
use super::*;
use crate::algorithm::AeadAlgorithm;
use crate::backend::aead::AeadContext;
use crate::backend::memory::fill_random;

const ALGORITHMS: [AeadAlgorithm; 2] = [AeadAlgorithm::Aes128Gcm, AeadAlgorithm::Aes256Gcm];

/// The kernel with one of the vectors, as safe functions.
pub(in crate::backend::kernels) struct Kernel {
    key: Box<Key>,
    seal: SealFunction,
    open: OpenFunction,
}

type SealFunction =
    unsafe fn(&Key, (&[u8; 12], &[u8]), Data, &[u8], *mut u8) -> Result<(), CryptoError>;
type OpenFunction =
    unsafe fn(&Key, (&[u8; 12], &[u8]), Data, &[u8; TAG_LEN]) -> Result<(), CryptoError>;

impl Kernel {
    fn new<E: Entries>(secret: &[u8]) -> Self {
        let mut place = Box::new_uninit();
        // SAFETY: callers choose entries whose instructions are available; the key is initialised.
        let key = unsafe {
            expand_in::<E>(&mut place, secret);
            place.assume_init()
        };
        Self { key, seal: seal::<E>, open: open::<E> }
    }

    /// The kernel with AVX-512, if the processor has it.
    pub(in crate::backend::kernels) fn avx512(secret: &[u8]) -> Option<Self> {
        if !is_available() {
            println!("absent: AVX-512 with VAES and VPCLMULQDQ");
        }
        is_available().then(|| Self::new::<Avx512>(secret))
    }

    pub(in crate::backend::kernels) fn portable(secret: &[u8]) -> Self {
        Self::new::<PortableEntries>(secret)
    }

    /// Seals to `out`, of `input.len() + extra.len() + TAG_LEN` bytes.
    pub(in crate::backend::kernels) fn seal(
        &self,
        nonce: &[u8; 12],
        aad: &[u8],
        input: &[u8],
        extra: &[u8],
        out: &mut [u8],
    ) {
        let (body, tag) = out.split_at_mut(input.len() + extra.len());
        assert_eq!(tag.len(), TAG_LEN);
        let data = Data { input: input.as_ptr(), out: body.as_mut_ptr(), len: input.len() };
        // SAFETY: pointers come from slices with their lengths.
        unsafe { (self.seal)(&self.key, (nonce, aad), data, extra, tag.as_mut_ptr()) }.unwrap();
    }

    /// Seals the first `len` bytes of `buffer`, of `len + extra.len() + TAG_LEN` bytes.
    pub(in crate::backend::kernels) fn seal_in_place(
        &self,
        nonce: &[u8; 12],
        aad: &[u8],
        buffer: &mut [u8],
        extra: &[u8],
    ) {
        let len = buffer.len() - extra.len() - TAG_LEN;
        let (body, tag) = buffer.split_at_mut(len + extra.len());
        let out = body.as_mut_ptr();
        let data = Data { input: out, out, len };
        // SAFETY: pointers come from slices with their lengths.
        unsafe { (self.seal)(&self.key, (nonce, aad), data, extra, tag.as_mut_ptr()) }.unwrap();
    }

    /// Opens ciphertext and tag to `out`.
    pub(in crate::backend::kernels) fn open(
        &self,
        nonce: &[u8; 12],
        aad: &[u8],
        sealed: &[u8],
        out: &mut [u8],
    ) -> Result<(), CryptoError> {
        let (body, tag) = sealed.split_last_chunk().unwrap();
        assert_eq!(body.len(), out.len());
        let data = Data { input: body.as_ptr(), out: out.as_mut_ptr(), len: body.len() };
        // SAFETY: pointers come from slices with their lengths.
        unsafe { (self.open)(&self.key, (nonce, aad), data, tag) }
    }

    /// Opens ciphertext and tag in place.
    pub(in crate::backend::kernels) fn open_in_place(
        &self,
        nonce: &[u8; 12],
        aad: &[u8],
        sealed: &mut [u8],
    ) -> Result<(), CryptoError> {
        let (body, tag) = sealed.split_last_chunk_mut().unwrap();
        let out = body.as_mut_ptr();
        let data = Data { input: out, out, len: body.len() };
        // SAFETY: pointers come from slices with their lengths.
        unsafe { (self.open)(&self.key, (nonce, aad), data, tag) }
    }
}

fn random(len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    fill_random(&mut bytes).unwrap();
    bytes
}

/// The bytes around a message, which must not change.
const GUARD: usize = 70;

/// Seals and opens one message, apart and in place, at this alignment, and compares with AWS-LC.
fn compare(kernel: &Kernel, aws_lc: &AeadContext, case: &Case<'_>) {
    let Case { aad, data, extra, alignment } = *case;
    let nonce: [u8; 12] = random(12).try_into().unwrap();
    let plaintext = [data, extra].concat();
    let total = plaintext.len() + TAG_LEN;
    let mut expected = vec![0; total];
    aws_lc.sealer().seal(&nonce, aad, data, extra, &mut expected).unwrap();

    // The input is at an alignment of its own.
    let mut shifted = vec![0; 63 - alignment];
    shifted.extend_from_slice(data);
    let input = &shifted[63 - alignment..];
    let range = GUARD + alignment..GUARD + alignment + total;
    let unchanged = |buffer: &[u8], range: &core::ops::Range<usize>| {
        let (before, after) = (&buffer[..range.start], &buffer[range.end..]);
        [before, after].concat().iter().all(|byte| *byte == 0xee)
    };
    let mut buffer = vec![0xee; range.end + GUARD];
    kernel.seal(&nonce, aad, input, extra, &mut buffer[range.clone()]);
    assert_eq!(buffer[range.clone()], expected, "seal {case:?}");
    assert!(unchanged(&buffer, &range), "seal {case:?}");

    buffer[range.clone()].fill(0xdd);
    buffer[range.clone()][..data.len()].copy_from_slice(data);
    kernel.seal_in_place(&nonce, aad, &mut buffer[range.clone()], extra);
    assert_eq!(buffer[range.clone()], expected, "seal in place {case:?}");
    assert!(unchanged(&buffer, &range), "seal in place {case:?}");

    kernel.open_in_place(&nonce, aad, &mut buffer[range.clone()]).unwrap();
    let opened = range.start..range.end - TAG_LEN;
    assert_eq!(buffer[opened.clone()], plaintext, "open in place {case:?}");
    assert_eq!(buffer[opened.end..range.end], expected[plaintext.len()..], "the tag {case:?}");
    assert!(unchanged(&buffer, &range), "open in place {case:?}");

    let mut out = vec![0xee; opened.end + GUARD];
    kernel.open(&nonce, aad, &expected, &mut out[opened.clone()]).unwrap();
    assert_eq!(out[opened.clone()], plaintext, "open {case:?}");
    assert!(unchanged(&out, &opened), "open {case:?}");
}

#[derive(Debug, Clone, Copy)]
struct Case<'a> {
    aad: &'a [u8],
    data: &'a [u8],
    extra: &'a [u8],
    alignment: usize,
}

/// Compares messages of each length with AWS-LC, with both keys, with and without an extra byte,
/// with each length of additional data up to 40 bytes and at each alignment in turn.
fn compare_lengths_up_to(longest: usize) {
    let text = random(20_100);
    for algorithm in ALGORITHMS {
        let secret = random(algorithm.key_len());
        let Some(kernel) = Kernel::avx512(&secret) else { return };
        let aws_lc = AeadContext::by_aws_lc(algorithm, &secret).unwrap();
        for len in 0..=longest {
            for extra in [&[][..], &[23]] {
                let (aad, data) = (&text[..len * 7 % 41], &text[20_100 - len..]);
                let case = Case { aad, data, extra, alignment: len * 11 % 64 };
                compare(&kernel, &aws_lc, &case);
            }
        }
    }
}

#[test]
fn each_length_up_to_2100_equals_aws_lc() {
    compare_lengths_up_to(2100);
}

#[test]
#[ignore = "for `just kernels-long`"]
fn each_length_up_to_20000_equals_aws_lc() {
    compare_lengths_up_to(20_000);
}

/// Every length of additional data with every number of vectors.
#[test]
fn each_length_of_additional_data_equals_aws_lc() {
    let text = random(2200);
    for algorithm in ALGORITHMS {
        let secret = random(algorithm.key_len());
        let Some(kernel) = Kernel::avx512(&secret) else { return };
        let aws_lc = AeadContext::by_aws_lc(algorithm, &secret).unwrap();
        for (aad, len) in (0..=40)
            .chain([64, 255, 256, 1000])
            .flat_map(|aad| LENGTHS.into_iter().map(move |len| (aad, len)))
        {
            let (aad, data) = (&text[..aad], &text[2200 - len..]);
            let case = Case { aad, data, extra: &[], alignment: (aad.len() + len) % 64 };
            compare(&kernel, &aws_lc, &case);
        }
    }
}

#[test]
fn any_number_of_extra_bytes_equals_aws_lc() {
    let text = random(1000);
    for algorithm in ALGORITHMS {
        let secret = random(algorithm.key_len());
        let Some(kernel) = Kernel::avx512(&secret) else { return };
        let aws_lc = AeadContext::by_aws_lc(algorithm, &secret).unwrap();
        for (len, extra) in [0, 1, 15, 31, 32, 47, 208, 600]
            .into_iter()
            .flat_map(|len| (0..70).map(move |e| (len, e)))
        {
            let (data, extra) = (&text[..len], &text[900..900 + extra]);
            compare(&kernel, &aws_lc, &Case { aad: b"aad", data, extra, alignment: len % 64 });
        }
    }
}

/// Random lengths and alignments.
#[test]
fn random_messages_equal_aws_lc() {
    let text = random(20_100);
    for algorithm in
        ALGORITHMS.into_iter().cycle().take(if cfg!(debug_assertions) { 40 } else { 400 })
    {
        let secret = random(algorithm.key_len());
        let Some(kernel) = Kernel::avx512(&secret) else { return };
        let aws_lc = AeadContext::by_aws_lc(algorithm, &secret).unwrap();
        for _ in 0..10 {
            let draw = random(8);
            let number = |at: usize| usize::from(draw[at]) << 8 | usize::from(draw[at + 1]);
            let (aad, data) = (&text[..number(0) % 41], &text[..number(2) % 20_001]);
            let extra = &text[..number(4) % 2];
            compare(&kernel, &aws_lc, &Case { aad, data, extra, alignment: number(6) % 64 });
        }
    }
}

/// One bit of ciphertext, tag, additional data or nonce is changed. The output is wiped.
fn forge(count: usize) {
    let text = random(3000);
    for turn in 0..count {
        let algorithm = ALGORITHMS[turn % 2];
        let secret = random(algorithm.key_len());
        let Some(kernel) = Kernel::avx512(&secret) else { return };
        let draw = random(12);
        let number = |at: usize| usize::from(draw[at]) << 8 | usize::from(draw[at + 1]);
        let len = if turn % 4 == 0 { number(0) % 2500 } else { number(0) % 300 };
        let (mut nonce, mut aad) = ([draw[2]; 12], text[..1 + number(4) % 20].to_vec());
        let mut sealed = vec![0; len + TAG_LEN];
        kernel.seal(&nonce, &aad, &text[..len], &[], &mut sealed);
        let bit = 1 << (draw[6] % 8);
        match draw[7] % 4 {
            0 => nonce[number(8) % 12] ^= bit,
            1 => {
                let at = number(8) % aad.len();
                aad[at] ^= bit;
            }
            2 => {
                let at = number(8) % sealed.len();
                sealed[at] ^= bit;
            }
            _ => sealed[len + number(8) % TAG_LEN] ^= bit,
        }
        let mut out = vec![0xee; len + 2];
        let outcome = kernel.open(&nonce, &aad, &sealed, &mut out[1..=len]);
        assert_eq!(outcome, Err(CryptoError::Rejected));
        assert!(out[1..=len].iter().all(|byte| *byte == 0), "{len}");
        assert!(out[0] == 0xee && out[len + 1] == 0xee);
        assert_eq!(kernel.open_in_place(&nonce, &aad, &mut sealed), Err(CryptoError::Rejected));
        assert!(sealed[..len].iter().all(|byte| *byte == 0), "{len}");
    }
}

#[test]
fn forgeries_are_rejected_and_their_output_is_wiped() {
    forge(2_000);
}

#[test]
#[ignore = "for `just kernels-long`"]
fn a_hundred_thousand_forgeries_are_rejected() {
    forge(100_000);
}

/// The parts of a key are equal for both vectors, and so are sealed messages.
#[test]
fn the_portable_vector_equals_avx512() {
    let text = random(700);
    for algorithm in ALGORITHMS {
        let secret = random(algorithm.key_len());
        let Some(kernel) = Kernel::avx512(&secret) else { return };
        let portable = Kernel::portable(&secret);
        assert_eq!(kernel.key.powers, portable.key.powers);
        assert_eq!(kernel.key.round_keys, portable.key.round_keys);
        for len in [0, 1, 16, 17, 33, 100, 208, 209, 300, 592, 699] {
            let aad = &text[..len % 40];
            let [mut sealed, mut expected] = [(); 2].map(|()| vec![0; len + 1 + TAG_LEN]);
            kernel.seal(&[3; 12], aad, &text[..len], &[9], &mut sealed);
            portable.seal(&[3; 12], aad, &text[..len], &[9], &mut expected);
            assert_eq!(sealed, expected, "{len}");
            let mut out = vec![0; len + 1];
            portable.open(&[3; 12], aad, &sealed, &mut out).unwrap();
            assert_eq!(out, [&text[..len], &[9]].concat());
        }
    }
}

#[test]
fn a_fault_is_detected_by_the_self_test() {
    if !is_available() {
        return println!("absent: AVX-512 with VAES and VPCLMULQDQ");
    }
    assert!(self_test());
    for (at, len) in LENGTHS.into_iter().enumerate() {
        // One bit of one message with this length and one of the keys.
        for rounds in [10, 14] {
            let is_right = matches_aws_lc(|key, input, out| {
                let data = input.data;
                let (len, out_start) = (data.len(), out.as_mut_ptr());
                let data = Data { input: data.as_ptr(), out: out_start, len };
                let tag = out[len..].as_mut_ptr();
                // SAFETY: the output is longer than the input by a tag.
                unsafe { key.seal(&input.nonce, input.aad, data, &[], tag) }.unwrap();
                if len == LENGTHS[at] && key.rounds == rounds {
                    let place = (at * 37) % out.len();
                    out[place] ^= 1 << (at % 8);
                }
            });
            assert!(!is_right, "{len}");
        }
    }
}

#[test]
fn a_message_that_is_too_long_is_refused() {
    let Some(kernel) = Kernel::avx512(&[1; 16]) else { return };
    let mut tag = [0; TAG_LEN];
    let out = tag.as_mut_ptr();
    let data = Data { input: out.cast_const(), out, len: MAX_LEN as usize + 1 };
    // SAFETY: nothing is read or written, because the length is refused.
    let sealed = unsafe { (kernel.seal)(&kernel.key, (&[0; 12], &[]), data, &[], out) };
    assert_eq!(sealed, Err(CryptoError::LimitExceeded));
    // SAFETY: as above.
    let opened = unsafe { (kernel.open)(&kernel.key, (&[0; 12], &[]), data, &[0; TAG_LEN]) };
    assert_eq!(opened, Err(CryptoError::Rejected));
}

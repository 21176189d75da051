//! Compares the kernel with AWS-LC and with the definitions in RFC 8439, by vectors of AVX-512 and
//! by portable ones.

mod timing;

use core::mem::MaybeUninit;

use super::comparison::{by_portable, check_poly1305};
use super::definition;
use super::message;
use super::poly1305::BLOCK;
use super::portable::Portable;
use super::scalar::{self, OneTimeKey};
use super::self_test::{Input, LENGTHS, matches_aws_lc};
use super::subroutines::Subroutines;
use super::*;
use crate::backend::aead::AeadContext;
use crate::backend::kernels::chacha20_poly1305::avx512::Zmm;
use crate::backend::kernels::chacha20_poly1305::chacha20::{self, Start};

const SECRET: [u8; 32] = [
    0x80, 0x81, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8a, 0x8b, 0x8c, 0x8d, 0x8e, 0x8f,
    0x90, 0x91, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99, 0x9a, 0x9b, 0x9c, 0x9d, 0x9e, 0x9f,
];

/// Bytes that look random, the same in each run.
fn bytes(count: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..count).map(|_| next()).collect()
}

/// A key of the kernel, or nothing where the processor lacks the instructions.
pub(in crate::backend::kernels) fn key(secret: &[u8; 32]) -> Option<Box<Key>> {
    if !is_available() {
        return None;
    }
    let mut place = Box::new_uninit();
    // SAFETY: the instructions are available, and the call initialises the key.
    unsafe {
        Key::write(&mut place, secret);
        Some(place.assume_init())
    }
}

/// The sealed message.
pub(in crate::backend::kernels) fn seal(
    key: &Key,
    nonce: &[u8; 12],
    aad: &[u8],
    data: &[u8],
) -> Vec<u8> {
    let mut out = vec![0; data.len() + TAG_LEN];
    let (body, tag) = out.split_at_mut(data.len());
    let output = body.as_mut_ptr();
    let text = Text { input: data.as_ptr(), len: data.len(), extra: &[], output };
    // SAFETY: the output is as long as the input, and the tag has its length.
    unsafe { key.seal(nonce, aad, text, tag.as_mut_ptr()).unwrap() };
    out
}

/// The opened message, or nothing if it is not authentic.
pub(in crate::backend::kernels) fn open(
    key: &Key,
    nonce: &[u8; 12],
    aad: &[u8],
    sealed: &[u8],
) -> Option<Vec<u8>> {
    let (body, tag) = sealed.split_at(sealed.len() - TAG_LEN);
    let mut out = vec![0; body.len()];
    let output = out.as_mut_ptr();
    let text = Text { input: body.as_ptr(), len: body.len(), extra: &[], output };
    // SAFETY: the output is as long as the input.
    unsafe { key.open(nonce, aad, text, tag) }.ok()?;
    Some(out)
}

/// What one message is sealed with.
fn input<'a>(nonce: u64, aad: &'a [u8], data: &'a [u8], extra: &'a [u8]) -> Input<'a> {
    let mut bytes = [0x77; 12];
    bytes[4..].copy_from_slice(&nonce.to_le_bytes());
    Input { nonce: bytes, aad, data, extra }
}

fn by_aws_lc(secret: &[u8; 32], input: &Input<'_>) -> Vec<u8> {
    let context = AeadContext::by_aws_lc(AeadAlgorithm::ChaCha20Poly1305, secret).unwrap();
    let mut out = vec![0; input.total() + TAG_LEN];
    context.sealer().seal(&input.nonce, input.aad, input.data, input.extra, &mut out).unwrap();
    out
}

/// Seals and opens with the kernel, apart and in place, with `shift` unused bytes before each
/// buffer, and compares with what is expected. Nothing else may change.
fn check(key: &Key, input: &Input<'_>, expected: &[u8], shift: usize) {
    const UNUSED: u8 = 0xee;
    let (len, total) = (input.data.len(), input.total());
    let case = format!("{len} + {} bytes, AD {}", total - len, input.aad.len());
    let buffer = |content: &[u8]| {
        let mut buffer = vec![UNUSED; shift];
        buffer.extend(content);
        buffer.resize(shift + total + TAG_LEN + 80, UNUSED);
        buffer
    };
    let is_intact = |buffer: &[u8], used: usize| {
        let (before, after) = (&buffer[..shift], &buffer[shift + used..]);
        before.iter().chain(after).all(|byte| *byte == UNUSED)
    };
    let (nonce, aad) = (&input.nonce, input.aad);

    let data = buffer(input.data);
    let mut sealed = buffer(&[]);
    let output = sealed[shift..].as_mut_ptr();
    let text = Text { input: data[shift..].as_ptr(), ..input.text(output) };
    // SAFETY: the buffers are long enough.
    unsafe { key.seal(nonce, aad, text, output.add(total)).unwrap() };
    assert_eq!(&sealed[shift..][..total + TAG_LEN], expected, "{case}");
    assert!(is_intact(&sealed, total + TAG_LEN), "{case}");

    let mut sealed = buffer(input.data);
    let output = sealed[shift..].as_mut_ptr();
    let text = Text { input: output.cast_const(), ..input.text(output) };
    // SAFETY: as above; input and output are the same.
    unsafe { key.seal(nonce, aad, text, output.add(total)).unwrap() };
    assert_eq!(&sealed[shift..][..total + TAG_LEN], expected, "{case}");
    assert!(is_intact(&sealed, total + TAG_LEN), "{case}");

    let (body, tag) = expected.split_at(total);
    let plain = [input.data, input.extra].concat();
    let body = buffer(body);
    let mut opened = buffer(&[]);
    let output = opened[shift..].as_mut_ptr();
    let text = Text { input: body[shift..].as_ptr(), len: total, extra: &[], output };
    // SAFETY: as above.
    unsafe { key.open(nonce, aad, text, tag).unwrap() };
    assert_eq!(opened[shift..][..total], plain, "{case}");
    assert!(is_intact(&opened, total), "{case}");

    let mut opened = body;
    let output = opened[shift..].as_mut_ptr();
    let text = Text { input: output.cast_const(), len: total, extra: &[], output };
    // SAFETY: as above; input and output are the same.
    unsafe { key.open(nonce, aad, text, tag).unwrap() };
    assert_eq!(opened[shift..][..total], plain, "{case}");
    assert!(is_intact(&opened, total), "{case}");
}

fn each_length_equals_aws_lc(lengths: impl Iterator<Item = usize>) {
    let Some(kernel) = key(&SECRET) else { return };
    for len in lengths {
        let data = bytes(len + 3, len as u64);
        let (aad, extra) = (&bytes(40, 5)[..len * 7 % 41], &data[len..][..len % 4]);
        let input = input(len as u64, aad, &data[..len], extra);
        check(&kernel, &input, &by_aws_lc(&SECRET, &input), len * 3 % 67);
    }
}

#[test]
fn each_length_to_2100_equals_aws_lc() {
    each_length_equals_aws_lc(0..=2100);
}

#[test]
#[ignore = "for `just kernels-long`"]
fn each_length_to_20_000_equals_aws_lc() {
    each_length_equals_aws_lc(0..=20_000);
}

#[test]
fn each_length_of_associated_data_equals_aws_lc() {
    let Some(kernel) = key(&SECRET) else { return };
    for len in [0, 1, 100, 192, 193, 256, 257, 1000, 2048, 5000] {
        for aad_len in 0..=40 {
            let (data, aad) = (bytes(len, 1), bytes(aad_len, 2));
            let input = input(aad_len as u64, &aad, &data, &[23]);
            check(&kernel, &input, &by_aws_lc(&SECRET, &input), aad_len);
        }
    }
    let (data, aad) = (bytes(700, 1), bytes(70_000, 2));
    let input = input(1, &aad, &data, &[]);
    check(&kernel, &input, &by_aws_lc(&SECRET, &input), 0);
}

#[test]
fn each_alignment_equals_aws_lc() {
    let Some(kernel) = key(&SECRET) else { return };
    for len in [63, 250, 1350, 4200] {
        let data = bytes(len, 3);
        let input = input(9, &[1; 5], &data, &[22]);
        let expected = by_aws_lc(&SECRET, &input);
        (0..=64).for_each(|shift| check(&kernel, &input, &expected, shift));
    }
}

#[test]
fn extra_bytes_of_any_number_equal_aws_lc() {
    let Some(kernel) = key(&SECRET) else { return };
    let data = bytes(8000, 4);
    for len in [0, 1, 60, 64, 191, 192, 250, 1984, 1985, 2047, 2048, 2049, 4095] {
        for extra_len in [1, 2, 15, 16, 17, 63, 64, 65, 200, 1000, 2100, 3900] {
            let (now, extra) = data[..len + extra_len].split_at(len);
            let input = input(3, &[5; 13], now, extra);
            check(&kernel, &input, &by_aws_lc(&SECRET, &input), extra_len % 5);
        }
    }
}

/// RFC 8439 2.8.2, by all implementations.
#[test]
fn the_example_of_the_standard() {
    let plaintext = b"Ladies and Gentlemen of the class of '99: If I could offer you only one \
        tip for the future, sunscreen would be it.";
    let aad = [0x50, 0x51, 0x52, 0x53, 0xc0, 0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7];
    let nonce = [7, 0, 0, 0, 0x40, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47];
    let tag = [
        0x1a, 0xe1, 0x0b, 0x59, 0x4f, 0x09, 0xe2, 0x6a, 0x7e, 0x90, 0x2e, 0xcb, 0xd0, 0x60, 0x06,
        0x91,
    ];
    let input = Input { nonce, aad: &aad, data: plaintext, extra: &[] };
    let expected = definition::seal(&SECRET, &nonce, &aad, plaintext);
    assert_eq!(expected[..4], [0xd3, 0x1a, 0x8d, 0x34]);
    assert_eq!(expected[plaintext.len()..], tag);
    assert_eq!(by_portable::<true>(&SECRET, &input), expected);
    if let Some(kernel) = key(&SECRET) {
        check(&kernel, &input, &expected, 0);
    }
}

/// RFC 8439 2.1, 2.3, 2.3.2, 2.5, 2.5.2 and A.3, numbers 7 to 11.
#[test]
fn the_definitions_give_the_examples_of_the_standard() {
    let secret = core::array::from_fn(|at| at as u8);
    let stream = definition::block(&secret, 1, &[0, 0, 0, 9, 0, 0, 0, 0x4a, 0, 0, 0, 0]);
    assert_eq!(stream[..8], [0x10, 0xf1, 0xe7, 0xe4, 0xd1, 0x3b, 0x59, 0x15]);
    assert_eq!(stream[60..], [0xa2, 0x50, 0x3c, 0x4e]);
    let number = |bytes: &[u8]| {
        let mut number = [0; 16];
        number[..bytes.len()].copy_from_slice(bytes);
        number
    };
    let of = |r: &[u8], message: &[[u8; 16]]| {
        let key = [number(r), [0; 16]].concat();
        definition::poly1305(key.as_slice().try_into().unwrap(), message.as_flattened())
    };
    let (ones, one) = ([0xff; 16], number(&[1]));
    let mut almost_ones = ones;
    almost_ones[0] = 0xf0;
    assert_eq!(of(&[1], &[ones, almost_ones, number(&[0x11])]), number(&[5]));
    let mut complement = [0xfe; 16];
    complement[0] = 0xfb;
    assert_eq!(of(&[1], &[ones, complement, [1; 16]]), [0; 16]);
    let (mut message, mut tag) = (ones, ones);
    (message[0], tag[0]) = (0xfd, 0xfa);
    assert_eq!(of(&[2], &[message]), tag);
    let first = number(&[0xe3, 0x35, 0x94, 0xd7, 0x50, 0x5e, 0x43, 0xb9]);
    let second = number(&[0x33, 0x94, 0xd7, 0x50, 0x5e, 0x43, 0x79, 0xcd, 1, 0, 0, 0, 0, 0, 0, 0]);
    let r = [1, 0, 0, 0, 0, 0, 0, 0, 4];
    let tag = number(&[0x14, 0, 0, 0, 0, 0, 0, 0, 0x55]);
    assert_eq!(of(&r, &[first, second, [0; 16], one]), tag);
    assert_eq!(of(&r, &[first, second, [0; 16]]), number(&[0x13]));
}

/// This test needs no AWS-LC and no AVX-512, so that Miri can run it.
#[test]
fn portable_vectors_give_the_defined_results() {
    let lengths: &[usize] = if cfg!(miri) { &[0, 70, 200, 300, 900, 2040, 2500] } else { &LENGTHS };
    for len in lengths {
        let data = bytes(len + 2, 6);
        let (aad, extra) = (&data[..len % 40], &data[*len..][..len % 3]);
        let input = input(8, aad, &data[..*len], extra);
        let plain = &data[..input.total()];
        let sealed = definition::seal(&SECRET, &input.nonce, aad, plain);
        assert!(by_portable::<true>(&SECRET, &input) == sealed, "{len}");
        let input = Input { data: &sealed[..plain.len()], extra: &[], ..input };
        let opened = by_portable::<false>(&SECRET, &input);
        assert!(opened[..plain.len()] == *plain, "{len}");
        assert!(opened[plain.len()..] == sealed[plain.len()..], "{len}");
    }
}

#[test]
fn portable_vectors_give_the_same_results_as_avx_512() {
    let Some(kernel) = key(&SECRET) else { return };
    for len in (0..2300).step_by(9).chain([4000, 6145]) {
        let data = bytes(len, 6);
        let input = input(8, &data[..len % 40], &data, &[23; 3][..len % 4]);
        check(&kernel, &input, &by_portable::<true>(&SECRET, &input), 0);
    }
}

/// Rows and chunks whose counters go from the highest number to zero, as no text does.
#[test]
fn counters_wrap() {
    fn check<V: Subroutines>(proof: V::Proof) {
        let (nonce, zeros) = ([3; 12], [0; message::CHUNK_LEN]);
        let start = Start { key: &SECRET, nonce: &nonce };
        let block = |counter| definition::block(&SECRET, counter, &nonce);
        let seconds = [0, 1, u32::MAX - 33, u32::MAX - 16, u32::MAX - 3, u32::MAX, u32::MAX - 17];
        // Miri takes a minute for the last one.
        let (first, step) = if cfg!(miri) { (seconds.len() - 1, 7) } else { (0, 1) };
        for second in seconds.into_iter().skip(first) {
            for sets in (1..=8).step_by(step) {
                let mut out = [MaybeUninit::zeroed(); chacha20::CHUNK];
                V::rows(proof, sets, start, [77, second], &mut out);
                // SAFETY: the array was initialised.
                let out = out.map(|block: MaybeUninit<[u8; 64]>| unsafe { block.assume_init() });
                assert_eq!(out[0], block(77), "{sets}");
                for (at, out) in (0..).zip(&out[1..4 * sets]) {
                    assert_eq!(*out, block(second.wrapping_add(at)), "{sets} {second} {at}");
                }
            }
            let mut out = [[0_u8; 64]; chacha20::CHUNK];
            // SAFETY: both have the length of a chunk.
            unsafe { V::chunk(proof, start, second, zeros.as_ptr(), out.as_mut_ptr().cast()) };
            for (at, out) in (0..).zip(&out) {
                assert_eq!(*out, block(second.wrapping_add(at)), "{second} {at}");
            }
        }
    }
    check::<Portable>(());
    if is_available() {
        // SAFETY: the instructions are available.
        check::<Zmm>(unsafe { Available::new() });
    }
}

/// Bytes that bring carries to their limits: all ones or zeros, runs of ones and zeros, single
/// bits, numbers next to the prime.
fn extreme(count: usize, choice: u64) -> Vec<u8> {
    let random = bytes(count, choice);
    match choice % 7 {
        0 => vec![0xff; count],
        1 => vec![0; count],
        2 => random.iter().map(|byte| if byte & 1 == 1 { 0xff } else { 0 }).collect(),
        3 => {
            let mut run = vec![0; count];
            let (begin, end) = (usize::from(random[0]), usize::from(random[1]));
            let (begin, end) = (begin % count, end % count);
            run[begin.min(end)..=begin.max(end)].fill(0xff);
            run
        }
        4 => (0..count).map(|at| if at % 16 == 0 { 0xfa + random[at] % 6 } else { 0xff }).collect(),
        5 => {
            let mut bit = vec![0; count];
            bit[usize::from(random[0]) % count] = 1 << (random[1] % 8);
            bit
        }
        _ => random,
    }
}

fn extreme_keys_and_messages(rounds: u64) {
    for round in 0..rounds {
        let mut key = extreme(32, round);
        key[16..].copy_from_slice(&extreme(16, round / 7));
        let blocks = [1, 2, 3, 7, 8, 9, 16, 17, 25, 33, 34, 42, 70][(round % 13) as usize];
        let message = extreme(blocks * BLOCK, round / 49 + 3 * round);
        check_poly1305(key.as_slice().try_into().unwrap(), &message);
    }
}

#[test]
fn extreme_keys_and_messages_give_the_defined_tags() {
    extreme_keys_and_messages(if cfg!(miri) { 20 } else { 1500 });
}

#[test]
#[ignore = "for `just kernels-long`"]
fn many_extreme_keys_and_messages_give_the_defined_tags() {
    extreme_keys_and_messages(60_000);
}

/// All pairs of extreme values, with every number of blocks up to a few groups.
#[test]
fn each_number_of_blocks_gives_the_defined_tag() {
    let most = if cfg!(miri) { 9 } else { 70 };
    for blocks in 1..=most {
        check_poly1305(&[0xff; 32], &vec![0xff; blocks * BLOCK]);
        check_poly1305(&bytes(32, 3).try_into().unwrap(), &bytes(blocks * BLOCK, 4));
    }
}

/// AWS-LC's `CRYPTO_poly1305` gives another tag for this key and message; its AEAD does not use
/// that function here. The tag is that of the definition.
#[test]
fn a_key_for_which_aws_lc_has_a_wrong_tag() {
    let words = [0x1000_0000_u64, 0x4000_0000_0000, 0x10_0000, 0];
    let key: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut message = [0; 48];
    message[..14].fill(0xff);
    message[16..18].fill(0xff);
    (message[32], message[40]) = (0x0e, 2);
    let key = key.as_slice().try_into().unwrap();
    let tag = [0, 0, 0x10, 0, 0, 0xa0, 0xd0, 7, 0x90, 1, 0, 5, 0, 0xe4, 3, 0];
    assert_eq!(definition::poly1305(key, &message), tag);
    check_poly1305(key, &message);
}

/// Changes one bit of the ciphertext, the tag, the associated data or the nonce.
fn forgeries_are_refused(count: usize) {
    let Some(kernel) = key(&SECRET) else { return };
    for round in 0..count {
        let random = bytes(8, round as u64 + 1);
        let number = |at: usize| usize::from(random[at]) << 8 | usize::from(random[at + 1]);
        let len = number(0) % [40, 300, 2000, 5000][round % 4];
        let (data, aad) = (vec![0x55; len], [7; 13]);
        let mut input = input(1, &aad, &data, &[]);
        let mut sealed = vec![0; len + TAG_LEN];
        let text = input.text(sealed.as_mut_ptr());
        // SAFETY: the output is longer by a tag.
        unsafe { kernel.seal(&input.nonce, &aad, text, sealed[len..].as_mut_ptr()).unwrap() };
        let (bit, mut changed_aad) = (1 << (random[4] % 8), aad);
        match round % 8 {
            0 => changed_aad[number(2) % 13] ^= bit,
            1 => input.nonce[number(2) % 12] ^= bit,
            2 | 3 => sealed[len + number(2) % TAG_LEN] ^= bit,
            _ => sealed[number(2) % (len + TAG_LEN)] ^= bit,
        }
        let (body, tag) = sealed.split_at(len);
        let mut opened = vec![0xee; len + 8];
        let output = opened.as_mut_ptr();
        let text = Text { input: body.as_ptr(), len, extra: &[], output };
        // SAFETY: the output is longer than the input.
        let result = unsafe { kernel.open(&input.nonce, &changed_aad, text, tag) };
        assert_eq!(result, Err(CryptoError::Rejected));
        assert!(opened[..len].iter().all(|byte| *byte == 0));
        assert_eq!(opened[len..], [0xee; 8]);

        let mut buffer = body.to_vec();
        let output = buffer.as_mut_ptr();
        let text = Text { input: output.cast_const(), len, extra: &[], output };
        // SAFETY: input and output are the same.
        let result = unsafe { kernel.open(&input.nonce, &changed_aad, text, tag) };
        assert_eq!(result, Err(CryptoError::Rejected));
        assert!(buffer.iter().all(|byte| *byte == 0));
    }
}

#[test]
fn two_thousand_forgeries_are_refused() {
    forgeries_are_refused(2000);
}

#[test]
#[ignore = "for `just kernels-long`"]
fn a_hundred_thousand_forgeries_are_refused() {
    forgeries_are_refused(100_000);
}

#[test]
fn texts_over_the_limit_are_refused() {
    let Some(kernel) = key(&SECRET) else { return };
    let len = usize::try_from(LIMIT).unwrap();
    let output = core::ptr::dangling_mut::<u8>();
    let text = Text { input: output.cast_const(), len, extra: &[], output };
    // SAFETY: the length is refused before any access.
    unsafe {
        assert_eq!(kernel.seal(&[0; 12], &[], text, output), Err(CryptoError::LimitExceeded));
        let text = Text { len: len - 1, extra: &[0], ..text };
        assert_eq!(kernel.seal(&[0; 12], &[], text, output), Err(CryptoError::LimitExceeded));
        let text = Text { len, extra: &[], ..text };
        assert_eq!(kernel.open(&[0; 12], &[], text, &[0; 16]), Err(CryptoError::Rejected));
    }
}

#[test]
fn the_self_test_detects_a_fault_in_each_length() {
    if !is_available() {
        return;
    }
    assert!(self_test());
    for fault in 0..2 * LENGTHS.len() {
        let len = LENGTHS[fault / 2];
        let is_detected = !matches_aws_lc(|key, input, out| {
            let text = input.text(out.as_mut_ptr());
            let tag = out[input.total()..].as_mut_ptr();
            // SAFETY: the output is longer by a tag.
            let is_sealed = unsafe { key.seal(&input.nonce, input.aad, text, tag) }.is_ok();
            if input.data.len() == len {
                // A bit of the ciphertext, if there is any, or of the tag.
                let at = if fault % 2 == 0 { fault * 11 % out.len() } else { out.len() - 1 };
                out[at] ^= 1 << (fault % 8);
            }
            is_sealed
        });
        assert!(is_detected, "{len}");
    }
}

/// The test must hold for any way to compile the crate: `tools/stack-residue.sh` runs it in builds
/// of many profiles.
#[cfg(all(target_os = "linux", lanes_avx2))]
#[test]
fn what_is_wiped_is_more_than_the_kernel_uses_of_the_stack() {
    use crate::stack_search::StackSearch;

    if !is_available() {
        return;
    }
    // SAFETY: the instructions are available.
    let proof = unsafe { Available::new() };
    let mut stack = StackSearch::new();
    let (mut most, mut is_enough) = ([[0; 2]; 3], true);
    for len in LENGTHS {
        let data = vec![1; len];
        let mut out = vec![0; len + 1];
        for extra in [&[][..], &[1]] {
            let text = input(1, &[2; 13], &data, extra).text(out.as_mut_ptr());
            let wiped = stack::STEP * steps(text.total());
            let mut stream = Stream::new();
            // SAFETY: the output is as long as the input.
            let depth = stack.depth(|| unsafe {
                avx512::run::<true>(proof, (&SECRET, &[1; 12]), &[2; 13], &text, &mut stream);
            });
            let other = stack.depth(|| unsafe {
                // SAFETY: as above.
                avx512::run::<false>(proof, (&SECRET, &[1; 12]), &[2; 13], &text, &mut stream);
            });
            let depth = depth.max(other);
            // The key stream of a set is on the stack.
            assert!(depth > 256, "{depth} bytes are not all that was used");
            // The margin is needed because another compiler may use more stack than this one.
            is_enough &= depth + depth / 2 <= wiped;
            let class = [message::SHORT + 1, message::CHUNK_LEN];
            let class = class.iter().filter(|begin| text.total() >= **begin).count();
            most[class] = [depth, wiped].max(most[class]);
        }
    }
    println!("used and wiped bytes of the stack, by class of length: {most:?}");
    assert!(is_enough);
}

/// Neither the key nor anything derived from it remains on the stack.
#[cfg(all(target_os = "linux", lanes_avx2))]
#[test]
fn nothing_of_a_key_is_left_on_the_stack() {
    use crate::stack_search::{StackSearch, leave, words};

    let secret = Box::new(core::array::from_fn(|at| (at as u8).wrapping_mul(151) ^ 0x5a));
    let Some(kernel) = key(&secret) else { return };
    let mut stack = StackSearch::new();
    for len in [0, 16, 100, 191, 200, 257, 600, 1350, 2000, 2048, 4100, 16_384] {
        let nonce = [9; 12];
        let one_time_key = Box::new(definition::block(&secret, 0, &nonce));
        let key = Box::new(OneTimeKey::new(one_time_key.first_chunk().unwrap()));
        // The key and the one-time key, the limbs of `r`, and the key stream.
        let mut secrets = words(&*secret, 0);
        secrets.extend(words(&one_time_key[..32], 0));
        secrets.extend(scalar::limbs([key.r[0], key.r[1], 0]));
        secrets.extend(key.r);
        for counter in 1..=(len as u32).div_ceil(64) {
            secrets.extend(words(&definition::block(&secret, counter, &nonce), 0));
        }
        let data: Vec<u8> = vec![0x33; len];
        let mut out = vec![0; len + 1 + TAG_LEN];
        let output = out.as_mut_ptr();
        let mut plain = vec![0; len + 1];
        let left = stack.left(&secrets, || {
            let text = Text { input: data.as_ptr(), len, extra: &[23], output };
            // SAFETY: the output is longer than the input by the extra byte and a tag.
            unsafe { kernel.seal(&nonce, &[1; 5], text, output.add(len + 1)).unwrap() };
        });
        assert_eq!(left, 0, "after sealing {len} bytes");
        let left = stack.left(&secrets, || {
            let output = plain.as_mut_ptr();
            let text = Text { input: out.as_ptr(), len: len + 1, extra: &[], output };
            // SAFETY: the output is as long as the input.
            unsafe { kernel.open(&nonce, &[1; 5], text, &out[len + 1..]).unwrap() };
        });
        assert_eq!(left, 0, "after opening {len} bytes");
        // Checks that the search finds a copy that is left deliberately.
        assert_ne!(stack.left(&secrets[..12], || leave(&secrets[..12])), 0);
    }
}

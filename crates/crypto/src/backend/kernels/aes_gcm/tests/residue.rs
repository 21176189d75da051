//! The stack is searched for what the kernel leaves there: words of keys, powers of the hash key,
//! and the block that encrypts the tag.
//!
//! The tests must hold for any way to compile the crate: `tools/stack-residue.sh` runs them in
//! builds of many profiles.

use super::*;
use crate::stack_search::{StackSearch, leave, words};

/// Words of these blocks.
fn words_of(blocks: &[[u8; 16]]) -> Vec<u64> {
    words(blocks.as_flattened(), 0)
}

fn round_keys(key: &Key) -> Vec<[u8; 16]> {
    let block = |words: &[u32; 4]| {
        let mut block = [0; 16];
        for (bytes, word) in block.chunks_exact_mut(4).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        block
    };
    key.round_keys[..=key.rounds].iter().map(block).collect()
}

/// Secrets of a message: the key schedule, powers of H up to H^32 in both forms, and the block that
/// encrypts the tag, with the hash before it.
fn secrets_of(secret: &[u8], kernel: &Kernel, case: &Case<'_>) -> Vec<u64> {
    let algorithm = ALGORITHMS[secret.len() / 16 - 1];
    let aws_lc = AeadContext::by_aws_lc(algorithm, secret).unwrap();
    let h = definition::hash_key(kernel);
    let mut blocks = round_keys(&kernel.key);
    let mut power = 1 << 127;
    for _ in 0..32 {
        power = definition::product(power, h);
        blocks.push(power.to_be_bytes());
        blocks.push(super::super::ghash::first_weight(power.to_be_bytes()));
    }
    let (mut mask, mut sealed) = ([0; TAG_LEN], vec![0; case.data.len() + TAG_LEN]);
    aws_lc.sealer().seal(&NONCE, &[], &[], &[], &mut mask).unwrap();
    aws_lc.sealer().seal(&NONCE, case.aad, case.data, &[], &mut sealed).unwrap();
    let (_, tag) = sealed.split_last_chunk::<TAG_LEN>().unwrap();
    blocks.push(mask);
    blocks.push((u128::from_be_bytes(mask) ^ u128::from_be_bytes(*tag)).to_be_bytes());
    // The hash of an empty message is zero.
    words_of(&blocks).into_iter().filter(|word| *word != 0).collect()
}

const NONCE: [u8; 12] = [0x3c; 12];

#[test]
fn nothing_of_a_key_is_left_on_the_stack() {
    let mut stack = StackSearch::new();
    let text = random(2200);
    for algorithm in ALGORITHMS {
        let secret = random(algorithm.key_len());
        let Some(kernel) = Kernel::avx512(&secret) else { return };
        for (turn, len) in LENGTHS.into_iter().enumerate() {
            let (aad, data) = (&text[..turn * 13 % 40], &text[..len]);
            let case = Case { aad, data, extra: &[], alignment: 0 };
            let secrets = secrets_of(&secret, &kernel, &case);
            let mut sealed = vec![0; len + TAG_LEN];
            let left = stack.left(&secrets, || kernel.seal(&NONCE, aad, data, &[], &mut sealed));
            assert_eq!(left, 0, "seal {len} with {algorithm:?}");
            let mut out = vec![0; len];
            let left =
                stack.left(&secrets, || kernel.open(&NONCE, aad, &sealed, &mut out).unwrap());
            assert_eq!(left, 0, "open {len} with {algorithm:?}");
            sealed[0] ^= 1;
            let left = stack.left(&secrets, || {
                assert!(kernel.open(&NONCE, aad, &sealed, &mut out).is_err());
            });
            assert_eq!(left, 0, "reject {len} with {algorithm:?}");
        }
        // Checks that the search finds a copy that is left deliberately.
        let secrets = words_of(&round_keys(&kernel.key));
        assert_ne!(stack.left(&secrets, || leave(&secrets)), 0);
    }
}

#[test]
fn nothing_of_a_key_is_left_on_the_stack_by_its_expansion() {
    let mut stack = StackSearch::new();
    for algorithm in ALGORITHMS {
        let secret = random(algorithm.key_len());
        let Some(kernel) = Kernel::avx512(&secret) else { return };
        let case = Case { aad: &[], data: &[], extra: &[], alignment: 0 };
        let secrets = secrets_of(&secret, &kernel, &case);
        let left = stack.left(&secrets, || drop(AeadContext::by_kernel(algorithm, &secret)));
        assert_eq!(left, 0, "{algorithm:?}");
    }
}

/// The bytes of the stack that an operation uses.
fn used_by(stack: &mut StackSearch, kernel: &Kernel, len: usize, seals: bool) -> usize {
    let (text, mut out, mut tag) = (vec![7; len + 16], vec![0; len], [0; TAG_LEN]);
    let message = Message {
        nonce: &NONCE,
        aad_block: &text[..16],
        aad_len: 16,
        input: text.as_ptr(),
        input_len: len,
        extra: None,
        out: out.as_mut_ptr(),
        received_tag: tag.as_mut_ptr(),
        tag: tag.as_mut_ptr(),
    };
    // SAFETY: the instructions are available; input and output have this length.
    stack.depth(|| unsafe {
        match (len <= MAX_SHORT, seals) {
            (true, true) => Avx512::short::<true>(&kernel.key, &message),
            (true, false) => Avx512::short::<false>(&kernel.key, &message),
            (false, true) => Avx512::long::<true>(&kernel.key, &message),
            (false, false) => Avx512::long::<false>(&kernel.key, &message),
        }
    })
}

/// What is wiped after long messages, and in builds with large frames after all others.
#[test]
fn what_is_wiped_is_more_than_the_kernel_uses_of_the_stack() {
    use crate::backend::stack::{DEPTH, STEP};

    let (mut stack, mut others, mut long) = (StackSearch::new(), 0, 0);
    for algorithm in ALGORITHMS {
        let secret = random(algorithm.key_len());
        let Some(kernel) = Kernel::avx512(&secret) else { return };
        let mut place = core::mem::MaybeUninit::uninit();
        // SAFETY: the instructions are available.
        let depth = stack.depth(|| unsafe { Avx512::expand(place.write(Key::EMPTY), &secret) });
        others = others.max(depth);
        for (len, seals) in LENGTHS.into_iter().flat_map(|len| [(len, true), (len, false)]) {
            let most = if len <= MAX_SHORT { &mut others } else { &mut long };
            *most = used_by(&mut stack, &kernel, len, seals).max(*most);
        }
    }
    println!("long messages use up to {long} bytes of the stack; {} are wiped", STEPS * STEP);
    // The margin is needed because another compiler may use more stack than this one.
    assert!(long + long / 2 <= STEPS * STEP, "{long} bytes are used");
    if cfg!(lanes_large_frames) {
        println!("others use up to {others} bytes; {DEPTH} are wiped");
        assert!(others + others / 2 <= DEPTH, "{others} bytes are used");
    }
}

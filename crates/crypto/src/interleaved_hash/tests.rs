//! Compares MACs computed in the same lanes as a hash, and the hash itself, with the same values
//! computed alone.

use super::*;
use crate::fill_random;

#[test]
fn macs_and_the_hash_equal_those_computed_alone() {
    let mut random = [0; 4096];
    fill_random(&mut random).unwrap();
    for algorithm in [HashAlgorithm::Sha256, HashAlgorithm::Sha384, HashAlgorithm::Sha512] {
        let salt = HmacKey::new(algorithm, b"salt");
        for before in [0, 1, 100, 127, 128, 129, 300] {
            for length in [0, 1, 128, 255, 256, 257, 700, 1500, 3000] {
                let (before, message) = random.split_at(before);
                let mut hash = Hash::new(algorithm);
                hash.update(before);
                let mut interleaved = InterleavedHash::new(&mut hash, &message[..length]);
                // The longest message that fits in a block, and longer ones, which take another
                // path.
                for parts in [
                    &[b"a".as_slice(), &random[..47]][..],
                    &[&random[..111]],
                    &[&random[..112]],
                    &[&random[..100], &random[..28]],
                    &[&random[..200]],
                    &[],
                ] {
                    let mac = interleaved.mac::<64>(&salt, parts);
                    assert_eq!(mac.as_bytes(), salt.secret_mac(parts).as_bytes());
                }
                let keys: [&[u8]; 2] = [&random[..48], &random[5..133]];
                let made = interleaved.keys(algorithm, keys);
                for (made, key) in made.iter().zip(keys) {
                    assert_eq!(*made.sign(&[b"x"]), *HmacKey::new(algorithm, key).sign(&[b"x"]));
                }
                let [long] = interleaved.keys(algorithm, [&random[..129]]);
                let expected = HmacKey::new(algorithm, &random[..129]).sign(&[b"x"]);
                assert_eq!(*long.sign(&[b"x"]), *expected);
                let prk = Prk::from_bytes(algorithm, &random[..32]);
                let infos: [[&[u8]; 2]; 2] = [[b"one", b""], [b"two", &random[..64]]];
                for (made, info) in interleaved.expand::<64, 2>(&prk, infos).iter().zip(infos) {
                    let mut expected = vec![0; algorithm.output_len()];
                    prk.expand(&info, &mut expected);
                    assert_eq!(made.as_bytes(), expected);
                }
                interleaved.finish();
                hash.update(b"after");
                let expected = Hash::digest(algorithm, &[before, &message[..length], b"after"]);
                assert_eq!(hash.finish(), expected);
            }
        }
    }
}

/// The chain may have any number of steps, and the message may end anywhere in a step, for every
/// instruction set of this processor.
#[test]
fn a_long_hash_is_finished_after_the_chain() {
    let mut random = vec![0; 140_000];
    fill_random(&mut random).unwrap();
    let ends =
        (2..=14).flat_map(|blocks| [127, 128, 129].map(|rest| BLOCK_LEN * (blocks - 1) + rest));
    // Includes a ClientHello of the largest size, and a longer one.
    let lengths: Vec<_> = (0..=2).chain(ends).chain([65_535, 65_536, 65_540, 131_200]).collect();
    for algorithm in [HashAlgorithm::Sha384, HashAlgorithm::Sha512] {
        for instructions in lanes::available().chain([Instructions::NONE]) {
            for steps in 0..=4_usize {
                for (length, before) in
                    lengths.iter().flat_map(|length| [0, 1, 52, 127].map(|at| (*length, at)))
                {
                    let (before, message) = random.split_at(before);
                    let message = &message[..length];
                    let mut hash = Hash::new(algorithm);
                    hash.update(before);
                    let mut interleaved =
                        InterleavedHash::with_instructions(instructions, &mut hash, message);
                    let mut secret = random[..algorithm.output_len()].to_vec();
                    for step in 0..steps {
                        let [key, other] = interleaved.keys(algorithm, [&secret, &random[..step]]);
                        let expected = rfc_2104(algorithm, &secret, b"text");
                        let mac = interleaved.mac::<64>(&key, &[b"te", b"xt"]);
                        assert_eq!(mac.as_bytes(), expected, "{length}");
                        let expected = rfc_2104(algorithm, &random[..step], b"text");
                        assert_eq!(*other.sign(&[b"text"]), *expected, "{length}");
                        secret = mac.as_bytes().to_vec();
                    }
                    interleaved.finish();
                    hash.update(b"after");
                    let expected = Hash::digest(algorithm, &[before, message, b"after"]);
                    assert_eq!(hash.finish(), expected, "{length} bytes, {steps} steps");
                }
            }
        }
    }
}

#[test]
fn a_hash_shares_lanes_with_macs_of_another_algorithm() {
    let message = [7; 1000];
    for (of_hash, of_key) in [
        (HashAlgorithm::Sha384, HashAlgorithm::Sha512),
        (HashAlgorithm::Sha512, HashAlgorithm::Sha384),
        (HashAlgorithm::Sha384, HashAlgorithm::Sha256),
        (HashAlgorithm::Sha256, HashAlgorithm::Sha384),
    ] {
        let mut hash = Hash::new(of_hash);
        let mut interleaved = InterleavedHash::new(&mut hash, &message);
        let [key] = interleaved.keys(of_key, [b"key"]);
        let mac = interleaved.mac::<64>(&key, &[b"text"]);
        assert_eq!(mac.as_bytes(), rfc_2104(of_key, b"key", b"text"));
        interleaved.finish();
        assert_eq!(hash.finish(), Hash::digest(of_hash, &[&message]));
    }
}

/// Interleaved hashes have the same requirement as independent MACs (`backend/lanes/tests.rs`).
#[cfg(all(target_os = "linux", lanes_avx2))]
#[test]
fn nothing_of_a_key_is_left_on_the_stack() {
    use crate::stack_search::{StackSearch, leave, words};

    let mut stack = StackSearch::new();
    let secret: Vec<u8> = (0..48).map(|at| 151_u8.wrapping_mul(at) ^ 0xa6).collect();
    let key = Box::new(HmacKey::new(HashAlgorithm::Sha384, &secret));
    let states = key.sha512_states().unwrap();
    // The inner digest of a one-byte message.
    let mut digest = Box::new(Lane { state: states[0], ..Lane::EMPTY });
    let block = digest.block.as_flattened_mut().first_chunk_mut().unwrap();
    job(&key, &[b"a"]).write_block(0, block);
    lanes::compress(Instructions::NONE, core::slice::from_mut(&mut digest));
    let (states, digest) = (states.as_flattened(), &digest.state[..6]);
    for instructions in lanes::available() {
        // One message is longer than the chain, the other ends before it.
        for length in [1000, 256] {
            for pad in [0, 0x36, 0x5c] {
                let left = stack.left(&words(&secret, pad), || {
                    make(instructions, length, |interleaved| {
                        drop(interleaved.keys(HashAlgorithm::Sha384, [&secret, b"other"]));
                    });
                });
                assert_eq!(left, 0, "{pad:#x}, {length} bytes, {:?}", instructions.name());
            }
            for secrets in [states, digest] {
                let left = stack.left(secrets, || {
                    make(instructions, length, |interleaved| {
                        drop(interleaved.mac::<48>(&key, &[b"a"]));
                    });
                });
                assert_eq!(left, 0, "{length} bytes, {:?}", instructions.name());
            }
        }
    }
    // Checks that the search finds a copy that is left deliberately.
    assert_ne!(stack.left(states, || leave(states)), 0);

    #[inline(never)]
    fn make(
        instructions: Instructions,
        length: usize,
        work: impl FnOnce(&mut InterleavedHash<'_>),
    ) {
        let (message, mut hash) = (vec![7; length], Hash::new(HashAlgorithm::Sha384));
        let mut interleaved = InterleavedHash::with_instructions(instructions, &mut hash, &message);
        work(&mut interleaved);
        interleaved.finish();
    }
}

/// HMAC of whole messages, with AWS-LC's hash only.
fn rfc_2104(algorithm: HashAlgorithm, key: &[u8], message: &[u8]) -> Vec<u8> {
    let mut block = vec![0; algorithm.block_len()];
    block[..key.len()].copy_from_slice(key);
    let pad = |with: u8| block.iter().map(|byte| byte ^ with).collect::<Vec<_>>();
    let inner = Hash::digest(algorithm, &[&pad(0x36), message]);
    Hash::digest(algorithm, &[&pad(0x5c), &inner]).to_vec()
}

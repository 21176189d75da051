//! MACs, keys and key material computed together equal those computed alone.

use proptest::collection::vec;
use proptest::prelude::*;
use tercel_crypto::{
    Expansion, Hash, HashAlgorithm, HmacKey, Mac, Prk, Tls12Prf, expand_batch, mac_batch,
};

const ALL: [HashAlgorithm; 3] =
    [HashAlgorithm::Sha256, HashAlgorithm::Sha384, HashAlgorithm::Sha512];

/// Message lengths around the ends of one, two and three blocks. The block of the inner pad is not
/// counted.
const LENGTHS: [usize; 18] =
    [0, 1, 47, 48, 64, 110, 111, 112, 113, 127, 128, 129, 238, 239, 240, 241, 255, 300];

/// HMAC of whole messages as in RFC 2104 2.
fn hmac(algorithm: HashAlgorithm, key: &[u8], message: &[u8]) -> Vec<u8> {
    let mut block = vec![0; algorithm.block_len()];
    if key.len() > block.len() {
        let digest = Hash::digest(algorithm, &[key]);
        block[..digest.len()].copy_from_slice(&digest);
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let pad = |with: u8| block.iter().map(|byte| byte ^ with).collect::<Vec<_>>();
    let inner = Hash::digest(algorithm, &[&pad(0x36), message]);
    Hash::digest(algorithm, &[&pad(0x5c), &inner]).to_vec()
}

/// Bytes that differ by position.
fn bytes(len: usize, seed: usize) -> Vec<u8> {
    (0..len).map(|at| u8::try_from((at * 7 + seed * 31 + at * at / 5) % 256).unwrap()).collect()
}

#[test]
fn batched_macs_equal_those_of_rfc_2104() {
    for count in 0..20 {
        for first in 0..LENGTHS.len() {
            let cases: Vec<_> = (0..count)
                .map(|index| {
                    // A batch usually has one hash function, as in a key schedule. Some batches
                    // have several.
                    let algorithm =
                        if first % 6 == 5 { ALL[index % 3] } else { ALL[1 + first % 2] };
                    let key = bytes([48, 0, 32, 127, 128, 129, 200][(first + index) % 7], index);
                    let message =
                        bytes(LENGTHS[(first * (1 + index) + index) % LENGTHS.len()], count);
                    (algorithm, key, message)
                })
                .collect();
            let keys: Vec<_> =
                cases.iter().map(|(algorithm, key, _)| HmacKey::new(*algorithm, key)).collect();
            let mut outs: Vec<_> =
                cases.iter().map(|(algorithm, ..)| vec![0xee; algorithm.output_len()]).collect();
            let parts: Vec<[&[u8]; 3]> = cases
                .iter()
                .map(|(_, _, message)| {
                    let (head, tail) = message.split_at(message.len() / 3);
                    [head, &[], tail]
                })
                .collect();
            let mut all: Vec<_> = keys
                .iter()
                .zip(&parts)
                .zip(&mut outs)
                .map(|((key, parts), out)| Mac { key, parts, out })
                .collect();
            mac_batch(&mut all);
            for ((algorithm, key, message), out) in cases.iter().zip(&outs) {
                assert_eq!(
                    *out,
                    hmac(*algorithm, key, message),
                    "{algorithm:?}, {} bytes",
                    message.len()
                );
            }
        }
    }
}

#[test]
fn each_length_up_to_300_in_each_lane() {
    for algorithm in ALL {
        let key = bytes(48, 3);
        let ours = HmacKey::new(algorithm, &key);
        let message = bytes(300, 1);
        let expected: Vec<_> =
            (0..=300).map(|len| hmac(algorithm, &key, &message[..len])).collect();
        for first in 0..=300 {
            let lengths: [usize; 8] = core::array::from_fn(|lane| (first + lane * 37) % 301);
            let parts: [[&[u8]; 1]; 8] = lengths.map(|len| [&message[..len]]);
            let mut outs = [[0; 64]; 8];
            let mut all: Vec<_> = parts
                .iter()
                .zip(&mut outs)
                .map(|(parts, out)| Mac {
                    key: &ours,
                    parts,
                    out: &mut out[..algorithm.output_len()],
                })
                .collect();
            mac_batch(&mut all);
            for (len, out) in lengths.iter().zip(&outs) {
                assert_eq!(
                    out[..algorithm.output_len()],
                    expected[*len],
                    "{algorithm:?}, {len} bytes"
                );
            }
        }
    }
}

#[test]
fn batched_keys_equal_single_keys() {
    fn check<const N: usize>(algorithm: HashAlgorithm) {
        for first in 0..260 {
            let keys: [Vec<u8>; N] = core::array::from_fn(|index| bytes(first + index, index));
            let together = HmacKey::batch(algorithm, keys.each_ref().map(Vec::as_slice));
            let prks = Prk::batch(algorithm, keys.each_ref().map(Vec::as_slice));
            for ((key, together), prk) in keys.iter().zip(&together).zip(prks) {
                let expected = hmac(algorithm, key, b"message");
                assert_eq!(
                    *together.sign(&[b"message"]),
                    *expected,
                    "{algorithm:?}, {first} bytes"
                );
                assert_eq!(*prk.hmac().sign(&[b"message"]), *expected);
                assert_eq!(*HmacKey::new(algorithm, key).sign(&[b"message"]), *expected);
            }
        }
    }
    for algorithm in ALL {
        check::<0>(algorithm);
        check::<1>(algorithm);
        check::<2>(algorithm);
        check::<3>(algorithm);
        check::<4>(algorithm);
        check::<5>(algorithm);
        check::<9>(algorithm);
    }
}

#[test]
fn batched_expansions_equal_single_ones() {
    let lengths = [48, 12, 0, 32, 49, 64, 16, 200, 65, 1, 97];
    for algorithm in ALL {
        for count in 0..=lengths.len() {
            let prks: Vec<_> =
                (0..count).map(|index| Prk::from_bytes(algorithm, &bytes(48, index))).collect();
            let infos: Vec<_> = (0..count).map(|index| bytes(20 * index, index)).collect();
            let infos: Vec<[&[u8]; 2]> = infos.iter().map(|info| [&info[..], b"end"]).collect();
            let mut outs: Vec<_> = lengths[..count].iter().map(|len| vec![0xee; *len]).collect();
            let (mut first, mut second) = (vec![0; algorithm.output_len()], vec![0; 32]);
            let (key, other) =
                (HmacKey::new(algorithm, b"k"), HmacKey::new(HashAlgorithm::Sha256, b"o"));
            let mut beside = [
                Mac { key: &key, parts: &[b"message"], out: &mut first },
                Mac { key: &other, parts: &[b"other"], out: &mut second },
            ];
            // A batch with SHA-256 cannot be computed in lanes.
            let beside_len = if count % 4 == 0 { 2 } else { 1 };
            let mut all: Vec<_> = prks
                .iter()
                .zip(&infos)
                .zip(&mut outs)
                .map(|((prk, info), out)| Expansion { prk, info, out })
                .collect();
            expand_batch(&mut all, &mut beside[..beside_len]);
            for ((prk, info), out) in prks.iter().zip(&infos).zip(&outs) {
                let mut expected = vec![0; out.len()];
                prk.expand(info, &mut expected);
                assert_eq!(*out, expected, "{algorithm:?}, {} bytes", out.len());
            }
            assert_eq!(first, hmac(algorithm, b"k", b"message"));
            if beside_len == 2 {
                assert_eq!(second, hmac(HashAlgorithm::Sha256, b"o", b"other"));
            }
        }
    }
}

#[test]
#[should_panic(expected = "HKDF-Expand of 12241 bytes")]
fn a_batched_expansion_beyond_255_blocks_panics() {
    let prk = Prk::from_bytes(HashAlgorithm::Sha384, &[3; 48]);
    let (mut long, mut short) = ([0; 12241], [0; 48]);
    let all = &mut [
        Expansion { prk: &prk, info: &[], out: &mut short },
        Expansion { prk: &prk, info: &[], out: &mut long },
        Expansion { prk: &prk, info: &[], out: &mut [0; 48] },
    ];
    expand_batch(all, &mut []);
}

#[test]
#[should_panic(expected = "a MAC of 47 bytes")]
fn a_mac_output_that_is_too_short_panics() {
    let key = HmacKey::new(HashAlgorithm::Sha384, &[3; 48]);
    mac_batch(&mut [Mac { key: &key, parts: &[], out: &mut [0; 47] }]);
}

/// P_hash as in RFC 5246 5.
fn p_hash(algorithm: HashAlgorithm, secret: &[u8], seed: &[u8], len: usize) -> Vec<u8> {
    let (mut a, mut out) = (seed.to_vec(), vec![]);
    while out.len() < len {
        a = hmac(algorithm, secret, &a);
        out.extend(hmac(algorithm, secret, &[&a, seed].concat()));
    }
    out.truncate(len);
    out
}

#[test]
fn prf_runs_computed_together_equal_rfc_5246() {
    for algorithm in ALL {
        let prf = Tls12Prf::new(algorithm, b"secret");
        let other_prf = Tls12Prf::new(algorithm, b"other secret");
        for len in [0, 1, 12, 47, 48, 49, 64, 72, 96, 97, 128, 136, 200, 500] {
            for other_len in [0, 12, 48, 72, 136, 300] {
                let (seed, other_seed) = (bytes(64, len), bytes(1 + 2 * other_len, 7));
                let (mut out, mut other, mut third) =
                    (vec![0xee; len], vec![0xee; other_len], vec![0xee; 12]);
                let halves = seed.split_at(len.min(64) / 2);
                let (seed_parts, other_parts) = ([halves.0, halves.1], [&other_seed[..]]);
                let mut beside = other_prf.begin(b"other", &other_parts, &mut other);
                prf.begin(b"label", &seed_parts, &mut out).finish_with(&mut beside);
                let expected = p_hash(algorithm, b"secret", &[b"label", &seed[..]].concat(), len);
                assert_eq!(out, expected, "{algorithm:?}, {len} with {other_len}");
                prf.begin(b"third", &[], &mut third).finish_with(&mut beside);
                assert_eq!(third, p_hash(algorithm, b"secret", b"third", 12));
                beside.finish();
                let text = [b"other", &other_seed[..]].concat();
                assert_eq!(other, p_hash(algorithm, b"other secret", &text, other_len));
                prf.fill(b"label", &seed_parts, &mut out);
                assert_eq!(out, expected);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() })]

    #[test]
    fn mixed_batches_equal_single_computations(
        cases in vec((0..8_usize, vec(any::<u8>(), 0..200), vec(vec(any::<u8>(), 0..150), 0..4)), 0..12),
    ) {
        // A batch usually has one hash function, because a batch with several would not be computed
        // in lanes.
        let algorithm = |of: usize| match of { 0 => ALL[of], of => ALL[1 + of % 2] };
        let keys: Vec<_> =
            cases.iter().map(|(of, key, _)| HmacKey::new(algorithm(*of), key)).collect();
        let parts: Vec<Vec<&[u8]>> = cases
            .iter()
            .map(|(_, _, parts)| parts.iter().map(Vec::as_slice).collect())
            .collect();
        let mut outs: Vec<_> =
            keys.iter().map(|key| vec![0; key.algorithm().output_len()]).collect();
        let mut all: Vec<_> = keys
            .iter()
            .zip(&parts)
            .zip(&mut outs)
            .map(|((key, parts), out)| Mac { key, parts, out })
            .collect();
        mac_batch(&mut all);
        for ((of, key, parts), out) in cases.iter().zip(&outs) {
            prop_assert_eq!(out, &hmac(algorithm(*of), key, &parts.concat()));
        }
    }
}

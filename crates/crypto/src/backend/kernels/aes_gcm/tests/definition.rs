//! GCM from its definition in NIST SP 800-38D, in polynomials, as an oracle that shares nothing
//! with the kernel, and the key schedule of FIPS 197.

use super::*;
use crate::backend::kernels::aes_gcm::ghash::{first_weight, multiply};
use crate::backend::kernels::aes_gcm::portable::Portable;
use crate::backend::kernels::aes_gcm::vector::Vector;

/// The product of blocks, NIST SP 800-38D 6.3, algorithm 1. Bit 0 is the most significant one.
pub(super) fn product(x: u128, y: u128) -> u128 {
    let (mut z, mut v) = (0, y);
    for i in 0..128 {
        if x >> (127 - i) & 1 == 1 {
            z ^= v;
        }
        v = if v & 1 == 1 { v >> 1 ^ 0xe1 << 120 } else { v >> 1 };
    }
    z
}

/// GHASH of additional data and ciphertext, 6.4 and 7.1.
fn ghash(h: u128, aad: &[u8], ciphertext: &[u8]) -> u128 {
    let mut hash = 0;
    let mut absorb = |bytes: &[u8]| {
        let mut block = [0; 16];
        block[..bytes.len()].copy_from_slice(bytes);
        hash = product(hash ^ u128::from_be_bytes(block), h);
    };
    aad.chunks(16).for_each(&mut absorb);
    ciphertext.chunks(16).for_each(&mut absorb);
    let bits = |bytes: &[u8]| (8 * bytes.len() as u64).to_be_bytes();
    absorb(&[bits(aad), bits(ciphertext)].concat());
    hash
}

/// The definition of GCM, with AWS-LC's AES-GCM of empty messages as the source of AES: the tag of
/// an empty message with empty data is the encrypted first counter block.
#[test]
fn tags_equal_the_definition() {
    let text = random(1300);
    for secret in [vec![0x11; 16], vec![0x22; 32], random(16), random(32)] {
        let kernels = [Kernel::avx512(&secret), Some(Kernel::portable(&secret))];
        for kernel in kernels.into_iter().flatten() {
            let algorithm = ALGORITHMS[secret.len() / 16 - 1];
            let aws_lc = AeadContext::by_aws_lc(algorithm, &secret).unwrap();
            let nonce: [u8; 12] = random(12).try_into().unwrap();
            let mut mask = [0; TAG_LEN];
            aws_lc.sealer().seal(&nonce, &[], &[], &[], &mut mask).unwrap();
            let h = hash_key(&kernel);
            for (aad, len) in
                [(0, 0), (5, 17), (13, 100), (16, 208), (20, 209), (40, 600), (3, 1300)]
            {
                let (aad, data) = (&text[..aad], &text[..len]);
                let mut sealed = vec![0; len + TAG_LEN];
                kernel.seal(&nonce, aad, data, &[], &mut sealed);
                let (body, tag) = sealed.split_last_chunk().unwrap();
                let expected = ghash(h, aad, body) ^ u128::from_be_bytes(mask);
                assert_eq!(u128::from_be_bytes(*tag), expected, "{len} of {}", secret.len());
            }
        }
    }
}

/// H, from its weight: the weight is H times y = 1/x, so that H is its product with x.
pub(super) fn hash_key(kernel: &Kernel) -> u128 {
    let weight = u128::from_le_bytes(kernel.key.powers[15]);
    product(weight, 1 << 126)
}

#[test]
fn the_powers_are_those_of_the_hash_key() {
    for secret in [random(16), random(32)] {
        let kernels = [Kernel::avx512(&secret), Some(Kernel::portable(&secret))];
        for kernel in kernels.into_iter().flatten() {
            let h = hash_key(&kernel);
            let mut power = h;
            for weight in kernel.key.powers.iter().rev() {
                assert_eq!(first_weight(power.to_be_bytes()), *weight);
                power = product(power, h);
            }
        }
    }
}

/// The product on vectors, in each lane, with blocks of few bits and random ones.
#[test]
fn products_equal_the_definition() {
    let few: Vec<u128> = (0..128).step_by(3).map(|bit| 1 << bit).chain([0, u128::MAX]).collect();
    for (turn, a) in few.iter().enumerate() {
        let b = u128::from_be_bytes(random(16).try_into().unwrap());
        for (a, b) in [(*a, b), (b, *a), (*a, few[turn * 7 % few.len()])] {
            let weight = first_weight(b.to_be_bytes());
            // SAFETY: the vector needs no instructions; blocks have 16 bytes.
            let result = unsafe {
                let blocks = Portable::load_block(a.to_be_bytes().as_ptr()).reverse();
                let mut bytes = [0; 64];
                multiply(blocks, Portable::load_block(weight.as_ptr()))
                    .reverse()
                    .store(bytes.as_mut_ptr());
                bytes
            };
            for lane in result.chunks_exact(16) {
                assert_eq!(u128::from_be_bytes(lane.try_into().unwrap()), product(a, b));
            }
        }
    }
}

/// The products in the form of the inner loop occur only in long messages; here with a weight of
/// one bit each, so that an error in one coefficient shows.
#[test]
fn the_field_has_the_polynomial_of_the_standard() {
    // x * x^127 = 1 + x + x^2 + x^7
    assert_eq!(product(1 << 126, 1), 0xe1 << 120);
    // 1 * a = a
    assert_eq!(product(1 << 127, 0x1234), 0x1234);
}

/// FIPS 197, appendix A.1 and A.3: the last words of the key schedules.
#[test]
fn the_key_schedule_is_that_of_the_standard() {
    let short = 0x2b7e_1516_28ae_d2a6_abf7_1588_09cf_4f3c_u128.to_be_bytes();
    let long = [
        0x603d_eb10_15ca_71be_2b73_aef0_857d_7781_u128.to_be_bytes(),
        0x1f35_2c07_3b61_08d7_2d98_10a3_0914_dff4_u128.to_be_bytes(),
    ]
    .concat();
    for (secret, last) in [
        (&short[..], [0xd014_f9a8, 0xc9ee_2589, 0xe13f_0cc8, 0xb663_0ca6]),
        (&long[..], [0xfe48_90d1, 0xe618_8d0b, 0x046d_f344, 0x706c_631e_u32]),
    ] {
        let kernels = [Kernel::avx512(secret), Some(Kernel::portable(secret))];
        for kernel in kernels.into_iter().flatten() {
            assert_eq!(kernel.key.round_keys[kernel.key.rounds].map(u32::swap_bytes), last);
        }
    }
}

/// FIPS 197, appendix C.1: AES-128 of one block, by the portable vector. The block is the hash key
/// of no key, so it is computed by rounds directly.
#[test]
fn the_portable_aes_is_that_of_the_standard() {
    let secret: Vec<u8> = (0..16).collect();
    let kernel = Kernel::portable(&secret);
    let block: [u8; 16] = core::array::from_fn(|at| 0x11 * at as u8);
    // SAFETY: the vector needs no instructions; blocks and round keys have 16 bytes.
    let result = unsafe {
        let key = |round| Portable::load_block(kernel.key.round_key(round));
        let mut states = [Portable::load_block(block.as_ptr()).xor(key(0))];
        let last = kernel.key.all_but_last_round(&mut states);
        let mut out = [0; 16];
        states[0].last_round(last).store_block(out.as_mut_ptr());
        out
    };
    assert_eq!(u128::from_be_bytes(result), 0x69c4_e0d8_6a7b_0430_d8cd_b780_70b4_c55a);
}

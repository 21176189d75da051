//! The private-key operation: results, faults, blinding, and what remains in memory.

use std::thread;

use super::super::exponentiation::{Exponentiate, Exponents, FillTable, TABLE_LEN};
use super::super::key_parts::KeyParts;
use super::super::montgomery::Modulus;
use super::super::number::{HALF, MODULUS_LEN, PRIME_LEN};
use super::super::private::{PrivateKey, rejected_signatures};
use super::super::raw_key::RawKey;
use super::super::seams::{PLANTED, Place, TABLE_ENTRY};
use super::super::self_test::{self, Bytes};
use super::keys::TestKey;
use super::*;
use crate::algorithm::HashAlgorithm;
use crate::backend::rsa::{Padding, RsaKey};
use crate::hash::Hash;

/// A block that is less than any modulus.
pub(super) fn random_block() -> Bytes {
    let mut block = [0; MODULUS_LEN];
    crate::fill_random(&mut block).unwrap();
    block[0] &= 0x7f;
    block
}

/// The first prime from a number on, in steps of 2, of which 65537 is not a divisor of the
/// predecessor.
fn next_prime(from: &Big, down: bool) -> [u8; PRIME_LEN] {
    let number = Big::from_bytes(&from.to_bytes::<PRIME_LEN>());
    // SAFETY: the numbers and the context are valid.
    unsafe {
        let context = lc::BN_CTX_new();
        loop {
            let mut is_prime = 0;
            let none = ptr::null_mut();
            assert_eq!(lc::BN_primality_test(&raw mut is_prime, number.0, 8, context, 1, none), 1);
            if is_prime == 1 && lc::BN_mod_word(number.0, 65537) != 1 {
                break;
            }
            let step = if down { lc::BN_sub_word } else { lc::BN_add_word };
            assert_eq!(step(number.0, 2), 1);
        }
        lc::BN_CTX_free(context);
    }
    number.to_bytes()
}

/// Primes next to 2^1024, next to 2^1023, and with runs of ones and zeros.
fn extreme_primes() -> Vec<[u8; PRIME_LEN]> {
    let numbers = extreme_numbers(1024, 1).into_iter().step_by(7).map(odd);
    let mut primes: Vec<_> =
        numbers.map(|number| next_prime(&Big::from_bytes(&number), number[1] == 0xff)).collect();
    let above = Big::power_of_two(1023);
    // SAFETY: the number is valid.
    unsafe { assert_eq!(lc::BN_add_word(above.0, 1), 1) };
    primes.push(next_prime(&above, false));
    primes.push(next_prime(&Big::from_bytes(&[0xff; PRIME_LEN]), true));
    primes
}

/// The result modulo both primes is right for any odd moduli and any exponents.
#[test]
fn exponentiations_are_right_for_extreme_numbers() {
    let moduli: Vec<_> = extreme_numbers(1024, 3).into_iter().map(odd).collect();
    let mut exponents = extreme_numbers(1024, 3);
    exponents.extend([vec![0; PRIME_LEN], [vec![0; PRIME_LEN - 1], vec![1]].concat()]);
    exponents.push([vec![0; PRIME_LEN / 2], vec![0xff; PRIME_LEN / 2]].concat());
    for (at, p) in moduli.iter().enumerate() {
        let q = &moduli[(at + 11) % moduli.len()];
        let pair = [p, q].map(|n| Big::from_bytes(n));
        let powers = [0, 1].map(|part: usize| &exponents[(3 * at + 5 * part) % exponents.len()]);
        // Bases are n - 1, 0, 1, and others.
        let bases = [0, 1].map(|part: usize| match (at + part) % 5 {
            0 => {
                let mut below = [p, q][part].clone();
                below[PRIME_LEN - 1] -= 1;
                below
            }
            1 => vec![0],
            2 => vec![1],
            _ => moduli[(7 * at + part + 1) % moduli.len()].clone(),
        });
        let r = Big::power_of_two(1040);
        let (mut modulus, mut r_squared, mut base) = (Modulus::ZERO, Number::ZERO, Number::ZERO);
        for (part, n) in pair.iter().enumerate() {
            let places = 20 * part..20 * part + 20;
            n.write_limbs(&mut modulus.n, places.clone());
            Big::product(&r, &r, n).write_limbs(&mut r_squared, places.clone());
            Big::product(&Big::from_bytes(&bases[part]), &r, n).write_limbs(&mut base, places);
        }
        modulus.set_constants::<HALF>();
        let mut both = Exponents::ZERO;
        both.read([0, 1].map(|part| powers[part][..].try_into().unwrap()));
        let portable = at % 4 == 0;
        with_all_vectors!(|run| if portable || Avx512::detect().is_some() {
            let mut table = [Number::ZERO; TABLE_LEN];
            let (r_squared, base) = (&r_squared, &base);
            run.run(FillTable { primes: &modulus, r_squared, base, table: &mut table });
            let mut result = Number::ZERO;
            run.run(Exponentiate {
                primes: &modulus,
                exponents: &both,
                table: &table,
                result: &mut result,
            });
            for (part, n) in pair.iter().enumerate() {
                let base = Big::from_bytes(&bases[part]);
                let power = Big::power(&base, &Big::from_bytes(powers[part]), n);
                let found = Big::from_limbs(&result, 20 * part..20 * part + 20);
                let one = Big::power_of_two(0);
                assert!(
                    Big::product(&found, &one, n) == Big::product(&power, &r, n),
                    "{at} {part}"
                );
            }
        });
    }
}

fn check_key(raw: &RawKey, signatures: usize) {
    let (n, parts) = raw.parts().unwrap();
    with_all_vectors!(|run| {
        let key = PrivateKey::new(run, &n, &parts).unwrap();
        for at in 0..signatures {
            let mut block = random_block();
            match at {
                1 => block = [[0; MODULUS_LEN - 1].as_slice(), &[2]].concat().try_into().unwrap(),
                2 => {
                    let below = Big::from_bytes(&n);
                    // SAFETY: the number is valid.
                    unsafe { assert_eq!(lc::BN_sub_word(below.0, 3), 1) };
                    block = below.to_bytes();
                }
                _ => {}
            }
            assert_eq!(key.sign(run, &block), Some(raw.sign(&block).unwrap()), "{at}");
        }
    });
}

#[test]
fn signatures_of_random_keys_are_aws_lcs() {
    for round in 0..4 {
        let key = TestKey::generate();
        // Signatures of different lengths of use of a pair of blinding factors.
        check_key(&key.raw(), if round == 0 { 70 } else { 5 });
    }
}

#[test]
fn signatures_of_keys_with_extreme_primes_are_aws_lcs() {
    let primes = extreme_primes();
    let (last, rest) = primes.split_last().unwrap();
    let mut keys = 0;
    for (p, q) in rest.iter().zip(rest.iter().skip(1)).chain([(last, &rest[0]), (&rest[1], last)]) {
        // Products of small primes have fewer than 2048 bits. Both orders of primes are used.
        for (p, q) in [(p, q), (q, p)] {
            if let Some(raw) = RawKey::private(p, q).ok().filter(|raw| raw.parts().is_some()) {
                check_key(&raw, 3);
                keys += 1;
            }
        }
    }
    assert!(keys > 10, "{keys} keys");
}

/// Every padding and hash, by the key that a server uses. RFC 8017 8.2.1, 9.1.1
#[test]
fn signatures_verify_with_aws_lc() {
    let test_key = TestKey::generate();
    let key = RsaKey::private_from_der(&test_key.private_der()).unwrap();
    assert_eq!(key.uses_kernel_to_sign(), Avx512::detect().is_some());
    for hash in [HashAlgorithm::Sha256, HashAlgorithm::Sha384, HashAlgorithm::Sha512] {
        let digest = Hash::digest(hash, &[b"message"]);
        let mut signature = Vec::new();
        key.sign(Padding::Pkcs1, hash, &digest, &mut signature).unwrap();
        assert_eq!(signature, test_key.sign_by_aws_lc(Padding::Pkcs1, hash, &digest));
        for _ in 0..10 {
            signature.truncate(3);
            key.sign(Padding::Pss, hash, &digest, &mut signature).unwrap();
            assert_eq!(signature.len(), 3 + MODULUS_LEN);
            assert!(test_key.verify_by_aws_lc(Padding::Pss, hash, &digest, &signature[3..]));
        }
    }
}

#[test]
fn other_keys_are_signed_by_aws_lc() {
    for (bits, e) in [(2048, 3), (3072, 65537)] {
        let test_key = TestKey::generate_with(bits, e);
        let key = RsaKey::private_from_der(&test_key.private_der()).unwrap();
        assert!(!key.uses_kernel_to_sign());
        let (hash, mut signature) = (HashAlgorithm::Sha256, Vec::new());
        key.sign(Padding::Pss, hash, &[7; 32], &mut signature).unwrap();
        assert!(test_key.verify_by_aws_lc(Padding::Pss, hash, &[7; 32], &signature));
    }
}

const PLACES: [Place; 7] = [
    Place::Blinded,
    Place::Base,
    Place::Table,
    Place::Power,
    Place::Quotient,
    Place::Recombined,
    Place::Signature,
];

/// One changed bit anywhere makes a result that is not returned.
#[test]
fn no_wrong_signature_is_returned_after_a_fault() {
    let (raw, run) = (TestKey::generate().raw(), Portable);
    let (n, parts) = raw.parts().unwrap();
    let key = PrivateKey::new(run, &n, &parts).unwrap();
    let block = random_block();
    let right = raw.sign(&block).unwrap();
    let mut faults = 0;
    with_all_vectors!(|run| for place in PLACES {
        // Limbs of both primes.
        for limb in [0, 7, 19, 20, 26, 39] {
            for bit in [0, 17, 35] {
                let rejected = rejected_signatures();
                PLANTED.set(Some((place, limb, bit)));
                let found = key.sign(run, &block);
                PLANTED.set(None);
                match found {
                    // The entry of the table was not needed.
                    Some(signature) if place == Place::Table => assert_eq!(signature, right),
                    Some(_) => panic!("a wrong signature after a fault in {place:?}, limb {limb}"),
                    None => {
                        faults += 1;
                        assert!(rejected_signatures() > rejected);
                    }
                }
                // The next signature has other blinding factors.
                if bit == 17 {
                    assert_eq!(key.sign(run, &block), Some(right));
                }
            }
        }
    });
    assert!(faults >= 7 * 18 - 6, "{faults} faults");
    const { assert!(TABLE_ENTRY < TABLE_LEN) };
}

/// AWS-LC signs after a fault.
#[test]
fn a_key_with_a_fault_signs_with_aws_lc() {
    let test_key = TestKey::generate();
    let key = RsaKey::private_from_der(&test_key.private_der()).unwrap();
    let hash = HashAlgorithm::Sha256;
    for place in PLACES {
        for padding in [Padding::Pkcs1, Padding::Pss] {
            PLANTED.set(Some((place, 11, 3)));
            let mut signature = Vec::new();
            key.sign(padding, hash, &[7; 32], &mut signature).unwrap();
            PLANTED.set(None);
            assert!(test_key.verify_by_aws_lc(padding, hash, &[7; 32], &signature));
        }
    }
}

/// A wrong part of the key makes wrong results, which are not returned.
#[test]
fn no_signature_is_returned_for_a_key_with_a_wrong_part() {
    type Change = fn(&mut KeyParts);
    let raw = TestKey::generate().raw();
    let changes: [Change; 5] = [
        |parts| parts.p[60] ^= 4,
        |parts| parts.q[60] ^= 4,
        |parts| parts.d_p[90] ^= 1,
        |parts| parts.d_q[90] ^= 1,
        |parts| parts.q_inverse[3] ^= 0x10,
    ];
    for change in changes {
        let (n, mut parts) = raw.parts().unwrap();
        change(&mut parts);
        with_all_vectors!(|run| {
            let key = PrivateKey::new(run, &n, &parts).unwrap();
            assert_eq!(key.sign(run, &random_block()), None);
        });
    }
}

#[test]
fn primes_of_other_sizes_are_not_supported() {
    let raw = TestKey::generate().raw();
    let changes: [fn(&mut KeyParts); 4] = [
        |parts| parts.p[0] = 0x7f,
        |parts| parts.q[0] = 0x7f,
        |parts| parts.p[PRIME_LEN - 1] = 2,
        |parts| parts.q[PRIME_LEN - 1] = 2,
    ];
    for change in changes {
        let (n, mut parts) = raw.parts().unwrap();
        change(&mut parts);
        assert!(PrivateKey::new(Portable, &n, &parts).is_none());
    }
}

/// A pair is used 32 times and squared in between; `r^65537` and `1 / r` belong together.
#[test]
fn blinding_factors_change_with_each_signature() {
    let raw = TestKey::generate().raw();
    let (n, parts) = raw.parts().unwrap();
    let modulus = Big::from_bytes(&n);
    let r = Big::product(&Big::power_of_two(2080), &Big::power_of_two(0), &modulus);
    with_all_vectors!(|run| {
        let key = PrivateKey::new(run, &n, &parts).unwrap();
        let mut seen: Vec<[Bytes; 2]> = Vec::new();
        for at in 0..70 {
            assert!(key.sign(run, &random_block()).is_some());
            let [factor, inverse] = key.stored_blinding();
            let [factor, inverse] = [factor, inverse].map(|number| Big::from_limbs(&number, 0..40));
            // factor = r^e R and inverse = R / r, so that factor inverse^e = R^(e + 1).
            let e = Big::from_bytes(&[1, 0, 1]);
            let power = Big::power(&inverse, &e, &modulus);
            let product = Big::product(&factor, &power, &modulus);
            let expected = Big::power(&r, &Big::from_bytes(&[1, 0, 2]), &modulus);
            assert!(product == expected, "{at}");

            let one = Big::power_of_two(0);
            let pair = [&factor, &inverse]
                .map(|number| Big::product(number, &one, &modulus).to_bytes::<MODULUS_LEN>());
            assert!(seen.iter().all(|other| other[0] != pair[0] && other[1] != pair[1]));
            // The square of the pair before, unless a new one was drawn.
            if let Some(before) = seen.last() {
                let before = Big::from_bytes(&before[1]);
                let square = Big::product(&before, &before, &modulus);
                let square = Big::product(&square, &one, &modulus);
                let current = Big::product(&Big::from_bytes(&pair[1]), &r, &modulus);
                assert_eq!(square == current, at % 32 != 0, "{at}");
            }
            seen.push(pair);
        }
    });
}

#[test]
fn threads_share_a_key() {
    let raw = TestKey::generate().raw();
    let (n, parts) = raw.parts().unwrap();
    let Some(run) = Avx512::detect() else { return };
    let key = PrivateKey::new(run, &n, &parts).unwrap();
    let block = random_block();
    let right = raw.sign(&block).unwrap();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..50).for_each(|_| assert_eq!(key.sign(run, &block), Some(right))));
        }
    });
}

#[test]
fn the_self_test_finds_a_wrong_signature() {
    assert!(self_test::private_passes(|key, block| key.sign(Portable, block), Portable));
    for bit in [0, 1000, 2047] {
        let wrong = |key: &PrivateKey, block: &Bytes| {
            let mut signature = key.sign(Portable, block)?;
            signature[bit / 8] ^= 1 << (bit % 8);
            Some(signature)
        };
        assert!(!self_test::private_passes(wrong, Portable));
    }
    assert!(!self_test::private_passes(|_, _| None, Portable));
}

#[test]
fn a_dropped_key_is_wiped() {
    let (n, parts) = TestKey::generate().raw().parts().unwrap();
    let key = Box::into_raw(PrivateKey::new(Portable, &n, &parts).unwrap());
    // SAFETY: the key is dropped in its memory, which remains allocated, and whose secret numbers
    // are initialised.
    unsafe {
        assert!((*key).secret_words().iter().any(|word| *word != 0));
        ptr::drop_in_place(key);
        assert!((*key).secret_words().iter().all(|word| *word == 0));
        drop(Box::from_raw(key.cast::<core::mem::MaybeUninit<PrivateKey>>()));
    }
}

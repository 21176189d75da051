//! What the private-key operation leaves on the stack.
//!
//! The tests must hold for any way to compile the crate: `tools/stack-residue.sh` runs them in
//! builds of many profiles.

use super::super::key_parts::KeyParts;
use super::super::number::MODULUS_LEN;
use super::super::private::PrivateKey;
use super::keys::TestKey;
use super::private::random_block;
use super::*;
use crate::backend::stack::{self, DEPTH};
use crate::stack_search::{StackSearch, leave, words};

/// What is left on the stack after signing, in any build that users have: see
/// `tools/stack-residue.sh`.
#[test]
fn nothing_of_a_private_key_is_left_on_the_stack() {
    let Some(run) = Avx512::detect() else { return };
    let raw = TestKey::generate().raw();
    let (n, parts) = raw.parts().unwrap();
    let all = [&parts.p, &parts.q, &parts.d_p, &parts.d_q, &parts.q_inverse];
    let mut secrets = all.map(|part| words(part, 0)).concat();
    let (mut stack, block) = (StackSearch::new(), random_block());
    let mut key = None;
    let left = stack.left(&secrets, || key = PrivateKey::new(run, &n, &parts));
    assert_eq!(left, 0, "after the constants");
    let key = key.unwrap();
    secrets.extend(key.secret_words().iter().filter(|word| **word >> 32 != 0));
    // New factors are drawn for the first signature.
    for at in 0..3 {
        let left = stack.left(&secrets, || assert!(key.sign(run, &block).is_some()));
        assert_eq!(left, 0, "after signature {at}");
        let factors = key.stored_blinding().map(|number| number.0.as_flattened().to_vec()).concat();
        let left = stack.left(&factors, || assert!(key.sign(run, &block).is_some()));
        assert_eq!(left, 0, "factors of signature {at}");
    }
    assert_ne!(stack.left(&secrets[..64], || leave(&secrets[..64])), 0);

    let mut scratch = key.drawn();
    let used = stack.depth(|| key.sign_without_wiping(run, &block, &mut scratch));
    println!("signing uses {used} bytes of the stack; {DEPTH} are wiped");
    assert!(used > 512 && used + used / 2 <= DEPTH, "{used} bytes are used");
}

/// Two keys with the same numbers, except that the exponents of one are longer by `p - 1` and by
/// `q - 1`, where these sums have 1024 bits: their signatures are the same, and their windows are
/// not.
fn key_with_two_exponents(run: Avx512) -> [Box<PrivateKey>; 2] {
    loop {
        let (n, mut parts) = TestKey::generate().raw().parts().unwrap();
        let first = PrivateKey::new(run, &n, &parts).unwrap();
        let KeyParts { p, q, d_p, d_q, .. } = &mut *parts;
        let mut changed = 0;
        for (prime, exponent) in [(p, d_p), (q, d_q)] {
            let (sum, prime) = (Big::from_bytes(exponent), Big::from_bytes(prime));
            // SAFETY: the numbers are valid.
            unsafe {
                assert_eq!(lc::BN_add(sum.0, sum.0, prime.0), 1);
                assert_eq!(lc::BN_sub_word(sum.0, 1), 1);
            }
            if sum < Big::power_of_two(1024) {
                *exponent = sum.to_bytes();
                changed += 1;
            }
        }
        if changed > 0 {
            return [first, PrivateKey::new(run, &n, &parts).unwrap()];
        }
    }
}

/// Nothing on the stack depends on the exponents after a signature: neither digits of windows nor
/// anything else. For the builds of `tools/stack-residue.sh`.
#[test]
fn nothing_that_depends_on_exponents_is_left_on_the_stack() {
    /// Saved registers can have the address of a key. So each round has copies of the keys at other
    /// addresses, allocated in this order: no byte of an address depends on the key in all rounds.
    const ROUNDS: [[usize; 4]; 6] =
        [[0, 1, 1, 0], [0, 0, 1, 1], [0, 1, 0, 1], [1, 0, 0, 1], [1, 1, 0, 0], [1, 0, 1, 0]];

    /// The vectors of indices: a digit in four lanes, except zeros.
    fn digits(stack: &[u8]) -> usize {
        let words: Vec<_> = stack.chunks_exact(8).collect();
        let is_digit = |word: &[u8]| word[0] != 0 && word[0] < 32 && word[1..] == [0; 7];
        words.windows(4).filter(|run| is_digit(run[0]) && run.iter().all(|w| *w == run[0])).count()
    }

    let Some(run) = Avx512::detect() else { return };
    let keys = key_with_two_exponents(run);
    // All values are at the same places, so that addresses on the stack are equal.
    let (n, parts) = TestKey::generate().raw().parts().unwrap();
    let mut key = PrivateKey::new(run, &n, &parts).unwrap();
    let (blinding, mut scratch) = (keys[0].blinding_for_test(run), keys[0].drawn());
    let (mut search, block, mut signature) = (StackSearch::new(), random_block(), [0; MODULUS_LEN]);
    let rounds = ROUNDS.map(|order| {
        let mut copies = order.map(|which| {
            let mut copy = PrivateKey::new(run, &n, &parts).unwrap();
            copy.copy_numbers(&keys[which]);
            (which, copy)
        });
        copies.sort_by_key(|(which, _)| *which);
        copies.map(|(_, copy)| copy)
    });
    let [mut wiped, mut unwiped] = [vec![], vec![]];
    for wipes in [true, false] {
        for from in rounds.iter().flat_map(|[a, b, c, d]| [a, c, d, b]) {
            key.copy_numbers(from);
            let mut work = || {
                assert!(key.sign_with(run, &blinding, &block, &mut scratch, &mut signature));
            };
            let list = if wipes { &mut wiped } else { &mut unwiped };
            list.push(search.remains(|| {
                if wipes {
                    stack::wipe_after(&mut work);
                } else {
                    core::hint::black_box(&mut work as &mut dyn FnMut())();
                }
            }));
        }
    }
    // Bytes that in each round are equal for both copies of a key, and differ between the keys.
    let depends = |list: &[Vec<u8>], at: usize| {
        list.chunks_exact(4).all(|round| {
            let [first, second, second_copy, first_copy] = [0, 1, 2, 3].map(|turn| round[turn][at]);
            first == first_copy && second == second_copy && first != second
        })
    };
    let count = |list: &[Vec<u8>]| (0..list[0].len()).filter(|at| depends(list, *at)).count();
    let digits_in = |list: &[Vec<u8>]| list.iter().map(|stack| digits(stack)).sum::<usize>();
    let found = [&unwiped, &wiped].map(|list| (count(list), digits_in(list)));
    println!("bytes that depend on exponents, and digits: {found:?} without and with wiping");
    assert_eq!(found[1], (0, 0));
    // Checks that both ways find digits that are left deliberately.
    let left = [7, 8, 8, 7].map(|digit| search.remains(|| leave(&[digit; 8])));
    assert_ne!(digits(&left[0]), 0);
    assert_ne!(count(&left), 0);
}

//! RSA keys derived from the seed, so that a run can be repeated with the same keys.
//!
//! Cryptographic libraries generate keys from the system's random numbers only, so this module has
//! its own search for primes. The seed is stored in the report, so these keys are not secret.

use num_bigint::BigUint;

use super::der;
use lab_scenario::random::Random;

/// The public exponent.
const EXPONENT: u32 = 65_537;

/// The bound of the small primes by which candidates are divided before the first exponentiation.
const SIEVE: usize = 1 << 16;

/// The number of odd candidates after one random start, about 20 times the average gap between
/// primes of 2048 bits.
const WINDOW: usize = 1 << 14;

/// Miller-Rabin rounds with random bases. Because candidates are random, even one round accepts a
/// composite number with a probability far below 2^-80.
const ROUNDS: usize = 4;

/// Generates a private key: PKCS #8 with the RSAPrivateKey of RFC 8017 A.1.2.
pub(super) fn generate(bits: u64, random: &mut Random) -> Vec<u8> {
    let sieve = small_primes();
    let exponent = BigUint::from(EXPONENT);
    loop {
        let (one, other) = (prime(bits / 2, &sieve, random), prime(bits / 2, &sieve, random));
        if one == other {
            continue;
        }
        let (p, q) = if one > other { (one, other) } else { (other, one) };
        let (below_p, below_q) = (&p - 1_u32, &q - 1_u32);
        let order = &below_p * &below_q / gcd(below_p.clone(), below_q.clone());
        // `prime` returns only primes for which both inverses exist.
        let (Some(d), Some(inverse)) = (exponent.modinv(&order), q.modinv(&p)) else { continue };
        let modulus = &p * &q;
        let (of_p, of_q) = (&d % below_p, &d % below_q);
        let numbers = [&BigUint::ZERO, &modulus, &exponent, &d, &p, &q, &of_p, &of_q, &inverse];
        let numbers: Vec<u8> = numbers.into_iter().flat_map(integer).collect();
        return der::private_key(&[der::RSA_ENCRYPTION, der::NULL], &der::sequence(&numbers));
    }
}

fn integer(number: &BigUint) -> Vec<u8> {
    der::integer(&number.to_bytes_be())
}

fn gcd(mut one: BigUint, mut other: BigUint) -> BigUint {
    while other != BigUint::ZERO {
        (one, other) = (other.clone(), one % other);
    }
    one
}

/// A random prime of exactly this many bits that is not 1 modulo [`EXPONENT`]. The two highest bits
/// are set, so that the product of two such primes has twice as many bits.
fn prime(bits: u64, sieve: &[u32], random: &mut Random) -> BigUint {
    loop {
        let start = start(bits, random);
        let mut composite = vec![false; WINDOW];
        for small in sieve {
            let rest = &start % *small;
            let rest = rest.iter_u32_digits().next().unwrap_or_default();
            // start + 2 * first is the first odd multiple of the small prime.
            let missing = (small - rest) % small;
            let first = if missing % 2 == 0 { missing } else { missing + small } / 2;
            let multiples = composite.iter_mut().skip(first as usize).step_by(*small as usize);
            multiples.for_each(|candidate| *candidate = true);
        }
        let candidates = (0_u64..).zip(composite).filter(|(_, composite)| !composite);
        let found = candidates
            .map(|(place, _)| &start + 2 * place)
            .take_while(|candidate| candidate.bits() == bits)
            .filter(|candidate| candidate % EXPONENT != BigUint::from(1_u32))
            .find(|candidate| is_prime(candidate, random));
        if let Some(prime) = found {
            return prime;
        }
    }
}

/// A random odd number of this many bits with the two highest bits set.
fn start(bits: u64, random: &mut Random) -> BigUint {
    let mut start = below(bits, random);
    for bit in [0, bits - 2, bits - 1] {
        start.set_bit(bit, true);
    }
    start
}

/// A random number of at most this many bits, a multiple of 8.
fn below(bits: u64, random: &mut Random) -> BigUint {
    let mut bytes = vec![0; usize::try_from(bits / 8).unwrap_or_default()];
    random.fill(&mut bytes);
    BigUint::from_bytes_be(&bytes)
}

/// Whether an odd number passes Miller-Rabin tests: first with base 2, which rejects most composite
/// numbers, then with random bases.
fn is_prime(candidate: &BigUint, random: &mut Random) -> bool {
    let below = candidate - 1_u32;
    let twos = below.trailing_zeros().unwrap_or_default();
    let odd = &below >> twos;
    let passes = |base: &BigUint| {
        let mut power = base.modpow(&odd, candidate);
        if power == BigUint::from(1_u32) {
            return true;
        }
        for _ in 0..twos {
            if power == below {
                return true;
            }
            power = &power * &power % candidate;
        }
        false
    };
    passes(&BigUint::from(2_u32))
        && (0..ROUNDS).all(|_| passes(&(self::below(candidate.bits() / 8 * 8 - 8, random) + 2_u32)))
}

/// The odd primes below [`SIEVE`].
fn small_primes() -> Vec<u32> {
    let mut composite = vec![false; SIEVE];
    let mut primes = Vec::new();
    for number in (3..SIEVE).step_by(2) {
        if !composite[number] {
            primes.push(u32::try_from(number).unwrap_or_default());
            composite.iter_mut().skip(number * number).step_by(number).for_each(|it| *it = true);
        }
    }
    primes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn primes_are_distinguished_from_composites() {
        let mut random = Random::new(1);
        let small = small_primes();
        assert_eq!((small.len(), small[..4].to_vec()), (6541, vec![3, 5, 7, 11]));
        // 2^127 - 1 and 2^521 - 1 are prime, 2^257 - 1 is not.
        for (exponent, prime) in [(127_u32, true), (257, false), (521, true)] {
            let number = (BigUint::from(1_u32) << exponent) - 1_u32;
            assert_eq!(is_prime(&number, &mut random), prime, "2^{exponent} - 1");
        }
        // The smallest composite number that passes the tests with all prime bases up to 37, and a
        // Carmichael number.
        for composite in ["318665857834031151167461", "3186658578340311511674610000000000000000001"]
        {
            let number: BigUint = composite.parse().unwrap();
            assert!(!is_prime(&number, &mut random), "{composite}");
        }
        for _ in 0..4 {
            let prime = prime(256, &small, &mut random);
            assert_eq!((prime.bits(), prime.bit(254), prime.bit(0)), (256, true, true));
        }
    }

    #[test]
    fn a_seed_repeats_a_key() {
        let key = |seed| generate(512, &mut Random::new(seed));
        assert_eq!(key(1), key(1));
        assert_ne!(key(1), key(2));
    }
}

//! Private keys that follow from a seed, and the pool of those that take long to make.
//!
//! Must not know: what they are for. Next: `mod.rs`, which says who gets which.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, anyhow};
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P384_SHA384_ASN1_SIGNING, ECDSA_P521_SHA512_ASN1_SIGNING,
    EcdsaKeyPair, EcdsaSigningAlgorithm, Ed25519KeyPair,
};
use rcgen::KeyPair;

use super::{der, rsa};
use crate::fit;
use crate::instructions::each_at_once;
use crate::random::Random;

/// A kind of private key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Algorithm {
    /// With so many bits.
    Rsa(u16),
    P256,
    P384,
    P521,
    Ed25519,
}

/// How often a random number may be no private key of a curve. For P-521, of whose random numbers half are
/// too large at worst, that is never.
const ATTEMPTS: usize = 100;

/// The key of the next numbers of `random`.
pub(crate) fn generate(algorithm: Algorithm, random: &mut Random) -> Result<KeyPair> {
    let pkcs8 = match algorithm {
        Algorithm::Rsa(bits) => rsa::generate(bits.into(), random),
        Algorithm::P256 => elliptic(&P256, random)?,
        Algorithm::P384 => elliptic(&P384, random)?,
        Algorithm::P521 => elliptic(&P521, random)?,
        Algorithm::Ed25519 => {
            let mut seed = [0; 32];
            random.fill(&mut seed);
            let key = Ed25519KeyPair::from_seed_unchecked(&seed).map_err(|error| anyhow!(error))?;
            key.to_pkcs8()?.as_ref().to_vec()
        }
    };
    KeyPair::try_from(pkcs8).with_context(|| format!("a key of {algorithm:?}"))
}

/// A curve with the NIST's parameters.
struct Curve {
    /// Its object identifier in DER, RFC 5480 2.1.1.1.
    identifier: &'static [u8],
    signing: &'static EcdsaSigningAlgorithm,
    /// Bytes of a private key, and which bits of the first may be set.
    length: usize,
    first: u8,
}

const P256: Curve = Curve {
    identifier: &[0x06, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7],
    signing: &ECDSA_P256_SHA256_ASN1_SIGNING,
    length: 32,
    first: 0xff,
};
const P384: Curve = Curve {
    identifier: &[0x06, 5, 0x2b, 0x81, 4, 0, 0x22],
    signing: &ECDSA_P384_SHA384_ASN1_SIGNING,
    length: 48,
    first: 0xff,
};
const P521: Curve = Curve {
    identifier: &[0x06, 5, 0x2b, 0x81, 4, 0, 0x23],
    signing: &ECDSA_P521_SHA512_ASN1_SIGNING,
    length: 66,
    first: 0x01,
};

/// A private key of a curve, with its public key.
fn elliptic(curve: &Curve, random: &mut Random) -> Result<Vec<u8>> {
    for _ in 0..ATTEMPTS {
        let mut number = vec![0; curve.length];
        random.fill(&mut number);
        number[0] &= curve.first;
        // ECPrivateKey, RFC 5915 3; the public key in it is optional.
        let key = der::sequence(&[der::integer(&[1]), der::octets(&number)].concat());
        let pkcs8 = der::private_key(&[der::EC_PUBLIC_KEY, curve.identifier], &key);
        // Refused if it is not below the order of the curve.
        if let Ok(pair) = EcdsaKeyPair::from_pkcs8(curve.signing, &pkcs8) {
            return Ok(pair.to_pkcs8v1()?.as_ref().to_vec());
        }
    }
    Err(anyhow!("none of {ATTEMPTS} random numbers is a private key"))
}

/// A size of RSA keys, and which of the keys of that size.
type Number = (u16, usize);

/// RSA keys by number: made once, the same for equal seeds.
pub(super) struct Pool {
    seed: u64,
    made: Mutex<HashMap<Number, Arc<KeyPair>>>,
}

impl Pool {
    pub(super) fn new(seed: u64) -> Self {
        Self { seed, made: Mutex::default() }
    }

    /// Makes all of these on all processors.
    pub(super) fn make(&self, numbers: &[Number]) -> Result<()> {
        each_at_once(numbers, fit::cpus(), |number| self.rsa(*number).map(|_| ()))
            .into_iter()
            .collect()
    }

    /// The key of this number, made now if it has not been.
    pub(super) fn rsa(&self, number: Number) -> Result<Arc<KeyPair>> {
        let made = || self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(key) = made().get(&number) {
            return Ok(Arc::clone(key));
        }
        let (bits, place) = number;
        let mut random = Random::named(self.seed, &format!("RSA key {place} of {bits} bits"));
        let key = Arc::new(generate(Algorithm::Rsa(bits), &mut random)?);
        Ok(Arc::clone(made().entry(number).or_insert(key)))
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, PublicKeyData};

    use super::*;

    const ALL: [Algorithm; 5] = [
        Algorithm::Rsa(2048),
        Algorithm::P256,
        Algorithm::P384,
        Algorithm::P521,
        Algorithm::Ed25519,
    ];

    #[test]
    fn keys_of_a_seed_are_the_same_and_sign() {
        for algorithm in ALL {
            let key = |seed| generate(algorithm, &mut Random::new(seed)).unwrap();
            let (one, again, other) = (key(1), key(1), key(2));
            assert_eq!(one.serialized_der(), again.serialized_der(), "{algorithm:?}");
            assert_ne!(one.der_bytes(), other.der_bytes(), "{algorithm:?}");
            // AWS-LC checks what it signed with an RSA key.
            let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
            assert!(params.self_signed(&one).is_ok(), "{algorithm:?}");
        }
    }

    #[test]
    fn a_pool_follows_from_its_seed_whatever_the_order() {
        let der = |pool: &Pool, place| pool.rsa((2048, place)).unwrap().serialize_der();
        let (one, other) = (Pool::new(1), Pool::new(2));
        one.make(&[(2048, 0), (2048, 1)]).unwrap();
        assert_ne!(der(&one, 0), der(&one, 1));
        let again = Pool::new(1);
        assert_eq!(der(&again, 1), der(&one, 1));
        assert_eq!(der(&again, 0), der(&one, 0));
        assert_ne!(der(&other, 0), der(&one, 0));
    }
}

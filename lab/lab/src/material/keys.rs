//! Private keys derived from the seed, and the pool of RSA keys.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, anyhow};
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P384_SHA384_ASN1_SIGNING, ECDSA_P521_SHA512_ASN1_SIGNING,
    EcdsaKeyPair, EcdsaSigningAlgorithm, Ed25519KeyPair,
};
use rcgen::KeyPair;

use super::{der, rsa};
use crate::machine::parallel::{cpus, each_at_once};
use lab_scenario::random::Random;

/// The algorithm of a private key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Algorithm {
    /// RSA with this many bits.
    Rsa(u16),
    P256,
    P384,
    P521,
    Ed25519,
}

/// The number of attempts to find a valid private key of a curve. At least half of all random
/// numbers are valid.
const ATTEMPTS: usize = 100;

/// Generates a key from the next values of `random`.
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

/// A NIST curve.
struct Curve {
    /// The object identifier in DER, RFC 5480 2.1.1.1.
    identifier: &'static [u8],
    signing: &'static EcdsaSigningAlgorithm,
    /// The length of a private key in bytes, and a mask for its first byte.
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

/// Generates a private key of a curve, with its public key.
fn elliptic(curve: &Curve, random: &mut Random) -> Result<Vec<u8>> {
    for _ in 0..ATTEMPTS {
        let mut number = vec![0; curve.length];
        random.fill(&mut number);
        number[0] &= curve.first;
        // ECPrivateKey, RFC 5915 3; the public key in it is optional.
        let key = der::sequence(&[der::integer(&[1]), der::octets(&number)].concat());
        let pkcs8 = der::private_key(&[der::EC_PUBLIC_KEY, curve.identifier], &key);
        // The number is refused unless it is below the order of the curve.
        if let Ok(pair) = EcdsaKeyPair::from_pkcs8(curve.signing, &pkcs8) {
            return Ok(pair.to_pkcs8v1()?.as_ref().to_vec());
        }
    }
    Err(anyhow!("none of {ATTEMPTS} random numbers is a private key"))
}

/// The number of an RSA key: its size and its index.
type Number = (u16, usize);

/// A pool of RSA keys by number. Equal seeds give equal keys.
pub(super) struct RsaKeyPool {
    seed: u64,
    made: Mutex<HashMap<Number, Arc<KeyPair>>>,
}

impl RsaKeyPool {
    pub(super) fn new(seed: u64) -> Self {
        Self { seed, made: Mutex::default() }
    }

    /// Generates these keys on all CPUs.
    pub(super) fn make(&self, numbers: &[Number]) -> Result<()> {
        each_at_once(numbers, cpus(), |number| self.rsa(*number).map(|_| ())).into_iter().collect()
    }

    /// The key of this number. It is generated on first use.
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
            // AWS-LC verifies its own RSA signatures.
            let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
            assert!(params.self_signed(&one).is_ok(), "{algorithm:?}");
        }
    }

    #[test]
    fn a_pool_follows_from_its_seed_whatever_the_order() {
        let der = |pool: &RsaKeyPool, place| pool.rsa((2048, place)).unwrap().serialize_der();
        let (one, other) = (RsaKeyPool::new(1), RsaKeyPool::new(2));
        one.make(&[(2048, 0), (2048, 1)]).unwrap();
        assert_ne!(der(&one, 0), der(&one, 1));
        let again = RsaKeyPool::new(1);
        assert_eq!(der(&again, 1), der(&one, 1));
        assert_eq!(der(&again, 0), der(&one, 0));
        assert_ne!(der(&other, 0), der(&one, 0));
    }
}

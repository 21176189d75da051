//! Key exchange with published vectors, and with a seed that makes results repeatable. These tests
//! set private keys and randomness, and therefore require the feature `deterministic`.
#![cfg(all(feature = "deterministic", debug_assertions))]

mod support;

use support::Vector;
use tercel_crypto::{
    CryptoError, KeyExchange, KeyExchangeAlgorithm as A, deterministic, fill_random,
};

/// RFC 7748 5
#[test]
fn x25519_vectors() {
    let mut refused = 0;
    for vector in support::parse(include_str!("vectors/x25519.txt")) {
        let key = KeyExchange::from_private(A::X25519, &vector.bytes("private")).unwrap();
        if vector.optional("public").is_some() {
            assert_eq!(key.public_share(), vector.bytes("public"));
        }
        let secret = key.agree(&vector.bytes("peer"));
        if vector.is_refused() {
            assert_eq!(secret.unwrap_err(), CryptoError::InvalidShare);
            refused += 1;
        } else {
            assert_eq!(secret.unwrap().as_bytes(), vector.bytes("secret"), "{vector:?}");
        }
    }
    assert!(refused > 10);
}

#[test]
fn ecdh_vectors() {
    for vector in support::parse(include_str!("vectors/ecdh.txt")) {
        let algorithm = match vector.text("algorithm") {
            "P256" => A::P256,
            "P384" => A::P384,
            _ => A::P521,
        };
        let key = KeyExchange::from_private(algorithm, &vector.bytes("private")).unwrap();
        assert_eq!(key.public_share(), vector.bytes("public"));
        let secret = key.agree(&vector.bytes("peer")).unwrap();
        assert_eq!(secret.as_bytes(), vector.bytes("secret"), "{vector:?}");
    }
}

#[test]
fn invalid_private_keys_are_refused() {
    for (algorithm, len) in [(A::X25519, 32), (A::P256, 32), (A::P384, 48), (A::P521, 66)] {
        for bad in [vec![], vec![1; len - 1], vec![1; len + 1]] {
            let refused = KeyExchange::from_private(algorithm, &bad).unwrap_err();
            assert_eq!(refused, CryptoError::InvalidKey);
        }
    }
    for algorithm in [A::P256, A::P384, A::P521] {
        let len = (algorithm.client_share_len() - 1) / 2;
        // The private key is zero, or a value above the order.
        for bad in [vec![0; len], vec![0xff; len]] {
            let refused = KeyExchange::from_private(algorithm, &bad).unwrap_err();
            assert_eq!(refused, CryptoError::InvalidKey);
        }
    }
    let refused = KeyExchange::from_private(A::X25519MlKem768, &[1; 32]).unwrap_err();
    assert_eq!(refused, CryptoError::Unsupported);
}

/// The algorithm that uses a parameter set, the number of random bytes that its Diffie-Hellman
/// component draws, and the offset of ML-KEM's part in a share or secret.
struct Hybrid {
    algorithm: A,
    classic_random: Vec<u8>,
    share_start: usize,
    secret_start: usize,
}

fn hybrids(vector: &Vector) -> Vec<Hybrid> {
    let hybrid = |algorithm, random, share_start, secret_start| Hybrid {
        algorithm,
        classic_random: vec![0x11; random],
        share_start,
        secret_start,
    };
    match vector.text("parameters") {
        "MlKem768" => {
            vec![
                hybrid(A::X25519MlKem768, 32, 0, 0),
                hybrid(A::SecP256r1MlKem768, 96, 65, 32),
                hybrid(A::MlKem768, 0, 0, 0),
            ]
        }
        _ => vec![hybrid(A::SecP384r1MlKem1024, 96, 97, 48), hybrid(A::MlKem1024, 0, 0, 0)],
    }
}

impl Hybrid {
    fn traditional(&self) -> Option<A> {
        match self.algorithm {
            A::X25519MlKem768 => Some(A::X25519),
            A::SecP256r1MlKem768 => Some(A::P256),
            A::SecP384r1MlKem1024 => Some(A::P384),
            _ => None,
        }
    }

    fn generate(&self, seed: &[u8]) -> KeyExchange {
        let random = [&self.classic_random, seed].concat();
        deterministic::with_bytes(&random, || KeyExchange::generate(self.algorithm).unwrap())
    }

    /// A share with ML-KEM's part and an arbitrary Diffie-Hellman part.
    fn share(&self, kem: &[u8]) -> Vec<u8> {
        let classic = self.traditional().map_or_else(Vec::new, |classic| {
            KeyExchange::generate(classic).unwrap().public_share().to_vec()
        });
        if self.share_start == 0 { [kem, &classic].concat() } else { [&classic, kem].concat() }
    }
}

#[test]
fn ml_kem_key_generation_vectors() {
    for vector in support::parse(include_str!("vectors/ml_kem_keygen.txt")) {
        for hybrid in hybrids(&vector) {
            let expected = vector.bytes("encapsulation_key");
            let key = hybrid.generate(&vector.bytes("seed"));
            assert_eq!(key.public_share()[hybrid.share_start..][..expected.len()], expected);
        }
    }
}

#[test]
fn ml_kem_encapsulation_vectors() {
    let mut refused = 0;
    for vector in support::parse(include_str!("vectors/ml_kem_encapsulate.txt")) {
        for hybrid in hybrids(&vector) {
            let share = hybrid.share(&vector.bytes("encapsulation_key"));
            let random = [&*hybrid.classic_random, &vector.bytes("random")].concat();
            let response = deterministic::with_bytes(&random, || {
                KeyExchange::respond(hybrid.algorithm, &share)
            });
            if vector.is_refused() {
                assert_eq!(response.unwrap_err(), CryptoError::InvalidShare);
                refused += 1;
            } else {
                let (share, secret) = response.unwrap();
                let ciphertext = vector.bytes("ciphertext");
                assert_eq!(share[hybrid.share_start..][..ciphertext.len()], ciphertext);
                assert_eq!(secret.as_bytes()[hybrid.secret_start..][..32], vector.bytes("secret"));
            }
        }
    }
    assert!(refused >= 6);
}

#[test]
fn ml_kem_decapsulation_vectors() {
    // The vectors include a ciphertext that leads to implicit rejection (FIPS 203 6.3).
    for vector in support::parse(include_str!("vectors/ml_kem_decapsulate.txt")) {
        for hybrid in hybrids(&vector) {
            let key = hybrid.generate(&vector.bytes("seed"));
            let secret = key.agree(&hybrid.share(&vector.bytes("ciphertext"))).unwrap();
            let secret = &secret.as_bytes()[hybrid.secret_start..][..32];
            assert_eq!(secret, vector.bytes("secret"), "{}", vector.text("parameters"));
        }
    }
}

#[test]
fn a_seed_makes_runs_equal() {
    let all = [
        A::X25519,
        A::P256,
        A::P384,
        A::P521,
        A::X25519MlKem768,
        A::SecP256r1MlKem768,
        A::SecP384r1MlKem1024,
        A::MlKem768,
        A::MlKem1024,
    ];
    let run = || {
        let mut random = [0; 70];
        fill_random(&mut random).unwrap();
        let exchanges = all.map(|algorithm| {
            let client = KeyExchange::generate(algorithm).unwrap();
            let client_share = client.public_share().to_vec();
            let (share, secret) = KeyExchange::respond(algorithm, &client_share).unwrap();
            assert_eq!(client.agree(&share).unwrap().as_bytes(), secret.as_bytes());
            (client_share, share, secret.as_bytes().to_vec())
        });
        (random, exchanges)
    };
    let first = deterministic::with_seed(7, run);
    assert!(first == deterministic::with_seed(7, run));
    assert!(first != deterministic::with_seed(8, run));
    assert!(first != run());
}

#[test]
fn sources_nest_and_end() {
    let draw = || {
        let mut bytes = [0; 8];
        fill_random(&mut bytes).unwrap();
        bytes
    };
    deterministic::with_seed(1, || {
        let first = draw();
        assert_eq!(deterministic::with_bytes(&[5; 8], draw), [5; 8]);
        let second = draw();
        assert_eq!(deterministic::with_seed(1, || [draw(), draw()]), [first, second]);
    });
    assert_ne!(draw(), draw());
    deterministic::seed(3);
    let seeded = draw();
    deterministic::seed(3);
    assert_eq!(draw(), seeded);
    deterministic::unseed();
    assert_ne!(draw(), seeded);
}

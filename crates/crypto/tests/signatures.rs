//! Keys of every kind and container sign, verify and refuse.

mod support;

use rcgen::{KeyPair, PublicKeyData as _, SigningKey as _};
use support::Vector;
use tercel_crypto::{CryptoError, KeyKind, PublicKey, SignatureAlgorithm as A, Signer, SigningKey};

const ALGORITHMS: [A; 10] = [
    A::RsaPkcs1Sha256,
    A::RsaPkcs1Sha384,
    A::RsaPkcs1Sha512,
    A::RsaPssSha256,
    A::RsaPssSha384,
    A::RsaPssSha512,
    A::EcdsaSha256,
    A::EcdsaSha384,
    A::EcdsaSha512,
    A::Ed25519,
];
const KINDS: [KeyKind; 6] = [
    KeyKind::Rsa,
    KeyKind::RsaPss,
    KeyKind::EcdsaP256,
    KeyKind::EcdsaP384,
    KeyKind::EcdsaP521,
    KeyKind::Ed25519,
];

fn kind(vector: &Vector) -> Option<KeyKind> {
    KINDS.into_iter().find(|kind| format!("{kind:?}") == vector.text("kind"))
}

fn algorithm(vector: &Vector) -> A {
    let named = |a: &A| format!("{a:?}") == vector.text("algorithm");
    ALGORITHMS.into_iter().find(named).unwrap()
}

fn keys() -> Vec<Vector> {
    support::parse(include_str!("vectors/keys.txt"))
}

#[test]
fn verification_vectors() {
    let (mut valid, mut invalid) = (0, 0);
    for vector in support::parse(include_str!("vectors/signatures.txt")) {
        let key = PublicKey::from_spki(&vector.bytes("spki")).unwrap();
        assert_eq!(Some(key.kind()), kind(&vector));
        let (message, signature) = (vector.bytes("message"), vector.bytes("signature"));
        let outcome = key.verify(algorithm(&vector), &message, &signature);
        if vector.text("result") == "valid" {
            assert_eq!(outcome, Ok(()), "{vector:?}");
            valid += 1;
            for bad in [&signature[..signature.len() - 1], &[], &[&*signature, &[0]].concat()] {
                let outcome = key.verify(algorithm(&vector), &message, bad);
                assert_eq!(outcome, Err(CryptoError::Rejected));
            }
        } else {
            assert_eq!(outcome, Err(CryptoError::Rejected), "{vector:?}");
            invalid += 1;
        }
    }
    assert!(valid > 20 && invalid > 50, "{valid} {invalid}");
}

#[test]
fn ed25519_vectors() {
    for vector in support::parse(include_str!("vectors/ed25519.txt")) {
        // PKCS#8 (RFC 8410 7) is this prefix and the seed.
        let prefix = support::unhex("302e020100300506032b657004220420");
        let key = SigningKey::from_der(&[prefix, vector.bytes("seed")].concat()).unwrap();
        let (message, expected) = (vector.bytes("message"), vector.bytes("signature"));
        assert_eq!(key.sign(A::Ed25519, &message).unwrap(), expected);
        let public = PublicKey::from_raw(KeyKind::Ed25519, &vector.bytes("public")).unwrap();
        assert_eq!(public.verify(A::Ed25519, &message, &expected), Ok(()));
        assert!(key.public_key_spki().ends_with(&vector.bytes("public")));
        for at in 0..expected.len() {
            let mut wrong = expected.clone();
            wrong[at] ^= 1;
            assert!(public.verify(A::Ed25519, &message, &wrong).is_err());
        }
    }
}

/// PKCS#8, PKCS#1 and SEC1 keys, and SubjectPublicKeyInfo.
/// RFC 5958 2, RFC 8017 A.1.1, A.1.2, RFC 5280 4.1.2.7, RFC 3279 2.3.1, RFC 5480 2.1, RFC 8410 3
#[test]
fn every_container_gives_a_key_that_signs_for_its_spki() {
    for vector in keys() {
        let Some(kind) = kind(&vector) else { continue };
        let key = SigningKey::from_der(&vector.bytes("private")).unwrap();
        assert_eq!(key.kind(), kind, "{}", vector.text("name"));
        assert_eq!(key.bits().to_string(), vector.text("bits"));
        assert_eq!(key.public_key_spki(), vector.bytes("spki"), "{}", vector.text("name"));
        let public = PublicKey::from_spki(&vector.bytes("spki")).unwrap();
        assert_eq!((public.kind(), public.bits()), (kind, key.bits()));
        assert_eq!(public.algorithms(), key.algorithms());
        for algorithm in ALGORITHMS {
            if key.algorithms().contains(&algorithm) {
                let signature = key.sign(algorithm, b"message").unwrap();
                assert_eq!(public.verify(algorithm, b"message", &signature), Ok(()));
                let outcome = public.verify(algorithm, b"massage", &signature);
                assert_eq!(outcome, Err(CryptoError::Rejected));
                // The signature is appended to the existing bytes, and nothing follows it.
                let mut out = b"before".to_vec();
                key.sign_to(algorithm, b"message", &mut out).unwrap();
                let appended = out.strip_prefix(b"before").unwrap();
                assert_eq!(public.verify(algorithm, b"message", appended), Ok(()));
            } else {
                let refused = key.sign(algorithm, b"message").unwrap_err();
                assert_eq!(refused, CryptoError::Unsupported);
                let mut out = b"before".to_vec();
                assert_eq!(key.sign_to(algorithm, b"message", &mut out), Err(refused));
                assert_eq!(out, b"before");
                let outcome = public.verify(algorithm, b"message", &[0; 256]);
                assert_eq!(outcome, Err(CryptoError::Unsupported));
            }
        }
    }
}

#[test]
fn pss_parameters_of_a_key_are_enforced() {
    let algorithms = |name: &str| {
        let vector = keys().into_iter().find(|vector| vector.text("name").contains(name)).unwrap();
        SigningKey::from_der(&vector.bytes("private")).unwrap().algorithms()
    };
    assert_eq!(algorithms("PSS without"), [A::RsaPssSha256, A::RsaPssSha384, A::RsaPssSha512]);
    assert_eq!(algorithms("PSS for SHA-256"), [A::RsaPssSha256]);
    assert_eq!(algorithms("PSS for SHA-384"), [A::RsaPssSha384]);
}

#[test]
fn weak_and_unknown_keys_are_refused() {
    let mut refused = 0;
    for vector in keys().iter().filter(|vector| kind(vector).is_none()) {
        let expected = match vector.text("name") {
            "RSA of 1024 bits" => &[CryptoError::InvalidKey][..],
            _ => &[CryptoError::InvalidKey, CryptoError::Unsupported],
        };
        let name = vector.text("name");
        let error = SigningKey::from_der(&vector.bytes("private")).unwrap_err();
        assert!(expected.contains(&error), "{name}: {error}");
        let error = PublicKey::from_spki(&vector.bytes("spki")).unwrap_err();
        assert!(expected.contains(&error), "{name}: {error}");
        refused += 1;
    }
    assert!(refused >= 5);
}

/// Peers that are not authenticated may have RSA keys from 1024 bits, but no other weak key.
#[test]
fn a_legacy_key_has_1024_bits() {
    for vector in keys().iter().filter(|vector| kind(vector).is_none()) {
        let (name, spki) = (vector.text("name"), vector.bytes("spki"));
        let key = PublicKey::from_legacy_spki(&spki);
        if name == "RSA of 1024 bits" && !cfg!(feature = "fips") {
            assert_eq!(key.unwrap().bits(), 1024);
        } else {
            assert!(key.is_err(), "{name}");
        }
    }
}

/// A key with explicit parameters, here exactly those of P-256, is refused, because a certificate
/// must name the curve. RFC 5480 2.1.1
#[test]
fn a_public_key_with_explicit_curve_parameters_is_refused() {
    let key = keys().into_iter().find(|vector| kind(vector) == Some(KeyKind::EcdsaP256)).unwrap();
    let spki = key.bytes("spki");
    assert_eq!(PublicKey::from_spki(&spki).unwrap().kind(), KeyKind::EcdsaP256);
    // SEQUENCE, the AlgorithmIdentifier with the curve's name, and the key.
    let (named, bits) = spki[2..].split_at(21);
    assert_eq!(named[..11], [0x30, 19, 6, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1]);
    let algorithm = element(0x30, &[&named[2..11], &support::unhex(P256_PARAMETERS)].concat());
    let explicit = element(0x30, &[&*algorithm, bits].concat());
    assert_eq!(PublicKey::from_spki(&explicit).unwrap_err(), CryptoError::Unsupported);
}

/// The `ECParameters` of P-256, as OpenSSL writes them. RFC 3279 2.3.5
const P256_PARAMETERS: &str = "\
    3081f7020101302c06072a8648ce3d0101022100ffffffff00000001000000000000000000000000ffffffffffffff\
    ffffffffff305b0420ffffffff00000001000000000000000000000000fffffffffffffffffffffffc04205ac635d8\
    aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604b031500c49d360886e704936a6678e1139d26b7\
    819f7e900441046b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c2964fe342e2fe1a7f9b\
    8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5022100ffffffff00000000ffffffffffffffffbce6faad\
    a7179e84f3b9cac2fc632551020101";

#[test]
fn an_rsa_key_of_a_size_out_of_bounds_is_refused() {
    // An RSAPublicKey with an arbitrary modulus of this length and the exponent 65537.
    let key = |bytes: usize| {
        let mut modulus = vec![0xc5; bytes];
        modulus[0] = 0x80;
        let modulus = [&[0], &*modulus].concat();
        let mut fields = element(0x02, &modulus);
        fields.extend(element(0x02, &[1, 0, 1]));
        PublicKey::from_raw(KeyKind::Rsa, &element(0x30, &fields))
    };
    assert_eq!(key(256).unwrap().bits(), 2048);
    assert_eq!(key(1024).unwrap().bits(), 8192);
    for bytes in [64, 128, 255, 1025, 2048] {
        assert_eq!(key(bytes).unwrap_err(), CryptoError::InvalidKey, "{bytes}");
    }
}

fn element(tag: u8, contents: &[u8]) -> Vec<u8> {
    let len = u16::try_from(contents.len()).unwrap().to_be_bytes();
    let header =
        if contents.len() < 128 { vec![tag, len[1]] } else { vec![tag, 0x82, len[0], len[1]] };
    let header = match contents.len() {
        128..=255 => vec![tag, 0x81, len[1]],
        _ => header,
    };
    [&*header, contents].concat()
}

#[test]
fn damaged_containers_are_refused() {
    for vector in keys() {
        if kind(&vector).is_none() {
            continue;
        }
        let (private, spki) = (vector.bytes("private"), vector.bytes("spki"));
        for len in 0..private.len() {
            assert!(SigningKey::from_der(&private[..len]).is_err());
        }
        for len in 0..spki.len() {
            assert!(PublicKey::from_spki(&spki[..len]).is_err());
        }
        assert!(SigningKey::from_der(&[&*private, &[0]].concat()).is_err());
        assert!(PublicKey::from_spki(&[&*spki, &[0]].concat()).is_err());
    }
    assert_eq!(SigningKey::from_der(&[]).unwrap_err(), CryptoError::InvalidKey);
}

/// An RSA key has the values of the Chinese remainder theorem. RFC 8017 A.1.2
#[test]
fn an_rsa_key_without_its_further_values_is_refused() {
    let private = keys()[0].bytes("private");
    // The key is the last field of this PKCS#8, with a header of 26 bytes before it.
    let numbers = integers(&private[30..]);
    assert_eq!(numbers.len(), 9);
    let key = |numbers: &[Vec<u8>]| {
        SigningKey::from_der(&wrap(
            0x30,
            &numbers.iter().map(|n| wrap(2, n)).collect::<Vec<_>>().concat(),
        ))
    };
    assert_eq!(key(&numbers).unwrap().kind(), KeyKind::Rsa);
    for kept in [2, 4, 6, 8] {
        assert!(key(&numbers[..kept]).is_err(), "{kept}");
        let zeros = [numbers[..kept].to_vec(), vec![vec![0]; 9 - kept]].concat();
        assert!(key(&zeros).is_err(), "{kept}");
    }
}

/// The contents of a row of INTEGERs.
fn integers(mut der: &[u8]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    while let [2, rest @ ..] = der {
        let (length, rest) = match rest {
            [0x82, high, low, rest @ ..] => (u16::from_be_bytes([*high, *low]).into(), rest),
            [0x81, length, rest @ ..] | [length, rest @ ..] => (usize::from(*length), rest),
            [] => panic!("an INTEGER without a length"),
        };
        found.push(rest[..length].to_vec());
        der = &rest[length..];
    }
    found
}

fn wrap(tag: u8, content: &[u8]) -> Vec<u8> {
    let [.., high, low] = content.len().to_be_bytes();
    let header = match content.len() {
        0..=0x7f => vec![tag, low],
        0x80..=0xff => vec![tag, 0x81, low],
        _ => vec![tag, 0x82, high, low],
    };
    [header, content.to_vec()].concat()
}

#[test]
fn raw_keys_of_another_form_are_refused() {
    let refuse = |kind, bits: &[u8]| {
        assert_eq!(PublicKey::from_raw(kind, bits).unwrap_err(), CryptoError::InvalidKey);
    };
    for kind in KINDS {
        refuse(kind, &[]);
        refuse(kind, &[4; 31]);
        refuse(kind, &[4; 33]);
    }
    for (algorithm, kind) in [
        (&rcgen::PKCS_ECDSA_P256_SHA256, KeyKind::EcdsaP256),
        (&rcgen::PKCS_ECDSA_P384_SHA384, KeyKind::EcdsaP384),
        (&rcgen::PKCS_ECDSA_P521_SHA512, KeyKind::EcdsaP521),
    ] {
        let good = KeyPair::generate_for(algorithm).unwrap().der_bytes().to_vec();
        assert_eq!(PublicKey::from_raw(kind, &good).unwrap().kind(), kind);
        let mut off_curve = good.clone();
        off_curve[9] ^= 1;
        refuse(kind, &off_curve);
        let half = good.len() / 2 + 1;
        let mut compressed = good[..half].to_vec();
        compressed[0] = 2 | (good[good.len() - 1] & 1);
        refuse(kind, &compressed);
        for other in KINDS.into_iter().filter(|other| *other != kind) {
            refuse(other, &good);
        }
    }
}

#[test]
fn generated_keys_agree_with_another_signer() {
    for (algorithm, kind, signature_algorithm) in [
        (&rcgen::PKCS_ECDSA_P256_SHA256, KeyKind::EcdsaP256, A::EcdsaSha256),
        (&rcgen::PKCS_ECDSA_P384_SHA384, KeyKind::EcdsaP384, A::EcdsaSha384),
        (&rcgen::PKCS_ECDSA_P521_SHA512, KeyKind::EcdsaP521, A::EcdsaSha512),
        (&rcgen::PKCS_ED25519, KeyKind::Ed25519, A::Ed25519),
        (&rcgen::PKCS_RSA_SHA256, KeyKind::Rsa, A::RsaPkcs1Sha256),
    ] {
        let pair = KeyPair::generate_for(algorithm).unwrap();
        let key = SigningKey::from_der(pair.serialized_der()).unwrap();
        assert_eq!(key.kind(), kind);
        assert_eq!(key.public_key_spki(), pair.subject_public_key_info());
        let raw = PublicKey::from_raw(kind, pair.der_bytes()).unwrap();
        let theirs = pair.sign(b"message").unwrap();
        assert_eq!(raw.verify(signature_algorithm, b"message", &theirs), Ok(()));
    }
}

#[test]
fn a_signing_key_is_a_signer() {
    let vector = &keys()[0];
    let key: Box<dyn Signer> = Box::new(SigningKey::from_der(&vector.bytes("private")).unwrap());
    assert_eq!(key.kind(), KeyKind::Rsa);
    assert_eq!(key.algorithms(), KeyKind::Rsa.algorithms());
    assert_eq!(key.public_key_spki(), Some(vector.bytes("spki")));
    assert!(key.sign(A::RsaPssSha256, b"message").is_ok());
    assert_eq!(key.sign(A::Ed25519, b"message"), Err(CryptoError::Unsupported));
}

#[test]
fn threads_share_one_key() {
    let key = SigningKey::from_der(&keys()[0].bytes("private")).unwrap();
    let public = PublicKey::from_spki(&key.public_key_spki()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4_u8 {
            let (key, public) = (&key, &public);
            scope.spawn(move || {
                let signature = key.sign(A::RsaPssSha256, &[thread]).unwrap();
                assert_eq!(public.verify(A::RsaPssSha256, &[thread], &signature), Ok(()));
            });
        }
    });
}

#[test]
fn debug_shows_no_key() {
    let key = SigningKey::from_der(&keys()[0].bytes("private")).unwrap();
    assert_eq!(format!("{key:?}"), "SigningKey(Rsa, 2048 bits, ..)");
    let public = PublicKey::from_spki(&key.public_key_spki()).unwrap();
    assert_eq!(format!("{public:?}"), "PublicKey(Rsa, 2048 bits)");
}

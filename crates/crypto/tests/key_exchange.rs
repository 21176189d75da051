//! Both sides of every key exchange agree, and every malformed share is refused.

use tercel_crypto::{CryptoError, KeyExchange, KeyExchangeAlgorithm as A};

const ALL: [A; 9] = [
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

/// The offset of ML-KEM's part in a share.
const KEM_STARTS: [(A, usize); 5] = [
    (A::X25519MlKem768, 0),
    (A::SecP256r1MlKem768, 65),
    (A::SecP384r1MlKem1024, 97),
    (A::MlKem768, 0),
    (A::MlKem1024, 0),
];

#[test]
fn both_sides_agree() {
    for algorithm in ALL {
        let client = KeyExchange::generate(algorithm).unwrap();
        assert_eq!(client.algorithm(), algorithm);
        assert_eq!(client.public_share().len(), algorithm.client_share_len());
        let (share, server_secret) =
            KeyExchange::respond(algorithm, client.public_share()).unwrap();
        assert_eq!(share.len(), algorithm.server_share_len());
        let client_secret = client.agree(&share).unwrap();
        assert_eq!(client_secret.as_bytes(), server_secret.as_bytes());
        assert!(client_secret.as_bytes().iter().any(|byte| *byte != 0));
    }
}

#[test]
fn shares_can_be_written_in_place() {
    for algorithm in ALL {
        let mut client = [0; A::MAX_SHARE_LEN];
        let mut server = [0; A::MAX_SHARE_LEN];
        let client = &mut client[..algorithm.client_share_len()];
        let server = &mut server[..algorithm.server_share_len()];
        let key = KeyExchange::generate_into(algorithm, client).unwrap();
        assert!(key.public_share().is_empty() && key.traditional().is_none());
        let theirs = KeyExchange::respond_into(algorithm, client, server).unwrap();
        if let Some((classic, place)) = algorithm.traditional() {
            let (response, _) = KeyExchange::respond(classic, &client[place]).unwrap();
            assert_eq!(response.len(), classic.server_share_len());
        }
        assert_eq!(key.agree(server).unwrap().as_bytes(), theirs.as_bytes());
        for wrong in [0, client.len() - 1] {
            let room = &mut client[..wrong];
            let refused = KeyExchange::generate_into(algorithm, room).map(|_| ()).unwrap_err();
            assert_eq!(refused, CryptoError::BufferTooSmall);
        }
        let room = &mut server[1..];
        let refused = KeyExchange::respond_into(algorithm, client, room).map(|_| ()).unwrap_err();
        assert_eq!(refused, CryptoError::BufferTooSmall);
    }
}

#[test]
fn lengths_are_those_of_the_standards() {
    // The lengths of client share, server share and secret.
    let expected = [
        (32, 32, 32),
        (65, 65, 32),
        (97, 97, 48),
        (133, 133, 66),
        (1216, 1120, 64),
        (1249, 1153, 64),
        (1665, 1665, 80),
        (1184, 1088, 32),
        (1568, 1568, 32),
    ];
    for (algorithm, (client, server, secret)) in ALL.into_iter().zip(expected) {
        assert_eq!(algorithm.client_share_len(), client);
        assert_eq!(algorithm.server_share_len(), server);
        let key = KeyExchange::generate(algorithm).unwrap();
        let (_, shared) = KeyExchange::respond(algorithm, key.public_share()).unwrap();
        assert_eq!(shared.as_bytes().len(), secret);
    }
}

#[test]
fn the_diffie_hellman_half_of_a_hybrid_works_alone() {
    for (hybrid, classic) in [
        (A::X25519MlKem768, A::X25519),
        (A::SecP256r1MlKem768, A::P256),
        (A::SecP384r1MlKem1024, A::P384),
    ] {
        let client = KeyExchange::generate(hybrid).unwrap();
        let (algorithm, share) = client.traditional().unwrap();
        assert_eq!(algorithm, classic);
        let (response, server_secret) = KeyExchange::respond(classic, share).unwrap();
        let client_secret = client.agree_traditional(&response).unwrap();
        assert_eq!(client_secret.as_bytes(), server_secret.as_bytes());
    }
    for algorithm in [A::X25519, A::P256, A::P384, A::P521, A::MlKem768, A::MlKem1024] {
        assert!(KeyExchange::generate(algorithm).unwrap().traditional().is_none());
    }
    let alone = KeyExchange::generate(A::MlKem768).unwrap();
    assert_eq!(alone.agree_traditional(&[0; 32]).unwrap_err(), CryptoError::InvalidShare);
}

#[test]
fn the_halves_are_in_the_order_of_the_draft() {
    for (hybrid, start) in
        [(A::X25519MlKem768, 1184), (A::SecP256r1MlKem768, 0), (A::SecP384r1MlKem1024, 0)]
    {
        let key = KeyExchange::generate(hybrid).unwrap();
        let (algorithm, share) = key.traditional().unwrap();
        assert_eq!(share, &key.public_share()[start..start + algorithm.client_share_len()]);
    }
}

#[test]
fn a_share_of_any_other_length_is_refused() {
    for algorithm in ALL {
        let client = KeyExchange::generate(algorithm).unwrap();
        let (share, _) = KeyExchange::respond(algorithm, client.public_share()).unwrap();
        let mut long = client.public_share().to_vec();
        long.push(0);
        for bad in [&[][..], &long[..1], &long[..long.len() - 2], &long] {
            let refused = KeyExchange::respond(algorithm, bad).map(|_| ()).unwrap_err();
            assert_eq!(refused, CryptoError::InvalidShare);
        }
        let mut long = share.clone();
        long.push(0);
        for bad in [&[][..], &share[..1], &share[..share.len() - 1], &long] {
            let key = KeyExchange::generate(algorithm).unwrap();
            assert_eq!(key.agree(bad).unwrap_err(), CryptoError::InvalidShare);
            let key = KeyExchange::generate(algorithm).unwrap();
            let classic_len = key.traditional().map_or(share.len(), |(_, share)| share.len());
            if bad.len() != classic_len {
                assert_eq!(key.agree_traditional(bad).unwrap_err(), CryptoError::InvalidShare);
            }
        }
    }
}

#[test]
fn a_low_order_x25519_share_is_refused() {
    // The points whose multiples are all zero (RFC 7748 6.1): 0 and 1, and p for an unreduced 0.
    let zero = [0; 32];
    let mut one = [0; 32];
    one[0] = 1;
    let mut p = [0xff; 32];
    p[0] = 0xed;
    p[31] = 0x7f;
    for share in [zero, one, p] {
        let refused = KeyExchange::respond(A::X25519, &share).map(|_| ()).unwrap_err();
        assert_eq!(refused, CryptoError::InvalidShare);
        let key = KeyExchange::generate(A::X25519).unwrap();
        assert_eq!(key.agree(&share).unwrap_err(), CryptoError::InvalidShare);
        let mut hybrid = KeyExchange::generate(A::X25519MlKem768).unwrap().public_share().to_vec();
        hybrid[1184..].copy_from_slice(&share);
        let refused = KeyExchange::respond(A::X25519MlKem768, &hybrid).map(|_| ()).unwrap_err();
        assert_eq!(refused, CryptoError::InvalidShare);
    }
}

#[test]
fn a_point_off_its_curve_or_in_another_form_is_refused() {
    for algorithm in [A::P256, A::P384, A::P521, A::SecP256r1MlKem768, A::SecP384r1MlKem1024] {
        let good = KeyExchange::generate(algorithm).unwrap().public_share().to_vec();
        assert!(KeyExchange::respond(algorithm, &good).is_ok());
        let refuse = |share: &[u8]| {
            let refused = KeyExchange::respond(algorithm, share).map(|_| ()).unwrap_err();
            assert_eq!(refused, CryptoError::InvalidShare);
        };
        let mut off_curve = good.clone();
        off_curve[10] ^= 1;
        refuse(&off_curve);
        // The first bytes are those of infinity, of both compressed forms, of both hybrid forms,
        // and two that belong to no form.
        for form in [0, 2, 3, 6, 7, 5, 0xff] {
            let mut other = good.clone();
            other[0] = form;
            refuse(&other);
        }
        // A coordinate that is not less than the field's prime.
        let mut beyond = good;
        let field_len = match algorithm {
            A::P256 | A::SecP256r1MlKem768 => 32,
            A::P521 => 66,
            _ => 48,
        };
        beyond[1..=field_len].fill(0xff);
        refuse(&beyond);
    }
    let compressed = &KeyExchange::generate(A::P256).unwrap().public_share()[..33].to_vec();
    let mut compressed = compressed.clone();
    compressed[0] = 2;
    assert!(KeyExchange::respond(A::P256, &compressed).is_err());
}

#[test]
fn an_encapsulation_key_beyond_the_modulus_is_refused() {
    // Sets the first two 12-bit coefficients to 4095, above the modulus 3329 (FIPS 203 7.2).
    for (algorithm, start) in KEM_STARTS {
        let mut share = KeyExchange::generate(algorithm).unwrap().public_share().to_vec();
        share[start..start + 3].fill(0xff);
        let refused = KeyExchange::respond(algorithm, &share).map(|_| ()).unwrap_err();
        assert_eq!(refused, CryptoError::InvalidShare);
    }
}

#[test]
fn a_forged_ciphertext_gives_a_different_secret() {
    for (algorithm, at) in KEM_STARTS {
        let client = KeyExchange::generate(algorithm).unwrap();
        let (mut share, secret) = KeyExchange::respond(algorithm, client.public_share()).unwrap();
        share[at] ^= 1;
        assert_ne!(client.agree(&share).unwrap().as_bytes(), secret.as_bytes());
    }
}

#[test]
fn keys_may_cross_threads() {
    fn check<T: Send + Sync>() {}
    check::<KeyExchange>();
    check::<tercel_crypto::AeadKey>();
    check::<tercel_crypto::SigningKey>();
    check::<tercel_crypto::PublicKey>();
    check::<tercel_crypto::HmacKey>();
    check::<tercel_crypto::SharedSecret>();
}

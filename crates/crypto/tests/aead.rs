//! AEAD: published vectors in all four operations, and every kind of invalid input.

mod support;

use support::Vector;
use tercel_crypto::{AeadAlgorithm, AeadKey, CryptoError, has_fast_aes};

const ALL: [AeadAlgorithm; 3] =
    [AeadAlgorithm::Aes128Gcm, AeadAlgorithm::Aes256Gcm, AeadAlgorithm::ChaCha20Poly1305];
const TAG_LEN: usize = AeadAlgorithm::TAG_LEN;
const NONCE: [u8; 12] = [9; 12];

fn key(algorithm: AeadAlgorithm) -> AeadKey {
    AeadKey::new(algorithm, &[0x42; 32][..algorithm.key_len()]).unwrap()
}

fn key_of(vector: &Vector) -> AeadKey {
    let named = |a: &AeadAlgorithm| format!("{a:?}") == vector.text("algorithm");
    let algorithm = ALL.into_iter().find(named).unwrap();
    AeadKey::new(algorithm, &vector.bytes("key")).unwrap()
}

#[test]
fn published_vectors_in_every_operation() {
    for vector in support::parse(include_str!("vectors/aead.txt")) {
        let key = key_of(&vector);
        let nonce: [u8; 12] = vector.bytes("nonce").try_into().unwrap();
        let (aad, plaintext, sealed) =
            (vector.bytes("aad"), vector.bytes("plaintext"), vector.bytes("sealed"));

        // The result does not depend on how the plaintext is divided between input and extra.
        for extra_len in [0, 1, 2, 15, 16, 17, plaintext.len()] {
            let Some(input_len) = plaintext.len().checked_sub(extra_len) else { continue };
            let (input, extra) = plaintext.split_at(input_len);
            let mut out = vec![0xee; sealed.len() + 3];
            assert_eq!(key.seal(&nonce, &aad, input, extra, &mut out), Ok(sealed.len()));
            assert_eq!(out[..sealed.len()], sealed, "{vector:?}");
            assert_eq!(out[sealed.len()..], [0xee; 3]);

            let mut buffer = input.to_vec();
            buffer.resize(sealed.len() + 3, 0xee);
            let written = key.seal_in_place(&nonce, &aad, &mut buffer, input_len, extra);
            assert_eq!(written, Ok(sealed.len()));
            assert_eq!(buffer[..sealed.len()], sealed, "{vector:?}");
            assert_eq!(buffer[sealed.len()..], [0xee; 3]);
        }

        let mut body = plaintext.clone();
        let tag = key.seal_with_separate_tag(&nonce, &aad, &mut body).unwrap();
        assert_eq!([&body[..], &tag].concat(), sealed, "{vector:?}");

        let mut out = vec![0xee; plaintext.len() + 3];
        assert_eq!(key.open(&nonce, &aad, &sealed, &mut out), Ok(plaintext.len()));
        assert_eq!(out[..plaintext.len()], plaintext);
        assert_eq!(out[plaintext.len()..], [0xee; 3]);

        let mut buffer = sealed.clone();
        assert_eq!(key.open_in_place(&nonce, &aad, &mut buffer), Ok(plaintext.len()));
        assert_eq!(buffer[..plaintext.len()], plaintext);
    }
}

#[test]
fn any_change_is_rejected_and_leaves_no_plaintext() {
    for algorithm in ALL {
        let key = key(algorithm);
        let plaintext = [0x77; 40];
        let mut sealed = vec![0; plaintext.len() + TAG_LEN];
        key.seal(&NONCE, b"aad", &plaintext, &[], &mut sealed).unwrap();
        let refuse = |key: &AeadKey, nonce: &[u8; 12], aad: &[u8], sealed: &[u8]| {
            let mut out = [0xee; 50];
            assert_eq!(key.open(nonce, aad, sealed, &mut out), Err(CryptoError::Rejected));
            // The area of the plaintext is wiped, and the bytes after it are unchanged.
            let len = sealed.len() - TAG_LEN;
            assert!(out[..len].iter().all(|byte| *byte == 0));
            assert!(out[len..].iter().all(|byte| *byte == 0xee));
            let mut buffer = sealed.to_vec();
            assert_eq!(key.open_in_place(nonce, aad, &mut buffer), Err(CryptoError::Rejected));
            assert!(buffer[..len].iter().all(|byte| *byte == 0));
        };
        // Changes each byte of ciphertext and tag.
        for at in 0..sealed.len() {
            for bit in [0x01, 0x80] {
                let mut changed = sealed.clone();
                changed[at] ^= bit;
                refuse(&key, &NONCE, b"aad", &changed);
            }
        }
        // Changes each byte of the nonce.
        for at in 0..NONCE.len() {
            let mut nonce = NONCE;
            nonce[at] ^= 1;
            refuse(&key, &nonce, b"aad", &sealed);
        }
        refuse(&key, &NONCE, b"aae", &sealed);
        refuse(&key, &NONCE, b"", &sealed);
        // Truncates to each length that leaves room for a tag.
        for len in TAG_LEN..sealed.len() {
            refuse(&key, &NONCE, b"aad", &sealed[..len]);
        }
        let other = AeadKey::new(algorithm, &[0x43; 32][..algorithm.key_len()]).unwrap();
        refuse(&other, &NONCE, b"aad", &sealed);
    }
}

#[test]
fn inputs_shorter_than_a_tag_are_rejected() {
    for algorithm in ALL {
        for len in 0..TAG_LEN {
            let mut sealed = [0; TAG_LEN];
            let sealed = &mut sealed[..len];
            let outcome = key(algorithm).open(&NONCE, b"", sealed, &mut [0; 8]);
            assert_eq!(outcome, Err(CryptoError::Rejected));
            let outcome = key(algorithm).open_in_place(&NONCE, b"", sealed);
            assert_eq!(outcome, Err(CryptoError::Rejected));
        }
    }
}

#[test]
fn a_buffer_that_is_too_small_is_refused_and_unchanged() {
    for algorithm in ALL {
        let key = key(algorithm);
        for room in 0..10 + 1 + TAG_LEN {
            let mut out = vec![0xee; room];
            let outcome = key.seal(&NONCE, b"", &[1; 10], &[2], &mut out);
            assert_eq!(outcome, Err(CryptoError::BufferTooSmall));
            let outcome = key.seal_in_place(&NONCE, b"", &mut out, 10, &[2]);
            assert_eq!(outcome, Err(CryptoError::BufferTooSmall));
            assert!(out.iter().all(|byte| *byte == 0xee));
        }
        let mut buffer = [0xee; 32];
        let outcome = key.seal_in_place(&NONCE, b"", &mut buffer, usize::MAX, &[2]);
        assert_eq!(outcome, Err(CryptoError::BufferTooSmall));

        let mut sealed = [0; 10 + TAG_LEN];
        key.seal(&NONCE, b"", &[1; 10], &[], &mut sealed).unwrap();
        let mut out = [0xee; 9];
        let outcome = key.open(&NONCE, b"", &sealed, &mut out);
        assert_eq!(outcome, Err(CryptoError::BufferTooSmall));
        assert_eq!(out, [0xee; 9]);
    }
}

#[test]
fn a_key_of_any_other_length_is_refused() {
    for algorithm in ALL {
        for len in (0..=64).filter(|len| *len != algorithm.key_len()) {
            let refused = AeadKey::new(algorithm, &vec![0; len]).unwrap_err();
            assert_eq!(refused, CryptoError::InvalidKey);
        }
    }
}

#[test]
fn large_records_round_trip_in_every_operation() {
    let plaintext: Vec<u8> = (0..16384_u32).map(|at| at.to_be_bytes()[3]).collect();
    for algorithm in ALL {
        let key = key(algorithm);
        let extra = [23; 300];
        let mut sealed = vec![0; plaintext.len() + extra.len() + TAG_LEN];
        key.seal(&NONCE, b"h", &plaintext, &extra, &mut sealed).unwrap();
        let mut in_place = plaintext.clone();
        in_place.resize(sealed.len(), 0);
        key.seal_in_place(&NONCE, b"h", &mut in_place, plaintext.len(), &extra).unwrap();
        assert_eq!(in_place, sealed);
        let mut body = [&plaintext[..], &extra].concat();
        let tag = key.seal_with_separate_tag(&NONCE, b"h", &mut body).unwrap();
        assert_eq!([&body[..], &tag].concat(), sealed);
        let len = key.open_in_place(&NONCE, b"h", &mut in_place).unwrap();
        assert_eq!(in_place[..plaintext.len()], plaintext);
        assert_eq!(in_place[plaintext.len()..len], extra);
    }
}

#[test]
fn debug_names_the_algorithm_and_no_key() {
    assert_eq!(format!("{:?}", key(AeadAlgorithm::Aes128Gcm)), "AeadKey(Aes128Gcm, ..)");
    assert_eq!(key(AeadAlgorithm::Aes256Gcm).algorithm(), AeadAlgorithm::Aes256Gcm);
}

#[test]
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
fn fast_aes_agrees_with_the_processor() {
    let expected =
        std::is_x86_feature_detected!("aes") && std::is_x86_feature_detected!("pclmulqdq");
    // AWS-LC also requires SSSE3, which every processor with both features has.
    assert_eq!(has_fast_aes(), expected);
}

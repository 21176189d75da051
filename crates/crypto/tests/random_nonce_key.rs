//! Messages with nonces that AWS-LC draws.

use std::collections::HashSet;

use tercel_crypto::{AeadAlgorithm, AeadKey, CryptoError, RandomNonceKey};

const OVERHEAD: usize = RandomNonceKey::OVERHEAD;

fn seal(key: &RandomNonceKey, text: &[u8]) -> Vec<u8> {
    let mut buffer = [text, &[0; OVERHEAD]].concat();
    assert_eq!(key.seal_in_place(b"aad", &mut buffer, text.len()), Ok(buffer.len()));
    buffer
}

#[test]
fn a_message_is_ciphertext_tag_and_nonce() {
    let key = RandomNonceKey::new(&[7; 32]).unwrap();
    let other = AeadKey::new(AeadAlgorithm::Aes256Gcm, &[7; 32]).unwrap();
    for length in [0, 1, 16, 1000] {
        let text: Vec<u8> = (0..length).map(|at| u8::try_from(at % 251).unwrap()).collect();
        let mut sealed = seal(&key, &text);
        let (ciphertext, nonce) = sealed.split_last_chunk().unwrap();
        let mut opened = vec![0; text.len()];
        other.open(nonce, b"aad", ciphertext, &mut opened).unwrap();
        assert_eq!(opened, text);
        assert_eq!(key.open_in_place(b"aad", &mut sealed), Ok(text.len()));
        assert_eq!(sealed[..text.len()], text);
    }
}

#[test]
fn nonces_differ_also_between_threads() {
    let key = RandomNonceKey::new(&[7; 32]).unwrap();
    let nonces: HashSet<[u8; 12]> = std::thread::scope(|scope| {
        let make =
            || -> Vec<_> { (0..500).map(|_| *seal(&key, b"text").last_chunk().unwrap()).collect() };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(make)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(nonces.len(), 2000);
}

#[test]
fn changed_messages_and_wrong_lengths_are_refused() {
    let key = RandomNonceKey::new(&[7; 32]).unwrap();
    let sealed = seal(&key, b"text");
    for at in 0..sealed.len() {
        let mut changed = sealed.clone();
        changed[at] ^= 1;
        assert_eq!(key.open_in_place(b"aad", &mut changed), Err(CryptoError::Rejected));
        assert_eq!(changed[..4], [0; 4], "the ciphertext is wiped");
        let mut short = sealed[..at].to_vec();
        assert_eq!(key.open_in_place(b"aad", &mut short), Err(CryptoError::Rejected));
    }
    assert_eq!(key.open_in_place(b"axd", &mut sealed.clone()), Err(CryptoError::Rejected));
    let error = Err(CryptoError::BufferTooSmall);
    assert_eq!(key.seal_in_place(b"", &mut [0; 3 + OVERHEAD], 4), error);
    assert_eq!(key.seal_in_place(b"", &mut [], usize::MAX), error);
    for length in [0, 16, 31, 33] {
        let made = RandomNonceKey::new(&vec![0; length]);
        assert_eq!(made.map(|_| ()).unwrap_err(), CryptoError::InvalidKey);
    }
    assert_eq!(format!("{key:?}"), "RandomNonceKey(..)");
}

//! Keys of records seal and open like other keys, as long as nonces rise.

use tercel_crypto::{AeadAlgorithm, AeadKey, CryptoError, RecordKey, RecordNonces};

const ALGORITHMS: [AeadAlgorithm; 3] =
    [AeadAlgorithm::Aes128Gcm, AeadAlgorithm::Aes256Gcm, AeadAlgorithm::ChaCha20Poly1305];
const NONCES: [RecordNonces; 2] = [RecordNonces::Tls13, RecordNonces::Tls12];
const KEY: [u8; 32] = [0x42; 32];
/// All bits of the bytes that change are tested.
const IV: [u8; 12] = [1, 2, 3, 4, 0xa5, 0x5a, 0x0f, 0xf0, 0x33, 0xcc, 0x81, 0x7e];

fn key(algorithm: AeadAlgorithm, nonces: RecordNonces) -> RecordKey {
    RecordKey::with_nonces(algorithm, nonces, &KEY[..algorithm.key_len()]).unwrap()
}

/// The nonce of a record. RFC 9846 5.3, RFC 5288 3
fn nonce(nonces: RecordNonces, sequence: u64) -> [u8; 12] {
    let (mut nonce, sequence) = (IV, sequence.to_be_bytes());
    for (byte, number) in nonce[4..].iter_mut().zip(sequence) {
        *byte = if nonces == RecordNonces::Tls13 { *byte ^ number } else { number };
    }
    nonce
}

#[test]
fn a_long_stream_of_records_is_that_of_other_keys() {
    for nonces in NONCES {
        for algorithm in ALGORITHMS {
            let mut key = key(algorithm, nonces);
            let reference = AeadKey::new(algorithm, &KEY[..algorithm.key_len()]).unwrap();
            for sequence in 0..70_000 {
                let nonce = nonce(nonces, sequence);
                let (mut sealed, mut expected, mut opened) = ([0; 24], [0; 24], [0; 8]);
                reference.seal(&nonce, b"aad", b"content", &[23], &mut expected).unwrap();
                if sequence % 2 == 0 {
                    key.seal(&nonce, b"aad", b"content", &[23], &mut sealed).unwrap();
                    key.open(&nonce, b"aad", &sealed, &mut opened).unwrap();
                    assert_eq!(&opened, b"content\x17");
                } else {
                    sealed[..7].copy_from_slice(b"content");
                    key.seal_in_place(&nonce, b"aad", &mut sealed, 7, &[23]).unwrap();
                    let mut copy = sealed;
                    let length = key.open_in_place(&nonce, b"aad", &mut copy).unwrap();
                    assert_eq!(&copy[..length], b"content\x17");
                }
                assert_eq!(sealed, expected, "{algorithm:?}, {nonces:?}, {sequence}");
            }
        }
    }
}

#[test]
fn records_open_in_any_order() {
    for nonces in NONCES {
        for algorithm in ALGORITHMS {
            let mut key = key(algorithm, nonces);
            let sealed = [0, 1, 2, 3].map(|sequence| {
                let mut sealed = [0; 20];
                key.seal(&nonce(nonces, sequence), b"", b"text", &[], &mut sealed).unwrap();
                sealed
            });
            // Another key has sealed nothing, like that of the peer.
            for key in [&key, &self::key(algorithm, nonces)] {
                for sequence in [3, 1, 1, 2, 0] {
                    let mut opened = sealed[sequence];
                    let sequence = u64::try_from(sequence).unwrap();
                    key.open_in_place(&nonce(nonces, sequence), b"", &mut opened).unwrap();
                    assert_eq!(&opened[..4], b"text");
                    let mut refused = opened;
                    let other = nonce(nonces, sequence + 1);
                    let error = key.open_in_place(&other, b"", &mut refused).unwrap_err();
                    assert_eq!(error, CryptoError::Rejected);
                }
            }
        }
    }
}

#[test]
fn tls12_may_begin_anywhere_and_tls13_where_its_nonces_allow_it() {
    for nonces in NONCES {
        for algorithm in ALGORITHMS {
            if nonces.begin_at_zero(algorithm) {
                continue;
            }
            for first in [1, 5, 1 << 40] {
                let mut key = key(algorithm, nonces);
                for sequence in first..first + 1000 {
                    let sealed =
                        key.seal(&nonce(nonces, sequence), b"", b"text", &[], &mut [0; 20]);
                    assert_eq!(sealed, Ok(20), "{algorithm:?}, {nonces:?}, {sequence}");
                }
            }
        }
    }
    let begins_at_zero = RecordNonces::Tls13.begin_at_zero(AeadAlgorithm::Aes128Gcm);
    assert_eq!(begins_at_zero, tercel_crypto::fips_module().is_some());
}

/// The check is the FIPS module's own, and the reason why it approves these keys.
#[cfg(feature = "fips")]
#[test]
fn the_fips_module_refuses_nonces_that_do_not_rise() {
    for nonces in NONCES {
        for algorithm in [AeadAlgorithm::Aes128Gcm, AeadAlgorithm::Aes256Gcm] {
            let mut key = key(algorithm, nonces);
            let mut seal = |sequence| {
                key.seal(&nonce(nonces, sequence), b"", b"text", &[], &mut [0; 20]).map(|_| ())
            };
            assert_eq!(seal(0), Ok(()));
            assert_eq!(seal(1), Ok(()));
            assert_eq!(seal(1), Err(CryptoError::LimitExceeded));
            assert_eq!(seal(0), Err(CryptoError::LimitExceeded));
            assert_eq!(seal(2), Ok(()));
            assert_eq!(seal(9), Ok(()), "numbers may be left out");
            assert_eq!(seal(8), Err(CryptoError::LimitExceeded));
            let mut key = key.renew(algorithm, nonces, &[7; 32][..algorithm.key_len()]).unwrap();
            let sealed = key.seal(&nonce(nonces, 0), b"", b"text", &[], &mut [0; 20]);
            assert_eq!(sealed, Ok(20), "a renewed key begins again");
        }
    }
}

#[test]
fn keys_of_a_wrong_length_and_short_buffers_are_refused() {
    for nonces in NONCES {
        for algorithm in ALGORITHMS {
            for len in [0, 15, 17, 31, 33] {
                let made = RecordKey::with_nonces(algorithm, nonces, &vec![0; len]);
                assert_eq!(made.unwrap_err(), CryptoError::InvalidKey);
            }
            let mut key = key(algorithm, nonces);
            let sealed = key.seal(&nonce(nonces, 0), b"", b"text", &[1], &mut [0; 20]);
            assert_eq!(sealed, Err(CryptoError::BufferTooSmall));
            let sealed = key.seal_in_place(&nonce(nonces, 0), b"", &mut [0; 20], 4, &[1]);
            assert_eq!(sealed, Err(CryptoError::BufferTooSmall));
            let opened = key.open(&nonce(nonces, 0), b"", &[0; 15], &mut []);
            assert_eq!(opened, Err(CryptoError::Rejected));
            let opened = key.open_in_place(&nonce(nonces, 0), b"", &mut [0; 15]);
            assert_eq!(opened, Err(CryptoError::Rejected));
            let shown = format!("{key:?}");
            assert_eq!(shown, format!("AeadKey({algorithm:?}, ..)"));
        }
    }
}

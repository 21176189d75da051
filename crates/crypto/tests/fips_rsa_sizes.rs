//! Sizes of RSA keys that AWS-LC's FIPS module approves: from 2048 bits on, and even.

#![cfg(feature = "fips")]

use tercel_crypto::{KeyKind, PublicKey};

/// An `RSAPublicKey` with a modulus of this many bits. RFC 8017 A.1.1
fn public_key(bits: usize) -> Vec<u8> {
    let mut modulus = vec![0; bits.div_ceil(8)];
    modulus[0] = 1 << ((bits - 1) % 8);
    *modulus.last_mut().unwrap() |= 1;
    if modulus[0] & 0x80 != 0 {
        modulus.insert(0, 0);
    }
    let header = |tag: u8, length: usize| {
        let length = u16::try_from(length).unwrap().to_be_bytes();
        [&[tag, 0x82][..], &length].concat()
    };
    let content = [&header(2, modulus.len())[..], &modulus, &[2, 3, 1, 0, 1]].concat();
    [header(0x30, content.len()), content].concat()
}

#[test]
fn odd_sizes_are_refused() {
    for bits in [2048, 3072, 4096] {
        assert!(PublicKey::from_raw(KeyKind::Rsa, &public_key(bits)).is_ok(), "{bits}");
    }
    for bits in [2047, 2049, 3073] {
        assert!(PublicKey::from_raw(KeyKind::Rsa, &public_key(bits)).is_err(), "{bits}");
    }
}

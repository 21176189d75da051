//! Hashes, HMAC, HKDF and the TLS 1.2 PRF against published vectors.

mod support;

use tercel_crypto::{
    Digest, Hash, HashAlgorithm, HmacKey, Prk, Secret, Tls12Prf, hkdf_extract, sha1_name,
};

const ALL: [HashAlgorithm; 3] =
    [HashAlgorithm::Sha256, HashAlgorithm::Sha384, HashAlgorithm::Sha512];

#[test]
fn sha_vectors_whole_and_in_pieces() {
    for vector in support::parse(include_str!("vectors/sha.txt")) {
        let (algorithm, message) = (vector.hash(), vector.bytes("message"));
        let expected = vector.bytes("digest");
        assert_eq!(*Hash::digest(algorithm, &[&message]), *expected);
        for at in 0..message.len() {
            let (head, tail) = message.split_at(at);
            assert_eq!(*Hash::digest(algorithm, &[head, tail]), *expected);
        }
        let mut hash = Hash::new(algorithm);
        message.chunks(1).for_each(|byte| hash.update(byte));
        assert_eq!(hash.algorithm(), algorithm);
        assert_eq!(hash.finish().as_ref(), expected);
    }
}

/// The examples of FIPS 180-4, and the empty message.
#[test]
fn sha1_matches_published_digests() {
    for (message, expected) in [
        ("", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
        ("abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "84983e441c3bd26ebaae4aa1f95129e5e54670f1",
        ),
    ] {
        assert_eq!(sha1_name(message.as_bytes()), *support::unhex(expected));
    }
}

#[test]
fn sha_of_a_million_times_a() {
    let expected = [
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
        "9d0e1809716474cb086e834e310a4a1ced149e9c00f248527972cec5704c2a5b\
         07b8b3dc38ecc4ebae97ddd87f3d8985",
        "e718483d0ce769644e2e42c7bc15b4638e1f98b13b2044285632a803afa973eb\
         de0ff244877ea60a4cb0432ce577c31beb009c5c2c49aa2e4eadb217ad8cc09b",
    ];
    for (algorithm, expected) in ALL.into_iter().zip(expected) {
        let mut hash = Hash::new(algorithm);
        (0..1000).for_each(|_| hash.update(&[b'a'; 1000]));
        assert_eq!(*hash.finish(), *support::unhex(expected));
    }
}

#[test]
fn a_fork_leaves_the_hash_running() {
    for algorithm in ALL {
        // Lengths around the block length, where a fork could disturb the buffered bytes.
        for len in [0, 1, 55, 56, 63, 64, 65, 111, 112, 127, 128, 129, 300] {
            let bytes = vec![0xa5; len];
            let mut hash = Hash::new(algorithm);
            hash.update(&bytes);
            let fork = hash.clone();
            assert_eq!(hash.current_digest(), Hash::digest(algorithm, &[&bytes]));
            hash.update(b"more");
            assert_eq!(hash.finish(), Hash::digest(algorithm, &[&bytes, b"more"]));
            assert_eq!(fork.finish(), Hash::digest(algorithm, &[&bytes]));
        }
    }
}

#[test]
fn lengths_of_the_hashes() {
    let lengths = ALL.map(|hash| (hash.output_len(), hash.block_len()));
    assert_eq!(lengths, [(32, 64), (48, 128), (64, 128)]);
}

#[test]
fn hmac_vectors_whole_and_in_pieces() {
    for vector in support::parse(include_str!("vectors/hmac.txt")) {
        let (message, expected) = (vector.bytes("message"), vector.bytes("tag"));
        let key = HmacKey::new(vector.hash(), &vector.bytes("key"));
        assert_eq!(key.algorithm(), vector.hash());
        // Signs with the same key twice: the first message must leave no state.
        for _ in 0..2 {
            assert_eq!(*key.sign(&[&message]), *expected, "{vector:?}");
            assert_eq!(key.secret_mac(&[&message]).as_bytes(), expected);
        }
        let (head, tail) = message.split_at(message.len() / 3);
        assert_eq!(*key.sign(&[head, b"", tail]), *expected);
        assert!(key.verify(&[head, tail], &expected));
        for at in 0..expected.len() {
            let mut wrong = expected.clone();
            wrong[at] ^= 0x10;
            assert!(!key.verify(&[&message], &wrong));
            assert!(!key.verify(&[&message], &expected[..at]));
        }
    }
}

#[test]
fn hmac_keys_around_the_block_length() {
    // A key shorter than a block is padded with zeros; a longer key is hashed first (RFC 2104 2).
    for algorithm in ALL {
        let block_len = algorithm.block_len();
        let mut padded = vec![7; block_len - 1];
        let short = HmacKey::new(algorithm, &padded).sign(&[b"m"]);
        padded.push(0);
        assert_eq!(HmacKey::new(algorithm, &padded).sign(&[b"m"]), short);
        padded.push(0);
        let hashed = Hash::digest(algorithm, &[&padded]);
        assert_eq!(
            HmacKey::new(algorithm, &padded).sign(&[b"m"]),
            HmacKey::new(algorithm, &hashed).sign(&[b"m"])
        );
        assert_ne!(HmacKey::new(algorithm, &padded).sign(&[b"m"]), short);
    }
}

#[test]
fn an_hmac_key_is_small() {
    // Handshake futures hold several of these keys, so a key must be small.
    assert!(size_of::<HmacKey>() <= 144);
    assert!(size_of::<Hash>() <= 224);
    assert!(size_of::<Digest>() <= 72);
    assert!(size_of::<Secret>() <= 72);
}

/// RFC 5869 2.2, 2.3
#[test]
fn hkdf_vectors() {
    for vector in support::parse(include_str!("vectors/hkdf.txt")) {
        let algorithm = vector.hash();
        let (salt, ikm) = (vector.bytes("salt"), vector.bytes("ikm"));
        let (info, expected) = (vector.bytes("info"), vector.bytes("okm"));
        let bytes = hkdf_extract(algorithm, &salt, &ikm);
        if vector.optional("prk").is_some() {
            assert_eq!(bytes.as_bytes(), vector.bytes("prk"));
        }
        for prk in
            [Prk::extract(algorithm, &salt, &ikm), Prk::from_bytes(algorithm, bytes.as_bytes())]
        {
            let mut out = vec![0; expected.len()];
            prk.expand(&[&info], &mut out);
            assert_eq!(out, expected, "{vector:?}");
            let (head, tail) = info.split_at(info.len() / 2);
            out.fill(0);
            prk.expand(&[head, tail], &mut out);
            assert_eq!(out, expected);
            if expected.len() <= Secret::MAX_LEN {
                let secret = prk.expand_secret(&[&info], expected.len());
                assert_eq!(secret.as_bytes(), expected);
            }
        }
    }
}

#[test]
fn a_shorter_expansion_is_a_prefix_of_a_longer_one() {
    for algorithm in ALL {
        let prk = Prk::from_bytes(algorithm, &[3; 64]);
        let mut longest = vec![0; prk.max_output_len()];
        assert_eq!(longest.len(), 255 * algorithm.output_len());
        prk.expand(&[b"info"], &mut longest);
        for len in [0, 1, 12, 31, 32, 33, 48, 64, 65, 128, 200, 1000, longest.len() - 1] {
            let mut out = vec![0; len];
            prk.expand(&[b"info"], &mut out);
            assert_eq!(out, longest[..len]);
        }
        // The first block is the MAC of info and 1.
        let first = prk.hmac().sign(&[b"info", &[1]]);
        assert_eq!(longest[..algorithm.output_len()], *first);
        // The last block is the MAC of the previous one, info and 255.
        let (rest, last) = longest.split_at(longest.len() - algorithm.output_len());
        let previous = &rest[rest.len() - algorithm.output_len()..];
        assert_eq!(*last, *prk.hmac().sign(&[previous, b"info", &[255]]));
    }
}

#[test]
#[should_panic(expected = "HKDF-Expand of 8161 bytes")]
fn an_expansion_beyond_255_blocks_panics() {
    Prk::from_bytes(HashAlgorithm::Sha256, &[3; 32]).expand(&[], &mut [0; 8161]);
}

#[test]
fn prf_vectors() {
    for vector in support::parse(include_str!("vectors/prf.txt")) {
        let (label, seed) = (vector.bytes("label"), vector.bytes("seed"));
        let expected = vector.bytes("output");
        let prf = Tls12Prf::new(vector.hash(), &vector.bytes("secret"));
        let (head, tail) = seed.split_at(5);
        for len in [0, 1, 12, 31, 32, 33, 47, 48, 49, 64, 72, 96, 97, expected.len()] {
            let mut out = vec![0xee; len];
            prf.fill(&label, &[&seed], &mut out);
            assert_eq!(out, expected[..len]);
            out.fill(0);
            prf.fill(&label, &[head, tail], &mut out);
            assert_eq!(out, expected[..len]);
        }
    }
}

#[test]
fn debug_shows_no_key() {
    let key = HmacKey::new(HashAlgorithm::Sha256, b"hunter2");
    assert_eq!(format!("{key:?}"), "HmacKey(Sha256, ..)");
    let prk = Prk::from_bytes(HashAlgorithm::Sha384, b"hunter2");
    assert_eq!(format!("{prk:?}"), "Prk(Sha384, ..)");
    let prf = Tls12Prf::new(HashAlgorithm::Sha384, b"hunter2");
    assert_eq!(format!("{prf:?}"), "Tls12Prf(Sha384, ..)");
    assert_eq!(format!("{:?}", Hash::new(HashAlgorithm::Sha512)), "Hash(Sha512, ..)");
    let digest = Hash::digest(HashAlgorithm::Sha256, &[b"abc"]);
    assert!(format!("{digest:?}").starts_with("Digest(ba7816bf"));
}

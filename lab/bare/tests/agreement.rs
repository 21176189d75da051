//! The bare calls compute what the wrappers compute. They ignore return codes, so without these
//! tests a call that fails could be timed.

use lab_bare::{self as bare, AeadName};
use tercel_crypto::{
    AeadAlgorithm, AeadKey, Hash, HashAlgorithm, HmacKey, KeyExchange, KeyExchangeAlgorithm,
    KeyKind, PublicKey, SignatureAlgorithm, SigningKey, Tls12Prf,
};

const MESSAGE: [u8; 146] = [8; 146];

#[test]
fn aeads() {
    for (algorithm, name) in [
        (AeadAlgorithm::Aes128Gcm, AeadName::Aes128Gcm),
        (AeadAlgorithm::Aes256Gcm, AeadName::Aes256Gcm),
        (AeadAlgorithm::ChaCha20Poly1305, AeadName::ChaCha20Poly1305),
    ] {
        let ours = AeadKey::new(algorithm, &[7; 32][..algorithm.key_len()]).unwrap();
        let theirs = bare::Aead::new(name);
        let (nonce, aad, extra) = ([1; 12], [2; 5], [23]);
        let (mut expected, mut sealed) = ([0; 163], [0; 163]);
        ours.seal(&nonce, &aad, &MESSAGE, &extra, &mut expected).unwrap();
        theirs.seal(&nonce, &aad, &MESSAGE, &extra, &mut sealed);
        assert_eq!(sealed, expected, "{algorithm:?}");

        let mut opened = [0; 147];
        theirs.open(&nonce, &aad, &sealed, &mut opened);
        assert_eq!(opened, *[&MESSAGE[..], &extra].concat(), "{algorithm:?}");
        sealed[0] ^= 1;
        theirs.open(&nonce, &aad, &sealed, &mut opened);
        assert_eq!(opened, [0; 147], "{algorithm:?}");
    }
}

#[test]
fn hashes_and_macs() {
    assert_eq!(bare::sha256(&MESSAGE), *Hash::digest(HashAlgorithm::Sha256, &[&MESSAGE]));
    assert_eq!(bare::sha384(&MESSAGE), *Hash::digest(HashAlgorithm::Sha384, &[&MESSAGE]));
    for (algorithm, sha384) in [(HashAlgorithm::Sha256, false), (HashAlgorithm::Sha384, true)] {
        let secret = [6; 48];
        let expected = HmacKey::new(algorithm, &secret).sign(&[&MESSAGE]);
        let mut context = bare::HmacContext::new(sha384, &secret);
        let precomputed = bare::HmacPrecomputed::new(sha384, &secret);
        // The second MAC shows that the first one leaves the key unchanged.
        for _ in 0..2 {
            let (first, rest) = MESSAGE.split_at(100);
            assert_eq!(context.mac(&[first, rest])[..algorithm.output_len()], *expected);
            assert_eq!(precomputed.mac(&MESSAGE)[..algorithm.output_len()], *expected);
        }
        let (mut expected, mut out) = ([0; 72], [0; 72]);
        Tls12Prf::new(algorithm, &secret).fill(b"key expansion", &[&[1; 64]], &mut expected);
        bare::tls1_prf(sha384, &secret, b"key expansion", &[1; 64], &mut out);
        assert_eq!(out, expected, "{algorithm:?}");
    }
}

#[test]
fn random_bytes_differ() {
    let mut outs = [[0; 32]; 2];
    outs.iter_mut().for_each(|out| bare::random(out));
    assert_ne!(outs[0], outs[1]);
    assert!(!outs.contains(&[0; 32]));
}

#[test]
fn key_exchange() {
    let (public, private) = bare::x25519_keypair();
    let (share, secret) = KeyExchange::respond(KeyExchangeAlgorithm::X25519, &public).unwrap();
    assert_eq!(bare::x25519(&private, share[..].try_into().unwrap()), *secret.as_bytes());

    let (key, point) = bare::P256::generate();
    let (share, secret) = KeyExchange::respond(KeyExchangeAlgorithm::P256, &point).unwrap();
    assert_eq!(key.agree(share[..].try_into().unwrap()), *secret.as_bytes());

    let (key, encapsulation_key) = bare::MlKem768::generate();
    let client_share = [&encapsulation_key[..], &public].concat();
    let algorithm = KeyExchangeAlgorithm::X25519MlKem768;
    let (share, secret) = KeyExchange::respond(algorithm, &client_share).unwrap();
    let (ciphertext, peer) = share.split_at(1088);
    let of_x25519 = bare::x25519(&private, peer.try_into().unwrap());
    assert_eq!([key.decapsulate(ciphertext), of_x25519].concat(), secret.as_bytes());
    let (ciphertext, secret) = bare::MlKem768::encapsulate(&encapsulation_key);
    assert_eq!(key.decapsulate(&ciphertext), secret);
}

#[test]
fn signatures() {
    let (key, point) = bare::P256::generate();
    let (signature, len) = key.sign(&MESSAGE);
    let signature = &signature[..len as usize];
    let public = PublicKey::from_raw(KeyKind::EcdsaP256, &point).unwrap();
    public.verify(SignatureAlgorithm::EcdsaSha256, &MESSAGE, signature).unwrap();
    assert!(key.verify(&MESSAGE, signature));
    assert!(!key.verify(&MESSAGE[1..], signature));

    let pair = rcgen::KeyPair::generate_for(&rcgen::PKCS_RSA_SHA256).unwrap();
    let ours = SigningKey::from_der(pair.serialized_der()).unwrap();
    let public = PublicKey::from_spki(&ours.public_key_spki()).unwrap();
    // The PKCS#8 encoding of an RSA-2048 key has a header of 26 bytes before the PKCS#1 encoding.
    let key = bare::Rsa2048::from_pkcs1(&pair.serialized_der()[26..]);
    public.verify(SignatureAlgorithm::RsaPssSha256, &MESSAGE, &key.sign_pss(&MESSAGE)).unwrap();
    let signature = ours.sign(SignatureAlgorithm::RsaPssSha256, &MESSAGE).unwrap();
    assert!(key.verify_pss(&MESSAGE, &signature));
    assert!(!key.verify_pss(&MESSAGE[1..], &signature));

    let (raw, private) = bare::ed25519_expand(&[9; 32]);
    let signature = bare::ed25519_sign(&private, &MESSAGE);
    let public = PublicKey::from_raw(KeyKind::Ed25519, &raw).unwrap();
    public.verify(SignatureAlgorithm::Ed25519, &MESSAGE, &signature).unwrap();
    assert!(bare::ed25519_verify(&raw, &MESSAGE, &signature));
    assert!(!bare::ed25519_verify(&raw, &MESSAGE[1..], &signature));
}

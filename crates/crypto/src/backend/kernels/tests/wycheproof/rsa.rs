//! Signatures, and what private keys compute.

use super::json::Json;
use super::{each_vector, folder};
use crate::algorithm::HashAlgorithm;
use crate::backend::kernels::rsa::MODULUS_LEN;
use crate::backend::kernels::rsa::comparison::{recover_by_all, sign_by_all};
use crate::backend::kernels::rsa::raw_key::RawKey;
use crate::backend::rsa::{Padding, RsaKey};
use crate::hash::Hash;
use crate::{SignatureAlgorithm, SigningKey};

type Bytes = [u8; MODULUS_LEN];

fn hash_of(name: &str) -> Option<HashAlgorithm> {
    match name {
        "SHA-256" => Some(HashAlgorithm::Sha256),
        "SHA-384" => Some(HashAlgorithm::Sha384),
        "SHA-512" => Some(HashAlgorithm::Sha512),
        _ => None,
    }
}

/// The hash of a group whose signatures this crate verifies: PSS has one hash throughout, and a
/// salt of its length.
fn supported_hash(group: &Json, padding: Padding) -> Option<HashAlgorithm> {
    let hash = hash_of(group.text("sha"))?;
    let is_supported = padding == Padding::Pkcs1
        || group.text("mgfSha") == group.text("sha")
            && group.text("sLen") == hash.output_len().to_string();
    is_supported.then_some(hash)
}

/// The modulus, if it has 2048 bits and the exponent is 65537. It begins with a zero.
fn modulus(key: &Json) -> Option<Bytes> {
    let (n, e) = (key.bytes("modulus"), key.bytes("publicExponent"));
    let is_supported = n.len() == MODULUS_LEN + 1 && n[1] >= 0x80 && e == [1, 0, 1];
    is_supported.then(|| n[1..].try_into().unwrap())
}

/// Each file of signatures is checked in two ways: the block of every signature, with any padding
/// and hash, is compared with AWS-LC's, and signatures that this crate supports are verified.
#[test]
fn verification() {
    let Some(folder) = folder() else { return };
    let (mut blocks, mut verified) = (0, [0; 2]);
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| {
            name.starts_with("rsa_signature_2048")
                || name.starts_with("rsa_pss_2048")
                || name.starts_with("rsa_pss_misc")
        })
        .collect();
    files.sort();
    for file in files {
        let padding = if file.contains("pss") { Padding::Pss } else { Padding::Pkcs1 };
        each_vector(&file, |group, vector| {
            let Some(n) = modulus(group.get("publicKey").unwrap()) else { return false };
            let signature = vector.bytes("sig");
            let mut found = None;
            if let Ok(signature) = signature.as_slice().try_into() {
                blocks += 1;
                found = recover_by_all(&n, signature);
            }
            let Some(hash) = supported_hash(group, padding) else { return true };
            let key = RsaKey::public_from_der(&group.bytes("publicKeyAsn")).unwrap();
            assert_eq!(key.uses_kernel_to_verify(), crate::backend::kernels::rsa::is_available());
            let digest = Hash::digest(hash, &[&vector.bytes("msg")]);
            let is_accepted = key.verify(padding, hash, &digest, &signature).is_ok();
            // "Acceptable" are encodings that RFC 8017 does not permit, and that some accept.
            assert_eq!(is_accepted, vector.text("result") == "valid", "{}", vector.text("tcId"));
            assert!(!is_accepted || found.is_some());
            verified[usize::from(is_accepted)] += 1;
            true
        });
    }
    println!("{blocks} blocks; {verified:?} refused and verified");
    assert!(blocks > 3000 && verified[0] > 800 && verified[1] > 100);
}

/// PKCS#1 signatures are unique.
#[test]
fn signing() {
    let mut by_kernel = 0;
    let checked = each_vector("rsa_pkcs1_2048_sig_gen_test.json", |group, vector| {
        let algorithm = match group.text("sha") {
            "SHA-256" => SignatureAlgorithm::RsaPkcs1Sha256,
            "SHA-384" => SignatureAlgorithm::RsaPkcs1Sha384,
            "SHA-512" => SignatureAlgorithm::RsaPkcs1Sha512,
            _ => return false,
        };
        let key = SigningKey::from_der(&group.bytes("privateKeyPkcs8")).unwrap();
        let signature = key.sign(algorithm, &vector.bytes("msg")).unwrap();
        assert_eq!(signature, vector.bytes("sig"), "{}", vector.text("tcId"));
        by_kernel += usize::from(modulus(group.get("privateKey").unwrap()).is_some());
        true
    });
    println!("{by_kernel} by keys that the kernel supports");
    assert!(checked > 20);
}

/// The private-key operation on ciphertexts of PKCS#1, whose plaintext is known. TLS 1.2 with RSA
/// key exchange is not supported; the numbers are those of a signature.
#[test]
fn private_key_operation() {
    let checked = each_vector("rsa_pkcs1_2048_test.json", |group, vector| {
        let key = group.get("privateKey").unwrap();
        let (Some(_), Ok(block)) = (modulus(key), vector.bytes("ct").try_into()) else {
            return false;
        };
        let prime = |name| {
            let bytes: Vec<u8> = key.bytes(name);
            bytes[bytes.len() - MODULUS_LEN / 2..].try_into().unwrap()
        };
        let raw = RawKey::private(&prime("prime1"), &prime("prime2")).unwrap();
        // A ciphertext that is not less than the modulus has no result.
        let Some(result) = sign_by_all(&raw, &block) else { return false };
        let plaintext = [&[0][..], &vector.bytes("msg")].concat();
        let is_valid = vector.text("result") == "valid";
        assert!(!is_valid || result.starts_with(&[0, 2]) && result.ends_with(&plaintext));
        true
    });
    assert!(checked > 50, "{checked} vectors");
}

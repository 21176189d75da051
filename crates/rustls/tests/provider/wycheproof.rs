//! Wycheproof's vectors through rustls' interfaces, if a user has them.
//!
//! They are not part of this repository. `TERCEL_WYCHEPROOF` names the folder that has them, which
//! is `testvectors_v1` in a checkout of <https://github.com/C2SP/wycheproof>.

use std::path::PathBuf;
use std::{env, fs};

use rustls::crypto::cipher::{AeadKey, Iv};
use rustls::crypto::tls13::OkmBlock;
use rustls::pki_types::{AlgorithmIdentifier, SignatureVerificationAlgorithm, alg_id};
use rustls::{SupportedCipherSuite, Tls13CipherSuite};
use serde_json::Value;
use tercel_rustls::cipher_suite::{
    TLS13_AES_128_GCM_SHA256, TLS13_AES_256_GCM_SHA384, TLS13_CHACHA20_POLY1305_SHA256,
};
use tercel_rustls::default_provider;

use crate::support::hex;

/// Calls `check` with each group of the file and each of its vectors. Returns for how many vectors
/// `check` returned whether the vector was accepted, which has to be the result.
fn each_vector(file: &str, mut check: impl FnMut(&Value, &Value) -> Option<bool>) -> usize {
    let Some(folder) = env::var_os("TERCEL_WYCHEPROOF").map(PathBuf::from) else {
        println!("absent: TERCEL_WYCHEPROOF does not name a folder");
        return usize::MAX;
    };
    let text = fs::read_to_string(folder.join(file)).unwrap();
    let json: Value = serde_json::from_str(&text).unwrap();
    let mut checked = 0;
    for group in json["testGroups"].as_array().unwrap() {
        for vector in group["tests"].as_array().unwrap() {
            let Some(is_accepted) = check(group, vector) else { continue };
            let is_valid = vector["result"] == "valid";
            assert_eq!(is_accepted, is_valid, "{file} {} {}", vector["tcId"], vector["comment"]);
            checked += 1;
        }
    }
    println!("{file}: {checked} of {} vectors", json["numberOfTests"]);
    checked
}

fn bytes(value: &Value) -> Vec<u8> {
    hex(value.as_str().unwrap())
}

fn algorithm(
    key: AlgorithmIdentifier,
    signature: AlgorithmIdentifier,
) -> &'static dyn SignatureVerificationAlgorithm {
    let all = default_provider().signature_verification_algorithms.all;
    *all.iter()
        .find(|one| one.public_key_alg_id() == key && one.signature_alg_id() == signature)
        .unwrap()
}

/// Verifies the signatures of a file, whose groups have the key here.
fn signatures(
    file: &str,
    (key, signature): (AlgorithmIdentifier, AlgorithmIdentifier),
    public_key: impl Fn(&Value) -> Vec<u8>,
) -> usize {
    let algorithm = algorithm(key, signature);
    each_vector(file, |group, vector| {
        let (message, signature) = (bytes(&vector["msg"]), bytes(&vector["sig"]));
        Some(algorithm.verify_signature(&public_key(group), &message, &signature).is_ok())
    })
}

#[test]
fn ecdsa() {
    for (file, key, signature) in [
        ("ecdsa_secp256r1_sha256_test.json", alg_id::ECDSA_P256, alg_id::ECDSA_SHA256),
        ("ecdsa_secp256r1_sha512_test.json", alg_id::ECDSA_P256, alg_id::ECDSA_SHA512),
        ("ecdsa_secp384r1_sha256_test.json", alg_id::ECDSA_P384, alg_id::ECDSA_SHA256),
        ("ecdsa_secp384r1_sha384_test.json", alg_id::ECDSA_P384, alg_id::ECDSA_SHA384),
        ("ecdsa_secp384r1_sha512_test.json", alg_id::ECDSA_P384, alg_id::ECDSA_SHA512),
        ("ecdsa_secp521r1_sha512_test.json", alg_id::ECDSA_P521, alg_id::ECDSA_SHA512),
    ] {
        let checked =
            signatures(file, (key, signature), |group| bytes(&group["publicKey"]["uncompressed"]));
        assert!(checked > 300, "{file}");
    }
}

#[test]
fn ed25519() {
    let ids = (alg_id::ED25519, alg_id::ED25519);
    let checked = signatures("ed25519_test.json", ids, |group| bytes(&group["publicKey"]["pk"]));
    assert!(checked > 100);
}

/// Signatures of TLS have an empty context, and the vectors with another one are left out.
#[test]
fn ml_dsa() {
    for (file, id) in [
        ("mldsa_44_verify_test.json", alg_id::ML_DSA_44),
        ("mldsa_65_verify_test.json", alg_id::ML_DSA_65),
        ("mldsa_87_verify_test.json", alg_id::ML_DSA_87),
    ] {
        let algorithm = algorithm(id, id);
        let checked = each_vector(file, |group, vector| {
            let [message, signature] = ["msg", "sig"].map(|name| bytes(&vector[name]));
            let has_context = vector.get("ctx").is_some_and(|context| context != "");
            let verify =
                || algorithm.verify_signature(&bytes(&group["publicKey"]), &message, &signature);
            (!has_context).then(|| verify().is_ok())
        });
        assert!(checked > 30, "{file}");
    }
}

#[test]
fn rsa_pkcs1() {
    for (file, signature) in [
        ("rsa_signature_2048_sha256_test.json", alg_id::RSA_PKCS1_SHA256),
        ("rsa_signature_2048_sha384_test.json", alg_id::RSA_PKCS1_SHA384),
        ("rsa_signature_2048_sha512_test.json", alg_id::RSA_PKCS1_SHA512),
        ("rsa_signature_3072_sha256_test.json", alg_id::RSA_PKCS1_SHA256),
        ("rsa_signature_4096_sha512_test.json", alg_id::RSA_PKCS1_SHA512),
    ] {
        let ids = (alg_id::RSA_ENCRYPTION, signature);
        let checked = signatures(file, ids, |group| bytes(&group["publicKeyAsn"]));
        assert!(checked > 200, "{file}");
    }
}

#[test]
fn rsa_pss() {
    for (file, signature) in [
        ("rsa_pss_2048_sha256_mgf1_32_test.json", alg_id::RSA_PSS_SHA256),
        ("rsa_pss_2048_sha384_mgf1_48_test.json", alg_id::RSA_PSS_SHA384),
        ("rsa_pss_4096_sha256_mgf1_32_test.json", alg_id::RSA_PSS_SHA256),
        ("rsa_pss_4096_sha512_mgf1_64_test.json", alg_id::RSA_PSS_SHA512),
    ] {
        let ids = (alg_id::RSA_ENCRYPTION, signature);
        let checked = signatures(file, ids, |group| bytes(&group["publicKeyAsn"]));
        assert!(checked > 50, "{file}");
    }
}

fn tls13(suite: SupportedCipherSuite) -> &'static Tls13CipherSuite {
    suite.tls13().unwrap()
}

/// Packets of QUIC: the IV is the nonce of packet 0. rustls makes keys of 32 bytes only.
fn aead(file: &str, suite: SupportedCipherSuite) -> usize {
    let quic = tls13(suite).quic.unwrap();
    each_vector(file, |_, vector| {
        let [key, iv, aad, plaintext, ciphertext, tag] =
            ["key", "iv", "aad", "msg", "ct", "tag"].map(|name| bytes(&vector[name]));
        let (key, iv) = (<[u8; 32]>::try_from(key).ok()?, <[u8; 12]>::try_from(iv).ok()?);
        if tag.len() != 16 {
            return None;
        }
        let packet = quic.packet_key(AeadKey::from(key), Iv::from(iv));
        let mut sealed = plaintext.clone();
        let made = packet.encrypt_in_place(0, &aad, &mut sealed).unwrap();
        let is_equal = (&sealed, made.as_ref()) == (&ciphertext, &tag[..]);
        let mut received = [ciphertext, tag].concat();
        let opened = packet.decrypt_in_place(0, &aad, &mut received);
        assert_eq!(opened.is_ok(), is_equal, "{file} {}", vector["tcId"]);
        assert!(opened.map_or(true, |opened| opened == plaintext));
        Some(is_equal)
    })
}

#[test]
fn aead_algorithms() {
    assert!(aead("aes_gcm_test.json", TLS13_AES_256_GCM_SHA384) > 50);
    assert!(aead("chacha20_poly1305_test.json", TLS13_CHACHA20_POLY1305_SHA256) > 250);
}

#[test]
fn hkdf() {
    for (file, suite) in [
        ("hkdf_sha256_test.json", TLS13_AES_128_GCM_SHA256),
        ("hkdf_sha384_test.json", TLS13_AES_256_GCM_SHA384),
    ] {
        let checked = each_vector(file, |_, vector| {
            let [ikm, salt, info, okm] =
                ["ikm", "salt", "info", "okm"].map(|name| bytes(&vector[name]));
            let length = usize::try_from(vector["size"].as_u64().unwrap()).unwrap();
            let hkdf = tls13(suite).hkdf_provider;
            let salt = (!salt.is_empty()).then_some(&salt[..]);
            let prk = hkdf.extract_from_secret(salt, &ikm);
            let mut out = vec![0; length];
            let expanded = prk.expand_slice(&[&info], &mut out);
            Some(expanded.is_ok() && out == okm)
        });
        assert!(checked > 50, "{file}");
    }
}

#[test]
fn hmac() {
    for (file, suite) in [
        ("hmac_sha256_test.json", TLS13_AES_128_GCM_SHA256),
        ("hmac_sha384_test.json", TLS13_AES_256_GCM_SHA384),
    ] {
        let checked = each_vector(file, |group, vector| {
            let (key, message, tag) =
                (bytes(&vector["key"]), bytes(&vector["msg"]), bytes(&vector["tag"]));
            // rustls' type for keys has no room for longer ones.
            if key.len() > OkmBlock::MAX_LEN {
                return None;
            }
            let made = tls13(suite).hkdf_provider.hmac_sign(&OkmBlock::new(&key), &message);
            let length = usize::try_from(group["tagSize"].as_u64().unwrap() / 8).unwrap();
            Some(made.as_ref()[..length] == tag)
        });
        assert!(checked > 100, "{file}");
    }
}

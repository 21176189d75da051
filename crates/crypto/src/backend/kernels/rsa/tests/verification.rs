//! Verification with the kernel: wrong signatures of every kind are refused, and every answer is
//! AWS-LC's.

use super::super::number::MODULUS_LEN;
use super::super::self_test::Bytes;
use super::keys::TestKey;
use super::*;
use crate::algorithm::HashAlgorithm;
use crate::backend::rsa::{Padding, RsaKey};
use crate::error::CryptoError;
use crate::hash::Hash;

const HASHES: [HashAlgorithm; 3] =
    [HashAlgorithm::Sha256, HashAlgorithm::Sha384, HashAlgorithm::Sha512];

/// Verifies by the kernel and by AWS-LC, which must agree.
fn is_accepted(
    key: &TestKey,
    public: &RsaKey,
    (padding, hash): (Padding, HashAlgorithm),
    digest: &[u8],
    signature: &[u8],
) -> bool {
    let found = public.verify(padding, hash, digest, signature);
    assert!(matches!(found, Ok(()) | Err(CryptoError::Rejected)));
    assert_eq!(found.is_ok(), key.verify_by_aws_lc(padding, hash, digest, signature));
    found.is_ok()
}

fn public_key(key: &TestKey) -> RsaKey {
    let public = RsaKey::public_from_der(&key.public_der()).unwrap();
    assert_eq!(public.uses_kernel_to_verify(), Avx512::detect().is_some());
    public
}

#[test]
fn signatures_are_accepted_and_changed_ones_refused() {
    let key = TestKey::generate();
    let public = public_key(&key);
    for hash in HASHES {
        let digest = Hash::digest(hash, &[b"message"]);
        let other = Hash::digest(hash, &[b"another"]);
        for padding in [Padding::Pkcs1, Padding::Pss] {
            let kind = (padding, hash);
            let signature = key.sign_by_aws_lc(padding, hash, &digest);
            assert!(is_accepted(&key, &public, kind, &digest, &signature));
            assert!(!is_accepted(&key, &public, kind, &other, &signature));
            for bit in (0..8 * MODULUS_LEN).step_by(37) {
                let mut changed = signature.clone();
                changed[bit / 8] ^= 1 << (bit % 8);
                assert!(!is_accepted(&key, &public, kind, &digest, &changed), "bit {bit}");
            }
            // Shorter, longer, and with an additional zero at either end.
            for len in [0, 1, MODULUS_LEN - 1] {
                assert!(!is_accepted(&key, &public, kind, &digest, &signature[..len]));
            }
            for changed in [[&signature[..], &[0]].concat(), [&[0], &signature[..]].concat()] {
                assert!(!is_accepted(&key, &public, kind, &digest, &changed));
            }
        }
    }
    let signature = key.sign_by_aws_lc(Padding::Pss, HASHES[0], &[7; 32]);
    assert!(!is_accepted(&key, &public, (Padding::Pkcs1, HASHES[0]), &[7; 32], &signature));
}

/// The signature plus the modulus has the same power, but is not less than the modulus.
#[test]
fn a_signature_that_is_not_less_than_the_modulus_is_refused() {
    let key = TestKey::generate();
    let public = public_key(&key);
    let n = Big::from_bytes(&key.n);
    let kind = (Padding::Pkcs1, HASHES[0]);
    // The sum has 2048 bits only for a small signature, so a digest is searched.
    let (digest, sum) = (0_u32..)
        .find_map(|number| {
            let digest = Hash::digest(HASHES[0], &[&number.to_be_bytes()]);
            let signature = key.sign_by_aws_lc(kind.0, kind.1, &digest);
            let sum = Big::from_bytes(&signature);
            // SAFETY: the numbers are valid.
            unsafe { assert_eq!(lc::BN_add(sum.0, sum.0, n.0), 1) };
            (sum < Big::power_of_two(2048)).then(|| (digest, sum.to_bytes::<MODULUS_LEN>()))
        })
        .unwrap();
    assert!(!is_accepted(&key, &public, kind, &digest, &sum));
    for signature in [key.n, [0; MODULUS_LEN], [0xff; MODULUS_LEN]] {
        for padding in [Padding::Pkcs1, Padding::Pss] {
            assert!(!is_accepted(&key, &public, (padding, kind.1), &digest, &signature));
        }
    }
}

/// RFC 8017 8.2.2, 9.2. The signer signs any block.
#[test]
fn blocks_other_than_the_encoding_of_the_digest_are_refused() {
    let key = TestKey::generate();
    let public = public_key(&key);
    for hash in HASHES {
        let digest = Hash::digest(hash, &[b"message"]);
        let kind = (Padding::Pkcs1, hash);
        let accepts = |block: &Bytes| {
            is_accepted(&key, &public, kind, &digest, &key.sign_raw_by_aws_lc(block))
        };
        let right: Bytes = key.recover_by_aws_lc(&key.sign_by_aws_lc(kind.0, hash, &digest));
        assert!(accepts(&right));
        // Each byte of the padding, of DigestInfo, and of the digest. The first byte remains
        // less than that of the modulus.
        for at in 0..MODULUS_LEN {
            let mut wrong = right;
            wrong[at] ^= if at == 0 { 0x40 } else { 0x21 };
            assert!(!accepts(&wrong), "byte {at}");
        }
        let info = MODULUS_LEN - digest.len() - 19;
        // Padding that is shorter, with bytes after the digest (the attack on small exponents).
        let mut wrong = right;
        wrong[info - 20..MODULUS_LEN - 20].copy_from_slice(&right[info..]);
        wrong[info - 21] = 0;
        wrong[MODULUS_LEN - 20..].fill(0x17);
        assert!(!accepts(&wrong));
        // DigestInfo without parameters, and longer padding.
        let mut info_bytes = right[info..].to_vec();
        info_bytes.drain(15..17);
        (info_bytes[1], info_bytes[3]) = (info_bytes[1] - 2, info_bytes[3] - 2);
        let mut wrong = right;
        wrong[info..info + 2].copy_from_slice(&[0xff, 0]);
        wrong[info - 1] = 0xff;
        wrong[info + 2..].copy_from_slice(&info_bytes);
        assert!(!accepts(&wrong));
        // The digest alone, the type of encryption, and the DigestInfo of another hash.
        let mut wrong = right;
        wrong[info - 1..MODULUS_LEN - digest.len() - 1].fill(0xff);
        wrong[MODULUS_LEN - digest.len() - 1] = 0;
        assert!(!accepts(&wrong));
        let mut wrong = right;
        wrong[1] = 2;
        assert!(!accepts(&wrong));
        let mut wrong = right;
        wrong[info + 14] = wrong[info + 14] % 3 + 1;
        assert!(!accepts(&wrong));
    }
}

/// RFC 8017 9.1.2
#[test]
fn blocks_of_pss_with_another_salt_length_or_changed_are_refused() {
    let key = TestKey::generate();
    let public = public_key(&key);
    for hash in HASHES {
        let digest = Hash::digest(hash, &[b"message"]);
        let accepts = |block: &Bytes| {
            let signature = key.sign_raw_by_aws_lc(block);
            is_accepted(&key, &public, (Padding::Pss, hash), &digest, &signature)
        };
        let len = digest.len() as i32;
        assert!(accepts(&key.encode_pss(hash, hash, &digest, len)));
        for salt_len in [0, 1, len - 1, len + 1, 2 * len] {
            assert!(!accepts(&key.encode_pss(hash, hash, &digest, salt_len)), "{salt_len}");
        }
        for mgf in HASHES.into_iter().filter(|mgf| *mgf != hash) {
            assert!(!accepts(&key.encode_pss(hash, mgf, &digest, len)));
        }
        let right = key.encode_pss(hash, hash, &digest, len);
        for at in (1..MODULUS_LEN).step_by(3).chain([MODULUS_LEN - 1]) {
            let mut wrong = right;
            wrong[at] ^= 4;
            assert!(!accepts(&wrong), "byte {at}");
        }
    }
}

/// The kernel supports one size and one exponent; the others are verified by AWS-LC.
#[test]
fn other_sizes_and_exponents_are_aws_lcs() {
    for (bits, e) in [(2048, 3), (2048, 257), (3072, 65537), (2176, 65537)] {
        let key = TestKey::generate_with(bits, e);
        let public = RsaKey::public_from_der(&key.public_der()).unwrap();
        assert!(!public.uses_kernel_to_verify(), "{bits} bits, {e}");
        let signature = key.sign_by_aws_lc(Padding::Pss, HASHES[0], &[7; 32]);
        public.verify(Padding::Pss, HASHES[0], &[7; 32], &signature).unwrap();
        assert!(public.verify(Padding::Pss, HASHES[0], &[8; 32], &signature).is_err());
    }
}

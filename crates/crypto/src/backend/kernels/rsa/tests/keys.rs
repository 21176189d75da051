//! Random keys of AWS-LC, and its operations on them.

use super::super::number::MODULUS_LEN;
use super::super::raw_key::RawKey;
use super::super::self_test::Bytes;
use super::*;
use crate::algorithm::HashAlgorithm;
use crate::backend::rsa::{Padding, md, nid};

pub(super) struct TestKey {
    pub(super) rsa: *mut lc::RSA,
    /// The modulus, if it has 2048 bits.
    pub(super) n: Bytes,
}

impl TestKey {
    pub(super) fn generate() -> Self {
        Self::generate_with(2048, 65537)
    }

    pub(super) fn generate_with(bits: i32, e: u64) -> Self {
        let exponent = Big::zero();
        // SAFETY: the numbers are valid, and the key is owned.
        let rsa = unsafe {
            assert_eq!(lc::BN_set_word(exponent.0, e), 1);
            let rsa = lc::RSA_new();
            let none = ptr::null_mut();
            assert_eq!(lc::RSA_generate_key_ex(rsa, bits, exponent.0, none), 1);
            rsa
        };
        let mut n = [0; MODULUS_LEN];
        if bits == 2048 {
            // SAFETY: the key is valid, and the bytes are passed with their length.
            let code =
                unsafe { lc::BN_bn2bin_padded(n.as_mut_ptr(), n.len(), lc::RSA_get0_n(rsa)) };
            assert_eq!(code, 1);
        }
        Self { rsa, n }
    }

    /// The key of the comparison with the kernel.
    pub(super) fn raw(&self) -> RawKey {
        let part = |get: unsafe extern "C" fn(*const lc::RSA) -> *const lc::BIGNUM| {
            let mut bytes = [0; MODULUS_LEN / 2];
            // SAFETY: the key is valid, and the bytes are passed with their length.
            let code =
                unsafe { lc::BN_bn2bin_padded(bytes.as_mut_ptr(), bytes.len(), get(self.rsa)) };
            assert_eq!(code, 1);
            bytes
        };
        RawKey::private(&part(lc::RSA_get0_p), &part(lc::RSA_get0_q)).unwrap()
    }

    pub(super) fn public_der(&self) -> Vec<u8> {
        self.encode(lc::RSA_public_key_to_bytes)
    }

    pub(super) fn private_der(&self) -> Vec<u8> {
        self.encode(lc::RSA_private_key_to_bytes)
    }

    fn encode(
        &self,
        encode: unsafe extern "C" fn(*mut *mut u8, *mut usize, *const lc::RSA) -> i32,
    ) -> Vec<u8> {
        let (mut start, mut len) = (ptr::null_mut(), 0);
        // SAFETY: the key is valid, and the block is freed once.
        unsafe {
            assert_eq!(encode(&raw mut start, &raw mut len, self.rsa), 1);
            let bytes = core::slice::from_raw_parts(start, len).to_vec();
            lc::OPENSSL_free(start.cast());
            bytes
        }
    }

    pub(super) fn sign_by_aws_lc(
        &self,
        padding: Padding,
        hash: HashAlgorithm,
        digest: &[u8],
    ) -> Vec<u8> {
        // SAFETY: the key is valid.
        let mut signature = vec![0; unsafe { lc::RSA_size(self.rsa) } as usize];
        let (digest_len, out) = (digest.len(), signature.as_mut_ptr());
        // SAFETY: inputs and outputs are passed with their lengths.
        let code = unsafe {
            match padding {
                Padding::Pkcs1 => {
                    let (nid, digest, mut len) = (nid(hash), digest.as_ptr(), 0);
                    lc::RSA_sign(nid, digest, digest_len, out, &raw mut len, self.rsa)
                }
                Padding::Pss => {
                    let (mut len, room, md) = (0, signature.len(), md(hash));
                    let digest = digest.as_ptr();
                    lc::RSA_sign_pss_mgf1(
                        self.rsa,
                        &raw mut len,
                        out,
                        room,
                        digest,
                        digest_len,
                        md,
                        md,
                        -1,
                    )
                }
            }
        };
        assert_eq!(code, 1);
        signature
    }

    pub(super) fn verify_by_aws_lc(
        &self,
        padding: Padding,
        hash: HashAlgorithm,
        digest: &[u8],
        signature: &[u8],
    ) -> bool {
        let (digest, digest_len) = (digest.as_ptr(), digest.len());
        let (signature, len) = (signature.as_ptr(), signature.len());
        // SAFETY: inputs are passed with their lengths.
        let code = unsafe {
            let code = match padding {
                Padding::Pkcs1 => {
                    lc::RSA_verify(nid(hash), digest, digest_len, signature, len, self.rsa)
                }
                Padding::Pss => {
                    let md = md(hash);
                    lc::RSA_verify_pss_mgf1(
                        self.rsa, digest, digest_len, md, md, -1, signature, len,
                    )
                }
            };
            lc::ERR_clear_error();
            code
        };
        code == 1
    }

    pub(super) fn sign_raw_by_aws_lc(&self, block: &Bytes) -> Bytes {
        self.transform(lc::RSA_sign_raw, block)
    }

    pub(super) fn recover_by_aws_lc(&self, signature: &[u8]) -> Bytes {
        self.transform(lc::RSA_verify_raw, signature.try_into().unwrap())
    }

    fn transform(
        &self,
        operation: unsafe extern "C" fn(
            *mut lc::RSA,
            *mut usize,
            *mut u8,
            usize,
            *const u8,
            usize,
            i32,
        ) -> i32,
        input: &Bytes,
    ) -> Bytes {
        let (mut output, mut len) = ([0; MODULUS_LEN], 0);
        let (out, from) = (output.as_mut_ptr(), input.as_ptr());
        // SAFETY: inputs and outputs are passed with their lengths.
        let code = unsafe {
            operation(
                self.rsa,
                &raw mut len,
                out,
                MODULUS_LEN,
                from,
                MODULUS_LEN,
                lc::RSA_NO_PADDING,
            )
        };
        assert_eq!(code, 1);
        output
    }

    pub(super) fn encode_pss(
        &self,
        hash: HashAlgorithm,
        mgf: HashAlgorithm,
        digest: &[u8],
        salt_len: i32,
    ) -> Bytes {
        let mut block = [0; MODULUS_LEN];
        let (out, digest) = (block.as_mut_ptr(), digest.as_ptr());
        // SAFETY: the key is valid, and the block is as long as its modulus.
        let code = unsafe {
            lc::RSA_padding_add_PKCS1_PSS_mgf1(self.rsa, out, digest, md(hash), md(mgf), salt_len)
        };
        assert_eq!(code, 1);
        block
    }
}

impl Drop for TestKey {
    fn drop(&mut self) {
        // SAFETY: the key is owned.
        unsafe { lc::RSA_free(self.rsa) };
    }
}

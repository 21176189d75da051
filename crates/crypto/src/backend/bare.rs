//! The bare foreign calls. **For `benches/wrappers.rs` only**, behind the feature `bench-bare`.
//!
//! What it is for: what the wrappers are compared with: the same calls of AWS-LC in the same
//! order, without length checks, error mapping or types. What it must not know: the wrappers.
//! Where to look next: the bench, and `backend/mod.rs` for the rules of safety. The functions
//! assert what they rely on once, when a subject is made, and give wrong results rather than
//! undefined behaviour if misused.

#![allow(missing_docs, clippy::missing_panics_doc, clippy::new_without_default)]

use core::mem::MaybeUninit;
use core::ptr;

use aws_lc_sys as lc;

use super::handle::Handle;
use crate::CryptoError::Internal;

/// `EVP_AEAD_CTX` with AES-128-GCM, AES-256-GCM or ChaCha20-Poly1305.
pub struct Aead(Box<MaybeUninit<lc::EVP_AEAD_CTX>>);

#[derive(Clone, Copy)]
pub enum AeadName {
    Aes128Gcm,
    Aes256Gcm,
    ChaCha20Poly1305,
}

impl Aead {
    pub fn new(name: AeadName) -> Self {
        let mut context = Box::new_uninit();
        let key = [7_u8; 32];
        // SAFETY: a static algorithm, a context of the right size, a key of at least its length.
        unsafe {
            let (aead, key_len) = match name {
                AeadName::Aes128Gcm => (lc::EVP_aead_aes_128_gcm(), 16),
                AeadName::Aes256Gcm => (lc::EVP_aead_aes_256_gcm(), 32),
                AeadName::ChaCha20Poly1305 => (lc::EVP_aead_chacha20_poly1305(), 32),
            };
            let code = lc::EVP_AEAD_CTX_init(
                context.as_mut_ptr(),
                aead,
                key.as_ptr(),
                key_len,
                16,
                ptr::null_mut(),
            );
            assert_eq!(code, 1);
        }
        Self(context)
    }

    pub fn seal(&self, nonce: &[u8; 12], aad: &[u8], input: &[u8], extra: &[u8], out: &mut [u8]) {
        assert!(out.len() == input.len() + extra.len() + 16);
        let (body, tail) = out.split_at_mut(input.len());
        let mut written = 0;
        // SAFETY: an initialised context; slices with their lengths.
        unsafe {
            lc::EVP_AEAD_CTX_seal_scatter(
                self.0.as_ptr(),
                body.as_mut_ptr(),
                tail.as_mut_ptr(),
                &raw mut written,
                tail.len(),
                nonce.as_ptr(),
                12,
                input.as_ptr(),
                input.len(),
                extra.as_ptr(),
                extra.len(),
                aad.as_ptr(),
                aad.len(),
            );
        }
    }

    pub fn open(&self, nonce: &[u8; 12], aad: &[u8], sealed: &[u8], out: &mut [u8]) {
        assert!(sealed.len() == out.len() + 16);
        let (body, tag) = sealed.split_at(out.len());
        // SAFETY: as above.
        unsafe {
            lc::EVP_AEAD_CTX_open_gather(
                self.0.as_ptr(),
                out.as_mut_ptr(),
                nonce.as_ptr(),
                12,
                body.as_ptr(),
                body.len(),
                tag.as_ptr(),
                16,
                aad.as_ptr(),
                aad.len(),
            );
        }
    }
}

impl Drop for Aead {
    fn drop(&mut self) {
        // SAFETY: an initialised context, then its bytes.
        unsafe {
            lc::EVP_AEAD_CTX_cleanup(self.0.as_mut_ptr());
            lc::OPENSSL_cleanse(self.0.as_mut_ptr().cast(), size_of::<lc::EVP_AEAD_CTX>());
        }
    }
}

pub fn sha256(message: &[u8]) -> [u8; 32] {
    let mut out = [0; 32];
    let mut context = MaybeUninit::<lc::SHA256_CTX>::uninit();
    // SAFETY: the context is initialised first; slices with their lengths.
    unsafe {
        lc::SHA256_Init(context.as_mut_ptr());
        lc::SHA256_Update(context.as_mut_ptr(), message.as_ptr().cast(), message.len());
        lc::SHA256_Final(out.as_mut_ptr(), context.as_mut_ptr());
    }
    out
}

pub fn sha384(message: &[u8]) -> [u8; 48] {
    let mut out = [0; 48];
    let mut context = MaybeUninit::<lc::SHA512_CTX>::uninit();
    // SAFETY: as above.
    unsafe {
        lc::SHA384_Init(context.as_mut_ptr());
        lc::SHA384_Update(context.as_mut_ptr(), message.as_ptr().cast(), message.len());
        lc::SHA384_Final(out.as_mut_ptr(), context.as_mut_ptr());
    }
    out
}

/// `HMAC_CTX` kept, restarted by `HMAC_Init_ex` without a key: 1224 bytes.
pub struct HmacContext(Box<lc::HMAC_CTX>);

impl HmacContext {
    pub fn new(sha384: bool, key: &[u8]) -> Self {
        // SAFETY: a context made empty, then keyed; the hash is static.
        unsafe {
            let mut context = Box::<lc::HMAC_CTX>::new_uninit();
            lc::HMAC_CTX_init(context.as_mut_ptr());
            let mut context = context.assume_init();
            let code = lc::HMAC_Init_ex(
                &raw mut *context,
                key.as_ptr().cast(),
                key.len(),
                md(sha384),
                ptr::null_mut(),
            );
            assert_eq!(code, 1);
            Self(context)
        }
    }

    pub fn mac(&mut self, parts: &[&[u8]]) -> [u8; 64] {
        let (mut out, mut len) = ([0; 64], 0);
        // SAFETY: a keyed context; at most 64 bytes are written.
        unsafe {
            lc::HMAC_Init_ex(&raw mut *self.0, ptr::null(), 0, ptr::null(), ptr::null_mut());
            for part in parts {
                lc::HMAC_Update(&raw mut *self.0, part.as_ptr(), part.len());
            }
            lc::HMAC_Final(&raw mut *self.0, out.as_mut_ptr(), &raw mut len);
        }
        out
    }
}

/// `HMAC_Init_from_precomputed_key` into a context on the stack: 128 bytes kept.
pub struct HmacPrecomputed {
    key: [u8; 128],
    len: usize,
    sha384: bool,
}

impl HmacPrecomputed {
    pub fn new(sha384: bool, key: &[u8]) -> Self {
        let mut context = HmacContext::new(sha384, key);
        let (mut out, mut len) = ([0; 128], 128);
        // SAFETY: a keyed context without data; `out` with its length.
        unsafe {
            assert_eq!(lc::HMAC_set_precomputed_key_export(&raw mut *context.0), 1);
            let code =
                lc::HMAC_get_precomputed_key(&raw mut *context.0, out.as_mut_ptr(), &raw mut len);
            assert_eq!(code, 1);
        }
        Self { key: out, len, sha384 }
    }

    pub fn mac(&self, message: &[u8]) -> [u8; 64] {
        let (mut out, mut len) = ([0; 64], 0);
        let mut context = MaybeUninit::<lc::HMAC_CTX>::uninit();
        // SAFETY: a context made empty, keyed, used and wiped.
        unsafe {
            lc::HMAC_CTX_init(context.as_mut_ptr());
            lc::HMAC_Init_from_precomputed_key(
                context.as_mut_ptr(),
                self.key.as_ptr(),
                self.len,
                md(self.sha384),
            );
            lc::HMAC_Update(context.as_mut_ptr(), message.as_ptr(), message.len());
            lc::HMAC_Final(context.as_mut_ptr(), out.as_mut_ptr(), &raw mut len);
            lc::HMAC_CTX_cleanup(context.as_mut_ptr());
        }
        out
    }
}

pub fn tls1_prf(sha384: bool, secret: &[u8], label: &[u8], seed: &[u8], out: &mut [u8]) {
    // SAFETY: slices with their lengths; `out` starts as zeros or anything, it is overwritten.
    unsafe {
        lc::CRYPTO_tls1_prf(
            md(sha384),
            out.as_mut_ptr(),
            out.len(),
            secret.as_ptr(),
            secret.len(),
            label.as_ptr().cast(),
            label.len(),
            seed.as_ptr(),
            seed.len(),
            ptr::null(),
            0,
        );
    }
}

pub fn random(out: &mut [u8]) {
    // SAFETY: a slice with its length.
    unsafe { lc::RAND_bytes(out.as_mut_ptr(), out.len()) };
}

pub fn x25519_keypair() -> ([u8; 32], [u8; 32]) {
    let (mut public, mut private) = ([0; 32], [0; 32]);
    // SAFETY: arrays of the documented size.
    unsafe { lc::X25519_keypair(public.as_mut_ptr(), private.as_mut_ptr()) };
    (public, private)
}

pub fn x25519(private: &[u8; 32], peer: &[u8; 32]) -> [u8; 32] {
    let mut out = [0; 32];
    // SAFETY: arrays of the documented size.
    unsafe { lc::X25519(out.as_mut_ptr(), private.as_ptr(), peer.as_ptr()) };
    out
}

/// A key pair on P-256.
pub struct P256(Handle<lc::EC_KEY>);

impl P256 {
    pub fn generate() -> (Self, [u8; 65]) {
        let mut share = [0; 65];
        // SAFETY: a fresh key with its group, then its point into 65 bytes.
        let key = unsafe {
            let key = lc::EC_KEY_new_by_curve_name(lc::NID_X9_62_prime256v1);
            let key = Handle::new(key, Internal).unwrap();
            lc::EC_KEY_generate_key(key.as_ptr());
            lc::EC_POINT_point2oct(
                lc::EC_group_p256(),
                lc::EC_KEY_get0_public_key(key.as_ptr()),
                lc::point_conversion_form_t::POINT_CONVERSION_UNCOMPRESSED,
                share.as_mut_ptr(),
                share.len(),
                ptr::null_mut(),
            );
            key
        };
        (Self(key), share)
    }

    pub fn agree(&self, peer: &[u8; 65]) -> [u8; 32] {
        let mut out = [0; 32];
        // SAFETY: valid objects of one group; arrays with their lengths.
        unsafe {
            let point = lc::EC_POINT_new(lc::EC_group_p256());
            let point = Handle::new(point, Internal).unwrap();
            lc::EC_POINT_oct2point(
                lc::EC_group_p256(),
                point.as_ptr(),
                peer.as_ptr(),
                peer.len(),
                ptr::null_mut(),
            );
            lc::ECDH_compute_key(
                out.as_mut_ptr().cast(),
                32,
                point.as_ptr(),
                self.0.as_ptr(),
                None,
            );
        }
        out
    }

    pub fn sign(&self, message: &[u8]) -> ([u8; 80], u32) {
        let digest = sha256(message);
        let (mut out, mut len) = ([0; 80], 0);
        // SAFETY: a P-256 signature has at most 72 bytes.
        unsafe {
            lc::ECDSA_sign(0, digest.as_ptr(), 32, out.as_mut_ptr(), &raw mut len, self.0.as_ptr());
        }
        (out, len)
    }

    pub fn verify(&self, message: &[u8], signature: &[u8]) -> bool {
        let digest = sha256(message);
        // SAFETY: slices with their lengths.
        unsafe {
            lc::ECDSA_verify(
                0,
                digest.as_ptr(),
                32,
                signature.as_ptr(),
                signature.len(),
                self.0.as_ptr(),
            ) == 1
        }
    }
}

/// A key pair of ML-KEM-768.
pub struct MlKem768(Handle<lc::EVP_PKEY>);

impl MlKem768 {
    pub fn generate() -> (Self, Vec<u8>) {
        let mut share = vec![0; 1184];
        let mut len = share.len();
        // SAFETY: the calls of AWS-LC's documentation in their order.
        let key = unsafe {
            let context = lc::EVP_PKEY_CTX_new_id(lc::EVP_PKEY_KEM, ptr::null_mut());
            let context = Handle::new(context, Internal).unwrap();
            lc::EVP_PKEY_keygen_init(context.as_ptr());
            lc::EVP_PKEY_CTX_kem_set_params(context.as_ptr(), lc::NID_MLKEM768);
            let mut key = ptr::null_mut();
            lc::EVP_PKEY_keygen(context.as_ptr(), &raw mut key);
            let key = Handle::new(key, Internal).unwrap();
            lc::EVP_PKEY_get_raw_public_key(key.as_ptr(), share.as_mut_ptr(), &raw mut len);
            key
        };
        (Self(key), share)
    }

    pub fn encapsulate(share: &[u8]) -> (Vec<u8>, [u8; 32]) {
        let (mut ciphertext, mut secret) = (vec![0; 1088], [0; 32]);
        let (mut ciphertext_len, mut secret_len) = (1088, 32);
        // SAFETY: as above; outputs with their lengths.
        unsafe {
            let key =
                lc::EVP_PKEY_kem_new_raw_public_key(lc::NID_MLKEM768, share.as_ptr(), share.len());
            let key = Handle::new(key, Internal).unwrap();
            let context = lc::EVP_PKEY_CTX_new(key.as_ptr(), ptr::null_mut());
            let context = Handle::new(context, Internal).unwrap();
            lc::EVP_PKEY_encapsulate(
                context.as_ptr(),
                ciphertext.as_mut_ptr(),
                &raw mut ciphertext_len,
                secret.as_mut_ptr(),
                &raw mut secret_len,
            );
        }
        (ciphertext, secret)
    }

    pub fn decapsulate(&self, ciphertext: &[u8]) -> [u8; 32] {
        let (mut secret, mut len) = ([0; 32], 32);
        // SAFETY: as above.
        unsafe {
            let context = lc::EVP_PKEY_CTX_new(self.0.as_ptr(), ptr::null_mut());
            let context = Handle::new(context, Internal).unwrap();
            lc::EVP_PKEY_decapsulate(
                context.as_ptr(),
                secret.as_mut_ptr(),
                &raw mut len,
                ciphertext.as_ptr(),
                ciphertext.len(),
            );
        }
        secret
    }
}

/// An RSA private key of 2048 bits.
pub struct Rsa2048(Handle<lc::RSA>);

impl Rsa2048 {
    pub fn from_pkcs1(der: &[u8]) -> Self {
        // SAFETY: `der` with its length.
        let key = unsafe {
            Handle::new(lc::RSA_private_key_from_bytes(der.as_ptr(), der.len()), Internal).unwrap()
        };
        // SAFETY: a valid key.
        assert_eq!(unsafe { lc::RSA_size(key.as_ptr()) }, 256);
        Self(key)
    }

    pub fn sign_pss(&self, message: &[u8]) -> [u8; 256] {
        let digest = sha256(message);
        let (mut out, mut len) = ([0; 256], 0);
        // SAFETY: the signature has 256 bytes, asserted when the key was made.
        unsafe {
            lc::RSA_sign_pss_mgf1(
                self.0.as_ptr(),
                &raw mut len,
                out.as_mut_ptr(),
                256,
                digest.as_ptr(),
                32,
                md(false),
                md(false),
                -1,
            );
        }
        out
    }

    pub fn verify_pss(&self, message: &[u8], signature: &[u8]) -> bool {
        let digest = sha256(message);
        // SAFETY: slices with their lengths.
        unsafe {
            lc::RSA_verify_pss_mgf1(
                self.0.as_ptr(),
                digest.as_ptr(),
                32,
                md(false),
                md(false),
                -1,
                signature.as_ptr(),
                signature.len(),
            ) == 1
        }
    }
}

pub fn ed25519_expand(seed: &[u8; 32]) -> ([u8; 32], [u8; 64]) {
    let (mut public, mut private) = ([0; 32], [0; 64]);
    // SAFETY: arrays of the documented size.
    unsafe {
        lc::ED25519_keypair_from_seed(public.as_mut_ptr(), private.as_mut_ptr(), seed.as_ptr());
    }
    (public, private)
}

pub fn ed25519_sign(private: &[u8; 64], message: &[u8]) -> [u8; 64] {
    let mut out = [0; 64];
    // SAFETY: arrays of the documented size, `message` with its length.
    unsafe {
        lc::ED25519_sign(out.as_mut_ptr(), message.as_ptr(), message.len(), private.as_ptr());
    }
    out
}

pub fn ed25519_verify(public: &[u8; 32], message: &[u8], signature: &[u8; 64]) -> bool {
    // SAFETY: arrays of the documented size, `message` with its length.
    unsafe {
        lc::ED25519_verify(message.as_ptr(), message.len(), signature.as_ptr(), public.as_ptr())
            == 1
    }
}

fn md(sha384: bool) -> *const lc::EVP_MD {
    // SAFETY: static tables.
    unsafe { if sha384 { lc::EVP_sha384() } else { lc::EVP_sha256() } }
}

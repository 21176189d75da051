//! Bare AEAD, hashes, HMAC, PRF and random bytes; see `lib.rs`.

use core::mem::MaybeUninit;
use core::ptr;

use aws_lc_sys as lc;

use crate::md;

/// `EVP_AEAD_CTX` with AES-128-GCM, AES-256-GCM or ChaCha20-Poly1305.
pub struct Aead(Box<MaybeUninit<lc::EVP_AEAD_CTX>>);

/// The algorithm of an [`Aead`].
#[derive(Clone, Copy)]
pub enum AeadName {
    /// AES-128-GCM.
    Aes128Gcm,
    /// AES-256-GCM.
    Aes256Gcm,
    /// ChaCha20-Poly1305.
    ChaCha20Poly1305,
}

impl Aead {
    /// A context with a fixed key, each byte of which is 7.
    ///
    /// # Panics
    ///
    /// If AWS-LC fails to make the context.
    pub fn new(name: AeadName) -> Self {
        let mut context = Box::new_uninit();
        let key = [7_u8; 32];
        // SAFETY: the algorithm is static; the context has its size, the key at least its length.
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

    /// Encrypts `input` and `extra` into `out`, which ends with the tag.
    ///
    /// # Panics
    ///
    /// If `out` has another length than its content.
    pub fn seal(&self, nonce: &[u8; 12], aad: &[u8], input: &[u8], extra: &[u8], out: &mut [u8]) {
        assert!(out.len() == input.len() + extra.len() + 16);
        let (body, tail) = out.split_at_mut(input.len());
        let mut written = 0;
        // SAFETY: the context is initialised; slices are passed with their lengths.
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

    /// Decrypts into `out`, which is zero if the tag is wrong.
    ///
    /// # Panics
    ///
    /// If `sealed` is not 16 bytes longer than `out`.
    pub fn open(&self, nonce: &[u8; 12], aad: &[u8], sealed: &[u8], out: &mut [u8]) {
        assert!(sealed.len() == out.len() + 16);
        let (body, tag) = sealed.split_at(out.len());
        // SAFETY: the context is initialised; slices are passed with their lengths.
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
        // SAFETY: the context is initialised until its clean-up; then its bytes are wiped.
        unsafe {
            lc::EVP_AEAD_CTX_cleanup(self.0.as_mut_ptr());
            lc::OPENSSL_cleanse(self.0.as_mut_ptr().cast(), size_of::<lc::EVP_AEAD_CTX>());
        }
    }
}

/// SHA-256 of a message.
pub fn sha256(message: &[u8]) -> [u8; 32] {
    let mut out = [0; 32];
    let mut context = MaybeUninit::<lc::SHA256_CTX>::uninit();
    // SAFETY: the context is initialised first; slices are passed with their lengths.
    unsafe {
        lc::SHA256_Init(context.as_mut_ptr());
        lc::SHA256_Update(context.as_mut_ptr(), message.as_ptr().cast(), message.len());
        lc::SHA256_Final(out.as_mut_ptr(), context.as_mut_ptr());
    }
    out
}

/// SHA-384 of a message.
pub fn sha384(message: &[u8]) -> [u8; 48] {
    let mut out = [0; 48];
    let mut context = MaybeUninit::<lc::SHA512_CTX>::uninit();
    // SAFETY: the context is initialised first; slices are passed with their lengths.
    unsafe {
        lc::SHA384_Init(context.as_mut_ptr());
        lc::SHA384_Update(context.as_mut_ptr(), message.as_ptr().cast(), message.len());
        lc::SHA384_Final(out.as_mut_ptr(), context.as_mut_ptr());
    }
    out
}

/// A stored `HMAC_CTX`, restarted by `HMAC_Init_ex` without a key: 1224 bytes.
pub struct HmacContext(Box<lc::HMAC_CTX>);

impl HmacContext {
    /// Sets the key, for SHA-384 or SHA-256.
    ///
    /// # Panics
    ///
    /// If AWS-LC fails to set the key.
    pub fn new(sha384: bool, key: &[u8]) -> Self {
        // SAFETY: the context is made empty, then given a key; the hash is static.
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

    /// The MAC of all parts, in the first bytes of the array.
    pub fn mac(&mut self, parts: &[&[u8]]) -> [u8; 64] {
        let (mut out, mut len) = ([0; 64], 0);
        // SAFETY: the context has a key; at most 64 bytes are written.
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

/// `HMAC_Init_from_precomputed_key` into a context on the stack: 128 bytes stored.
pub struct HmacPrecomputed {
    key: [u8; 128],
    len: usize,
    sha384: bool,
}

impl HmacPrecomputed {
    /// Sets the key, for SHA-384 or SHA-256.
    ///
    /// # Panics
    ///
    /// If AWS-LC fails to set the key.
    pub fn new(sha384: bool, key: &[u8]) -> Self {
        let mut context = HmacContext::new(sha384, key);
        let (mut out, mut len) = ([0; 128], 128);
        // SAFETY: the context has a key and no data; `out` is passed with its length.
        unsafe {
            assert_eq!(lc::HMAC_set_precomputed_key_export(&raw mut *context.0), 1);
            let code =
                lc::HMAC_get_precomputed_key(&raw mut *context.0, out.as_mut_ptr(), &raw mut len);
            assert_eq!(code, 1);
        }
        Self { key: out, len, sha384 }
    }

    /// The MAC, in the first bytes of the array.
    pub fn mac(&self, message: &[u8]) -> [u8; 64] {
        let (mut out, mut len) = ([0; 64], 0);
        let mut context = MaybeUninit::<lc::HMAC_CTX>::uninit();
        // SAFETY: the context is made empty, given a key, used and wiped.
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

/// Overwrites `out` with the PRF of TLS 1.2, with SHA-384 or SHA-256.
pub fn tls1_prf(sha384: bool, secret: &[u8], label: &[u8], seed: &[u8], out: &mut [u8]) {
    // SAFETY: the slices are passed with their lengths; `out` is overwritten.
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

/// Fills the slice with random bytes.
pub fn random(out: &mut [u8]) {
    // SAFETY: the slice is passed with its length.
    unsafe { lc::RAND_bytes(out.as_mut_ptr(), out.len()) };
}

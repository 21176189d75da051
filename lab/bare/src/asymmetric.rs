//! Bare key exchange and signatures; see `lib.rs`.

use core::ptr;

use aws_lc_sys as lc;

use crate::owned::Owned;
use crate::{md, sha256};

/// The public and the private key of a new pair on X25519.
pub fn x25519_keypair() -> ([u8; 32], [u8; 32]) {
    let (mut public, mut private) = ([0; 32], [0; 32]);
    // SAFETY: the arrays have the documented sizes.
    unsafe { lc::X25519_keypair(public.as_mut_ptr(), private.as_mut_ptr()) };
    (public, private)
}

/// The agreement on X25519.
pub fn x25519(private: &[u8; 32], peer: &[u8; 32]) -> [u8; 32] {
    let mut out = [0; 32];
    // SAFETY: the arrays have the documented sizes.
    unsafe { lc::X25519(out.as_mut_ptr(), private.as_ptr(), peer.as_ptr()) };
    out
}

/// A key pair on P-256.
pub struct P256(Owned<lc::EC_KEY>);

impl P256 {
    /// A new pair, and its public point without compression.
    ///
    /// # Panics
    ///
    /// If AWS-LC fails to allocate.
    pub fn generate() -> (Self, [u8; 65]) {
        let mut share = [0; 65];
        // SAFETY: the key is new and has a group; its point is written into 65 bytes.
        let key = unsafe {
            let key = lc::EC_KEY_new_by_curve_name(lc::NID_X9_62_prime256v1);
            let key = Owned::new(key);
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

    /// The agreement by ECDH.
    ///
    /// # Panics
    ///
    /// If AWS-LC fails to allocate.
    pub fn agree(&self, peer: &[u8; 65]) -> [u8; 32] {
        let mut out = [0; 32];
        // SAFETY: the objects are valid and of one group; arrays are passed with lengths.
        unsafe {
            let point = lc::EC_POINT_new(lc::EC_group_p256());
            let point = Owned::new(point);
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

    /// A signature with SHA-256, in the first bytes of the array, and its length.
    pub fn sign(&self, message: &[u8]) -> ([u8; 80], u32) {
        let digest = sha256(message);
        let (mut out, mut len) = ([0; 80], 0);
        // SAFETY: a P-256 signature has at most 72 bytes.
        unsafe {
            lc::ECDSA_sign(0, digest.as_ptr(), 32, out.as_mut_ptr(), &raw mut len, self.0.as_ptr());
        }
        (out, len)
    }

    /// Whether the signature with SHA-256 is valid.
    pub fn verify(&self, message: &[u8], signature: &[u8]) -> bool {
        let digest = sha256(message);
        // SAFETY: the slices are passed with their lengths.
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
pub struct MlKem768(Owned<lc::EVP_PKEY>);

impl MlKem768 {
    /// A new pair, and its encapsulation key.
    ///
    /// # Panics
    ///
    /// If AWS-LC fails to allocate.
    pub fn generate() -> (Self, Vec<u8>) {
        let mut share = vec![0; 1184];
        let mut len = share.len();
        // SAFETY: the calls are those of AWS-LC's documentation, in that order.
        let key = unsafe {
            let context = lc::EVP_PKEY_CTX_new_id(lc::EVP_PKEY_KEM, ptr::null_mut());
            let context = Owned::new(context);
            lc::EVP_PKEY_keygen_init(context.as_ptr());
            lc::EVP_PKEY_CTX_kem_set_params(context.as_ptr(), lc::NID_MLKEM768);
            let mut key = ptr::null_mut();
            lc::EVP_PKEY_keygen(context.as_ptr(), &raw mut key);
            let key = Owned::new(key);
            lc::EVP_PKEY_get_raw_public_key(key.as_ptr(), share.as_mut_ptr(), &raw mut len);
            key
        };
        (Self(key), share)
    }

    /// A ciphertext for this encapsulation key, and the shared secret.
    ///
    /// # Panics
    ///
    /// If the key has another length than ML-KEM-768's.
    pub fn encapsulate(share: &[u8]) -> (Vec<u8>, [u8; 32]) {
        let (mut ciphertext, mut secret) = (vec![0; 1088], [0; 32]);
        let (mut ciphertext_len, mut secret_len) = (1088, 32);
        // SAFETY: `share` and the outputs are passed with their lengths.
        unsafe {
            let key =
                lc::EVP_PKEY_kem_new_raw_public_key(lc::NID_MLKEM768, share.as_ptr(), share.len());
            let key = Owned::new(key);
            let context = lc::EVP_PKEY_CTX_new(key.as_ptr(), ptr::null_mut());
            let context = Owned::new(context);
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

    /// The shared secret of a ciphertext.
    ///
    /// # Panics
    ///
    /// If AWS-LC fails to allocate.
    pub fn decapsulate(&self, ciphertext: &[u8]) -> [u8; 32] {
        let (mut secret, mut len) = ([0; 32], 32);
        // SAFETY: the key is valid; both buffers are passed with their lengths.
        unsafe {
            let context = lc::EVP_PKEY_CTX_new(self.0.as_ptr(), ptr::null_mut());
            let context = Owned::new(context);
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
pub struct Rsa2048(Owned<lc::RSA>);

impl Rsa2048 {
    /// Reads the key from its PKCS#1 encoding.
    ///
    /// # Panics
    ///
    /// If the encoding is invalid, or the key has another size.
    pub fn from_pkcs1(der: &[u8]) -> Self {
        // SAFETY: `der` is passed with its length.
        let key = unsafe { Owned::new(lc::RSA_private_key_from_bytes(der.as_ptr(), der.len())) };
        // SAFETY: the key is valid.
        assert_eq!(unsafe { lc::RSA_size(key.as_ptr()) }, 256);
        Self(key)
    }

    /// A PSS signature with SHA-256, and a salt as long as the hash.
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

    /// Whether the PSS signature with SHA-256 is valid.
    pub fn verify_pss(&self, message: &[u8], signature: &[u8]) -> bool {
        let digest = sha256(message);
        // SAFETY: the slices are passed with their lengths.
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

/// The public and the expanded private key of a seed.
pub fn ed25519_expand(seed: &[u8; 32]) -> ([u8; 32], [u8; 64]) {
    let (mut public, mut private) = ([0; 32], [0; 64]);
    // SAFETY: the arrays have the documented sizes.
    unsafe {
        lc::ED25519_keypair_from_seed(public.as_mut_ptr(), private.as_mut_ptr(), seed.as_ptr());
    }
    (public, private)
}

/// An Ed25519 signature.
pub fn ed25519_sign(private: &[u8; 64], message: &[u8]) -> [u8; 64] {
    let mut out = [0; 64];
    // SAFETY: the arrays have the documented sizes; `message` is passed with its length.
    unsafe {
        lc::ED25519_sign(out.as_mut_ptr(), message.as_ptr(), message.len(), private.as_ptr());
    }
    out
}

/// Whether the Ed25519 signature is valid.
pub fn ed25519_verify(public: &[u8; 32], message: &[u8], signature: &[u8; 64]) -> bool {
    // SAFETY: the arrays have the documented sizes; `message` is passed with its length.
    unsafe {
        lc::ED25519_verify(message.as_ptr(), message.len(), signature.as_ptr(), public.as_ptr())
            == 1
    }
}

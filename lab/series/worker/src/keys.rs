//! Signatures, ECDH and ML-KEM, each with one context that is initialized once.

use std::ffi::{CStr, c_int};
use std::ptr;
use std::sync::Arc;

use lab_scenario::series::{AGREEMENT, Key as Kind, SIGN, VERIFY};
use lab_scenario::{PreparedTask, Result};

use crate::ffi;
use crate::library::{Key, check, some};
use crate::repeated::repeated;

/// The maximum length of a signature. All secrets are shorter.
const LONGEST: usize = 512;

/// Signs a digest and verifies the signature.
pub(crate) fn signature(key: &Arc<Key>, kind: Kind) -> Result<Box<dyn PreparedTask>> {
    let (digest, name) = digest(kind);
    let padding = kind.is_rsa();
    let signer = Context::new(key, ffi::EVP_PKEY_sign_init)?;
    signer.set_up(name, padding)?;
    let verifier = Context::new(key, ffi::EVP_PKEY_verify_init)?;
    verifier.set_up(name, padding)?;
    let signed = signer.sign(digest)?;
    repeated(vec![
        (SIGN, Box::new(move || signer.sign(digest).map(drop))),
        (VERIFY, Box::new(move || verifier.verify(&signed, digest))),
    ])
}

/// Derives the shared secret of a key and another key on its curve.
pub(crate) fn agreement(key: &Arc<Key>) -> Result<Box<dyn PreparedTask>> {
    let other = Context::new(key, ffi::EVP_PKEY_keygen_init)?.generate()?;
    let context = Context::new(key, ffi::EVP_PKEY_derive_init)?;
    // SAFETY: both are valid; the context keeps a reference to the other key.
    check("EVP_PKEY_derive_set_peer", unsafe {
        ffi::EVP_PKEY_derive_set_peer(context.pointer, other.as_ptr())
    })?;
    repeated(vec![(AGREEMENT, Box::new(move || context.derive()))])
}

/// A digest of the length that is used with the curve, and the name of its algorithm.
fn digest(kind: Kind) -> (&'static [u8], &'static CStr) {
    const BYTES: [u8; 64] = [0x64; 64];
    match kind {
        Kind::P384 => (&BYTES[..48], c"SHA384"),
        Kind::P521 => (&BYTES, c"SHA512"),
        _ => (&BYTES[..32], c"SHA256"),
    }
}

/// A context for one key and one operation.
struct Context {
    pointer: *mut ffi::EVP_PKEY_CTX,
}

type Begin = unsafe extern "C" fn(*mut ffi::EVP_PKEY_CTX) -> c_int;

impl Context {
    fn new(key: &Arc<Key>, begin: Begin) -> Result<Self> {
        // SAFETY: the key is valid, and the context, which is freed when dropped, has a reference
        // to it.
        let pointer = unsafe { ffi::EVP_PKEY_CTX_new(key.as_ptr(), ptr::null_mut()) };
        let context = Self { pointer: some("EVP_PKEY_CTX_new", pointer)? };
        // SAFETY: the context is valid.
        check("a context", unsafe { begin(context.pointer) })?;
        Ok(context)
    }

    fn generate(&self) -> Result<Key> {
        Key::generate(self.pointer)
    }

    fn set_up(&self, digest: &CStr, padding: bool) -> Result<()> {
        if padding {
            self.set(c"rsa_padding_mode", c"pkcs1")?;
        }
        self.set(c"digest", digest)
    }

    fn set(&self, name: &CStr, value: &CStr) -> Result<()> {
        // SAFETY: both are C strings, which are not kept.
        check("EVP_PKEY_CTX_ctrl_str", unsafe {
            ffi::EVP_PKEY_CTX_ctrl_str(self.pointer, name.as_ptr(), value.as_ptr())
        })
    }

    fn sign(&self, digest: &[u8]) -> Result<Signature> {
        let mut signature = Signature { bytes: [0; LONGEST], length: LONGEST };
        // SAFETY: signature and digest have the given lengths.
        check("EVP_PKEY_sign", unsafe {
            let (bytes, length) = (signature.bytes.as_mut_ptr(), &mut signature.length);
            ffi::EVP_PKEY_sign(self.pointer, bytes, length, digest.as_ptr(), digest.len())
        })?;
        Ok(signature)
    }

    fn derive(&self) -> Result<()> {
        let (mut secret, mut length) = ([0_u8; LONGEST], LONGEST);
        // SAFETY: the secret has the given length.
        check("EVP_PKEY_derive", unsafe {
            ffi::EVP_PKEY_derive(self.pointer, secret.as_mut_ptr(), &mut length)
        })
    }

    fn verify(&self, signature: &Signature, digest: &[u8]) -> Result<()> {
        // SAFETY: signature and digest have the given lengths.
        check("EVP_PKEY_verify", unsafe {
            let (bytes, length) = (signature.bytes.as_ptr(), signature.length);
            ffi::EVP_PKEY_verify(self.pointer, bytes, length, digest.as_ptr(), digest.len())
        })
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the context is valid.
        unsafe { ffi::EVP_PKEY_CTX_free(self.pointer) };
    }
}

struct Signature {
    bytes: [u8; LONGEST],
    length: usize,
}

#[cfg(openssl_1_1_1)]
mod kem {
    use super::{PreparedTask, Result};

    /// Whether this release has ML-KEM.
    pub(crate) fn has_ml_kem() -> bool {
        false
    }

    pub(crate) fn ml_kem() -> Result<Box<dyn PreparedTask>> {
        Err("the release has no ML-KEM".into())
    }
}

#[cfg(not(openssl_1_1_1))]
mod kem {
    use std::ptr;
    use std::sync::Arc;

    use lab_scenario::series::{DECAPSULATION, ENCAPSULATION, KEY_GENERATION};

    use super::{Context, PreparedTask, Result, check, ffi, repeated, some};

    const CIPHERTEXT: usize = 1088;
    const SECRET: usize = 32;

    /// Whether this release has ML-KEM.
    pub(crate) fn has_ml_kem() -> bool {
        // SAFETY: the context is freed at once, or null.
        unsafe {
            let context = by_name();
            ffi::EVP_PKEY_CTX_free(context);
            !context.is_null()
        }
    }

    /// # Safety
    /// The caller must free the result, which may be null.
    unsafe fn by_name() -> *mut ffi::EVP_PKEY_CTX {
        // SAFETY: the name is a C string, and null is the default.
        unsafe {
            let null = ptr::null_mut();
            ffi::EVP_PKEY_CTX_new_from_name(null, c"ML-KEM-768".as_ptr(), ptr::null())
        }
    }

    /// Generates keys, encapsulates secrets to one of them, and decapsulates them.
    pub(crate) fn ml_kem() -> Result<Box<dyn PreparedTask>> {
        let generator = generator()?;
        let key = Arc::new(generator.generate()?);
        let sender = Context::new(&key, encapsulate_init)?;
        let receiver = Context::new(&key, decapsulate_init)?;
        let (sent, wrapped) = sender.encapsulate()?;
        if receiver.decapsulate(&wrapped)? != sent {
            return Err("the two secrets differ".into());
        }
        repeated(vec![
            (KEY_GENERATION, Box::new(move || generator.generate().map(drop))),
            (ENCAPSULATION, Box::new(move || sender.encapsulate().map(drop))),
            (DECAPSULATION, Box::new(move || receiver.decapsulate(&wrapped).map(drop))),
        ])
    }

    fn generator() -> Result<Context> {
        // SAFETY: the context is freed when dropped.
        let generator = Context { pointer: some("ML-KEM-768", unsafe { by_name() })? };
        // SAFETY: the context is valid.
        check("EVP_PKEY_keygen_init", unsafe { ffi::EVP_PKEY_keygen_init(generator.pointer) })?;
        Ok(generator)
    }

    unsafe extern "C" fn encapsulate_init(context: *mut ffi::EVP_PKEY_CTX) -> i32 {
        // SAFETY: the caller's context is valid; there are no parameters.
        unsafe { ffi::EVP_PKEY_encapsulate_init(context, ptr::null()) }
    }

    unsafe extern "C" fn decapsulate_init(context: *mut ffi::EVP_PKEY_CTX) -> i32 {
        // SAFETY: the caller's context is valid; there are no parameters.
        unsafe { ffi::EVP_PKEY_decapsulate_init(context, ptr::null()) }
    }

    impl Context {
        fn encapsulate(&self) -> Result<([u8; SECRET], [u8; CIPHERTEXT])> {
            let (mut secret, mut wrapped) = ([0; SECRET], [0; CIPHERTEXT]);
            let (mut secret_length, mut length) = (SECRET, CIPHERTEXT);
            // SAFETY: both have the given lengths.
            check("EVP_PKEY_encapsulate", unsafe {
                ffi::EVP_PKEY_encapsulate(
                    self.pointer,
                    wrapped.as_mut_ptr(),
                    &mut length,
                    secret.as_mut_ptr(),
                    &mut secret_length,
                )
            })?;
            Ok((secret, wrapped))
        }

        fn decapsulate(&self, wrapped: &[u8; CIPHERTEXT]) -> Result<[u8; SECRET]> {
            let (mut secret, mut length) = ([0; SECRET], SECRET);
            // SAFETY: both have the given lengths.
            check("EVP_PKEY_decapsulate", unsafe {
                ffi::EVP_PKEY_decapsulate(
                    self.pointer,
                    secret.as_mut_ptr(),
                    &mut length,
                    wrapped.as_ptr(),
                    wrapped.len(),
                )
            })?;
            Ok(secret)
        }
    }
}

pub(crate) use kem::{has_ml_kem, ml_kem};

//! AES-256-GCM and SHA-256 of consecutive blocks.

use std::ffi::c_int;
use std::ptr;

use lab_scenario::series::{BLOCK, CipherUse};
use lab_scenario::{PreparedTask, Result};

use crate::ffi;
use crate::library::{check, some};
use crate::repeated::repeated;

const KEY: [u8; 32] = [0x6b; 32];
const NONCE: [u8; 12] = [0x6e; 12];

/// Encrypts blocks of this size with AES-256-GCM, in place.
pub(crate) fn cipher(usage: CipherUse, block: usize) -> Result<Box<dyn PreparedTask>> {
    let mut cipher = Cipher::new(block)?;
    repeated(vec![(
        BLOCK,
        match usage {
            CipherUse::Stream => Box::new(move || cipher.go_on()),
            CipherUse::Messages => Box::new(move || cipher.message(ptr::null())),
            CipherUse::Keys => Box::new(move || cipher.message(KEY.as_ptr())),
        },
    )])
}

struct Cipher {
    context: *mut ffi::EVP_CIPHER_CTX,
    block: Vec<u8>,
    length: c_int,
}

impl Cipher {
    fn new(block: usize) -> Result<Self> {
        let length = c_int::try_from(block)?;
        // SAFETY: the context is freed when dropped; key and nonce have the lengths of the cipher.
        let context = some("EVP_CIPHER_CTX_new", unsafe { ffi::EVP_CIPHER_CTX_new() })?;
        let cipher = Self { context, block: vec![0x62; block], length };
        // SAFETY: as above.
        check("EVP_EncryptInit_ex", unsafe {
            let null = ptr::null_mut();
            ffi::EVP_EncryptInit_ex(context, aes_256_gcm(), null, KEY.as_ptr(), NONCE.as_ptr())
        })?;
        Ok(cipher)
    }

    /// Encrypts the next block of the same message. A message ends after 64 GiB, and a new one
    /// starts.
    fn go_on(&mut self) -> Result<()> {
        if self.update() == 1 {
            return Ok(());
        }
        self.begin(ptr::null())?;
        check("EVP_EncryptUpdate", self.update())
    }

    /// Encrypts a message of one block. If `key` is null, the previous key is used.
    fn message(&mut self, key: *const u8) -> Result<()> {
        self.begin(key)?;
        check("EVP_EncryptUpdate", self.update())?;
        let (mut tag, mut written) = ([0_u8; 16], 0);
        // SAFETY: the tag has the given length; the last call writes nothing for this cipher.
        unsafe {
            let end = tag.as_mut_ptr();
            check(
                "EVP_EncryptFinal_ex",
                ffi::EVP_EncryptFinal_ex(self.context, end, &mut written),
            )?;
            let control = ffi::EVP_CTRL_AEAD_GET_TAG;
            check(
                "EVP_CTRL_AEAD_GET_TAG",
                ffi::EVP_CIPHER_CTX_ctrl(self.context, control, 16, tag.as_mut_ptr().cast()),
            )
        }
    }

    fn begin(&mut self, key: *const u8) -> Result<()> {
        // SAFETY: the key is null or has the cipher's length, and the nonce has its length.
        check("EVP_EncryptInit_ex", unsafe {
            let null = ptr::null_mut();
            ffi::EVP_EncryptInit_ex(self.context, ptr::null(), null, key, NONCE.as_ptr())
        })
    }

    fn update(&mut self) -> c_int {
        let (block, mut written) = (self.block.as_mut_ptr(), 0);
        // SAFETY: the block has the given length, and this cipher writes as much as it reads.
        unsafe { ffi::EVP_EncryptUpdate(self.context, block, &mut written, block, self.length) }
    }
}

impl Drop for Cipher {
    fn drop(&mut self) {
        // SAFETY: the context is valid.
        unsafe { ffi::EVP_CIPHER_CTX_free(self.context) };
    }
}

/// Hashes blocks of this size with SHA-256.
pub(crate) fn digest(block: usize) -> Result<Box<dyn PreparedTask>> {
    // SAFETY: the context is freed when dropped.
    let context = Digest(some("EVP_MD_CTX_new", unsafe { ffi::EVP_MD_CTX_new() })?);
    let digest = sha_256();
    let block = vec![0x62_u8; block];
    repeated(vec![(
        BLOCK,
        Box::new(move || {
            let mut out = [0_u8; 32];
            let context = context.pointer();
            // SAFETY: the block has the given length, and the digest has the length of its
            // function.
            unsafe {
                check("begin", ffi::EVP_DigestInit_ex(context, digest, ptr::null_mut()))?;
                check(
                    "update",
                    ffi::EVP_DigestUpdate(context, block.as_ptr().cast(), block.len()),
                )?;
                check("end", ffi::EVP_DigestFinal_ex(context, out.as_mut_ptr(), ptr::null_mut()))
            }
        }),
    )])
}

struct Digest(*mut ffi::EVP_MD_CTX);

impl Digest {
    fn pointer(&self) -> *mut ffi::EVP_MD_CTX {
        self.0
    }
}

impl Drop for Digest {
    fn drop(&mut self) {
        // SAFETY: the context is valid.
        unsafe { ffi::EVP_MD_CTX_free(self.0) };
    }
}

#[cfg(openssl_1_1_1)]
fn aes_256_gcm() -> *const ffi::EVP_CIPHER {
    // SAFETY: the function has no preconditions.
    unsafe { ffi::EVP_aes_256_gcm() }
}

#[cfg(openssl_1_1_1)]
fn sha_256() -> *const ffi::EVP_MD {
    // SAFETY: the function has no preconditions.
    unsafe { ffi::EVP_sha256() }
}

/// The cipher, fetched once for the process. Null if it is not available; callers check that.
#[cfg(not(openssl_1_1_1))]
fn aes_256_gcm() -> *const ffi::EVP_CIPHER {
    // SAFETY: the names are C strings, and null is the default.
    unsafe { ffi::EVP_CIPHER_fetch(ptr::null_mut(), c"AES-256-GCM".as_ptr(), ptr::null()) }
}

/// The digest, fetched once for the process. Null if it is not available; callers check that.
#[cfg(not(openssl_1_1_1))]
fn sha_256() -> *const ffi::EVP_MD {
    // SAFETY: the names are C strings, and null is the default.
    unsafe { ffi::EVP_MD_fetch(ptr::null_mut(), c"SHA256".as_ptr(), ptr::null()) }
}

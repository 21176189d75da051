//! BoringSSL's functions for the keys of QUIC.

use boring::error::ErrorStack;
use boring_sys as ffi;
use lab_quic::KeyFunctions;
use lab_scenario::{Result, Suite};

pub(super) struct BoringSslKeys;

impl KeyFunctions for BoringSslKeys {
    type PacketKey = PacketKey;
    type HeaderKey = HeaderKey;

    fn extract_sha256(salt: &[u8], secret: &[u8]) -> Result<[u8; 32]> {
        let (mut out, mut length) = ([0; 32], 0);
        // SAFETY: the output has the length of the hash function, and all other lengths are those
        // of the slices.
        let extracted = unsafe {
            ffi::HKDF_extract(
                out.as_mut_ptr(),
                &raw mut length,
                ffi::EVP_sha256(),
                secret.as_ptr(),
                secret.len(),
                salt.as_ptr(),
                salt.len(),
            )
        };
        done(extracted)?;
        Ok(out)
    }

    fn expand(suite: Suite, secret: &[u8], info: &[u8], out: &mut [u8]) -> Result<()> {
        // SAFETY: all lengths are those of the slices.
        done(unsafe {
            let hash = match suite {
                Suite::Aes256GcmSha384 => ffi::EVP_sha384(),
                _ => ffi::EVP_sha256(),
            };
            ffi::HKDF_expand(
                out.as_mut_ptr(),
                out.len(),
                hash,
                secret.as_ptr(),
                secret.len(),
                info.as_ptr(),
                info.len(),
            )
        })
    }

    fn packet_key(suite: Suite, key: &[u8], _: bool) -> Result<PacketKey> {
        // SAFETY: the key has the length of the algorithm; null means failure.
        let context = unsafe {
            let algorithm = match suite {
                Suite::Aes128GcmSha256 => ffi::EVP_aead_aes_128_gcm(),
                Suite::Aes256GcmSha384 => ffi::EVP_aead_aes_256_gcm(),
                _ => ffi::EVP_aead_chacha20_poly1305(),
            };
            ffi::EVP_AEAD_CTX_new(algorithm, key.as_ptr(), key.len(), 0)
        };
        if context.is_null() { Err(ErrorStack::get().into()) } else { Ok(PacketKey(context)) }
    }

    fn header_key(suite: Suite, key: &[u8]) -> Result<HeaderKey> {
        if suite == Suite::ChaCha20Poly1305Sha256 {
            return Ok(HeaderKey::ChaCha20 { _key: key.try_into()? });
        }
        let (mut expanded, bits) =
            (Box::<ffi::AES_KEY>::new_uninit(), u32::try_from(key.len() * 8)?);
        // SAFETY: the key has the given length, and the call initialises its output if it succeeds.
        unsafe {
            if ffi::AES_set_encrypt_key(key.as_ptr(), bits, expanded.as_mut_ptr()) != 0 {
                return Err("no AES key".into());
            }
            Ok(HeaderKey::Aes { _key: expanded.assume_init() })
        }
    }
}

/// A key that protects packets, in either direction.
pub(super) struct PacketKey(*mut ffi::EVP_AEAD_CTX);

impl Drop for PacketKey {
    fn drop(&mut self) {
        // SAFETY: the context was allocated by `EVP_AEAD_CTX_new`.
        unsafe { ffi::EVP_AEAD_CTX_free(self.0) };
    }
}

/// A key that protects headers. RFC 9001 5.4
pub(super) enum HeaderKey {
    Aes { _key: Box<ffi::AES_KEY> },
    ChaCha20 { _key: [u8; 32] },
}

fn done(result: std::ffi::c_int) -> Result<()> {
    if result == 1 { Ok(()) } else { Err(ErrorStack::get().into()) }
}

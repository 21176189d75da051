//! OpenSSL's functions for the keys of QUIC.

use lab_quic::KeyFunctions;
use lab_scenario::{Result, Suite};
use openssl::cipher::{Cipher, CipherRef};
use openssl::cipher_ctx::CipherCtx;
use openssl::md::Md;
use openssl::pkey::Id;
use openssl::pkey_ctx::{HkdfMode, PkeyCtx};

pub(super) struct OpenSslKeys;

impl KeyFunctions for OpenSslKeys {
    type PacketKey = CipherCtx;
    type HeaderKey = CipherCtx;

    fn extract_sha256(salt: &[u8], secret: &[u8]) -> Result<[u8; 32]> {
        let mut out = [0; 32];
        let mut context = PkeyCtx::new_id(Id::HKDF)?;
        context.derive_init()?;
        context.set_hkdf_mode(HkdfMode::EXTRACT_ONLY)?;
        context.set_hkdf_md(Md::sha256())?;
        context.set_hkdf_salt(salt)?;
        context.set_hkdf_key(secret)?;
        context.derive(Some(&mut out))?;
        Ok(out)
    }

    fn expand(suite: Suite, secret: &[u8], info: &[u8], out: &mut [u8]) -> Result<()> {
        let mut context = PkeyCtx::new_id(Id::HKDF)?;
        context.derive_init()?;
        context.set_hkdf_mode(HkdfMode::EXPAND_ONLY)?;
        context.set_hkdf_md(match suite {
            Suite::Aes256GcmSha384 => Md::sha384(),
            _ => Md::sha256(),
        })?;
        context.set_hkdf_key(secret)?;
        context.add_hkdf_info(info)?;
        context.derive(Some(out))?;
        Ok(())
    }

    fn packet_key(suite: Suite, key: &[u8], sends: bool) -> Result<CipherCtx> {
        let (mut context, cipher) = (CipherCtx::new()?, ciphers(suite).0);
        if sends {
            context.encrypt_init(Some(cipher), Some(key), None)?;
        } else {
            context.decrypt_init(Some(cipher), Some(key), None)?;
        }
        Ok(context)
    }

    fn header_key(suite: Suite, key: &[u8]) -> Result<CipherCtx> {
        let mut context = CipherCtx::new()?;
        context.encrypt_init(Some(ciphers(suite).1), Some(key), None)?;
        Ok(context)
    }
}

/// The ciphers of packets and of headers.
fn ciphers(suite: Suite) -> (&'static CipherRef, &'static CipherRef) {
    match suite {
        Suite::Aes128GcmSha256 => (Cipher::aes_128_gcm(), Cipher::aes_128_ecb()),
        Suite::Aes256GcmSha384 => (Cipher::aes_256_gcm(), Cipher::aes_256_ecb()),
        _ => (Cipher::chacha20_poly1305(), Cipher::chacha20()),
    }
}

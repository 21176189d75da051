//! Key containers: SubjectPublicKeyInfo and PKCS#8.
//!
//! A container is parsed into the concrete key inside. `signing_key.rs` and `public_key.rs` above
//! check whether a key is strong enough.

use super::check;
use super::ec::EcKey;
use super::handle::Handle;
use super::lc;
use super::ml_dsa::MlDsaKey;
use super::rsa::{RsaKey, md};
use crate::algorithm::HashAlgorithm;
use crate::backend::secret::Secret;
use crate::error::CryptoError;

/// The contents of a container.
pub(crate) enum Contents {
    Rsa(RsaKey),
    /// A key for PSS only; if its parameters name a hash, only for that hash.
    RsaPss(RsaKey, Option<HashAlgorithm>),
    Ec(EcKey),
    /// 32 bytes: a public key or a seed, depending on the container.
    Ed25519(Secret),
    MlDsa(MlDsaKey),
}

/// A parsed container.
pub(crate) struct Pkey(Handle<lc::EVP_PKEY>);

impl Pkey {
    /// Parses `der`, which must be exactly a SubjectPublicKeyInfo (RFC 5280 4.1.2.7).
    pub(crate) fn from_spki(der: &[u8]) -> Result<Self, CryptoError> {
        Self::parse(der, lc::EVP_parse_public_key)
    }

    /// Parses `der`, which must be exactly a PKCS#8 private key (RFC 5958).
    pub(crate) fn from_pkcs8(der: &[u8]) -> Result<Self, CryptoError> {
        Self::parse(der, lc::EVP_parse_private_key)
    }

    /// The public key inside.
    pub(crate) fn public_contents(self) -> Result<Contents, CryptoError> {
        self.contents(lc::EVP_PKEY_get_raw_public_key)
    }

    /// The private key inside.
    pub(crate) fn private_contents(self) -> Result<Contents, CryptoError> {
        self.contents(lc::EVP_PKEY_get_raw_private_key)
    }

    fn parse(
        der: &[u8],
        parser: unsafe extern "C" fn(*mut lc::CBS) -> *mut lc::EVP_PKEY,
    ) -> Result<Self, CryptoError> {
        let mut input = lc::CBS { data: der.as_ptr(), len: der.len() };
        // SAFETY: `input` covers `der`; the result is null, or we own it.
        let key = unsafe { Handle::new(parser(&raw mut input), CryptoError::InvalidKey)? };
        if input.len == 0 { Ok(Self(key)) } else { Err(CryptoError::InvalidKey) }
    }

    fn contents(
        self,
        raw: unsafe extern "C" fn(*const lc::EVP_PKEY, *mut u8, *mut usize) -> i32,
    ) -> Result<Contents, CryptoError> {
        // SAFETY: the key is valid.
        match unsafe { lc::EVP_PKEY_id(self.0.as_ptr()) } {
            lc::EVP_PKEY_RSA => Ok(Contents::Rsa(self.rsa()?)),
            lc::EVP_PKEY_RSA_PSS => Ok(Contents::RsaPss(self.rsa()?, self.only_hash()?)),
            lc::EVP_PKEY_EC => {
                // SAFETY: the key is valid; the result is a reference that we own.
                let key = unsafe {
                    let key = lc::EVP_PKEY_get1_EC_KEY(self.0.as_ptr());
                    Handle::new(key, CryptoError::InvalidKey)?
                };
                EcKey::adopt(key).map(Contents::Ec)
            }
            lc::EVP_PKEY_ED25519 => {
                Secret::try_with(32, |bytes| {
                    let mut len = bytes.len();
                    // SAFETY: the key is valid; `bytes` is passed with its length.
                    let code = unsafe { raw(self.0.as_ptr(), bytes.as_mut_ptr(), &raw mut len) };
                    check(code, CryptoError::InvalidKey)
                })
                .map(Contents::Ed25519)
            }
            #[cfg(not(fips_module_3))]
            lc::EVP_PKEY_PQDSA => MlDsaKey::adopt(self.0).map(Contents::MlDsa),
            _ => Err(CryptoError::Unsupported),
        }
    }

    fn rsa(&self) -> Result<RsaKey, CryptoError> {
        // SAFETY: the key is valid; the result is a reference that we own.
        unsafe {
            let key = lc::EVP_PKEY_get1_RSA(self.0.as_ptr());
            Handle::new(key, CryptoError::InvalidKey).and_then(RsaKey::new)
        }
    }

    /// The hash to which an id-RSASSA-PSS key is restricted. AWS-LC does not expose the key's
    /// parameters but refuses operations that violate them, so each hash is tried.
    fn only_hash(&self) -> Result<Option<HashAlgorithm>, CryptoError> {
        let all = [HashAlgorithm::Sha256, HashAlgorithm::Sha384, HashAlgorithm::Sha512];
        let mut allowed = all.into_iter().filter(|hash| self.allows_pss_with(*hash).is_ok());
        match (allowed.next(), allowed.next()) {
            (Some(only), None) => Ok(Some(only)),
            (Some(_), Some(_)) => Ok(None),
            (None, _) => Err(CryptoError::Unsupported),
        }
    }

    fn allows_pss_with(&self, hash: HashAlgorithm) -> Result<(), CryptoError> {
        let context = self.0.context()?;
        // This cannot fail: a salt has at most 64 bytes.
        let salt_len = i32::try_from(hash.output_len()).map_err(|_| CryptoError::Internal)?;
        // SAFETY: the context is valid, and `md` is static.
        unsafe {
            let refused = CryptoError::Unsupported;
            check(lc::EVP_PKEY_verify_init(context.as_ptr()), refused)?;
            check(lc::EVP_PKEY_CTX_set_signature_md(context.as_ptr(), md(hash)), refused)?;
            check(lc::EVP_PKEY_CTX_set_rsa_mgf1_md(context.as_ptr(), md(hash)), refused)?;
            check(lc::EVP_PKEY_CTX_set_rsa_pss_saltlen(context.as_ptr(), salt_len), refused)
        }
    }
}

//! Identities: a certificate chain with its private key.

use std::sync::Arc;

use tercel::Credential;
use tercel::certificates::CredentialError;
use tercel::pki::{self, RefusalReason};
use tercel::pki_types::{CertificateDer, PrivateKeyDer};
use tercel_crypto::{Pkcs12, SigningKey};

use crate::error::{Kind, Result};

/// A certificate chain with its private key.
#[derive(Clone)]
pub struct Identity {
    /// The chain, leaf first.
    chain: Arc<[CertificateDer<'static>]>,
    key: Arc<SigningKey>,
}

impl Identity {
    /// Opens a PKCS#12 file (`.p12`, `.pfx`) with its password.
    ///
    /// The file contains a private key and its certificate. Its other certificates are sent after
    /// this certificate, in the order of the file, which should be the order of the chain. The
    /// encryption may be that of current programs (PBES2 with AES), or 3DES and RC2 of older ones:
    ///
    /// ```sh
    /// openssl pkcs12 -export -inkey key.pem -in cert.pem -certfile intermediates.pem -out id.p12
    /// ```
    ///
    /// Only files of a trusted source should be opened: a file states how much work its decryption
    /// takes, which may be minutes.
    ///
    /// # Errors
    /// If the password is wrong, or the file is malformed, is not protected by a password, or lacks
    /// a private key or its certificate.
    pub fn from_pkcs12(der: &[u8], password: &str) -> Result<Self> {
        let opened = Pkcs12::open(der, password).map_err(Kind::Pkcs12)?;
        let key = opened.key.ok_or(Kind::Pkcs12WithoutKey)?;
        let mut chain: Vec<_> = opened.certificates.into_iter().map(CertificateDer::from).collect();
        let spki = key.public_key_spki();
        let is_leaf = |certificate: &CertificateDer<'_>| {
            pki::subject_public_key_info(certificate).is_ok_and(|own| own == spki)
        };
        let leaf = chain.iter().position(is_leaf).ok_or_else(|| without_leaf(&chain))?;
        if let Some(before) = chain.get_mut(..=leaf) {
            before.rotate_right(1);
        }
        Self::new(chain, key)
    }

    /// Creates an identity from PEM: a chain, leaf first, and a private key (PKCS#8, not
    /// encrypted).
    ///
    /// # Errors
    /// If the chain or the key cannot be parsed, the key is in another form than PKCS#8, or it does
    /// not match the first certificate.
    pub fn from_pkcs8(pem: &[u8], key: &[u8]) -> Result<Self> {
        let chain = pki::load_certs_pem(pem).map_err(Kind::Pem)?;
        let key = pki::load_key_pem(key).map_err(Kind::Pem)?;
        if !matches!(key, PrivateKeyDer::Pkcs8(_)) {
            return Err(Kind::NotPkcs8.into());
        }
        // The certificate may be the reason why a key is not supported.
        Credential::new(chain.clone(), &key).map_err(Kind::Credential)?;
        let key = SigningKey::from_der(key.secret_der());
        Self::new(chain, key.map_err(|_| Kind::Credential(CredentialError::BadKey))?)
    }

    fn new(chain: Vec<CertificateDer<'static>>, key: SigningKey) -> Result<Self> {
        let identity = Self { chain: chain.into(), key: Arc::new(key) };
        identity.credential()?;
        Ok(identity)
    }

    /// Returns the identity as a credential of a configuration.
    pub(crate) fn credential(&self) -> Result<Credential> {
        let credential = Credential::with_signer(self.chain.to_vec(), Arc::clone(&self.key) as _);
        Ok(credential.map_err(Kind::Credential)?)
    }

    /// Returns the chain, leaf first.
    pub(crate) fn chain(&self) -> Arc<[CertificateDer<'static>]> {
        Arc::clone(&self.chain)
    }
}

/// The reason why no certificate has the key: there is none, or one has a key that cannot be used,
/// such as one with explicit curve parameters.
fn without_leaf(chain: &[CertificateDer<'static>]) -> Kind {
    let mut reasons = chain.iter().filter_map(|certificate| {
        pki::end_entity_public_key(std::slice::from_ref(certificate)).err()
    });
    let unusable = |reason: &RefusalReason| {
        matches!(reason, RefusalReason::UnsupportedKey | RefusalReason::InvalidKey)
    };
    match reasons.find(unusable) {
        Some(reason) => Kind::Credential(CredentialError::UnusableCertificate(reason)),
        None => Kind::Pkcs12WithoutCertificate,
    }
}

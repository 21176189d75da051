//! A certificate with its chain and its key, and the credentials made from them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tercel::Credential;
use tercel::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::objects::certificate::Certificate;
use crate::objects::key::Key;
use crate::objects::store::Store;

/// A certificate, its chain, and its private key, each of which may be missing.
#[derive(Clone, Default)]
pub(crate) struct Identity {
    /// libcrypto's number of the type of key.
    pub(crate) key_type: i32,
    pub(crate) certificate: Option<Certificate>,
    pub(crate) key: Option<Key>,
    /// The certificates between this one and the root. `None`: they are not set.
    pub(crate) chain: Option<Vec<Certificate>>,
    /// Credentials, which copies of an unchanged identity share.
    credentials: Arc<Mutex<Vec<Made>>>,
}

/// A credential, or that none can be made, with the source of its chain.
type Made = (ChainSource, Option<Arc<Credential>>);

/// The most credentials that are remembered for one identity.
const MOST_CREDENTIALS: usize = 4;

/// Where the chain of a certificate comes from that has none of its own.
#[derive(Clone)]
pub(crate) enum ChainSource {
    /// These certificates.
    Given(Vec<Certificate>),
    /// It is built from the certificates of a store.
    Store(Store),
    /// There is none.
    Nothing,
}

impl PartialEq for ChainSource {
    /// Whether both have the same objects.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Given(one), Self::Given(other)) => {
                one.iter().map(Certificate::as_ptr).eq(other.iter().map(Certificate::as_ptr))
            }
            (Self::Store(one), Self::Store(other)) => one.as_ptr() == other.as_ptr(),
            (Self::Nothing, Self::Nothing) => true,
            _ => false,
        }
    }
}

impl Identity {
    pub(crate) fn new(key_type: i32) -> Self {
        Self { key_type, ..Self::default() }
    }

    /// Forgets the credentials, before a change.
    pub(crate) fn changed(&mut self) -> &mut Self {
        self.credentials = Arc::default();
        self
    }

    /// The credential. `None` if the certificate or the key is missing or of a kind that Tercel
    /// does not have. `chain` makes the chain from the source, unless the identity has its own.
    pub(crate) fn credential(
        &self,
        source: &ChainSource,
        chain: impl FnOnce(&ChainSource, &Certificate) -> Vec<Certificate>,
    ) -> Option<Arc<Credential>> {
        let known = self.made().iter().find(|(known, _)| known == source).cloned();
        if let Some((_, credential)) = known {
            return credential;
        }
        // Building a chain can call functions of the program, so nothing is locked.
        let credential = self.make(|leaf| chain(source, leaf));
        let mut made = self.made();
        if made.len() >= MOST_CREDENTIALS {
            made.remove(0);
        }
        made.push((source.clone(), credential.clone()));
        credential
    }

    fn made(&self) -> MutexGuard<'_, Vec<Made>> {
        self.credentials.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn make(
        &self,
        chain: impl FnOnce(&Certificate) -> Vec<Certificate>,
    ) -> Option<Arc<Credential>> {
        let (leaf, key) = (self.certificate.as_ref()?, self.key.as_ref()?);
        let chain = match &self.chain {
            Some(chain) => chain.clone(),
            None => chain(leaf),
        };
        let ders: Option<Vec<_>> = std::iter::once(leaf)
            .chain(&chain)
            .map(|each| each.to_der().map(CertificateDer::from))
            .collect();
        let ders = ders?;
        // A key that can be exported signs by Tercel's own code, which is faster. Others, of
        // engines and providers, sign by libcrypto.
        if let Some(pkcs8) = key.to_pkcs8() {
            let der = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(pkcs8.as_slice()));
            if let Ok(credential) = Credential::new(ders.clone(), &der) {
                return Some(Arc::new(credential));
            }
        }
        Credential::remote(ders).ok().map(Arc::new)
    }
}

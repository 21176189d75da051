//! A certificate with its chain and its key, and the credentials made from them.

use core::ffi::c_int;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tercel::Credential;
use tercel::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tercel::wire::SignatureScheme;

use super::security;
use crate::objects::certificate::Certificate;
use crate::objects::key::Key;
use crate::objects::list::Certificates;
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
    /// The list of these certificates that the program passed on. It may use the list until it sets
    /// another chain.
    pub(crate) given_chain: Option<Arc<Certificates>>,
    /// Credentials, which copies of an unchanged identity share.
    credentials: Arc<Mutex<Vec<Made>>>,
}

/// A credential that can be used, with the strength of its weakest key or signature.
#[derive(Clone)]
pub(crate) struct Usable {
    pub(crate) credential: Arc<Credential>,
    pub(crate) weakest: c_int,
}

/// What a credential is made from, in addition to the identity.
#[derive(Clone, PartialEq)]
pub(crate) struct MadeFrom {
    pub(crate) chain: ChainSource,
    /// The schemes with which it may sign. `None`: all.
    pub(crate) schemes: Option<Vec<SignatureScheme>>,
}

/// A credential, or that none can be made, with what it was made from.
type Made = (MadeFrom, Option<Usable>);

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

    /// Whether a certificate, a key or a chain is set.
    pub(crate) fn has_any(&self) -> bool {
        self.certificate.is_some() || self.key.is_some() || self.chain.is_some()
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
        source: &MadeFrom,
        chain: impl FnOnce(&ChainSource, &Certificate) -> Vec<Certificate>,
    ) -> Option<Usable> {
        let known = self.made().iter().find(|(known, _)| known == source).cloned();
        if let Some((_, credential)) = known {
            return credential;
        }
        // Building a chain can call functions of the program, so nothing is locked.
        let credential = self.make(source.schemes.as_deref(), |leaf| chain(&source.chain, leaf));
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
        schemes: Option<&[SignatureScheme]>,
        chain: impl FnOnce(&Certificate) -> Vec<Certificate>,
    ) -> Option<Usable> {
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
        let weakest = security::weakest(leaf, &chain);
        let usable = |credential: Credential| {
            let credential = match schemes {
                // The credential's own order remains, and its key decides what it can sign with.
                Some(schemes) => credential.signature_schemes(schemes.to_vec()),
                None => credential,
            };
            Usable { credential: Arc::new(credential), weakest }
        };
        // A key that can be exported signs by Tercel's own code, which is faster. Others, of
        // engines and providers, sign by libcrypto.
        if let Some(pkcs8) = key.to_pkcs8() {
            let der = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(pkcs8.as_slice()));
            if let Ok(credential) = Credential::new(ders.clone(), &der) {
                return Some(usable(credential));
            }
        }
        Credential::remote(ders).ok().map(usable)
    }
}

//! A certificate with its chain and its key, and the credential made from them.

use std::sync::{Arc, OnceLock};

use tercel::Credential;
use tercel::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::objects::certificate::Certificate;
use crate::objects::key::Key;

/// A certificate, its chain, and its private key, each of which may be missing.
#[derive(Clone, Default)]
pub(crate) struct Identity {
    /// libcrypto's number of the type of key.
    pub(crate) key_type: i32,
    pub(crate) certificate: Option<Certificate>,
    pub(crate) key: Option<Key>,
    /// The certificates between this one and the root. `None`: they are not set.
    pub(crate) chain: Option<Vec<Certificate>>,
    credential: OnceLock<Option<Arc<Credential>>>,
}

impl Identity {
    pub(crate) fn new(key_type: i32) -> Self {
        Self { key_type, ..Self::default() }
    }

    /// Forgets the credential, before a change.
    pub(crate) fn changed(&mut self) -> &mut Self {
        self.credential = OnceLock::new();
        self
    }

    /// The credential, with this chain if the identity has none of its own. `None` if the
    /// certificate or the key is missing or of a kind that Tercel does not have.
    pub(crate) fn credential(
        &self,
        chain: impl FnOnce(&Certificate) -> Vec<Certificate>,
    ) -> Option<Arc<Credential>> {
        self.credential.get_or_init(|| self.make(chain)).clone()
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

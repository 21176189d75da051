//! The certificates and keys of this side.

use core::ptr;
use std::sync::Arc;

use tercel::certificates::CredentialRequest;
use tercel::questions::{SelectCredentialQuestion, SignQuestion};
use tercel::wire::SignatureScheme;
use tercel::{Answer, Credential};

use super::Ssl;
use super::alerts::INTERNAL_ERROR;
use super::state::{Side, Want};
use super::steps::Unanswered;
use crate::errors;
use crate::errors::reasons::{BAD_DATA_RETURNED_BY_CALLBACK, CALLBACK_FAILED, CERT_CB_ERROR};
use crate::objects::certificate::Certificate;
use crate::objects::key::Key;
use crate::objects::list::{self, Certificates};
use crate::objects::name::Name;
use crate::objects::store::{Store, Verification};
use crate::settings::Settings;
use crate::settings::identity::{ChainSource, MadeFrom};
use crate::settings::options::MODE_NO_AUTO_CHAIN;
use crate::sys::x509::{
    X509_STORE_CTX_get1_chain, X509_STORE_CTX_init, X509_STORE_CTX_new, X509_verify_cert,
};

impl Ssl {
    /// The credentials of the certificates and keys that are set, each with the index of its
    /// identity.
    pub(crate) fn own_credentials(&self, settings: &Settings) -> Vec<(usize, Arc<Credential>)> {
        let source =
            MadeFrom { chain: self.chain_source(settings), schemes: self.own_schemes(settings) };
        let identities = settings.identities.iter().enumerate();
        let usable = identities
            .filter_map(|(index, identity)| Some((index, identity.credential(&source, chain_of)?)));
        // The store and the providers of keys may call the program.
        let usable: Vec<_> = self.outside(|| usable.collect());
        let permitted = usable.into_iter().filter(|(_, each)| self.permits_chain(settings, each));
        permitted.map(|(index, each)| (index, each.credential)).collect()
    }

    /// The source of chains: the extra chain of the context, or the trusted certificates.
    fn chain_source(&self, settings: &Settings) -> ChainSource {
        if !settings.extra_chain.is_empty() {
            return ChainSource::Given(settings.extra_chain.clone());
        }
        if settings.mode & MODE_NO_AUTO_CHAIN != 0 {
            return ChainSource::Nothing;
        }
        let store = settings.chain_store.clone().unwrap_or_else(|| self.context().store());
        ChainSource::Store(store)
    }

    /// Answers the question of a client for its certificate.
    pub(super) fn answer_select(
        &self,
        question: &SelectCredentialQuestion,
    ) -> Result<Answer, Unanswered> {
        self.choose(&question.request()).map(|chosen| question.answer(chosen))
    }

    /// Chooses the certificate of a client for a server's request.
    pub(super) fn choose(
        &self,
        request: &CredentialRequest<'_>,
    ) -> Result<Option<Arc<Credential>>, Unanswered> {
        if let Some(authorities) = &request.authorities {
            let names = authorities.iter().filter_map(|name| Name::from_der(name.0)).collect();
            self.requested_authorities.replace(Some(Arc::new(names)));
        }
        self.call_certificate_callback()?;
        let fitting = self.fitting_credential(request);
        if fitting.is_some() || !self.call_client_certificate_callback()? {
            return Ok(fitting);
        }
        Ok(self.fitting_credential(request))
    }

    /// The first own credential that fits a server's request.
    fn fitting_credential(&self, request: &CredentialRequest<'_>) -> Option<Arc<Credential>> {
        let settings = self.settings();
        let mut own = self.own_credentials(&settings).into_iter();
        own.find(|(_, each)| request.scheme_for(each).is_some()).map(|(_, chosen)| chosen)
    }

    /// Calls the program's function that sets certificates, if there is one.
    pub(super) fn call_certificate_callback(&self) -> Result<(), Unanswered> {
        let callback = self.settings().callbacks.certificate;
        let Some(function) = callback.function else { return Ok(()) };
        // SAFETY: the program set this function for these arguments. No cell is borrowed.
        match self.outside(|| unsafe { function(self.address(), callback.argument) }) {
            1.. => Ok(()),
            0 => {
                let is_server = self.side.get() == Some(Side::Server);
                errors::push(if is_server { CERT_CB_ERROR } else { CALLBACK_FAILED });
                Err(Unanswered::Alert(INTERNAL_ERROR))
            }
            _ => {
                self.want.set(Want::Lookup);
                Err(Unanswered::Later)
            }
        }
    }

    /// Calls the program's older function, which returns a certificate and a key. Returns whether
    /// the client may use its certificates: as with OpenSSL, not after 0, nor after 1 if one of
    /// both is missing or the key belongs to another certificate. After other results, what the
    /// function has passed on is ignored.
    fn call_client_certificate_callback(&self) -> Result<bool, Unanswered> {
        let callback = self.settings().callbacks.client_certificate;
        let Some(function) = callback else { return Ok(false) };
        let (mut certificate, mut key) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the program set this function for these arguments. No cell is borrowed.
        let result = self
            .outside(|| unsafe { function(self.address(), &raw mut certificate, &raw mut key) });
        if result < 0 {
            self.want.set(Want::Lookup);
            return Err(Unanswered::Later);
        }
        // SAFETY: the function did not ask to be called again, so both are NULL or references that
        // it has passed on.
        let (certificate, key) =
            unsafe { (Certificate::from_raw(certificate.cast()), Key::from_raw(key.cast())) };
        match (result, certificate, key) {
            (1, Some(certificate), Some(key)) => {
                let fits = certificate.has_key(&key);
                if fits {
                    self.change(|settings| {
                        let identity = settings.identity_for(certificate.key_type());
                        (identity.certificate, identity.key) = (Some(certificate), Some(key));
                    });
                }
                Ok(fits)
            }
            (1, ..) => {
                errors::push(BAD_DATA_RETURNED_BY_CALLBACK);
                Ok(false)
            }
            _ => Ok(result != 0),
        }
    }

    /// Signs with libcrypto, for a key that cannot be exported.
    pub(crate) fn answer_sign(&self, question: &SignQuestion) -> Answer {
        let signature = self.sign(question.credential(), question.scheme(), question.content());
        question.answer(signature)
    }

    /// Signs with the private key of this credential.
    pub(crate) fn sign(
        &self,
        credential: &Credential,
        scheme: SignatureScheme,
        content: &[u8],
    ) -> Option<Vec<u8>> {
        let settings = self.settings();
        let leaf = credential.chain().first().map(|leaf| leaf.to_vec());
        let key = settings.identities.iter().find_map(|identity| {
            let own = identity.certificate.as_ref()?.to_der();
            identity.key.clone().filter(|_| own == leaf)
        });
        key.and_then(|key| self.outside(|| key.sign(scheme, content)))
    }
}

/// The chain of a certificate that has none of its own, without the certificate and the root.
fn chain_of(source: &ChainSource, leaf: &Certificate) -> Vec<Certificate> {
    match source {
        ChainSource::Given(chain) => chain.clone(),
        ChainSource::Store(store) => {
            errors::without_errors(|| build_chain(store, leaf)).unwrap_or_default()
        }
        ChainSource::Nothing => Vec::new(),
    }
}

/// Builds the chain of a certificate, and removes the certificate itself and the root.
fn build_chain(store: &Store, leaf: &Certificate) -> Option<Vec<Certificate>> {
    // SAFETY: all objects exist during the calls. A list that the caller owns is returned.
    let chain = unsafe {
        let building = Verification::from_raw(X509_STORE_CTX_new())?;
        let begun =
            X509_STORE_CTX_init(building.as_ptr(), store.as_ptr(), leaf.as_ptr(), ptr::null_mut());
        if begun != 1 {
            return None;
        }
        // The result does not matter: what was found of the chain is sent.
        X509_verify_cert(building.as_ptr());
        let found = Certificates::from_raw(X509_STORE_CTX_get1_chain(building.as_ptr()))?;
        list::certificates(found.as_ptr())
    };
    Some(chain.into_iter().skip(1).collect())
}

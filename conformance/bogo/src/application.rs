//! The shim as an application: selects certificates, verifies peers, chooses configurations.
//!
//! The same object answers inside the library ([`tercel::Policy::Here`]) and, with `-async`,
//! answers questions outside it. It records the values that [`crate::expect`] checks.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tercel::crypto::SigningKey;
use tercel::pki::{Refusal, RefusalReason};
use tercel::wire::{AlertDescription, ClientHello, List};
use tercel::{
    Answer, Credential, Question, Side,
    certificates::{CredentialRequest, PeerIdentity, SelectCredential, VerifyPeer},
    clock::Clock,
    session::{AdmitEarlyData, ServerSessionStore},
};

use crate::base64;
use crate::ech;
use crate::options::Options;
use crate::psk::Imported;
use crate::quic::Secrets;
use crate::sessions::Sessions;

/// The application, which answers all of the library's questions by the options of one connection.
pub(crate) struct Application {
    pub(crate) options: Options,
    pub(crate) credentials: Vec<NumberedCredential>,
    pub(crate) pre_shared_keys: Vec<Imported>,
    pub(crate) sessions: Arc<Sessions>,
    /// The secrets of a connection over QUIC.
    pub(crate) secrets: Arc<Secrets>,
    observed: Mutex<Observations>,
}

/// A credential with its number, and its key if that is outside the library.
pub(crate) struct NumberedCredential {
    pub(crate) credential: Arc<Credential>,
    /// The position among the flags; -1 for the credential without a number.
    pub(crate) number: i32,
    pub(crate) key: Option<SigningKey>,
}

/// The questions that the library asked, and the answers.
#[derive(Default)]
pub(crate) struct Observations {
    /// The number of the selected credential.
    pub(crate) selected: Option<i32>,
    /// Whether a credential was requested.
    pub(crate) requested: bool,
    /// The result of the verifier, if it was called.
    pub(crate) verified: Option<bool>,
    /// The number of calls of the verifier.
    pub(crate) verifications: usize,
    /// BoringSSL's token for a refusal by the shim.
    pub(crate) token: Option<&'static str>,
    /// Expectations that were not met.
    pub(crate) faults: Vec<String>,
}

impl Application {
    pub(crate) fn new(
        options: Options,
        credentials: Vec<NumberedCredential>,
        pre_shared_keys: Vec<Imported>,
        sessions: Arc<Sessions>,
    ) -> Self {
        Self {
            options,
            credentials,
            pre_shared_keys,
            sessions,
            secrets: Arc::default(),
            observed: Mutex::default(),
        }
    }

    pub(crate) fn observed(&self) -> MutexGuard<'_, Observations> {
        self.observed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add_fault(&self, faults: String) {
        self.observed().faults.push(faults);
    }

    /// The answer to a question; `None` if no option leads to this kind of question.
    pub(crate) fn answer(&self, question: &Question) -> Option<Answer> {
        match question {
            Question::SelectCredential(question) => Some(question.resolve(self)),
            Question::FindPreSharedKey(question) => Some(question.resolve(self)),
            Question::VerifyPeer(question) => Some(question.resolve(self)),
            Question::Sign(question) => {
                let same = |loaded: &&NumberedCredential| {
                    Arc::ptr_eq(&loaded.credential, question.credential())
                };
                let key = self.credentials.iter().find(same)?.key.as_ref()?;
                Some(question.resolve(key))
            }
            Question::FindSession(question) => {
                let (store, now) = (&self.sessions.store, self.sessions.clock.now());
                Some(question.answer(store.get(question.identity(), now)))
            }
            Question::ClaimSession(question) => {
                let (store, now) = (&self.sessions.store, self.sessions.clock.now());
                Some(question.answer(store.claim(question.identity(), now)))
            }
            Question::AdmitEarlyData(question) => {
                let now = self.sessions.clock.now();
                let guard = &self.sessions.guard;
                Some(question.answer(guard.admit_early_data(question.unique(), now)))
            }
            _ => None,
        }
    }

    /// Checks what a client offered.
    pub(crate) fn check_client_hello(&self, hello: &ClientHello<'_>) {
        let expect = &self.options.expect;
        if !expect.advertised_alpn.is_empty() {
            let mut offered = Vec::new();
            for name in hello.extensions.alpn.iter().flat_map(List::iter) {
                offered.extend(u8::try_from(name.0.len()));
                offered.extend_from_slice(name.0);
            }
            if offered != expect.advertised_alpn {
                self.add_fault(format!("the client offered the protocols {offered:?}"));
            }
        }
        if expect.no_server_name && hello.extensions.server_name.is_some() {
            self.add_fault("the client named a server".to_owned());
        }
    }

    /// Checks what a peer requires of the certificate.
    fn check_credential_request(&self, request: &CredentialRequest<'_>) {
        self.observed().requested = true;
        let expect = &self.options.expect;
        let types = request.client_certificate_types;
        let types: Vec<u8> = types.iter().flat_map(List::iter).map(|kind| kind.0).collect();
        if !expect.certificate_types.is_empty() && expect.certificate_types != types {
            self.add_fault(format!("the peer accepts the certificate types {types:?}"));
        }
        let prefs: Vec<u16> = request.signature_schemes.iter().map(|scheme| scheme.0).collect();
        if !expect.peer_verify_prefs.is_empty() && expect.peer_verify_prefs != prefs {
            self.add_fault(format!("the peer verifies {prefs:04x?}"));
        }
        let Some(wanted) = expect.client_ca_list.as_deref().and_then(base64::decode_hex_list)
        else {
            return;
        };
        let mut named = request.authorities.iter().flat_map(List::iter);
        let same = wanted.iter().all(|name| named.next().is_some_and(|got| got.0 == name));
        if !same || named.next().is_some() {
            self.add_fault("the peer names other authorities".to_owned());
        }
    }

    /// Whether the result of verification counts: BoringSSL can inspect a chain without verifying
    /// it.
    fn verification_counts(&self, peer: Side) -> bool {
        peer == Side::Client
            || self.options.verify_peer
            || self.options.require_any_client_certificate
            || self.options.use_ocsp_callback
            || !self.options.accepted_types.is_empty()
    }
}

impl SelectCredential for Application {
    fn select_credential(&self, request: &CredentialRequest<'_>) -> Option<Arc<Credential>> {
        self.check_credential_request(request);
        if request.side == Side::Server && self.options.fail_ocsp_callback {
            self.observed().token = Some(":OCSP_CB_ERROR:");
            return None;
        }
        let fits = |loaded: &&NumberedCredential| request.scheme_for(&loaded.credential).is_some();
        // A client that has certificates but no suitable one must not continue without a
        // certificate. This returns an unsuitable certificate, which the library refuses.
        let insists = || self.credentials.first().filter(|_| request.side == Side::Client);
        let chosen = self.credentials.iter().find(fits).or_else(insists)?;
        self.observed().selected = Some(chosen.number);
        Some(Arc::clone(&chosen.credential))
    }
}

impl VerifyPeer for Application {
    /// The tests are about other rules.
    fn is_fips_approved(&self) -> bool {
        true
    }

    /// All connections of a test have the same rules. Whether they apply to resumed sessions is an
    /// option of the tests.
    fn fingerprint(&self) -> Option<[u8; 32]> {
        Some(*b"the rules of the test's options ")
    }

    fn verify_peer(&self, identity: &PeerIdentity<'_>) -> Result<(), Box<Refusal>> {
        // The library asks about the peer of each resumption, because an answer has no fingerprint.
        if identity.resumed && !self.options.reverify_on_resume {
            return Ok(());
        }
        if !self.options.expect.ocsp_response.is_empty() && identity.ocsp_response.is_none() {
            self.add_fault("the OCSP response is missing when the peer is verified".to_owned());
        }
        let status_fails = identity.side == Side::Server && self.options.fail_ocsp_callback;
        let reason = match (self.options.verify_fail, status_fails) {
            (true, _) if self.options.custom_verify_callback => Some(RefusalReason::Other),
            // BoringSSL's token for an application that refuses without a reason.
            (true, _) => {
                Some(RefusalReason::ByVerifier { alert: AlertDescription::HANDSHAKE_FAILURE.0 })
            }
            (false, true) => Some(RefusalReason::StapleRejected),
            (false, false) => None,
        };
        let name = identity.server_name.map(|name| name.to_str());
        let earlier = self.observed().verifications;
        if let Some(fault) = ech::name_fault(&self.options, name.as_deref(), earlier) {
            self.add_fault(fault);
        }
        let mut observed = self.observed();
        observed.verifications += 1;
        observed.verified = Some(reason.is_none());
        let Some(reason) = reason.filter(|_| self.verification_counts(identity.side)) else {
            return Ok(());
        };
        Err(Box::new(identity.refusal(reason)))
    }

    fn authorities(&self) -> Vec<Vec<u8>> {
        let list = self.options.use_client_ca_list.as_deref();
        list.and_then(base64::decode_hex_list).unwrap_or_default()
    }
}

//! The shim's decisions as an application: which certificate, which peer, which configuration.
//!
//! The same object answers inside the library ([`tercel::Policy::Here`]) and, with `-async`, from outside as
//! the answer to a question. It keeps what it saw, for [`crate::expect`] to check.
//! Must not know: sockets. Next: [`crate::config`], which puts it into configurations.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tercel::crypto::SigningKey;
use tercel::pki::{Refusal, RefusalReason};
use tercel::pki_types::ServerName;
use tercel::wire::{AlertDescription, ClientHello, List};
use tercel::{
    AdmitEarlyData, Answer, Clock, Credential, CredentialRequest, PeerIdentity, Question,
    SelectCredential, SessionStore, Side, VerifyPeer,
};

use crate::base64;
use crate::options::Options;
use crate::psk::Imported;
use crate::sessions::Sessions;

/// Answers every question by the options of one connection.
pub(crate) struct Judge {
    pub(crate) options: Options,
    pub(crate) credentials: Vec<Loaded>,
    pub(crate) pre_shared_keys: Vec<Imported>,
    pub(crate) sessions: Arc<Sessions>,
    seen: Mutex<Seen>,
}

/// A credential, its number for the runner, and its key where it is kept outside the library.
pub(crate) struct Loaded {
    pub(crate) credential: Arc<Credential>,
    /// In the order of the flags; -1 is the credential without a number.
    pub(crate) number: i32,
    pub(crate) key: Option<SigningKey>,
}

/// What passed before the judge.
#[derive(Default)]
pub(crate) struct Seen {
    /// The number of the credential that was chosen.
    pub(crate) selected: Option<i32>,
    /// Whether a credential was asked for.
    pub(crate) requested: bool,
    /// What the verifier said, if it was asked.
    pub(crate) verdict: Option<bool>,
    /// How often it was asked.
    pub(crate) verifications: usize,
    /// BoringSSL's word for a refusal that was the shim's own doing.
    pub(crate) token: Option<&'static str>,
    /// Expectations that were not met.
    pub(crate) complaints: Vec<String>,
}

impl Judge {
    pub(crate) fn new(
        options: Options,
        credentials: Vec<Loaded>,
        pre_shared_keys: Vec<Imported>,
        sessions: Arc<Sessions>,
    ) -> Self {
        Self { options, credentials, pre_shared_keys, sessions, seen: Mutex::default() }
    }

    pub(crate) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn complain(&self, complaint: String) {
        self.seen().complaints.push(complaint);
    }

    /// The answer to a question that was asked instead of decided inside. `None`: a question of a kind
    /// that no option leads to.
    pub(crate) fn answer(&self, question: &Question) -> Option<Answer> {
        match question {
            Question::SelectCredential(question) => Some(question.resolve(self)),
            Question::FindPreSharedKey(question) => Some(question.resolve(self)),
            Question::VerifyPeer(question) => Some(question.resolve(self)),
            Question::Sign(question) => {
                let same =
                    |loaded: &&Loaded| Arc::ptr_eq(&loaded.credential, question.credential());
                let key = self.credentials.iter().find(same)?.key.as_ref()?;
                Some(question.resolve(key))
            }
            Question::FindSession(question) => {
                let (store, now) = (&self.sessions.store, self.sessions.clock.now());
                let id = question.identity();
                Some(Answer::Session(if question.is_single_use() {
                    store.take(id, now)
                } else {
                    store.get(id, now)
                }))
            }
            Question::AdmitEarlyData(question) => {
                let now = self.sessions.clock.now();
                let guard = &self.sessions.guard;
                Some(Answer::EarlyData(guard.admit_early_data(question.unique(), now)))
            }
            _ => None,
        }
    }

    /// Checks what a client offered.
    pub(crate) fn look_at(&self, hello: &ClientHello<'_>) {
        let expect = &self.options.expect;
        if !expect.advertised_alpn.is_empty() {
            let mut offered = Vec::new();
            for name in hello.extensions.alpn.iter().flat_map(List::iter) {
                offered.extend(u8::try_from(name.0.len()));
                offered.extend_from_slice(name.0);
            }
            if offered != expect.advertised_alpn {
                self.complain(format!("the client offered the protocols {offered:?}"));
            }
        }
        if expect.no_server_name && hello.extensions.server_name.is_some() {
            self.complain("the client named a server".to_owned());
        }
    }

    /// Checks what a peer asks of our certificate.
    fn look_at_request(&self, request: &CredentialRequest<'_>) {
        self.seen().requested = true;
        let expect = &self.options.expect;
        let types = request.client_certificate_types;
        let types: Vec<u8> = types.iter().flat_map(List::iter).map(|kind| kind.0).collect();
        if !expect.certificate_types.is_empty() && expect.certificate_types != types {
            self.complain(format!("the peer takes the certificate types {types:?}"));
        }
        let prefs: Vec<u16> = request.signature_schemes.iter().map(|scheme| scheme.0).collect();
        if !expect.peer_verify_prefs.is_empty() && expect.peer_verify_prefs != prefs {
            self.complain(format!("the peer verifies {prefs:04x?}"));
        }
        let Some(wanted) = expect.client_ca_list.as_deref().and_then(base64::decode_hex_list)
        else {
            return;
        };
        let mut named = request.authorities.iter().flat_map(List::iter);
        let same = wanted.iter().all(|name| named.next().is_some_and(|got| got.0 == name));
        if !same || named.next().is_some() {
            self.complain("the peer names other authorities".to_owned());
        }
    }

    /// Whether a verdict counts: BoringSSL's servers and clients can also look at a chain without judging it.
    fn verdict_counts(&self, peer: Side) -> bool {
        peer == Side::Client
            || self.options.verify_peer
            || self.options.require_any_client_certificate
            || self.options.use_ocsp_callback
            || !self.options.accepted_types.is_empty()
    }
}

impl SelectCredential for Judge {
    fn select_credential(&self, request: &CredentialRequest<'_>) -> Option<Arc<Credential>> {
        self.look_at_request(request);
        if request.side == Side::Server && self.options.fail_ocsp_callback {
            self.seen().token = Some(":OCSP_CB_ERROR:");
            return None;
        }
        let fits = |loaded: &&Loaded| request.scheme_for(&loaded.credential).is_some();
        // A client that has certificates and none that fits does not go on without: the library
        // refuses the one it is handed.
        let insists = || self.credentials.first().filter(|_| request.side == Side::Client);
        let chosen = self.credentials.iter().find(fits).or_else(insists)?;
        self.seen().selected = Some(chosen.number);
        Some(Arc::clone(&chosen.credential))
    }
}

impl VerifyPeer for Judge {
    fn verify_peer(&self, identity: &PeerIdentity<'_>) -> Result<(), Box<Refusal>> {
        if !self.options.expect.ocsp_response.is_empty() && identity.ocsp_response.is_none() {
            self.complain("the OCSP response is not there when the peer is verified".to_owned());
        }
        let status_fails = identity.side == Side::Server && self.options.fail_ocsp_callback;
        let reason = match (self.options.verify_fail, status_fails) {
            (true, _) if self.options.custom_verify_callback => Some(RefusalReason::Other),
            // What BoringSSL says when an application refuses and does not say how.
            (true, _) => {
                Some(RefusalReason::ByVerifier { alert: AlertDescription::HANDSHAKE_FAILURE.0 })
            }
            (false, true) => Some(RefusalReason::UnsatisfactoryStatus),
            (false, false) => None,
        };
        let mut seen = self.seen();
        seen.verifications += 1;
        seen.verdict = Some(reason.is_none());
        let Some(reason) = reason.filter(|_| self.verdict_counts(identity.side)) else {
            return Ok(());
        };
        Err(Box::new(Refusal {
            reason,
            chain: identity.chain.iter().map(|der| der.clone().into_owned()).collect(),
            names: Vec::new(),
            wanted: identity.server_name.map(ServerName::to_owned),
            position: None,
            time: identity.now,
        }))
    }

    fn authorities(&self) -> Vec<Vec<u8>> {
        let list = self.options.use_client_ca_list.as_deref();
        list.and_then(base64::decode_hex_list).unwrap_or_default()
    }
}

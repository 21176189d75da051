//! The verification of the peer's chain by libcrypto: with the store, the parameters, the callback
//! and the revocation lists of the program.

use core::cell::RefCell;
use core::ffi::{c_int, c_long};
use std::sync::OnceLock;

use tercel::certificates::PeerIdentity;
use tercel::pki::{CertificateSummary, Refusal, RefusalReason};
use tercel::pki_types::CertificateDer;
use tercel::questions::VerifyPeerQuestion;
use tercel::wire::ProtocolVersion;
use tercel::{Answer, ConnectionInfo};

use super::Ssl;
use super::dane::Request;
use super::state::{Side, Want};
use super::steps::Unanswered;
use crate::ciphers::groups;
use crate::errors;
use crate::objects::certificate::Certificate;
use crate::objects::list::{self, Certificates};
use crate::objects::store::Verification;
use crate::session::parse_chain;
use crate::sys::crypto::{CRYPTO_get_ex_new_index, EX_INDEX_X509_STORE_CTX};
use crate::sys::x509::{
    V_ERR_UNSPECIFIED, V_OK, X509_STORE_CTX_get_error, X509_STORE_CTX_get0_param,
    X509_STORE_CTX_get1_chain, X509_STORE_CTX_init, X509_STORE_CTX_new, X509_STORE_CTX_set_default,
    X509_STORE_CTX_set_error, X509_STORE_CTX_set_ex_data, X509_STORE_CTX_set_verify_cb,
    X509_VERIFY_PARAM_move_peername, X509_VERIFY_PARAM_set_auth_level, X509_VERIFY_PARAM_set_flags,
    X509_VERIFY_PARAM_set1, X509_verify_cert,
};

/// The index under which a verification refers to its connection.
pub(crate) fn ex_index() -> c_int {
    static INDEX: OnceLock<c_int> = OnceLock::new();
    let none = core::ptr::null();
    *INDEX.get_or_init(|| {
        // SAFETY: no functions are registered, so nothing is called.
        unsafe {
            let argument = core::ptr::null_mut();
            CRYPTO_get_ex_new_index(EX_INDEX_X509_STORE_CTX, 0, argument, none, none, none)
        }
    })
}

impl Ssl {
    /// Answers the question whether the peer is trusted.
    pub(super) fn answer_verify(
        &self,
        question: &VerifyPeerQuestion,
    ) -> Result<Answer, Unanswered> {
        let identity = question.identity();
        // As with OpenSSL, the application decides which session a client offers, and the result of
        // its original verification is part of the session (SSL_get_verify_result).
        if identity.resumed && self.side.get() == Some(Side::Client) {
            return Ok(question.answer(Ok(())));
        }
        let checked = self.check_peer(&identity);
        if identity.resumed && checked.is_err() {
            // The handshake becomes a full one, in which the client may send no certificate.
            self.verify_result.set(V_OK);
            self.found_result.set(None);
            self.forget_chains();
        }
        if checked.is_ok() && self.wants_retry() {
            return Err(Unanswered::Later);
        }
        Ok(question.answer(checked))
    }

    /// The peer's certificate, which was not refused.
    pub(crate) fn peer_certificate(&self) -> Option<Certificate> {
        self.peer_chain.borrow().first().filter(|_| !self.is_refused.get()).cloned()
    }

    /// Forgets the peer's chain and the one that was verified.
    pub(super) fn forget_chains(&self) {
        let lent = [&self.lent.peer_chain, &self.lent.verified_chain].map(RefCell::take);
        let chains = [&self.peer_chain, &self.verified_chain].map(RefCell::take);
        self.is_refused.set(false);
        // Freeing a certificate can call a function of the application.
        drop((lent, chains));
    }

    /// Whether a callback of a client called `SSL_set_retry_verify`.
    fn wants_retry(&self) -> bool {
        self.side.get() == Some(Side::Client) && self.want.get() == Want::RetryVerify
    }

    /// In TLS 1.2, the curve of the peer's key has to be one of the groups.
    fn has_known_curve(&self, chain: &[Certificate]) -> bool {
        let version = self.values.borrow().as_ref().and_then(|values| values.version());
        let curve = chain.first().and_then(Certificate::curve);
        let (Some(curve), Some(side), Some(ProtocolVersion::TLS1_2)) =
            (curve, self.side.get(), version)
        else {
            return true;
        };
        let permitted = self.permitted_groups(&self.settings(), side);
        let is_curve = |group: &_| groups::nid(*group) == curve;
        permitted.is_none_or(|groups| groups.iter().any(is_curve))
    }

    /// Verifies the peer's chain, and remembers the result and the chain that was built.
    pub(crate) fn check_peer(&self, identity: &PeerIdentity<'_>) -> Result<(), Box<Refusal>> {
        let refuse = |alert| identity.refusal(RefusalReason::ByVerifier { alert });
        if let Some(staple) =
            identity.ocsp_response.filter(|_| self.side.get() == Some(Side::Client))
        {
            self.status_response.replace(Some(staple.to_vec()));
        }
        let length: usize = identity.chain.iter().map(|each| each.len().saturating_add(3)).sum();
        if length > self.settings().max_chain {
            errors::push(errors::reasons::EXCESSIVE_MESSAGE_SIZE);
            return Err(Box::new(refuse(super::alerts::ILLEGAL_PARAMETER)));
        }
        let parsed = errors::without_errors(|| parse_chain(identity.chain));
        let Some(chain) = parsed.filter(|chain| !chain.is_empty()) else {
            return Err(Box::new(identity.refusal(RefusalReason::BadEncoding)));
        };
        if !self.has_known_curve(&chain) {
            errors::push(errors::reasons::WRONG_CURVE);
            return Err(Box::new(refuse(super::alerts::ILLEGAL_PARAMETER)));
        }
        self.peer_chain.replace(chain.clone());
        self.is_refused.set(!identity.resumed);
        self.lent.peer_chain.replace(None);
        self.lent.verified_chain.replace(None);
        self.want.set(Want::Nothing);
        let trusted = errors::without_errors(|| self.verify_chain(&chain)).unwrap_or(false);
        if !trusted {
            // As with OpenSSL, only a chain that the callback accepts is verified again.
            self.want.set(Want::Nothing);
        }
        // The chain in a session is verified again when it is resumed.
        self.found_result.set(Some(self.verify_result.get()));
        // A server requests certificates only with VERIFY_PEER. On a client each bit demands trust.
        let demands = self.side.get() == Some(Side::Server) || self.settings().verify_mode != 0;
        if !trusted && demands {
            let result = self.verify_result.get();
            let refusal = refuse(alert_of(result)).with_explanation(self.explanation(result));
            return Err(Box::new(refusal));
        }
        if self.wants_retry() {
            return Ok(());
        }
        self.is_refused.set(false);
        self.check_status().map_err(|alert| Box::new(refuse(alert)))
    }

    /// Whether libcrypto, or the program's function in its place, trusts the chain. `None` if
    /// memory is short.
    fn verify_chain(&self, chain: &[Certificate]) -> Option<bool> {
        let settings = self.settings();
        let store = settings.verify_store.clone().unwrap_or_else(|| self.context().store());
        let leaf = chain.first()?;
        let dane = self.dane.request(settings.suite_b().map_or(0, |profile| profile.flags));
        let of_records = dane.iter().flat_map(Request::certificates);
        let untrusted: Vec<_> = chain.iter().chain(of_records).cloned().collect();
        let untrusted = Certificates::of(&untrusted)?;
        let purpose = match self.side.get() {
            Some(Side::Server) => c"ssl_client",
            _ => c"ssl_server",
        };
        let whole = settings.callbacks.verify_chain;
        self.verify_result.set(c_long::from(V_ERR_UNSPECIFIED));
        // SAFETY: all objects exist until the end of the verification. The program's functions are
        // called with no cell borrowed.
        unsafe {
            let verification = Verification::from_raw(X509_STORE_CTX_new())?;
            let context = verification.as_ptr();
            if X509_STORE_CTX_init(context, store.as_ptr(), leaf.as_ptr(), untrusted.as_ptr()) != 1
            {
                return None;
            }
            let param = X509_STORE_CTX_get0_param(context);
            X509_VERIFY_PARAM_set_auth_level(param, settings.security_level);
            X509_STORE_CTX_set_ex_data(context, ex_index(), self.address());
            X509_STORE_CTX_set_default(context, purpose.as_ptr());
            X509_VERIFY_PARAM_set1(param, self.parameters.as_ptr());
            if let Some(profile) = settings.suite_b() {
                X509_VERIFY_PARAM_set_flags(param, profile.flags);
            }
            if settings.callbacks.verify.is_some() {
                X509_STORE_CTX_set_verify_cb(context, settings.callbacks.verify);
            }
            let (result, found) = self.outside(|| match (whole.function, &dane) {
                (None, Some(dane)) => dane.verify(context, chain),
                (None, None) => (X509_verify_cert(context), None),
                // libcrypto does not know the records, so that the function would ignore them.
                (Some(_), Some(_)) => (0, None),
                (Some(function), None) => (function(context, whole.argument), None),
            });
            self.dane.found.replace(found);
            if whole.function.is_some() && dane.is_some() {
                X509_STORE_CTX_set_error(context, V_ERR_UNSPECIFIED);
            }
            self.verify_result.set(X509_STORE_CTX_get_error(context).into());
            // The name that matched, for the program.
            X509_VERIFY_PARAM_move_peername(self.parameters.as_ptr(), param);
            let found = Certificates::from_raw(X509_STORE_CTX_get1_chain(context));
            let found = found.map(|found| list::certificates(found.as_ptr()));
            self.verified_chain.replace(found.unwrap_or_default());
            Some(result > 0)
        }
    }

    /// The text of a result and, if the issuer of a certificate was not found, where the chain that
    /// libcrypto built ends.
    fn explanation(&self, result: c_long) -> String {
        let text = verify_text(result);
        let chain = self.verified_chain.borrow();
        let last = chain.last().filter(|_| ISSUER_NOT_FOUND.contains(&result));
        let der = last.and_then(Certificate::to_der).map(CertificateDer::from);
        match der.and_then(|der| CertificateSummary::new(&der).ok()) {
            Some(CertificateSummary { subject, issuer, .. }) => {
                format!("{text}: the chain ends at \"{subject}\", issued by \"{issuer}\"")
            }
            None => text,
        }
    }

    /// Checks what a client checks at the end of a resumed handshake: in TLS 1.3, as with OpenSSL,
    /// the certificate status, of which the server sends none. The error is the alert.
    pub(super) fn check_resumed(&self) -> Result<(), u8> {
        let is_checked =
            |info: &ConnectionInfo| info.resumed && info.version == ProtocolVersion::TLS1_3;
        match self.with_info(is_checked) {
            Some(true) => self.check_status(),
            _ => Ok(()),
        }
    }

    /// Calls the program's function that checks the certificate status, on a client that requested
    /// it. The error is the alert.
    fn check_status(&self) -> Result<(), u8> {
        const BAD_CERTIFICATE_STATUS_RESPONSE: u8 = 113;
        let callback = self.context().settings().callbacks.status;
        let requested = self.side.get() == Some(Side::Client) && self.settings().status_type == 1;
        let Some(function) = callback.function.filter(|_| requested) else { return Ok(()) };
        // SAFETY: the program set this function for these arguments. No cell is borrowed.
        match self.outside(|| unsafe { function(self.address(), callback.argument) }) {
            1.. => Ok(()),
            0 => {
                errors::push(errors::reasons::INVALID_STATUS_RESPONSE);
                Err(BAD_CERTIFICATE_STATUS_RESPONSE)
            }
            _ => {
                errors::push(errors::reasons::OCSP_CALLBACK_FAILURE);
                Err(super::alerts::INTERNAL_ERROR)
            }
        }
    }
}

/// The text of a result of verification.
pub(crate) fn verify_text(result: c_long) -> String {
    // SAFETY: the function returns a static text for each number.
    let text = unsafe { crate::sys::x509::X509_verify_cert_error_string(result) };
    if text.is_null() {
        return String::new();
    }
    // SAFETY: as above; the text ends with a NUL.
    unsafe { core::ffi::CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// The results of verification for a chain that ends below a trusted certificate (`x509_vfy.h`).
const ISSUER_NOT_FOUND: [c_long; 5] = [2, 18, 19, 20, 21];

/// The alert for a result of verification (`x509_vfy.h`).
fn alert_of(result: c_long) -> u8 {
    const BAD_CERTIFICATE: u8 = 42;
    const UNSUPPORTED_CERTIFICATE: u8 = 43;
    const CERTIFICATE_REVOKED: u8 = 44;
    const CERTIFICATE_EXPIRED: u8 = 45;
    const CERTIFICATE_UNKNOWN: u8 = 46;
    const UNKNOWN_CA: u8 = 48;
    const HANDSHAKE_FAILURE: u8 = 40;
    match result {
        V_OK => CERTIFICATE_UNKNOWN,
        2 | 18 | 19 | 20 | 21 | 22 | 24 | 33 | 3 => UNKNOWN_CA,
        10 | 12 => CERTIFICATE_EXPIRED,
        23 => CERTIFICATE_REVOKED,
        26 => UNSUPPORTED_CERTIFICATE,
        4..=9 | 11 | 13..=16 | 27 | 28 | 62..=68 => BAD_CERTIFICATE,
        50 => HANDSHAKE_FAILURE,
        1 | 17 | 69 | 70 => super::alerts::INTERNAL_ERROR,
        _ => CERTIFICATE_UNKNOWN,
    }
}

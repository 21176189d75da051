//! SSL_build_cert_chain: the chain of the current certificate, built and checked when the program
//! says so, and not at each handshake.

use core::ffi::c_long;

use super::context_credentials::{Configured, set_chain};
use super::{FAIL, OK};
use crate::errors::{self, reasons};
use crate::objects::certificate::Certificate;
use crate::objects::list::{self, Certificates};
use crate::objects::store::{Store, Verification};
use crate::settings::Settings;
use crate::sys::x509::{
    X509_STORE_CTX_get_error, X509_STORE_CTX_get0_param, X509_STORE_CTX_get1_chain,
    X509_STORE_CTX_init, X509_STORE_CTX_new, X509_STORE_add_cert, X509_VERIFY_PARAM_set_flags,
    X509_verify_cert,
};

/// The command of `SSL_CTX_ctrl` and `SSL_ctrl`.
pub(super) const BUILD_CERT_CHAIN: i32 = 105;

/// The certificates of the present chain may be used.
const UNTRUSTED: c_long = 1;
/// The root is left out.
const NO_ROOT: c_long = 2;
/// Only the certificates of the present chain are used, and each is trusted.
const CHECK: c_long = 4;
const IGNORE_ERROR: c_long = 8;
const CLEAR_ERROR: c_long = 0x10;

/// The result if an error of the verification was ignored.
const IGNORED: c_long = 2;

/// Builds the chain of the current certificate, with `store` unless the settings have one for
/// chains. If that fails, an error is in the queue, and the chain remains.
pub(super) fn build(
    to: &impl Configured,
    settings: &Settings,
    store: Store,
    flags: c_long,
) -> c_long {
    let identity = settings.identity();
    let Some(leaf) = identity.and_then(|identity| identity.certificate.clone()) else {
        errors::push(reasons::NO_CERTIFICATE_SET);
        return FAIL.into();
    };
    let present = identity.and_then(|identity| identity.chain.clone()).unwrap_or_default();
    let store = match flags & CHECK {
        0 => settings.chain_store.clone().or(Some(store)),
        _ => store_of(present.iter().chain([&leaf])),
    };
    let untrusted = if flags & (CHECK | UNTRUSTED) == UNTRUSTED { present } else { Vec::new() };
    let suite_b = settings.suite_b().map_or(0, |profile| profile.flags);
    let built = store.and_then(|store| to.outside(|| verify(&store, &leaf, &untrusted, suite_b)));
    let Some((mut chain, error)) = built else { return FAIL.into() };
    if let Some(error) = error {
        if flags & IGNORE_ERROR == 0 {
            let text = crate::connection::verification::verify_text(error);
            errors::push_with(reasons::CERTIFICATE_VERIFY_FAILED, &format!("Verify error:{text}"));
            return FAIL.into();
        }
        if flags & CLEAR_ERROR != 0 {
            errors::clear();
        }
    }
    if flags & NO_ROOT != 0 && chain.last().is_some_and(Certificate::is_self_signed) {
        chain.pop();
    }
    if !to.allows(None, &chain) {
        return FAIL.into();
    }
    // As with OpenSSL, the result says that an error was ignored only if nothing was found.
    let result = if error.is_some() && chain.is_empty() { IGNORED } else { OK.into() };
    match to.configure(|settings| set_chain(settings, Some(chain))) {
        FAIL => FAIL.into(),
        _ => result,
    }
}

/// A store that trusts these certificates.
fn store_of<'a>(certificates: impl Iterator<Item = &'a Certificate>) -> Option<Store> {
    let store = Store::new()?;
    for certificate in certificates {
        // SAFETY: both exist; the store takes a reference of its own.
        if unsafe { X509_STORE_add_cert(store.as_ptr(), certificate.as_ptr()) } != 1 {
            return None;
        }
    }
    Some(store)
}

/// The chain of a certificate without it, and the error of its verification. `None` if memory is
/// short.
fn verify(
    store: &Store,
    leaf: &Certificate,
    untrusted: &[Certificate],
    flags: core::ffi::c_ulong,
) -> Option<(Vec<Certificate>, Option<c_long>)> {
    let untrusted = Certificates::of(untrusted)?;
    // SAFETY: all objects exist until the end of the verification. A list that the caller owns is
    // returned.
    unsafe {
        let building = Verification::from_raw(X509_STORE_CTX_new())?;
        let context = building.as_ptr();
        if X509_STORE_CTX_init(context, store.as_ptr(), leaf.as_ptr(), untrusted.as_ptr()) != 1 {
            return None;
        }
        X509_VERIFY_PARAM_set_flags(X509_STORE_CTX_get0_param(context), flags);
        let error = (X509_verify_cert(context) <= 0).then(|| X509_STORE_CTX_get_error(context));
        let found = Certificates::from_raw(X509_STORE_CTX_get1_chain(context));
        let chain = found.map(|found| list::certificates(found.as_ptr()));
        let chain = chain.unwrap_or_default().into_iter().skip(1).collect();
        Some((chain, error.map(c_long::from)))
    }
}

//! DANE: the records of the DNS that authenticate a server.

use core::ffi::{c_char, c_int, c_uchar, c_ulong};
use core::ptr;

use super::{FAIL, OK, bytes, store, text};
use crate::connection::Ssl;
use crate::connection::dane::{CERTIFICATE, DANE_EE, DANE_TA, FULL, PKIX_TA, Record};
use crate::context::Context;
use crate::entry::functions;
use crate::errors::{self, reasons};
use crate::objects::certificate::Certificate;
use crate::objects::dane::Digest;
use crate::objects::key::Key;
use crate::sys::evp::{EVP_MD, EVP_PKEY};
use crate::sys::x509::{V_OK, X509, X509_VERIFY_PARAM_set1_host};

/// The result for failures other than an unusable record.
const ERROR: c_int = -1;
const PUBLIC_KEY: u8 = 1;

functions! {
    fn SSL_CTX_dane_enable(context: &Context;) -> c_int = FAIL => {
        context.dane.enable();
        OK
    }
    fn SSL_CTX_dane_mtype_set(context: &Context; digest: *const EVP_MD, number: u8, order: u8)
        -> c_int = FAIL => {
        // SAFETY: the caller's duty.
        let digest = unsafe { Digest::share(digest.cast_mut()) };
        if number == FULL && digest.is_some() {
            errors::push(reasons::DANE_CANNOT_OVERRIDE_MTYPE_FULL);
            return FAIL;
        }
        context.dane.set_type(number, digest, order);
        OK
    }
    fn SSL_CTX_dane_set_flags(context: &Context; flags: c_ulong) -> c_ulong = 0 => {
        context.dane.change_flags(|known| known | flags)
    }
    fn SSL_CTX_dane_clear_flags(context: &Context; flags: c_ulong) -> c_ulong = 0 => {
        context.dane.change_flags(|known| known & !flags)
    }
    fn SSL_dane_set_flags(ssl: &Ssl; flags: c_ulong) -> c_ulong = 0 => {
        let known = ssl.dane.flags.get();
        ssl.dane.flags.replace(known | flags)
    }
    fn SSL_dane_clear_flags(ssl: &Ssl; flags: c_ulong) -> c_ulong = 0 => {
        let known = ssl.dane.flags.get();
        ssl.dane.flags.replace(known & !flags)
    }
    fn SSL_dane_enable(ssl: &Ssl; domain: *const c_char) -> c_int = ERROR => {
        if !ssl.context().dane.is_enabled() {
            errors::push(reasons::CONTEXT_NOT_DANE_ENABLED);
            return 0;
        }
        if ssl.dane.records.borrow().is_some() {
            errors::push(reasons::DANE_ALREADY_ENABLED);
            return 0;
        }
        // SAFETY: the caller's duty.
        let name = unsafe { text(domain) };
        let has_name = ssl.host_name.borrow().is_some();
        // SAFETY: the parameters exist, and the caller's duty.
        let is_set = (has_name || super::ssl_ctrl::set_host_name(ssl, name))
            && unsafe { X509_VERIFY_PARAM_set1_host(ssl.parameters.as_ptr(), domain, 0) } == 1;
        if !is_set {
            errors::push(reasons::ERROR_SETTING_TLSA_BASE_DOMAIN);
            return ERROR;
        }
        ssl.dane.records.replace(Some(Vec::new()));
        OK
    }
    fn SSL_dane_tlsa_add(ssl: &Ssl;
        usage: u8, selector: u8, matching: u8, data: *const c_uchar, length: usize,
    ) -> c_int = ERROR => {
        if ssl.dane.records.borrow().is_none() {
            errors::push(reasons::DANE_NOT_ENABLED);
            return ERROR;
        }
        let unusable = |reason| {
            errors::push(reason);
            0
        };
        if c_int::try_from(length).is_err() {
            return unusable(reasons::DANE_TLSA_BAD_DATA_LENGTH);
        }
        if usage > DANE_EE {
            return unusable(reasons::DANE_TLSA_BAD_CERTIFICATE_USAGE);
        }
        if selector > PUBLIC_KEY {
            return unusable(reasons::DANE_TLSA_BAD_SELECTOR);
        }
        let digest = if matching == FULL { None } else { ssl.context().dane.digest(matching) };
        if matching != FULL && digest.is_none() {
            return unusable(reasons::DANE_TLSA_BAD_MATCHING_TYPE);
        }
        if digest.as_ref().is_some_and(|(digest, _)| digest.length() != length) {
            return unusable(reasons::DANE_TLSA_BAD_DIGEST_LENGTH);
        }
        if data.is_null() {
            return unusable(reasons::DANE_TLSA_NULL_DATA);
        }
        // SAFETY: the caller's duty.
        let data = unsafe { bytes(data, length) }.to_vec();
        if data.is_empty() {
            errors::push(reasons::DANE_TLSA_BAD_DATA_LENGTH);
            return ERROR;
        }
        let (mut certificate, mut key) = (None, None);
        if matching == FULL && selector == CERTIFICATE {
            certificate = Certificate::from_whole_der(&data).filter(|whole| whole.key_type() != 0);
            if certificate.is_none() {
                return unusable(reasons::DANE_TLSA_BAD_CERTIFICATE);
            }
        } else if matching == FULL {
            key = Key::public_from_whole_der(&data);
            if key.is_none() {
                return unusable(reasons::DANE_TLSA_BAD_PUBLIC_KEY);
            }
        }
        let (digest, order) = digest.map_or((None, 0), |(digest, order)| (Some(digest), order));
        let added = ssl.dane.add(Record {
            usage,
            selector,
            matching,
            data,
            digest,
            order,
            certificate: certificate.filter(|_| [PKIX_TA, DANE_TA].contains(&usage)),
            key: key.filter(|_| usage == DANE_TA),
        });
        if added { OK } else { ERROR }
    }
    fn SSL_get0_dane_authority(ssl: &Ssl; certificate: *mut *mut X509, key: *mut *mut EVP_PKEY)
        -> c_int = ERROR => {
        if !is_authenticated(ssl) {
            return ERROR;
        }
        let found = ssl.dane.found.borrow();
        let Some(found) = &*found else { return ERROR };
        let own = found.certificate.as_ref();
        let bare = found.record.key.as_ref().filter(|_| own.is_none());
        // SAFETY: the caller's duty.
        unsafe {
            store(certificate, own.map_or(ptr::null_mut(), Certificate::as_ptr));
            store(key, bare.map_or(ptr::null_mut(), Key::as_ptr));
        }
        found.depth
    }
    fn SSL_get0_dane_tlsa(ssl: &Ssl;
        usage: *mut u8, selector: *mut u8, matching: *mut u8, data: *mut *const c_uchar,
        length: *mut usize,
    ) -> c_int = ERROR => {
        if !is_authenticated(ssl) {
            return ERROR;
        }
        let found = ssl.dane.found.borrow();
        let Some(found) = &*found else { return ERROR };
        let record = &found.record;
        // SAFETY: the caller's duty. The data exists as long as the record.
        unsafe {
            store(usage, record.usage);
            store(selector, record.selector);
            store(matching, record.matching);
            store(data, record.data.as_ptr());
            store(length, record.data.len());
        }
        found.depth
    }
}

/// Whether there are records, and the peer was verified.
fn is_authenticated(ssl: &Ssl) -> bool {
    let has_records = ssl.dane.records.borrow().as_ref().is_some_and(|all| !all.is_empty());
    has_records && ssl.verify_result.get() == V_OK
}

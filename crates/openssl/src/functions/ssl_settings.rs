//! SSL: settings of one connection.

use core::ffi::{c_char, c_int, c_long, c_uchar, c_uint};
use core::ptr;
use std::sync::Arc;

use super::{FAIL, OK, bytes, text};
use crate::ciphers::string;
use crate::ciphers::suite::Cipher;
use crate::connection::Ssl;
use crate::entry::functions;
use crate::errors::{self, reasons};
use crate::objects::id::Id;
use crate::objects::list;
use crate::objects::name::Name;
use crate::objects::store::Parameters;
use crate::settings::options::SENT_SHUTDOWN;
use crate::sys::stack::Stack;
use crate::sys::x509::{
    VerifyCallback, X509, X509_VERIFY_PARAM, X509_VERIFY_PARAM_add1_host,
    X509_VERIFY_PARAM_set_hostflags, X509_VERIFY_PARAM_set_purpose, X509_VERIFY_PARAM_set_trust,
    X509_VERIFY_PARAM_set1, X509_VERIFY_PARAM_set1_host,
};

functions! {
    fn SSL_set_options(ssl: &Ssl; options: u64) -> u64 = 0 => {
        let known = ssl.settings().options;
        if known | options != known {
            ssl.change(|settings| settings.options |= options);
        }
        known | options
    }
    fn SSL_clear_options(ssl: &Ssl; options: u64) -> u64 = 0 => {
        let known = ssl.settings().options;
        if known & options != 0 {
            ssl.change(|settings| settings.options &= !options);
        }
        known & !options
    }
    fn SSL_get_options(ssl: &Ssl;) -> u64 = 0 => {
        ssl.settings().options
    }
    fn SSL_set_cipher_list(ssl: &Ssl; list: *const c_char) -> c_int = FAIL => {
        // SAFETY: the caller's duty.
        let Some(list) = (unsafe { text(list) }) else { return FAIL };
        ssl.change(|settings| {
            settings.has_own_suites = true;
            settings.set_cipher_string(list)
        }).into()
    }
    fn SSL_set_ciphersuites(ssl: &Ssl; list: *const c_char) -> c_int = FAIL => {
        // SAFETY: the caller's duty.
        let list = unsafe { text(list) }.and_then(|list| list.to_str().ok());
        let Some(suites) = list.and_then(string::select_tls13) else {
            errors::push(reasons::NO_CIPHER_MATCH);
            return FAIL;
        };
        ssl.change(|settings| {
            settings.suites13 = suites;
            settings.has_own_suites = true;
        });
        OK
    }
    fn SSL_get_ciphers(ssl: &Ssl;) -> *mut Stack = ptr::null_mut() => {
        let settings = ssl.settings();
        ssl.lent.ciphers.lend(settings.suites13.iter().chain(&settings.suites12).copied())
    }
    fn SSL_get1_supported_ciphers(ssl: &Ssl;) -> *mut Stack = ptr::null_mut() => {
        let settings = ssl.settings();
        let suites: Vec<_> = settings.suites13.iter().chain(&settings.suites12).copied().collect();
        let list = crate::objects::cipher_list::pointers(&suites);
        list.map_or(ptr::null_mut(), list::Pointers::into_raw)
    }
    fn SSL_get_cipher_list(ssl: &Ssl; index: c_int) -> *const c_char = ptr::null() => {
        let settings = ssl.settings();
        let index = usize::try_from(index).ok();
        let mut suites = settings.suites13.iter().chain(&settings.suites12);
        let found = index.and_then(|index| suites.nth(index));
        let cipher: Option<&Cipher> = found.and_then(|code| crate::ciphers::suite::find(*code));
        cipher.map_or(ptr::null(), |cipher| cipher.name.as_ptr())
    }
    fn SSL_set_alpn_protos(ssl: &Ssl; list: *const c_uchar, length: c_uint) -> c_int = 1 => {
        // SAFETY: the caller's duty.
        let list = unsafe { bytes(list, length) };
        let Some(names) = super::names::parse(list) else { return 1 };
        let names = names.into_iter().map(<[u8]>::to_vec).collect();
        ssl.change(|settings| settings.protocols = names);
        0
    }
    fn SSL_set_verify(ssl: &Ssl; mode: c_int, callback: VerifyCallback) -> () = () => {
        let known = ssl.settings();
        let same = |one: VerifyCallback, other: VerifyCallback| {
            one.map(|function| function as usize) == other.map(|function| function as usize)
        };
        let callback = callback.or(known.callbacks.verify);
        if known.verify_mode != mode || !same(known.callbacks.verify, callback) {
            ssl.change(|settings| {
                settings.verify_mode = mode;
                settings.callbacks.verify = callback;
            });
        }
    }
    fn SSL_get_verify_mode(ssl: &Ssl;) -> c_int = 0 => {
        ssl.settings().verify_mode
    }
    fn SSL_get_verify_callback(ssl: &Ssl;) -> VerifyCallback = None => {
        ssl.settings().callbacks.verify
    }
    fn SSL_set_verify_depth(ssl: &Ssl; depth: c_int) -> () = () => {
        ssl.parameters.set_depth(depth);
    }
    fn SSL_get_verify_depth(ssl: &Ssl;) -> c_int = -1 => {
        ssl.parameters.depth()
    }
    fn SSL_get0_param(ssl: &Ssl;) -> *mut X509_VERIFY_PARAM = ptr::null_mut() => {
        ssl.parameters.as_ptr()
    }
    fn SSL_set1_param(ssl: &Ssl; parameters: *mut X509_VERIFY_PARAM) -> c_int = FAIL => {
        // SAFETY: the caller's duty; libcrypto accepts NULL.
        unsafe { X509_VERIFY_PARAM_set1(ssl.parameters.as_ptr(), parameters) }
    }
    fn SSL_set_purpose(ssl: &Ssl; purpose: c_int) -> c_int = FAIL => {
        // SAFETY: the parameters exist.
        unsafe { X509_VERIFY_PARAM_set_purpose(ssl.parameters.as_ptr(), purpose) }
    }
    fn SSL_set_trust(ssl: &Ssl; trust: c_int) -> c_int = FAIL => {
        // SAFETY: the parameters exist.
        unsafe { X509_VERIFY_PARAM_set_trust(ssl.parameters.as_ptr(), trust) }
    }
    fn SSL_set1_host(ssl: &Ssl; name: *const c_char) -> c_int = FAIL => {
        // SAFETY: the caller's duty, here and below.
        if unsafe { ssl.parameters.set_address(name) } {
            return OK;
        }
        // SAFETY: libcrypto accepts NULL, and a length of 0 for a text.
        unsafe { X509_VERIFY_PARAM_set1_host(ssl.parameters.as_ptr(), name, 0) }
    }
    fn SSL_add1_host(ssl: &Ssl; name: *const c_char) -> c_int = FAIL => {
        if ssl.parameters.has_address() {
            // A second address is refused, because parameters have one.
            let Some(other) = Parameters::new() else { return FAIL };
            // SAFETY: the caller's duty.
            if unsafe { other.set_address(name) } {
                return FAIL;
            }
        // SAFETY: the caller's duty.
        } else if unsafe { ssl.parameters.set_address(name) } {
            return OK;
        }
        // SAFETY: as above.
        unsafe { X509_VERIFY_PARAM_add1_host(ssl.parameters.as_ptr(), name, 0) }
    }
    fn SSL_set_hostflags(ssl: &Ssl; flags: c_uint) -> () = () => {
        // SAFETY: the parameters exist.
        unsafe { X509_VERIFY_PARAM_set_hostflags(ssl.parameters.as_ptr(), flags) };
    }
    fn SSL_set_session_id_context(ssl: &Ssl; id: *const c_uchar, length: c_uint) -> c_int = FAIL => {
        // SAFETY: the caller's duty.
        let Some(id) = Id::new(unsafe { bytes(id, length) }) else {
            errors::push(reasons::SSL_SESSION_ID_CONTEXT_TOO_LONG);
            return FAIL;
        };
        if ssl.settings().session_context != id {
            ssl.change(|settings| settings.session_context = id);
        }
        OK
    }
    fn SSL_set_security_level(ssl: &Ssl; level: c_int) -> () = () => {
        ssl.change(|settings| settings.security_level = level);
    }
    fn SSL_get_security_level(ssl: &Ssl;) -> c_int = 0 => {
        ssl.settings().security_level
    }
    fn SSL_set_quiet_shutdown(ssl: &Ssl; on: c_int) -> () = () => {
        ssl.change(|settings| settings.quiet_shutdown = on != 0);
    }
    fn SSL_get_quiet_shutdown(ssl: &Ssl;) -> c_int = 0 => {
        c_int::from(ssl.settings().quiet_shutdown) * SENT_SHUTDOWN
    }
    fn SSL_set_read_ahead(ssl: &Ssl; on: c_int) -> () = () => {
        ssl.change(|settings| settings.read_ahead = on != 0);
    }
    fn SSL_get_read_ahead(ssl: &Ssl;) -> c_int = 0 => {
        ssl.settings().read_ahead.into()
    }
    fn SSL_set_post_handshake_auth(ssl: &Ssl; on: c_int) -> () = () => {
        ssl.change(|settings| settings.post_handshake_auth = on != 0);
    }
    fn SSL_set_num_tickets(ssl: &Ssl; count: usize) -> c_int = FAIL => {
        ssl.change(|settings| settings.tickets = count);
        OK
    }
    fn SSL_get_num_tickets(ssl: &Ssl;) -> usize = 0 => {
        ssl.settings().tickets
    }
    fn SSL_set_max_early_data(ssl: &Ssl; bytes: u32) -> c_int = FAIL => {
        ssl.change(|settings| settings.max_early_data = bytes);
        OK
    }
    fn SSL_get_max_early_data(ssl: &Ssl;) -> u32 = 0 => {
        ssl.settings().max_early_data
    }
    fn SSL_set_client_CA_list(ssl: &Ssl; names: *mut Stack) -> () = () => {
        // SAFETY: the caller passes its list on.
        let own = unsafe { ssl.lent.names.take(names) };
        set_authorities(ssl, (!names.is_null()).then_some(own));
    }
    fn SSL_set0_CA_list(ssl: &Ssl; names: *mut Stack) -> () = () => {
        // SAFETY: the caller passes its list on.
        let own = unsafe { ssl.lent.own_names.take(names) };
        set_authorities(ssl, (!names.is_null()).then_some(own));
    }
    fn SSL_add_client_CA(ssl: &Ssl; certificate: *mut X509) -> c_int = FAIL => {
        add_authority(ssl, certificate)
    }
    /// A server's own list, or the names that a client received.
    fn SSL_get_client_CA_list(ssl: &Ssl;) -> *mut Stack = ptr::null_mut() => {
        authorities(ssl)
    }
    fn SSL_get0_CA_list(ssl: &Ssl;) -> *mut Stack = ptr::null_mut() => {
        ssl.lent.own_names.lend(&ssl.settings().client_authorities)
    }
    fn SSL_add1_to_CA_list(ssl: &Ssl; certificate: *const X509) -> c_int = FAIL => {
        add_authority(ssl, certificate.cast_mut())
    }
    fn SSL_get0_peer_CA_list(ssl: &Ssl;) -> *mut Stack = ptr::null_mut() => {
        if ssl.is_server() { ptr::null_mut() } else { authorities(ssl) }
    }
    fn SSL_get_default_timeout(ssl: &Ssl;) -> c_long = 0 => {
        crate::settings::DEFAULT_TIMEOUT
    }
}

fn authorities(ssl: &Ssl) -> *mut Stack {
    if ssl.is_server() {
        return ssl.lent.names.lend(&ssl.settings().client_authorities);
    }
    // The same list as before, which the program may still use.
    let Some(names) = ssl.requested_authorities.borrow().clone() else { return ptr::null_mut() };
    ssl.lent.names.lend(&names)
}

fn add_authority(ssl: &Ssl, certificate: *mut X509) -> c_int {
    // SAFETY: the caller's duty.
    let certificate = unsafe { crate::objects::certificate::Certificate::share(certificate) };
    let Some(name) = certificate.as_ref().and_then(Name::subject_of) else { return FAIL };
    let settings = ssl.settings();
    // The first name begins a list of the connection's own.
    let known = settings.client_authorities.iter().filter(|_| settings.has_own_authorities);
    let mut names: Vec<_> = known.filter_map(Name::duplicate).collect();
    names.push(name);
    set_authorities(ssl, Some(Arc::new(names)));
    OK
}

/// Sets the authorities of a connection. `None`: those of its context.
pub(super) fn set_authorities(ssl: &Ssl, names: Option<Arc<Vec<Name>>>) {
    let of_context = ssl.context().settings();
    ssl.change(|settings| {
        settings.has_own_authorities = names.is_some();
        settings.client_authorities =
            names.unwrap_or_else(|| Arc::clone(&of_context.client_authorities));
    });
}

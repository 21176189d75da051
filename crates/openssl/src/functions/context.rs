//! SSL_CTX: creation, references, data, and simple settings.

use core::ffi::{c_char, c_int, c_long, c_uchar, c_uint, c_void};
use std::sync::Arc;

use super::{FAIL, OK, bytes, properties, text};
use crate::ciphers::string;
use crate::context::Context;
use crate::entry::{functions, give, take};
use crate::errors::{self, reasons};
use crate::method::Method;
use crate::objects::id::Id;
use crate::settings::options::SENT_SHUTDOWN;
use crate::sys::crypto::{
    EVP_default_properties_is_fips_enabled, INIT_LOAD_CONFIG, OPENSSL_init_crypto,
    OSSL_LIB_CTX_get0_global_default,
};

const NULL: *mut Context = core::ptr::null_mut();

functions! {
    fn SSL_CTX_new(; method: *const Method) -> *mut Context = NULL => {
        new(method)
    }
    fn SSL_CTX_new_ex(; library: *mut c_void, query: *const c_char, method: *const Method)
        -> *mut Context = NULL => {
        // SAFETY: the caller's duty.
        let query = unsafe { text(query) };
        // SAFETY: the function has no arguments.
        if !library.is_null() && library != unsafe { OSSL_LIB_CTX_get0_global_default() } {
            errors::push_unsupported("a library context of its own is not supported");
            return NULL;
        }
        if query.is_some_and(|query| !properties::are_met(&query.to_string_lossy())) {
            errors::push_unsupported("the properties are not supported");
            return NULL;
        }
        new(method)
    }
    fn SSL_CTX_up_ref(context: &Context;) -> c_int = FAIL => {
        context.begin_use();
        let _reference = give(Arc::clone(context));
        OK
    }
    fn SSL_CTX_free(; context: *mut Context) -> () = () => {
        // SAFETY: the caller's duty.
        if let Some(context) = unsafe { take(context) } {
            context.end_use();
        }
    }
    fn SSL_CTX_set_ex_data(context: &Context; index: c_int, value: *mut c_void) -> c_int = FAIL => {
        context.ex_data.set(index, value)
    }
    fn SSL_CTX_get_ex_data(context: &Context; index: c_int) -> *mut c_void = core::ptr::null_mut() => {
        context.ex_data.get(index)
    }
    fn SSL_CTX_get_ssl_method(context: &Context;) -> *const Method = core::ptr::null() => {
        core::ptr::from_ref(context.settings().method)
    }
    fn SSL_CTX_set_ssl_version(context: &Context; method: *const Method) -> c_int = FAIL => {
        let Some(method) = known_method(method) else { return FAIL };
        context.change(|settings| settings.method = method);
        OK
    }
    fn SSL_CTX_set_options(context: &Context; options: u64) -> u64 = 0 => {
        context.change(|settings| {
            settings.options |= options;
            settings.options
        })
    }
    fn SSL_CTX_clear_options(context: &Context; options: u64) -> u64 = 0 => {
        context.change(|settings| {
            settings.options &= !options;
            settings.options
        })
    }
    fn SSL_CTX_get_options(context: &Context;) -> u64 = 0 => {
        context.settings().options
    }
    fn SSL_CTX_set_cipher_list(context: &Context; list: *const c_char) -> c_int = FAIL => {
        // SAFETY: the caller's duty.
        let Some(list) = (unsafe { text(list) }) else { return FAIL };
        context.change(|settings| settings.set_cipher_string(list)).into()
    }
    fn SSL_CTX_set_ciphersuites(context: &Context; list: *const c_char) -> c_int = FAIL => {
        // SAFETY: the caller's duty.
        let list = unsafe { text(list) }.and_then(|list| list.to_str().ok());
        let Some(suites) = list.and_then(string::select_tls13) else {
            errors::push(reasons::NO_CIPHER_MATCH);
            return FAIL;
        };
        context.change(|settings| settings.suites13 = suites);
        OK
    }
    fn SSL_CTX_set_alpn_protos(context: &Context; list: *const c_uchar, length: c_uint)
        -> c_int = 1 => {
        // SAFETY: the caller's duty.
        let list = unsafe { bytes(list, length) };
        // This function returns 0 for success.
        let Some(names) = super::names::parse(list) else { return 1 };
        let names = names.into_iter().map(<[u8]>::to_vec).collect();
        context.change(|settings| settings.protocols = names);
        0
    }
    fn SSL_CTX_set_num_tickets(context: &Context; count: usize) -> c_int = FAIL => {
        context.change(|settings| settings.tickets = count);
        OK
    }
    fn SSL_CTX_get_num_tickets(context: &Context;) -> usize = 0 => {
        context.settings().tickets
    }
    fn SSL_CTX_set_post_handshake_auth(context: &Context; on: c_int) -> () = () => {
        context.change(|settings| settings.post_handshake_auth = on != 0);
    }
    fn SSL_CTX_set_quiet_shutdown(context: &Context; on: c_int) -> () = () => {
        context.change(|settings| settings.quiet_shutdown = on != 0);
    }
    fn SSL_CTX_get_quiet_shutdown(context: &Context;) -> c_int = 0 => {
        c_int::from(context.settings().quiet_shutdown) * SENT_SHUTDOWN
    }
    fn SSL_CTX_set_timeout(context: &Context; seconds: c_long) -> c_long = 0 => {
        context.change(|settings| core::mem::replace(&mut settings.session_timeout, seconds))
    }
    fn SSL_CTX_get_timeout(context: &Context;) -> c_long = 0 => {
        context.settings().session_timeout
    }
    fn SSL_CTX_set_session_id_context(context: &Context; id: *const c_uchar, length: c_uint)
        -> c_int = FAIL => {
        // SAFETY: the caller's duty.
        let Some(id) = Id::new(unsafe { bytes(id, length) }) else {
            errors::push(reasons::SSL_SESSION_ID_CONTEXT_TOO_LONG);
            return FAIL;
        };
        context.change(|settings| settings.session_context = id);
        OK
    }
    fn SSL_CTX_set_security_level(context: &Context; level: c_int) -> () = () => {
        context.change(|settings| settings.security_level = level);
    }
    fn SSL_CTX_get_security_level(context: &Context;) -> c_int = 0 => {
        context.settings().security_level
    }
    fn SSL_CTX_set_max_early_data(context: &Context; bytes: u32) -> c_int = FAIL => {
        context.change(|settings| settings.max_early_data = bytes);
        OK
    }
    fn SSL_CTX_get_max_early_data(context: &Context;) -> u32 = 0 => {
        context.settings().max_early_data
    }
    fn SSL_CTX_get_ciphers(context: &Context;) -> *mut crate::sys::stack::Stack = core::ptr::null_mut() => {
        let settings = context.settings();
        context.ciphers.lend(settings.suites13.iter().chain(&settings.suites12).copied())
    }
}

fn new(method: *const Method) -> *mut Context {
    errors::load_texts();
    let Some(method) = known_method(method) else { return NULL };
    // libcrypto does not work after `OPENSSL_cleanup`, which precedes some functions of `atexit`.
    // SAFETY: the function accepts no settings, and loads the file once in a process.
    if unsafe { OPENSSL_init_crypto(INIT_LOAD_CONFIG, core::ptr::null()) } != 1 {
        return NULL;
    }
    // SAFETY: NULL is the default library context.
    if unsafe { EVP_default_properties_is_fips_enabled(core::ptr::null_mut()) } == 1 {
        errors::push_unsupported("the property fips=yes of the process is not supported");
        return NULL;
    }
    if !properties::are_usual() {
        errors::push_unsupported("the providers or properties of the process are not supported");
        return NULL;
    }
    match Context::new(method) {
        Some(context) => match super::conf_file::apply_system(&context) {
            Some(()) => give(context),
            None => NULL,
        },
        None => {
            errors::push_internal();
            NULL
        }
    }
}

/// The static object of a method's pointer. An error is in the queue for NULL.
fn known_method(method: *const Method) -> Option<&'static Method> {
    if method.is_null() {
        errors::push(reasons::NULL_SSL_METHOD_PASSED);
        return None;
    }
    // SAFETY: methods are static objects of this library; see the caller's duty.
    Some(unsafe { &*method })
}

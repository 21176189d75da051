//! The security level's callback, and secrets that this library does not have and that would
//! authenticate the peer.

use core::ffi::{c_char, c_int, c_void};
use core::ptr;

use crate::connection::Ssl;
use crate::context::Context;
use crate::entry::{self, functions};
use crate::errors::{self, reasons};
use crate::objects::certificate::Certificate;
use crate::settings::Settings;
use crate::settings::callbacks::{PskClient, PskUseSession};
use crate::settings::security::{self, Security, SharedSecrets, operation};

use super::{FAIL, refused};

functions! {
    fn SSL_CTX_set_security_callback(context: &Context; callback: Security) -> () = () => {
        context.change(|settings| settings.callbacks.security.function = callback);
    }
    fn SSL_set_security_callback(ssl: &Ssl; callback: Security) -> () = () => {
        ssl.change(|settings| settings.callbacks.security.function = callback);
    }
    /// The function in use: programs call it from their own.
    fn SSL_CTX_get_security_callback(context: &Context;) -> Security = None => {
        callback_of(&context.settings())
    }
    fn SSL_get_security_callback(ssl: &Ssl;) -> Security = None => {
        callback_of(&ssl.settings())
    }
    fn SSL_CTX_set0_security_ex_data(context: &Context; data: *mut c_void) -> () = () => {
        context.change(|settings| settings.callbacks.security.argument = data);
    }
    fn SSL_set0_security_ex_data(ssl: &Ssl; data: *mut c_void) -> () = () => {
        ssl.change(|settings| settings.callbacks.security.argument = data);
    }
    fn SSL_CTX_get0_security_ex_data(context: &Context;) -> *mut c_void = ptr::null_mut() => {
        context.settings().callbacks.security.argument
    }
    fn SSL_get0_security_ex_data(ssl: &Ssl;) -> *mut c_void = ptr::null_mut() => {
        ssl.settings().callbacks.security.argument
    }
    /// External pre-shared keys are not supported. See `Ssl::has_external_psk`.
    fn SSL_CTX_set_psk_client_callback(context: &Context; callback: PskClient) -> () = () => {
        context.change(|settings| settings.callbacks.psk_client = callback);
    }
    fn SSL_set_psk_client_callback(ssl: &Ssl; callback: PskClient) -> () = () => {
        ssl.change(|settings| settings.callbacks.psk_client = callback);
    }
    fn SSL_CTX_set_psk_use_session_callback(context: &Context; callback: PskUseSession) -> () = () => {
        context.change(|settings| settings.callbacks.psk_use_session = callback);
    }
    fn SSL_set_psk_use_session_callback(ssl: &Ssl; callback: PskUseSession) -> () = () => {
        ssl.change(|settings| settings.callbacks.psk_use_session = callback);
    }
    fn SSL_CTX_set_srp_username(context: &Context; name: *mut c_char) -> c_int = FAIL => {
        set_srp(context, SharedSecrets::SRP_NAME, !name.is_null())
    }
    fn SSL_CTX_set_srp_password(context: &Context; password: *mut c_char) -> c_int = FAIL => {
        set_srp(context, SharedSecrets::SRP_PASSWORD, !password.is_null())
    }
}

/// Refuses a user name or a password of SRP. A client that ignores this result, and verifies no
/// certificate, does not connect.
pub(super) fn set_srp(context: &Context, secret: u8, is_set: bool) -> c_int {
    context.change(|settings| settings.shared_secrets.set(secret, is_set));
    let what = match secret {
        SharedSecrets::SRP_NAME => "SSL_CTX_set_srp_username",
        _ => "SSL_CTX_set_srp_password",
    };
    if !is_set && secret == SharedSecrets::SRP_PASSWORD {
        // OpenSSL does not accept NULL.
        errors::push_internal();
        return FAIL;
    }
    refused::without(is_set, what)
}

fn callback_of(settings: &Settings) -> Security {
    const DEFAULT: Security = Some(default_callback);
    settings.callbacks.security.function.or(DEFAULT)
}

/// The function of a program that has none of its own: the security level decides.
#[allow(clippy::too_many_arguments, reason = "the arguments are OpenSSL's")]
unsafe extern "C" fn default_callback(
    ssl: *const c_void,
    context: *const c_void,
    operation: c_int,
    bits: c_int,
    nid: c_int,
    _object: *mut c_void,
    _argument: *mut c_void,
) -> c_int {
    entry::run(0, || {
        // SAFETY: the caller's duty: each pointer is NULL or to an object of its type.
        let (ssl, context) =
            unsafe { (entry::object(ssl.cast::<Ssl>()), entry::object(context.cast::<Context>())) };
        let level = match (ssl, context) {
            (Some(ssl), _) => {
                let _entered = entry::Entered::new(&*ssl);
                ssl.settings().security_level
            }
            (None, context) => context?.settings().security_level,
        };
        Some(security::is_allowed(level, operation, bits, nid).into())
    })
}

/// Whether the level or the program's function allows a certificate that the program sets. If not,
/// an error is in the queue.
pub(super) fn allows(
    settings: &Settings,
    (ssl, context): (*const c_void, *const c_void),
    certificate: &Certificate,
    is_leaf: bool,
) -> bool {
    let callback = settings.callbacks.security;
    let function = callback.function.unwrap_or(default_callback);
    let refused = security::of_certificate(certificate, is_leaf).into_iter().find(|subject| {
        let (operation, bits, nid) = (subject.operation, subject.bits, subject.nid);
        // SAFETY: the program set this function for these arguments, and the objects exist during
        // the call. Nothing is locked.
        unsafe {
            function(ssl, context, operation, bits, nid, subject.object, callback.argument) == 0
        }
    });
    let Some(refused) = refused else { return true };
    errors::push(match refused.operation {
        operation::EE_KEY => reasons::EE_KEY_TOO_SMALL,
        operation::CA_KEY => reasons::CA_KEY_TOO_SMALL,
        _ => reasons::CA_MD_TOO_WEAK,
    });
    false
}

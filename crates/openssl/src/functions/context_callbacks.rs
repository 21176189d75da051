//! SSL_CTX: functions of the program.

use core::ffi::{c_int, c_long, c_void};

use super::{FAIL, OK, refused};
use crate::context::Context;
use crate::entry::functions;
use crate::settings::callbacks::{self as cb, AnyFunction, Callback};

pub(super) const SET_TMP_DH_CB: c_int = 6;
pub(super) const SET_MSG_CALLBACK: c_int = 15;
const SET_SERVERNAME_CB: c_int = 53;
const SET_STATUS_CB: c_int = 63;
const SET_TICKET_KEY_CB: c_int = 72;
/// The first and the last of three callbacks.
const SET_SRP_CB: c_int = 75;
const SET_SRP_CB_LAST: c_int = 77;
pub(super) const SET_NOT_RESUMABLE_CB: c_int = 79;

functions! {
    fn SSL_CTX_set_info_callback(context: &Context; callback: cb::Info) -> () = () => {
        context.change(|settings| settings.callbacks.info = callback);
    }
    fn SSL_CTX_get_info_callback(context: &Context;) -> cb::Info = None => {
        context.settings().callbacks.info
    }
    fn SSL_CTX_set_msg_callback(context: &Context; callback: cb::Message) -> () = () => {
        context.change(|settings| settings.callbacks.message.function = callback);
    }
    fn SSL_CTX_set_keylog_callback(context: &Context; callback: cb::KeyLog) -> () = () => {
        context.change(|settings| settings.callbacks.key_log = callback);
    }
    fn SSL_CTX_get_keylog_callback(context: &Context;) -> cb::KeyLog = None => {
        context.settings().callbacks.key_log
    }
    fn SSL_CTX_set_cert_cb(context: &Context; function: cb::Certificate, argument: *mut c_void)
        -> () = () => {
        context.change(|settings| settings.callbacks.certificate = Callback { function, argument });
    }
    fn SSL_CTX_set_client_cert_cb(context: &Context; callback: cb::ClientCertificate) -> () = () => {
        context.change(|settings| settings.callbacks.client_certificate = callback);
    }
    fn SSL_CTX_get_client_cert_cb(context: &Context;) -> cb::ClientCertificate = None => {
        context.settings().callbacks.client_certificate
    }
    fn SSL_CTX_set_client_hello_cb(context: &Context; function: cb::ClientHello, argument: *mut c_void)
        -> () = () => {
        context.change(|settings| settings.callbacks.client_hello = Callback { function, argument });
    }
    fn SSL_CTX_set_alpn_select_cb(context: &Context; function: cb::SelectProtocol, argument: *mut c_void)
        -> () = () => {
        context.change(|settings| settings.callbacks.select_protocol = Callback { function, argument });
    }
    fn SSL_CTX_sess_set_new_cb(context: &Context; callback: cb::NewSession) -> () = () => {
        context.change(|settings| settings.callbacks.new_session = callback);
    }
    fn SSL_CTX_sess_get_new_cb(context: &Context;) -> cb::NewSession = None => {
        context.settings().callbacks.new_session
    }
    fn SSL_CTX_sess_set_remove_cb(context: &Context; callback: cb::RemoveSession) -> () = () => {
        context.change(|settings| settings.callbacks.remove_session = callback);
    }
    fn SSL_CTX_sess_get_remove_cb(context: &Context;) -> cb::RemoveSession = None => {
        context.settings().callbacks.remove_session
    }
    fn SSL_CTX_sess_set_get_cb(context: &Context; callback: cb::GetSession) -> () = () => {
        context.change(|settings| settings.callbacks.get_session = callback);
    }
    fn SSL_CTX_sess_get_get_cb(context: &Context;) -> cb::GetSession = None => {
        context.settings().callbacks.get_session
    }
    fn SSL_CTX_set_tlsext_ticket_key_evp_cb(context: &Context; callback: cb::TicketKey)
        -> c_int = FAIL => {
        context.change(|settings| settings.callbacks.ticket_key_evp = callback);
        OK
    }
    fn SSL_CTX_callback_ctrl(context: &Context; command: c_int, function: AnyFunction)
        -> c_long = 0 => {
        context.change(|settings| {
            let callbacks = &mut settings.callbacks;
            // SAFETY: the command determines the type of the function: the caller's duty.
            unsafe {
                match command {
                    SET_MSG_CALLBACK => callbacks.message.function = of_type(function),
                    SET_SERVERNAME_CB => callbacks.server_name.function = of_type(function),
                    SET_STATUS_CB => callbacks.status.function = of_type(function),
                    SET_TICKET_KEY_CB => callbacks.ticket_key = of_type(function),
                    SET_NOT_RESUMABLE_CB => callbacks.not_resumable = of_type(function),
                    // Diffie-Hellman parameters are never used.
                    SET_TMP_DH_CB => {}
                    SET_SRP_CB..=SET_SRP_CB_LAST => {
                        return refused::without(function.is_some(), "a callback for SRP").into();
                    }
                    _ => return 0,
                }
            }
            1
        })
    }
}

/// The function with its real type.
///
/// # Safety
/// `F` is an `Option` of a function pointer, of the function's real type.
pub(super) unsafe fn of_type<F: Copy>(function: AnyFunction) -> F {
    assert_eq!(size_of::<F>(), size_of::<AnyFunction>());
    // SAFETY: both are optional function pointers: see this function's contract.
    unsafe { core::mem::transmute_copy(&function) }
}

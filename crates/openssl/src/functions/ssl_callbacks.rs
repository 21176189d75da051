//! SSL: functions of the program for one connection.

use core::ffi::{c_int, c_long, c_void};

use super::context_callbacks::{SET_MSG_CALLBACK, SET_NOT_RESUMABLE_CB, SET_TMP_DH_CB, of_type};
use crate::connection::Ssl;
use crate::entry::functions;
use crate::settings::callbacks::{self as cb, AnyFunction, Callback};

functions! {
    fn SSL_set_info_callback(ssl: &Ssl; callback: cb::Info) -> () = () => {
        ssl.change(|settings| settings.callbacks.own_info = callback);
    }
    fn SSL_get_info_callback(ssl: &Ssl;) -> cb::Info = None => {
        ssl.settings().callbacks.own_info
    }
    fn SSL_set_msg_callback(ssl: &Ssl; callback: cb::Message) -> () = () => {
        ssl.change(|settings| settings.callbacks.message.function = callback);
    }
    fn SSL_set_cert_cb(ssl: &Ssl; function: cb::Certificate, argument: *mut c_void) -> () = () => {
        ssl.change(|settings| settings.callbacks.certificate = Callback { function, argument });
    }
    fn SSL_set_not_resumable_session_callback(ssl: &Ssl; callback: cb::NotResumable) -> () = () => {
        ssl.change(|settings| settings.callbacks.not_resumable = callback);
    }
    fn SSL_callback_ctrl(ssl: &Ssl; command: c_int, function: AnyFunction) -> c_long = 0 => {
        const SET_EXTENSION_DEBUG_CB: c_int = 56;
        // Diffie-Hellman parameters are never used, and extensions are not shown.
        if matches!(command, SET_TMP_DH_CB | SET_EXTENSION_DEBUG_CB) {
            return 1;
        }
        ssl.change(|settings| {
            let callbacks = &mut settings.callbacks;
            // SAFETY: the command determines the type of the function: the caller's duty.
            unsafe {
                match command {
                    SET_MSG_CALLBACK => callbacks.message.function = of_type(function),
                    SET_NOT_RESUMABLE_CB => callbacks.not_resumable = of_type(function),
                    _ => return 0,
                }
            }
            1
        })
    }
}

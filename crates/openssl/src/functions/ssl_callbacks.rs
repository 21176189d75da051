//! SSL: functions of the program for one connection.

use core::ffi::{c_int, c_long, c_void};

use super::context_callbacks::{AnyFunction, of_type};
use crate::connection::Ssl;
use crate::entry::functions;
use crate::settings::callbacks::{self as cb, Callback};

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
        const SET_MSG_CALLBACK: c_int = 15;
        match command {
            // SAFETY: the command determines the type of the function: the caller's duty.
            SET_MSG_CALLBACK => unsafe {
                let function = of_type(function);
                ssl.change(|settings| settings.callbacks.message.function = function);
                1
            },
            // Functions for TLS extensions' traces and for Diffie-Hellman parameters are accepted
            // and not called.
            6 | 56 => 1,
            _ => 0,
        }
    }
}

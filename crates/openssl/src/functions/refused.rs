//! Functions of what Tercel does not have. Each has a row in the table `tests/stubs.h`, which says
//! why, and from which a test and a section of docs/openssl.md are made.
//!
//! A value that would have to be enforced is refused, and an entry in the queue names the function;
//! removing the value succeeds. Setters of features that are never negotiated succeed without
//! effect, so that programs start; getters report that there is nothing, as on a new object.
//!
//! Functions without a list of arguments here ignore them, and the calling convention leaves these
//! to the caller. A caller that expects no result, or a narrower one, ignores the rest of the
//! register.

use core::ffi::{c_char, c_int, c_void};

use super::{FAIL, OK};
use crate::connection::Ssl;
use crate::context::Context;
use crate::entry::{functions, run};
use crate::errors;
use crate::settings::callbacks::AnyFunction;

/// Defines functions without arguments that return an address, or a number in its register.
macro_rules! without_effect {
    ($result:expr, $body:expr; $($name:ident,)*) => {
        $(
            #[unsafe(no_mangle)]
            #[allow(non_snake_case)]
            pub(crate) extern "C" fn $name() -> *mut c_void {
                const NONE: *mut c_void = core::ptr::null_mut();
                run(NONE, || {
                    let report: fn(&str) = $body;
                    report(concat!(stringify!($name), " is not supported"));
                    Some($result)
                })
            }
        )*
    };
}

/// 1: success, or failure of a function whose success is 0.
const ONE: *mut c_void = core::ptr::without_provenance_mut(1);
/// 2: a fatal alert.
const FATAL_ALERT: *mut c_void = core::ptr::without_provenance_mut(2);
/// -1: failure of a function whose 0 is no error.
const MINUS_ONE: *mut c_void = core::ptr::without_provenance_mut(usize::MAX);
/// 0 or NULL: nothing, or failure.
const NOTHING: *mut c_void = core::ptr::null_mut();

without_effect! {
    ONE, |_| {};
    DTLS_set_timer_cb, SSL_COMP_add_compression_method, SSL_CTX_SRP_CTX_free, SSL_CTX_SRP_CTX_init,
    SSL_CTX_set_async_callback, SSL_CTX_set_async_callback_arg, SSL_CTX_set_cookie_generate_cb,
    SSL_CTX_set_cookie_verify_cb, SSL_CTX_set_default_read_buffer_len,
    SSL_CTX_set_next_proto_select_cb, SSL_CTX_set_next_protos_advertised_cb,
    SSL_CTX_set_psk_find_session_callback, SSL_CTX_set_psk_server_callback,
    SSL_CTX_set_record_padding_callback_arg, SSL_CTX_set_srp_cb_arg, SSL_CTX_set_srp_strength,
    SSL_CTX_set_stateless_cookie_generate_cb, SSL_CTX_set_stateless_cookie_verify_cb,
    SSL_CTX_set_tmp_dh_callback, SSL_SRP_CTX_free, SSL_SRP_CTX_init, SSL_add_ssl_module,
    SSL_alloc_buffers, SSL_set_async_callback, SSL_set_async_callback_arg, SSL_set_debug,
    SSL_set_default_read_buffer_len, SSL_set_psk_find_session_callback, SSL_set_psk_server_callback,
    SSL_set_record_padding_callback_arg, SSL_set_tmp_dh_callback, SSL_trace,
}

without_effect! {
    NOTHING, |_| {};
    DTLS_get_data_mtu, SSL_COMP_get0_name, SSL_COMP_get_id, SSL_COMP_get_name,
    SSL_CTX_ct_is_enabled, SSL_CTX_get_record_padding_callback_arg, SSL_CTX_has_client_custom_ext,
    SSL_SESSION_get_compress_id, SSL_SESSION_get_master_key, SSL_SESSION_get_max_fragment_length,
    SSL_SESSION_print_keylog, SSL_check_chain, SSL_client_hello_isv2, SSL_ct_is_enabled,
    SSL_get0_dane, SSL_get0_peer_scts, SSL_get_client_ciphers, SSL_get_current_compression,
    SSL_get_current_expansion, SSL_get_psk_identity, SSL_get_psk_identity_hint,
    SSL_get_record_padding_callback_arg, SSL_get_selected_srtp_profile, SSL_get_shared_sigalgs,
    SSL_get_sigalgs, SSL_get_srp_N, SSL_get_srp_g, SSL_get_srp_userinfo, SSL_get_srp_username,
    SSL_get_srtp_profiles, SSL_has_matching_session_id, SSL_renegotiate_pending, SSL_test_functions,
}

without_effect! {
    NOTHING, |what| errors::push_unsupported(what);
    SRP_Calc_A_param, SSL_CTX_add_client_custom_ext, SSL_CTX_add_custom_ext,
    SSL_CTX_add_server_custom_ext, SSL_CTX_enable_ct, SSL_CTX_set_client_cert_engine,
    SSL_CTX_use_serverinfo, SSL_CTX_use_serverinfo_ex, SSL_CTX_use_serverinfo_file,
    SSL_SESSION_set1_master_key, SSL_add_store_cert_subjects_to_stack, SSL_bytes_to_cipher_list,
    SSL_dup, SSL_enable_ct, SSL_export_keying_material_early, SSL_new_session_ticket,
    SSL_set_session_ticket_ext, SSL_set_srp_server_param, SSL_set_srp_server_param_pw,
}

// 0 says that the client has to be answered and that the function is to be called again, or that
// nothing was sent.
without_effect! {
    MINUS_ONE, |what| errors::push_unsupported(what);
    DTLSv1_listen, SSL_sendfile, SSL_stateless,
}

// SRTP is a part of DTLS. A program must not believe that its media are protected.
without_effect! {
    ONE, |what| errors::push_unsupported(what);
    SSL_CTX_set_tlsext_use_srtp, SSL_set_tlsext_use_srtp,
}

// 0 is its success.
without_effect! {
    FATAL_ALERT, |what| errors::push_unsupported(what);
    SSL_srp_server_param_with_username,
}

/// Defines setters that succeed only if they set nothing. The expression: whether they set a value.
macro_rules! refused_values {
    ($($name:ident($object:ty; $($argument:ident: $type:ty),*) => $is_set:expr;)*) => {
        functions! {
            $(
                fn $name(_object: &$object; $($argument: $type),*) -> c_int = FAIL => {
                    without($is_set, stringify!($name))
                }
            )*
        }
    };
}

refused_values! {
    SSL_CTX_set_ct_validation_callback(Context; callback: AnyFunction, _argument: *mut c_void) =>
        callback.is_some();
    SSL_set_ct_validation_callback(Ssl; callback: AnyFunction, _argument: *mut c_void) =>
        callback.is_some();
    SSL_CTX_set_generate_session_id(Context; callback: AnyFunction) => callback.is_some();
    SSL_set_generate_session_id(Ssl; callback: AnyFunction) => callback.is_some();
    SSL_CTX_set_srp_client_pwd_callback(Context; callback: AnyFunction) => callback.is_some();
    SSL_CTX_set_srp_username_callback(Context; callback: AnyFunction) => callback.is_some();
    SSL_CTX_set_srp_verify_param_callback(Context; callback: AnyFunction) => callback.is_some();
    SSL_CTX_set_tlsext_max_fragment_length(Context; mode: u8) => mode != 0;
    SSL_set_tlsext_max_fragment_length(Ssl; mode: u8) => mode != 0;
    SSL_CTX_use_psk_identity_hint(Context; hint: *const c_char) => !hint.is_null();
    SSL_use_psk_identity_hint(Ssl; hint: *const c_char) => !hint.is_null();
    SSL_set_record_padding_callback(Ssl; callback: AnyFunction) => callback.is_some();
    SSL_set_session_secret_cb(Ssl; callback: AnyFunction, _argument: *mut c_void) =>
        callback.is_some();
    SSL_set_session_ticket_ext_cb(Ssl; callback: AnyFunction, _argument: *mut c_void) =>
        callback.is_some();
}

/// The result of a setter of what Tercel does not have. `is_set`: it sets a value.
pub(super) fn without(is_set: bool, what: &str) -> c_int {
    if is_set {
        errors::push_unsupported(&format!("{what} is not supported"));
        return FAIL;
    }
    OK
}

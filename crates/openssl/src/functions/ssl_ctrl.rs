//! SSL_ctrl: settings and queries by number.

use core::ffi::{CStr, c_char, c_int, c_long, c_void};
use core::ptr;

use tercel::wire::ProtocolVersion;

use super::chain_building::{self, BUILD_CERT_CHAIN};
use super::{context_ctrl, refused, store, text};
use crate::ciphers::{groups, schemes};
use crate::connection::Ssl;
use crate::connection::hello::Hello;
use crate::connection::state::{Side, Want};
use crate::entry::functions;
use crate::errors::{self, reasons};
use crate::sys::crypto::CRYPTO_free;

functions! {
    fn SSL_ctrl(ssl: &Ssl; command: c_int, larg: c_long, parg: *mut c_void) -> c_long = 0 => {
        // SAFETY: the caller's duty.
        if let Some(result) = unsafe { query(ssl, command, larg, parg) } {
            return result;
        }
        // SAFETY: the caller's duty.
        ssl.change(|settings| unsafe { context_ctrl::set(settings, command, larg, parg) }).unwrap_or(0)
    }
}

const SET_TLSEXT_HOSTNAME: c_int = 55;
const SET_RETRY_VERIFY: c_int = 136;

/// Sets the name that a client sends. Whether it may be one; if not, an error is in the queue.
pub(super) fn set_host_name(ssl: &Ssl, name: Option<&CStr>) -> bool {
    if name.is_some_and(|name| name.is_empty() || name.count_bytes() > 255) {
        errors::push(reasons::SSL3_EXT_INVALID_SERVERNAME);
        return false;
    }
    ssl.host_name.replace(name.map(CStr::to_owned));
    true
}

/// Commands of a connection that do not change its settings.
///
/// # Safety
/// The caller's duty for `parg`, whose type depends on the command.
unsafe fn query(ssl: &Ssl, command: c_int, larg: c_long, parg: *mut c_void) -> Option<c_long> {
    let settings = ssl.settings();
    Some(match command {
        SET_TLSEXT_HOSTNAME => {
            // The type has to be that of host names.
            if larg != 0 {
                errors::push(reasons::SSL3_EXT_INVALID_SERVERNAME_TYPE);
                return Some(0);
            }
            // SAFETY: as this function's contract.
            set_host_name(ssl, unsafe { text(parg.cast::<c_char>()) }).into()
        }
        BUILD_CERT_CHAIN => {
            let store = ssl.context().store();
            chain_building::build(ssl, &settings, store, larg)
        }
        // Functions have types of their own for callbacks: `SSL_callback_ctrl`.
        6 => {
            errors::push_not_now("SSL_callback_ctrl sets callbacks");
            0
        }
        // There are no renegotiations.
        10..=12 => 0,
        // SAFETY: as this function's contract.
        90 => unsafe { peer_groups(ssl, parg) },
        // SAFETY: as this function's contract.
        110 => unsafe { raw_suites(ssl, parg) },
        111 => 0,
        // Secure renegotiation, and the extended main secret.
        76 => {
            // In TLS 1.3, no server says so, but clients do.
            let is_server = ssl.side.get() == Some(Side::Server);
            let supports = |info: &tercel::ConnectionInfo| {
                info.secure_renegotiation && (is_server || info.version < ProtocolVersion::TLS1_3)
            };
            ssl.with_info(supports).unwrap_or(false).into()
        }
        122 => {
            // TLS 1.3 does not have the extension.
            let uses = |info: &tercel::ConnectionInfo| {
                info.extended_main_secret && info.version < ProtocolVersion::TLS1_3
            };
            ssl.with_info(uses).map_or(-1, c_long::from)
        }
        33 if i64::from(settings.mode) | larg == settings.mode.into() => settings.mode.into(),
        // The argument of a callback for extensions, which is not called.
        57 => 1,
        // Responders and extensions that a client names in a request for a certificate status.
        67 => refused::without(!parg.is_null(), "SSL_set_tlsext_status_exts").into(),
        69 => refused::without(!parg.is_null(), "SSL_set_tlsext_status_ids").into(),
        // SAFETY: as this function's contract.
        70 => unsafe { status_response(ssl, parg) },
        // SAFETY: as this function's contract.
        71 => unsafe { set_status_response(ssl, larg, parg) },
        93 | 134 => {
            let group = ssl.with_info(|info| info.group).flatten();
            group.map_or(0, |group| groups::nid(group).into())
        }
        108 | 132 => {
            let scheme = ssl.with_info(|info| match command {
                108 => info.peer_signature_scheme,
                _ => info.own_signature_scheme,
            });
            let Some(scheme) = scheme.flatten() else { return Some(0) };
            // SAFETY: as this function's contract.
            unsafe { store(parg.cast::<c_int>(), schemes::hash_nid(scheme)) };
            1
        }
        // SAFETY: as this function's contract.
        115 => unsafe { context_ctrl::chain(&settings, &ssl.lent.chains, (command, larg), parg)? },
        // Lists of a status request, and the ephemeral keys, which are not kept. A program that
        // ignores the result finds nothing.
        66 | 68 | 109 | 133 => {
            // SAFETY: as this function's contract.
            unsafe { super::store(parg.cast::<*mut c_void>(), ptr::null_mut()) };
            matches!(command, 66 | 68).into()
        }
        SET_RETRY_VERIFY => {
            ssl.want.set(Want::RetryVerify);
            1
        }
        // SAFETY: as this function's contract.
        _ => return unsafe { context_ctrl::query(&settings, command, larg, parg) },
    })
}

/// # Safety
/// The pointer is NULL or to a pointer.
unsafe fn status_response(ssl: &Ssl, to: *mut c_void) -> c_long {
    let response = ssl.status_response.borrow();
    let (start, length) = match &*response {
        Some(response) => (response.as_ptr(), c_long::try_from(response.len()).unwrap_or(-1)),
        None => (ptr::null(), -1),
    };
    // SAFETY: as this function's contract.
    unsafe { store(to.cast::<*const u8>(), start) };
    length
}

/// Writes the numbers of the client's groups, for NULL only counts them.
///
/// # Safety
/// The pointer is NULL or to as many numbers as an earlier call returned.
unsafe fn peer_groups(ssl: &Ssl, to: *mut c_void) -> c_long {
    const SUPPORTED_GROUPS: u16 = 10;
    let hello = ssl.hello.borrow();
    let parts = hello.as_ref().and_then(Hello::parts);
    let list = parts.and_then(|parts| {
        let found = parts.extensions.iter().find(|(code, _)| *code == SUPPORTED_GROUPS);
        found.and_then(|(_, body)| body.get(2..))
    });
    let codes = list.unwrap_or_default().chunks_exact(2);
    let nids = codes.map(|code| {
        let code = code.iter().fold(0, |code, byte| code << 8 | u16::from(*byte));
        groups::nid(tercel::wire::NamedGroup(code))
    });
    let mut count = 0;
    for nid in nids {
        if !to.is_null() {
            // SAFETY: as this function's contract.
            unsafe { to.cast::<c_int>().add(count).write(nid) };
        }
        count = count.saturating_add(1);
    }
    c_long::try_from(count).unwrap_or(0)
}

/// Returns the client's list of suites. For NULL, returns the length of one.
///
/// # Safety
/// The pointer is NULL or to a pointer.
unsafe fn raw_suites(ssl: &Ssl, to: *mut c_void) -> c_long {
    if to.is_null() {
        return 2;
    }
    let hello = ssl.hello.borrow();
    let Some(parts) = hello.as_ref().and_then(Hello::parts) else { return 0 };
    // SAFETY: as this function's contract.
    unsafe { store(to.cast::<*const u8>(), parts.suites.as_ptr()) };
    c_long::try_from(parts.suites.len()).unwrap_or(0)
}

/// Takes over memory of the program with a certificate status.
///
/// # Safety
/// The pointer is NULL or to as many bytes, from `OPENSSL_malloc`.
unsafe fn set_status_response(ssl: &Ssl, length: c_long, from: *mut c_void) -> c_long {
    // SAFETY: as this function's contract.
    let response = unsafe { super::bytes(from.cast(), length) }.to_vec();
    ssl.status_response.replace((!from.is_null()).then_some(response));
    // SAFETY: as this function's contract.
    unsafe { CRYPTO_free(from, ptr::null(), 0) };
    1
}

/// The text of a version.
pub(super) fn version_text(version: c_int) -> &'static core::ffi::CStr {
    match u16::try_from(version).map(ProtocolVersion) {
        Ok(ProtocolVersion::TLS1_3) => c"TLSv1.3",
        Ok(ProtocolVersion::TLS1_2) => c"TLSv1.2",
        Ok(ProtocolVersion::TLS1_1) => c"TLSv1.1",
        Ok(ProtocolVersion::TLS1_0) => c"TLSv1",
        _ => c"unknown",
    }
}

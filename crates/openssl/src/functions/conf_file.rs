//! Sections of `openssl.cnf` for TLS: that of the system, which each new context gets, and those
//! that programs name.

use core::ffi::{CStr, c_char, c_int};
use core::ptr;
use std::sync::Arc;

use super::conf::Configuration;
use super::{FAIL, OK, text};
use crate::connection::Ssl;
use crate::context::Context;
use crate::entry::functions;
use crate::errors::{self, reasons};
use crate::sys::crypto::{conf_ssl_get, conf_ssl_get_cmd, conf_ssl_name_find};

/// The section that applies to all contexts.
const SYSTEM: &CStr = c"system_default";

functions! {
    fn SSL_CTX_config(context: &Context; name: *const c_char) -> c_int = FAIL => {
        // SAFETY: the caller's duty.
        let name = unsafe { text(name) };
        named(&Configuration::of_context(context, true), name)
    }
    fn SSL_config(ssl: &Ssl; name: *const c_char) -> c_int = FAIL => {
        // SAFETY: the caller's duty.
        let name = unsafe { text(name) };
        named(&Configuration::of_connection(ssl), name)
    }
}

/// Applies the section of the system's file, which is loaded, to a new context. Unknown commands
/// are ignored, as by OpenSSL. A command that fails would be a policy that is lost: `None`, with an
/// error in the queue.
pub(super) fn apply_system(context: &Arc<Context>) -> Option<()> {
    let configuration = Configuration::of_context(context, false);
    errors::forgiving(|| match apply(&configuration, SYSTEM, true) {
        Some(false) => {
            errors::push_with(reasons::BAD_VALUE, "a command of system_default");
            None
        }
        _ => Some(()),
    })
}

fn named(to: &Configuration, name: Option<&CStr>) -> c_int {
    match name.and_then(|name| apply(to, name, false)) {
        Some(true) => OK,
        Some(false) => FAIL,
        None => {
            let name = name.unwrap_or_default().to_string_lossy();
            errors::push_with(reasons::INVALID_CONFIGURATION_NAME, &format!("name={name}"));
            FAIL
        }
    }
}

/// Applies the commands of a section. `None`: there is none of this name. Whether all succeeded,
/// except for those that are unknown if they are ignored.
fn apply(to: &Configuration, name: &CStr, ignores_unknown: bool) -> Option<bool> {
    let (mut index, mut count) = (0, 0);
    // SAFETY: the name ends with a NUL, and the numbers are variables. What is returned exists
    // until the program unloads the file, which it must not do meanwhile.
    let commands = unsafe {
        if conf_ssl_name_find(name.as_ptr(), &raw mut index) == 0 {
            return None;
        }
        let mut own_name = ptr::null();
        conf_ssl_get(index, &raw mut own_name, &raw mut count)
    };
    let mut succeeded = true;
    for index in 0..count {
        let (mut command, mut value) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: as above; the index is below the count. Both texts end with a NUL.
        let (command, value) = unsafe {
            conf_ssl_get_cmd(commands, index, &raw mut command, &raw mut value);
            (text(command), text(value))
        };
        if ignores_unknown && command.is_some_and(|command| !to.knows(command)) {
            continue;
        }
        succeeded &= to.apply(command, value) > 0;
    }
    Some(succeeded & to.finish().is_some())
}

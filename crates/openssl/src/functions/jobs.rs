//! Asynchronous jobs (`SSL_MODE_ASYNC`), in which OpenSSL runs engines. This library starts none.

use core::ffi::c_int;

use super::{FAIL, OK, store};
use crate::connection::Ssl;
use crate::connection::state::Stage;
use crate::entry::functions;
use crate::settings::options::MODE_ASYNC;

functions! {
    fn SSL_waiting_for_async(_ssl: &Ssl;) -> c_int = 0 => {
        0
    }
    fn SSL_get_async_status(ssl: &Ssl; status: *mut c_int) -> c_int = FAIL => {
        /// `ASYNC_STATUS_UNSUPPORTED`
        const UNSUPPORTED: c_int = 0;
        // SAFETY: the caller's duty.
        if_started(ssl, || unsafe { store(status, UNSUPPORTED) })
    }
    fn SSL_get_all_async_fds(ssl: &Ssl; _descriptors: *mut c_int, count: *mut usize)
        -> c_int = FAIL => {
        // SAFETY: the caller's duty.
        if_started(ssl, || unsafe { store(count, 0) })
    }
    fn SSL_get_changed_async_fds(ssl: &Ssl;
        _added: *mut c_int, added_count: *mut usize, _removed: *mut c_int, removed_count: *mut usize,
    ) -> c_int = FAIL => {
        // SAFETY: the caller's duty.
        if_started(ssl, || unsafe {
            store(added_count, 0);
            store(removed_count, 0);
        })
    }
}

/// Stores that there is nothing, if OpenSSL would have begun to run jobs, because the connection
/// has the mode and was used. Before that the functions fail, as OpenSSL's do.
fn if_started(ssl: &Ssl, store: impl FnOnce()) -> c_int {
    let has_mode = ssl.settings().mode & MODE_ASYNC != 0;
    if !has_mode || matches!(*ssl.stage.borrow(), Stage::New) {
        return FAIL;
    }
    store();
    OK
}

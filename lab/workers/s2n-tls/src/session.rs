//! The session that a client resumes, the number of its tickets, and the sessions of a server.
//!
//! s2n-tls passes tickets to a callback that receives only the connection. A thread of a worker has
//! one client at a time, so the callback stores them in thread-local variables. The application
//! must store the sessions that are resumed by ID; several threads can read this store at the same
//! time.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::{LazyLock, PoisonError, RwLock};
use std::time::{SystemTime, UNIX_EPOCH};

use lab_scenario::Result;
use s2n_tls_sys as ffi;

use crate::error::done;

thread_local! {
    /// The session, and space for the next one. Empty without a session.
    static SESSION: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static ARRIVED: Cell<u32> = const { Cell::new(0) };
}

/// The sessions of the server by ID.
static STORE: LazyLock<RwLock<HashMap<Vec<u8>, Vec<u8>>>> = LazyLock::new(RwLock::default);

/// The capacity of the server's store.
const SESSIONS: usize = 1024;

/// Removes all sessions.
pub(crate) fn forget_all() {
    SESSION.with_borrow_mut(Vec::clear);
    STORE.write().unwrap_or_else(PoisonError::into_inner).clear();
}

/// The number of tickets received since [`reset_received`].
pub(crate) fn received() -> u32 {
    ARRIVED.get()
}

/// Resets the count for a new client connection.
pub(crate) fn reset_received() {
    ARRIVED.set(0);
}

/// Makes a client resume the stored session, if there is one. Only a session without a ticket stays
/// stored.
pub(crate) fn resume(connection: *mut ffi::s2n_connection, keep: bool) -> Result<()> {
    SESSION.with_borrow_mut(|session| {
        if session.is_empty() {
            return Ok(());
        }
        // SAFETY: callers own the connection, and the session, which is copied, has the given
        // length.
        done(unsafe {
            ffi::s2n_connection_set_session(connection, session.as_ptr(), session.len())
        })?;
        if !keep {
            session.clear();
        }
        Ok(())
    })
}

/// Stores a client's session without ticket.
pub(crate) fn keep(connection: *mut ffi::s2n_connection) -> Result<()> {
    SESSION.with_borrow_mut(|session| {
        // SAFETY: callers own the connection, and the buffer has the given length.
        let length = unsafe {
            let length = ffi::s2n_connection_get_session_length(connection);
            session.resize(usize::try_from(length)?, 0);
            ffi::s2n_connection_get_session(connection, session.as_mut_ptr(), session.len())
        };
        session.truncate(usize::try_from(length)?);
        Ok(())
    })
}

/// Stores and counts the tickets that a client receives.
pub(crate) fn store_received(config: *mut ffi::s2n_config) -> Result<()> {
    // SAFETY: callers own the configuration, and the callback has the required type.
    unsafe {
        done(ffi::s2n_config_set_session_tickets_onoff(config, 1))?;
        done(ffi::s2n_config_set_session_ticket_cb(config, Some(arrives), ptr::null_mut()))
    }
}

/// Makes a server send this many tickets with encrypted sessions.
pub(crate) fn issue(config: *mut ffi::s2n_config, tickets: u8) -> Result<()> {
    // SAFETY: callers own the configuration.
    unsafe {
        done(ffi::s2n_config_set_session_tickets_onoff(config, 1))?;
        done(ffi::s2n_config_set_initial_ticket_count(config, tickets))?;
    }
    add_key(config)
}

/// Makes a server store sessions by ID. Stored sessions are also encrypted.
pub(crate) fn store(config: *mut ffi::s2n_config) -> Result<()> {
    let none = ptr::null_mut();
    // SAFETY: callers own the configuration, and the callbacks have the required types.
    unsafe {
        done(ffi::s2n_config_set_cache_store_callback(config, Some(stores), none))?;
        done(ffi::s2n_config_set_cache_retrieve_callback(config, Some(retrieves), none))?;
        done(ffi::s2n_config_set_cache_delete_callback(config, Some(deletes), none))?;
        done(ffi::s2n_config_set_session_cache_onoff(config, 1))?;
    }
    add_key(config)
}

/// Adds a session encryption key. It protects only sessions of this process.
fn add_key(config: *mut ffi::s2n_config) -> Result<()> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let (name, mut key) = (*b"lab", [0x6b; 32]);
    let (name_length, key_length) = (u32::try_from(name.len())?, u32::try_from(key.len())?);
    // SAFETY: callers own the configuration; name and key have the given lengths and are copied.
    done(unsafe {
        ffi::s2n_config_add_ticket_crypto_key(
            config,
            name.as_ptr(),
            name_length,
            key.as_mut_ptr(),
            key_length,
            now.as_secs(),
        )
    })
}

unsafe extern "C" fn arrives(
    _: *mut ffi::s2n_connection,
    _: *mut c_void,
    ticket: *mut ffi::s2n_session_ticket,
) -> c_int {
    ARRIVED.set(ARRIVED.get() + 1);
    SESSION.with_borrow_mut(|session| {
        let mut length = 0;
        // SAFETY: the ticket is valid, and the buffer has the given length.
        unsafe {
            if ffi::s2n_session_ticket_get_data_len(ticket, &mut length) != 0 {
                return -1;
            }
            session.resize(length, 0);
            ffi::s2n_session_ticket_get_data(ticket, length, session.as_mut_ptr())
        }
    })
}

/// The bytes passed to a callback.
///
/// # Safety
/// `bytes` must point to `length` bytes that are valid during the callback.
unsafe fn callback_bytes<'a>(bytes: *const c_void, length: u64) -> &'a [u8] {
    // SAFETY: required of the caller.
    unsafe { std::slice::from_raw_parts(bytes.cast(), usize::try_from(length).unwrap_or_default()) }
}

unsafe extern "C" fn stores(
    _: *mut ffi::s2n_connection,
    _: *mut c_void,
    _: u64,
    id: *const c_void,
    id_length: u64,
    session: *const c_void,
    length: u64,
) -> c_int {
    // SAFETY: both have the given lengths.
    let (id, session) = unsafe { (callback_bytes(id, id_length), callback_bytes(session, length)) };
    let mut store = STORE.write().unwrap_or_else(PoisonError::into_inner);
    if store.len() >= SESSIONS {
        store.clear();
    }
    store.insert(id.to_vec(), session.to_vec());
    0
}

unsafe extern "C" fn retrieves(
    _: *mut ffi::s2n_connection,
    _: *mut c_void,
    id: *const c_void,
    id_length: u64,
    into: *mut c_void,
    length: *mut u64,
) -> c_int {
    let store = STORE.read().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: the id has the given length.
    let Some(session) = store.get(unsafe { callback_bytes(id, id_length) }) else { return -1 };
    let Ok(count) = u64::try_from(session.len()) else { return -1 };
    // SAFETY: `into` has space for `length` bytes.
    unsafe {
        if count > *length {
            return -1;
        }
        ptr::copy_nonoverlapping(session.as_ptr(), into.cast(), session.len());
        *length = count;
    }
    0
}

unsafe extern "C" fn deletes(
    _: *mut ffi::s2n_connection,
    _: *mut c_void,
    id: *const c_void,
    id_length: u64,
) -> c_int {
    // SAFETY: the id has the given length.
    STORE
        .write()
        .unwrap_or_else(PoisonError::into_inner)
        .remove(unsafe { callback_bytes(id, id_length) });
    0
}

//! The client's session to resume, the count of its tickets, and what a server keeps or issues.
//!
//! s2n-tls tells of tickets by a callback, which knows the connection only; a worker's thread has one client at a
//! time, so it leaves what it has with the thread. It leaves it to the application to store sessions that are
//! resumed by their id; the store here is one that threads can read at the same time.
//! Must not know: how connections are driven. Next: `main.rs`.

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
    /// The session, and room for the next. Empty: none.
    static SESSION: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static ARRIVED: Cell<u32> = const { Cell::new(0) };
}

/// What a server has stored, by session id.
static STORE: LazyLock<RwLock<HashMap<Vec<u8>, Vec<u8>>>> = LazyLock::new(RwLock::default);

/// Sessions that a server stores at most.
const SESSIONS: usize = 1024;

/// There are no sessions yet.
pub(crate) fn forget_all() {
    SESSION.with_borrow_mut(Vec::clear);
    STORE.write().unwrap_or_else(PoisonError::into_inner).clear();
}

/// Tickets that arrived since [`forget_arrived`].
pub(crate) fn arrived() -> u32 {
    ARRIVED.get()
}

/// A new client's connection begins.
pub(crate) fn forget_arrived() {
    ARRIVED.set(0);
}

/// Has a client resume the session that was kept, if there is one. Only one without a ticket is kept further.
pub(crate) fn resume(connection: *mut ffi::s2n_connection, keep: bool) -> Result<()> {
    SESSION.with_borrow_mut(|session| {
        if session.is_empty() {
            return Ok(());
        }
        // SAFETY: callers hold the connection, and the session, which is copied, has the length that is told.
        done(unsafe {
            ffi::s2n_connection_set_session(connection, session.as_ptr(), session.len())
        })?;
        if !keep {
            session.clear();
        }
        Ok(())
    })
}

/// Keeps a client's session that has no ticket.
pub(crate) fn keep(connection: *mut ffi::s2n_connection) -> Result<()> {
    SESSION.with_borrow_mut(|session| {
        // SAFETY: callers hold the connection, and the buffer has the length that is told.
        let length = unsafe {
            let length = ffi::s2n_connection_get_session_length(connection);
            session.resize(usize::try_from(length)?, 0);
            ffi::s2n_connection_get_session(connection, session.as_mut_ptr(), session.len())
        };
        session.truncate(usize::try_from(length)?);
        Ok(())
    })
}

/// Keeps and counts what tickets a client receives.
pub(crate) fn keep_arriving(config: *mut ffi::s2n_config) -> Result<()> {
    // SAFETY: callers hold the configuration, and the callback has the type that is asked for.
    unsafe {
        done(ffi::s2n_config_set_session_tickets_onoff(config, 1))?;
        done(ffi::s2n_config_set_session_ticket_cb(config, Some(arrives), ptr::null_mut()))
    }
}

/// Has a server seal sessions in so many tickets.
pub(crate) fn issue(config: *mut ffi::s2n_config, tickets: u8) -> Result<()> {
    // SAFETY: callers hold the configuration.
    unsafe {
        done(ffi::s2n_config_set_session_tickets_onoff(config, 1))?;
        done(ffi::s2n_config_set_initial_ticket_count(config, tickets))?;
    }
    add_key(config)
}

/// Has a server store sessions by their id. What it stores is sealed all the same.
pub(crate) fn store(config: *mut ffi::s2n_config) -> Result<()> {
    let none = ptr::null_mut();
    // SAFETY: callers hold the configuration, and the callbacks have the types that are asked for.
    unsafe {
        done(ffi::s2n_config_set_cache_store_callback(config, Some(stores), none))?;
        done(ffi::s2n_config_set_cache_retrieve_callback(config, Some(retrieves), none))?;
        done(ffi::s2n_config_set_cache_delete_callback(config, Some(deletes), none))?;
        done(ffi::s2n_config_set_session_cache_onoff(config, 1))?;
    }
    add_key(config)
}

/// A key that seals sessions from now on. It guards nothing but what this process does.
fn add_key(config: *mut ffi::s2n_config) -> Result<()> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let (name, mut key) = (*b"lab", [0x6b; 32]);
    let (name_length, key_length) = (u32::try_from(name.len())?, u32::try_from(key.len())?);
    // SAFETY: callers hold the configuration; name and key have the lengths that are told and are copied.
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
        // SAFETY: the ticket is alive, and the buffer has the length that is told.
        unsafe {
            if ffi::s2n_session_ticket_get_data_len(ticket, &mut length) != 0 {
                return -1;
            }
            session.resize(length, 0);
            ffi::s2n_session_ticket_get_data(ticket, length, session.as_mut_ptr())
        }
    })
}

/// The bytes that a callback is shown.
///
/// # Safety
/// There are so many at `bytes` for as long as the callback lasts.
unsafe fn shown<'a>(bytes: *const c_void, length: u64) -> &'a [u8] {
    // SAFETY: the caller's word.
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
    // SAFETY: both have the lengths that are told.
    let (id, session) = unsafe { (shown(id, id_length), shown(session, length)) };
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
    // SAFETY: the id has the length that is told.
    let Some(session) = store.get(unsafe { shown(id, id_length) }) else { return -1 };
    let Ok(count) = u64::try_from(session.len()) else { return -1 };
    // SAFETY: at `into` is room for as many bytes as `length` says.
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
    // SAFETY: the id has the length that is told.
    STORE.write().unwrap_or_else(PoisonError::into_inner).remove(unsafe { shown(id, id_length) });
    0
}

//! SSL_CTX: trusted certificates and the verification of peers.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::Arc;

use super::{FAIL, OK, given, text};
use crate::context::Context;
use crate::entry::functions;
use crate::errors;
use crate::objects::bio::Bio;
use crate::objects::list;
use crate::objects::name::Name;
use crate::objects::store::{CtLogs, Defaults, Store};
use crate::settings::callbacks::{Callback, VerifyChain};
use crate::sys::stack::Stack;
use crate::sys::x509::{
    CTLOG_STORE, CTLOG_STORE_load_default_file, CTLOG_STORE_load_file, CTLOG_STORE_new,
    VerifyCallback, X509, X509_STORE, X509_STORE_load_file, X509_STORE_load_locations,
    X509_STORE_load_path, X509_STORE_set_default_paths, X509_VERIFY_PARAM,
    X509_VERIFY_PARAM_set_purpose, X509_VERIFY_PARAM_set_trust, X509_VERIFY_PARAM_set1,
};

functions! {
    fn SSL_CTX_get_cert_store(context: &Context;) -> *mut X509_STORE = ptr::null_mut() => {
        context.store().as_ptr()
    }
    fn SSL_CTX_set_cert_store(context: &Context; store: *mut X509_STORE) -> () = () => {
        // SAFETY: the caller passes its reference on.
        set_store(context, unsafe { Store::from_raw(store) });
    }
    /// Certificate transparency is not supported, but the logs of the program are kept.
    fn SSL_CTX_set0_ctlog_store(context: &Context; logs: *mut CTLOG_STORE) -> () = () => {
        // SAFETY: the caller passes its object on.
        let logs = unsafe { CtLogs::from_raw(logs) }.map(Arc::new);
        context.change(|settings| settings.ct_logs = logs);
    }
    fn SSL_CTX_get0_ctlog_store(context: &Context;) -> *mut CTLOG_STORE = ptr::null_mut() => {
        ct_logs(context).map_or(ptr::null_mut(), |logs| logs.as_ptr())
    }
    fn SSL_CTX_set_ctlog_list_file(context: &Context; file: *const c_char) -> c_int = FAIL => {
        // SAFETY: the caller's duty; the logs exist.
        ct_logs(context).map_or(FAIL, |logs| unsafe { CTLOG_STORE_load_file(logs.as_ptr(), file) })
    }
    fn SSL_CTX_set_default_ctlog_list_file(context: &Context;) -> c_int = FAIL => {
        // SAFETY: the logs exist.
        ct_logs(context).map_or(FAIL, |logs| unsafe { CTLOG_STORE_load_default_file(logs.as_ptr()) })
    }
    fn SSL_CTX_set1_cert_store(context: &Context; store: *mut X509_STORE) -> () = () => {
        // SAFETY: the caller's duty.
        set_store(context, unsafe { Store::share(store) });
    }
    fn SSL_CTX_load_verify_locations(context: &Context; file: *const c_char, folder: *const c_char)
        -> c_int = FAIL => {
        // SAFETY: the caller's duty; the store exists.
        unsafe { X509_STORE_load_locations(context.store().as_ptr(), file, folder) }
    }
    fn SSL_CTX_load_verify_file(context: &Context; file: *const c_char) -> c_int = FAIL => {
        // SAFETY: as above.
        unsafe { X509_STORE_load_file(context.store().as_ptr(), file) }
    }
    fn SSL_CTX_load_verify_dir(context: &Context; folder: *const c_char) -> c_int = FAIL => {
        // SAFETY: as above.
        unsafe { X509_STORE_load_path(context.store().as_ptr(), folder) }
    }
    fn SSL_CTX_load_verify_store(context: &Context; uri: *const c_char) -> c_int = FAIL => {
        // SAFETY: as above.
        unsafe { crate::sys::x509::X509_STORE_load_store(context.store().as_ptr(), uri) }
    }
    fn SSL_CTX_set_default_verify_paths(context: &Context;) -> c_int = FAIL => {
        // SAFETY: the store exists.
        unsafe { X509_STORE_set_default_paths(context.store().as_ptr()) }
    }
    fn SSL_CTX_set_default_verify_dir(context: &Context;) -> c_int = FAIL => {
        c_int::from(context.store().load_default(Defaults::Folder))
    }
    fn SSL_CTX_set_default_verify_file(context: &Context;) -> c_int = FAIL => {
        c_int::from(context.store().load_default(Defaults::File))
    }
    fn SSL_CTX_set_default_verify_store(context: &Context;) -> c_int = FAIL => {
        c_int::from(context.store().load_default(Defaults::Store))
    }
    fn SSL_CTX_set_verify(context: &Context; mode: c_int, callback: VerifyCallback) -> () = () => {
        context.change(|settings| {
            settings.verify_mode = mode;
            settings.callbacks.verify = callback;
        });
    }
    fn SSL_CTX_get_verify_mode(context: &Context;) -> c_int = 0 => {
        context.settings().verify_mode
    }
    fn SSL_CTX_get_verify_callback(context: &Context;) -> VerifyCallback = None => {
        context.settings().callbacks.verify
    }
    fn SSL_CTX_set_verify_depth(context: &Context; depth: c_int) -> () = () => {
        context.parameters.set_depth(depth);
    }
    fn SSL_CTX_get_verify_depth(context: &Context;) -> c_int = -1 => {
        context.parameters.depth()
    }
    fn SSL_CTX_set_cert_verify_callback(context: &Context; function: VerifyChain, argument: *mut c_void)
        -> () = () => {
        context.change(|settings| settings.callbacks.verify_chain = Callback { function, argument });
    }
    fn SSL_CTX_get0_param(context: &Context;) -> *mut X509_VERIFY_PARAM = ptr::null_mut() => {
        context.parameters.as_ptr()
    }
    fn SSL_CTX_set1_param(context: &Context; parameters: *mut X509_VERIFY_PARAM) -> c_int = FAIL => {
        // SAFETY: the caller's duty; libcrypto accepts NULL.
        unsafe { X509_VERIFY_PARAM_set1(context.parameters.as_ptr(), parameters) }
    }
    fn SSL_CTX_set_purpose(context: &Context; purpose: c_int) -> c_int = FAIL => {
        // SAFETY: the parameters exist.
        unsafe { X509_VERIFY_PARAM_set_purpose(context.parameters.as_ptr(), purpose) }
    }
    fn SSL_CTX_set_trust(context: &Context; trust: c_int) -> c_int = FAIL => {
        // SAFETY: the parameters exist.
        unsafe { X509_VERIFY_PARAM_set_trust(context.parameters.as_ptr(), trust) }
    }
    fn SSL_load_client_CA_file(; file: *const c_char) -> *mut Stack = ptr::null_mut() => {
        // SAFETY: the caller's duty.
        let names = given(unsafe { text(file) }).and_then(names_of_file).and_then(some_names);
        names.map_or(ptr::null_mut(), |names| list::give_names(&names))
    }
    fn SSL_load_client_CA_file_ex(; file: *const c_char, _library: *mut c_void, _query: *const c_char)
        -> *mut Stack = ptr::null_mut() => {
        // SAFETY: the caller's duty.
        let names = given(unsafe { text(file) }).and_then(names_of_file).and_then(some_names);
        names.map_or(ptr::null_mut(), |names| list::give_names(&names))
    }
    fn SSL_add_file_cert_subjects_to_stack(; to: *mut Stack, file: *const c_char) -> c_int = FAIL => {
        // SAFETY: the caller's duty.
        let Some(names) = given(unsafe { text(file) }).and_then(names_of_file) else {
            return FAIL;
        };
        // SAFETY: the caller's duty. The list takes over each name.
        unsafe { list::push_new_names(to, names) };
        OK
    }
    fn SSL_add_dir_cert_subjects_to_stack(; to: *mut Stack, folder: *const c_char) -> c_int = FAIL => {
        // SAFETY: the caller's duty.
        let Some(names) = given(unsafe { text(folder) }).and_then(names_of_folder) else {
            return FAIL;
        };
        // SAFETY: the caller's duty. The list takes over each name.
        unsafe { list::push_new_names(to, names) };
        OK
    }
    fn SSL_dup_CA_list(; names: *const Stack) -> *mut Stack = ptr::null_mut() => {
        // SAFETY: the caller's duty.
        list::give_names(&unsafe { list::names(names) })
    }
    fn SSL_CTX_set_client_CA_list(context: &Context; names: *mut Stack) -> () = () => {
        // SAFETY: the caller passes its list on.
        let names = unsafe { context.names.take(names) };
        context.change(|settings| settings.client_authorities = names);
    }
    fn SSL_CTX_set0_CA_list(context: &Context; names: *mut Stack) -> () = () => {
        // SAFETY: the caller passes its list on.
        let names = unsafe { context.names.take(names) };
        context.change(|settings| settings.client_authorities = names);
    }
    fn SSL_CTX_get_client_CA_list(context: &Context;) -> *mut Stack = ptr::null_mut() => {
        context.names.lend(&context.settings().client_authorities)
    }
    fn SSL_CTX_get0_CA_list(context: &Context;) -> *mut Stack = ptr::null_mut() => {
        context.names.lend(&context.settings().client_authorities)
    }
    fn SSL_CTX_add_client_CA(context: &Context; certificate: *mut X509) -> c_int = FAIL => {
        add_authority(context, certificate)
    }
    fn SSL_CTX_add1_to_CA_list(context: &Context; certificate: *const X509) -> c_int = FAIL => {
        add_authority(context, certificate.cast_mut())
    }
}

/// Replaces the store. NULL stands for an empty one: nothing is trusted any more.
fn set_store(context: &Context, store: Option<Store>) {
    if let Some(store) = store.or_else(Store::new) {
        context.set_store(store);
    }
}

/// The logs of a context, which are made if there are none. `None` if memory is short.
fn ct_logs(context: &Context) -> Option<Arc<CtLogs>> {
    if let Some(logs) = &context.settings().ct_logs {
        return Some(Arc::clone(logs));
    }
    // SAFETY: new logs are returned, or NULL.
    let new = Arc::new(unsafe { CtLogs::from_raw(CTLOG_STORE_new()) }?);
    Some(context.change(|settings| Arc::clone(settings.ct_logs.get_or_insert(new))))
}

fn add_authority(context: &Context, certificate: *mut X509) -> c_int {
    // SAFETY: the caller's duty.
    let certificate = unsafe { crate::objects::certificate::Certificate::share(certificate) };
    let Some(name) = certificate.as_ref().and_then(Name::subject_of) else { return FAIL };
    context.change(|settings| {
        let mut names: Vec<_> =
            settings.client_authorities.iter().filter_map(Name::duplicate).collect();
        names.push(name);
        settings.client_authorities = Arc::new(names);
    });
    OK
}

/// The subjects of all certificates in a PEM file, each once. `None`: an error is in the queue.
pub(super) fn names_of_file(file: &CStr) -> Option<Vec<Name>> {
    let bio = Bio::file(file)?;
    let certificates = crate::context::files::read_all(&bio, Callback::default())?;
    let mut names = Vec::new();
    add_unique(&mut names, certificates.iter().filter_map(Name::subject_of).collect());
    Some(names)
}

/// The list, unless nothing is in it, which is an error.
pub(super) fn some_names(names: Vec<Name>) -> Option<Vec<Name>> {
    if names.is_empty() {
        errors::push(errors::reasons::BAD_DATA);
        return None;
    }
    Some(names)
}

/// The subjects of the certificates in the files of a folder, which may have other files, too.
/// `None`: an error is in the queue.
pub(super) fn names_of_folder(folder: &CStr) -> Option<Vec<Name>> {
    let path = std::path::Path::new(std::ffi::OsStr::from_bytes(folder.to_bytes()));
    let Ok(entries) = std::fs::read_dir(path) else {
        errors::push_with(errors::reasons::BAD_DATA, "the folder cannot be read");
        return None;
    };
    let mut names = Vec::new();
    for entry in entries {
        let Ok(entry) = entry else {
            errors::push_with(errors::reasons::BAD_DATA, "the folder cannot be read");
            return None;
        };
        let path = entry.path();
        if !path.is_dir() {
            let file = std::ffi::CString::new(path.into_os_string().into_vec()).ok()?;
            add_unique(&mut names, names_of_file(&file)?);
        }
    }
    Some(names)
}

/// Adds the names that a list does not have.
pub(super) fn add_unique(names: &mut Vec<Name>, found: Vec<Name>) {
    for name in found {
        if !names.iter().any(|known| known.equals(&name)) {
            names.push(name);
        }
    }
}

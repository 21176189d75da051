//! Lists of libcrypto (`STACK_OF`).

use core::ffi::c_void;
use core::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::certificate::Certificate;
use super::name::Name;
use crate::sys::stack::{
    OPENSSL_sk_free, OPENSSL_sk_new_null, OPENSSL_sk_num, OPENSSL_sk_pop_free, OPENSSL_sk_push,
    OPENSSL_sk_value, Stack,
};
use crate::sys::x509::{X509_NAME_free, X509_free};

super::owned! {
    /// A list that does not own its elements.
    Pointers, Stack, OPENSSL_sk_free
}

super::owned! {
    /// A list that owns its certificates.
    Certificates, Stack, free_certificates
}

/// # Safety
/// The list owns its certificates, and is not used again.
unsafe fn free_certificates(list: *mut Stack) {
    // SAFETY: as this function's contract.
    unsafe { OPENSSL_sk_pop_free(list, Some(free_certificate)) };
}

unsafe extern "C" fn free_certificate(certificate: *mut c_void) {
    // SAFETY: called for the elements of a list of certificates.
    unsafe { X509_free(certificate.cast()) };
}

unsafe extern "C" fn free_name(name: *mut c_void) {
    // SAFETY: called for the elements of a list of names.
    unsafe { X509_NAME_free(name.cast()) };
}

impl Pointers {
    pub(crate) fn new() -> Option<Self> {
        // SAFETY: a new list is returned, or NULL.
        unsafe { Self::from_raw(OPENSSL_sk_new_null()) }
    }

    pub(crate) fn push(&self, value: *const c_void) -> bool {
        // SAFETY: the list exists; it stores the pointer without using it.
        unsafe { OPENSSL_sk_push(self.as_ptr(), value) > 0 }
    }

    /// The pointer, for a caller that takes the list over.
    pub(crate) fn into_raw(self) -> *mut Stack {
        core::mem::ManuallyDrop::new(self).as_ptr()
    }
}

impl Certificates {
    /// The pointer, for a caller that takes the list over.
    pub(crate) fn into_raw(self) -> *mut Stack {
        core::mem::ManuallyDrop::new(self).as_ptr()
    }

    /// A list of references to these certificates.
    pub(crate) fn of(certificates: &[Certificate]) -> Option<Self> {
        // SAFETY: a new list is returned, or NULL.
        let list = unsafe { Self::from_raw(OPENSSL_sk_new_null()) }?;
        for certificate in certificates {
            let reference = certificate.to_raw();
            // SAFETY: the list exists, and takes over the reference.
            if unsafe { OPENSSL_sk_push(list.as_ptr(), reference.cast()) } <= 0 {
                return None;
            }
        }
        Some(list)
    }

    /// Whether the list has these certificates.
    pub(crate) fn has(&self, certificates: &[Certificate]) -> bool {
        // SAFETY: the list exists. A program that has it does not change it during a call.
        let own = unsafe { elements(self.as_ptr()) };
        own.into_iter().eq(certificates.iter().map(|each| each.as_ptr().cast()))
    }
}

/// Lists of certificates that a program received without a reference, and may use as long as the
/// owner exists: there is one for each chain that it asked for.
#[derive(Default)]
pub(crate) struct LentCertificates(Mutex<Vec<Certificates>>);

impl LentCertificates {
    /// The list of these certificates, which is the same as before if they are. NULL if there are
    /// none.
    pub(crate) fn lend(&self, certificates: &[Certificate]) -> *mut Stack {
        if certificates.is_empty() {
            return ptr::null_mut();
        }
        let mut lists = locked(&self.0);
        if let Some(known) = lists.iter().find(|list| list.has(certificates)) {
            return known.as_ptr();
        }
        let Some(list) = Certificates::of(certificates) else { return ptr::null_mut() };
        let pointer = list.as_ptr();
        lists.push(list);
        pointer
    }
}

/// The elements of a list. Empty for NULL.
///
/// # Safety
/// The pointer is NULL, or to a list that exists and is not changed during the call.
pub(crate) unsafe fn elements(list: *const Stack) -> Vec<*mut c_void> {
    if list.is_null() {
        return Vec::new();
    }
    // SAFETY: as this function's contract.
    let count = unsafe { OPENSSL_sk_num(list) };
    // SAFETY: the index is below the number of elements.
    (0..count).map(|index| unsafe { OPENSSL_sk_value(list, index) }).collect()
}

/// References to the certificates of a list.
///
/// # Safety
/// As [`elements`]; the elements are certificates.
pub(crate) unsafe fn certificates(list: *const Stack) -> Vec<Certificate> {
    // SAFETY: as this function's contract.
    let found = unsafe { elements(list) };
    // SAFETY: the list holds a reference to each element.
    found.into_iter().filter_map(|each| unsafe { Certificate::share(each.cast()) }).collect()
}

/// A new list of copies of these names, for a caller that takes it over. NULL if memory is short.
pub(crate) fn give_names(names: &[Name]) -> *mut Stack {
    // SAFETY: a new list is returned, or NULL.
    let Some(list) = (unsafe { Names::from_raw(OPENSSL_sk_new_null()) }) else {
        return ptr::null_mut();
    };
    for name in names {
        let Some(copy) = name.duplicate() else { return ptr::null_mut() };
        let copy = copy.into_raw();
        // SAFETY: the list exists, and takes over the name.
        if unsafe { OPENSSL_sk_push(list.as_ptr(), copy.cast_const().cast()) } <= 0 {
            // SAFETY: the list did not take it over.
            drop(unsafe { Name::from_raw(copy) });
            return ptr::null_mut();
        }
    }
    core::mem::ManuallyDrop::new(list).as_ptr()
}

/// Copies of the names of a list.
///
/// # Safety
/// As [`elements`]; the elements are names.
pub(crate) unsafe fn names(list: *const Stack) -> Vec<Name> {
    // SAFETY: as this function's contract.
    let found = unsafe { elements(list) };
    // SAFETY: the list owns each element.
    found.into_iter().filter_map(|each| unsafe { Name::copy(each.cast()) }).collect()
}

/// Adds names that a list does not have.
///
/// # Safety
/// As [`names`]; nothing else uses the list during the call.
pub(crate) unsafe fn push_new_names(list: *mut Stack, added: Vec<Name>) {
    // SAFETY: as this function's contract.
    let known = unsafe { names(list) };
    for name in added {
        if !known.iter().any(|other| other.equals(&name)) {
            // SAFETY: as this function's contract; the list takes the name over.
            unsafe { OPENSSL_sk_push(list, name.into_raw().cast_const().cast()) };
        }
    }
}

/// Lists of names that a program knows. Each exists until another one takes its place, or its
/// owner is freed.
#[derive(Default)]
pub(crate) struct LentNames {
    /// The list that the program passed on.
    given: Mutex<Option<(Arc<Vec<Name>>, Names)>>,
    /// The list that the program received.
    lent: Mutex<Option<(Arc<Vec<Name>>, Names)>>,
}

super::owned! {
    /// A list that owns its names.
    Names, Stack, free_names
}

/// # Safety
/// The list owns its names, and is not used again.
unsafe fn free_names(list: *mut Stack) {
    // SAFETY: as this function's contract.
    unsafe { OPENSSL_sk_pop_free(list, Some(free_name)) };
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl LentNames {
    /// Takes over the program's list, and copies its names.
    ///
    /// # Safety
    /// The pointer is NULL, or to a list of names that the caller owns and does not free.
    pub(crate) unsafe fn take(&self, list: *mut Stack) -> Arc<Vec<Name>> {
        // SAFETY: as this function's contract.
        let (names, list) = unsafe { (Arc::new(names(list)), Names::from_raw(list)) };
        let given = list.map(|list| (Arc::clone(&names), list));
        // The list before is freed without the lock.
        drop(core::mem::replace(&mut *locked(&self.given), given));
        names
    }

    /// The list of these names: the program's own one if they are from it. NULL if there is none.
    pub(crate) fn lend(&self, names: &Arc<Vec<Name>>) -> *mut Stack {
        let is_of = |slot: &Option<(Arc<Vec<Name>>, Names)>| match slot {
            Some((known, list)) if Arc::ptr_eq(known, names) => Some(list.as_ptr()),
            _ => None,
        };
        if let Some(given) = is_of(&locked(&self.given)) {
            return given;
        }
        if names.is_empty() {
            return ptr::null_mut();
        }
        let mut slot = locked(&self.lent);
        if let Some(lent) = is_of(&slot) {
            return lent;
        }
        // SAFETY: a new list is returned, or NULL.
        let Some(list) = (unsafe { Names::from_raw(give_names(names)) }) else {
            return ptr::null_mut();
        };
        let pointer = list.as_ptr();
        *slot = Some((Arc::clone(names), list));
        pointer
    }
}

//! Lists of cipher suites that programs receive without a reference.

use std::sync::{Mutex, PoisonError};

use tercel::wire::CipherSuite;

use super::list::Pointers;
use crate::ciphers::suite;
use crate::sys::stack::Stack;

/// A list that exists until it is replaced by another one, or its owner is freed.
#[derive(Default)]
pub(crate) struct LentCiphers(Mutex<Option<(Vec<CipherSuite>, Pointers)>>);

impl LentCiphers {
    /// The list of these suites. NULL if there is none.
    pub(crate) fn lend(&self, suites: impl Iterator<Item = CipherSuite>) -> *mut Stack {
        let suites: Vec<_> = suites.collect();
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, list)) = &*slot {
            if *known == suites {
                return list.as_ptr();
            }
        }
        let Some(list) = pointers(&suites) else { return core::ptr::null_mut() };
        let pointer = list.as_ptr();
        *slot = Some((suites, list));
        pointer
    }
}

/// A new list of the objects of these suites. `None` if it is empty.
pub(crate) fn pointers(suites: &[CipherSuite]) -> Option<Pointers> {
    let list = Pointers::new().filter(|_| !suites.is_empty())?;
    for cipher in suites.iter().filter_map(|code| suite::find(*code)) {
        list.push(core::ptr::from_ref(cipher).cast());
    }
    Some(list)
}

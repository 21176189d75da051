//! LHASH_OF: libcrypto's hash tables.

use std::sync::OnceLock;

use crate::objects::owned;
use crate::sys::crypto::{HashTable, OPENSSL_LH_free, OPENSSL_LH_new};

owned! {
    /// A hash table, without the objects in it.
    Table, HashTable, OPENSSL_LH_free
}

/// The table of sessions that a context shows. It has none, because the cache has another form.
#[derive(Default)]
pub(crate) struct LentTable(OnceLock<Option<Table>>);

impl LentTable {
    /// The table, which exists as long as this object. NULL if memory is short.
    pub(crate) fn lend(&self) -> *mut HashTable {
        // SAFETY: the function accepts NULL for its default functions, and returns a new table.
        let make = || unsafe { Table::from_raw(OPENSSL_LH_new(None, None)) };
        self.0.get_or_init(make).as_ref().map_or(core::ptr::null_mut(), Table::as_ptr)
    }
}

//! DANE's matching types and flags, which the connections of a context share.

use core::ffi::c_ulong;
use std::sync::{Mutex, PoisonError};

use crate::objects::dane::Digest;

/// The matching types of a context, by which records are compared. `None`: DANE is not enabled.
#[derive(Default)]
pub(crate) struct ContextDane {
    types: Mutex<Option<Vec<MatchingType>>>,
    flags: Mutex<c_ulong>,
}

/// A matching type: its number, its digest, and its preference.
#[derive(Clone)]
struct MatchingType(u8, Option<Digest>, u8);

impl ContextDane {
    fn with_types<T>(&self, body: impl FnOnce(&mut Option<Vec<MatchingType>>) -> T) -> T {
        body(&mut self.types.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Enables DANE with the matching types SHA-256 and SHA-512.
    pub(crate) fn enable(&self) {
        self.with_types(|types| {
            types.get_or_insert_with(|| {
                let standard = [(1, c"SHA256", 1), (2, c"SHA512", 2)];
                standard
                    .into_iter()
                    .map(|(number, name, order)| MatchingType(number, Digest::named(name), order))
                    .collect()
            });
        });
    }

    pub(crate) fn is_enabled(&self) -> bool {
        self.with_types(|types| types.is_some())
    }

    /// Sets the digest of a matching type. `None`: the type is not supported.
    pub(crate) fn set_type(&self, number: u8, digest: Option<Digest>, order: u8) {
        let order = if digest.is_some() { order } else { 0 };
        let old = self.with_types(|types| {
            let types = types.get_or_insert_default();
            let place = types.iter().position(|known| known.0 == number);
            let old = place.map(|place| types.remove(place));
            types.push(MatchingType(number, digest, order));
            old
        });
        drop(old);
    }

    /// The digest of a matching type, and its preference.
    pub(crate) fn digest(&self, number: u8) -> Option<(Digest, u8)> {
        self.with_types(|types| {
            let known = types.as_ref()?.iter().find(|known| known.0 == number)?;
            known.1.clone().map(|digest| (digest, known.2))
        })
    }

    /// Changes the flags, and returns what they were.
    pub(crate) fn change_flags(&self, change: impl FnOnce(c_ulong) -> c_ulong) -> c_ulong {
        let mut flags = self.flags.lock().unwrap_or_else(PoisonError::into_inner);
        let old = *flags;
        *flags = change(old);
        old
    }
}

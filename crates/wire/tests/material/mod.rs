//! Owned random values from which the tests build messages.

use proptest::prelude::*;
use tercel_wire::*;

/// Values for the fields of any message; lists have distinct entries where the syntax requires it.
#[derive(Debug, Clone)]
pub(crate) struct Material {
    /// One bit for each optional field.
    pub(crate) present: u64,
    pub(crate) random: [u8; 32],
    pub(crate) session_id: Vec<u8>,
    pub(crate) number: u32,
    pub(crate) host: String,
    /// Strings, at least one, of at least one byte.
    pub(crate) strings: Vec<Vec<u8>>,
    /// Distinct values, at least one.
    pub(crate) words: Vec<u16>,
    /// Bytes, at least one.
    pub(crate) bytes: Vec<u8>,
    /// One binder for each of `strings`.
    pub(crate) binders: Vec<Vec<u8>>,
}

impl Material {
    /// Returns `value` if the bit with this number is set.
    pub(crate) fn pick<T>(&self, bit: u32, value: T) -> Option<T> {
        (self.present >> bit & 1 == 1).then_some(value)
    }

    pub(crate) fn words<T>(&self, make: impl Fn(u16) -> T) -> Vec<T> {
        self.words.iter().map(|&word| make(word)).collect()
    }

    pub(crate) fn bytes<T>(&self, make: impl Fn(u8) -> T) -> Vec<T> {
        self.bytes.iter().map(|&byte| make(byte)).collect()
    }

    pub(crate) fn strings<'a, T>(&'a self, make: impl Fn(&'a [u8]) -> T) -> Vec<T> {
        self.strings.iter().map(|string| make(string)).collect()
    }

    pub(crate) fn string(&self) -> &[u8] {
        &self.strings[0]
    }

    /// Extensions of types that are unknown in every message.
    pub(crate) fn unknown(&self) -> Vec<(ExtensionType, &[u8])> {
        let types = self.words.iter().map(|word| ExtensionType(word | 0x8000));
        let unnamed = types.filter(|extension_type| extension_type.name().is_none());
        let mut unknown: Vec<_> = unnamed.zip(self.strings.iter().map(Vec::as_slice)).collect();
        unknown.sort_unstable();
        unknown.dedup_by_key(|&mut (extension_type, _)| extension_type);
        unknown
    }
}

/// Arbitrary material, small enough to test every prefix of a message.
pub(crate) fn material() -> impl Strategy<Value = Material> {
    let string = prop::collection::vec(any::<u8>(), 1..20);
    let binder = prop::collection::vec(any::<u8>(), 32..60);
    (
        any::<u64>(),
        any::<[u8; 32]>(),
        prop::collection::vec(any::<u8>(), 0..=32),
        any::<u32>(),
        "[a-z0-9]([a-z0-9-]{0,10}[a-z0-9])?(\\.[a-z]{1,8}){0,3}",
        prop::collection::vec((string, binder), 1..5),
        prop::collection::hash_set(any::<u16>(), 1..6),
        prop::collection::vec(any::<u8>(), 1..6),
    )
        .prop_map(|(present, random, session_id, number, host, pairs, words, bytes)| {
            let (strings, binders) = pairs.into_iter().unzip();
            let words = words.into_iter().collect();
            Material { present, random, session_id, number, host, strings, words, bytes, binders }
        })
}

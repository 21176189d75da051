//! Reads the files in `tests/vectors`: records of `name = value` lines, separated by empty lines;
//! lines that begin with `#` state the source.

#![allow(dead_code)] // each test binary uses its own part

use std::collections::BTreeMap;
use std::fmt;

/// One record.
#[derive(Clone)]
pub(crate) struct Vector(BTreeMap<String, String>);

/// The records of a file.
pub(crate) fn parse(text: &str) -> Vec<Vector> {
    let mut vectors = vec![Vector(BTreeMap::new())];
    for line in text.lines().map(str::trim) {
        if line.is_empty() {
            vectors.push(Vector(BTreeMap::new()));
        } else if !line.starts_with('#') {
            let (name, value) = line.split_once('=').expect("a line is `name = value`");
            let fields = &mut vectors.last_mut().unwrap().0;
            let previous = fields.insert(name.trim().into(), value.trim().into());
            assert!(previous.is_none(), "{name} twice");
        }
    }
    vectors.retain(|vector| !vector.0.is_empty());
    assert!(!vectors.is_empty());
    vectors
}

impl Vector {
    /// A value as text.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.optional(name).unwrap_or_else(|| panic!("no {name} in {self:?}"))
    }

    /// A value as text, if the record has it.
    pub(crate) fn optional(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// A value in hexadecimal.
    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        unhex(self.text(name))
    }

    /// Whether the record says that the input must be refused.
    pub(crate) fn is_refused(&self) -> bool {
        self.optional("result") == Some("refused")
    }

    /// The hash named by the record.
    pub(crate) fn hash(&self) -> tercel_crypto::HashAlgorithm {
        use tercel_crypto::HashAlgorithm as H;
        let all = [H::Sha256, H::Sha384, H::Sha512];
        let named = |hash: &H| format!("{hash:?}") == self.text("algorithm");
        all.into_iter().find(named).expect("a known hash")
    }
}

impl fmt::Debug for Vector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(&self.0).finish()
    }
}

/// Bytes from hexadecimal.
pub(crate) fn unhex(text: &str) -> Vec<u8> {
    assert!(text.len() % 2 == 0 && text.is_ascii());
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
        .collect()
}

//! Cipher suites, groups and signature schemes: their objects, and the strings of OpenSSL that
//! select them.

pub(crate) mod groups;
pub(crate) mod schemes;
pub(crate) mod string;
pub(crate) mod suite;
pub(crate) mod suite_b;

//! The foreign calls without wrappers. **For `benches/wrappers.rs` only**, behind the feature
//! `bench-bare`.
//!
//! The benches compare the wrappers with these functions: the same calls of AWS-LC in the same
//! order, without length checks, error mapping or types. See `backend/mod.rs` for the rules of
//! safety. The functions assert their preconditions once, when a key or context is made, and give
//! wrong results rather than undefined behaviour if misused.

#![allow(missing_docs, clippy::missing_panics_doc, clippy::new_without_default)]

mod asymmetric;
mod owned;
mod symmetric;

pub use asymmetric::*;
pub use symmetric::*;

use aws_lc_sys as lc;

fn md(sha384: bool) -> *const lc::EVP_MD {
    // SAFETY: both functions return static tables.
    unsafe { if sha384 { lc::EVP_sha384() } else { lc::EVP_sha256() } }
}

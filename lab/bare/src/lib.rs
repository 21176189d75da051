//! Calls of AWS-LC without wrappers.
//!
//! `benches/wrappers.rs` compares the wrappers of `tercel-crypto` with these functions: the same
//! calls of AWS-LC in the same order, without length checks, error mapping or types. The floor
//! makes its calls through them.
//!
//! The functions assert their preconditions once, when a key or context is made, and give wrong
//! results rather than undefined behaviour if misused. The rules of safety are those of
//! `crates/crypto/src/backend/mod.rs`.

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

//! What the conformance runs share.
//!
//! | file | what |
//! |---|---|
//! | `process`, `folder`, `ports` | programs that cannot outlive their run, and where they work and listen |
//! | `pki` | certificates |

#![forbid(unsafe_code)]
#![cfg(unix)]

pub mod folder;
pub mod pki;
pub mod ports;
pub mod process;

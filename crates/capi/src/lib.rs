//! The C interface of Tercel: the functions of `tercel.h`.
//!
//! Like the Rust interface it has no I/O: the caller passes received bytes in, sends the bytes that
//! it gets, and answers questions. `include/tercel.h` documents the functions.
//!
//! # Structure
//!
//! | module | content |
//! |---|---|
//! | `status` | results of functions: their codes, classes and texts |
//! | `entry` | the common part of all functions: panics, pointers, handles |
//! | `input`, `output` | bytes from and for the peer |
//! | `roots`, `credential`, `tickets`, `psk` | shared parts of configurations |
//! | `callbacks`, `sessions` | objects that the core calls: key log, clock, a client's sessions |
//! | `config` | the builder of configurations |
//! | `fact` | the negotiated parameters |
//! | `connection`, `handshake`, `question` | the protocol |
//! | `version`, `fips` | the version of the library, the cryptographic module |
//!
//! # Safety
//!
//! The functions are unsafe, since Rust cannot check a caller in C. `tercel.h` begins with the
//! rules for callers. With a NULL pointer, a zero length, an unknown number, a handle in the wrong
//! state or a handle that another thread is using, a function does nothing and returns a status of
//! the class `TERCEL_CLASS_MISUSE`. Three things remain the duty of the caller:
//!
//! - A handle is one that this library returned, of the parameter's type, and not freed.
//! - A pointer with a length refers to as many bytes or elements, which nothing else writes during
//!   the call, and, for an output, nothing else reads.
//! - A pointer for a result refers to a variable of its type.
//!
//! "The caller's duty" in a SAFETY line refers to these three.

// Each function would repeat the section above, and so would the header.
#![allow(clippy::missing_safety_doc)]

#[macro_use]
pub mod entry;

pub mod callbacks;
pub mod config;
pub mod connection;
pub mod credential;
pub mod fact;
pub mod fips;
pub mod handshake;
pub mod input;
pub mod output;
#[cfg(test)]
#[path = "../../pki/tests/pem_cases/mod.rs"]
mod pem_cases;
pub mod psk;
pub mod question;
pub mod roots;
mod sessions;
pub mod status;
pub mod tickets;
pub mod version;

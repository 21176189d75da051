//! The built program, run as users run it: `tercel serve`, `tercel connect`, `tercel load` and
//! `tercel proxy` on loopback.
//!
//! Everything has a time limit. [`support`] starts the program; there is one file per topic.

mod client_auth;
mod echo;
mod files;
mod http2;
mod limits;
mod load;
mod negotiation;
mod ocsp;
mod pre_shared_keys;
#[cfg(unix)]
mod proxy;
mod raw_keys;
mod refusals;
mod sessions;
mod support;

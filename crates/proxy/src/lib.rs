//! A TLS terminator.

#![forbid(unsafe_code)]
#![cfg(unix)]

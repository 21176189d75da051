//! The terminator from outside: clients over TLS on one side of it, plain backends on the other, all on loopback.
//!
//! Next: [`support`] for both, then a file per matter.

#![cfg(unix)]

mod closing;
mod configuration;
mod drain;
mod limits;
mod proxy_protocol;
mod relay;
mod reload;
mod routes;
mod sharing;
mod support;

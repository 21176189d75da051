//! Integration tests of the terminator: TLS clients on one side, plaintext backends on the other,
//! all on loopback.

#![cfg(unix)]

mod closing;
mod configuration;
mod drain;
mod ech;
mod ech_fleet;
mod ech_hostile;
mod limits;
mod passthrough;
mod proxy_protocol;
mod relay;
mod reload;
mod routes;
mod support;
mod ticket_key_file;

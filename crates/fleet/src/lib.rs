//! Resumption across a fleet of servers.

#![forbid(unsafe_code)]

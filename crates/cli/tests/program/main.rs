//! The built program, run as users run it: `tercel serve`, `tercel connect`, `tercel load`,
//! `tercel scan` and `tercel proxy` on loopback.
//!
//! Everything has a time limit. [`support`] starts the program; there is one file per topic.

mod client_auth;
mod colours;
mod ech;
#[cfg(feature = "dns")]
mod ech_dns;
mod echo;
mod features;
mod files;
mod generated;
mod http2;
#[cfg(feature = "http3")]
mod http3;
mod limits;
mod load;
mod negotiation;
mod ocsp;
mod pre_shared_keys;
#[cfg(unix)]
mod proxy;
mod raw_keys;
mod refusals;
mod reports;
mod requests;
mod scan;
mod scan_hostile;
mod scan_interrupted;
mod scan_openssl;
mod server_addresses;
mod sessions;
mod starttls;
mod support;
mod wrong_input;

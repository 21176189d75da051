//! Code that the conformance programs share.
//!
//! | modules | content |
//! |---|---|
//! | `program`, `process`, `children` | finding and starting programs, which end with the run |
//! | `folder`, `ports`, `resources` | temporary folders, free ports, resource usage |
//! | `pki` | certificates |
//! | `store` | Redis or Valkey, with its failures |
//! | `proxy`, `metrics` | `tercel proxy` and its metrics |
//! | `backend`, `http`, `clients` | backends of the proxy, and its well-behaved clients |
//! | `table` | tables of results |

#![forbid(unsafe_code)]
#![cfg(unix)]

pub mod backend;
pub mod children;
pub mod clients;
pub mod folder;
pub mod http;
pub mod metrics;
pub mod pki;
pub mod ports;
pub mod process;
pub mod program;
pub mod proxy;
pub mod resources;
pub mod store;
pub mod table;

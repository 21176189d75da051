//! What the conformance runs share.
//!
//! | file | what |
//! |---|---|
//! | `program`, `process`, `children` | programs, found and started, that cannot outlive their run |
//! | `folder`, `ports`, `vitals` | where they work and listen, what they use |
//! | `pki` | certificates |
//! | `store` | Redis or Valkey, and what may befall it |
//! | `proxy`, `metrics` | `tercel proxy`, and what it says of itself |
//! | `backend`, `http`, `good` | what stands behind it, and good clients before it |
//! | `table` | how a run ends |

#![forbid(unsafe_code)]
#![cfg(unix)]

pub mod backend;
pub mod children;
pub mod folder;
pub mod good;
pub mod http;
pub mod metrics;
pub mod pki;
pub mod ports;
pub mod process;
pub mod program;
pub mod proxy;
pub mod store;
pub mod table;
pub mod vitals;

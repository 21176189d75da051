//! Library for workers of the lab.
//!
//! | topic | see |
//! |---|---|
//! | definitions of rows | [`Row`], [`rows::all`] |
//! | adding a library | [`Library`], [`Endpoint`], [`serve`], [`LibraryWorker`] |
//! | adding another kind of worker | [`Worker`], [`PreparedTask`] |
//! | the protocol, for other languages | [`protocol`], lab/README.md |
//! | checks of each handshake | `check.rs` |
//! | which steps are timed | `accounting.rs` |
//! | jobs of `lab openssl` | [`series`] |
//! | timing loops | `handshake.rs`, `bulk.rs`, `threads.rs`, `memory.rs`, `loading.rs` |
//! | clock and spans | `meter.rs` |
//! | memory placement | `placement.rs` |
//! | instruction counts | `spans.rs` |

mod accounting;
mod allocations;
mod bulk;
mod check;
mod distribution;
mod files;
mod handshake;
mod library;
mod library_worker;
mod loading;
mod memory;
mod meter;
mod placement;
pub mod protocol;
pub mod random;
mod registry;
pub mod row;
pub mod rows;
mod send_buffer;
pub mod series;
mod set_up;
mod spans;
mod step_timer;
mod threads;
mod transport_buffers;
mod version;
mod worker;

pub use accounting::{Accounting, Program};
pub use distribution::Distribution;
pub use files::Files;
pub use library::{Endpoint, Library, Outcome, PrepareError, Result, Sink};
pub use library_worker::LibraryWorker;
pub use loading::{Key, LoadedObject, Material};
pub use meter::{Meter, untimed};
pub use protocol::{About, Measurement};
pub use row::{
    Chain, Ech, Group, Load, Resumption, Row, Scheme, Suite, Task, Transport, Unit, Version,
};
pub use send_buffer::{SendBuffer, piece_size};
pub use spans::Span;
pub use threads::{ThreadSetup, Threads, combined_time, run_threads};
pub use transport_buffers::TransportBuffers;
pub use version::locked_version;
pub use worker::{PreparedTask, Worker, serve};

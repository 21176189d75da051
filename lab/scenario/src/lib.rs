//! What a worker of the lab needs besides the library it measures.
//!
//! | to do this | look at |
//! |---|---|
//! | know what is asked | [`Row`], and [`rows::all`], the table of all rows |
//! | add a library | implement [`Library`] and [`Endpoint`], call [`serve`] with [`Driven`] |
//! | add a worker of another kind | implement [`Worker`] and [`Prepared`] |
//! | speak the protocol in another language | [`protocol`], and lab/README.md |
//! | see what a handshake is held to | `check.rs` |
//! | see which spans count, and for whom | `accounting.rs` |
//! | know what the series of OpenSSL is asked | [`series`] |
//! | see how a row is timed | `handshake.rs`, `bulk.rs`, `meter.rs`; `threads.rs`, `memory.rs`, `loading.rs` |
//! | know where a worker's memory lies | `placement.rs` |
//! | see how its instructions are counted | `spans.rs` |
//!
//! Must not know: any TLS library, and how figures are compared.

mod accounting;
mod allocations;
mod bulk;
mod check;
mod distribution;
mod driven;
mod files;
mod handshake;
mod ledger;
mod library;
mod loading;
mod memory;
mod meter;
mod placement;
pub mod protocol;
pub mod random;
mod registry;
pub mod row;
pub mod rows;
pub mod series;
mod set_up;
mod spans;
mod threads;
mod version;
mod wire;
mod worker;

pub use accounting::{Accounting, Program};
pub use distribution::Distribution;
pub use driven::Driven;
pub use files::Files;
pub use library::{Endpoint, Library, Outcome, Result, Sink, Unable};
pub use loading::{Key, Loaded, Material};
pub use meter::{Meter, untimed};
pub use protocol::{About, Measurement};
pub use row::{Chain, Group, Load, Resumption, Row, Scheme, Suite, Task, Unit, Version};
pub use spans::Span;
pub use threads::{Strand, Threads, at_once, together};
pub use version::locked_version;
pub use wire::Wire;
pub use worker::{Prepared, Worker, serve};

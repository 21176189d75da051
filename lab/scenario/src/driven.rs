//! A worker around a [`Library`]: which task is done by which loop.
//!
//! Must not know: how a loop times. Next: `handshake.rs`, `bulk.rs`, `threads.rs`, `memory.rs`, `loading.rs`.

use std::marker::PhantomData;
use std::sync::Arc;

use crate::accounting::Accounting;
use crate::allocations::Allocations;
use crate::bulk::Bulk;
use crate::files::Files;
use crate::handshake::Handshakes;
use crate::library::{Library, Result, Unable};
use crate::loading::Loading;
use crate::memory::Memory;
use crate::protocol::{About, NO_PROGRAM, VERSION};
use crate::row::{Row, Task};
use crate::set_up::SetUps;
use crate::threads::Threads;
use crate::worker::{Prepared, Worker};

/// A [`Worker`] that drives a [`Library`] through every row.
pub struct Driven<L>(PhantomData<L>);

impl<L> Driven<L> {
    /// A worker for this library.
    #[must_use]
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

impl<L> Default for Driven<L> {
    fn default() -> Self {
        Self::new()
    }
}

impl<L> Worker for Driven<L>
where
    L: Library + 'static,
{
    fn about(&self) -> About {
        About { protocol: VERSION, program: L::PROGRAM, repeats: true, ..L::about() }
    }

    fn prepare(
        &mut self,
        row: &Row,
        files: &Files,
    ) -> std::result::Result<Box<dyn Prepared>, Unable> {
        if row.accounting == Accounting::Published && L::PROGRAM.is_none() {
            return Err(Unable::cannot(NO_PROGRAM));
        }
        let library = Arc::new(L::configure(row, files)?);
        let prepared: Box<dyn Prepared> = match row.task {
            Task::Handshake => Box::new(Handshakes::new(library, row).map_err(Unable::Failed)?),
            Task::SetUp => Box::new(SetUps::new(library, row).map_err(Unable::Failed)?),
            Task::Bulk => Box::new(Bulk::new(library, row).map_err(Unable::Failed)?),
            Task::Threads | Task::Latency => {
                let of_thread = row.clone();
                let strand = move || -> Result<Box<dyn Prepared>> {
                    Ok(Box::new(Handshakes::new(Arc::clone(&library), &of_thread)?))
                };
                Box::new(Threads::new(row, Box::new(strand)).map_err(Unable::Failed)?)
            }
            Task::Instructions => return Err(Unable::cannot("it is asked for as what is counted")),
            Task::Memory => {
                let counter = Allocations::open()?;
                Box::new(Memory::new(library, row, counter).map_err(Unable::Failed)?)
            }
            Task::Loading => Box::new(Loading::new(library, row, files)?),
        };
        Ok(prepared)
    }
}

//! A worker for a [`Library`], with a loop for each task.

use std::marker::PhantomData;
use std::sync::Arc;

use crate::accounting::Accounting;
use crate::allocations::Allocations;
use crate::bulk::Bulk;
use crate::files::Files;
use crate::handshake::Handshakes;
use crate::library::{Library, PrepareError, Result};
use crate::loading::Loading;
use crate::memory::Memory;
use crate::protocol::{About, NO_PROGRAM, VERSION};
use crate::row::{Row, Task};
use crate::set_up::SetUps;
use crate::threads::Threads;
use crate::worker::{PreparedTask, Worker};

/// A [`Worker`] that benchmarks a [`Library`].
pub struct LibraryWorker<L>(PhantomData<L>);

impl<L> LibraryWorker<L> {
    /// A worker for this library.
    #[must_use]
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

impl<L> Default for LibraryWorker<L> {
    fn default() -> Self {
        Self::new()
    }
}

impl<L> Worker for LibraryWorker<L>
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
    ) -> std::result::Result<Box<dyn PreparedTask>, PrepareError> {
        if row.accounting == Accounting::Published && L::PROGRAM.is_none() {
            return Err(PrepareError::unsupported(NO_PROGRAM));
        }
        if row.transport != L::TRANSPORT {
            return Err(PrepareError::unsupported("the worker does not support this transport"));
        }
        if !row.ech.is_none() && !L::ECH {
            return Err(PrepareError::unsupported("no Encrypted ClientHello on both sides"));
        }
        let library = Arc::new(L::configure(row, files)?);
        let prepared: Box<dyn PreparedTask> = match row.task {
            Task::Handshake => {
                Box::new(Handshakes::new(library, row).map_err(PrepareError::Failed)?)
            }
            Task::SetUp => Box::new(SetUps::new(library, row).map_err(PrepareError::Failed)?),
            Task::Bulk => Box::new(Bulk::new(library, row).map_err(PrepareError::Failed)?),
            Task::Threads | Task::Latency => {
                let of_thread = row.clone();
                let thread_setup = move || -> Result<Box<dyn PreparedTask>> {
                    Ok(Box::new(Handshakes::new(Arc::clone(&library), &of_thread)?))
                };
                Box::new(Threads::new(row, Box::new(thread_setup)).map_err(PrepareError::Failed)?)
            }
            Task::Instructions => {
                return Err(PrepareError::unsupported(
                    "instruction rows are requested as repetitions",
                ));
            }
            Task::Memory => {
                let counter = Allocations::open()?;
                Box::new(Memory::new(library, row, counter).map_err(PrepareError::Failed)?)
            }
            Task::Loading => Box::new(Loading::new(library, row, files)?),
        };
        Ok(prepared)
    }
}

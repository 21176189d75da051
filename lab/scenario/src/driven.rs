//! A worker around a [`Library`]: which task is done by which loop.
//!
//! Must not know: how a loop times. Next: `handshake.rs`, `bulk.rs`.

use std::marker::PhantomData;

use crate::bulk::Bulk;
use crate::files::Files;
use crate::handshake::{Handshakes, SetUps};
use crate::library::{Library, Unable};
use crate::protocol::{About, VERSION};
use crate::row::{Row, Task};
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
        About { protocol: VERSION, ..L::about() }
    }

    fn prepare(&mut self, row: &Row, files: &Files) -> Result<Box<dyn Prepared>, Unable> {
        let library = L::configure(row, files)?;
        let prepared: Box<dyn Prepared> = match row.task {
            Task::Handshake => Box::new(Handshakes::new(library, row).map_err(Unable::Failed)?),
            Task::SetUp => Box::new(SetUps::new(library, row).map_err(Unable::Failed)?),
            Task::Bulk => Box::new(Bulk::new(library, row).map_err(Unable::Failed)?),
        };
        Ok(prepared)
    }
}

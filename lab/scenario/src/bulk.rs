//! Bulk data from server to client over one connection.
//!
//! The timed work is the encryption of a batch of writes into an existing buffer, and the
//! decryption of received data, whose plaintext may stay where the library puts it. Transport is
//! not timed. Published accounting differs; see `accounting.rs`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::accounting::{Part, Step};
use crate::handshake::{ConnectionPair, rules};
use crate::library::{Endpoint, Library, PrepareError, Result};
use crate::protocol::Measurement;
use crate::row::Row;
use crate::step_timer::StepTimer;
use crate::worker::PreparedTask;

/// The size of a batch of small writes in bytes. A single write would take less time than reading
/// the clock.
const BATCH: usize = 256 << 10;

/// The maximum number of writes in a batch.
const MAX_WRITES: usize = 1024;

/// An upper bound of the bytes that a record adds to its content.
const RECORD_OVERHEAD: usize = 64;

/// A connection that transfers data.
pub(crate) struct Bulk<L: Library> {
    pair: ConnectionPair<L>,
    client: L::Client,
    server: L::Server,
    timer: StepTimer,
    data: Vec<u8>,
    writes: usize,
    wire: Vec<u8>,
    done: BTreeMap<String, String>,
}

impl<L: Library> Bulk<L> {
    pub(crate) fn new(library: Arc<L>, row: &Row) -> Result<Self> {
        let size = row.write_size;
        if size == 0 {
            return Err("the write size is zero".into());
        }
        let writes = (BATCH / size).clamp(1, MAX_WRITES);
        let records = writes * size.div_ceil(16 << 10);
        let capacity = writes * size + records * RECORD_OVERHEAD;
        let mut pair = ConnectionPair::new(library, row, capacity);
        let (client, server) = pair.connect(false)?;
        let done = [
            ("version", client.outcome()?.version.to_string()),
            ("suite", client.outcome()?.suite.to_string()),
            ("writes timed at once", writes.to_string()),
        ];
        let mut bulk = Self {
            pair,
            client,
            server,
            timer: StepTimer::new(rules::<L>(row)),
            data: rules::<L>(row).plaintext(size),
            writes,
            wire: Vec::with_capacity(capacity),
            done: done.map(|(name, value)| (name.to_owned(), value)).into(),
        };
        bulk.compare()?;
        for _ in 0..3 {
            bulk.transfer()?;
        }
        Ok(bulk)
    }

    /// Transfers one batch and compares its content.
    fn compare(&mut self) -> Result<()> {
        let mut arrived = Vec::new();
        self.batch(&mut |bytes| arrived.extend_from_slice(bytes))?;
        if arrived != self.data.repeat(self.writes) {
            return Err("received data differs from sent data".into());
        }
        Ok(())
    }

    /// Transfers one batch and times it.
    fn transfer(&mut self) -> Result<()> {
        let mut arrived = 0;
        self.batch(&mut |bytes| arrived += bytes.len())?;
        if arrived != self.data.len() * self.writes {
            return Err(format!("received {arrived} bytes").into());
        }
        Ok(())
    }

    fn batch(&mut self, sink: &mut dyn FnMut(&[u8])) -> Result<()> {
        let (client, server, data, writes) =
            (&mut self.client, &mut self.server, &self.data, self.writes);
        let (from, to) = (&mut self.pair.server_buffers, &mut self.pair.client_buffers);
        let (timer, wire) = (&mut self.timer, &mut self.wire);
        timer.begin();
        timer.step(Step::Send, || (0..writes).try_for_each(|_| server.send(from, data)))?;
        loop {
            wire.clear();
            timer.step(Step::Drain, || server.collect(from, wire))?;
            if wire.is_empty() {
                return Ok(());
            }
            let mut rest = wire.as_slice();
            while !rest.is_empty() {
                timer.begin();
                let taken = timer.step(Step::Fill, || client.deliver(to, rest))?;
                if taken == 0 {
                    return Err("the receiver does not accept more data".into());
                }
                rest = rest.get(taken..).unwrap_or_default();
                timer.step(Step::Receive, || client.receive(to, &mut *sink))?;
                timer.close();
            }
        }
    }
}

impl<L: Library> PreparedTask for Bulk<L> {
    fn measure(&mut self, budget: Duration) -> Result<Measurement> {
        self.timer.reset();
        let (start, mut batches) = (Instant::now(), 0);
        while batches == 0 || start.elapsed() < budget {
            self.transfer()?;
            batches += 1;
        }
        let repetitions = batches * self.writes as u64;
        let sides = [
            ("send".to_owned(), self.timer.nanoseconds(Part::Send, repetitions)),
            ("receive".to_owned(), self.timer.nanoseconds(Part::Receive, repetitions)),
        ];
        Ok(Measurement {
            repetitions,
            sides: sides.into(),
            done: self.done.clone(),
            ..Measurement::default()
        })
    }

    fn repeat(&mut self, count: u64) -> std::result::Result<Measurement, PrepareError> {
        (0..count).try_for_each(|_| self.transfer()).map_err(PrepareError::Failed)?;
        let repetitions = count * self.writes as u64;
        Ok(Measurement { repetitions, done: self.done.clone(), ..Measurement::default() })
    }
}

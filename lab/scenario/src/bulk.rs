//! Application data from server to client over one connection.
//!
//! Timed are the sealing of a batch of writes into a buffer that exists already, and the opening of what
//! arrived; plaintext is handed over where the library leaves it. Bytes move between the two untimed.
//! Published accounting counts otherwise, by the rules in `accounting.rs`.
//! Must not know: libraries. Next: [`crate::Endpoint`].

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::accounting::{Part, Step};
use crate::handshake::{Pair, rules};
use crate::ledger::Ledger;
use crate::library::{Endpoint, Library, Result, Unable};
use crate::protocol::Measurement;
use crate::row::Row;
use crate::worker::Prepared;

/// Small writes are timed by the batch of about so many bytes, or reading the clock would be most of it.
const BATCH: usize = 256 << 10;

/// The most writes in a batch.
const MAX_WRITES: usize = 1024;

/// What one record adds to its content at most, and a bit.
const RECORD_OVERHEAD: usize = 64;

/// One connection that carries data.
pub(crate) struct Bulk<L: Library> {
    pair: Pair<L>,
    client: L::Client,
    server: L::Server,
    ledger: Ledger,
    data: Vec<u8>,
    writes: usize,
    wire: Vec<u8>,
    done: BTreeMap<String, String>,
}

impl<L: Library> Bulk<L> {
    pub(crate) fn new(library: Arc<L>, row: &Row) -> Result<Self> {
        let size = row.write_size;
        if size == 0 {
            return Err("a write of no bytes".into());
        }
        let writes = (BATCH / size).clamp(1, MAX_WRITES);
        let records = writes * size.div_ceil(16 << 10);
        let at_once = writes * size + records * RECORD_OVERHEAD;
        let mut pair = Pair::new(library, row, at_once);
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
            ledger: Ledger::new(rules::<L>(row)),
            data: rules::<L>(row).plaintext(size),
            writes,
            wire: Vec::with_capacity(at_once),
            done: done.map(|(name, value)| (name.to_owned(), value)).into(),
        };
        bulk.compare()?;
        for _ in 0..3 {
            bulk.transfer()?;
        }
        Ok(bulk)
    }

    /// One batch whose content is looked at.
    fn compare(&mut self) -> Result<()> {
        let mut arrived = Vec::new();
        self.batch(&mut |bytes| arrived.extend_from_slice(bytes))?;
        if arrived != self.data.repeat(self.writes) {
            return Err("what arrived is not what was sent".into());
        }
        Ok(())
    }

    /// One batch, counted.
    fn transfer(&mut self) -> Result<()> {
        let mut arrived = 0;
        self.batch(&mut |bytes| arrived += bytes.len())?;
        if arrived != self.data.len() * self.writes {
            return Err(format!("{arrived} bytes arrived").into());
        }
        Ok(())
    }

    fn batch(&mut self, sink: &mut dyn FnMut(&[u8])) -> Result<()> {
        let (client, server, data, writes) =
            (&mut self.client, &mut self.server, &self.data, self.writes);
        let (from, to) = (&mut self.pair.server_buffers, &mut self.pair.client_buffers);
        let (ledger, wire) = (&mut self.ledger, &mut self.wire);
        ledger.begin();
        ledger.step(Step::Send, || (0..writes).try_for_each(|_| server.send(from, data)))?;
        loop {
            wire.clear();
            ledger.step(Step::Drain, || server.collect(from, wire))?;
            if wire.is_empty() {
                return Ok(());
            }
            let mut rest = wire.as_slice();
            while !rest.is_empty() {
                ledger.begin();
                let taken = ledger.step(Step::Fill, || client.deliver(to, rest))?;
                if taken == 0 {
                    return Err("the receiver takes no more".into());
                }
                rest = rest.get(taken..).unwrap_or_default();
                ledger.step(Step::Receive, || client.receive(to, &mut *sink))?;
                ledger.close();
            }
        }
    }
}

impl<L: Library> Prepared for Bulk<L> {
    fn measure(&mut self, budget: Duration) -> Result<Measurement> {
        self.ledger.reset();
        let (start, mut batches) = (Instant::now(), 0);
        while batches == 0 || start.elapsed() < budget {
            self.transfer()?;
            batches += 1;
        }
        let repetitions = batches * self.writes as u64;
        let sides = [
            ("send".to_owned(), self.ledger.nanoseconds(Part::Send, repetitions)),
            ("receive".to_owned(), self.ledger.nanoseconds(Part::Receive, repetitions)),
        ];
        Ok(Measurement {
            repetitions,
            sides: sides.into(),
            done: self.done.clone(),
            ..Measurement::default()
        })
    }

    fn repeat(&mut self, count: u64) -> std::result::Result<Measurement, Unable> {
        (0..count).try_for_each(|_| self.transfer()).map_err(Unable::Failed)?;
        let repetitions = count * self.writes as u64;
        Ok(Measurement { repetitions, done: self.done.clone(), ..Measurement::default() })
    }
}

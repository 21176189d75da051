//! Connections made ready and dropped without a byte on the wire.
//!
//! One takes some 100 ns, which a clock that takes 20 ns cannot tell well: they are timed by the hundred, each
//! dropped before the next is made. So creation and drop are one figure.
//! Must not know: libraries. Next: [`Library::client`].

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::handshake::Handshakes;
use crate::library::{Library, Result, Unable};
use crate::meter::Meter;
use crate::protocol::Measurement;
use crate::row::Row;
use crate::spans::Span;
use crate::worker::Prepared;

/// Connections that are timed in one span.
const BATCH: u64 = 100;

const CLIENT: usize = 0;
const SERVER: usize = 1;

/// A row of set-up.
pub(crate) struct SetUps<L> {
    library: Arc<L>,
    meter: Meter<2>,
    done: BTreeMap<String, String>,
}

impl<L: Library> SetUps<L> {
    pub(crate) fn new(library: Arc<L>, row: &Row) -> Result<Self> {
        // That these connections would work is part of what the row says.
        let (_, mut done) = Handshakes::new(Arc::clone(&library), row)?.into_parts();
        done.insert("connections timed at once".to_owned(), BATCH.to_string());
        let mut set_ups =
            Self { library, meter: Meter::new().counted_as([Span::Client, Span::Server]), done };
        set_ups.batch()?;
        Ok(set_ups)
    }

    fn batch(&mut self) -> Result<()> {
        let library = &self.library;
        // A connection that nobody looks at could be left out by the compiler.
        let client = || library.client().map(|end| _ = black_box(&end));
        self.meter.time::<CLIENT, _>(|| (0..BATCH).try_for_each(|_| client()))?;
        let server = || library.server().map(|end| _ = black_box(&end));
        self.meter.time::<SERVER, _>(|| (0..BATCH).try_for_each(|_| server()))
    }
}

impl<L: Library> Prepared for SetUps<L> {
    fn measure(&mut self, budget: Duration) -> Result<Measurement> {
        self.meter.reset();
        let (start, mut repetitions) = (Instant::now(), 0);
        while repetitions == 0 || start.elapsed() < budget {
            self.batch()?;
            repetitions += BATCH;
        }
        let sides = [
            ("client".to_owned(), self.meter.nanoseconds(CLIENT, repetitions)),
            ("server".to_owned(), self.meter.nanoseconds(SERVER, repetitions)),
        ];
        let done = self.done.clone();
        Ok(Measurement { repetitions, sides: sides.into(), done, ..Measurement::default() })
    }

    fn repeat(&mut self, count: u64) -> std::result::Result<Measurement, Unable> {
        (0..count).try_for_each(|_| self.batch()).map_err(Unable::Failed)?;
        let (repetitions, done) = (count * BATCH, self.done.clone());
        Ok(Measurement { repetitions, done, ..Measurement::default() })
    }
}

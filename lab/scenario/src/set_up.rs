//! Creation and drop of connections that are not used.
//!
//! Creation and drop take about 100 ns, too short for a clock that takes 20 ns to read. So
//! connections are timed in batches. Each connection is dropped before the next is created, and
//! creation and drop are one value.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::handshake::Handshakes;
use crate::library::{Library, PrepareError, Result};
use crate::meter::Meter;
use crate::protocol::Measurement;
use crate::row::Row;
use crate::spans::Span;
use crate::worker::PreparedTask;

/// Connections in one timed span.
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
        // The warm-up also checks that these connections work.
        let (_, mut done) = Handshakes::new(Arc::clone(&library), row)?.into_parts();
        done.insert("connections timed at once".to_owned(), BATCH.to_string());
        let mut set_ups =
            Self { library, meter: Meter::new().with_spans([Span::Client, Span::Server]), done };
        set_ups.batch()?;
        Ok(set_ups)
    }

    fn batch(&mut self) -> Result<()> {
        let library = &self.library;
        // The compiler could remove connections that are not observed.
        let client = || library.client().map(|end| _ = black_box(&end));
        self.meter.time::<CLIENT, _>(|| (0..BATCH).try_for_each(|_| client()))?;
        let server = || library.server().map(|end| _ = black_box(&end));
        self.meter.time::<SERVER, _>(|| (0..BATCH).try_for_each(|_| server()))
    }
}

impl<L: Library> PreparedTask for SetUps<L> {
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

    fn repeat(&mut self, count: u64) -> std::result::Result<Measurement, PrepareError> {
        (0..count).try_for_each(|_| self.batch()).map_err(PrepareError::Failed)?;
        let (repetitions, done) = (count * BATCH, self.done.clone());
        Ok(Measurement { repetitions, done, ..Measurement::default() })
    }
}

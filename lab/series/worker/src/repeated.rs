//! A short operation, over and over.
//!
//! Must not know: OpenSSL. Next: `blocks.rs`, `keys.rs`.

use std::time::{Duration, Instant};

use lab_scenario::{Measurement, Prepared, Result};

/// Whether it went well.
pub(crate) type Operation = Box<dyn FnMut() -> Result<()>>;

/// Operations, each measured by itself, one after the other.
struct Repeated(Vec<(&'static str, Operation)>);

/// Does each of these once, to see that it can be done.
pub(crate) fn repeated(mut sides: Vec<(&'static str, Operation)>) -> Result<Box<dyn Prepared>> {
    sides.iter_mut().try_for_each(|(_, operation)| operation())?;
    Ok(Box::new(Repeated(sides)))
}

impl Prepared for Repeated {
    fn measure(&mut self, budget: Duration) -> Result<Measurement> {
        let mut measured = Measurement::default();
        let each = budget / u32::try_from(self.0.len())?;
        for (side, operation) in &mut self.0 {
            let (count, taken) = repeat(operation, each)?;
            measured.repetitions += count;
            measured.sides.insert((*side).to_owned(), nanoseconds(taken, count));
        }
        Ok(measured)
    }
}

/// For about so long, by batches between which the clock is read: reading it would outlast some operations.
fn repeat(operation: &mut Operation, budget: Duration) -> Result<(u64, Duration)> {
    let (mut count, mut batch) = (0, 1);
    let start = Instant::now();
    loop {
        for _ in 0..batch {
            operation()?;
        }
        count += batch;
        let taken = start.elapsed();
        if taken >= budget {
            return Ok((count, taken));
        }
        if taken < budget / 16 {
            batch *= 2;
        }
    }
}

#[allow(clippy::cast_precision_loss)]
fn nanoseconds(taken: Duration, count: u64) -> f64 {
    taken.as_nanos() as f64 / count as f64
}

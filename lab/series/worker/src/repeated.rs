//! Repetition of short operations.

use std::time::{Duration, Instant};

use lab_scenario::{Measurement, PreparedTask, Result};

/// A repeated operation.
pub(crate) type Operation = Box<dyn FnMut() -> Result<()>>;

/// Operations that are measured one after the other.
struct Repeated(Vec<(&'static str, Operation)>);

/// Runs each operation once to check that it is supported.
pub(crate) fn repeated(mut sides: Vec<(&'static str, Operation)>) -> Result<Box<dyn PreparedTask>> {
    sides.iter_mut().try_for_each(|(_, operation)| operation())?;
    Ok(Box::new(Repeated(sides)))
}

impl PreparedTask for Repeated {
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

/// Repeats the operation for about `budget`, in batches because reading the clock takes longer than
/// some operations.
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

//! The main loop of a worker.

use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use serde::de::DeserializeOwned;

use crate::distribution::Distribution;
use crate::files::Files;
use crate::library::{PrepareError, Result};
use crate::placement;
use crate::protocol::{About, Measurement, Reply, Request};
use crate::row::Row;
use crate::spans;

/// A worker.
pub trait Worker<R = Row> {
    /// The worker's description.
    fn about(&self) -> About;

    /// Prepares a row: configures, warms up, checks.
    ///
    /// # Errors
    /// [`PrepareError::Unsupported`] if the row is not supported.
    fn prepare(
        &mut self,
        row: &R,
        files: &Files,
    ) -> std::result::Result<Box<dyn PreparedTask>, PrepareError>;
}

/// A prepared row.
pub trait PreparedTask {
    /// Measures for about `budget`, at least one repetition. Called once per slice of a request.
    ///
    /// # Errors
    /// If the row fails or a handshake does not have the requested parameters.
    fn measure(&mut self, budget: Duration) -> Result<Measurement>;

    /// Runs the row `count` times, or `count` batches if it is measured in batches. Spans are
    /// counted in [`crate::Meter::time`] as usual. The result contains no times.
    ///
    /// # Errors
    /// [`PrepareError::Unsupported`] if the row is not repeated in one thread.
    fn repeat(&mut self, count: u64) -> std::result::Result<Measurement, PrepareError> {
        _ = count;
        Err(PrepareError::unsupported("the row cannot be repeated in one thread"))
    }

    /// The number of slices of a measurement. A short interruption of the process affects one or
    /// two slices, but not their median.
    fn slices(&self) -> u32 {
        8
    }
}

/// Serves requests from standard input until standard input ends.
#[must_use]
pub fn serve<R: DeserializeOwned>(mut worker: impl Worker<R>) -> ExitCode {
    let (input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());
    match answer_all(&mut worker, input, &mut output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn answer_all<R: DeserializeOwned>(
    worker: &mut dyn Worker<R>,
    input: impl BufRead,
    output: &mut impl Write,
) -> Result<()> {
    let mut prepared = None;
    for line in input.lines() {
        let request = serde_json::from_str(&line?)?;
        if matches!(request, Request::Quit) {
            break;
        }
        let reply = answer(worker, &mut prepared, request);
        serde_json::to_writer(&mut *output, &reply)?;
        output.write_all(b"\n")?;
        output.flush()?;
    }
    Ok(())
}

fn answer<R>(
    worker: &mut dyn Worker<R>,
    prepared: &mut Option<Box<dyn PreparedTask>>,
    request: Request<R>,
) -> Reply {
    match request {
        Request::Hello => Reply::About(worker.about()),
        Request::Prepare { row, files, placement } => {
            *prepared = None;
            placement.into_iter().for_each(placement::of_process);
            match worker.prepare(&row, &Files::new(Path::new(&files))) {
                Ok(ready) => {
                    *prepared = Some(ready);
                    Reply::Ready
                }
                Err(PrepareError::Unsupported(why)) => Reply::Cannot { why },
                Err(PrepareError::Failed(error)) => Reply::Failed { why: error.to_string() },
            }
        }
        Request::Measure { milliseconds } => match prepared {
            Some(row) => match measure(row.as_mut(), Duration::from_millis(milliseconds)) {
                Ok(measurement) => Reply::Measured(measurement),
                Err(error) => Reply::Failed { why: error.to_string() },
            },
            None => Reply::Failed { why: "no row is prepared".to_owned() },
        },
        Request::Repeat { count } => match prepared {
            Some(row) => match spans::repetitions(|| row.repeat(count)) {
                Ok(measurement) => Reply::Measured(measurement),
                Err(PrepareError::Unsupported(why)) => Reply::Cannot { why },
                Err(PrepareError::Failed(error)) => Reply::Failed { why: error.to_string() },
            },
            None => Reply::Failed { why: "no row is prepared".to_owned() },
        },
        Request::Quit => Reply::Failed { why: "quit is not answered".to_owned() },
    }
}

fn measure(row: &mut dyn PreparedTask, budget: Duration) -> Result<Measurement> {
    let count = row.slices();
    let slices: Result<Vec<_>> = (0..count).map(|_| row.measure(budget / count)).collect();
    let slices = slices?;
    let median_of = |times: &dyn Fn(&Measurement) -> &BTreeMap<String, f64>| {
        let names = slices.first().into_iter().flat_map(|slice| times(slice).keys());
        let median = |name: &String| {
            let mut values: Vec<_> =
                slices.iter().filter_map(|slice| times(slice).get(name).copied()).collect();
            values.sort_unstable_by(f64::total_cmp);
            let (below, above) = ((values.len() - 1) / 2, values.len() / 2);
            (name.clone(), f64::midpoint(values[below], values[above]))
        };
        names.map(median).collect::<BTreeMap<_, _>>()
    };
    let mut distributions = BTreeMap::<_, Distribution>::new();
    for (side, part) in slices.iter().flat_map(|slice| &slice.distributions) {
        distributions.entry(side.clone()).or_default().add(part);
    }
    Ok(Measurement {
        distributions,
        repetitions: slices.iter().map(|slice| slice.repetitions).sum(),
        sides: median_of(&|slice| &slice.sides),
        parts: median_of(&|slice| &slice.parts),
        done: slices.first().map(|slice| slice.done.clone()).unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows;

    struct Fixed(f64);

    impl Worker for Fixed {
        fn about(&self) -> About {
            About { library: "fixed".to_owned(), ..About::default() }
        }

        fn prepare(
            &mut self,
            row: &Row,
            _: &Files,
        ) -> std::result::Result<Box<dyn PreparedTask>, PrepareError> {
            match row.section.as_str() {
                "bulk" => Err(PrepareError::unsupported("no data")),
                _ => Ok(Box::new(Fixed(0.0))),
            }
        }
    }

    impl PreparedTask for Fixed {
        fn measure(&mut self, budget: Duration) -> Result<Measurement> {
            let repetitions = u64::try_from(budget.as_millis())?;
            self.0 += 1.0;
            // The third slice is an outlier.
            let time = if self.0 == 3.0 { 1e9 } else { self.0 };
            let sides = [("client".to_owned(), time)].into();
            Ok(Measurement { repetitions, sides, ..Measurement::default() })
        }

        fn repeat(&mut self, count: u64) -> std::result::Result<Measurement, PrepareError> {
            match count {
                0 => Err(PrepareError::unsupported("not once")),
                _ => Ok(Measurement { repetitions: count, ..Measurement::default() }),
            }
        }
    }

    fn talk(requests: &[Request]) -> Vec<Reply> {
        let lines: Vec<_> = requests.iter().map(|r| serde_json::to_string(r).unwrap()).collect();
        let mut output = Vec::new();
        answer_all(&mut Fixed(0.0), lines.join("\n").as_bytes(), &mut output).unwrap();
        let output = String::from_utf8(output).unwrap();
        output.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn prepare(section: &str) -> Request {
        let row = rows::all().into_iter().find(|row| row.section == section).unwrap();
        Request::Prepare { row: Box::new(row), files: "files".into(), placement: None }
    }

    #[test]
    fn each_request_has_its_reply() {
        let measure = Request::Measure { milliseconds: 80 };
        let replies =
            talk(&[Request::Hello, prepare("full"), measure, Request::Quit, Request::Hello]);
        let [Reply::About(about), Reply::Ready, Reply::Measured(measured)] = &replies[..] else {
            panic!("{replies:?}");
        };
        assert_eq!(about.library, "fixed");
        assert_eq!(measured.repetitions, 80);
        // The expected value is the median of 1, 2, 4, 5, 6, 7, 8 and the outlier.
        assert_eq!(measured.sides["client"], 5.5);
    }

    #[test]
    fn a_row_is_repeated_as_often_as_asked() {
        let repeat = |count| Request::Repeat { count };
        let replies = talk(&[repeat(3), prepare("full"), repeat(3), repeat(0)]);
        let [Reply::Failed { .. }, Reply::Ready, Reply::Measured(done), Reply::Cannot { .. }] =
            &replies[..]
        else {
            panic!("{replies:?}");
        };
        assert_eq!(*done, Measurement { repetitions: 3, ..Measurement::default() });
    }

    #[test]
    fn nothing_is_measured_that_is_not_prepared() {
        let measure = || Request::Measure { milliseconds: 7 };
        let replies =
            talk(&[measure(), prepare("full"), prepare("bulk"), measure(), prepare("full")]);
        let [
            Reply::Failed { .. },
            Reply::Ready,
            Reply::Cannot { why },
            Reply::Failed { .. },
            Reply::Ready,
        ] = &replies[..]
        else {
            panic!("{replies:?}");
        };
        assert_eq!(why, "no data");
    }
}

//! The floor: a worker that executes the cryptographic calls of each row in a bare loop, on AWS-LC.
//!
//! The floor builds and parses no messages, allocates nothing except in AWS-LC, checks nothing, and
//! wipes no secrets. A peer at 1.2 times the floor spends a sixth of its time on such work.
//!
//! See `calls.rs` or `lab list --floor ROW` for the calls, `operands.rs` for their operands, and
//! `check.rs` for the check that the loop takes as long as its calls.

#![forbid(unsafe_code)]

mod bulk;
mod calls;
mod check;
mod operands;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use lab_scenario::{
    About, Distribution, Files, Measurement, Meter, PrepareError, PreparedTask, Result, Row, Span,
    Task, Threads, Worker, locked_version, protocol, rows, serve,
};

use calls::{Call, Calls};
use operands::Operands;
use tercel_crypto::{Kernel, use_kernel};

fn main() -> ExitCode {
    // The floor calls AWS-LC only, one call after the other.
    tercel_crypto::use_hash_lanes(false);
    Kernel::ALL.iter().for_each(|kernel| use_kernel(*kernel, false));
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let result = match arguments.as_slice() {
        [] => return serve(Floor),
        ["--calls", row] => row_of(row).and_then(|row| check::print_calls(&row)),
        ["--check", "all", files] => check::check_all(&rows::all(), files),
        ["--check", row, files] => row_of(row).and_then(|row| check::check_one(&row, files)),
        _ => Err("usage: lab-worker-floor [--calls ROW | --check ROW|all FILES]".into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn row_of(id: &str) -> Result<Row> {
    let row = rows::all().into_iter().find(|row| row.id == id);
    row.map(|row| row.counted()).ok_or_else(|| format!("unknown row {id:?}").into())
}

struct Floor;

impl Worker for Floor {
    fn about(&self) -> About {
        let lock = include_str!("../../../Cargo.lock");
        About {
            protocol: protocol::VERSION,
            library: "floor".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            crypto: format!("AWS-LC (aws-lc-sys {})", locked_version(lock, "aws-lc-sys")),
            interface: "one-shot calls, HMAC states kept".to_owned(),
            build: "release, thin LTO, one codegen unit".to_owned(),
            repeats: true,
            program: None,
        }
    }

    fn prepare(
        &mut self,
        row: &Row,
        files: &Files,
    ) -> std::result::Result<Box<dyn PreparedTask>, PrepareError> {
        if let Some(why) = check::has_none(row) {
            return Err(PrepareError::unsupported(why));
        }
        match row.task {
            Task::SetUp => Err(PrepareError::unsupported("set-up has no cryptographic calls")),
            Task::Bulk => Ok(Box::new(bulk::Bulk::new(row))),
            Task::Threads | Task::Latency => {
                let (own, files) = (row.clone(), files.clone());
                let thread_setup = move || -> Result<Box<dyn PreparedTask>> {
                    let mut prepared = Handshakes::new(&own, &files)?;
                    prepared.measure(WARM_UP)?;
                    Ok(Box::new(prepared))
                };
                Ok(Box::new(
                    Threads::new(row, Box::new(thread_setup)).map_err(PrepareError::Failed)?,
                ))
            }
            Task::Instructions => {
                Err(PrepareError::unsupported("instruction rows are requested as repetitions"))
            }
            Task::Memory => Err(PrepareError::unsupported("the floor has no memory use")),
            Task::Loading => Err(PrepareError::unsupported("the floor does not load objects")),
            Task::Handshake => {
                let mut row = Handshakes::new(row, files).map_err(PrepareError::Failed)?;
                row.measure(WARM_UP).map_err(PrepareError::Failed)?;
                Ok(Box::new(row))
            }
        }
    }
}

/// The duration of the warm-up.
const WARM_UP: Duration = Duration::from_millis(20);

/// The prepared calls of both sides.
struct Handshakes {
    client: Vec<Call>,
    server: Vec<Call>,
    operands: Operands,
    meter: Meter<2>,
    /// Whether each repetition is recorded in addition to the mean.
    one_by_one: bool,
}

impl Handshakes {
    fn new(row: &Row, files: &Files) -> Result<Self> {
        let mut operands = Operands::new(row, files)?;
        let Calls { client, server } = calls::of(row, operands.sizes());
        operands.settle(&[client.as_slice(), server.as_slice()].concat());
        let one_by_one = row.task == Task::Latency;
        let meter = Meter::new().with_spans([Span::Client, Span::Server]);
        Ok(Self { client, server, operands, meter, one_by_one })
    }

    /// The nanoseconds of client and server per repetition.
    fn spent(&self, repetitions: u64) -> [f64; 2] {
        [0, 1].map(|side| self.meter.nanoseconds(side, repetitions))
    }

    fn both_sides(&mut self) {
        let Self { client, server, operands, meter, .. } = self;
        meter.time::<0, _>(|| client.iter().for_each(|call| operands.perform(*call)));
        meter.time::<1, _>(|| server.iter().for_each(|call| operands.perform(*call)));
    }
}

impl PreparedTask for Handshakes {
    fn measure(&mut self, budget: Duration) -> Result<Measurement> {
        let mut distributions = [Distribution::default(), Distribution::default()];
        self.meter.reset();
        let (start, mut repetitions) = (Instant::now(), 0);
        while repetitions == 0 || start.elapsed() < budget {
            let before = self.one_by_one.then(|| self.spent(1));
            self.both_sides();
            if let Some(before) = before {
                let spans = before.into_iter().zip(self.spent(1));
                for (side, (before, after)) in distributions.iter_mut().zip(spans) {
                    side.count(after - before);
                }
            }
            repetitions += 1;
        }
        let names = || ["client", "server"].map(str::to_owned).into_iter();
        let distributions = names().zip(distributions).filter(|_| self.one_by_one).collect();
        let sides = names().zip(self.spent(repetitions)).collect();
        Ok(Measurement { repetitions, sides, distributions, ..Measurement::default() })
    }

    fn repeat(&mut self, count: u64) -> std::result::Result<Measurement, PrepareError> {
        (0..count).for_each(|_| self.both_sides());
        Ok(Measurement { repetitions: count, ..Measurement::default() })
    }
}

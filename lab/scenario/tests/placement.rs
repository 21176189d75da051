//! Tests that the placement number of a process determines the addresses of its allocations within
//! pages, and that workers apply it. The test program runs itself as a worker process.

// A test may fail by panicking.
#![allow(clippy::unwrap_used)]
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::hint::black_box;
use std::io::Write;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use lab_scenario::protocol::{Measurement, Request};
use lab_scenario::{
    About, Files, PrepareError, PreparedTask, Result, Row, ThreadSetup, Threads, Worker, rows,
    serve,
};

/// The environment variable that marks worker processes.
const WORKER: &str = "LAB_PLACEMENT_TEST_WORKER";

/// Sizes of the numbers and structures in keys.
const SIZES: [usize; 5] = [48, 128, 256, 520, 2048];

/// A worker whose results are the offsets within a page of its allocations, at preparation or in a
/// thread.
struct Places;

impl Worker for Places {
    fn about(&self) -> About {
        About::default()
    }

    fn prepare(
        &mut self,
        row: &Row,
        _: &Files,
    ) -> std::result::Result<Box<dyn PreparedTask>, PrepareError> {
        if row.threads.len() == 1 {
            return Ok(Box::new(Found(places())));
        }
        let thread_setup: ThreadSetup = Box::new(|| Ok(Box::new(Found(places()))));
        Ok(Box::new(Threads::new(row, thread_setup).map_err(PrepareError::Failed)?))
    }
}

struct Found(Vec<usize>);

impl PreparedTask for Found {
    fn measure(&mut self, _: Duration) -> Result<Measurement> {
        eprintln!("{:?}", self.0);
        Ok(Measurement { sides: [("server".to_owned(), 1.0)].into(), ..Measurement::default() })
    }

    fn slices(&self) -> u32 {
        1
    }
}

fn places() -> Vec<usize> {
    let place =
        |size: usize| black_box(Vec::<u8>::with_capacity(size).leak()).as_ptr().addr() % 4096;
    SIZES.map(place).into()
}

/// The offsets that a worker with this placement and these thread counts reports.
fn found(placement: Option<u64>, threads: &[usize]) -> String {
    let row = rows::all().into_iter().find(|row| row.section == "threads").unwrap();
    let row = Box::new(Row { threads: threads.to_vec(), ..row });
    let prepare = Request::Prepare { row, files: "files".into(), placement };
    let mut process = Command::new(std::env::current_exe().unwrap())
        .env(WORKER, "1")
        .args(["--exact", "a_placement_moves_what_is_allocated", "--nocapture"])
        .args(["--test-threads", "1"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = process.stdin.take().unwrap();
    for request in [prepare, Request::Measure { milliseconds: 1 }] {
        writeln!(input, "{}", serde_json::to_string(&request).unwrap()).unwrap();
    }
    drop(input);
    let output = process.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.starts_with('['), "{text}");
    text
}

#[test]
fn a_placement_moves_what_is_allocated() {
    if std::env::var_os(WORKER).is_some() {
        assert_eq!(serve(Places), ExitCode::SUCCESS);
        return;
    }
    // Tests allocations at preparation, and those in a thread, for which the allocator uses other
    // memory.
    for threads in [&[1][..], &[1, 1]] {
        let numbers = 0..12;
        let all: BTreeSet<_> = numbers.map(|number| found(Some(number), threads)).collect();
        assert!(all.len() >= 11, "{all:?}");
        assert_eq!(found(Some(7), threads), found(Some(7), threads));
        // Without a placement number, pages move between processes, but offsets within them do not.
        assert_eq!(found(None, threads), found(None, threads));
    }
}

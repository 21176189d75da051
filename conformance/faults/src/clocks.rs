//! The clock of a terminator jumps in both directions, by hours and by a month.
//!
//! A separate terminator runs with libfaketime, which changes the date but not the monotonic
//! clocks.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use tercel::pki::Roots;
use tercel_harness::clients::Load;
use tercel_harness::proxy::ProcessOptions;
use tokio::runtime::Runtime;

use crate::faulty_client::ClientContext;
use crate::kinds::Kind;
use crate::phase::{self, Line, Plan};
use crate::setup::Setup;

/// The successive offsets from the true time. Tickets live less than a month, certificates for
/// decades.
const JUMPS: [&str; 6] = ["+1h", "-1h", "+30d", "+0", "-30d", "+0"];

/// Runs the phase of clock jumps. Returns `None` without libfaketime.
pub(crate) fn run(
    setup: &Setup,
    runtime: &Runtime,
    context: &ClientContext,
    roots: &Roots,
) -> Result<Option<Line>> {
    let Some(library) = library() else { return Ok(None) };
    let file = setup.folder.path().join("clock");
    fs::write(&file, "+0")?;
    let environment = vec![
        ("LD_PRELOAD", library.display().to_string()),
        ("FAKETIME_TIMESTAMP_FILE", file.display().to_string()),
        ("FAKETIME_NO_CACHE", "1".to_owned()),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
        ("DONT_FAKE_MONOTONIC", "1".to_owned()),
    ];
    let options = ProcessOptions { environment, ..ProcessOptions::default() };
    let (mut proxy, target) = setup.start_another("clock", options)?;
    let load = Load::start(crate::regular_clients(target), roots)?;
    thread::sleep(Duration::from_secs(1));
    let start = Instant::now();
    let mut faults = Vec::new();
    for jump in JUMPS {
        let begun = Instant::now();
        fs::write(&file, jump)?;
        thread::sleep(Duration::from_millis(700));
        let news = load.since(begun).iter().filter(|one| one.offered && !one.resumed).count();
        if jump == "+30d" && news == 0 {
            faults.push(
                "a month later every ticket is still accepted: the clock did not jump".to_owned(),
            );
        }
    }
    // Time limits use the monotonic clock.
    fs::write(&file, "-30d")?;
    let plan = Plan {
        name: "half-open, clock jumps".to_owned(),
        clients: (0..40).map(|number| (Kind::HalfOpen, number)).collect(),
        at_once: 40,
        one_address: false,
    };
    let mut line = phase::run(plan, runtime, &Arc::new(context.at(target)), &proxy, &load)?;
    let regular = load.stop()?;
    line.other_terminator = true;
    line.took = start.elapsed();
    line.regular = regular.len();
    line.regular_failed = phase::failures(&regular);
    line.slowest = phase::percentile(&regular, 99);
    line.faults.extend(faults);
    if let Some(status) = proxy.process().ended()? {
        line.faults.push(format!("the terminator ended: {status}"));
    }
    Ok(Some(line))
}

/// The path of libfaketime on Debian and others.
fn library() -> Option<PathBuf> {
    let folders = fs::read_dir("/usr/lib").ok()?.flatten().map(|entry| entry.path());
    folders
        .chain([PathBuf::from("/usr/lib")])
        .map(|folder| folder.join("faketime/libfaketime.so.1"))
        .find(|file| file.is_file())
}

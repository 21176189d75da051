//! The clock of a terminator jumps, forth and back, by hours and by a month.
//!
//! With libfaketime, which the system loads into a terminator of its own: what reads the date gets another one, what
//! measures time does not. Must not know: what the others do. Next: `phase.rs`.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use tercel::pki::Roots;
use tercel_harness::good::Load;
use tercel_harness::proxy::Terms;
use tokio::runtime::Runtime;

use crate::bad::Means;
use crate::kinds::Kind;
use crate::phase::{self, Line, Plan};
use crate::setting::Setting;

/// How far from the true time it is, one after the other. No ticket lives a month; certificates live for decades.
const JUMPS: [&str; 6] = ["+1h", "-1h", "+30d", "+0", "-30d", "+0"];

/// What came of it, unless there is no such library.
pub(crate) fn run(
    setting: &Setting,
    runtime: &Runtime,
    means: &Means,
    roots: &Roots,
) -> Result<Option<Line>> {
    let Some(library) = library() else { return Ok(None) };
    let file = setting.folder.path().join("clock");
    fs::write(&file, "+0")?;
    let environment = vec![
        ("LD_PRELOAD", library.display().to_string()),
        ("FAKETIME_TIMESTAMP_FILE", file.display().to_string()),
        ("FAKETIME_NO_CACHE", "1".to_owned()),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
        ("DONT_FAKE_MONOTONIC", "1".to_owned()),
    ];
    let terms = Terms { environment, ..Terms::default() };
    let (mut proxy, target) = setting.start_another("clock", terms)?;
    let load = Load::start(crate::good_clients(target), roots)?;
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
                "a month later every ticket is as good as new: the clock did not jump".to_owned(),
            );
        }
    }
    // Time limits go by no date.
    fs::write(&file, "-30d")?;
    let plan = Plan {
        name: "half-open, clock jumps".to_owned(),
        clients: (0..40).map(|number| (Kind::HalfOpen, number)).collect(),
        at_once: 40,
        one_address: false,
    };
    let mut line = phase::run(plan, runtime, &Arc::new(means.at(target)), &proxy, &load)?;
    let good = load.stop()?;
    line.apart = true;
    line.took = start.elapsed();
    line.good = good.len();
    line.good_failed = phase::failures(&good);
    line.slowest = phase::percentile(&good, 99);
    line.faults.extend(faults);
    if let Some(status) = proxy.process().ended()? {
        line.faults.push(format!("the terminator ended: {status}"));
    }
    Ok(Some(line))
}

/// Where Debian and others put it.
fn library() -> Option<PathBuf> {
    let folders = fs::read_dir("/usr/lib").ok()?.flatten().map(|entry| entry.path());
    folders
        .chain([PathBuf::from("/usr/lib")])
        .map(|folder| folder.join("faketime/libfaketime.so.1"))
        .find(|file| file.is_file())
}

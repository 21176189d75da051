//! What has to hold when all is over, and the table.
//!
//! Must not know: how clients misbehave. Next: `phase.rs`, where lines come from.

use std::time::Duration;

use anyhow::Result;
use tercel_harness::good::{Fate, Outcome};
use tercel_harness::proxy::{Proxy, wait_for};
use tercel_harness::table::Table;

use crate::bad::PATIENCE;
use crate::phase::{Counts, Line, failures, percentile};
use crate::setting::{HANDSHAKE, IDLE, Setting};

/// What the process used when only good clients were there, and some of each kind of bad ones had been.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Level {
    resident: u64,
}

impl Level {
    pub(crate) fn now(proxy: &Proxy) -> Result<Self> {
        Ok(Self { resident: proxy.vitals()?.resident })
    }

    /// Memory has to return to within a quarter of this and 32 MiB: of what hundreds of clients used at the same time,
    /// allocators keep some. A leak of two KiB for each of 24,000 clients would be more.
    fn bound(self) -> u64 {
        self.resident + self.resident / 4 + 32 * 1024
    }
}

/// What does not hold. `extra` connections were made besides those of the lines and of good clients.
pub(crate) fn at_the_end(
    setting: &mut Setting,
    lines: &[Line],
    good: &[Outcome],
    level: &Level,
    idle_files: usize,
    extra: usize,
) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    if let Some(status) = setting.proxy.process().ended()? {
        faults.push(format!("the terminator ended: {status}{}", setting.proxy.last_lines(10)));
        return Ok(faults);
    }
    let limit = HANDSHAKE + IDLE + PATIENCE;
    let settled = wait_for("all connections closed and all files back", limit, || {
        let none = setting.proxy.metrics().is_ok_and(|now| Counts::of(&now).open == 0);
        let files = setting.proxy.vitals().map_or(usize::MAX, |vitals| vitals.files);
        none && setting.backends.open() == 0 && files <= idle_files
    });
    let (now, vitals) = (Counts::of(&setting.proxy.metrics()?), setting.proxy.vitals()?);
    if let Err(error) = settled {
        faults.push(format!(
            "{error}: {} connections, {} to backends, {} files of {idle_files}",
            now.open,
            setting.backends.open(),
            vitals.files
        ));
    }
    println!(
        "\nmemory {} KiB, {} KiB while only good clients were there (bound {} KiB); {} files, {idle_files} before",
        vitals.resident,
        level.resident,
        level.bound(),
        vitals.files
    );
    if vitals.resident > level.bound() {
        faults.push(format!("memory has not returned: {} KiB", vitals.resident));
    }
    let made = lines.iter().filter(|line| !line.apart).map(|line| line.clients).sum::<usize>()
        + good.iter().filter(|outcome| outcome.connects).count()
        + extra;
    println!(
        "{made} connections made, {} accepted: {} handshakes, {} refused",
        now.accepted, now.connected, now.refused
    );
    if now.accepted != now.connected + now.refused {
        faults.push(
            "connections were accepted that are counted as neither connected nor refused"
                .to_owned(),
        );
    }
    if now.accepted != made as u64 {
        faults.push(format!("{made} connections were made, {} counted as accepted", now.accepted));
    }
    Ok(faults)
}

/// One line, as the run goes on.
pub(crate) fn short(line: &Line) -> String {
    let verdict = if line.passed() { "ok    " } else { "FAIL  " };
    let mut text = format!("{verdict}{}  {:.1} s", line.name, line.took.as_secs_f32());
    for fault in line.faults.iter().chain(line.good_failed.iter().take(3)) {
        text += &format!("\n      {fault}");
    }
    text
}

pub(crate) fn table(lines: &[Line]) -> String {
    let mut table = Table::new(&[
        "bad clients",
        "count",
        "seconds",
        "good ok",
        "failed",
        "P99 ms",
        "peak MiB",
        "refused as",
        "backend failures",
    ]);
    for line in lines {
        let reasons: Vec<_> =
            line.refused.iter().map(|(reason, count)| format!("{reason} {count}")).collect();
        table.line(vec![
            line.name.clone(),
            line.clients.to_string(),
            format!("{:.1}", line.took.as_secs_f32()),
            (line.good - line.good_failed.len()).to_string(),
            line.good_failed.len().to_string(),
            milliseconds(line.slowest),
            format!("{:.1}", line.peak as f64 / 1024.0),
            if reasons.is_empty() { "-".to_owned() } else { reasons.join(", ") },
            line.backend_failures.to_string(),
        ]);
    }
    table.text()
}

/// The last lines of the run.
pub(crate) fn conclude(
    lines: &[Line],
    faults: &[String],
    good: &[Outcome],
    took: Duration,
) -> bool {
    let bad: usize = lines.iter().map(|line| line.clients).sum();
    let repeated = good.iter().filter(|outcome| outcome.fate == Fate::Repeated).count();
    let failed = failures(good).len();
    println!(
        "{bad} bad clients; {} requests of good ones: {failed} failed, {repeated} repeated, P50 {} ms, P99 {} ms; {:.0} s",
        good.len(),
        milliseconds(percentile(good, 50)),
        milliseconds(percentile(good, 99)),
        took.as_secs_f32()
    );
    for fault in faults {
        println!("FAIL  {fault}");
    }
    let passed =
        faults.is_empty() && failed == 0 && !good.is_empty() && lines.iter().all(Line::passed);
    println!("{}", if passed { "passed" } else { "FAILED" });
    passed
}

fn milliseconds(time: Duration) -> String {
    format!("{:.1}", time.as_secs_f64() * 1000.0)
}

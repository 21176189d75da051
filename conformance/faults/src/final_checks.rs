//! The requirements at the end of the program, and the table of results.

use std::time::Duration;

use anyhow::Result;
use tercel_harness::clients::{Outcome, RequestResult};
use tercel_harness::proxy::{Proxy, wait_for};
use tercel_harness::table::Table;

use crate::faulty_client::TOLERANCE;
use crate::phase::{Counts, Line, failures, percentile};
use crate::setup::{HANDSHAKE, IDLE, Setup};

/// The memory of the process with regular clients alone, after a few of each faulty kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Baseline {
    resident: u64,
}

impl Baseline {
    pub(crate) fn now(proxy: &Proxy) -> Result<Self> {
        Ok(Self { resident: proxy.resources()?.resident })
    }

    /// The memory limit at the end: a quarter and 32 MiB more, because allocators retain some of
    /// the memory that hundreds of simultaneous clients used. A leak of two KiB per client would
    /// exceed it.
    fn bound(self) -> u64 {
        self.resident + self.resident / 4 + 32 * 1024
    }
}

/// Returns the requirements that are not met. `extra` counts the connections that belong neither to
/// a line nor to a regular client.
pub(crate) fn at_the_end(
    setup: &mut Setup,
    lines: &[Line],
    regular: &[Outcome],
    baseline: &Baseline,
    idle_files: usize,
    extra: usize,
) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    if let Some(status) = setup.proxy.process().ended()? {
        faults.push(format!("the terminator ended: {status}{}", setup.proxy.last_lines(10)));
        return Ok(faults);
    }
    let limit = HANDSHAKE + IDLE + TOLERANCE;
    let settled = wait_for("all connections and files closed", limit, || {
        let none = setup.proxy.metrics().is_ok_and(|now| Counts::of(&now).open == 0);
        let files = setup.proxy.resources().map_or(usize::MAX, |resources| resources.files);
        none && setup.backends.open() == 0 && files <= idle_files
    });
    let (now, resources) = (Counts::of(&setup.proxy.metrics()?), setup.proxy.resources()?);
    if let Err(error) = settled {
        faults.push(format!(
            "{error}: {} connections, {} to backends, {} files of {idle_files}",
            now.open,
            setup.backends.open(),
            resources.files
        ));
    }
    println!(
        "\nmemory {} KiB, {} KiB with regular clients alone (limit {} KiB); {} files, {idle_files} before",
        resources.resident,
        baseline.resident,
        baseline.bound(),
        resources.files
    );
    if resources.resident > baseline.bound() {
        faults.push(format!("memory is over the limit: {} KiB", resources.resident));
    }
    let made =
        lines.iter().filter(|line| !line.other_terminator).map(|line| line.clients).sum::<usize>()
            + regular.iter().filter(|outcome| outcome.connects).count()
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

/// The line that is printed after a phase.
pub(crate) fn short(line: &Line) -> String {
    let verdict = if line.passed() { "ok    " } else { "FAIL  " };
    let mut text = format!("{verdict}{}  {:.1} s", line.name, line.took.as_secs_f32());
    for fault in line.faults.iter().chain(line.regular_failed.iter().take(3)) {
        text += &format!("\n      {fault}");
    }
    text
}

pub(crate) fn table(lines: &[Line]) -> String {
    let mut table = Table::new(&[
        "faulty clients",
        "count",
        "seconds",
        "regular ok",
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
            (line.regular - line.regular_failed.len()).to_string(),
            line.regular_failed.len().to_string(),
            milliseconds(line.slowest),
            format!("{:.1}", line.peak as f64 / 1024.0),
            if reasons.is_empty() { "-".to_owned() } else { reasons.join(", ") },
            line.backend_failures.to_string(),
        ]);
    }
    table.text()
}

/// Prints the results at the end of the program.
pub(crate) fn conclude(
    lines: &[Line],
    faults: &[String],
    regular: &[Outcome],
    took: Duration,
) -> bool {
    let bad: usize = lines.iter().map(|line| line.clients).sum();
    let repeated =
        regular.iter().filter(|outcome| outcome.result == RequestResult::Retried).count();
    let failed = failures(regular).len();
    println!(
        "{bad} faulty clients; {} requests of regular ones: {failed} failed, {repeated} repeated, P50 {} ms, P99 {} ms; {:.0} s",
        regular.len(),
        milliseconds(percentile(regular, 50)),
        milliseconds(percentile(regular, 99)),
        took.as_secs_f32()
    );
    for fault in faults {
        println!("FAIL  {fault}");
    }
    let passed =
        faults.is_empty() && failed == 0 && !regular.is_empty() && lines.iter().all(Line::passed);
    println!("{}", if passed { "passed" } else { "FAILED" });
    passed
}

fn milliseconds(time: Duration) -> String {
    format!("{:.1}", time.as_secs_f64() * 1000.0)
}

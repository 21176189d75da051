//! File descriptors run out: whoever holds them has to let go, and good clients come through.
//!
//! A terminator of its own with few files, all of which are taken by clients that say nothing.
//! Must not know: what the others do. Next: `phase.rs`.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::Result;
use tercel::pki::Roots;
use tercel_harness::good::{self, Load};
use tercel_harness::proxy::wait_for;
use tokio::runtime::Runtime;

use crate::bad::{Means, PATIENCE};
use crate::kinds::Kind;
use crate::phase::{self, Counts, Line, Plan};
use crate::setting::{HANDSHAKE, IDLE, Setting, few};

/// Some dozens are the program's own.
const FILES: usize = 128;

pub(crate) fn run(
    setting: &Setting,
    runtime: &Runtime,
    means: &Means,
    roots: &Roots,
) -> Result<Line> {
    let (mut proxy, target) = setting.start_another("few-files", few(FILES))?;
    // Its threads open what they need in their own time.
    thread::sleep(Duration::from_secs(2));
    let files_before = proxy.vitals()?.files;
    let means = means.at(target);
    // They may have to wait in the queue until others have had their time.
    let mut clients = crate::good_clients(target);
    for kind in &mut clients {
        *kind = good::Kind { clients: 1, limit: Duration::from_secs(30), ..kind.clone() };
    }
    let load = Load::start(clients, roots)?;
    let plan = Plan {
        name: format!("half-open, {FILES} files"),
        clients: (0..FILES + FILES / 4).map(|number| (Kind::HalfOpen, number)).collect(),
        at_once: 2 * FILES,
        one_address: false,
    };
    let mut line = phase::run(plan, runtime, &Arc::new(means), &proxy, &load)?;
    line.apart = true;
    let good = load.stop()?;
    line.good = good.len();
    line.good_failed = phase::failures(&good);
    line.slowest = phase::percentile(&good, 99);
    let metrics = proxy.metrics()?;
    let refusals = metrics.sum("tercel_accept_errors_total", &[("reason", "file_limit")])
        + metrics.sum("tercel_connections_refused_total", &[("reason", "connection_limit")]);
    if refusals < 1.0 {
        line.faults.push("that files ran out is counted nowhere".to_owned());
    }
    let back = wait_for("all files are back", HANDSHAKE + IDLE + PATIENCE, || {
        let files = proxy.vitals().map_or(usize::MAX, |vitals| vitals.files);
        let open = proxy.metrics().map_or(1, |now| Counts::of(&now).open);
        files <= files_before && open == 0
    });
    let now = proxy.vitals().map_or(usize::MAX, |vitals| vitals.files);
    line.faults.extend(back.err().map(|error| format!("{error}: {now}, {files_before} before")));
    if let Some(status) = proxy.process().ended()? {
        line.faults.push(format!("the terminator ended: {status}"));
    }
    Ok(line)
}

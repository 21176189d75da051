//! The terminator runs out of file descriptors: it closes connections of silent clients, and serves
//! regular clients.
//!
//! The terminator is a separate process with few file descriptors, all of which silent clients
//! take.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::Result;
use tercel::pki::Roots;
use tercel_harness::clients::{self, Load};
use tercel_harness::proxy::wait_for;
use tokio::runtime::Runtime;

use crate::faulty_client::{ClientContext, TOLERANCE};
use crate::kinds::Kind;
use crate::phase::{self, Counts, Line, Plan};
use crate::setup::{HANDSHAKE, IDLE, Setup, few};

/// The limit of open files. The program itself needs some dozens of them.
const FILES: usize = 128;

pub(crate) fn run(
    setup: &Setup,
    runtime: &Runtime,
    context: &ClientContext,
    roots: &Roots,
) -> Result<Line> {
    let (mut proxy, target) = setup.start_another("few-files", few(FILES))?;
    // The threads of the program open their files gradually.
    thread::sleep(Duration::from_secs(2));
    let files_before = proxy.resources()?.files;
    let context = context.at(target);
    // Regular clients may have to wait in the queue until silent clients time out.
    let mut clients = crate::regular_clients(target);
    for kind in &mut clients {
        *kind = clients::ClientKind { clients: 1, limit: Duration::from_secs(60), ..kind.clone() };
    }
    let load = Load::start(clients, roots)?;
    let plan = Plan {
        name: format!("half-open, {FILES} files"),
        clients: (0..FILES + FILES / 4).map(|number| (Kind::HalfOpen, number)).collect(),
        at_once: 2 * FILES,
        one_address: false,
    };
    let mut line = phase::run(plan, runtime, &Arc::new(context), &proxy, &load)?;
    line.other_terminator = true;
    let regular = load.stop()?;
    line.regular = regular.len();
    line.regular_failed = phase::failures(&regular);
    line.slowest = phase::percentile(&regular, 99);
    let metrics = proxy.metrics()?;
    let refusals = metrics.sum("tercel_accept_errors_total", &[("reason", "file_limit")])
        + metrics.sum("tercel_connections_refused_total", &[("reason", "connection_limit")]);
    if refusals < 1.0 {
        line.faults.push("running out of files is not counted".to_owned());
    }
    let back = wait_for("all files are closed", HANDSHAKE + IDLE + TOLERANCE, || {
        let files = proxy.resources().map_or(usize::MAX, |resources| resources.files);
        let open = proxy.metrics().map_or(1, |now| Counts::of(&now).open);
        files <= files_before && open == 0
    });
    let now = proxy.resources().map_or(usize::MAX, |resources| resources.files);
    line.faults.extend(back.err().map(|error| format!("{error}: {now}, {files_before} before")));
    if let Some(status) = proxy.process().ended()? {
        line.faults.push(format!("the terminator ended: {status}"));
    }
    Ok(line)
}

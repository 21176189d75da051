//! Invalid certificates in the watched folder: the terminator keeps the old certificates until it
//! finds valid ones.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::Result;
use tercel::pki::Roots;
use tercel_harness::clients::{self, Load};
use tercel_harness::pki::{Key, Leaf};
use tercel_harness::process::Signal;
use tercel_harness::proxy::wait_for;
use tokio::runtime::Runtime;

use crate::phase::Line;
use crate::setup::{Setup, WORKING, write_certificate};

/// The time limit for noticing a change in the folder.
const NOTICED: Duration = Duration::from_secs(60);

/// Writes each kind of invalid file, then a valid certificate.
pub(crate) fn run(
    setup: &Setup,
    runtime: &Runtime,
    load: &Load,
    roots: &Roots,
    quick: bool,
    probes: &mut usize,
) -> Result<Vec<Line>> {
    let mut shown = || {
        *probes += 1;
        runtime.block_on(clients::certificate(setup.target, roots, WORKING))
    };
    let folder = setup.certificates();
    let failed = || {
        let labels = [("what", "certificates"), ("result", "failed")];
        setup.proxy.metrics().map(|now| now.sum("tercel_reloads_total", &labels))
    };
    let whole = fs::read_to_string(folder.join("localhost.crt"))?;
    let other = setup.authority.issue(&Leaf::SERVER, Key::P256)?;
    let bad = [
        ("certificate cut in half", "localhost.crt", &whole[..whole.len() / 3]),
        ("key of another certificate", "localhost.key", &other.key),
        ("text instead of a certificate", "localhost.crt", "no certificate\n"),
        ("empty key", "localhost.key", ""),
    ];
    let mut lines = Vec::new();
    for (name, file, text) in &bad[..if quick { 1 } else { bad.len() }] {
        let start = Instant::now();
        let (old, before) = (shown()?, failed()?);
        fs::write(folder.join(file), text)?;
        let mut faults = Vec::new();
        let counted =
            wait_for("the failure is counted", NOTICED, || failed().is_ok_and(|now| now > before));
        faults.extend(counted.err().map(|error| error.to_string()));
        match shown() {
            Ok(now) if now == old => {}
            Ok(_) => faults.push("another certificate is in use".to_owned()),
            Err(error) => faults.push(format!("a new client is not served: {error}")),
        }
        lines.push(Line::without_clients(name, start, load, faults));

        let start = Instant::now();
        write_certificate(&setup.authority, &folder, WORKING)?;
        if quick {
            // The terminator polls the files every few seconds, and immediately on a signal.
            setup.proxy.signal(Signal::SIGHUP)?;
        }
        let new = wait_for("the new certificate is in use", NOTICED, || {
            shown().is_ok_and(|now| now != old)
        });
        let faults = new.err().map(|error| error.to_string()).into_iter().collect();
        lines.push(Line::without_clients("a valid certificate", start, load, faults));
    }
    Ok(lines)
}

//! `lab openssl`: one library at different ages. Builds each release of the series, measures them side by side, and
//! leaves `openssl.json` and `openssl.html`.
//!
//! | to see | look at |
//! |---|---|
//! | the command line | `arguments.rs` |
//! | what is asked of a release | [`lab_scenario::series`], and `tables.rs`, which asks it |
//! | how runs become figures | `figures.rs` |
//! | what is left behind | [`report`] |
//! | how it is shown | `text.rs`, `page.rs` |
//! | the keys, certificates and configurations | `files.rs` |
//!
//! Must not know: OpenSSL's interface. Next: lab/series, the workers.

mod arguments;
mod figures;
mod files;
mod page;
pub mod report;
mod tables;
mod text;

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use lab_scenario::Measurement;
use lab_scenario::protocol::{Reply, Request};
use lab_scenario::series::Job;

pub(crate) use arguments::Arguments;
pub(crate) use text::render;

use crate::machine::{Machine, Watch};
use crate::material::placement;
use crate::peers::{self, Builder, Peer, Worker};
use crate::process::{Launch, Process};
use crate::progress::Steps;
use crate::random::Random;
use crate::run::{Scratch, gather, now};
use report::{Lost, SCHEMA, SeriesReport, Settings};

/// What `lab openssl` was asked to do.
pub(crate) struct Order {
    pub(crate) settings: Settings,
    /// Releases, as `3.5`; empty: every one there is.
    pub(crate) versions: Vec<String>,
    pub(crate) resume: bool,
    pub(crate) out: std::path::PathBuf,
    /// The folder of workers.
    pub(crate) series: std::path::PathBuf,
    pub(crate) builder: Builder,
    pub(crate) launch: Launch,
}

/// The file that a run leaves, and goes on with.
pub(crate) const REPORT: &str = "openssl.json";
/// The same to look at.
pub(crate) const PAGE: &str = "openssl.html";

/// Before the version in a worker's name.
const NAME: &str = "openssl-";

/// Runs, and returns the report.
pub(crate) fn run(order: &Order) -> Result<SeriesReport> {
    fs::create_dir_all(&order.out).with_context(|| format!("{}", order.out.display()))?;
    let path = order.out.join(REPORT);
    let workers = peers::discover(&order.series)?;
    let wanted = wanted(order, &workers);
    let (peers, told) = gather(&wanted, &workers, &order.builder, &order.launch)?;
    ensure!(!peers.is_empty(), "no release of OpenSSL can take part");
    let mut report = SeriesReport {
        schema: SCHEMA,
        started: now(),
        updated: now(),
        settings: order.settings.clone(),
        machine: Machine::describe(),
        releases: told,
        others: Vec::new(),
        figures: Vec::new(),
    };
    if order.resume && path.exists() {
        report = take_up(SeriesReport::read(&path)?, &report)?;
    }
    let scratch = Scratch::new(&order.out.join("keys"))?;
    let jobs = tables::jobs(order.settings.threads);
    let steps = Steps::new(order.settings.runs * jobs.len());
    for run in 0..order.settings.runs {
        files::make(scratch.path(), order.settings.seed, run)?;
        let watch = Watch::start();
        for (index, job) in jobs.iter().enumerate() {
            steps.begin(&format!("run {}, {}", run + 1, job.id()));
            let step = u64::try_from(run * jobs.len() + index)?;
            let mut random = Random::new(order.settings.seed.wrapping_add(step));
            if one_run(order, &peers, job, run, &mut random, scratch.path(), &mut report) {
                report.updated = now();
                write(&report, &order.out)?;
            }
            steps.end();
        }
        if report.others.len() == run {
            report.others.push(watch.others());
        }
    }
    steps.finish();
    write(&report, &order.out)?;
    Ok(report)
}

fn wanted(order: &Order, workers: &[Worker]) -> Vec<String> {
    if order.versions.is_empty() {
        return workers.iter().map(|worker| worker.name.clone()).collect();
    }
    order.versions.iter().map(|version| format!("{NAME}{version}")).collect()
}

/// Measures one job with every release that has not done it in this run, in random order. Whether there was one.
fn one_run(
    order: &Order,
    peers: &[Peer],
    job: &Job,
    run: usize,
    random: &mut Random,
    files: &Path,
    report: &mut SeriesReport,
) -> bool {
    let mut left: Vec<_> = peers
        .iter()
        .filter(|peer| match report.figure(&peer.name, job) {
            Some(figure) => figure.lost.is_none() && figure.runs() <= run,
            None => true,
        })
        .collect();
    random.shuffle(&mut left);
    for peer in &left {
        let placement = placement(order.settings.seed, &job.id(), run, &peer.name);
        let measured = measure(order, peer, job, files, placement);
        if let Err(Lost::Failed(why)) = &measured {
            eprintln!("{}, {}: {why}", peer.label, job.id());
        }
        report.add(&peer.name, job, measured);
    }
    !left.is_empty()
}

/// In a process of its own.
fn measure(
    order: &Order,
    peer: &Peer,
    job: &Job,
    files: &Path,
    placement: u64,
) -> std::result::Result<Measurement, Lost> {
    let attempt = || -> Result<std::result::Result<Measurement, Lost>> {
        // Threads have all processors.
        let pin = order.launch.pin.filter(|_| job.threads == 1);
        let launch = Launch { pin, ..order.launch.clone() };
        let mut process = Process::start(&peer.program, &launch)?;
        let (row, files, placement) = (Box::new(job.clone()), files.to_owned(), Some(placement));
        let prepare = Request::Prepare { row, files, placement };
        match process.ask(&prepare, Duration::ZERO)? {
            Reply::Ready => {}
            Reply::Cannot { why } => return Ok(Err(Lost::Unable(why))),
            Reply::Failed { why } => bail!(why),
            other => bail!("an answer to another question: {other:?}"),
        }
        let milliseconds = order.settings.measure_ms;
        let measure = Request::<Job>::Measure { milliseconds };
        match process.ask(&measure, Duration::from_millis(milliseconds))? {
            Reply::Measured(measurement) => checked(job, measurement).map(Ok),
            Reply::Failed { why } => bail!(why),
            other => bail!("an answer to another question: {other:?}"),
        }
    };
    attempt().unwrap_or_else(|error| Err(Lost::Failed(format!("{error:#}"))))
}

/// A measurement with a sound figure for each side.
fn checked(job: &Job, measurement: Measurement) -> Result<Measurement> {
    for side in job.sides() {
        match measurement.sides.get(*side) {
            Some(time) if time.is_finite() && *time > 0.0 => {}
            other => bail!("for {side:?} it measured {other:?}"),
        }
    }
    Ok(measurement)
}

/// An earlier report that this run goes on with.
fn take_up(old: SeriesReport, new: &SeriesReport) -> Result<SeriesReport> {
    ensure!(
        old.settings == new.settings,
        "the report was made under other settings; run without --resume, or with the same"
    );
    ensure!(
        old.releases == new.releases,
        "the report has other releases; run without --resume, or with the same"
    );
    ensure!(old.machine.cpu == new.machine.cpu, "the report is of another machine");
    Ok(old)
}

/// Leaves the report in both its forms.
fn write(report: &SeriesReport, out: &Path) -> Result<()> {
    report.write(&out.join(REPORT))?;
    let page = out.join(PAGE);
    fs::write(&page, page::render(report)).with_context(|| format!("{}", page.display()))
}

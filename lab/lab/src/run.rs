//! `lab run`: builds the workers, measures row after row, and leaves a report.
//!
//! Must not know: how a row is measured. Next: `rounds.rs`, `report.rs`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail, ensure};
use indicatif::ProgressBar;
use lab_scenario::{Accounting, Program, Row, Task, rows};

use crate::counter::Counter;
use crate::fit::fit;
use crate::machine::Machine;
use crate::material::Material;
use crate::page;
use crate::peers::{self, Builder, Peer, Worker};
use crate::plan::{self, Plan};
use crate::process::Launch;
use crate::profile::Profile;
use crate::progress::{Progress, minutes};
use crate::random::Random;
use crate::report::{PeerReport, Report, SCHEMA, Settings};
use crate::rounds::Bench;

/// Seeds that nobody asked for are below this.
const SEEDS: usize = 1_000_000;

/// What `lab run` was asked to do.
pub(crate) struct Order {
    pub(crate) settings: Settings,
    /// Ids, parts of ids or sections; empty: what belongs to the mode.
    pub(crate) rows: Vec<String>,
    /// Empty: every worker there is.
    pub(crate) peers: Vec<String>,
    pub(crate) resume: bool,
    pub(crate) out: PathBuf,
    pub(crate) workers: PathBuf,
    pub(crate) builder: Builder,
    pub(crate) launch: Launch,
}

/// Runs, and returns the report.
pub(crate) fn run(order: &Order) -> Result<Report> {
    let mut rows = select(&order.rows, order.settings.accounting, order.settings.mode == "quick")?;
    fit(&mut rows, &order.settings);
    fs::create_dir_all(&order.out).with_context(|| format!("{}", order.out.display()))?;
    let path = order.out.join("report.json");
    let workers = peers::discover(&order.workers)?;
    let (peers, told) = gather(&order.peers, &workers, &order.builder, &order.launch)?;
    let mut report = Report {
        schema: SCHEMA,
        started: now(),
        updated: now(),
        settings: plan::fitted(&order.settings, &rows, peers.len()),
        machine: Machine::describe(),
        peers: told,
        rows: Vec::new(),
        profiles: Vec::new(),
    };
    if order.resume && path.exists() {
        report = take_up(Report::read(&path)?, &report)?;
    }
    ensure!(peers.iter().any(|peer| !peer.floor), "no peer can take part");
    let certificates = Scratch::new(&order.out.join("certificates"))?;
    let material = Material::new(certificates.path(), report.settings.seed, report.settings.rounds);
    let spinner = ProgressBar::new_spinner().with_message("making keys");
    spinner.enable_steady_tick(Duration::from_millis(200));
    material.make(&rows)?;
    spinner.finish_and_clear();
    let counter = match rows.iter().any(|row| row.task == Task::Memory) {
        true => Counter::build(certificates.path())
            .inspect_err(|error| eprintln!("allocations cannot be counted: {error:#}"))
            .ok(),
        false => None,
    };
    let settings = report.settings.clone();
    let plan = Plan::new(&rows, &settings, peers.len());
    tell_length(&plan, &settings);
    let bench = Bench {
        counter,
        peers: &peers,
        launch: &order.launch,
        settings: &settings,
        material: &material,
    };
    let progress = Progress::new(&rows, &plan);
    for (index, row) in rows.iter().enumerate() {
        if report.rows.iter().any(|done| done.row == *row) {
            progress.skip();
            continue;
        }
        let spent = report.rows.iter().map(|done| done.seconds).sum();
        progress.begin(index, row, spent);
        // Each row has a sequence of its own, so that a run taken up again draws as one that never stopped.
        let mut random = Random::new(order.settings.seed.wrapping_add(index as u64));
        let limit = plan.limit(index, spent);
        let heard = |rounds, since| progress.round(rounds, since);
        let measured = bench.measure(row, limit, &mut random, &heard)?;
        progress.end(&measured);
        report.rows.push(measured);
        report.rows.sort_by_key(|done| place(&done.row));
        report.updated = now();
        write(&report, &order.out)?;
    }
    progress.finish();
    write(&report, &order.out)?;
    Ok(report)
}

/// Takes profiles of these rows, and adds them to the report in `out`, or to a new one.
pub(crate) fn profile(order: &Order) -> Result<Vec<Profile>> {
    let rows = select(&order.rows, Accounting::Neutral, false)?;
    fs::create_dir_all(&order.out).with_context(|| format!("{}", order.out.display()))?;
    let path = order.out.join("report.json");
    let workers = peers::discover(&order.workers)?;
    let (peers, told) = gather(&order.peers, &workers, &order.builder, &order.launch)?;
    let mut report = match path.exists() {
        true => Report::read(&path)?,
        false => Report {
            schema: SCHEMA,
            started: now(),
            updated: now(),
            settings: order.settings.clone(),
            machine: Machine::describe(),
            peers: told,
            rows: Vec::new(),
            profiles: Vec::new(),
        },
    };
    let certificates = Scratch::new(&order.out.join("certificates"))?;
    let files = Material::new(certificates.path(), order.settings.seed, 1).for_all(&rows)?;
    let mut taken = Vec::new();
    for row in &rows {
        let spinner = ProgressBar::new_spinner().with_message(format!("counting {}", row.id));
        spinner.enable_steady_tick(Duration::from_millis(200));
        let profile = Profile::take(row, &peers, &order.launch, &files);
        spinner.finish_and_clear();
        let profile = profile?;
        report.profiles.retain(|old| old.row.id != profile.row.id);
        report.profiles.push(profile.clone());
        report.profiles.sort_by_key(|each| place(&each.row));
        write(&report, &order.out)?;
        taken.push(profile);
    }
    Ok(taken)
}

/// How long it will take, and whether that is longer than was asked.
fn tell_length(plan: &Plan, settings: &Settings) {
    let least = plan.least();
    eprintln!("the fewest rounds of these rows take about {}", minutes(least));
    if settings.minutes.is_some_and(|asked| 60.0 * asked < least) {
        eprintln!("that is more than was asked for; fewer rows or peers take less");
    }
}

/// Leaves the report in both its forms.
fn write(report: &Report, out: &Path) -> Result<()> {
    report.write(&out.join("report.json"))?;
    let page = out.join("report.html");
    fs::write(&page, page::render(report)).with_context(|| format!("{}", page.display()))
}

/// The rows of these names, or those of the mode.
pub(crate) fn select(names: &[String], accounting: Accounting, quick: bool) -> Result<Vec<Row>> {
    let all = rows::of(accounting);
    if names.is_empty() {
        return Ok(all.into_iter().filter(|row| row.quick || !quick).collect());
    }
    for name in names {
        ensure!(
            all.iter().any(|row| is_named(row, name)),
            "no row is called {name:?}, in {accounting} accounting"
        );
    }
    Ok(all.into_iter().filter(|row| names.iter().any(|name| is_named(row, name))).collect())
}

/// A section, a whole id, or a part of ids if no row has it as its whole id.
fn is_named(row: &Row, name: &str) -> bool {
    row.section == name || row.id == name || (row.id.contains(name) && !is_an_id(name))
}

fn is_an_id(name: &str) -> bool {
    rows::all().iter().any(|row| row.id == name)
}

/// Builds and starts each peer once. One that cannot be is told and left out.
pub(crate) fn gather(
    asked: &[String],
    workers: &[Worker],
    builder: &Builder,
    launch: &Launch,
) -> Result<(Vec<Peer>, Vec<PeerReport>)> {
    let mut wanted = asked.to_vec();
    if wanted.is_empty() {
        wanted = workers.iter().map(|worker| worker.name.clone()).collect();
    }
    let (mut peers, mut told): (Vec<Peer>, Vec<PeerReport>) = (Vec::new(), Vec::new());
    for name in &wanted {
        if told.iter().any(|each| each.name == *name) {
            bail!("{name} is asked for twice; to let it take part twice say {name}@2");
        }
        let worker = peers::find(workers, name)?;
        let spinner = ProgressBar::new_spinner().with_message(format!("building {name}"));
        spinner.enable_steady_tick(Duration::from_millis(200));
        let built = worker.build(builder);
        let peer = built.and_then(|program| worker.introduce(name, &program, launch));
        spinner.finish_and_clear();
        let mut entry = PeerReport {
            name: name.clone(),
            label: worker.manifest.label.clone(),
            floor: false,
            about: None,
            failure: None,
        };
        match peer {
            Ok(peer) => {
                entry.label.clone_from(&peer.label);
                entry.floor = peer.floor;
                entry.about = Some(peer.about.clone());
                peers.push(peer);
            }
            Err(error) => {
                eprintln!("{name} is left out: {error:#}");
                if let Some(needs) = &worker.manifest.needs {
                    eprintln!("{name} needs {needs}");
                }
                entry.failure = Some(format!("{error:#}"));
            }
        }
        told.push(entry);
    }
    Ok((peers, told))
}

/// An earlier report that this run goes on with.
fn take_up(old: Report, new: &Report) -> Result<Report> {
    ensure!(
        old.settings == new.settings,
        "the report was made under other settings; run without --resume, or with the same"
    );
    ensure!(
        old.peers == new.peers,
        "the report has other peers; run without --resume, or with the same"
    );
    ensure!(old.machine.cpu == new.machine.cpu, "the report is of another machine");
    Ok(old)
}

/// The seed of a run: as asked, or of the report that it goes on with, or a new one that is short enough to type.
pub(crate) fn seed(asked: Option<u64>, earlier: Option<u64>) -> u64 {
    asked.or(earlier).unwrap_or_else(|| {
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let name = format!("{} {}", time.as_nanos(), std::process::id());
        Random::named(0, &name).below(SEEDS) as u64
    })
}

fn place(row: &Row) -> Option<usize> {
    rows::all().iter().position(|each| each.id == row.id)
}

pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// A folder of certificates, gone with the run unless that is killed.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new(folder: &Path) -> Result<Self> {
        // Workers have other working directories.
        let path = std::path::absolute(folder)?;
        fs::create_dir_all(&path).with_context(|| format!("{}", path.display()))?;
        Ok(Self(path))
    }
}

impl Scratch {
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The allocator that workers are given: its name, and what is loaded for it.
pub(crate) fn allocator(choice: &str) -> Result<(String, Option<PathBuf>)> {
    let system = || ("the system's".to_owned(), None);
    let library = |path: &Path| (path.display().to_string(), Some(path.to_owned()));
    match choice {
        "system" => Ok(system()),
        "auto" => Ok(known_allocators().first().map_or_else(system, |path| library(path))),
        name if name.contains('/') => {
            ensure!(Path::new(name).is_file(), "--allocator: there is no file {name}");
            Ok(library(Path::new(name)))
        }
        name => {
            let found = known_allocators().into_iter().find(|path| {
                path.file_name().is_some_and(|file| file.to_string_lossy().contains(name))
            });
            found.map(|path| library(&path)).with_context(|| format!("{name} is not installed"))
        }
    }
}

/// What the published programs have: rustls-bench brings jemalloc, openssl-bench nothing.
pub(crate) fn allocators_of_programs() -> Result<(String, Option<PathBuf>)> {
    let (jemalloc, preload) = allocator("jemalloc").context(
        "rustls-bench has jemalloc; install it (libjemalloc2 on Debian), or say --allocator system",
    )?;
    let [rustls, openssl] = [Program::RustlsBench, Program::OpensslBench].map(Program::name);
    Ok((format!("{jemalloc} as in {rustls}, the system's as in {openssl}"), preload))
}

/// Allocators that are installed where distributions put them, the preferred first.
fn known_allocators() -> Vec<PathBuf> {
    let folders = [
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu",
        "/usr/lib64",
        "/usr/lib",
        "/usr/local/lib",
    ];
    let names = ["libjemalloc.so.2", "libmimalloc.so.3", "libmimalloc.so.2", "libmimalloc.so"];
    let paths = names.iter().flat_map(|name| folders.iter().map(move |f| Path::new(f).join(name)));
    paths.filter(|path| path.exists()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_chosen_by_id_part_or_section() {
        let ids = |names: &[&str]| -> Vec<String> {
            let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
            select(&names, Accounting::Neutral, false)
                .unwrap()
                .into_iter()
                .map(|row| row.id)
                .collect()
        };
        assert_eq!(ids(&["write-16"]), ["write-16"]);
        assert!(ids(&["hybrid"]).len() > 5);
        assert!(ids(&["bulk"]).iter().all(|id| id.starts_with("bulk-")));
        assert!(select(&["nothing".to_owned()], Accounting::Neutral, false).is_err());
        let published = Accounting::Published;
        assert!(select(&["write-16".to_owned()], published, false).is_err());
        assert_eq!(select(&["full".to_owned()], published, false).unwrap().len(), 8);
        let quick = select(&[], Accounting::Neutral, true).unwrap();
        assert!(quick.len() < 15 && quick.iter().all(|row| row.quick));
    }
}

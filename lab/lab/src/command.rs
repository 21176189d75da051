//! The command line.
//!
//! Must not know: how things are done. Next: `run.rs`.

use std::path::{Path, PathBuf};
use std::process::Command as Process;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::{Args, Parser, Subcommand};
use lab_scenario::{Accounting, rows};

use crate::fit;
use crate::material::Material;
use crate::peers::{self, Builder};
use crate::process::{self, Launch};
use crate::report::{Report, Settings};
use crate::run::{self, Order, Scratch, allocator, allocators_of_programs, run, select};
use crate::{compare, markdown, same, series, table};

#[derive(Parser)]
#[command(name = "lab", about = "Measures TLS libraries side by side.")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Builds the workers, measures, and leaves report.json and report.html.
    Run(Box<Run>),
    /// Builds releases of OpenSSL from 1.1.1 on, measures them, and leaves openssl.json and openssl.html.
    Openssl(Box<series::Arguments>),
    /// Counts what each side of a row executes, by purpose, and adds it to the report.
    Profile(Box<Profile>),
    /// Prints the rows and the workers there are, or the floor of a row.
    List(List),
    /// Prints what changed from one report to another.
    Compare {
        /// The old report.json.
        old: PathBuf,
        /// The new one.
        new: PathBuf,
        /// Leaves a page of it here, too.
        #[arg(long, value_name = "FILE")]
        html: Option<PathBuf>,
    },
    /// Prints the table of a report.
    Table {
        /// The report.json.
        report: PathBuf,
        /// As Markdown, a line for each side of each row.
        #[arg(long)]
        markdown: bool,
        /// The peer whose verdicts stand in it: the first of the report, if none is named.
        #[arg(long, value_name = "PEER", requires = "markdown")]
        of: Option<String>,
    },
    /// Says of a report in which workers took part twice whether each tied with itself.
    Aa {
        /// The report.json.
        report: PathBuf,
    },
}

#[derive(Args)]
struct Run {
    /// One row of each section, in some minutes.
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// More and longer rounds: what one publishes.
    #[arg(long)]
    full: bool,
    /// Rows: ids, parts of ids, or sections.
    #[arg(long, value_delimiter = ',')]
    rows: Vec<String>,
    /// Peers: names of workers. `NAME@2` lets a worker take part a second time.
    #[arg(long, value_delimiter = ',')]
    peers: Vec<String>,
    /// How libraries are timed: `neutral`, all alike, or `published`, each as the program behind its published
    /// figures does it.
    #[arg(long, default_value = "neutral", value_parser = accounting)]
    accounting: Accounting,
    /// Goes on with the report that an interrupted run left.
    #[arg(long)]
    resume: bool,
    /// The CPU that workers stay on.
    #[arg(long)]
    pin: Option<u32>,
    /// The allocator of all workers: `auto` (jemalloc or mimalloc if installed), `system`, `jemalloc`,
    /// `mimalloc`, or the path of a library. In published accounting `auto` gives each what its program has.
    #[arg(long, default_value = "auto")]
    allocator: String,
    /// How many threads work at once in rows of threads. Default: from 1 to 1.5 times the processors.
    #[arg(long, value_delimiter = ',')]
    threads: Vec<usize>,
    /// How many connections are open in memory rows, growing.
    #[arg(long, value_delimiter = ',')]
    connections: Vec<usize>,
    /// Where the report goes.
    #[arg(long, default_value = "lab-report")]
    out: PathBuf,
    /// Keys, places in memory, the order of peers in rounds, and resampling follow from it. Default: drawn, and
    /// told in the report.
    #[arg(long)]
    seed: Option<u64>,
    /// The fewest rounds of a row.
    #[arg(long)]
    rounds: Option<usize>,
    /// Milliseconds of one measurement.
    #[arg(long)]
    measure_ms: Option<u64>,
    /// Seconds after which a row that has its rounds is undecided.
    #[arg(long)]
    row_seconds: Option<f64>,
    /// Minutes for all rows together, builds left out: measurements are as long as that allows, and what a
    /// row leaves falls to the others.
    #[arg(long, conflicts_with_all = ["row_seconds", "measure_ms"])]
    minutes: Option<f64>,
    /// Seconds for which a worker may be silent before it is ended.
    #[arg(long, default_value_t = 60.0)]
    time_limit: f64,
    #[command(flatten)]
    places: Places,
}

#[derive(Args)]
struct Profile {
    /// Rows: ids, parts of ids, or sections.
    #[arg(required = true)]
    rows: Vec<String>,
    /// Peers: names of workers.
    #[arg(long, value_delimiter = ',')]
    peers: Vec<String>,
    /// Prints so many functions of each purpose, too.
    #[arg(long, default_value_t = 0)]
    functions: usize,
    /// The allocator of all workers, as for `run`.
    #[arg(long, default_value = "auto")]
    allocator: String,
    /// Where the report is, or goes.
    #[arg(long, default_value = "lab-report")]
    out: PathBuf,
    #[command(flatten)]
    places: Places,
}

#[derive(Args)]
struct List {
    /// Prints the cryptographic calls that make up the floor of this row.
    #[arg(long, value_name = "ROW")]
    floor: Option<String>,
    /// Times these calls too, and fails if the floor is more than 3 % off their sum; ROW may be `all`.
    #[arg(long, requires = "floor")]
    check: bool,
    #[command(flatten)]
    places: Places,
}

#[derive(Args)]
struct Places {
    /// The folder of workers.
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../workers"))]
    workers: PathBuf,
    #[command(flatten)]
    building: Building,
}

/// How workers are built.
#[derive(Args)]
pub(crate) struct Building {
    /// Where workers are built. Default: CARGO_TARGET_DIR, or target in the lab's folder.
    #[arg(long)]
    target: Option<PathBuf>,
    /// Cargo's profile for workers. Figures of another than `release` mean nothing.
    #[arg(long, default_value = "release")]
    profile: String,
}

/// The program.
///
/// # Errors
/// Whatever kept it from doing what it was asked.
pub fn main() -> Result<()> {
    match Cli::parse().command {
        Command::Run(order) => {
            let order = order.order()?;
            let report = run(&order)?;
            print!("{}", table::render(&report));
            println!("\nreport: {}", order.out.join("report.html").display());
            Ok(())
        }
        Command::Openssl(arguments) => {
            let order = arguments.order()?;
            let report = series::run(&order)?;
            print!("{}", series::render(&report));
            println!("\nreport: {}", order.out.join(series::PAGE).display());
            Ok(())
        }
        Command::Profile(order) => {
            let functions = order.functions;
            let order = order.order()?;
            for profile in run::profile(&order)? {
                println!("{}", profile.render(functions));
            }
            println!("report: {}", order.out.join("report.html").display());
            Ok(())
        }
        Command::List(list) => list.print(),
        Command::Compare { old, new, html } => {
            let (old, new) = (Report::read_to_show(&old)?, Report::read_to_show(&new)?);
            print!("{}", compare::render(&old, &new));
            let Some(file) = html else { return Ok(()) };
            let page = compare::page(&old, &new);
            std::fs::write(&file, page).with_context(|| format!("{}", file.display()))
        }
        Command::Table { report, markdown, of } => {
            let report = Report::read_to_show(&report)?;
            match markdown {
                true => print!("{}", markdown::render(&report, of.as_deref())?),
                false => print!("{}", table::render(&report)),
            }
            Ok(())
        }
        Command::Aa { report } => {
            let outcome = same::judge(&Report::read(&report)?);
            print!("{outcome}");
            ensure!(
                outcome.is_good(),
                "fewer than 19 of 20 sides tie, or a ratio is more than 2 % off"
            );
            Ok(())
        }
    }
}

impl Run {
    fn order(self) -> Result<Order> {
        let (mode, rounds, measure_ms, row_seconds) = match (self.quick, self.full) {
            (true, _) => ("quick", 7, 60, 15.0),
            (_, true) => ("full", 15, 200, 150.0),
            _ => ("standard", 11, 100, 45.0),
        };
        let row_seconds = self.row_seconds.unwrap_or(row_seconds);
        ensure!(row_seconds.is_finite() && row_seconds >= 0.0, "--row-seconds {row_seconds}");
        let positive = |minutes: f64| minutes.is_finite() && minutes > 0.0;
        ensure!(self.minutes.is_none_or(positive), "--minutes {:?}", self.minutes);
        self.pin.map_or(Ok(()), process::can_pin)?;
        let limit = Duration::try_from_secs_f64(self.time_limit).context("--time-limit")?;
        let as_programs = self.accounting == Accounting::Published && self.allocator == "auto";
        let (allocator, preload) =
            if as_programs { allocators_of_programs()? } else { allocator(&self.allocator)? };
        let builder = self.places.building.builder()?;
        let cpus = fit::cpus();
        let earlier = self.out.join("report.json");
        let earlier = match self.resume && earlier.exists() {
            true => Some(Report::read(&earlier)?.settings.seed),
            false => None,
        };
        let seed = run::seed(self.seed, earlier);
        let or =
            |asked: Vec<usize>, usual: Vec<usize>| if asked.is_empty() { usual } else { asked };
        let settings = Settings {
            cpus,
            threads: or(self.threads, fit::threads(cpus)),
            connections: or(self.connections, fit::connections(mode)),
            mode: mode.to_owned(),
            accounting: self.accounting,
            seed,
            rounds: self.rounds.unwrap_or(rounds),
            measure_ms: self.measure_ms.unwrap_or(measure_ms),
            row_seconds,
            minutes: self.minutes,
            allocator,
            pin: self.pin,
            profile: builder.profile.clone(),
        };
        fit::check(&settings)?;
        Ok(Order {
            settings,
            rows: self.rows,
            peers: self.peers,
            resume: self.resume,
            out: self.out,
            workers: self.places.workers,
            builder,
            launch: Launch { preload, as_programs, pin: self.pin, limit, ..Launch::default() },
        })
    }
}

fn accounting(name: &str) -> Result<Accounting, String> {
    let named = Accounting::ALL.into_iter().find(|each| each.name() == name);
    named.ok_or_else(|| format!("there are: {}", Accounting::ALL.map(Accounting::name).join(", ")))
}

impl Profile {
    fn order(self) -> Result<Order> {
        let (allocator, preload) = allocator(&self.allocator)?;
        let builder = self.places.building.builder()?;
        let cpus = fit::cpus();
        let settings = Settings {
            cpus,
            threads: fit::threads(cpus),
            connections: fit::connections("full"),
            mode: "profile".to_owned(),
            accounting: Accounting::Neutral,
            seed: 0,
            rounds: 0,
            measure_ms: 0,
            row_seconds: 0.0,
            minutes: None,
            allocator,
            pin: None,
            profile: builder.profile.clone(),
        };
        let limit = Duration::from_secs(60);
        Ok(Order {
            settings,
            rows: self.rows,
            peers: self.peers,
            resume: false,
            out: self.out,
            workers: self.places.workers,
            builder,
            launch: Launch { preload, limit, ..Launch::default() },
        })
    }
}

impl Building {
    pub(crate) fn builder(&self) -> Result<Builder> {
        let target =
            self.target.clone().or_else(|| std::env::var_os("CARGO_TARGET_DIR").map(Into::into));
        let target =
            target.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target"));
        let target = std::path::absolute(&target).context("--target")?;
        Ok(Builder { target, profile: self.profile.clone() })
    }
}

impl List {
    fn print(&self) -> Result<()> {
        let workers = peers::discover(&self.places.workers)?;
        if let Some(row) = &self.floor {
            let program =
                peers::find(&workers, "floor")?.build(&self.places.building.builder()?)?;
            return if self.check {
                check_floor(&program, row)
            } else {
                print_floor(&program, row)
            };
        }
        println!("rows (those with a star belong to --quick):");
        for row in rows::all() {
            let star = if row.quick { '*' } else { ' ' };
            println!("  {star} {:<28} {}", row.id, row.title());
        }
        println!("workers:");
        for worker in workers {
            let needs = worker.manifest.needs.map(|needs| format!("; needs {needs}"));
            println!(
                "    {:<12} {}{}",
                worker.name,
                worker.manifest.label,
                needs.unwrap_or_default()
            );
        }
        Ok(())
    }
}

fn print_floor(program: &Path, row: &str) -> Result<()> {
    let status = Process::new(program).arg("--calls").arg(row).status()?;
    ensure!(status.success(), "the floor has no calls for {row:?}");
    Ok(())
}

fn check_floor(program: &Path, row: &str) -> Result<()> {
    let scratch = Scratch::new(&std::env::temp_dir().join(format!("lab-{}", std::process::id())))?;
    let names = if row == "all" { Vec::new() } else { vec![row.to_owned()] };
    let rows = select(&names, Accounting::Neutral, false)?;
    let files = Material::new(scratch.path(), run::seed(None, None), 1).for_all(&rows)?;
    let status = Process::new(program).arg("--check").arg(row).arg(files).status()?;
    ensure!(status.success(), "the floor of {row:?} was not found to be the sum of its calls");
    Ok(())
}

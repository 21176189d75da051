//! Runs the `tercel` program against other TLS programs in both roles.
//!
//! ```text
//! cargo run --release -p tercel-interop -- --tercel target/release/tercel
//! ```
//!
//! | module | content |
//! |---|---|
//! | `cells`, `run` | handshakes with different parameters: the cells, and how one is run |
//! | `features`, `exchange` | features such as resumption and early data, likewise |
//! | `psk` | external pre-shared keys |
//! | `post_handshake_auth` | client authentication after the handshake |
//! | `proxied` | HTTP clients through `tercel proxy` |
//! | `programs` | the programs and their command lines |
//! | `relay`, `recorded` | records the bytes between two programs, and parses them |
//! | `parameters` | versions, suites and groups |
//! | `matrix` | the table of results: `serve` is Tercel's server with that program's client |
//!
//! `conformance/harness` starts processes and issues certificates.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::Parser;

mod cells;
mod exchange;
mod features;
mod matrix;
mod parameters;
mod post_handshake_auth;
mod programs;
mod proxied;
mod psk;
mod recorded;
mod relay;
mod run;

use cells::{Cell, Role};
use features::{Feature, FeatureCell};
use matrix::Matrix;
use parameters::Version;
use programs::{BUILT_OPENSSL, Botan, Curl, Driver, GnuTls, Nss, OpenSsl, Program, Tercel};
use run::Setting;
use tercel_harness::folder::TemporaryFolder;
use tercel_harness::pki::Pki;
use tercel_harness::program;

/// A whole run passes only with at least this many cells, so that missing cells cannot pass
/// unnoticed. This is the count for OpenSSL, curl, GnuTLS, Go, Python, Node and Java of Debian 12.
/// The other programs may be absent.
const MINIMUM: usize = 605;

/// [`MINIMUM`] with `--fips`.
const MINIMUM_FIPS: usize = 496;

/// A failed cell runs a second time, because some programs and time limits depend on how busy the
/// machine is. If more cells than this pass only the second time, the whole run fails, because that
/// indicates a defect.
const MAX_UNSTABLE: usize = 3;

/// The programs of `--short`, which start fast and cover all features between them.
const SHORT: [&str; 3] = ["openssl", "curl", "gnutls"];

/// [`MINIMUM`] with `--short`.
const MINIMUM_SHORT: usize = 255;

/// The names of the drivers of `conformance/peers`.
const BUILT_PEERS: [&str; 6] =
    ["peer-rustls", "peer-rustls-plain", "peer-reqwest", "peer-boring", "peer-s2n", BUILT_OPENSSL];

/// Programs that start slowly, or that use the same version of OpenSSL as `openssl`. Their cells of
/// single suites and groups, of less common keys and of refusals run with `--full` only.
const SHORTENED: [&str; 6] = ["java", "node", "erlang", "ruby", "perl", "php"];

/// Interoperability runs of Tercel against other TLS programs.
#[derive(Parser, Debug)]
struct Options {
    /// The tercel program.
    #[arg(long, value_name = "FILE", default_value = "target/release/tercel")]
    tercel: PathBuf,
    /// A folder with programs of conformance/peers
    #[arg(long, value_name = "DIR")]
    peers: Option<PathBuf>,
    /// Run only cells whose name contains each of these
    #[arg(long, value_name = "TEXT")]
    filter: Vec<String>,
    /// Also run slow cells: all cells with every program
    #[arg(long)]
    full: bool,
    /// Only run cells with OpenSSL, curl and GnuTLS
    #[arg(long, conflicts_with = "full")]
    short: bool,
    /// The number of cells that run at the same time
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// The least number of passed cells; 0 with a filter
    #[arg(long)]
    minimum: Option<usize>,
    /// Only print the names of the cells
    #[arg(long)]
    list: bool,
    /// Start `tercel` with --fips: what it does not approve must be refused
    #[arg(long, conflicts_with = "stand_in")]
    fips: bool,
    /// Run this peer instead of Tercel, to test the harness itself
    #[arg(long, value_name = "PEER")]
    stand_in: Option<String>,
}

impl Options {
    /// Whether a cell with this name is part of the run.
    fn selects(&self, name: &str) -> bool {
        let is_short = name.split([' ', '-']).any(|word| SHORT.contains(&word));
        (is_short || !self.short) && self.filter.iter().all(|text| name.contains(text))
    }

    /// The number of cells that have to pass.
    fn minimum(&self) -> usize {
        let all = match self {
            _ if !self.filter.is_empty() => 0,
            _ if self.fips => MINIMUM_FIPS,
            _ if self.short => MINIMUM_SHORT,
            _ => MINIMUM,
        };
        self.minimum.unwrap_or(all)
    }
}

fn main() -> Result<ExitCode> {
    let options = Options::parse();
    let folder = TemporaryFolder::create("tercel-interop")?;
    let subject = subject(&options, folder.path())?;
    let peers = peers(folder.path(), options.peers.as_deref());
    let table = table(&options, subject.as_ref(), &peers);
    let mut keys = psk::cells(options.peers.as_deref());
    keys.retain(|cell| options.selects(&cell.name()));
    // Cells of pre-shared keys use the key options of `tercel`, which a substitute does not have.
    // With --fips there are no pre-shared keys.
    let runs_tercel = options.stand_in.is_none();
    keys.retain(|_| runs_tercel && !options.fips);
    // Cells of post-handshake authentication use options of `tercel`, which a substitute does not
    // have.
    let late: Vec<_> = post_handshake_auth::cells(options.peers.as_deref())
        .into_iter()
        .filter(|_| runs_tercel)
        .filter(|cell| options.selects(&cell.to_string()))
        .collect();
    let mut proxied = proxied::cells();
    proxied.retain(|cell| options.selects(&cell.to_string()));
    // The terminator has no substitute.
    proxied.retain(|_| runs_tercel);
    if options.list {
        for row in &table {
            println!("{}", row.name());
        }
        keys.iter().for_each(|cell| println!("{}", cell.name()));
        for cell in &late {
            println!("{cell}");
        }
        proxied.iter().for_each(|cell| println!("{cell}"));
        return Ok(ExitCode::SUCCESS);
    }

    ensure!(subject.abilities().present, "no program at {}", options.tercel.display());
    let setting = prepare(folder.path())?;
    let tally = Tally::new(&peers);
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..options.jobs.max(1) {
            scope.spawn(|| {
                while let Some(row) = table.get(next.fetch_add(1, Ordering::Relaxed)) {
                    row.run(subject.as_ref(), &setting, &tally);
                }
            });
        }
    });
    // With a substitute the program of `--tercel` need not exist, because none of the cells below
    // starts it.
    let tercel = program::at(&options.tercel).unwrap_or_default();
    for cell in &keys {
        let built = options.peers.as_deref();
        let run = || cell.run(&tercel, folder.path(), built);
        tally.count(&cell.name(), cell.place(), cell.present(built), run);
    }
    for cell in &late {
        let place = (post_handshake_auth::CATEGORY, cell.peer(), cell.role);
        let run = || cell.run(&tercel, options.fips, &setting, options.peers.as_deref());
        tally.count(&cell.to_string(), place, cell.present(), run);
    }
    if !proxied.is_empty() {
        let place = proxied::ProxySetup::start(&tercel, options.fips, folder.path())?;
        for cell in &proxied {
            let field = (proxied::CATEGORY, cell.client.name(), Role::Serve);
            tally.count(&cell.to_string(), field, cell.present(&place), || cell.run(&place));
        }
    }
    Ok(tally.conclude(&peers, options.minimum()))
}

/// The cells of handshakes and features for each peer.
fn table<'p>(
    options: &Options,
    subject: &dyn Program,
    peers: &'p [Box<dyn Program>],
) -> Vec<Row<'p>> {
    peers
        .iter()
        .flat_map(|peer| {
            let mut cells = cells::cells(subject.abilities(), peer.abilities());
            if options.fips {
                cells = cells::with_fips(cells, peer.abilities());
            }
            let all = options.full || !SHORTENED.contains(&peer.name());
            let cells = cells.into_iter().filter(move |cell| all || cell.is_usual());
            let plain = cells.map(Kind::Handshake);
            // No code here uses the features of a substitute, so only `tercel` gets feature cells.
            let roles: &[Role] =
                if subject.names_causes() { &[Role::Serve, Role::Connect] } else { &[] };
            let peers = peer.abilities();
            let possible = |role: &&Role| match role {
                Role::Serve => peers.connects,
                Role::Connect => peers.serves,
            };
            let features = roles.iter().filter(possible).flat_map(|&role| {
                let features = peer.features(role).into_iter().filter(|feature| {
                    let is_refused = options.fips && !peers.has_extended_main_secret;
                    !(is_refused && feature.version() == Version::Tls12)
                });
                features.map(move |feature| {
                    let client_group = feature.client_group(role).filter(|_| options.fips);
                    Kind::Feature(FeatureCell { role, feature, client_group })
                })
            });
            let kinds: Vec<_> = plain.chain(features).collect();
            kinds.into_iter().map(|kind| Row { peer: peer.as_ref(), kind })
        })
        .filter(|row| options.selects(&row.name()))
        .collect()
}

/// One cell of any kind, with its peer.
struct Row<'a> {
    peer: &'a dyn Program,
    kind: Kind,
}

/// The kind of a cell.
#[derive(Clone, Debug)]
enum Kind {
    Handshake(Cell),
    Feature(FeatureCell),
}

impl Row<'_> {
    fn name(&self) -> String {
        let role = match self.role() {
            Role::Serve => "serve",
            Role::Connect => "connect",
        };
        let peer = self.peer.name();
        match &self.kind {
            Kind::Handshake(cell) => format!("{role} {peer} {cell}"),
            Kind::Feature(cell) => format!("{role} {peer} {cell}"),
        }
    }

    fn role(&self) -> Role {
        match &self.kind {
            Kind::Handshake(cell) => cell.role,
            Kind::Feature(cell) => cell.role,
        }
    }

    /// The row of the matrix.
    fn category(&self) -> &'static str {
        match &self.kind {
            Kind::Handshake(cell) => cell.category(),
            Kind::Feature(cell) => cell.feature.name(),
        }
    }

    fn run(&self, subject: &dyn Program, setting: &Setting, tally: &Tally) {
        let place = (self.category(), self.peer.name(), self.role());
        tally.count(&self.name(), place, self.peer.abilities().present, || match &self.kind {
            Kind::Handshake(cell) => run::run(cell, subject, self.peer, setting),
            Kind::Feature(cell) => exchange::run(*cell, subject, self.peer, setting),
        });
    }
}

struct Tally {
    passed: AtomicUsize,
    failed: AtomicUsize,
    /// Cells that failed and then passed. They also count as passed.
    unstable: AtomicUsize,
    skipped: AtomicUsize,
    matrix: Matrix,
}

impl Tally {
    fn new(peers: &[Box<dyn Program>]) -> Self {
        let features = Feature::ALL.iter().map(|feature| feature.name());
        let lines = cells::CATEGORIES.into_iter().chain(features).chain([
            psk::CATEGORY,
            post_handshake_auth::CATEGORY,
            proxied::CATEGORY,
        ]);
        let lines = lines.map(str::to_owned).collect();
        let names = peers.iter().map(|peer| peer.name());
        let columns = names.chain([proxied::BROWSER]).map(str::to_owned).collect();
        Self {
            passed: AtomicUsize::default(),
            failed: AtomicUsize::default(),
            unstable: AtomicUsize::default(),
            skipped: AtomicUsize::default(),
            matrix: Matrix::new(lines, columns),
        }
    }

    /// Runs one cell, again if it fails, prints its lines, and counts it in the matrix.
    fn count(
        &self,
        name: &str,
        (line, column, role): (&str, &str, Role),
        present: bool,
        run: impl Fn() -> Result<()>,
    ) {
        if !present {
            self.skipped.fetch_add(1, Ordering::Relaxed);
            println!("absent  {name}");
            return;
        }
        let attempt = |failure: &str| {
            let start = Instant::now();
            let verdict = run();
            let time = start.elapsed().as_secs_f32();
            match &verdict {
                Ok(()) => println!("ok      {name}  {time:.2} s"),
                // The root cause is the fault; the error's context has the output of the programs.
                Err(error) => {
                    println!("{failure} {name}  {time:.2} s: {}{error}", error.root_cause());
                }
            }
            verdict.is_ok()
        };
        let mut passed = attempt("AGAIN  ");
        if !passed {
            passed = attempt("FAIL   ");
            self.unstable.fetch_add(usize::from(passed), Ordering::Relaxed);
        }
        self.matrix.count(line, column, role, passed);
        let count = if passed { &self.passed } else { &self.failed };
        count.fetch_add(1, Ordering::Relaxed);
    }

    fn conclude(&self, peers: &[Box<dyn Program>], minimum: usize) -> ExitCode {
        let counts = [&self.passed, &self.failed, &self.unstable, &self.skipped];
        let [passed, failed, unstable, skipped] = counts.map(|count| count.load(Ordering::Relaxed));
        println!("\n{}\n", self.matrix.text());
        let absent: Vec<_> =
            peers.iter().filter(|peer| !peer.abilities().present).map(|peer| peer.name()).collect();
        if !absent.is_empty() {
            println!("absent programs: {}", absent.join(", "));
        }
        println!(
            "{passed} passed ({unstable} at the second attempt), {failed} failed, {skipped} skipped"
        );
        if unstable > MAX_UNSTABLE {
            println!("more than {MAX_UNSTABLE} cells passed only at the second attempt");
        }
        if passed < minimum {
            println!("fewer than the {minimum} cells that must pass");
        }
        let whole = failed == 0 && unstable <= MAX_UNSTABLE && passed >= minimum;
        if whole { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

fn peers(folder: &Path, built: Option<&Path>) -> Vec<Box<dyn Program>> {
    let mut peers: Vec<Box<dyn Program>> = vec![
        Box::new(OpenSsl::find()),
        Box::new(Curl::find()),
        Box::new(GnuTls::find()),
        Box::new(Driver::go(folder)),
        Box::new(Driver::python(folder)),
        Box::new(Driver::node(folder)),
        Box::new(Driver::java(folder)),
        Box::new(Nss::find(folder)),
        Box::new(Driver::wolfssl(folder)),
        Box::new(Driver::mbedtls(folder)),
        Box::new(Botan::find()),
        Box::new(Driver::erlang(folder)),
        Box::new(Driver::ruby(folder)),
        Box::new(Driver::perl(folder)),
        Box::new(Driver::php(folder)),
    ];
    if let Some(built) = built {
        for name in BUILT_PEERS {
            let path = built.join(name);
            // The caller chooses which programs are built, so a missing one is not reported as
            // "absent".
            if path.is_file() {
                peers.push(match name {
                    // This path is OpenSSL's own program, not a driver.
                    BUILT_OPENSSL => Box::new(OpenSsl::built(name, &path)),
                    _ => Box::new(Driver::built(name, &path)),
                });
            }
        }
    }
    peers
}

fn subject(options: &Options, folder: &Path) -> Result<Box<dyn Program>> {
    let subject: Box<dyn Program> = match &options.stand_in {
        None => Box::new(Tercel::at(options.tercel.clone(), options.fips)),
        Some(name) => {
            let mut all = peers(folder, options.peers.as_deref());
            let at = all.iter().position(|peer| peer.name() == name);
            all.swap_remove(at.with_context(|| format!("no peer has the name {name}"))?)
        }
    };
    Ok(subject)
}

fn prepare(folder: &Path) -> Result<Setting> {
    let payload = run::payload();
    fs::write(folder.join(run::PAYLOAD_FILE), &payload)?;
    Ok(Setting { pki: Pki::create(folder)?, files: folder.to_owned(), payload })
}

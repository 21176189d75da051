//! Chains with random faults, judged here, by `openssl verify`, by Go's crypto/x509, and by the
//! oracle, which knows the right result.
//!
//! A world has trust anchors, certificates that a peer sends, and some leaves; each leaf with the
//! certificates is a chain. Each judge is compared with the oracle, here also for every path by
//! itself. A line of `differences/generated.txt` explains why a judge differs; none can explain
//! that Tercel accepts what the oracle refuses.
//!
//! | module | content |
//! |---|---|
//! | `certificate`, `faults`, `world` | what certificates contain; their faults; a world |
//! | `lists` | revocation lists |
//! | `oracle` | every path, and the rules that it violates |
//! | `peers` | OpenSSL and Go |
//! | `comparison` | a judge compared with the oracle |
//! | `random` | choices from a seed |

mod certificate;
mod comparison;
mod faults;
mod lists;
mod oracle;
mod peers;
mod random;
mod world;

use std::fs;
use std::path::PathBuf;

use anyhow::Result;

use crate::case::{Case, verify};
use crate::differences::Differences;
use comparison::{Agreement, GO, Known, OPENSSL, TERCEL, described};
use oracle::{Given, Path};
use peers::{Go, Judgement, OpenSsl};
use random::Random;
use world::{Keys, LookedUp, Made, World};

#[derive(clap::Args, Debug)]
pub(crate) struct Options {
    /// The number of chains
    #[arg(long, default_value_t = 2000)]
    count: usize,
    /// The seed: the same seed makes the same chains, apart from keys and signatures
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The first world of the run, to continue one
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Judge the chains of this world only, and print them
    #[arg(long)]
    world: Option<u64>,
    /// Print the explained differences, too
    #[arg(long)]
    differences: bool,
    /// The folder for the files of `openssl verify`; a new one in the system's folder by default
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

/// The results of a run.
#[derive(Default)]
struct Counts {
    chains: usize,
    paths: usize,
    valid: usize,
    accepted_by_all: usize,
    refused_by_all: usize,
    /// Chains with an explained difference of Tercel, of OpenSSL and of Go.
    explained: [usize; 3],
    explained_paths: usize,
    wrong_accepts: usize,
    unexplained: usize,
    worlds: u64,
}

pub(crate) fn run(options: &Options) -> Result<bool> {
    let own_folder = std::env::temp_dir().join(format!("tercel-chains-{}", std::process::id()));
    let folder = options.folder.as_ref().unwrap_or(&own_folder);
    fs::create_dir_all(folder)?;
    let result = run_in(options, folder);
    if options.folder.is_none() {
        fs::remove_dir_all(folder)?;
    }
    result
}

fn run_in(options: &Options, folder: &std::path::Path) -> Result<bool> {
    println!("seed {}", options.seed);
    let openssl = OpenSsl::new(folder);
    let mut go = Go::start(folder)?;
    let keys = Keys::generate();
    let mut lines = Differences::parse(include_str!("../../differences/generated.txt"));
    let mut counts = Counts::default();
    let mut number = options.world.unwrap_or(options.from);
    while counts.chains < options.count {
        let world = World::make(&mut Random::new(options.seed, number), &keys);
        let by_openssl = openssl.verify(&world)?;
        let by_go = go.verify(&world)?;
        for (index, (by_openssl, of_go)) in by_openssl.iter().zip(&by_go.of_leaf).enumerate() {
            let paths = Given::new(&world, index).paths();
            let known = Known { paths: &paths, unread: &by_go.unread };
            let alone: Vec<_> =
                paths.iter().map(|path| compare_alone(&world, index, path, &mut lines)).collect();
            let own = judged(&world, index, &world.roots, &world.sent);
            let judgements = [(TERCEL, &own), (OPENSSL, by_openssl), (GO, of_go)];
            let agreements = [
                known.compare_own(&own, &alone),
                known.compare(OPENSSL, by_openssl, &mut lines),
                known.compare(GO, of_go, &mut lines),
            ];
            counts.add(&paths, &judgements, &agreements, &alone);
            let is = |wanted| agreements.contains(&wanted) || alone.contains(&wanted);
            let is_failure = is(Agreement::Unexplained) || is(Agreement::WrongAccept);
            if is_failure
                || options.world.is_some()
                || (options.differences && is(Agreement::Explained))
            {
                println!("world {number}, leaf {index}: {}", world.labels(index));
                print_chain(&known, &judgements, &agreements);
                print_paths(&world, index, &paths);
            }
        }
        counts.worlds += 1;
        number += 1;
        if options.world.is_some() {
            break;
        }
    }
    print(&counts, &lines);
    Ok(counts.unexplained == 0 && counts.wrong_accepts == 0)
}

/// Tercel's result for a leaf with these certificates.
fn judged<'m>(
    world: &World,
    leaf: usize,
    roots: impl IntoIterator<Item = &'m Made>,
    sent: impl IntoIterator<Item = &'m Made>,
) -> Judgement {
    let copied = |made: &Made| made.der.clone();
    let sent = sent.into_iter().map(copied);
    let case = Case {
        id: String::new(),
        section: String::new(),
        roots: roots.into_iter().map(copied).collect(),
        chain: std::iter::once(world.leaves[leaf].der.clone()).chain(sent).collect(),
        crls: world.lists.iter().map(|list| list.der.clone()).collect(),
        leaf_lists_only: world.looked_up == LookedUp::Leaf,
        name: world.name.clone(),
        usage: world.usage,
        time: world.time,
        accept: true,
    };
    Judgement {
        errors: verify(&case).into_iter().map(Into::into).collect(),
        ..Judgement::default()
    }
}

/// Tercel's result for the certificates of one path.
fn judged_alone(world: &World, leaf: usize, path: &Path<'_>) -> Judgement {
    judged(world, leaf, path.anchor, path.certificates[1..].iter().copied())
}

/// Compares Tercel with the oracle for the certificates of one path, which may end without an
/// anchor.
fn compare_alone<'w>(
    world: &'w World,
    leaf: usize,
    path: &Path<'w>,
    lines: &mut Differences,
) -> Agreement {
    let paths = Given::new(world, leaf).only(path).paths();
    let known = Known { paths: &paths, unread: &[] };
    known.compare(TERCEL, &judged_alone(world, leaf, path), lines)
}

impl Counts {
    fn add(
        &mut self,
        paths: &[Path<'_>],
        judgements: &[(&str, &Judgement); 3],
        agreements: &[Agreement; 3],
        alone: &[Agreement],
    ) {
        let is_valid = paths.iter().any(Path::is_valid);
        self.chains += 1;
        self.paths += alone.len();
        self.valid += usize::from(is_valid);
        let all = |accepts| judgements.iter().all(|(_, result)| result.accepts() == accepts);
        self.accepted_by_all += usize::from(is_valid && all(true));
        self.refused_by_all += usize::from(!is_valid && all(false));
        for (count, agreement) in self.explained.iter_mut().zip(agreements) {
            *count += usize::from(*agreement == Agreement::Explained);
        }
        let count = |wanted| alone.iter().filter(|agreement| **agreement == wanted).count();
        self.explained_paths += count(Agreement::Explained);
        let has = |wanted| agreements.contains(&wanted) || alone.contains(&wanted);
        self.wrong_accepts += usize::from(has(Agreement::WrongAccept));
        self.unexplained += usize::from(has(Agreement::Unexplained));
    }
}

/// Prints each judge's result and path.
fn print_chain(
    known: &Known<'_, '_>,
    judgements: &[(&str, &Judgement); 3],
    agreements: &[Agreement; 3],
) {
    for ((judge, result), agreement) in judgements.iter().zip(agreements) {
        let note = match agreement {
            Agreement::Agrees => "agrees",
            Agreement::Explained => "differs",
            Agreement::Unexplained => "UNEXPLAINED",
            Agreement::WrongAccept => "WRONG",
        };
        println!("    {judge}: {}{}: {note}", result.text(), known.path_text(result));
    }
    for (_, error) in known.unread {
        println!("    Go cannot read a certificate: {error}");
    }
}

/// Prints each path with the rules that it violates, and with Tercel's result for it alone.
fn print_paths(world: &World, leaf: usize, paths: &[Path<'_>]) {
    for path in paths {
        let rules = if path.is_valid() { "valid".to_owned() } else { path.violations.join(", ") };
        let own = judged_alone(world, leaf, path).text();
        println!("    path {}: {rules}; Tercel: {own}", described(path));
    }
}

fn print(counts: &Counts, lines: &Differences) {
    let [tercel, openssl, go] = counts.explained;
    println!("{} chains in {} worlds", counts.chains, counts.worlds);
    println!("{:>8} have a valid path", counts.valid);
    println!(
        "{:>8} are accepted by all, {} refused",
        counts.accepted_by_all, counts.refused_by_all
    );
    println!("{tercel:>8} explained differences of Tercel, {openssl} of OpenSSL, {go} of Go");
    println!("{:>8} paths alone, {} explained", counts.paths, counts.explained_paths);
    for (count, line) in lines.used() {
        println!("{count:>16} {line}");
    }
    if counts.chains >= ENOUGH {
        lines.unused().iter().for_each(|line| println!("no chain needs the line {line}"));
    }
    println!("{:>8} accepted without a valid path", counts.wrong_accepts);
    println!("{:>8} unexplained", counts.unexplained);
}

/// The number of chains in which each line should explain something.
const ENOUGH: usize = 20_000;

//! Chains with random faults, verified here, by `openssl verify` and by Go's crypto/x509.
//!
//! A world has trust anchors, certificates that a peer sends, and some leaves; each leaf with the
//! certificates is a chain. Where both others agree and the result here differs, a line of
//! `differences/generated.txt` has to match the labels of the chain's faults.

mod certificate;
mod faults;
mod peers;
mod random;
mod world;

use std::fs;
use std::path::PathBuf;

use anyhow::Result;

use crate::case::{Case, verify};
use crate::differences::Differences;
use peers::{Go, OpenSsl};
use random::Random;
use world::{Keys, World};

#[derive(clap::Args, Debug)]
pub(crate) struct Options {
    /// The number of chains
    #[arg(long, default_value_t = 2000)]
    count: usize,
    /// The seed: the same seed makes the same chains, apart from keys and signatures
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Verify the chains of this world only, and print them
    #[arg(long)]
    world: Option<u64>,
    /// The folder for the files of `openssl verify`; a new one in the system's folder by default
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

/// The results of a run.
#[derive(Default)]
struct Counts {
    chains: usize,
    all_accept: usize,
    all_refuse: usize,
    peers_differ: usize,
    explained: usize,
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
    let mut differences = Differences::parse(include_str!("../../differences/generated.txt"));
    let mut counts = Counts::default();
    let mut number = options.world.unwrap_or(0);
    while counts.chains < options.count {
        let world = World::make(&mut Random::new(options.seed, number), &keys);
        let others = openssl.verify(&world)?.into_iter().zip(go.verify(&world)?);
        for (index, (openssl, go)) in others.enumerate() {
            let own = verify(&case(&world, index));
            let verdict = |of: &Option<String>| of.clone().unwrap_or_else(|| "accepted".to_owned());
            let result = verdict(&own);
            let labels = world.labels(index);
            let text = format!("{labels}; OpenSSL: {}; Go: {}", verdict(&openssl), verdict(&go));
            if options.world.is_some() {
                println!("leaf {index}: {result} | {text}");
            }
            counts.chains += 1;
            match (own.is_none(), openssl.is_none(), go.is_none()) {
                (true, true, true) => counts.all_accept += 1,
                (false, false, false) => counts.all_refuse += 1,
                (_, openssl, go) if openssl != go => counts.peers_differ += 1,
                _ if differences.explains(&text, &result) => counts.explained += 1,
                _ => {
                    counts.unexplained += 1;
                    println!("world {number}, leaf {index}: {result} | {text}");
                }
            }
        }
        counts.worlds += 1;
        number += 1;
        if options.world.is_some() {
            break;
        }
    }
    print(&counts, &differences);
    Ok(counts.unexplained == 0)
}

fn case(world: &World, leaf: usize) -> Case {
    let sent = world.sent.iter().map(|one| one.der.clone());
    Case {
        id: String::new(),
        section: String::new(),
        roots: world.roots.iter().map(|one| one.der.clone()).collect(),
        chain: std::iter::once(world.leaves[leaf].der.clone()).chain(sent).collect(),
        crls: Vec::new(),
        name: world.name.clone(),
        usage: world.usage,
        time: world.time,
        accept: true,
    }
}

fn print(counts: &Counts, differences: &Differences) {
    println!("{} chains in {} worlds", counts.chains, counts.worlds);
    println!("{:>8} accepted by all", counts.all_accept);
    println!("{:>8} refused by all", counts.all_refuse);
    println!("{:>8} OpenSSL and Go differ", counts.peers_differ);
    println!("{:>8} explained differences from both", counts.explained);
    for (count, line) in differences.used() {
        println!("{count:>16} {line}");
    }
    println!("{:>8} unexplained differences from both", counts.unexplained);
}

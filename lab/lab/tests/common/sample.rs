//! A synthetic report with every row, every verdict and all optional content.

use std::collections::BTreeMap;

use lab::machine::Machine;
use lab::random::Random;
use lab::report::{
    Figure, PeerReport, Report, RowReport, SCHEMA, Settings, SideReport, SpeedRatio,
};
use lab::statistics::{ConfidenceInterval, median, quantile};
use lab_scenario::{About, Accounting, Distribution, Row, Task, Unit, rows};

/// Peers, the floor last, with their relative times.
const PEERS: [(&str, &str, f64); 10] = [
    ("tercel", "Tercel", 1.0),
    ("rustls", "rustls 0.23", 1.1),
    ("rustls-unbuffered", "rustls 0.23, unbuffered", 1.0),
    ("openssl", "OpenSSL 4.0", 1.9),
    ("openssl-3.5", "OpenSSL 3.5", 2.1),
    ("boringssl", "BoringSSL", 0.97),
    ("s2n", "s2n-tls", 1.3),
    ("go", "Go crypto/tls", 2.6),
    ("rustls-next", "rustls 0.24", 1.06),
    ("floor", "floor", 0.8),
];

/// The rounds of every row.
const ROUNDS: usize = 15;

/// A report with random values from this seed.
pub(crate) fn report(seed: u64) -> Report {
    let mut random = Random::new(seed);
    let mut all = rows::all();
    for row in &mut all {
        match row.task {
            Task::Threads => row.threads = vec![1, 2, 3, 4, 6, 8, 10, 12],
            Task::Latency => row.threads = vec![8],
            _ => {}
        }
    }
    let rows = all.iter().enumerate().map(|(place, row)| of_row(place, row, &mut random));
    let rows = rows.collect();
    Report {
        schema: SCHEMA,
        started: 1_795_305_600,
        updated: 1_795_308_000,
        settings: settings(seed),
        machine: machine(),
        peers: peers(),
        rows,
        profiles: Vec::new(),
    }
}

fn of_row(place: usize, row: &Row, random: &mut Random) -> RowReport {
    let mut failures = BTreeMap::new();
    if place % 17 == 5 {
        failures
            .insert("go".to_owned(), "client: the group is <X25519> & not X25519MLKEM768".into());
    }
    let mut unable = BTreeMap::new();
    if row.early_data > 0 {
        unable
            .insert("s2n".to_owned(), "early data needs a policy that it does not have".to_owned());
    }
    let taking_part: Vec<_> = PEERS
        .iter()
        .filter(|(name, ..)| !failures.contains_key(*name) && !unable.contains_key(*name))
        .filter(|(name, ..)| {
            *name != "floor" || !matches!(row.task, Task::SetUp | Task::Memory | Task::Loading)
        })
        .collect();
    let sides = row.sides().into_iter().map(|side| of_side(place, row, side, &taking_part, random));
    let sides = sides.collect();
    let mut distributions = BTreeMap::new();
    if row.task == Task::Latency {
        for (name, _, factor) in &taking_part {
            let of_both =
                ["client", "server"].map(|side| (side.to_owned(), times(*factor, random)));
            distributions.insert((*name).to_owned(), of_both.into());
        }
    }
    let kind = if row.resumption.is_some() { "resumed" } else { "full" };
    let done: BTreeMap<_, _> = [("kind".to_owned(), kind.to_owned())].into();
    let noisy = place % 13 == 4;
    RowReport {
        row: row.clone(),
        title: row.title(),
        rounds: ROUNDS,
        seconds: 31.4,
        others: Some(if noisy { 0.7 } else { 0.01 }),
        noisy,
        sides,
        failures,
        unable,
        distributions,
        done: taking_part.iter().map(|(name, ..)| ((*name).to_owned(), done.clone())).collect(),
    }
}

fn of_side(
    place: usize,
    row: &Row,
    side: String,
    peers: &[&(&str, &str, f64)],
    random: &mut Random,
) -> SideReport {
    // Every ninth row is too noisy for a verdict.
    let noise = if place % 9 == 2 { 0.2 } else { 0.008 };
    let threads = side.split(' ').next().and_then(|count| count.parse::<f64>().ok());
    let base = match row.unit(&side) {
        Unit::Rate => 90_000.0 / threads.map_or(1.0, |count| count.min(8.0)),
        Unit::Throughput => 150.0 + 0.1 * row.write_size as f64,
        Unit::Time => {
            if side.ends_with("P99") {
                120_000.0
            } else {
                90_000.0
            }
        }
        Unit::Bytes => 9_000.0,
        _ => 40.0,
    };
    // Peers differ from row to row.
    let taken: Vec<Vec<f64>> = peers
        .iter()
        .map(|(_, _, factor)| {
            let turn = 1.0 + 0.05 * (random.below(3) as f64 - 1.0);
            (0..ROUNDS).map(|_| base * factor * turn * (1.0 + noise * part(random))).collect()
        })
        .collect();
    let floor = peers.iter().position(|(name, ..)| *name == "floor");
    let best = |own: usize| {
        let others = (0..peers.len()).filter(|&other| other != own && Some(other) != floor);
        others.min_by(|&a, &b| median(&taken[a]).total_cmp(&median(&taken[b])))
    };
    let figures = peers.iter().enumerate().map(|(own, (name, ..))| {
        let speed = best(own).filter(|_| Some(own) != floor).map(|other| {
            let interval = interval(&taken[other], &taken[own]);
            SpeedRatio { against: peers[other].0.to_owned(), interval, verdict: interval.verdict() }
        });
        let in_floors = floor.filter(|floor| *floor != own);
        let parked = row.task == Task::Memory && *name == "tercel";
        let parts = if parked { vec![("client parked".to_owned(), 418.0)] } else { Vec::new() };
        Figure {
            peer: (*name).to_owned(),
            nanoseconds: median(&taken[own]),
            quartiles: [quantile(&taken[own], 0.25), quantile(&taken[own], 0.75)],
            rounds: taken[own].clone(),
            parts: parts.into_iter().collect(),
            speed,
            floors: in_floors.map(|floor| interval(&taken[own], &taken[floor])),
        }
    });
    SideReport { peers: figures.collect(), side }
}

/// An approximation of `statistics::ratio` without resampling.
fn interval(numerator: &[f64], denominator: &[f64]) -> ConfidenceInterval {
    let ratios: Vec<_> = numerator.iter().zip(denominator).map(|(a, b)| a / b).collect();
    let [low, high] = [0.3, 0.7].map(|part| quantile(&ratios, part));
    ConfidenceInterval { ratio: median(&ratios), low, high, rounds: ROUNDS }
}

/// A random number from -1 to 1, mostly near 0.
fn part(random: &mut Random) -> f64 {
    (0..4).map(|_| random.below(1000) as f64 / 2000.0 - 0.25).sum()
}

fn times(factor: f64, random: &mut Random) -> Distribution {
    let mut times = Distribution::default();
    for place in 0..2000 {
        let slow = if place % 70 == 0 { 1.6 } else { 1.0 };
        times.count(90_000.0 * factor * slow * (1.0 + 0.3 * part(random)));
    }
    times
}

fn peers() -> Vec<PeerReport> {
    let mut peers: Vec<_> = PEERS
        .iter()
        .map(|(name, label, _)| PeerReport {
            name: (*name).to_owned(),
            label: (*label).to_owned(),
            floor: *name == "floor",
            about: Some(About {
                protocol: 1,
                library: (*label).to_owned(),
                version: "1.2.3".to_owned(),
                crypto: "AWS-LC (aws-lc-sys 0.47.0)".to_owned(),
                interface: "the fastest that its documentation offers".to_owned(),
                build: "-fPIC -pthread -m64 -Wall -O3 -DOPENSSL_USE_NODELETE".to_owned(),
                program: None,
                repeats: true,
            }),
            failure: None,
        })
        .collect();
    peers.push(PeerReport {
        name: "broken".to_owned(),
        label: "A library".to_owned(),
        floor: false,
        about: None,
        failure: Some(
            "the build ended with exit status: 1:\ncmake is <missing> & wanted".to_owned(),
        ),
    });
    peers
}

fn settings(seed: u64) -> Settings {
    Settings {
        mode: "full".to_owned(),
        accounting: Accounting::Neutral,
        seed,
        rounds: ROUNDS,
        measure_ms: 200,
        row_seconds: 150.0,
        minutes: Some(40.0),
        allocator: "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2".to_owned(),
        pin: Some(3),
        profile: "release".to_owned(),
        cpus: 8,
        threads: vec![1, 2, 3, 4, 6, 8, 10, 12],
        connections: rows::CONNECTIONS.to_vec(),
    }
}

fn machine() -> Machine {
    Machine {
        cpu: "A processor of the sample".to_owned(),
        cpus: 8,
        features: ["aes", "pclmulqdq", "avx512f", "vaes"].map(str::to_owned).into(),
        virtual_machine: true,
        governor: "performance".to_owned(),
        turbo: "off".to_owned(),
        smt: "0".to_owned(),
        memory: 32 << 30,
        kernel: "6.1.0".to_owned(),
        system: "Debian GNU/Linux 12 (bookworm)".to_owned(),
        rustc: "rustc 1.95.0".to_owned(),
        cc: "cc (Debian 12.2.0) 12.2.0".to_owned(),
        cxx: "c++ (Debian 12.2.0) 12.2.0".to_owned(),
        flags: "none".to_owned(),
        commit: "0123456789ab".to_owned(),
        load: "0.01 0.02 0.00 1/99 4242".to_owned(),
    }
}

//! Compares the timed programs on Tercel, rustls and OpenSSL: `just rust-users-compare`.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::certificates::Certificates;
use crate::servers::Servers;

/// Each row: its name, the program, the server, and whether the program trusts the authorities of
/// the system, too. The certificate of the server's authority is an option of each program.
const ROWS: [(&str, &str, &str, bool); 8] = [
    ("reqwest, bodies of 64 B", "requests", "http", true),
    ("reqwest, bodies of 100 kB", "bodies", "http", true),
    ("sqlx, new connections", "queries", "postgresql", true),
    ("sqlx, no system roots", "queries", "postgresql", false),
    ("streams, 1 MiB received", "receive", "streams", false),
    ("streams, 1 MiB sent", "send", "streams", false),
    ("streams, 64 B both ways", "small", "streams", false),
    ("streams, new connections", "visits", "streams", false),
];
const ROUNDS: usize = 16;
/// The duration of a program in one round.
const MILLISECONDS: u32 = 200;

/// A program that links one implementation of TLS, with the arguments that select the comparison.
pub(crate) struct Contender {
    pub(crate) name: &'static str,
    pub(crate) command: Vec<String>,
}

/// Runs every row with each contender, alternating, and prints the ratios to the first one.
pub(crate) async fn run(contenders: &[Contender]) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let certificates = Certificates::create(folder.path())?;
    let servers = Servers::start(folder.path(), &certificates).await?;
    let mut rows = Vec::new();
    for (name, program, server, system_roots) in ROWS {
        let Some(port) = servers.port(server) else {
            println!("absent: {server}");
            continue;
        };
        let start = |contender| {
            Running::start(contender, program, port, &certificates.authority, system_roots)
        };
        rows.push((name, contenders.iter().map(start).collect::<Result<Vec<_>>>()?));
    }
    // The servers are tasks of this process.
    let rows = tokio::task::spawn_blocking(move || -> Result<_> {
        for round in 0..ROUNDS {
            for (_, contenders) in &mut rows {
                let count = contenders.len();
                for position in 0..count {
                    contenders[(position + round) % count].round()?;
                }
            }
        }
        Ok(rows)
    })
    .await??;
    print(contenders, &rows);
    Ok(())
}

/// A contender's process for one row, and its results.
struct Running {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// Operations in a second, for each round.
    rates: Vec<f64>,
    operations: u64,
    processor_time: ProcessorTime,
}

/// In hundredths of a second: before the first round, and now.
struct ProcessorTime {
    first: u64,
    last: u64,
}

impl Running {
    fn start(
        contender: &Contender,
        program: &str,
        port: u16,
        authority: &Path,
        system_roots: bool,
    ) -> Result<Self> {
        let (path, arguments) = contender.command.split_first().context("no program")?;
        let mut command = Command::new(path);
        command.args(arguments).args([program, &port.to_string()]).arg(authority);
        command.env_remove("SSL_CERT_FILE").env_remove("SSL_CERT_DIR");
        if !system_roots {
            command.env("SSL_CERT_FILE", authority);
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = child.stdin.take().context("a pipe was requested")?;
        let output = BufReader::new(child.stdout.take().context("a pipe was requested")?);
        let processor_time = ProcessorTime { first: 0, last: 0 };
        let mut running =
            Self { child, input, output, rates: Vec::new(), operations: 0, processor_time };
        // The first operations connect and fill caches.
        running.round().with_context(|| format!("{} does not run {program}", contender.name))?;
        running.rates.clear();
        running.operations = 0;
        running.processor_time.first = running.processor_time.last;
        Ok(running)
    }

    fn round(&mut self) -> Result<()> {
        writeln!(self.input, "{MILLISECONDS}")?;
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        let numbers: Vec<u64> = line.split_whitespace().map_while(|n| n.parse().ok()).collect();
        let [count, micros, processor_time] = numbers[..] else {
            anyhow::bail!("the program ended: {:?}", self.child.wait()?);
        };
        ensure!(micros > 0, "the round took no time");
        self.rates.push(count as f64 * 1e6 / micros as f64);
        self.operations += count;
        self.processor_time.last = processor_time;
        Ok(())
    }

    /// Milliseconds of this process for an operation.
    fn cost(&self) -> f64 {
        let ProcessorTime { first, last } = self.processor_time;
        (last - first) as f64 * 10.0 / self.operations as f64
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn print(contenders: &[Contender], rows: &[(&str, Vec<Running>)]) {
    println!("{ROUNDS} rounds of {MILLISECONDS} ms; medians and quartiles over the rounds");
    let header = ("row", "with", "operations/s", "ratio", "processor time");
    println!(
        "{:<28}{:<10}{:>14}   {:<22}{:>14}   ratio",
        header.0, header.1, header.2, header.3, header.4
    );
    for (name, results) in rows {
        let Some((first, _)) = results.split_first() else { continue };
        for (contender, result) in contenders.iter().zip(results) {
            let ratios = first.rates.iter().zip(&result.rates).map(|(ours, theirs)| ours / theirs);
            let [low, ratio, high] = quartiles(ratios.collect());
            let [_, rate, _] = quartiles(result.rates.clone());
            let ratio = format!("{ratio:.3} ({low:.3} to {high:.3})");
            let costs = result.cost() / first.cost();
            println!(
                "{name:<28}{:<10}{rate:>14.0}   {ratio:<22}{:>11.3} ms   {costs:.3}",
                contender.name,
                result.cost(),
            );
        }
    }
}

/// The first quartile, the median and the third quartile.
fn quartiles(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    let at = |numerator: usize| {
        let position = (values.len().saturating_sub(1)) as f64 * numerator as f64 / 4.0;
        let (low, high) = (position.floor() as usize, position.ceil() as usize);
        values[low] + (values[high] - values[low]) * position.fract()
    };
    [at(1), at(2), at(3)]
}

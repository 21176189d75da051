//! Runs of workers under callgrind.
//!
//! The worker repeats its row inside functions named after the sides. Callgrind counts only inside
//! these functions, with whole call stacks, and writes a file after each slice of repetitions. The
//! first slice is discarded because it contains one-time work. See `spans.rs` of [`lab_scenario`]
//! for the functions.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use lab_scenario::Row;
use lab_scenario::protocol::{Reply, Request};

use crate::worker::peers::Peer;
use crate::worker::process::{LaunchOptions, WorkerProcess};

/// The module of the functions that callgrind is configured with.
const SPANS: &str = "lab_scenario::spans::";

/// The maximum depth of call stacks. Real stacks are shallower.
const MAX_STACK_DEPTH: u32 = 200;

/// Workers are slower under callgrind, mostly in one-time work.
const TIMEOUT_FACTOR: u32 = 5;

/// The time allowed for one request, in addition to the worker's time limit.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(240);

/// The number of repetitions of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Repetitions {
    /// Repetitions in a slice. Each slice has its own output file.
    pub(crate) repetitions: u64,
    /// Counted slices. The first slice of a run is not counted.
    pub(crate) slices: usize,
}

/// The outcome for a peer.
pub(crate) enum CountOutcome {
    Counted(Counted),
    Cannot(String),
}

/// The raw counts of a peer.
pub(crate) struct Counted {
    /// Handshakes or writes in each slice.
    pub(crate) repetitions: u64,
    /// The output of callgrind for each slice.
    pub(crate) slices: Vec<String>,
    /// The negotiated parameters that both sides reported.
    pub(crate) done: BTreeMap<String, String>,
}

/// The exclusive instruction count of one call stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cost<'t> {
    /// The functions from the innermost to the one below the side's function.
    pub(crate) stack: Vec<&'t str>,
    /// One of [`Row::sides`].
    pub(crate) side: &'t str,
    pub(crate) instructions: u64,
}

/// Checks that valgrind is installed.
pub(crate) fn available() -> std::result::Result<(), String> {
    let mut command = Command::new("valgrind");
    let status = command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("valgrind exited with {status}")),
        Err(_) => Err("valgrind is not installed".to_owned()),
    }
}

/// Runs a row of a peer under callgrind.
pub(crate) fn count(
    peer: &Peer,
    row: &Row,
    certificates: &Path,
    launch: &LaunchOptions,
    times: Repetitions,
) -> Result<CountOutcome> {
    if !peer.about.repeats {
        return Ok(CountOutcome::Cannot(
            "the worker does not support instruction counts".to_owned(),
        ));
    }
    let files = Files::new(certificates);
    let mut process = WorkerProcess::start(&peer.program, &under_callgrind(launch, &files.0))?;
    let row = Box::new(row.counted());
    let prepare = Request::Prepare { row, files: certificates.to_owned(), placement: None };
    match process.request(&prepare, REQUEST_TIMEOUT)? {
        Reply::Ready => {}
        Reply::Cannot { why } => return Ok(CountOutcome::Cannot(why)),
        Reply::Failed { why } => bail!(why),
        other => bail!("unexpected reply: {other:?}"),
    }
    let mut counted = Counted { repetitions: 0, slices: Vec::new(), done: BTreeMap::new() };
    for slice in 0..=times.slices {
        match process
            .request(&Request::<Row>::Repeat { count: times.repetitions }, REQUEST_TIMEOUT)?
        {
            Reply::Measured(done) => {
                ensure!(done.repetitions > 0, "the worker made no repetitions");
                counted.repetitions = done.repetitions;
                counted.done = done.done;
            }
            Reply::Cannot { why } => return Ok(CountOutcome::Cannot(why)),
            Reply::Failed { why } => bail!(why),
            other => bail!("unexpected reply: {other:?}"),
        }
        if slice > 0 {
            let path = files.part(slice + 1);
            let text = fs::read(&path).with_context(|| "no callgrind output")?;
            counted.slices.push(String::from_utf8_lossy(&text).into_owned());
        }
    }
    Ok(CountOutcome::Counted(counted))
}

/// Start options for a worker under callgrind.
fn under_callgrind(launch: &LaunchOptions, out: &Path) -> LaunchOptions {
    let mut under: Vec<_> = ["valgrind", "--quiet", "--tool=callgrind", "--collect-atstart=no"]
        .map(String::from)
        .into();
    let toggles = ["client", "server", "send", "receive", "untimed"];
    under.extend(toggles.map(|name| format!("--toggle-collect={SPANS}{name}*")));
    under.push(format!("--dump-after={SPANS}all*"));
    under.push(format!("--separate-callers={MAX_STACK_DEPTH}"));
    under.push(format!("--callgrind-out-file={}", out.display()));
    // Workers are not pinned, because counts do not depend on the CPU and several peers run at the
    // same time.
    LaunchOptions {
        wrapper: under,
        pin: None,
        limit: launch.limit * TIMEOUT_FACTOR,
        ..launch.clone()
    }
}

/// The output files of callgrind, removed at the end.
struct Files(PathBuf);

impl Files {
    fn new(folder: &Path) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Self(folder.join(format!("callgrind-{}-{number}", std::process::id())))
    }

    /// The file written after slice `number`.
    fn part(&self, number: usize) -> PathBuf {
        let mut name = self.0.clone().into_os_string();
        name.push(format!(".{number}"));
        name.into()
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
        for number in 1.. {
            if fs::remove_file(self.part(number)).is_err() {
                break;
            }
        }
    }
}

/// The exclusive cost of each call stack.
///
/// # Errors
/// If `text` is not callgrind output, or if instructions belong to no side.
pub(crate) fn costs(text: &str) -> Result<Vec<Cost<'_>>> {
    ensure!(text.starts_with("# callgrind format"), "not callgrind output");
    let mut names: HashMap<&str, &str> = HashMap::new();
    let (mut stack, mut of_call) = ("", false);
    let mut sums: HashMap<&str, u64> = HashMap::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("cfn=") {
            resolve(name, &mut names)?;
        } else if let Some(name) = line.strip_prefix("fn=") {
            stack = resolve(name, &mut names)?;
        } else if line.starts_with("calls=") {
            of_call = true;
        } else if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) {
            // The line after a call has the inclusive cost of the callee, which the callee's own
            // lines count.
            if !std::mem::take(&mut of_call) {
                let cost = line.split_whitespace().nth(1).and_then(|cost| cost.parse().ok());
                *sums.entry(stack).or_default() += cost.unwrap_or(0_u64);
            }
        }
    }
    sums.into_iter().filter(|(_, sum)| *sum > 0).map(|(stack, sum)| cost(stack, sum)).collect()
}

/// Resolves a compressed name, which is written out once and later given by its number alone.
fn resolve<'t>(name: &'t str, names: &mut HashMap<&'t str, &'t str>) -> Result<&'t str> {
    let (number, text) = name.split_once(')').context("a name without a number")?;
    let text = text.trim_start();
    if !text.is_empty() {
        names.insert(number, text);
    }
    names.get(number).copied().with_context(|| format!("undefined name: {name}"))
}

fn cost(text: &str, instructions: u64) -> Result<Cost<'_>> {
    let mut stack = Vec::new();
    for frame in text.split('\'') {
        if let Some(span) = frame.strip_prefix(SPANS) {
            let side = span.split(':').next().unwrap_or_default();
            return Ok(Cost { stack, side, instructions });
        }
        // The suffix is a recursion depth if it is a number.
        if !frame.bytes().all(|byte| byte.is_ascii_digit()) {
            stack.push(frame);
        }
    }
    bail!(
        "{instructions} instructions outside of all sides: {}",
        text.chars().take(200).collect::<String>()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Callgrind output of a client that calls `f`, which calls `g` twice and itself, and of a
    /// server that calls `g`.
    const SAMPLE: &str = "# callgrind format
version: 1
positions: line
events: Ir

ob=(1) /worker
fl=(1) ???
fn=(2) f'lab_scenario::spans::client'lab_scenario::worker::answer'main
0 100
cfn=(4) g'f'lab_scenario::spans::client'lab_scenario::worker::answer'main
calls=2 0
0 30
+3 7

fn=(4)
0 30

fn=(6) g'lab_scenario::spans::server::<u8>'main
0 11

fn=(8) f'2'f'lab_scenario::spans::client'main
* 5
totals: 153
";

    #[test]
    fn each_stack_has_its_exclusive_cost() {
        let mut costs = costs(SAMPLE).unwrap();
        costs.sort_by_key(|cost| cost.instructions);
        let cost = |side, stack: &[&'static str], instructions| Cost {
            side,
            stack: stack.to_vec(),
            instructions,
        };
        assert_eq!(
            costs,
            [
                cost("client", &["f", "f"], 5),
                cost("server", &["g"], 11),
                cost("client", &["g", "f"], 30),
                cost("client", &["f"], 107),
            ]
        );
    }

    #[test]
    fn work_of_no_side_and_other_files_are_errors() {
        let astray = SAMPLE.replace("lab_scenario::spans::server::<u8>", "elsewhere");
        assert!(
            costs(&astray)
                .unwrap_err()
                .to_string()
                .contains("11 instructions outside of all sides")
        );
        assert!(costs("events: Ir").is_err());
        assert!(costs(&SAMPLE.replace("fn=(4) g'f", "fn=(5) g'f")).is_err());
    }
}

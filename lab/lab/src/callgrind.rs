//! A worker under callgrind: what each side executes, by the functions that were under way.
//!
//! The worker does its row so often, in functions named for the side whose work it is; callgrind counts inside
//! these only, with the whole stack, and writes a file when the repetitions end. The first ones are left out, so
//! that what happens once does not count. Must not know: what figures mean. Next: `instructions.rs`,
//! `profile.rs`; `spans.rs` of [`lab_scenario`].

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use lab_scenario::Row;
use lab_scenario::protocol::{Reply, Request};

use crate::peers::Peer;
use crate::process::{Launch, Process};

/// Where the functions are that callgrind is told of.
const SPANS: &str = "lab_scenario::spans::";

/// More frames than any stack has between a side's function and the innermost.
const DEPTH: u32 = 200;

/// A worker may be so many times slower under callgrind, in what it does once above all.
const SLOWER: u32 = 5;

/// Seconds for which one request may go on, beyond the time limit of a worker.
const PATIENCE: Duration = Duration::from_secs(240);

/// How often a row is done, and counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    /// In a slice, which has a file of its own.
    pub(crate) repetitions: u64,
    /// Besides the first, which is not looked at.
    pub(crate) slices: usize,
}

/// What became of a peer.
pub(crate) enum Turn {
    Counted(Counted),
    Cannot(String),
}

/// What a peer executed.
pub(crate) struct Counted {
    /// Handshakes or writes in each slice.
    pub(crate) repetitions: u64,
    /// What callgrind wrote of each slice.
    pub(crate) slices: Vec<String>,
    /// What both sides said they did.
    pub(crate) done: BTreeMap<String, String>,
}

/// Instructions that one stack executed in its innermost function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cost<'t> {
    /// Functions, the innermost first, up to the side's.
    pub(crate) stack: Vec<&'t str>,
    /// One of [`Row::sides`].
    pub(crate) side: &'t str,
    pub(crate) instructions: u64,
}

/// Whether there is a callgrind here, or why not.
pub(crate) fn available() -> std::result::Result<(), String> {
    let mut command = Command::new("valgrind");
    let status = command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("valgrind ended with {status}")),
        Err(_) => Err("valgrind is not installed".to_owned()),
    }
}

/// Has a peer do a row under callgrind. Files are made in `folder` and removed.
pub(crate) fn count(
    peer: &Peer,
    row: &Row,
    certificates: &Path,
    launch: &Launch,
    times: Times,
) -> Result<Turn> {
    if !peer.about.repeats {
        return Ok(Turn::Cannot("its worker does not show whose work is under way".to_owned()));
    }
    let files = Files::new(certificates);
    let mut process = Process::start(&peer.program, &under_callgrind(launch, &files.0))?;
    let row = Box::new(row.counted());
    let prepare = Request::Prepare { row, files: certificates.to_owned(), placement: None };
    match process.ask(&prepare, PATIENCE)? {
        Reply::Ready => {}
        Reply::Cannot { why } => return Ok(Turn::Cannot(why)),
        Reply::Failed { why } => bail!(why),
        other => bail!("an answer to another question: {other:?}"),
    }
    let mut counted = Counted { repetitions: 0, slices: Vec::new(), done: BTreeMap::new() };
    for slice in 0..=times.slices {
        match process.ask(&Request::<Row>::Repeat { count: times.repetitions }, PATIENCE)? {
            Reply::Measured(done) => {
                ensure!(done.repetitions > 0, "it repeated nothing");
                counted.repetitions = done.repetitions;
                counted.done = done.done;
            }
            Reply::Cannot { why } => return Ok(Turn::Cannot(why)),
            Reply::Failed { why } => bail!(why),
            other => bail!("an answer to another question: {other:?}"),
        }
        if slice > 0 {
            let path = files.part(slice + 1);
            let text = fs::read(&path).with_context(|| "callgrind wrote nothing")?;
            counted.slices.push(String::from_utf8_lossy(&text).into_owned());
        }
    }
    Ok(Turn::Counted(counted))
}

/// How a worker is started so that callgrind counts inside the functions of the sides.
fn under_callgrind(launch: &Launch, out: &Path) -> Launch {
    let mut under: Vec<_> = ["valgrind", "--quiet", "--tool=callgrind", "--collect-atstart=no"]
        .map(String::from)
        .into();
    let toggles = ["client", "server", "send", "receive", "untimed"];
    under.extend(toggles.map(|name| format!("--toggle-collect={SPANS}{name}*")));
    under.push(format!("--dump-after={SPANS}all*"));
    under.push(format!("--separate-callers={DEPTH}"));
    under.push(format!("--callgrind-out-file={}", out.display()));
    // Counts do not depend on the processor, and all are wanted for several peers at once.
    Launch { under, pin: None, limit: launch.limit * SLOWER, ..launch.clone() }
}

/// Where callgrind writes, removed at the end.
struct Files(PathBuf);

impl Files {
    fn new(folder: &Path) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Self(folder.join(format!("callgrind-{}-{number}", std::process::id())))
    }

    /// What it wrote at the end of its `number`th repetitions.
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

/// What the innermost function of each stack executed itself.
///
/// # Errors
/// If this is no file of callgrind's, or work was done outside of all sides.
pub(crate) fn costs(text: &str) -> Result<Vec<Cost<'_>>> {
    ensure!(text.starts_with("# callgrind format"), "callgrind wrote something else");
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
            // The line after a call tells what the callee and those below executed; they tell it themselves.
            if !std::mem::take(&mut of_call) {
                let cost = line.split_whitespace().nth(1).and_then(|cost| cost.parse().ok());
                *sums.entry(stack).or_default() += cost.unwrap_or(0_u64);
            }
        }
    }
    sums.into_iter().filter(|(_, sum)| *sum > 0).map(|(stack, sum)| cost(stack, sum)).collect()
}

/// A name that is written once with its number, later as the number alone.
fn resolve<'t>(name: &'t str, names: &mut HashMap<&'t str, &'t str>) -> Result<&'t str> {
    let (number, text) = name.split_once(')').context("a name without a number")?;
    let text = text.trim_start();
    if !text.is_empty() {
        names.insert(number, text);
    }
    names.get(number).copied().with_context(|| format!("a name that was never told: {name}"))
}

fn cost(text: &str, instructions: u64) -> Result<Cost<'_>> {
    let mut stack = Vec::new();
    for frame in text.split('\'') {
        if let Some(span) = frame.strip_prefix(SPANS) {
            let side = span.split(':').next().unwrap_or_default();
            return Ok(Cost { stack, side, instructions });
        }
        // How deep a function has called itself.
        if !frame.bytes().all(|byte| byte.is_ascii_digit()) {
            stack.push(frame);
        }
    }
    bail!("{instructions} instructions of no side: {}", text.chars().take(200).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As callgrind writes it: a client that calls `f`, which calls `g` twice and itself; a server that calls `g`.
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
    fn each_stack_is_told_what_its_innermost_function_did() {
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
        assert!(costs(&astray).unwrap_err().to_string().contains("11 instructions of no side"));
        assert!(costs("events: Ir").is_err());
        assert!(costs(&SAMPLE.replace("fn=(4) g'f", "fn=(5) g'f")).is_err());
    }
}

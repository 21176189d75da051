//! Runs steps, two at a time, and prints the end of each one's output.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::Instant;

use crate::plan::Selected;

/// Steps that run at the same time: one compiles or computes while another waits for sockets and
/// timers.
const LANES: usize = 2;
/// The time after which a step is ended.
const LIMIT: &str = "40m";

/// The outcome of a step.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) name: &'static str,
    pub(crate) verdict: Verdict,
    /// Seconds from start to end, without the installation of programs.
    pub(crate) seconds: f64,
    /// Seconds of processor time.
    pub(crate) processor_seconds: f64,
    /// Lines about programs that this machine does not have.
    pub(crate) absent: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Passed,
    /// The step failed, and passed when it ran once more alone.
    Unstable,
    Failed,
}

/// All outcomes of a run, and the seconds for the installation of programs.
#[derive(Debug, Default)]
pub(crate) struct Outcomes {
    pub(crate) outcomes: Vec<Outcome>,
    pub(crate) setup_seconds: f64,
}

struct State<'a> {
    waiting: Vec<Selected>,
    running: Vec<Selected>,
    /// Steps to run once more, alone.
    again: Vec<Selected>,
    done: Outcomes,
    on_end: &'a (dyn Fn(&Outcome) + Sync),
}

/// Runs the steps and returns their outcomes. New steps are started while `may_start` is true.
pub(crate) fn run(
    selected: &[Selected],
    logs: &Path,
    may_start: &(dyn Fn() -> bool + Sync),
    on_end: &(dyn Fn(&Outcome) + Sync),
) -> Outcomes {
    let (waiting, running, again) = (selected.to_vec(), Vec::new(), Vec::new());
    let state = Mutex::new(State { waiting, running, again, done: Outcomes::default(), on_end });
    let changed = Condvar::new();
    thread::scope(|scope| {
        for _ in 0..LANES {
            scope.spawn(|| lane(&state, &changed, logs, may_start));
        }
    });
    let mut state = state.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    for step in std::mem::take(&mut state.again) {
        println!("\n== {} failed; once more, alone", step.step.name);
        let mut outcome = execute(&step, &logs.join(format!("{}-again.log", step.step.name)));
        if outcome.verdict == Verdict::Passed {
            outcome.verdict = Verdict::Unstable;
        }
        on_end(&outcome);
        state.done.outcomes.push(outcome);
    }
    state.done
}

/// Starts one step after the other until none is left.
fn lane(
    state: &Mutex<State<'_>>,
    changed: &Condvar,
    logs: &Path,
    may_start: &(dyn Fn() -> bool + Sync),
) {
    loop {
        let mut locked = lock(state);
        let step = loop {
            if !may_start() {
                locked.waiting.clear();
            }
            if locked.waiting.is_empty() {
                return;
            }
            if let Some(next) = next(&locked) {
                break locked.waiting.remove(next);
            }
            locked = changed.wait(locked).unwrap_or_else(std::sync::PoisonError::into_inner);
        };
        // The installation of programs is exclusive, because apt-get and cargo lock their folders.
        let started = Instant::now();
        let installed =
            install(step.step.needs, &logs.join(format!("setup-{}.log", step.step.name)));
        locked.done.setup_seconds += started.elapsed().as_secs_f64();
        locked.running.push(step);
        drop(locked);

        if let Err(error) = installed {
            println!("setup of {}: {error}", step.step.name);
        }
        let outcome = execute(&step, &logs.join(format!("{}.log", step.step.name)));

        let mut locked = lock(state);
        locked.running.retain(|running| running.step.name != step.step.name);
        if outcome.verdict == Verdict::Failed && step.step.uses_sockets {
            locked.again.push(step);
        } else {
            (locked.on_end)(&outcome);
            locked.done.outcomes.push(outcome);
        }
        changed.notify_all();
    }
}

/// The first waiting step that may start now.
fn next(state: &State<'_>) -> Option<usize> {
    let unfinished: HashSet<_> =
        state.waiting.iter().chain(&state.running).map(|step| step.step.name).collect();
    let locked: HashSet<_> =
        state.running.iter().map(|step| step.step.folder).filter(|name| !name.is_empty()).collect();
    state.waiting.iter().position(|Selected { step, .. }| {
        !locked.contains(step.folder) && !step.after.iter().any(|name| unfinished.contains(name))
    })
}

fn lock<'a, 'b>(state: &'a Mutex<State<'b>>) -> std::sync::MutexGuard<'a, State<'b>> {
    state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Installs what a step needs and this machine does not have.
fn install(needs: &[&str], log: &Path) -> Result<(), String> {
    if needs.is_empty() {
        return Ok(());
    }
    let output = Command::new("tools/setup.sh").args(needs).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("tools/setup.sh: {error}"))?;
    let _ = fs::write(log, [output.stdout, output.stderr].concat());
    if output.status.success() { Ok(()) } else { Err(format!("failed, see {}", log.display())) }
}

/// Runs one step, with its output in `log`, and prints the end of the output.
fn execute(selected: &Selected, log: &Path) -> Outcome {
    let Selected { step, command, why } = selected;
    let times = log.with_extension("time");
    // `time` of bash measures the processor time of all descendants, which the standard library
    // cannot.
    let script = r#"TIMEFORMAT="%R %U %S"
        { time timeout --kill-after=30 "$1" bash -c "set -euo pipefail; $2" >"$3" 2>&1 </dev/null; } 2>"$4""#;
    let status = Command::new("bash")
        .args(["-c", script, "step", LIMIT, command])
        .args([log, &times])
        .envs(step.environment())
        .stdin(Stdio::null())
        .status();
    let output = String::from_utf8_lossy(&fs::read(log).unwrap_or_default()).into_owned();
    let times: Vec<f64> = fs::read_to_string(&times)
        .unwrap_or_default()
        .lines()
        .last()
        .map(|line| line.split(' ').filter_map(|number| number.parse().ok()).collect())
        .unwrap_or_default();
    let seconds = times.first().copied().unwrap_or_default();
    let processor_seconds = times.iter().skip(1).sum();
    let (verdict, ending) = match &status {
        Ok(status) if status.success() => (Verdict::Passed, "ok".to_owned()),
        Ok(status) if status.code() == Some(124) => {
            (Verdict::Failed, format!("FAILED: no end within {LIMIT}"))
        }
        Ok(status) => (Verdict::Failed, format!("FAILED: {status}")),
        Err(error) => (Verdict::Failed, format!("FAILED: {error}")),
    };
    let shown =
        if verdict == Verdict::Passed { closing_lines(&output) } else { last_lines(&output, 100) };
    // One write, so that the output of two steps is not mixed.
    println!(
        "\n== {} ({why}): {command}\n{shown}-- {}: {ending}, {seconds:.0} s, processor {processor_seconds:.0} s",
        step.name, step.name
    );
    let absent = output
        .lines()
        .filter(|line| line.starts_with("absent"))
        .map(|line| format!("{}: {line}", step.name));
    Outcome { name: step.name, verdict, seconds, processor_seconds, absent: absent.collect() }
}

/// The closing lines of cargo's test runner with their sum, or the last lines of other output.
fn closing_lines(output: &str) -> String {
    let results: Vec<_> = output.lines().filter(|line| line.starts_with("test result:")).collect();
    if results.is_empty() {
        return last_lines(output, 8);
    }
    let mut shown = String::new();
    let mut sums = [0; 3];
    for line in &results {
        if !line.contains(" 0 passed; 0 failed; 0 ignored;") {
            let _ = writeln!(shown, "{line}");
        }
        for (sum, word) in sums.iter_mut().zip([" passed", " failed", " ignored"]) {
            let number = line.split(word).next().and_then(|before| before.rsplit(' ').next());
            *sum += number.and_then(|number| number.parse().ok()).unwrap_or(0);
        }
    }
    let [passed, failed, ignored] = sums;
    let _ = writeln!(
        shown,
        "{passed} passed, {failed} failed, {ignored} ignored in {} runs",
        results.len()
    );
    shown
}

fn last_lines(output: &str, count: usize) -> String {
    let lines: Vec<_> = output.lines().collect();
    lines
        .iter()
        .skip(lines.len().saturating_sub(count))
        .fold(String::new(), |shown, line| shown + line + "\n")
}

/// The folder of the logs, empty.
pub(crate) fn log_folder() -> Result<PathBuf, String> {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    let logs = std::path::absolute(target.join("ci")).map_err(|error| error.to_string())?;
    fs::create_dir_all(&logs).map_err(|error| format!("{}: {error}", logs.display()))?;
    Ok(logs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_lines_have_a_sum() {
        let output = "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured\nother\n\
            test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured\n\
            test result: ok. 4 passed; 2 failed; 0 ignored; 0 measured\n";
        assert!(closing_lines(output).ends_with("7 passed, 2 failed, 1 ignored in 3 runs\n"));
        assert_eq!(closing_lines("a\nb\n"), "a\nb\n");
    }
}

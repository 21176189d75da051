//! The end of a run's output.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::plan::Plan;
use crate::run::{Outcomes, Verdict};
use crate::step::Step;

/// Prints the table of the steps, longest first, and what failed. Returns whether the run has
/// passed.
pub(crate) fn print(
    plan: &Plan,
    outcomes: &Outcomes,
    elapsed: Duration,
    logs: &Path,
    known_unstable: &str,
) -> bool {
    let named = |verdict| {
        let with_verdict =
            outcomes.outcomes.iter().filter(move |outcome| outcome.verdict == verdict);
        with_verdict.map(|outcome| outcome.name).collect::<Vec<_>>()
    };
    let (failed, unstable) = (named(Verdict::Failed), named(Verdict::Unstable));
    let not_run: Vec<_> = plan.selected.iter().map(|selected| selected.step.name).collect();
    let not_run: Vec<_> = not_run
        .into_iter()
        .filter(|name| outcomes.outcomes.iter().all(|outcome| outcome.name != *name))
        .collect();

    // The last lines are what the reader of a long log sees.
    for name in &failed {
        let (first, again) =
            (logs.join(format!("{name}.log")), logs.join(format!("{name}-again.log")));
        for log in [first, again].into_iter().filter(|log| log.exists()) {
            println!("\n-- faults in {}:", log.display());
            print_faults(&fs::read_to_string(&log).unwrap_or_default());
        }
    }

    println!("\n== summary: minutes of each step, longest first");
    let mut longest: Vec<_> = outcomes.outcomes.iter().collect();
    longest.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    println!("{:<22} {:>7} {:>9}", "step", "minutes", "processor");
    for outcome in longest {
        let note = match outcome.verdict {
            Verdict::Passed => "",
            Verdict::Unstable => "unstable",
            Verdict::Failed => "FAILED",
        };
        let (minutes, processor) = (outcome.seconds / 60.0, outcome.processor_seconds / 60.0);
        println!("{:<22} {minutes:>7.1} {processor:>9.1} {note}", outcome.name);
    }
    let seconds = elapsed.as_secs_f64();
    println!("{:.1} minutes", (seconds - outcomes.setup_seconds).max(0.0) / 60.0);
    println!("{:.1} minutes of setup in addition", outcomes.setup_seconds / 60.0);
    for line in outcomes.outcomes.iter().flat_map(|outcome| &outcome.absent) {
        println!("{line}");
    }
    if !plan.owed.is_empty() {
        println!(
            "owed (touched, but not within the budget; `just ci --all` runs them): {}",
            plan.owed.join(" ")
        );
    }
    if !not_run.is_empty() {
        println!("not run: {}", not_run.join(" "));
    }
    for name in unstable {
        println!("unstable: {name} failed once and passed alone. A defect to repair.");
        if !known_unstable.contains(&format!("`{name}`")) {
            println!("  .ci/unstable.md has no line about `{name}`: add one.");
        }
    }
    if failed.is_empty() {
        println!("{}", if not_run.is_empty() { "all passed" } else { "all passed that were run" });
    } else {
        println!("FAILED: {}", failed.join(" "));
    }
    failed.is_empty()
}

/// Prints lines that look like faults, and the last lines.
fn print_faults(log: &str) {
    let is_fault = |line: &&str| {
        let lower = line.to_lowercase();
        lower.starts_with("fail")
            || lower.starts_with("error")
            || line.contains("panicked")
            || line.ends_with("FAILED")
    };
    let faults: Vec<_> = log.lines().filter(is_fault).collect();
    let last: Vec<_> = log.lines().collect();
    for line in faults.iter().rev().take(10).rev().chain(last.iter().rev().take(6).rev()) {
        println!("{line}");
    }
}

/// Prints all steps, with what selects them in this run.
pub(crate) fn list(steps: &[Step], plan: &Plan) {
    for step in steps {
        let selected = plan.selected.iter().find(|selected| selected.step.name == step.name);
        let why = match selected {
            Some(selected) => selected.why,
            None if plan.owed.contains(&step.name) => "owed",
            None => "-",
        };
        println!("{:<22} {:>3} min  {why:<20} {}", step.name, step.minutes, step.command);
    }
}

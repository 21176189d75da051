//! The checks of a change. `steps.rs` lists them, `paths.rs` says which of them belong to which
//! files, and CONTRIBUTING.md explains when to run what.

mod change;
mod paths;
mod plan;
mod run;
mod step;
mod steps;
mod stress;
mod summary;

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::change::Change;
use crate::plan::Plan;
use crate::steps::STEPS;

const USAGE: &str = "\
usage: .ci/run                      the checks of the change
       .ci/run --since COMMIT       the change since COMMIT (default: the newest commit 4 hours older than HEAD)
       .ci/run --all [--minutes N]  all checks in their long forms; starts no step after N minutes. On a clean tree,
                                    the next run leaves out what has passed, so that it can be run in pieces
       .ci/run STEP...              these steps
       .ci/run --list               the steps, and whether the change would run them
       .ci/run stress MINUTES       tests over and over, in random order, on a busy machine";

/// The request of a command line.
#[derive(Debug, Default, PartialEq, Eq)]
struct Request {
    since: Option<String>,
    all: bool,
    minutes: Option<u64>,
    list: bool,
    stress: Option<u64>,
    names: Vec<String>,
}

impl Request {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut request = Self::default();
        let number = |text: Option<String>| {
            text.and_then(|text| text.parse().ok()).ok_or("a number of minutes is missing")
        };
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--since" => {
                    request.since = Some(arguments.next().ok_or("--since needs a commit")?);
                }
                "--all" => request.all = true,
                "--minutes" => request.minutes = Some(number(arguments.next())?),
                "--list" => request.list = true,
                "stress" => request.stress = Some(number(arguments.next())?),
                name if !name.starts_with('-') => request.names.push(argument),
                _ => return Err(format!("unknown option {argument}\n{USAGE}")),
            }
        }
        Ok(request)
    }
}

fn main() -> ExitCode {
    let passed =
        Request::parse(std::env::args().skip(1)).and_then(|request| match request.stress {
            Some(minutes) => stress::stress(Duration::from_secs(minutes * 60)),
            None => check(&request),
        });
    match passed {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn check(request: &Request) -> Result<bool, String> {
    let change = Change::read(request.since.as_deref())?;
    let mut plan = if request.all {
        Plan::of_all(STEPS)
    } else if request.names.is_empty() {
        Plan::of_change(STEPS, &change.paths, change.tree_hash)
    } else {
        Plan::of_names(STEPS, &request.names)?
    };
    if request.list {
        summary::list(STEPS, &plan);
        return Ok(true);
    }

    let logs = run::log_folder()?;
    let passed_before = logs.join("passed");
    if let (true, Some(tree)) = (request.all, &change.clean_tree) {
        let before = steps_passed_before(&passed_before, tree);
        plan.selected.retain(|selected| !before.iter().any(|name| name == selected.step.name));
        println!("{} steps have passed before: {}", before.len(), before.join(" "));
    }
    println!(
        "change since {}: {} paths",
        change.base.as_deref().unwrap_or("the first commit"),
        change.paths.len()
    );

    let started = Instant::now();
    let limit = request.minutes.map(|minutes| Duration::from_secs(minutes * 60));
    let may_start = || limit.is_none_or(|limit| started.elapsed() < limit);
    let on_end = |outcome: &run::Outcome| {
        if let (true, Some(tree), run::Verdict::Passed) =
            (request.all, &change.clean_tree, outcome.verdict)
        {
            record_passed(&passed_before, tree, outcome.name);
        }
    };
    let outcomes = run::run(&plan.selected, &logs, &may_start, &on_end);
    let unstable = fs::read_to_string(".ci/unstable.md").unwrap_or_default();
    Ok(summary::print(&plan, &outcomes, started.elapsed(), &logs, &unstable))
}

/// Names in a file with a line "TREE NAME" for each step that has passed on a tree.
fn steps_passed_before(file: &Path, tree: &str) -> Vec<String> {
    let lines = fs::read_to_string(file).unwrap_or_default();
    lines
        .lines()
        .filter_map(|line| line.strip_prefix(tree)?.strip_prefix(' '))
        .map(str::to_owned)
        .collect()
}

fn record_passed(file: &Path, tree: &str, name: &str) {
    use std::io::Write as _;
    let opened = fs::OpenOptions::new().create(true).append(true).open(file);
    if let Err(error) = opened.and_then(|mut file| writeln!(file, "{tree} {name}")) {
        println!("{}: {error}", file.display());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests() {
        let parse = |line: &str| Request::parse(line.split_whitespace().map(str::to_owned));
        assert_eq!(parse("").unwrap(), Request::default());
        let all = parse("--all --minutes 30").unwrap();
        assert!(all.all && all.minutes == Some(30));
        assert_eq!(parse("--since abc").unwrap().since.as_deref(), Some("abc"));
        assert_eq!(parse("stress 5").unwrap().stress, Some(5));
        assert_eq!(parse("words musts").unwrap().names, ["words", "musts"]);
        for wrong in ["--since", "--minutes", "--minutes x", "stress", "--other"] {
            parse(wrong).unwrap_err();
        }
    }
}

//! The selection of steps for a run.

use crate::paths::{PATHS, is_document};
use crate::step::{Step, TURNS, Tier};

/// Minutes for rotating steps that the change touches.
pub(crate) const BUDGET: u64 = 6;

/// A step of a run, and why it was selected.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Selected {
    pub(crate) step: &'static Step,
    pub(crate) command: &'static str,
    pub(crate) why: &'static str,
}

/// What a run does, and what it leaves to `--all`.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) selected: Vec<Selected>,
    /// Rotating steps that the change touches and the budget did not permit.
    pub(crate) owed: Vec<&'static str>,
}

impl Plan {
    /// The steps for a change of `paths` in a tree with this hash.
    pub(crate) fn of_change(steps: &'static [Step], paths: &[String], tree_hash: u64) -> Self {
        let only_documents = !paths.is_empty() && paths.iter().all(|path| is_document(path));
        let touched = touched(paths);
        let mut budget = BUDGET;
        let mut plan = Self::default();
        for step in steps {
            let why = match step.tier {
                Tier::EachChange => "each change",
                Tier::EachChangeOfCode if only_documents => continue,
                Tier::EachChangeOfCode => "each change of code",
                Tier::Rotating { .. } if only_documents => continue,
                Tier::Rotating { turn, .. } if turn == tree_hash % TURNS => "its turn",
                Tier::Rotating { .. } if !touched.contains(&step.name) => continue,
                Tier::Rotating { .. } if step.minutes > budget => {
                    plan.owed.push(step.name);
                    continue;
                }
                Tier::Rotating { .. } => {
                    budget -= step.minutes;
                    "touched"
                }
            };
            plan.selected.push(Selected { step, command: step.command, why });
        }
        plan
    }

    /// All steps in their long forms.
    pub(crate) fn of_all(steps: &'static [Step]) -> Self {
        let long = |step: &'static Step| match step.tier {
            Tier::Rotating { long: Some(command), .. } => command,
            _ => step.command,
        };
        let select = |step| Selected { step, command: long(step), why: "all" };
        Self { selected: steps.iter().map(select).collect(), owed: Vec::new() }
    }

    /// The steps with these names.
    pub(crate) fn of_names(steps: &'static [Step], names: &[String]) -> Result<Self, String> {
        let find = |name: &String| {
            let step = steps
                .iter()
                .find(|step| step.name == name)
                .ok_or(format!("no step is called {name}"))?;
            Ok(Selected { step, command: step.command, why: "requested" })
        };
        Ok(Self {
            selected: names.iter().map(find).collect::<Result<_, String>>()?,
            owed: Vec::new(),
        })
    }
}

/// Rotating steps whose code is among `paths`. The first row that fits a path is used.
fn touched(paths: &[String]) -> Vec<&'static str> {
    let row = |path: &String| PATHS.iter().find(|(prefix, _)| path.starts_with(prefix));
    let mut names: Vec<_> =
        paths.iter().filter_map(row).flat_map(|(_, names)| names.iter().copied()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::STEPS;

    fn names(plan: &Plan) -> Vec<&str> {
        plan.selected.iter().map(|selected| selected.step.name).collect()
    }

    fn of_paths(paths: &[&str], hash: u64) -> Plan {
        Plan::of_change(STEPS, &paths.iter().map(|&path| path.to_owned()).collect::<Vec<_>>(), hash)
    }

    #[test]
    fn documents_need_few_steps() {
        let plan = of_paths(&["README.md", "docs/proxy.md"], 0);
        assert!(plan.selected.iter().all(|selected| selected.why == "each change"));
        assert!(names(&plan).contains(&"test") && names(&plan).contains(&"words"));
    }

    #[test]
    fn each_rotating_step_has_one_turn() {
        for step in STEPS.iter().filter(|step| step.rotates()) {
            let turns =
                (0..100).filter(|&hash| names(&of_paths(&["justfile"], hash)).contains(&step.name));
            assert_eq!(turns.count() as u64, 100 / TURNS, "{}", step.name);
        }
    }

    #[test]
    fn what_is_touched_runs_or_is_owed() {
        for hash in 0..TURNS {
            let plan = of_paths(&["crates/tls/src/lib.rs", "crates/proxy/src/lib.rs"], hash);
            for name in ["interop", "faults", "fleet", "loom"] {
                assert!(names(&plan).contains(&name) != plan.owed.contains(&name), "{name}");
            }
            let minutes =
                |selected: &&Selected| (selected.why == "touched").then_some(selected.step.minutes);
            assert!(
                plan.selected.iter().filter_map(|selected| minutes(&selected)).sum::<u64>()
                    <= BUDGET
            );
        }
    }

    #[test]
    fn all_steps_run_in_their_long_forms() {
        let plan = Plan::of_all(STEPS);
        assert_eq!(plan.selected.len(), STEPS.len());
        assert!(plan.selected.iter().any(|selected| selected.command != selected.step.command));
    }

    #[test]
    fn steps_wait_for_steps_of_the_list_only() {
        let mut all: Vec<_> = STEPS.iter().map(|step| step.name).collect();
        for step in STEPS {
            assert!(step.after.iter().all(|name| all.contains(name)), "{}", step.name);
        }
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), STEPS.len(), "two steps have one name");
    }
}

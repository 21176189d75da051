//! A trace as a text file: steps, and the values of each.
//!
//! What it is for: keeping hexadecimal out of the tests. Must not know: what a step means.
//! Next: the parent module, which plays the steps.

use crate::config::policy::Side;

/// A trace, step by step.
pub(super) struct Trace {
    steps: Vec<Step>,
}

/// One thing that one side does.
pub(super) struct Step {
    pub(super) who: Side,
    pub(super) what: String,
    values: Vec<(String, Vec<u8>)>,
}

impl Trace {
    /// Reads the form described at the top of each file.
    pub(super) fn parse(text: &str) -> Self {
        let mut steps: Vec<Step> = Vec::new();
        let mut expected = 0;
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let depth = line.len() - line.trim_start().len();
            if depth == 4 {
                let (_, octets) = steps.last_mut().unwrap().values.last_mut().unwrap();
                octets.extend(unhex(line.trim()));
                continue;
            }
            let (name, rest) = line.trim().split_once(": ").expect("a name and what belongs to it");
            if depth == 2 {
                let step = steps.last_mut().expect("values follow a step");
                expected += rest.parse::<usize>().expect("a length");
                step.values.push((name.to_owned(), Vec::new()));
            } else {
                let who = if name == "client" { Side::Client } else { Side::Server };
                steps.push(Step { who, what: rest.to_owned(), values: Vec::new() });
            }
        }
        let trace = Self { steps };
        let values = trace.steps.iter().flat_map(|step| &step.values);
        assert_eq!(values.map(|(_, octets)| octets.len()).sum::<usize>(), expected);
        trace
    }

    pub(super) fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The last step of this side that is called so.
    pub(super) fn step(&self, who: Side, what: &str) -> &Step {
        let mut steps = self.steps.iter().rev();
        steps.find(|step| step.who == who && step.what == what).expect(what)
    }

    /// A value of the last step that is called so, whichever side it belongs to.
    pub(super) fn value(&self, what: &str, name: &str) -> &[u8] {
        self.steps.iter().rev().find(|step| step.what == what).expect(what).value(name)
    }
}

impl Step {
    pub(super) fn value(&self, name: &str) -> &[u8] {
        let found = self.values.iter().find(|(known, _)| known == name);
        let (_, octets) = found.unwrap_or_else(|| panic!("no {name} in {}", self.what));
        octets
    }
}

fn unhex(digits: &str) -> impl Iterator<Item = u8> + '_ {
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap())
}

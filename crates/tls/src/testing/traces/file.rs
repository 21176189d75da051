//! Parses a trace from a text file: steps with their values in hexadecimal.

use crate::side::Side;

/// A trace: a sequence of steps.
pub(super) struct Trace {
    steps: Vec<Step>,
}

/// A step of one side.
pub(super) struct Step {
    pub(super) side: Side,
    pub(super) what: String,
    values: Vec<(String, Vec<u8>)>,
}

impl Trace {
    /// Parses the format described at the top of each file.
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
            let (name, rest) = line.trim().split_once(": ").expect("a name and a value");
            if depth == 2 {
                let step = steps.last_mut().expect("values follow a step");
                expected += rest.parse::<usize>().expect("a length");
                step.values.push((name.to_owned(), Vec::new()));
            } else {
                let side = if name == "client" { Side::Client } else { Side::Server };
                steps.push(Step { side, what: rest.to_owned(), values: Vec::new() });
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

    /// The last step of this side with this name.
    pub(super) fn step(&self, side: Side, what: &str) -> &Step {
        let mut steps = self.steps.iter().rev();
        steps.find(|step| step.side == side && step.what == what).expect(what)
    }

    /// A value of the last step with this name, of either side.
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

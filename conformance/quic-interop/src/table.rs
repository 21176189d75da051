//! The result of a run: one row a cell, one column a program.

use std::collections::BTreeMap;
use std::fmt;

use crate::cells::{Cell, Role};

/// The result of a cell in one role of Tercel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) role: Role,
    pub(crate) passed: bool,
}

/// `serve` is Tercel's server with the program's client, `connect` is Tercel's client with its
/// server, `both` means both. `-` was not run: the program does not have it, or a filter was set.
#[derive(Default)]
pub(crate) struct Table {
    /// The programs in order, and whether each is absent.
    programs: Vec<(&'static str, bool)>,
    entries: BTreeMap<(&'static str, &'static str), Vec<Entry>>,
}

impl Table {
    pub(crate) fn set_absent(&mut self, program: &'static str) {
        self.programs.push((program, true));
    }

    pub(crate) fn set(&mut self, program: &'static str, cell: Cell, entry: Entry) {
        if !self.programs.iter().any(|(known, _)| *known == program) {
            self.programs.push((program, false));
        }
        self.entries.entry((program, cell.name())).or_default().push(entry);
    }

    pub(crate) fn has_failures(&self) -> bool {
        self.entries.values().flatten().any(|entry| !entry.passed)
    }

    fn word(&self, program: &'static str, is_absent: bool, cell: Cell) -> &'static str {
        let entries = self.entries.get(&(program, cell.name())).map_or(&[][..], Vec::as_slice);
        let has = |role| entries.iter().any(|entry| entry.role == role);
        match entries {
            _ if is_absent => "absent",
            _ if entries.iter().any(|entry| !entry.passed) => "FAILED",
            _ if has(Role::Serve) && has(Role::Connect) => "both",
            _ if has(Role::Serve) => "serve",
            _ if has(Role::Connect) => "connect",
            _ => "-",
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:21}", "")?;
        self.programs.iter().try_for_each(|(program, _)| write!(f, "{program:15}"))?;
        for cell in Cell::ALL {
            write!(f, "\n{:21}", cell.name())?;
            for (program, is_absent) in &self.programs {
                write!(f, "{:15}", self.word(program, *is_absent, cell))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_program_never_passes() {
        let mut table = Table::default();
        table.set_absent("absentee");
        table.set("present", Cell::Retry, Entry { role: Role::Serve, passed: true });
        assert_eq!(table.word("absentee", true, Cell::Retry), "absent");
        assert_eq!(table.word("present", false, Cell::Retry), "serve");
        assert_eq!(table.word("present", false, Cell::Handshake), "-");
        assert!(!table.has_failures());
        table.set("present", Cell::Retry, Entry { role: Role::Connect, passed: false });
        assert_eq!(table.word("present", false, Cell::Retry), "FAILED");
        assert!(table.has_failures());
    }
}

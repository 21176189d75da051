//! The table of results: one row per feature, one column per program, with the roles that passed.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::cells::Role;

/// The results of all cells of one field, by role.
#[derive(Clone, Copy, Default, Debug)]
struct Field {
    passed: [usize; 2],
    failed: [usize; 2],
}

/// The table, which is filled while cells run.
#[derive(Debug, Default)]
pub(crate) struct Matrix {
    /// The rows in the order of printing.
    lines: Vec<String>,
    columns: Vec<String>,
    fields: Mutex<BTreeMap<(String, String), Field>>,
}

impl Matrix {
    pub(crate) fn new(lines: Vec<String>, columns: Vec<String>) -> Self {
        Self { lines, columns, fields: Mutex::default() }
    }

    /// Counts one cell.
    pub(crate) fn count(&self, line: &str, column: &str, role: Role, passed: bool) {
        let mut fields = self.fields.lock().unwrap_or_else(PoisonError::into_inner);
        let field = fields.entry((line.to_owned(), column.to_owned())).or_default();
        let counts = if passed { &mut field.passed } else { &mut field.failed };
        counts[side(role)] += 1;
    }

    /// The table in blocks of columns that fit on a page, without rows that have no result.
    pub(crate) fn text(&self) -> String {
        let blocks: Vec<_> =
            self.columns.chunks(COLUMNS).map(|columns| self.block(columns)).collect();
        blocks.join("\n\n")
    }

    fn block(&self, columns: &[String]) -> String {
        let fields = self.fields.lock().unwrap_or_else(PoisonError::into_inner);
        let field = |line: &String, column: &String| {
            fields.get(&(line.clone(), column.clone())).copied().unwrap_or_default()
        };
        let width = columns.iter().map(String::len).max().unwrap_or_default().max(WIDEST) + 2;
        let first = self.lines.iter().map(String::len).max().unwrap_or_default() + 2;
        let mut text = format!("{:first$}", "");
        for column in columns {
            text += &format!("{column:width$}");
        }
        for line in &self.lines {
            let words: Vec<_> = columns.iter().map(|column| label(field(line, column))).collect();
            if words.iter().all(|word| *word == NOTHING) {
                continue;
            }
            text = text.trim_end().to_owned() + &format!("\n{line:first$}");
            for word in words {
                text += &format!("{word:width$}");
            }
        }
        text.trim_end().to_owned()
    }
}

fn side(role: Role) -> usize {
    match role {
        Role::Serve => 0,
        Role::Connect => 1,
    }
}

/// The label of a field. One failure makes it `FAIL`.
fn label(field: Field) -> &'static str {
    match (field.failed, field.passed) {
        ([0, 0], [0, 0]) => NOTHING,
        ([0, 0], [_, 0]) => "serve",
        ([0, 0], [0, _]) => "connect",
        ([0, 0], _) => "both",
        _ => "FAIL",
    }
}

const COLUMNS: usize = 9;
const NOTHING: &str = "-";
const WIDEST: usize = "connect".len();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_name_the_directions_that_passed() {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let matrix = Matrix::new(names(&["a", "b", "c"]), names(&["x", "y"]));
        matrix.count("a", "x", Role::Serve, true);
        matrix.count("a", "x", Role::Connect, true);
        matrix.count("a", "y", Role::Connect, true);
        matrix.count("c", "y", Role::Serve, true);
        matrix.count("c", "y", Role::Serve, false);
        assert_eq!(matrix.text(), "   x        y\na  both     connect\nc  -        FAIL");
    }
}

//! Selection of rows by name.

use anyhow::{Result, ensure};
use lab_scenario::{Accounting, Row, rows};

/// The rows of these names; without names, the rows of the mode.
pub(crate) fn select(names: &[String], accounting: Accounting, quick: bool) -> Result<Vec<Row>> {
    let all = rows::for_accounting(accounting);
    if names.is_empty() {
        return Ok(all.into_iter().filter(|row| row.quick || !quick).collect());
    }
    for name in names {
        ensure!(
            all.iter().any(|row| is_named(row, name)),
            "unknown row {name:?} in {accounting} accounting"
        );
    }
    Ok(all.into_iter().filter(|row| names.iter().any(|name| is_named(row, name))).collect())
}

/// Whether a row matches a name: its section, its id, or a part of its id if the name is not the id
/// of another row.
fn is_named(row: &Row, name: &str) -> bool {
    row.section == name || row.id == name || (row.id.contains(name) && !is_an_id(name))
}

fn is_an_id(name: &str) -> bool {
    rows::all().iter().any(|row| row.id == name)
}

/// The position of a row in the table of rows.
pub(crate) fn place(row: &Row) -> Option<usize> {
    rows::all().iter().position(|each| each.id == row.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_chosen_by_id_part_or_section() {
        let ids = |names: &[&str]| -> Vec<String> {
            let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
            select(&names, Accounting::Neutral, false)
                .unwrap()
                .into_iter()
                .map(|row| row.id)
                .collect()
        };
        assert_eq!(ids(&["write-16"]), ["write-16"]);
        assert!(ids(&["hybrid"]).len() > 5);
        assert!(ids(&["bulk"]).iter().all(|id| id.starts_with("bulk-")));
        assert!(select(&["nothing".to_owned()], Accounting::Neutral, false).is_err());
        let published = Accounting::Published;
        assert!(select(&["write-16".to_owned()], published, false).is_err());
        assert_eq!(select(&["full".to_owned()], published, false).unwrap().len(), 8);
        let quick = select(&[], Accounting::Neutral, true).unwrap();
        assert!(quick.len() < 20 && quick.iter().all(|row| row.quick));
    }
}

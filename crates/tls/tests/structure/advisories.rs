//! Each file and each test that `docs/security/advisories.md` names exists.

use std::fs;

use super::repository;

const PAGE: &str = "docs/security/advisories.md";

/// Rows with one of these in place of a test have none, for the reason in that section.
const SECTIONS: [&str; 2] = ["see *Without a test*", "see *Dependencies*"];

#[test]
fn each_advisory_has_a_test_that_exists() {
    let root = repository();
    let page = fs::read_to_string(root.join(PAGE)).unwrap();
    let read = |file: &str| fs::read_to_string(root.join("crates").join(file)).ok();
    let rows: Vec<_> = page.lines().filter_map(row).collect();
    assert!(rows.len() >= 60, "{PAGE} has {} rows", rows.len());
    let mut faults: Vec<_> = rows.iter().flat_map(|(_, test)| faults(test, read)).collect();
    for (reason, _) in rows {
        let places = reason.split('`').skip(1).step_by(2).filter(|word| word.contains('/'));
        let absent = |place: &&str| {
            ![root.join("crates"), root.clone()].iter().any(|folder| folder.join(place).exists())
        };
        faults.extend(places.filter(absent).map(|place| format!("no file {place}")));
    }
    assert!(faults.is_empty(), "{PAGE}:\n{}", faults.join("\n"));
}

/// The last two cells of a row of five: why the kind is possible or excluded, and the tests.
fn row(line: &str) -> Option<(&str, &str)> {
    let cells: Vec<_> = line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ").collect();
    let [advisory, _, _, reason, tests] = cells[..] else { return None };
    (advisory != "advisory").then_some((reason, tests))
}

/// The faults of a cell: a list of files, each with the name of a test if the file is in Rust.
fn faults(cell: &str, read: impl Fn(&str) -> Option<String>) -> Vec<String> {
    if SECTIONS.contains(&cell) {
        return Vec::new();
    }
    let check = |item: &str| {
        let words: Vec<_> = item.split('`').filter(|word| !word.trim().is_empty()).collect();
        let (file, name) = match words[..] {
            [file] => (file, None),
            [file, name] => (file, Some(name)),
            _ => return Some(format!("not a file and a test: {item}")),
        };
        let Some(text) = read(file) else { return Some(format!("no file {file}")) };
        let name = name?;
        (!is_test(&text, name)).then(|| format!("no test {name} in {file}"))
    };
    cell.split(", ").filter_map(check).collect()
}

/// Whether the text has a function of this name below an attribute for tests.
fn is_test(text: &str, name: &str) -> bool {
    let Some(at) = text.find(&format!("fn {name}(")) else { return false };
    let paragraph = text[..at].rsplit("\n\n").next().unwrap_or_default();
    paragraph.contains("test]") || paragraph.contains("test(")
}

mod the_check_itself {
    use super::*;

    #[test]
    fn finds_rows_and_what_they_name() {
        assert_eq!(row("| CVE-1 | x | a, b | here | `f` `t` |"), Some(("here", "`f` `t`")));
        assert_eq!(row("| advisory | project | fault | here | test |"), None);
        assert_eq!(row("| kind | why |"), None);
        let read = |file: &str| (file == "f").then(|| "#[test]\nfn t() {}\n\nfn v() {}".to_owned());
        for (cell, count) in [
            ("`f` `t`", 0),
            ("`f`, `f` `t`", 0),
            ("see *Dependencies*", 0),
            ("", 1),
            ("`f` `tt`", 1),
            ("`f` `v`", 1),
            ("`g` `t`, `f` `u`", 2),
            ("`f` `t` `t`", 1),
        ] {
            assert_eq!(faults(cell, read).len(), count, "{cell}");
        }
    }
}

//! Commands that process existing reports.

// A test may fail by panicking, also in shared code.
#![allow(clippy::unwrap_used, clippy::cast_precision_loss)]
#![cfg(unix)]

mod common;
#[path = "common/sample.rs"]
mod sample;

use std::path::{Path, PathBuf};

use common::{Place, lab, said};
use lab::report::Report;

/// Writes a report to a file.
fn file(name: &str, report: &Report) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    report.write(&path).unwrap();
    path
}

#[test]
fn a_markdown_table_has_a_line_for_each_side() {
    let report = sample::report(1);
    let path = file("markdown.json", &report);
    let table =
        |of: &str| lab().arg("table").arg(&path).args(["--markdown", "--of", of]).output().unwrap();
    let output = table("tercel");
    assert!(output.status.success(), "{}", said(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    let sides: usize = report.rows.iter().map(|row| row.sides.len()).sum();
    assert_eq!(text.lines().count(), 2 + sides);
    // The columns are the row, the side, all available peers and the floor, the ratio, the verdict,
    // and the time relative to the floor.
    let columns = 2 + 10 + 3;
    for line in text.lines() {
        assert_eq!(line.matches('|').count(), columns + 1, "{line}");
    }
    for word in
        ["| ahead |", "| behind |", "| tie |", "| undecided |", "(noisy)", "| failed |", "| – |"]
    {
        assert!(text.contains(word), "{word}");
    }
    assert!(said(&table("floor")).contains("no such peer: floor"));
    assert!(said(&table("nobody")).contains("no such peer: nobody"));
}

#[test]
fn a_comparison_lists_other_differences_and_writes_a_page() {
    let old = sample::report(1);
    let mut new = sample::report(2);
    new.machine.cpu = "Another <processor>".to_owned();
    new.settings.allocator = "the system's".to_owned();
    let gone = new.rows.remove(3).row.id;
    let page = Path::new(env!("CARGO_TARGET_TMPDIR")).join("changes.html");
    let compare = |old: &Path, new: &Path| {
        lab().arg("compare").args([old, new]).arg("--html").arg(&page).output().unwrap()
    };
    let (old, new) = (file("old.json", &old), file("new.json", &new));
    let output = compare(&old, &new);
    assert!(output.status.success(), "{}", said(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(
        text.contains("differs: processor: A processor of the sample, now Another <processor>")
    );
    assert!(html.contains("now Another &lt;processor&gt;") && !html.contains("<processor>"));
    assert!(text.contains("differs: allocator:"), "{text}");
    for output in [&text, &html] {
        assert!(output.to_lowercase().contains("not in the new report") && output.contains(&gone));
    }
    assert!(html.contains(" → <b>") && !html.contains("NaN"));

    let output = compare(&old, &old);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("\n0 figures changed"), "{text}");
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(!html.contains(" → <b>"));
}

#[test]
fn a_worker_that_runs_twice_is_compared_with_itself() {
    let output = lab().arg("aa").arg(file("once.json", &sample::report(1))).output().unwrap();
    assert!(!output.status.success());
    assert!(said(&output).contains("no A/A pair in the report"), "{}", said(&output));
    let place = Place::new("aa");
    place.fake("a", 1000, "");
    let run = place.run(&["--rounds", "5", "--rows", "mutual", "--peers", "a,a@2"]);
    assert!(run.status.success(), "{}", said(&run));
    let output = lab().arg("aa").arg(place.out().join("report.json")).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(text.lines().last(), Some("8 of 8 sides tie, ratios within 1.000..1.000"), "{text}");
}

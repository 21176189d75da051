//! The page of a report with all kinds of content.

// A test may fail by panicking, also in shared code.
#![allow(clippy::unwrap_used, clippy::cast_precision_loss)]

#[path = "common/sample.rs"]
mod sample;

use std::fs;
use std::path::Path;

use lab::output::page;
use lab::statistics::Verdict;
use lab_scenario::Task;

#[test]
fn everything_in_a_report_is_on_its_page() {
    let report = sample::report(1);
    let verdicts: Vec<_> = report
        .rows
        .iter()
        .flat_map(|row| row.sides.iter().flat_map(|side| &side.peers))
        .filter_map(|figure| Some(figure.speed.as_ref()?.verdict))
        .collect();
    for verdict in [Verdict::Ahead, Verdict::Behind, Verdict::Tie, Verdict::Undecided] {
        assert!(verdicts.contains(&verdict), "the sample has no {verdict:?}");
    }
    let page = page::report::render(&report);
    for row in &report.rows {
        assert!(page.contains(&format!("<section id=\"{}\">", row.row.id)), "{}", row.row.id);
        assert!(page.contains(&format!("href=\"#{}\"", row.row.id)), "{}", row.row.id);
    }
    let cells = ["\"ahead\" title=", "\"behind\" title=", "\"tie\" title=", "\"undecided\" title="];
    for text in cells.into_iter().chain([
        "class=\"failed\">failed",
        "does not support this",
        "unavailable",
        "client parked: 418 B",
        "40 min for all rows",
        "2026-11-22 00:00 UTC",
        "-DOPENSSL_USE_NODELETE",
    ]) {
        assert!(page.contains(text), "{text}");
    }
    let noisy = report.rows.iter().filter(|row| row.noisy).count();
    assert!(
        noisy > 0 && page.contains(&format!("{noisy} of {} rows are noisy", report.rows.len()))
    );
    // Two charts for each row of threads and of latency, one for each side of both
    // sections of write sizes.
    let many = |task| report.rows.iter().filter(|row| row.row.task == task).count();
    let drawings = 2 * many(Task::Threads) + 2 * many(Task::Latency) + 4;
    assert_eq!(page.matches("<svg class=\"plot\"").count(), drawings);
}

#[test]
fn a_page_is_complete_in_itself_and_well_formed() {
    let page = page::report::render(&sample::report(1));
    for foreign in ["http", "src=", "<script", "<link", "@import", "url("] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    assert!(!page.contains("NaN") && !page.contains("inf\""), "a figure of nothing");
    let ids: Vec<_> = page.split(" id=\"").skip(1).map(|rest| rest.split('"').next()).collect();
    let unique: std::collections::HashSet<_> = ids.iter().collect();
    assert_eq!(ids.len(), unique.len());
    assert_eq!(balance(&page), Vec::<String>::new());
}

/// Elements that are not closed, or closed in the wrong order.
fn balance(page: &str) -> Vec<String> {
    // These elements have no end tag. HTML also allows omitting the end tags of table and list
    // parts, but the page has these end tags.
    let lonely = ["meta", "rect", "line", "circle", "polyline", "br"];
    let mut open: Vec<String> = Vec::new();
    let body = page.split_once("</style>").map_or(page, |(_, body)| body);
    for tag in body.split('<').skip(1).filter_map(|rest| rest.split('>').next()) {
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap_or_default();
        if tag.starts_with('!') || lonely.contains(&name) {
            continue;
        }
        match tag.strip_prefix('/') {
            None => open.push(name.to_owned()),
            Some(_) if open.last().is_some_and(|last| last == name) => _ = open.pop(),
            Some(_) => open.push(format!("/{name} inside {:?}", open.last())),
        }
        if open.len() > 50 {
            break;
        }
    }
    // The end tag of the head is before the split.
    open.retain(|name| !name.starts_with("/head") && !name.starts_with("/html"));
    open
}

#[test]
#[ignore = "needs Chromium: just lab-page-check"]
fn samples_for_a_browser() {
    let folder = std::env::var("LAB_PAGES").unwrap();
    let folder = Path::new(&folder);
    let (old, new) = (sample::report(1), sample::report(2));
    fs::write(folder.join("report.html"), page::report::render(&new)).unwrap();
    fs::write(folder.join("compare.html"), lab::output::page::changes::render(&old, &new)).unwrap();
}

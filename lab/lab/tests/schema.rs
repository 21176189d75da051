//! The fields of `report.json` with their types, as recorded for each schema. A change of a field
//! requires a new schema.

// A test may fail by panicking, also in shared code. The sample converts only small integers to
// floating point.
#![allow(clippy::unwrap_used, clippy::cast_precision_loss)]

#[path = "common/sample.rs"]
mod sample;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use lab::report::{Report, SCHEMA};
use serde_json::Value;

#[test]
fn no_field_changes_without_another_schema() {
    let mut fields = BTreeSet::new();
    collect("report", &serde_json::to_value(sample::report(1)).unwrap(), &mut fields);
    let now: String = fields.into_iter().map(|line| line + "\n").collect();
    let file = format!("tests/schema/{SCHEMA}.txt");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(&file);
    if !path.exists() {
        let actual = Path::new(env!("CARGO_TARGET_TMPDIR")).join("schema.txt");
        fs::write(&actual, &now).unwrap();
        panic!("schema {SCHEMA} is new: copy {} to lab/lab/{file}", actual.display());
    }
    let then = fs::read_to_string(&path).unwrap();
    assert_eq!(
        now, then,
        "raise SCHEMA in report/schema.rs, then the fields are those of a new schema"
    );
}

#[test]
fn a_report_survives_its_file() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sample-report.json");
    let report = sample::report(1);
    report.write(&path).unwrap();
    assert_eq!(Report::read(&path).unwrap(), report);
}

/// Collects all fields below `path`. Optional fields occur in the sample with and without a value.
/// Keys that are data, such as names of peers, count as one field.
fn collect(path: &str, value: &Value, fields: &mut BTreeSet<String>) {
    match value {
        Value::Null => _ = fields.insert(format!("{path}: absent")),
        Value::Bool(_) => _ = fields.insert(format!("{path}: bool")),
        Value::Number(_) => _ = fields.insert(format!("{path}: number")),
        Value::String(_) => _ = fields.insert(format!("{path}: string")),
        Value::Array(values) => {
            values.iter().for_each(|value| collect(&format!("{path}[]"), value, fields));
        }
        Value::Object(members) => {
            let by_name = [
                "failures",
                "unable",
                "parts",
                "done",
                "done.*",
                "distributions",
                "distributions.*",
            ];
            let named = by_name.iter().any(|name| path.ends_with(&format!(".{name}")));
            for (name, value) in members {
                let name = if named { "*" } else { name };
                collect(&format!("{path}.{name}"), value, fields);
            }
        }
    }
}

//! Each reason why a configuration cannot be built is returned by the library and named in a test.

use std::fs;

use super::peer_errors::{names, variants};
use super::{repository, rust_files};

const ENUM: &str = "ConfigError";

/// Errors that no test of the public interface can cause, each with the reason.
const EXEMPT: [(&str, &str); 1] = [("Random", "the random generator does not fail")];

#[test]
fn each_config_error_is_named_in_a_test() {
    let root = repository().join("crates/tls");
    let file = root.join("src/error/config.rs");
    let variants = variants(&fs::read_to_string(&file).unwrap(), ENUM);
    assert!(variants.len() > 25, "{ENUM} has {} variants", variants.len());
    let mut returned = Vec::new();
    for file in rust_files(&root.join("src")) {
        returned.extend(names(&fs::read_to_string(file).unwrap(), ENUM).0);
    }
    // Only tests that build a configuration count: a unit test may call the check itself.
    let mut tested = Vec::new();
    for file in rust_files(&root.join("tests/exchange")) {
        tested.extend(names(&fs::read_to_string(file).unwrap(), ENUM).0);
    }
    let mut faults = Vec::new();
    for variant in &variants {
        let is_exempt = EXEMPT.iter().any(|(name, _)| name == variant);
        if !returned.contains(variant) {
            faults.push(format!("the library never returns {ENUM}::{variant}"));
        }
        match (tested.contains(variant), is_exempt) {
            (false, false) => faults.push(format!("no test names {ENUM}::{variant}")),
            (true, true) => faults.push(format!("{ENUM}::{variant} needs no exemption")),
            _ => {}
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

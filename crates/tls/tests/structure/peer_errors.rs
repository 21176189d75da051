//! Each error that a peer can cause is returned by the library and asserted by name in a test.

use std::fs;

use super::code::{Code, Word};
use super::{repository, rust_files};

/// The enum of errors that a peer can cause, in `crates/tls/src/error.rs`.
const ENUM: &str = "PeerError";

/// Errors that no test can provoke, each with the reason.
const EXEMPT: [(&str, &str); 0] = [];

#[test]
fn each_peer_error_is_asserted_in_a_test() {
    let root = repository().join("crates/tls");
    let variants = variants(&fs::read_to_string(root.join("src/error.rs")).unwrap(), ENUM);
    assert!(variants.len() > 60, "{ENUM} has {} variants", variants.len());
    let (mut returned, mut asserted) = (Vec::new(), Vec::new());
    for file in rust_files(&root) {
        let place = file.strip_prefix(&root).unwrap();
        let (product, test) = names(&fs::read_to_string(&file).unwrap(), ENUM);
        // The tests in `src/error` compare tables of alerts and texts; they provoke no error.
        if place.starts_with("src/error") {
            returned.extend(product);
            continue;
        }
        let is_test = place.starts_with("tests")
            || place.iter().any(|part| part == "testing" || part == "tests.rs");
        asserted.extend(test);
        if is_test { &mut asserted } else { &mut returned }.extend(product);
    }
    let mut faults = Vec::new();
    for variant in &variants {
        let is_exempt = EXEMPT.iter().any(|(name, _)| name == variant);
        if !returned.contains(variant) {
            faults.push(format!("the library never returns {ENUM}::{variant}"));
        }
        match (asserted.contains(variant), is_exempt) {
            (false, false) => faults.push(format!("no test asserts {ENUM}::{variant}")),
            (true, true) => faults.push(format!("{ENUM}::{variant} needs no exemption")),
            _ => {}
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The names of the variants of this enum.
pub(super) fn variants(text: &str, enumeration: &str) -> Vec<String> {
    let code = Code::of(text);
    let words: Vec<_> = code.words().map(|word| word.text).collect();
    let start = words.windows(3).position(|three| three == ["enum", enumeration, "{"]);
    let (mut found, mut depth) = (Vec::new(), 0);
    for pair in words[start.expect("the text has the enum") + 2..].windows(2) {
        match pair[0] {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth -= 1,
            name if depth == 1 && matches!(pair[1], "," | "(" | "{") => found.push(name.to_owned()),
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    found
}

/// The variants of this enum that product code names, and those that test code names.
pub(super) fn names(text: &str, enumeration: &str) -> (Vec<String>, Vec<String>) {
    let named = |words: &[Word<'_>]| -> Vec<String> {
        let text = |at: usize| words.get(at).map_or("", |word| word.text);
        let is_name =
            |at: &usize| [text(*at), text(at + 1), text(at + 2)] == [enumeration, ":", ":"];
        (0..words.len()).filter(is_name).map(|at| text(at + 3).to_owned()).collect()
    };
    let code = Code::of(text);
    let product = named(&code.product_words().0);
    let mut test = named(&code.words().collect::<Vec<_>>());
    for name in &product {
        test.remove(test.iter().position(|other| other == name).unwrap());
    }
    (product, test)
}

mod the_check_itself {
    use super::*;

    #[test]
    fn finds_variants_and_where_they_are_named() {
        let text =
            "pub enum PeerError { /// Text.\n A, #[x(y)] B(Inner), C { d: E }, F, } enum G { H, }";
        assert_eq!(variants(text, ENUM), ["A", "B", "C", "F"]);
        let text = "
            fn f() { Err(PeerError::A.into()) } // PeerError::F
            #[cfg(test)] mod tests { const A: X = PeerError::A; const B: X = error::PeerError::B; }
        ";
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(names(text, ENUM), (owned(&["A"]), owned(&["A", "B"])));
    }
}

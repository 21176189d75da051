//! The rule for host names, in the names that a client verifies and in certificates. The table is
//! shared by all places that take host names.

use tercel_pki::{RefusalReason, ServerName, Trust, Usage};

use crate::support::{Pki, leaf_params, now};

const TABLE: &str = include_str!("../../../wire/tests/material/host_names.txt");

#[test]
fn each_name_of_the_table() {
    let pki = Pki::new();
    let verifier = pki.verifier();
    for row in TABLE.lines().filter(|line| !line.starts_with('#')) {
        let (text, expected) = row.split_once('\t').unwrap();
        let name = ServerName::try_from(text);
        if expected.is_empty() {
            assert!(name.is_err(), "{text}");
            continue;
        }
        let name = name.unwrap();
        assert_eq!(name.to_str(), expected);
        assert_eq!(ServerName::try_from(text.to_owned()).unwrap(), name);
        let verify = |names: &[&str]| {
            let chain = pki.chain(&leaf_params(names));
            verifier.verify(Usage::Server, &chain, Some(&name), None, now())
        };
        assert_eq!(verify(&["other.example", &expected.to_uppercase()]).unwrap(), Trust::Anchor);
        let refused = verify(&[&format!("x{expected}")]).unwrap_err();
        assert_eq!(refused.reason, RefusalReason::NameMismatch, "{text}");
    }
}

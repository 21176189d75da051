//! Every option of both builders has an entry in `session_binding.rs` and a row in
//! docs/sessions.md, and the two agree.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use tercel::pki_types::UnixTime;
use tercel::session::RotatingTickets;

use crate::session_binding::{Entry, client_entries, server_entries};

/// Options that `session_binding.rs` does not run; docs/sessions.md has their reasons.
const NOT_RUN: &[&str] = &[
    // These options are `roots` with other certificates.
    "native_roots",
    "webpki_roots",
    // This option is compiled for tests only.
    "server_groups_hint",
    "request_server_padding",
    "answer_server_padding",
    // This option is for clients that do not support tickets, which Tercel's client does: see
    // `session_ids.rs`.
    "session_ids",
    "without_session_ids",
    // These options are compiled with the feature `quic` only.
    #[cfg(not(feature = "quic"))]
    "quic_early_data_context",
    #[cfg(not(feature = "quic"))]
    "alpn_by_other_means",
    // This option needs the feature `fips`: see `fips/enforcement.rs`.
    "fips",
    // These options are compiled with the feature `ech` only.
    #[cfg(not(feature = "ech"))]
    "ech",
    #[cfg(not(feature = "ech"))]
    "ech_backend",
    #[cfg(not(feature = "ech"))]
    "ech_grease",
];

#[test]
fn every_option_of_both_builders_is_documented_and_tested() {
    let tickets = Arc::new(RotatingTickets::new(UnixTime::now()).unwrap());
    compare("ServerConfigBuilder", "## Options of a server", &server_entries(&tickets));
    compare("ClientConfigBuilder", "## Options of a client", &client_entries());
}

/// The methods of this builder in the source.
fn options_in_source(builder: &str) -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/config");
    let mut options = BTreeSet::new();
    for file in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let Ok(text) = fs::read_to_string(&file) else { continue };
        let starts =
            [builder, "$builder"].map(|name| [format!("impl {name} {{"), format!("for {name};")]);
        let mut inside = false;
        for line in text.lines() {
            if starts.iter().flatten().any(|start| line.trim_start() == start) {
                inside = true;
            } else if line.starts_with('}') {
                inside = false;
            } else if let (true, Some(rest)) = (inside, line.trim_start().strip_prefix("pub fn ")) {
                let name: String =
                    rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                options.insert(name);
            }
        }
    }
    options.remove("build");
    options
}

/// The rows of a table of docs/sessions.md: option, whether it is bound, and the reason.
fn documented(heading: &str) -> Vec<(String, bool, String)> {
    let text = include_str!("../../../../docs/sessions.md");
    let section = text.split(heading).nth(1).expect(heading).split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let row = |line: &str| {
        let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [option, bound, reason] = cells[..] else { panic!("{line}") };
        let bound = match bound {
            "yes" => true,
            "no" => false,
            _ => panic!("{line}"),
        };
        (option.trim_matches('`').to_owned(), bound, reason.to_owned())
    };
    rows.map(row).collect()
}

/// Every option has an entry and a row in the document, which agree.
fn compare<B>(builder: &str, heading: &str, entries: &[Entry<B>]) {
    let tested: BTreeSet<_> = entries.iter().map(|entry| entry.option.to_owned()).collect();
    let rows = documented(heading);
    for option in options_in_source(builder) {
        let runs = tested.contains(&option) || NOT_RUN.contains(&&*option);
        assert!(runs, "{builder}::{option} has no entry in session_binding.rs");
        let row = rows.iter().find(|(name, ..)| *name == option);
        let (_, bound, reason) =
            row.unwrap_or_else(|| panic!("{builder}::{option} has no row in docs/sessions.md"));
        assert!(!reason.is_empty(), "{builder}::{option} has no reason in docs/sessions.md");
        // An option that is bound in one version only counts as bound.
        let mut of_option = entries.iter().filter(|entry| entry.option == option).peekable();
        if of_option.peek().is_some() {
            assert_eq!(of_option.any(|entry| entry.is_bound), *bound, "{builder}::{option}");
        }
    }
    let known = options_in_source(builder);
    let unknown: Vec<_> = rows.iter().filter(|(name, ..)| !known.contains(name)).collect();
    assert!(unknown.is_empty(), "no such options: {unknown:?}");
    let unknown: Vec<_> = tested.difference(&known).collect();
    assert!(unknown.is_empty(), "no such options: {unknown:?}");
}

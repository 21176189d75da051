//! The table of functions that do less than OpenSSL's, `stubs.h`: each such function of the sources
//! has a row, and a section of docs/openssl.md is made from it. `same/stubs.c` calls the rows.
//!
//! `RENEW=1 cargo test -p tercel-openssl --test stubs` writes the section.

use std::collections::BTreeSet;
use std::path::Path;

struct Subject {
    title: String,
    reason: String,
    rows: Vec<Row>,
}

struct Row {
    kind: String,
    name: String,
    /// The programs that import the function.
    programs: String,
    /// The description: its effect, or the difference.
    what: Option<String>,
}

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// The kind and the columns of each row.
fn rows(table: &str) -> Vec<(String, Vec<String>)> {
    let (mut rows, mut kind, mut columns) = (Vec::new(), String::new(), Vec::new());
    let (mut depth, mut quoted) = (0, false);
    for letter in table.chars() {
        quoted ^= letter == '"';
        let step = match letter {
            '(' if !quoted => 1,
            ')' if !quoted => -1,
            _ => 0,
        };
        depth += step;
        match (depth, step, letter) {
            (1, 1, _) => columns.push(String::new()),
            (1, 0, ',') if !quoted => columns.push(String::new()),
            (0, -1, _) => rows.push((core::mem::take(&mut kind), core::mem::take(&mut columns))),
            (0, ..) => kind.push(letter),
            _ => columns.last_mut().unwrap().push(letter),
        }
    }
    rows
}

/// The text of the literals in a column that has only these.
fn text(column: &str) -> Option<String> {
    let is_text = column.trim().starts_with('"');
    is_text.then(|| column.split('"').skip(1).step_by(2).collect())
}

fn table() -> Vec<Subject> {
    let source = read("tests/stubs.h");
    let mut subjects: Vec<Subject> = Vec::new();
    for (kind, columns) in rows(source.split_once("*/").unwrap().1) {
        let mut texts = columns.iter().filter_map(|column| text(column));
        let (first, second) = (texts.next().unwrap(), texts.next());
        match kind.trim().trim_end_matches("_VOID") {
            "SUBJECT" => {
                let reason = second.unwrap();
                subjects.push(Subject { title: first, reason, rows: Vec::new() });
            }
            kind => subjects.last_mut().unwrap().rows.push(Row {
                kind: kind.to_owned(),
                name: columns[0].clone(),
                programs: first,
                what: second,
            }),
        }
    }
    subjects
}

fn all_rows() -> impl Iterator<Item = Row> {
    table().into_iter().flat_map(|subject| subject.rows)
}

fn names(is_kind: impl Fn(&str) -> bool) -> BTreeSet<String> {
    all_rows().filter(|row| is_kind(&row.kind)).map(|row| row.name).collect()
}

fn exported() -> BTreeSet<String> {
    let map = read("libssl.map");
    let names = map.lines().filter_map(|line| line.strip_prefix("        ")?.strip_suffix(';'));
    names.map(str::to_owned).collect()
}

/// The identifier at the end of a text.
fn last_word(text: &str) -> &str {
    text.rsplit(|letter: char| !letter.is_alphanumeric() && letter != '_').next().unwrap()
}

fn add_sources(folder: &Path, to: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            add_sources(&path, to);
        } else {
            to.push_str(&std::fs::read_to_string(path).unwrap());
        }
    }
}

/// The functions whose source ignores an argument, or reports that something is not supported, the
/// names in the lists of `refused.rs`, and the methods of other versions.
fn stubs() -> BTreeSet<String> {
    let mut sources = String::new();
    add_sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut sources);
    let mut stubs = BTreeSet::new();
    for function in sources.split("\n    fn ").skip(1) {
        let function = function.split("\n}").next().unwrap();
        let Some((name, rest)) = function.split_once('(') else { continue };
        let arguments = rest.split("->").next().unwrap();
        let ignores = arguments.split([',', ';']).any(|argument| argument.trim().starts_with('_'));
        if ignores || rest.contains("push_unsupported(") {
            stubs.insert(name.to_owned());
        }
    }
    for list in sources.split("\nwithout_effect! {").skip(1) {
        let (_, list) = list.split("\n}").next().unwrap().split_once(";\n").unwrap();
        stubs.extend(list.split(',').map(|name| name.trim().to_owned()));
    }
    for list in sources.split("\nrefused_values! {").skip(1) {
        let list = list.split("\n}").next().unwrap();
        stubs.extend(list.split('(').map(|text| last_word(text).to_owned()));
    }
    for method in [" => OLD,", " => DATAGRAM,"] {
        stubs.extend(sources.split(method).map(|text| last_word(text).to_owned()));
    }
    stubs.intersection(&exported()).cloned().collect()
}

#[test]
fn each_function_that_does_less_has_a_row() {
    let without_row: Vec<_> = stubs().difference(&names(|_| true)).cloned().collect();
    assert!(without_row.is_empty(), "add rows to tests/stubs.h: {without_row:?}");
}

/// Rows of other kinds fail when they are called on a function that does more.
#[test]
fn each_row_has_a_function_that_does_less() {
    let rows = names(|kind| matches!(kind, "IGNORED" | "ABSENT" | "METHOD"));
    let (stubs, exported) = (stubs(), exported());
    let is_done = |name: &&String| {
        exported.contains(*name) && !stubs.contains(*name) && !name.ends_with("_ctrl")
    };
    let done: Vec<_> = rows.iter().filter(is_done).collect();
    assert!(done.is_empty(), "remove rows from tests/stubs.h: {done:?}");
}

/// The functions that a number selects are not in the document.
#[test]
fn rows_that_are_not_shown_concern_no_program() {
    for row in all_rows().filter(|row| row.name.ends_with("_ctrl")) {
        assert_eq!(row.programs, "none", "{}", row.name);
    }
}

/// An operator knows the openssl program's options, not its functions.
#[test]
fn the_openssl_program_has_the_options_that_lead_to_a_failure() {
    for row in all_rows().filter(Row::fails) {
        let mut places = row.programs.split("openssl").skip(1);
        assert!(places.all(|rest| rest.starts_with(" s_")), "{}: {}", row.name, row.programs);
    }
}

#[test]
fn the_notes_of_both_functions_of_a_name_are_shown() {
    let row = |name: &str, kind: &str, programs: &str, what: Option<&str>| Row {
        kind: kind.to_owned(),
        name: name.to_owned(),
        programs: programs.to_owned(),
        what: what.map(str::to_owned),
    };
    let show = |rows: &[Row]| shown(&rows.iter().collect::<Vec<_>>()).join(", ");
    let pair = |kind, first, second| {
        show(&[row("SSL_CTX_set_x", kind, first, None), row("SSL_set_x", kind, second, None)])
    };
    let both = "`SSL_[CTX_]set_x` (curl ends; Node ends)";
    assert_eq!(pair("REFUSED", "curl ends", "Node ends"), both);
    assert_eq!(pair("FAILING", "none", "Node ends"), "`SSL_[CTX_]set_x` (Node ends)");
    assert_eq!(pair("FAILING", "none", "none"), "`SSL_[CTX_]set_x`");
    assert_eq!(pair("IGNORED", "curl", "Node"), "`SSL_[CTX_]set_x`");
    let partly = |name, what| row(name, "PARTLY", "none", Some(what));
    let pair = [partly("SSL_CTX_set_x", "keeps it"), partly("SSL_set_x", "likewise")];
    assert_eq!(show(&pair), "`SSL_[CTX_]set_x` (keeps it)");
    let programs = "openssl s_client -a -b, openssl s_server -c end; curl ends";
    let marked = "`SSL_x` (`openssl s_client -a -b`, `openssl s_server -c` end; curl ends)";
    assert_eq!(show(&[row("SSL_x", "FAILING", programs, None)]), marked);
}

#[test]
fn each_option_is_used_or_has_a_row() {
    let Ok(header) = std::fs::read_to_string("/usr/include/openssl/ssl.h") else { return };
    let (own, rows) = (read("src/settings/options.rs"), names(|kind| kind == "OPTION"));
    for line in header.lines() {
        let mut words = line.split_whitespace().rev();
        let (bit, name) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        if let Some(bit) = bit.strip_prefix("SSL_OP_BIT(") {
            let is_used = own.contains(&format!("u64 = 1 << {};", bit.trim_end_matches(')')));
            assert!(is_used || rows.contains(name), "add {name} to tests/stubs.h");
        }
    }
}

impl Row {
    fn fails(&self) -> bool {
        matches!(self.kind.as_str(), "REFUSED" | "FAILING")
    }

    /// What readers learn of the row besides its name.
    fn note(&self) -> Option<&str> {
        let programs = Some(&self.programs).filter(|_| self.fails() && self.programs != "none");
        self.what.as_ref().or(programs).map(String::as_str)
    }
}

/// Names for readers, with notes. Functions of contexts and connections with the same rest are one
/// name, which has the notes of both.
fn shown(rows: &[&Row]) -> Vec<String> {
    let mut shown = Vec::new();
    for row in rows.iter().filter(|row| !row.name.ends_with("_ctrl")) {
        let twin = |prefix: &str, other: &str| {
            let rest = row.name.strip_prefix(prefix)?;
            let twin = rows.iter().find(|row| row.name == format!("{other}{rest}"))?;
            Some((rest, twin.note()))
        };
        let (name, second) = match (twin("SSL_CTX_", "SSL_"), twin("SSL_", "SSL_CTX_")) {
            (Some((rest, note)), _) => (format!("SSL_[CTX_]{rest}"), note),
            (None, Some(_)) => continue,
            _ => (row.name.clone(), None),
        };
        let first = row.note();
        let second = second.filter(|note| first.is_none_or(|_| *note != "likewise"));
        let mut notes: Vec<_> = [first, second].into_iter().flatten().map(marked).collect();
        notes.dedup();
        let notes =
            if notes.is_empty() { String::new() } else { format!(" ({})", notes.join("; ")) };
        shown.push(format!("`{name}`{notes}"));
    }
    shown
}

/// A note in which each command of the openssl program is code.
fn marked(note: &str) -> String {
    let (mut marked, mut is_code) = (String::new(), false);
    for (index, word) in note.split(' ').enumerate() {
        let bare = word.trim_end_matches([',', ';']);
        if is_code && !bare.starts_with('-') && !bare.starts_with("s_") {
            marked.push('`');
            is_code = false;
        }
        if index > 0 {
            marked.push(' ');
        }
        if bare == "openssl" {
            marked.push('`');
            is_code = true;
        }
        marked += bare;
        if is_code && bare != word {
            marked.push('`');
            is_code = false;
        }
        marked += &word[bare.len()..];
    }
    marked + if is_code { "`" } else { "" }
}

/// Breaks a text into lines of a document.
fn wrapped(text: &str, first: &str, others: &str) -> String {
    let (mut lines, mut line) = (String::new(), first.to_owned());
    for word in text.split(' ') {
        if line.chars().count() + word.chars().count() >= 120 {
            lines += &format!("{}\n", line.trim_end());
            line = others.to_owned();
        }
        line += &format!("{word} ");
    }
    format!("{lines}{}\n", line.trim_end())
}

fn section() -> String {
    let mut section = String::new();
    for subject in table() {
        section += &wrapped(&format!("**{}**: {}.", subject.title, subject.reason), "- ", "  ");
        let labels: [(&str, &[&str]); 5] = [
            ("refuse values", &["REFUSED"]),
            ("fail", &["FAILING"]),
            ("have no effect", &["IGNORED", "OPTION", "MODE"]),
            ("report nothing", &["ABSENT"]),
            ("differ", &["PARTLY", "OTHER"]),
        ];
        for (label, kinds) in labels {
            let is_kind = |row: &&Row| kinds.contains(&row.kind.as_str());
            let rows: Vec<_> = subject.rows.iter().filter(is_kind).collect();
            if !rows.is_empty() {
                let text = format!("{label}: {}", shown(&rows).join(", "));
                section += &wrapped(&text, "  - ", "    ");
            }
        }
    }
    section
}

#[test]
fn the_document_has_the_table() {
    const BEGIN: &str = "<!-- made from crates/openssl/tests/stubs.h -->\n";
    const END: &str = "<!-- end -->\n";
    let path = "../../docs/openssl.md";
    let document = read(path);
    let (before, rest) = document.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let expected = format!("{before}{BEGIN}\n{}\n{END}{after}", section());
    if std::env::var_os("RENEW").is_some() {
        std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join(path), expected).unwrap();
    } else {
        assert!(document == expected, "renew docs/openssl.md, as this file says");
    }
}

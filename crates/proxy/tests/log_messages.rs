//! `docs/proxy.md` lists the messages that the terminator logs.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Messages whose text is an argument of the function that logs them.
const PASSED_AS_ARGUMENT: [(&str, &str); 2] =
    [("info", "PROXY header rejected"), ("info", "handshake failed")];

#[test]
fn manual_lists_every_log_message_with_its_level() {
    let mut logged: BTreeSet<_> =
        PASSED_AS_ARGUMENT.map(|(level, text)| (level.to_owned(), text.to_owned())).into();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for source in ["src", "../fleet/src"] {
        collect(&root.join(source), &mut logged);
    }
    assert!(logged.remove(&("info".to_owned(), "...".to_owned())), "the two above are logged");
    let manual = include_str!("../../../docs/proxy.md");
    let (_, section) = manual.split_once("\n## Log messages\n").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let listed: BTreeSet<_> = section.lines().flat_map(row).collect();
    assert_eq!(logged, listed);
}

/// The messages in a row of the manual's table.
fn row(line: &str) -> Vec<(String, String)> {
    let mut cells = line.trim_matches('|').split(" | ").map(str::trim);
    let (Some(level), Some(messages)) = (cells.next(), cells.next()) else { return Vec::new() };
    let messages = messages.split('`').skip(1).step_by(2);
    messages.map(|message| (level.to_owned(), message.to_owned())).collect()
}

/// Adds the messages of all files below `folder`, tests excepted.
fn collect(folder: &Path, logged: &mut BTreeSet<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() && name != "testing" {
            collect(&path, logged);
        } else if name.ends_with(".rs") && name != "tests.rs" {
            let text = fs::read_to_string(&path).unwrap();
            let code = text.split("\nmod tests {").next().unwrap();
            for level in ["error", "warn", "info", "debug", "trace"] {
                for call in code.split(&format!("{level}!(")).skip(1) {
                    logged.extend(message(call).map(|message| (level.to_owned(), message)));
                }
            }
        }
    }
}

/// The message of a log macro's call, which is its last string. `call` begins with the arguments of
/// the call, and more text may follow. Placeholders become `...`, and quotation marks are left out.
fn message(call: &str) -> Option<String> {
    let mut rest = call;
    let mut depth = 1;
    let mut last = None;
    while depth > 0 {
        let at = rest.find(['(', ')', '"'])?;
        let after = &rest[at..];
        rest = &after[1..];
        match after.as_bytes()[0] {
            b'(' => depth += 1,
            b')' => depth -= 1,
            _ => {
                let (text, after) = rest.split_once('"')?;
                last = Some(text);
                rest = after;
            }
        }
    }
    let mut plain = String::new();
    let mut pieces = last?.split('{');
    plain.push_str(pieces.next()?);
    for piece in pieces {
        plain.push_str("...");
        plain.push_str(piece.split_once('}')?.1);
    }
    Some(plain.replace('`', ""))
}

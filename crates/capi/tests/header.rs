//! Compares the header, the list of symbols and the ABI with the source. With `RENEW=1` the test
//! writes them, but removes nothing from the ABI.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// The header that cbindgen makes from the source.
fn header() -> String {
    let root = root();
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).unwrap();
    // Otherwise dependencies of other systems would be downloaded.
    let builder = cbindgen::Builder::new().with_config(config).with_only_target_dependencies(true);
    let builder = builder.with_crate(&root);
    let mut text = Vec::new();
    builder.generate().unwrap().write(&mut text);
    String::from_utf8(text).unwrap()
}

/// The names of the functions that a header declares.
fn functions(header: &str) -> BTreeSet<String> {
    let words = header.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let called = |word: &&str| header.contains(&format!("{word}("));
    let names = words.filter(|word| word.starts_with("tercel_")).filter(called);
    names.map(str::to_owned).collect()
}

/// The version script of the shared library, which is also the list of its symbols.
fn map(functions: &BTreeSet<String>) -> String {
    let names: String = functions.iter().map(|name| format!("        {name};\n")).collect();
    format!("TERCEL_0 {{\n    global:\n{names}    local:\n        *;\n}};\n")
}

fn compare(file: &str, wanted: &str) {
    let path = root().join(file);
    if env::var_os("RENEW").is_some() {
        fs::write(&path, wanted).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == wanted,
        "{file} is not the one of the source: RENEW=1 cargo test -p tercel-capi --test header"
    );
}

/// The declarations of a header, one in each line: functions, constants, types.
fn declarations(header: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut begun = String::new();
    for line in header.lines().map(|line| line.split("//").next().unwrap_or_default().trim()) {
        if line.starts_with('#') {
            if line.starts_with("#define TERCEL_") && line != "#define TERCEL_H" {
                found.insert(line.to_owned());
            }
            continue;
        }
        // The block for C++.
        if line.is_empty() || line.starts_with("extern \"C\"") || (begun.is_empty() && line == "}")
        {
            continue;
        }
        begun = format!("{begun} {line}").trim().to_owned();
        if begun.ends_with(';') && begun.matches('{').count() == begun.matches('}').count() {
            found.insert(std::mem::take(&mut begun));
        }
    }
    assert!(begun.is_empty(), "{begun}");
    found
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

#[test]
fn the_header_is_made_from_the_source() {
    compare("include/tercel.h", &header());
}

#[test]
fn the_symbols_are_those_of_the_header() {
    let functions = functions(&header());
    assert!(functions.len() > 50);
    compare("libtercel.map", &map(&functions));
}

/// Programs that were built with an older header run with this library: declarations are only
/// added. The list is the one of version 0 of the ABI, whose symbols have the version `TERCEL_0`.
#[test]
fn the_abi_only_grows() {
    let path = root().join("abi-0.txt");
    let known = fs::read_to_string(&path).unwrap_or_default();
    let known: BTreeSet<String> = known.lines().map(str::to_owned).collect();
    let now = declarations(&header());
    let lost: Vec<_> = known.difference(&now).collect();
    assert!(lost.is_empty(), "removed or changed: {lost:#?}");
    if env::var_os("RENEW").is_some() {
        let lines: Vec<_> = now.iter().map(|line| format!("{line}\n")).collect();
        fs::write(&path, lines.concat()).unwrap();
        return;
    }
    let new: Vec<_> = now.difference(&known).collect();
    assert!(new.is_empty(), "not in abi-0.txt, which RENEW=1 adds: {new:#?}");
}

/// Each name that `cbindgen.toml` gives to a type is the one of a single type. cbindgen knows types
/// by their last name only, also private ones, and would declare another type of that name instead.
#[test]
fn the_types_have_different_names() {
    let config = fs::read_to_string(root().join("cbindgen.toml")).unwrap();
    let (_, renamed) = config.split_once("[export.rename]").unwrap();
    let names: Vec<_> = renamed.lines().filter_map(|line| line.split('"').nth(1)).collect();
    assert!(names.len() > 25);
    let sources = sources();
    for name in names {
        let declares = |kind: &str| {
            let word = format!("{kind} {name}");
            let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
            let of = |source: &String| {
                source
                    .match_indices(&word)
                    .filter(|(at, _)| ends(&source[at + word.len()..]))
                    .count()
            };
            sources.iter().map(of).sum::<usize>()
        };
        let count: usize = ["struct", "enum", "union", "type"].into_iter().map(declares).sum();
        assert_eq!(count, 1, "{name}");
    }
}

/// The text of all files of the source.
fn sources() -> Vec<String> {
    let mut waiting = vec![root().join("src")];
    let mut found = Vec::new();
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            waiting.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            found.push(fs::read_to_string(&path).unwrap());
        }
    }
    found
}

/// Each function of the source is in the header, so none is hidden from it.
#[test]
fn all_functions_are_in_the_header() {
    let declared = functions(&header());
    let mut seen = 0;
    for source in sources() {
        for (_, rest) in
            source.match_indices("extern \"C\" fn tercel_").map(|(at, _)| source.split_at(at))
        {
            let name = rest.trim_start_matches("extern \"C\" fn ");
            let name = name.split('(').next().unwrap();
            assert!(declared.contains(name), "{name}");
            seen += 1;
        }
    }
    assert_eq!(seen, declared.len());
}

/// Each function is called with NULL, zero lengths and in the wrong order by a program in C.
#[test]
fn each_function_is_misused_by_a_test() {
    let tests = fs::read_to_string(root().join("tests/c/misuse.c")).unwrap();
    for function in functions(&header()) {
        assert!(tests.contains(&format!("{function}(")), "{function} is missing in misuse.c");
    }
}

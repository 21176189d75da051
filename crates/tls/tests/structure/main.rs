//! The shape of the source tree, checked as a test: arrows only point down, `unsafe` stays home.
//!
//! For: the rules ARCHITECTURE.md draws, so that the drawing cannot go stale unnoticed.
//! Must not know: what the code does. It reads text, not types, and needs no tool but `cargo`.
//! Next: the tables right below are the rules; `code.rs` is how source text is read.

mod code;

use std::fs;
use std::path::{Path, PathBuf};

use code::{Code, Word};

/// Modules of `tercel`, lowest first. A module may use itself and whatever stands before it.
const LAYERS: [&str; 5] = ["error", "record", "keys", "connection", "handshake"];

/// Top-level modules of `tercel` that stand beside the layers. A name found in neither table
/// fails the test: a new or renamed module must be given its place here.
const BESIDE: [&str; 8] =
    ["lib", "config", "ticket", "session", "key_log", "stream", "sync", "testing"];

/// Each crate of ours and those of ours it may depend on.
const FLOORS: [(&str, &[&str]); 9] = [
    ("tercel-crypto", &[]),
    ("tercel-wire", &[]),
    ("tercel-pki", &["tercel-crypto"]),
    ("tercel", &["tercel-crypto", "tercel-wire", "tercel-pki"]),
    ("tercel-tokio", &["tercel"]),
    ("tercel-fleet", &["tercel", "tercel-tokio"]),
    ("tercel-proxy", &["tercel", "tercel-tokio", "tercel-fleet"]),
    ("tercel-capi", &["tercel"]),
    ("tercel-cli", &["tercel", "tercel-tokio", "tercel-proxy"]),
];

/// The only crate that may call foreign cryptography, and what it calls.
const FOREIGN: (&str, &str) = ("tercel-crypto", "aws-lc-sys");

/// Where `unsafe` may be written.
const UNSAFE_HOMES: [&str; 2] = ["crates/crypto/src/backend", "crates/capi"];

#[test]
fn layers_of_the_core_only_use_lower_ones() {
    let source = repository().join("crates/tls/src");
    let files = rust_files(&source);
    assert!(!files.is_empty(), "no source in {}", source.display());

    let mut faults = Vec::new();
    for file in files {
        let module = module_path(file.strip_prefix(&source).unwrap());
        let place = file.strip_prefix(repository()).unwrap().display().to_string();
        let text = fs::read_to_string(&file).unwrap();
        faults.extend(upward_arrows(&module, &text).iter().map(|fault| format!("{place}{fault}")));
    }
    assert!(faults.is_empty(), "arrows that point up:\n{}", faults.join("\n"));
}

#[test]
fn crates_only_depend_on_lower_floors() {
    let mut faults = Vec::new();
    for folder in subfolders(&repository().join("crates")) {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        faults.extend(floor_faults(&manifest));
    }
    assert!(faults.is_empty(), "dependencies between floors:\n{}", faults.join("\n"));
}

#[test]
fn unsafe_stays_in_its_homes() {
    let root = repository();
    let mut seen = 0;
    let mut faults = Vec::new();
    for file in ["crates", "conformance", "fuzz"].iter().flat_map(|top| rust_files(&root.join(top)))
    {
        let place = file.strip_prefix(&root).unwrap();
        seen += 1;
        if UNSAFE_HOMES.iter().any(|home| place.starts_with(home)) {
            continue;
        }
        let code = Code::of(&fs::read_to_string(&file).unwrap());
        let lines = code.words().filter(|word| word.text == "unsafe").map(|word| word.line);
        faults.extend(lines.map(|line| format!("{}:{line}", place.display())));
    }
    assert!(seen > 0, "no source found");
    assert!(faults.is_empty(), "`unsafe` away from home:\n{}", faults.join("\n"));
}

/// Every resumption reads ticket keys, so nothing there may make a thread wait for another.
#[test]
fn ticket_keys_are_read_without_locks() {
    const LOCKS: [&str; 9] = [
        "Mutex",
        "RwLock",
        "ReentrantLock",
        "Condvar",
        "Barrier",
        "Once",
        "OnceLock",
        "LazyLock",
        "spin_loop",
    ];
    let files = rust_files(&repository().join("crates/tls/src/ticket"));
    assert!(files.len() > 5, "no source of tickets found");
    let mut faults = Vec::new();
    for file in files.iter().filter(|file| !file.ends_with("tests.rs")) {
        let code = Code::of(&fs::read_to_string(file).unwrap());
        let locks = code.words().filter(|word| LOCKS.contains(&word.text));
        faults.extend(locks.map(|word| format!("{}:{}: {}", file.display(), word.line, word.text)));
    }
    assert!(faults.is_empty(), "locks where tickets are opened:\n{}", faults.join("\n"));
}

/// The uses in `text`, a file of module `module`, that break the order; each as `:line: what`.
fn upward_arrows(module: &[String], text: &str) -> Vec<String> {
    let Some(own) = LAYERS.iter().position(|layer| *layer == module[0]) else {
        if BESIDE.contains(&module[0].as_str()) {
            return Vec::new();
        }
        return vec![format!(": module `{}` has no place in LAYERS or BESIDE", module[0])];
    };
    let judge = |word: &Word<'_>| match LAYERS.iter().position(|layer| *layer == word.text) {
        Some(used) if used > own => {
            Some(format!(":{}: {} uses {}", word.line, LAYERS[own], LAYERS[used]))
        }
        // A name exported at the crate's root hides the module it comes from.
        None if word.text == "*" || word.text.starts_with(char::is_uppercase) => {
            Some(format!(":{}: name the module that `crate::{}` comes from", word.line, word.text))
        }
        _ => None,
    };
    Code::of(text).names_at_root(module.len()).iter().filter_map(judge).collect()
}

/// The dependencies in a manifest that break `FLOORS` or `FOREIGN`.
fn floor_faults(manifest: &str) -> Vec<String> {
    let package = manifest
        .lines()
        .find_map(|line| line.strip_prefix("name = "))
        .map(|name| name.trim().trim_matches('"').to_owned())
        .expect("a package has a name");
    let Some((_, allowed)) = FLOORS.iter().find(|(name, _)| *name == package) else {
        return vec![format!("`{package}` has no place in FLOORS")];
    };
    let mut faults = Vec::new();
    for dependency in dependencies(manifest) {
        let ours = dependency == "tercel" || dependency.starts_with("tercel-");
        if ours && !allowed.contains(&dependency.as_str()) {
            faults.push(format!("`{package}` depends on `{dependency}`"));
        }
        if dependency == FOREIGN.1 && package != FOREIGN.0 {
            faults.push(format!("`{package}` calls `{dependency}` past `{}`", FOREIGN.0));
        }
    }
    faults
}

/// The packages a manifest depends on. Tests and benches may look up, so their dependencies are
/// left out.
fn dependencies(manifest: &str) -> Vec<String> {
    const KINDS: [&str; 2] = ["dependencies", "build-dependencies"];
    let mut found = Vec::new();
    let mut listing = false;
    for line in manifest.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            let section = section.trim_end_matches(']');
            listing = KINDS.contains(&section.rsplit('.').next().unwrap_or_default());
            // `[dependencies.name]`, also below a target.
            if let Some((kind, name)) = section.rsplit_once('.') {
                if KINDS.contains(&kind.rsplit('.').next().unwrap_or_default()) {
                    found.push(name.trim_matches('"').to_owned());
                }
            }
            continue;
        }
        if listing && !line.starts_with('#') {
            // A renamed dependency carries its real name in `package`.
            if let Some((_, renamed)) = line.split_once("package = \"") {
                found.extend(renamed.split('"').next().map(str::to_owned));
            }
            let name = line.split(['=', '.']).next().unwrap_or_default();
            found.push(name.trim().trim_matches('"').to_owned());
        }
    }
    found.retain(|name| !name.is_empty());
    found
}

fn repository() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("crates/tls has a repository above it").to_owned()
}

fn subfolders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.is_dir()).collect()
}

/// Every Rust file below `folder`; what a build left there is not source.
fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(folder) = waiting.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for path in entries.map(|entry| entry.unwrap().path()) {
            if path.is_dir() && !path.ends_with("target") {
                waiting.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// `record/frame.rs` is `[record, frame]`, `record/mod.rs` and `record.rs` are `[record]`.
fn module_path(file: &Path) -> Vec<String> {
    let file = file.with_extension("");
    let parts = file.iter().map(|part| part.to_string_lossy().into_owned());
    parts.filter(|part| part != "mod").collect()
}

mod the_check_itself {
    use super::*;

    fn arrows(module: &str, text: &str) -> usize {
        let module: Vec<_> = module.split('/').map(str::to_owned).collect();
        upward_arrows(&module, text).len()
    }

    #[test]
    fn finds_each_way_to_write_an_upward_arrow() {
        for text in [
            "use crate::keys::Secret;",
            "fn f() -> crate::keys::Secret { todo() }",
            "use crate::{error::Error, keys::Secret};",
            "use crate::{error::{A, B}, handshake};",
            "use super::super::connection::Sender;",
            "pub(crate) use crate::handshake as below;",
            "macro_rules! m { () => { $crate::keys::f() } }",
            "use crate::Connection;",
            "use crate::*;",
        ] {
            assert_eq!(arrows("record/frame", text), 1, "{text}");
        }
        assert_eq!(arrows("keys", "use crate::connection::X;\nuse crate::handshake::Y;"), 2);
        assert_eq!(arrows("connection", "use super::handshake::Flow;"), 1);
        assert_eq!(arrows("error", "use crate::record::Frame;"), 1);
        assert_eq!(arrows("surprise", ""), 1);
    }

    #[test]
    fn lets_arrows_down_pass() {
        for (module, text) in [
            ("record/frame", "use crate::error::Error;\nuse super::limits::MAX;"),
            ("record", "use crate::record::frame::Frame; use crate::{error::Error, record::X};"),
            ("keys/tls13", "// use crate::handshake::Flow;\n/* crate::handshake::X */"),
            (
                "keys/tls13",
                "/// See [`crate::handshake`].\nconst A: &str = \"crate::handshake::X\";",
            ),
            ("handshake/flow", "use crate::{connection, error, keys, record};"),
            ("config", "use crate::handshake::Question;"),
        ] {
            assert_eq!(arrows(module, text), 0, "{module}: {text}");
        }
    }

    #[test]
    fn finds_dependencies_that_climb_or_go_past_the_facade() {
        let manifest = |name: &str, rest: &str| format!("[package]\nname = \"{name}\"\n{rest}");
        for (name, rest, faults) in [
            ("tercel-wire", "[dependencies]\ntercel-crypto.workspace = true\n", 1),
            ("tercel-pki", "[dependencies]\ntercel-crypto = { path = \"x\" }\nwebpki = \"1\"\n", 0),
            ("tercel-crypto", "[dependencies.tercel]\nworkspace = true\n", 1),
            ("tercel-crypto", "[target.'cfg(unix)'.dependencies]\ntercel = \"1\"\n", 1),
            ("tercel-crypto", "[build-dependencies]\nx = { package = \"tercel-pki\" }\n", 1),
            ("tercel", "[dev-dependencies]\nx = { package = \"tercel-cli\" }\n", 0),
            ("tercel", "[dependencies]\naws-lc-sys = \"0.47\"\n", 1),
            ("tercel-crypto", "[dependencies]\naws-lc-sys = { workspace = true }\n", 0),
            ("tercel-extra", "", 1),
        ] {
            let manifest = manifest(name, rest);
            assert_eq!(floor_faults(&manifest).len(), faults, "{manifest}");
        }
    }
}

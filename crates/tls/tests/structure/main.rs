//! Checks the structure of the source tree: modules use only lower modules, no two modules use each
//! other, crates depend only on lower crates, and `unsafe` is confined to certain folders.
//!
//! ARCHITECTURE.md describes the tables below. The test reads source text, not types, and needs no
//! tool but `cargo`. Test code (`#[cfg(test)]`) may use any module.

mod advisories;
mod code;
mod config_errors;
mod features;
mod modules;
mod peer_errors;

use std::fs;
use std::path::{Path, PathBuf};

use code::Code;
use modules::Modules;

/// The top-level modules of each crate, lowest first. A module may use itself and the modules
/// before it in the list. A module that is not listed here fails the test.
const MODULES: [(&str, &[&str]); 14] = [
    (
        "crates/crypto/src",
        &[
            "lock",
            "error",
            "algorithm",
            "backend",
            "memory",
            "hash",
            "parts_hash",
            "deterministic",
            "random",
            "signature_cache",
            "hmac",
            "batch",
            "hkdf",
            "prf",
            "interleaved_hash",
            "key_exchange",
            "der",
            "signature",
            "key_parts",
            "public_key",
            "signing_key",
            "pkcs12",
            "aead",
            "random_nonce_key",
            "hpke",
            "header_protection",
            "kernel_checks",
            "fips",
            "service_indicator",
        ],
    ),
    (
        "crates/wire/src",
        &[
            "unique",
            "code_points",
            "error",
            "reader",
            "writer",
            "list",
            "structure",
            "record",
            "alert",
            "extension",
            "handshake",
        ],
    ),
    (
        "crates/pki/src",
        &[
            "der",
            "time",
            "pem",
            "file_content",
            "system_store",
            "reason",
            "algorithms",
            "server_name",
            "budget",
            "certificate",
            "distinguished_names",
            "chain_end",
            "refusal",
            "anchor",
            "roots",
            "revocation",
            "path",
            "ocsp",
            "verifier",
        ],
    ),
    (
        "crates/tls/src",
        &[
            "fips",
            "error",
            "sync",
            "side",
            "policy",
            "debug",
            "known_values",
            "key_log",
            "message_tap",
            "record",
            "keys",
            "ech",
            "psk",
            "auth",
            "resumption",
            "config",
            "connection",
            "events",
            "handshake",
            "io",
        ],
    ),
    (
        "crates/proxy/src",
        &[
            "sync",
            "system",
            "observability",
            "config",
            "certificates",
            "ech_keys",
            "backend",
            "active_config",
            "ech_publish",
            "worker",
            "relay",
            "connection",
            "listener",
            "service",
        ],
    ),
    (
        "crates/tokio/src",
        &[
            "error",
            "accept_backoff",
            "timer",
            "pool",
            "incoming",
            "outgoing",
            "split",
            "stream",
            "answers",
            "early_data",
            "handshake",
            "acceptor",
            "connector",
            "listener",
        ],
    ),
    (
        "crates/fleet/src",
        &[
            "error",
            "counters",
            "hex",
            "settings",
            "secrets",
            "store",
            "sealed_set",
            "ech_keys",
            "early_data",
            "ticket_keys",
            "sessions",
            "node",
            "fleet",
        ],
    ),
    (
        "crates/native-tls/src",
        &[
            "protocol",
            "error",
            "version_range",
            "certificate",
            "identity",
            "stream",
            "system_roots",
            "handshake",
            "acceptor",
            "connector",
        ],
    ),
    ("crates/quinn/src", &["keys", "tokens", "session", "config", "endpoint"]),
    (
        "crates/capi/src",
        &[
            "status",
            "entry",
            "version",
            "fips",
            "input",
            "output",
            "roots",
            "credential",
            "tickets",
            "psk",
            "callbacks",
            "sessions",
            "config",
            "fact",
            "connection",
            "handshake",
            "question",
        ],
    ),
    (
        "crates/openssl/src",
        &[
            "lock",
            "sys",
            "errors",
            "entry",
            "ciphers",
            "objects",
            "method",
            "settings",
            "session",
            "tickets",
            "context",
            "connection",
            "functions",
        ],
    ),
    (
        "crates/rustls/src",
        &[
            "error",
            "random",
            "hash",
            "hpke",
            "key_derivation",
            "records",
            "quic",
            "tls13",
            "tls12",
            "cipher_suite",
            "key_exchange",
            "kx_group",
            "sign",
            "verify",
            "ticketer",
            "signature_memory",
        ],
    ),
    (
        "crates/cli/src",
        &[
            "explain",
            "output",
            "generate",
            "usage",
            "negotiated",
            "certificates",
            "transport",
            "target",
            "starttls",
            "credential_files",
            "ech_files",
            "options",
            "psk",
            "ech_offer",
            "client",
            "dns",
            "http3",
            "ech",
            "connect",
            "load",
            "scan",
            "serve",
            "proxy",
        ],
    ),
    (
        "lab/lab/src",
        &[
            "machine",
            "statistics",
            "report",
            "worker",
            "material",
            "instructions",
            "output",
            "run",
            "series",
            "cli",
        ],
    ),
];

/// Each crate of the workspace, and those on which it may depend.
const DEPENDENCIES: [(&str, &[&str]); 15] = [
    ("tercel-crypto", &[]),
    ("tercel-wire", &[]),
    ("tercel-pki", &["tercel-crypto", "tercel-wire"]),
    ("tercel", &["tercel-crypto", "tercel-wire", "tercel-pki"]),
    ("tercel-tokio", &["tercel-crypto", "tercel"]),
    ("tercel-fleet", &["tercel-crypto", "tercel", "tercel-tokio"]),
    ("tercel-hyper", &["tercel-tokio"]),
    ("tercel-postgres", &["tercel-tokio"]),
    ("tercel-proxy", &["tercel-crypto", "tercel", "tercel-tokio", "tercel-fleet"]),
    ("tercel-native-tls", &["tercel-crypto", "tercel"]),
    ("tercel-quinn", &["tercel"]),
    // It brings the cryptography to rustls, without the protocol.
    ("tercel-rustls", &["tercel-crypto"]),
    ("tercel-capi", &["tercel"]),
    ("tercel-openssl", &["tercel"]),
    (
        "tercel-cli",
        &["tercel-crypto", "tercel-wire", "tercel", "tercel-tokio", "tercel-proxy", "tercel-quinn"],
    ),
];

/// The only crate of `crates` that may call the cryptographic backend, and the two backends.
/// `tercel-openssl` declares functions of the system's libcrypto, for objects of programs.
const FOREIGN: (&str, [&str; 2]) = ("tercel-crypto", ["aws-lc-sys", "aws-lc-fips-sys"]);

/// The folders in which `unsafe` is allowed. That of `fuzz` calls the C interface, and those of the
/// lab call libraries in C.
const UNSAFE_FOLDERS: [&str; 10] = [
    "crates/crypto/src/backend",
    "crates/capi",
    "crates/openssl",
    "fuzz/targets/src/capi",
    "lab/bare/src",
    "lab/series/worker",
    "lab/workers/boringssl",
    "lab/workers/openssl",
    "lab/workers/s2n-tls",
    "lab/workers/tercel-c",
];

#[test]
fn modules_only_use_lower_ones() {
    let mut faults = Vec::new();
    for (folder, order) in MODULES {
        let modules = read_modules(folder);
        faults.extend(modules.order_faults(order).iter().map(|fault| format!("{folder}/{fault}")));
    }
    assert!(faults.is_empty(), "uses against the order of modules:\n{}", faults.join("\n"));
}

#[test]
fn no_modules_of_one_folder_use_each_other() {
    let mut faults = Vec::new();
    for (folder, _) in MODULES {
        let circles = read_modules(folder).circles();
        faults.extend(circles.iter().map(|circle| format!("{folder}: {circle}")));
    }
    assert!(faults.is_empty(), "circles between modules:\n{}", faults.join("\n"));
}

fn read_modules(folder: &str) -> Modules {
    let source = repository().join(folder);
    let files = rust_files(&source);
    assert!(!files.is_empty(), "no source in {folder}");
    Modules::new(files.iter().map(|file| {
        let place = file.strip_prefix(&source).unwrap();
        (place.to_owned(), fs::read_to_string(file).unwrap())
    }))
}

#[test]
fn crates_only_depend_on_lower_ones() {
    let mut faults = Vec::new();
    for folder in subfolders(&repository().join("crates")) {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        faults.extend(dependency_faults(&manifest));
    }
    assert!(faults.is_empty(), "dependencies that are not allowed:\n{}", faults.join("\n"));
}

#[test]
fn unsafe_is_confined() {
    let root = repository();
    let mut seen = 0;
    let mut faults = Vec::new();
    let tops = ["crates", "conformance", "fuzz", "lab"];
    for file in tops.iter().flat_map(|top| rust_files(&root.join(top))) {
        let place = file.strip_prefix(&root).unwrap();
        seen += 1;
        if UNSAFE_FOLDERS.iter().any(|home| place.starts_with(home)) {
            continue;
        }
        let code = Code::of(&fs::read_to_string(&file).unwrap());
        let lines = code.words().filter(|word| word.text == "unsafe").map(|word| word.line);
        faults.extend(lines.map(|line| format!("{}:{line}", place.display())));
    }
    assert!(seen > 0, "no source found");
    assert!(faults.is_empty(), "`unsafe` in other folders:\n{}", faults.join("\n"));
}

/// Every resumption reads ticket keys, so this code must not make a thread wait for another.
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
    let files = rust_files(&repository().join("crates/tls/src/resumption/tickets"));
    assert!(files.len() > 5, "no source of tickets found");
    let mut faults = Vec::new();
    for file in files.iter().filter(|file| !file.ends_with("tests.rs")) {
        let code = Code::of(&fs::read_to_string(file).unwrap());
        let locks = code.words().filter(|word| LOCKS.contains(&word.text));
        faults.extend(locks.map(|word| format!("{}:{}: {}", file.display(), word.line, word.text)));
    }
    assert!(faults.is_empty(), "locks where tickets are opened:\n{}", faults.join("\n"));
}

/// The dependencies in a manifest that break `DEPENDENCIES` or `FOREIGN`.
fn dependency_faults(manifest: &str) -> Vec<String> {
    let package = manifest
        .lines()
        .find_map(|line| line.strip_prefix("name = "))
        .map(|name| name.trim().trim_matches('"').to_owned())
        .expect("a package has a name");
    let Some((_, allowed)) = DEPENDENCIES.iter().find(|(name, _)| *name == package) else {
        return vec![format!("`{package}` is missing in DEPENDENCIES")];
    };
    let mut faults = Vec::new();
    for dependency in dependencies(manifest) {
        let ours = dependency == "tercel" || dependency.starts_with("tercel-");
        if ours && !allowed.contains(&dependency.as_str()) {
            faults.push(format!("`{package}` depends on `{dependency}`"));
        }
        if FOREIGN.1.contains(&dependency.as_str()) && package != FOREIGN.0 {
            faults.push(format!("`{package}` calls `{dependency}` without `{}`", FOREIGN.0));
        }
    }
    faults
}

/// The packages on which a manifest depends. Tests and benches may depend on higher crates, so
/// their dependencies are omitted.
fn dependencies(manifest: &str) -> Vec<String> {
    const KINDS: [&str; 2] = ["dependencies", "build-dependencies"];
    let mut found = Vec::new();
    let mut listing = false;
    for line in manifest.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            let section = section.trim_end_matches(']');
            listing = KINDS.contains(&section.rsplit('.').next().unwrap_or_default());
            // `[dependencies.name]`, which may follow the name of a target.
            if let Some((kind, name)) = section.rsplit_once('.') {
                if KINDS.contains(&kind.rsplit('.').next().unwrap_or_default()) {
                    found.push(name.trim_matches('"').to_owned());
                }
            }
            continue;
        }
        if listing && !line.starts_with('#') {
            // For a renamed dependency, `package` has the real name.
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

/// Every Rust file below `folder`, without build output.
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

mod tests {
    use super::*;

    #[test]
    fn forbidden_dependencies_are_found() {
        let manifest = |name: &str, rest: &str| format!("[package]\nname = \"{name}\"\n{rest}");
        for (name, rest, faults) in [
            ("tercel-wire", "[dependencies]\ntercel-crypto.workspace = true\n", 1),
            (
                "tercel-pki",
                "[dependencies]\ntercel-crypto = { path = \"x\" }\nuntrusted = \"1\"\n",
                0,
            ),
            ("tercel-crypto", "[dependencies.tercel]\nworkspace = true\n", 1),
            ("tercel-crypto", "[target.'cfg(unix)'.dependencies]\ntercel = \"1\"\n", 1),
            ("tercel-crypto", "[build-dependencies]\nx = { package = \"tercel-pki\" }\n", 1),
            ("tercel", "[dev-dependencies]\nx = { package = \"tercel-cli\" }\n", 0),
            ("tercel", "[dependencies]\naws-lc-sys = \"0.47\"\n", 1),
            ("tercel", "[dependencies]\naws-lc-fips-sys = \"0.14\"\n", 1),
            ("tercel-crypto", "[dependencies]\naws-lc-sys = { workspace = true }\n", 0),
            ("tercel-extra", "", 1),
        ] {
            let manifest = manifest(name, rest);
            assert_eq!(dependency_faults(&manifest).len(), faults, "{manifest}");
        }
    }
}

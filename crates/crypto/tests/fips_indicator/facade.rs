//! The public functions of this crate, read from its sources.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Functions that use no cryptographic service, or only prepare one or feed it.
// The functions below use no service of the module.
const WITHOUT_SERVICES: &[&str] = &[
    "AeadAlgorithm::key_len",
    "AeadKey::algorithm",
    "AeadKey::new",
    "Hash::algorithm",
    "Hash::new",
    "Hash::update",
    "HashAlgorithm::block_len",
    "HashAlgorithm::output_len",
    "HeaderProtectionKey::new",
    "HmacKey::algorithm",
    "HpkeKey::private_key",
    "HpkeKey::public_key",
    "InterleavedHash::finish",
    "InterleavedHash::keys",
    "InterleavedHash::new",
    "KeyExchange::algorithm",
    "KeyExchange::public_share",
    "KeyExchange::traditional",
    "KeyExchangeAlgorithm::client_share_len",
    "KeyExchangeAlgorithm::server_share_len",
    "KeyExchangeAlgorithm::traditional",
    "KeyKind::algorithms",
    "PartsHash::add",
    "PartsHash::new",
    "Prk::batch",
    "Prk::from_bytes",
    "Prk::from_key",
    "Prk::hmac",
    "Prk::max_output_len",
    "PublicKey::algorithms",
    "PublicKey::bits",
    "PublicKey::from_legacy_spki",
    "PublicKey::from_raw",
    "PublicKey::from_spki",
    "PublicKey::kind",
    "RandomNonceKey::new",
    "RecordKey::renew",
    "RecordKey::with_nonces",
    "RecordNonces::begin_at_zero",
    "Signer::algorithms",
    "Signer::is_fips_approved",
    "Signer::kind",
    "Signer::public_key_spki",
    "SigningKey::algorithms",
    "SigningKey::bits",
    "SigningKey::kind",
    "SigningKey::public_key_spki",
    "Tls12Prf::begin",
    "Tls12Prf::new",
    "constant_time_eq",
    "fips_module",
    "has_fast_aes",
    "hash_lanes",
    "use_hash_lanes",
    "wipe",
    "SignatureCache::contains",
    "SignatureCache::insert",
    "SignatureCache::is_empty",
    "SignatureCache::len",
];

/// Functions that are not run, and are not approved. PKCS#12 derives keys by a function of its own,
/// and decrypts by algorithms such as 3DES and RC2. RFC 7292 B
const NOT_RUN: &[&str] = &["Pkcs12::open"];

/// Files without cryptography, and those of test seams.
const NOT_READ: [&str; 5] =
    ["deterministic.rs", "kernel_checks.rs", "lock.rs", "service_indicator.rs", "stack_search.rs"];

/// The functions that are neither tested nor in [`WITHOUT_SERVICES`].
pub(crate) fn functions_without(tested: &BTreeSet<String>) -> Vec<String> {
    let listed: BTreeSet<_> = WITHOUT_SERVICES.iter().chain(NOT_RUN).collect();
    let known = |name: &String| tested.contains(name) || listed.contains(&&**name);
    all().into_iter().filter(|name| !known(name)).collect()
}

/// The names that are not of functions.
pub(crate) fn unknown(tested: &BTreeSet<String>) -> Vec<String> {
    let all = all();
    let listed = WITHOUT_SERVICES.iter().chain(NOT_RUN).map(|name| (*name).to_owned());
    listed.chain(tested.iter().cloned()).filter(|name| !all.contains(name)).collect()
}

fn all() -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut functions = BTreeSet::new();
    for file in files(&folder) {
        functions_of(&fs::read_to_string(file).unwrap(), &mut functions);
    }
    assert!(functions.len() > 90, "{} functions", functions.len());
    functions
}

/// The sources, except those of the backend, which exports no function that takes part in a
/// protocol.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() && name != "backend" {
            found.extend(files(&path));
        } else if path.is_file() && !NOT_READ.contains(&name) && name != "tests.rs" {
            found.push(path);
        }
    }
    found
}

/// Adds the functions of a file that `rustfmt` has formatted.
fn functions_of(text: &str, functions: &mut BTreeSet<String>) {
    let (mut owner, mut in_trait, mut is_seam) = (String::new(), false, false);
    for line in text.lines() {
        let (indented, code) = (line.starts_with("    "), line.trim_start());
        if code.starts_with("/// Test seam.") {
            is_seam = true;
        }
        if !indented && code.starts_with("impl") {
            (owner, in_trait) = (type_of(code), false);
        } else if !indented && code.starts_with("pub trait ") {
            (owner, in_trait) = (name_at(code, "pub trait "), true);
        } else if line == "}" {
            (owner, in_trait) = (String::new(), false);
        }
        let starts = if in_trait { ["fn "; 2] } else { ["pub fn ", "pub const fn "] };
        let depth = if owner.is_empty() { 0 } else { 4 };
        let Some(start) = starts.into_iter().find(|start| code.starts_with(start)) else {
            continue;
        };
        if line.len() - code.len() != depth || std::mem::take(&mut is_seam) {
            continue;
        }
        let name = name_at(code, start);
        functions.insert(if owner.is_empty() { name } else { format!("{owner}::{name}") });
    }
}

/// The type of an implementation: the last name before the parameters or the brace.
fn type_of(line: &str) -> String {
    let line = line.split(" for ").last().unwrap();
    let line = line.strip_prefix("impl").unwrap_or(line);
    let line = if line.starts_with('<') { line.split_once("> ").unwrap().1 } else { line };
    name_at(line.trim_start(), "")
}

fn name_at(code: &str, start: &str) -> String {
    let rest = &code[start.len()..];
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    rest[..end].to_owned()
}

//! Finds certificate and key files in a folder.
//!
//! Files are paired by name, in the folder itself and in its immediate subfolders:
//!
//! | certificates, leaf first | key | OCSP response in DER, optional |
//! |---|---|---|
//! | `fullchain.pem` | `privkey.pem` | `fullchain.ocsp` |
//! | `NAME.crt` | `NAME.key` | `NAME.ocsp` |
//! | `NAME.pem` | `NAME.key` | `NAME.ocsp` |
//! | `NAME.pem` or `NAME.crt` | in the same file | `NAME.ocsp` |
//!
//! This covers certbot's `live` folder, a folder of pairs, and Kubernetes TLS secrets (`tls.crt`,
//! `tls.key`) mounted into a folder each. `NAME.crt` takes precedence over `NAME.pem`. Next to
//! `fullchain.pem`, certbot's `cert.pem` and `chain.pem` are ignored. Names that begin with a dot
//! are ignored. Certificates without a key (those of an authority, for example) are ignored too;
//! but if such a certificate was in use before, it is reported as a problem.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use tercel::files::{CredentialFiles as Files, contains_private_key};

use super::problem::{Problem, Reason};

/// Maximum number of directory entries read from one folder. A folder with more entries is probably
/// a wrong path, such as `/`.
const MAX_ENTRIES: usize = 20_000;

/// The result of scanning a folder and its subfolders.
#[derive(Debug, Default)]
pub(super) struct ScanResult {
    pub(super) files: Vec<Files>,
    /// Files whose counterpart is missing.
    pub(super) problems: Vec<Problem>,
    /// Certificates without a key.
    pub(super) keyless: Vec<PathBuf>,
}

/// Scans `folder` for pairs, sorted by name.
pub(super) fn scan(folder: &Path) -> Result<ScanResult, Problem> {
    let mut found = ScanResult::default();
    let inner = scan_one(folder, &mut found)?;
    for folder in inner {
        // A subfolder that has disappeared or is unreadable does not affect the others.
        if let Err(problem) = scan_one(&folder, &mut found) {
            found.problems.push(problem);
        }
    }
    found.files.sort();
    Ok(found)
}

/// Adds the pairs of `folder` itself and returns its subfolders.
fn scan_one(folder: &Path, found: &mut ScanResult) -> Result<Vec<PathBuf>, Problem> {
    let unreadable = |error| Problem::unreadable(folder, &error);
    let mut names = BTreeSet::new();
    let mut inner = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)?.take(MAX_ENTRIES) {
        let name = entry.map_err(unreadable)?.file_name();
        if name.as_encoded_bytes().starts_with(b".") {
            continue;
        }
        // Symbolic links are followed: certbot and Kubernetes link to the current version.
        match fs::metadata(folder.join(&name)) {
            Ok(metadata) if metadata.is_dir() => inner.push(folder.join(name)),
            // A dangling link is listed like a file; reading it reports the error.
            _ => drop(names.insert(name)),
        }
    }
    FileNames { folder, names }.pair_up(found);
    inner.sort();
    Ok(inner)
}

/// The file names of one folder.
struct FileNames<'a> {
    folder: &'a Path,
    names: BTreeSet<OsString>,
}

impl FileNames<'_> {
    fn pair_up(&self, found: &mut ScanResult) {
        let certbot = self.has("fullchain.pem");
        if certbot && !self.has("privkey.pem") {
            self.missing_partner("fullchain.pem", "privkey.pem", found);
        } else if certbot {
            found.files.push(self.files("fullchain.pem", "privkey.pem", "fullchain"));
        } else if self.has("privkey.pem") {
            self.missing_partner("privkey.pem", "fullchain.pem", found);
        }
        for name in self.names.iter().filter_map(|name| name.to_str()) {
            let Some((stem, extension)) = name.rsplit_once('.') else { continue };
            let of_certbot = name == "privkey.pem"
                || certbot && matches!(name, "fullchain.pem" | "cert.pem" | "chain.pem");
            match extension {
                "key" => self.with_key(name, stem, found),
                "crt" | "pem" if of_certbot || self.has(&format!("{stem}.key")) => {}
                "crt" | "pem" => self.without_key(name, stem, found),
                _ => {}
            }
        }
    }

    fn with_key(&self, key: &str, stem: &str, found: &mut ScanResult) {
        let [crt, pem] = [format!("{stem}.crt"), format!("{stem}.pem")];
        match [&crt, &pem].into_iter().find(|name| self.has(name)) {
            Some(chain) => found.files.push(self.files(chain, key, stem)),
            None => self.missing_partner(key, &format!("{crt} or {pem}"), found),
        }
    }

    /// Adds a certificate without a key file. It is ignored unless its own file contains a key.
    fn without_key(&self, name: &str, stem: &str, found: &mut ScanResult) {
        if contains_private_key(&self.folder.join(name)) {
            found.files.push(self.files(name, name, stem));
        } else {
            found.keyless.push(self.folder.join(name));
        }
    }

    fn missing_partner(&self, name: &str, missing: &str, found: &mut ScanResult) {
        let reason = Reason::MissingPartner { missing: missing.to_owned() };
        found.problems.push(Problem::new(&self.folder.join(name), reason));
    }

    fn files(&self, chain: &str, key: &str, stem: &str) -> Files {
        let ocsp_response = format!("{stem}.ocsp");
        Files {
            chain: self.folder.join(chain),
            key: self.folder.join(key),
            ocsp_response: self.has(&ocsp_response).then(|| self.folder.join(ocsp_response)),
        }
    }

    fn has(&self, name: &str) -> bool {
        self.names.contains(std::ffi::OsStr::new(name))
    }
}

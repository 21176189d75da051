//! Which files of a folder belong together.
//!
//! In the folder itself and in the folders right inside it, by name:
//!
//! | certificates, leaf first | key | OCSP response, DER, if there is one |
//! |---|---|---|
//! | `fullchain.pem` | `privkey.pem` | `fullchain.ocsp` |
//! | `NAME.crt` | `NAME.key` | `NAME.ocsp` |
//! | `NAME.pem` | `NAME.key` | `NAME.ocsp` |
//! | `NAME.pem` or `NAME.crt` | in the same file | `NAME.ocsp` |
//!
//! So certbot's `live`, a folder of pairs, and Kubernetes' TLS secrets (`tls.crt`, `tls.key`), each in a folder of its own, are
//! understood as they are. Of `NAME.crt` and `NAME.pem` the first counts. Beside `fullchain.pem` certbot's `cert.pem` and `chain.pem` say nothing new. Names that begin with a
//! dot are passed over, as are certificates without a key (an authority's, say), unless they have been in use; the latter are told.
//!
//! Must not know: what is in the files, but for whether a key is. Next: `pair`, who reads them.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::pair;
use super::problem::{Problem, Reason};

/// Most files that are looked at in one folder, or folders in it: more is a mistake, such as `/`.
const ENTRIES: usize = 20_000;

/// The files of one credential.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Files {
    /// The chain, leaf first, in PEM.
    pub chain: PathBuf,
    /// The private key, in PEM; may be the same file.
    pub key: PathBuf,
    /// The OCSP response, in DER.
    pub ocsp_response: Option<PathBuf>,
}

/// What was found in a folder, and in the folders in it.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) files: Vec<Files>,
    /// Files that want another one.
    pub(super) problems: Vec<Problem>,
    /// Certificates that have no key.
    pub(super) keyless: Vec<PathBuf>,
}

/// The pairs in `folder`, sorted by name.
pub(super) fn scan(folder: &Path) -> Result<Found, Problem> {
    let mut found = Found::default();
    let inner = scan_one(folder, &mut found)?;
    for folder in inner {
        // A folder that is gone again since, or that is not ours to read, says nothing about the others.
        if let Err(problem) = scan_one(&folder, &mut found) {
            found.problems.push(problem);
        }
    }
    found.files.sort();
    Ok(found)
}

/// Adds what lies in `folder` itself, and gives the folders in it.
fn scan_one(folder: &Path, found: &mut Found) -> Result<Vec<PathBuf>, Problem> {
    let unreadable = |error| Problem::unreadable(folder, &error);
    let mut names = BTreeSet::new();
    let mut inner = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)?.take(ENTRIES) {
        let name = entry.map_err(unreadable)?.file_name();
        if name.as_encoded_bytes().starts_with(b".") {
            continue;
        }
        // Follows links: certbot and Kubernetes link whatever is current.
        match fs::metadata(folder.join(&name)) {
            Ok(metadata) if metadata.is_dir() => inner.push(folder.join(name)),
            // A link to nowhere is a name like others: reading it says what is wrong.
            _ => drop(names.insert(name)),
        }
    }
    Names { folder, names }.pair_up(found);
    inner.sort();
    Ok(inner)
}

/// The names of a folder's files.
struct Names<'a> {
    folder: &'a Path,
    names: BTreeSet<OsString>,
}

impl Names<'_> {
    fn pair_up(&self, found: &mut Found) {
        let certbot = self.has("fullchain.pem");
        if certbot && !self.has("privkey.pem") {
            self.alone("fullchain.pem", "privkey.pem", found);
        } else if certbot {
            found.files.push(self.files("fullchain.pem", "privkey.pem", "fullchain"));
        } else if self.has("privkey.pem") {
            self.alone("privkey.pem", "fullchain.pem", found);
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

    fn with_key(&self, key: &str, stem: &str, found: &mut Found) {
        let [crt, pem] = [format!("{stem}.crt"), format!("{stem}.pem")];
        match [&crt, &pem].into_iter().find(|name| self.has(name)) {
            Some(chain) => found.files.push(self.files(chain, key, stem)),
            None => self.alone(key, &format!("{crt} or {pem}"), found),
        }
    }

    /// The key may be in the same file. If not, it is nobody's certificate here.
    fn without_key(&self, name: &str, stem: &str, found: &mut Found) {
        if pair::holds_key(&self.folder.join(name)) {
            found.files.push(self.files(name, name, stem));
        } else {
            found.keyless.push(self.folder.join(name));
        }
    }

    fn alone(&self, name: &str, wanted: &str, found: &mut Found) {
        let reason = Reason::Alone { wanted: wanted.to_owned() };
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

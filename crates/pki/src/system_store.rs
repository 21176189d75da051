//! The certificates in the operating system's store, or in the files that `SSL_CERT_FILE` and
//! `SSL_CERT_DIR` name.
//!
//! Files are read by the reader of [`crate::pem`]. Nothing is judged here.

use std::collections::BTreeSet;
use std::env;
use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};

use crate::pem::readable_certs;

/// Certificates (DER) without duplicates, and what could not be read: each the file and the reason.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) certificates: BTreeSet<Vec<u8>>,
    pub(crate) problems: Vec<String>,
}

impl Found {
    /// Reads the store that the environment names, or else that of the operating system.
    pub(crate) fn of_system() -> Self {
        let file = env::var_os("SSL_CERT_FILE").map(PathBuf::from);
        let folders = env::var_os("SSL_CERT_DIR").unwrap_or_default();
        let folders = env::split_paths(&folders).filter(|path| !path.as_os_str().is_empty());
        let folders: Vec<_> = folders.collect();
        if file.is_some() || !folders.is_empty() {
            return Self::of_files(file.as_deref(), &folders);
        }
        Self::of_platform()
    }

    /// Reads a file, and all files of folders, whatever their names are: see `Roots::native`.
    pub(crate) fn of_files(file: Option<&Path>, folders: &[PathBuf]) -> Self {
        let (mut found, mut seen) = (Self::default(), BTreeSet::new());
        match file {
            // OpenSSL trusts nothing then, too.
            Some(file) if file.as_os_str().is_empty() => {
                found.problems.push("SSL_CERT_FILE is set, but empty".to_owned());
            }
            Some(file) => found.add_file(file, &[], &mut seen),
            None => {}
        }
        for folder in folders {
            match fs::read_dir(folder) {
                Ok(entries) => {
                    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
                    paths.sort();
                    // A link may lead to nothing, after its package was removed.
                    paths.retain(|path| path.metadata().is_ok_and(|found| found.is_file()));
                    for path in paths {
                        // Fedora has all authorities a second time in OpenSSL's own form.
                        found.add_file(&path, &["TRUSTED CERTIFICATE"], &mut seen);
                    }
                }
                Err(error) => found.add_problem(folder, &error),
            }
        }
        found
    }

    #[cfg(not(any(windows, target_os = "macos")))]
    fn of_platform() -> Self {
        let places = openssl_probe::probe();
        Self::of_files(places.cert_file.as_deref(), &places.cert_dir)
    }

    #[cfg(any(windows, target_os = "macos"))]
    fn of_platform() -> Self {
        let found = rustls_native_certs::load_native_certs();
        let problems = found.errors.iter().map(ToString::to_string).collect();
        let certificates = found.certs.iter().map(|found| found.to_vec()).collect();
        Self { certificates, problems }
    }

    /// Reads a file once, although several links may lead to it. Sections with these labels are
    /// skipped.
    fn add_file(&mut self, path: &Path, skipped: &[&str], seen: &mut BTreeSet<PathBuf>) {
        let content = path.canonicalize().and_then(|target| {
            if seen.insert(target) { fs::read(path).map(Some) } else { Ok(None) }
        });
        match content {
            Ok(content) => {
                let (certificates, problems) =
                    readable_certs(&content.unwrap_or_default(), skipped);
                self.certificates.extend(certificates);
                for (line, error) in problems {
                    self.problems.push(format!("{}:{line}: {error}", path.display()));
                }
            }
            Err(error) => self.add_problem(path, &error),
        }
    }

    fn add_problem(&mut self, path: &Path, error: &dyn Display) {
        self.problems.push(format!("{}: {error}", path.display()));
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair};

    use super::*;
    use crate::roots::Roots;
    use crate::{ChainVerifier, NotAnAnchor, RootsError, Usage};

    /// Debian's package `ssl-cert` leaves the certificate of a server among the authorities, and
    /// other users than root can read its key. RFC 5280 4.2.1.9
    #[test]
    fn debians_snakeoil_certificate_is_left_out() {
        let file = Path::new("/etc/ssl/certs/ssl-cert-snakeoil.pem");
        if !file.exists() {
            println!("skipped: the package ssl-cert is not installed");
            return;
        }
        let certificate = Found::of_files(Some(file), &[]).certificates.pop_first().unwrap();
        let store = Found::of_files(None, &[PathBuf::from("/etc/ssl/certs")]);
        assert!(store.certificates.contains(&certificate));
        let native = match Roots::of_store(store) {
            Ok(native) => native,
            // There is no other certificate.
            Err(error) => return assert!(matches!(error, RootsError::NotAuthority(_))),
        };
        assert!(native.left_out().is_some());
        let verifier = ChainVerifier::builder(native.roots.into()).build().unwrap();
        let now = pki_types::UnixTime::now();
        assert!(verifier.verify(Usage::Server, &[certificate.into()], None, None, now).is_err());
    }

    #[test]
    fn an_empty_name_of_a_file_is_a_problem() {
        let found = Found::of_files(Some(Path::new("")), &[]);
        let error = Roots::of_store(found).unwrap_err().to_string();
        assert_eq!(error, "no trust anchors: SSL_CERT_FILE is set, but empty");
    }

    #[test]
    fn a_store_is_read_as_far_as_possible() {
        let folder = std::env::temp_dir().join(format!("tercel-pki-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let write = |name: &str, content: &[u8]| {
            let path = folder.join(name);
            fs::write(&path, content).unwrap();
            path
        };
        let made = |name: &str, is_authority: bool| {
            let mut params = CertificateParams::default();
            params.distinguished_name.push(rcgen::DnType::CommonName, name);
            if is_authority {
                params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
            }
            params.self_signed(&KeyPair::generate().unwrap()).unwrap()
        };
        let (one, two) = (made("one", true), made("two", true));
        let bad = "-----begin certificate-----\n-----END CERTIFICATE-----\n";
        let all = write("all.pem", format!("{}{bad}\u{feff}{}", one.pem(), two.pem()).as_bytes());
        write("README", b"no certificate");
        // RHEL's ca-bundle.trust.crt
        let trusted = one.pem().replace(" CERTIFICATE", " TRUSTED CERTIFICATE");
        write("ca-bundle.trust.crt", trusted.as_bytes());
        write("link-like.pem", one.pem().as_bytes());
        for number in 0..5 {
            write(
                &format!("{number}.pem"),
                made(&format!("leaf {number}"), false).pem().as_bytes(),
            );
        }
        let missing = folder.join("missing");
        let found = Found::of_files(Some(&all), &[folder.clone(), missing]);
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(found.certificates.len(), 2 + 5);
        let [bad, missing] = &found.problems[..] else { panic!("{:?}", found.problems) };
        let line = one.pem().lines().count() + 1;
        assert!(bad.contains(&format!("all.pem:{line}: a line")), "{bad}");
        assert!(missing.contains("missing: "), "{missing}");
        let native = Roots::of_store(found).unwrap();
        assert_eq!(native.roots.len(), 2);
        let others = native.roots.not_anchors();
        assert!(
            others.len() == 5 && !others.iter().any(|NotAnAnchor { is_pinned, .. }| *is_pinned)
        );
        let text = native.left_out().unwrap();
        assert!(text.starts_with("7 left out of the system's trusted certificates"), "{text}");
        assert!(text.matches("CN=leaf ").count() == 3 && text.ends_with(" and 4 more"), "{text}");
        // A program is not given what the system left out.
        let verifier = ChainVerifier::builder(native.roots.into()).build().unwrap();
        let leaf = made("leaf", false).der().clone();
        let now = pki_types::UnixTime::now();
        assert!(verifier.verify(Usage::Server, &[leaf], None, None, now).is_err());
    }
}

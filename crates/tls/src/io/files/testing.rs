//! Folders with generated certificates.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rcgen::{CertificateParams, KeyPair};

use super::credential::CredentialFiles;

/// A temporary folder.
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("tercel-files-test-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// The files that [`Self::write`] writes.
    pub(super) fn files(&self) -> CredentialFiles {
        CredentialFiles::new(self.0.join("x.crt"), self.0.join("x.key"))
    }

    pub(super) fn write(&self, generated: &Generated) {
        fs::write(self.0.join("x.crt"), &generated.chain).unwrap();
        fs::write(self.0.join("x.key"), &generated.key).unwrap();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A certificate and its key, in PEM.
pub(super) struct Generated {
    pub(super) chain: String,
    pub(super) key: String,
}

pub(super) fn generate(name: &str) -> Generated {
    generate_with(name, |_| ())
}

pub(super) fn generate_with(name: &str, change: impl FnOnce(&mut CertificateParams)) -> Generated {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new([name.to_owned()]).unwrap();
    change(&mut params);
    Generated { chain: params.self_signed(&key).unwrap().pem(), key: key.serialize_pem() }
}

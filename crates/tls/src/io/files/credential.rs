//! One certificate chain with its private key, read from files.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use pki_types::UnixTime;
use tercel_crypto::{KeyKind, PartsHash};
use tercel_pki::{
    CertificateSummary, PemContents, PemError, PemUse, Usage, load_certs_pem, load_key_pem,
};
use zeroize::Zeroizing;

use super::error::{FileError, FileErrorReason as Reason};
use crate::auth::credential::{Credential, CredentialError};

/// Maximum file size in bytes: three times a chain of fifty certificates with post-quantum
/// signatures.
const MAX_LENGTH: u64 = 1 << 20;

/// The files of a credential.
///
/// ```no_run
/// use std::sync::Arc;
/// use tercel::certificates::Credentials;
/// use tercel::files::{CredentialFiles, FileError};
/// use tercel::pki::Usage;
///
/// // Replaces the credentials of a server when its operator asks for it, as by SIGHUP.
/// fn reload(credentials: &Credentials) -> Result<(), FileError> {
///     let files = CredentialFiles::new("chain.pem", "key.pem");
///     credentials.replace(vec![files.load(Usage::Server)?]);
///     Ok(())
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CredentialFiles {
    /// The certificate chain, leaf first, in PEM.
    pub chain: PathBuf,
    /// The private key in PEM; may be the same file as the chain.
    pub key: PathBuf,
    /// The OCSP response in DER.
    pub ocsp_response: Option<PathBuf>,
}

impl CredentialFiles {
    /// Creates the list of two files, without an OCSP response.
    #[must_use]
    pub fn new(chain: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        Self { chain: chain.into(), key: key.into(), ocsp_response: None }
    }

    /// Reads the files and checks that they form a credential that is valid now, and that a
    /// server's is for servers (RFC 5280 4.2.1.12).
    ///
    /// # Errors
    /// The first reason why the files cannot be used.
    pub fn load(&self, usage: Usage) -> Result<Credential, FileError> {
        let loaded = self.read()?.parse(usage)?;
        loaded.check_time(UnixTime::now())?;
        Ok(loaded.credential())
    }

    /// Reads the files without a check of their contents. Each may have 1 MiB. A file that is not a
    /// regular one, such as a pipe, is refused.
    ///
    /// # Errors
    /// The file that cannot be read.
    pub fn read(&self) -> Result<CredentialBytes, FileError> {
        let key = read(&self.key)?;
        let ocsp_response = self.ocsp_response.as_deref().map(read).transpose()?;
        Ok(CredentialBytes {
            chain: read(&self.chain)?.bytes,
            has_exposed_key: key.exposed,
            key: key.bytes,
            ocsp_response: ocsp_response.map(|read| read.bytes.to_vec()).unwrap_or_default(),
            files: self.clone(),
        })
    }
}

/// The bytes of a credential's files. The key is wiped when the value is dropped.
pub struct CredentialBytes {
    chain: Zeroizing<Vec<u8>>,
    key: Zeroizing<Vec<u8>>,
    ocsp_response: Vec<u8>,
    has_exposed_key: bool,
    files: CredentialFiles,
}

impl CredentialBytes {
    /// Returns whether every user of the system may read the file of the key. False on other
    /// systems than Unix.
    #[must_use]
    pub fn has_exposed_key(&self) -> bool {
        self.has_exposed_key
    }

    /// Returns a digest that is another one if a file has other bytes. The digest may be stored,
    /// because a private key cannot be guessed from its hash.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        let mut hash = PartsHash::new();
        let parts = [self.chain.as_slice(), self.key.as_slice(), self.ocsp_response.as_slice()];
        for part in parts {
            hash.add(part);
        }
        hash.finish()
    }

    /// Parses the files, and checks that they form a credential for this use, as
    /// [`Credential::check_usage`] says. The validity period is not checked: see
    /// [`LoadedCredential::check_time`].
    ///
    /// # Errors
    /// The first reason why the files cannot be used.
    pub fn parse(self, usage: Usage) -> Result<LoadedCredential, FileError> {
        let CredentialFiles { chain: chain_file, key: key_file, .. } = &self.files;
        let chain = load_certs_pem(&self.chain).map_err(|error| {
            FileError::pem(chain_file, "a certificate", &self.chain, Reason::Certificate(error))
        })?;
        let key = load_key_pem(&self.key).map_err(|error| {
            FileError::pem(key_file, "a private key", &self.key, Reason::Key(error))
        })?;
        let unusable =
            |error| FileError::new(chain_file, Reason::Credential { key: key_file.clone(), error });
        let credential = Credential::new(chain, &key).map_err(unusable)?;
        // Many servers accept clients with certificates of servers: see `check_usage`.
        if usage == Usage::Server {
            credential.check_usage(usage).map_err(unusable)?;
        }
        let leaf = credential.chain().first();
        let summary = leaf.and_then(|leaf| CertificateSummary::new(leaf).ok());
        let summary = summary.ok_or_else(|| unusable(CredentialError::BadCertificate))?;
        let (contents, skipped) = self.contents();
        let mut names = summary.dns_names;
        names.extend(summary.ip_addresses.iter().map(ToString::to_string));
        if names.is_empty() {
            names.push(summary.subject);
        }
        Ok(LoadedCredential {
            credential: credential.ocsp_response(self.ocsp_response.clone()),
            ocsp_response: self.ocsp_response,
            names,
            not_before: summary.not_before,
            not_after: summary.not_after,
            contents,
            skipped,
            file: self.files.chain,
        })
    }

    /// The contents of the files, and the number of sections that are skipped.
    fn contents(&self) -> (Vec<String>, usize) {
        let CredentialFiles { chain, key, .. } = &self.files;
        let both =
            [(chain, &self.chain, PemUse::Certificates), (key, &self.key, PemUse::PrivateKey)];
        let one = [(chain, &self.chain, PemUse::CertificatesAndKey)];
        let used = if chain == key { &one[..] } else { &both[..] };
        let read = used.iter().map(|(path, pem, purpose)| {
            let contents = PemContents::new(pem);
            let described = contents.describe(*purpose);
            (format!("{}: {described}", path.display()), contents.skipped(*purpose))
        });
        let (texts, skipped): (Vec<_>, Vec<_>) = read.unzip();
        (texts, skipped.iter().fold(0, |sum: usize, each| sum.saturating_add(*each)))
    }
}

debug_fields!(CredentialBytes);

/// A certificate chain with its private key, from files.
#[derive(Debug)]
pub struct LoadedCredential {
    credential: Credential,
    ocsp_response: Vec<u8>,
    names: Vec<String>,
    not_before: UnixTime,
    not_after: UnixTime,
    contents: Vec<String>,
    skipped: usize,
    file: PathBuf,
}

impl LoadedCredential {
    /// Returns a copy of the credential, which shares the private key.
    #[must_use]
    pub fn credential(&self) -> Credential {
        self.credential.clone()
    }

    /// Returns whether the leaf is valid for this DNS name. See [`Credential::covers`].
    #[must_use]
    pub fn covers(&self, name: &str) -> bool {
        self.credential.covers(name)
    }

    /// Returns the kind of the private key.
    #[must_use]
    pub fn kind(&self) -> KeyKind {
        self.credential.kind()
    }

    /// Returns the DNS names and IP addresses of the leaf, or its subject if it has none.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the OCSP response (DER); empty if there is none.
    #[must_use]
    pub fn ocsp_response(&self) -> &[u8] {
        &self.ocsp_response
    }

    /// Returns the end of the leaf's validity period.
    #[must_use]
    pub fn not_after(&self) -> UnixTime {
        self.not_after
    }

    /// Returns a line for each file: its sections, and which of them are skipped.
    #[must_use]
    pub fn contents(&self) -> &[String] {
        &self.contents
    }

    /// Returns the number of sections that are skipped.
    #[must_use]
    pub fn skipped(&self) -> usize {
        self.skipped
    }

    /// Checks the validity period of the leaf.
    ///
    /// # Errors
    /// [`FileErrorReason::Expired`](Reason::Expired) or
    /// [`FileErrorReason::NotYetValid`](Reason::NotYetValid), of the chain's file.
    pub fn check_time(&self, now: UnixTime) -> Result<(), FileError> {
        let reason = match () {
            () if now > self.not_after => Reason::Expired(self.not_after),
            () if now < self.not_before => Reason::NotYetValid(self.not_before),
            () => return Ok(()),
        };
        Err(FileError::new(&self.file, reason))
    }
}

/// Returns whether the file contains a private key of any type; `false` if it cannot be read.
#[must_use]
pub fn contains_private_key(file: &Path) -> bool {
    read(file).is_ok_and(|read| !matches!(load_key_pem(&read.bytes), Err(PemError::NothingFound)))
}

struct Contents {
    bytes: Zeroizing<Vec<u8>>,
    /// Whether the file is world-readable.
    exposed: bool,
}

fn read(path: &Path) -> Result<Contents, FileError> {
    let unreadable = |error: io::Error| FileError::unreadable(path, &error);
    let not_regular = || FileError::new(path, Reason::Unreadable("not a regular file".to_owned()));
    // Opening a pipe would wait for its writer.
    if !fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err(not_regular());
    }
    let file = File::open(path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(not_regular());
    }
    if metadata.len() > MAX_LENGTH {
        return Err(FileError::new(path, Reason::TooLong));
    }
    // The capacity suffices from the start: a growing vector would leave copies of the key in
    // memory.
    let capacity = usize::try_from(MAX_LENGTH.min(metadata.len())).unwrap_or(0);
    let mut bytes = Zeroizing::new(Vec::with_capacity(capacity));
    let length = file.take(MAX_LENGTH).read_to_end(&mut bytes).map_err(unreadable)?;
    if u64::try_from(length).is_ok_and(|length| length >= MAX_LENGTH) {
        return Err(FileError::new(path, Reason::TooLong));
    }
    Ok(Contents { bytes, exposed: is_world_readable(&metadata) })
}

#[cfg(unix)]
fn is_world_readable(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    metadata.permissions().mode() & 0o004 != 0
}

#[cfg(not(unix))]
fn is_world_readable(_: &fs::Metadata) -> bool {
    false
}

#[cfg(test)]
mod tests;

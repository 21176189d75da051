//! One certificate chain with its private key, read from files.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;
use tercel::crypto::{HashAlgorithm, KeyKind};
use tercel::pki::{
    CertificateSummary, PemContents, PemError, PemUse, Usage, load_certs_pem, load_key_pem,
};
use tercel::pki_types::UnixTime;
use tercel::{Credential, certificates::CredentialError};
use tercel_crypto::Hash;

use super::problem::{Problem, Reason};

/// Maximum file size in bytes: three times a chain of fifty certificates with post-quantum
/// signatures.
const MAX_LENGTH: u64 = 1 << 20;

/// The files of one pair.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Files {
    /// The certificate chain, leaf first, in PEM.
    pub chain: PathBuf,
    /// The private key in PEM; may be the same file as the chain.
    pub key: PathBuf,
    /// The OCSP response in DER.
    pub ocsp_response: Option<PathBuf>,
}

/// A parsed certificate chain with its private key.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) credential: Credential,
    pub(super) ocsp_response: Vec<u8>,
    pub(super) names: Vec<String>,
    pub(super) not_before: UnixTime,
    pub(super) not_after: UnixTime,
    /// What the files contain, and the number of sections that are skipped.
    pub(super) contents: Vec<String>,
    pub(super) skipped: usize,
}

/// The bytes of a pair's files. The key is zeroized on drop.
pub(super) struct PairBytes {
    chain: Vec<u8>,
    key: ZeroizedBytes,
    ocsp_response: Vec<u8>,
    /// The key file, if it is world-readable.
    pub(super) exposed_key: Option<PathBuf>,
}

struct ZeroizedBytes(Vec<u8>);

impl Drop for ZeroizedBytes {
    fn drop(&mut self) {
        zeroize::Zeroize::zeroize(&mut self.0);
    }
}

impl PairBytes {
    pub(super) fn read(files: &Files) -> Result<Self, Problem> {
        let key = read(&files.key)?;
        let ocsp_response = files.ocsp_response.as_deref().map(read);
        Ok(Self {
            chain: read(&files.chain)?.bytes,
            exposed_key: key.exposed.then(|| files.key.clone()),
            key: ZeroizedBytes(key.bytes),
            ocsp_response: ocsp_response.transpose()?.map(|read| read.bytes).unwrap_or_default(),
        })
    }

    /// A digest that detects changes. The digest may be stored, because a private key cannot be
    /// guessed from its hash.
    pub(super) fn digest(&self) -> [u8; 32] {
        let parts = [&self.chain, &self.key.0, &self.ocsp_response];
        let each = parts.map(|part| Hash::digest(HashAlgorithm::Sha256, &[part]));
        let [chain, key, ocsp] = each.each_ref().map(AsRef::<[u8]>::as_ref);
        let all = Hash::digest(HashAlgorithm::Sha256, &[chain, key, ocsp]);
        all.as_ref().try_into().unwrap_or_default()
    }

    pub(super) fn parse(self, files: &Files) -> Result<Pair, Problem> {
        let of_chain = |reason| Problem::new(&files.chain, reason);
        let chain = load_certs_pem(&self.chain).map_err(|error| {
            Problem::pem(&files.chain, "a certificate", &self.chain, Reason::Certificate(error))
        })?;
        let key = load_key_pem(&self.key.0).map_err(|error| {
            Problem::pem(&files.key, "a private key", &self.key.0, Reason::Key(error))
        })?;
        let unusable = |error| of_chain(Reason::Credential { key: files.key.clone(), error });
        let credential = Credential::new(chain, &key).map_err(unusable)?;
        credential.check_usage(Usage::Server).map_err(unusable)?;
        let leaf = credential.chain().first();
        let summary = leaf.and_then(|leaf| CertificateSummary::new(leaf).ok());
        let summary = summary.ok_or_else(|| unusable(CredentialError::BadCertificate))?;
        let (contents, skipped) = self.contents(files);
        let mut names = summary.dns_names;
        names.extend(summary.ip_addresses.iter().map(ToString::to_string));
        if names.is_empty() {
            names.push(summary.subject);
        }
        Ok(Pair {
            credential: credential.ocsp_response(self.ocsp_response.clone()),
            ocsp_response: self.ocsp_response,
            names,
            not_before: summary.not_before,
            not_after: summary.not_after,
            contents,
            skipped,
        })
    }

    /// What the files contain, and the number of sections that are skipped.
    fn contents(&self, files: &Files) -> (Vec<String>, usize) {
        let both = [
            (&files.chain, &self.chain, PemUse::Certificates),
            (&files.key, &self.key.0, PemUse::PrivateKey),
        ];
        let one = [(&files.chain, &self.chain, PemUse::CertificatesAndKey)];
        let is_one = files.chain == files.key;
        let used = if is_one { &one[..] } else { &both[..] };
        let read = used.iter().map(|(path, pem, purpose)| {
            let contents = PemContents::new(pem);
            let described = contents.describe(*purpose);
            (format!("{}: {described}", path.display()), contents.skipped(*purpose))
        });
        let (texts, skipped): (Vec<_>, Vec<_>) = read.unzip();
        (texts, skipped.iter().sum())
    }
}

impl Pair {
    /// Checks the validity period of the leaf.
    pub(super) fn check_time(&self, files: &Files, now: UnixTime) -> Result<(), Problem> {
        let reason = match () {
            () if now > self.not_after => Reason::Expired(self.not_after),
            () if now < self.not_before => Reason::NotYetValid(self.not_before),
            () => return Ok(()),
        };
        Err(Problem::new(&files.chain, reason))
    }

    /// A copy of the credential, because the set [`tercel::certificates::Credentials`] owns its
    /// members.
    pub(super) fn credential(&self) -> Credential {
        self.credential.with_ocsp_response(self.ocsp_response.clone())
    }

    /// The sort order of key types for the same name. The first type that a client can verify is
    /// used, so types that are stronger or cheaper to sign with come first.
    pub(super) fn preference(&self) -> u8 {
        match self.credential.kind() {
            KeyKind::MlDsa44 | KeyKind::MlDsa65 | KeyKind::MlDsa87 => 0,
            KeyKind::EcdsaP256 | KeyKind::EcdsaP384 | KeyKind::EcdsaP521 | KeyKind::Ed25519 => 1,
            // RSA and unknown types.
            _ => 2,
        }
    }
}

/// Whether the file contains a private key of any type; `false` if it cannot be read.
pub(super) fn holds_key(file: &Path) -> bool {
    read(file).is_ok_and(|read| {
        let bytes = ZeroizedBytes(read.bytes);
        !matches!(load_key_pem(&bytes.0), Err(PemError::NothingFound))
    })
}

struct Contents {
    bytes: Vec<u8>,
    /// Whether the file is world-readable.
    exposed: bool,
}

fn read(path: &Path) -> Result<Contents, Problem> {
    let unreadable = |error| Problem::unreadable(path, &error);
    // Opening a FIFO must not block.
    let nonblocking = OFlag::O_NONBLOCK.bits();
    let opened = File::options().read(true).custom_flags(nonblocking).open(path);
    let file = opened.map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(Problem::new(path, Reason::Unreadable("not a regular file".to_owned())));
    }
    if metadata.len() > MAX_LENGTH {
        return Err(Problem::new(path, Reason::TooLong));
    }
    // The capacity suffices from the start: a growing vector would leave copies of the key in
    // memory.
    let mut bytes =
        Vec::with_capacity(usize::try_from(MAX_LENGTH.min(metadata.len())).unwrap_or(0));
    let length = file.take(MAX_LENGTH).read_to_end(&mut bytes).map_err(unreadable)?;
    if u64::try_from(length).is_ok_and(|length| length >= MAX_LENGTH) {
        return Err(Problem::new(path, Reason::TooLong));
    }
    Ok(Contents { bytes, exposed: metadata.permissions().mode() & 0o004 != 0 })
}

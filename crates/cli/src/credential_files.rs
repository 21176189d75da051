//! Certificates, keys and key logs in files. Every error names its file, what was found in it, and
//! what to do.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, ensure};
use tercel::certificates::CredentialError;
use tercel::crypto::SigningKey;
use tercel::pki::{
    CertificateSummary, FileContent, PemContents, PemError, ReadableTime, Roots, RootsError, Usage,
    load_certs_pem, load_key_pem, load_public_keys_pem,
};
use tercel::pki_types::{PrivateKeyDer, SubjectPublicKeyInfoDer, UnixTime};
use tercel::{
    Credential,
    key_log::{KeyLog, KeyLogFile},
};

use crate::explain;

/// Reads a certificate chain and its private key, both PEM. Warns if the certificate is not valid
/// at this time.
pub(crate) fn credential(certificates: &Path, key: &Path) -> Result<Credential> {
    let pem = read(certificates)?;
    let chain =
        load_certs_pem(&pem).map_err(|error| wrong(certificates, &pem, CERTIFICATE, error))?;
    let private = private_key(key)?;
    let credential = Credential::new(chain, &private).map_err(|error| {
        let files = format!("{} with {}", display_name(certificates), display_name(key));
        match error {
            CredentialError::KeyMismatch => anyhow!(
                "{files}: {error}; the key must be that of the first certificate in the file"
            ),
            error => anyhow!("{files}: {error}"),
        }
    })?;
    warn_if_invalid_now(certificates, &credential);
    Ok(credential)
}

/// Reads a certificate chain of a server and its private key, as [`credential`].
pub(crate) fn server_credential(certificates: &Path, key: &Path) -> Result<Credential> {
    let credential = credential(certificates, key)?;
    credential.check_usage(Usage::Server).with_context(|| display_name(certificates))?;
    Ok(credential)
}

/// Reads a private key in PEM; its public key is presented instead of a certificate. RFC 7250
pub(crate) fn raw_public_key(key: &Path) -> Result<Credential> {
    let private = private_key(key)?;
    let signer = SigningKey::from_der(private.secret_der()).with_context(|| display_name(key))?;
    let public = SubjectPublicKeyInfoDer::from(signer.public_key_spki());
    Credential::raw_public_key_with_signer(public, Arc::new(signer))
        .with_context(|| display_name(key))
}

fn private_key(file: &Path) -> Result<PrivateKeyDer<'static>> {
    let pem = read(file)?;
    load_key_pem(&pem).map_err(|error| wrong(file, &pem, PRIVATE_KEY, error))
}

/// A handshake with such a certificate fails on the other side only, so it is reported here.
fn warn_if_invalid_now(file: &Path, credential: &Credential) {
    let Some(leaf) = credential.chain().first() else { return };
    let Ok(summary) = CertificateSummary::new(leaf) else { return };
    let (now, file) = (UnixTime::now(), display_name(file));
    if now > summary.not_after {
        let expired = ReadableTime(summary.not_after);
        explain::warn(format_args!("{file}: the certificate expired at {expired}; renew it"));
    } else if now < summary.not_before {
        let begins = ReadableTime(summary.not_before);
        explain::warn(format_args!("{file}: the certificate is not valid before {begins}"));
    }
}

/// Reads public keys (`SubjectPublicKeyInfo`) from a PEM file, at least one.
pub(crate) fn public_keys(file: &Path) -> Result<Vec<SubjectPublicKeyInfoDer<'static>>> {
    let pem = read(file)?;
    load_public_keys_pem(&pem).map_err(|error| wrong(file, &pem, PUBLIC_KEY, error))
}

/// Reads an OCSP response. Clients verify it.
pub(crate) fn ocsp_response(file: &Path) -> Result<Vec<u8>> {
    let response = read(file)?;
    // DER starts with a SEQUENCE. A file that does not is probably a PEM file.
    ensure!(
        response.first() == Some(&0x30),
        "{}: contains {}, not an OCSP response in DER",
        display_name(file),
        FileContent::of(&response)
    );
    Ok(response)
}

/// Reads trust anchors from a PEM file.
pub(crate) fn roots(file: &Path) -> Result<Roots> {
    let mut roots = Roots::new();
    let pem = read(file)?;
    match roots.add_pem(&pem) {
        Err(RootsError::Pem(error)) => return Err(wrong(file, &pem, AUTHORITY, error)),
        other => other.with_context(|| display_name(file))?,
    };
    let others = roots.not_anchors();
    for other in others.iter().take(MAX_WARNINGS) {
        explain::warn(format_args!("{}: {other}", display_name(file)));
    }
    if let Some(more @ 1..) = others.len().checked_sub(MAX_WARNINGS) {
        explain::warn(format_args!(
            "{}: {more} more certificates are not authorities'",
            display_name(file)
        ));
    }
    Ok(roots)
}

/// Reads the trust anchors of the operating system, and says what is left out.
pub(crate) fn system_roots() -> Result<Roots> {
    let found = Roots::native()?;
    if let Some(left_out) = found.left_out() {
        explain::warn(format_args!("{left_out}"));
    }
    Ok(found.roots)
}

/// The maximum number of warnings about certificates of one file.
const MAX_WARNINGS: usize = 3;

/// What a file should contain.
#[derive(Clone, Copy, PartialEq, Eq)]
struct ExpectedContent {
    /// The name with its article, such as `a certificate`.
    name: &'static str,
    /// The command of OpenSSL that converts it.
    converter: &'static str,
    /// The end of the error if the file contains the other half of a certificate and its key.
    question: &'static str,
}

const SWAPPED: &str = "; are --cert and --key swapped?";
const CERTIFICATE: ExpectedContent =
    ExpectedContent { name: "a certificate", converter: "x509", question: SWAPPED };
const AUTHORITY: ExpectedContent = ExpectedContent { question: "", ..CERTIFICATE };
const PRIVATE_KEY: ExpectedContent =
    ExpectedContent { name: "a private key", converter: "pkey", question: SWAPPED };
const PUBLIC_KEY: ExpectedContent =
    ExpectedContent { name: "a public key", converter: "pkey -pubin -pubout", question: "" };

/// The error for a file that does not contain what it should: what was found, and what to do.
fn wrong(file: &Path, pem: &[u8], wanted: ExpectedContent, error: PemError) -> anyhow::Error {
    let ExpectedContent { name: expected, converter, question } = wanted;
    let name = display_name(file);
    let content = FileContent::of(pem);
    let problem = PemContents::new(pem).problem();
    let line = problem.filter(|(_, found)| *found == error);
    let line = line.map_or_else(String::new, |(line, _)| format!(":{line}"));
    match (content, error) {
        (FileContent::Empty, _) => anyhow!("{name}: is empty; it must contain {expected} in PEM"),
        (FileContent::EncryptedPrivateKey, _) | (_, PemError::EncryptedKey)
            if wanted == PRIVATE_KEY =>
        {
            anyhow!(
                "{name}: contains an encrypted private key; decrypt it: openssl pkey -in {name} \
                 -out NEW"
            )
        }
        (_, PemError::NothingFound) if content.name() == expected => {
            unreadable_section(&name, expected)
        }
        (FileContent::Certificate | FileContent::PrivateKey, PemError::NothingFound) => {
            anyhow!("{name}: contains {content}, not {expected}{question}")
        }
        (FileContent::Der, _) => anyhow!(
            "{name}: contains {content}; convert it: openssl {converter} -inform DER -in {name} \
             -out NEW"
        ),
        (FileContent::Pkcs12, _) => anyhow!(
            "{name}: contains {content}, not PEM; convert it: openssl pkcs12 -in {name} -noenc \
             -out NEW"
        ),
        (FileContent::OpenSshKey, _) if wanted == PRIVATE_KEY => anyhow!(
            "{name}: contains {content}; convert a copy of it: ssh-keygen -p -m PKCS8 -f COPY"
        ),
        (_, PemError::NothingFound) => {
            anyhow!("{name}: contains {content}, not {expected} in PEM")
        }
        (_, PemError::NotBase64 | PemError::NoEnd | PemError::NoBegin) => {
            anyhow!("{name}{line}: {error}; copy the file again, it may be incomplete")
        }
        _ => anyhow!("{name}{line}: {error}"),
    }
}

/// The error for a file that has what it should, but in a section that is not read.
fn unreadable_section(name: &str, expected: &str) -> anyhow::Error {
    anyhow!(
        "{name}: contains {expected} in a PEM section that is not read; its begin line must be \
         alone on a line, and its label must be a supported one"
    )
}

/// Opens the key log, if one was requested.
pub(crate) fn key_log(file: Option<&Path>) -> Result<Option<Arc<dyn KeyLog>>> {
    let Some(file) = file else { return Ok(None) };
    // The key log makes it possible to decrypt connections, so only its owner may read it.
    match private_options().create_new(true).open(file) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(error).with_context(|| display_name(file));
        }
        _ => {}
    }
    let log = KeyLogFile::append(file).with_context(|| display_name(file))?;
    Ok(Some(Arc::new(log)))
}

/// Writes a file that only its owner can read. It replaces an earlier one at once, so that neither
/// another process nor a failure leaves a part of it.
pub(crate) fn write_private(file: &Path, content: &[u8]) -> Result<()> {
    write_whole(file, content, &private_options(), Overwrite::Replace)
}

/// Like [`write_private`], for a file that its group can read, too.
pub(crate) fn write_readable_by_group(
    file: &Path,
    content: &[u8],
    overwrite: Overwrite,
) -> Result<()> {
    write_whole(file, content, &options_with_mode(0o640), overwrite)
}

/// Whether an existing file is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overwrite {
    Replace,
    Refuse,
}

fn write_whole(
    file: &Path,
    content: &[u8],
    options: &OpenOptions,
    overwrite: Overwrite,
) -> Result<()> {
    // An existing file would keep its permissions, so a new file is renamed.
    let mut name = file.as_os_str().to_owned();
    name.push(format!(".{}", random_suffix()?));
    let new = PathBuf::from(name);
    let created = options.clone().create_new(true).open(&new);
    let written = created.and_then(|mut created| created.write_all(content));
    let placed = written.and_then(|()| match overwrite {
        Overwrite::Replace => fs::rename(&new, file),
        // A link is not made over an existing file.
        Overwrite::Refuse => fs::hard_link(&new, file).and_then(|()| fs::remove_file(&new)),
    });
    placed.map_err(|error| {
        let _ = fs::remove_file(&new);
        match error.kind() {
            io::ErrorKind::AlreadyExists => {
                anyhow!("{}: exists already; --force replaces it", display_name(file))
            }
            _ => anyhow!("{}: {}", display_name(file), explain::io_error(&error)),
        }
    })
}

/// An unpredictable end of a file name.
pub(crate) fn random_suffix() -> Result<String> {
    let mut random = [0; 8];
    tercel_crypto::fill_random(&mut random).ok().context("random number generator failed")?;
    Ok(format!("{:016x}", u64::from_be_bytes(random)))
}

fn private_options() -> OpenOptions {
    options_with_mode(0o600)
}

/// Options to write a file that has this mode from its creation.
fn options_with_mode(mode: u32) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(not(unix))]
    let _ = mode;
    options
}

pub(crate) fn read(file: &Path) -> Result<Vec<u8>> {
    let content = fs::read(file);
    content.map_err(|error| anyhow!("{}: {}", display_name(file), explain::io_error(&error)))
}

pub(crate) fn display_name(file: &Path) -> String {
    file.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pem_cases::check;

    /// RFC 7468 2, 3
    #[test]
    fn files_of_odd_forms_are_read_or_refused_with_the_reason() {
        let folder = std::env::temp_dir().join(format!("tercel-test-{}", random_suffix().unwrap()));
        fs::create_dir(&folder).unwrap();
        let write = |name: &str, pem: &[u8]| {
            let file = folder.join(name);
            fs::write(&file, pem).unwrap();
            file
        };
        let own = rcgen::KeyPair::generate().unwrap();
        let made = || rcgen::CertificateParams::default().self_signed(&own).unwrap().pem();
        let (one, other, key) = (made(), made(), own.serialize_pem());
        let (chain_file, key_file) = (write("chain", one.as_bytes()), write("key", key.as_bytes()));
        let text = |error: anyhow::Error| format!("{error:#}");
        check("chain", &one, &other, |pem| {
            let credential = credential(&write("odd", pem), &key_file).map_err(text)?;
            Ok(credential.chain().to_vec())
        });
        check("key", &one, &key, |pem| {
            credential(&chain_file, &write("odd", pem)).map(drop).map_err(text)
        });
        check("roots", &one, &other, |pem| {
            roots(&write("odd", pem)).map(|roots| roots.fingerprint()).map_err(text)
        });
        let public = own.public_key_pem();
        check("public keys", &one, &public, |pem| public_keys(&write("odd", pem)).map_err(text));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn concurrent_writers_leave_one_whole_file() {
        let folder = std::env::temp_dir().join(format!("tercel-test-{}", random_suffix().unwrap()));
        fs::create_dir(&folder).unwrap();
        let file = folder.join("sessions");
        let both = std::sync::Barrier::new(2);
        let write = |content: [u8; 4096]| {
            both.wait();
            (0..1000).try_for_each(|_| write_private(&file, &content))
        };
        std::thread::scope(|scope| {
            let other = scope.spawn(|| write([1; 4096]));
            write([2; 4096]).unwrap();
            other.join().unwrap().unwrap();
        });
        let content = fs::read(&file).unwrap();
        assert!(content == [1; 4096] || content == [2; 4096]);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(&folder).unwrap();
    }
}

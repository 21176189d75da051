//! Certificates, keys and key logs in files. Every error names its file.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail, ensure};
use tercel::crypto::SigningKey;
use tercel::pki::{Roots, load_certs_pem, load_key_pem};
use tercel::pki_types::SubjectPublicKeyInfoDer;
use tercel::pki_types::pem::PemObject;
use tercel::{
    Credential,
    key_log::{KeyLog, KeyLogFile},
};

/// Reads a certificate chain and its private key, both PEM.
pub(crate) fn credential(certificates: &Path, key: &Path) -> Result<Credential> {
    let chain = load_certs_pem(&read(certificates)?).with_context(|| display_name(certificates))?;
    let private = load_key_pem(&read(key)?).with_context(|| display_name(key))?;
    Credential::new(chain, &private)
        .with_context(|| format!("{} with {}", display_name(certificates), display_name(key)))
}

/// Reads a private key in PEM; its public key is presented instead of a certificate. RFC 7250
pub(crate) fn raw_public_key(key: &Path) -> Result<Credential> {
    let private = load_key_pem(&read(key)?).with_context(|| display_name(key))?;
    let signer = SigningKey::from_der(private.secret_der()).with_context(|| display_name(key))?;
    let public = SubjectPublicKeyInfoDer::from(signer.public_key_spki());
    Credential::raw_public_key_with_signer(public, Arc::new(signer))
        .with_context(|| display_name(key))
}

/// Reads public keys (`SubjectPublicKeyInfo`) from a PEM file, at least one.
pub(crate) fn public_keys(file: &Path) -> Result<Vec<SubjectPublicKeyInfoDer<'static>>> {
    let pem = read(file)?;
    let keys = SubjectPublicKeyInfoDer::pem_slice_iter(&pem).collect::<Result<Vec<_>, _>>();
    let keys = keys.map_err(|_| anyhow!("{}: not valid PEM", display_name(file)))?;
    if keys.is_empty() {
        bail!("{}: contains no public key", display_name(file));
    }
    Ok(keys)
}

/// Reads an OCSP response. Clients verify it.
pub(crate) fn ocsp_response(file: &Path) -> Result<Vec<u8>> {
    let response = read(file)?;
    // DER starts with a SEQUENCE. A file that does not is probably a PEM file.
    ensure!(response.first() == Some(&0x30), "{}: not an OCSP response in DER", display_name(file));
    Ok(response)
}

/// Reads trust anchors from a PEM file.
pub(crate) fn roots(file: &Path) -> Result<Roots> {
    let mut roots = Roots::new();
    roots.add_pem(&read(file)?).with_context(|| display_name(file))?;
    Ok(roots)
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

/// Writes a file that only its owner can read, replacing any earlier one.
pub(crate) fn write_private(file: &Path, content: &[u8]) -> Result<()> {
    // An existing file would keep its permissions, so it is removed first.
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(error).with_context(|| display_name(file));
        }
        _ => {}
    }
    let mut created =
        private_options().create_new(true).open(file).with_context(|| display_name(file))?;
    created.write_all(content).with_context(|| display_name(file))
}

fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

pub(crate) fn read(file: &Path) -> Result<Vec<u8>> {
    fs::read(file).with_context(|| display_name(file))
}

pub(crate) fn display_name(file: &Path) -> String {
    file.display().to_string()
}

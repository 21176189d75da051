//! Certificates, keys and key logs from the files that options name.
//!
//! Every error says which file it is about. Must not know: sides.
//! Next: [`crate::serve::authority`], which makes certificates instead of reading them.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail, ensure};
use tercel::crypto::SigningKey;
use tercel::pki::{Roots, load_certs_pem, load_key_pem};
use tercel::pki_types::SubjectPublicKeyInfoDer;
use tercel::pki_types::pem::PemObject;
use tercel::{Credential, KeyLog, KeyLogFile};

/// A chain and its key, both PEM.
pub(crate) fn credential(certificates: &Path, key: &Path) -> Result<Credential> {
    let chain = load_certs_pem(&read(certificates)?).with_context(|| name(certificates))?;
    let private = load_key_pem(&read(key)?).with_context(|| name(key))?;
    Credential::new(chain, &private)
        .with_context(|| format!("{} with {}", name(certificates), name(key)))
}

/// A private key in PEM whose public key is shown in place of a chain. RFC 7250
pub(crate) fn raw_public_key(key: &Path) -> Result<Credential> {
    let private = load_key_pem(&read(key)?).with_context(|| name(key))?;
    let signer = SigningKey::from_der(private.secret_der()).with_context(|| name(key))?;
    let public = SubjectPublicKeyInfoDer::from(signer.public_key_spki());
    Credential::raw_public_key_with_signer(public, Arc::new(signer)).with_context(|| name(key))
}

/// Public keys (`SubjectPublicKeyInfo`) from a PEM file, at least one.
pub(crate) fn public_keys(file: &Path) -> Result<Vec<SubjectPublicKeyInfoDer<'static>>> {
    let pem = read(file)?;
    let keys = SubjectPublicKeyInfoDer::pem_slice_iter(&pem).collect::<Result<Vec<_>, _>>();
    let keys = keys.map_err(|_| anyhow!("{}: cannot be read as PEM", name(file)))?;
    if keys.is_empty() {
        bail!("{}: there is no public key in it", name(file));
    }
    Ok(keys)
}

/// An OCSP response. Whether it is any good is for clients to say.
pub(crate) fn ocsp_response(file: &Path) -> Result<Vec<u8>> {
    let response = read(file)?;
    // A SEQUENCE; most likely to be given by mistake is PEM.
    ensure!(response.first() == Some(&0x30), "{}: no OCSP response in DER", name(file));
    Ok(response)
}

/// Trust anchors from a PEM file.
pub(crate) fn roots(file: &Path) -> Result<Roots> {
    let mut roots = Roots::new();
    roots.add_pem(&read(file)?).with_context(|| name(file))?;
    Ok(roots)
}

/// The key log, if one is wanted.
pub(crate) fn key_log(file: Option<&Path>) -> Result<Option<Arc<dyn KeyLog>>> {
    let Some(file) = file else { return Ok(None) };
    // Whoever reads the log reads the connections: if it is new, it is the user's alone.
    match private_options().create_new(true).open(file) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(error).with_context(|| name(file));
        }
        _ => {}
    }
    let log = KeyLogFile::append(file).with_context(|| name(file))?;
    Ok(Some(Arc::new(log)))
}

/// Writes a file that only its owner may read, in place of any earlier one.
pub(crate) fn write_private(file: &Path, content: &[u8]) -> Result<()> {
    // An earlier file would keep its permissions, so it has to go.
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(error).with_context(|| name(file));
        }
        _ => {}
    }
    let mut created = private_options().create_new(true).open(file).with_context(|| name(file))?;
    created.write_all(content).with_context(|| name(file))
}

fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

pub(crate) fn read(file: &Path) -> Result<Vec<u8>> {
    fs::read(file).with_context(|| name(file))
}

pub(crate) fn name(file: &Path) -> String {
    file.display().to_string()
}

//! The files of a run: a server's certificate for `localhost`, its authority, and another one.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

/// Paths of PEM files.
pub(crate) struct Certificates {
    pub(crate) authority: PathBuf,
    pub(crate) other_authority: PathBuf,
    pub(crate) chain: PathBuf,
    pub(crate) key: PathBuf,
}

impl Certificates {
    pub(crate) fn create(folder: &Path) -> Result<Self> {
        let write = |name: &str, pem: String| -> Result<PathBuf> {
            let path = folder.join(name);
            fs::write(&path, pem)?;
            Ok(path)
        };
        let (certificate, issuer) = authority("authority")?;
        let (other, _) = authority("other authority")?;
        let key = KeyPair::generate()?;
        let leaf =
            CertificateParams::new(vec!["localhost".to_owned()])?.signed_by(&key, &issuer)?;
        Ok(Self {
            authority: write("authority.pem", certificate.pem())?,
            other_authority: write("other.pem", other.pem())?,
            chain: write("chain.pem", leaf.pem())?,
            key: write("key.pem", key.serialize_pem())?,
        })
    }

    /// The server's identity for this process.
    pub(crate) fn identity(&self) -> Result<native_tls::Identity> {
        Ok(native_tls::Identity::from_pkcs8(&fs::read(&self.chain)?, &fs::read(&self.key)?)?)
    }
}

fn authority(name: &str) -> Result<(rcgen::Certificate, Issuer<'static, KeyPair>)> {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate()?;
    let certificate = params.self_signed(&key)?;
    Ok((certificate, Issuer::new(params, key)))
}

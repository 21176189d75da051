//! A server's certificate for `localhost`, its authority, and another authority.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

/// Paths of PEM files for clients, and the PEM of servers.
pub(crate) struct Certificates {
    pub(crate) authority: PathBuf,
    pub(crate) other_authority: PathBuf,
    pub(crate) chain: String,
    pub(crate) key: String,
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
        // A server's key that a kernel signs with.
        let key = KeyPair::generate_for(&rcgen::PKCS_RSA_SHA256)?;
        let leaf =
            CertificateParams::new(vec!["localhost".to_owned()])?.signed_by(&key, &issuer)?;
        Ok(Self {
            authority: write("authority.pem", certificate.pem())?,
            other_authority: write("other.pem", other.pem())?,
            chain: leaf.pem(),
            key: key.serialize_pem(),
        })
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

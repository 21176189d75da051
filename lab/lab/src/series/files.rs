//! Keys, certificates and configurations: made anew for a run, the same for every release.
//!
//! Must not know: who reads them. Next: `lab_scenario::series::Key`, whose names the files have.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use lab_scenario::series::Key;
use rcgen::{CertificateParams, DnType, KeyPair, RsaKeySize};

/// A configuration that sets nothing.
const DEFAULT: &str = "";

/// What OpenSSL's developers recommend to those who need no other provider: it is loaded by name, and algorithms
/// are asked for with its property. 1.1.1 has neither.
const TUNED: &str = "\
openssl_conf = start
[start]
providers = providers
alg_section = algorithms
[providers]
default = provider
[provider]
activate = 1
[algorithms]
default_properties = provider=default
";

/// Writes them all into `folder`.
pub(crate) fn make(folder: &Path) -> Result<()> {
    fs::write(folder.join("default.cnf"), DEFAULT)?;
    fs::write(folder.join("tuned.cnf"), TUNED)?;
    for kind in Key::ALL {
        let key = generate(kind).with_context(|| format!("a key of {}", kind.name()))?;
        fs::write(folder.join(format!("{}.key", kind.name())), key.serialize_pem())?;
        if matches!(kind, Key::Rsa2048 | Key::P256) {
            let certificate = certificate()?.self_signed(&key)?;
            fs::write(folder.join(format!("{}.pem", kind.name())), certificate.pem())?;
        }
    }
    Ok(())
}

fn generate(kind: Key) -> Result<KeyPair> {
    let rsa = |size| KeyPair::generate_rsa_for(&rcgen::PKCS_RSA_SHA256, size);
    Ok(match kind {
        Key::Rsa2048 => rsa(RsaKeySize::_2048)?,
        Key::Rsa3072 => rsa(RsaKeySize::_3072)?,
        Key::Rsa4096 => rsa(RsaKeySize::_4096)?,
        Key::P256 => KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256)?,
        Key::P384 => KeyPair::generate_for(&rcgen::PKCS_ECDSA_P384_SHA384)?,
        Key::P521 => KeyPair::generate_for(&rcgen::PKCS_ECDSA_P521_SHA512)?,
    })
}

/// One certificate, signed by itself, as one makes it with `openssl req -x509`.
fn certificate() -> Result<CertificateParams> {
    let mut params = CertificateParams::new(vec!["localhost".to_owned()])?;
    params.distinguished_name.push(DnType::CommonName, "localhost");
    Ok(params)
}

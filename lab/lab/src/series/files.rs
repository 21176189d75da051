//! Keys, certificates and configuration files of a run, the same for all releases.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use lab_scenario::series::Key;
use rcgen::{CertificateParams, DnType};

use crate::material::keys::{Algorithm, generate};
use lab_scenario::random::Random;

/// A configuration file without settings.
const DEFAULT: &str = "";

/// The configuration that OpenSSL's documentation recommends if no other provider is needed: the
/// default provider is activated explicitly, and algorithms are fetched with its property. OpenSSL
/// 1.1.1 has neither.
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

/// Writes the files of a run into `folder`. They are derived from the seed.
pub(crate) fn make(folder: &Path, seed: u64, run: usize) -> Result<()> {
    fs::write(folder.join("default.cnf"), DEFAULT)?;
    fs::write(folder.join("tuned.cnf"), TUNED)?;
    for kind in Key::ALL {
        let name = kind.name();
        let mut random = Random::named(seed, &format!("{name} of run {run}"));
        let key = generate(algorithm(kind), &mut random);
        let key = key.with_context(|| format!("a key of {name}"))?;
        fs::write(folder.join(format!("{name}.key")), key.serialize_pem())?;
        if matches!(kind, Key::Rsa2048 | Key::P256) {
            let certificate = certificate()?.self_signed(&key)?;
            fs::write(folder.join(format!("{name}.pem")), certificate.pem())?;
        }
    }
    Ok(())
}

fn algorithm(kind: Key) -> Algorithm {
    match kind {
        Key::Rsa2048 => Algorithm::Rsa(2048),
        Key::Rsa3072 => Algorithm::Rsa(3072),
        Key::Rsa4096 => Algorithm::Rsa(4096),
        Key::P256 => Algorithm::P256,
        Key::P384 => Algorithm::P384,
        Key::P521 => Algorithm::P521,
    }
}

/// A self-signed certificate, like those of `openssl req -x509`.
fn certificate() -> Result<CertificateParams> {
    let mut params = CertificateParams::new(vec!["localhost".to_owned()])?;
    params.distinguished_name.push(DnType::CommonName, "localhost");
    Ok(params)
}

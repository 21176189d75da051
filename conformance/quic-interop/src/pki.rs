//! Certificates of a run, in files.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use rcgen::{
    BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PublicKeyData,
};

/// The files of a chain and its key.
#[derive(Clone)]
pub(crate) struct Files {
    pub(crate) cert: PathBuf,
    pub(crate) key: PathBuf,
}

pub(crate) struct Pki {
    pub(crate) roots: PathBuf,
    pub(crate) server: Files,
    pub(crate) client: Files,
    /// The root of an authority that has issued none of the certificates.
    pub(crate) other_roots: PathBuf,
    /// The SHA-256 digest of the server's SubjectPublicKeyInfo.
    pub(crate) server_key_digest: [u8; 32],
}

impl Pki {
    pub(crate) fn create(folder: &Path) -> Result<Self> {
        let authority = Authority::new("interop")?;
        let other = Authority::new("other")?;
        let write = |name: &str, text: &str| -> Result<PathBuf> {
            let path = folder.join(name);
            fs::write(&path, text)?;
            Ok(path)
        };
        let issue = |name: &str, dns: &str, usage| -> Result<(Files, KeyPair)> {
            let (cert, key) = authority.issue(dns, usage)?;
            let files = Files {
                cert: write(&format!("{name}.pem"), &cert)?,
                key: write(&format!("{name}.key"), &key.serialize_pem())?,
            };
            Ok((files, key))
        };
        let (server, server_key) =
            issue("server", "localhost", ExtendedKeyUsagePurpose::ServerAuth)?;
        let (client, _) = issue("client", "client.test", ExtendedKeyUsagePurpose::ClientAuth)?;
        let digest = rustls::crypto::aws_lc_rs::default_provider();
        let spki = server_key.subject_public_key_info();
        Ok(Self {
            roots: write("roots.pem", &authority.root)?,
            other_roots: write("other-roots.pem", &other.root)?,
            server,
            client,
            server_key_digest: sha256(&digest, &spki),
        })
    }
}

/// SHA-256 from the hash function of a cipher suite.
fn sha256(provider: &rustls::crypto::CryptoProvider, data: &[u8]) -> [u8; 32] {
    let hash = provider.cipher_suites.iter().find_map(|suite| {
        let hash = suite.tls13()?.common.hash_provider;
        (hash.output_len() == 32).then_some(hash)
    });
    let output = hash.map(|hash| hash.hash(data));
    output.and_then(|output| output.as_ref().try_into().ok()).unwrap_or_default()
}

struct Authority {
    root: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new(name: &str) -> Result<Self> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::default();
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let root = params.self_signed(&key)?.pem();
        Ok(Self { root, issuer: Issuer::new(params, key) })
    }

    fn issue(&self, dns: &str, usage: ExtendedKeyUsagePurpose) -> Result<(String, KeyPair)> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::new(vec![dns.to_owned()])?;
        params.distinguished_name.push(rcgen::DnType::CommonName, dns);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![usage];
        params.not_before = rcgen::date_time_ymd(2024, 1, 1);
        // Browsers refuse certificates that are valid for long.
        Ok((params.signed_by(&key, &self.issuer)?.pem(), key))
    }
}

//! The certificates of a run: made anew each time, the same for every worker.
//!
//! Must not know: who reads them. Next: [`lab_scenario::Files`], which says where they lie.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use lab_scenario::row::ROOTS;
use lab_scenario::{Chain, Files, Load, Row};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose, RsaKeySize, SignatureAlgorithm,
};

/// Writes what these rows need below `folder`.
pub(crate) fn make(folder: &Path, rows: &[Row]) -> Result<()> {
    for chain in chains(rows) {
        write_chain(folder, chain).with_context(|| format!("the certificates for {chain}"))?;
    }
    for row in rows.iter().filter(|row| row.load == Some(Load::Roots)) {
        write_roots(folder, row.chain).context("the roots")?;
    }
    Ok(())
}

/// The chains that these rows need.
fn chains(rows: &[Row]) -> Vec<Chain> {
    let used = |chain: &Chain| {
        rows.iter().any(|row| row.chain == *chain || row.client_chain == Some(*chain))
    };
    Chain::ALL.iter().copied().filter(used).collect()
}

fn write_chain(folder: &Path, chain: Chain) -> Result<()> {
    let files = Files::new(folder);
    fs::create_dir_all(files.root(chain).parent().context("a folder")?)?;
    let root = CertifiedIssuer::self_signed(authority("Lab root")?, key(chain, Level::Root)?)?;
    let intermediate_key = key(chain, Level::Intermediate)?;
    let intermediate =
        CertifiedIssuer::signed_by(authority("Lab intermediate")?, intermediate_key, &root)?;
    fs::write(files.root(chain), root.pem())?;
    let leaves = [
        (files.server_chain(chain), files.server_key(chain), ExtendedKeyUsagePurpose::ServerAuth),
        (files.client_chain(chain), files.client_key(chain), ExtendedKeyUsagePurpose::ClientAuth),
    ];
    for (certificates, private_key, usage) in leaves {
        let key = key(chain, Level::Leaf)?;
        let leaf = leaf(files.server_name(), usage)?.signed_by(&key, &intermediate)?;
        fs::write(certificates, [leaf.pem(), intermediate.pem(), root.pem()].concat())?;
        fs::write(private_key, key.serialize_pem())?;
    }
    Ok(())
}

/// The root of a chain and others before it, of which every second has an RSA key. Two keys serve them all,
/// which costs nobody less: no library remembers a key that it has parsed.
fn write_roots(folder: &Path, chain: Chain) -> Result<()> {
    let files = Files::new(folder);
    let keys = [key(Chain::Rsa2048, Level::Leaf)?, key(Chain::EcdsaP256, Level::Leaf)?];
    let mut pem = String::new();
    for (number, key) in (1..ROOTS).zip(keys.iter().cycle()) {
        pem.push_str(&authority(&format!("Lab root {number}"))?.self_signed(key)?.pem());
    }
    pem.push_str(&fs::read_to_string(files.root(chain))?);
    fs::write(files.roots(chain), pem)?;
    Ok(())
}

#[derive(Clone, Copy)]
enum Level {
    Root,
    Intermediate,
    Leaf,
}

fn key(chain: Chain, level: Level) -> Result<KeyPair> {
    let generate = |algorithm: &'static SignatureAlgorithm| KeyPair::generate_for(algorithm);
    let rsa = |size| KeyPair::generate_rsa_for(&rcgen::PKCS_RSA_SHA256, size);
    Ok(match (chain, level) {
        (Chain::Rsa2048, _) | (Chain::RsaMixed, Level::Leaf) => rsa(RsaKeySize::_2048)?,
        (Chain::RsaMixed, Level::Intermediate) => rsa(RsaKeySize::_3072)?,
        (Chain::RsaMixed, Level::Root) => rsa(RsaKeySize::_4096)?,
        (Chain::EcdsaP256, _) => generate(&rcgen::PKCS_ECDSA_P256_SHA256)?,
        (Chain::Ed25519, _) => generate(&rcgen::PKCS_ED25519)?,
    })
}

fn authority(name: &str) -> Result<CertificateParams> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.distinguished_name.push(DnType::CommonName, name);
    Ok(params)
}

fn leaf(name: &str, usage: ExtendedKeyUsagePurpose) -> Result<CertificateParams> {
    let mut params = CertificateParams::new(vec![name.to_owned()])?;
    params.distinguished_name.push(DnType::CommonName, name);
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![usage];
    params.use_authority_key_identifier_extension = true;
    Ok(params)
}

//! The certificates of rows, signed with given keys.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use lab_scenario::row::ROOTS;
use lab_scenario::{Chain, Files, Load, Row};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyUsagePurpose,
};

use super::assignment::{DEFAULT_RSA_BITS, KeyRole, RoundKeys, chains_of};
use super::keys::Algorithm;

/// Writes the files of these rows to `folder`.
pub(super) fn make(folder: &Path, rows: &[Row], keys: &RoundKeys<'_>) -> Result<()> {
    for chain in chains(rows) {
        write_chain(folder, chain, keys)
            .with_context(|| format!("the certificates for {chain}"))?;
    }
    for row in rows.iter().filter(|row| row.load == Some(Load::Roots)) {
        write_roots(folder, row.chain, keys).context("the roots")?;
    }
    Ok(())
}

/// The chains of these rows.
fn chains(rows: &[Row]) -> Vec<Chain> {
    let used = |chain: &Chain| rows.iter().flat_map(chains_of).any(|each| each == *chain);
    Chain::ALL.iter().copied().filter(used).collect()
}

fn write_chain(folder: &Path, chain: Chain, keys: &RoundKeys<'_>) -> Result<()> {
    let files = Files::new(folder);
    fs::create_dir_all(files.root(chain).parent().context("a folder")?)?;
    let key = |place| keys.of(algorithm(chain, place), place);
    let (root_key, intermediate_key) = (key(KeyRole::Root)?, key(KeyRole::Intermediate)?);
    let root = CertifiedIssuer::self_signed(authority("Lab root")?, &*root_key)?;
    let intermediate =
        CertifiedIssuer::signed_by(authority("Lab intermediate")?, &*intermediate_key, &root)?;
    fs::write(files.root(chain), root.pem())?;
    let leaves = [
        (KeyRole::Server, files.server_chain(chain), files.server_key(chain)),
        (KeyRole::Client, files.client_chain(chain), files.client_key(chain)),
    ];
    for (place, certificates, private_key) in leaves {
        let key = key(place)?;
        let usage = match place {
            KeyRole::Client => ExtendedKeyUsagePurpose::ClientAuth,
            _ => ExtendedKeyUsagePurpose::ServerAuth,
        };
        let leaf = leaf(files.server_name(), usage)?.signed_by(&*key, &intermediate)?;
        fs::write(certificates, [leaf.pem(), intermediate.pem(), root.pem()].concat())?;
        fs::write(private_key, key.serialize_pem())?;
    }
    Ok(())
}

/// Writes the root of a chain, preceded by other roots. Every second one of these has an RSA key.
/// The other roots share two keys, which makes no library faster, because no library caches parsed
/// keys.
fn write_roots(folder: &Path, chain: Chain, keys: &RoundKeys<'_>) -> Result<()> {
    let files = Files::new(folder);
    let of = |algorithm| keys.of(algorithm, KeyRole::OtherRoots);
    let keys = [of(Algorithm::Rsa(DEFAULT_RSA_BITS))?, of(Algorithm::P256)?];
    let mut pem = String::new();
    for (number, key) in (1..ROOTS).zip(keys.iter().cycle()) {
        pem.push_str(&authority(&format!("Lab root {number}"))?.self_signed(&**key)?.pem());
    }
    pem.push_str(&fs::read_to_string(files.root(chain))?);
    fs::write(files.roots(chain), pem)?;
    Ok(())
}

fn algorithm(chain: Chain, place: KeyRole) -> Algorithm {
    match (chain, place) {
        (Chain::RsaMixed, KeyRole::Intermediate) => Algorithm::Rsa(3072),
        (Chain::RsaMixed, KeyRole::Root) => Algorithm::Rsa(4096),
        (Chain::Rsa3072, KeyRole::Server) => Algorithm::Rsa(3072),
        (Chain::Rsa4096, KeyRole::Server) => Algorithm::Rsa(4096),
        (Chain::Rsa2048 | Chain::RsaMixed | Chain::Rsa3072 | Chain::Rsa4096, _) => {
            Algorithm::Rsa(DEFAULT_RSA_BITS)
        }
        (Chain::EcdsaP256, _) => Algorithm::P256,
        (Chain::Ed25519, _) => Algorithm::Ed25519,
    }
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

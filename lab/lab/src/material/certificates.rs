//! The certificates of some rows: signed with the keys that they are given.
//!
//! Must not know: where keys come from. Next: [`lab_scenario::Files`], which says where files lie.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use lab_scenario::row::ROOTS;
use lab_scenario::{Chain, Files, Load, Row};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyUsagePurpose,
};

use super::{Algorithm, Keys, Place, USUAL, chains_of};

/// Writes what these rows need below `folder`.
pub(super) fn make(folder: &Path, rows: &[Row], keys: &Keys<'_>) -> Result<()> {
    for chain in chains(rows) {
        write_chain(folder, chain, keys)
            .with_context(|| format!("the certificates for {chain}"))?;
    }
    for row in rows.iter().filter(|row| row.load == Some(Load::Roots)) {
        write_roots(folder, row.chain, keys).context("the roots")?;
    }
    Ok(())
}

/// The chains that these rows need.
fn chains(rows: &[Row]) -> Vec<Chain> {
    let used = |chain: &Chain| rows.iter().flat_map(chains_of).any(|each| each == *chain);
    Chain::ALL.iter().copied().filter(used).collect()
}

fn write_chain(folder: &Path, chain: Chain, keys: &Keys<'_>) -> Result<()> {
    let files = Files::new(folder);
    fs::create_dir_all(files.root(chain).parent().context("a folder")?)?;
    let key = |place| keys.of(algorithm(chain, place), place);
    let (root_key, intermediate_key) = (key(Place::Root)?, key(Place::Intermediate)?);
    let root = CertifiedIssuer::self_signed(authority("Lab root")?, &*root_key)?;
    let intermediate =
        CertifiedIssuer::signed_by(authority("Lab intermediate")?, &*intermediate_key, &root)?;
    fs::write(files.root(chain), root.pem())?;
    let leaves = [
        (Place::Server, files.server_chain(chain), files.server_key(chain)),
        (Place::Client, files.client_chain(chain), files.client_key(chain)),
    ];
    for (place, certificates, private_key) in leaves {
        let key = key(place)?;
        let usage = match place {
            Place::Client => ExtendedKeyUsagePurpose::ClientAuth,
            _ => ExtendedKeyUsagePurpose::ServerAuth,
        };
        let leaf = leaf(files.server_name(), usage)?.signed_by(&*key, &intermediate)?;
        fs::write(certificates, [leaf.pem(), intermediate.pem(), root.pem()].concat())?;
        fs::write(private_key, key.serialize_pem())?;
    }
    Ok(())
}

/// The root of a chain and others before it, of which every second has an RSA key. Two keys serve them all,
/// which costs nobody less: no library remembers a key that it has parsed.
fn write_roots(folder: &Path, chain: Chain, keys: &Keys<'_>) -> Result<()> {
    let files = Files::new(folder);
    let of = |algorithm| keys.of(algorithm, Place::OtherRoots);
    let keys = [of(Algorithm::Rsa(USUAL))?, of(Algorithm::P256)?];
    let mut pem = String::new();
    for (number, key) in (1..ROOTS).zip(keys.iter().cycle()) {
        pem.push_str(&authority(&format!("Lab root {number}"))?.self_signed(&**key)?.pem());
    }
    pem.push_str(&fs::read_to_string(files.root(chain))?);
    fs::write(files.roots(chain), pem)?;
    Ok(())
}

fn algorithm(chain: Chain, place: Place) -> Algorithm {
    match (chain, place) {
        (Chain::RsaMixed, Place::Intermediate) => Algorithm::Rsa(3072),
        (Chain::RsaMixed, Place::Root) => Algorithm::Rsa(4096),
        (Chain::Rsa2048 | Chain::RsaMixed, _) => Algorithm::Rsa(USUAL),
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

//! Generates the certificates of the handshake targets, and chains with other keys as seeds of
//! `chain`: `cargo run -p tercel-fuzz-targets --example make_material`. Run `seed_handshakes`
//! afterwards, because recorded flights contain these certificates.

use std::error::Error;
use std::fs;
use std::path::Path;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose, SignatureAlgorithm, date_time_ymd,
};

type Authority = CertifiedIssuer<'static, KeyPair>;
type Usage = ExtendedKeyUsagePurpose;

fn main() -> Result<(), Box<dyn Error>> {
    // Ed25519 signs without randomness, so that runs of a target are repeatable.
    let root = Authority::self_signed(authority("root"), key(&rcgen::PKCS_ED25519)?)?;
    let middle = Authority::signed_by(authority("middle"), key(&rcgen::PKCS_ED25519)?, &root)?;
    let material = Path::new(env!("CARGO_MANIFEST_DIR")).join("material");
    fs::create_dir_all(&material)?;
    fs::write(material.join("root.der"), root.der())?;
    fs::write(material.join("middle.der"), middle.der())?;
    for (name, usage, algorithm) in [
        ("server", Usage::ServerAuth, &rcgen::PKCS_ED25519),
        ("client", Usage::ClientAuth, &rcgen::PKCS_ED25519),
        ("rsa-server", Usage::ServerAuth, &rcgen::PKCS_RSA_SHA256),
        ("p256-client", Usage::ClientAuth, &rcgen::PKCS_ECDSA_P256_SHA256),
    ] {
        let key = key(algorithm)?;
        let client = name.ends_with("client");
        let certificate = leaf(name, usage)?.signed_by(&key, &middle)?;
        fs::write(material.join(format!("{name}.der")), certificate.der())?;
        fs::write(material.join(format!("{name}.key.der")), key.serialize_der())?;
        save_chain(&format!("valid-{name}"), client, &[certificate.der(), middle.der()])?;
    }

    for (name, algorithm) in
        [("p384", &rcgen::PKCS_ECDSA_P384_SHA384), ("rsa", &rcgen::PKCS_RSA_SHA256)]
    {
        let middle = Authority::signed_by(authority(name), key(algorithm)?, &root)?;
        let key = key(&rcgen::PKCS_ECDSA_P256_SHA256)?;
        let certificate = leaf("server", Usage::ServerAuth)?.signed_by(&key, &middle)?;
        save_chain(&format!("valid-{name}"), false, &[certificate.der(), middle.der()])?;
    }
    Ok(())
}

/// Saves a chain in the format of the target: the usage, then each certificate after its length.
fn save_chain(name: &str, client: bool, chain: &[&[u8]]) -> Result<(), Box<dyn Error>> {
    let mut bytes = vec![u8::from(client)];
    for certificate in chain {
        bytes.extend_from_slice(&u16::try_from(certificate.len())?.to_be_bytes());
        bytes.extend_from_slice(certificate);
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus/chain");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join(name), bytes)?;
    Ok(())
}

fn key(algorithm: &'static SignatureAlgorithm) -> Result<KeyPair, rcgen::Error> {
    KeyPair::generate_for(algorithm)
}

fn authority(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    named(params, name)
}

fn leaf(name: &str, usage: Usage) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(vec!["localhost".to_owned(), "127.0.0.1".to_owned()])?;
    params.extended_key_usages = vec![usage];
    Ok(named(params, name))
}

fn named(mut params: CertificateParams, name: &str) -> CertificateParams {
    params.distinguished_name.push(DnType::CommonName, name);
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(2120, 1, 1);
    params
}

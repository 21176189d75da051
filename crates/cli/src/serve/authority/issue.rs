//! Issues the certificates of the embedded authority, and writes its files.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, PKCS_RSA_SHA256, RsaKeySize,
};
use tercel::Credential;
use tercel::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use super::Authority;
use crate::credential_files::{random_suffix, write_private};

/// Creates the authority, writes its files, and returns the credentials of the server: ECDSA, then
/// RSA. They have these names as well as that of this machine.
pub(crate) fn make(
    folder: Option<&Path>,
    address: IpAddr,
    names: &[String],
) -> Result<(Authority, Vec<Credential>)> {
    let root_key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
    let root_params = authority_params("Tercel test root", 1)?;
    let root_certificate = root_params.self_signed(&root_key)?;
    let root = Issuer::new(root_params, root_key);

    let intermediate_key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
    let intermediate_params = authority_params("Tercel test intermediate", 0)?;
    let intermediate_certificate = intermediate_params.signed_by(&intermediate_key, &root)?;
    let intermediate = Issuer::new(intermediate_params, intermediate_key);

    let keys = [
        KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?,
        KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_2048)?,
    ];
    let mut credentials = Vec::new();
    for key in keys {
        let leaf = server_params(address, names)?.signed_by(&key, &intermediate)?;
        let chain = vec![leaf.der().clone(), intermediate_certificate.der().clone()];
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        credentials.push(Credential::new(chain, &key)?);
    }

    let client_key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
    // The root issues the client certificate, because some programs accept no chain for clients.
    let client = client_params()?.signed_by(&client_key, &root)?;
    let authority = write(folder, &root_certificate, &client, &client_key)?;
    Ok((authority, credentials))
}

fn write(
    folder: Option<&Path>,
    root: &Certificate,
    client: &Certificate,
    client_key: &KeyPair,
) -> Result<Authority> {
    let folder = match folder {
        Some(folder) => {
            fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
            folder.to_owned()
        }
        None => create_temporary_folder()?,
    };
    let authority = Authority {
        ca: folder.join("ca.pem"),
        client_certificate: folder.join("client.pem"),
        client_key: folder.join("client.key"),
        folder,
    };
    write_private(&authority.client_key, client_key.serialize_pem().as_bytes())?;
    write_public(&authority.client_certificate, &client.pem())?;
    write_public(&authority.ca, &root.pem())?;
    Ok(authority)
}

fn write_public(file: &Path, content: &str) -> Result<()> {
    fs::write(file, content).with_context(|| file.display().to_string())
}

/// Creates a new directory with an unpredictable name.
fn create_temporary_folder() -> Result<PathBuf> {
    let folder = std::env::temp_dir().join(format!("tercel-{}", random_suffix()?));
    let builder = &mut fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(builder, 0o700);
    builder.create(&folder).with_context(|| folder.display().to_string())?;
    Ok(folder)
}

fn authority_params(name: &str, authorities_below: u8) -> Result<CertificateParams> {
    let mut params = named(Vec::new(), name)?;
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(authorities_below));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    Ok(params)
}

fn server_params(address: IpAddr, others: &[String]) -> Result<CertificateParams> {
    let mut addresses = vec![IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
    if !address.is_unspecified() && !addresses.contains(&address) {
        addresses.push(address);
    }
    let mut names = vec!["localhost".to_owned()];
    names.extend(addresses.iter().map(ToString::to_string));
    names.extend(others.iter().filter(|other| *other != "localhost").cloned());
    leaf(names, "localhost", ExtendedKeyUsagePurpose::ServerAuth)
}

fn client_params() -> Result<CertificateParams> {
    leaf(Vec::new(), "Tercel test client", ExtendedKeyUsagePurpose::ClientAuth)
}

fn leaf(
    names: Vec<String>,
    common_name: &str,
    usage: ExtendedKeyUsagePurpose,
) -> Result<CertificateParams> {
    let mut params = named(names, common_name)?;
    params.is_ca = IsCa::ExplicitNoCa;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![usage];
    Ok(params)
}

fn named(names: Vec<String>, common_name: &str) -> Result<CertificateParams> {
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, common_name);
    params.use_authority_key_identifier_extension = true;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).context("the clock is before 1970")?;
    let start = rcgen::date_time_ymd(1970, 1, 1);
    // The validity begins an hour earlier, because the clock of a client may be behind.
    params.not_before = start + now.saturating_sub(HOUR);
    params.not_after = start + now + VALIDITY;
    Ok(params)
}

const HOUR: Duration = Duration::from_secs(3600);
const VALIDITY: Duration = Duration::from_secs(30 * 24 * 3600);

#[cfg(test)]
mod tests {
    use super::*;
    use tercel::ServerName;
    use tercel::pki::{ChainVerifier, Usage, load_certs_pem};
    use tercel::pki_types::UnixTime;

    #[test]
    fn its_certificates_verify_for_every_name_it_promises() {
        let folder = create_temporary_folder().unwrap();
        let names = ["cover.example", "localhost"].map(str::to_owned);
        let (authority, credentials) =
            make(Some(&folder), IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7)), &names).unwrap();
        let roots = std::sync::Arc::new(crate::credential_files::roots(&authority.ca).unwrap());
        assert_eq!(roots.len(), 1);
        let verifier = ChainVerifier::builder(roots).build().unwrap();
        assert_eq!(credentials.len(), 2);
        for credential in &credentials {
            assert_eq!(credential.chain().len(), 2);
            for name in ["localhost", "127.0.0.1", "::1", "192.0.2.7", "cover.example"] {
                let name = ServerName::try_from(name).unwrap();
                let now = UnixTime::now();
                verifier.verify(Usage::Server, credential.chain(), Some(&name), None, now).unwrap();
            }
        }
        let client = load_certs_pem(&fs::read(&authority.client_certificate).unwrap()).unwrap();
        verifier.verify(Usage::Client, &client, None, None, UnixTime::now()).unwrap();
        crate::credential_files::credential(&authority.client_certificate, &authority.client_key)
            .unwrap();
        assert!(only_owner_reads(&authority.client_key));
        fs::remove_dir_all(folder).unwrap();
    }

    #[cfg(unix)]
    fn only_owner_reads(file: &Path) -> bool {
        use std::os::unix::fs::PermissionsExt;
        fs::metadata(file).unwrap().permissions().mode() & 0o777 == 0o600
    }

    #[cfg(not(unix))]
    fn only_owner_reads(_: &Path) -> bool {
        true
    }
}

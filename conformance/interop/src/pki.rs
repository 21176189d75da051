//! The certificates of the run, made afresh in its temporary folder.
//!
//! Two server hierarchies (RSA and ECDSA, each a root and an intermediate, so that an RSA suite
//! never meets an ECDSA signature by accident), one for clients, and one nobody trusts. This
//! module must not know who uses the files. Next: `cells.rs` chooses among them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384,
    PKCS_ECDSA_P521_SHA512, PKCS_ED25519, PKCS_RSA_SHA256, PublicKeyData, RsaKeySize,
    date_time_ymd,
};

use crate::terms::Key;

/// The name every good server certificate carries, beside 127.0.0.1.
pub(crate) const SERVER_NAME: &str = "localhost";
/// The only name in the certificate used for the wrong-name refusal.
pub(crate) const OTHER_NAME: &str = "other.example";

/// The public keys are there in this form too, beside the PEM.
pub(crate) const DER: &str = "der";

/// A certificate file (leaf, then intermediate), its key, and its public key alone, all PEM.
#[derive(Clone, Debug)]
pub(crate) struct Credential {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
    pub(crate) public: PathBuf,
}

/// Where the run's certificates are.
#[derive(Debug)]
pub(crate) struct Pki {
    folder: PathBuf,
}

impl Pki {
    /// Makes all certificates and writes them into `folder`.
    pub(crate) fn create(folder: &Path) -> Result<Self> {
        let pki = Self { folder: folder.to_owned() };
        let rsa = Authority::new("RSA", Key::Rsa2048)?;
        let ecdsa = Authority::new("ECDSA", Key::P256)?;
        let clients = Authority::new("Client", Key::P256)?;
        let strangers = Authority::new("Unknown", Key::P256)?;
        fs::write(pki.server_roots(), rsa.root.pem() + &ecdsa.root.pem())?;
        fs::write(pki.client_roots(), clients.root.pem())?;

        for key in Key::ALL {
            let authority = if key == Key::Rsa2048 { &rsa } else { &ecdsa };
            pki.issue(authority, &pki.server(key), key, &Leaf::SERVER)?;
        }
        pki.issue(&ecdsa, &pki.expired(), Key::P256, &Leaf { expired: true, ..Leaf::SERVER })?;
        let other = Leaf { names: &[OTHER_NAME], ..Leaf::SERVER };
        pki.issue(&ecdsa, &pki.other_name(), Key::P256, &other)?;
        pki.issue(&strangers, &pki.unknown_server(), Key::P256, &Leaf::SERVER)?;
        for key in Key::COMMON {
            pki.issue(&clients, &pki.client(key), key, &Leaf::CLIENT)?;
        }
        pki.issue(&strangers, &pki.unknown_client(), Key::P256, &Leaf::CLIENT)?;
        Ok(pki)
    }

    pub(crate) fn server_roots(&self) -> PathBuf {
        self.folder.join("server-roots.pem")
    }

    pub(crate) fn client_roots(&self) -> PathBuf {
        self.folder.join("client-roots.pem")
    }

    pub(crate) fn server(&self, key: Key) -> Credential {
        self.credential(&format!("server-{}", key.name()))
    }

    pub(crate) fn client(&self, key: Key) -> Credential {
        self.credential(&format!("client-{}", key.name()))
    }

    pub(crate) fn expired(&self) -> Credential {
        self.credential("server-expired")
    }

    pub(crate) fn other_name(&self) -> Credential {
        self.credential("server-other-name")
    }

    pub(crate) fn unknown_server(&self) -> Credential {
        self.credential("server-unknown")
    }

    pub(crate) fn unknown_client(&self) -> Credential {
        self.credential("client-unknown")
    }

    fn credential(&self, name: &str) -> Credential {
        Credential {
            certificate: self.folder.join(format!("{name}.pem")),
            key: self.folder.join(format!("{name}.key.pem")),
            public: self.folder.join(format!("{name}.pub.pem")),
        }
    }

    fn issue(&self, by: &Authority, to: &Credential, key: Key, leaf: &Leaf) -> Result<()> {
        let pair = generate(key)?;
        let names: Vec<String> = leaf.names.iter().map(|&name| name.to_owned()).collect();
        let mut params = CertificateParams::new(names)?;
        params.distinguished_name.push(DnType::CommonName, leaf.common_name);
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(if leaf.expired { 2021 } else { 2045 }, 1, 1);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![leaf.usage.clone()];
        params.use_authority_key_identifier_extension = true;
        let certificate = params.signed_by(&pair, &by.issuer)?;
        fs::write(&to.certificate, certificate.pem() + &by.intermediate.pem())?;
        fs::write(&to.key, pair.serialize_pem())?;
        fs::write(&to.public, pair.public_key_pem())?;
        fs::write(to.public.with_extension(DER), pair.subject_public_key_info())?;
        Ok(())
    }
}

/// What makes one end-entity certificate differ from another.
struct Leaf {
    common_name: &'static str,
    names: &'static [&'static str],
    usage: ExtendedKeyUsagePurpose,
    expired: bool,
}

impl Leaf {
    const SERVER: Self = Self {
        common_name: "interop server",
        names: &[SERVER_NAME, "127.0.0.1"],
        usage: ExtendedKeyUsagePurpose::ServerAuth,
        expired: false,
    };
    const CLIENT: Self = Self {
        common_name: "interop client",
        names: &["client.example"],
        usage: ExtendedKeyUsagePurpose::ClientAuth,
        expired: false,
    };
}

/// A root, and the intermediate that signs everything below it.
struct Authority {
    root: Certificate,
    intermediate: Certificate,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new(name: &str, key: Key) -> Result<Self> {
        let root_key = generate(key)?;
        let root_params = authority_params(&format!("{name} interop root"))?;
        let root = root_params.self_signed(&root_key)?;
        let root_issuer = Issuer::new(root_params, root_key);
        let intermediate_key = generate(key)?;
        let intermediate_params = authority_params(&format!("{name} interop intermediate"))?;
        let intermediate = intermediate_params.signed_by(&intermediate_key, &root_issuer)?;
        let issuer = Issuer::new(intermediate_params, intermediate_key);
        Ok(Self { root, intermediate, issuer })
    }
}

fn authority_params(name: &str) -> Result<CertificateParams> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(2045, 1, 1);
    params.use_authority_key_identifier_extension = true;
    Ok(params)
}

fn generate(key: Key) -> Result<KeyPair, rcgen::Error> {
    match key {
        Key::Rsa2048 => KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_2048),
        Key::P256 => KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256),
        Key::P384 => KeyPair::generate_for(&PKCS_ECDSA_P384_SHA384),
        Key::P521 => KeyPair::generate_for(&PKCS_ECDSA_P521_SHA512),
        Key::Ed25519 => generate_ed25519(),
    }
}

/// AWS-LC writes Ed25519 keys with the public key attached (RFC 5958), which OpenSSL before 3.2
/// cannot read. The older form (RFC 8410 7) is a fixed header and the same 32 bytes.
fn generate_ed25519() -> Result<KeyPair, rcgen::Error> {
    const HEADER: [u8; 16] =
        [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
    let with_public_key = KeyPair::generate_for(&PKCS_ED25519)?.serialize_der();
    let private = with_public_key.get(HEADER.len()..HEADER.len() + 32).unwrap_or_default();
    KeyPair::try_from([HEADER.as_slice(), private].concat())
}

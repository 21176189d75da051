//! Certificates, generated when a program starts.
//!
//! [`Authority`] issues single certificates. [`Pki`] is a set of files for interop runs: two server
//! hierarchies (RSA and ECDSA, each a root and an intermediate, so that a chain never mixes RSA and
//! ECDSA signatures), a hierarchy for clients, and an untrusted hierarchy.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384,
    PKCS_ECDSA_P521_SHA512, PKCS_ED25519, PKCS_RSA_SHA256, PublicKeyData, RsaKeySize,
    date_time_ymd,
};

/// The DNS name in all valid server certificates, in addition to 127.0.0.1.
pub const SERVER_NAME: &str = "localhost";
/// The only name in the certificate with a wrong name.
pub const OTHER_NAME: &str = "other.example";

/// The extension of public key files in DER, which exist in addition to the PEM files.
pub const DER: &str = "der";

/// The kind of key in an end-entity certificate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Key {
    /// RSA of 2048 bits.
    Rsa2048,
    /// ECDSA on P-256.
    P256,
    /// ECDSA on P-384.
    P384,
    /// ECDSA on P-521.
    P521,
    /// Ed25519.
    Ed25519,
}

impl Key {
    /// The kinds that every peer supports.
    pub const COMMON: [Self; 2] = [Self::Rsa2048, Self::P256];
    /// All kinds.
    pub const ALL: [Self; 5] = [Self::Rsa2048, Self::P256, Self::P384, Self::P521, Self::Ed25519];

    /// The name in file names.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rsa2048 => "rsa2048",
            Self::P256 => "p256",
            Self::P384 => "p384",
            Self::P521 => "p521",
            Self::Ed25519 => "ed25519",
        }
    }
}

/// A certificate file (leaf, then intermediate), its private key and its public key, all PEM.
#[derive(Clone, Debug)]
pub struct Credential {
    /// The file of the chain.
    pub certificate: PathBuf,
    /// The file of the private key.
    pub key: PathBuf,
    /// The file of the public key.
    pub public: PathBuf,
}

/// The folder of a program's certificates.
#[derive(Debug)]
pub struct Pki {
    folder: PathBuf,
}

impl Pki {
    /// Generates all certificates and writes them into `folder`.
    ///
    /// # Errors
    /// If a certificate cannot be generated or written.
    pub fn create(folder: &Path) -> Result<Self> {
        let pki = Self { folder: folder.to_owned() };
        let rsa = Authority::new("RSA", Key::Rsa2048)?;
        let ecdsa = Authority::new("ECDSA", Key::P256)?;
        let clients = Authority::new("Client", Key::P256)?;
        let untrusted = Authority::new("Unknown", Key::P256)?;
        fs::write(pki.server_roots(), rsa.root.pem() + &ecdsa.root.pem())?;
        fs::write(pki.client_roots(), clients.root.pem())?;

        for key in Key::ALL {
            let authority = if key == Key::Rsa2048 { &rsa } else { &ecdsa };
            pki.issue(authority, &pki.server(key), key, &Leaf::SERVER)?;
        }
        pki.issue(&ecdsa, &pki.expired(), Key::P256, &Leaf { expired: true, ..Leaf::SERVER })?;
        let other = Leaf { names: &[OTHER_NAME], ..Leaf::SERVER };
        pki.issue(&ecdsa, &pki.other_name(), Key::P256, &other)?;
        pki.issue(&untrusted, &pki.unknown_server(), Key::P256, &Leaf::SERVER)?;
        for key in Key::COMMON {
            pki.issue(&clients, &pki.client(key), key, &Leaf::CLIENT)?;
        }
        pki.issue(&untrusted, &pki.unknown_client(), Key::P256, &Leaf::CLIENT)?;
        Ok(pki)
    }

    /// The roots of all valid server certificates, PEM.
    #[must_use]
    pub fn server_roots(&self) -> PathBuf {
        self.folder.join("server-roots.pem")
    }

    /// The root of all valid client certificates, PEM.
    #[must_use]
    pub fn client_roots(&self) -> PathBuf {
        self.folder.join("client-roots.pem")
    }

    /// A valid server credential with a key of this kind.
    #[must_use]
    pub fn server(&self, key: Key) -> Credential {
        self.credential(&format!("server-{}", key.name()))
    }

    /// A valid client credential with a key of this kind.
    #[must_use]
    pub fn client(&self, key: Key) -> Credential {
        self.credential(&format!("client-{}", key.name()))
    }

    /// An expired server credential.
    #[must_use]
    pub fn expired(&self) -> Credential {
        self.credential("server-expired")
    }

    /// A server credential for [`OTHER_NAME`] only.
    #[must_use]
    pub fn other_name(&self) -> Credential {
        self.credential("server-other-name")
    }

    /// A server credential of an untrusted authority.
    #[must_use]
    pub fn unknown_server(&self) -> Credential {
        self.credential("server-unknown")
    }

    /// A client credential of an untrusted authority.
    #[must_use]
    pub fn unknown_client(&self) -> Credential {
        self.credential("client-unknown")
    }

    fn credential(&self, name: &str) -> Credential {
        Credential {
            certificate: self.folder.join(format!("{name}.pem")),
            key: self.folder.join(format!("{name}.key.pem")),
            public: self.folder.join(format!("{name}.pub.pem")),
        }
    }

    fn issue(&self, by: &Authority, to: &Credential, key: Key, leaf: &Leaf<'_>) -> Result<()> {
        let pair = generate(key)?;
        fs::write(&to.certificate, by.sign(leaf, &pair)?)?;
        fs::write(&to.key, pair.serialize_pem())?;
        fs::write(&to.public, pair.public_key_pem())?;
        fs::write(to.public.with_extension(DER), pair.subject_public_key_info())?;
        Ok(())
    }
}

/// The parameters of an end-entity certificate.
#[derive(Clone, Debug)]
pub struct Leaf<'a> {
    /// The common name, which clients ignore.
    pub common_name: &'a str,
    /// The DNS names and IP addresses.
    pub names: &'a [&'a str],
    /// The extended key usage.
    pub usage: ExtendedKeyUsagePurpose,
    /// Whether the certificate has expired.
    pub expired: bool,
}

impl Leaf<'static> {
    /// A server certificate for [`SERVER_NAME`] and 127.0.0.1.
    pub const SERVER: Self = Self {
        common_name: "interop server",
        names: &[SERVER_NAME, "127.0.0.1"],
        usage: ExtendedKeyUsagePurpose::ServerAuth,
        expired: false,
    };
    /// A client certificate.
    pub const CLIENT: Self = Self {
        common_name: "interop client",
        names: &["client.example"],
        usage: ExtendedKeyUsagePurpose::ClientAuth,
        expired: false,
    };
}

/// A root, and the intermediate that signs all leaves.
#[derive(Debug)]
pub struct Authority {
    root: Certificate,
    intermediate: Certificate,
    issuer: Issuer<'static, KeyPair>,
}

/// A chain and its private key, both PEM.
#[derive(Clone, Debug)]
pub struct Pem {
    /// The leaf, then the intermediate.
    pub certificates: String,
    /// The leaf's private key.
    pub key: String,
}

impl Authority {
    /// A new authority, with this name in the names of its certificates.
    ///
    /// # Errors
    /// If keys or certificates cannot be generated.
    pub fn new(name: &str, key: Key) -> Result<Self> {
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

    /// The root, which clients trust.
    #[must_use]
    pub fn root_pem(&self) -> String {
        self.root.pem()
    }

    /// Issues a certificate for a new key of this kind.
    ///
    /// # Errors
    /// If a name is invalid, or the key or certificate cannot be generated.
    pub fn issue(&self, leaf: &Leaf<'_>, key: Key) -> Result<Pem> {
        let pair = generate(key)?;
        Ok(Pem { certificates: self.sign(leaf, &pair)?, key: pair.serialize_pem() })
    }

    fn sign(&self, leaf: &Leaf<'_>, pair: &KeyPair) -> Result<String> {
        let names: Vec<String> = leaf.names.iter().map(|&name| name.to_owned()).collect();
        let mut params = CertificateParams::new(names)?;
        params.distinguished_name.push(DnType::CommonName, leaf.common_name);
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(if leaf.expired { 2021 } else { 2045 }, 1, 1);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        if pair.algorithm() == &PKCS_RSA_SHA256 {
            // NSS requires keyEncipherment in every RSA certificate.
            params.key_usages.push(KeyUsagePurpose::KeyEncipherment);
        }
        params.extended_key_usages = vec![leaf.usage.clone()];
        params.use_authority_key_identifier_extension = true;
        let certificate = params.signed_by(pair, &self.issuer)?;
        Ok(certificate.pem() + &self.intermediate.pem())
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

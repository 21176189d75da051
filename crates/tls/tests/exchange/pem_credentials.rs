//! Credentials from PEM files: accepted chains and keys, and the error of each bad file.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tercel::certificates::{CredentialError, Credentials};
use tercel::crypto::KeyKind;
use tercel::error::ConfigError;
use tercel::pki::{PemError, RefusalReason, Roots, Usage};
use tercel::{ClientConfig, Credential, ServerConfig};

use crate::fixtures::{Kind, NAME, leaf, roots};
use crate::pair::Pair;
use crate::pem_cases::check;

/// A chain of leaf, intermediate and root, as PEM files.
struct Files {
    root: String,
    intermediate: String,
    leaf: String,
    key: KeyPair,
}

fn files() -> Files {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(rcgen::DnType::CommonName, "root");
    let root = CertifiedIssuer::self_signed(params.clone(), KeyPair::generate().unwrap()).unwrap();
    params.distinguished_name.push(rcgen::DnType::CommonName, "intermediate");
    let intermediate =
        CertifiedIssuer::signed_by(params, KeyPair::generate().unwrap(), &root).unwrap();
    let key = KeyPair::generate().unwrap();
    let leaf = CertificateParams::new([NAME.to_owned()]).unwrap();
    let leaf = leaf.signed_by(&key, &intermediate).unwrap().pem();
    Files { root: root.pem(), intermediate: intermediate.pem(), leaf, key }
}

impl Files {
    fn chain(&self) -> String {
        format!("{}{}", self.leaf, self.intermediate)
    }
}

fn error(chain: &str, key: &str) -> CredentialError {
    Credential::from_pem(chain.as_bytes(), key.as_bytes()).unwrap_err()
}

/// A PEM section. RFC 7468 2
pub(crate) fn section(label: &str, der: &[u8]) -> String {
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", base64(der))
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let bits = (0..3).fold(0, |bits, at| bits << 8 | usize::from(*group.get(at).unwrap_or(&0)));
        for at in 0..4 {
            let digit = DIGITS[bits >> (18 - 6 * at) & 63];
            text.push(if at <= group.len() { digit.into() } else { '=' });
        }
    }
    text
}

fn position(bytes: &[u8], part: &[u8]) -> usize {
    bytes.windows(part.len()).position(|window| window == part).unwrap()
}

#[test]
fn a_chain_and_its_key_authenticate_a_server() {
    let files = files();
    let credential =
        Credential::from_pem(files.chain().as_bytes(), files.key.serialize_pem().as_bytes());
    let credential = credential.unwrap();
    assert_eq!(credential.chain().len(), 2);
    let mut roots = Roots::new();
    roots.add_pem(files.root.as_bytes()).unwrap();
    let client = ClientConfig::builder().roots(roots).build().unwrap();
    let server = ServerConfig::builder().credential(credential).build().unwrap();
    Pair::new(&client, &server, NAME).connect().unwrap().talk();
}

/// Sections of other kinds are skipped, so that one file can contain both chain and key.
#[test]
fn chain_and_key_can_be_in_one_file() {
    let files = files();
    for file in [
        format!("{}{}", files.key.serialize_pem(), files.chain()),
        format!("a comment\n{}{}", files.chain(), files.key.serialize_pem()),
        files.chain().replace('\n', "\r\n") + &files.key.serialize_pem(),
    ] {
        let credential = Credential::from_pem(file.as_bytes(), file.as_bytes()).unwrap();
        assert_eq!(credential.chain().len(), 2);
    }
}

/// PKCS#8, PKCS#1 and SEC1. RFC 5958 2, RFC 8017 A.1.2, RFC 5915 3
#[test]
fn keys_of_each_form_are_read() {
    let (rsa, rsa_key) = leaf(Kind::Rsa2048, &[NAME]);
    let (ec, ec_key) = leaf(Kind::P256, &[NAME]);
    // In PKCS#8 the private key is an OCTET STRING that contains the older form.
    let pkcs1 = &rsa_key[position(&rsa_key, &[0x02, 0x01, 0x00, 0x02, 0x82, 0x01, 0x01]) - 4..];
    let number = position(&ec_key, &[0x02, 0x01, 0x01, 0x04, 0x20]);
    let curve = [0xa0, 0x0a, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
    let sec1 = [&[0x30, 49], &ec_key[number..number + 37], &curve].concat();
    for (chain, label, key, kind) in [
        (&rsa, "PRIVATE KEY", &rsa_key[..], KeyKind::Rsa),
        (&rsa, "RSA PRIVATE KEY", pkcs1, KeyKind::Rsa),
        (&ec, "PRIVATE KEY", &ec_key, KeyKind::EcdsaP256),
        (&ec, "EC PRIVATE KEY", &sec1, KeyKind::EcdsaP256),
    ] {
        let (chain, key) = (section("CERTIFICATE", &chain[0]), section(label, key));
        let credential = Credential::from_pem(chain.as_bytes(), key.as_bytes());
        assert_eq!(credential.unwrap().kind(), kind, "{label}");
    }
}

#[test]
fn a_chain_in_the_wrong_order_is_named() {
    let files = files();
    let key = files.key.serialize_pem();
    let reversed = format!("{}{}{}", files.root, files.intermediate, files.leaf);
    let error = error(&reversed, &key);
    assert_eq!(error, CredentialError::LeafNotFirst(3));
    let text = "the private key matches certificate 3 of the chain: its leaf must be the first";
    assert_eq!(error.to_string(), text);
}

/// RFC 5280 4.1.2.5, 4.2.1.3, RFC 9846 4.5.1
#[test]
fn certificates_with_which_no_handshake_can_be_signed_are_refused() {
    use rcgen::KeyUsagePurpose::{DigitalSignature, KeyAgreement, KeyEncipherment};
    let issued = |algorithm, usages: &[_]| {
        let key = KeyPair::generate_for(algorithm).unwrap();
        let mut params = CertificateParams::new([NAME.to_owned()]).unwrap();
        params.key_usages = usages.to_vec();
        (params.self_signed(&key).unwrap().der().to_vec(), key.serialize_pem())
    };
    let patched = |der: &[u8], from: &[u8], to: &[u8]| {
        let mut der = der.to_vec();
        while let Some(at) = der.windows(from.len()).position(|window| window == from) {
            der[at..at + to.len()].copy_from_slice(to);
        }
        der
    };
    let refused = |der: &[u8], key: &str| error(&section("CERTIFICATE", der), key);
    let unusable = CredentialError::UnusableCertificate;
    for usages in [&[KeyAgreement][..], &[KeyEncipherment, KeyAgreement]] {
        let (der, key) = issued(&rcgen::PKCS_ECDSA_P256_SHA256, usages);
        assert_eq!(refused(&der, &key), unusable(RefusalReason::KeyMayNotSign));
    }
    let (der, key) = issued(&rcgen::PKCS_ECDSA_P256_SHA256, &[DigitalSignature]);
    // P-192 in place of P-256, and Ed448 in place of Ed25519.
    let p256 = [0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7];
    let p192 = patched(&der, &p256, &[0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 1]);
    assert_eq!(refused(&p192, &key), unusable(RefusalReason::UnsupportedKey));
    let text = "the leaf certificate cannot be used: a certificate's key is of a kind, or on a \
                curve, that is not supported";
    assert_eq!(unusable(RefusalReason::UnsupportedKey).to_string(), text);
    let month_13 = patched(&der, b"750101000000Z", b"751301000000Z");
    assert_eq!(refused(&month_13, &key), CredentialError::BadValidity);
    let (der, key) = issued(&rcgen::PKCS_ED25519, &[]);
    let ed448 = patched(&der, &[6, 3, 0x2b, 0x65, 0x70], &[6, 3, 0x2b, 0x65, 0x71]);
    assert_eq!(refused(&ed448, &key), unusable(RefusalReason::UnsupportedKey));
    // The private key is of that kind, too.
    let pkcs8 = tercel::pki::load_key_pem(key.as_bytes()).unwrap();
    let pkcs8 = patched(pkcs8.secret_der(), &[6, 3, 0x2b, 0x65, 0x70], &[6, 3, 0x2b, 0x65, 0x71]);
    let key = section("PRIVATE KEY", &pkcs8);
    assert_eq!(refused(&ed448, &key), unusable(RefusalReason::UnsupportedKey));
    let files = files();
    let chain = format!("{}{}", files.leaf, section("CERTIFICATE", b"no certificate"));
    assert_eq!(error(&chain, &files.key.serialize_pem()), CredentialError::BadIssuer(2));
}

/// RFC 5280 4.2.1.12
#[test]
fn a_certificate_for_clients_only_does_not_serve() {
    use rcgen::ExtendedKeyUsagePurpose::{Any, ClientAuth, EmailProtection, ServerAuth};
    let other = CredentialError::NotForUsage;
    for (purposes, for_servers, for_clients) in [
        (&[][..], Ok(()), Ok(())),
        (&[Any], Ok(()), Ok(())),
        (&[ServerAuth], Ok(()), Err(other(Usage::Client))),
        (&[ServerAuth, ClientAuth], Ok(()), Ok(())),
        (&[ClientAuth], Err(other(Usage::Server)), Ok(())),
        (&[EmailProtection], Err(other(Usage::Server)), Err(other(Usage::Client))),
    ] {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new([NAME.to_owned()]).unwrap();
        params.extended_key_usages = purposes.to_vec();
        let pem = params.self_signed(&key).unwrap().pem();
        let made = || Credential::from_pem(pem.as_bytes(), key.serialize_pem().as_bytes()).unwrap();
        assert_eq!(made().check_usage(Usage::Server), for_servers, "{purposes:?}");
        assert_eq!(made().check_usage(Usage::Client), for_clients, "{purposes:?}");
        let expected = for_servers.map_err(|_| ConfigError::CredentialNotForServers);
        let built = ServerConfig::builder().credential(made()).build().map(drop);
        assert_eq!(built, expected, "{purposes:?}");
        let set = Arc::new(Credentials::new(vec![made()]));
        let built = ServerConfig::builder().replaceable_credentials(set).build().map(drop);
        assert_eq!(built, expected, "{purposes:?}");
        // The credential of a client is used as it is.
        let client = ClientConfig::builder().roots(roots()).credential(made());
        client.build().unwrap();
    }
    let text = other(Usage::Server).to_string();
    assert_eq!(text, "the extended key usage of the leaf certificate does not allow servers");
}

#[test]
fn the_key_of_another_certificate_does_not_match() {
    let files = files();
    for algorithm in [&rcgen::PKCS_ECDSA_P256_SHA256, &rcgen::PKCS_ED25519] {
        let other = KeyPair::generate_for(algorithm).unwrap().serialize_pem();
        assert_eq!(error(&files.chain(), &other), CredentialError::KeyMismatch);
    }
}

#[test]
fn an_encrypted_key_has_to_be_decrypted_first() {
    let header = "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00112233445566778899AABBCCDDEEFF";
    let older =
        format!("-----BEGIN EC PRIVATE KEY-----\n{header}\n\nAAAA\n-----END EC PRIVATE KEY-----\n");
    for key in [section("ENCRYPTED PRIVATE KEY", b"anything"), older] {
        let error = error(&files().chain(), &key);
        assert_eq!(error, CredentialError::KeyPem(PemError::EncryptedKey));
        let text = "private key: the private key is encrypted; decrypt it first";
        assert_eq!(error.to_string(), text);
    }
}

#[test]
fn files_without_the_expected_section_are_errors_of_that_file() {
    let files = files();
    let (chain, key) = (files.chain(), files.key.serialize_pem());
    let nothing = PemError::NothingFound;
    for (chain, key, expected, text) in [
        ("", &*key, CredentialError::ChainPem(nothing), "certificate chain: "),
        (&key, &key, CredentialError::ChainPem(nothing), "certificate chain: "),
        (&chain, "", CredentialError::KeyPem(nothing), "private key: "),
        (&chain, &chain, CredentialError::KeyPem(nothing), "private key: "),
        // The chain is read first.
        ("", "", CredentialError::ChainPem(nothing), "certificate chain: "),
    ] {
        let error = error(chain, key);
        assert_eq!(error, expected);
        assert_eq!(error.to_string(), format!("{text}{nothing}"));
    }
}

#[test]
fn sections_that_cannot_be_read_are_errors() {
    let files = files();
    let (chain, key) = (files.chain(), files.key.serialize_pem());
    let cut = |file: &str| file[..file.len() - 40].to_owned();
    assert_eq!(error(&cut(&chain), &key), CredentialError::ChainPem(PemError::NoEnd));
    assert_eq!(error(&chain, &cut(&key)), CredentialError::KeyPem(PemError::NoEnd));
    let dirty = |file: &str| file.replacen("\nMI", "\n!!", 1);
    assert_eq!(error(&dirty(&chain), &key), CredentialError::ChainPem(PemError::NotBase64));
    assert_eq!(error(&chain, &dirty(&key)), CredentialError::KeyPem(PemError::NotBase64));
    let nonsense = section("CERTIFICATE", b"no certificate");
    assert_eq!(error(&nonsense, &key), CredentialError::BadCertificate);
    let nonsense = section("PRIVATE KEY", b"no key");
    assert_eq!(error(&chain, &nonsense), CredentialError::BadKey);
}

/// RFC 7468 2, 3
#[test]
fn files_of_odd_forms_are_read_or_refused_with_the_reason() {
    let files = files();
    let (chain, key) = (files.chain(), files.key.serialize_pem());
    let load = |chain: &[u8], key: &[u8]| {
        let credential = Credential::from_pem(chain, key).map_err(|error| error.to_string())?;
        Ok(credential.chain().to_vec())
    };
    check("chain", &files.leaf, &files.intermediate, |pem| load(pem, key.as_bytes()));
    check("key", &files.leaf, &key, |pem| load(chain.as_bytes(), pem));
}

/// RFC 9934 3
#[cfg(feature = "ech")]
#[test]
fn ech_key_files_of_odd_forms_are_read_or_refused_with_the_reason() {
    let ech = tercel::ech::Key::generate("cover.example", 0).unwrap().to_pem().unwrap();
    let (private, configs) = ech.split_at(ech.find("-----BEGIN ECHCONFIG").unwrap());
    for (first, second) in [(private, configs), (configs, private)] {
        check("ECH key", first, second, |pem| {
            let key = tercel::ech::Key::from_pem(pem).map_err(|error| error.to_string())?;
            Ok(key.config())
        });
    }
}

/// No error text quotes a file that may have a key. RFC 7468 2
#[test]
fn errors_do_not_quote_the_files() {
    let files = files();
    let key = files.key.serialize_pem();
    let line = key.lines().nth(1).unwrap();
    let dirty = key.replacen("\nMI", "\n!!", 1);
    for error in [error(&files.chain(), &dirty), error(&key, &key)] {
        for text in [error.to_string(), format!("{error:?}"), format!("{error:#?}")] {
            assert!(!text.contains(&line[2..10]), "{text}");
        }
    }
}

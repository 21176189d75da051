//! PKCS#12 files that the `openssl` program writes. Without the program nothing is tested.

use std::path::Path;
use std::process::Command;

use tercel_crypto::{Pkcs12, Pkcs12Error, SigningKey};

/// Forms of encryption: the default of OpenSSL 3 (PBES2 with AES), the default of older versions
/// (3DES and RC2-40), other ciphers of PBES2 (RFC 8018 6.2), RC4, and certificates in the clear.
const FORMS: [&[&str]; 7] = [
    &[],
    &["-legacy"],
    &["-keypbe", "AES-128-CBC", "-certpbe", "AES-128-CBC", "-macalg", "sha512"],
    &["-keypbe", "PBE-SHA1-3DES", "-certpbe", "PBE-SHA1-3DES", "-macalg", "sha1"],
    &["-keypbe", "DES-EDE3-CBC", "-certpbe", "DES-EDE3-CBC"],
    &["-legacy", "-keypbe", "PBE-SHA1-RC4-128", "-certpbe", "PBE-SHA1-RC4-128"],
    &["-certpbe", "NONE"],
];

/// Returns a new folder with `key.pem`, `cert.pem` and `ca.pem`, or nothing without `openssl`.
fn folder(name: &str) -> Option<std::path::PathBuf> {
    Command::new("openssl").arg("version").output().ok()?;
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let key = rcgen::KeyPair::generate().unwrap();
    let made = rcgen::CertificateParams::new(vec!["example.test".into()]).unwrap();
    let cert = made.self_signed(&key).unwrap();
    let authority = rcgen::generate_simple_self_signed(vec!["authority.test".into()]).unwrap();
    std::fs::write(folder.join("key.pem"), key.serialize_pem()).unwrap();
    std::fs::write(folder.join("cert.pem"), cert.pem()).unwrap();
    std::fs::write(folder.join("ca.pem"), authority.cert.pem()).unwrap();
    std::fs::write(folder.join("cert.der"), cert.der()).unwrap();
    std::fs::write(folder.join("ca.der"), authority.cert.der()).unwrap();
    std::fs::write(folder.join("key.der"), key.serialize_der()).unwrap();
    Some(folder)
}

fn export(folder: &Path, password: &str, arguments: &[&str]) -> Vec<u8> {
    let out = folder.join("file.p12");
    let status = Command::new("openssl")
        .current_dir(folder)
        .args(["pkcs12", "-export", "-passout", &format!("pass:{password}"), "-out"])
        .arg(&out)
        .args(arguments)
        .status();
    assert!(status.unwrap().success(), "openssl pkcs12 {arguments:?}");
    std::fs::read(out).unwrap()
}

const ALL: [&str; 6] = ["-inkey", "key.pem", "-in", "cert.pem", "-certfile", "ca.pem"];

#[test]
fn files_of_each_form_are_opened() {
    let Some(folder) = folder("pkcs12-forms") else { return };
    let read = |name: &str| std::fs::read(folder.join(name)).unwrap();
    let key = SigningKey::from_der(&read("key.der")).unwrap();
    for password in ["a password", "pässword", ""] {
        for form in FORMS {
            let file = export(&folder, password, &[&ALL, form].concat());
            let opened = Pkcs12::open(&file, password).unwrap();
            assert_eq!(opened.key.unwrap().public_key_spki(), key.public_key_spki(), "{form:?}");
            assert_eq!(opened.certificates, [read("cert.der"), read("ca.der")], "{form:?}");
        }
    }
}

#[test]
#[cfg_attr(fips_module_3, ignore = "version 3 of the FIPS module gives other reasons")]
fn a_wrong_password_and_a_changed_file_are_rejected() {
    let Some(folder) = folder("pkcs12-password") else { return };
    for form in FORMS {
        let mut file = export(&folder, "right", &[&ALL, form].concat());
        for wrong in ["wrong", "", "right\0"] {
            assert_eq!(
                Pkcs12::open(&file, wrong).unwrap_err(),
                Pkcs12Error::WrongPassword,
                "{form:?}"
            );
        }
        let middle = file.len() / 2;
        file[middle] ^= 1;
        assert!(Pkcs12::open(&file, "right").is_err(), "{form:?}");
        file[middle] ^= 1;
        file.truncate(file.len() - 1);
        assert_eq!(Pkcs12::open(&file, "right").unwrap_err(), Pkcs12Error::Malformed, "{form:?}");
    }
}

/// RFC 7292 4: a file contains any number of keys and certificates.
#[test]
fn a_file_may_contain_no_key() {
    let Some(folder) = folder("pkcs12-no-key") else { return };
    let file = export(&folder, "right", &["-nokeys", "-in", "cert.pem"]);
    let opened = Pkcs12::open(&file, "right").unwrap();
    assert!(opened.key.is_none());
    assert_eq!(opened.certificates.len(), 1);
    let file = export(&folder, "right", &["-nocerts", "-inkey", "key.pem"]);
    let opened = Pkcs12::open(&file, "right").unwrap();
    assert!(opened.key.is_some() && opened.certificates.is_empty());
}

#[test]
fn other_bytes_are_malformed() {
    for bytes in [&b""[..], b"no file", &[0x30, 0x80], &[0x30; 64]] {
        assert_eq!(Pkcs12::open(bytes, "").unwrap_err(), Pkcs12Error::Malformed);
    }
}

//! PKCS#12 files of OpenSSL, GnuTLS and NSS. A program that is not installed is skipped; there is a
//! file of the latter two in `vectors`.

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

/// Runs a program in a folder. Returns false if it is not installed.
fn run(folder: &Path, program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    let Ok(output) = command.current_dir(folder).args(arguments).output() else { return false };
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {text}");
    true
}

/// PBKDF2's function has no parameters in them, although RFC 8018 A.2 and B.1.2 ask for NULL. The
/// file of GnuTLS is DER, the one of NSS has indefinite lengths. RFC 7292 B.2, B.3, RFC 2315 7, 8
#[test]
fn files_of_gnutls_and_nss_are_opened() {
    for file in [&include_bytes!("vectors/gnutls.p12")[..], include_bytes!("vectors/nss.p12")] {
        let opened = Pkcs12::open(file, "secret").unwrap();
        assert!(opened.key.is_some() && opened.certificates.len() == 2);
        for wrong in ["", "wrong", "secret "] {
            assert_eq!(Pkcs12::open(file, wrong).unwrap_err(), Pkcs12Error::WrongPassword);
        }
    }
}

/// The MAC is verified before anything is added. RFC 7292 4
#[test]
fn a_changed_file_of_gnutls_or_nss_is_rejected() {
    for file in [&include_bytes!("vectors/gnutls.p12")[..], include_bytes!("vectors/nss.p12")] {
        for at in [file.len() / 3, file.len() / 2, file.len() - 40] {
            let mut file = file.to_vec();
            file[at] ^= 1;
            assert_eq!(Pkcs12::open(&file, "secret").unwrap_err(), Pkcs12Error::WrongPassword);
        }
        let cut = Pkcs12::open(&file[..file.len() - 1], "secret").unwrap_err();
        assert_eq!(cut, Pkcs12Error::Malformed);
    }
}

#[test]
fn files_of_certtool_are_opened() {
    let Some(folder) = folder("pkcs12-gnutls") else { return };
    let content = ["--load-privkey", "key.pem", "--load-certificate", "cert.pem"];
    let to_p12 = ["--to-p12", "--outder", "--outfile", "file.p12", "--p12-name", "näme"];
    let with_password: [(&[&str], &str); 8] = [
        (&["--password=secret"], "secret"),
        (&["--password=secret", "--load-ca-certificate", "ca.pem"], "secret"),
        (&["--password=secret", "--pkcs-cipher=aes-256", "--hash=sha512"], "secret"),
        (&["--password=secret", "--pkcs-cipher=aes-192"], "secret"),
        (&["--password=secret", "--pkcs-cipher=3des"], "secret"),
        (&["--password=secret", "--pkcs-cipher=3des-pkcs12"], "secret"),
        (&["--password=secret", "--pkcs-cipher=rc2-40"], "secret"),
        (&["--empty-password"], ""),
    ];
    let without = (&["--null-password"][..], "");
    for (form, password) in with_password.into_iter().chain([without]) {
        if !run(&folder, "certtool", &[&to_p12[..], &content, form].concat()) {
            return println!("skipped: certtool is not installed");
        }
        let file = std::fs::read(folder.join("file.p12")).unwrap();
        let opened = Pkcs12::open(&file, password).unwrap_or_else(|error| {
            panic!("{form:?}: {error}");
        });
        assert!(opened.key.is_some(), "{form:?}");
        let leaf = std::fs::read(folder.join("cert.der")).unwrap();
        assert!(opened.certificates.contains(&leaf), "{form:?}");
    }
}

#[test]
fn files_of_pk12util_are_opened_or_refused_for_their_algorithm() {
    let Some(folder) = folder("pkcs12-nss") else { return };
    let _ = std::fs::remove_dir_all(folder.join("db"));
    std::fs::create_dir(folder.join("db")).unwrap();
    if !run(&folder, "certutil", &["-N", "-d", "db", "--empty-password"]) {
        return println!("skipped: certutil is not installed");
    }
    export(&folder, "x", &[&ALL[..], &["-name", "leaf"]].concat());
    assert!(run(&folder, "pk12util", &["-i", "file.p12", "-d", "db", "-W", "x"]));
    let read: [&[&str]; 3] = [&[], &["-C", "none"], &["-W", ""]];
    // A function and a cipher of PBES2 that AWS-LC does not have.
    let refused: [&[&str]; 2] = [&["-M", "SHA-512"], &["-C", "CAMELLIA-256-CBC"]];
    let forms = read.map(|form| (form, None)).into_iter();
    let refused = refused.map(|form| (form, Some(Pkcs12Error::Unsupported)));
    for (form, error) in forms.chain(refused) {
        let password = if form.contains(&"-W") { "" } else { "secret" };
        let arguments = ["-o", "file.p12", "-n", "leaf", "-d", "db", "-W", password];
        assert!(run(&folder, "pk12util", &[&arguments[..], form].concat()));
        let file = std::fs::read(folder.join("file.p12")).unwrap();
        match Pkcs12::open(&file, password) {
            Ok(opened) => {
                assert!(opened.key.is_some() && error.is_none(), "{form:?}");
                let leaf = std::fs::read(folder.join("cert.der")).unwrap();
                assert!(opened.certificates.contains(&leaf), "{form:?}");
            }
            Err(found) => assert_eq!(Some(found), error, "{form:?}"),
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

/// OpenSSL encodes such a character as two units of UTF-16, which AWS-LC refuses. RFC 7292 B.1
#[test]
fn a_password_with_a_character_beyond_the_bmp_is_not_supported() {
    let Some(folder) = folder("pkcs12-character") else { return };
    let file = export(&folder, "p\u{1f600}", &ALL);
    let refused = Pkcs12::open(&file, "p\u{1f600}").unwrap_err();
    assert_eq!(refused, Pkcs12Error::UnsupportedCharacter);
    // In a file that is completed first, a wrong password is known as such.
    let file = include_bytes!("vectors/gnutls.p12");
    let refused = Pkcs12::open(file, "p\u{1f600}").unwrap_err();
    assert_eq!(refused, Pkcs12Error::WrongPassword);
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

//! Makes the seeds of the target `pkcs12` with `openssl pkcs12`:
//! `cargo run -p tercel-fuzz-targets --example make_pkcs12`.
//!
//! Each is a file, and the content of a file. The first byte of a seed is the form; see the target.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use rcgen::{CertificateParams, KeyPair};
use tercel_fuzz_targets::pkcs12;

/// Names and arguments of forms.
const FORMS: [(&str, &[&str]); 5] = [
    ("pbes2", &[]),
    ("legacy", &["-legacy"]),
    ("rc4", &["-legacy", "-keypbe", "PBE-SHA1-RC4-128", "-certpbe", "PBE-SHA1-RC4-128"]),
    ("clear", &["-keypbe", "NONE", "-certpbe", "NONE"]),
    ("certificates", &["-nokeys"]),
];
/// The passwords of the target, by number.
const PASSWORDS: [&str; 3] = ["secret", "", "p\u{e4}ssw\u{f6}rd \u{20ac}"];

fn main() -> Result<(), Box<dyn Error>> {
    let folder = env::temp_dir().join(format!("tercel-pkcs12-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let key = KeyPair::generate()?;
    let certificate = CertificateParams::new(vec!["a.example".to_owned()])?.self_signed(&key)?;
    fs::write(folder.join("pem"), key.serialize_pem() + &certificate.pem())?;
    for (number, (name, arguments)) in (0_u8..).zip(FORMS) {
        let password = number % 3;
        let file = export(&folder, PASSWORDS[usize::from(password)], arguments)?;
        save(&format!("valid-{name}"), password << 1, &file)?;
        let content = content(&file).ok_or("no content")?;
        save(&format!("valid-{name}-content"), password << 1 | 1, content)?;
        if name == "pbes2" {
            // As GnuTLS and NSS write it.
            save("valid-without-null-content", password << 1 | 1, &without_null(content))?;
        }
        if name == "clear" {
            save("wrong-password", ((password + 1) % 3) << 1, &file)?;
        }
    }
    Ok(fs::remove_dir_all(folder)?)
}

fn export(folder: &Path, password: &str, arguments: &[&str]) -> Result<Vec<u8>, Box<dyn Error>> {
    let status = Command::new("openssl")
        .current_dir(folder)
        .args(["pkcs12", "-export", "-iter", "1", "-in", "pem", "-out", "file", "-passout"])
        .arg(format!("pass:{password}"))
        .args(arguments)
        .status()?;
    assert!(status.success(), "openssl pkcs12 {arguments:?}");
    Ok(fs::read(folder.join("file"))?)
}

/// The content of a file, which is the first OCTET STRING of 256 bytes or more. RFC 7292 4
fn content(file: &[u8]) -> Option<&[u8]> {
    let start = file.windows(2).position(|pair| pair == [4, 0x82])? + 4;
    let len = usize::from(u16::from_be_bytes([file[start - 2], file[start - 1]]));
    file.get(start..start + len)
}

/// Elements without the parameters of hmacWithSHA256, which are NULL. RFC 8018 B.1.2
fn without_null(mut elements: &[u8]) -> Vec<u8> {
    const PRF: &[u8] = &[6, 8, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 2, 9];
    let mut out = Vec::new();
    while let [tag, length, ..] = elements {
        let (header, len) = match length {
            0x82 => (4, usize::from(u16::from_be_bytes([elements[2], elements[3]]))),
            0x81 => (3, usize::from(elements[2])),
            short => (2, usize::from(*short)),
        };
        let (content, rest) = elements[header..].split_at(len);
        let content = match (tag, content.strip_prefix(PRF)) {
            (0x30, Some([5, 0])) => PRF.to_vec(),
            _ if tag & 0x20 != 0 || (*tag == 4 && content.starts_with(&[0x30, 0x82])) => {
                without_null(content)
            }
            _ => content.to_vec(),
        };
        let len = u16::try_from(content.len()).expect("as short as before");
        let len = len.to_be_bytes();
        match len {
            [0, short @ 0..0x80] => out.extend([*tag, short]),
            [0, long] => out.extend([*tag, 0x81, long]),
            [high, low] => out.extend([*tag, 0x82, high, low]),
        }
        out.extend(content);
        elements = rest;
    }
    out
}

fn save(name: &str, form: u8, bytes: &[u8]) -> Result<(), Box<dyn Error>> {
    let seed = [&[form], bytes].concat();
    // A ciphertext may look like a large number of iterations; then another run helps.
    assert_eq!(pkcs12(&seed), name.starts_with("valid"), "{name}: run this again");
    let folder: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus/pkcs12");
    fs::create_dir_all(&folder)?;
    Ok(fs::write(folder.join(name), seed)?)
}

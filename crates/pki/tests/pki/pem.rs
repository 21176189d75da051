//! PEM files of odd forms: no section is lost without an error. RFC 7468 2, 3

use tercel_pki::{
    PemContents, PemError, PemUse, Roots, load_certs_pem, load_key_pem, load_public_keys_pem,
    pem_sections,
};

use crate::pem_cases::check;
use crate::support::{P256, Pki, key};

fn labelled(label: &str, base64: &str) -> String {
    format!("-----BEGIN {label}-----\n{base64}\n-----END {label}-----\n")
}

#[test]
fn each_reader_reads_all_or_says_why_not() {
    let pki = Pki::new();
    let (one, other) = (pki.root.pem(), pki.intermediate.pem());
    let private = key(P256).serialize_pem();
    let (first, public) = (labelled("PUBLIC KEY", "AAAA"), labelled("PUBLIC KEY", "BBBB"));
    let text = |error: PemError| error.to_string();
    check("certificates", &one, &other, |pem| load_certs_pem(pem).map_err(text));
    check("roots", &one, &other, |pem| {
        let mut roots = Roots::new();
        roots.add_pem(pem).map_err(|error| error.to_string())?;
        Ok(roots.fingerprint())
    });
    check("private key", &one, &private, |pem| {
        load_key_pem(pem).map(|key| key.secret_der().to_vec()).map_err(text)
    });
    check("public keys", &first, &public, |pem| load_public_keys_pem(pem).map_err(text));
    check("sections", &first, &labelled("ECHCONFIG", "BBBB"), |pem| {
        let sections = pem_sections(pem).map_err(text)?;
        if sections.is_empty() {
            return Err("no section".to_owned());
        }
        sections
            .iter()
            .map(|one| Ok((one.label(), one.decode().map_err(text)?)))
            .map(|one| one.map(|(label, der): (&str, _)| (label.to_owned(), der)))
            .collect::<Result<Vec<_>, String>>()
    });
}

/// A request contains no certificate, and an attribute certificate none for TLS. RFC 7468 8, 10
#[test]
fn sections_of_other_kinds_are_skipped_and_said() {
    let certificate = Pki::new().root.pem();
    let others = ["CERTIFICATE REQUEST", "X509 CRL", "DH PARAMETERS", "ATTRIBUTE CERTIFICATE"];
    let others = others.map(|label| labelled(label, "AAAA")).concat();
    let private = key(P256).serialize_pem();
    let file = format!("{certificate}{others}{certificate}{private}{private}");
    assert_eq!(load_certs_pem(file.as_bytes()).unwrap().len(), 2);
    let contents = PemContents::new(file.as_bytes());
    assert_eq!(contents.problem(), None);
    assert_eq!(contents.skipped(PemUse::Certificates), 6);
    let line = certificate.lines().count() + 1;
    assert_eq!(
        contents.describe(PemUse::CertificatesAndKey),
        format!(
            "2 CERTIFICATE, 1 PRIVATE KEY; skipped: CERTIFICATE REQUEST (line {line}), X509 CRL \
             (line {}), DH PARAMETERS (line {}) and 2 more",
            line + 3,
            line + 6
        )
    );
    let nothing = PemContents::new(b"text").describe(PemUse::PublicKeys);
    assert_eq!(nothing, "nothing that is used");
    // Labels of other programs may have small letters.
    let other = labelled("OpenVPN Static key V1", "AAAA");
    assert_eq!(load_certs_pem(format!("{other}{certificate}").as_bytes()).unwrap().len(), 1);
}

#[test]
fn the_line_of_a_problem_is_known() {
    let section = labelled("CERTIFICATE", "AAAA");
    let problem = |file: &str| PemContents::new(file.as_bytes()).problem();
    assert_eq!(problem(&section), None);
    assert_eq!(problem(&format!("{section}-----END X-----")), Some((4, PemError::NoBegin)));
    let dirty = section.replace("AAAA", "????");
    let file = format!("\r\n{section}{dirty}----BEGIN X----\n");
    assert_eq!(problem(&file), Some((5, PemError::NotBase64)));
    assert_eq!(problem(&format!("{section}----BEGIN X----\n")), Some((4, PemError::Malformed)));
    assert_eq!(problem(&section.repeat(2)[..40]), Some((1, PemError::NoEnd)));
}

/// The work for a line, and for the list of sections, grows with their length, not with its square.
#[test]
fn a_long_line_and_many_sections_are_read_in_time() {
    let wide = format!("--{}x--\n", " ".repeat(1 << 20));
    assert_eq!(load_certs_pem(wide.as_bytes()), Err(PemError::NothingFound));
    let words = format!("--{}--\n", "BEGIN ".repeat(1 << 18));
    assert_eq!(load_certs_pem(words.as_bytes()), Err(PemError::Malformed));
    let boundaries = format!("x{}\n", "-----BEGIN CERTIFICATE-----".repeat(1 << 16));
    assert_eq!(load_certs_pem(boundaries.as_bytes()), Err(PemError::Malformed));
    let sections = labelled("CERTIFICATE", "AAAA").repeat(20_000);
    let contents = PemContents::new(sections.as_bytes());
    assert_eq!(contents.describe(PemUse::Certificates), "20000 CERTIFICATE");
    let skipped = contents.describe(PemUse::PublicKeys);
    assert!(skipped.ends_with("(line 7) and 19997 more"), "{skipped}");
}

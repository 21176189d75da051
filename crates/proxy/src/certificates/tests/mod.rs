//! Loading folders of every layout, valid and invalid.

mod changes;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use rcgen::{CertificateParams, KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_RSA_SHA256, date_time_ymd};
use tercel::files::{FileErrorReason, FileWatch};
use tercel::{certificates::CredentialError, pki::PemError};

use super::*;
use crate::pem_cases::check;
use crate::testing::Folder;

struct GeneratedPair {
    chain: String,
    key: String,
}

fn generate(name: &str) -> GeneratedPair {
    generate_with(name, &KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap(), |_| ())
}

fn generate_with(
    name: &str,
    key: &KeyPair,
    change: impl FnOnce(&mut CertificateParams),
) -> GeneratedPair {
    let mut params = CertificateParams::new([name.to_owned()]).unwrap();
    change(&mut params);
    GeneratedPair { chain: params.self_signed(key).unwrap().pem(), key: key.serialize_pem() }
}

fn write(path: &Path, text: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

fn write_pair(folder: &Path, stem: &str, generated: &GeneratedPair) {
    write(&folder.join(format!("{stem}.crt")), &generated.chain);
    write(&folder.join(format!("{stem}.key")), &generated.key);
}

fn source(folder: &Folder) -> Source {
    Source { folder: Some(folder.path().to_owned()), ..Source::default() }
}

fn loaded(folder: &Folder) -> Certificates {
    Certificates::load(source(folder)).unwrap().0
}

fn load_error(folder: &Folder) -> Problem {
    Certificates::load(source(folder)).unwrap_err()
}

/// The covered names, sorted.
fn names(certificates: &Certificates) -> Vec<String> {
    let mut names: Vec<_> = certificates.expiries().into_iter().map(|each| each.name).collect();
    names.sort();
    names
}

/// The leaf selected for this name.
fn leaf(certificates: &Certificates, host: &str) -> Vec<u8> {
    let state = certificates.state();
    let credentials = state.credentials();
    let credential = credentials.iter().find(|each| each.covers(host)).unwrap();
    credential.chain()[0].to_vec()
}

#[test]
fn every_folder_layout_is_loaded() {
    let folder = Folder::new();
    let at = folder.path();
    write_pair(at, "pair", &generate("pair.test"));
    let pem = generate("pem.test");
    write(&at.join("pem.pem"), &pem.chain);
    write(&at.join("pem.key"), &pem.key);
    let combined = generate("combined.test");
    write(&at.join("combined.pem"), combined.key + &combined.chain);
    let certbot = generate("certbot.test");
    write(&at.join("archive-of-certbot/live1.pem"), &certbot.chain);
    let live = at.join("certbot.test");
    write(&live.join("privkey.pem"), &certbot.key);
    symlink(at.join("archive-of-certbot/live1.pem"), live.join("fullchain.pem")).unwrap();
    write(&live.join("cert.pem"), &certbot.chain);
    write(&live.join("chain.pem"), &generate("authority").chain);
    write(&live.join("README"), "text");
    write_pair(&at.join("secret"), "tls", &generate("kubernetes.test"));
    write(&at.join("secret/ca.crt"), generate("authority").chain);
    write(&at.join(".hidden/tls.crt"), "nothing");
    write(&at.join("pair.ocsp"), [1, 2, 3]);
    let (certificates, changes) = Certificates::load(source(&folder)).unwrap();
    let all = ["certbot.test", "combined.test", "kubernetes.test", "pair.test", "pem.test"];
    assert_eq!(names(&certificates), all);
    assert_eq!((changes.added.len(), changes.outstanding), (5, 0));
    assert_eq!(
        changes.keyless,
        [at.join("archive-of-certbot/live1.pem"), at.join("secret/ca.crt")]
    );
    let state = certificates.state();
    let staples = state.pairs.values().filter(|loaded| loaded.pair.ocsp_response() == [1, 2, 3]);
    assert_eq!(staples.count(), 1);
}

/// RFC 7468 2, 3
#[test]
fn files_of_odd_forms_are_read_or_refused_with_the_reason() {
    let folder = Folder::new();
    let (one, other) = (generate("one.test"), generate("other.test"));
    let load = |chain: &[u8], key: &[u8]| {
        let files = Files {
            chain: folder.path().join("one.crt"),
            key: folder.path().join("one.key"),
            ocsp_response: None,
        };
        write(&files.chain, chain);
        write(&files.key, key);
        let loaded = Certificates::load(Source { files: vec![files], ..Source::default() });
        let (certificates, _) = loaded.map_err(|problem| problem.to_string())?;
        Ok(certificates.state().credentials()[0].chain().to_vec())
    };
    check("chain", &one.chain, &other.chain, |pem| load(pem, one.key.as_bytes()));
    check("key", &one.chain, &one.key, |pem| load(one.chain.as_bytes(), pem));
}

/// Sections that are not used are counted and said.
#[test]
fn skipped_sections_are_listed() {
    let folder = Folder::new();
    let one = generate("one.test");
    let request = one.chain.replace("CERTIFICATE", "CERTIFICATE REQUEST");
    write(&folder.path().join("one.pem"), format!("{}{request}{}", one.key, one.chain));
    let (certificates, changes) = Certificates::load(source(&folder)).unwrap();
    let line = one.key.lines().count() + 1;
    let contents = certificates.contents();
    let [contents] = &contents[..] else { panic!("{contents:?}") };
    let expected = format!(
        "one.pem: 1 PRIVATE KEY, 1 CERTIFICATE; skipped: CERTIFICATE REQUEST (line {line})"
    );
    assert!(contents.ends_with(&expected), "{contents}");
    assert_eq!(changes.skipped, std::slice::from_ref(contents));
}

#[test]
fn ecdsa_is_preferred_to_rsa_for_one_name() {
    let folder = Folder::new();
    let rsa = KeyPair::generate_for(&PKCS_RSA_SHA256).unwrap();
    write_pair(folder.path(), "a-rsa", &generate_with("both.test", &rsa, |_| ()));
    write_pair(folder.path(), "b-ecdsa", &generate("both.test"));
    let certificates = loaded(&folder);
    let kinds: Vec<_> = certificates
        .state()
        .credentials()
        .iter()
        .map(|each| format!("{:?}", each.kind()))
        .collect();
    assert_eq!(kinds, ["EcdsaP256", "Rsa"]);
}

#[test]
fn explicit_pairs_precede_the_folder() {
    let folder = Folder::new();
    write_pair(&folder.path().join("dir"), "a", &generate("a.test"));
    write_pair(folder.path(), "first", &generate("first.test"));
    let files = Files {
        chain: folder.path().join("first.crt"),
        key: folder.path().join("first.key"),
        ocsp_response: None,
    };
    let folder_source = Some(folder.path().join("dir"));
    let source = Source { files: vec![files], folder: folder_source, ..Source::default() };
    let (certificates, _) = Certificates::load(source).unwrap();
    assert!(certificates.state().credentials()[0].covers("first.test"));
}

#[test]
fn load_errors_name_the_file() {
    let good = generate("good.test");
    let other = generate("other.test");
    let half = &good.chain[..good.chain.len() / 2];
    let cases = [
        ("empty", vec![("unrelated", "")], "no certificate with a private key"),
        (
            "no certificate",
            vec![("x.key", good.key.as_str())],
            "x.key\": x.crt or x.pem is missing",
        ),
        (
            "no key",
            vec![("fullchain.pem", good.chain.as_str())],
            "fullchain.pem\": privkey.pem is missing",
        ),
        (
            "no chain",
            vec![("privkey.pem", good.key.as_str())],
            "privkey.pem\": fullchain.pem is missing",
        ),
        (
            "half",
            vec![("x.crt", half), ("x.key", good.key.as_str())],
            "x.crt\": cannot load certificate: ",
        ),
        (
            "empty key",
            vec![("x.crt", good.chain.as_str()), ("x.key", "")],
            "x.key\": is empty; it must contain a private key in PEM",
        ),
        (
            "mismatch",
            vec![("x.crt", other.chain.as_str()), ("x.key", good.key.as_str())],
            "x.crt\": the private key does not",
        ),
        (
            "a folder",
            vec![("x.crt/y", ""), ("x.key", good.key.as_str())],
            "x.key\": x.crt or x.pem is missing",
        ),
    ];
    for (case, files, says) in cases {
        let folder = Folder::new();
        files.iter().for_each(|(name, text)| write(&folder.path().join(name), text));
        let problem = load_error(&folder);
        let line = problem.to_string();
        assert!(line.contains(says), "{case}: {line}");
        assert_eq!(line.lines().count(), 1, "{case}");
    }
    let nowhere = Source { folder: Some("/nonexistent/folder".into()), ..Source::default() };
    let line = Certificates::load(nowhere).unwrap_err().to_string();
    assert!(line.contains("/nonexistent/folder") && line.contains("No such file"), "{line}");
}

#[test]
fn pipes_and_oversized_files_are_refused() {
    let folder = Folder::new();
    write(&folder.path().join("x.key"), generate("a.test").key);
    nix::unistd::mkfifo(&folder.path().join("x.crt"), nix::sys::stat::Mode::S_IRUSR).unwrap();
    let not_regular = FileErrorReason::Unreadable("not a regular file".to_owned());
    assert_eq!(load_error(&folder).reason, Reason::File(not_regular));
    let long = vec![b'\n'; 2 << 20];
    fs::remove_file(folder.path().join("x.crt")).unwrap();
    write(&folder.path().join("x.crt"), long);
    assert_eq!(load_error(&folder).reason, Reason::File(FileErrorReason::TooLong));
}

#[test]
fn world_readable_key_is_reported_once() {
    let folder = Folder::new();
    write_pair(folder.path(), "a", &generate("a.test"));
    let key = folder.path().join("a.key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    let (certificates, changes) = Certificates::load(source(&folder)).unwrap();
    assert_eq!(changes.exposed_keys, [key]);
    assert!(certificates.reload().exposed_keys.is_empty());
}

#[test]
fn unknown_names_are_refused_if_required() {
    let folder = Folder::new();
    write_pair(folder.path(), "a", &generate("a.test"));
    let source = Source { require_known_name: true, ..source(&folder) };
    let (certificates, _) = Certificates::load(source).unwrap();
    assert!(certificates.credentials().refuses_name(Some("b.test")));
    assert!(!loaded(&folder).credentials().refuses_name(Some("b.test")));
}

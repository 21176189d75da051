//! Folders in every layout, good and bad.
//!
//! Must not know: what changes in them later. Next: `changes.rs`.

mod changes;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use rcgen::{CertificateParams, KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_RSA_SHA256, date_time_ymd};
use tercel::{CredentialError, pki::PemError};

use super::watch::Watch;
use super::*;
use crate::testing::Folder;

struct Made {
    chain: String,
    key: String,
}

fn made(name: &str) -> Made {
    made_by(name, &KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap(), |_| ())
}

fn made_by(name: &str, key: &KeyPair, change: impl FnOnce(&mut CertificateParams)) -> Made {
    let mut params = CertificateParams::new([name.to_owned()]).unwrap();
    change(&mut params);
    Made { chain: params.self_signed(key).unwrap().pem(), key: key.serialize_pem() }
}

fn put(path: &Path, text: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

fn put_pair(folder: &Path, stem: &str, made: &Made) {
    put(&folder.join(format!("{stem}.crt")), &made.chain);
    put(&folder.join(format!("{stem}.key")), &made.key);
}

fn source(folder: &Folder) -> Source {
    Source { folder: Some(folder.path().to_owned()), ..Source::default() }
}

fn loaded(folder: &Folder) -> Certificates {
    Certificates::load(source(folder)).unwrap().0
}

fn refused(folder: &Folder) -> Problem {
    Certificates::load(source(folder)).unwrap_err()
}

/// The names that are covered, in order.
fn names(certificates: &Certificates) -> Vec<String> {
    let mut names: Vec<_> = certificates.expiries().into_iter().map(|each| each.name).collect();
    names.sort();
    names
}

/// The leaf that is shown for this name.
fn leaf(certificates: &Certificates, host: &str) -> Vec<u8> {
    let state = certificates.state();
    let credentials = state.credentials();
    let credential = credentials.iter().find(|each| each.covers(host)).unwrap();
    credential.chain()[0].to_vec()
}

#[test]
fn every_layout_is_understood() {
    let folder = Folder::new();
    let at = folder.path();
    put_pair(at, "pair", &made("pair.test"));
    let pem = made("pem.test");
    put(&at.join("pem.pem"), &pem.chain);
    put(&at.join("pem.key"), &pem.key);
    let combined = made("combined.test");
    put(&at.join("combined.pem"), combined.key + &combined.chain);
    let certbot = made("certbot.test");
    put(&at.join("archive-of-certbot/live1.pem"), &certbot.chain);
    let live = at.join("certbot.test");
    put(&live.join("privkey.pem"), &certbot.key);
    symlink(at.join("archive-of-certbot/live1.pem"), live.join("fullchain.pem")).unwrap();
    put(&live.join("cert.pem"), &certbot.chain);
    put(&live.join("chain.pem"), &made("authority").chain);
    put(&live.join("README"), "text");
    put_pair(&at.join("secret"), "tls", &made("kubernetes.test"));
    put(&at.join("secret/ca.crt"), made("authority").chain);
    put(&at.join(".hidden/tls.crt"), "nothing");
    put(&at.join("pair.ocsp"), [1, 2, 3]);
    let (certificates, changes) = Certificates::load(source(&folder)).unwrap();
    let all = ["certbot.test", "combined.test", "kubernetes.test", "pair.test", "pem.test"];
    assert_eq!(names(&certificates), all);
    assert_eq!((changes.added.len(), changes.outstanding), (5, 0));
    assert_eq!(
        changes.keyless,
        [at.join("archive-of-certbot/live1.pem"), at.join("secret/ca.crt")]
    );
    let state = certificates.state();
    let staples = state.pairs.values().filter(|loaded| loaded.pair.ocsp_response == [1, 2, 3]);
    assert_eq!(staples.count(), 1);
}

#[test]
fn of_several_for_a_name_ecdsa_goes_before_rsa() {
    let folder = Folder::new();
    let rsa = KeyPair::generate_for(&PKCS_RSA_SHA256).unwrap();
    put_pair(folder.path(), "a-rsa", &made_by("both.test", &rsa, |_| ()));
    put_pair(folder.path(), "b-ecdsa", &made("both.test"));
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
fn pairs_named_one_by_one_go_first() {
    let folder = Folder::new();
    put_pair(&folder.path().join("dir"), "a", &made("a.test"));
    put_pair(folder.path(), "first", &made("first.test"));
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
fn what_is_wrong_at_the_start_is_told_with_the_files_name() {
    let good = made("good.test");
    let other = made("other.test");
    let half = &good.chain[..good.chain.len() / 2];
    let cases = [
        ("empty", vec![("unrelated", "")], "no certificate with its key"),
        (
            "no certificate",
            vec![("x.key", good.key.as_str())],
            "x.key\": there is no x.crt or x.pem",
        ),
        (
            "no key",
            vec![("fullchain.pem", good.chain.as_str())],
            "fullchain.pem\": there is no privkey.pem",
        ),
        (
            "no chain",
            vec![("privkey.pem", good.key.as_str())],
            "privkey.pem\": there is no fullchain.pem",
        ),
        ("half", vec![("x.crt", half), ("x.key", good.key.as_str())], "x.crt\": no certificate: "),
        (
            "empty key",
            vec![("x.crt", good.chain.as_str()), ("x.key", "")],
            "x.key\": no private key: ",
        ),
        (
            "mismatch",
            vec![("x.crt", other.chain.as_str()), ("x.key", good.key.as_str())],
            "x.crt\": the private key does not",
        ),
        (
            "a folder",
            vec![("x.crt/y", ""), ("x.key", good.key.as_str())],
            "x.key\": there is no x.crt",
        ),
    ];
    for (case, files, says) in cases {
        let folder = Folder::new();
        files.iter().for_each(|(name, text)| put(&folder.path().join(name), text));
        let problem = refused(&folder);
        let line = problem.to_string();
        assert!(line.contains(says), "{case}: {line}");
        assert_eq!(line.lines().count(), 1, "{case}");
    }
    let nowhere = Source { folder: Some("/nonexistent/folder".into()), ..Source::default() };
    let line = Certificates::load(nowhere).unwrap_err().to_string();
    assert!(line.contains("/nonexistent/folder") && line.contains("No such file"), "{line}");
}

#[test]
fn what_is_no_ordinary_file_is_not_waited_for() {
    let folder = Folder::new();
    put(&folder.path().join("x.key"), made("a.test").key);
    nix::unistd::mkfifo(&folder.path().join("x.crt"), nix::sys::stat::Mode::S_IRUSR).unwrap();
    assert_eq!(refused(&folder).reason, Reason::Unreadable("not a file".to_owned()));
    let long = vec![b'\n'; 2 << 20];
    fs::remove_file(folder.path().join("x.crt")).unwrap();
    put(&folder.path().join("x.crt"), long);
    assert_eq!(refused(&folder).reason, Reason::TooLong);
}

#[test]
fn a_key_that_everybody_may_read_is_told_once() {
    let folder = Folder::new();
    put_pair(folder.path(), "a", &made("a.test"));
    let key = folder.path().join("a.key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    let (certificates, changes) = Certificates::load(source(&folder)).unwrap();
    assert_eq!(changes.exposed_keys, [key]);
    assert!(certificates.reload().exposed_keys.is_empty());
}

#[test]
fn names_without_a_certificate_are_refused_if_asked() {
    let folder = Folder::new();
    put_pair(folder.path(), "a", &made("a.test"));
    let source = Source { require_known_name: true, ..source(&folder) };
    let (certificates, _) = Certificates::load(source).unwrap();
    assert!(certificates.credentials().refuses_name(Some("b.test")));
    assert!(!loaded(&folder).credentials().refuses_name(Some("b.test")));
}

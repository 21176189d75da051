//! Folders in every layout, good, bad, and changing.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

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
fn an_expired_leaf_is_shown_at_the_start_and_replaces_nothing_later() {
    let folder = Folder::new();
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
    let old = made_by("old.test", &key, |params| params.not_after = date_time_ymd(2001, 1, 1));
    put_pair(folder.path(), "old", &old);
    let (certificates, changes) = Certificates::load(source(&folder)).unwrap();
    assert_eq!(names(&certificates), ["old.test"]);
    assert!(matches!(changes.problems[0].reason, Reason::Expired(_)), "{:?}", changes.problems);
    assert!(changes.problems[0].to_string().contains("expired at 2001-01-01"));

    let good = made("old.test");
    put_pair(folder.path(), "old", &good);
    assert_eq!(certificates.reload().replaced.len(), 1);
    let shown = leaf(&certificates, "old.test");
    put_pair(folder.path(), "old", &old);
    let changes = certificates.reload();
    assert!(!changes.any());
    assert!(matches!(changes.problems[0].reason, Reason::Expired(_)));
    assert_eq!(leaf(&certificates, "old.test"), shown);
}

#[test]
fn a_leaf_whose_time_has_not_come_is_taken_when_it_has() {
    let folder = Folder::new();
    put_pair(folder.path(), "a", &made("a.test"));
    let certificates = loaded(&folder);
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
    let early = made_by("a.test", &key, |params| params.not_before = date_time_ymd(2090, 1, 1));
    put_pair(folder.path(), "a", &early);
    let changes = certificates.reload();
    assert!(matches!(changes.problems[0].reason, Reason::NotYetValid(_)), "{changes:?}");
    let then = UnixTime::since_unix_epoch(Duration::from_secs(3_786_912_001));
    assert_eq!(certificates.reload_at(then).replaced.len(), 1);
}

#[test]
fn bad_files_leave_what_was_good_and_are_told_once() {
    let folder = Folder::new();
    put_pair(folder.path(), "a", &made("a.test"));
    put_pair(folder.path(), "b", &made("b.test"));
    let certificates = loaded(&folder);
    assert!(!certificates.reload().any(), "the same bytes change nothing");
    let shown = leaf(&certificates, "a.test");

    put(&folder.path().join("a.crt"), "-----BEGIN CERTIFICATE-----\nMIIB");
    put_pair(folder.path(), "b", &made("b2.test"));
    let changes = certificates.reload();
    assert_eq!(changes.problems.len(), 1);
    assert!(matches!(
        changes.problems[0].reason,
        Reason::Certificate(PemError::Malformed | PemError::NotBase64)
    ));
    assert_eq!(changes.replaced, [folder.path().join("b.crt")], "one bad pair holds up no other");
    assert_eq!(leaf(&certificates, "a.test"), shown);
    let again = certificates.reload();
    assert_eq!((again.problems.len(), again.outstanding), (0, 1), "told once");

    put(&folder.path().join("a.crt"), made("a.test").chain);
    let changes = certificates.reload();
    let mismatch = &changes.problems[0].reason;
    assert!(matches!(mismatch, Reason::Credential { error: CredentialError::KeyMismatch, .. }));
    assert_eq!(leaf(&certificates, "a.test"), shown, "a new certificate with the old key");

    put_pair(folder.path(), "a", &made("a.test"));
    let changes = certificates.reload();
    assert_eq!((changes.replaced.len(), changes.outstanding), (1, 0));
    assert_ne!(leaf(&certificates, "a.test"), shown);
}

#[test]
fn a_pair_goes_when_both_files_are_gone() {
    let folder = Folder::new();
    put_pair(folder.path(), "a", &made("a.test"));
    put_pair(folder.path(), "b", &made("b.test"));
    put_pair(folder.path(), "c", &made("c.test"));
    let certificates = loaded(&folder);
    fs::remove_file(folder.path().join("a.crt")).unwrap();
    fs::remove_file(folder.path().join("b.key")).unwrap();
    let changes = certificates.reload();
    assert!(!changes.any(), "half of it is left");
    assert_eq!(changes.problems.len(), 2, "{:?}", changes.problems);
    fs::remove_file(folder.path().join("a.key")).unwrap();
    assert_eq!(certificates.reload().removed, [folder.path().join("a.crt")]);
    assert_eq!(names(&certificates), ["b.test", "c.test"]);
}

#[test]
fn an_empty_or_missing_folder_takes_nothing_away() {
    let folder = Folder::new();
    let inner = folder.path().join("certificates");
    put_pair(&inner, "a", &made("a.test"));
    let source = Source { folder: Some(inner.clone()), ..Source::default() };
    let (certificates, _) = Certificates::load(source).unwrap();
    fs::remove_file(inner.join("a.crt")).unwrap();
    fs::remove_file(inner.join("a.key")).unwrap();
    put(&inner.join("unrelated.key"), "");
    let reasons = |changes: Changes| -> Vec<_> {
        changes.problems.into_iter().map(|problem| problem.reason).collect()
    };
    let told = reasons(certificates.reload());
    assert!(matches!(told[..], [Reason::Alone { .. }, Reason::Empty]), "{told:?}");
    fs::remove_dir_all(&inner).unwrap();
    let told = reasons(certificates.reload());
    assert!(matches!(told[..], [Reason::Unreadable(_)]), "{told:?}");
    assert_eq!(names(&certificates), ["a.test"]);
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
fn a_new_ocsp_response_is_a_change() {
    let folder = Folder::new();
    put_pair(folder.path(), "a", &made("a.test"));
    let certificates = loaded(&folder);
    put(&folder.path().join("a.ocsp"), [7; 9]);
    assert_eq!(certificates.reload().replaced.len(), 1);
    assert_eq!(certificates.state().pairs.values().next().unwrap().pair.ocsp_response, [7; 9]);
}

/// Kubernetes' way: the files are links through `..data`, which is swapped in one step.
#[test]
fn swapped_links_are_noticed() {
    let folder = Folder::new();
    let at = folder.path();
    put_pair(&at.join("..1"), "tls", &made("one.test"));
    put_pair(&at.join("..2"), "tls", &made("two.test"));
    symlink("..1", at.join("..data")).unwrap();
    symlink("..data/tls.crt", at.join("tls.crt")).unwrap();
    symlink("..data/tls.key", at.join("tls.key")).unwrap();
    let certificates = Arc::new(loaded(&folder));
    let (sender, receiver) = mpsc::channel();
    let changed = move |changes: &Changes| sender.send(changes.clone()).unwrap();
    let watch =
        Watch::start(Arc::clone(&certificates), Duration::from_millis(10), changed).unwrap();
    symlink("..2", at.join("..next")).unwrap();
    fs::rename(at.join("..next"), at.join("..data")).unwrap();
    let changes = receiver.recv_timeout(Duration::from_secs(30)).unwrap();
    assert_eq!(changes.replaced, [at.join("tls.crt")]);
    assert_eq!(names(&certificates), ["two.test"]);
    drop(watch);
    assert!(receiver.recv().is_err(), "the thread is gone, and its sender with it");
}

#[test]
fn handshakes_get_the_new_certificate() {
    let folder = Folder::new();
    put_pair(folder.path(), "a", &made("a.test"));
    let certificates = loaded(&folder);
    let credentials = certificates.credentials();
    let before = format!("{credentials:?}");
    put_pair(folder.path(), "a", &made("b.test"));
    certificates.reload();
    let after = format!("{credentials:?}");
    assert!(before.contains("a.test") && after.contains("b.test") && !after.contains("a.test"));
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

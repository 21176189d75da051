//! Folders that change while they are served.
//!
//! Must not know: which layouts there are. Next: `certificates/watch.rs`.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::mpsc;
use std::time::Duration;

use super::*;

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

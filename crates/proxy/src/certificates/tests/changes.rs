//! Reloading folders whose files change.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::mpsc;
use std::time::Duration;

use super::*;

#[test]
fn expired_certificate_is_accepted_at_start_only() {
    let folder = Folder::new();
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
    let old =
        generate_with("old.test", &key, |params| params.not_after = date_time_ymd(2001, 1, 1));
    write_pair(folder.path(), "old", &old);
    let (certificates, changes) = Certificates::load(source(&folder)).unwrap();
    assert_eq!(names(&certificates), ["old.test"]);
    assert!(
        matches!(changes.problems[0].reason, Reason::File(FileErrorReason::Expired(_))),
        "{:?}",
        changes.problems
    );
    assert!(changes.problems[0].to_string().contains("expired at 2001-01-01"));

    let good = generate("old.test");
    write_pair(folder.path(), "old", &good);
    assert_eq!(certificates.reload().replaced.len(), 1);
    let before = leaf(&certificates, "old.test");
    write_pair(folder.path(), "old", &old);
    let changes = certificates.reload();
    assert!(!changes.any());
    assert!(matches!(changes.problems[0].reason, Reason::File(FileErrorReason::Expired(_))));
    assert_eq!(leaf(&certificates, "old.test"), before);
}

#[test]
fn not_yet_valid_certificate_is_loaded_when_it_becomes_valid() {
    let folder = Folder::new();
    write_pair(folder.path(), "a", &generate("a.test"));
    let certificates = loaded(&folder);
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
    let early =
        generate_with("a.test", &key, |params| params.not_before = date_time_ymd(2090, 1, 1));
    write_pair(folder.path(), "a", &early);
    let changes = certificates.reload();
    assert!(
        matches!(changes.problems[0].reason, Reason::File(FileErrorReason::NotYetValid(_))),
        "{changes:?}"
    );
    let then = UnixTime::since_unix_epoch(Duration::from_secs(3_786_912_001));
    assert_eq!(certificates.reload_at(then).replaced.len(), 1);
}

#[test]
fn bad_files_keep_the_previous_pair_and_are_reported_once() {
    let folder = Folder::new();
    write_pair(folder.path(), "a", &generate("a.test"));
    write_pair(folder.path(), "b", &generate("b.test"));
    let certificates = loaded(&folder);
    assert!(!certificates.reload().any(), "the same bytes change nothing");
    let before = leaf(&certificates, "a.test");

    write(&folder.path().join("a.crt"), "-----BEGIN CERTIFICATE-----\nMIIB");
    write_pair(folder.path(), "b", &generate("b2.test"));
    let changes = certificates.reload();
    assert_eq!(changes.problems.len(), 1);
    assert!(matches!(
        changes.problems[0].reason,
        Reason::File(FileErrorReason::Certificate(PemError::NoEnd | PemError::NotBase64))
    ));
    assert_eq!(changes.replaced, [folder.path().join("b.crt")], "one bad pair holds up no other");
    assert_eq!(leaf(&certificates, "a.test"), before);
    let again = certificates.reload();
    assert_eq!((again.problems.len(), again.outstanding), (0, 1), "reported once");

    write(&folder.path().join("a.crt"), generate("a.test").chain);
    let changes = certificates.reload();
    let mismatch = &changes.problems[0].reason;
    assert!(matches!(
        mismatch,
        Reason::File(FileErrorReason::Credential { error: CredentialError::KeyMismatch, .. })
    ));
    assert_eq!(leaf(&certificates, "a.test"), before, "a new certificate with the old key");

    write_pair(folder.path(), "a", &generate("a.test"));
    let changes = certificates.reload();
    assert_eq!((changes.replaced.len(), changes.outstanding), (1, 0));
    assert_ne!(leaf(&certificates, "a.test"), before);
}

/// RFC 5280 4.2.1.12
#[test]
fn a_certificate_for_clients_only_is_not_loaded() {
    let folder = Folder::new();
    write_pair(folder.path(), "a", &generate("a.test"));
    let certificates = loaded(&folder);
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
    let for_clients = generate_with("b.test", &key, |params| {
        params.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ClientAuth];
    });
    write_pair(folder.path(), "b", &for_clients);
    let changes = certificates.reload();
    let text = changes.problems[0].to_string();
    assert!(text.contains("extended key usage of the leaf certificate does not allow servers"));
    assert_eq!(names(&certificates), ["a.test"]);
}

#[test]
fn pair_is_removed_when_both_files_are_gone() {
    let folder = Folder::new();
    write_pair(folder.path(), "a", &generate("a.test"));
    write_pair(folder.path(), "b", &generate("b.test"));
    write_pair(folder.path(), "c", &generate("c.test"));
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
fn empty_or_missing_folder_keeps_loaded_certificates() {
    let folder = Folder::new();
    let inner = folder.path().join("certificates");
    write_pair(&inner, "a", &generate("a.test"));
    let source = Source { folder: Some(inner.clone()), ..Source::default() };
    let (certificates, _) = Certificates::load(source).unwrap();
    fs::remove_file(inner.join("a.crt")).unwrap();
    fs::remove_file(inner.join("a.key")).unwrap();
    write(&inner.join("unrelated.key"), "");
    let reasons = |changes: Changes| -> Vec<_> {
        changes.problems.into_iter().map(|problem| problem.reason).collect()
    };
    let reported = reasons(certificates.reload());
    assert!(matches!(reported[..], [Reason::MissingPartner { .. }, Reason::Empty]), "{reported:?}");
    fs::remove_dir_all(&inner).unwrap();
    let reported = reasons(certificates.reload());
    assert!(matches!(reported[..], [Reason::File(FileErrorReason::Unreadable(_))]), "{reported:?}");
    assert_eq!(names(&certificates), ["a.test"]);
}

#[test]
fn new_ocsp_response_replaces_the_pair() {
    let folder = Folder::new();
    write_pair(folder.path(), "a", &generate("a.test"));
    let certificates = loaded(&folder);
    write(&folder.path().join("a.ocsp"), [7; 9]);
    assert_eq!(certificates.reload().replaced.len(), 1);
    assert_eq!(certificates.state().pairs.values().next().unwrap().pair.ocsp_response(), [7; 9]);
}

/// Kubernetes updates a volume by atomically replacing the link `..data`.
#[test]
fn swapped_symlinks_are_detected() {
    let folder = Folder::new();
    let at = folder.path();
    write_pair(&at.join("..1"), "tls", &generate("one.test"));
    write_pair(&at.join("..2"), "tls", &generate("two.test"));
    symlink("..1", at.join("..data")).unwrap();
    symlink("..data/tls.crt", at.join("tls.crt")).unwrap();
    symlink("..data/tls.key", at.join("tls.key")).unwrap();
    let certificates = Arc::new(loaded(&folder));
    let (sender, receiver) = mpsc::channel();
    let changed = move |changes: &Changes| sender.send(changes.clone()).unwrap();
    let watch =
        FileWatch::start("x", Arc::clone(&certificates), Duration::from_millis(10), changed)
            .unwrap();
    symlink("..2", at.join("..next")).unwrap();
    fs::rename(at.join("..next"), at.join("..data")).unwrap();
    let changes = receiver.recv_timeout(Duration::from_secs(60)).unwrap();
    assert_eq!(changes.replaced, [at.join("tls.crt")]);
    assert_eq!(names(&certificates), ["two.test"]);
    drop(watch);
    assert!(receiver.recv().is_err(), "the thread is gone, and its sender with it");
}

#[test]
fn handshakes_use_the_new_certificate() {
    let folder = Folder::new();
    write_pair(folder.path(), "a", &generate("a.test"));
    let certificates = loaded(&folder);
    let credentials = certificates.credentials();
    let before = format!("{credentials:?}");
    write_pair(folder.path(), "a", &generate("b.test"));
    certificates.reload();
    let after = format!("{credentials:?}");
    assert!(before.contains("a.test") && after.contains("b.test") && !after.contains("a.test"));
}

//! Replacement of a credential whose files change.

use std::fs;
use std::sync::mpsc;

use rcgen::{ExtendedKeyUsagePurpose, date_time_ymd};

use super::*;
use crate::io::files::testing::{Folder, generate, generate_with};
use crate::io::files::watch::Watcher;

const A_MINUTE: Duration = Duration::from_secs(60);

fn watched(folder: &Folder) -> (Watched, Arc<Credentials>) {
    folder.write(&generate("one.test"));
    let of_one = |credential| Credentials::new(vec![credential]);
    Watched::new(folder.files(), Usage::Server, UnixTime::now(), of_one).unwrap()
}

fn covers(credentials: &Credentials, name: &str) -> bool {
    format!("{credentials:?}").contains(name)
}

fn rejected(change: Option<CertificateChange>) -> FileErrorReason {
    let Some(CertificateChange::Rejected(error)) = change else { panic!("{change:?}") };
    error.reason
}

#[test]
fn new_files_replace_the_credential() {
    let folder = Folder::new();
    let (watched, credentials) = watched(&folder);
    assert_eq!(watched.reload(), None);
    folder.write(&generate("two.test"));
    let change = watched.reload().unwrap();
    assert!(matches!(change, CertificateChange::Replaced { .. }), "{change:?}");
    let line = change.to_string();
    assert!(line.contains("x.crt\": certificate replaced, valid until "), "{line}");
    assert!(covers(&credentials, "two.test") && !covers(&credentials, "one.test"));
    assert_eq!(watched.reload(), None);
}

#[test]
fn bad_files_keep_the_credential_and_are_reported_once() {
    let folder = Folder::new();
    let (watched, credentials) = watched(&folder);
    // A new certificate with the old key, as between two writes.
    let next = generate("two.test");
    fs::write(folder.path().join("x.crt"), &next.chain).unwrap();
    let change = watched.reload();
    let line = change.as_ref().unwrap().to_string();
    assert!(line.ends_with("certificate rejected, keeping the previous one"), "{line}");
    assert!(matches!(rejected(change), FileErrorReason::Credential { .. }));
    assert_eq!(watched.reload(), None, "reported once");
    assert!(watched.has_problems() && covers(&credentials, "one.test"));
    fs::remove_file(folder.path().join("x.crt")).unwrap();
    assert!(matches!(rejected(watched.reload()), FileErrorReason::Unreadable(_)));
    for (bad, expected) in [
        (generate_with("b.test", |b| b.not_after = date_time_ymd(2001, 1, 1)), "expired"),
        (generate_with("b.test", |b| b.not_before = date_time_ymd(2090, 1, 1)), "not valid"),
        (
            // RFC 5280 4.2.1.12
            generate_with("b.test", |b| {
                b.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
            }),
            "does not allow servers",
        ),
    ] {
        folder.write(&bad);
        let text = rejected(watched.reload()).to_string();
        assert!(text.contains(expected), "{text}");
        assert!(covers(&credentials, "one.test"));
    }
    folder.write(&next);
    assert!(matches!(watched.reload(), Some(CertificateChange::Replaced { .. })));
    assert!(!watched.has_problems() && covers(&credentials, "two.test"));
}

#[test]
fn a_certificate_is_used_when_it_becomes_valid() {
    let folder = Folder::new();
    let (watched, credentials) = watched(&folder);
    folder.write(&generate_with("b.test", |b| b.not_before = date_time_ymd(2090, 1, 1)));
    assert!(matches!(rejected(watched.reload()), FileErrorReason::NotYetValid(_)));
    let then = UnixTime::since_unix_epoch(Duration::from_secs(3_786_912_001));
    assert!(matches!(watched.reload_at(then), Some(CertificateChange::Replaced { .. })));
    assert!(covers(&credentials, "b.test"));
}

#[test]
fn an_expired_certificate_is_used_at_the_start_only() {
    let folder = Folder::new();
    folder.write(&generate_with("old.test", |old| old.not_after = date_time_ymd(2001, 1, 1)));
    let (sender, receiver) = mpsc::channel();
    let CredentialFiles { chain, key, .. } = folder.files();
    let watcher = CertificateWatcher::new(chain, key);
    let report = move |change: &CertificateChange| sender.send(change.clone()).unwrap();
    let credentials = watcher.start(report).unwrap();
    assert!(covers(&credentials, "old.test"));
    let change = receiver.recv_timeout(A_MINUTE).unwrap();
    let CertificateChange::NotValidNow(error) = &change else { panic!("{change:?}") };
    assert!(matches!(error.reason, FileErrorReason::Expired(_)));
    assert!(change.to_string().ends_with("certificate used nevertheless"), "{change}");
}

/// RFC 6066 3
#[test]
fn unknown_names_are_refused_if_required() {
    let folder = Folder::new();
    folder.write(&generate("a.test"));
    let CredentialFiles { chain, key, .. } = folder.files();
    let watcher = CertificateWatcher::new(chain, key);
    for (watcher, refuses) in [(watcher.clone(), false), (watcher.require_known_name(), true)] {
        let credentials = watcher.start(|change| panic!("{change}")).unwrap();
        assert_eq!(credentials.refuses_name(Some("b.test")), refuses);
        assert!(!credentials.refuses_name(Some("a.test")));
    }
}

#[test]
fn a_client_may_have_a_certificate_for_clients() {
    let folder = Folder::new();
    folder.write(&generate_with("a.test", |client| {
        client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    }));
    let CredentialFiles { chain, key, .. } = folder.files();
    let watcher = CertificateWatcher::new(chain, key);
    watcher.clone().start(|_| ()).unwrap_err();
    watcher.for_clients().start(|change| panic!("{change}")).unwrap();
}

#[test]
fn a_watcher_does_not_start_with_bad_files() {
    let folder = Folder::new();
    let CredentialFiles { chain, key, .. } = folder.files();
    let watcher = CertificateWatcher::new(&chain, key);
    let error = watcher.start(|change| panic!("{change}")).unwrap_err();
    assert_eq!(error.file, folder.path().join("x.key"));
}

/// The thread reports a change, and ends after its set.
#[test]
fn the_thread_watches_while_the_set_is_in_use() {
    let folder = Folder::new();
    folder.write(&generate("one.test"));
    let CredentialFiles { chain, key, .. } = folder.files();
    let (sender, receiver) = mpsc::channel();
    let credentials = CertificateWatcher::new(chain, key)
        .interval(Duration::from_millis(5))
        .start(move |change| sender.send(change.clone()).unwrap())
        .unwrap();
    folder.write(&generate("two.test"));
    loop {
        // The thread may have read the files between the two writes.
        match receiver.recv_timeout(A_MINUTE).unwrap() {
            CertificateChange::Replaced { .. } => break,
            CertificateChange::Rejected(_) => {}
            other => panic!("{other:?}"),
        }
    }
    assert!(covers(&credentials, "two.test"));
    drop(credentials);
    assert!(
        receiver
            .recv_timeout(A_MINUTE)
            .is_err_and(|error| { error == mpsc::RecvTimeoutError::Disconnected })
    );
}

#[test]
fn files_are_read_when_two_polls_agree() {
    let folder = Folder::new();
    let (watched, credentials) = watched(&folder);
    let mut watcher = Watcher::new(Arc::new(watched));
    assert_eq!(watcher.poll(), None, "nothing has changed");
    folder.write(&generate("two.test"));
    assert_eq!(watcher.poll(), None, "it may be being written");
    fs::write(folder.path().join("x.crt"), generate("three.test").chain + "\n\n").unwrap();
    assert_eq!(watcher.poll(), None, "it is being written");
    assert!(matches!(watcher.poll(), Some(CertificateChange::Rejected(_))));
    folder.write(&generate("four.test"));
    assert_eq!(watcher.poll(), None);
    assert!(matches!(watcher.poll(), Some(CertificateChange::Replaced { .. })));
    assert_eq!(watcher.poll(), None);
    assert!(covers(&credentials, "four.test"));
}

#[test]
fn a_change_without_new_metadata_is_detected_later() {
    let folder = Folder::new();
    let (watched, credentials) = watched(&folder);
    let mut watcher = Watcher::new(Arc::new(watched));
    assert_eq!(watcher.poll(), None);
    folder.write(&generate("two.test"));
    watcher.hide_changes();
    let polls = (1..=12).position(|_| watcher.poll().is_some());
    assert_eq!(polls, Some(11));
    assert!(covers(&credentials, "two.test"));
}

#[test]
fn files_with_problems_are_read_until_they_are_corrected() {
    let folder = Folder::new();
    let (watched, credentials) = watched(&folder);
    let mut watcher = Watcher::new(Arc::new(watched));
    fs::write(folder.path().join("x.crt"), "half").unwrap();
    assert_eq!(watcher.poll(), None);
    assert!(matches!(watcher.poll(), Some(CertificateChange::Rejected(_))));
    assert_eq!(watcher.poll(), None, "reported once");
    folder.write(&generate("two.test"));
    // Only the problem causes a read.
    watcher.hide_changes();
    assert!(matches!(watcher.poll(), Some(CertificateChange::Replaced { .. })));
    assert!(covers(&credentials, "two.test"));
}

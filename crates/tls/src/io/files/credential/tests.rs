//! Files that form a credential, and files that do not.

use rcgen::{ExtendedKeyUsagePurpose, date_time_ymd};
use tercel_pki::FileContent;

use super::*;
use crate::io::files::testing::{Folder, generate, generate_with};

fn reason(folder: &Folder) -> Reason {
    folder.files().load(Usage::Server).unwrap_err().reason
}

#[test]
fn a_pair_is_loaded_with_its_response() {
    let folder = Folder::new();
    folder.write(&generate("a.test"));
    let mut files = folder.files();
    let plain = files.read().unwrap().digest();
    assert!(files.load(Usage::Server).unwrap().covers("a.test"));
    fs::write(folder.path().join("x.ocsp"), [7; 9]).unwrap();
    files.ocsp_response = Some(folder.path().join("x.ocsp"));
    let bytes = files.read().unwrap();
    assert_ne!(bytes.digest(), plain);
    let loaded = bytes.parse(Usage::Server).unwrap();
    assert_eq!(loaded.names(), ["a.test"]);
    assert_eq!(loaded.skipped(), 0);
    assert_eq!(loaded.contents().len(), 2);
    assert!(!loaded.credential().is_remote());
}

#[test]
fn one_file_may_have_both() {
    let folder = Folder::new();
    let generated = generate("a.test");
    let file = folder.path().join("both.pem");
    fs::write(&file, generated.key + &generated.chain).unwrap();
    let loaded = CredentialFiles::new(&file, &file).read().unwrap().parse(Usage::Server).unwrap();
    assert_eq!(loaded.contents().len(), 1);
    assert!(contains_private_key(&file));
    fs::write(&file, &generated.chain).unwrap();
    assert!(!contains_private_key(&file) && !contains_private_key(Path::new("/nonexistent")));
}

#[test]
fn the_reason_of_a_refusal_has_the_file() {
    let folder = Folder::new();
    assert!(matches!(reason(&folder), Reason::Unreadable(_)));
    let (one, other) = (generate("one.test"), generate("other.test"));
    folder.write(&one);
    fs::write(folder.path().join("x.key"), &other.key).unwrap();
    let error = CredentialError::KeyMismatch;
    let key = folder.path().join("x.key");
    assert_eq!(reason(&folder), Reason::Credential { key: key.clone(), error });
    fs::write(&key, "").unwrap();
    let found = FileContent::Empty;
    assert_eq!(reason(&folder), Reason::WrongContent { expected: "a private key", found });
    fs::write(&key, &one.key).unwrap();
    fs::write(folder.path().join("x.crt"), &one.chain[..one.chain.len() / 2]).unwrap();
    assert!(matches!(reason(&folder), Reason::Certificate(_)));
    let error = folder.files().load(Usage::Server).unwrap_err();
    let line = error.to_string();
    assert!(line.contains("x.crt\": cannot load certificate: "), "{line}");
    assert_eq!(line.lines().count(), 1);
}

/// RFC 5280 4.2.1.12
#[test]
fn a_certificate_for_another_use_is_refused() {
    let folder = Folder::new();
    folder.write(&generate_with("a.test", |params| {
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    }));
    assert!(matches!(
        reason(&folder),
        Reason::Credential { error: CredentialError::NotForUsage(Usage::Server), .. }
    ));
    folder.files().load(Usage::Client).unwrap();
}

#[test]
fn a_certificate_outside_its_validity_period_is_refused() {
    let folder = Folder::new();
    folder.write(&generate_with("a.test", |params| params.not_after = date_time_ymd(2001, 1, 1)));
    let error = folder.files().load(Usage::Server).unwrap_err();
    assert!(error.is_validity_period() && error.to_string().contains("expired at 2001-01-01"));
    folder.write(&generate_with("a.test", |params| params.not_before = date_time_ymd(2090, 1, 1)));
    assert!(matches!(reason(&folder), Reason::NotYetValid(_)));
}

#[test]
fn oversized_files_and_folders_are_refused() {
    let folder = Folder::new();
    folder.write(&generate("a.test"));
    let chain = folder.path().join("x.crt");
    fs::write(&chain, vec![b'\n'; 2 << 20]).unwrap();
    assert_eq!(reason(&folder), Reason::TooLong);
    fs::remove_file(&chain).unwrap();
    fs::create_dir(&chain).unwrap();
    assert_eq!(reason(&folder), Reason::Unreadable("not a regular file".to_owned()));
}

#[test]
fn debug_shows_no_key() {
    let folder = Folder::new();
    folder.write(&generate("a.test"));
    assert_eq!(format!("{:?}", folder.files().read().unwrap()), "CredentialBytes { .. }");
}

#[cfg(unix)]
#[test]
fn a_key_that_every_user_can_read_is_noticed() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new();
    folder.write(&generate("a.test"));
    for (mode, exposed) in [(0o600, false), (0o640, false), (0o644, true)] {
        let permissions = fs::Permissions::from_mode(mode);
        fs::set_permissions(folder.path().join("x.key"), permissions).unwrap();
        assert_eq!(folder.files().read().unwrap().has_exposed_key(), exposed);
    }
}

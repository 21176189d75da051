use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use tercel::error::{InternalError, Misuse};

use super::*;

fn source(path: &str) -> String {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    fs::read_to_string(crates.join(path)).unwrap()
}

/// The names of an enum's variants, from its source text.
pub(crate) fn variants(path: &str, name: &str) -> Vec<String> {
    let text = source(path);
    let (_, body) = text.split_once(&format!("pub enum {name} {{\n")).unwrap();
    let (body, _) = body.split_once("\n}").unwrap();
    let lines = body.lines().filter_map(|line| line.strip_prefix("    "));
    let names = lines.filter(|line| line.starts_with(|first: char| first.is_ascii_uppercase()));
    let end = |line: &str| line.find(|c: char| !c.is_alphanumeric()).unwrap_or(line.len());
    names.map(|line| line[..end(line)].to_owned()).collect()
}

/// Errors that occur only over QUIC, with Encrypted ClientHello, and with streams or options that
/// the C interface does not have.
const NOT_FROM_C: [&str; 21] = [
    "Misuse::VerifierAsks",
    "ConfigError::LegacyPeerKeysWithoutAsk",
    "PeerError::WrongEncryptionLevel",
    "PeerError::TooMuchCryptoData",
    "PeerError::SessionIdOverQuic",
    "PeerError::PostHandshakeRequestOverQuic",
    "PeerError::BadMaxEarlyData",
    "InternalError::NotForQuic",
    "ConfigError::QuicWithoutTls13",
    "ConfigError::QuicWithoutAlpn",
    "Error::EchRejected",
    "PeerError::MalformedInnerHello",
    "PeerError::InvalidInnerHello",
    "PeerError::UnexpectedInnerHello",
    "PeerError::EncryptionChangedAfterRetry",
    "PeerError::UndecryptableHello",
    "PeerError::InconsistentConfirmation",
    "PeerError::MalformedRetryConfigs",
    "DecodeError::InvalidEncryptedClientHelloType",
    "DecodeError::InvalidInnerClientHello",
    "DecodeError::InvalidOuterExtensions",
];

#[test]
fn each_error_of_the_core_has_a_code() {
    let table = source("capi/src/status/tables.rs");
    let code = source("capi/src/status/mod.rs");
    for (path, name) in [
        ("tls/src/error.rs", "Error"),
        ("tls/src/error.rs", "PeerError"),
        ("tls/src/error.rs", "InternalError"),
        ("tls/src/error.rs", "Misuse"),
        ("tls/src/error/config.rs", "ConfigError"),
        ("tls/src/auth/credential/error.rs", "CredentialError"),
        ("tls/src/psk/mod.rs", "PreSharedKeyError"),
        ("tls/src/resumption/tickets/shared/keys.rs", "TicketKeyError"),
        ("wire/src/error.rs", "DecodeError"),
        ("pki/src/pem/mod.rs", "PemError"),
        ("pki/src/reason.rs", "RefusalReason"),
    ] {
        let variants = variants(path, name);
        assert!(variants.len() > 2, "{name}");
        for variant in variants {
            let full = format!("{name}::{variant}");
            if NOT_FROM_C.contains(&full.as_str()) {
                continue;
            }
            assert!(
                table.contains(&format!("{full},"))
                    || table.contains(&format!("{full})"))
                    || table.contains(&format!("{full}("))
                    || table.contains(&format!("{full} "))
                    || code.contains(&full),
                "{full} has no code in status/tables.rs"
            );
        }
    }
}

/// All codes of the header, by name.
fn all() -> Vec<(String, Status)> {
    let text = source("capi/src/status/codes.rs");
    let mut known = vec![("TERCEL_OK".to_owned(), 0)];
    for line in text.lines().filter_map(|line| line.strip_prefix("pub const ")) {
        let Some((name, value)) = line.split_once(": Status = ") else { continue };
        let value = value.trim_end_matches(';');
        if let Some((class, number)) = value.split_once(" | 0x") {
            let class = known.iter().find(|(name, _)| name == class).unwrap().1;
            known.push((name.to_owned(), class | u32::from_str_radix(number, 16).unwrap()));
        } else if let Some((class, _)) = value.split_once(" << 24") {
            known.push((name.to_owned(), class.parse::<u32>().unwrap() << 24));
        }
    }
    known
}

#[test]
fn codes_differ_and_have_a_text_of_their_own() {
    let (mut codes, mut texts) = (BTreeSet::new(), BTreeSet::new());
    for (name, code) in all() {
        assert!(codes.insert(code), "{name} has the number of another code");
        if name.starts_with("TERCEL_CLASS_") {
            continue;
        }
        let text = text(code).to_str().unwrap();
        assert_ne!(text, "unknown status", "{name}");
        // Two versions name one cause.
        if name != "TERCEL_PEER_CERTIFICATE_REQUIRED_TLS12" {
            assert!(texts.insert(text.to_owned()), "{name}: {text}");
        }
        // Values that the table invents must not be printed.
        assert!(!text.contains("1970") && !text.contains("(0"), "{name}: {text}");
    }
    assert!(codes.len() > 150);
}

#[test]
fn an_error_keeps_its_class_reason_and_alert() {
    let received = of(Error::AlertReceived(AlertDescription::HANDSHAKE_FAILURE));
    assert_eq!(received, TERCEL_CLASS_ALERT | 40);
    assert_eq!(text(received), c"the peer sent the fatal alert handshake_failure");
    for error in [
        Error::Peer(PeerError::BadRecordMac),
        Error::Peer(PeerError::Decode(DecodeError::PskNotLast)),
        Error::Refused(RefusalReason::NameMismatch),
        Error::Refused(RefusalReason::ByVerifier { alert: 48 }),
        Error::Internal(InternalError::NoCredential),
        Error::Misuse(Misuse::QuestionOpen),
        Error::Truncated,
        Error::ClosedInHandshake,
    ] {
        let status = of(error);
        assert_ne!(tercel_status_class(status), 0);
        assert_eq!(error_of(status), Some(error));
        let alert = error.alert().map_or(-1, |alert| i32::from(alert.0));
        assert_eq!(tercel_status_alert(status), alert);
    }
    assert_eq!(tercel_status_alert(TERCEL_OK), -1);
}

#[test]
fn unknown_numbers_have_a_text_and_no_alert() {
    for status in [1, 0xff_ffff, TERCEL_CLASS_PEER | 0xffff, TERCEL_CLASS_ALERT | 0x100, u32::MAX] {
        assert_eq!(text(status), c"unknown status");
        assert_eq!(tercel_status_alert(status), -1);
        assert_eq!(refusal(status), None);
    }
    assert_eq!(refusal(TERCEL_REFUSED_NAME_MISMATCH | 1 << 16), None);
}

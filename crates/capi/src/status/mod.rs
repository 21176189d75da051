//! The results of functions: a code with a class, and a text for each code.

pub mod codes;
mod tables;
#[cfg(test)]
pub(crate) mod tests;

use core::ffi::{CStr, c_char};
use core::fmt::Display;
use core::mem::discriminant;
use std::collections::BTreeMap;
use std::ffi::CString;
use std::sync::OnceLock;

use tercel::Error;
use tercel::certificates::CredentialError;
use tercel::error::{ConfigError, PeerError};
use tercel::pki::{PemError, RefusalReason, RootsError};
use tercel::psk::PreSharedKeyError;
use tercel::session::TicketKeyError;
use tercel::wire::{AlertDescription, DecodeError};

use codes::*;

/// The result of a function: TERCEL_OK, or a reason. The highest byte is the class of the reason,
/// one of the constants TERCEL_CLASS_...; no classes are added, but reasons are. A caller
/// distinguishes classes, prints tercel_status_text, and compares with single reasons only where it
/// has to.
pub type Status = u32;

/// Returns the class of a status: TERCEL_OK, or a constant TERCEL_CLASS_...
#[unsafe(no_mangle)]
pub extern "C" fn tercel_status_class(status: Status) -> Status {
    status & CLASS
}

/// Returns a text for people that describes a status. The text is constant, never NULL, and
/// remains valid. tercel_handshake_error and its like have the details of a failure.
#[unsafe(no_mangle)]
pub extern "C" fn tercel_status_text(status: Status) -> *const c_char {
    text(status).as_ptr()
}

/// Returns the number of the alert with which a connection ends because of this status, or -1 if
/// there is none. The library sends the alert itself.
#[unsafe(no_mangle)]
pub extern "C" fn tercel_status_alert(status: Status) -> i32 {
    error_of(status).and_then(Error::alert).map_or(-1, |alert| i32::from(alert.0))
}

/// The byte of the class.
const CLASS: Status = 0xff << 24;
/// The position of the alert in the status of a verifier's own reason.
const ALERT_SHIFT: u32 = 16;

/// Returns the code of a core's error.
pub(crate) fn of(error: Error) -> Status {
    match error {
        Error::Peer(PeerError::Decode(error)) => of_decode(error),
        Error::Peer(error) => code(tables::PEER_ERROR, &error).unwrap_or(TERCEL_PEER_OTHER),
        Error::AlertReceived(alert) => TERCEL_CLASS_ALERT | Status::from(alert.0),
        Error::Refused(reason) => of_refusal(reason),
        Error::Truncated => TERCEL_TRUNCATED,
        Error::ClosedInHandshake => TERCEL_CLOSED_IN_HANDSHAKE,
        Error::Internal(error) => {
            code(tables::INTERNAL_ERROR, &error).unwrap_or(TERCEL_INTERNAL_OTHER)
        }
        Error::Misuse(misuse) => {
            code(tables::MISUSE, &misuse).unwrap_or(TERCEL_MISUSE_INVALID_ARGUMENT)
        }
        _ => TERCEL_INTERNAL_OTHER,
    }
}

fn of_decode(error: DecodeError) -> Status {
    if let DecodeError::DuplicateExtension(_) = error {
        return TERCEL_PEER_DECODE_DUPLICATE_EXTENSION;
    }
    code(tables::DECODE_ERROR, &error).unwrap_or(TERCEL_PEER_DECODE_OTHER)
}

/// Returns the code of the reason why a peer was refused.
pub(crate) fn of_refusal(reason: RefusalReason) -> Status {
    let code = code(tables::REFUSAL_REASON, &reason).unwrap_or(TERCEL_REFUSED_OTHER);
    match reason {
        RefusalReason::ByVerifier { alert } => code | Status::from(alert) << ALERT_SHIFT,
        _ => code,
    }
}

/// Returns the reason with this code, without the time that some reasons contain.
pub(crate) fn refusal(status: Status) -> Option<RefusalReason> {
    let [_, alert, ..] = status.to_be_bytes();
    let plain = status & !(0xff << ALERT_SHIFT);
    match variant(tables::REFUSAL_REASON, plain)? {
        RefusalReason::ByVerifier { .. } => Some(RefusalReason::ByVerifier { alert }),
        reason => Some(reason).filter(|_| alert == 0),
    }
}

macro_rules! config_codes {
    ($($function:ident: $error:ty, $table:ident;)*) => {
        $(pub(crate) fn $function(error: $error) -> Status {
            code(tables::$table, &error).unwrap_or(TERCEL_CONFIG_OTHER)
        })*
    };
}

config_codes! {
    of_config: ConfigError, CONFIG_ERROR;
    of_pem: PemError, PEM_ERROR;
    of_psk: PreSharedKeyError, PRE_SHARED_KEY_ERROR;
    of_ticket_keys: TicketKeyError, TICKET_KEY_ERROR;
}

pub(crate) fn of_credential(error: CredentialError) -> Status {
    match error {
        CredentialError::ChainPem(error) | CredentialError::KeyPem(error) => of_pem(error),
        CredentialError::UnusableCertificate(RefusalReason::KeyMayNotSign) => {
            TERCEL_CONFIG_KEY_MAY_NOT_SIGN
        }
        CredentialError::UnusableCertificate(RefusalReason::InvalidKey) => {
            TERCEL_CONFIG_INVALID_LEAF_KEY
        }
        CredentialError::UnusableCertificate(_) => TERCEL_CONFIG_UNSUPPORTED_LEAF_KEY,
        error => code(tables::CREDENTIAL_ERROR, &error).unwrap_or(TERCEL_CONFIG_OTHER),
    }
}

pub(crate) fn of_roots(error: &RootsError) -> Status {
    match error {
        RootsError::Pem(error) => of_pem(*error),
        RootsError::NothingFound | RootsError::NothingAt(_) | RootsError::Unreadable(_) => {
            TERCEL_CONFIG_NO_ROOTS
        }
        RootsError::NotAuthority(_) => TERCEL_CONFIG_NOT_AN_AUTHORITY,
        _ => TERCEL_CONFIG_BAD_ROOT,
    }
}

/// Finds the code of an error's variant.
fn code<E>(table: &[(Status, E)], error: &E) -> Option<Status> {
    let same = |row: &&(Status, E)| discriminant(&row.1) == discriminant(error);
    table.iter().find(same).map(|(code, _)| *code)
}

/// Finds the variant of a code.
fn variant<E: Copy>(table: &[(Status, E)], status: Status) -> Option<E> {
    table.iter().find(|(code, _)| *code == status).map(|(_, error)| *error)
}

/// Returns the core's error of a status, without the values that some errors contain.
fn error_of(status: Status) -> Option<Error> {
    match status {
        TERCEL_TRUNCATED => return Some(Error::Truncated),
        TERCEL_CLOSED_IN_HANDSHAKE => return Some(Error::ClosedInHandshake),
        // Its value cannot be made here. All errors of this kind have one alert.
        TERCEL_PEER_DECODE_DUPLICATE_EXTENSION => {
            return Some(DecodeError::DuplicateServerName.into());
        }
        _ => {}
    }
    match status & CLASS {
        TERCEL_CLASS_PEER => variant(tables::PEER_ERROR, status)
            .map(Error::from)
            .or_else(|| variant(tables::DECODE_ERROR, status).map(Error::from)),
        TERCEL_CLASS_ALERT => {
            let alert = u8::try_from(status & !CLASS).ok()?;
            Some(Error::AlertReceived(AlertDescription(alert)))
        }
        TERCEL_CLASS_REFUSED => refusal(status).map(Error::Refused),
        TERCEL_CLASS_INTERNAL => variant(tables::INTERNAL_ERROR, status).map(Error::from),
        TERCEL_CLASS_MISUSE => variant(tables::MISUSE, status).map(Error::from),
        _ => None,
    }
}

/// The text of a status.
pub(crate) fn text(status: Status) -> &'static CStr {
    static TEXTS: OnceLock<BTreeMap<Status, CString>> = OnceLock::new();
    if let Some((_, text)) = OWN_TEXTS.iter().find(|(code, _)| *code == status) {
        return text;
    }
    // The alert of a verifier's own reason does not change its text.
    let plain = if status & CLASS == TERCEL_CLASS_REFUSED {
        status & !(0xff << ALERT_SHIFT)
    } else {
        status
    };
    TEXTS.get_or_init(core_texts).get(&plain).map_or(c"unknown status", CString::as_c_str)
}

/// The texts that are the core's.
fn core_texts() -> BTreeMap<Status, CString> {
    let mut texts = BTreeMap::new();
    let mut add = |status: Status, text: &dyn Display| {
        texts.insert(status, CString::new(text.to_string()).unwrap_or_default());
    };
    let errors = |table: &'static [(Status, PeerError)]| table.iter().map(|row| row.0);
    let codes = errors(tables::PEER_ERROR)
        .chain(tables::DECODE_ERROR.iter().map(|row| row.0))
        .chain(tables::REFUSAL_REASON.iter().map(|row| row.0))
        .chain(tables::INTERNAL_ERROR.iter().map(|row| row.0))
        .chain(tables::MISUSE.iter().map(|row| row.0))
        .chain((0..=0xff).map(|alert| TERCEL_CLASS_ALERT | alert))
        .chain([TERCEL_TRUNCATED, TERCEL_CLOSED_IN_HANDSHAKE]);
    for code in codes {
        if let Some(error) = error_of(code) {
            add(code, &error);
        }
    }
    tables::CONFIG_ERROR.iter().for_each(|(code, error)| add(*code, error));
    tables::CREDENTIAL_ERROR.iter().for_each(|(code, error)| add(*code, error));
    tables::PEM_ERROR.iter().for_each(|(code, error)| add(*code, error));
    tables::PRE_SHARED_KEY_ERROR.iter().for_each(|(code, error)| add(*code, error));
    tables::TICKET_KEY_ERROR.iter().for_each(|(code, error)| add(*code, error));
    texts
}

/// The texts of codes without an error of the core, and of errors whose text contains a value.
const OWN_TEXTS: &[(Status, &CStr)] = &[
    (TERCEL_OK, c"success"),
    (TERCEL_PEER_OTHER, c"protocol error"),
    (TERCEL_PEER_DECODE_OTHER, c"protocol error: malformed message"),
    (
        TERCEL_PEER_DECODE_DUPLICATE_EXTENSION,
        c"protocol error: malformed message: an extension appears twice",
    ),
    (
        TERCEL_PEER_DECODE_DUPLICATE_KEY_SHARE,
        c"protocol error: malformed message: two key shares are for the same group",
    ),
    (TERCEL_REFUSED_EXPIRED, c"certificate refused: the certificate has expired"),
    (TERCEL_REFUSED_NOT_YET_VALID, c"certificate refused: the certificate is not yet valid"),
    (TERCEL_REFUSED_CRL_EXPIRED, c"certificate refused: the revocation list is out of date"),
    (
        TERCEL_REFUSED_STAPLE_NOT_YET_VALID,
        c"certificate refused: the stapled OCSP response is not yet valid",
    ),
    (
        TERCEL_REFUSED_STAPLE_EXPIRED,
        c"certificate refused: the stapled OCSP response is out of date",
    ),
    (
        TERCEL_REFUSED_AUTHORITY_EXPIRED,
        c"certificate refused: the trusted authority's own certificate has expired",
    ),
    (
        TERCEL_REFUSED_AUTHORITY_NOT_YET_VALID,
        c"certificate refused: the trusted authority's own certificate is not yet valid",
    ),
    (TERCEL_INTERNAL_OTHER, c"an operation failed"),
    (TERCEL_INTERNAL_CRYPTO, c"a cryptographic operation failed"),
    (TERCEL_INTERNAL_PANIC, c"a bug of the library ended an operation"),
    (TERCEL_CONFIG_OTHER, c"a value cannot be used"),
    (TERCEL_CONFIG_UNKNOWN_VERSION, c"versions: a version is not implemented"),
    (TERCEL_CONFIG_UNKNOWN_CIPHER_SUITE, c"cipher_suites: a suite is not implemented"),
    (TERCEL_CONFIG_UNKNOWN_GROUP, c"groups: a group is not implemented"),
    (TERCEL_CONFIG_BAD_KEY_SHARE, c"key_shares: a group is not among the groups, or is there twice"),
    (TERCEL_CONFIG_UNKNOWN_SIGNATURE_SCHEME, c"signature_schemes: a scheme is not implemented"),
    (TERCEL_CONFIG_TICKET_KEYS_UNKNOWN_VERSION, c"ticket keys have an unsupported format version"),
    (TERCEL_CONFIG_NO_ROOTS, c"the system has no trust anchors that can be read"),
    (TERCEL_CONFIG_BAD_ROOT, c"a certificate cannot be used as a trust anchor"),
    (
        TERCEL_CONFIG_NOT_AN_AUTHORITY,
        c"each certificate of the system's store is not an authority's: no trust anchor",
    ),
    (
        TERCEL_CONFIG_KEY_MAY_NOT_SIGN,
        c"the leaf certificate cannot be used: its key usage does not allow signing handshakes",
    ),
    (
        TERCEL_CONFIG_UNSUPPORTED_LEAF_KEY,
        c"the leaf certificate cannot be used: its key is of a kind, on a curve, or of a size that \
        is not supported",
    ),
    (
        TERCEL_CONFIG_INVALID_LEAF_KEY,
        c"the leaf certificate cannot be used: its key is invalid",
    ),
    (TERCEL_CONFIG_BAD_ISSUER, c"a certificate of the chain after the leaf cannot be parsed"),
    (
        TERCEL_CONFIG_LEAF_NOT_FIRST,
        c"the private key matches a later certificate of the chain: its leaf must be the first",
    ),
    (TERCEL_CONFIG_BAD_SERVER_NAME, c"the server name is neither a DNS name nor an IP address"),
    (TERCEL_CONFIG_BAD_PROTOCOL_LIST, c"the list of application protocols is malformed"),
    (TERCEL_MISUSE_NULL_POINTER, c"misuse of the library: a pointer is NULL"),
    (TERCEL_MISUSE_ZERO_LENGTH, c"misuse of the library: a length is zero"),
    (TERCEL_MISUSE_HANDLE_IN_USE, c"misuse of the library: the handle is in use by another call"),
    (TERCEL_MISUSE_UNKNOWN_NUMBER, c"misuse of the library: the number is unknown, or not for this side"),
    (TERCEL_MISUSE_WRONG_SIDE, c"misuse of the library: the configuration is for the other side"),
    (TERCEL_MISUSE_NO_CONNECTION, c"misuse of the library: there is no connection to take"),
    (TERCEL_MISUSE_NO_SUCH_QUESTION, c"misuse of the library: no such question is open"),
    (TERCEL_MISUSE_NO_EARLY_DATA, c"misuse of the library: early data cannot be sent now"),
    (
        TERCEL_MISUSE_SESSIONS_NOT_GIVEN,
        c"misuse of the library: the caller does not provide the sessions, or the handshake has begun",
    ),
    (TERCEL_MISUSE_WRONG_HALF, c"misuse of the library: this half of the connection cannot do this"),
    (
        TERCEL_MISUSE_NO_CERTIFICATE_REQUEST,
        c"misuse of the library: there is no certificate request to answer",
    ),
    (TERCEL_MISUSE_OVERLAP, c"misuse of the library: memory that is written overlaps other memory"),
];

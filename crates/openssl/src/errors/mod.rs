//! The queue of errors: an entry for each failure, and none after success.

pub(crate) mod reasons;

use core::ffi::{c_int, c_ulong};
use core::sync::atomic::{AtomicPtr, Ordering};
use std::ffi::CString;
use std::sync::Once;

use tercel::error::{Error, InternalError, Misuse, PeerError};

use crate::sys::err::{
    ERR_clear_error, ERR_clear_last_mark, ERR_load_strings, ERR_new, ERR_peek_error,
    ERR_peek_last_error, ERR_pop_to_mark, ERR_set_debug, ERR_set_error, ERR_set_mark,
    ErrStringData, LIB_SSL, LIB_SYS,
};

/// The reason of an internal error: 259, with libcrypto's marks for common and fatal reasons.
const INTERNAL_ERROR: c_int = 259 | (3 << 18);
/// The reason for a NULL argument, marked likewise.
const PASSED_NULL_PARAMETER: c_int = 258 | (3 << 18);
/// The reason for an error of PEM: 9, marked as common.
const PEM_LIB: c_int = 9 | (2 << 18);
/// The reason for functions that are not supported: 268, marked as common.
const UNSUPPORTED: c_int = 268 | (2 << 18);
/// The reason for functions that must not be called: 257, marked likewise.
const SHOULD_NOT_HAVE_BEEN_CALLED: c_int = 257 | (3 << 18);

/// Registers the texts of this library's reasons, once in a process.
pub(crate) fn load_texts() {
    static ONCE: Once = Once::new();
    static TABLE: AtomicPtr<ErrStringData> = AtomicPtr::new(core::ptr::null_mut());
    ONCE.call_once(|| {
        let mut table: Vec<ErrStringData> = reasons::TEXTS
            .iter()
            .map(|(code, text)| ErrStringData {
                error: c_ulong::from(*code),
                string: text.as_ptr().cast(),
            })
            .collect();
        table.push(ErrStringData { error: 0, string: core::ptr::null() });
        // libcrypto keeps the addresses of the table's entries until the process ends. The static
        // pointer is for checkers of leaks.
        let table = Box::leak(table.into_boxed_slice()).as_mut_ptr();
        TABLE.store(table, Ordering::Relaxed);
        // SAFETY: the table ends with a zero entry, its texts end with a NUL, and both are static.
        unsafe { ERR_load_strings(LIB_SSL, table) };
    });
}

/// Adds an error with a reason of `sslerr.h`.
#[track_caller]
pub(crate) fn push(reason: u16) {
    push_raw(c_int::from(reason), None);
}

/// Adds an error with a reason of `sslerr.h`, and a detail that the message shows after it.
#[track_caller]
pub(crate) fn push_with(reason: u16, detail: &str) {
    push_raw(c_int::from(reason), Some(detail));
}

/// Adds an error for a NULL argument.
#[track_caller]
pub(crate) fn push_null() {
    push_raw(PASSED_NULL_PARAMETER, None);
}

/// Adds an error for a call in a wrong state.
#[track_caller]
pub(crate) fn push_not_now(detail: &str) {
    push_raw(SHOULD_NOT_HAVE_BEEN_CALLED, Some(detail));
}

/// Adds an error for a fault of this library.
#[track_caller]
pub(crate) fn push_internal() {
    push_raw(INTERNAL_ERROR, None);
}

/// Adds an error for something that this library does not have.
#[track_caller]
pub(crate) fn push_unsupported(what: &str) {
    push_raw(UNSUPPORTED, Some(what));
}

/// Adds an error for a file in PEM that cannot be read.
#[track_caller]
pub(crate) fn push_pem() {
    push_raw(PEM_LIB, None);
}

#[track_caller]
fn push_raw(reason: c_int, detail: Option<&str>) {
    load_texts();
    let place = core::panic::Location::caller();
    let file = CString::new(place.file()).unwrap_or_default();
    let line = c_int::try_from(place.line()).unwrap_or(0);
    let detail = detail.and_then(|detail| CString::new(detail).ok());
    // SAFETY: libcrypto copies the name of the file, the format is static, and its only argument is
    // a text that lives during the call.
    unsafe {
        ERR_new();
        ERR_set_debug(file.as_ptr(), line, c"tercel".as_ptr());
        match &detail {
            None => ERR_set_error(LIB_SSL, reason, core::ptr::null()),
            Some(detail) => ERR_set_error(LIB_SSL, reason, c"%s".as_ptr(), detail.as_ptr()),
        }
    }
}

/// Empties the queue.
pub(crate) fn clear() {
    // SAFETY: the queue belongs to the calling thread.
    unsafe { ERR_clear_error() };
}

/// Whether the queue has an error, and whether the oldest one is of the system.
pub(crate) fn oldest_is_of_system() -> Option<bool> {
    // SAFETY: the queue belongs to the calling thread.
    let error = unsafe { ERR_peek_error() };
    const SYSTEM_FLAG: c_ulong = 1 << 31;
    let of_system = error & SYSTEM_FLAG != 0 || (error >> 23) & 0xff == LIB_SYS;
    (error != 0).then_some(of_system)
}

/// The reason of the newest error of PEM that says that there is no further object.
pub(crate) fn newest_is_end_of_pem() -> bool {
    const LIB_PEM: c_ulong = 9;
    const NO_START_LINE: c_ulong = 108;
    // SAFETY: the queue belongs to the calling thread.
    let error = unsafe { ERR_peek_last_error() };
    (error >> 23) & 0xff == LIB_PEM && error & 0x007f_ffff == NO_START_LINE
}

/// Runs `body`, and removes the errors that it added if it succeeds.
pub(crate) fn forgiving<T>(body: impl FnOnce() -> Option<T>) -> Option<T> {
    // SAFETY: the queue belongs to the calling thread.
    unsafe { ERR_set_mark() };
    let result = body();
    if result.is_some() {
        // SAFETY: the queue belongs to the calling thread.
        unsafe { ERR_pop_to_mark() };
    } else {
        // SAFETY: the queue belongs to the calling thread.
        unsafe { ERR_clear_last_mark() };
    }
    result
}

/// Runs `body`, and removes all errors that it added.
pub(crate) fn without_errors<T>(body: impl FnOnce() -> T) -> T {
    // SAFETY: the queue belongs to the calling thread.
    unsafe { ERR_set_mark() };
    let result = body();
    // SAFETY: the queue belongs to the calling thread.
    unsafe { ERR_pop_to_mark() };
    result
}

/// Adds the entry for an error of a handshake or connection, with its text or another detail.
#[track_caller]
pub(crate) fn push_error(error: Error, detail: Option<String>) {
    let detail = detail.unwrap_or_else(|| match error {
        // A text that programs and monitors search for.
        Error::AlertReceived(alert) => format!("SSL alert number {}", alert.0),
        _ => error.to_string(),
    });
    match reason_of(error) {
        Some(reason) => push_with(reason, &detail),
        None => push_raw(INTERNAL_ERROR, Some(&detail)),
    }
}

/// The reason of `sslerr.h` that fits an error. `None` for faults of this library.
fn reason_of(error: Error) -> Option<u16> {
    Some(match error {
        // A received alert's reason is its number plus 1000.
        Error::AlertReceived(alert) => u16::from(alert.0).saturating_add(1000),
        Error::Refused(_) => reasons::CERTIFICATE_VERIFY_FAILED,
        Error::Truncated => reasons::UNEXPECTED_EOF_WHILE_READING,
        Error::ClosedInHandshake => reasons::SSL_HANDSHAKE_FAILURE,
        Error::Peer(peer) => of_peer(peer),
        Error::Internal(InternalError::NoCredential) => reasons::NO_SHARED_CIPHER,
        Error::Internal(InternalError::NoCredentialSelected) => {
            reasons::NO_SUITABLE_SIGNATURE_ALGORITHM
        }
        Error::Internal(InternalError::RefusedByApplication) => reasons::CALLBACK_FAILED,
        Error::Internal(InternalError::Closed) | Error::Misuse(Misuse::HandshakeEnded) => {
            reasons::PROTOCOL_IS_SHUTDOWN
        }
        _ => return None,
    })
}

fn of_peer(error: PeerError) -> u16 {
    use PeerError as P;
    match error {
        P::PlainHttp => reasons::HTTP_REQUEST,
        P::UnknownContentType | P::WrongRecordVersion => reasons::WRONG_VERSION_NUMBER,
        P::UnsupportedVersion | P::WrongVersionChosen => reasons::UNSUPPORTED_PROTOCOL,
        P::NoSharedCipherSuite => reasons::NO_SHARED_CIPHER,
        P::NoSharedGroup => reasons::NO_SUITABLE_KEY_SHARE,
        P::NoCommonSignatureScheme => reasons::NO_SUITABLE_SIGNATURE_ALGORITHM,
        P::NoApplicationProtocol => reasons::NO_APPLICATION_PROTOCOL,
        P::InappropriateFallback | P::Downgrade => reasons::INAPPROPRIATE_FALLBACK,
        P::CertificateRequired | P::CertificateRequiredTls12 => {
            reasons::PEER_DID_NOT_RETURN_A_CERTIFICATE
        }
        P::BadRecordMac => reasons::DECRYPTION_FAILED_OR_BAD_RECORD_MAC,
        P::RecordTooLong => reasons::PACKET_LENGTH_TOO_LONG,
        P::BadSignature => reasons::BAD_SIGNATURE,
        P::BadFinished => reasons::DIGEST_CHECK_FAILED,
        P::BadBinder => reasons::BINDER_DOES_NOT_VERIFY,
        P::Renegotiation => reasons::NO_RENEGOTIATION,
        P::UnsafeLegacyRenegotiation => reasons::UNSAFE_LEGACY_RENEGOTIATION_DISABLED,
        P::UnexpectedRecord | P::TooManyEmptyRecords => reasons::UNEXPECTED_RECORD,
        P::UnexpectedExtension => reasons::UNSOLICITED_EXTENSION,
        P::MessageTooLong => reasons::EXCESSIVE_MESSAGE_SIZE,
        P::BadChangeCipherSpec | P::TooManyChangeCipherSpecs => reasons::BAD_CHANGE_CIPHER_SPEC,
        P::TooManyKeyUpdates => reasons::TOO_MANY_KEY_UPDATES,
        P::TooManyWarningAlerts => reasons::TOO_MANY_WARN_ALERTS,
        P::TooMuchEarlyData | P::TooMuchSkippedEarlyData => reasons::TOO_MUCH_EARLY_DATA,
        P::WrongSignatureScheme => reasons::WRONG_SIGNATURE_TYPE,
        P::WrongGroup => reasons::WRONG_CURVE,
        P::WrongCertificateType => reasons::WRONG_CERTIFICATE_TYPE,
        P::BadKeyShare => reasons::BAD_KEY_SHARE,
        P::WrongCipherSuiteChosen => reasons::WRONG_CIPHER_RETURNED,
        P::Decode(_) => reasons::LENGTH_MISMATCH,
        _ => reasons::UNEXPECTED_MESSAGE,
    }
}

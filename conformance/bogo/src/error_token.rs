//! The library's errors in the words that the runner looks for.
//!
//! BoringSSL prints a reason between colons; a test that must fail names the one it expects. Each of our
//! errors has one such word here; where BoringSSL has several words for what is one rule of the RFC to us,
//! `config.json` says so. Must not know: tests. Next: [`crate::run`], which prints them.

use tercel::pki::RefusalReason;
use tercel::wire::{AlertDescription, DecodeError};
use tercel::{Error, Local, Peer};

/// The runner's word for an error, colons included.
pub(crate) fn of(error: Error) -> String {
    match error {
        Error::Peer(Peer::Decode(error)) => decode(error).to_owned(),
        Error::Peer(error) => peer(error).map_or_else(|| named(&error), str::to_owned),
        Error::AlertReceived(alert) => received(alert),
        Error::Refused(reason) => refused(reason).to_owned(),
        Error::Truncated => ":UNEXPECTED_EOF:".to_owned(),
        Error::ClosedInHandshake => ":HANDSHAKE_CLOSED:".to_owned(),
        Error::Local(Local::NoCredential) => ":NO_CERTIFICATE_SET:".to_owned(),
        other => named(&other),
    }
}

/// The first four are found in the leaf before anybody judges the chain.
fn refused(reason: RefusalReason) -> &'static str {
    match reason {
        RefusalReason::KeyMayNotSign => ":KEY_USAGE_BIT_INCORRECT:",
        RefusalReason::BadEncoding | RefusalReason::InvalidKey => ":CANNOT_PARSE_LEAF_CERT:",
        RefusalReason::UnsupportedKey => ":UNSUPPORTED_ALGORITHM:",
        RefusalReason::UnsatisfactoryStatus => ":OCSP_CB_ERROR:",
        _ => ":CERTIFICATE_VERIFY_FAILED:",
    }
}

fn decode(error: DecodeError) -> &'static str {
    match error {
        DecodeError::DuplicateExtension(_) => ":DUPLICATE_EXTENSION:",
        DecodeError::DuplicateKeyShare(_) => ":DUPLICATE_KEY_SHARE:",
        DecodeError::PskNotLast => ":PRE_SHARED_KEY_MUST_BE_LAST:",
        DecodeError::PskBinderCount => ":PSK_IDENTITY_BINDER_COUNT_MISMATCH:",
        DecodeError::InvalidCompressionMethod => ":INVALID_COMPRESSION_LIST:",
        DecodeError::InvalidCurveType => ":WRONG_CURVE:",
        DecodeError::DuplicateServerName
        | DecodeError::InvalidHostName
        | DecodeError::InvalidProtocolSelection
        | DecodeError::InvalidPointFormats
        | DecodeError::DuplicateCompressionAlgorithm
        | DecodeError::InvalidRecordSizeLimit => ":ERROR_PARSING_EXTENSION:",
        _ => ":DECODE_ERROR:",
    }
}

/// `None`: BoringSSL has no word of its own for it.
fn peer(error: Peer) -> Option<&'static str> {
    Some(match error {
        Peer::UnexpectedMessage => ":UNEXPECTED_MESSAGE:",
        Peer::UnexpectedRecord | Peer::UnknownContentType => ":UNEXPECTED_RECORD:",
        Peer::WrongRecordVersion => ":WRONG_VERSION_NUMBER:",
        Peer::PlainHttp => ":HTTP_REQUEST:",
        Peer::RecordTooLong => ":DATA_LENGTH_TOO_LONG:",
        Peer::BadRecordMac | Peer::MissingContentType => ":DECRYPTION_FAILED_OR_BAD_RECORD_MAC:",
        Peer::TooManyEmptyRecords | Peer::TooManyChangeCipherSpecs => ":TOO_MANY_EMPTY_FRAGMENTS:",
        Peer::TooManyWarningAlerts => ":TOO_MANY_WARNING_ALERTS:",
        Peer::BadAlert => ":BAD_ALERT:",
        Peer::IllegalAlertLevel => ":UNKNOWN_ALERT_TYPE:",
        Peer::BadChangeCipherSpec => ":BAD_CHANGE_CIPHER_SPEC:",
        Peer::TooManyKeyUpdates => ":TOO_MANY_KEY_UPDATES:",
        Peer::TooMuchSkippedEarlyData => ":TOO_MUCH_SKIPPED_EARLY_DATA:",
        Peer::ExcessHandshakeData => ":EXCESS_HANDSHAKE_DATA:",
        Peer::InterruptedHandshakeMessage => ":UNEXPECTED_RECORD:",
        Peer::UnsupportedVersion | Peer::WrongVersionChosen => ":UNSUPPORTED_PROTOCOL:",
        Peer::Downgrade => ":TLS13_DOWNGRADE:",
        Peer::InappropriateFallback => ":INAPPROPRIATE_FALLBACK:",
        Peer::NoSharedCipherSuite => ":NO_SHARED_CIPHER:",
        Peer::WrongCipherSuiteChosen => ":WRONG_CIPHER_RETURNED:",
        Peer::CipherSuiteChangedAfterRetry => ":WRONG_CIPHER_RETURNED:",
        Peer::NoSharedGroup => ":NO_SHARED_GROUP:",
        Peer::WrongGroup => ":WRONG_CURVE:",
        Peer::BadKeyShare => ":BAD_ECPOINT:",
        Peer::NoCommonSignatureScheme => ":NO_COMMON_SIGNATURE_ALGORITHMS:",
        Peer::WrongSignatureScheme => ":WRONG_SIGNATURE_TYPE:",
        Peer::BadSignature => ":BAD_SIGNATURE:",
        Peer::WrongCertificateType => ":WRONG_CERTIFICATE_TYPE:",
        Peer::BadFinished | Peer::BadBinder => ":DIGEST_CHECK_FAILED:",
        Peer::NoApplicationProtocol => ":NO_APPLICATION_PROTOCOL:",
        Peer::WrongApplicationProtocol => ":INVALID_ALPN_PROTOCOL:",
        Peer::UnknownPreSharedKey | Peer::WrongPreSharedKeyChosen => ":PSK_IDENTITY_NOT_FOUND:",
        Peer::PreSharedKeyDeclined => ":MISSING_EXTENSION:",
        Peer::NoCommonCertificateType => ":UNSUPPORTED_CERTIFICATE:",
        Peer::BadRawPublicKey => ":INVALID_RAW_PUBLIC_KEY:",
        Peer::UnexpectedExtension => ":UNEXPECTED_EXTENSION:",
        Peer::MissingExtension | Peer::MissingServerExtension => ":MISSING_EXTENSION:",
        Peer::CertificateRequired | Peer::CertificateRequiredTls12 => {
            ":PEER_DID_NOT_RETURN_A_CERTIFICATE:"
        }
        Peer::EmptyCertificate => ":DECODE_ERROR:",
        Peer::SecondRetry => ":UNEXPECTED_MESSAGE:",
        Peer::PointlessRetry => ":EMPTY_HELLO_RETRY_REQUEST:",
        Peer::SessionIdNotEchoed => ":SERVER_ECHOED_INVALID_SESSION_ID:",
        Peer::Compression => ":UNSUPPORTED_COMPRESSION_ALGORITHM:",
        Peer::UnknownCertificateCompression => ":UNKNOWN_CERT_COMPRESSION_ALG:",
        Peer::UncompressedCertificateTooLong => ":UNCOMPRESSED_CERT_TOO_LARGE:",
        Peer::BadCompressedCertificate => ":CERT_DECOMPRESSION_FAILED:",
        Peer::RenegotiationMismatch => ":RENEGOTIATION_MISMATCH:",
        Peer::UnsafeLegacyRenegotiation => ":UNSAFE_LEGACY_RENEGOTIATION_DISABLED:",
        Peer::Renegotiation => ":NO_RENEGOTIATION:",
        Peer::ExtendedMainSecretLost => ":RESUMED_EMS_SESSION_WITHOUT_EMS_EXTENSION:",
        Peer::TooMuchEarlyData => ":TOO_MUCH_READ_EARLY_DATA:",
        Peer::WrongVersionForEarlyData => ":WRONG_VERSION_ON_EARLY_DATA:",
        Peer::EarlyDataMismatch => ":ALPN_MISMATCH_ON_EARLY_DATA:",
        Peer::MessageTooLong
        | Peer::IllegalParameter
        | Peer::WrongCertificateContext
        | Peer::PointlessCertificateType => ":DECODE_ERROR:",
        _ => return None,
    })
}

/// BoringSSL's word for an alert it received: those of SSL 3 are named after it.
fn received(alert: AlertDescription) -> String {
    let Some(name) = alert.name() else { return named(&alert) };
    let age = match alert {
        AlertDescription::UNEXPECTED_MESSAGE
        | AlertDescription::BAD_RECORD_MAC
        | AlertDescription::DECOMPRESSION_FAILURE
        | AlertDescription::HANDSHAKE_FAILURE
        | AlertDescription::NO_CERTIFICATE
        | AlertDescription::BAD_CERTIFICATE
        | AlertDescription::UNSUPPORTED_CERTIFICATE
        | AlertDescription::CERTIFICATE_REVOKED
        | AlertDescription::CERTIFICATE_EXPIRED
        | AlertDescription::CERTIFICATE_UNKNOWN
        | AlertDescription::ILLEGAL_PARAMETER => "SSLV3",
        _ => "TLSV1",
    };
    format!(":{age}_ALERT_{}:", name.to_ascii_uppercase())
}

fn named(error: &impl std::fmt::Debug) -> String {
    format!(":{error:?}:")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn received_alerts_are_named_by_their_age() {
        let token = |alert| of(Error::AlertReceived(alert));
        assert_eq!(token(AlertDescription::HANDSHAKE_FAILURE), ":SSLV3_ALERT_HANDSHAKE_FAILURE:");
        assert_eq!(token(AlertDescription::RECORD_OVERFLOW), ":TLSV1_ALERT_RECORD_OVERFLOW:");
    }

    #[test]
    fn an_error_without_a_word_keeps_its_own_name() {
        assert_eq!(of(Peer::SecondHelloChanged.into()), ":SecondHelloChanged:");
    }
}

//! The library's errors as the tokens that the runner expects.
//!
//! BoringSSL prints a reason between colons, and a test that must fail names the reason. Each error
//! of the library has one such token here. Where BoringSSL has several tokens for one rule of the
//! RFC, `config.json` maps them.

use tercel::pki::RefusalReason;
use tercel::wire::{AlertDescription, DecodeError};
use tercel::{
    Error,
    error::{InternalError, PeerError},
};

/// The token of an error, including the colons.
pub(crate) fn of(error: Error) -> String {
    match error {
        Error::Peer(PeerError::Decode(error)) => decode(error).to_owned(),
        Error::Peer(error) => peer(error).map_or_else(|| named(&error), str::to_owned),
        Error::AlertReceived(alert) => received(alert),
        Error::Refused(reason) => refused(reason).to_owned(),
        Error::EchRejected => ":ECH_REJECTED:".to_owned(),
        Error::Truncated => ":UNEXPECTED_EOF:".to_owned(),
        Error::ClosedInHandshake => ":HANDSHAKE_CLOSED:".to_owned(),
        // BoringSSL names the first property of the client's hello that its certificates lack.
        Error::Internal(InternalError::NoCredentialSelected) => {
            ":NO_COMMON_SIGNATURE_ALGORITHMS:".to_owned()
        }
        Error::Internal(InternalError::NoCredential) => ":NO_CERTIFICATE_SET:".to_owned(),
        other => named(&other),
    }
}

/// The token of a refused certificate. The first four reasons refer to the leaf, which is checked
/// before the chain is verified.
fn refused(reason: RefusalReason) -> &'static str {
    match reason {
        RefusalReason::KeyMayNotSign => ":KEY_USAGE_BIT_INCORRECT:",
        RefusalReason::BadEncoding | RefusalReason::InvalidKey => ":CANNOT_PARSE_LEAF_CERT:",
        RefusalReason::UnsupportedKey => ":UNSUPPORTED_ALGORITHM:",
        RefusalReason::StapleRejected => ":OCSP_CB_ERROR:",
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
        DecodeError::InvalidEncryptedClientHelloType
        | DecodeError::DuplicateServerName
        | DecodeError::InvalidHostName
        | DecodeError::InvalidProtocolSelection
        | DecodeError::InvalidPointFormats
        | DecodeError::DuplicateCompressionAlgorithm
        | DecodeError::InvalidRecordSizeLimit => ":ERROR_PARSING_EXTENSION:",
        _ => ":DECODE_ERROR:",
    }
}

/// The token of an error of the peer; `None` if BoringSSL has no such token.
fn peer(error: PeerError) -> Option<&'static str> {
    Some(match error {
        PeerError::UnexpectedMessage => ":UNEXPECTED_MESSAGE:",
        PeerError::UnexpectedRecord | PeerError::UnknownContentType => ":UNEXPECTED_RECORD:",
        PeerError::WrongRecordVersion => ":WRONG_VERSION_NUMBER:",
        PeerError::PlainHttp => ":HTTP_REQUEST:",
        PeerError::RecordTooLong => ":DATA_LENGTH_TOO_LONG:",
        PeerError::BadRecordMac | PeerError::MissingContentType => {
            ":DECRYPTION_FAILED_OR_BAD_RECORD_MAC:"
        }
        PeerError::TooManyEmptyRecords | PeerError::TooManyChangeCipherSpecs => {
            ":TOO_MANY_EMPTY_FRAGMENTS:"
        }
        PeerError::TooManyWarningAlerts => ":TOO_MANY_WARNING_ALERTS:",
        PeerError::BadAlert => ":BAD_ALERT:",
        PeerError::IllegalAlertLevel => ":UNKNOWN_ALERT_TYPE:",
        PeerError::BadChangeCipherSpec => ":BAD_CHANGE_CIPHER_SPEC:",
        PeerError::TooManyKeyUpdates => ":TOO_MANY_KEY_UPDATES:",
        PeerError::TooMuchSkippedEarlyData => ":TOO_MUCH_SKIPPED_EARLY_DATA:",
        PeerError::ExcessHandshakeData => ":EXCESS_HANDSHAKE_DATA:",
        PeerError::InterruptedHandshakeMessage => ":UNEXPECTED_RECORD:",
        PeerError::UnsupportedVersion | PeerError::WrongVersionChosen => ":UNSUPPORTED_PROTOCOL:",
        PeerError::WrongEncryptionLevel => ":WRONG_ENCRYPTION_LEVEL_RECEIVED:",
        PeerError::SessionIdOverQuic => ":UNEXPECTED_COMPATIBILITY_MODE:",
        PeerError::Downgrade => ":TLS13_DOWNGRADE:",
        PeerError::InappropriateFallback => ":INAPPROPRIATE_FALLBACK:",
        PeerError::NoSharedCipherSuite => ":NO_SHARED_CIPHER:",
        PeerError::WrongCipherSuiteChosen => ":WRONG_CIPHER_RETURNED:",
        PeerError::CipherSuiteChangedAfterRetry => ":WRONG_CIPHER_RETURNED:",
        PeerError::NoSharedGroup => ":NO_SHARED_GROUP:",
        PeerError::WrongGroup => ":WRONG_CURVE:",
        PeerError::BadKeyShare => ":BAD_ECPOINT:",
        PeerError::NoCommonSignatureScheme => ":NO_COMMON_SIGNATURE_ALGORITHMS:",
        PeerError::WrongSignatureScheme => ":WRONG_SIGNATURE_TYPE:",
        PeerError::BadSignature => ":BAD_SIGNATURE:",
        PeerError::WrongCertificateType => ":WRONG_CERTIFICATE_TYPE:",
        PeerError::BadFinished | PeerError::BadBinder => ":DIGEST_CHECK_FAILED:",
        PeerError::NoApplicationProtocol => ":NO_APPLICATION_PROTOCOL:",
        PeerError::WrongApplicationProtocol => ":INVALID_ALPN_PROTOCOL:",
        PeerError::UnknownPreSharedKey | PeerError::WrongPreSharedKeyChosen => {
            ":PSK_IDENTITY_NOT_FOUND:"
        }
        PeerError::PreSharedKeyDeclined => ":MISSING_EXTENSION:",
        PeerError::NoCommonCertificateType => ":UNSUPPORTED_CERTIFICATE:",
        PeerError::BadRawPublicKey => ":INVALID_RAW_PUBLIC_KEY:",
        PeerError::UnexpectedExtension => ":UNEXPECTED_EXTENSION:",
        PeerError::MissingExtension | PeerError::MissingServerExtension => ":MISSING_EXTENSION:",
        PeerError::CertificateRequired | PeerError::CertificateRequiredTls12 => {
            ":PEER_DID_NOT_RETURN_A_CERTIFICATE:"
        }
        PeerError::EmptyCertificate => ":DECODE_ERROR:",
        PeerError::SecondRetry => ":UNEXPECTED_MESSAGE:",
        PeerError::UnnecessaryRetry => ":EMPTY_HELLO_RETRY_REQUEST:",
        PeerError::SessionIdNotEchoed => ":SERVER_ECHOED_INVALID_SESSION_ID:",
        PeerError::Compression => ":UNSUPPORTED_COMPRESSION_ALGORITHM:",
        PeerError::UnknownCertificateCompression => ":UNKNOWN_CERT_COMPRESSION_ALG:",
        PeerError::UncompressedCertificateTooLong => ":UNCOMPRESSED_CERT_TOO_LARGE:",
        PeerError::BadCompressedCertificate => ":CERT_DECOMPRESSION_FAILED:",
        PeerError::RenegotiationMismatch => ":RENEGOTIATION_MISMATCH:",
        PeerError::UnsafeLegacyRenegotiation => ":UNSAFE_LEGACY_RENEGOTIATION_DISABLED:",
        PeerError::Renegotiation => ":NO_RENEGOTIATION:",
        PeerError::ExtendedMainSecretLost => ":RESUMED_EMS_SESSION_WITHOUT_EMS_EXTENSION:",
        PeerError::TooMuchEarlyData => ":TOO_MUCH_READ_EARLY_DATA:",
        PeerError::WrongVersionForEarlyData => ":WRONG_VERSION_ON_EARLY_DATA:",
        PeerError::EarlyDataMismatch => ":ALPN_MISMATCH_ON_EARLY_DATA:",
        PeerError::InvalidInnerHello => ":INVALID_CLIENT_HELLO_INNER:",
        PeerError::MalformedInnerHello(DecodeError::InvalidOuterExtensions) => {
            ":INVALID_OUTER_EXTENSION:"
        }
        PeerError::UndecryptableHello => ":DECRYPTION_FAILED:",
        PeerError::InconsistentConfirmation => ":INCONSISTENT_ECH_NEGOTIATION:",
        PeerError::MalformedRetryConfigs => ":ERROR_PARSING_EXTENSION:",
        PeerError::MalformedInnerHello(_)
        | PeerError::EncryptionChangedAfterRetry
        | PeerError::MessageTooLong
        | PeerError::IllegalParameter
        | PeerError::WrongCertificateContext
        | PeerError::UnnecessaryCertificateType => ":DECODE_ERROR:",
        _ => return None,
    })
}

/// BoringSSL's token for a received alert. The names of alerts from SSL 3.0 contain "SSLV3".
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
    fn received_alerts_of_ssl3_are_named_after_it() {
        let token = |alert| of(Error::AlertReceived(alert));
        assert_eq!(token(AlertDescription::HANDSHAKE_FAILURE), ":SSLV3_ALERT_HANDSHAKE_FAILURE:");
        assert_eq!(token(AlertDescription::RECORD_OVERFLOW), ":TLSV1_ALERT_RECORD_OVERFLOW:");
    }

    #[test]
    fn an_error_without_a_token_keeps_its_name() {
        assert_eq!(of(PeerError::SecondHelloChanged.into()), ":SecondHelloChanged:");
    }
}

//! The alert that is sent for each error. RFC 9846 6.2, RFC 5246 7.2.2

use tercel_pki::RefusalReason;
use tercel_wire::{AlertDescription, DecodeError};

use super::{Error, InternalError, PeerError};

impl Error {
    /// Returns the alert to send for this error, or `None` if none is sent.
    #[must_use]
    pub fn alert(self) -> Option<AlertDescription> {
        match self {
            Self::Peer(peer) => Some(peer.alert()),
            Self::Refused(reason) => Some(refusal_alert(reason)),
            Self::Internal(internal) => internal.alert(),
            // RFC 9849 6.1.6
            Self::EchRejected => Some(AlertDescription::ECH_REQUIRED),
            Self::AlertReceived(_)
            | Self::Truncated
            | Self::ClosedInHandshake
            | Self::Misuse(_) => None,
        }
    }
}

impl PeerError {
    /// Returns the alert to send for this error.
    #[must_use]
    #[allow(clippy::too_many_lines, reason = "a table with a row for each variant")]
    pub fn alert(self) -> AlertDescription {
        use AlertDescription as A;
        match self {
            Self::Decode(error) => error.alert(),
            Self::UnexpectedMessage
            | Self::UnexpectedRecord
            | Self::UnknownContentType
            | Self::TooManyEmptyRecords
            | Self::TooManyChangeCipherSpecs
            | Self::BadChangeCipherSpec
            | Self::TooManyKeyUpdates
            | Self::TooManyCertificateRequests
            | Self::InterruptedAuthentication
            | Self::TooMuchSkippedEarlyData
            | Self::ExcessHandshakeData
            // The alert is not no_renegotiation, which is always a warning. RFC 5246 7.2.2
            | Self::Renegotiation
            | Self::InterruptedHandshakeMessage
            | Self::MissingContentType
            | Self::SecondRetry
            // Over QUIC, these errors and the following ones have codes of the transport.
            | Self::WrongEncryptionLevel
            | Self::TooMuchCryptoData
            | Self::PostHandshakeRequestOverQuic
            | Self::TooMuchEarlyData => A::UNEXPECTED_MESSAGE,
            Self::PlainHttp
            | Self::WrongVersionForEarlyData
            | Self::WrongRecordVersion
            | Self::UnsupportedVersion => A::PROTOCOL_VERSION,
            Self::RecordTooLong => A::RECORD_OVERFLOW,
            Self::BadRecordMac => A::BAD_RECORD_MAC,
            // A length that is out of range is a decode error. RFC 9846 6. No RFC defines an alert
            // for too many warnings.
            Self::MessageTooLong | Self::TooManyWarningAlerts | Self::BadAlert => A::DECODE_ERROR,
            Self::WrongVersionChosen
            | Self::Downgrade
            | Self::WrongCipherSuiteChosen
            | Self::WrongPreSharedKeyChosen
            | Self::CipherSuiteChangedAfterRetry
            | Self::WrongGroup
            | Self::BadKeyShare
            | Self::WrongSignatureScheme
            | Self::WrongCertificateType
            | Self::WrongApplicationProtocol
            | Self::UnnecessaryRetry
            | Self::UnnecessaryCertificateType
            | Self::IllegalAlertLevel
            | Self::SecondHelloChanged
            | Self::SessionIdNotEchoed
            | Self::Compression
            | Self::IllegalParameter
            | Self::EarlyDataMismatch
            | Self::WrongCertificateContext
            | Self::UnknownCertificateCompression
            | Self::UncompressedCertificateTooLong
            | Self::SessionIdOverQuic
            | Self::BadMaxEarlyData
            // RFC 9849 5.1, 7, 7.1, 7.1.1, 6.1.5
            | Self::MalformedInnerHello(_)
            | Self::InvalidInnerHello
            | Self::UnexpectedInnerHello
            | Self::EncryptionChangedAfterRetry
            | Self::InconsistentConfirmation
            | Self::BadTicketLifetime => A::ILLEGAL_PARAMETER,
            Self::InappropriateFallback => A::INAPPROPRIATE_FALLBACK,
            // These errors mean that no acceptable set of parameters could be negotiated.
            // RFC 9846 4.2.1
            Self::UnknownPreSharedKey
            | Self::NoSharedCipherSuite
            | Self::NoSharedGroup
            | Self::NoCommonSignatureScheme
            | Self::RenegotiationMismatch
            | Self::UnsafeLegacyRenegotiation
            | Self::CertificateRequiredTls12
            | Self::ExtendedMainSecretRequired
            | Self::ExtendedMainSecretLost => A::HANDSHAKE_FAILURE,
            Self::BadSignature | Self::BadFinished | Self::BadBinder | Self::UndecryptableHello => {
                A::DECRYPT_ERROR
            }
            Self::BadCompressedCertificate => A::BAD_CERTIFICATE,
            Self::NoApplicationProtocol => A::NO_APPLICATION_PROTOCOL,
            Self::UnrecognizedName => A::UNRECOGNIZED_NAME,
            Self::UnexpectedExtension => A::UNSUPPORTED_EXTENSION,
            Self::MissingExtension | Self::MissingServerExtension | Self::PreSharedKeyDeclined => {
                A::MISSING_EXTENSION
            }
            Self::CertificateRequired => A::CERTIFICATE_REQUIRED,
            Self::EmptyCertificate | Self::BadRawPublicKey | Self::MalformedRetryConfigs => {
                A::DECODE_ERROR
            }
            Self::NoCommonCertificateType => A::UNSUPPORTED_CERTIFICATE,
        }
    }
}

impl PeerError {
    /// Returns the error for a Finished that does not match. If `length`, the number of bytes of
    /// its `verify_data`, differs from `expected`, the message is malformed. RFC 9846 4.5.3, 6,
    /// RFC 5246 7.4.9
    pub(crate) fn wrong_finished(length: usize, expected: usize) -> Self {
        if length == expected {
            PeerError::BadFinished
        } else {
            Self::Decode(DecodeError::InvalidLength)
        }
    }
}

impl InternalError {
    fn alert(self) -> Option<AlertDescription> {
        match self {
            Self::Crypto(_)
            | Self::Encode
            | Self::Internal
            | Self::SigningFailed
            | Self::NotForQuic
            | Self::NotFips => Some(AlertDescription::INTERNAL_ERROR),
            Self::NoCredential | Self::NoCredentialSelected => {
                Some(AlertDescription::HANDSHAKE_FAILURE)
            }
            // RFC 6066 3
            Self::NoCredentialForName => Some(AlertDescription::UNRECOGNIZED_NAME),
            Self::RefusedByApplication => Some(AlertDescription::ACCESS_DENIED),
            Self::KeyExhausted => Some(AlertDescription::INTERNAL_ERROR),
            Self::Closed | Self::Failed | Self::EarlyDataLimit => None,
        }
    }
}

/// Returns the alert for a refused certificate. RFC 9846 6.2
fn refusal_alert(reason: RefusalReason) -> AlertDescription {
    use AlertDescription as A;
    use RefusalReason as R;
    match reason {
        R::EmptyChain => A::DECODE_ERROR,
        R::UnsupportedVersion
        | R::UnsupportedCriticalExtension
        | R::UnsupportedNameConstraint
        | R::UnsupportedSignatureAlgorithm
        | R::UnsupportedKey
        | R::KeyMayNotSign
        | R::NotForThisUsage => A::UNSUPPORTED_CERTIFICATE,
        R::Expired { .. }
        | R::NotYetValid { .. }
        | R::AuthorityExpired { .. }
        | R::AuthorityNotYetValid { .. } => A::CERTIFICATE_EXPIRED,
        R::UnknownIssuer | R::SelfSigned => A::UNKNOWN_CA,
        R::Revoked => A::CERTIFICATE_REVOKED,
        // RFC 6066 8
        R::StapleRejected
        | R::MissingStaple
        | R::StapleRequired
        | R::StapleMalformed
        | R::StapleUnsuccessful
        | R::StapleUntrusted
        | R::StapleForOtherCertificate
        | R::StapleNotYetValid { .. }
        | R::StapleExpired { .. }
        | R::StapleUnknownStatus => A::BAD_CERTIFICATE_STATUS_RESPONSE,
        R::UnknownRevocationStatus
        | R::CrlExpired { .. }
        | R::InvalidCrl
        | R::UntrustedRawKey
        | R::Other => A::CERTIFICATE_UNKNOWN,
        R::ByVerifier { alert } => chosen_alert(AlertDescription(alert)),
        // All other reasons, and those that later versions of `tercel-pki` add, are defects of the
        // certificate.
        _ => A::BAD_CERTIFICATE,
    }
}

/// Returns the alert that a verifier chose, if that alert is suitable for a refused peer.
fn chosen_alert(alert: AlertDescription) -> AlertDescription {
    use AlertDescription as A;
    match alert {
        A::HANDSHAKE_FAILURE
        | A::BAD_CERTIFICATE
        | A::UNSUPPORTED_CERTIFICATE
        | A::CERTIFICATE_REVOKED
        | A::CERTIFICATE_EXPIRED
        | A::UNKNOWN_CA
        | A::ACCESS_DENIED
        | A::INSUFFICIENT_SECURITY
        | A::ILLEGAL_PARAMETER
        | A::BAD_CERTIFICATE_STATUS_RESPONSE => alert,
        _ => A::CERTIFICATE_UNKNOWN,
    }
}

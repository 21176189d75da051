//! Error texts for logs and operators.
//!
//! A peer that has no parameters in common with this side is distinguished from a peer that
//! violated the protocol. The lack of common parameters requires another configuration, and a
//! violation indicates a bug or an attack.

use core::fmt;

use super::{Error, InternalError, Misuse, PeerError};

impl PeerError {
    /// Returns whether the peer followed the protocol, but negotiation failed: both sides have no
    /// parameters in common, or the peer does not meet a requirement of this side's configuration.
    #[must_use]
    pub fn is_disagreement(self) -> bool {
        matches!(
            self,
            Self::UnsupportedVersion
                | Self::InappropriateFallback
                | Self::NoSharedCipherSuite
                | Self::NoSharedGroup
                | Self::NoCommonSignatureScheme
                | Self::UnknownPreSharedKey
                | Self::PreSharedKeyDeclined
                | Self::NoApplicationProtocol
                | Self::UnrecognizedName
                | Self::CertificateRequired
                | Self::CertificateRequiredTls12
                | Self::ExtendedMainSecretRequired
                | Self::UnsafeLegacyRenegotiation
                | Self::NoCommonCertificateType
        )
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Plain HTTP violates no rule of TLS.
            Self::Peer(PeerError::PlainHttp) => PeerError::PlainHttp.fmt(f),
            Self::Peer(peer) if peer.is_disagreement() => peer.fmt(f),
            Self::Peer(peer) => write!(f, "protocol error: {peer}"),
            Self::AlertReceived(alert) => write!(f, "the peer sent the fatal alert {alert}"),
            Self::Refused(reason) => write!(f, "certificate refused: {reason}"),
            Self::Truncated => f.write_str("connection closed without close_notify"),
            Self::ClosedInHandshake => {
                f.write_str("connection closed by peer during the handshake")
            }
            Self::EchRejected => f.write_str("the server rejected Encrypted ClientHello"),
            Self::Internal(internal) => internal.fmt(f),
            Self::Misuse(misuse) => write!(f, "misuse of the library: {misuse}"),
        }
    }
}

impl fmt::Display for PeerError {
    #[allow(clippy::too_many_lines, reason = "a table with a row for each variant")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Decode(error) => return write!(f, "malformed message: {error}"),
            Self::MalformedInnerHello(error) => {
                return write!(f, "malformed encrypted ClientHello: {error}");
            }
            Self::InvalidInnerHello => {
                "the encrypted ClientHello is not marked as such, or offers an earlier version"
            }
            Self::UnexpectedInnerHello => "the ClientHello has the mark of an encrypted one",
            Self::EncryptionChangedAfterRetry => {
                "the second ClientHello is encrypted with other parameters than the first"
            }
            Self::UndecryptableHello => "the second ClientHello cannot be decrypted",
            Self::InconsistentConfirmation => {
                "only the HelloRetryRequest confirms the encrypted ClientHello"
            }
            Self::MalformedRetryConfigs => "the server's ECH configurations are malformed",
            Self::UnexpectedMessage => {
                "the peer sent a handshake message that is not allowed at this point"
            }
            Self::UnexpectedRecord => {
                "the peer sent a record of a type that is not allowed at this point"
            }
            Self::UnknownContentType => "the peer sent a record of an unknown type",
            Self::WrongRecordVersion => "a record header has the wrong protocol version",
            Self::PlainHttp => "the peer sent plain HTTP, not TLS",
            Self::RecordTooLong => "a record is too long",
            Self::BadRecordMac => "a record failed authentication",
            Self::MissingContentType => "an encrypted record has no content type",
            Self::TooManyEmptyRecords => "too many empty records",
            Self::TooManyWarningAlerts => "too many warning alerts",
            Self::BadAlert => "malformed alert",
            Self::IllegalAlertLevel => "an alert has an unknown level",
            Self::BadChangeCipherSpec => "malformed or unexpected change_cipher_spec",
            Self::TooManyChangeCipherSpecs => "too many change_cipher_spec records",
            Self::TooManyKeyUpdates => "too many key updates without application data",
            Self::TooManyCertificateRequests => "too many certificate requests",
            Self::InterruptedAuthentication => {
                "the messages of a post-handshake authentication are not consecutive"
            }
            Self::TooMuchSkippedEarlyData => "the client sent too much early data after rejection",
            Self::ExcessHandshakeData => "a handshake message spans a key change",
            Self::InterruptedHandshakeMessage => {
                "a handshake message is interrupted by a record of another type"
            }
            Self::MessageTooLong => "a handshake message is too long",
            Self::UnsupportedVersion => "no protocol version in common with the peer",
            Self::WrongVersionChosen => "the server selected a version that was not offered",
            Self::Downgrade => "downgrade detected: both sides support a newer protocol version",
            Self::InappropriateFallback => {
                "the client fell back to an older version although both sides support a newer one"
            }
            Self::NoSharedCipherSuite => "no cipher suite in common with the peer",
            Self::WrongCipherSuiteChosen => {
                "the server selected a cipher suite that was not offered or is not for this version"
            }
            Self::CipherSuiteChangedAfterRetry => {
                "the server changed the cipher suite after its HelloRetryRequest"
            }
            Self::NoSharedGroup => "no key exchange group in common with the peer",
            Self::WrongGroup => "a key share is for a group that was not offered or requested",
            Self::BadKeyShare => "a key share is not valid for its group",
            Self::NoCommonSignatureScheme => "no signature scheme in common with the peer",
            Self::WrongSignatureScheme => {
                "the signature scheme was not offered or does not match the key"
            }
            Self::BadSignature => "a handshake signature is invalid",
            Self::WrongCertificateType => {
                "the certificate's key cannot be used with the cipher suite or groups"
            }
            Self::BadFinished => "the Finished message does not match the handshake",
            Self::BadBinder => "a pre-shared key binder does not match",
            Self::UnknownPreSharedKey => "the client offered no known pre-shared key",
            Self::PreSharedKeyDeclined => "the server accepted none of the offered pre-shared keys",
            Self::WrongPreSharedKeyChosen => {
                "the server selected a pre-shared key that was not offered"
            }
            Self::NoApplicationProtocol => "no application protocol in common with the peer",
            Self::WrongApplicationProtocol => {
                "the server selected an application protocol that was not offered"
            }
            Self::UnrecognizedName => "the client requested an unknown server name",
            Self::UnexpectedExtension => {
                "a message contains an extension that is not allowed or was not requested"
            }
            Self::MissingExtension => "the ClientHello lacks a mandatory extension",
            Self::MissingServerExtension => "a message of the server lacks a mandatory extension",
            Self::CertificateRequired | Self::CertificateRequiredTls12 => {
                "the client sent no certificate, but one is required"
            }
            Self::EmptyCertificate => "the server sent no certificate",
            Self::SecondRetry => "the server sent a second HelloRetryRequest",
            Self::UnnecessaryRetry => "the server sent a HelloRetryRequest that changes nothing",
            Self::SecondHelloChanged => {
                "the second ClientHello differs from the first in more than is allowed"
            }
            Self::SessionIdNotEchoed => "the server did not echo the session ID",
            Self::Compression => "a compression method other than null",
            Self::IllegalParameter => "a field has a value that is not allowed",
            Self::RenegotiationMismatch => "renegotiation_info is not that of an initial handshake",
            Self::UnsafeLegacyRenegotiation => {
                "the server does not support secure renegotiation, which is required"
            }
            Self::Renegotiation => "the peer requested renegotiation, which is not supported",
            Self::ExtendedMainSecretRequired => {
                "the peer does not support the extended main secret, which is required"
            }
            Self::WrongCertificateContext => {
                "a certificate request context is unknown or was used before"
            }
            Self::EarlyDataMismatch => {
                "the server accepted early data but selected other parameters for it"
            }
            Self::ExtendedMainSecretLost => {
                "the handshake and the resumed session differ in the extended main secret"
            }
            Self::WrongVersionForEarlyData => {
                "early data was offered, but the server selected a version without it"
            }
            Self::TooMuchEarlyData => "the client sent more early data than its ticket allows",
            Self::UnknownCertificateCompression => {
                "a certificate is compressed with an algorithm that was not offered"
            }
            Self::UncompressedCertificateTooLong => {
                "the uncompressed length of a compressed certificate is too large"
            }
            Self::UnnecessaryCertificateType => {
                "a certificate type extension lists X.509 only and must be omitted"
            }
            Self::NoCommonCertificateType => {
                "no certificate type (X.509 or raw public key) in common with the peer"
            }
            Self::BadRawPublicKey => "a raw public key is malformed, or more than one was sent",
            Self::BadCompressedCertificate => {
                "a compressed certificate is malformed or has the wrong length"
            }
            Self::WrongEncryptionLevel => {
                "CRYPTO data of an encryption level at which none is expected"
            }
            Self::TooMuchCryptoData => "more CRYPTO data than a handshake contains",
            Self::SessionIdOverQuic => "a ClientHello over QUIC has a session ID",
            Self::PostHandshakeRequestOverQuic => {
                "a certificate was requested after a handshake over QUIC"
            }
            Self::BadMaxEarlyData => "a ticket over QUIC has a limit of early data",
            Self::BadTicketLifetime => "a session ticket has a lifetime of more than seven days",
        })
    }
}

impl fmt::Display for InternalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Crypto(error) => return write!(f, "a cryptographic operation failed: {error}"),
            Self::Encode => "a message to be sent is too long for its length fields",
            Self::Internal => "a bug in this library: a condition that it guarantees does not hold",
            Self::NoCredential => "no certificate, or no verifier of certificates, is configured",
            Self::NoCredentialSelected => "the application selected no certificate for the client",
            Self::NoCredentialForName => {
                "the application does not know the server name that the client requested"
            }
            Self::SigningFailed => "signing with the private key failed",
            Self::NotForQuic => "the chosen configuration cannot be used over QUIC",
            Self::NotFips => "a choice for this connection is not approved (option `fips`)",
            Self::RefusedByApplication => "the application refused the connection",
            Self::KeyExhausted => "the usage limit of a key is reached",
            Self::EarlyDataLimit => "the limit of early data is reached",
            Self::Closed => "this side has already closed the connection",
            Self::Failed => "the connection failed earlier",
        })
    }
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::HandshakeEnded => "the handshake has ended",
            Self::WrongAnswer => "the answer does not belong to an open question",
            Self::QuestionOpen => "a question is open and has to be answered first",
            Self::OutputTooSmall => "the output buffer is too small for a record",
            Self::WrongVersion => "the negotiated protocol version does not have this operation",
            Self::InvalidArgument => "a length or value is out of range",
            Self::NoPostHandshakeAuth => {
                "the client did not offer post-handshake authentication, or no verifier is set"
            }
            Self::VerifierAsks => {
                "the verifier of clients is Policy::Ask, and a stream has no answer to its question"
            }
            Self::TooManyCertificateRequests => "too many unanswered certificate requests",
            Self::KeyNotLocal => "the private key of the credential is remote",
            Self::UnreadInput => "received bytes have to be read first",
            Self::PartialMessage => "the rest of a handshake message has to be read first",
            Self::ControlPending => "a pending protocol message has to be sent first",
            Self::CertificatePending => {
                "a certificate request can still arrive, or is still unanswered"
            }
            Self::KeyUpdatePending => "a key update requested from the peer is outstanding",
            Self::NoExtendedMainSecret => {
                "exporting keying material requires the extended main secret"
            }
            Self::BoundToFipsModule => {
                "the FIPS module does not let a TLS 1.3 connection be saved or exported"
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use tercel_wire::AlertDescription;

    use super::*;

    #[test]
    fn a_disagreement_is_not_a_protocol_error() {
        let text = |peer: PeerError| Error::from(peer).to_string();
        assert_eq!(text(PeerError::NoSharedCipherSuite), "no cipher suite in common with the peer");
        assert_eq!(
            text(PeerError::BadFinished),
            "protocol error: the Finished message does not match the handshake"
        );
        // The first list has the alerts that are sent only for protocol errors. The second list has
        // the alerts that are sent only for disagreements.
        let protocol_errors = [
            AlertDescription::UNEXPECTED_MESSAGE,
            AlertDescription::DECODE_ERROR,
            AlertDescription::ILLEGAL_PARAMETER,
            AlertDescription::BAD_RECORD_MAC,
            AlertDescription::DECRYPT_ERROR,
        ];
        let disagreements = [
            AlertDescription::INAPPROPRIATE_FALLBACK,
            AlertDescription::NO_APPLICATION_PROTOCOL,
            AlertDescription::UNRECOGNIZED_NAME,
            AlertDescription::CERTIFICATE_REQUIRED,
        ];
        for peer in SAMPLES {
            let alert = peer.alert();
            assert!(!(protocol_errors.contains(&alert) && peer.is_disagreement()), "{peer:?}");
            assert!(!disagreements.contains(&alert) || peer.is_disagreement(), "{peer:?}");
        }
    }

    #[test]
    fn texts_contain_no_type_names() {
        let errors = SAMPLES.map(Error::Peer).into_iter().chain([
            Error::AlertReceived(AlertDescription::HANDSHAKE_FAILURE),
            Error::Truncated,
            Error::ClosedInHandshake,
            InternalError::NoCredential.into(),
            InternalError::KeyExhausted.into(),
            Misuse::OutputTooSmall.into(),
            Misuse::HandshakeEnded.into(),
        ]);
        for error in errors {
            let (text, debug) = (error.to_string(), format!("{error:?}"));
            let name = debug.rsplit('(').next().unwrap().trim_end_matches(')');
            let is_own_text = error != Error::AlertReceived(AlertDescription::HANDSHAKE_FAILURE);
            assert!(!is_own_text || !text.contains(name), "{text}");
            assert!(text.starts_with(char::is_lowercase) && !text.ends_with('.'), "{text}");
        }
    }

    /// At least one error for each alert that a variant of `PeerError` leads to.
    const SAMPLES: [PeerError; 21] = [
        PeerError::UnexpectedMessage,
        PeerError::WrongRecordVersion,
        PeerError::PlainHttp,
        PeerError::RecordTooLong,
        PeerError::BadRecordMac,
        PeerError::MessageTooLong,
        PeerError::UnsupportedVersion,
        PeerError::Downgrade,
        PeerError::InappropriateFallback,
        PeerError::NoSharedCipherSuite,
        PeerError::NoSharedGroup,
        PeerError::WrongGroup,
        PeerError::BadSignature,
        PeerError::NoApplicationProtocol,
        PeerError::UnrecognizedName,
        PeerError::UnexpectedExtension,
        PeerError::MissingExtension,
        PeerError::CertificateRequired,
        PeerError::CertificateRequiredTls12,
        PeerError::SessionIdNotEchoed,
        PeerError::Renegotiation,
    ];
}

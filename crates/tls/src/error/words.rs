//! Errors in words: one sentence each, for people who do not have the source at hand.
//!
//! A peer that has nothing in common with us is told apart from one that broke the protocol: the first
//! calls for another configuration, the second for a bug report.
//! Must not know: alerts, and names of types. Next: [`super`].

use core::fmt;

use super::{Error, Local, Misuse, Peer};

impl Peer {
    /// Whether both sides kept the protocol and only want different things: nothing in common, or a
    /// demand of our configuration that the peer does not meet.
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
        )
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Who speaks another protocol broke none of ours.
            Self::Peer(Peer::PlainHttp) => Peer::PlainHttp.fmt(f),
            Self::Peer(peer) if peer.is_disagreement() => peer.fmt(f),
            Self::Peer(peer) => write!(f, "the peer broke the protocol: {peer}"),
            Self::AlertReceived(alert) => write!(f, "the peer sent the alert {alert}"),
            Self::Refused(reason) => write!(f, "certificate refused: {reason}"),
            Self::Truncated => f.write_str("the connection ended without close_notify"),
            Self::ClosedInHandshake => f.write_str("the peer closed during the handshake"),
            Self::Local(local) => local.fmt(f),
            Self::Misuse(misuse) => write!(f, "misuse of the library: {misuse}"),
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Decode(error) => return write!(f, "malformed message: {error}"),
            Self::UnexpectedMessage => "a handshake message came out of turn",
            Self::UnexpectedRecord => "a record came whose kind is not allowed at this point",
            Self::UnknownContentType => "a record is of a kind that does not exist",
            Self::WrongRecordVersion => "a record claims the wrong protocol version",
            Self::PlainHttp => "the peer speaks plain HTTP, not TLS",
            Self::RecordTooLong => "a record is too long",
            Self::BadRecordMac => "a record failed authentication",
            Self::MissingContentType => "a protected record has no content type",
            Self::TooManyEmptyRecords => "too many records without content",
            Self::TooManyWarningAlerts => "too many warning alerts",
            Self::BadAlert => "malformed alert",
            Self::IllegalAlertLevel => "an alert has a level that does not exist",
            Self::BadChangeCipherSpec => "malformed change_cipher_spec",
            Self::TooManyChangeCipherSpecs => "too many change_cipher_spec records",
            Self::TooManyKeyUpdates => "too many key updates without data between them",
            Self::TooManyCertificateRequests => {
                "too many requests for a certificate wait for an answer"
            }
            Self::InterruptedAuthentication => {
                "something stands between the messages of an authentication"
            }
            Self::TooMuchSkippedEarlyData => "too much early data after it was rejected",
            Self::ExcessHandshakeData => "a handshake message crosses a change of keys",
            Self::InterruptedHandshakeMessage => {
                "a handshake message is split by another kind of record"
            }
            Self::MessageTooLong => "a handshake message is too long",
            Self::UnsupportedVersion => "no protocol version in common with the peer",
            Self::WrongVersionChosen => "the server chose a version that was not offered",
            Self::Downgrade => "an older version was chosen than both sides support",
            Self::InappropriateFallback => {
                "the client fell back to an older version than both sides support"
            }
            Self::NoSharedCipherSuite => "no cipher suite in common with the peer",
            Self::WrongCipherSuiteChosen => "the server chose a cipher suite that was not offered",
            Self::CipherSuiteChangedAfterRetry => {
                "the server changed the cipher suite after its retry request"
            }
            Self::NoSharedGroup => "no key exchange group in common with the peer",
            Self::WrongGroup => "a key share is for a group that was not asked for",
            Self::BadKeyShare => "a key share is not valid for its group",
            Self::NoCommonSignatureScheme => "no signature scheme in common with the peer",
            Self::WrongSignatureScheme => {
                "a signature's scheme was not offered or does not fit the key"
            }
            Self::BadSignature => "a handshake signature does not verify",
            Self::WrongCertificateType => {
                "the certificate's key cannot be used with what was agreed"
            }
            Self::BadFinished => "the Finished message does not match the handshake",
            Self::BadBinder => "a pre-shared key binder does not match",
            Self::UnknownPreSharedKey => "the client offers no pre-shared key that is known here",
            Self::PreSharedKeyDeclined => "the server took none of our pre-shared keys",
            Self::WrongPreSharedKeyChosen => {
                "the server chose a pre-shared key that was not offered"
            }
            Self::NoApplicationProtocol => "no application protocol in common with the peer",
            Self::WrongApplicationProtocol => {
                "the server chose an application protocol that was not offered"
            }
            Self::UnrecognizedName => "the client asked for a server name that is not known here",
            Self::UnexpectedExtension => "an extension is not allowed there or was not asked for",
            Self::MissingExtension => "the client's hello lacks an extension that it needs",
            Self::MissingServerExtension => "a message of the server lacks an extension it needs",
            Self::CertificateRequired | Self::CertificateRequiredTls12 => {
                "the client showed no certificate, and one is required"
            }
            Self::EmptyCertificate => "the server showed no certificate",
            Self::SecondRetry => "the server asked for a second retry",
            Self::PointlessRetry => "the server asked for a retry that would change nothing",
            Self::SecondHelloChanged => "the second hello changed more than it may",
            Self::SessionIdNotEchoed => "the server answered with the wrong session id",
            Self::Compression => "TLS compression, which is not allowed",
            Self::IllegalParameter => "a field has a value that is not allowed",
            Self::RenegotiationMismatch => {
                "the renegotiation indication does not fit a first handshake"
            }
            Self::UnsafeLegacyRenegotiation => {
                "the server does not indicate secure renegotiation, and it is required"
            }
            Self::Renegotiation => {
                "the peer keeps asking for renegotiation, which is not supported"
            }
            Self::ExtendedMainSecretRequired => {
                "the peer lacks the extended main secret, and it is required"
            }
            Self::WrongCertificateContext => "a certificate's context does not match the request",
            Self::EarlyDataMismatch => {
                "the server accepted early data with other parameters than it was sent with"
            }
            Self::ExtendedMainSecretLost => {
                "the session and this handshake differ in the extended main secret"
            }
            Self::WrongVersionForEarlyData => {
                "the server chose a version that has no early data, which was offered"
            }
            Self::TooMuchEarlyData => "the peer sent more early data than its ticket allows",
            Self::UnknownCertificateCompression => {
                "a certificate is compressed in a way that was not offered"
            }
            Self::UncompressedCertificateTooLong => {
                "a compressed certificate claims to be too long"
            }
            Self::PointlessCertificateType => {
                "a list of certificate types names X.509 alone, which goes without saying"
            }
            Self::NoCommonCertificateType => {
                "no form of certificate in common (X.509 or raw public key)"
            }
            Self::BadRawPublicKey => "a raw public key is malformed or not alone",
            Self::BadCompressedCertificate => "a compressed certificate does not decompress",
            Self::BadCertificateStatus => "a certificate status is malformed or was not asked for",
            Self::BadTicketLifetime => "a ticket's lifetime is longer than seven days",
            Self::UnexpectedEarlyData => "early data where none was agreed",
        })
    }
}

impl fmt::Display for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Crypto(error) => return write!(f, "a cryptographic operation failed: {error}"),
            Self::Encode => "a message of ours does not fit its own length fields",
            Self::NoCredential => "there is no certificate to show, or nothing to judge one by",
            Self::SigningFailed => "the holder of the private key did not sign",
            Self::RefusedByApplication => "the application refused the connection",
            Self::KeyExhausted => "the key has sealed or opened all the records it may",
            Self::EarlyDataLimit => "no more early data may be sent",
            Self::Closed => "our side has closed the connection already",
            Self::Failed => "the connection failed earlier",
        })
    }
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::HandshakeOver => "the handshake is over",
            Self::WrongAnswer => "no question is open that this answers",
            Self::QuestionOpen => "a question is open and has to be answered first",
            Self::OutputTooSmall => "the output is too small for a record",
            Self::WrongVersion => "the version in use has no such operation",
            Self::InvalidArgument => "a length or value is out of range",
            Self::NoPostHandshakeAuth => {
                "the client did not offer authentication after the handshake, or no verifier is set"
            }
            Self::TooManyCertificateRequests => "too many requests for a certificate are open",
            Self::KeyElsewhere => "the key of the credential is elsewhere",
            Self::UnreadInput => "bytes were received that have to be read first",
            Self::HalfMessage => "the rest of a handshake message has to be read first",
            Self::ControlPending => "a protocol message is pending and has to be sent first",
            Self::CertificateAwaited => "a certificate may still be asked for, or is awaited",
            Self::UpdateAwaited => {
                "the peer has been asked for a key update and has to grant it first"
            }
            Self::NoExtendedMainSecret => {
                "the main secret is not extended, nothing may be exported from it"
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use tercel_wire::AlertDescription;

    use super::*;

    #[test]
    fn nothing_in_common_is_no_breach() {
        let words = |peer: Peer| Error::from(peer).to_string();
        assert_eq!(words(Peer::NoSharedCipherSuite), "no cipher suite in common with the peer");
        assert_eq!(
            words(Peer::BadFinished),
            "the peer broke the protocol: the Finished message does not match the handshake"
        );
        // What is told with these alerts is a matter of form; with those a matter of wishes.
        let breaches = [
            AlertDescription::UNEXPECTED_MESSAGE,
            AlertDescription::DECODE_ERROR,
            AlertDescription::ILLEGAL_PARAMETER,
            AlertDescription::BAD_RECORD_MAC,
            AlertDescription::DECRYPT_ERROR,
        ];
        let wishes = [
            AlertDescription::INAPPROPRIATE_FALLBACK,
            AlertDescription::NO_APPLICATION_PROTOCOL,
            AlertDescription::UNRECOGNIZED_NAME,
            AlertDescription::CERTIFICATE_REQUIRED,
        ];
        for peer in SAMPLES {
            let alert = peer.alert();
            assert!(!(breaches.contains(&alert) && peer.is_disagreement()), "{peer:?}");
            assert!(!wishes.contains(&alert) || peer.is_disagreement(), "{peer:?}");
        }
    }

    #[test]
    fn no_name_of_a_type_is_shown() {
        let errors = SAMPLES.map(Error::Peer).into_iter().chain([
            Error::AlertReceived(AlertDescription::HANDSHAKE_FAILURE),
            Error::Truncated,
            Error::ClosedInHandshake,
            Local::NoCredential.into(),
            Local::KeyExhausted.into(),
            Misuse::OutputTooSmall.into(),
            Misuse::HandshakeOver.into(),
        ]);
        for error in errors {
            let (words, debug) = (error.to_string(), format!("{error:?}"));
            let name = debug.rsplit('(').next().unwrap().trim_end_matches(')');
            let shown = error != Error::AlertReceived(AlertDescription::HANDSHAKE_FAILURE);
            assert!(!shown || !words.contains(name), "{words}");
            assert!(words.starts_with(char::is_lowercase) && !words.ends_with('.'), "{words}");
        }
    }

    /// One at least for each alert.
    const SAMPLES: [Peer; 22] = [
        Peer::UnexpectedMessage,
        Peer::WrongRecordVersion,
        Peer::PlainHttp,
        Peer::RecordTooLong,
        Peer::BadRecordMac,
        Peer::MessageTooLong,
        Peer::UnsupportedVersion,
        Peer::Downgrade,
        Peer::InappropriateFallback,
        Peer::NoSharedCipherSuite,
        Peer::NoSharedGroup,
        Peer::WrongGroup,
        Peer::BadSignature,
        Peer::NoApplicationProtocol,
        Peer::UnrecognizedName,
        Peer::UnexpectedExtension,
        Peer::MissingExtension,
        Peer::CertificateRequired,
        Peer::CertificateRequiredTls12,
        Peer::SessionIdNotEchoed,
        Peer::Renegotiation,
        Peer::BadCertificateStatus,
    ];
}

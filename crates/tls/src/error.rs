//! Errors of handshakes and connections, each with its alert and its text.
//!
//! Each error determines its alert: [`Error::alert`] is one exhaustive match. Only
//! `handshake/mod.rs` and `connection/` send the alert that it returns.

mod alerts;
pub(crate) mod config;
pub(crate) mod handshake;
mod text;

pub use config::ConfigError;
pub use handshake::HandshakeError;

use tercel_crypto::CryptoError;
use tercel_pki::RefusalReason;
use tercel_wire::{AlertDescription, DecodeError};

/// The error of a failed handshake or connection.
///
/// The type is small and `Copy`. The chain and the names of an [`Error::Refused`] are in
/// [`crate::Handshake::refusal`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The peer violated the protocol, or offers nothing that this side's configuration accepts.
    Peer(PeerError),
    /// The peer sent a fatal alert.
    AlertReceived(AlertDescription),
    /// The peer's certificate or raw public key was refused. [`crate::Handshake::refusal`] returns
    /// the details.
    Refused(RefusalReason),
    /// The transport ended without close_notify, so received data may be truncated. RFC 9846 6.1
    Truncated,
    /// The peer closed the connection before the handshake was complete.
    ClosedInHandshake,
    /// Client: the server rejected Encrypted ClientHello, and has authenticated itself under the
    /// public name. No application data was sent, except early data, which only the server of the
    /// offered session can decrypt, and which this server has not accepted.
    /// `Handshake::ech_retry_configs` returns the configurations for one further attempt on a new
    /// connection. RFC 9849 6.1.6
    EchRejected,
    /// An operation of this side failed, or this side's configuration lacks a required part.
    Internal(InternalError),
    /// The caller made a call that the documentation does not allow.
    Misuse(Misuse),
}

/// An error caused by the peer: a protocol violation, or an offer that does not match this side's
/// configuration. See [`Self::is_disagreement`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PeerError {
    /// A malformed message or extension.
    Decode(DecodeError),
    /// A handshake message that is not allowed at this point.
    UnexpectedMessage,
    /// A record whose content type is not allowed at this point.
    UnexpectedRecord,
    /// A record with an unknown content type.
    UnknownContentType,
    /// A record header with a version that is not allowed.
    WrongRecordVersion,
    /// The first bytes received are plain HTTP, not TLS.
    PlainHttp,
    /// A record that is longer than RFC 9846 5.1, 5.2 or the negotiated `record_size_limit` allows.
    RecordTooLong,
    /// A record whose authentication failed.
    BadRecordMac,
    /// A protected record without a content type. RFC 9846 5.4
    MissingContentType,
    /// Too many consecutive records without content.
    TooManyEmptyRecords,
    /// Too many consecutive warning alerts.
    TooManyWarningAlerts,
    /// An alert record that is not two bytes long.
    BadAlert,
    /// An alert level other than warning and fatal. TLS 1.3 ignores the level.
    IllegalAlertLevel,
    /// A `change_cipher_spec` that is malformed or not allowed at this point.
    BadChangeCipherSpec,
    /// More `change_cipher_spec` records than a handshake can contain.
    TooManyChangeCipherSpecs,
    /// Too many consecutive `KeyUpdate` messages without application data.
    TooManyKeyUpdates,
    /// Too many certificate requests of a server after the handshake: 8 that are unanswered, or 64
    /// in all. RFC 9846 4.7.2
    TooManyCertificateRequests,
    /// Another message or record between the messages of a client's post-handshake authentication.
    /// RFC 9846 4.7.2
    InterruptedAuthentication,
    /// The server accepted early data but selected other parameters than those of the early data.
    /// RFC 9846 4.3.10
    EarlyDataMismatch,
    /// The client sent more early data than a server skips after it has rejected early data. RFC
    /// 9846 4.3.10
    TooMuchSkippedEarlyData,
    /// A handshake message that spans a change of keys. RFC 9846 5.1
    ExcessHandshakeData,
    /// A record of another type between the fragments of a handshake message. RFC 9846 5.1
    InterruptedHandshakeMessage,
    /// A handshake message longer than the limit for its type.
    MessageTooLong,
    /// No protocol version in common.
    UnsupportedVersion,
    /// The server selected a version that was not offered.
    WrongVersionChosen,
    /// The server random contains the downgrade sentinel: an attacker may have prevented the use of
    /// a newer version that both sides support. RFC 9846 4.2.3
    Downgrade,
    /// The client sent `TLS_FALLBACK_SCSV` although both sides support a newer version. RFC 7507
    InappropriateFallback,
    /// No cipher suite in common.
    NoSharedCipherSuite,
    /// The server selected a cipher suite that was not offered or is not for this version.
    WrongCipherSuiteChosen,
    /// The `ServerHello` selects another cipher suite than the `HelloRetryRequest`. RFC 9846 4.2.4
    CipherSuiteChangedAfterRetry,
    /// No key exchange group in common.
    NoSharedGroup,
    /// A group that was not offered, or a key share for a group other than the requested group.
    WrongGroup,
    /// A key share that is not valid in its group.
    BadKeyShare,
    /// No signature scheme in common, or no credential that can sign with a common scheme.
    NoCommonSignatureScheme,
    /// A signature scheme that was not offered or does not match the key.
    WrongSignatureScheme,
    /// A signature that does not verify.
    BadSignature,
    /// TLS 1.2: a certificate whose key cannot be used with the cipher suite or with the offered
    /// groups. RFC 5246 7.4.2, RFC 8422 5.3
    WrongCertificateType,
    /// A `Finished` that does not match the handshake transcript.
    BadFinished,
    /// A pre-shared key binder that does not match. RFC 9846 4.3.11
    BadBinder,
    /// The client offered no known pre-shared key, and the server has no certificate.
    UnknownPreSharedKey,
    /// The server accepted no pre-shared key of a client that does not accept certificates.
    PreSharedKeyDeclined,
    /// The server selected a pre-shared key that was not offered. RFC 9846 4.3.11
    WrongPreSharedKeyChosen,
    /// No application protocol in common. RFC 7301 3.2
    NoApplicationProtocol,
    /// The server selected an application protocol that was not offered.
    WrongApplicationProtocol,
    /// The client requested a server name for which there is no credential. RFC 6066 3
    UnrecognizedName,
    /// An extension in a message where it is not allowed, or an extension that responds to no
    /// request.
    UnexpectedExtension,
    /// A `ClientHello` without a mandatory extension. RFC 9846 9.2
    MissingExtension,
    /// A server's message without a mandatory extension.
    MissingServerExtension,
    /// TLS 1.3: the client sent no certificate, but one is required.
    CertificateRequired,
    /// A server sent an empty `Certificate`.
    EmptyCertificate,
    /// A second `HelloRetryRequest`. RFC 9846 4.2.4
    SecondRetry,
    /// A `HelloRetryRequest` that would not change the `ClientHello`. RFC 9846 4.2.4
    UnnecessaryRetry,
    /// The second `ClientHello` differs from the first in more than is allowed. RFC 9846 4.2.2
    SecondHelloChanged,
    /// The server did not echo the session ID. RFC 9846 4.2.3
    SessionIdNotEchoed,
    /// A compression method other than null.
    Compression,
    /// A field, such as `legacy_version`, with a value that its RFC does not allow.
    IllegalParameter,
    /// A `renegotiation_info` with a content that is not allowed in an initial handshake.
    /// RFC 5746 3.4, 3.6
    RenegotiationMismatch,
    /// The server does not support `renegotiation_info`, which the configuration requires.
    /// RFC 5746 4.1
    UnsafeLegacyRenegotiation,
    /// The peer requested renegotiation several times in a row. RFC 5246 7.2.2
    Renegotiation,
    /// The peer does not support the extended main secret, which the configuration requires.
    /// RFC 7627
    ExtendedMainSecretRequired,
    /// TLS 1.2: the client sent no certificate, but one is required. This version has no
    /// `certificate_required` alert.
    CertificateRequiredTls12,
    /// A session with the extended main secret is resumed without it, or vice versa. RFC 7627 5.3
    ExtendedMainSecretLost,
    /// Early data was offered, but the server selected a version without early data. RFC 9846 E.3
    WrongVersionForEarlyData,
    /// A `certificate_request_context` that does not match a request, or a request that reuses a
    /// context. RFC 9846 4.5.1, 4.4.2
    WrongCertificateContext,
    /// A certificate compressed with an algorithm that was not offered. RFC 8879 4
    UnknownCertificateCompression,
    /// A compressed certificate whose `uncompressed_length` exceeds the limit. RFC 8879 5
    UncompressedCertificateTooLong,
    /// A compressed certificate that is malformed, or whose decompressed length is not its
    /// `uncompressed_length`. RFC 8879 4
    BadCompressedCertificate,
    /// A certificate type extension that lists only X.509. Such an extension must be omitted.
    /// RFC 7250 4.1
    UnnecessaryCertificateType,
    /// No certificate type in common, or a selected certificate type that was not offered. RFC 7250
    /// 4.2
    NoCommonCertificateType,
    /// A malformed raw public key, or more than one raw public key. RFC 7250 3, RFC 9846 4.5.1
    BadRawPublicKey,
    /// A ticket lifetime of more than seven days. RFC 9846 4.7.1
    BadTicketLifetime,
    /// More early data than the ticket allows. RFC 9846 4.3.10
    TooMuchEarlyData,
    /// An encrypted ClientHello that is malformed, or does not match its outer ClientHello.
    /// RFC 9849 5.1
    MalformedInnerHello(DecodeError),
    /// An encrypted ClientHello that is not marked as one, or offers an earlier version than
    /// TLS 1.3. RFC 9849 7.1
    InvalidInnerHello,
    /// A ClientHello with the mark of an encrypted one, which a server that decrypts ClientHellos
    /// itself does not receive. RFC 9849 7
    UnexpectedInnerHello,
    /// The second ClientHello is encrypted with another suite, identifier or encapsulated key.
    /// RFC 9849 7.1.1
    EncryptionChangedAfterRetry,
    /// The second ClientHello cannot be decrypted, unlike the first. RFC 9849 7.1.1
    UndecryptableHello,
    /// The `HelloRetryRequest` confirms the encrypted ClientHello, but the `ServerHello` does not.
    /// RFC 9849 6.1.5
    InconsistentConfirmation,
    /// The server's configurations for Encrypted ClientHello are malformed. RFC 9849 6.1.6, 6.2
    MalformedRetryConfigs,
    /// QUIC: CRYPTO data of an encryption level at which none is expected. RFC 9001 4.1.3
    WrongEncryptionLevel,
    /// QUIC: more CRYPTO data than a handshake contains. RFC 9000 7.5
    TooMuchCryptoData,
    /// QUIC: a ClientHello with a session ID. RFC 9001 8.4
    SessionIdOverQuic,
    /// QUIC: a CertificateRequest after the handshake. RFC 9001 4.4
    PostHandshakeRequestOverQuic,
    /// QUIC: a ticket whose limit of early data is not 0xffffffff. RFC 9001 4.6.1
    BadMaxEarlyData,
}

/// An error of this side, not caused by the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InternalError {
    /// A cryptographic operation failed for a reason that the peer did not cause.
    Crypto(CryptoError),
    /// A message to be sent is longer than its length fields can express.
    Encode,
    /// A condition that this library guarantees does not hold, which is a bug in the library.
    Internal,
    /// The configuration lacks a credential, or a verifier of certificates.
    NoCredential,
    /// Server: the application selected no credential for the client. See
    /// [`SelectCredential`](crate::certificates::SelectCredential).
    NoCredentialSelected,
    /// Server: the application selected no credential, because it does not know the server name
    /// that the client requests. See
    /// [`is_unknown_name`](crate::certificates::SelectCredential::is_unknown_name).
    NoCredentialForName,
    /// Signing with the private key failed.
    SigningFailed,
    /// QUIC: the configuration that was chosen for this connection cannot be used over QUIC.
    NotForQuic,
    /// The configuration has the option `fips`, and a credential, a configuration or an offer of
    /// Encrypted ClientHello that was chosen for this connection is not approved; or a server
    /// configuration with keys for Encrypted ClientHello chose one with the option.
    NotFips,
    /// The application refused the connection in its answer to a question.
    RefusedByApplication,
    /// The sequence numbers of a key or the allowed key updates are used up. RFC 9846 5.3, 4.7.3
    KeyExhausted,
    /// The ticket's limit of early data is reached. RFC 9846 4.3.10
    EarlyDataLimit,
    /// This side has already closed the connection.
    Closed,
    /// An earlier error ended this connection.
    Failed,
}

/// A call that the documentation does not allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Misuse {
    /// `advance` or `answer` was called after the handshake ended, successfully or with an error.
    HandshakeEnded,
    /// `answer` was called without an open question, or with an answer to another question.
    WrongAnswer,
    /// A question is open: `answer` has to be called first.
    QuestionOpen,
    /// The output buffer is too small for one record.
    OutputTooSmall,
    /// The negotiated version does not have this operation.
    WrongVersion,
    /// A length or value outside the documented range.
    InvalidArgument,
    /// The client did not offer post-handshake authentication, or the configuration has no verifier
    /// for clients. RFC 9846 4.7.2
    NoPostHandshakeAuth,
    /// A stream requests a certificate after the handshake, and the configuration's verifier of
    /// clients is [`Policy::Ask`](crate::Policy::Ask): a stream does not ask, so the certificate
    /// would not be verified. See [`crate::Connection::request_certificate`].
    VerifierAsks,
    /// Too many certificate requests are unanswered.
    TooManyCertificateRequests,
    /// The private key of this credential is remote and cannot sign during the call.
    KeyNotLocal,
    /// The connection cannot be exported while received bytes are unread.
    UnreadInput,
    /// The connection cannot be exported in the middle of a handshake message.
    PartialMessage,
    /// The connection cannot be exported while [`crate::Sender::control`] has something to send.
    ControlPending,
    /// The connection cannot be exported or saved, because this client may still receive a
    /// post-handshake certificate request, or because this server's request is unanswered.
    CertificatePending,
    /// The connection cannot be exported while a key update requested from the peer is outstanding.
    KeyUpdatePending,
    /// TLS 1.2: keying material cannot be exported without the extended main secret. RFC 7627 5.4
    NoExtendedMainSecret,
    /// With the feature `fips`: a TLS 1.3 connection with AES-GCM cannot be saved or exported,
    /// because the FIPS module seals records only with a key that has sealed all records before.
    BoundToFipsModule,
}

impl From<PeerError> for Error {
    fn from(peer: PeerError) -> Self {
        Self::Peer(peer)
    }
}

impl From<DecodeError> for Error {
    fn from(error: DecodeError) -> Self {
        Self::Peer(PeerError::Decode(error))
    }
}

impl From<InternalError> for Error {
    fn from(internal: InternalError) -> Self {
        Self::Internal(internal)
    }
}

impl From<Misuse> for Error {
    fn from(misuse: Misuse) -> Self {
        Self::Misuse(misuse)
    }
}

/// Converts a cryptographic failure to an internal error. A failure that the peer's input caused
/// has to be converted to a [`PeerError`] before.
impl From<CryptoError> for Error {
    fn from(error: CryptoError) -> Self {
        Self::Internal(InternalError::Crypto(error))
    }
}

impl From<tercel_wire::EncodeError> for Error {
    fn from(_: tercel_wire::EncodeError) -> Self {
        Self::Internal(InternalError::Encode)
    }
}

impl std::error::Error for Error {}

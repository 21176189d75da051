//! What can go wrong, and what the peer is told about it.
//!
//! An error is never less specific than its alert: [`Error::alert`] is one exhaustive match, and only
//! `handshake/mod.rs` and `connection/` turn its answer into a record.
//! Must not know: how an alert is sent. Next: `alerts`, what the peer is told; `words`, what a person is told;
//! `handshake/mod.rs`.

mod alerts;
mod words;

use tercel_crypto::CryptoError;
use tercel_pki::RefusalReason;
use tercel_wire::{AlertDescription, DecodeError};

/// Why a handshake or a connection cannot go on.
///
/// Small and `Copy`; the chain and the names behind [`Error::Refused`] are kept by
/// [`crate::Handshake::refusal`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The peer broke a rule of the protocol, or offers nothing that we accept.
    Peer(Peer),
    /// The peer sent a fatal alert.
    AlertReceived(AlertDescription),
    /// The peer's certificate was refused. [`crate::Handshake::refusal`] has the details.
    Refused(RefusalReason),
    /// The transport ended without close_notify: what was received may be cut short. RFC 9846 6.1
    Truncated,
    /// The peer closed the connection before the handshake was complete.
    ClosedInHandshake,
    /// Something on our own side is missing or failed.
    Local(Local),
    /// The caller used an object in a way its documentation rules out.
    Misuse(Misuse),
}

/// Rules that a peer can break, and offers that do not meet ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Peer {
    /// A message or extension does not have the form its RFC gives it.
    Decode(DecodeError),
    /// A handshake message that may not come at this point.
    UnexpectedMessage,
    /// A record whose content type may not come at this point.
    UnexpectedRecord,
    /// A content type that does not exist.
    UnknownContentType,
    /// A record claims a protocol version it may not have.
    WrongRecordVersion,
    /// The first bytes are plain HTTP, not TLS.
    PlainHttp,
    /// A record is longer than RFC 9846 5.1, 5.2 or the agreed `record_size_limit` allows.
    RecordTooLong,
    /// A record failed authentication.
    BadRecordMac,
    /// A protected record without a content type. RFC 9846 5.4
    MissingContentType,
    /// Records without content, one after the other without end.
    TooManyEmptyRecords,
    /// Warning alerts, one after the other without end.
    TooManyWarningAlerts,
    /// An alert record of the wrong size, or a level or description that may not be used.
    BadAlert,
    /// An alert level other than warning and fatal.
    IllegalAlertLevel,
    /// A `change_cipher_spec` that is malformed or not allowed at this point.
    BadChangeCipherSpec,
    /// More compatibility `change_cipher_spec` records than any handshake needs.
    TooManyChangeCipherSpecs,
    /// Key updates, one after the other without application data.
    TooManyKeyUpdates,
    /// More requests for a certificate than may wait for an answer. RFC 9846 4.7.2
    TooManyCertificateRequests,
    /// Something stands between the messages of a client's authentication. RFC 9846 4.7.2
    InterruptedAuthentication,
    /// The server accepted early data, but with other parameters than it was sent with. RFC 9846 4.3.10
    EarlyDataMismatch,
    /// More early data than a server that rejected it passes over.
    TooMuchSkippedEarlyData,
    /// A handshake message crosses a change of keys. RFC 9846 5.1
    ExcessHandshakeData,
    /// A handshake message is split by another kind of record. RFC 9846 5.1
    InterruptedHandshakeMessage,
    /// A handshake message is longer than its kind may be.
    MessageTooLong,
    /// No protocol version in common.
    UnsupportedVersion,
    /// The server chose a version that was not offered.
    WrongVersionChosen,
    /// A 1.3 server's random says that a middle party forced an older version. RFC 9846 4.2.3
    Downgrade,
    /// The client fell back to a lower version than we share. RFC 7507
    InappropriateFallback,
    /// No cipher suite in common.
    NoSharedCipherSuite,
    /// The server chose a cipher suite that was not offered or does not fit the version.
    WrongCipherSuiteChosen,
    /// A second `ServerHello` names another suite than the retry request did. RFC 9846 4.2.4
    CipherSuiteChangedAfterRetry,
    /// No key exchange group in common.
    NoSharedGroup,
    /// A group that was not offered, or a key share for another group than asked.
    WrongGroup,
    /// A key share or point that its group does not allow.
    BadKeyShare,
    /// No signature scheme in common with the credentials at hand.
    NoCommonSignatureScheme,
    /// A signature by a scheme that was not offered or does not fit the key.
    WrongSignatureScheme,
    /// A signature that does not verify.
    BadSignature,
    /// A certificate whose key cannot be used with this cipher suite.
    WrongCertificateType,
    /// `Finished` does not match what was said.
    BadFinished,
    /// A Pre-shared key binder that does not match. RFC 9846 4.3.11
    BadBinder,
    /// The client offers no pre-shared key that is known here, and there is no certificate to show.
    UnknownPreSharedKey,
    /// The server took none of our pre-shared keys, and no certificate could do instead.
    PreSharedKeyDeclined,
    /// The server chose a pre-shared key that was not offered. RFC 9846 4.3.11
    WrongPreSharedKeyChosen,
    /// No application protocol in common. RFC 7301 3.2
    NoApplicationProtocol,
    /// The server chose an application protocol that was not offered.
    WrongApplicationProtocol,
    /// No credential for the name the client asked for. RFC 6066 3
    UnrecognizedName,
    /// An extension where it is not allowed, or as an answer to nothing.
    UnexpectedExtension,
    /// A `ClientHello` without the extension that its other contents demand. RFC 9846 9.2
    MissingExtension,
    /// A server message without the extension that its kind demands.
    MissingServerExtension,
    /// No certificate where one is required.
    CertificateRequired,
    /// A server sent an empty `Certificate`.
    EmptyCertificate,
    /// A second `HelloRetryRequest`. RFC 9846 4.2.4
    SecondRetry,
    /// A `HelloRetryRequest` that would not change the `ClientHello`. RFC 9846 4.2.4
    PointlessRetry,
    /// The second `ClientHello` changed more than it may. RFC 9846 4.2.2
    SecondHelloChanged,
    /// The session id was not echoed. RFC 9846 4.2.3
    SessionIdNotEchoed,
    /// A compression method other than null.
    Compression,
    /// A `legacy_version` or similar field with a value its RFC rules out.
    IllegalParameter,
    /// The renegotiation indication does not match an initial handshake. RFC 5746 3.4, 3.6
    RenegotiationMismatch,
    /// The peer does not support secure renegotiation indication and we require it. RFC 5746 4.1
    UnsafeLegacyRenegotiation,
    /// The peer asks for renegotiation after it was refused several times, or when we have sent
    /// close_notify and can refuse nothing any more. RFC 5246 7.2.2
    Renegotiation,
    /// The peer lacks the extended main secret and our configuration requires it. RFC 7627
    ExtendedMainSecretRequired,
    /// TLS 1.2: no certificate where one is required, for which that version has no alert of its own.
    CertificateRequiredTls12,
    /// A session with the extended main secret is to be resumed without it, or the reverse. RFC 7627 5.3
    ExtendedMainSecretLost,
    /// Early data was offered, and the server chose a version that has none. RFC 9846 E.3
    WrongVersionForEarlyData,
    /// A certificate context that does not match the request, or a request's that was used before.
    /// RFC 9846 4.5.1, 4.4.2
    WrongCertificateContext,
    /// A certificate compressed by an algorithm that was not offered. RFC 8879 4
    UnknownCertificateCompression,
    /// A compressed certificate that claims to be longer than any certificate may be. RFC 8879 5
    UncompressedCertificateTooLong,
    /// A compressed certificate that is malformed or not as long as it claims. RFC 8879 4
    BadCompressedCertificate,
    /// A list of certificate types that says only what is so without it. RFC 7250 4.1
    PointlessCertificateType,
    /// No type of certificate in common, or one chosen that was not offered. RFC 7250 4.2
    NoCommonCertificateType,
    /// A raw public key that is malformed, or not alone. RFC 7250 3, RFC 9846 4.5.1
    BadRawPublicKey,
    /// A certificate status that was not asked for or has an unknown type.
    BadCertificateStatus,
    /// A ticket lifetime beyond seven days. RFC 9846 4.7.1
    BadTicketLifetime,
    /// More early data than the ticket allows. RFC 9846 4.3.10
    TooMuchEarlyData,
    /// Early data where none was agreed, or more than was allowed.
    UnexpectedEarlyData,
}

/// What our own side can lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Local {
    /// A cryptographic operation failed for a reason that is not the peer's.
    Crypto(CryptoError),
    /// A message we wanted to send does not fit its own length fields.
    Encode,
    /// No credential was given for a server.
    NoCredential,
    /// The private key's holder refused to sign or failed.
    SigningFailed,
    /// The application refused the connection by answering a question with "no".
    RefusedByApplication,
    /// The sequence number or the key's use count reached its end.
    KeyExhausted,
    /// No more early data may be sent: the ticket's limit is reached. RFC 9846 4.3.10
    EarlyDataLimit,
    /// This connection was closed by our own side already.
    Closed,
    /// An error happened earlier on this connection; its keys are gone.
    Failed,
}

/// Calls that the documentation rules out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Misuse {
    /// `advance` or `answer` after the handshake ended, in success or error.
    HandshakeOver,
    /// `answer` without an open question, or with an answer of another kind.
    WrongAnswer,
    /// A question is open: `answer` comes first.
    QuestionOpen,
    /// The output slice cannot hold even one record.
    OutputTooSmall,
    /// The version in use has no such operation.
    WrongVersion,
    /// A length or value outside the documented range.
    InvalidArgument,
    /// The client did not offer authentication after the handshake, or the configuration does not say by
    /// whom clients are judged. RFC 9846 4.7.2
    NoPostHandshakeAuth,
    /// Too many requests for a certificate wait for an answer.
    TooManyCertificateRequests,
    /// The key of this credential is elsewhere and cannot sign at once.
    KeyElsewhere,
    /// A connection is to be handed over while bytes received for it are unread.
    UnreadInput,
    /// A connection is to be handed over in the middle of a handshake message.
    HalfMessage,
    /// A connection is to be handed over while [`crate::Sender::control`] has something to send.
    ControlPending,
    /// A connection is to be handed over that may be asked for a certificate after the handshake, or has asked.
    CertificateAwaited,
    /// A connection is to be handed over while the peer has still to grant a key update.
    UpdateAwaited,
    /// Keying material from a main secret that is not the extended one. RFC 7627 5.4
    NoExtendedMainSecret,
}

impl From<Peer> for Error {
    fn from(peer: Peer) -> Self {
        Self::Peer(peer)
    }
}

impl From<DecodeError> for Error {
    fn from(error: DecodeError) -> Self {
        Self::Peer(Peer::Decode(error))
    }
}

impl From<Local> for Error {
    fn from(local: Local) -> Self {
        Self::Local(local)
    }
}

impl From<Misuse> for Error {
    fn from(misuse: Misuse) -> Self {
        Self::Misuse(misuse)
    }
}

/// Cryptographic failures that are not the peer's doing. Where they are, the call site says so.
impl From<CryptoError> for Error {
    fn from(error: CryptoError) -> Self {
        Self::Local(Local::Crypto(error))
    }
}

impl From<tercel_wire::EncodeError> for Error {
    fn from(_: tercel_wire::EncodeError) -> Self {
        Self::Local(Local::Encode)
    }
}

impl std::error::Error for Error {}

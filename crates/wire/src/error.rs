//! Errors of decoding and encoding, and the alert for each decoding error.
//!
//! These errors cover syntax only. The caller checks values against what was offered or negotiated.

use std::fmt;

use crate::code_points::{AlertDescription, ExtensionType, NamedGroup};

/// The reason why received bytes were refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DecodeError {
    /// A field or vector extends beyond the end of the structure that contains it.
    Truncated,
    /// Bytes are left after a complete structure.
    TrailingData,
    /// A vector is shorter than its minimum or longer than its maximum.
    InvalidLength,
    /// A list that requires an entry is empty.
    EmptyList,
    /// An extension block has two extensions of this type.
    DuplicateExtension(ExtensionType),
    /// Two key shares are for this group.
    DuplicateKeyShare(NamedGroup),
    /// A certificate compression algorithm is listed twice.
    DuplicateCompressionAlgorithm,
    /// A server_name extension has two names of one type.
    DuplicateServerName,
    /// The host name in server_name is neither a DNS name nor an IP address.
    InvalidHostName,
    /// A server's ALPN response does not have exactly one protocol.
    InvalidProtocolSelection,
    /// pre_shared_key is not the last extension of its ClientHello.
    PskNotLast,
    /// pre_shared_key does not have one binder for each identity.
    PskBinderCount,
    /// record_size_limit is under 64.
    InvalidRecordSizeLimit,
    /// A set of flags is padded: its last byte is zero.
    PaddedFlags,
    /// A key_update has a value that is neither update_not_requested nor update_requested.
    InvalidKeyUpdate,
    /// A server's key exchange is not over a named curve.
    InvalidCurveType,
    /// A certificate status is of a type other than OCSP.
    InvalidCertificateStatusType,
    /// A ClientHello lacks the null compression method, or a ServerHello selects another one.
    InvalidCompressionMethod,
    /// The list of point formats lacks the uncompressed format.
    InvalidPointFormats,
    /// An encrypted_client_hello has a type that is neither outer nor inner.
    InvalidEncryptedClientHelloType,
    /// The padding of an encrypted inner ClientHello is not zero, or its session ID is not empty.
    InvalidInnerClientHello,
    /// ech_outer_extensions is there twice, or names an extension that the outer ClientHello lacks
    /// or has in another order, or encrypted_client_hello.
    InvalidOuterExtensions,
}

impl DecodeError {
    /// The alert to send: decode_error for bytes that break the syntax, illegal_parameter for
    /// well-formed values that break a rule. RFC 9846 6
    #[must_use]
    pub const fn alert(self) -> AlertDescription {
        match self {
            Self::Truncated | Self::TrailingData | Self::InvalidLength | Self::EmptyList => {
                AlertDescription::DECODE_ERROR
            }
            Self::DuplicateExtension(_)
            | Self::DuplicateKeyShare(_)
            | Self::DuplicateCompressionAlgorithm
            | Self::DuplicateServerName
            | Self::InvalidHostName
            | Self::InvalidProtocolSelection
            | Self::PskNotLast
            | Self::PskBinderCount
            | Self::InvalidRecordSizeLimit
            | Self::PaddedFlags
            | Self::InvalidKeyUpdate
            | Self::InvalidCurveType
            | Self::InvalidCertificateStatusType
            | Self::InvalidCompressionMethod
            | Self::InvalidPointFormats
            | Self::InvalidEncryptedClientHelloType
            | Self::InvalidInnerClientHello
            | Self::InvalidOuterExtensions => AlertDescription::ILLEGAL_PARAMETER,
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Truncated => "a field reaches beyond the end of its message",
            Self::TrailingData => "bytes are left after the end of a structure",
            Self::InvalidLength => "a field is shorter or longer than it may be",
            Self::EmptyList => "a list that must not be empty is empty",
            Self::DuplicateExtension(extension) => {
                return write!(f, "the extension {extension} appears twice");
            }
            Self::DuplicateKeyShare(group) => {
                return write!(f, "two key shares are for the group {group}");
            }
            Self::DuplicateCompressionAlgorithm => {
                "a certificate compression algorithm is listed twice"
            }
            Self::DuplicateServerName => "server_name has two names of one type",
            Self::InvalidHostName => "the host name in server_name is invalid",
            Self::InvalidProtocolSelection => "more than one application protocol is selected",
            Self::PskNotLast => "pre_shared_key is not the last extension",
            Self::PskBinderCount => "the number of PSK binders is not the number of identities",
            Self::InvalidRecordSizeLimit => "record_size_limit is under 64",
            Self::PaddedFlags => "tls_flags is longer than its flags need",
            Self::InvalidKeyUpdate => "key_update has an unknown request_update value",
            Self::InvalidCurveType => "the key exchange is not over a named curve",
            Self::InvalidCertificateStatusType => "the certificate status is not OCSP",
            Self::InvalidCompressionMethod => "the compression method is not null",
            Self::InvalidPointFormats => "the uncompressed point format is missing",
            Self::InvalidEncryptedClientHelloType => {
                "the type of encrypted_client_hello is unknown"
            }
            Self::InvalidInnerClientHello => {
                "the encrypted ClientHello has a session ID, or padding other than zeros"
            }
            Self::InvalidOuterExtensions => {
                "ech_outer_extensions does not match the outer ClientHello"
            }
        })
    }
}

impl std::error::Error for DecodeError {}

/// The reason why a message could not be encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EncodeError {
    /// A value is longer than its length prefix can express.
    TooLong,
    /// The binders do not have the length that was reserved for them.
    BinderLength,
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooLong => "a value is longer than its length prefix can say",
            Self::BinderLength => "the binders do not fit the place that was left for them",
        })
    }
}

impl std::error::Error for EncodeError {}

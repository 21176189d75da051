//! The codes of the core's errors.
//!
//! A variant with a value has an arbitrary one here, since only variants are compared. A test
//! checks that no variant is missing.

use std::time::Duration;

use tercel::certificates::CredentialError;
use tercel::crypto::CryptoError;
use tercel::error::{ConfigError, InternalError, Misuse, PeerError};
use tercel::fips::FipsReason;
use tercel::pki::{PemError, RefusalReason, Usage};
use tercel::pki_types::UnixTime;
use tercel::psk::PreSharedKeyError;
use tercel::session::TicketKeyError;
use tercel::wire::{CipherSuite, DecodeError, NamedGroup, ProtocolVersion, SignatureScheme};

use super::{Status, codes};

const EPOCH: UnixTime = UnixTime::since_unix_epoch(Duration::ZERO);

pub(super) const PEER_ERROR: &[(Status, PeerError)] = &[
    (codes::TERCEL_PEER_UNEXPECTED_MESSAGE, PeerError::UnexpectedMessage),
    (codes::TERCEL_PEER_UNEXPECTED_RECORD, PeerError::UnexpectedRecord),
    (codes::TERCEL_PEER_UNKNOWN_CONTENT_TYPE, PeerError::UnknownContentType),
    (codes::TERCEL_PEER_WRONG_RECORD_VERSION, PeerError::WrongRecordVersion),
    (codes::TERCEL_PEER_PLAIN_HTTP, PeerError::PlainHttp),
    (codes::TERCEL_PEER_RECORD_TOO_LONG, PeerError::RecordTooLong),
    (codes::TERCEL_PEER_BAD_RECORD_MAC, PeerError::BadRecordMac),
    (codes::TERCEL_PEER_MISSING_CONTENT_TYPE, PeerError::MissingContentType),
    (codes::TERCEL_PEER_TOO_MANY_EMPTY_RECORDS, PeerError::TooManyEmptyRecords),
    (codes::TERCEL_PEER_TOO_MANY_WARNING_ALERTS, PeerError::TooManyWarningAlerts),
    (codes::TERCEL_PEER_BAD_ALERT, PeerError::BadAlert),
    (codes::TERCEL_PEER_ILLEGAL_ALERT_LEVEL, PeerError::IllegalAlertLevel),
    (codes::TERCEL_PEER_BAD_CHANGE_CIPHER_SPEC, PeerError::BadChangeCipherSpec),
    (codes::TERCEL_PEER_TOO_MANY_CHANGE_CIPHER_SPECS, PeerError::TooManyChangeCipherSpecs),
    (codes::TERCEL_PEER_TOO_MANY_KEY_UPDATES, PeerError::TooManyKeyUpdates),
    (codes::TERCEL_PEER_TOO_MANY_CERTIFICATE_REQUESTS, PeerError::TooManyCertificateRequests),
    (codes::TERCEL_PEER_INTERRUPTED_AUTHENTICATION, PeerError::InterruptedAuthentication),
    (codes::TERCEL_PEER_EARLY_DATA_MISMATCH, PeerError::EarlyDataMismatch),
    (codes::TERCEL_PEER_TOO_MUCH_SKIPPED_EARLY_DATA, PeerError::TooMuchSkippedEarlyData),
    (codes::TERCEL_PEER_EXCESS_HANDSHAKE_DATA, PeerError::ExcessHandshakeData),
    (codes::TERCEL_PEER_INTERRUPTED_HANDSHAKE_MESSAGE, PeerError::InterruptedHandshakeMessage),
    (codes::TERCEL_PEER_MESSAGE_TOO_LONG, PeerError::MessageTooLong),
    (codes::TERCEL_PEER_UNSUPPORTED_VERSION, PeerError::UnsupportedVersion),
    (codes::TERCEL_PEER_WRONG_VERSION_CHOSEN, PeerError::WrongVersionChosen),
    (codes::TERCEL_PEER_DOWNGRADE, PeerError::Downgrade),
    (codes::TERCEL_PEER_INAPPROPRIATE_FALLBACK, PeerError::InappropriateFallback),
    (codes::TERCEL_PEER_NO_SHARED_CIPHER_SUITE, PeerError::NoSharedCipherSuite),
    (codes::TERCEL_PEER_WRONG_CIPHER_SUITE_CHOSEN, PeerError::WrongCipherSuiteChosen),
    (codes::TERCEL_PEER_CIPHER_SUITE_CHANGED_AFTER_RETRY, PeerError::CipherSuiteChangedAfterRetry),
    (codes::TERCEL_PEER_NO_SHARED_GROUP, PeerError::NoSharedGroup),
    (codes::TERCEL_PEER_WRONG_GROUP, PeerError::WrongGroup),
    (codes::TERCEL_PEER_BAD_KEY_SHARE, PeerError::BadKeyShare),
    (codes::TERCEL_PEER_NO_COMMON_SIGNATURE_SCHEME, PeerError::NoCommonSignatureScheme),
    (codes::TERCEL_PEER_WRONG_SIGNATURE_SCHEME, PeerError::WrongSignatureScheme),
    (codes::TERCEL_PEER_BAD_SIGNATURE, PeerError::BadSignature),
    (codes::TERCEL_PEER_WRONG_CERTIFICATE_TYPE, PeerError::WrongCertificateType),
    (codes::TERCEL_PEER_BAD_FINISHED, PeerError::BadFinished),
    (codes::TERCEL_PEER_BAD_BINDER, PeerError::BadBinder),
    (codes::TERCEL_PEER_UNKNOWN_PRE_SHARED_KEY, PeerError::UnknownPreSharedKey),
    (codes::TERCEL_PEER_PRE_SHARED_KEY_DECLINED, PeerError::PreSharedKeyDeclined),
    (codes::TERCEL_PEER_WRONG_PRE_SHARED_KEY_CHOSEN, PeerError::WrongPreSharedKeyChosen),
    (codes::TERCEL_PEER_NO_APPLICATION_PROTOCOL, PeerError::NoApplicationProtocol),
    (codes::TERCEL_PEER_WRONG_APPLICATION_PROTOCOL, PeerError::WrongApplicationProtocol),
    (codes::TERCEL_PEER_UNRECOGNIZED_NAME, PeerError::UnrecognizedName),
    (codes::TERCEL_PEER_UNEXPECTED_EXTENSION, PeerError::UnexpectedExtension),
    (codes::TERCEL_PEER_MISSING_EXTENSION, PeerError::MissingExtension),
    (codes::TERCEL_PEER_MISSING_SERVER_EXTENSION, PeerError::MissingServerExtension),
    (codes::TERCEL_PEER_CERTIFICATE_REQUIRED, PeerError::CertificateRequired),
    (codes::TERCEL_PEER_EMPTY_CERTIFICATE, PeerError::EmptyCertificate),
    (codes::TERCEL_PEER_SECOND_RETRY, PeerError::SecondRetry),
    (codes::TERCEL_PEER_UNNECESSARY_RETRY, PeerError::UnnecessaryRetry),
    (codes::TERCEL_PEER_SECOND_HELLO_CHANGED, PeerError::SecondHelloChanged),
    (codes::TERCEL_PEER_SESSION_ID_NOT_ECHOED, PeerError::SessionIdNotEchoed),
    (codes::TERCEL_PEER_COMPRESSION, PeerError::Compression),
    (codes::TERCEL_PEER_ILLEGAL_PARAMETER, PeerError::IllegalParameter),
    (codes::TERCEL_PEER_RENEGOTIATION_MISMATCH, PeerError::RenegotiationMismatch),
    (codes::TERCEL_PEER_UNSAFE_LEGACY_RENEGOTIATION, PeerError::UnsafeLegacyRenegotiation),
    (codes::TERCEL_PEER_RENEGOTIATION, PeerError::Renegotiation),
    (codes::TERCEL_PEER_EXTENDED_MAIN_SECRET_REQUIRED, PeerError::ExtendedMainSecretRequired),
    (codes::TERCEL_PEER_CERTIFICATE_REQUIRED_TLS12, PeerError::CertificateRequiredTls12),
    (codes::TERCEL_PEER_EXTENDED_MAIN_SECRET_LOST, PeerError::ExtendedMainSecretLost),
    (codes::TERCEL_PEER_WRONG_VERSION_FOR_EARLY_DATA, PeerError::WrongVersionForEarlyData),
    (codes::TERCEL_PEER_WRONG_CERTIFICATE_CONTEXT, PeerError::WrongCertificateContext),
    (codes::TERCEL_PEER_UNKNOWN_CERTIFICATE_COMPRESSION, PeerError::UnknownCertificateCompression),
    (
        codes::TERCEL_PEER_UNCOMPRESSED_CERTIFICATE_TOO_LONG,
        PeerError::UncompressedCertificateTooLong,
    ),
    (codes::TERCEL_PEER_BAD_COMPRESSED_CERTIFICATE, PeerError::BadCompressedCertificate),
    (codes::TERCEL_PEER_UNNECESSARY_CERTIFICATE_TYPE, PeerError::UnnecessaryCertificateType),
    (codes::TERCEL_PEER_NO_COMMON_CERTIFICATE_TYPE, PeerError::NoCommonCertificateType),
    (codes::TERCEL_PEER_BAD_RAW_PUBLIC_KEY, PeerError::BadRawPublicKey),
    (codes::TERCEL_PEER_BAD_TICKET_LIFETIME, PeerError::BadTicketLifetime),
    (codes::TERCEL_PEER_TOO_MUCH_EARLY_DATA, PeerError::TooMuchEarlyData),
];

pub(super) const DECODE_ERROR: &[(Status, DecodeError)] = &[
    (codes::TERCEL_PEER_DECODE_TRUNCATED, DecodeError::Truncated),
    (codes::TERCEL_PEER_DECODE_TRAILING_DATA, DecodeError::TrailingData),
    (codes::TERCEL_PEER_DECODE_INVALID_LENGTH, DecodeError::InvalidLength),
    (codes::TERCEL_PEER_DECODE_EMPTY_LIST, DecodeError::EmptyList),
    (codes::TERCEL_PEER_DECODE_DUPLICATE_KEY_SHARE, DecodeError::DuplicateKeyShare(NamedGroup(0))),
    (
        codes::TERCEL_PEER_DECODE_DUPLICATE_COMPRESSION_ALGORITHM,
        DecodeError::DuplicateCompressionAlgorithm,
    ),
    (codes::TERCEL_PEER_DECODE_DUPLICATE_SERVER_NAME, DecodeError::DuplicateServerName),
    (codes::TERCEL_PEER_DECODE_INVALID_HOST_NAME, DecodeError::InvalidHostName),
    (codes::TERCEL_PEER_DECODE_INVALID_PROTOCOL_SELECTION, DecodeError::InvalidProtocolSelection),
    (codes::TERCEL_PEER_DECODE_PSK_NOT_LAST, DecodeError::PskNotLast),
    (codes::TERCEL_PEER_DECODE_PSK_BINDER_COUNT, DecodeError::PskBinderCount),
    (codes::TERCEL_PEER_DECODE_INVALID_RECORD_SIZE_LIMIT, DecodeError::InvalidRecordSizeLimit),
    (codes::TERCEL_PEER_DECODE_PADDED_FLAGS, DecodeError::PaddedFlags),
    (codes::TERCEL_PEER_DECODE_INVALID_KEY_UPDATE, DecodeError::InvalidKeyUpdate),
    (codes::TERCEL_PEER_DECODE_INVALID_CURVE_TYPE, DecodeError::InvalidCurveType),
    (
        codes::TERCEL_PEER_DECODE_INVALID_CERTIFICATE_STATUS_TYPE,
        DecodeError::InvalidCertificateStatusType,
    ),
    (codes::TERCEL_PEER_DECODE_INVALID_COMPRESSION_METHOD, DecodeError::InvalidCompressionMethod),
    (codes::TERCEL_PEER_DECODE_INVALID_POINT_FORMATS, DecodeError::InvalidPointFormats),
];

pub(super) const REFUSAL_REASON: &[(Status, RefusalReason)] = &[
    (codes::TERCEL_REFUSED_EMPTY_CHAIN, RefusalReason::EmptyChain),
    (codes::TERCEL_REFUSED_BAD_ENCODING, RefusalReason::BadEncoding),
    (codes::TERCEL_REFUSED_UNSUPPORTED_VERSION, RefusalReason::UnsupportedVersion),
    (
        codes::TERCEL_REFUSED_UNSUPPORTED_CRITICAL_EXTENSION,
        RefusalReason::UnsupportedCriticalExtension,
    ),
    (codes::TERCEL_REFUSED_EXPIRED, RefusalReason::Expired { not_after: EPOCH }),
    (codes::TERCEL_REFUSED_NOT_YET_VALID, RefusalReason::NotYetValid { not_before: EPOCH }),
    (codes::TERCEL_REFUSED_INVALID_VALIDITY, RefusalReason::InvalidValidity),
    (codes::TERCEL_REFUSED_NAME_MISMATCH, RefusalReason::NameMismatch),
    (codes::TERCEL_REFUSED_UNKNOWN_ISSUER, RefusalReason::UnknownIssuer),
    (codes::TERCEL_REFUSED_SELF_SIGNED, RefusalReason::SelfSigned),
    (codes::TERCEL_REFUSED_BAD_SIGNATURE, RefusalReason::BadSignature),
    (codes::TERCEL_REFUSED_WEAK_SIGNATURE_ALGORITHM, RefusalReason::WeakSignatureAlgorithm),
    (
        codes::TERCEL_REFUSED_UNSUPPORTED_SIGNATURE_ALGORITHM,
        RefusalReason::UnsupportedSignatureAlgorithm,
    ),
    (codes::TERCEL_REFUSED_UNSUPPORTED_KEY, RefusalReason::UnsupportedKey),
    (codes::TERCEL_REFUSED_KEY_MAY_NOT_SIGN, RefusalReason::KeyMayNotSign),
    (codes::TERCEL_REFUSED_INVALID_KEY, RefusalReason::InvalidKey),
    (codes::TERCEL_REFUSED_REVOKED, RefusalReason::Revoked),
    (codes::TERCEL_REFUSED_UNKNOWN_REVOCATION_STATUS, RefusalReason::UnknownRevocationStatus),
    (codes::TERCEL_REFUSED_CRL_EXPIRED, RefusalReason::CrlExpired { next_update: EPOCH }),
    (codes::TERCEL_REFUSED_INVALID_CRL, RefusalReason::InvalidCrl),
    (codes::TERCEL_REFUSED_STAPLE_REJECTED, RefusalReason::StapleRejected),
    (codes::TERCEL_REFUSED_CA_USED_AS_END_ENTITY, RefusalReason::CaUsedAsEndEntity),
    (codes::TERCEL_REFUSED_TRUST_ANCHOR_AS_END_ENTITY, RefusalReason::TrustAnchorAsEndEntity),
    (codes::TERCEL_REFUSED_END_ENTITY_USED_AS_CA, RefusalReason::EndEntityUsedAsCa),
    (codes::TERCEL_REFUSED_NOT_FOR_THIS_USAGE, RefusalReason::NotForThisUsage),
    (codes::TERCEL_REFUSED_NAME_CONSTRAINT, RefusalReason::NameConstraint),
    (codes::TERCEL_REFUSED_PATH_TOO_LONG, RefusalReason::PathTooLong),
    (codes::TERCEL_REFUSED_PATH_LIMITS, RefusalReason::PathLimits),
    (codes::TERCEL_REFUSED_DISTRUSTED, RefusalReason::Distrusted),
    (codes::TERCEL_REFUSED_MISSING_STAPLE, RefusalReason::MissingStaple),
    (codes::TERCEL_REFUSED_STAPLE_REQUIRED, RefusalReason::StapleRequired),
    (codes::TERCEL_REFUSED_STAPLE_MALFORMED, RefusalReason::StapleMalformed),
    (codes::TERCEL_REFUSED_STAPLE_UNSUCCESSFUL, RefusalReason::StapleUnsuccessful),
    (codes::TERCEL_REFUSED_STAPLE_UNTRUSTED, RefusalReason::StapleUntrusted),
    (codes::TERCEL_REFUSED_STAPLE_FOR_OTHER_CERTIFICATE, RefusalReason::StapleForOtherCertificate),
    (
        codes::TERCEL_REFUSED_STAPLE_NOT_YET_VALID,
        RefusalReason::StapleNotYetValid { this_update: EPOCH },
    ),
    (codes::TERCEL_REFUSED_STAPLE_EXPIRED, RefusalReason::StapleExpired { next_update: EPOCH }),
    (codes::TERCEL_REFUSED_STAPLE_UNKNOWN_STATUS, RefusalReason::StapleUnknownStatus),
    (codes::TERCEL_REFUSED_UNTRUSTED_RAW_KEY, RefusalReason::UntrustedRawKey),
    (codes::TERCEL_REFUSED_BY_VERIFIER, RefusalReason::ByVerifier { alert: 0 }),
    (codes::TERCEL_REFUSED_OTHER, RefusalReason::Other),
    (codes::TERCEL_REFUSED_ISSUER_MAY_NOT_CERTIFY, RefusalReason::IssuerMayNotCertify),
    (codes::TERCEL_REFUSED_AUTHORITY_EXPIRED, RefusalReason::AuthorityExpired { not_after: EPOCH }),
    (
        codes::TERCEL_REFUSED_AUTHORITY_NOT_YET_VALID,
        RefusalReason::AuthorityNotYetValid { not_before: EPOCH },
    ),
    (codes::TERCEL_REFUSED_CERTIFICATE_TOO_LARGE, RefusalReason::CertificateTooLarge),
    (codes::TERCEL_REFUSED_UNSUPPORTED_NAME_CONSTRAINT, RefusalReason::UnsupportedNameConstraint),
    (codes::TERCEL_REFUSED_PATH_TOO_DEEP, RefusalReason::PathTooDeep),
    (codes::TERCEL_REFUSED_POLICY_NOT_SATISFIED, RefusalReason::PolicyNotSatisfied),
];

pub(super) const INTERNAL_ERROR: &[(Status, InternalError)] = &[
    (codes::TERCEL_INTERNAL_CRYPTO, InternalError::Crypto(CryptoError::Internal)),
    (codes::TERCEL_INTERNAL_ENCODE, InternalError::Encode),
    (codes::TERCEL_INTERNAL_INTERNAL, InternalError::Internal),
    (codes::TERCEL_INTERNAL_NO_CREDENTIAL, InternalError::NoCredential),
    (codes::TERCEL_INTERNAL_SIGNING_FAILED, InternalError::SigningFailed),
    (codes::TERCEL_INTERNAL_REFUSED_BY_APPLICATION, InternalError::RefusedByApplication),
    (codes::TERCEL_INTERNAL_KEY_EXHAUSTED, InternalError::KeyExhausted),
    (codes::TERCEL_INTERNAL_EARLY_DATA_LIMIT, InternalError::EarlyDataLimit),
    (codes::TERCEL_INTERNAL_CLOSED, InternalError::Closed),
    (codes::TERCEL_INTERNAL_FAILED, InternalError::Failed),
    (codes::TERCEL_INTERNAL_NOT_FIPS, InternalError::NotFips),
    (codes::TERCEL_INTERNAL_NO_CREDENTIAL_SELECTED, InternalError::NoCredentialSelected),
    (codes::TERCEL_INTERNAL_NO_CREDENTIAL_FOR_NAME, InternalError::NoCredentialForName),
];

pub(super) const MISUSE: &[(Status, Misuse)] = &[
    (codes::TERCEL_MISUSE_HANDSHAKE_ENDED, Misuse::HandshakeEnded),
    (codes::TERCEL_MISUSE_WRONG_ANSWER, Misuse::WrongAnswer),
    (codes::TERCEL_MISUSE_QUESTION_OPEN, Misuse::QuestionOpen),
    (codes::TERCEL_MISUSE_OUTPUT_TOO_SMALL, Misuse::OutputTooSmall),
    (codes::TERCEL_MISUSE_WRONG_VERSION, Misuse::WrongVersion),
    (codes::TERCEL_MISUSE_INVALID_ARGUMENT, Misuse::InvalidArgument),
    (codes::TERCEL_MISUSE_NO_POST_HANDSHAKE_AUTH, Misuse::NoPostHandshakeAuth),
    (codes::TERCEL_MISUSE_TOO_MANY_CERTIFICATE_REQUESTS, Misuse::TooManyCertificateRequests),
    (codes::TERCEL_MISUSE_KEY_NOT_LOCAL, Misuse::KeyNotLocal),
    (codes::TERCEL_MISUSE_UNREAD_INPUT, Misuse::UnreadInput),
    (codes::TERCEL_MISUSE_PARTIAL_MESSAGE, Misuse::PartialMessage),
    (codes::TERCEL_MISUSE_CONTROL_PENDING, Misuse::ControlPending),
    (codes::TERCEL_MISUSE_CERTIFICATE_PENDING, Misuse::CertificatePending),
    (codes::TERCEL_MISUSE_KEY_UPDATE_PENDING, Misuse::KeyUpdatePending),
    (codes::TERCEL_MISUSE_NO_EXTENDED_MAIN_SECRET, Misuse::NoExtendedMainSecret),
    (codes::TERCEL_MISUSE_BOUND_TO_FIPS_MODULE, Misuse::BoundToFipsModule),
];

pub(super) const CONFIG_ERROR: &[(Status, ConfigError)] = &[
    (codes::TERCEL_CONFIG_NO_VERSION, ConfigError::NoVersion),
    (codes::TERCEL_CONFIG_UNKNOWN_VERSION, ConfigError::UnknownVersion(ProtocolVersion(0))),
    (codes::TERCEL_CONFIG_NO_CIPHER_SUITE, ConfigError::NoCipherSuite),
    (codes::TERCEL_CONFIG_UNKNOWN_CIPHER_SUITE, ConfigError::UnknownCipherSuite(CipherSuite(0))),
    (codes::TERCEL_CONFIG_NO_GROUP, ConfigError::NoGroup),
    (codes::TERCEL_CONFIG_UNKNOWN_GROUP, ConfigError::UnknownGroup(NamedGroup(0))),
    (codes::TERCEL_CONFIG_BAD_KEY_SHARE, ConfigError::BadKeyShare(NamedGroup(0))),
    (codes::TERCEL_CONFIG_NO_SIGNATURE_SCHEME, ConfigError::NoSignatureScheme),
    (
        codes::TERCEL_CONFIG_UNKNOWN_SIGNATURE_SCHEME,
        ConfigError::UnknownSignatureScheme(SignatureScheme(0)),
    ),
    (codes::TERCEL_CONFIG_NO_VERIFIER, ConfigError::NoVerifier),
    (codes::TERCEL_CONFIG_NO_TRUST_CONFIGURED, ConfigError::NoTrustConfigured),
    (codes::TERCEL_CONFIG_NO_NATIVE_ROOTS, ConfigError::NoNativeRoots),
    (codes::TERCEL_CONFIG_NO_CREDENTIAL, ConfigError::NoCredential),
    (codes::TERCEL_CONFIG_CONFLICTING_CREDENTIALS, ConfigError::ConflictingCredentials),
    (codes::TERCEL_CONFIG_BAD_APPLICATION_PROTOCOL, ConfigError::BadApplicationProtocol),
    (codes::TERCEL_CONFIG_BAD_CERTIFICATE_COMPRESSION, ConfigError::BadCertificateCompression),
    (codes::TERCEL_CONFIG_BAD_CERTIFICATE_TYPES, ConfigError::BadCertificateTypes),
    (codes::TERCEL_CONFIG_UNUSABLE_PRE_SHARED_KEYS, ConfigError::UnusablePreSharedKeys),
    (codes::TERCEL_CONFIG_TOO_MANY_PRE_SHARED_KEYS, ConfigError::TooManyPreSharedKeys),
    (codes::TERCEL_CONFIG_RAW_KEYS_WITH_ASK, ConfigError::RawKeysWithAsk),
    (codes::TERCEL_CONFIG_DIGESTS_CANNOT_BE_VERIFIED, ConfigError::DigestsCannotBeVerified),
    (codes::TERCEL_CONFIG_BAD_FRESHNESS_WINDOW, ConfigError::BadFreshnessWindow),
    (codes::TERCEL_CONFIG_REPLAY_GUARD_TOO_SHORT, ConfigError::ReplayGuardTooShort),
    (codes::TERCEL_CONFIG_BAD_AUTHORITIES, ConfigError::BadAuthorities),
    (codes::TERCEL_CONFIG_BAD_RECORD_SIZE_LIMIT, ConfigError::BadRecordSizeLimit),
    (codes::TERCEL_CONFIG_BAD_MAX_FRAGMENT, ConfigError::BadMaxFragment),
    (codes::TERCEL_CONFIG_RANDOM, ConfigError::Random),
    (codes::TERCEL_CONFIG_NOT_FOR_SERVERS, ConfigError::CredentialNotForServers),
    (codes::TERCEL_CONFIG_NOT_FIPS, ConfigError::NotFips(FipsReason::NotEnforced)),
];

pub(super) const CREDENTIAL_ERROR: &[(Status, CredentialError)] = &[
    (codes::TERCEL_CONFIG_EMPTY_CHAIN, CredentialError::EmptyChain),
    (codes::TERCEL_CONFIG_BAD_CERTIFICATE, CredentialError::BadCertificate),
    (codes::TERCEL_CONFIG_BAD_KEY, CredentialError::BadKey),
    (codes::TERCEL_CONFIG_KEY_MISMATCH, CredentialError::KeyMismatch),
    (codes::TERCEL_CONFIG_BAD_TIMESTAMPS, CredentialError::BadTimestamps),
    (codes::TERCEL_CONFIG_BAD_PUBLIC_KEY, CredentialError::BadPublicKey),
    (codes::TERCEL_CONFIG_BAD_VALIDITY, CredentialError::BadValidity),
    (codes::TERCEL_CONFIG_BAD_ISSUER, CredentialError::BadIssuer(2)),
    (codes::TERCEL_CONFIG_LEAF_NOT_FIRST, CredentialError::LeafNotFirst(2)),
    (codes::TERCEL_CONFIG_NOT_FOR_SERVERS, CredentialError::NotForUsage(Usage::Server)),
];

pub(super) const PEM_ERROR: &[(Status, PemError)] = &[
    (codes::TERCEL_CONFIG_PEM_NOTHING_FOUND, PemError::NothingFound),
    (codes::TERCEL_CONFIG_PEM_ENCRYPTED_KEY, PemError::EncryptedKey),
    (codes::TERCEL_CONFIG_PEM_MALFORMED, PemError::Malformed),
    (codes::TERCEL_CONFIG_PEM_NOT_BASE64, PemError::NotBase64),
    (codes::TERCEL_CONFIG_PEM_NO_END, PemError::NoEnd),
    (codes::TERCEL_CONFIG_PEM_NO_BEGIN, PemError::NoBegin),
    (codes::TERCEL_CONFIG_PEM_UNSUPPORTED_FORM, PemError::UnsupportedForm),
    (codes::TERCEL_CONFIG_PEM_UTF16, PemError::Utf16),
];

pub(super) const PRE_SHARED_KEY_ERROR: &[(Status, PreSharedKeyError)] = &[
    (codes::TERCEL_CONFIG_PSK_BAD_IDENTITY, PreSharedKeyError::BadIdentity),
    (codes::TERCEL_CONFIG_PSK_KEY_TOO_SHORT, PreSharedKeyError::KeyTooShort),
    (codes::TERCEL_CONFIG_PSK_UNSUPPORTED_HASH, PreSharedKeyError::UnsupportedHash),
];

pub(super) const TICKET_KEY_ERROR: &[(Status, TicketKeyError)] = &[
    (codes::TERCEL_CONFIG_TICKET_KEYS_UNKNOWN_VERSION, TicketKeyError::UnknownVersion(0)),
    (codes::TERCEL_CONFIG_TICKET_KEYS_MALFORMED, TicketKeyError::Malformed),
    (codes::TERCEL_CONFIG_TICKET_KEYS_SAME_NAME, TicketKeyError::SameName),
    (codes::TERCEL_CONFIG_TICKET_KEYS_OUT_OF_ORDER, TicketKeyError::OutOfOrder),
];

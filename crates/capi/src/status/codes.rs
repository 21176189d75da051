//! The codes of results. The numbers are part of the ABI: they are never changed, only added.

use super::Status;

/// Success.
pub const TERCEL_OK: Status = 0;

/// The peer violated the protocol, or offers nothing that this configuration accepts.
pub const TERCEL_CLASS_PEER: Status = 1 << 24;
/// The peer sent a fatal alert. The low byte of the status is its number, RFC 9846 6.
pub const TERCEL_CLASS_ALERT: Status = 2 << 24;
/// The peer's certificate was refused. tercel_handshake_error describes why.
pub const TERCEL_CLASS_REFUSED: Status = 3 << 24;
/// The transport ended without close_notify, so received data may be truncated.
pub const TERCEL_CLASS_TRUNCATED: Status = 4 << 24;
/// The peer closed the connection before the handshake was complete.
pub const TERCEL_CLASS_CLOSED: Status = 5 << 24;
/// An operation of this side failed, or this side's configuration lacks a required part.
pub const TERCEL_CLASS_INTERNAL: Status = 6 << 24;
/// The caller made a call that the documentation does not allow.
pub const TERCEL_CLASS_MISUSE: Status = 7 << 24;
/// A value for a configuration cannot be used: a certificate, a key, an option.
pub const TERCEL_CLASS_CONFIG: Status = 8 << 24;

/// The transport ended without close_notify. RFC 9846 6.1
pub const TERCEL_TRUNCATED: Status = TERCEL_CLASS_TRUNCATED | 0x1;
/// The peer closed the connection before the handshake was complete.
pub const TERCEL_CLOSED_IN_HANDSHAKE: Status = TERCEL_CLASS_CLOSED | 0x1;

// PeerError
/// A violation or disagreement without a code of its own.
pub const TERCEL_PEER_OTHER: Status = TERCEL_CLASS_PEER | 0x1ff;
/// A handshake message that is not allowed at this point.
pub const TERCEL_PEER_UNEXPECTED_MESSAGE: Status = TERCEL_CLASS_PEER | 0x1;
/// A record whose content type is not allowed at this point.
pub const TERCEL_PEER_UNEXPECTED_RECORD: Status = TERCEL_CLASS_PEER | 0x2;
/// A record with an unknown content type.
pub const TERCEL_PEER_UNKNOWN_CONTENT_TYPE: Status = TERCEL_CLASS_PEER | 0x3;
/// A record header with a version that is not allowed.
pub const TERCEL_PEER_WRONG_RECORD_VERSION: Status = TERCEL_CLASS_PEER | 0x4;
/// The first bytes received are plain HTTP, not TLS.
pub const TERCEL_PEER_PLAIN_HTTP: Status = TERCEL_CLASS_PEER | 0x5;
/// A record that is longer than RFC 9846 5.1, 5.2 or the negotiated record_size_limit allows.
pub const TERCEL_PEER_RECORD_TOO_LONG: Status = TERCEL_CLASS_PEER | 0x6;
/// A record whose authentication failed.
pub const TERCEL_PEER_BAD_RECORD_MAC: Status = TERCEL_CLASS_PEER | 0x7;
/// A protected record without a content type. RFC 9846 5.4
pub const TERCEL_PEER_MISSING_CONTENT_TYPE: Status = TERCEL_CLASS_PEER | 0x8;
/// Too many consecutive records without content.
pub const TERCEL_PEER_TOO_MANY_EMPTY_RECORDS: Status = TERCEL_CLASS_PEER | 0x9;
/// Too many consecutive warning alerts.
pub const TERCEL_PEER_TOO_MANY_WARNING_ALERTS: Status = TERCEL_CLASS_PEER | 0xa;
/// An alert record that is not two bytes long.
pub const TERCEL_PEER_BAD_ALERT: Status = TERCEL_CLASS_PEER | 0xb;
/// An alert level other than warning and fatal. TLS 1.3 ignores the level.
pub const TERCEL_PEER_ILLEGAL_ALERT_LEVEL: Status = TERCEL_CLASS_PEER | 0xc;
/// A change_cipher_spec that is malformed or not allowed at this point.
pub const TERCEL_PEER_BAD_CHANGE_CIPHER_SPEC: Status = TERCEL_CLASS_PEER | 0xd;
/// More change_cipher_spec records than a handshake can contain.
pub const TERCEL_PEER_TOO_MANY_CHANGE_CIPHER_SPECS: Status = TERCEL_CLASS_PEER | 0xe;
/// Too many consecutive KeyUpdate messages without application data.
pub const TERCEL_PEER_TOO_MANY_KEY_UPDATES: Status = TERCEL_CLASS_PEER | 0xf;
/// Too many unanswered certificate requests of a server. RFC 9846 4.7.2
pub const TERCEL_PEER_TOO_MANY_CERTIFICATE_REQUESTS: Status = TERCEL_CLASS_PEER | 0x10;
/// Another message or record between the messages of a client's post-handshake authentication.
/// RFC 9846 4.7.2
pub const TERCEL_PEER_INTERRUPTED_AUTHENTICATION: Status = TERCEL_CLASS_PEER | 0x11;
/// The server accepted early data but selected other parameters than those of the early data.
/// RFC 9846 4.3.10
pub const TERCEL_PEER_EARLY_DATA_MISMATCH: Status = TERCEL_CLASS_PEER | 0x12;
/// The client sent more early data than a server skips after it has rejected early data. RFC
/// 9846 4.3.10
pub const TERCEL_PEER_TOO_MUCH_SKIPPED_EARLY_DATA: Status = TERCEL_CLASS_PEER | 0x13;
/// A handshake message that spans a change of keys. RFC 9846 5.1
pub const TERCEL_PEER_EXCESS_HANDSHAKE_DATA: Status = TERCEL_CLASS_PEER | 0x14;
/// A record of another type between the fragments of a handshake message. RFC 9846 5.1
pub const TERCEL_PEER_INTERRUPTED_HANDSHAKE_MESSAGE: Status = TERCEL_CLASS_PEER | 0x15;
/// A handshake message longer than the limit for its type.
pub const TERCEL_PEER_MESSAGE_TOO_LONG: Status = TERCEL_CLASS_PEER | 0x16;
/// No protocol version in common.
pub const TERCEL_PEER_UNSUPPORTED_VERSION: Status = TERCEL_CLASS_PEER | 0x17;
/// The server selected a version that was not offered.
pub const TERCEL_PEER_WRONG_VERSION_CHOSEN: Status = TERCEL_CLASS_PEER | 0x18;
/// The server random contains the downgrade sentinel: an attacker may have prevented the use of
/// a newer version that both sides support. RFC 9846 4.2.3
pub const TERCEL_PEER_DOWNGRADE: Status = TERCEL_CLASS_PEER | 0x19;
/// The client sent TLS_FALLBACK_SCSV although both sides support a newer version. RFC 7507
pub const TERCEL_PEER_INAPPROPRIATE_FALLBACK: Status = TERCEL_CLASS_PEER | 0x1a;
/// No cipher suite in common.
pub const TERCEL_PEER_NO_SHARED_CIPHER_SUITE: Status = TERCEL_CLASS_PEER | 0x1b;
/// The server selected a cipher suite that was not offered or is not for this version.
pub const TERCEL_PEER_WRONG_CIPHER_SUITE_CHOSEN: Status = TERCEL_CLASS_PEER | 0x1c;
/// The ServerHello selects another cipher suite than the HelloRetryRequest. RFC 9846 4.2.4
pub const TERCEL_PEER_CIPHER_SUITE_CHANGED_AFTER_RETRY: Status = TERCEL_CLASS_PEER | 0x1d;
/// No key exchange group in common.
pub const TERCEL_PEER_NO_SHARED_GROUP: Status = TERCEL_CLASS_PEER | 0x1e;
/// A group that was not offered, or a key share for a group other than the requested group.
pub const TERCEL_PEER_WRONG_GROUP: Status = TERCEL_CLASS_PEER | 0x1f;
/// A key share that is not valid in its group.
pub const TERCEL_PEER_BAD_KEY_SHARE: Status = TERCEL_CLASS_PEER | 0x20;
/// No signature scheme in common, or no credential that can sign with a common scheme.
pub const TERCEL_PEER_NO_COMMON_SIGNATURE_SCHEME: Status = TERCEL_CLASS_PEER | 0x21;
/// A signature scheme that was not offered or does not match the key.
pub const TERCEL_PEER_WRONG_SIGNATURE_SCHEME: Status = TERCEL_CLASS_PEER | 0x22;
/// A signature that does not verify.
pub const TERCEL_PEER_BAD_SIGNATURE: Status = TERCEL_CLASS_PEER | 0x23;
/// TLS 1.2: a certificate whose key cannot be used with the cipher suite or with the offered
/// groups. RFC 5246 7.4.2, RFC 8422 5.3
pub const TERCEL_PEER_WRONG_CERTIFICATE_TYPE: Status = TERCEL_CLASS_PEER | 0x24;
/// A Finished that does not match the handshake transcript.
pub const TERCEL_PEER_BAD_FINISHED: Status = TERCEL_CLASS_PEER | 0x25;
/// A pre-shared key binder that does not match. RFC 9846 4.3.11
pub const TERCEL_PEER_BAD_BINDER: Status = TERCEL_CLASS_PEER | 0x26;
/// The client offered no known pre-shared key, and the server has no certificate.
pub const TERCEL_PEER_UNKNOWN_PRE_SHARED_KEY: Status = TERCEL_CLASS_PEER | 0x27;
/// The server accepted no pre-shared key of a client that does not accept certificates.
pub const TERCEL_PEER_PRE_SHARED_KEY_DECLINED: Status = TERCEL_CLASS_PEER | 0x28;
/// The server selected a pre-shared key that was not offered. RFC 9846 4.3.11
pub const TERCEL_PEER_WRONG_PRE_SHARED_KEY_CHOSEN: Status = TERCEL_CLASS_PEER | 0x29;
/// No application protocol in common. RFC 7301 3.2
pub const TERCEL_PEER_NO_APPLICATION_PROTOCOL: Status = TERCEL_CLASS_PEER | 0x2a;
/// The server selected an application protocol that was not offered.
pub const TERCEL_PEER_WRONG_APPLICATION_PROTOCOL: Status = TERCEL_CLASS_PEER | 0x2b;
/// The client requested a server name for which there is no credential. RFC 6066 3
pub const TERCEL_PEER_UNRECOGNIZED_NAME: Status = TERCEL_CLASS_PEER | 0x2c;
/// An extension in a message where it is not allowed, or an extension that responds to no
/// request.
pub const TERCEL_PEER_UNEXPECTED_EXTENSION: Status = TERCEL_CLASS_PEER | 0x2d;
/// A ClientHello without a mandatory extension. RFC 9846 9.2
pub const TERCEL_PEER_MISSING_EXTENSION: Status = TERCEL_CLASS_PEER | 0x2e;
/// A server's message without a mandatory extension.
pub const TERCEL_PEER_MISSING_SERVER_EXTENSION: Status = TERCEL_CLASS_PEER | 0x2f;
/// TLS 1.3: the client sent no certificate, but one is required.
pub const TERCEL_PEER_CERTIFICATE_REQUIRED: Status = TERCEL_CLASS_PEER | 0x30;
/// A server sent an empty Certificate.
pub const TERCEL_PEER_EMPTY_CERTIFICATE: Status = TERCEL_CLASS_PEER | 0x31;
/// A second HelloRetryRequest. RFC 9846 4.2.4
pub const TERCEL_PEER_SECOND_RETRY: Status = TERCEL_CLASS_PEER | 0x32;
/// A HelloRetryRequest that would not change the ClientHello. RFC 9846 4.2.4
pub const TERCEL_PEER_UNNECESSARY_RETRY: Status = TERCEL_CLASS_PEER | 0x33;
/// The second ClientHello differs from the first in more than is allowed. RFC 9846 4.2.2
pub const TERCEL_PEER_SECOND_HELLO_CHANGED: Status = TERCEL_CLASS_PEER | 0x34;
/// The server did not echo the session ID. RFC 9846 4.2.3
pub const TERCEL_PEER_SESSION_ID_NOT_ECHOED: Status = TERCEL_CLASS_PEER | 0x35;
/// A compression method other than null.
pub const TERCEL_PEER_COMPRESSION: Status = TERCEL_CLASS_PEER | 0x36;
/// A field, such as legacy_version, with a value that its RFC does not allow.
pub const TERCEL_PEER_ILLEGAL_PARAMETER: Status = TERCEL_CLASS_PEER | 0x37;
/// A renegotiation_info with a content that is not allowed in an initial handshake. RFC 5746
/// 3.4, 3.6
pub const TERCEL_PEER_RENEGOTIATION_MISMATCH: Status = TERCEL_CLASS_PEER | 0x38;
/// The server does not support renegotiation_info, which the configuration requires. RFC 5746
/// 4.1
pub const TERCEL_PEER_UNSAFE_LEGACY_RENEGOTIATION: Status = TERCEL_CLASS_PEER | 0x39;
/// The peer requested renegotiation after several refusals, or after this side's close_notify,
/// when no refusal can be sent any more. RFC 5246 7.2.2
pub const TERCEL_PEER_RENEGOTIATION: Status = TERCEL_CLASS_PEER | 0x3a;
/// The peer does not support the extended main secret, which the configuration requires. RFC
/// 7627
pub const TERCEL_PEER_EXTENDED_MAIN_SECRET_REQUIRED: Status = TERCEL_CLASS_PEER | 0x3b;
/// TLS 1.2: the client sent no certificate, but one is required. This version has no
/// certificate_required alert.
pub const TERCEL_PEER_CERTIFICATE_REQUIRED_TLS12: Status = TERCEL_CLASS_PEER | 0x3c;
/// A session with the extended main secret is resumed without it, or vice versa. RFC 7627 5.3
pub const TERCEL_PEER_EXTENDED_MAIN_SECRET_LOST: Status = TERCEL_CLASS_PEER | 0x3d;
/// Early data was offered, but the server selected a version without early data. RFC 9846 E.3
pub const TERCEL_PEER_WRONG_VERSION_FOR_EARLY_DATA: Status = TERCEL_CLASS_PEER | 0x3e;
/// A certificate_request_context that does not match a request, or a request that reuses a
/// context. RFC 9846 4.5.1, 4.4.2
pub const TERCEL_PEER_WRONG_CERTIFICATE_CONTEXT: Status = TERCEL_CLASS_PEER | 0x3f;
/// A certificate compressed with an algorithm that was not offered. RFC 8879 4
pub const TERCEL_PEER_UNKNOWN_CERTIFICATE_COMPRESSION: Status = TERCEL_CLASS_PEER | 0x40;
/// A compressed certificate whose uncompressed_length exceeds the limit. RFC 8879 5
pub const TERCEL_PEER_UNCOMPRESSED_CERTIFICATE_TOO_LONG: Status = TERCEL_CLASS_PEER | 0x41;
/// A compressed certificate that is malformed, or whose decompressed length is not its
/// uncompressed_length. RFC 8879 4
pub const TERCEL_PEER_BAD_COMPRESSED_CERTIFICATE: Status = TERCEL_CLASS_PEER | 0x42;
/// A certificate type extension that lists only X.509. Such an extension must be omitted. RFC
/// 7250 4.1
pub const TERCEL_PEER_UNNECESSARY_CERTIFICATE_TYPE: Status = TERCEL_CLASS_PEER | 0x43;
/// No certificate type in common, or a selected certificate type that was not offered. RFC 7250
/// 4.2
pub const TERCEL_PEER_NO_COMMON_CERTIFICATE_TYPE: Status = TERCEL_CLASS_PEER | 0x44;
/// A malformed raw public key, or more than one raw public key. RFC 7250 3, RFC 9846 4.5.1
pub const TERCEL_PEER_BAD_RAW_PUBLIC_KEY: Status = TERCEL_CLASS_PEER | 0x45;
/// A ticket lifetime of more than seven days. RFC 9846 4.7.1
pub const TERCEL_PEER_BAD_TICKET_LIFETIME: Status = TERCEL_CLASS_PEER | 0x46;
/// More early data than the ticket allows. RFC 9846 4.3.10
pub const TERCEL_PEER_TOO_MUCH_EARLY_DATA: Status = TERCEL_CLASS_PEER | 0x47;

// DecodeError: a malformed message
/// A malformed message without a code of its own.
pub const TERCEL_PEER_DECODE_OTHER: Status = TERCEL_CLASS_PEER | 0x2ff;
/// A field or vector extends beyond the end of the structure that contains it.
pub const TERCEL_PEER_DECODE_TRUNCATED: Status = TERCEL_CLASS_PEER | 0x201;
/// Bytes are left after a complete structure.
pub const TERCEL_PEER_DECODE_TRAILING_DATA: Status = TERCEL_CLASS_PEER | 0x202;
/// A vector is shorter than its minimum or longer than its maximum.
pub const TERCEL_PEER_DECODE_INVALID_LENGTH: Status = TERCEL_CLASS_PEER | 0x203;
/// A list that requires an entry is empty.
pub const TERCEL_PEER_DECODE_EMPTY_LIST: Status = TERCEL_CLASS_PEER | 0x204;
/// An extension block has two extensions of this type.
pub const TERCEL_PEER_DECODE_DUPLICATE_EXTENSION: Status = TERCEL_CLASS_PEER | 0x205;
/// Two key shares are for this group.
pub const TERCEL_PEER_DECODE_DUPLICATE_KEY_SHARE: Status = TERCEL_CLASS_PEER | 0x206;
/// A certificate compression algorithm is listed twice.
pub const TERCEL_PEER_DECODE_DUPLICATE_COMPRESSION_ALGORITHM: Status = TERCEL_CLASS_PEER | 0x207;
/// A server_name extension has two names of one type.
pub const TERCEL_PEER_DECODE_DUPLICATE_SERVER_NAME: Status = TERCEL_CLASS_PEER | 0x208;
/// The host name in server_name is neither a DNS name nor an IP address.
pub const TERCEL_PEER_DECODE_INVALID_HOST_NAME: Status = TERCEL_CLASS_PEER | 0x209;
/// A server's ALPN response does not have exactly one protocol.
pub const TERCEL_PEER_DECODE_INVALID_PROTOCOL_SELECTION: Status = TERCEL_CLASS_PEER | 0x20a;
/// pre_shared_key is not the last extension of its ClientHello.
pub const TERCEL_PEER_DECODE_PSK_NOT_LAST: Status = TERCEL_CLASS_PEER | 0x20b;
/// pre_shared_key does not have one binder for each identity.
pub const TERCEL_PEER_DECODE_PSK_BINDER_COUNT: Status = TERCEL_CLASS_PEER | 0x20c;
/// record_size_limit is under 64.
pub const TERCEL_PEER_DECODE_INVALID_RECORD_SIZE_LIMIT: Status = TERCEL_CLASS_PEER | 0x20d;
/// A set of flags is padded: its last byte is zero.
pub const TERCEL_PEER_DECODE_PADDED_FLAGS: Status = TERCEL_CLASS_PEER | 0x20e;
/// A key_update has a value that is neither update_not_requested nor update_requested.
pub const TERCEL_PEER_DECODE_INVALID_KEY_UPDATE: Status = TERCEL_CLASS_PEER | 0x20f;
/// A server's key exchange is not over a named curve.
pub const TERCEL_PEER_DECODE_INVALID_CURVE_TYPE: Status = TERCEL_CLASS_PEER | 0x210;
/// A certificate status is of a type other than OCSP.
pub const TERCEL_PEER_DECODE_INVALID_CERTIFICATE_STATUS_TYPE: Status = TERCEL_CLASS_PEER | 0x211;
/// A ClientHello lacks the null compression method, or a ServerHello selects another one.
pub const TERCEL_PEER_DECODE_INVALID_COMPRESSION_METHOD: Status = TERCEL_CLASS_PEER | 0x212;
/// The list of point formats lacks the uncompressed format.
pub const TERCEL_PEER_DECODE_INVALID_POINT_FORMATS: Status = TERCEL_CLASS_PEER | 0x213;

// RefusalReason
/// The chain is empty. 5.1.3).
pub const TERCEL_REFUSED_EMPTY_CHAIN: Status = TERCEL_CLASS_REFUSED | 0x1;
/// A certificate is not well-formed.
pub const TERCEL_REFUSED_BAD_ENCODING: Status = TERCEL_CLASS_REFUSED | 0x2;
/// A certificate is not of version 3.
pub const TERCEL_REFUSED_UNSUPPORTED_VERSION: Status = TERCEL_CLASS_REFUSED | 0x3;
/// A certificate has an unknown critical extension.
pub const TERCEL_REFUSED_UNSUPPORTED_CRITICAL_EXTENSION: Status = TERCEL_CLASS_REFUSED | 0x4;
/// A certificate has expired.
pub const TERCEL_REFUSED_EXPIRED: Status = TERCEL_CLASS_REFUSED | 0x5;
/// A certificate is not yet valid.
pub const TERCEL_REFUSED_NOT_YET_VALID: Status = TERCEL_CLASS_REFUSED | 0x6;
/// A certificate's validity ends before it begins.
pub const TERCEL_REFUSED_INVALID_VALIDITY: Status = TERCEL_CLASS_REFUSED | 0x7;
/// The leaf is not valid for the requested name.
pub const TERCEL_REFUSED_NAME_MISMATCH: Status = TERCEL_CLASS_REFUSED | 0x8;
/// No path leads from the leaf to a trust anchor: an unknown authority or a missing
/// intermediate.
pub const TERCEL_REFUSED_UNKNOWN_ISSUER: Status = TERCEL_CLASS_REFUSED | 0x9;
/// The leaf is self-signed and neither a trust anchor nor pinned.
pub const TERCEL_REFUSED_SELF_SIGNED: Status = TERCEL_CLASS_REFUSED | 0xa;
/// A certificate's signature does not verify.
pub const TERCEL_REFUSED_BAD_SIGNATURE: Status = TERCEL_CLASS_REFUSED | 0xb;
/// A certificate is signed with MD5 or SHA-1. 5.1.3).
pub const TERCEL_REFUSED_WEAK_SIGNATURE_ALGORITHM: Status = TERCEL_CLASS_REFUSED | 0xc;
/// A certificate is signed with an algorithm that is unknown or disabled.
pub const TERCEL_REFUSED_UNSUPPORTED_SIGNATURE_ALGORITHM: Status = TERCEL_CLASS_REFUSED | 0xd;
/// A key is of an unknown kind, an EC key does not name its curve, or an issuer's key is of a kind
/// that cannot make the signature.
pub const TERCEL_REFUSED_UNSUPPORTED_KEY: Status = TERCEL_CLASS_REFUSED | 0xe;
/// The leaf's key usage does not allow its key to sign a handshake.
pub const TERCEL_REFUSED_KEY_MAY_NOT_SIGN: Status = TERCEL_CLASS_REFUSED | 0xf;
/// A key of the chain is not acceptable: it is an RSA key outside 2048 to 8192 bits, or a point
/// that is not on its curve.
pub const TERCEL_REFUSED_INVALID_KEY: Status = TERCEL_CLASS_REFUSED | 0x10;
/// A certificate of the path was revoked.
pub const TERCEL_REFUSED_REVOKED: Status = TERCEL_CLASS_REFUSED | 0x11;
/// No revocation list covers a certificate of the path, and the policy requires one.
pub const TERCEL_REFUSED_UNKNOWN_REVOCATION_STATUS: Status = TERCEL_CLASS_REFUSED | 0x12;
/// The revocation list is past its nextUpdate.
pub const TERCEL_REFUSED_CRL_EXPIRED: Status = TERCEL_CLASS_REFUSED | 0x13;
/// The revocation list is not valid: bad signature, wrong signer or an unsupported form.
pub const TERCEL_REFUSED_INVALID_CRL: Status = TERCEL_CLASS_REFUSED | 0x14;
/// The verifier does not accept the stapled OCSP response.
pub const TERCEL_REFUSED_STAPLE_REJECTED: Status = TERCEL_CLASS_REFUSED | 0x15;
/// The leaf is a CA certificate. Only an answer of the program to VERIFY_PEER refuses it.
pub const TERCEL_REFUSED_CA_USED_AS_END_ENTITY: Status = TERCEL_CLASS_REFUSED | 0x16;
/// The leaf is itself a trust anchor. Only an answer of the program to VERIFY_PEER refuses it.
pub const TERCEL_REFUSED_TRUST_ANCHOR_AS_END_ENTITY: Status = TERCEL_CLASS_REFUSED | 0x17;
/// The issuer of a certificate is not a CA certificate.
pub const TERCEL_REFUSED_END_ENTITY_USED_AS_CA: Status = TERCEL_CLASS_REFUSED | 0x18;
/// The extended key usage of a certificate, or of the trusted authority's own certificate, does not
/// allow it to authenticate a server, or a client.
pub const TERCEL_REFUSED_NOT_FOR_THIS_USAGE: Status = TERCEL_CLASS_REFUSED | 0x19;
/// A name violates an issuer's name constraints.
pub const TERCEL_REFUSED_NAME_CONSTRAINT: Status = TERCEL_CLASS_REFUSED | 0x1a;
/// The path below a CA certificate is longer than its path length constraint.
pub const TERCEL_REFUSED_PATH_TOO_LONG: Status = TERCEL_CLASS_REFUSED | 0x1b;
/// The chain exceeds the limits on path building.
pub const TERCEL_REFUSED_PATH_LIMITS: Status = TERCEL_CLASS_REFUSED | 0x1c;
/// A key of the path is on the list of compromised keys.
pub const TERCEL_REFUSED_DISTRUSTED: Status = TERCEL_CLASS_REFUSED | 0x1d;
/// The leaf requires a stapled OCSP response (RFC 7633), and the peer sent no response although
/// it was requested.
pub const TERCEL_REFUSED_MISSING_STAPLE: Status = TERCEL_CLASS_REFUSED | 0x1e;
/// The policy requires a stapled OCSP response, and there is no response.
pub const TERCEL_REFUSED_STAPLE_REQUIRED: Status = TERCEL_CLASS_REFUSED | 0x1f;
/// The stapled OCSP response is malformed or of an unsupported form.
pub const TERCEL_REFUSED_STAPLE_MALFORMED: Status = TERCEL_CLASS_REFUSED | 0x20;
/// The stapled OCSP response is an error response of the responder.
pub const TERCEL_REFUSED_STAPLE_UNSUCCESSFUL: Status = TERCEL_CLASS_REFUSED | 0x21;
/// The stapled OCSP response is not signed by the leaf's issuer or its delegated responder, or
/// not with an accepted algorithm.
pub const TERCEL_REFUSED_STAPLE_UNTRUSTED: Status = TERCEL_CLASS_REFUSED | 0x22;
/// The stapled OCSP response does not cover the leaf.
pub const TERCEL_REFUSED_STAPLE_FOR_OTHER_CERTIFICATE: Status = TERCEL_CLASS_REFUSED | 0x23;
/// The stapled OCSP response is not yet valid.
pub const TERCEL_REFUSED_STAPLE_NOT_YET_VALID: Status = TERCEL_CLASS_REFUSED | 0x24;
/// The stapled OCSP response has expired.
pub const TERCEL_REFUSED_STAPLE_EXPIRED: Status = TERCEL_CLASS_REFUSED | 0x25;
/// The stapled OCSP response has the status "unknown" for the leaf.
pub const TERCEL_REFUSED_STAPLE_UNKNOWN_STATUS: Status = TERCEL_CLASS_REFUSED | 0x26;
/// A raw public key (RFC 7250) is not one of the trusted keys.
pub const TERCEL_REFUSED_UNTRUSTED_RAW_KEY: Status = TERCEL_CLASS_REFUSED | 0x27;
/// A verifier's own reason. The third byte of the status is the alert to send, see RFC 9846 6.2: an
/// answer is TERCEL_REFUSED_BY_VERIFIER | alert << 16. If no peer may
/// be refused with that alert, certificate_unknown is sent.
pub const TERCEL_REFUSED_BY_VERIFIER: Status = TERCEL_CLASS_REFUSED | 0x28;
/// Any other error of path building.
pub const TERCEL_REFUSED_OTHER: Status = TERCEL_CLASS_REFUSED | 0x29;
/// The issuer of a certificate is a CA certificate whose key usage does not allow its key to sign
/// certificates (RFC 5280 6.1.4 n).
pub const TERCEL_REFUSED_ISSUER_MAY_NOT_CERTIFY: Status = TERCEL_CLASS_REFUSED | 0x2a;
/// The trusted authority's own certificate has expired.
pub const TERCEL_REFUSED_AUTHORITY_EXPIRED: Status = TERCEL_CLASS_REFUSED | 0x2b;
/// The trusted authority's own certificate is not yet valid.
pub const TERCEL_REFUSED_AUTHORITY_NOT_YET_VALID: Status = TERCEL_CLASS_REFUSED | 0x2c;
/// A certificate is larger than 64 KiB.
pub const TERCEL_REFUSED_CERTIFICATE_TOO_LARGE: Status = TERCEL_CLASS_REFUSED | 0x2d;
/// The name constraints of an authority cannot be checked: their form is not supported, such as
/// registeredID, or a constrained name is malformed.
pub const TERCEL_REFUSED_UNSUPPORTED_NAME_CONSTRAINT: Status = TERCEL_CLASS_REFUSED | 0x2e;
/// A path is longer than path building supports.
pub const TERCEL_REFUSED_PATH_TOO_DEEP: Status = TERCEL_CLASS_REFUSED | 0x2f;
/// An authority of the chain requires a certificate policy (RFC 5280 6.1), and none is valid for
/// the whole chain.
pub const TERCEL_REFUSED_POLICY_NOT_SATISFIED: Status = TERCEL_CLASS_REFUSED | 0x30;

// InternalError
/// A failure without a code of its own.
pub const TERCEL_INTERNAL_OTHER: Status = TERCEL_CLASS_INTERNAL | 0xff;
/// A cryptographic operation failed for a reason that the peer did not cause.
pub const TERCEL_INTERNAL_CRYPTO: Status = TERCEL_CLASS_INTERNAL | 0x1;
/// A message to be sent is longer than its length fields can express.
pub const TERCEL_INTERNAL_ENCODE: Status = TERCEL_CLASS_INTERNAL | 0x2;
/// A condition that this library guarantees does not hold, which is a bug in the library.
pub const TERCEL_INTERNAL_INTERNAL: Status = TERCEL_CLASS_INTERNAL | 0x3;
/// The configuration lacks a credential, or a verifier of certificates.
pub const TERCEL_INTERNAL_NO_CREDENTIAL: Status = TERCEL_CLASS_INTERNAL | 0x4;
/// Signing with the private key failed.
pub const TERCEL_INTERNAL_SIGNING_FAILED: Status = TERCEL_CLASS_INTERNAL | 0x5;
/// The application refused the connection in its answer to a question.
pub const TERCEL_INTERNAL_REFUSED_BY_APPLICATION: Status = TERCEL_CLASS_INTERNAL | 0x6;
/// The sequence numbers of a key or the allowed key updates are used up. RFC 9846 5.3, 4.7.3
pub const TERCEL_INTERNAL_KEY_EXHAUSTED: Status = TERCEL_CLASS_INTERNAL | 0x7;
/// The ticket's limit of early data is reached. RFC 9846 4.3.10
pub const TERCEL_INTERNAL_EARLY_DATA_LIMIT: Status = TERCEL_CLASS_INTERNAL | 0x8;
/// This side has already closed the connection.
pub const TERCEL_INTERNAL_CLOSED: Status = TERCEL_CLASS_INTERNAL | 0x9;
/// An earlier error ended this connection.
pub const TERCEL_INTERNAL_FAILED: Status = TERCEL_CLASS_INTERNAL | 0xa;
/// TERCEL_OPTION_FIPS is on, and a credential or a configuration that was chosen for this
/// connection is not approved.
pub const TERCEL_INTERNAL_NOT_FIPS: Status = TERCEL_CLASS_INTERNAL | 0xb;
/// Server: the application selected no credential for the client.
pub const TERCEL_INTERNAL_NO_CREDENTIAL_SELECTED: Status = TERCEL_CLASS_INTERNAL | 0xc;
/// Server: the application does not know the server name that the client requests.
pub const TERCEL_INTERNAL_NO_CREDENTIAL_FOR_NAME: Status = TERCEL_CLASS_INTERNAL | 0xd;

// Codes without an error of the core
/// A function ended in a panic, which is a bug of the library. The handles that it used only return
/// this status from then on; free them.
pub const TERCEL_INTERNAL_PANIC: Status = TERCEL_CLASS_INTERNAL | 0x101;

// Misuse
/// The handshake has ended, successfully or with an error.
pub const TERCEL_MISUSE_HANDSHAKE_ENDED: Status = TERCEL_CLASS_MISUSE | 0x1;
/// No question is open, or one of another kind.
pub const TERCEL_MISUSE_WRONG_ANSWER: Status = TERCEL_CLASS_MISUSE | 0x2;
/// A question is open, and has to be answered first.
pub const TERCEL_MISUSE_QUESTION_OPEN: Status = TERCEL_CLASS_MISUSE | 0x3;
/// The output buffer is too small for one record.
pub const TERCEL_MISUSE_OUTPUT_TOO_SMALL: Status = TERCEL_CLASS_MISUSE | 0x4;
/// The negotiated version does not have this operation.
pub const TERCEL_MISUSE_WRONG_VERSION: Status = TERCEL_CLASS_MISUSE | 0x5;
/// A length or value outside the documented range.
pub const TERCEL_MISUSE_INVALID_ARGUMENT: Status = TERCEL_CLASS_MISUSE | 0x6;
/// The client did not offer post-handshake authentication, or the configuration has no verifier
/// for clients. RFC 9846 4.7.2
pub const TERCEL_MISUSE_NO_POST_HANDSHAKE_AUTH: Status = TERCEL_CLASS_MISUSE | 0x7;
/// Too many certificate requests are unanswered.
pub const TERCEL_MISUSE_TOO_MANY_CERTIFICATE_REQUESTS: Status = TERCEL_CLASS_MISUSE | 0x8;
/// The private key of this credential is remote and cannot sign during the call.
pub const TERCEL_MISUSE_KEY_NOT_LOCAL: Status = TERCEL_CLASS_MISUSE | 0x9;
/// The connection cannot be exported while received bytes are unread.
pub const TERCEL_MISUSE_UNREAD_INPUT: Status = TERCEL_CLASS_MISUSE | 0xa;
/// The connection cannot be exported in the middle of a handshake message.
pub const TERCEL_MISUSE_PARTIAL_MESSAGE: Status = TERCEL_CLASS_MISUSE | 0xb;
/// The connection cannot be exported while messages are pending.
pub const TERCEL_MISUSE_CONTROL_PENDING: Status = TERCEL_CLASS_MISUSE | 0xc;
/// The connection cannot be exported or saved, because this client may still receive a
/// post-handshake certificate request, or because this server's request is unanswered.
pub const TERCEL_MISUSE_CERTIFICATE_PENDING: Status = TERCEL_CLASS_MISUSE | 0xd;
/// The connection cannot be exported while a key update requested from the peer is outstanding.
pub const TERCEL_MISUSE_KEY_UPDATE_PENDING: Status = TERCEL_CLASS_MISUSE | 0xe;
/// TLS 1.2: keying material cannot be exported without the extended main secret. RFC 7627 5.4
pub const TERCEL_MISUSE_NO_EXTENDED_MAIN_SECRET: Status = TERCEL_CLASS_MISUSE | 0xf;
/// With the feature `fips`, a TLS 1.3 connection with AES-GCM cannot be saved or exported.
pub const TERCEL_MISUSE_BOUND_TO_FIPS_MODULE: Status = TERCEL_CLASS_MISUSE | 0x10;

// Codes without an error of the core
/// A pointer is NULL where that is not allowed.
pub const TERCEL_MISUSE_NULL_POINTER: Status = TERCEL_CLASS_MISUSE | 0x101;
/// A length is zero where that is not allowed.
pub const TERCEL_MISUSE_ZERO_LENGTH: Status = TERCEL_CLASS_MISUSE | 0x102;
/// Another thread is using the handle, or a callback uses the handle that called it.
pub const TERCEL_MISUSE_HANDLE_IN_USE: Status = TERCEL_CLASS_MISUSE | 0x103;
/// The number of an option, list, field or fact is unknown, or is not for this side.
pub const TERCEL_MISUSE_UNKNOWN_NUMBER: Status = TERCEL_CLASS_MISUSE | 0x104;
/// The configuration is for the other side: a client's for a server, or vice versa.
pub const TERCEL_MISUSE_WRONG_SIDE: Status = TERCEL_CLASS_MISUSE | 0x105;
/// The handshake has no connection to take: it is not complete, or the connection was taken.
pub const TERCEL_MISUSE_NO_CONNECTION: Status = TERCEL_CLASS_MISUSE | 0x106;
/// No question of the kind that this function is for is open.
pub const TERCEL_MISUSE_NO_SUCH_QUESTION: Status = TERCEL_CLASS_MISUSE | 0x107;
/// Early data cannot be sent, or not at this point of the handshake.
pub const TERCEL_MISUSE_NO_EARLY_DATA: Status = TERCEL_CLASS_MISUSE | 0x108;
/// The configuration's sessions are not TERCEL_SESSIONS_GIVEN, or the handshake has begun.
pub const TERCEL_MISUSE_SESSIONS_NOT_GIVEN: Status = TERCEL_CLASS_MISUSE | 0x109;
/// The connection was split, and this half does not have this operation.
pub const TERCEL_MISUSE_WRONG_HALF: Status = TERCEL_CLASS_MISUSE | 0x10a;
/// There is no certificate request to answer.
pub const TERCEL_MISUSE_NO_CERTIFICATE_REQUEST: Status = TERCEL_CLASS_MISUSE | 0x10b;
/// Memory that the function writes to, or memory of a handle that it changes, overlaps other memory
/// that the caller passes.
pub const TERCEL_MISUSE_OVERLAP: Status = TERCEL_CLASS_MISUSE | 0x10c;

// ConfigError
/// An unusable value without a code of its own.
pub const TERCEL_CONFIG_OTHER: Status = TERCEL_CLASS_CONFIG | 0xff;
/// versions is empty.
pub const TERCEL_CONFIG_NO_VERSION: Status = TERCEL_CLASS_CONFIG | 0x1;
/// versions contains a version other than TLS 1.2 and TLS 1.3.
pub const TERCEL_CONFIG_UNKNOWN_VERSION: Status = TERCEL_CLASS_CONFIG | 0x2;
/// cipher_suites contains no suite for the enabled versions.
pub const TERCEL_CONFIG_NO_CIPHER_SUITE: Status = TERCEL_CLASS_CONFIG | 0x3;
/// cipher_suites contains a suite that is not implemented.
pub const TERCEL_CONFIG_UNKNOWN_CIPHER_SUITE: Status = TERCEL_CLASS_CONFIG | 0x4;
/// groups is empty.
pub const TERCEL_CONFIG_NO_GROUP: Status = TERCEL_CLASS_CONFIG | 0x5;
/// groups contains a group that is not implemented.
pub const TERCEL_CONFIG_UNKNOWN_GROUP: Status = TERCEL_CLASS_CONFIG | 0x6;
/// key_shares contains a group that is not enabled, or one group twice. RFC 9846 4.3.8
pub const TERCEL_CONFIG_BAD_KEY_SHARE: Status = TERCEL_CLASS_CONFIG | 0x7;
/// signature_schemes or certificate_signature_schemes is empty.
pub const TERCEL_CONFIG_NO_SIGNATURE_SCHEME: Status = TERCEL_CLASS_CONFIG | 0x8;
/// signature_schemes contains a scheme that cannot be verified.
pub const TERCEL_CONFIG_UNKNOWN_SIGNATURE_SCHEME: Status = TERCEL_CLASS_CONFIG | 0x9;
/// A client has neither roots nor pre-shared keys, and does not ask TERCEL_ASK_VERIFY_PEER.
pub const TERCEL_CONFIG_NO_VERIFIER: Status = TERCEL_CLASS_CONFIG | 0xa;
/// A set of roots is empty, or a server that requests certificates has no roots.
pub const TERCEL_CONFIG_NO_TRUST_CONFIGURED: Status = TERCEL_CLASS_CONFIG | 0xb;
/// The platform's root certificates cannot be read.
pub const TERCEL_CONFIG_NO_NATIVE_ROOTS: Status = TERCEL_CLASS_CONFIG | 0xc;
/// A server has no credential and no pre-shared key, and does not ask for them.
pub const TERCEL_CONFIG_NO_CREDENTIAL: Status = TERCEL_CLASS_CONFIG | 0xd;
/// A server has two sources of credentials.
pub const TERCEL_CONFIG_CONFLICTING_CREDENTIALS: Status = TERCEL_CLASS_CONFIG | 0xe;
/// alpn contains a name that is empty or longer than 255 bytes, or is longer than 65535 bytes
/// in total. RFC 7301 3.1
pub const TERCEL_CONFIG_BAD_APPLICATION_PROTOCOL: Status = TERCEL_CLASS_CONFIG | 0xf;
/// certificate_compression contains two algorithms with the same code point, or more than 127
/// algorithms.
pub const TERCEL_CONFIG_BAD_CERTIFICATE_COMPRESSION: Status = TERCEL_CLASS_CONFIG | 0x10;
/// server_certificate_types or client_certificate_types contains something other than X.509,
/// raw public key, or both. RFC 7250
pub const TERCEL_CONFIG_BAD_CERTIFICATE_TYPES: Status = TERCEL_CLASS_CONFIG | 0x11;
/// There are pre-shared keys, but TLS 1.3 is not enabled or, on a client, no enabled cipher suite
/// has the hash of any of the keys.
pub const TERCEL_CONFIG_UNUSABLE_PRE_SHARED_KEYS: Status = TERCEL_CLASS_CONFIG | 0x12;
/// A client's pre-shared keys have two equal identities, are more than 16, or have more than 32768
/// bytes of identities.
pub const TERCEL_CONFIG_TOO_MANY_PRE_SHARED_KEYS: Status = TERCEL_CLASS_CONFIG | 0x13;
/// Trusted raw public keys have no effect, because the caller verifies peers.
pub const TERCEL_CONFIG_RAW_KEYS_WITH_ASK: Status = TERCEL_CLASS_CONFIG | 0x14;
/// store_only_certificate_digests and verify_resumed are both on, but a digest cannot be
/// verified again.
pub const TERCEL_CONFIG_DIGESTS_CANNOT_BE_VERIFIED: Status = TERCEL_CLASS_CONFIG | 0x15;
/// freshness_window is not a whole number of seconds from 2 to 60. RFC 9846 8.3
pub const TERCEL_CONFIG_BAD_FRESHNESS_WINDOW: Status = TERCEL_CLASS_CONFIG | 0x16;
/// The replay guard remembers values for less time than the freshness window needs. RFC 9846 8.2
pub const TERCEL_CONFIG_REPLAY_GUARD_TOO_SHORT: Status = TERCEL_CLASS_CONFIG | 0x17;
/// certificate_authorities contains an empty name, or is longer than 32768 bytes in total, or for
/// a server 64512. RFC 9846 4.3.4
pub const TERCEL_CONFIG_BAD_AUTHORITIES: Status = TERCEL_CLASS_CONFIG | 0x18;
/// record_size_limit is not in the range 64 to 16385. RFC 8449 4
pub const TERCEL_CONFIG_BAD_RECORD_SIZE_LIMIT: Status = TERCEL_CLASS_CONFIG | 0x19;
/// max_fragment is not in the range 64 to 16384.
pub const TERCEL_CONFIG_BAD_MAX_FRAGMENT: Status = TERCEL_CLASS_CONFIG | 0x1a;
/// The random generator failed.
pub const TERCEL_CONFIG_RANDOM: Status = TERCEL_CLASS_CONFIG | 0x1b;
/// TERCEL_OPTION_FIPS is on, and the configuration is not approved; tercel_config_builder_error has
/// the reason.
pub const TERCEL_CONFIG_NOT_FIPS: Status = TERCEL_CLASS_CONFIG | 0x1c;

// CredentialError
/// The chain contains no certificate.
pub const TERCEL_CONFIG_EMPTY_CHAIN: Status = TERCEL_CLASS_CONFIG | 0x201;
/// The leaf certificate cannot be parsed.
pub const TERCEL_CONFIG_BAD_CERTIFICATE: Status = TERCEL_CLASS_CONFIG | 0x202;
/// The private key cannot be parsed, or its type or size is not supported.
pub const TERCEL_CONFIG_BAD_KEY: Status = TERCEL_CLASS_CONFIG | 0x203;
/// The private key does not match the leaf certificate or raw public key.
pub const TERCEL_CONFIG_KEY_MISMATCH: Status = TERCEL_CLASS_CONFIG | 0x204;
/// The list of signed certificate timestamps is malformed or empty.
pub const TERCEL_CONFIG_BAD_TIMESTAMPS: Status = TERCEL_CLASS_CONFIG | 0x205;
/// The raw public key cannot be parsed, or its type or size is not supported.
pub const TERCEL_CONFIG_BAD_PUBLIC_KEY: Status = TERCEL_CLASS_CONFIG | 0x206;
/// The validity of the leaf certificate is malformed.
pub const TERCEL_CONFIG_BAD_VALIDITY: Status = TERCEL_CLASS_CONFIG | 0x207;
/// The key usage of the leaf certificate does not allow signing handshakes.
pub const TERCEL_CONFIG_KEY_MAY_NOT_SIGN: Status = TERCEL_CLASS_CONFIG | 0x208;
/// The key of the leaf certificate is of a kind, on a curve, or of a size that is not supported.
pub const TERCEL_CONFIG_UNSUPPORTED_LEAF_KEY: Status = TERCEL_CLASS_CONFIG | 0x209;
/// Another certificate of the chain than the leaf cannot be parsed.
pub const TERCEL_CONFIG_BAD_ISSUER: Status = TERCEL_CLASS_CONFIG | 0x20a;
/// The private key matches a later certificate of the chain: the leaf must be the first.
pub const TERCEL_CONFIG_LEAF_NOT_FIRST: Status = TERCEL_CLASS_CONFIG | 0x20b;
/// The key of the leaf certificate is invalid, such as a point that is not on its curve.
pub const TERCEL_CONFIG_INVALID_LEAF_KEY: Status = TERCEL_CLASS_CONFIG | 0x20c;
/// The extended key usage of a server's leaf certificate does not allow servers. RFC 5280 4.2.1.12
pub const TERCEL_CONFIG_NOT_FOR_SERVERS: Status = TERCEL_CLASS_CONFIG | 0x20d;

// RootsError, and names
/// The system has no trust anchors, or they cannot be read.
pub const TERCEL_CONFIG_NO_ROOTS: Status = TERCEL_CLASS_CONFIG | 0x281;
/// A certificate cannot be used as a trust anchor.
pub const TERCEL_CONFIG_BAD_ROOT: Status = TERCEL_CLASS_CONFIG | 0x282;
/// The name of the server is neither a DNS name nor an IP address.
pub const TERCEL_CONFIG_BAD_SERVER_NAME: Status = TERCEL_CLASS_CONFIG | 0x283;
/// A list of protocol names has not the form of RFC 7301 3.1.
pub const TERCEL_CONFIG_BAD_PROTOCOL_LIST: Status = TERCEL_CLASS_CONFIG | 0x284;
/// Each certificate of the system's store is not an authority's.
pub const TERCEL_CONFIG_NOT_AN_AUTHORITY: Status = TERCEL_CLASS_CONFIG | 0x285;

// PemError
/// The file has no section of the requested kind.
pub const TERCEL_CONFIG_PEM_NOTHING_FOUND: Status = TERCEL_CLASS_CONFIG | 0x301;
/// The private key is protected by a password.
pub const TERCEL_CONFIG_PEM_ENCRYPTED_KEY: Status = TERCEL_CLASS_CONFIG | 0x302;
/// A line looks like the begin or end line of a section, and is none.
pub const TERCEL_CONFIG_PEM_MALFORMED: Status = TERCEL_CLASS_CONFIG | 0x303;
/// A section is not base64.
pub const TERCEL_CONFIG_PEM_NOT_BASE64: Status = TERCEL_CLASS_CONFIG | 0x304;
/// A section has no end line, or an end line with another label.
pub const TERCEL_CONFIG_PEM_NO_END: Status = TERCEL_CLASS_CONFIG | 0x305;
/// An end line has no begin line.
pub const TERCEL_CONFIG_PEM_NO_BEGIN: Status = TERCEL_CLASS_CONFIG | 0x306;
/// A section has certificates in a form that is not read, such as PKCS7.
pub const TERCEL_CONFIG_PEM_UNSUPPORTED_FORM: Status = TERCEL_CLASS_CONFIG | 0x307;
/// The text is encoded in UTF-16.
pub const TERCEL_CONFIG_PEM_UTF16: Status = TERCEL_CLASS_CONFIG | 0x308;

// PreSharedKeyError
/// The identity is not 1 to 65535 bytes long. For an imported key, this limit applies to the
/// encoded ImportedIdentity. RFC 9846 4.3.11
pub const TERCEL_CONFIG_PSK_BAD_IDENTITY: Status = TERCEL_CLASS_CONFIG | 0x401;
/// The key has less than 128 bits. RFC 9257 6
pub const TERCEL_CONFIG_PSK_KEY_TOO_SHORT: Status = TERCEL_CLASS_CONFIG | 0x402;
/// TLS 1.3 has no suite with this hash.
pub const TERCEL_CONFIG_PSK_UNSUPPORTED_HASH: Status = TERCEL_CLASS_CONFIG | 0x403;

// TicketKeyError
/// The bytes have a format version that this library does not support.
pub const TERCEL_CONFIG_TICKET_KEYS_UNKNOWN_VERSION: Status = TERCEL_CLASS_CONFIG | 0x501;
/// The bytes are not an encoded set of keys.
pub const TERCEL_CONFIG_TICKET_KEYS_MALFORMED: Status = TERCEL_CLASS_CONFIG | 0x502;
/// Two keys have the same name.
pub const TERCEL_CONFIG_TICKET_KEYS_SAME_NAME: Status = TERCEL_CLASS_CONFIG | 0x503;
/// A key's not_before is earlier than the not_before of the key that it replaces.
pub const TERCEL_CONFIG_TICKET_KEYS_OUT_OF_ORDER: Status = TERCEL_CLASS_CONFIG | 0x504;

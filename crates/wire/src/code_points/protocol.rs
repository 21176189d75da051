//! Code points of the protocol itself: records, messages, alerts, versions, small enumerations.

use super::code_points;

code_points! {
    /// A protocol version.
    ProtocolVersion(u16) {
        SSL3_0 = 0x0300 "SSLv3",
        TLS1_0 = 0x0301 "TLSv1.0",
        TLS1_1 = 0x0302 "TLSv1.1",
        TLS1_2 = 0x0303 "TLSv1.2",
        TLS1_3 = 0x0304 "TLSv1.3",
    }
}

code_points! {
    /// The content type of a record. RFC 9846 5.1
    ContentType(u8) {
        CHANGE_CIPHER_SPEC = 20 "change_cipher_spec",
        ALERT = 21 "alert",
        HANDSHAKE = 22 "handshake",
        APPLICATION_DATA = 23 "application_data",
        HEARTBEAT = 24 "heartbeat",
    }
}

code_points! {
    /// The type of a handshake message. RFC 9846 4, RFC 5246 7.4
    HandshakeType(u8) {
        HELLO_REQUEST = 0 "hello_request",
        CLIENT_HELLO = 1 "client_hello",
        SERVER_HELLO = 2 "server_hello",
        NEW_SESSION_TICKET = 4 "new_session_ticket",
        END_OF_EARLY_DATA = 5 "end_of_early_data",
        ENCRYPTED_EXTENSIONS = 8 "encrypted_extensions",
        CERTIFICATE = 11 "certificate",
        SERVER_KEY_EXCHANGE = 12 "server_key_exchange",
        CERTIFICATE_REQUEST = 13 "certificate_request",
        SERVER_HELLO_DONE = 14 "server_hello_done",
        CERTIFICATE_VERIFY = 15 "certificate_verify",
        CLIENT_KEY_EXCHANGE = 16 "client_key_exchange",
        FINISHED = 20 "finished",
        CERTIFICATE_URL = 21 "certificate_url",
        CERTIFICATE_STATUS = 22 "certificate_status",
        SUPPLEMENTAL_DATA = 23 "supplemental_data",
        KEY_UPDATE = 24 "key_update",
        COMPRESSED_CERTIFICATE = 25 "compressed_certificate",
        MESSAGE_HASH = 254 "message_hash",
    }
}

code_points! {
    /// The severity of an alert. RFC 9846 6
    AlertLevel(u8) {
        WARNING = 1 "warning",
        FATAL = 2 "fatal",
    }
}

code_points! {
    /// The description of an alert. RFC 9846 6, RFC 5246 7.2
    AlertDescription(u8) {
        CLOSE_NOTIFY = 0 "close_notify",
        UNEXPECTED_MESSAGE = 10 "unexpected_message",
        BAD_RECORD_MAC = 20 "bad_record_mac",
        DECRYPTION_FAILED = 21 "decryption_failed",
        RECORD_OVERFLOW = 22 "record_overflow",
        DECOMPRESSION_FAILURE = 30 "decompression_failure",
        HANDSHAKE_FAILURE = 40 "handshake_failure",
        NO_CERTIFICATE = 41 "no_certificate",
        BAD_CERTIFICATE = 42 "bad_certificate",
        UNSUPPORTED_CERTIFICATE = 43 "unsupported_certificate",
        CERTIFICATE_REVOKED = 44 "certificate_revoked",
        CERTIFICATE_EXPIRED = 45 "certificate_expired",
        CERTIFICATE_UNKNOWN = 46 "certificate_unknown",
        ILLEGAL_PARAMETER = 47 "illegal_parameter",
        UNKNOWN_CA = 48 "unknown_ca",
        ACCESS_DENIED = 49 "access_denied",
        DECODE_ERROR = 50 "decode_error",
        DECRYPT_ERROR = 51 "decrypt_error",
        EXPORT_RESTRICTION = 60 "export_restriction",
        PROTOCOL_VERSION = 70 "protocol_version",
        INSUFFICIENT_SECURITY = 71 "insufficient_security",
        INTERNAL_ERROR = 80 "internal_error",
        INAPPROPRIATE_FALLBACK = 86 "inappropriate_fallback",
        USER_CANCELED = 90 "user_canceled",
        NO_RENEGOTIATION = 100 "no_renegotiation",
        MISSING_EXTENSION = 109 "missing_extension",
        UNSUPPORTED_EXTENSION = 110 "unsupported_extension",
        CERTIFICATE_UNOBTAINABLE = 111 "certificate_unobtainable",
        UNRECOGNIZED_NAME = 112 "unrecognized_name",
        BAD_CERTIFICATE_STATUS_RESPONSE = 113 "bad_certificate_status_response",
        BAD_CERTIFICATE_HASH_VALUE = 114 "bad_certificate_hash_value",
        UNKNOWN_PSK_IDENTITY = 115 "unknown_psk_identity",
        CERTIFICATE_REQUIRED = 116 "certificate_required",
        GENERAL_ERROR = 117 "general_error",
        NO_APPLICATION_PROTOCOL = 120 "no_application_protocol",
        ECH_REQUIRED = 121 "ech_required",
    }
}

code_points! {
    /// Whether a KeyUpdate requests a KeyUpdate from the peer. RFC 9846 4.7.3
    KeyUpdateRequest(u8) {
        UPDATE_NOT_REQUESTED = 0 "update_not_requested",
        UPDATE_REQUESTED = 1 "update_requested",
    }
}

code_points! {
    /// The type of a name in server_name. RFC 6066 3
    ServerNameType(u8) {
        HOST_NAME = 0 "host_name",
    }
}

code_points! {
    /// The type of a certificate status. RFC 6066 8
    CertificateStatusType(u8) {
        OCSP = 1 "ocsp",
        OCSP_MULTI = 2 "ocsp_multi",
    }
}

code_points! {
    /// A type of certificate that a TLS 1.2 server requests from a client. RFC 5246 7.4.4,
    /// RFC 8422 5.5
    ClientCertificateType(u8) {
        RSA_SIGN = 1 "rsa_sign",
        DSS_SIGN = 2 "dss_sign",
        RSA_FIXED_DH = 3 "rsa_fixed_dh",
        DSS_FIXED_DH = 4 "dss_fixed_dh",
        ECDSA_SIGN = 64 "ecdsa_sign",
        RSA_FIXED_ECDH = 65 "rsa_fixed_ecdh",
        ECDSA_FIXED_ECDH = 66 "ecdsa_fixed_ecdh",
    }
}

code_points! {
    /// The type of the peer's certificate: X.509 or a raw public key. RFC 7250 3
    CertificateType(u8) {
        X509 = 0 "X509",
        OPEN_PGP = 1 "OpenPGP",
        RAW_PUBLIC_KEY = 2 "RawPublicKey",
    }
}

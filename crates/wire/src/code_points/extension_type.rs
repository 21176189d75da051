//! Code points of extensions.
//!
//! Nothing here says what is inside them or where they may stand. Next: [`crate::extension`].

use super::code_points;

code_points! {
    /// The type of an extension. RFC 9846 4.3
    ExtensionType(u16) {
        SERVER_NAME = 0 "server_name",
        MAX_FRAGMENT_LENGTH = 1 "max_fragment_length",
        CLIENT_CERTIFICATE_URL = 2 "client_certificate_url",
        TRUSTED_CA_KEYS = 3 "trusted_ca_keys",
        TRUNCATED_HMAC = 4 "truncated_hmac",
        STATUS_REQUEST = 5 "status_request",
        SUPPORTED_GROUPS = 10 "supported_groups",
        EC_POINT_FORMATS = 11 "ec_point_formats",
        SIGNATURE_ALGORITHMS = 13 "signature_algorithms",
        USE_SRTP = 14 "use_srtp",
        HEARTBEAT = 15 "heartbeat",
        APPLICATION_LAYER_PROTOCOL_NEGOTIATION = 16 "application_layer_protocol_negotiation",
        STATUS_REQUEST_V2 = 17 "status_request_v2",
        SIGNED_CERTIFICATE_TIMESTAMP = 18 "signed_certificate_timestamp",
        CLIENT_CERTIFICATE_TYPE = 19 "client_certificate_type",
        SERVER_CERTIFICATE_TYPE = 20 "server_certificate_type",
        PADDING = 21 "padding",
        ENCRYPT_THEN_MAC = 22 "encrypt_then_mac",
        EXTENDED_MASTER_SECRET = 23 "extended_master_secret",
        TOKEN_BINDING = 24 "token_binding",
        COMPRESS_CERTIFICATE = 27 "compress_certificate",
        RECORD_SIZE_LIMIT = 28 "record_size_limit",
        DELEGATED_CREDENTIAL = 34 "delegated_credential",
        SESSION_TICKET = 35 "session_ticket",
        SUPPORTED_EKT_CIPHERS = 39 "supported_ekt_ciphers",
        PRE_SHARED_KEY = 41 "pre_shared_key",
        EARLY_DATA = 42 "early_data",
        SUPPORTED_VERSIONS = 43 "supported_versions",
        COOKIE = 44 "cookie",
        PSK_KEY_EXCHANGE_MODES = 45 "psk_key_exchange_modes",
        CERTIFICATE_AUTHORITIES = 47 "certificate_authorities",
        OID_FILTERS = 48 "oid_filters",
        POST_HANDSHAKE_AUTH = 49 "post_handshake_auth",
        SIGNATURE_ALGORITHMS_CERT = 50 "signature_algorithms_cert",
        KEY_SHARE = 51 "key_share",
        TRANSPARENCY_INFO = 52 "transparency_info",
        EXTERNAL_ID_HASH = 55 "external_id_hash",
        EXTERNAL_SESSION_ID = 56 "external_session_id",
        QUIC_TRANSPORT_PARAMETERS = 57 "quic_transport_parameters",
        TICKET_REQUEST = 58 "ticket_request",
        TLS_FLAGS = 62 "tls_flags",
        SERVER_PADDING = 4832 "server_padding",
        ECH_OUTER_EXTENSIONS = 0xfd00 "ech_outer_extensions",
        ENCRYPTED_CLIENT_HELLO = 0xfe0d "encrypted_client_hello",
        RENEGOTIATION_INFO = 0xff01 "renegotiation_info",
    }
}

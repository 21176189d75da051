//! Which extensions each message has a field for. RFC 9846 4.3 has the whole table.
//!
//! What is not in a message's table is kept under `unknown`, also if the type is known elsewhere: whether
//! it may stand there is for the protocol, which has `types()` to ask. A table's order is the order of
//! writing; it is that of the traces in RFC 8448, which can thus be made byte for byte.
//!
//! An extension is opened here, and ends the handshake if it is malformed, only if the library acts on it in a default
//! configuration. One that is not implemented, or not registered, or off by default, is left unopened (`shape::raw`):
//! receivers ignore what they do not recognize (RFC 9846 4.2.2). conformance/receiver-checks.md has the decisions.
//! Next: the files named on the right.

use super::set::extension_set;
use super::{
    CertificateStatus, CertificateStatusRequest, DistinguishedName, ExtensionBlock, KeyShareEntry,
    OfferedPsks, ProtocolName, SerializedSct, ServerKeyShare, ServerNameOffer, TicketRequest,
    TlsFlags, UnknownExtensions,
};
use crate::{
    CertificateCompressionAlgorithm, CertificateType, DecodeError, EcPointFormat, ExtensionType,
    List, NamedGroup, ProtocolVersion, PskKeyExchangeMode, Reader, SignatureScheme, Writer,
};

extension_set! {
    /// The extensions of a ClientHello, TLS 1.2 and 1.3.
    ClientExtensions {
        /// The host the client wants. RFC 6066 3
        server_name: ServerNameOffer<'a> = SERVER_NAME, server_name::client;
        /// The client's last Finished when renegotiating, else nothing. RFC 5746 3.2
        renegotiation_info: &'a [u8] = RENEGOTIATION_INFO, renegotiation_info;
        /// The groups for key exchange, best first. RFC 9846 4.3.7
        supported_groups: List<'a, NamedGroup> = SUPPORTED_GROUPS, supported_groups;
        /// A TLS 1.2 ticket, or nothing to ask for one. RFC 5077 3.2
        session_ticket: &'a [u8] = SESSION_TICKET, shape::raw;
        /// The client's halves of key exchanges; no group twice. RFC 9846 4.3.8
        key_share: List<'a, KeyShareEntry<'a>> = KEY_SHARE, key_share::client;
        /// Early data follows. RFC 9846 4.3.10
        early_data: () = EARLY_DATA, shape::empty;
        /// The versions, best first. RFC 9846 4.3.1
        supported_versions: List<'a, ProtocolVersion> = SUPPORTED_VERSIONS, supported_versions::client;
        /// How handshakes may be signed. RFC 9846 4.3.3
        signature_algorithms: List<'a, SignatureScheme> = SIGNATURE_ALGORITHMS, signature_algorithms;
        /// What the HelloRetryRequest asked to be given back. RFC 9846 4.3.2
        cookie: &'a [u8] = COOKIE, cookie;
        /// How pre-shared keys may be used. RFC 9846 4.3.9
        psk_key_exchange_modes: List<'a, PskKeyExchangeMode> = PSK_KEY_EXCHANGE_MODES, psk_key_exchange_modes;
        /// The largest record the client takes. RFC 8449 4
        record_size_limit: u16 = RECORD_SIZE_LIMIT, record_size_limit;
        /// A code for a smaller fragment size, unopened: nothing here implements it. RFC 6066 4
        max_fragment_length: &'a [u8] = MAX_FRAGMENT_LENGTH, shape::raw;
        /// Asks for a stapled OCSP response. RFC 6066 8
        status_request: CertificateStatusRequest<'a> = STATUS_REQUEST, status_request::client;
        /// How curve points may be written, TLS 1.2. RFC 8422 5.1.2
        ec_point_formats: List<'a, EcPointFormat> = EC_POINT_FORMATS, ec_point_formats;
        /// How certificates may be signed. RFC 9846 4.3.3
        signature_algorithms_cert: List<'a, SignatureScheme> = SIGNATURE_ALGORITHMS_CERT, signature_algorithms;
        /// The application protocols, best first. RFC 7301 3.1
        alpn: List<'a, ProtocolName<'a>> = APPLICATION_LAYER_PROTOCOL_NEGOTIATION, protocol_negotiation::client;
        /// Asks for certificate timestamps. RFC 6962 3.3.1
        signed_certificate_timestamp: () = SIGNED_CERTIFICATE_TIMESTAMP, shape::empty;
        /// The forms of certificate the client can give. RFC 7250 3
        client_certificate_type: List<'a, CertificateType> = CLIENT_CERTIFICATE_TYPE, certificate_type::client;
        /// The forms of certificate the client can check. RFC 7250 3
        server_certificate_type: List<'a, CertificateType> = SERVER_CERTIFICATE_TYPE, certificate_type::client;
        /// Binds the TLS 1.2 main secret to the handshake. RFC 7627 5.1
        extended_master_secret: () = EXTENDED_MASTER_SECRET, shape::empty;
        /// How a Certificate message may be compressed. RFC 8879 3
        compress_certificate: List<'a, CertificateCompressionAlgorithm> = COMPRESS_CERTIFICATE, compress_certificate;
        /// The authorities the client knows. RFC 9846 4.3.4
        certificate_authorities: List<'a, DistinguishedName<'a>> = CERTIFICATE_AUTHORITIES, certificate_authorities;
        /// The client can authenticate after the handshake. RFC 9846 4.3.6
        post_handshake_auth: () = POST_HANDSHAKE_AUTH, shape::empty;
        /// An encrypted ClientHello, unopened. RFC 9849 5
        encrypted_client_hello: &'a [u8] = ENCRYPTED_CLIENT_HELLO, shape::raw;
        /// How many tickets the client would like. RFC 9149 3
        ticket_request: TicketRequest = TICKET_REQUEST, ticket_request::client;
        /// Transport parameters, unopened. RFC 9001 8.2
        quic_transport_parameters: &'a [u8] = QUIC_TRANSPORT_PARAMETERS, shape::raw;
        /// How many bytes the server is to send to no purpose, unopened: see [`Self::requested_server_padding`]. The code
        /// point is not registered, so whoever does not use the extension has to ignore whatever it holds.
        server_padding: &'a [u8] = SERVER_PADDING, shape::raw;
        /// How many bytes only lengthen the message. RFC 7685 3
        padding: u16 = PADDING, padding;
        /// The pre-shared keys; always last in the block. RFC 9846 4.3.11
        pre_shared_key: OfferedPsks<'a> = PRE_SHARED_KEY, pre_shared_key::client;
    }
}

extension_set! {
    /// The extensions of a ServerHello, TLS 1.2 and 1.3, and of a HelloRetryRequest.
    ServerHelloExtensions {
        /// The pre-shared key that was chosen, as an index into the offer. RFC 9846 4.3.11
        pre_shared_key: u16 = PRE_SHARED_KEY, pre_shared_key::server;
        /// The server's half of the key exchange, or in a HelloRetryRequest the group. RFC 9846 4.3.8
        key_share: ServerKeyShare<'a> = KEY_SHARE, key_share::server;
        /// To be given back in the second ClientHello. RFC 9846 4.3.2
        cookie: &'a [u8] = COOKIE, cookie;
        /// The version. RFC 9846 4.3.1
        supported_versions: ProtocolVersion = SUPPORTED_VERSIONS, supported_versions::server;
        /// The name was used, TLS 1.2. RFC 6066 3
        server_name: () = SERVER_NAME, shape::empty;
        /// The client's code, unopened: none is ever sent here. RFC 6066 4
        max_fragment_length: &'a [u8] = MAX_FRAGMENT_LENGTH, shape::raw;
        /// A CertificateStatus will follow, TLS 1.2. RFC 6066 8
        status_request: () = STATUS_REQUEST, shape::empty;
        /// How the server writes curve points, TLS 1.2. RFC 8422 5.2
        ec_point_formats: List<'a, EcPointFormat> = EC_POINT_FORMATS, ec_point_formats;
        /// The application protocol, TLS 1.2. RFC 7301 3.1
        alpn: ProtocolName<'a> = APPLICATION_LAYER_PROTOCOL_NEGOTIATION, protocol_negotiation::server;
        /// Certificate timestamps, TLS 1.2. RFC 6962 3.3.1
        signed_certificate_timestamp: List<'a, SerializedSct<'a>> = SIGNED_CERTIFICATE_TIMESTAMP, signed_certificate_timestamp;
        /// The form of the client's certificate, TLS 1.2. RFC 7250 3
        client_certificate_type: CertificateType = CLIENT_CERTIFICATE_TYPE, certificate_type::server;
        /// The form of the server's certificate, TLS 1.2. RFC 7250 3
        server_certificate_type: CertificateType = SERVER_CERTIFICATE_TYPE, certificate_type::server;
        /// The main secret is bound to the handshake, TLS 1.2. RFC 7627 5.1
        extended_master_secret: () = EXTENDED_MASTER_SECRET, shape::empty;
        /// The largest record the server takes, TLS 1.2. RFC 8449 4
        record_size_limit: u16 = RECORD_SIZE_LIMIT, record_size_limit;
        /// A NewSessionTicket will follow, TLS 1.2. RFC 5077 3.2
        session_ticket: () = SESSION_TICKET, shape::empty;
        /// Both last Finished when renegotiating, else nothing, TLS 1.2. RFC 5746 3.2
        renegotiation_info: &'a [u8] = RENEGOTIATION_INFO, renegotiation_info;
        /// The confirmation in a HelloRetryRequest, unopened. RFC 9849 5
        encrypted_client_hello: &'a [u8] = ENCRYPTED_CLIENT_HELLO, shape::raw;
    }
}

extension_set! {
    /// The EncryptedExtensions message, which is nothing but extensions. RFC 9846 4.4.1
    EncryptedExtensions {
        /// The groups the server prefers, for the next time. RFC 9846 4.3.7
        supported_groups: List<'a, NamedGroup> = SUPPORTED_GROUPS, supported_groups;
        /// The largest record the server takes. RFC 8449 4
        record_size_limit: u16 = RECORD_SIZE_LIMIT, record_size_limit;
        /// The name was used. RFC 6066 3
        server_name: () = SERVER_NAME, shape::empty;
        /// Early data is accepted. RFC 9846 4.3.10
        early_data: () = EARLY_DATA, shape::empty;
        /// The client's code, unopened: none is ever sent here. RFC 6066 4
        max_fragment_length: &'a [u8] = MAX_FRAGMENT_LENGTH, shape::raw;
        /// The application protocol. RFC 7301 3.1
        alpn: ProtocolName<'a> = APPLICATION_LAYER_PROTOCOL_NEGOTIATION, protocol_negotiation::server;
        /// The form of the client's certificate. RFC 7250 3
        client_certificate_type: CertificateType = CLIENT_CERTIFICATE_TYPE, certificate_type::server;
        /// The form of the server's certificate. RFC 7250 3
        server_certificate_type: CertificateType = SERVER_CERTIFICATE_TYPE, certificate_type::server;
        /// Configurations to retry with, unopened. RFC 9849 5
        encrypted_client_hello: &'a [u8] = ENCRYPTED_CLIENT_HELLO, shape::raw;
        /// The bytes that the client asked for, whatever they are. Not registered.
        server_padding: &'a [u8] = SERVER_PADDING, shape::raw;
        /// How many tickets the server will send. RFC 9149 3
        ticket_request: u8 = TICKET_REQUEST, ticket_request::server;
        /// Transport parameters, unopened. RFC 9001 8.2
        quic_transport_parameters: &'a [u8] = QUIC_TRANSPORT_PARAMETERS, shape::raw;
    }
}

extension_set! {
    /// The extensions of a TLS 1.3 CertificateRequest. RFC 9846 4.4.2
    CertificateRequestExtensions {
        /// Asks for a stapled OCSP response. RFC 9846 4.5.1.1
        status_request: () = STATUS_REQUEST, shape::empty;
        /// How the handshake may be signed. RFC 9846 4.3.3
        signature_algorithms: List<'a, SignatureScheme> = SIGNATURE_ALGORITHMS, signature_algorithms;
        /// How certificates may be signed. RFC 9846 4.3.3
        signature_algorithms_cert: List<'a, SignatureScheme> = SIGNATURE_ALGORITHMS_CERT, signature_algorithms;
        /// Asks for certificate timestamps. RFC 6962 3.3.1
        signed_certificate_timestamp: () = SIGNED_CERTIFICATE_TIMESTAMP, shape::empty;
        /// How a Certificate message may be compressed. RFC 8879 3
        compress_certificate: List<'a, CertificateCompressionAlgorithm> = COMPRESS_CERTIFICATE, compress_certificate;
        /// The authorities the server knows. RFC 9846 4.3.4
        certificate_authorities: List<'a, DistinguishedName<'a>> = CERTIFICATE_AUTHORITIES, certificate_authorities;
        /// What the certificate must have, unopened: nothing here implements it. RFC 9846 4.3.5
        oid_filters: &'a [u8] = OID_FILTERS, shape::raw;
    }
}

extension_set! {
    /// The extensions of one entry of a TLS 1.3 Certificate message. RFC 9846 4.5.1
    CertificateEntryExtensions {
        /// The stapled OCSP response. RFC 9846 4.5.1.1
        status_request: CertificateStatus<'a> = STATUS_REQUEST, status_request::status;
        /// The timestamps. RFC 9846 4.5.1.1
        signed_certificate_timestamp: List<'a, SerializedSct<'a>> = SIGNED_CERTIFICATE_TIMESTAMP, signed_certificate_timestamp;
    }
}

extension_set! {
    /// The extensions of a TLS 1.3 NewSessionTicket. RFC 9846 4.7.1
    NewSessionTicketExtensions {
        /// How many bytes of early data the ticket allows. RFC 9846 4.3.10
        early_data: u32 = EARLY_DATA, early_data;
        /// What else the ticket is good for. draft-ietf-tls-tlsflags 2
        tls_flags: TlsFlags<'a> = TLS_FLAGS, tls_flags;
    }
}

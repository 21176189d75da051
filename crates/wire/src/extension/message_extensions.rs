//! The extensions for which each message has a field. RFC 9846 4.3 has the whole table.
//!
//! An extension without a field is kept in `unknown`, even if another message has a field for its
//! type; the caller checks with `types()` whether it is allowed in the message. Below, the fields
//! of each message are listed in the order in which they are encoded. This order is that of the
//! traces in RFC 8448, so that the traces can be reproduced byte for byte.
//!
//! An extension is parsed here, and ends the handshake if it is malformed, only if the library
//! uses it in a default configuration. An extension that is not implemented, not registered, or
//! off by default is left unparsed (`generic::raw`): receivers ignore extensions that they do not
//! recognize (RFC 9846 4.2.2). See conformance/receiver-checks.md for the decisions.

use super::set_macro::extension_set;
use super::{
    CertificateStatus, CertificateStatusRequest, DistinguishedName, ExtensionBlock, KeyShareEntry,
    OfferedPsks, ProtocolName, SerializedSct, ServerKeyShare, ServerNameOffer, TicketRequest,
    TlsFlags, UnknownExtensions, key_share, server_padding,
};
use crate::code_points::{
    CertificateCompressionAlgorithm, CertificateType, EcPointFormat, ExtensionType, NamedGroup,
    ProtocolVersion, PskKeyExchangeMode, SignatureScheme,
};
use crate::error::DecodeError;
use crate::list::List;
use crate::reader::Reader;
use crate::writer::Writer;

extension_set! {
    /// The extensions of a ClientHello, TLS 1.2 and 1.3.
    ClientExtensions {
        /// The name of the requested host. RFC 6066 3
        server_name: ServerNameOffer<'a> = SERVER_NAME, server_name::client;
        /// The client's last verify_data when renegotiating, else empty. RFC 5746 3.2
        renegotiation_info: &'a [u8] = RENEGOTIATION_INFO, renegotiation_info;
        /// The groups for key exchange, best first. RFC 9846 4.3.7
        supported_groups: List<'a, NamedGroup> = SUPPORTED_GROUPS, supported_groups;
        /// A TLS 1.2 ticket, or empty to request one. RFC 5077 3.2
        session_ticket: &'a [u8] = SESSION_TICKET, generic::raw;
        /// The client's key shares; each group at most once. RFC 9846 4.3.8
        key_share: List<'a, KeyShareEntry<'a>> = KEY_SHARE, key_share::client;
        /// Present if early data follows. RFC 9846 4.3.10
        early_data: () = EARLY_DATA, generic::empty;
        /// The supported versions, best first. RFC 9846 4.3.1
        supported_versions: List<'a, ProtocolVersion> = SUPPORTED_VERSIONS, supported_versions::client;
        /// The signature schemes for the handshake. RFC 9846 4.3.3
        signature_algorithms: List<'a, SignatureScheme> = SIGNATURE_ALGORITHMS, signature_algorithms;
        /// The cookie of the HelloRetryRequest. RFC 9846 4.3.2
        cookie: &'a [u8] = COOKIE, cookie;
        /// The allowed modes of PSK key exchange. RFC 9846 4.3.9
        psk_key_exchange_modes: List<'a, PskKeyExchangeMode> = PSK_KEY_EXCHANGE_MODES, psk_key_exchange_modes;
        /// The largest record that the client accepts. RFC 8449 4
        record_size_limit: u16 = RECORD_SIZE_LIMIT, record_size_limit;
        /// The code of a smaller fragment size, unparsed, because the extension is not implemented.
        /// RFC 6066 4
        max_fragment_length: &'a [u8] = MAX_FRAGMENT_LENGTH, generic::raw;
        /// A request for a stapled OCSP response. RFC 6066 8
        status_request: CertificateStatusRequest<'a> = STATUS_REQUEST, status_request::client;
        /// The supported point formats, TLS 1.2. RFC 8422 5.1.2
        ec_point_formats: List<'a, EcPointFormat> = EC_POINT_FORMATS, ec_point_formats;
        /// The signature schemes for certificates. RFC 9846 4.3.3
        signature_algorithms_cert: List<'a, SignatureScheme> = SIGNATURE_ALGORITHMS_CERT, signature_algorithms;
        /// The application protocols, best first. RFC 7301 3.1
        alpn: List<'a, ProtocolName<'a>> = APPLICATION_LAYER_PROTOCOL_NEGOTIATION, protocol_negotiation::client;
        /// A request for certificate timestamps. RFC 6962 3.3.1
        signed_certificate_timestamp: () = SIGNED_CERTIFICATE_TIMESTAMP, generic::empty;
        /// The types of certificate that the client can present. RFC 7250 3
        client_certificate_type: List<'a, CertificateType> = CLIENT_CERTIFICATE_TYPE, certificate_type::client;
        /// The types of certificate that the client can verify. RFC 7250 3
        server_certificate_type: List<'a, CertificateType> = SERVER_CERTIFICATE_TYPE, certificate_type::client;
        /// Binds the TLS 1.2 main secret to the transcript. RFC 7627 5.1
        extended_master_secret: () = EXTENDED_MASTER_SECRET, generic::empty;
        /// The supported compression algorithms for Certificate messages. RFC 8879 3
        compress_certificate: List<'a, CertificateCompressionAlgorithm> = COMPRESS_CERTIFICATE, compress_certificate;
        /// The authorities that the client trusts. RFC 9846 4.3.4
        certificate_authorities: List<'a, DistinguishedName<'a>> = CERTIFICATE_AUTHORITIES, certificate_authorities;
        /// Present if the client supports post-handshake authentication. RFC 9846 4.3.6
        post_handshake_auth: () = POST_HANDSHAKE_AUTH, generic::empty;
        /// An encrypted ClientHello, unparsed. RFC 9849 5
        encrypted_client_hello: &'a [u8] = ENCRYPTED_CLIENT_HELLO, generic::raw;
        /// The number of tickets that the client requests. RFC 9149 3
        ticket_request: TicketRequest = TICKET_REQUEST, ticket_request::client;
        /// QUIC transport parameters, unparsed. RFC 9001 8.2
        quic_transport_parameters: &'a [u8] = QUIC_TRANSPORT_PARAMETERS, generic::raw;
        /// The number of padding bytes that the client requests, unparsed: see
        /// [`Self::requested_server_padding`]. The code point is not registered, so a server that
        /// does not use the extension has to ignore any contents.
        server_padding: &'a [u8] = SERVER_PADDING, generic::raw;
        /// The number of padding bytes in the message. RFC 7685 3
        padding: u16 = PADDING, padding;
        /// The pre-shared keys; always last in the block. RFC 9846 4.3.11
        pre_shared_key: OfferedPsks<'a> = PRE_SHARED_KEY, pre_shared_key::client;
    }
}

impl ClientExtensions<'_> {
    /// The first group that has a key share but is not in supported_groups; neither list needs to
    /// be sorted. `None` also if one of the extensions is absent. RFC 9846 4.3.8
    #[must_use]
    pub fn unlisted_key_share(&self) -> Option<NamedGroup> {
        key_share::unlisted(self.key_share?, self.supported_groups?)
    }

    /// Parses the field `server_padding`: the number of padding bytes that the client requests.
    ///
    /// # Errors
    /// If the body is not two bytes.
    pub fn requested_server_padding(&self) -> Result<Option<u16>, DecodeError> {
        self.server_padding.map(server_padding::requested).transpose()
    }
}

extension_set! {
    /// The extensions of a ServerHello, TLS 1.2 and 1.3, and of a HelloRetryRequest.
    ServerHelloExtensions {
        /// The selected pre-shared key, as an index into the client's list. RFC 9846 4.3.11
        pre_shared_key: u16 = PRE_SHARED_KEY, pre_shared_key::server;
        /// The server's key share; in a HelloRetryRequest, the selected group. RFC 9846 4.3.8
        key_share: ServerKeyShare<'a> = KEY_SHARE, key_share::server;
        /// The cookie to echo in the second ClientHello. RFC 9846 4.3.2
        cookie: &'a [u8] = COOKIE, cookie;
        /// The selected version. RFC 9846 4.3.1
        supported_versions: ProtocolVersion = SUPPORTED_VERSIONS, supported_versions::server;
        /// Present if the server name was used, TLS 1.2. RFC 6066 3
        server_name: () = SERVER_NAME, generic::empty;
        /// The echo of the client's code, unparsed: never sent by this library. RFC 6066 4
        max_fragment_length: &'a [u8] = MAX_FRAGMENT_LENGTH, generic::raw;
        /// Present if a CertificateStatus follows, TLS 1.2. RFC 6066 8
        status_request: () = STATUS_REQUEST, generic::empty;
        /// The supported point formats, TLS 1.2. RFC 8422 5.2
        ec_point_formats: List<'a, EcPointFormat> = EC_POINT_FORMATS, ec_point_formats;
        /// The selected application protocol, TLS 1.2. RFC 7301 3.1
        alpn: ProtocolName<'a> = APPLICATION_LAYER_PROTOCOL_NEGOTIATION, protocol_negotiation::server;
        /// Certificate timestamps, TLS 1.2. RFC 6962 3.3.1
        signed_certificate_timestamp: List<'a, SerializedSct<'a>> = SIGNED_CERTIFICATE_TIMESTAMP, signed_certificate_timestamp;
        /// The type of the client's certificate, TLS 1.2. RFC 7250 3
        client_certificate_type: CertificateType = CLIENT_CERTIFICATE_TYPE, certificate_type::server;
        /// The type of the server's certificate, TLS 1.2. RFC 7250 3
        server_certificate_type: CertificateType = SERVER_CERTIFICATE_TYPE, certificate_type::server;
        /// Present if the main secret is bound to the transcript, TLS 1.2. RFC 7627 5.1
        extended_master_secret: () = EXTENDED_MASTER_SECRET, generic::empty;
        /// The largest record that the server accepts, TLS 1.2. RFC 8449 4
        record_size_limit: u16 = RECORD_SIZE_LIMIT, record_size_limit;
        /// Present if a NewSessionTicket follows, TLS 1.2. RFC 5077 3.2
        session_ticket: () = SESSION_TICKET, generic::empty;
        /// The last verify_data of both sides when renegotiating, else empty, TLS 1.2.
        /// RFC 5746 3.2
        renegotiation_info: &'a [u8] = RENEGOTIATION_INFO, renegotiation_info;
        /// The confirmation in a HelloRetryRequest, unparsed. RFC 9849 5
        encrypted_client_hello: &'a [u8] = ENCRYPTED_CLIENT_HELLO, generic::raw;
    }
}

extension_set! {
    /// The EncryptedExtensions message, whose body is an extension block. RFC 9846 4.4.1
    EncryptedExtensions {
        /// The groups that the server prefers, for later connections. RFC 9846 4.3.7
        supported_groups: List<'a, NamedGroup> = SUPPORTED_GROUPS, supported_groups;
        /// The largest record that the server accepts. RFC 8449 4
        record_size_limit: u16 = RECORD_SIZE_LIMIT, record_size_limit;
        /// Present if the server name was used. RFC 6066 3
        server_name: () = SERVER_NAME, generic::empty;
        /// Present if early data is accepted. RFC 9846 4.3.10
        early_data: () = EARLY_DATA, generic::empty;
        /// The echo of the client's code, unparsed: never sent by this library. RFC 6066 4
        max_fragment_length: &'a [u8] = MAX_FRAGMENT_LENGTH, generic::raw;
        /// The selected application protocol. RFC 7301 3.1
        alpn: ProtocolName<'a> = APPLICATION_LAYER_PROTOCOL_NEGOTIATION, protocol_negotiation::server;
        /// The type of the client's certificate. RFC 7250 3
        client_certificate_type: CertificateType = CLIENT_CERTIFICATE_TYPE, certificate_type::server;
        /// The type of the server's certificate. RFC 7250 3
        server_certificate_type: CertificateType = SERVER_CERTIFICATE_TYPE, certificate_type::server;
        /// The configurations to retry with, unparsed. RFC 9849 5
        encrypted_client_hello: &'a [u8] = ENCRYPTED_CLIENT_HELLO, generic::raw;
        /// The padding that the client requested, of any contents. Not registered.
        server_padding: &'a [u8] = SERVER_PADDING, generic::raw;
        /// The number of tickets that the server will send. RFC 9149 3
        ticket_request: u8 = TICKET_REQUEST, ticket_request::server;
        /// QUIC transport parameters, unparsed. RFC 9001 8.2
        quic_transport_parameters: &'a [u8] = QUIC_TRANSPORT_PARAMETERS, generic::raw;
    }
}

extension_set! {
    /// The extensions of a TLS 1.3 CertificateRequest. RFC 9846 4.4.2
    CertificateRequestExtensions {
        /// A request for a stapled OCSP response. RFC 9846 4.5.1.1
        status_request: () = STATUS_REQUEST, generic::empty;
        /// The accepted signature schemes for the handshake. RFC 9846 4.3.3
        signature_algorithms: List<'a, SignatureScheme> = SIGNATURE_ALGORITHMS, signature_algorithms;
        /// The accepted signature schemes for certificates. RFC 9846 4.3.3
        signature_algorithms_cert: List<'a, SignatureScheme> = SIGNATURE_ALGORITHMS_CERT, signature_algorithms;
        /// A request for certificate timestamps. RFC 6962 3.3.1
        signed_certificate_timestamp: () = SIGNED_CERTIFICATE_TIMESTAMP, generic::empty;
        /// The supported compression algorithms for Certificate messages. RFC 8879 3
        compress_certificate: List<'a, CertificateCompressionAlgorithm> = COMPRESS_CERTIFICATE, compress_certificate;
        /// The authorities that the server trusts. RFC 9846 4.3.4
        certificate_authorities: List<'a, DistinguishedName<'a>> = CERTIFICATE_AUTHORITIES, certificate_authorities;
        /// The required certificate extensions, unparsed: not implemented. RFC 9846 4.3.5
        oid_filters: &'a [u8] = OID_FILTERS, generic::raw;
    }
}

extension_set! {
    /// The extensions of one entry of a TLS 1.3 Certificate message. RFC 9846 4.5.1
    CertificateEntryExtensions {
        /// The stapled OCSP response. RFC 9846 4.5.1.1
        status_request: CertificateStatus<'a> = STATUS_REQUEST, status_request::status;
        /// Certificate timestamps. RFC 9846 4.5.1.1
        signed_certificate_timestamp: List<'a, SerializedSct<'a>> = SIGNED_CERTIFICATE_TIMESTAMP, signed_certificate_timestamp;
    }
}

extension_set! {
    /// The extensions of a TLS 1.3 NewSessionTicket. RFC 9846 4.7.1
    NewSessionTicketExtensions {
        /// The maximum number of early data bytes that the ticket allows. RFC 9846 4.3.10
        early_data: u32 = EARLY_DATA, early_data;
        /// The flags of the ticket. draft-ietf-tls-tlsflags 2
        tls_flags: TlsFlags<'a> = TLS_FLAGS, tls_flags;
    }
}

//! The extensions for which each message has a field. RFC 9846 4.3 has the whole table.
//!
//! An extension without a field is kept in `unknown`, even if another message has a field for its
//! type; the caller checks with `types()` whether it is allowed in the message. Below, the fields
//! of each message are listed in the order in which they are encoded. This order is that of the
//! traces in RFC 8448, so that the traces can be reproduced byte for byte.
//!
//! An extension is parsed here, and ends the handshake if it is malformed, only if the library
//! uses it in a default configuration. An extension that is not implemented, not registered, or
//! off by default is left unparsed (`Rest`): receivers ignore extensions that they do not
//! recognize (RFC 9846 4.2.2). See conformance/receiver-checks.md for the decisions.

use super::compress_certificate::DistinctAlgorithms;
use super::key_share::ClientShares;
use super::padding::Padding;
use super::protocol_negotiation::SelectedProtocol;
use super::record_size_limit::RecordSizeLimit;
use super::set_macro::extension_set;
use super::{
    CertificateStatus, CertificateStatusRequest, DistinguishedName, ExtensionBlock, KeyShareEntry,
    OfferedPsks, ProtocolName, SerializedSct, ServerKeyShare, ServerNameOffer, TicketRequest,
    TlsFlags, UnknownExtensions, server_padding,
};
use crate::code_points::{
    CertificateCompressionAlgorithm, CertificateType, EcPointFormat, ExtensionType, NamedGroup,
    ProtocolVersion, PskKeyExchangeMode, SignatureScheme,
};
use crate::error::DecodeError;
use crate::list::{Element, List};
use crate::reader::Reader;
use crate::structure::{Empty, Rest, Vector, encoding};
use crate::unique::first_missing;
use crate::writer::Writer;

extension_set! {
    /// The extensions of a ClientHello, TLS 1.2 and 1.3.
    ClientExtensions {
        /// The name of the requested host. RFC 6066 3
        server_name: ServerNameOffer<'a> = SERVER_NAME;
        /// The client's last verify_data when renegotiating, else empty. RFC 5746 3.2
        renegotiation_info: &'a [u8] = RENEGOTIATION_INFO as Vector<1, 0>;
        /// The groups for key exchange, best first. RFC 9846 4.3.7
        supported_groups: List<'a, NamedGroup> = SUPPORTED_GROUPS as Vector<2, 1>;
        /// A TLS 1.2 ticket, or empty to request one. RFC 5077 3.2
        session_ticket: &'a [u8] = SESSION_TICKET as Rest;
        /// The client's key shares; each group at most once. RFC 9846 4.3.8
        key_share: List<'a, KeyShareEntry<'a>> = KEY_SHARE as ClientShares;
        /// Present if early data follows. RFC 9846 4.3.10
        early_data: () = EARLY_DATA as Empty;
        /// The supported versions, best first. RFC 9846 4.3.1
        supported_versions: List<'a, ProtocolVersion> = SUPPORTED_VERSIONS as Vector<1, 1>;
        /// The signature schemes for the handshake. RFC 9846 4.3.3
        signature_algorithms: List<'a, SignatureScheme> = SIGNATURE_ALGORITHMS as Vector<2, 1>;
        /// The cookie of the HelloRetryRequest. RFC 9846 4.3.2
        cookie: &'a [u8] = COOKIE as Vector<2, 1>;
        /// The allowed modes of PSK key exchange. RFC 9846 4.3.9
        psk_key_exchange_modes: List<'a, PskKeyExchangeMode> = PSK_KEY_EXCHANGE_MODES as Vector<1, 1>;
        /// The largest record that the client accepts. RFC 8449 4
        record_size_limit: u16 = RECORD_SIZE_LIMIT as RecordSizeLimit;
        /// The code of a smaller fragment size, unparsed, because the extension is not implemented.
        /// RFC 6066 4
        max_fragment_length: &'a [u8] = MAX_FRAGMENT_LENGTH as Rest;
        /// A request for a stapled OCSP response. RFC 6066 8
        status_request: CertificateStatusRequest<'a> = STATUS_REQUEST;
        /// The supported point formats, TLS 1.2. RFC 8422 5.1.2
        ec_point_formats: List<'a, EcPointFormat> = EC_POINT_FORMATS as Vector<1, 1>;
        /// The signature schemes for certificates. RFC 9846 4.3.3
        signature_algorithms_cert: List<'a, SignatureScheme> = SIGNATURE_ALGORITHMS_CERT as Vector<2, 1>;
        /// The application protocols, best first. RFC 7301 3.1
        alpn: List<'a, ProtocolName<'a>> = APPLICATION_LAYER_PROTOCOL_NEGOTIATION as Vector<2, 1>;
        /// A request for certificate timestamps. RFC 6962 3.3.1
        signed_certificate_timestamp: () = SIGNED_CERTIFICATE_TIMESTAMP as Empty;
        /// The types of certificate that the client can present. RFC 7250 3
        client_certificate_type: List<'a, CertificateType> = CLIENT_CERTIFICATE_TYPE as Vector<1, 1>;
        /// The types of certificate that the client can verify. RFC 7250 3
        server_certificate_type: List<'a, CertificateType> = SERVER_CERTIFICATE_TYPE as Vector<1, 1>;
        /// Binds the TLS 1.2 main secret to the transcript. RFC 7627 5.1
        extended_master_secret: () = EXTENDED_MASTER_SECRET as Empty;
        /// The supported compression algorithms for Certificate messages. RFC 8879 3
        compress_certificate: List<'a, CertificateCompressionAlgorithm> = COMPRESS_CERTIFICATE as DistinctAlgorithms;
        /// The authorities that the client trusts. RFC 9846 4.3.4
        certificate_authorities: List<'a, DistinguishedName<'a>> = CERTIFICATE_AUTHORITIES as Vector<2, 1>;
        /// Present if the client supports post-handshake authentication. RFC 9846 4.3.6
        post_handshake_auth: () = POST_HANDSHAKE_AUTH as Empty;
        /// An encrypted ClientHello, unparsed. RFC 9849 5
        encrypted_client_hello: &'a [u8] = ENCRYPTED_CLIENT_HELLO as Rest;
        /// The number of tickets that the client requests. RFC 9149 3
        ticket_request: TicketRequest = TICKET_REQUEST;
        /// QUIC transport parameters, unparsed. RFC 9001 8.2
        quic_transport_parameters: &'a [u8] = QUIC_TRANSPORT_PARAMETERS as Rest;
        /// The number of padding bytes that the client requests, unparsed: see
        /// [`Self::requested_server_padding`]. The code point is not registered, so a server that
        /// does not use the extension has to ignore any contents.
        server_padding: &'a [u8] = SERVER_PADDING as Rest;
        /// The number of padding bytes in the message. RFC 7685 3
        padding: u16 = PADDING as Padding;
        /// The pre-shared keys; always last in the block. RFC 9846 4.3.11
        pre_shared_key: OfferedPsks<'a> = PRE_SHARED_KEY;
    }
}

impl ClientExtensions<'_> {
    /// The first group that has a key share but is not in supported_groups; neither list needs to
    /// be sorted. `None` also if one of the extensions is absent. RFC 9846 4.3.8
    #[must_use]
    pub fn unlisted_key_share(&self) -> Option<NamedGroup> {
        let groups = self.supported_groups?.iter().map(|group| group.0);
        first_missing(self.key_share?.iter().map(|share| share.group.0), groups).map(NamedGroup)
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
        pre_shared_key: u16 = PRE_SHARED_KEY;
        /// The server's key share; in a HelloRetryRequest, the selected group. RFC 9846 4.3.8
        key_share: ServerKeyShare<'a> = KEY_SHARE;
        /// The cookie to echo in the second ClientHello. RFC 9846 4.3.2
        cookie: &'a [u8] = COOKIE as Vector<2, 1>;
        /// The selected version. RFC 9846 4.3.1
        supported_versions: ProtocolVersion = SUPPORTED_VERSIONS;
        /// Present if the server name was used, TLS 1.2. RFC 6066 3
        server_name: () = SERVER_NAME as Empty;
        /// The echo of the client's code, unparsed: never sent by this library. RFC 6066 4
        max_fragment_length: &'a [u8] = MAX_FRAGMENT_LENGTH as Rest;
        /// Present if a CertificateStatus follows, TLS 1.2. RFC 6066 8
        status_request: () = STATUS_REQUEST as Empty;
        /// The supported point formats, TLS 1.2. RFC 8422 5.2
        ec_point_formats: List<'a, EcPointFormat> = EC_POINT_FORMATS as Vector<1, 1>;
        /// The selected application protocol, TLS 1.2. RFC 7301 3.1
        alpn: ProtocolName<'a> = APPLICATION_LAYER_PROTOCOL_NEGOTIATION as SelectedProtocol;
        /// Certificate timestamps, TLS 1.2. RFC 6962 3.3.1
        signed_certificate_timestamp: List<'a, SerializedSct<'a>> = SIGNED_CERTIFICATE_TIMESTAMP as Vector<2, 1>;
        /// The type of the client's certificate, TLS 1.2. RFC 7250 3
        client_certificate_type: CertificateType = CLIENT_CERTIFICATE_TYPE;
        /// The type of the server's certificate, TLS 1.2. RFC 7250 3
        server_certificate_type: CertificateType = SERVER_CERTIFICATE_TYPE;
        /// Present if the main secret is bound to the transcript, TLS 1.2. RFC 7627 5.1
        extended_master_secret: () = EXTENDED_MASTER_SECRET as Empty;
        /// The largest record that the server accepts, TLS 1.2. RFC 8449 4
        record_size_limit: u16 = RECORD_SIZE_LIMIT as RecordSizeLimit;
        /// Present if a NewSessionTicket follows, TLS 1.2. RFC 5077 3.2
        session_ticket: () = SESSION_TICKET as Empty;
        /// The last verify_data of both sides when renegotiating, else empty, TLS 1.2.
        /// RFC 5746 3.2
        renegotiation_info: &'a [u8] = RENEGOTIATION_INFO as Vector<1, 0>;
        /// The confirmation in a HelloRetryRequest, unparsed. RFC 9849 5
        encrypted_client_hello: &'a [u8] = ENCRYPTED_CLIENT_HELLO as Rest;
    }
}

extension_set! {
    /// The EncryptedExtensions message, whose body is an extension block. RFC 9846 4.4.1
    EncryptedExtensions {
        /// The groups that the server prefers, for later connections. RFC 9846 4.3.7
        supported_groups: List<'a, NamedGroup> = SUPPORTED_GROUPS as Vector<2, 1>;
        /// The largest record that the server accepts. RFC 8449 4
        record_size_limit: u16 = RECORD_SIZE_LIMIT as RecordSizeLimit;
        /// Present if the server name was used. RFC 6066 3
        server_name: () = SERVER_NAME as Empty;
        /// Present if early data is accepted. RFC 9846 4.3.10
        early_data: () = EARLY_DATA as Empty;
        /// The echo of the client's code, unparsed: never sent by this library. RFC 6066 4
        max_fragment_length: &'a [u8] = MAX_FRAGMENT_LENGTH as Rest;
        /// The selected application protocol. RFC 7301 3.1
        alpn: ProtocolName<'a> = APPLICATION_LAYER_PROTOCOL_NEGOTIATION as SelectedProtocol;
        /// The type of the client's certificate. RFC 7250 3
        client_certificate_type: CertificateType = CLIENT_CERTIFICATE_TYPE;
        /// The type of the server's certificate. RFC 7250 3
        server_certificate_type: CertificateType = SERVER_CERTIFICATE_TYPE;
        /// The configurations to retry with, unparsed. RFC 9849 5
        encrypted_client_hello: &'a [u8] = ENCRYPTED_CLIENT_HELLO as Rest;
        /// The padding that the client requested, of any contents. Not registered.
        server_padding: &'a [u8] = SERVER_PADDING as Rest;
        /// The number of tickets that the server will send. RFC 9149 3
        ticket_request: u8 = TICKET_REQUEST;
        /// QUIC transport parameters, unparsed. RFC 9001 8.2
        quic_transport_parameters: &'a [u8] = QUIC_TRANSPORT_PARAMETERS as Rest;
    }
}

extension_set! {
    /// The extensions of a TLS 1.3 CertificateRequest. RFC 9846 4.4.2
    CertificateRequestExtensions {
        /// A request for a stapled OCSP response. RFC 9846 4.5.1.1
        status_request: () = STATUS_REQUEST as Empty;
        /// The accepted signature schemes for the handshake. RFC 9846 4.3.3
        signature_algorithms: List<'a, SignatureScheme> = SIGNATURE_ALGORITHMS as Vector<2, 1>;
        /// The accepted signature schemes for certificates. RFC 9846 4.3.3
        signature_algorithms_cert: List<'a, SignatureScheme> = SIGNATURE_ALGORITHMS_CERT as Vector<2, 1>;
        /// A request for certificate timestamps. RFC 6962 3.3.1
        signed_certificate_timestamp: () = SIGNED_CERTIFICATE_TIMESTAMP as Empty;
        /// The supported compression algorithms for Certificate messages. RFC 8879 3
        compress_certificate: List<'a, CertificateCompressionAlgorithm> = COMPRESS_CERTIFICATE as DistinctAlgorithms;
        /// The authorities that the server trusts. RFC 9846 4.3.4
        certificate_authorities: List<'a, DistinguishedName<'a>> = CERTIFICATE_AUTHORITIES as Vector<2, 1>;
        /// The required certificate extensions, unparsed: not implemented. RFC 9846 4.3.5
        oid_filters: &'a [u8] = OID_FILTERS as Rest;
    }
}

extension_set! {
    /// The extensions of one entry of a TLS 1.3 Certificate message. RFC 9846 4.5.1
    CertificateEntryExtensions {
        /// The stapled OCSP response. RFC 9846 4.5.1.1
        status_request: CertificateStatus<'a> = STATUS_REQUEST;
        /// Certificate timestamps. RFC 9846 4.5.1.1
        signed_certificate_timestamp: List<'a, SerializedSct<'a>> = SIGNED_CERTIFICATE_TIMESTAMP as Vector<2, 1>;
    }
}

extension_set! {
    /// The extensions of a TLS 1.3 NewSessionTicket. RFC 9846 4.7.1
    NewSessionTicketExtensions {
        /// The maximum number of early data bytes that the ticket allows. RFC 9846 4.3.10
        early_data: u32 = EARLY_DATA;
        /// The flags of the ticket. draft-ietf-tls-tlsflags 2
        tls_flags: TlsFlags<'a> = TLS_FLAGS;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is wrong with this body of an extension of a ClientHello.
    fn error(extension_type: ExtensionType, body: &[u8]) -> DecodeError {
        let mut block = Vec::new();
        Writer::new(&mut block).extension(extension_type, |w| w.bytes(body));
        ClientExtensions::parse_block(&block).unwrap_err()
    }

    /// RFC 8422 5.1.1, RFC 9846 4.3.9, RFC 7250 3
    #[test]
    fn empty_and_truncated_lists_are_refused() {
        for (extension_type, width) in [
            (ExtensionType::SUPPORTED_GROUPS, 2),
            (ExtensionType::SIGNATURE_ALGORITHMS, 2),
            (ExtensionType::SIGNATURE_ALGORITHMS_CERT, 2),
            (ExtensionType::SUPPORTED_VERSIONS, 1),
            (ExtensionType::PSK_KEY_EXCHANGE_MODES, 1),
            (ExtensionType::CLIENT_CERTIFICATE_TYPE, 1),
            (ExtensionType::SERVER_CERTIFICATE_TYPE, 1),
        ] {
            let (empty, truncated) = (&[0, 0][..width], &[0, 1][2 - width..]);
            assert_eq!(error(extension_type, empty), DecodeError::EmptyList, "{extension_type}");
            assert_eq!(error(extension_type, truncated), DecodeError::Truncated);
        }
    }

    /// RFC 9846 4.3.2
    #[test]
    fn an_empty_cookie_is_refused() {
        assert_eq!(error(ExtensionType::COOKIE, &[0, 0]), DecodeError::InvalidLength);
        let set = ClientExtensions::parse_block(&[0, 44, 0, 3, 0, 1, 9]).unwrap();
        assert_eq!(set.cookie, Some(&[9][..]));
    }

    /// RFC 7250 3
    #[test]
    fn a_server_sends_one_version_and_one_certificate_type() {
        let read = ServerHelloExtensions::parse_block;
        let set = read(&[0, 43, 0, 2, 3, 4, 0, 20, 0, 1, 2]).unwrap();
        assert_eq!(set.supported_versions, Some(ProtocolVersion::TLS1_3));
        assert_eq!(set.server_certificate_type, Some(CertificateType::RAW_PUBLIC_KEY));
        assert_eq!(read(&[0, 43, 0, 3, 3, 4, 0]), Err(DecodeError::TrailingData));
        assert_eq!(read(&[0, 20, 0, 2, 1, 2]), Err(DecodeError::TrailingData));
    }
}

//! Writes seeds of the corpus with the encoders: `cargo run -p tercel-fuzz-targets --example
//! seed_corpus`.

use std::path::Path;
use std::{fs, io};

use tercel_wire::*;

#[allow(clippy::too_many_lines, reason = "one seed after the other")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let groups = [NamedGroup::X25519MLKEM768, NamedGroup::X25519, NamedGroup(0x2a2a)];
    let schemes = [SignatureScheme::ECDSA_SECP256R1_SHA256, SignatureScheme::RSA_PSS_RSAE_SHA256];
    let authorities = [DistinguishedName(&[0x30, 0]), DistinguishedName(&[0x30, 2, 0x31, 0])];
    let compressions =
        [CertificateCompressionAlgorithm::ZLIB, CertificateCompressionAlgorithm::ZSTD];
    let timestamps = [SerializedSct(&[1; 4]), SerializedSct(&[2; 3])];
    let unknown = UnknownExtensions::new(&[(ExtensionType(0x1234), &[1, 2, 3])]);
    let share = KeyShareEntry { group: NamedGroup::X25519, key_exchange: &[7; 32] };

    let full = ClientExtensions {
        server_name: Some(ServerNameOffer::HostName(HostName::new(b"tercel.example")?)),
        max_fragment_length: Some(&[4]),
        status_request: Some(CertificateStatusRequest::OCSP),
        supported_groups: Some(List::new(&groups)),
        ec_point_formats: Some(List::new(&[EcPointFormat::UNCOMPRESSED])),
        signature_algorithms: Some(List::new(&schemes)),
        signature_algorithms_cert: Some(List::new(&schemes)),
        alpn: Some(List::new(&[ProtocolName(b"h2"), ProtocolName(b"http/1.1")])),
        signed_certificate_timestamp: Some(()),
        client_certificate_type: Some(List::new(&[CertificateType::X509])),
        server_certificate_type: Some(List::new(&[CertificateType::RAW_PUBLIC_KEY])),
        extended_master_secret: Some(()),
        compress_certificate: Some(List::new(&compressions)),
        record_size_limit: Some(0x4001),
        session_ticket: Some(&[]),
        early_data: Some(()),
        supported_versions: Some(List::new(&[ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2])),
        cookie: Some(&[9; 8]),
        psk_key_exchange_modes: Some(List::new(&[PskKeyExchangeMode::PSK_DHE_KE])),
        certificate_authorities: Some(List::new(&authorities)),
        post_handshake_auth: Some(()),
        key_share: Some(List::new(std::slice::from_ref(&share))),
        renegotiation_info: Some(&[]),
        encrypted_client_hello: Some(&[1, 2]),
        ticket_request: Some(TicketRequest { new_session_count: 2, resumption_count: 1 }),
        quic_transport_parameters: Some(&[1, 0]),
        padding: Some(5),
        pre_shared_key: Some(OfferedPsks {
            identities: List::new(&[
                PskIdentity { identity: b"ticket", obfuscated_ticket_age: 5 },
                PskIdentity { identity: IMPORTED, obfuscated_ticket_age: 0 },
            ]),
            binders: List::new(&[PskBinder(&[3; 32]), PskBinder(&[4; 48])]),
        }),
        unknown,
        ..ClientExtensions::default()
    };
    let hello = ClientHello {
        legacy_version: ProtocolVersion::TLS1_2,
        random: &[1; 32],
        session_id: &[2; 32],
        cipher_suites: List::new(&[
            CipherSuite::TLS_AES_128_GCM_SHA256,
            CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        ]),
        compression_methods: List::new(&[CompressionMethod::NULL]),
        extensions_present: true,
        extensions: full,
    };
    let small = ClientExtensions {
        supported_groups: full.supported_groups,
        signature_algorithms: full.signature_algorithms,
        ..ClientExtensions::default()
    };
    save("client_hello", "valid-full", &hello)?;
    save("client_hello", "valid-tls12", &ClientHello { extensions: small, ..hello })?;
    let bare = ClientExtensions::default();
    let oldest = ClientHello { extensions: bare, extensions_present: false, ..hello };
    save("client_hello", "valid-no-extensions", &oldest)?;

    let tls13 = ServerHello {
        legacy_version: ProtocolVersion::TLS1_2,
        random: &[4; 32],
        session_id_echo: &[2; 32],
        cipher_suite: CipherSuite::TLS_AES_128_GCM_SHA256,
        compression_method: CompressionMethod::NULL,
        extensions: ServerHelloExtensions {
            pre_shared_key: Some(0),
            key_share: Some(ServerKeyShare::Entry(share)),
            supported_versions: Some(ProtocolVersion::TLS1_3),
            ..ServerHelloExtensions::default()
        },
    };
    let retry = ServerHello {
        random: &ServerHello::RETRY_RANDOM,
        extensions: ServerHelloExtensions {
            key_share: Some(ServerKeyShare::SelectedGroup(NamedGroup::SECP384R1)),
            cookie: Some(&[9; 8]),
            supported_versions: Some(ProtocolVersion::TLS1_3),
            encrypted_client_hello: Some(&[6; 8]),
            ..ServerHelloExtensions::default()
        },
        ..tls13
    };
    let tls12 = ServerHello {
        cipher_suite: CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        extensions: ServerHelloExtensions {
            server_name: Some(()),
            max_fragment_length: Some(&[4]),
            status_request: Some(()),
            ec_point_formats: Some(List::new(&[EcPointFormat::UNCOMPRESSED])),
            alpn: Some(ProtocolName(b"h2")),
            signed_certificate_timestamp: Some(List::new(&timestamps)),
            client_certificate_type: Some(CertificateType::X509),
            server_certificate_type: Some(CertificateType::X509),
            extended_master_secret: Some(()),
            record_size_limit: Some(0x4000),
            session_ticket: Some(()),
            renegotiation_info: Some(&[]),
            unknown,
            ..ServerHelloExtensions::default()
        },
        ..tls13
    };
    save("server_hello", "valid-tls13", &tls13)?;
    save("server_hello", "valid-retry", &retry)?;
    save("server_hello", "valid-tls12", &tls12)?;

    save("encrypted_extensions", "valid-empty", &EncryptedExtensions::default())?;
    let encrypted = EncryptedExtensions {
        supported_groups: Some(List::new(&groups)),
        record_size_limit: Some(0x4001),
        server_name: Some(()),
        early_data: Some(()),
        max_fragment_length: Some(&[4]),
        alpn: Some(ProtocolName(b"h2")),
        client_certificate_type: Some(CertificateType::X509),
        server_certificate_type: Some(CertificateType::X509),
        encrypted_client_hello: Some(&[1, 2]),
        ticket_request: Some(2),
        quic_transport_parameters: Some(&[1, 0]),
        unknown,
        ..EncryptedExtensions::default()
    };
    save("encrypted_extensions", "valid-full", &encrypted)?;

    let stapled = CertificateEntryExtensions {
        status_request: Some(CertificateStatus { ocsp_response: &[0x30, 0] }),
        signed_certificate_timestamp: Some(List::new(&timestamps)),
        unknown,
        ..CertificateEntryExtensions::default()
    };
    let plain = CertificateEntryExtensions::default();
    let entries = [
        CertificateEntry { cert_data: &[0x30, 1, 5], extensions: stapled },
        CertificateEntry { cert_data: &[0x30, 1, 6], extensions: plain },
    ];
    let tls13 =
        Certificate { certificate_request_context: b"ctx", certificate_list: List::new(&entries) };
    let chain = [Asn1Cert(&[0x30, 1, 5]), Asn1Cert(&[0x30, 1, 6])];
    let tls12 = CertificateTls12 { certificate_list: List::new(&chain) };
    let compressed = CompressedCertificate {
        algorithm: CertificateCompressionAlgorithm::ZLIB,
        uncompressed_length: 1000,
        compressed_certificate_message: &[0x78, 0x9c, 1],
    };
    save("certificate", "valid-tls13", &tls13)?;
    save("certificate", "valid-tls12", &tls12)?;
    save("certificate", "valid-compressed", &compressed)?;
    save("certificate", "valid-status", &CertificateStatus { ocsp_response: &[0x30, 0] })?;

    let tls13 = CertificateRequest {
        certificate_request_context: b"ctx",
        extensions: CertificateRequestExtensions {
            status_request: Some(()),
            signature_algorithms: Some(List::new(&schemes)),
            signature_algorithms_cert: Some(List::new(&schemes)),
            signed_certificate_timestamp: Some(()),
            compress_certificate: Some(List::new(&compressions)),
            certificate_authorities: Some(List::new(&authorities)),
            oid_filters: Some(&[0, 8, 3, 6, 1, 5, 0, 2, 4, 0]),
            unknown,
            ..CertificateRequestExtensions::default()
        },
    };
    let tls12 = CertificateRequestTls12 {
        certificate_types: List::new(&[ClientCertificateType::ECDSA_SIGN]),
        supported_signature_algorithms: List::new(&schemes),
        certificate_authorities: List::new(&authorities),
    };
    save("certificate_request", "valid-tls13", &tls13)?;
    save("certificate_request", "valid-tls12", &tls12)?;

    let algorithm = SignatureScheme::ECDSA_SECP256R1_SHA256;
    let verify = CertificateVerify { algorithm, signature: &[5; 16] };
    let update = KeyUpdate { request_update: KeyUpdateRequest::UPDATE_REQUESTED };
    save("certificate_verify_finished", "valid-verify", &verify)?;
    save("certificate_verify_finished", "valid-key-update", &update)?;
    save("certificate_verify_finished", "valid-empty", &EndOfEarlyData)?;
    save("certificate_verify_finished", "finished", &Finished { verify_data: &[8; 32] })?;

    let params = ServerEcdhParams { named_curve: NamedGroup::X25519, public: &[7; 32] };
    let server = ServerKeyExchange { params, algorithm, signature: &[5; 16] };
    save("key_exchange_12", "valid-server", &server)?;
    save("key_exchange_12", "valid-client", &ClientKeyExchange { ecdh_public: &[7; 32] })?;

    let tls13 = NewSessionTicket {
        ticket_lifetime: 7200,
        ticket_age_add: 77,
        ticket_nonce: &[0],
        ticket: &[3; 16],
        extensions: NewSessionTicketExtensions {
            early_data: Some(16384),
            unknown,
            ..NewSessionTicketExtensions::default()
        },
    };
    let tls12 = NewSessionTicketTls12 { ticket_lifetime_hint: 7200, ticket: &[3; 16] };
    save("tickets", "valid-tls13", &tls13)?;
    save("tickets", "valid-tls12", &tls12)?;

    let header = RecordHeader {
        content_type: ContentType::APPLICATION_DATA,
        legacy_record_version: ProtocolVersion::TLS1_2,
        length: 0x4100,
    };
    save_bytes("record_alert", "header", &header.encode())?;
    let alert = Alert::fatal(AlertDescription::DECODE_ERROR);
    save_bytes("record_alert", "valid-fatal", &alert.encode())?;
    let alert = Alert::warning(AlertDescription::CLOSE_NOTIFY);
    save_bytes("record_alert", "valid-close-notify", &alert.encode())?;
    Ok(())
}

/// Saves the body of a message. Bodies are the input of the targets.
fn save<'a>(
    target: &str,
    name: &str,
    message: &impl HandshakeMessage<'a>,
) -> Result<(), Box<dyn std::error::Error>> {
    let mut out = Vec::new();
    message.encode(&mut out)?;
    Ok(save_bytes(target, name, out.get(MessageHeader::LENGTH..).unwrap_or_default())?)
}

fn save_bytes(target: &str, name: &str, bytes: &[u8]) -> io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus").join(target);
    fs::create_dir_all(&folder)?;
    fs::write(folder.join(name), bytes)
}

/// An ImportedIdentity. RFC 9258 5.1
const IMPORTED: &[u8] = b"\0\x04name\0\x03ctx\x03\x04\0\x02";

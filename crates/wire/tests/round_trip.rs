//! Builds, parses and compares every message with arbitrary extensions; then truncates and
//! modifies it at every byte.

mod material;

use material::{Material, material};
use proptest::prelude::*;
use tercel_wire::*;

/// Builds, parses and compares a message. `$whole_prefixes` is the number of proper prefixes of
/// its body that are valid messages themselves.
macro_rules! round_trip {
    ($Message:ident, $message:expr, $whole_prefixes:expr) => {{
        let message = $message;
        let mut encoded = Vec::new();
        message.encode(&mut encoded).unwrap();
        let (header, body) = encoded.split_first_chunk().unwrap();
        let header = MessageHeader::parse(header);
        prop_assert_eq!(header.handshake_type, $Message::TYPE);
        prop_assert_eq!(usize::try_from(header.length).unwrap(), body.len());

        let parsed = $Message::parse(body).unwrap();
        prop_assert_eq!(&parsed, &message);
        let mut again = Vec::new();
        parsed.encode(&mut again).unwrap();
        prop_assert_eq!(&again, &encoded);

        // The `Debug` output contains every list.
        let parses = |bytes: &[u8]| format!("{:?}", $Message::parse(bytes)).starts_with("Ok");
        let whole = (0..body.len()).filter(|&length| parses(&body[..length])).count();
        prop_assert_eq!(whole, $whole_prefixes);
        let mut changed = body.to_vec();
        for at in 0..changed.len() {
            for mask in [0x01, 0x80, 0xff] {
                changed[at] ^= mask;
                parses(&changed);
                changed[at] ^= mask;
            }
        }
    }};
}

/// The lists of a ClientHello, for messages to borrow.
struct ClientLists<'a> {
    suites: Vec<CipherSuite>,
    groups: Vec<NamedGroup>,
    formats: Vec<EcPointFormat>,
    schemes: Vec<SignatureScheme>,
    names: Vec<ProtocolName<'a>>,
    certificate_types: Vec<CertificateType>,
    compressions: Vec<CertificateCompressionAlgorithm>,
    versions: Vec<ProtocolVersion>,
    modes: Vec<PskKeyExchangeMode>,
    authorities: Vec<DistinguishedName<'a>>,
    responders: Vec<ResponderId<'a>>,
    shares: Vec<KeyShareEntry<'a>>,
    identities: Vec<PskIdentity<'a>>,
    binders: Vec<PskBinder<'a>>,
    unknown: Vec<(ExtensionType, &'a [u8])>,
}

impl<'a> ClientLists<'a> {
    fn new(m: &'a Material) -> Self {
        let mut formats = m.bytes(EcPointFormat);
        formats.push(EcPointFormat::UNCOMPRESSED);
        let share = |group| KeyShareEntry { group: NamedGroup(group), key_exchange: m.string() };
        let identity = |identity| PskIdentity { identity, obfuscated_ticket_age: m.number };
        Self {
            suites: m.words(CipherSuite),
            groups: m.words(NamedGroup),
            formats,
            schemes: m.words(SignatureScheme),
            names: m.strings(ProtocolName),
            certificate_types: m.bytes(CertificateType),
            compressions: m.words(CertificateCompressionAlgorithm),
            versions: m.words(ProtocolVersion),
            modes: m.bytes(PskKeyExchangeMode),
            authorities: m.strings(DistinguishedName),
            responders: m.strings(ResponderId),
            shares: m.words(share),
            identities: m.strings(identity),
            binders: m.binders.iter().map(|binder| PskBinder(binder)).collect(),
            unknown: m.unknown(),
        }
    }
}

fn client_extensions<'a>(m: &'a Material, lists: &'a ClientLists<'a>) -> ClientExtensions<'a> {
    let host = HostName::new(m.host.as_bytes()).unwrap();
    let low_bytes = m.number.to_le_bytes();
    ClientExtensions {
        server_name: m.pick(0, ServerNameOffer::HostName(host)),
        max_fragment_length: m.pick(1, m.session_id.as_slice()),
        status_request: m.pick(
            2,
            CertificateStatusRequest::Ocsp {
                responder_ids: List::new(&lists.responders),
                request_extensions: m.string(),
            },
        ),
        supported_groups: m.pick(3, List::new(&lists.groups)),
        ec_point_formats: m.pick(4, List::new(&lists.formats)),
        signature_algorithms: m.pick(5, List::new(&lists.schemes)),
        signature_algorithms_cert: m.pick(6, List::new(&lists.schemes[..1])),
        alpn: m.pick(7, List::new(&lists.names)),
        signed_certificate_timestamp: m.pick(8, ()),
        client_certificate_type: m.pick(9, List::new(&lists.certificate_types)),
        server_certificate_type: m.pick(10, List::new(&lists.certificate_types[..1])),
        extended_master_secret: m.pick(11, ()),
        compress_certificate: m.pick(12, List::new(&lists.compressions)),
        record_size_limit: m.pick(13, m.words[0].max(64)),
        session_ticket: m.pick(14, m.session_id.as_slice()),
        early_data: m.pick(15, ()),
        supported_versions: m.pick(16, List::new(&lists.versions)),
        cookie: m.pick(17, m.string()),
        psk_key_exchange_modes: m.pick(18, List::new(&lists.modes)),
        certificate_authorities: m.pick(19, List::new(&lists.authorities)),
        post_handshake_auth: m.pick(20, ()),
        key_share: m.pick(21, List::new(&lists.shares)),
        renegotiation_info: m.pick(22, m.session_id.as_slice()),
        encrypted_client_hello: m.pick(23, m.session_id.as_slice()),
        ticket_request: m.pick(
            24,
            TicketRequest { new_session_count: low_bytes[1], resumption_count: low_bytes[2] },
        ),
        quic_transport_parameters: m.pick(25, m.session_id.as_slice()),
        server_padding: m.pick(29, m.session_id.as_slice()),
        padding: m.pick(26, u16::from(low_bytes[3])),
        pre_shared_key: m.pick(
            27,
            OfferedPsks {
                identities: List::new(&lists.identities),
                binders: List::new(&lists.binders),
            },
        ),
        unknown: m.pick(28, UnknownExtensions::new(&lists.unknown)).unwrap_or_default(),
        received: ExtensionBlock::default(),
    }
}

fn client_hello<'a>(m: &'a Material, lists: &'a ClientLists<'a>) -> ClientHello<'a> {
    ClientHello {
        legacy_version: ProtocolVersion(m.words[0]),
        random: &m.random,
        session_id: &m.session_id,
        cipher_suites: List::new(&lists.suites),
        compression_methods: List::new(&[CompressionMethod::DEFLATE, CompressionMethod::NULL]),
        extensions_present: true,
        extensions: client_extensions(m, lists),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// RFC 7685 3
    #[test]
    fn client_hello_round_trips(m in material()) {
        let lists = ClientLists::new(&m);
        // Only one proper prefix is valid: the ClientHello without extensions.
        round_trip!(ClientHello, client_hello(&m, &lists), 1);
        let without = ClientHello {
            extensions_present: false,
            extensions: ClientExtensions::default(),
            ..client_hello(&m, &lists)
        };
        round_trip!(ClientHello, without, 0);
    }

    #[test]
    fn client_hellos_are_equal_in_any_extension_order(m in material(), seed: u64, grease: [u8; 8]) {
        // The same reserved value twice would be a duplicate.
        let is_reserved = |&word: &u16| NamedGroup(word).is_grease() || NamedGroup(word | 0x8000).is_grease();
        prop_assume!(!m.words.iter().any(is_reserved));
        let lists = ClientLists::new(&m);
        let hello = client_hello(&m, &lists);
        let mut out = Vec::new();
        hello.encode_with(&ClientHelloEncoding { order: Some(seed), grease: None }, &mut out).unwrap();
        let parsed = ClientHello::parse(&out[4..]).unwrap();
        prop_assert_eq!(&parsed, &hello);
        if let Some(partial) = parsed.without_binders(&out) {
            let all = m.binders.iter().map(|binder| binder.len() + 1).sum::<usize>();
            prop_assert_eq!(out.len() - partial.len(), 2 + all);
        }

        let grease = Grease::from_random(grease);
        let encoding = ClientHelloEncoding { order: Some(seed), grease: Some(grease) };
        out.clear();
        hello.encode_with(&encoding, &mut out).unwrap();
        let parsed = ClientHello::parse(&out[4..]).unwrap();
        prop_assert_eq!(parsed.cipher_suites.len(), hello.cipher_suites.len() + 1);
        prop_assert_eq!(parsed.extensions.unknown.len(), hello.extensions.unknown.len() + 2);
    }

    #[test]
    fn server_hello_round_trips(m in material(), retry: bool) {
        let formats = [EcPointFormat::UNCOMPRESSED];
        let timestamps = m.strings(SerializedSct);
        let unknown = m.unknown();
        let group = NamedGroup(m.words[0]);
        let share = if retry {
            ServerKeyShare::SelectedGroup(group)
        } else {
            ServerKeyShare::Entry(KeyShareEntry { group, key_exchange: m.string() })
        };
        let random = if retry { ServerHello::RETRY_RANDOM } else { m.random };
        let extensions = ServerHelloExtensions {
            server_name: m.pick(0, ()),
            max_fragment_length: m.pick(1, m.session_id.as_slice()),
            status_request: m.pick(2, ()),
            ec_point_formats: m.pick(3, List::new(&formats)),
            alpn: m.pick(4, ProtocolName(m.string())),
            signed_certificate_timestamp: m.pick(5, List::new(&timestamps)),
            client_certificate_type: m.pick(6, CertificateType(m.bytes[0])),
            server_certificate_type: m.pick(7, CertificateType(m.bytes[0])),
            extended_master_secret: m.pick(8, ()),
            record_size_limit: m.pick(9, m.words[0].max(64)),
            session_ticket: m.pick(10, ()),
            pre_shared_key: m.pick(11, m.words[0]),
            supported_versions: m.pick(12, ProtocolVersion(m.words[0])),
            cookie: m.pick(13, m.string()),
            key_share: m.pick(14, share),
            renegotiation_info: m.pick(15, m.session_id.as_slice()),
            encrypted_client_hello: m.pick(16, m.session_id.as_slice()),
            unknown: m.pick(17, UnknownExtensions::new(&unknown)).unwrap_or_default(),
            received: ExtensionBlock::default(),
        };
        let hello = ServerHello {
            legacy_version: ProtocolVersion(m.words[0]),
            random: &random,
            session_id_echo: &m.session_id,
            cipher_suite: CipherSuite(m.words[0]),
            compression_method: CompressionMethod(m.bytes[0]),
            extensions,
        };
        round_trip!(ServerHello, hello, usize::from(!extensions.is_empty()));
    }

    #[test]
    fn encrypted_extensions_round_trip(m in material()) {
        let groups = m.words(NamedGroup);
        let unknown = m.unknown();
        round_trip!(EncryptedExtensions, EncryptedExtensions {
            server_name: m.pick(0, ()),
            max_fragment_length: m.pick(1, m.session_id.as_slice()),
            supported_groups: m.pick(2, List::new(&groups)),
            alpn: m.pick(3, ProtocolName(m.string())),
            client_certificate_type: m.pick(4, CertificateType(m.bytes[0])),
            server_certificate_type: m.pick(5, CertificateType(m.bytes[0])),
            record_size_limit: m.pick(6, m.words[0].max(64)),
            early_data: m.pick(7, ()),
            encrypted_client_hello: m.pick(8, m.session_id.as_slice()),
            ticket_request: m.pick(9, m.bytes[0]),
            quic_transport_parameters: m.pick(10, m.session_id.as_slice()),
            server_padding: m.pick(12, m.session_id.as_slice()),
            unknown: m.pick(11, UnknownExtensions::new(&unknown)).unwrap_or_default(),
            received: ExtensionBlock::default(),
        }, 0);
    }

    #[test]
    fn certificates_round_trip(m in material()) {
        let timestamps = m.strings(SerializedSct);
        let unknown = m.unknown();
        let extensions = CertificateEntryExtensions {
            status_request: m.pick(0, CertificateStatus { ocsp_response: m.string() }),
            signed_certificate_timestamp: m.pick(1, List::new(&timestamps)),
            unknown: m.pick(2, UnknownExtensions::new(&unknown)).unwrap_or_default(),
            received: ExtensionBlock::default(),
        };
        let entries = m.strings(|cert_data| CertificateEntry { cert_data, extensions });
        round_trip!(Certificate, Certificate {
            certificate_request_context: &m.session_id,
            certificate_list: m.pick(3, List::new(&entries)).unwrap_or_default(),
        }, 0);

        let chain = m.strings(Asn1Cert);
        round_trip!(CertificateTls12, CertificateTls12 {
            certificate_list: m.pick(3, List::new(&chain)).unwrap_or_default(),
        }, 0);

        round_trip!(CompressedCertificate, CompressedCertificate {
            algorithm: CertificateCompressionAlgorithm(m.words[0]),
            uncompressed_length: m.number & 0xff_ffff,
            compressed_certificate_message: m.string(),
        }, 0);

        round_trip!(CertificateStatus, CertificateStatus { ocsp_response: m.string() }, 0);
    }

    #[test]
    fn certificate_requests_round_trip(m in material()) {
        let schemes = m.words(SignatureScheme);
        let compressions = m.words(CertificateCompressionAlgorithm);
        let authorities = m.strings(DistinguishedName);
        let unknown = m.unknown();
        round_trip!(CertificateRequest, CertificateRequest {
            certificate_request_context: &m.session_id,
            extensions: CertificateRequestExtensions {
                status_request: m.pick(0, ()),
                signature_algorithms: m.pick(1, List::new(&schemes)),
                signature_algorithms_cert: m.pick(2, List::new(&schemes[..1])),
                signed_certificate_timestamp: m.pick(3, ()),
                compress_certificate: m.pick(4, List::new(&compressions)),
                certificate_authorities: m.pick(5, List::new(&authorities)),
                oid_filters: m.pick(6, m.session_id.as_slice()),
                unknown: m.pick(7, UnknownExtensions::new(&unknown)).unwrap_or_default(),
                received: ExtensionBlock::default(),
            },
        }, 0);

        let types = m.bytes(ClientCertificateType);
        round_trip!(CertificateRequestTls12, CertificateRequestTls12 {
            certificate_types: List::new(&types),
            supported_signature_algorithms: List::new(&schemes),
            certificate_authorities: m.pick(8, List::new(&authorities)).unwrap_or_default(),
        }, 0);
    }

    #[test]
    fn certificate_verify_and_finished_round_trip(m in material()) {
        let algorithm = SignatureScheme(m.words[0]);
        round_trip!(CertificateVerify, CertificateVerify { algorithm, signature: &m.session_id }, 0);
        // Every prefix of a Finished can be parsed, since the handshake checks its length.
        round_trip!(Finished, Finished { verify_data: &m.random }, 32);
    }

    #[test]
    fn key_exchanges_round_trip(m in material()) {
        let params = ServerEcdhParams { named_curve: NamedGroup(m.words[0]), public: m.string() };
        let algorithm = SignatureScheme(m.words[0]);
        round_trip!(
            ServerKeyExchange,
            ServerKeyExchange { params, algorithm, signature: &m.session_id },
            0
        );
        round_trip!(ClientKeyExchange, ClientKeyExchange { ecdh_public: m.string() }, 0);
    }

    #[test]
    fn tickets_round_trip(m in material()) {
        let unknown = m.unknown();
        round_trip!(NewSessionTicket, NewSessionTicket {
            ticket_lifetime: m.number,
            ticket_age_add: !m.number,
            ticket_nonce: &m.session_id,
            ticket: m.string(),
            extensions: NewSessionTicketExtensions {
                early_data: m.pick(0, m.number),
                tls_flags: m.pick(2, TlsFlags::ONLY_RESUMPTION_ACROSS_NAMES),
                unknown: m.pick(1, UnknownExtensions::new(&unknown)).unwrap_or_default(),
                received: ExtensionBlock::default(),
            },
        }, 0);
        round_trip!(NewSessionTicketTls12, NewSessionTicketTls12 {
            ticket_lifetime_hint: m.number,
            ticket: &m.session_id,
        }, 0);
    }

    #[test]
    fn fixed_messages_round_trip(update_requested: bool) {
        let request_update = KeyUpdateRequest(u8::from(update_requested));
        round_trip!(KeyUpdate, KeyUpdate { request_update }, 0);
        round_trip!(EndOfEarlyData, EndOfEarlyData, 0);
        round_trip!(HelloRequest, HelloRequest, 0);
        round_trip!(ServerHelloDone, ServerHelloDone, 0);
    }
}

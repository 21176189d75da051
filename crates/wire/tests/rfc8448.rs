//! The hello messages of RFC 8448: built from their fields and parsed, and compared byte for byte.

use tercel_wire::*;

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<_> = hex.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits.chunks(2).map(|pair| u8::try_from(pair[0] * 16 + pair[1]).unwrap()).collect()
}

fn array(hex: &str) -> [u8; 32] {
    bytes(hex).try_into().unwrap()
}

/// RFC 8448 3, the ClientHello.
const CLIENT_HELLO: &str = "
    010000c0 0303 cb34ecb1e78163ba1c38c6dacb196a6dffa21a8d9912ec18a2ef6283024dece7 00
    0006 130113031302 0100 0091
    0000 000b 000900000673 6572766572
    ff01 0001 00
    000a 0014 0012001d00170018001901000101010201030104
    0023 0000
    0033 0026 0024001d0020 99381de560e4bd43d23d8e435a7dbafeb3c06e51c13cae4d5413691e529aaf2c
    002b 0003 020304
    000d 0020 001e040305030603020308040805080604010501060102010402050206020202
    002d 0002 0101
    001c 0002 4001";

/// RFC 8448 3, the ServerHello.
const SERVER_HELLO: &str = "
    02000056 0303 a6af06a4121860dc5e6e60249cd34c95930c8ac5cb1434dac155772ed3e26928 00
    1301 00 002e
    0033 0024 001d0020 c9828876112095fe66762bdbf7c672e156d6cc253b833df1dd69b1b04e751f0f
    002b 0002 0304";

/// RFC 8448 3, the EncryptedExtensions.
const ENCRYPTED_EXTENSIONS: &str = "
    08000024 0022
    000a 0014 0012001d00170018001901000101010201030104
    001c 0002 4001
    0000 0000";

const GROUPS: [NamedGroup; 9] = [
    NamedGroup::X25519,
    NamedGroup::SECP256R1,
    NamedGroup::SECP384R1,
    NamedGroup::SECP521R1,
    NamedGroup::FFDHE2048,
    NamedGroup::FFDHE3072,
    NamedGroup::FFDHE4096,
    NamedGroup::FFDHE6144,
    NamedGroup::FFDHE8192,
];

#[test]
fn the_client_hello_is_built_and_read() {
    let random = array("cb34ecb1e78163ba1c38c6dacb196a6dffa21a8d9912ec18a2ef6283024dece7");
    let share = array("99381de560e4bd43d23d8e435a7dbafeb3c06e51c13cae4d5413691e529aaf2c");
    let shares = [KeyShareEntry { group: NamedGroup::X25519, key_exchange: &share }];
    let schemes = [
        SignatureScheme::ECDSA_SECP256R1_SHA256,
        SignatureScheme::ECDSA_SECP384R1_SHA384,
        SignatureScheme::ECDSA_SECP521R1_SHA512,
        SignatureScheme::ECDSA_SHA1,
        SignatureScheme::RSA_PSS_RSAE_SHA256,
        SignatureScheme::RSA_PSS_RSAE_SHA384,
        SignatureScheme::RSA_PSS_RSAE_SHA512,
        SignatureScheme::RSA_PKCS1_SHA256,
        SignatureScheme::RSA_PKCS1_SHA384,
        SignatureScheme::RSA_PKCS1_SHA512,
        SignatureScheme::RSA_PKCS1_SHA1,
        SignatureScheme(0x0402),
        SignatureScheme(0x0502),
        SignatureScheme(0x0602),
        SignatureScheme(0x0202),
    ];
    let hello = ClientHello {
        legacy_version: ProtocolVersion::TLS1_2,
        random: &random,
        session_id: &[],
        cipher_suites: List::new(&[
            CipherSuite::TLS_AES_128_GCM_SHA256,
            CipherSuite::TLS_CHACHA20_POLY1305_SHA256,
            CipherSuite::TLS_AES_256_GCM_SHA384,
        ]),
        compression_methods: List::new(&[CompressionMethod::NULL]),
        extensions_present: true,
        extensions: ClientExtensions {
            server_name: Some(ServerNameOffer::HostName(HostName::new(b"server").unwrap())),
            renegotiation_info: Some(&[]),
            supported_groups: Some(List::new(&GROUPS)),
            session_ticket: Some(&[]),
            key_share: Some(List::new(&shares)),
            supported_versions: Some(List::new(&[ProtocolVersion::TLS1_3])),
            signature_algorithms: Some(List::new(&schemes)),
            psk_key_exchange_modes: Some(List::new(&[PskKeyExchangeMode::PSK_DHE_KE])),
            record_size_limit: Some(0x4001),
            ..ClientExtensions::default()
        },
    };

    let expected = bytes(CLIENT_HELLO);
    let mut built = Vec::new();
    hello.encode(&mut built).unwrap();
    assert_eq!(built, expected);

    let parsed = ClientHello::parse(&expected[4..]).unwrap();
    assert_eq!(parsed, hello);
    assert!(parsed.extensions.unknown.is_empty());
    assert_eq!(parsed.extensions.types().count(), 9);
}

#[test]
fn the_server_hello_is_built_and_read() {
    let random = array("a6af06a4121860dc5e6e60249cd34c95930c8ac5cb1434dac155772ed3e26928");
    let share = array("c9828876112095fe66762bdbf7c672e156d6cc253b833df1dd69b1b04e751f0f");
    let entry = KeyShareEntry { group: NamedGroup::X25519, key_exchange: &share };
    let hello = ServerHello {
        legacy_version: ProtocolVersion::TLS1_2,
        random: &random,
        session_id_echo: &[],
        cipher_suite: CipherSuite::TLS_AES_128_GCM_SHA256,
        compression_method: CompressionMethod::NULL,
        extensions: ServerHelloExtensions {
            key_share: Some(ServerKeyShare::Entry(entry)),
            supported_versions: Some(ProtocolVersion::TLS1_3),
            ..ServerHelloExtensions::default()
        },
    };

    let expected = bytes(SERVER_HELLO);
    let mut built = Vec::new();
    hello.encode(&mut built).unwrap();
    assert_eq!(built, expected);
    let parsed = ServerHello::parse(&expected[4..]).unwrap();
    assert_eq!(parsed, hello);
    assert_eq!(parsed.key_share(), Some(entry));
    assert!(!parsed.is_hello_retry_request());
}

#[test]
fn the_encrypted_extensions_are_built_and_read() {
    let extensions = EncryptedExtensions {
        supported_groups: Some(List::new(&GROUPS)),
        record_size_limit: Some(0x4001),
        server_name: Some(()),
        ..EncryptedExtensions::default()
    };

    let expected = bytes(ENCRYPTED_EXTENSIONS);
    let mut built = Vec::new();
    extensions.encode(&mut built).unwrap();
    assert_eq!(built, expected);
    assert_eq!(EncryptedExtensions::parse(&expected[4..]), Ok(extensions));
}

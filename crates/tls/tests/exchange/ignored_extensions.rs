//! Extensions that a server ignores by default do not end a handshake, whatever bytes they contain.
//!
//! The tests send malformed extensions to a server. conformance/receiver-checks.md has the reason
//! for each extension that is parsed.

use tercel::wire::{AlertDescription, ClientHello, ProtocolVersion};
use tercel::{Error, Handshake, ReceiveBuffer};
use tercel_wire::{ClientExtensions, ExtensionType, HandshakeMessage, UnknownExtensions};

use crate::fixtures::{NAME, client, server};

/// The extensions that a default server parses, so that a malformed one is an error.
const PARSED_BY_DEFAULT: [ExtensionType; 23] = [
    ExtensionType::SERVER_NAME,
    ExtensionType::STATUS_REQUEST,
    ExtensionType::SUPPORTED_GROUPS,
    ExtensionType::EC_POINT_FORMATS,
    ExtensionType::SIGNATURE_ALGORITHMS,
    ExtensionType::APPLICATION_LAYER_PROTOCOL_NEGOTIATION,
    ExtensionType::SIGNED_CERTIFICATE_TIMESTAMP,
    ExtensionType::CLIENT_CERTIFICATE_TYPE,
    ExtensionType::SERVER_CERTIFICATE_TYPE,
    ExtensionType::EXTENDED_MASTER_SECRET,
    ExtensionType::COMPRESS_CERTIFICATE,
    ExtensionType::RECORD_SIZE_LIMIT,
    ExtensionType::PRE_SHARED_KEY,
    ExtensionType::EARLY_DATA,
    ExtensionType::SUPPORTED_VERSIONS,
    ExtensionType::COOKIE,
    ExtensionType::PSK_KEY_EXCHANGE_MODES,
    ExtensionType::CERTIFICATE_AUTHORITIES,
    ExtensionType::POST_HANDSHAKE_AUTH,
    ExtensionType::SIGNATURE_ALGORITHMS_CERT,
    ExtensionType::KEY_SHARE,
    ExtensionType::TICKET_REQUEST,
    ExtensionType::RENEGOTIATION_INFO,
];

#[test]
fn a_server_ignores_malformed_extensions_that_it_does_not_use() {
    for version in [ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2] {
        let named = ExtensionType::NAMED.iter().map(|kind| kind.0);
        let others = (0..100).chain([4832, 0x0a0a, 0x3374, 0x754f, 0xfafa, 0xfe0e, 0xffff]);
        let kinds: std::collections::BTreeSet<u16> = named.chain(others).collect();
        for kind in kinds.into_iter().map(ExtensionType) {
            let alert = |body| answer(version, kind, body).err().and_then(Error::alert);
            // With QUIC, its extension is refused over TCP, whatever it contains: see
            // `quic/rules.rs`.
            if cfg!(feature = "quic") && kind == ExtensionType::QUIC_TRANSPORT_PARAMETERS {
                continue;
            }
            let expected =
                PARSED_BY_DEFAULT.contains(&kind).then_some(AlertDescription::DECODE_ERROR);
            assert_eq!(alert(&[1]), expected, "{kind} in {version}");
            if expected.is_none() {
                assert_eq!(alert(&[0xff; 3]), None, "{kind} in {version}");
            }
        }
    }
}

/// TLS 1.3 has one point format and ignores the extension; TLS 1.2 requires uncompressed points.
#[test]
fn point_formats_without_the_uncompressed_one_are_refused_in_tls12_only() {
    let compressed_only = [1, 1];
    let answer = |version| answer(version, ExtensionType::EC_POINT_FORMATS, &compressed_only);
    assert_eq!(answer(ProtocolVersion::TLS1_3), Ok(()));
    let alert = answer(ProtocolVersion::TLS1_2).unwrap_err().alert();
    assert_eq!(alert, Some(AlertDescription::ILLEGAL_PARAMETER));
}

/// A name that cannot be a DNS name is ignored.
#[test]
fn a_server_name_with_a_port_is_ignored() {
    let list = |name: &[u8]| {
        let length = u8::try_from(name.len()).unwrap();
        [&[0, length + 3, 0, 0, length], name].concat()
    };
    for version in [ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2] {
        let answer = |name: &[u8]| answer(version, ExtensionType::SERVER_NAME, &list(name));
        assert_eq!(answer(b"server.example:443"), Ok(()));
        assert_eq!(answer(b"server example"), Ok(()));
        assert_eq!(answer(b"server.example."), Ok(()));
        let alert = answer(b"server\0example").unwrap_err().alert();
        assert_eq!(alert, Some(AlertDescription::ILLEGAL_PARAMETER));
    }
}

/// The server's result for a ClientHello in which the extension of this type has this body.
fn answer(version: ProtocolVersion, kind: ExtensionType, body: &[u8]) -> Result<(), Error> {
    let config = client().versions(&[version]).build().unwrap();
    let mut client = Handshake::client(config, NAME.try_into().unwrap());
    let mut out = Vec::new();
    client.advance(&mut ReceiveBuffer::new(), &mut out).unwrap();
    let mut hello = ClientHello::parse(&out[9..]).unwrap();
    let mut extensions: Vec<_> =
        hello.extensions.received.iter().filter(|(other, _)| *other != kind).collect();
    extensions.push((kind, body));
    hello.extensions =
        ClientExtensions { unknown: UnknownExtensions::new(&extensions), ..Default::default() };
    let mut message = Vec::new();
    hello.encode(&mut message).unwrap();
    let length = u16::try_from(message.len()).unwrap().to_be_bytes();
    let mut received = ReceiveBuffer::new();
    received.extend(&[&[22, 3, 1], &length[..], &message].concat());
    let mut server = Handshake::server(server().build().unwrap());
    server.advance(&mut received, &mut Vec::new()).map(|_| ())
}

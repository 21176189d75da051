//! A HelloRetryRequest that has only a cookie, and the changes that are then allowed in the second
//! ClientHello.

use tercel::wire::{CipherSuite, ClientHello, ProtocolVersion};
use tercel::{Handshake, Next, ReceiveBuffer, ServerName};
use tercel_wire::{
    CompressionMethod, ExtensionType, HandshakeMessage, ServerHello, ServerHelloExtensions,
};

use crate::fixtures::{NAME, client};
use crate::pair::records;

#[test]
fn a_second_hello_that_adds_a_cookie_changes_nothing_else() {
    for reserved in [false, true] {
        let config = client().grease(reserved).build().unwrap();
        let mut handshake = Handshake::client(config, ServerName::try_from(NAME).unwrap());
        let (mut received, mut out) = (ReceiveBuffer::new(), Vec::new());
        assert!(matches!(handshake.advance(&mut received, &mut out), Ok(Next::Receive)));
        let (_, first) = records(&out).swap_remove(0);
        let hello = ClientHello::parse(&first[4..]).unwrap();

        let mut retry = Vec::new();
        let message = ServerHello {
            legacy_version: ProtocolVersion::TLS1_2,
            random: &ServerHello::RETRY_RANDOM,
            session_id_echo: hello.session_id,
            cipher_suite: CipherSuite::TLS_AES_128_GCM_SHA256,
            compression_method: CompressionMethod::NULL,
            extensions: ServerHelloExtensions {
                supported_versions: Some(ProtocolVersion::TLS1_3),
                cookie: Some(b"a cookie"),
                ..Default::default()
            },
        };
        message.encode(&mut retry).unwrap();
        let [.., high, low] = retry.len().to_be_bytes();
        received.extend(&[&[22, 3, 3, high, low], &retry[..]].concat());
        out.clear();
        assert!(matches!(handshake.advance(&mut received, &mut out), Ok(Next::Receive)));

        let is_hello = |(kind, _): &(u8, Vec<u8>)| *kind == 22;
        let (_, second) = records(&out).into_iter().find(is_hello).unwrap();
        let again = ClientHello::parse(&second[4..]).unwrap();
        assert_eq!(again.extensions.cookie, Some(&b"a cookie"[..]));
        assert_eq!(again.random, hello.random);
        assert_eq!(again.cipher_suites, hello.cipher_suites);
        // Key shares are replaced only if a group was requested. RFC 9846 4.2.2
        let cookie = |(kind, _): &(ExtensionType, &[u8])| *kind == ExtensionType::COOKIE;
        let before: Vec<_> = hello.extensions.received.iter().collect();
        let mut after: Vec<_> = again.extensions.received.iter().collect();
        after.retain(|extension| !cookie(extension));
        assert_eq!(before.len(), after.len());
        let changed = before.iter().zip(&after).filter(|(before, after)| before != after);
        let changed: Vec<_> = changed.map(|((kind, _), _)| *kind).collect();
        assert_eq!(changed, [], "reserved values: {reserved}");
    }
}

//! The rules of QUIC for TLS, each with the code that ends the connection. RFC 9001 4, 6, 8

use tercel::error::PeerError;
use tercel::quic::{Ended, Handshake, Level, Next, Version};
use tercel::wire::{ClientHello, ProtocolVersion};
use tercel::{Error, Policy, ReceiveBuffer, ServerName};
use tercel_wire::{
    CompressionMethod, EncryptedExtensions, ExtensionType, HandshakeMessage, HandshakeType,
    NewSessionTicket, NewSessionTicketExtensions, ServerHello, ServerHelloExtensions,
};

use super::messages::{message, replace, split, with_answer, with_extension, with_session_id};
use super::pair::{Data, OF_CLIENT, Pair, client, plain, server};
use crate::fixtures::{self, Kind, NAME, credential};

pub(super) const PROTOCOL_VIOLATION: u64 = 0x0a;
pub(super) const UNEXPECTED_MESSAGE: u64 = 0x010a;

pub(super) fn check(ended: Ended, error: PeerError, code: u64) {
    assert_eq!((ended.error, ended.code), (Error::Peer(error), code));
}

/// The result of the server, whose client's data is changed.
fn server_error(change: impl Fn(&mut Data)) -> Ended {
    let (client, server) = plain();
    Pair::new(&client, &server).tap_to_server(change).run().server.error()
}

/// The result of the client, whose server's data is changed.
fn client_error(change: impl Fn(&mut Data)) -> Ended {
    let (client, server) = plain();
    Pair::new(&client, &server).tap_to_client(change).run().client.error()
}

/// The first ClientHello of a client, without its header.
fn hello(config: &std::sync::Arc<tercel::ClientConfig>) -> Vec<u8> {
    let name = ServerName::try_from(NAME).unwrap();
    let mut client = Handshake::client(config, name, Version::V1, OF_CLIENT.to_vec()).unwrap();
    match client.advance().unwrap() {
        Next::Send(Level::Initial, data) => data[4..].to_vec(),
        other => panic!("{other:?}"),
    }
}

/// RFC 9001 4.2
#[test]
fn only_tls13_is_negotiated() {
    let versions = ExtensionType::SUPPORTED_VERSIONS;
    let ended = server_error(|data| {
        replace(data, HandshakeType::CLIENT_HELLO, |hello| {
            with_extension(hello, versions, Some(&[2, 3, 3]))
        });
    });
    check(ended, PeerError::UnsupportedVersion, 0x0146);
    let ended = server_error(|data| {
        replace(data, HandshakeType::CLIENT_HELLO, |hello| with_extension(hello, versions, None));
    });
    check(ended, PeerError::UnsupportedVersion, 0x0146);
    let ended = client_error(|data| {
        let tls12 = ServerHello {
            legacy_version: ProtocolVersion::TLS1_2,
            random: &[7; 32],
            session_id_echo: &[],
            cipher_suite: tercel::wire::CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
            compression_method: CompressionMethod::NULL,
            extensions: ServerHelloExtensions::default(),
        };
        data.1.clear();
        tls12.encode(&mut data.1).unwrap();
    });
    check(ended, PeerError::UnsupportedVersion, 0x0146);
}

/// Options for records and for older versions are left out, although the configuration has them.
/// RFC 9001 4.2, 4.4, 8.4
#[test]
fn a_client_offers_nothing_that_quic_does_not_have() {
    let config = client()
        .record_size_limit(1000)
        .post_handshake_auth(true)
        .middlebox_compatibility(true)
        .fallback_scsv(true)
        .build()
        .unwrap();
    let hello = hello(&config);
    let hello = ClientHello::parse(&hello).unwrap();
    assert!(hello.session_id.is_empty());
    let versions: Vec<_> = hello.extensions.supported_versions.unwrap().iter().collect();
    assert_eq!(versions, [ProtocolVersion::TLS1_3]);
    assert!(hello.cipher_suites.iter().all(|suite| suite.0 >> 8 == 0x13));
    assert!(hello.extensions.record_size_limit.is_none());
    assert!(hello.extensions.post_handshake_auth.is_none());
    assert!(hello.extensions.session_ticket.is_none());
    assert!(hello.extensions.extended_master_secret.is_none());
    assert!(hello.extensions.renegotiation_info.is_none());
    assert_eq!(hello.extensions.quic_transport_parameters, Some(OF_CLIENT));
    // Over TCP the same configuration has all of them.
    let mut over_tcp = tercel::Handshake::client(config, NAME.try_into().unwrap());
    let mut out = Vec::new();
    over_tcp.advance(&mut ReceiveBuffer::new(), &mut out).unwrap();
    let hello = ClientHello::parse(&out[9..]).unwrap();
    assert!(!hello.session_id.is_empty());
    assert!(hello.extensions.record_size_limit.is_some());
    assert!(hello.extensions.post_handshake_auth.is_some());
    assert!(hello.extensions.quic_transport_parameters.is_none());
}

/// RFC 9001 8.4
#[test]
fn a_session_id_is_refused() {
    let ended = server_error(|data| {
        replace(data, HandshakeType::CLIENT_HELLO, |hello| with_session_id(hello, &[7; 32]));
    });
    check(ended, PeerError::SessionIdOverQuic, PROTOCOL_VIOLATION);
    let ended = client_error(|data| {
        replace(data, HandshakeType::SERVER_HELLO, |hello| with_session_id(hello, &[7; 32]));
    });
    check(ended, PeerError::SessionIdNotEchoed, 0x012f);
}

/// RFC 9001 8.3
#[test]
fn an_end_of_early_data_is_refused() {
    let ended = server_error(|data| {
        if data.0 == Level::Handshake {
            data.1.splice(0..0, message(HandshakeType::END_OF_EARLY_DATA, &[]));
        }
    });
    check(ended, PeerError::UnexpectedMessage, UNEXPECTED_MESSAGE);
}

/// RFC 9001 6
#[test]
fn a_key_update_message_is_refused() {
    let update = || message(HandshakeType::KEY_UPDATE, &[0]);
    let in_handshake = |data: &mut Data| {
        if data.0 == Level::Handshake {
            data.1.splice(0..0, update());
        }
    };
    for ended in [server_error(in_handshake), client_error(in_handshake)] {
        check(ended, PeerError::UnexpectedMessage, UNEXPECTED_MESSAGE);
    }
    let (client, server) = plain();
    let mut ends = Pair::new(&client, &server).connect();
    for end in [&mut ends.client, &mut ends.server] {
        // The type alone suffices, and all later calls fail.
        for data in [&update()[..1], &[]] {
            let ended = end.connection().incoming.receive(data).unwrap_err();
            check(ended, PeerError::UnexpectedMessage, UNEXPECTED_MESSAGE);
        }
    }
}

/// RFC 9001 4.4
#[test]
fn a_certificate_request_after_the_handshake_is_refused() {
    let config = client().post_handshake_auth(true).credential(credential(Kind::P256));
    let server = server().build().unwrap();
    let mut ends = Pair::new(&config.build().unwrap(), &server).connect();
    let request = message(HandshakeType::CERTIFICATE_REQUEST, &[0; 8]);
    let ended = ends.client.connection().incoming.receive(&request).unwrap_err();
    check(ended, PeerError::PostHandshakeRequestOverQuic, PROTOCOL_VIOLATION);
    // For a server, it is a message like any other.
    let ended = ends.server.connection().incoming.receive(&request).unwrap_err();
    check(ended, PeerError::UnexpectedMessage, UNEXPECTED_MESSAGE);
}

/// A server does not use post-handshake authentication, even if a client offers it. RFC 9001 4.4
#[test]
fn an_offer_of_post_handshake_authentication_is_ignored() {
    let (client, server) = plain();
    let (name, parameters) = (ServerName::try_from(NAME).unwrap(), OF_CLIENT.to_vec());
    let mut sender = Handshake::client(&client, name, Version::V1, parameters).unwrap();
    let Next::Send(level, mut hello) = sender.advance().unwrap() else { panic!() };
    let mut data = (level, std::mem::take(&mut hello));
    let offer = ExtensionType::POST_HANDSHAKE_AUTH;
    replace(&mut data, HandshakeType::CLIENT_HELLO, |hello| {
        with_extension(hello, offer, Some(&[]))
    });
    let mut server = Handshake::server(&server, Version::V1, Vec::new()).unwrap();
    server.receive(level, &data.1).unwrap();
    assert!(matches!(server.advance().unwrap(), Next::Send(..)));
}

/// RFC 9001 8.2
#[test]
fn transport_parameters_are_mandatory_over_quic() {
    let kind = ExtensionType::QUIC_TRANSPORT_PARAMETERS;
    let ended = server_error(|data| {
        replace(data, HandshakeType::CLIENT_HELLO, |hello| with_extension(hello, kind, None));
    });
    check(ended, PeerError::MissingExtension, 0x016d);
    let ended = client_error(|data| {
        replace(data, HandshakeType::ENCRYPTED_EXTENSIONS, |body| with_answer(body, kind, None));
    });
    check(ended, PeerError::MissingServerExtension, 0x016d);
}

/// RFC 9001 8.2
#[test]
fn transport_parameters_are_refused_over_tcp() {
    for version in [ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2] {
        let config = fixtures::client().versions(&[version]).build().unwrap();
        let mut client = tercel::Handshake::client(config, NAME.try_into().unwrap());
        let mut out = Vec::new();
        client.advance(&mut ReceiveBuffer::new(), &mut out).unwrap();
        let kind = ExtensionType::QUIC_TRANSPORT_PARAMETERS;
        let hello = with_extension(&out[9..], kind, Some(OF_CLIENT));
        let hello = message(HandshakeType::CLIENT_HELLO, &hello);
        let length = u16::try_from(hello.len()).unwrap().to_be_bytes();
        let mut received = ReceiveBuffer::new();
        received.extend(&[&[22, 3, 1], &length[..], &hello].concat());
        let mut server = tercel::Handshake::server(fixtures::server().build().unwrap());
        let mut out = Vec::new();
        let error = server.advance(&mut received, &mut out).unwrap_err();
        assert_eq!(error, Error::Peer(PeerError::UnexpectedExtension), "{version}");
        assert_eq!(out, [21, 3, 3, 0, 2, 2, 110], "unsupported_extension in {version}");
    }
}

/// RFC 9001 8.1
#[test]
fn a_handshake_without_a_protocol_fails_on_both_sides() {
    let (ours, theirs) = plain();
    let other = client().alpn(&["other"]).build().unwrap();
    let ended = Pair::new(&other, &theirs).run().server.error();
    check(ended, PeerError::NoApplicationProtocol, 0x0178);
    let tolerant = server().ignore_unknown_alpn(true).build().unwrap();
    let ended = Pair::new(&other, &tolerant).run().server.error();
    check(ended, PeerError::NoApplicationProtocol, 0x0178);
    let kind = ExtensionType::APPLICATION_LAYER_PROTOCOL_NEGOTIATION;
    let ended = server_error(|data| {
        replace(data, HandshakeType::CLIENT_HELLO, |hello| with_extension(hello, kind, None));
    });
    check(ended, PeerError::NoApplicationProtocol, 0x0178);
    let silent = fixtures::server().alpn_by_other_means(true).build().unwrap();
    let ended = Pair::new(&ours, &silent).run().client.error();
    check(ended, PeerError::NoApplicationProtocol, 0x0178);
    let agreed = client().alpn_by_other_means(true).build().unwrap();
    let mut ends = Pair::new(&agreed, &silent).connect();
    assert_eq!(ends.client.connection().info.alpn, None);
}

/// RFC 9001 4.1.3
#[test]
fn data_of_a_level_that_is_over_or_has_no_keys_is_refused() {
    let (ours, theirs) = plain();
    for (level, wrong) in [
        (Level::Initial, Level::Handshake),
        (Level::Initial, Level::Application),
        (Level::Handshake, Level::Initial),
        (Level::Handshake, Level::Application),
    ] {
        let change = |data: &mut Data| {
            if data.0 == level {
                data.0 = wrong;
            }
        };
        let ended = Pair::new(&ours, &theirs).tap_to_server(change).run().server.error();
        check(ended, PeerError::WrongEncryptionLevel, PROTOCOL_VIOLATION);
        let ended = Pair::new(&ours, &theirs).tap_to_client(change).run().client.error();
        check(ended, PeerError::WrongEncryptionLevel, PROTOCOL_VIOLATION);
    }
}

/// RFC 9001 4.1.3
#[test]
fn bytes_that_are_left_when_the_keys_change_are_refused() {
    for last in [Level::Initial, Level::Handshake] {
        // A whole message, and the beginning of one.
        for rest in [&[20, 0, 0, 1, 7][..], &[20], &[1, 0, 0, 9, 7]] {
            let change = |data: &mut Data| {
                if data.0 == last {
                    data.1.extend_from_slice(rest);
                }
            };
            for ended in [server_error(change), client_error(change)] {
                check(ended, PeerError::ExcessHandshakeData, PROTOCOL_VIOLATION);
            }
        }
    }
}

/// RFC 9000 7.5
#[test]
fn received_data_is_limited() {
    let (ours, _) = plain();
    let theirs = server().choose_config(Policy::Ask).build().unwrap();
    let mut server = Handshake::server(&theirs, Version::V1, Vec::new()).unwrap();
    server.receive(Level::Initial, &message(HandshakeType::CLIENT_HELLO, &hello(&ours))).unwrap();
    // While the application decides, the peer may send more.
    assert!(matches!(server.advance().unwrap(), Next::Answer(_)));
    let mut sent = 0;
    let ended = loop {
        match server.receive(Level::Initial, &[0; 1000]) {
            Ok(()) => sent += 1000,
            Err(ended) => break ended,
        }
    };
    check(ended, PeerError::TooMuchCryptoData, 0x0d);
    assert!((100_000..300_000).contains(&sent), "{sent}");

    let (client, server) = plain();
    let mut ends = Pair::new(&client, &server).connect();
    let ended = ends.client.connection().incoming.receive(&vec![4; 1 << 19]).unwrap_err();
    check(ended, PeerError::TooMuchCryptoData, 0x0d);
}

/// The ticket of a server, changed before the client receives it.
fn with_limit(data: &mut Data, limit: Option<u32>) {
    replace(data, HandshakeType::NEW_SESSION_TICKET, |body| {
        let ticket = NewSessionTicket::parse(body).unwrap();
        let extensions = NewSessionTicketExtensions { early_data: limit, ..Default::default() };
        let mut out = Vec::new();
        NewSessionTicket { extensions, ..ticket }.encode(&mut out).unwrap();
        out[4..].to_vec()
    });
}

/// RFC 9001 4.6.1
#[test]
fn a_ticket_with_a_limit_of_early_data_is_refused() {
    for (limit, is_allowed) in
        [(None, true), (Some(u32::MAX), true), (Some(0), false), (Some(u32::MAX - 1), false)]
    {
        let (client, server) = plain();
        let tap = |data: &mut Data| with_limit(data, limit);
        let ends = Pair::new(&client, &server).tap_to_client(tap).run();
        if is_allowed {
            assert!(ends.client.result.unwrap().is_ok());
        } else {
            check(ends.client.error(), PeerError::BadMaxEarlyData, PROTOCOL_VIOLATION);
        }
    }
}

/// A ticket that is malformed or valid for too long is refused as over TCP.
#[test]
fn a_bad_ticket_is_refused() {
    let (client, server) = plain();
    let tap = |data: &mut Data| {
        replace(data, HandshakeType::NEW_SESSION_TICKET, |body| {
            [&604_801_u32.to_be_bytes(), &body[4..]].concat()
        });
    };
    let ended = Pair::new(&client, &server).tap_to_client(tap).run().client.error();
    check(ended, PeerError::BadTicketLifetime, 0x012f);
    let tap = |data: &mut Data| {
        replace(data, HandshakeType::NEW_SESSION_TICKET, |body| body[..body.len() - 1].to_vec());
    };
    let ended = Pair::new(&client, &server).tap_to_client(tap).run().client.error();
    assert_eq!(ended.code, 0x0132, "decode_error");
}

/// An extension that was not offered is refused, such as a limit for records.
#[test]
fn an_answer_for_records_is_refused() {
    let ended = client_error(|data| {
        replace(data, HandshakeType::ENCRYPTED_EXTENSIONS, |body| {
            assert!(EncryptedExtensions::parse(body).unwrap().record_size_limit.is_none());
            with_answer(body, ExtensionType::RECORD_SIZE_LIMIT, Some(&[4, 0]))
        });
    });
    check(ended, PeerError::UnexpectedExtension, 0x016e);
}

/// Every message of both sides is refused at every other place of the handshake. RFC 9001 4.1.3
#[test]
fn messages_in_another_order_are_refused() {
    let (client, server) = plain();
    let ends = Pair::new(&client, &server).connect();
    let all: Vec<Vec<u8>> = [&ends.client.sent, &ends.server.sent]
        .into_iter()
        .flatten()
        .flat_map(|(_, data)| split(data))
        .collect();
    assert!(all.len() >= 8);
    for to_server in [true, false] {
        for level in [Level::Initial, Level::Handshake] {
            for other in &all {
                // The first message of the level is replaced by another one.
                let tap = |data: &mut Data| {
                    if data.0 == level {
                        let mut messages = split(&data.1);
                        if messages[0][0] != other[0] {
                            messages[0].clone_from(other);
                            data.1 = messages.concat();
                        } else {
                            data.1 = vec![other[0], 0, 0, 0];
                        }
                    }
                };
                let pair = Pair::new(&client, &server);
                let ended = if to_server {
                    pair.tap_to_server(tap).run().server.error()
                } else {
                    pair.tap_to_client(tap).run().client.error()
                };
                assert!(ended.code >= 0x0100 || ended.code == PROTOCOL_VIOLATION, "{ended:?}");
            }
        }
    }
}

/// After an error, a handshake does nothing.
#[test]
fn a_failed_handshake_cannot_be_continued() {
    let (_, server) = plain();
    let mut server = Handshake::server(&server, Version::V1, Vec::new()).unwrap();
    server.receive(Level::Initial, &[2, 0, 0, 0]).unwrap();
    check(server.advance().unwrap_err(), PeerError::UnexpectedMessage, UNEXPECTED_MESSAGE);
    let over = Error::Misuse(tercel::error::Misuse::HandshakeEnded);
    assert_eq!(server.advance().unwrap_err().error, over);
    assert_eq!(server.receive(Level::Initial, &[1]).unwrap_err().error, over);
    assert_eq!(server.advance().unwrap_err().code, 0x01);
}

//! Complete handshakes: events, keys, parameters, questions.

use tercel::crypto::{HashAlgorithm, SigningKey};
use tercel::error::{ConfigError, Misuse};
use tercel::psk::PreSharedKey;
use tercel::quic::{Handshake, Level, Version};
use tercel::wire::{CipherSuite, NamedGroup, ProtocolVersion};
use tercel::{ClientConfig, Credential, Error, Policy, Question, ServerConfig, ServerName, Side};

use super::pair::{OF_CLIENT, OF_SERVER, Pair, belong_together, check_keys, client, plain, server};
use crate::fixtures::{self, Kind, NAME, credential, leaf, roots};

const SUITES: [CipherSuite; 3] = [
    CipherSuite::TLS_AES_128_GCM_SHA256,
    CipherSuite::TLS_AES_256_GCM_SHA384,
    CipherSuite::TLS_CHACHA20_POLY1305_SHA256,
];

/// A server has the keys of 1-RTT packets before the handshake is complete.
/// RFC 9001 4.1.4, 4.1.1, 5.1, 5.7, 8.2; RFC 9369 3.3.2
#[test]
fn both_sides_get_the_same_keys_in_each_version_and_suite() {
    let server = server().build().unwrap();
    for version in [Version::V1, Version::V2] {
        for suite in SUITES {
            let client = client().cipher_suites(&[suite]).build().unwrap();
            let mut ends = Pair::of_version(&client, &server, version).connect();
            let (client, server) = (&mut ends.client, &mut ends.server);
            check_keys(
                client.handshake_keys.as_ref().unwrap(),
                server.handshake_keys.as_ref().unwrap(),
            );
            check_keys(
                client.application_keys.as_ref().unwrap(),
                server.application_keys.as_ref().unwrap(),
            );
            assert_eq!(
                client.events,
                ["send", "handshake keys", "send", "application keys", "connected"]
            );
            assert_eq!(
                server.events,
                ["send", "handshake keys", "send", "application keys", "send", "connected"]
            );
            let levels = |sent: &[(Level, Vec<u8>)]| -> Vec<_> {
                sent.iter().map(|(level, _)| *level).collect()
            };
            assert_eq!(levels(&client.sent), [Level::Initial, Level::Handshake]);
            assert_eq!(
                levels(&server.sent),
                [Level::Initial, Level::Handshake, Level::Application]
            );
            let export = |end: &mut super::pair::End| {
                let mut out = [0; 32];
                end.connection().exporter.export(b"label", None, &mut out).unwrap();
                out
            };
            assert_eq!(export(client), export(server));
            assert_eq!(server.early_protocol.as_deref(), Some(&b"h3"[..]));
            assert_eq!(client.connection().peer_parameters, OF_SERVER);
            assert_eq!(server.connection().peer_parameters, OF_CLIENT);
            for end in [client, server] {
                let info = &end.connection().info;
                assert_eq!(info.version, ProtocolVersion::TLS1_3);
                assert_eq!((info.cipher_suite, info.alpn.as_deref()), (suite, Some(&b"h3"[..])));
            }
        }
    }
}

/// The keys depend on the version of QUIC. RFC 9369 3.3.2
#[test]
fn keys_of_different_versions_differ() {
    let (client, server) = plain();
    let name = || ServerName::try_from(NAME).unwrap();
    let mut client = Handshake::client(&client, name(), Version::V1, OF_CLIENT.to_vec()).unwrap();
    let mut server = Handshake::server(&server, Version::V2, OF_SERVER.to_vec()).unwrap();
    let keys = |handshake: &mut Handshake| loop {
        match handshake.advance().unwrap() {
            tercel::quic::Next::HandshakeKeys(keys) => return keys,
            tercel::quic::Next::Send(..) => {}
            other => panic!("{other:?}"),
        }
    };
    let sent = |handshake: &mut Handshake| match handshake.advance().unwrap() {
        tercel::quic::Next::Send(level, data) => (level, data),
        other => panic!("{other:?}"),
    };
    let (level, hello) = sent(&mut client);
    server.receive(level, &hello).unwrap();
    let (level, hello) = sent(&mut server);
    client.receive(level, &hello).unwrap();
    let (ours, theirs) = (keys(&mut client), keys(&mut server));
    assert!(!belong_together(&ours.local.packet, &theirs.remote.packet));
}

/// RFC 9001 4.1.3
#[test]
fn messages_may_be_divided_anywhere() {
    let (client, server) = plain();
    for piece in [1, 2, 3, 7, 100] {
        Pair::new(&client, &server).in_pieces_of(piece).connect();
    }
}

/// RFC 9001 6, 6.1
#[test]
fn each_key_phase_has_keys_of_its_own() {
    let (client, server) = plain();
    let ends = Pair::new(&client, &server).connect();
    let (mut ours, mut theirs) = (ends.client.updates.unwrap(), ends.server.updates.unwrap());
    let (first, _) = (ends.client.application_keys.unwrap(), ends.server.application_keys);
    let mut before = first.local.packet;
    for _ in 0..3 {
        let (client, server) = (ours.next_keys().unwrap(), theirs.next_keys().unwrap());
        assert!(belong_together(&client.local, &server.remote));
        assert!(belong_together(&server.local, &client.remote));
        assert!(!belong_together(&before, &server.remote));
        before = client.local;
    }
}

#[test]
fn a_retry_request_of_the_server_is_answered() {
    let groups = [NamedGroup::X25519, NamedGroup::SECP256R1];
    let client = client().groups(&groups).build().unwrap();
    let server = server().groups(&groups[1..]).build().unwrap();
    let mut ends = Pair::new(&client, &server).connect();
    assert!(ends.client.connection().info.retried && ends.server.connection().info.retried);
    let initial = |sent: &[(Level, Vec<u8>)]| {
        sent.iter().filter(|(level, _)| *level == Level::Initial).count()
    };
    assert_eq!((initial(&ends.client.sent), initial(&ends.server.sent)), (2, 2));
}

#[test]
fn both_sides_may_authenticate_with_certificates() {
    let client = client().credential(credential(Kind::Ed25519)).build().unwrap();
    let server =
        server().client_auth(tercel::server::ClientAuth::Required, roots()).build().unwrap();
    let mut ends = Pair::new(&client, &server).connect();
    assert_eq!(ends.server.connection().info.peer_chain().len(), 1);
    assert_eq!(ends.client.connection().info.peer_chain().len(), 1);
}

#[test]
fn peers_may_authenticate_with_a_pre_shared_key() {
    let key = || PreSharedKey::external(b"name", &[7; 32], HashAlgorithm::Sha256).unwrap();
    let client = ClientConfig::builder().pre_shared_keys([key()]).alpn(&["h3"]).build().unwrap();
    let server = ServerConfig::builder().pre_shared_keys([key()]).alpn(&["h3"]).build().unwrap();
    let mut ends = Pair::new(&client, &server).connect();
    assert_eq!(ends.server.connection().info.pre_shared_key(), Some(&b"name"[..]));
}

/// The application answers later, as over TCP.
#[test]
fn every_decision_can_be_made_later() {
    let (chain, key) = leaf(Kind::P256, &[NAME]);
    let signer = SigningKey::from_der(&key).unwrap();
    let remote = || Credential::remote(chain.clone()).unwrap();
    let chosen = ServerConfig::builder().alpn(&["h3"]).credentials(Policy::Ask);
    let chosen = chosen.session_context(b"x").build().unwrap();
    let first = server().choose_config(Policy::Ask).build().unwrap();
    let client = client().verifier(Policy::Ask).ask_for_session(true).build().unwrap();
    let mut asked = Vec::new();
    let mut ends = Pair::new(&client, &first)
        .answering(|side, question| {
            asked.push(side);
            match question {
                Question::ChooseConfig(question) => question.answer(Some(chosen.clone())),
                Question::SelectCredential(question) => {
                    question.answer(Some(std::sync::Arc::new(remote())))
                }
                Question::Sign(question) => question.resolve(&signer),
                Question::VerifyPeer(question) => question.answer(Ok(())),
                Question::FindClientSession(question) => question.answer(None),
                other => panic!("{other:?}"),
            }
        })
        .connect();
    assert_eq!(ends.client.connection().peer_parameters, OF_SERVER);
    drop(ends);
    use Side::{Client, Server};
    assert_eq!(asked, [Client, Server, Server, Server, Client]);
}

#[test]
fn a_question_has_to_be_answered_with_its_answer() {
    let (_, server) = plain();
    let client = client().verifier(Policy::Ask).build().unwrap();
    let name = ServerName::try_from(NAME).unwrap();
    let mut client = Handshake::client(&client, name, Version::V1, Vec::new()).unwrap();
    let wrong = || tercel::questions::AdmitEarlyDataQuestion::answer_from(true);
    assert_eq!(client.answer(wrong()), Err(Misuse::WrongAnswer.into()));
    let mut server = Handshake::server(&server, Version::V1, Vec::new()).unwrap();
    loop {
        use tercel::quic::Next;
        match client.advance().unwrap() {
            Next::Send(level, data) => server.receive(level, &data).unwrap(),
            Next::Answer(_) => break,
            _ => {}
        }
        while let Next::Send(level, data) = server.advance().unwrap() {
            client.receive(level, &data).unwrap();
            if level == Level::Initial {
                while !matches!(client.advance().unwrap(), Next::HandshakeKeys(_)) {}
                while !matches!(server.advance().unwrap(), Next::HandshakeKeys(_)) {}
            }
        }
    }
    assert_eq!(client.answer(wrong()), Err(Misuse::WrongAnswer.into()));
    // Each `Ended` ends the handshake, so that no later answer continues it.
    assert_eq!(client.advance().unwrap_err().error, Misuse::QuestionOpen.into());
    assert_eq!(client.answer(wrong()), Err(Misuse::HandshakeEnded.into()));
}

/// RFC 9001 4.8
#[test]
fn a_refused_certificate_ends_the_handshake_with_details() {
    let (client, _) = plain();
    let other = fixtures::credential_for(Kind::P256, &["other.example"]);
    let server = ServerConfig::builder().credential(other).alpn(&["h3"]).build().unwrap();
    let ends = Pair::new(&client, &server).run();
    let ended = ends.client.error();
    assert!(matches!(ended.error, Error::Refused(_)), "{ended:?}");
    let alert = u64::from(ended.error.alert().unwrap().0);
    assert_eq!(ended.code, 0x0100 + alert);
    assert!(ends.server.result.is_none());
}

/// RFC 9001 4.2, 8.1
#[test]
fn a_configuration_without_tls13_or_protocol_is_refused() {
    let name = || ServerName::try_from(NAME).unwrap();
    let of_client = |config: ClientConfigBuilder| {
        let config = config.build().unwrap();
        Handshake::client(&config, name(), Version::V1, Vec::new()).err()
    };
    let of_server = |config: ServerConfigBuilder| {
        Handshake::server(&config.build().unwrap(), Version::V1, Vec::new()).err()
    };
    use tercel::{client::ClientConfigBuilder, server::ServerConfigBuilder};
    let tls12 = [ProtocolVersion::TLS1_2];
    assert_eq!(of_client(client().versions(&tls12)), Some(ConfigError::QuicWithoutTls13));
    assert_eq!(of_server(server().versions(&tls12)), Some(ConfigError::QuicWithoutTls13));
    let suites = [CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256];
    assert_eq!(of_client(client().cipher_suites(&suites)), Some(ConfigError::QuicWithoutTls13));
    assert_eq!(of_client(fixtures::client()), Some(ConfigError::QuicWithoutAlpn));
    assert_eq!(of_server(fixtures::server()), Some(ConfigError::QuicWithoutAlpn));
    assert_eq!(of_client(fixtures::client().alpn_by_other_means(true)), None);
    assert_eq!(of_server(fixtures::server().alpn_by_other_means(true)), None);
}

/// A configuration that is chosen for a connection has to be usable over QUIC as well.
#[test]
fn a_chosen_configuration_without_tls13_ends_the_handshake() {
    let (client, _) = plain();
    let chosen = server().versions(&[ProtocolVersion::TLS1_2]).build().unwrap();
    let server = server().choose_config(Policy::Ask).build().unwrap();
    let ends = Pair::new(&client, &server)
        .answering(|_, question| match question {
            Question::ChooseConfig(question) => question.answer(Some(chosen.clone())),
            other => panic!("{other:?}"),
        })
        .run();
    let expected = tercel::error::InternalError::NotForQuic;
    assert_eq!((ends.server.error().error, ends.server.error().code), (expected.into(), 0x0150));
}

/// What a transport keeps for a connection without data, besides the negotiated parameters: keys,
/// secrets of the next phase, exporter, and on a client the state for tickets.
#[test]
fn the_state_of_an_idle_connection_is_small() {
    let (client, server) = plain();
    let ends = Pair::new(&client, &server).connect();
    for (side, end) in [(Side::Client, ends.client), (Side::Server, ends.server)] {
        let tercel::quic::Connection { exporter, mut incoming, .. } = end.result.unwrap().unwrap();
        incoming.ignore_tickets();
        let keys = end.application_keys.unwrap();
        let inline = size_of_val(&exporter) + size_of_val(&incoming) + size_of_val(&end.updates);
        let freed = || drop((exporter, incoming, keys, end.updates));
        let heap = -allocation_counter::measure(freed).bytes_current;
        let held = inline + usize::try_from(heap).unwrap();
        assert!((1000..2500).contains(&held), "{side:?}: {held}");
    }
}

/// Its result is in the connection.
#[test]
fn a_handshake_that_has_ended_keeps_nothing() {
    let (client, server) = plain();
    let ends = Pair::new(&client, &server).connect();
    for end in [ends.client, ends.server] {
        let mut handshake = end.handshake.unwrap();
        assert_eq!(handshake.peer_parameters(), None);
        assert!(handshake.early_info().is_none());
        assert_eq!(handshake.advance().unwrap_err().error, Misuse::HandshakeEnded.into());
        let freed = || drop(handshake);
        assert_eq!(allocation_counter::measure(freed).bytes_current, 0);
    }
}

/// A handshake that waits for data holds little memory, and a complete one no more than its result.
#[test]
fn a_waiting_handshake_is_small() {
    let (_, server) = plain();
    let mut made = None;
    let start = || {
        let mut handshake = Handshake::server(&server, Version::V1, vec![7; 50]).unwrap();
        assert!(matches!(handshake.advance(), Ok(tercel::quic::Next::Receive)));
        made = Some(handshake);
    };
    // The configuration for QUIC is derived once.
    drop(Handshake::server(&server, Version::V1, Vec::new()));
    let held = allocation_counter::measure(start).bytes_current;
    assert!((100..2000).contains(&held), "{held}");
}

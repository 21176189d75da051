//! Quinn on tercel against quinn with rustls, and against itself, over loopback.

mod peers;

use std::time::Duration;

use quinn::{ConnectionError, Endpoint, TransportErrorCode};
use tercel_quinn::tercel::pki_types::CertificateDer;
use tercel_quinn::{
    HandshakeData, QuicClientConfig, QuicConfigError, QuicServerConfig, TlsFailure,
};

use peers::{Client, Server, Stack, echo, names};

/// Every pair of stacks of which one is tercel.
const PAIRS: [(Stack, Stack); 3] = [
    (Stack::Tercel, Stack::Tercel),
    (Stack::Tercel, Stack::Rustls),
    (Stack::Rustls, Stack::Tercel),
];

/// Runs a test on each pair, within a minute.
async fn on_each_pair<F: Future<Output = ()>>(test: impl Fn(Stack, Stack) -> F) {
    for (client, server) in PAIRS {
        let done = tokio::time::timeout(Duration::from_secs(60), test(client, server)).await;
        assert!(done.is_ok(), "{client:?} and {server:?}: no end");
    }
}

#[tokio::test]
async fn data_is_echoed_and_both_sides_report_what_was_negotiated() {
    on_each_pair(|client, server| async move {
        let server = Server::new(server).start();
        let client = Client::new(client).start();
        let connection = client.connect(&server).await.unwrap();
        assert_eq!(echo(&connection, 100_000).await, 100_000);
        let chain = connection.peer_identity().unwrap();
        let chain = chain.downcast::<Vec<CertificateDer<'static>>>().unwrap();
        assert_eq!(chain.len(), 1);
        let mut exported = [0; 32];
        connection.export_keying_material(&mut exported, b"label", b"context").unwrap();
        let seen = server.seen().await;
        assert_eq!(seen.exported, exported);
        assert_eq!((seen.protocol, seen.name), (Some("echo".into()), Some("localhost".into())));
        if let Some(data) = connection.handshake_data() {
            if let Ok(data) = data.downcast::<HandshakeData>() {
                assert_eq!(data.protocol.as_deref(), Some(&b"echo"[..]));
                assert!(!data.resumed);
            }
        }
    })
    .await;
}

/// A whole connection with updates of keys by both sides. RFC 9001 6
#[tokio::test]
async fn keys_are_updated() {
    on_each_pair(|client, server| async move {
        let server = Server::new(server).updating_keys().start();
        let client = Client::new(client).start();
        let connection = client.connect(&server).await.unwrap();
        for _ in 0..4 {
            assert_eq!(echo(&connection, 10_000).await, 10_000);
            connection.force_key_update();
        }
        assert_eq!(echo(&connection, 10_000).await, 10_000);
    })
    .await;
}

/// RFC 9001 4.5, 4.6
#[tokio::test]
async fn sessions_are_resumed_with_early_data() {
    on_each_pair(|client, server| async move {
        let server = Server::new(server).early_data().start();
        let client = Client::new(client).early_data().start();
        let first = client.connecting(&server).into_0rtt();
        let Err(first) = first else { panic!("early data without a session") };
        let connection = first.await.unwrap();
        assert_eq!(echo(&connection, 1000).await, 1000);
        assert!(!server.seen().await.resumed);
        connection.close(0_u32.into(), b"");
        for _ in 0..2 {
            let Ok((connection, accepted)) = client.connecting(&server).into_0rtt() else {
                panic!("no early data with a session")
            };
            // The request is sent before the server has answered.
            assert_eq!(echo(&connection, 1000).await, 1000);
            assert!(accepted.await, "the early data was rejected");
            assert_eq!(echo(&connection, 1000).await, 1000);
            connection.close(0_u32.into(), b"");
        }
    })
    .await;
}

/// A server that knows no session rejects early data, and the connection is established.
/// RFC 9001 4.6.2
#[tokio::test]
async fn rejected_early_data_is_reported() {
    on_each_pair(|client, server| async move {
        let (first, second) =
            (Server::new(server).early_data().start(), Server::new(server).early_data().start());
        let client = Client::new(client).early_data().start();
        let connection = client.connect(&first).await.unwrap();
        assert_eq!(echo(&connection, 1000).await, 1000);
        connection.close(0_u32.into(), b"");
        let Ok((connection, accepted)) = client.connecting(&second).into_0rtt() else {
            panic!("no early data with a session")
        };
        assert!(!accepted.await, "another server accepted early data");
        assert_eq!(echo(&connection, 1000).await, 1000);
    })
    .await;
}

/// The code with which the handshake ended, as this side reports it.
fn code(error: &ConnectionError) -> Option<TransportErrorCode> {
    match error {
        ConnectionError::TransportError(error) => Some(error.code),
        ConnectionError::ConnectionClosed(close) => Some(close.error_code),
        _ => None,
    }
}

/// RFC 9001 8.1
#[tokio::test]
async fn without_a_common_protocol_the_handshake_fails() {
    on_each_pair(|client, server| async move {
        let server = Server::new(server).protocol("other").start();
        let client = Client::new(client).start();
        let error = client.connect(&server).await.unwrap_err();
        assert_eq!(code(&error), Some(TransportErrorCode::crypto(120)), "{error}");
        let error = server.seen().await.error.unwrap();
        assert_eq!(code(&error), Some(TransportErrorCode::crypto(120)), "{error}");
    })
    .await;
}

/// RFC 9001 4.8
#[tokio::test]
async fn a_refused_certificate_ends_the_handshake_on_both_sides() {
    on_each_pair(|client, server| async move {
        let server = Server::new(server).untrusted().start();
        let client = Client::new(client).start();
        let ours = client.connect(&server).await.unwrap_err();
        let ours = code(&ours).unwrap();
        let theirs = code(&server.seen().await.error.unwrap()).unwrap();
        assert_eq!(ours, theirs);
        let value = u64::from(ours);
        assert!((0x0100..0x0200).contains(&value), "{value:#x}");
    })
    .await;
}

/// The reason for the end of a handshake is available on the side that ended it.
#[tokio::test]
async fn a_failure_has_its_error_and_the_refused_certificate() {
    use tercel_quinn::tercel::{Error, pki::RefusalReason};
    let server = Server::new(Stack::Tercel).untrusted().start();
    let client = Client::new(Stack::Tercel).start();
    let mut connecting = client.connecting(&server);
    let data = connecting.handshake_data().await.unwrap();
    let failure = data.downcast::<TlsFailure>().unwrap();
    let refusal = failure.refusal.as_ref().unwrap();
    assert!(matches!(failure.ended.error, Error::Refused(_)), "{failure:?}");
    assert_ne!(refusal.reason, RefusalReason::NameMismatch);
    assert_eq!(refusal.chain.len(), 1);
    let error = connecting.await.unwrap_err();
    assert_eq!(code(&error).map(u64::from), Some(failure.ended.code));

    // The server refuses a client without a certificate, and the client gets the code.
    let server = Server::new(Stack::Tercel).demanding_certificates().start();
    let connection = client.connect(&server).await.unwrap();
    let error = connection.closed().await;
    assert_eq!(code(&error), Some(TransportErrorCode::crypto(116)), "{error}");
    let ours = connection.handshake_data().unwrap().downcast::<HandshakeData>().unwrap();
    assert!(ours.info.is_some(), "the client's handshake was complete");
}

/// All negotiated parameters are available, not only the most used ones.
#[tokio::test]
async fn the_complete_parameters_are_available() {
    use tercel_quinn::tercel::wire::ProtocolVersion;
    let server = Server::new(Stack::Tercel).start();
    let client = Client::new(Stack::Tercel).start();
    let connection = client.connect(&server).await.unwrap();
    let data = connection.handshake_data().unwrap().downcast::<HandshakeData>().unwrap();
    let info = data.info.unwrap();
    assert_eq!((info.version, info.group), (ProtocolVersion::TLS1_3, data.group));
    assert_eq!((info.peer_chain().len(), info.retried), (1, false));
    assert!(info.peer_signature_scheme.is_some());
}

/// A client that separates ports offers a session only to servers at the port that issued it.
#[tokio::test]
async fn sessions_of_ports_are_separate() {
    let server = Server::new(Stack::Tercel).start();
    let client = Client::new(Stack::Tercel).start();
    let tls = peers::tercel_client(&peers::ClientOptions::default());
    let config = |port| {
        let config = QuicClientConfig::try_from(std::sync::Arc::clone(&tls)).unwrap();
        tercel_quinn::client_config(config.port(port))
    };
    for (port, resumed) in [(1, false), (2, false), (1, true), (2, true)] {
        let connecting = client.endpoint.connect_with(config(port), server.address, "localhost");
        let connection = connecting.unwrap().await.unwrap();
        // The tickets precede the answer.
        assert_eq!(echo(&connection, 10).await, 10);
        assert_eq!(server.seen().await.resumed, resumed, "{port}");
    }
}

/// A server that validates addresses with a Retry packet. RFC 9001 5.8, RFC 9000 8.1.2
#[tokio::test]
async fn a_retry_packet_is_accepted() {
    on_each_pair(|client, server| async move {
        let server = Server::new(server).retrying().start();
        let client = Client::new(client).start();
        let connection = client.connect(&server).await.unwrap();
        assert_eq!(echo(&connection, 1000).await, 1000);
    })
    .await;
}

/// Both sides authenticate with certificates.
#[tokio::test]
async fn a_client_certificate_is_the_peer_identity() {
    on_each_pair(|client, server| async move {
        let server = Server::new(server).demanding_certificates().start();
        let client = Client::new(client).with_certificate().start();
        let connection = client.connect(&server).await.unwrap();
        assert_eq!(echo(&connection, 1000).await, 1000);
        assert_eq!(server.seen().await.certificates, 1);
    })
    .await;
}

/// Each suite, whose packets have keys and header protection of their own. RFC 9001 5.3, 5.4
#[tokio::test]
async fn each_cipher_suite_works() {
    use tercel_quinn::tercel::wire::CipherSuite;
    for suite in [
        CipherSuite::TLS_AES_128_GCM_SHA256,
        CipherSuite::TLS_AES_256_GCM_SHA384,
        CipherSuite::TLS_CHACHA20_POLY1305_SHA256,
    ] {
        for server in [Stack::Tercel, Stack::Rustls] {
            let server = Server::new(server).start();
            let client = Client::new(Stack::Tercel).suite(suite).start();
            let connection = client.connect(&server).await.unwrap();
            assert_eq!(echo(&connection, 50_000).await, 50_000);
            let data = connection.handshake_data().unwrap().downcast::<HandshakeData>();
            assert_eq!(data.unwrap().cipher_suite, suite);
        }
    }
}

/// Names that are no server names are refused before anything is sent.
#[tokio::test]
async fn an_invalid_server_name_is_refused() {
    let client = Client::new(Stack::Tercel).start();
    let to = "127.0.0.1:1".parse().unwrap();
    let refused = client.endpoint.connect(to, "not a name").unwrap_err();
    assert!(matches!(refused, quinn::ConnectError::InvalidServerName(_)), "{refused}");
}

#[test]
fn configurations_that_quinn_cannot_use_are_refused() {
    use tercel_quinn::tercel::error::ConfigError;
    use tercel_quinn::tercel::server::ClientAuth;
    use tercel_quinn::tercel::{ClientConfig, Credential, Policy, ServerConfig};
    let client = || ClientConfig::builder().roots(peers::roots()).alpn(&["echo"]);
    let server = || ServerConfig::builder().alpn(&["echo"]);
    let of_client = |builder: tercel_quinn::tercel::client::ClientConfigBuilder| {
        QuicClientConfig::try_from(builder.build().unwrap()).err()
    };
    let of_server = |builder: tercel_quinn::tercel::server::ServerConfigBuilder| {
        QuicServerConfig::try_from(builder.build().unwrap()).err()
    };
    let asks = |option| Some(QuicConfigError::Asks(option));
    let credential = || peers::credential(&names());
    let remote = || Credential::remote(credential().chain().to_vec()).unwrap();
    assert_eq!(of_client(client()), None);
    assert_eq!(of_client(client().verifier(Policy::Ask)), asks("verifier"));
    assert_eq!(of_client(client().credentials(Policy::Ask)), asks("credentials"));
    assert_eq!(of_client(client().credential(remote())), asks("credential"));
    assert_eq!(of_client(client().ask_for_session(true)), asks("ask_for_session"));
    let without = Some(QuicConfigError::Config(ConfigError::QuicWithoutAlpn));
    assert_eq!(of_client(ClientConfig::builder().roots(peers::roots())), without);

    let plain = || server().credential(credential());
    assert_eq!(of_server(plain()), None);
    assert_eq!(of_server(server().credential(remote())), asks("credential"));
    assert_eq!(of_server(server().credentials(Policy::Ask)), asks("credentials"));
    assert_eq!(of_server(plain().choose_config(Policy::Ask)), asks("choose_config"));
    assert_eq!(of_server(plain().find_pre_shared_key(Policy::Ask)), asks("find_pre_shared_key"));
    assert_eq!(of_server(plain().session_store(Policy::Ask)), asks("session_store"));
    let minute = Duration::from_secs(60);
    assert_eq!(of_server(plain().ask_for_tickets(minute)), asks("ask_for_tickets"));
    assert_eq!(of_server(plain().early_data(1, Policy::Ask)), asks("early_data"));
    let asking = plain().client_verifier(ClientAuth::Optional, Policy::Ask);
    assert_eq!(of_server(asking), asks("client_verifier"));
    let asking = plain().client_auth(ClientAuth::Ask, peers::roots());
    assert_eq!(of_server(asking), asks("ClientAuth::Ask"));
    assert_eq!(of_server(ServerConfig::builder().credential(credential())), without);
    assert_eq!(asks("verifier").unwrap().to_string().split(':').next(), Some("verifier"));
}

/// The functions for endpoints can be used without those of quinn.
#[tokio::test]
async fn an_endpoint_may_be_client_and_server() {
    let server = Server::new(Stack::Tercel).start();
    let config = peers::tercel_client(&peers::ClientOptions::default());
    let config = tercel_quinn::client_config(QuicClientConfig::try_from(config).unwrap());
    let endpoint: Endpoint = tercel_quinn::client_endpoint("127.0.0.1:0".parse().unwrap()).unwrap();
    let to = server.address;
    let connection = endpoint.connect_with(config, to, "localhost").unwrap().await.unwrap();
    assert_eq!(echo(&connection, 10).await, 10);
}

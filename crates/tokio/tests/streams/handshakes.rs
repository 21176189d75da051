//! Handshakes that succeed, fail and time out.

use std::io::ErrorKind;
use std::time::Duration;

use tercel::pki::RefusalReason;
use tercel::{Error, Handshake, Next, Policy, Question, ReceiveBuffer};
use tercel_tokio::{Acceptor, Connector, HandshakeError};
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

use crate::support::{VERSIONS, client, join, loopback, name, pair, server};

#[tokio::test]
async fn either_version_over_transports_of_any_width() {
    for version in VERSIONS {
        for room in [1, 100, 1 << 20] {
            let (client, server) = pair(version, room).await;
            assert_eq!(client.info().version, version);
            assert_eq!(server.info().version, version);
        }
    }
}

#[tokio::test]
async fn a_second_connection_resumes_the_first() {
    let (client, server) = (client().build().unwrap(), server().build().unwrap());
    for resumed in [false, true, true] {
        let (mut near, mut far) = join(loopback().await, client.clone(), server.clone()).await;
        assert_eq!(near.info().resumed, resumed);
        far.write_all(b"after the tickets").await.unwrap();
        far.shutdown().await.unwrap();
        let mut all = Vec::new();
        near.read_to_end(&mut all).await.unwrap();
        assert_eq!(all, b"after the tickets");
    }
}

#[tokio::test]
async fn a_handshake_that_the_caller_has_begun_is_continued() {
    for version in VERSIONS {
        let (near, mut far) = duplex(1 << 16);
        let connector = Connector::new(client().versions(&[version]).build().unwrap());
        let asking = server().choose_config(Policy::Ask).build().unwrap();
        let accept = async {
            let mut handshake = Handshake::server(asking.clone());
            let (mut received, mut out) = (ReceiveBuffer::new(), Vec::new());
            let question = loop {
                match handshake.advance(&mut received, &mut out).unwrap() {
                    Next::Answer(Question::ChooseConfig(question)) => break question,
                    Next::Receive => {
                        let count = far.read(received.spare()).await.unwrap();
                        received.filled(count);
                    }
                    other => panic!("{other:?}"),
                }
            };
            assert!(out.is_empty());
            let chosen = server().alpn(&["chosen"]).build().unwrap();
            handshake.answer(question.answer(Some(chosen))).unwrap();
            Acceptor::new(asking).accept_started(far, handshake, received).await
        };
        let (near, far) = tokio::join!(connector.connect(name(), near), accept);
        let (mut near, mut far) = (near.unwrap(), far.unwrap());
        assert_eq!(far.info().version, version);
        far.write_all(b"hello").await.unwrap();
        far.flush().await.unwrap();
        let mut read = [0; 5];
        near.read_exact(&mut read).await.unwrap();
        assert_eq!(&read, b"hello");
    }
}

#[tokio::test]
async fn a_refused_certificate_is_reported_and_the_server_gets_an_alert() {
    let (near, far) = duplex(1 << 16);
    let connector = Connector::new(client().build().unwrap());
    let acceptor = Acceptor::new(server().build().unwrap());
    let (near, far) = tokio::join!(
        connector.connect("other.example".try_into().unwrap(), near),
        acceptor.accept(far)
    );
    let error = near.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
    let inner = error.get_ref().unwrap().downcast_ref::<HandshakeError>().unwrap();
    let HandshakeError::Protocol { error, refusal } = inner else { panic!("{inner:?}") };
    assert_eq!(*error, Error::Refused(RefusalReason::NameMismatch));
    assert_eq!(refusal.as_ref().unwrap().names, ["server.example"]);
    assert!(inner.to_string().contains("server.example"), "{inner}");
    let error = far.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionAborted, "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_silent_peer_times_out() {
    let (near, far) = duplex(1 << 16);
    let limit = Duration::from_secs(3);
    let acceptor = Acceptor::new(server().build().unwrap()).time_limit(Some(limit));
    let error = acceptor.accept(far).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    // The transport was closed when the handshake was dropped.
    let mut near = near;
    assert_eq!(near.read(&mut [0]).await.unwrap(), 0);
}

#[tokio::test]
async fn a_dropped_connect_closes_the_transport() {
    let (near, mut far) = duplex(1 << 16);
    let connector = Connector::new(client().build().unwrap());
    let connect = connector.connect(name(), near);
    let _ = tokio::time::timeout(Duration::from_millis(20), connect).await.unwrap_err();
    let mut hello = Vec::new();
    far.read_to_end(&mut hello).await.unwrap();
    assert_eq!(hello[0], 22);
}

#[tokio::test]
async fn an_end_within_the_handshake_is_an_unexpected_end() {
    let (near, far) = duplex(1 << 16);
    drop(far);
    let error = Connector::new(client().build().unwrap()).connect(name(), near).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe), "{error}");
}

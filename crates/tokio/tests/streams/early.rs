//! Early data over streams.

use std::io::ErrorKind;
use std::sync::Arc;

use tercel::wire::ProtocolVersion;
use tercel::{Handshake, Next, Opened, Policy, ReceiveBuffer, session::ReplayGuard};
use tercel_tokio::{Acceptor, Connector, EarlyConnection, TlsStream};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

use crate::support::{client, join, name, server};

#[derive(Debug)]
pub(crate) struct AdmitAlways;

impl tercel::session::AdmitEarlyData for AdmitAlways {
    fn admit_early_data(&self, _: &[u8], _: tercel::pki_types::UnixTime) -> bool {
        true
    }
}

#[tokio::test]
async fn early_data_arrives_apart_from_the_rest() {
    let client = client().early_data(true).build().unwrap();
    let server = server().early_data(1000, Policy::Here(Arc::new(AdmitAlways))).build().unwrap();
    let (mut near, mut far) = join(duplex(1 << 16), client.clone(), server.clone()).await;
    far.write_all(b"x").await.unwrap();
    near.read_exact(&mut [0]).await.unwrap();

    let (near, far) = duplex(1 << 16);
    let (connector, acceptor) = (Connector::new(client), Acceptor::new(server));
    let early = vec![b'e'; 1500];
    let (near, far) =
        tokio::join!(connector.connect_early(name(), near, &early), acceptor.accept(far));
    let (mut near, mut far) = (near.unwrap(), far.unwrap());
    // The client can send as much early data as the session permits.
    assert_eq!(near.accepted, 1000);
    assert!(!format!("{far:?}").contains("101, 101"), "it prints the early data");
    assert_eq!(far.take_early_data(), &early[..1000]);
    near.stream.write_all(&early[near.accepted..]).await.unwrap();
    let mut rest = [0; 500];
    far.read_exact(&mut rest).await.unwrap();
    assert_eq!(rest, early[1000..]);
}

/// Two streams after early data, which the client has sent to this acceptor.
async fn after_early_data(
    acceptor: impl Fn(Acceptor) -> Acceptor,
) -> (EarlyConnection<DuplexStream>, TlsStream<DuplexStream>) {
    let client = client().early_data(true).build().unwrap();
    let server = server().early_data(1000, Policy::Here(Arc::new(AdmitAlways))).build().unwrap();
    let (mut near, mut far) = join(duplex(1 << 16), client.clone(), server.clone()).await;
    far.write_all(b"x").await.unwrap();
    near.read_exact(&mut [0]).await.unwrap();
    let (near, far) = duplex(1 << 16);
    let (connector, acceptor) = (Connector::new(client), acceptor(Acceptor::new(server)));
    let (near, far) =
        tokio::join!(connector.connect_early(name(), near, b"early"), acceptor.accept(far));
    (near.unwrap(), far.unwrap())
}

/// Otherwise the beginning of the client's data would be lost.
#[tokio::test]
async fn early_data_is_taken_before_the_stream_is_read() {
    let (mut near, mut far) = after_early_data(|acceptor| acceptor).await;
    near.stream.write_all(b" and late").await.unwrap();
    let refused = far.read(&mut [0; 20]).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidInput);
    assert_eq!(far.take_early_data(), b"early");
    let mut late = [0; 9];
    far.read_exact(&mut late).await.unwrap();
    assert_eq!(&late, b" and late");
}

#[tokio::test]
async fn an_acceptor_without_early_data_gets_all_in_the_stream() {
    let (mut near, mut far) = after_early_data(Acceptor::without_early_data).await;
    assert!(near.stream.info().resumed);
    assert_eq!(near.accepted, 0);
    near.stream.write_all(b"early").await.unwrap();
    let mut read = [0; 5];
    far.read_exact(&mut read).await.unwrap();
    assert_eq!(&read, b"early");
    assert!(far.take_early_data().is_empty());
}

#[tokio::test]
async fn early_data_that_is_not_admitted_is_reported_as_not_accepted() {
    let client = client().early_data(true).build().unwrap();
    // A guard that has just started admits nothing.
    let guard = ReplayGuard::for_early_data(100, tercel::pki_types::UnixTime::now());
    let server = server().early_data(1000, Policy::Here(Arc::new(guard))).build().unwrap();
    let (mut near, mut far) = join(duplex(1 << 16), client.clone(), server.clone()).await;
    far.write_all(b"x").await.unwrap();
    near.read_exact(&mut [0]).await.unwrap();

    let (near, far) = duplex(1 << 16);
    let (connector, acceptor) = (Connector::new(client), Acceptor::new(server));
    let (near, far) =
        tokio::join!(connector.connect_early(name(), near, b"again"), acceptor.accept(far));
    let (near, mut far) = (near.unwrap(), far.unwrap());
    assert!(near.stream.info().resumed);
    assert_eq!(near.accepted, 0);
    assert!(far.take_early_data().is_empty());
}

#[tokio::test]
async fn a_greeting_comes_before_the_client_has_finished() {
    let greeting = vec![b'g'; 40_000];
    let (mut near, far) = duplex(1 << 17);
    let accepting = Acceptor::new(server().build().unwrap());
    let sent = greeting.clone();
    let accepted = tokio::spawn(async move {
        let mut stream = accepting.accept_with_greeting(far, &sent).await.unwrap();
        stream.write_all(b" and more").await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        answer
    });
    let mut handshake = Handshake::client(client().build().unwrap(), name());
    let (mut received, mut out) = (ReceiveBuffer::new(), Vec::new());
    let mut connection = loop {
        match handshake.advance(&mut received, &mut out).unwrap() {
            Next::Connected(connection) => break connection,
            Next::Receive => {}
            other => panic!("{other:?}"),
        }
        near.write_all(&std::mem::take(&mut out)).await.unwrap();
        let count = near.read(received.spare()).await.unwrap();
        received.filled(count);
    };
    // The client's Finished is in `out`, and has not been sent.
    let mut read = Vec::new();
    while read.len() < greeting.len() {
        match connection.receiver.open(&mut received).unwrap() {
            Opened::Data(data) => read.extend_from_slice(data),
            Opened::More => {
                let count = near.read(received.spare()).await.unwrap();
                received.filled(count);
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(read == greeting);
    assert!(!accepted.is_finished());
    connection.sender.seal_to(b"thanks", &mut out).unwrap();
    connection.sender.close(&mut out).unwrap();
    near.write_all(&out).await.unwrap();
    assert_eq!(accepted.await.unwrap(), b"thanks");
}

#[tokio::test]
async fn a_greeting_goes_ahead_of_the_rest_in_both_versions() {
    for version in [ProtocolVersion::TLS1_2, ProtocolVersion::TLS1_3] {
        let (near, far) = duplex(1 << 16);
        let connector = Connector::new(client().versions(&[version]).build().unwrap());
        let acceptor = Acceptor::new(server().build().unwrap());
        let (near, far) = tokio::join!(
            connector.connect(name(), near),
            acceptor.accept_with_greeting(far, b"hello")
        );
        let (mut near, mut far) = (near.unwrap(), far.unwrap());
        far.write_all(b" client").await.unwrap();
        far.shutdown().await.unwrap();
        let mut read = Vec::new();
        near.read_to_end(&mut read).await.unwrap();
        assert_eq!(read, b"hello client", "{version:?}");
    }
}

#[tokio::test]
async fn sessions_of_ports_are_kept_apart() {
    let (client, acceptor) = (client().build().unwrap(), Acceptor::new(server().build().unwrap()));
    let [any, one, other] = [
        Connector::new(client.clone()),
        Connector::new(client.clone()).port(443),
        Connector::new(client).port(8443),
    ];
    for (connector, resumed) in
        [(&one, false), (&other, false), (&any, false), (&one, true), (&other, true), (&any, true)]
    {
        let (near, far) = duplex(1 << 16);
        let (near, far) = tokio::join!(connector.connect(name(), near), acceptor.accept(far));
        let (mut near, mut far) = (near.unwrap(), far.unwrap());
        assert_eq!(near.info().resumed, resumed);
        far.write_all(b"x").await.unwrap();
        near.read_exact(&mut [0]).await.unwrap();
    }
}

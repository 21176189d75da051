//! Post-handshake client authentication. RFC 9846 4.7.2

use std::io::ErrorKind;
use std::sync::Arc;

use tercel::{Error, Policy, certificates::AcceptAnyPeer, error::Misuse, server::ClientAuth};
use tercel_tokio::TlsStream;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

use crate::support::{client, credential, join, loopback, pattern, server};

async fn pair() -> (TlsStream<DuplexStream>, TlsStream<DuplexStream>) {
    let client = client().post_handshake_auth(true).credential(credential()).build().unwrap();
    join(duplex(1000), client, requesting_server()).await
}

fn requesting_server() -> Arc<tercel::ServerConfig> {
    let anyone = Policy::Here(Arc::new(AcceptAnyPeer) as _);
    server().client_verifier(ClientAuth::None, anyone).build().unwrap()
}

#[tokio::test]
async fn a_client_answers_while_it_reads_and_no_data_is_lost() {
    let (mut client, mut server) = pair().await;
    let data = pattern(5000);
    let asked = async {
        let mut first = [0; 10];
        server.read_exact(&mut first).await.unwrap();
        let answer = server.authenticate_client(ClientAuth::Required).await.unwrap();
        assert!(answer.is_verified());
        assert_eq!(answer.into_chain(), credential().chain());
        server.write_all(b"known").await.unwrap();
        server.flush().await.unwrap();
        let mut rest = vec![0; 4990];
        server.read_exact(&mut rest).await.unwrap();
        [&first[..], &rest].concat()
    };
    let answering = async {
        client.write_all(&data).await.unwrap();
        client.flush().await.unwrap();
        let mut word = [0; 5];
        client.read_exact(&mut word).await.unwrap();
        assert_eq!(&word, b"known");
    };
    let (arrived, ()) = tokio::join!(asked, answering);
    assert!(arrived == data);
}

/// The certificate would not be verified, so that it is not requested.
#[tokio::test]
async fn nothing_is_requested_if_the_verifier_asks() {
    let client = client().post_handshake_auth(true).credential(credential()).build().unwrap();
    let asks = server().client_verifier(ClientAuth::None, Policy::Ask).build().unwrap();
    let (mut client, mut server) = join(duplex(1000), client, asks).await;
    for demand in [ClientAuth::Optional, ClientAuth::Required] {
        let at_once = server.request_certificate(demand).unwrap_err();
        let waiting = server.authenticate_client(demand).await.unwrap_err();
        for refused in [at_once, waiting] {
            assert_eq!(refused.kind(), ErrorKind::InvalidInput);
            let inner = refused.into_inner().unwrap().downcast::<Error>().unwrap();
            assert_eq!(*inner, Error::Misuse(Misuse::VerifierAsks));
        }
    }
    // The client has received no request.
    server.write_all(b"data").await.unwrap();
    server.flush().await.unwrap();
    let mut word = [0; 4];
    client.read_exact(&mut word).await.unwrap();
    client.write_all(&word).await.unwrap();
    client.flush().await.unwrap();
    server.read_exact(&mut word).await.unwrap();
    assert!(server.take_client_certificates().is_empty());
}

#[tokio::test]
async fn an_answer_comes_with_later_reads() {
    let (mut client, mut server) = pair().await;
    let context = server.request_certificate(ClientAuth::Optional).unwrap();
    server.write_all(b"data").await.unwrap();
    server.flush().await.unwrap();
    let mut word = [0; 4];
    client.read_exact(&mut word).await.unwrap();
    client.write_all(b"more").await.unwrap();
    client.flush().await.unwrap();
    server.read_exact(&mut word).await.unwrap();
    let answers = server.take_client_certificates();
    let [answer] = &answers[..] else { panic!("{answers:?}") };
    assert_eq!(answer.context(), context);
    assert!(answer.is_verified() && server.take_client_certificates().is_empty());
}

#[tokio::test]
async fn a_client_that_closes_is_not_waited_for() {
    let (mut client, mut server) = pair().await;
    client.shutdown().await.unwrap();
    let gone = server.authenticate_client(ClientAuth::Optional).await.unwrap_err();
    assert_eq!(gone.kind(), ErrorKind::UnexpectedEof);
}

#[tokio::test]
async fn halves_of_a_client_say_that_they_cannot_answer() {
    let config = client().post_handshake_auth(true).credential(credential()).build().unwrap();
    let (client, mut server) = join(loopback().await, config, requesting_server()).await;
    let (mut reading, _writing) = client.into_split();
    server.request_certificate(ClientAuth::Required).unwrap();
    server.write_all(b"data").await.unwrap();
    server.flush().await.unwrap();
    // Data that arrived before the request is read first.
    let mut word = [0; 4];
    reading.read_exact(&mut word).await.unwrap();
    assert_eq!(&word, b"data");
    let failed = reading.read(&mut word).await.unwrap_err();
    assert_eq!(failed.kind(), ErrorKind::Unsupported);
}

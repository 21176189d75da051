//! Early data that is answered while the handshake is in progress.

use std::sync::Arc;
use std::task::{Context, Poll};

use tercel::{ConnectionInfo, EarlyData, Handshake, Next, Opened, Policy, ReceiveBuffer};
use tercel_tokio::{Acceptor, EarlyExchange};
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadBuf, duplex};

use crate::early::AdmitAlways;
use crate::support::{client, join, name, server};

/// A handler that answers with as many bytes as it received, or returns all received pieces.
#[derive(Default)]
struct AnsweringExchange {
    gives_back: bool,
    taken: Vec<u8>,
    unanswered: usize,
    seen: Option<(Option<String>, bool, EarlyData)>,
}

impl EarlyExchange for AnsweringExchange {
    fn take(&mut self, info: &ConnectionInfo, piece: Vec<u8>) -> Option<Vec<u8>> {
        self.seen = Some((info.server_name.clone(), info.resumed, info.early_data));
        if self.gives_back {
            return Some(piece);
        }
        self.unanswered += piece.len();
        self.taken.extend(piece);
        None
    }

    fn poll_answer(&mut self, _: &mut Context<'_>, answer: &mut ReadBuf<'_>) -> Poll<()> {
        if self.unanswered == 0 {
            return Poll::Pending;
        }
        let count = self.unanswered.min(answer.remaining());
        answer.put_slice(&vec![b'a'; count]);
        self.unanswered -= count;
        Poll::Ready(())
    }
}

#[tokio::test]
async fn an_answer_comes_before_the_client_has_finished() {
    const EARLY: usize = 40_000;
    let client = client().early_data(true).build().unwrap();
    let guard = Policy::Here(Arc::new(AdmitAlways) as Arc<_>);
    let server = server().early_data(50_000, guard).build().unwrap();
    for gives_back in [false, true] {
        let (mut near, mut far) = join(duplex(1 << 16), client.clone(), server.clone()).await;
        far.write_all(b"x").await.unwrap();
        near.read_exact(&mut [0]).await.unwrap();

        // The transport is narrower than the data.
        let (mut near, far) = duplex(10_000);
        let acceptor = Acceptor::new(server.clone());
        let accepted = tokio::spawn(async move {
            let mut answering = AnsweringExchange { gives_back, ..AnsweringExchange::default() };
            let mut stream = acceptor.accept_with_early_data(far, &mut answering).await.unwrap();
            let (early, mut rest) = (stream.take_early_data(), Vec::new());
            stream.read_to_end(&mut rest).await.unwrap();
            (answering, early, rest)
        });
        let mut handshake = Handshake::client(client.clone(), name());
        let (mut received, mut out) = (ReceiveBuffer::new(), Vec::new());
        assert!(matches!(handshake.advance(&mut received, &mut out), Ok(Next::Receive)));
        handshake.early_sender().unwrap().seal_to(&[b'e'; EARLY], &mut out).unwrap();
        let mut connection = loop {
            near.write_all(&std::mem::take(&mut out)).await.unwrap();
            let count = near.read(received.spare()).await.unwrap();
            received.filled(count);
            match handshake.advance(&mut received, &mut out).unwrap() {
                Next::Connected(connection) => break connection,
                Next::Receive => {}
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(connection.info.early_data, EarlyData::Accepted);
        // The client's Finished is in `out`, and has not been sent.
        let mut read = 0;
        while read < EARLY && !gives_back {
            match connection.receiver.open(&mut received).unwrap() {
                Opened::Data(data) => {
                    assert!(data.iter().all(|byte| *byte == b'a'));
                    read += data.len();
                }
                Opened::More => {
                    let count = near.read(received.spare()).await.unwrap();
                    assert!(count > 0);
                    received.filled(count);
                }
                other => panic!("{other:?}"),
            }
        }
        assert!(!accepted.is_finished());
        connection.sender.seal_to(b"late", &mut out).unwrap();
        connection.sender.close(&mut out).unwrap();
        near.write_all(&out).await.unwrap();
        let (answering, kept, rest) = accepted.await.unwrap();
        assert_eq!(rest, b"late");
        let (taken, kept) = (answering.taken.len(), kept.len());
        assert_eq!((taken, kept), if gives_back { (0, EARLY) } else { (EARLY, 0) });
        let seen = answering.seen.unwrap();
        assert_eq!(seen, (Some("server.example".to_owned()), true, EarlyData::Accepted));
    }
}

/// A handler that continues its answer up to a limit.
struct EndlessAnswer {
    said: usize,
}

impl EndlessAnswer {
    const MOST: usize = 1 << 26;
}

impl EarlyExchange for EndlessAnswer {
    fn take(&mut self, _: &ConnectionInfo, _: Vec<u8>) -> Option<Vec<u8>> {
        None
    }

    fn poll_answer(&mut self, _: &mut Context<'_>, answer: &mut ReadBuf<'_>) -> Poll<()> {
        let count = answer.remaining().min(Self::MOST - self.said);
        answer.put_slice(&vec![b'a'; count]);
        self.said += count;
        Poll::Ready(())
    }
}

/// Without a limit on the answer, a client that first reads the whole answer would exceed the time
/// limit of the handshake.
#[tokio::test]
async fn a_long_answer_does_not_delay_the_handshake() {
    let client = client().early_data(true).build().unwrap();
    let guard = Policy::Here(Arc::new(AdmitAlways) as Arc<_>);
    let server = server().early_data(50_000, guard).build().unwrap();
    let (mut near, mut far) = join(duplex(1 << 16), client.clone(), server.clone()).await;
    far.write_all(b"x").await.unwrap();
    near.read_exact(&mut [0]).await.unwrap();

    // The transport has room for the whole answer.
    let (mut near, far) = duplex(EndlessAnswer::MOST * 2);
    let acceptor = Acceptor::new(server.clone());
    let accepted = tokio::spawn(async move {
        let mut talking = EndlessAnswer { said: 0 };
        let stream = acceptor.accept_with_early_data(far, &mut talking).await.unwrap();
        (talking.said, stream)
    });
    let mut handshake = Handshake::client(client.clone(), name());
    let (mut received, mut out) = (ReceiveBuffer::new(), Vec::new());
    assert!(matches!(handshake.advance(&mut received, &mut out), Ok(Next::Receive)));
    handshake.early_sender().unwrap().seal_to(b"early", &mut out).unwrap();
    loop {
        near.write_all(&std::mem::take(&mut out)).await.unwrap();
        let count = near.read(received.spare()).await.unwrap();
        received.filled(count);
        if let Next::Connected(_) = handshake.advance(&mut received, &mut out).unwrap() {
            break;
        }
    }
    near.write_all(&out).await.unwrap();
    let (said, _stream) = accepted.await.unwrap();
    assert!(said < EndlessAnswer::MOST, "{said}");
}

//! Early data over streams.

use std::sync::Arc;

use tercel::{Policy, ReplayGuard};
use tercel_tokio::{Acceptor, Connector};
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

use crate::support::{client, join, name, server};

#[derive(Debug)]
struct Always;

impl tercel::AdmitEarlyData for Always {
    fn admit_early_data(&self, _: &[u8], _: tercel::pki_types::UnixTime) -> bool {
        true
    }
}

#[tokio::test]
async fn early_data_arrives_apart_from_the_rest() {
    let client = client().early_data(true).build().unwrap();
    let server = server().early_data(1000, Policy::Here(Arc::new(Always))).build().unwrap();
    let (mut near, mut far) = join(duplex(1 << 16), client.clone(), server.clone()).await;
    far.write_all(b"x").await.unwrap();
    near.read_exact(&mut [0]).await.unwrap();

    let (near, far) = duplex(1 << 16);
    let (connector, acceptor) = (Connector::new(client), Acceptor::new(server));
    let early = vec![b'e'; 1500];
    let (near, far) =
        tokio::join!(connector.connect_early(name(), near, &early), acceptor.accept(far));
    let (mut near, mut far) = (near.unwrap(), far.unwrap());
    // As much as the session allows.
    assert_eq!(near.accepted, 1000);
    assert_eq!(far.take_early_data(), &early[..1000]);
    near.stream.write_all(&early[near.accepted..]).await.unwrap();
    let mut rest = [0; 500];
    far.read_exact(&mut rest).await.unwrap();
    assert_eq!(rest, early[1000..]);
}

#[tokio::test]
async fn early_data_that_is_not_admitted_is_left_to_be_sent_again() {
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
    assert!(near.stream.facts().resumed);
    assert_eq!(near.accepted, 0);
    assert!(far.take_early_data().is_empty());
}

//! Data in both directions, closing, key updates, halves.

use std::io::{ErrorKind, IoSlice};

use tercel::wire::ProtocolVersion;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::support::{VERSIONS, loopback_pair, pair, pattern};

/// Sends `bytes` and then close_notify.
async fn send(mut stream: impl AsyncWrite + Unpin, bytes: Vec<u8>) {
    stream.write_all(&bytes).await.unwrap();
    stream.shutdown().await.unwrap();
}

/// Reads to the end in pieces of this size.
async fn receive(mut stream: impl AsyncRead + Unpin, piece: usize) -> Vec<u8> {
    let (mut all, mut buffer) = (Vec::new(), vec![0; piece]);
    loop {
        match stream.read(&mut buffer).await.unwrap() {
            0 => return all,
            count => all.extend_from_slice(&buffer[..count]),
        }
    }
}

#[tokio::test]
async fn much_data_both_ways_at_once_through_a_narrow_transport() {
    for version in VERSIONS {
        let (near, far) = pair(version, 1000).await;
        let bytes = pattern(300_000);
        let ((near_read, near_write), (far_read, far_write)) =
            (tokio::io::split(near), tokio::io::split(far));
        let (_, _, at_far, at_near) = tokio::join!(
            send(near_write, bytes.clone()),
            send(far_write, bytes.clone()),
            receive(far_read, 16_384 + 256),
            receive(near_read, 100)
        );
        assert!(at_far == bytes && at_near == bytes);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn halves_without_a_lock_in_four_tasks() {
    for version in VERSIONS {
        let (near, far) = loopback_pair(version).await;
        let bytes = pattern(3_000_000);
        let ((near_read, near_write), (far_read, far_write)) =
            (near.into_split(), far.into_split());
        let tasks = (
            tokio::spawn(write(near_write, bytes.clone())),
            tokio::spawn(write(far_write, bytes.clone())),
            tokio::spawn(read(far_read, 50_000, bytes.len())),
            tokio::spawn(read(near_read, 7_000, bytes.len())),
        );
        let (mut near_write, mut far_write) = (tasks.0.await.unwrap(), tasks.1.await.unwrap());
        let (at_far, far_read) = tasks.2.await.unwrap();
        let (at_near, near_read) = tasks.3.await.unwrap();
        assert!(at_far == bytes && at_near == bytes);
        // RFC 5246 7.2.1: a TLS 1.2 side that receives close_notify discards its pending writes, so
        // neither side closes before both have received everything.
        near_write.shutdown().await.unwrap();
        far_write.shutdown().await.unwrap();
        assert!(receive(far_read, 10).await.is_empty() && receive(near_read, 10).await.is_empty());
    }
}

/// Sends `bytes`, and returns the open stream.
async fn write<W: AsyncWrite + Unpin>(mut stream: W, bytes: Vec<u8>) -> W {
    stream.write_all(&bytes).await.unwrap();
    stream.flush().await.unwrap();
    stream
}

/// Reads `length` bytes in pieces of this size.
async fn read<R: AsyncRead + Unpin>(mut stream: R, piece: usize, length: usize) -> (Vec<u8>, R) {
    let (mut all, mut buffer) = (Vec::new(), vec![0; piece]);
    while all.len() < length {
        let count = stream.read(&mut buffer).await.unwrap();
        assert!(count > 0, "the end after {} bytes", all.len());
        all.extend_from_slice(&buffer[..count]);
    }
    (all, stream)
}

#[tokio::test]
async fn small_slices_of_a_vectored_write_share_a_record() {
    let (mut near, mut far) = pair(ProtocolVersion::TLS1_3, 1 << 20).await;
    let slices = [IoSlice::new(b"one, "), IoSlice::new(b""), IoSlice::new(b"two, three")];
    assert!(near.is_write_vectored());
    let sequence = near.connection().sender.sequence();
    assert_eq!(near.write_vectored(&slices).await.unwrap(), 15);
    assert_eq!(near.connection().sender.sequence(), sequence + 1);
    let mut at_far = [0; 15];
    far.read_exact(&mut at_far).await.unwrap();
    assert_eq!(&at_far, b"one, two, three");
}

#[tokio::test]
async fn a_reader_alone_answers_key_updates() {
    let (mut near, mut far) = pair(ProtocolVersion::TLS1_3, 1 << 20).await;
    for round in 0..5_u8 {
        near.update_key(true).unwrap();
        near.write_all(&[round]).await.unwrap();
        let mut byte = [0];
        far.read_exact(&mut byte).await.unwrap();
        assert_eq!(byte, [round]);
        // The far side sends nothing by itself: its reader sends the answer, so the near side may
        // request again.
        assert_eq!(far.connection().sender.sequence(), 0);
        far.write_all(b"!").await.unwrap();
        near.read_exact(&mut byte).await.unwrap();
    }
}

#[tokio::test]
async fn a_close_ends_one_direction_in_tls13() {
    let (mut near, mut far) = pair(ProtocolVersion::TLS1_3, 1 << 20).await;
    near.shutdown().await.unwrap();
    assert_eq!(near.write(b"late").await.unwrap_err().kind(), ErrorKind::Other);
    assert_eq!(far.read(&mut [0; 10]).await.unwrap(), 0);
    assert_eq!(far.read(&mut [0; 10]).await.unwrap(), 0);
}

#[tokio::test]
async fn an_end_without_close_notify_is_an_error() {
    for version in VERSIONS {
        let (near, mut far) = pair(version, 1 << 20).await;
        drop(near);
        let error = far.read(&mut [0; 10]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
    }
}

#[tokio::test]
async fn garbage_is_answered_with_an_alert_by_the_reader() {
    let (near, far) = loopback_pair(ProtocolVersion::TLS1_3).await;
    let (_, mut garbage) = near.into_split();
    // The record is well-formed, but was not sealed with the key.
    let mut record = vec![23, 3, 3, 0, 40];
    record.extend_from_slice(&[0x55; 40]);
    garbage.transport_mut().write_all(&record).await.unwrap();
    let mut far = far;
    let error = far.read(&mut [0; 10]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
    assert_eq!(far.write(b"x").await.unwrap_err().kind(), ErrorKind::Other);
}

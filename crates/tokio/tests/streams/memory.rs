//! Idle streams hold no buffers.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};

use tercel::wire::ProtocolVersion;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::pair;

#[tokio::test]
async fn an_idle_stream_returns_its_buffers() {
    let (mut near, mut far) = pair(ProtocolVersion::TLS1_3, 1 << 16).await;
    near.write_all(b"x").await.unwrap();
    far.read_exact(&mut [0]).await.unwrap();
    let mut piece = [0; 100];
    let waiting = allocation_counter::measure(|| {
        for _ in 0..200 {
            let read = pin!(far.read(&mut piece));
            assert!(read.poll(&mut Context::from_waker(Waker::noop())).is_pending());
        }
    });
    assert_eq!(waiting.bytes_current, 0);
    assert_eq!(waiting.count_total, 0, "streams share the buffers of their thread");
}

#[tokio::test]
async fn bulk_is_read_four_records_at_a_time() {
    let (mut near, mut far) = pair(ProtocolVersion::TLS1_3, 1 << 20).await;
    for _ in 0..3 {
        near.write_all(&vec![7; 4 << 14]).await.unwrap();
    }
    let mut piece = vec![0; (4 << 14) + 256];
    for _ in 0..3 {
        assert_eq!(far.read(&mut piece).await.unwrap(), 4 << 14);
    }
}

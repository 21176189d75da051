//! Cancelled reads, writes and shutdowns neither lose nor repeat data.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::{VERSIONS, pair, pattern};

/// Polls a future once and drops it.
fn once<F: Future>(future: F) -> Option<F::Output> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

#[tokio::test]
async fn cancelled_reads_and_writes_continue() {
    for version in VERSIONS {
        // The transport is so narrow that no record or header arrives in one piece.
        let (mut near, mut far) = pair(version, 3).await;
        let bytes = pattern(2_000);
        let (mut written, mut shut, mut received, mut closed) = (0, false, Vec::new(), false);
        let mut turns = 0;
        while !closed {
            turns += 1;
            // Each iteration gets the whole cooperative budget of the runtime.
            tokio::task::yield_now().await;
            assert!(turns < 100_000, "no end: {written} written, {} read", received.len());
            if written < bytes.len() {
                if let Some(count) = once(near.write(&bytes[written..])) {
                    written += count.unwrap();
                }
            } else if !shut {
                shut = once(near.shutdown()).is_some();
            }
            let mut piece = [0; 300];
            if let Some(count) = once(far.read(&mut piece)) {
                let count = count.unwrap();
                received.extend_from_slice(&piece[..count]);
                closed = count == 0;
            }
        }
        assert_eq!(received, bytes);
    }
}

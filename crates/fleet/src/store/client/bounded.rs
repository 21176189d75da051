//! A limit on the replies of a store.
//!
//! The client of the store keeps a reply in memory until it is complete, and a reply may announce
//! any length. A store that was taken over must not be able to fill the memory of its nodes.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A connection to a store, which fails if the store sends more bytes than requests explain.
pub(super) struct BoundedReplies<T> {
    inner: T,
    /// The number of bytes that the store may still send.
    left: usize,
}

impl<T> BoundedReplies<T> {
    pub(super) fn new(inner: T) -> Self {
        Self { inner, left: REPLY }
    }

    fn requested(&mut self, bytes: usize) {
        let for_requests = bytes.saturating_mul(REPLY_PER_BYTE);
        let most = for_requests.clamp(MOST, MOST_QUEUED);
        let left = self.left.saturating_add(for_requests).saturating_add(REPLY).min(most);
        // A short write does not take back what long ones before it have allowed.
        self.left = self.left.max(left);
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for BoundedReplies<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
        let read = buffer.filled().len().saturating_sub(before);
        let Some(left) = self.left.checked_sub(read) else {
            let error = "the store sends more than was requested";
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, error)));
        };
        self.left = left;
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for BoundedReplies<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.inner).poll_write(context, bytes))?;
        self.requested(written);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

/// The number of bytes that the store may send for each write, and for each byte of it. The longest
/// reply is a session with a client's certificates and their staple; its request has 100 bytes.
const REPLY: usize = 256 << 10;
const REPLY_PER_BYTE: usize = 1 << 10;

/// The number of bytes that the store may send at most after one small write, and after a long
/// write with many requests. Parsed values may need twenty times as much memory.
const MOST: usize = 2 << 20;
const MOST_QUEUED: usize = 16 << 20;

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test]
    async fn a_store_sends_no_more_than_requests_explain() {
        let (near, mut far) = duplex(64 << 20);
        let mut near = BoundedReplies::new(near);
        let mut received = vec![0; MOST + 1];
        // Requests do not add up while the store sends nothing.
        for _ in 0..100 {
            near.write_all(&[7; 100]).await.unwrap();
        }
        far.write_all(&received).await.unwrap();
        near.read_exact(&mut received[..MOST]).await.unwrap();
        let error = near.read_exact(&mut received[..1]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }

    #[tokio::test]
    async fn a_short_write_after_a_long_one_takes_nothing_back() {
        let (near, mut far) = duplex(64 << 20);
        let mut near = BoundedReplies::new(near);
        let mut received = vec![0; 3 * MOST];
        near.write_all(&[7; 8 << 10]).await.unwrap();
        near.write_all(&[7; 100]).await.unwrap();
        far.write_all(&received).await.unwrap();
        near.read_exact(&mut received).await.unwrap();
    }

    #[tokio::test]
    async fn each_request_may_have_a_long_reply() {
        let (near, mut far) = duplex(64 << 20);
        let mut near = BoundedReplies::new(near);
        let mut received = vec![0; REPLY];
        for _ in 0..100 {
            near.write_all(&[7; 100]).await.unwrap();
            far.write_all(&received).await.unwrap();
            near.read_exact(&mut received).await.unwrap();
        }
        // Many requests are written at once while many handshakes wait.
        near.write_all(&[7; 100_000]).await.unwrap();
        for _ in 0..MOST_QUEUED / REPLY {
            far.write_all(&received).await.unwrap();
            near.read_exact(&mut received).await.unwrap();
        }
        far.write_all(&received).await.unwrap();
        assert!(near.read_exact(&mut received).await.is_err());
    }
}

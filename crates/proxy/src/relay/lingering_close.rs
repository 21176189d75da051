//! A close that delivers what was written, although the client's data is unread.

use std::io;

use tercel_tokio::TlsStream;
use tercel_tokio::tercel::closing::{MAX_DRAIN_TIME, MAX_DRAINED_BYTES};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

/// Sends close_notify and discards received data until the client closes. Closing a socket with
/// unread data would reset the connection, and sent data could be lost. The time includes sending,
/// because a client may not read.
pub(crate) async fn close<T: AsyncRead + AsyncWrite + Unpin>(
    client: &mut TlsStream<T>,
) -> io::Result<()> {
    let closing = async {
        client.shutdown().await?;
        let (mut rest, mut left) = ([0; 256], MAX_DRAINED_BYTES);
        while left > 0 {
            match client.read(&mut rest).await? {
                0 => break,
                count => left = left.saturating_sub(count),
            }
        }
        Ok(())
    };
    timeout(MAX_DRAIN_TIME, Box::pin(closing)).await.unwrap_or(Ok(()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::DuplexStream;
    use tokio::net::TcpSocket;
    use tokio::time::Instant;

    use super::*;
    use crate::testing::{configs, pair, pair_over};

    // The limits of docs/proxy.md. The time is that of tokio's clock, which is paused and advances
    // only while every task waits.
    const TIME: Duration = Duration::from_secs(2);
    const MIB: usize = 1 << 20;

    /// A connection whose client has sent a request. Neither the request nor the tickets were read.
    async fn unread() -> (TlsStream<DuplexStream>, TlsStream<DuplexStream>) {
        let (server, client) = configs();
        let (server, mut client) = pair(&server, &client).await;
        client.write_all(&[7; 10_000]).await.unwrap();
        (server, client)
    }

    #[tokio::test(start_paused = true)]
    async fn client_that_closes_is_not_waited_for_and_reads_a_clean_end() {
        let (mut near, mut far) = unread().await;
        let start = Instant::now();
        let client = tokio::spawn(async move {
            let end = far.read(&mut [0; 10]).await;
            far.write_all(&[7; 10_000]).await.unwrap();
            far.shutdown().await.unwrap();
            end
        });
        close(&mut near).await.unwrap();
        assert_eq!(start.elapsed(), Duration::ZERO);
        assert_eq!(client.await.unwrap().unwrap(), 0);
    }

    /// A reset because of the unread request would discard the part of the answer that the server's
    /// system has not sent yet.
    #[tokio::test]
    async fn answer_arrives_although_a_request_is_unread() {
        // The systems hold the whole request and the whole answer, and the client's little of it.
        const LONG: usize = 128 * 1024;
        let (listener, far) = (TcpSocket::new_v4().unwrap(), TcpSocket::new_v4().unwrap());
        listener.set_send_buffer_size(1 << 18).unwrap();
        far.set_send_buffer_size(1 << 18).unwrap();
        far.set_recv_buffer_size(1 << 12).unwrap();
        listener.bind(([127, 0, 0, 1], 0).into()).unwrap();
        let listener = listener.listen(1).unwrap();
        let far = far.connect(listener.local_addr().unwrap());
        let (far, near) = tokio::join!(far, listener.accept());
        let (server, client) = configs();
        let transports = (near.unwrap().0, far.unwrap());
        let (mut near, mut far) = pair_over(transports, &server, &client).await;
        far.write_all(&[7; LONG]).await.unwrap();
        near.read_exact(&mut [0; 100]).await.unwrap();
        near.write_all(&[7; LONG]).await.unwrap();
        let serve = async move {
            // The client ends without close_notify.
            let _ = close(&mut near).await;
        };
        let receive = async move {
            let mut received = Vec::new();
            far.read_to_end(&mut received).await.map(|_| received.len())
        };
        let ((), received) = tokio::join!(serve, receive);
        assert_eq!(received.unwrap(), LONG);
    }

    #[tokio::test(start_paused = true)]
    async fn client_that_never_closes_is_waited_for_until_the_limit() {
        let (mut near, far) = unread().await;
        let start = Instant::now();
        close(&mut near).await.unwrap();
        assert!((TIME..TIME * 2).contains(&start.elapsed()), "{:?}", start.elapsed());
        drop(far);
    }

    #[tokio::test(start_paused = true)]
    async fn client_that_never_reads_is_waited_for_until_the_limit() {
        let (mut near, far) = unread().await;
        let writing = timeout(Duration::from_secs(1), near.write_all(&[7; MIB]));
        assert!(writing.await.is_err(), "there is room for everything");
        let start = Instant::now();
        close(&mut near).await.unwrap();
        assert!((TIME..TIME * 2).contains(&start.elapsed()), "{:?}", start.elapsed());
        drop(far);
    }

    #[tokio::test(start_paused = true)]
    async fn client_that_sends_without_end_is_read_until_the_limit() {
        let (mut near, mut far) = unread().await;
        let start = Instant::now();
        let client = tokio::spawn(async move {
            let mut sent = 10_000;
            while sent < 8 * MIB && far.write_all(&[7; 4096]).await.is_ok() {
                sent += 4096;
            }
            sent
        });
        close(&mut near).await.unwrap();
        assert_eq!(start.elapsed(), Duration::ZERO, "the client never pauses");
        drop(near);
        // What the client and the transport hold was sent, but not read.
        let sent = client.await.unwrap();
        assert!((MIB..MIB + (1 << 18)).contains(&sent), "{sent}");
    }
}

//! A close that delivers what was written, although the client's data is unread.

use std::io;

use tercel_tokio::TlsStream;
use tercel_tokio::tercel::closing::{MAX_DRAIN_TIME, MAX_DRAINED_BYTES};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Sends close_notify and discards received data until the client closes. Closing a socket with
/// unread data would reset the connection, and sent data could be lost. The time includes sending,
/// because a client may not read.
pub(crate) async fn close(client: &mut TlsStream<TcpStream>) -> io::Result<()> {
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

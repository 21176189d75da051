//! A client that stops within its handshake: only its first bytes reach the server.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use tercel::{ClientConfig, ServerName};
use tercel_harness::clients::connect;
use tercel_tokio::Connector;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::net::TcpStream;

/// The size of the buffer, which is larger than any flight.
const ROOM: usize = 64 * 1024;

/// Connects and forwards the first bytes of a handshake. Returns the connection and the number of
/// forwarded bytes, which is lower if the handshake was complete or the server closed.
pub(crate) async fn handshake(
    target: SocketAddr,
    source: IpAddr,
    config: &Arc<ClientConfig>,
    server: ServerName<'static>,
    stop_after: usize,
) -> io::Result<(TcpStream, usize)> {
    let mut tcp = connect(target, Some(source)).await?;
    let (near, mut far) = duplex(ROOM);
    let connector = Connector::new(config.clone());
    let client = tokio::spawn(async move { connector.connect(server, near).await });
    let sent = pump(&mut far, &mut tcp, stop_after).await;
    client.abort();
    Ok((tcp, sent?))
}

/// The number of bytes that a client sends in a complete handshake.
pub(crate) async fn whole(
    target: SocketAddr,
    source: IpAddr,
    config: &Arc<ClientConfig>,
    server: ServerName<'static>,
) -> io::Result<usize> {
    let mut tcp = connect(target, Some(source)).await?;
    let (near, mut far) = duplex(ROOM);
    let connector = Connector::new(config.clone());
    // When the stream is dropped, the pump forwards all remaining bytes and ends.
    let client = tokio::spawn(async move { connector.connect(server, near).await.map(drop) });
    let sent = pump(&mut far, &mut tcp, usize::MAX).await?;
    client.await??;
    Ok(sent)
}

/// Forwards in both directions until this many bytes reached the server, or one side closed.
async fn pump(client: &mut DuplexStream, tcp: &mut TcpStream, most: usize) -> io::Result<usize> {
    let mut sent = 0;
    let (mut from_client, mut from_server) = (vec![0; 16 * 1024], vec![0; 16 * 1024]);
    while sent < most {
        tokio::select! {
            biased;
            count = client.read(&mut from_client) => {
                let count = count?.min(most - sent);
                if count == 0 {
                    break;
                }
                tcp.write_all(&from_client[..count]).await?;
                sent += count;
            }
            count = tcp.read(&mut from_server) => {
                let count = count?;
                if count == 0 {
                    break;
                }
                client.write_all(&from_server[..count]).await?;
            }
        }
    }
    Ok(sent)
}

//! Streams of tokio over loopback sockets, without an application protocol.
//!
//! A client sends the numbers of bytes that it will send and wants to receive, then its bytes. The
//! server reads these and answers.

use std::future::Future;

use anyhow::{Result, ensure};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Mutex;

use crate::Implementation;

/// The size of one read and of one write.
const CHUNK: usize = 16 << 10;

/// The numbers of bytes that a program sends and receives in one operation.
#[derive(Clone, Copy)]
pub struct Transfer {
    pub sent: usize,
    pub received: usize,
}

/// Connects.
async fn connect<T: Implementation>(tls: &T, port: u16) -> Result<T::Stream> {
    let socket = TcpStream::connect(("localhost", port)).await?;
    socket.set_nodelay(true)?;
    tls.connect("localhost", socket).await
}

/// An operation that connects, sends and receives a byte, and disconnects.
pub async fn visit<T: Implementation>(tls: &T, port: u16) -> Result<()> {
    let mut stream = connect(tls, port).await?;
    exchange(&mut stream, Transfer { sent: 1, received: 1 }).await?;
    stream.shutdown().await?;
    Ok(())
}

/// Operations that transfer data over one connection.
pub async fn transfers<T: Implementation>(
    tls: &T,
    port: u16,
    transfer: Transfer,
) -> Result<impl Fn() -> std::pin::Pin<Box<dyn Future<Output = Result<()>>>> + use<T>>
where
    T::Stream: 'static,
{
    let stream = std::rc::Rc::new(Mutex::new(connect(tls, port).await?));
    Ok(move || {
        let stream = std::rc::Rc::clone(&stream);
        Box::pin(async move { exchange(&mut *stream.lock().await, transfer).await }) as _
    })
}

async fn exchange<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    transfer: Transfer,
) -> Result<()> {
    let mut first = Vec::with_capacity(16 + transfer.sent.min(CHUNK));
    for number in [transfer.sent, transfer.received] {
        first.extend_from_slice(&(number as u64).to_be_bytes());
    }
    first.resize(16 + transfer.sent.min(CHUNK), b'x');
    stream.write_all(&first).await?;
    send(stream, transfer.sent.saturating_sub(CHUNK)).await?;
    stream.flush().await?;
    receive(stream, transfer.received).await
}

/// Serves a connection until the client ends it.
///
/// # Errors
/// Those of the stream.
pub async fn serve<S: AsyncRead + AsyncWrite + Unpin>(mut stream: S) -> Result<()> {
    let mut header = [0; 16];
    while stream.read_exact(&mut header).await.is_ok() {
        let [sent, received] = [0, 8].map(|at| {
            let number = header[at..].first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
            number as usize
        });
        receive(&mut stream, sent).await?;
        send(&mut stream, received).await?;
        stream.flush().await?;
    }
    Ok(())
}

async fn send<S: AsyncWrite + Unpin>(stream: &mut S, mut count: usize) -> Result<()> {
    let data = [b'x'; CHUNK];
    while count > 0 {
        let now = count.min(CHUNK);
        stream.write_all(&data[..now]).await?;
        count -= now;
    }
    Ok(())
}

async fn receive<S: AsyncRead + Unpin>(stream: &mut S, mut count: usize) -> Result<()> {
    let mut data = [0; CHUNK];
    while count > 0 {
        let room = count.min(CHUNK);
        let now = stream.read(&mut data[..room]).await?;
        ensure!(now > 0, "the stream ended early");
        count -= now;
    }
    Ok(())
}

//! Backend endpoints and connections to them.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

/// The resolved address of a backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// All addresses of one host, tried in order.
    Tcp(Vec<SocketAddr>),
    Unix(PathBuf),
}

/// A connection to a backend.
#[derive(Debug)]
pub(crate) enum BackendStream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Tcp(addresses) => match addresses.first() {
                Some(address) => write!(f, "{address}"),
                None => f.write_str("nowhere"),
            },
        }
    }
}

impl Endpoint {
    /// Connects within `limit`.
    pub(crate) async fn connect(&self, limit: Duration) -> io::Result<BackendStream> {
        match tokio::time::timeout(limit, self.connect_any()).await {
            Ok(result) => result,
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    async fn connect_any(&self) -> io::Result<BackendStream> {
        let addresses = match self {
            Self::Unix(path) => return Ok(BackendStream::Unix(UnixStream::connect(path).await?)),
            Self::Tcp(addresses) => addresses,
        };
        let mut failed = None;
        for address in addresses {
            match TcpStream::connect(address).await {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    return Ok(BackendStream::Tcp(stream));
                }
                Err(error) => failed = Some(error),
            }
        }
        Err(failed.unwrap_or_else(|| io::ErrorKind::NotFound.into()))
    }
}

impl BackendStream {
    /// Makes the connection end with a reset when it is dropped, so that the backend sees that data
    /// is missing.
    pub(crate) fn reset(&self) {
        // A Unix socket cannot be reset; it is only closed.
        if let Self::Tcp(stream) = self {
            let _ = SockRef::from(stream).set_linger(Some(Duration::ZERO));
        }
    }
}

impl AsyncRead for BackendStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(context, out),
            Self::Unix(stream) => Pin::new(stream).poll_read(context, out),
        }
    }
}

impl AsyncWrite for BackendStream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Unix(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // There is nothing to flush, because neither type of socket buffers writes.
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Unix(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}

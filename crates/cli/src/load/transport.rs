//! A connection after its handshake: TLS over TCP, or QUIC.

use std::io;

use tercel::ConnectionInfo;
use tercel_tokio::TlsStream;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

#[cfg(feature = "http3")]
use super::http3::QuicTransport;

/// A connection after its handshake.
pub(crate) enum Transport {
    Tcp(Box<TlsStream<TcpStream>>),
    #[cfg(feature = "http3")]
    Quic(QuicTransport),
}

impl Transport {
    /// The negotiated parameters.
    pub(crate) fn info(&self) -> &ConnectionInfo {
        match self {
            Self::Tcp(stream) => stream.info(),
            #[cfg(feature = "http3")]
            Self::Quic(quic) => quic.info(),
        }
    }

    /// Closes, and waits for the end of the connection, so that tickets are received. Errors are
    /// ignored.
    pub(crate) async fn close(self) -> io::Result<()> {
        match self {
            Self::Tcp(mut stream) => {
                let _ = stream.shutdown().await;
                let mut rest = [0; 512];
                while stream.read(&mut rest).await.is_ok_and(|count| count > 0) {}
            }
            #[cfg(feature = "http3")]
            Self::Quic(quic) => quic.close().await,
        }
        Ok(())
    }

    /// Waits until the server closes the connection. Returns the error if that is its reason.
    pub(crate) async fn closed(self) -> io::Result<()> {
        match self {
            Self::Tcp(mut stream) => {
                // Reading also processes tickets, which are not data.
                while stream.read(&mut [0; 64]).await? > 0 {}
                Ok(())
            }
            #[cfg(feature = "http3")]
            Self::Quic(quic) => quic.closed().await,
        }
    }
}

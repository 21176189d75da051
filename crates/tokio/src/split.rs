//! Two halves of a stream for two tasks.
//!
//! The sender and the receiver of a connection are independent values that share only one atomic
//! word. The halves of a transport that can be split are independent too.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use tercel::{ConnectionInfo, Exporter, Receiver, Sender};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, tcp};
#[cfg(unix)]
use tokio::net::{UnixStream, unix};

use crate::incoming::Incoming;
use crate::outgoing::Outgoing;

/// A transport that can be split without a lock.
pub trait SplitTransport {
    /// The reading half.
    type Read: AsyncRead + Unpin;
    /// The writing half.
    type Write: AsyncWrite + Unpin;

    /// Splits the transport.
    fn split(self) -> (Self::Read, Self::Write);
}

impl SplitTransport for TcpStream {
    type Read = tcp::OwnedReadHalf;
    type Write = tcp::OwnedWriteHalf;

    fn split(self) -> (Self::Read, Self::Write) {
        self.into_split()
    }
}

#[cfg(unix)]
impl SplitTransport for UnixStream {
    type Read = unix::OwnedReadHalf;
    type Write = unix::OwnedWriteHalf;

    fn split(self) -> (Self::Read, Self::Write) {
        self.into_split()
    }
}

/// The reading half of a [`crate::TlsStream`].
#[derive(Debug)]
pub struct TlsReadHalf<R> {
    pub(crate) transport: R,
    pub(crate) receiver: Receiver,
    pub(crate) incoming: Incoming,
    pub(crate) info: ConnectionInfo,
    pub(crate) exporter: Exporter,
}

impl<R> TlsReadHalf<R> {
    /// The reading half of the transport.
    #[must_use]
    pub fn transport(&self) -> &R {
        &self.transport
    }

    /// Frees memory that this half does not need while nothing is received: see
    /// [`Receiver::park`].
    pub fn park(&mut self) {
        self.receiver.park();
    }

    /// The negotiated parameters.
    #[must_use]
    pub fn info(&self) -> &ConnectionInfo {
        &self.info
    }

    /// Derives keying material for other protocols.
    #[must_use]
    pub fn exporter(&self) -> &Exporter {
        &self.exporter
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for TlsReadHalf<R> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { transport, receiver, incoming, .. } = self.get_mut();
        incoming.poll_read(receiver, transport, context, out, |_, _, requests| {
            // The reading half cannot send an answer to the server's request, so reading ends with
            // an error.
            if requests.is_empty() { Ok(()) } else { Err(io::ErrorKind::Unsupported.into()) }
        })
    }
}

/// The writing half of a [`crate::TlsStream`].
#[derive(Debug)]
pub struct TlsWriteHalf<W> {
    pub(crate) transport: W,
    pub(crate) sender: Sender,
    pub(crate) outgoing: Outgoing,
}

impl<W> TlsWriteHalf<W> {
    /// The writing half of the transport.
    #[must_use]
    pub fn transport(&self) -> &W {
        &self.transport
    }

    /// The writing half of the transport, to set its options. Bytes written to it bypass TLS.
    pub fn transport_mut(&mut self) -> &mut W {
        &mut self.transport
    }

    /// Frees memory that this half does not need while nothing is sent: see [`Sender::park`].
    pub fn park(&mut self) {
        self.sender.park();
    }

    /// Updates the sending key with the next flush or write, and asks the peer to do the same if
    /// `request` is set. RFC 9846 4.7.3
    ///
    /// # Errors
    /// [`tercel::error::Misuse::WrongVersion`] in TLS 1.2.
    pub fn update_key(&mut self, request: bool) -> io::Result<()> {
        self.outgoing.update_key(&mut self.sender, request)
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for TlsWriteHalf<W> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        plaintext: &[u8],
    ) -> Poll<io::Result<usize>> {
        let Self { transport, sender, outgoing } = self.get_mut();
        outgoing.poll_write(sender, transport, context, plaintext)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let Self { transport, sender, outgoing } = self.get_mut();
        outgoing.poll_write_vectored(sender, transport, context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { transport, sender, outgoing } = self.get_mut();
        outgoing.poll_flush_all(sender, transport, context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { transport, sender, outgoing } = self.get_mut();
        outgoing.poll_shutdown(sender, transport, context)
    }
}

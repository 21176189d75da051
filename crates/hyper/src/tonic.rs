//! [`HttpsListener`] as a stream of connections for tonic.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use tercel_tokio::{Listen, TlsStream};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tonic::transport::server::Connected;

use crate::info::ConnectInfo;
use crate::listener::HttpsListener;

/// A connection of a gRPC server. Requests have a [`ConnectInfo`] of it among their extensions.
#[derive(Debug)]
pub struct GrpcStream<T, A> {
    stream: TlsStream<T>,
    peer: A,
}

impl<L> Stream for HttpsListener<L>
where
    L: Listen + Unpin,
{
    type Item = io::Result<GrpcStream<L::Transport, L::Address>>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_accept(context).map(|(stream, peer)| Some(Ok(GrpcStream { stream, peer })))
    }
}

impl<T, A: Clone + Send + Sync + 'static> Connected for GrpcStream<T, A> {
    type ConnectInfo = ConnectInfo<A>;

    fn connect_info(&self) -> Self::ConnectInfo {
        ConnectInfo::new(self.peer.clone(), self.stream.info())
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin, A: Unpin> AsyncRead for GrpcStream<T, A> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin, A: Unpin> AsyncWrite for GrpcStream<T, A> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }
}

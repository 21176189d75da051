//! The stream of an HTTP client.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use http::Extensions;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection, HttpInfo};
use hyper_util::rt::TokioIo;
use tercel_tokio::TlsStream;

use crate::info::TlsInfo;

/// A connection to a server, with TLS if the URI's scheme is `https`.
///
/// The connection of an `https` URI adds a [`TlsInfo`] to the extensions of its responses. That of
/// an `http` URI has none, also if its transport is a TLS connection to a proxy.
// Nearly all connections are `https`, so a box would cost an allocation and save no memory.
#[allow(clippy::large_enum_variant)]
#[derive(Debug)]
#[non_exhaustive]
pub enum MaybeHttpsStream<T> {
    /// A transport without TLS.
    Http(T),
    /// A TLS connection over a transport.
    Https(TokioIo<TlsStream<TokioIo<T>>>),
}

impl<T: Connection + Read + Write + Unpin> Connection for MaybeHttpsStream<T> {
    fn connected(&self) -> Connected {
        match self {
            Self::Http(transport) => without_tls(transport.connected()),
            Self::Https(stream) => {
                let (info, transport) = (stream.inner().info(), stream.inner().transport());
                // The information below replaces that of a connection to a proxy.
                let mut connected = transport.inner().connected();
                if connected.is_negotiated_h2() {
                    connected = with_addresses_only(&connected);
                }
                let connected = connected.extra(TlsInfo::new(info));
                match info.alpn.as_deref() {
                    Some(b"h2") => connected.negotiated_h2(),
                    _ => connected,
                }
            }
        }
    }
}

/// Returns what a transport says about itself, without what a TLS connection in it says: that one
/// is to a proxy, and neither its certificate nor its version of HTTP is the origin's.
fn without_tls(connected: Connected) -> Connected {
    let mut extras = Extensions::new();
    connected.get_extras(&mut extras);
    match extras.get::<TlsInfo>() {
        Some(_) => with_addresses_only(&connected),
        None => connected,
    }
}

/// A value cannot be removed from a [`Connected`]. So a new one is made, without what only the
/// transport knows: its other values, and whether it may be reused.
fn with_addresses_only(connected: &Connected) -> Connected {
    let mut extras = Extensions::new();
    connected.get_extras(&mut extras);
    let kept = Connected::new().proxy(connected.is_proxied());
    match extras.remove::<HttpInfo>() {
        Some(addresses) => kept.extra(addresses),
        None => kept,
    }
}

impl<T: Read + Write + Unpin> Read for MaybeHttpsStream<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Http(transport) => Pin::new(transport).poll_read(context, buffer),
            Self::Https(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl<T> MaybeHttpsStream<T> {
    /// A TLS connection, whose shutdown waits for the server so that the last request arrives.
    pub(crate) fn https(mut stream: TlsStream<TokioIo<T>>) -> Self {
        stream.set_shutdown_waits(true);
        Self::Https(TokioIo::new(stream))
    }
}

impl<T: Read + Write + Unpin> MaybeHttpsStream<T> {
    /// The writing side of either variant.
    fn writer(self: Pin<&mut Self>) -> Pin<&mut (dyn Write + '_)> {
        match self.get_mut() {
            Self::Http(transport) => Pin::<&mut T>::new(transport),
            Self::Https(stream) => Pin::<&mut TokioIo<_>>::new(stream),
        }
    }
}

impl<T: Read + Write + Unpin> Write for MaybeHttpsStream<T> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.writer().poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.writer().poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.writer().poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Http(transport) => transport.is_write_vectored(),
            Self::Https(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.writer().poll_write_vectored(context, slices)
    }
}

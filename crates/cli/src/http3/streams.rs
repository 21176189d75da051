//! The connections and streams of quinn, as h3 uses them.
//!
//! The crate h3-quinn serves this purpose, too. Its release 0.0.10 has no limit for frames, panics
//! if a stream is stopped while it is read, and does not report when a response has been delivered.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use h3::error::Code;
use h3::quic::{self, ConnectionErrorIncoming, StreamErrorIncoming, StreamId, WriteBuf};
use hyper::body::{Buf, Bytes};
use quinn::{ConnectionError, ReadError, VarInt, WriteError};

use super::code;
use super::frame_limit::FrameLimit;

/// A connection of quinn.
pub(crate) struct QuicConnection {
    opener: QuicOpener,
    accept_bi: Stored<(quinn::SendStream, quinn::RecvStream)>,
    accept_uni: Stored<quinn::RecvStream>,
}

/// Opens the streams of a connection.
pub(crate) struct QuicOpener {
    connection: quinn::Connection,
    open_bi: Stored<(quinn::SendStream, quinn::RecvStream)>,
    open_uni: Stored<quinn::SendStream>,
}

/// A future that continues with each poll of a method, if it has started.
struct Stored<T>(Option<Waiting<T>>);

type Waiting<T> = Pin<Box<dyn Future<Output = Result<T, ConnectionError>> + Send>>;

/// A stream for a request and its response.
pub(crate) struct QuicBidiStream {
    send: QuicSendStream,
    receive: QuicReceiveStream,
}

pub(crate) struct QuicSendStream {
    stream: quinn::SendStream,
    writing: Option<WriteBuf<Bytes>>,
    /// Whether the end of the stream is waited for: until the peer has acknowledged everything.
    awaits_delivery: bool,
    delivery: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

pub(crate) struct QuicReceiveStream {
    stream: quinn::RecvStream,
    connection: quinn::Connection,
    frames: FrameLimit,
}

impl QuicConnection {
    pub(crate) fn new(connection: quinn::Connection) -> Self {
        let opener = QuicOpener::new(connection);
        Self { opener, accept_bi: Stored(None), accept_uni: Stored(None) }
    }
}

impl QuicOpener {
    fn new(connection: quinn::Connection) -> Self {
        Self { connection, open_bi: Stored(None), open_uni: Stored(None) }
    }

    fn receive_stream(&self, stream: quinn::RecvStream, frames: FrameLimit) -> QuicReceiveStream {
        QuicReceiveStream { stream, connection: self.connection.clone(), frames }
    }

    fn bidi_stream(
        &self,
        (send, receive): (quinn::SendStream, quinn::RecvStream),
        awaits_delivery: bool,
    ) -> QuicBidiStream {
        QuicBidiStream {
            send: QuicSendStream { awaits_delivery, ..QuicSendStream::new(send) },
            receive: self.receive_stream(receive, FrameLimit::bidirectional()),
        }
    }
}

impl<T> Stored<T> {
    /// Polls the stored future, or the one that `start` returns.
    fn poll<F>(
        &mut self,
        context: &mut Context<'_>,
        connection: &quinn::Connection,
        start: impl FnOnce(quinn::Connection) -> F,
    ) -> Poll<Result<T, ConnectionError>>
    where
        F: Future<Output = Result<T, ConnectionError>> + Send + 'static,
    {
        let waiting = self.0.get_or_insert_with(|| Box::pin(start(connection.clone())));
        let result = ready!(waiting.as_mut().poll(context));
        self.0 = None;
        Poll::Ready(result)
    }
}

impl quic::Connection<Bytes> for QuicConnection {
    type RecvStream = QuicReceiveStream;
    type OpenStreams = QuicOpener;

    fn poll_accept_recv(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<QuicReceiveStream, ConnectionErrorIncoming>> {
        let start = |connection: quinn::Connection| async move { connection.accept_uni().await };
        let accepted = ready!(self.accept_uni.poll(context, &self.opener.connection, start));
        let stream = accepted.map_err(of_connection)?;
        Poll::Ready(Ok(self.opener.receive_stream(stream, FrameLimit::unidirectional())))
    }

    fn poll_accept_bidi(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<QuicBidiStream, ConnectionErrorIncoming>> {
        let start = |connection: quinn::Connection| async move { connection.accept_bi().await };
        let accepted = ready!(self.accept_bi.poll(context, &self.opener.connection, start));
        let streams = accepted.map_err(of_connection)?;
        Poll::Ready(Ok(self.opener.bidi_stream(streams, true)))
    }

    fn opener(&self) -> QuicOpener {
        self.opener.clone()
    }
}

impl quic::OpenStreams<Bytes> for QuicConnection {
    type BidiStream = QuicBidiStream;
    type SendStream = QuicSendStream;

    fn poll_open_bidi(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<QuicBidiStream, StreamErrorIncoming>> {
        self.opener.poll_open_bidi(context)
    }

    fn poll_open_send(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<QuicSendStream, StreamErrorIncoming>> {
        self.opener.poll_open_send(context)
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        self.opener.close(code, reason);
    }
}

impl quic::OpenStreams<Bytes> for QuicOpener {
    type BidiStream = QuicBidiStream;
    type SendStream = QuicSendStream;

    fn poll_open_bidi(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<QuicBidiStream, StreamErrorIncoming>> {
        let start = |connection: quinn::Connection| async move { connection.open_bi().await };
        let opened = ready!(self.open_bi.poll(context, &self.connection, start));
        let streams = opened.map_err(of_stream)?;
        // A client reads the response while its request is on its way.
        Poll::Ready(Ok(self.bidi_stream(streams, false)))
    }

    fn poll_open_send(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<QuicSendStream, StreamErrorIncoming>> {
        let start = |connection: quinn::Connection| async move { connection.open_uni().await };
        let opened = ready!(self.open_uni.poll(context, &self.connection, start));
        Poll::Ready(Ok(QuicSendStream::new(opened.map_err(of_stream)?)))
    }

    fn close(&mut self, reason_code: Code, reason: &[u8]) {
        self.connection.close(code(reason_code), reason);
    }
}

impl Clone for QuicOpener {
    fn clone(&self) -> Self {
        Self::new(self.connection.clone())
    }
}

impl quic::RecvStream for QuicBidiStream {
    type Buf = Bytes;

    fn poll_data(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        self.receive.poll_data(context)
    }

    fn stop_sending(&mut self, error_code: u64) {
        self.receive.stop_sending(error_code);
    }

    fn recv_id(&self) -> StreamId {
        self.receive.recv_id()
    }
}

impl quic::SendStream<Bytes> for QuicBidiStream {
    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.send.poll_ready(context)
    }

    fn send_data<T: Into<WriteBuf<Bytes>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        self.send.send_data(data)
    }

    fn poll_finish(&mut self, context: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.send.poll_finish(context)
    }

    fn reset(&mut self, reset_code: u64) {
        self.send.reset(reset_code);
    }

    fn send_id(&self) -> StreamId {
        self.send.send_id()
    }
}

impl quic::RecvStream for QuicReceiveStream {
    type Buf = Bytes;

    fn poll_data(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        // The task to wake is noted in the connection, not in this future, so the future need not
        // be stored.
        let chunk = ready!(pin!(self.stream.read_chunk(usize::MAX, true)).poll(context));
        let is_passed_on = self.frames.is_passed_on();
        let bytes = match chunk {
            Ok(Some(chunk)) if is_passed_on => chunk.bytes,
            // h3 may keep these bytes, and with them all packets that were received together.
            Ok(Some(chunk)) => Bytes::copy_from_slice(&chunk.bytes),
            Ok(None) => return Poll::Ready(Ok(None)),
            Err(error) => return Poll::Ready(Err(of_read(error))),
        };
        if let Err(error) = self.frames.check(&bytes) {
            self.connection.close(code(Code::H3_EXCESSIVE_LOAD), b"a frame is too long");
            return Poll::Ready(Err(StreamErrorIncoming::Unknown(Box::new(error))));
        }
        Poll::Ready(Ok(Some(bytes)))
    }

    fn stop_sending(&mut self, error_code: u64) {
        // A stream that has ended cannot be stopped, which is no fault.
        let _ = self.stream.stop(VarInt::from_u64(error_code).unwrap_or(VarInt::MAX));
    }

    fn recv_id(&self) -> StreamId {
        stream_id(self.stream.id())
    }
}

impl QuicSendStream {
    fn new(stream: quinn::SendStream) -> Self {
        Self { stream, writing: None, awaits_delivery: false, delivery: None }
    }
}

impl quic::SendStream<Bytes> for QuicSendStream {
    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        if let Some(data) = &mut self.writing {
            while data.has_remaining() {
                let written = Pin::new(&mut self.stream).poll_write(context, data.chunk());
                data.advance(ready!(written).map_err(of_write)?);
            }
        }
        self.writing = None;
        Poll::Ready(Ok(()))
    }

    fn send_data<T: Into<WriteBuf<Bytes>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        // h3 waits until the stream is ready.
        debug_assert!(self.writing.is_none(), "data is sent while other data is written");
        self.writing = Some(data.into());
        Ok(())
    }

    fn poll_finish(&mut self, context: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        if self.delivery.is_none() {
            let finished = self.stream.finish();
            finished.map_err(|error| StreamErrorIncoming::Unknown(Box::new(error)))?;
            if !self.awaits_delivery {
                return Poll::Ready(Ok(()));
            }
        }
        let stream = &self.stream;
        let delivery = self.delivery.get_or_insert_with(|| {
            let stopped = stream.stopped();
            // A peer that needs no more, or has left, ends the wait as well.
            Box::pin(async move { drop(stopped.await) })
        });
        delivery.as_mut().poll(context).map(Ok)
    }

    fn reset(&mut self, reset_code: u64) {
        // A stream that has ended cannot be reset, which is no fault.
        let _ = self.stream.reset(VarInt::from_u64(reset_code).unwrap_or(VarInt::MAX));
    }

    fn send_id(&self) -> StreamId {
        stream_id(self.stream.id())
    }
}

fn stream_id(id: quinn::StreamId) -> StreamId {
    StreamId::try_from(u64::from(id)).expect("quinn has the same limit for stream IDs")
}

fn of_connection(error: ConnectionError) -> ConnectionErrorIncoming {
    match error {
        ConnectionError::ApplicationClosed(close) => {
            ConnectionErrorIncoming::ApplicationClose { error_code: close.error_code.into_inner() }
        }
        ConnectionError::TimedOut => ConnectionErrorIncoming::Timeout,
        other => ConnectionErrorIncoming::Undefined(Arc::new(other)),
    }
}

fn of_stream(error: ConnectionError) -> StreamErrorIncoming {
    StreamErrorIncoming::ConnectionErrorIncoming { connection_error: of_connection(error) }
}

fn of_read(error: ReadError) -> StreamErrorIncoming {
    match error {
        ReadError::Reset(code) => {
            StreamErrorIncoming::StreamTerminated { error_code: code.into_inner() }
        }
        ReadError::ConnectionLost(error) => of_stream(error),
        other => StreamErrorIncoming::Unknown(Box::new(other)),
    }
}

fn of_write(error: WriteError) -> StreamErrorIncoming {
    match error {
        WriteError::Stopped(code) => {
            StreamErrorIncoming::StreamTerminated { error_code: code.into_inner() }
        }
        WriteError::ConnectionLost(error) => of_stream(error),
        other => StreamErrorIncoming::Unknown(Box::new(other)),
    }
}

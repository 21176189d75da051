//! One direction of the relay: from a reader to a writer, without a buffer while it waits.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::relay::buffer::{LONG_READ_SIZE, READ_SIZE, RECORDS_SIZE, with_buffer};

/// The state of one direction.
#[derive(Debug)]
pub(crate) struct Flow {
    /// Data that the writer has not accepted: at most one read, and the initial data.
    pending: Vec<u8>,
    start: usize,
    source: Source,
    /// Whether the next read is a long one: the last read was full, and the writer has not blocked.
    long: bool,
    state: State,
    needs_flush: bool,
    /// Whether EOF on the reader counts as an error.
    eof_is_error: bool,
}

/// What a direction reads from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Socket,
    /// A TLS stream, which decrypts a few records at once.
    Records,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    /// The reader has ended; the writer is shut down once it has accepted all data.
    Ending,
    Ended,
}

/// The error of a failed direction. The variant is the side that failed.
#[derive(Debug)]
pub(crate) enum RelayError {
    Read(io::Error),
    Write(io::Error),
}

/// What the results of both directions mean for their connection.
pub(crate) enum RelayStatus {
    Open,
    /// One direction has ended.
    HalfClosed,
    Finished,
    ClientFailed(io::Error),
    BackendFailed(io::Error),
}

impl RelayStatus {
    /// The status after [`poll_both`], whose `write_error` is passed, too.
    pub(crate) fn of(results: (FlowStatus, FlowStatus), write_error: Option<&io::Error>) -> Self {
        match results {
            (Poll::Ready(Ok(())), Poll::Ready(Ok(()))) => Self::Finished,
            (Poll::Ready(Err(RelayError::Read(error))), _)
            | (_, Poll::Ready(Err(RelayError::Write(error)))) => Self::ClientFailed(error),
            (Poll::Ready(Err(RelayError::Write(error))), _)
            | (_, Poll::Ready(Err(RelayError::Read(error)))) => Self::BackendFailed(error),
            (upward, downward)
                if upward.is_ready() || downward.is_ready() || write_error.is_some() =>
            {
                Self::HalfClosed
            }
            _ => Self::Open,
        }
    }
}

/// Relays both directions. When writing to the backend fails, the backend's answer is still relayed
/// until it ends, because a backend may answer and then stop reading. Until then `write_error`
/// holds the error of the write, which is returned at the end.
pub(crate) fn poll_both<C, B>(
    (up, client, received): (&mut Flow, &mut C, &mut u64),
    (down, backend, sent): (&mut Flow, &mut B, &mut u64),
    write_error: &mut Option<io::Error>,
    context: &mut Context<'_>,
) -> (FlowStatus, FlowStatus)
where
    C: AsyncRead + AsyncWrite + Unpin,
    B: AsyncRead + AsyncWrite + Unpin,
{
    let mut upward = Poll::Pending;
    if write_error.is_none() {
        upward = match up.poll(client, backend, context, received) {
            Poll::Ready(Err(RelayError::Write(error))) => {
                *write_error = Some(error);
                // A socket reports an error once: after a failed write, a read may return EOF
                // instead.
                down.eof_is_error = true;
                Poll::Pending
            }
            other => other,
        };
    }
    let downward = down.poll(backend, client, context, sent);
    match (downward, write_error.take()) {
        (Poll::Ready(Ok(()) | Err(RelayError::Read(_))), Some(error)) => {
            (Poll::Ready(Err(RelayError::Write(error))), Poll::Pending)
        }
        (downward, remaining) => {
            *write_error = remaining;
            (upward, downward)
        }
    }
}

/// The progress of one direction.
pub(crate) type FlowStatus = Poll<Result<(), RelayError>>;

/// The number of reads, and of bytes, after which the task yields to other connections.
const ROUNDS: usize = 8;
const TURN: usize = ROUNDS * READ_SIZE;

impl Flow {
    /// A direction that reads from a socket, with `first` as pending data.
    pub(crate) fn from_socket(first: Vec<u8>) -> Self {
        Self::new(first, Source::Socket)
    }

    /// A direction that reads from a TLS stream, with `first` as pending data.
    pub(crate) fn from_records(first: Vec<u8>) -> Self {
        Self::new(first, Source::Records)
    }

    fn new(pending: Vec<u8>, source: Source) -> Self {
        Self {
            pending,
            start: 0,
            source,
            long: false,
            state: State::Open,
            needs_flush: false,
            eof_is_error: false,
        }
    }

    /// Appends data to be written.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
    }

    /// Whether no data is pending or unflushed.
    pub(crate) fn is_empty(&self) -> bool {
        self.pending.is_empty() && !self.needs_flush && self.state != State::Ending
    }

    /// Relays until the reader has ended and the writer is shut down. `moved` is increased by the
    /// bytes read.
    pub(crate) fn poll<R, W>(
        &mut self,
        reader: &mut R,
        writer: &mut W,
        context: &mut Context<'_>,
        moved: &mut u64,
    ) -> FlowStatus
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        let mut read: usize = 0;
        for _ in 0..ROUNDS {
            if read >= TURN {
                break;
            }
            ready!(self.poll_pending(writer, context)).map_err(RelayError::Write)?;
            match self.state {
                State::Open => {}
                State::Ending => {
                    // A failed shutdown means that the peer has closed the connection. The next
                    // read from the peer reports the error.
                    let _ = ready!(Pin::new(&mut *writer).poll_shutdown(context));
                    self.state = State::Ended;
                }
                State::Ended => {}
            }
            if self.state == State::Ended {
                return Poll::Ready(Ok(()));
            }
            let polled = with_buffer(|buffer| self.poll_transfer(reader, writer, context, buffer));
            let count = ready!(polled)?;
            *moved = moved.saturating_add(u64::try_from(count).unwrap_or(0));
            read = read.saturating_add(count);
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }

    /// Reads once, and writes as much as the writer accepts.
    fn poll_transfer<R, W>(
        &mut self,
        reader: &mut R,
        writer: &mut W,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<Result<usize, RelayError>>
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        let max_read = match (self.source, self.long) {
            (Source::Records, _) => RECORDS_SIZE,
            (Source::Socket, false) => READ_SIZE,
            (Source::Socket, true) => LONG_READ_SIZE,
        };
        let mut piece = ReadBuf::new(buffer.get_mut(..max_read).unwrap_or_default());
        ready!(Pin::new(reader).poll_read(context, &mut piece)).map_err(RelayError::Read)?;
        let mut rest = piece.filled();
        let count = rest.len();
        self.long |= count == max_read;
        if count == 0 {
            if self.eof_is_error {
                return Poll::Ready(Err(RelayError::Read(io::ErrorKind::UnexpectedEof.into())));
            }
            self.state = State::Ending;
        }
        while !rest.is_empty() {
            match Pin::new(&mut *writer).poll_write(context, rest) {
                Poll::Ready(Ok(0)) => {
                    return Poll::Ready(Err(RelayError::Write(io::ErrorKind::WriteZero.into())));
                }
                Poll::Ready(Ok(written)) => {
                    self.needs_flush = true;
                    rest = rest.get(written..).unwrap_or_default();
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(RelayError::Write(error))),
                Poll::Pending => {
                    self.pending = rest.to_vec();
                    self.long = false;
                    break;
                }
            }
        }
        Poll::Ready(Ok(count))
    }

    /// Writes and flushes pending data.
    fn poll_pending<W: AsyncWrite + Unpin>(
        &mut self,
        writer: &mut W,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        while let Some(rest) = self.pending.get(self.start..).filter(|rest| !rest.is_empty()) {
            let written = ready!(Pin::new(&mut *writer).poll_write(context, rest))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.start = self.start.saturating_add(written);
            self.needs_flush = true;
        }
        self.pending = Vec::new();
        self.start = 0;
        if self.needs_flush {
            ready!(Pin::new(writer).poll_flush(context))?;
            self.needs_flush = false;
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test]
    async fn bytes_are_relayed_in_order_through_partial_writes() {
        let sent: Vec<u8> = (0..300_000_u32).flat_map(u32::to_be_bytes).collect();
        let (mut near, mut reader) = duplex(10_000);
        let (mut writer, mut far) = duplex(333);
        let expected = [b"first".as_slice(), &sent].concat();
        let send = async {
            near.write_all(&sent).await.unwrap();
            near.shutdown().await.unwrap();
        };
        let relay = async {
            let (mut flow, mut moved) = (Flow::from_socket(b"first".to_vec()), 0);
            poll_fn(|cx| flow.poll(&mut reader, &mut writer, cx, &mut moved)).await.unwrap();
            assert!(flow.state == State::Ended && flow.is_empty());
            moved
        };
        let receive = async {
            let mut all = Vec::new();
            far.read_to_end(&mut all).await.unwrap();
            all
        };
        let ((), moved, received) = tokio::join!(send, relay, receive);
        assert_eq!(moved, 1_200_000);
        assert!(received == expected);
    }

    /// A writer that accepts a number of bytes, and then blocks. It records each write.
    struct Writes {
        room: usize,
        written: Vec<Vec<u8>>,
    }

    impl Writes {
        fn with_room(room: usize) -> Self {
            Self { room, written: Vec::new() }
        }
    }

    impl AsyncWrite for Writes {
        fn poll_write(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            let count = bytes.len().min(self.room);
            if count == 0 {
                return Poll::Pending;
            }
            self.room -= count;
            self.written.push(bytes[..count].to_vec());
            Poll::Ready(Ok(count))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[tokio::test]
    async fn available_bytes_are_written_at_once() {
        let (mut near, mut reader) = duplex(1 << 20);
        let (mut writer, mut flow, mut moved) =
            (Writes::with_room(usize::MAX), Flow::from_socket(Vec::new()), 0);
        for (round, pieces) in [1, 10, 50].into_iter().enumerate() {
            for _ in 0..pieces {
                near.write_all(&[7; 100]).await.unwrap();
            }
            let polled = poll_fn(|cx| {
                Poll::Ready(flow.poll(&mut reader, &mut writer, cx, &mut moved).is_pending())
            });
            assert!(polled.await && flow.is_empty());
            assert_eq!(writer.written.len(), round + 1);
            assert_eq!(writer.written[round].len(), pieces * 100);
        }
    }

    /// A stream that can be read, but not written. Like a socket, it reports its error once.
    struct WriteFails(tokio::io::DuplexStream);

    impl AsyncRead for WriteFails {
        fn poll_read(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
            out: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            Pin::new(&mut self.0).poll_read(context, out)
        }
    }

    impl AsyncWrite for WriteFails {
        fn poll_write(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            _: &[u8],
        ) -> Poll<io::Result<usize>> {
            Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[tokio::test]
    async fn answer_is_relayed_after_a_backend_write_error() {
        let answer = vec![7; 400_000];
        let (mut client, mut near) = duplex(1000);
        let (far, mut backend) = duplex(1 << 20);
        backend.write_all(&answer).await.unwrap();
        drop(backend);
        client.write_all(b"request").await.unwrap();
        let mut far = WriteFails(far);
        let relay = async move {
            let (mut up, mut down) = (Flow::from_socket(Vec::new()), Flow::from_socket(Vec::new()));
            let (mut received, mut sent, mut write_error) = (0, 0, None);
            let end = poll_fn(|cx| {
                let upward = (&mut up, &mut near, &mut received);
                let downward = (&mut down, &mut far, &mut sent);
                match poll_both(upward, downward, &mut write_error, cx) {
                    (Poll::Ready(Err(RelayError::Write(error))), Poll::Pending) => {
                        Poll::Ready(error.kind())
                    }
                    (Poll::Pending, Poll::Pending) => Poll::Pending,
                    other => panic!("{other:?}"),
                }
            })
            .await;
            (end, near)
        };
        let mut got = vec![0; answer.len()];
        let ((end, _near), read) = tokio::join!(relay, client.read_exact(&mut got));
        read.unwrap();
        assert_eq!(end, io::ErrorKind::ConnectionReset);
        assert!(got == answer);
        // A clean close would claim that the answer was complete.
        let mut more = [0];
        let got_end = poll_fn(|cx| {
            let polled = Pin::new(&mut client).poll_read(cx, &mut ReadBuf::new(&mut more));
            Poll::Ready(polled.is_ready())
        });
        assert!(!got_end.await, "the client received an end");
    }

    #[tokio::test]
    async fn blocked_writer_buffers_at_most_one_read() {
        let (mut near, mut reader) = duplex(1 << 20);
        let (mut writer, _far) = duplex(1);
        near.write_all(&vec![7; 1 << 20]).await.unwrap();
        let (mut flow, mut moved) = (Flow::from_socket(Vec::new()), 0);
        for _ in 0..10 {
            let polled = poll_fn(|cx| {
                Poll::Ready(flow.poll(&mut reader, &mut writer, cx, &mut moved).is_pending())
            });
            assert!(polled.await);
        }
        assert!(moved <= 64 * 1024 && flow.pending.len() <= READ_SIZE, "{moved}");
    }

    /// Polls once, and returns the bytes that were read.
    async fn moved_by_poll(flow: &mut Flow, reader: &mut &[u8], writer: &mut Writes) -> u64 {
        let mut moved = 0;
        let polled =
            poll_fn(|cx| Poll::Ready(flow.poll(reader, writer, cx, &mut moved).is_pending()));
        assert!(polled.await);
        moved
    }

    #[tokio::test]
    async fn long_reads_follow_a_read_that_was_accepted_and_end_when_the_writer_blocks() {
        let data = vec![7; 4 << 20];
        let (mut reader, mut flow) = (data.as_slice(), Flow::from_socket(Vec::new()));
        let (short, long) = (READ_SIZE as u64, LONG_READ_SIZE as u64);
        let mut writer = Writes::with_room(usize::MAX);
        let first = moved_by_poll(&mut flow, &mut reader, &mut writer).await;
        assert_eq!(first, short + 2 * long, "a short read, then long ones up to a turn");
        writer.room = 1;
        assert_eq!(moved_by_poll(&mut flow, &mut reader, &mut writer).await, long);
        writer.room = flow.pending.len() - flow.start + 1;
        assert_eq!(moved_by_poll(&mut flow, &mut reader, &mut writer).await, short);
    }
}

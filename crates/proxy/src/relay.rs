//! One direction of a connection: from a reader to a writer, without a buffer of its own while it waits.
//!
//! Must not know: which side is TLS. Next: [`crate::session`], which has two of these.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::lend::lend;

/// What one direction has in hand.
#[derive(Debug)]
pub(crate) struct Flow {
    /// What the writer has not taken, in memory of its own size: never more than one lent buffer besides
    /// what was there at the start.
    held: Vec<u8>,
    start: usize,
    /// What is read at once.
    most: usize,
    state: State,
    unflushed: bool,
    /// Its reader cannot end any more, only break off.
    endless: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    /// The reader has ended; the writer is to be told once it has taken all.
    Ending,
    Ended,
}

/// Where a direction broke.
#[derive(Debug)]
pub(crate) enum Broken {
    Reading(io::Error),
    Writing(io::Error),
}

/// Moves bytes both ways. A backend that takes no more may have answered before it broke off: its answer goes on until it
/// ends, while `deaf` keeps why nothing else does, and then is why it is over.
pub(crate) fn poll_both<C, B>(
    (up, client, received): (&mut Flow, &mut C, &mut u64),
    (down, backend, sent): (&mut Flow, &mut B, &mut u64),
    deaf: &mut Option<io::Error>,
    context: &mut Context<'_>,
) -> (Moved, Moved)
where
    C: AsyncRead + AsyncWrite + Unpin,
    B: AsyncRead + AsyncWrite + Unpin,
{
    let mut upward = Poll::Pending;
    if deaf.is_none() {
        upward = match up.poll(client, backend, context, received) {
            Poll::Ready(Err(Broken::Writing(error))) => {
                *deaf = Some(error);
                // A break that was told in writing looks like an end in reading.
                down.endless = true;
                Poll::Pending
            }
            other => other,
        };
    }
    let downward = down.poll(backend, client, context, sent);
    match (downward, deaf.take()) {
        (Poll::Ready(Ok(()) | Err(Broken::Reading(_))), Some(error)) => {
            (Poll::Ready(Err(Broken::Writing(error))), Poll::Pending)
        }
        (downward, still) => {
            *deaf = still;
            (upward, downward)
        }
    }
}

/// How far a direction has come.
pub(crate) type Moved = Poll<Result<(), Broken>>;

/// After so many buffers it is the turn of other connections.
const ROUNDS: usize = 8;

impl Flow {
    /// With this to be written first; reads `most` bytes at once, or as many as are lent.
    pub(crate) fn new(first: Vec<u8>, most: usize) -> Self {
        let state = State::Open;
        Self { held: first, start: 0, most, state, unflushed: false, endless: false }
    }

    /// Adds what is to be written.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.held.extend_from_slice(bytes);
    }

    /// Nothing is on its way.
    pub(crate) fn is_empty(&self) -> bool {
        self.held.is_empty() && !self.unflushed && self.state != State::Ending
    }

    /// Moves bytes until the reader has ended and the writer knows. `moved` grows by what was read.
    pub(crate) fn poll<R, W>(
        &mut self,
        reader: &mut R,
        writer: &mut W,
        context: &mut Context<'_>,
        moved: &mut u64,
    ) -> Moved
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        for _ in 0..ROUNDS {
            ready!(self.poll_held(writer, context)).map_err(Broken::Writing)?;
            match self.state {
                State::Open => {}
                State::Ending => {
                    // If it cannot be told it is gone, which reading from it will show.
                    let _ = ready!(Pin::new(&mut *writer).poll_shutdown(context));
                    self.state = State::Ended;
                }
                State::Ended => {}
            }
            if self.state == State::Ended {
                return Poll::Ready(Ok(()));
            }
            let polled = lend(|buffer| self.poll_piece(reader, writer, context, buffer));
            let count = ready!(polled)?;
            *moved = moved.saturating_add(u64::try_from(count).unwrap_or(0));
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }

    /// Reads once, and writes what the writer takes of it.
    fn poll_piece<R, W>(
        &mut self,
        reader: &mut R,
        writer: &mut W,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<Result<usize, Broken>>
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        let most = self.most.min(buffer.len());
        let mut piece = ReadBuf::new(buffer.get_mut(..most).unwrap_or_default());
        ready!(Pin::new(reader).poll_read(context, &mut piece)).map_err(Broken::Reading)?;
        let mut rest = piece.filled();
        let count = rest.len();
        if count == 0 {
            if self.endless {
                return Poll::Ready(Err(Broken::Reading(io::ErrorKind::UnexpectedEof.into())));
            }
            self.state = State::Ending;
        }
        while !rest.is_empty() {
            match Pin::new(&mut *writer).poll_write(context, rest) {
                Poll::Ready(Ok(0)) => {
                    return Poll::Ready(Err(Broken::Writing(io::ErrorKind::WriteZero.into())));
                }
                Poll::Ready(Ok(taken)) => {
                    self.unflushed = true;
                    rest = rest.get(taken..).unwrap_or_default();
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(Broken::Writing(error))),
                Poll::Pending => {
                    self.held = rest.to_vec();
                    break;
                }
            }
        }
        Poll::Ready(Ok(count))
    }

    /// Writes and flushes what is held.
    fn poll_held<W: AsyncWrite + Unpin>(
        &mut self,
        writer: &mut W,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        while let Some(rest) = self.held.get(self.start..).filter(|rest| !rest.is_empty()) {
            let taken = ready!(Pin::new(&mut *writer).poll_write(context, rest))?;
            if taken == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.start = self.start.saturating_add(taken);
            self.unflushed = true;
        }
        self.held = Vec::new();
        self.start = 0;
        if self.unflushed {
            ready!(Pin::new(writer).poll_flush(context))?;
            self.unflushed = false;
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;
    use crate::lend::CONTENT;

    #[tokio::test]
    async fn bytes_go_through_in_order_whatever_the_writer_takes() {
        let sent: Vec<u8> = (0..300_000_u32).flat_map(u32::to_be_bytes).collect();
        let (mut near, mut reader) = duplex(10_000);
        let (mut writer, mut far) = duplex(333);
        let expected = [b"first".as_slice(), &sent].concat();
        let send = async {
            near.write_all(&sent).await.unwrap();
            near.shutdown().await.unwrap();
        };
        let relay = async {
            let (mut flow, mut moved) = (Flow::new(b"first".to_vec(), CONTENT), 0);
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

    /// Takes everything, and keeps apart what came in one write.
    struct Writes(Vec<Vec<u8>>);

    impl AsyncWrite for Writes {
        fn poll_write(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            self.0.push(bytes.to_vec());
            Poll::Ready(Ok(bytes.len()))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[tokio::test]
    async fn what_is_there_goes_in_one_write() {
        let (mut near, mut reader) = duplex(1 << 20);
        let (mut writer, mut flow, mut moved) =
            (Writes(Vec::new()), Flow::new(Vec::new(), CONTENT), 0);
        for (round, pieces) in [1, 10, 50].into_iter().enumerate() {
            for _ in 0..pieces {
                near.write_all(&[7; 100]).await.unwrap();
            }
            let polled = poll_fn(|cx| {
                Poll::Ready(flow.poll(&mut reader, &mut writer, cx, &mut moved).is_pending())
            });
            assert!(polled.await && flow.is_empty());
            assert_eq!(writer.0.len(), round + 1);
            assert_eq!(writer.0[round].len(), pieces * 100);
        }
    }

    /// Answers, and takes nothing. How it broke off is told once, to whoever comes first, as by a socket.
    struct Deaf(tokio::io::DuplexStream);

    impl AsyncRead for Deaf {
        fn poll_read(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
            out: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            Pin::new(&mut self.0).poll_read(context, out)
        }
    }

    impl AsyncWrite for Deaf {
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
    async fn the_answer_of_a_backend_that_takes_no_more_arrives() {
        let answer = vec![7; 400_000];
        let (mut client, mut near) = duplex(1000);
        let (far, mut backend) = duplex(1 << 20);
        backend.write_all(&answer).await.unwrap();
        drop(backend);
        client.write_all(b"request").await.unwrap();
        let mut far = Deaf(far);
        let relay = async move {
            let (mut up, mut down) =
                (Flow::new(Vec::new(), CONTENT), Flow::new(Vec::new(), CONTENT));
            let (mut received, mut sent, mut deaf) = (0, 0, None);
            let end = poll_fn(|cx| {
                let upward = (&mut up, &mut near, &mut received);
                let downward = (&mut down, &mut far, &mut sent);
                match poll_both(upward, downward, &mut deaf, cx) {
                    (Poll::Ready(Err(Broken::Writing(error))), Poll::Pending) => {
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
        // A clean end would say that this was all.
        let mut more = [0];
        let is_told = poll_fn(|cx| {
            let polled = Pin::new(&mut client).poll_read(cx, &mut ReadBuf::new(&mut more));
            Poll::Ready(polled.is_ready())
        });
        assert!(!is_told.await, "the client was told of an end");
    }

    #[tokio::test]
    async fn it_holds_no_more_than_a_buffer_for_a_writer_that_takes_nothing() {
        let (mut near, mut reader) = duplex(1 << 20);
        let (mut writer, _far) = duplex(1);
        near.write_all(&vec![7; 1 << 20]).await.unwrap();
        let (mut flow, mut moved) = (Flow::new(Vec::new(), CONTENT), 0);
        for _ in 0..10 {
            let polled = poll_fn(|cx| {
                Poll::Ready(flow.poll(&mut reader, &mut writer, cx, &mut moved).is_pending())
            });
            assert!(polled.await);
        }
        assert!(moved <= 64 * 1024 && flow.held.len() <= CONTENT, "{moved}");
    }
}

//! A handshake over an asynchronous transport.
//!
//! Must not know: who began it. Next: [`crate::acceptor`], [`crate::connector`], which do.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tercel::wire::ProtocolVersion;
use tercel::{Connection, Handshake, Next, Received, Side};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::answers::Answers;
use crate::early::EarlyExchange;
use crate::error::HandshakeError;
use crate::outgoing::Outgoing;
use crate::stream::TlsStream;

/// What both sides let a handshake have.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    pub(crate) answers: Answers,
    pub(crate) limit: Option<Duration>,
}

impl Default for Terms {
    fn default() -> Self {
        Self { answers: Answers::new(), limit: Some(DEFAULT_LIMIT) }
    }
}

/// The setters of what both sides let a handshake have.
macro_rules! terms_setters {
    ($door:ty) => {
        impl $door {
            /// Answers the configuration's questions with these functions.
            #[must_use]
            pub fn answers(mut self, answers: $crate::Answers) -> Self {
                std::sync::Arc::make_mut(&mut self.terms).answers = answers;
                self
            }

            /// How long a handshake may take, its answers included; `None` for without end. Default: 15 seconds.
            #[must_use]
            pub fn time_limit(mut self, limit: Option<std::time::Duration>) -> Self {
                std::sync::Arc::make_mut(&mut self.terms).limit = limit;
                self
            }
        }
    };
}
pub(crate) use terms_setters;

/// Long enough for a slow network and a remote key, too short to be worth holding a connection for.
pub(crate) const DEFAULT_LIMIT: Duration = Duration::from_secs(15);

/// Runs `handshake` to its end within the time it has. A client's `early` is sent first, as far as it is allowed;
/// how much that was comes back beside the stream. A server's is sent as soon as that is possible, and whole; the
/// early data that it gets is `exchange`'s first.
pub(crate) async fn complete<T: AsyncRead + AsyncWrite + Unpin>(
    side: Side,
    handshake: Handshake,
    transport: T,
    terms: &Terms,
    early: &[u8],
    exchange: &mut impl EarlyExchange,
) -> io::Result<(TlsStream<T>, usize)> {
    let running = Box::pin(run(side, handshake, transport, &terms.answers, early, exchange));
    match terms.limit {
        None => running.await,
        Some(limit) => match tokio::time::timeout(limit, running).await {
            Ok(result) => result,
            Err(_) => Err(HandshakeError::TimedOut(limit).into()),
        },
    }
}

async fn run<T: AsyncRead + AsyncWrite + Unpin>(
    side: Side,
    mut handshake: Handshake,
    mut transport: T,
    answers: &Answers,
    early: &[u8],
    exchange: &mut impl EarlyExchange,
) -> io::Result<(TlsStream<T>, usize)> {
    let (mut received, mut out) = (Received::new(), Vec::new());
    let mut outgoing = Outgoing::default();
    let mut early_data = Vec::new();
    let mut sent_early = None;
    let mut answer = EarlyAnswer::None;
    loop {
        let mut step = handshake.advance(&mut received, &mut out);
        if let Ok(Next::Connected(connection)) = &mut step {
            // Whoever learns of a session may use it: it is stored first.
            answers.keep(connection.facts.take_new_sessions()).await?;
        }
        if sent_early.is_none() && !early.is_empty() {
            sent_early = match (&mut step, side) {
                (Err(_), _) => None,
                (Ok(_), Side::Client) => Some(send_early(&mut handshake, early, &mut out)?),
                (Ok(next), Side::Server) => greet(&mut handshake, next, early, &mut out)?,
            };
        }
        outgoing.push(&mut out);
        let next = match step {
            Ok(next) => next,
            Err(error) => {
                // The error matters more than whether the alert went out.
                let _ = send(&mut transport, &mut outgoing).await;
                let refusal = handshake.refusal().cloned().map(Box::new);
                return Err(HandshakeError::Protocol { error, refusal }.into());
            }
        };
        match next {
            Next::Connected(connection) => {
                // Tickets may wait for the client to read: the stream sends what is left of them.
                if !ends_with_tickets(side, &connection) {
                    send(&mut transport, &mut outgoing).await?;
                }
                let mut stream = TlsStream::new(transport, *connection, received)
                    .with_handshake(outgoing, early_data);
                poll_fn(|context| {
                    stream.send_some(context);
                    Poll::Ready(())
                })
                .await;
                return Ok((stream, sent_early.unwrap_or(0)));
            }
            Next::Receive => {
                let count = poll_fn(|context| {
                    // First, so that no answer is too long for the client to be heard.
                    let polled =
                        poll_exchange(&mut transport, &mut outgoing, &mut received, context);
                    if polled.is_pending() {
                        answer.poll(
                            exchange,
                            &mut handshake,
                            &mut transport,
                            &mut outgoing,
                            context,
                        )?;
                    }
                    polled
                });
                if count.await? == 0 {
                    handshake.end_of_input()?;
                }
            }
            Next::Answer(question) => {
                poll_fn(|context| match outgoing.poll_send(&mut transport, context) {
                    Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
                    _ => Poll::Ready(Ok(())),
                })
                .await?;
                handshake.answer(answers.answer(question).await?)?;
            }
            Next::EarlyData(bytes) => {
                let given_back = match handshake.early_facts() {
                    Some(facts) => exchange.take(facts, bytes),
                    None => Some(bytes),
                };
                match given_back {
                    Some(mut bytes) => early_data.append(&mut bytes),
                    None => answer.begin(),
                }
            }
            _ => return Err(HandshakeError::Unanswered("something of a newer kind").into()),
        }
    }
}

/// Receives, and meanwhile sends: the peer may have to get rid of something before it reads.
fn poll_exchange<T: AsyncRead + AsyncWrite + Unpin>(
    transport: &mut T,
    outgoing: &mut Outgoing,
    received: &mut Received,
    context: &mut Context<'_>,
) -> Poll<io::Result<usize>> {
    if let Poll::Ready(Err(error)) = outgoing.poll_flush(transport, context) {
        return Poll::Ready(Err(error));
    }
    let mut spare = ReadBuf::new(received.spare());
    ready!(Pin::new(&mut *transport).poll_read(context, &mut spare))?;
    let count = spare.filled().len();
    received.filled(count);
    Poll::Ready(Ok(count))
}

/// What a server's client gets for its early data, ahead of its Finished.
enum EarlyAnswer {
    /// Nothing was taken, or there is nothing more to come.
    None,
    /// Read into this.
    Coming(Box<[u8]>),
}

impl EarlyAnswer {
    fn begin(&mut self) {
        if let Self::None = self {
            *self = Self::Coming(vec![0; ANSWER].into());
        }
    }

    /// Sends what there is for as long as the client takes it: nothing is read that would have to be kept.
    fn poll<T: AsyncWrite + Unpin>(
        &mut self,
        exchange: &mut impl EarlyExchange,
        handshake: &mut Handshake,
        transport: &mut T,
        outgoing: &mut Outgoing,
        context: &mut Context<'_>,
    ) -> io::Result<()> {
        for _ in 0..ROUNDS {
            let Self::Coming(buffer) = self else { return Ok(()) };
            match outgoing.poll_flush(transport, context) {
                Poll::Pending => return Ok(()),
                Poll::Ready(flushed) => flushed?,
            }
            // Between two messages of the server there is none.
            let Some(sender) = handshake.half_rtt_sender() else { return Ok(()) };
            let mut answer = ReadBuf::new(buffer);
            if exchange.poll_answer(context, &mut answer).is_pending() {
                return Ok(());
            }
            if answer.filled().is_empty() {
                *self = Self::None;
                return Ok(());
            }
            let mut records = Vec::new();
            sender.seal_to(answer.filled(), &mut records)?;
            tercel::crypto::wipe(answer.filled_mut());
            outgoing.push(&mut records);
        }
        // There may be more, and the last of it is not sent.
        context.waker().wake_by_ref();
        Ok(())
    }
}

/// Bytes of an answer that are read at once.
const ANSWER: usize = 16 * 1024;

/// After so many of them it is the turn of the client, and of others.
const ROUNDS: usize = 8;

async fn send<T: AsyncWrite + Unpin>(transport: &mut T, outgoing: &mut Outgoing) -> io::Result<()> {
    poll_fn(|context| outgoing.poll_flush(transport, context)).await
}

/// Seals as much early data as the session allows. RFC 9846 4.3.10
fn send_early(handshake: &mut Handshake, early: &[u8], out: &mut Vec<u8>) -> io::Result<usize> {
    let Some(sender) = handshake.early_sender() else { return Ok(0) };
    let most = sender.early_data_left().unwrap_or(0).min(early.len());
    let now = early.get(..most).unwrap_or_default();
    sender.seal_to(now, out)?;
    Ok(now.len())
}

/// Seals the server's first words as soon as a client can have them: behind its Finished in TLS 1.3, else at
/// the end. RFC 9846 4.5.3
fn greet(
    handshake: &mut Handshake,
    next: &mut Next,
    greeting: &[u8],
    out: &mut Vec<u8>,
) -> io::Result<Option<usize>> {
    let sender = match next {
        Next::Connected(connection) => Some(&mut connection.sender),
        _ => handshake.half_rtt_sender(),
    };
    let Some(sender) = sender else { return Ok(None) };
    sender.seal_to(greeting, out)?;
    Ok(Some(greeting.len()))
}

/// A server of TLS 1.3 ends with tickets, which the handshake does not depend on.
fn ends_with_tickets(side: Side, connection: &Connection) -> bool {
    side == Side::Server && connection.facts.version == ProtocolVersion::TLS1_3
}

//! A handshake over an asynchronous transport, for both sides.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tercel::wire::{AlertDescription, ProtocolVersion};
use tercel::{Connection, Handshake, Next, Question, ReceiveBuffer, Side};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::timeout;

use crate::answers::Answers;
use crate::early_data::EarlyExchange;
use crate::error::HandshakeError;
use crate::outgoing::Outgoing;
use crate::stream::TlsStream;
use crate::timer::make_timer;

/// Options of a handshake, for both sides.
#[derive(Clone, Debug)]
pub(crate) struct HandshakeOptions {
    pub(crate) answers: Answers,
    pub(crate) time_limit: Option<Duration>,
    /// Server: whether early data is rejected.
    pub(crate) rejects_early_data: bool,
}

impl Default for HandshakeOptions {
    fn default() -> Self {
        let time_limit = Some(DEFAULT_TIME_LIMIT);
        Self { answers: Answers::new(), time_limit, rejects_early_data: false }
    }
}

/// The setters of [`HandshakeOptions`].
macro_rules! handshake_option_setters {
    ($endpoint:ty) => {
        impl $endpoint {
            /// Sets the functions that answer the questions of the configuration.
            #[must_use]
            pub fn answers(mut self, answers: $crate::answers::Answers) -> Self {
                std::sync::Arc::make_mut(&mut self.options).answers = answers;
                self
            }

            /// Sets the time limit of a handshake, answers included; `None` for no limit. Default:
            /// 15 seconds. A limit needs a tokio runtime with timers; in any other executor a
            /// handshake with a limit fails with
            /// [`HandshakeError::NoTimer`](crate::HandshakeError::NoTimer).
            #[must_use]
            pub fn time_limit(mut self, limit: Option<std::time::Duration>) -> Self {
                std::sync::Arc::make_mut(&mut self.options).time_limit = limit;
                self
            }
        }
    };
}
pub(crate) use handshake_option_setters;

/// The default time limit: enough for a slow network and a remote key, but idle connections are
/// freed soon.
pub(crate) const DEFAULT_TIME_LIMIT: Duration = Duration::from_secs(15);

/// A handshake and the received bytes that it has not processed.
pub(crate) struct Started {
    pub(crate) handshake: Handshake,
    pub(crate) received: ReceiveBuffer,
}

impl From<Handshake> for Started {
    fn from(handshake: Handshake) -> Self {
        Self { handshake, received: ReceiveBuffer::new() }
    }
}

/// Runs a handshake within its time limit. A client sends as much of `early` as early data as is
/// permitted, and the number of bytes sent is returned with the stream. A server sends all of
/// `early` as soon as it can send data, and offers received early data to `exchange` first.
pub(crate) async fn complete<T: AsyncRead + AsyncWrite + Unpin>(
    side: Side,
    started: Started,
    transport: T,
    options: &HandshakeOptions,
    early: &[u8],
    exchange: &mut impl EarlyExchange,
) -> io::Result<(TlsStream<T>, usize)> {
    let running = Box::pin(run(side, started, transport, &options.answers, early, exchange));
    let Some(time_limit) = options.time_limit else { return running.await };
    let Some(limited) = make_timer(|| timeout(time_limit, running)) else {
        return Err(HandshakeError::NoTimer.into());
    };
    limited.await.unwrap_or_else(|_| Err(HandshakeError::TimedOut(time_limit).into()))
}

async fn run<T: AsyncRead + AsyncWrite + Unpin>(
    side: Side,
    started: Started,
    mut transport: T,
    answers: &Answers,
    early: &[u8],
    exchange: &mut impl EarlyExchange,
) -> io::Result<(TlsStream<T>, usize)> {
    let Started { mut handshake, mut received } = started;
    let mut out = Vec::new();
    let mut outgoing = Outgoing::default();
    let mut early_data = Vec::new();
    let mut sent_early = None;
    let mut answer = EarlyAnswer::None;
    loop {
        let mut step = handshake.advance(&mut received, &mut out);
        if let Ok(Next::Connected(connection)) = &mut step {
            // Sessions are stored before the tickets are sent, since clients may use them at once.
            answers.keep_sessions(connection.info.take_new_sessions()).await?;
        }
        if sent_early.is_none() && !early.is_empty() {
            sent_early = match (&mut step, side) {
                (Err(_), _) => None,
                (Ok(_), Side::Client) => Some(send_early(&mut handshake, early, &mut out)?),
                (Ok(next), Side::Server) => send_greeting(&mut handshake, next, early, &mut out)?,
            };
        }
        outgoing.push(&mut out);
        let next = match step {
            Ok(next) => next,
            Err(error) => {
                // The error is reported whether or not the alert could be sent.
                let _ = send(&mut transport, &mut outgoing).await;
                return Err(failure(&handshake, error).into());
            }
        };
        match next {
            Next::Connected(connection) => {
                let stream =
                    into_stream(side, transport, *connection, received, outgoing, early_data);
                return Ok((stream.await?, sent_early.unwrap_or(0)));
            }
            Next::Receive => {
                let count = poll_fn(|context| {
                    // The client's handshake messages are received before the answer is sent, so
                    // that the answer to early data cannot delay them.
                    let polled = poll_send_and_receive(
                        &mut transport,
                        &mut outgoing,
                        &mut received,
                        context,
                    );
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
                answer_question(question, answers, &mut handshake, &mut transport, &mut outgoing)
                    .await?;
            }
            Next::EarlyData(bytes) => {
                let given_back = match handshake.early_info() {
                    Some(info) => exchange.take(info, bytes),
                    None => Some(bytes),
                };
                match given_back {
                    Some(mut bytes) => early_data.append(&mut bytes),
                    None => answer.begin(),
                }
            }
            _ => return Err(HandshakeError::Unanswered("a step of an unknown kind").into()),
        }
    }
}

/// Answers a question, after as much was sent as the transport accepts now. Without an answer the
/// handshake ends with an alert.
async fn answer_question<T: AsyncWrite + Unpin>(
    question: Question,
    answers: &Answers,
    handshake: &mut Handshake,
    transport: &mut T,
    outgoing: &mut Outgoing,
) -> io::Result<()> {
    poll_fn(|context| match outgoing.poll_send(transport, context) {
        Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
        _ => Poll::Ready(Ok(())),
    })
    .await?;
    match answers.answer(question).await {
        Ok(answer) => Ok(handshake.answer(answer)?),
        Err(error) => {
            let mut out = Vec::new();
            handshake.abort(AlertDescription::INTERNAL_ERROR, &mut out);
            outgoing.push(&mut out);
            // The error is reported whether or not the alert could be sent.
            let _ = send(transport, outgoing).await;
            Err(error.into())
        }
    }
}

/// The error of a failed handshake, with what is known of the reason.
fn failure(handshake: &Handshake, error: tercel::Error) -> HandshakeError {
    #[cfg(feature = "ech")]
    if let Some(configs) = handshake.ech_retry_configs() {
        return HandshakeError::EchRejected { retry_configs: configs.clone() };
    }
    let refusal = handshake.refusal().cloned().map(Box::new);
    HandshakeError::Protocol { error, refusal }
}

/// Turns a complete handshake into a stream, and sends the bytes that are still unsent.
async fn into_stream<T: AsyncRead + AsyncWrite + Unpin>(
    side: Side,
    mut transport: T,
    connection: Connection,
    received: ReceiveBuffer,
    mut outgoing: Outgoing,
    early_data: Vec<u8>,
) -> io::Result<TlsStream<T>> {
    // Unsent tickets need not delay the connection: the stream sends them later.
    if !ends_with_tickets(side, &connection) {
        send(&mut transport, &mut outgoing).await?;
    }
    let mut stream =
        TlsStream::new(transport, connection, received).with_handshake(outgoing, early_data);
    poll_fn(|context| {
        stream.try_send(context);
        Poll::Ready(())
    })
    .await;
    Ok(stream)
}

/// Receives and sends at the same time, because the peer may have to send before it reads.
fn poll_send_and_receive<T: AsyncRead + AsyncWrite + Unpin>(
    transport: &mut T,
    outgoing: &mut Outgoing,
    received: &mut ReceiveBuffer,
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

/// The answer to a client's early data, sent before the client's Finished.
enum EarlyAnswer {
    /// No early data was received, or the answer is complete.
    None,
    /// An answer in progress, with the buffer that it is read into.
    Coming(Box<[u8]>),
}

impl EarlyAnswer {
    fn begin(&mut self) {
        if let Self::None = self {
            *self = Self::Coming(vec![0; ANSWER_BUFFER].into());
        }
    }

    /// Sends more of the answer while the transport accepts data, so that nothing has to be
    /// buffered.
    fn poll<T: AsyncWrite + Unpin>(
        &mut self,
        exchange: &mut impl EarlyExchange,
        handshake: &mut Handshake,
        transport: &mut T,
        outgoing: &mut Outgoing,
        context: &mut Context<'_>,
    ) -> io::Result<()> {
        for _ in 0..MAX_ANSWER_RECORDS {
            let Self::Coming(buffer) = self else { return Ok(()) };
            match outgoing.poll_flush(transport, context) {
                Poll::Pending => return Ok(()),
                Poll::Ready(flushed) => flushed?,
            }
            // Between two handshake messages of the server there is no sender.
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
            tercel_crypto::wipe(answer.filled_mut());
            outgoing.push(&mut records);
        }
        // There may be more to send, so the task is woken to be polled again.
        context.waker().wake_by_ref();
        Ok(())
    }
}

/// Size of the answer buffer.
const ANSWER_BUFFER: usize = 16 * 1024;

/// The number of records that are sent before the task yields to other work.
const MAX_ANSWER_RECORDS: usize = 8;

async fn send<T: AsyncWrite + Unpin>(transport: &mut T, outgoing: &mut Outgoing) -> io::Result<()> {
    poll_fn(|context| outgoing.poll_flush(transport, context)).await
}

/// Seals as much early data as the session permits. RFC 9846 4.3.10
fn send_early(handshake: &mut Handshake, early: &[u8], out: &mut Vec<u8>) -> io::Result<usize> {
    let Some(sender) = handshake.early_sender() else { return Ok(0) };
    let most = sender.early_data_left().unwrap_or(0).min(early.len());
    let now = early.get(..most).unwrap_or_default();
    sender.seal_to(now, out)?;
    Ok(now.len())
}

/// Seals the greeting of a server as soon as possible: after its Finished in TLS 1.3, at the end
/// of the handshake in TLS 1.2. RFC 9846 4.5.3
fn send_greeting(
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

/// Whether the last flight consists of tickets, as in a TLS 1.3 server. The connection does not
/// depend on the tickets.
fn ends_with_tickets(side: Side, connection: &Connection) -> bool {
    side == Side::Server && connection.info.version == ProtocolVersion::TLS1_3
}

//! A connection after its handshake: the part that lasts, and so the part that has to be small.
//!
//! While it waits it holds the two halves of TLS, two sockets, and no buffer; after some quiet seconds the
//! expanded keys go too. Must not know: handshakes. Next: [`crate::relay`], [`crate::sweep`].

use std::future::poll_fn;
use std::io;
use std::net::Shutdown;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use socket2::SockRef;
use tercel_tokio::TlsStream;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::backend::BackendStream;
use crate::gather::{self, Gathering};
use crate::lend::{CONTENT, OPENED, lend};
use crate::limits::Permit;
use crate::relay::{Broken, Flow, poll_both};
use crate::sweep::{Due, Registered};
use crate::worker::Hub;

/// A connection that is established with a client, and perhaps with a backend.
pub(crate) struct Session {
    client: TlsStream<TcpStream>,
    backend: Option<BackendStream>,
    up: Flow,
    down: Flow,
    /// Why the backend takes no more, while its answer goes on.
    deaf: Option<io::Error>,
    gathering: Gathering,
    entry: Registered,
    hub: Rc<Hub>,
    /// The protocol is one of requests and answers, in which who is quiet after an answer is idle.
    http: bool,
    /// The client was the last to send.
    client_spoke: bool,
    half_closed: bool,
    /// A client that ends without close_notify is one that has ended.
    truncation_is_an_end: bool,
    _permit: Permit,
}

/// Why a session is over.
#[derive(Debug)]
pub(crate) enum End {
    /// Both sides have said that they are done.
    Done,
    /// Nothing moved for too long.
    Idle,
    /// The process is to end, and this connection is between two requests.
    Drained,
    /// The client broke off, or the protocol was broken.
    Client(io::Error),
    /// The backend broke off.
    Backend(io::Error),
}

/// How long a client that is told goodbye has to take it.
const GOODBYE: Duration = Duration::from_secs(2);

impl Session {
    /// `first` goes to the backend ahead of what the client sends from now on.
    pub(crate) fn new(
        client: TlsStream<TcpStream>,
        first: Vec<u8>,
        http: bool,
        hub: Rc<Hub>,
        permit: Permit,
    ) -> Box<Self> {
        let timeouts = hub.timeouts();
        let entry = hub.sweep.register(timeouts.idle, timeouts.park);
        Box::new(Self {
            client,
            backend: None,
            up: Flow::new(first, OPENED),
            down: Flow::new(Vec::new(), CONTENT),
            deaf: None,
            gathering: Gathering::default(),
            entry,
            hub,
            http,
            client_spoke: false,
            half_closed: false,
            truncation_is_an_end: false,
            _permit: permit,
        })
    }

    /// Whether a client may end without close_notify; if not, the backend is reset then.
    pub(crate) fn take_truncation_for_an_end(&mut self, may: bool) {
        self.truncation_is_an_end = may;
    }

    /// It has asked for something before its handshake was complete.
    pub(crate) fn client_has_spoken(&mut self) {
        self.client_spoke = true;
    }

    /// What the thread's connections share.
    pub(crate) fn hub(&self) -> &Hub {
        &self.hub
    }

    /// Waits until the client has sent something, which is kept for the backend.
    pub(crate) async fn first_byte(&mut self) -> Result<(), End> {
        poll_fn(|context| self.poll_first_byte(context)).await
    }

    /// Moves bytes between the client and this backend until there is an end of it.
    pub(crate) async fn relay(&mut self, backend: BackendStream) -> End {
        self.backend = Some(backend);
        self.entry.moved();
        poll_fn(|context| self.poll_relay(context)).await
    }

    /// Ends both connections in the way that the reason calls for.
    pub(crate) async fn close(mut self: Box<Self>, end: &End) {
        let is_at_rest = self.is_at_rest();
        let backend = self.backend.take();
        match end {
            // All that came has gone on to the backend, and its protocol can tell whether that is a whole.
            End::Client(error)
                if self.truncation_is_an_end && self.up.is_empty() && is_truncation(error) => {}
            // The client gets no close_notify from a backend that broke off, nor a backend an orderly end from
            // such a client: each has to see that something is missing. RFC 9846 6.1
            End::Client(_) => reset(backend),
            End::Backend(_) => {
                drop(backend);
                self.see_off().await;
            }
            // Without a backend nobody has answered the client's close_notify yet.
            End::Done if backend.is_none() => self.say_goodbye().await,
            End::Done => {}
            End::Idle | End::Drained if is_at_rest => {
                drop(backend);
                self.say_goodbye().await;
            }
            // Silence is no end: who is on the way can bring it about, and neither side has said that it was done.
            End::Idle | End::Drained => reset(backend),
        }
    }

    /// Sends close_notify and waits a moment for the client to close, because a socket that is closed with
    /// something unread in it takes back what was sent.
    pub(crate) async fn say_goodbye(&mut self) {
        let goodbye = async {
            self.client.shutdown().await?;
            self.until_it_closes().await
        };
        // Who does not listen is not told.
        let _ = timeout(GOODBYE, Box::pin(goodbye)).await;
    }

    /// Ends the transport without close_notify, and waits likewise, longer for a client that goes on sending: what the
    /// backend said before it broke off is to arrive.
    async fn see_off(&mut self) {
        let limit = self.hub.timeouts().half_closed;
        let farewell = async {
            timeout(GOODBYE, self.client.flush()).await??;
            SockRef::from(self.client.transport()).shutdown(Shutdown::Write)?;
            self.until_it_closes().await
        };
        let _ = timeout(limit, Box::pin(farewell)).await;
    }

    /// Or says nothing for a moment.
    async fn until_it_closes(&mut self) -> io::Result<()> {
        let mut rest = [0; 256];
        while timeout(GOODBYE, self.client.read(&mut rest)).await?? > 0 {}
        Ok(())
    }

    fn poll_first_byte(&mut self, context: &mut Context<'_>) -> Poll<Result<(), End>> {
        if let Some(end) = self.due() {
            return Poll::Ready(Err(end));
        }
        // It has asked for nothing yet.
        if self.hub.is_draining() {
            return Poll::Ready(Err(End::Drained));
        }
        let Self { client, up, .. } = self;
        let polled = lend(|buffer| {
            let mut piece = ReadBuf::new(buffer);
            ready!(Pin::new(client).poll_read(context, &mut piece))?;
            up.push(piece.filled());
            Poll::Ready(io::Result::Ok(piece.filled().len()))
        });
        match polled {
            Poll::Pending => {
                self.entry.wake_me(context.waker());
                Poll::Pending
            }
            Poll::Ready(Ok(0)) => Poll::Ready(Err(End::Done)),
            Poll::Ready(Ok(count)) => {
                self.client_spoke = true;
                self.hub.shard.received(u64::try_from(count).unwrap_or(0));
                Poll::Ready(Ok(()))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(End::Client(error))),
        }
    }

    fn poll_relay(&mut self, context: &mut Context<'_>) -> Poll<End> {
        if let Some(end) = self.due() {
            return Poll::Ready(end);
        }
        let Self { client, backend: Some(backend), up, down, deaf, .. } = self else {
            return Poll::Ready(End::Done);
        };
        let (mut received, mut sent) = (0, 0);
        let (upward, downward) =
            poll_both((up, client, &mut received), (down, backend, &mut sent), deaf, context);
        if received > 0 || sent > 0 {
            if sent == 0 {
                self.gathering.interrupt();
            } else if self.gathering.is_worth_a_wait(sent, Instant::now()) {
                gather::want();
            }
            self.client_spoke = received > 0 && sent == 0;
            self.hub.shard.received(received);
            self.hub.shard.sent(sent);
            self.entry.moved();
        }
        match (upward, downward) {
            (Poll::Ready(Ok(())), Poll::Ready(Ok(()))) => return Poll::Ready(End::Done),
            (Poll::Ready(Err(Broken::Reading(error))), _)
            | (_, Poll::Ready(Err(Broken::Writing(error)))) => {
                return Poll::Ready(End::Client(error));
            }
            (Poll::Ready(Err(Broken::Writing(error))), _)
            | (_, Poll::Ready(Err(Broken::Reading(error)))) => {
                return Poll::Ready(End::Backend(error));
            }
            (upward, downward) => {
                let is_half_closed =
                    upward.is_ready() || downward.is_ready() || self.deaf.is_some();
                if is_half_closed && !self.half_closed {
                    self.half_closed = true;
                    self.entry.set_limit(self.hub.timeouts().half_closed);
                }
            }
        }
        self.entry.wake_me(context.waker());
        Poll::Pending
    }

    /// What the sweep has found to be due.
    fn due(&mut self) -> Option<End> {
        match self.entry.take_due() {
            Some(Due::End) => return Some(End::Idle),
            Some(Due::Park) => self.client.park(),
            None => {}
        }
        let drained = self.hub.is_draining()
            && self.backend.is_some()
            && self.is_at_rest()
            && self.entry.is_quiet_for(self.hub.quiet_enough());
        drained.then_some(End::Drained)
    }

    /// Nothing is asked or answered as far as can be seen: before the first byte, or between two requests.
    fn is_at_rest(&self) -> bool {
        let is_asked_nothing =
            self.backend.is_none() || (self.http && !self.client_spoke && !self.half_closed);
        is_asked_nothing && self.up.is_empty() && self.down.is_empty()
    }
}

/// Whether the client's transport has ended, and nothing worse: what cannot be opened is never an end.
fn is_truncation(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), UnexpectedEof | ConnectionReset | BrokenPipe)
}

fn reset(backend: Option<BackendStream>) {
    if let Some(backend) = backend {
        backend.reset();
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.hub.shard.closed();
    }
}

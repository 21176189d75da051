//! Early data that a backend gets before its client's handshake is complete, on routes that say so.
//!
//! The backend is told how much it is by its PROXY header: what has come until it is connected. What comes later waits for the
//! end of the handshake, so that nobody has to guess what was early. It is cut off if the handshake comes to nothing. Must not know: whether early
//! data is admitted; a guard has said so before any of it comes here. Next: [`crate::connection`], which goes on.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use tercel::Facts;
use tercel_tokio::EarlyExchange;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::backend::BackendStream;
use crate::proxy_protocol::{self, Ends};
use crate::reach::Way;
use crate::worker::{Hub, View};

/// A backend for the early data of one client, if there is some and its route hands it on at once.
pub(crate) struct EarlyBackend {
    hub: Rc<Hub>,
    view: Rc<View>,
    client: SocketAddr,
    listener: u32,
    ends: Option<Ends>,
    stage: Stage,
    /// The PROXY header, until there is a backend to send it to.
    header: Vec<u8>,
    /// What the backend has not taken.
    unsent: Vec<u8>,
    /// Why it takes no more, while its answer goes on.
    deaf: Option<io::Error>,
    is_answered: bool,
}

/// What a client and a backend have exchanged until the handshake was complete.
pub(crate) struct Exchanged {
    /// What goes to the backend first.
    pub(crate) unsent: Vec<u8>,
    /// The backend has said something.
    pub(crate) is_answered: bool,
    pub(crate) outcome: Outcome,
}

enum Stage {
    /// No early data has come.
    Idle,
    /// The route's backend gets it with what follows the handshake.
    Later,
    Reaching(Pin<Box<dyn Future<Output = Option<BackendStream>>>>),
    Open(BackendStream),
    /// It has ended or failed.
    Over(Outcome),
}

/// What has become of the backend until then.
pub(crate) enum Outcome {
    /// It is there, and may have ended its side.
    There(BackendStream),
    /// It broke off, which its client has to see.
    Broken(io::Error),
    /// None can be reached.
    Nobody,
}

impl EarlyBackend {
    pub(crate) fn new(
        hub: Rc<Hub>,
        view: Rc<View>,
        client: SocketAddr,
        listener: usize,
        ends: Option<Ends>,
    ) -> Self {
        let listener = u32::try_from(listener).unwrap_or(u32::MAX);
        let (stage, unsent) = (Stage::Idle, Vec::new());
        let (header, deaf) = (Vec::new(), None);
        Self { hub, view, client, listener, ends, stage, header, unsent, deaf, is_answered: false }
    }

    /// The handshake is complete: what there is to go on with, if early data was handed on.
    pub(crate) async fn finish(mut self) -> Option<Exchanged> {
        let outcome = match std::mem::replace(&mut self.stage, Stage::Idle) {
            Stage::Idle | Stage::Later => return None,
            Stage::Reaching(reaching) => {
                // Nothing of it is early any more.
                let header = std::mem::take(&mut self.header);
                self.unsent.splice(..0, header);
                match reaching.await {
                    Some(backend) => {
                        self.hub.shard.early_data_kept();
                        Outcome::There(backend)
                    }
                    None => Outcome::Nobody,
                }
            }
            Stage::Open(backend) => Outcome::There(backend),
            Stage::Over(outcome) => outcome,
        };
        let unsent = std::mem::take(&mut self.unsent);
        Some(Exchanged { unsent, is_answered: self.is_answered, outcome })
    }

    /// The way of a client whose early data goes on at once, and the header that goes ahead of it.
    fn way(&self, facts: &Facts) -> Option<(Way, Vec<u8>)> {
        let listener = self.view.listener(usize::try_from(self.listener).ok()?)?;
        let number = listener.names.find(facts.server_name.as_deref())?;
        let route = listener.routes.get(number).filter(|route| route.early_data_at_once)?;
        route.send_proxy_protocol.then_some(())?;
        let header = proxy_protocol::write::header(self.ends?, facts);
        let (hub, view) = (Rc::clone(&self.hub), Rc::clone(&self.view));
        let (listener, route) = (self.listener, u32::try_from(number).ok()?);
        Some((Way { hub, view, client: self.client, listener, route }, header))
    }
}

/// Writes what there is as far as it is taken, and reads, whichever is possible: a backend may answer before it has taken
/// all, and take no more. `unsent` keeps what it has not, so that whoever goes on finds out as well.
fn poll_exchange<B: AsyncRead + AsyncWrite + Unpin>(
    backend: &mut B,
    unsent: &mut Vec<u8>,
    deaf: &mut Option<io::Error>,
    context: &mut Context<'_>,
    answer: &mut ReadBuf<'_>,
) -> Poll<io::Result<()>> {
    while !unsent.is_empty() && deaf.is_none() {
        match Pin::new(&mut *backend).poll_write(context, unsent) {
            Poll::Ready(Ok(0)) => *deaf = Some(io::ErrorKind::WriteZero.into()),
            Poll::Ready(Ok(count)) => drop(unsent.drain(..count.min(unsent.len()))),
            Poll::Ready(Err(error)) => *deaf = Some(error),
            Poll::Pending => break,
        }
    }
    let before = answer.filled().len();
    let read = ready!(Pin::new(backend).poll_read(context, answer));
    if answer.filled().len() == before {
        // A break that was told in writing looks like an end in reading.
        if let Some(error) = deaf.take() {
            return Poll::Ready(Err(error));
        }
    }
    Poll::Ready(read)
}

impl EarlyExchange for EarlyBackend {
    fn take(&mut self, facts: &Facts, piece: Vec<u8>) -> Option<Vec<u8>> {
        if let Stage::Idle = self.stage {
            self.stage = match self.way(facts) {
                None => Stage::Later,
                Some((way, header)) => {
                    self.header = header;
                    Stage::Reaching(Box::pin(async move { way.reach().await }))
                }
            };
        }
        // The header says how much is early: what comes behind it goes with what follows the handshake.
        if !matches!(self.stage, Stage::Reaching(_)) {
            return Some(piece);
        }
        self.hub.shard.received(u64::try_from(piece.len()).unwrap_or(0));
        self.unsent.extend(piece);
        None
    }

    fn poll_answer(&mut self, context: &mut Context<'_>, answer: &mut ReadBuf<'_>) -> Poll<()> {
        if let Stage::Reaching(reaching) = &mut self.stage {
            self.stage = match ready!(reaching.as_mut().poll(context)) {
                Some(backend) => {
                    self.hub.shard.early_data_handed_on();
                    Stage::Open(backend)
                }
                None => Stage::Over(Outcome::Nobody),
            };
            proxy_protocol::write::add_early_data(&mut self.header, self.unsent.len());
            let header = std::mem::take(&mut self.header);
            self.unsent.splice(..0, header);
        }
        let Self { stage, unsent, deaf, .. } = self;
        let polled = match stage {
            Stage::Open(backend) => ready!(poll_exchange(backend, unsent, deaf, context, answer)),
            _ => Ok(()),
        };
        let count = answer.filled().len();
        self.hub.shard.sent(u64::try_from(count).unwrap_or(0));
        if let (Ok(()), 1..) = (&polled, count) {
            self.is_answered = true;
            return Poll::Ready(());
        }
        // An end is seen again by who goes on, an error only once.
        self.stage = match (std::mem::replace(&mut self.stage, Stage::Idle), polled) {
            (Stage::Open(backend), Ok(())) => Stage::Over(Outcome::There(backend)),
            (Stage::Open(_), Err(error)) => Stage::Over(Outcome::Broken(error)),
            (other, _) => other,
        };
        Poll::Ready(())
    }
}

impl Drop for EarlyBackend {
    /// No handshake came of it: who sent this may not have been the client, and a backend that hears a clean end could
    /// take what it has got for all of it.
    fn drop(&mut self) {
        match &self.stage {
            Stage::Open(backend) | Stage::Over(Outcome::There(backend)) => backend.reset(),
            Stage::Over(Outcome::Broken(_)) => {}
            _ => return,
        }
        self.hub.shard.early_data_abandoned();
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::io::{AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test]
    async fn a_backend_that_has_not_taken_all_is_heard() {
        let (mut near, mut far) = duplex(100);
        let (mut unsent, mut deaf) = (vec![7; 1000], None);
        far.write_all(b"too early").await.unwrap();
        for expected in [b"too early".as_slice(), b"and done"] {
            let mut room = [0; 64];
            let mut answer = ReadBuf::new(&mut room);
            poll_fn(|cx| poll_exchange(&mut near, &mut unsent, &mut deaf, cx, &mut answer))
                .await
                .unwrap();
            assert_eq!(answer.filled(), expected);
            assert_eq!(unsent.len(), 900);
            if expected == b"too early" {
                far.write_all(b"and done").await.unwrap();
                drop(std::mem::replace(&mut far, duplex(1).0));
            }
        }
        // It went with something unread: its last word was heard all the same, and it is no end.
        let mut room = [0; 64];
        let mut answer = ReadBuf::new(&mut room);
        let end = poll_fn(|cx| poll_exchange(&mut near, &mut unsent, &mut deaf, cx, &mut answer));
        assert_eq!(end.await.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        assert_eq!(unsent.len(), 900);
    }
}

//! Forwarding of early data before the handshake is complete (`early_data_at_once`).
//!
//! The PROXY header contains the number of early data bytes that were received until the backend
//! was connected. Early data that arrives later is kept until the end of the handshake, so that the
//! length in the header is exact. If the handshake fails, the backend connection is reset. The
//! replay guard has admitted the early data before this module receives it.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use tercel::ConnectionInfo;
use tercel_tokio::EarlyExchange;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::backend::endpoint::BackendStream;
use crate::connection::backend_connect::BackendConnector;
use crate::connection::proxy_protocol::{self, Addresses};
use crate::worker::{WorkerConfig, WorkerContext};

/// Forwards the early data of one client to a backend before the handshake is complete, if the
/// client's route permits it.
pub(crate) struct EarlyDataBackend {
    worker: Rc<WorkerContext>,
    config: Rc<WorkerConfig>,
    client: SocketAddr,
    listener: u32,
    addresses: Option<Addresses>,
    stage: Stage,
    /// The PROXY header, until a backend is connected.
    header: Vec<u8>,
    /// Data that the backend has not accepted yet.
    unsent: Vec<u8>,
    /// The error of a failed write to the backend. The backend's answer is still read.
    write_error: Option<io::Error>,
    is_answered: bool,
}

/// The result of exchanging early data, when the handshake is complete.
pub(crate) struct EarlyExchangeResult {
    /// Data to send to the backend first.
    pub(crate) unsent: Vec<u8>,
    /// Whether the backend has sent data.
    pub(crate) is_answered: bool,
    pub(crate) backend_state: BackendState,
}

enum Stage {
    /// No early data has been received yet.
    Idle,
    /// Early data will be forwarded after the handshake.
    Deferred,
    Connecting(Pin<Box<dyn Future<Output = Option<BackendStream>>>>),
    Connected(BackendStream),
    /// The backend connection has ended or failed.
    Done(BackendState),
}

/// The state of the backend connection at the end of the exchange.
pub(crate) enum BackendState {
    /// Connected; the backend may have closed its side.
    Connected(BackendStream),
    /// The connection failed, so the client must not receive a clean end.
    Failed(io::Error),
    /// No backend could be connected.
    Unreachable,
}

impl EarlyDataBackend {
    pub(crate) fn new(
        worker: Rc<WorkerContext>,
        config: Rc<WorkerConfig>,
        client: SocketAddr,
        listener: usize,
        addresses: Option<Addresses>,
    ) -> Self {
        let listener = u32::try_from(listener).unwrap_or(u32::MAX);
        let (stage, unsent) = (Stage::Idle, Vec::new());
        let (header, write_error) = (Vec::new(), None);
        Self {
            worker,
            config,
            client,
            listener,
            addresses,
            stage,
            header,
            unsent,
            write_error,
            is_answered: false,
        }
    }

    /// Ends the exchange when the handshake is complete. Returns `None` if no early data was
    /// forwarded.
    pub(crate) async fn finish(mut self) -> Option<EarlyExchangeResult> {
        let backend_state = match std::mem::replace(&mut self.stage, Stage::Idle) {
            Stage::Idle | Stage::Deferred => return None,
            Stage::Connecting(connecting) => {
                // The handshake is complete, so the data no longer counts as early, and the header
                // is sent without a length.
                let header = std::mem::take(&mut self.header);
                self.unsent.splice(..0, header);
                match connecting.await {
                    Some(backend) => {
                        self.worker.shard.early_data_forwarded_after_handshake();
                        BackendState::Connected(backend)
                    }
                    None => BackendState::Unreachable,
                }
            }
            Stage::Connected(backend) => BackendState::Connected(backend),
            Stage::Done(backend_state) => backend_state,
        };
        let unsent = std::mem::take(&mut self.unsent);
        Some(EarlyExchangeResult { unsent, is_answered: self.is_answered, backend_state })
    }

    /// The backend connector and the PROXY header for a client whose route forwards early data at
    /// once.
    fn route_for(&self, info: &ConnectionInfo) -> Option<(BackendConnector, Vec<u8>)> {
        let listener = self.config.listener(usize::try_from(self.listener).ok()?)?;
        let number = listener.names.find(info.server_name.as_deref())?;
        let route = listener.routes.get(number).filter(|route| route.early_data_at_once)?;
        route.send_proxy_protocol.then_some(())?;
        let header = proxy_protocol::write::header(self.addresses?, info);
        let (worker, config) = (Rc::clone(&self.worker), Rc::clone(&self.config));
        let (listener, route) = (self.listener, u32::try_from(number).ok()?);
        Some((BackendConnector { worker, config, client: self.client, listener, route }, header))
    }
}

/// Writes as much as the backend accepts, and reads its answer: a backend may answer before it has
/// read everything, and then stop reading. Data that was not accepted stays in `unsent`, so that
/// the relay encounters the failure as well.
fn poll_exchange<B: AsyncRead + AsyncWrite + Unpin>(
    backend: &mut B,
    unsent: &mut Vec<u8>,
    write_error: &mut Option<io::Error>,
    context: &mut Context<'_>,
    answer: &mut ReadBuf<'_>,
) -> Poll<io::Result<()>> {
    while !unsent.is_empty() && write_error.is_none() {
        match Pin::new(&mut *backend).poll_write(context, unsent) {
            Poll::Ready(Ok(0)) => *write_error = Some(io::ErrorKind::WriteZero.into()),
            Poll::Ready(Ok(count)) => drop(unsent.drain(..count.min(unsent.len()))),
            Poll::Ready(Err(error)) => *write_error = Some(error),
            Poll::Pending => break,
        }
    }
    let before = answer.filled().len();
    let read = ready!(Pin::new(backend).poll_read(context, answer));
    if answer.filled().len() == before {
        // A socket reports an error once: after a failed write, a read may return EOF instead.
        if let Some(error) = write_error.take() {
            return Poll::Ready(Err(error));
        }
    }
    Poll::Ready(read)
}

impl EarlyExchange for EarlyDataBackend {
    fn take(&mut self, info: &ConnectionInfo, piece: Vec<u8>) -> Option<Vec<u8>> {
        if let Stage::Idle = self.stage {
            self.stage = match self.route_for(info) {
                None => Stage::Deferred,
                Some((connector, header)) => {
                    self.header = header;
                    Stage::Connecting(Box::pin(async move { connector.connect().await }))
                }
            };
        }
        // The length in the header must not change once the backend is connected.
        if !matches!(self.stage, Stage::Connecting(_)) {
            return Some(piece);
        }
        self.worker.shard.received(u64::try_from(piece.len()).unwrap_or(0));
        self.unsent.extend(piece);
        None
    }

    fn poll_answer(&mut self, context: &mut Context<'_>, answer: &mut ReadBuf<'_>) -> Poll<()> {
        if let Stage::Connecting(connecting) = &mut self.stage {
            self.stage = match ready!(connecting.as_mut().poll(context)) {
                Some(backend) => {
                    self.worker.shard.early_data_forwarded_at_once();
                    Stage::Connected(backend)
                }
                None => Stage::Done(BackendState::Unreachable),
            };
            proxy_protocol::write::add_early_data_length(&mut self.header, self.unsent.len());
            let header = std::mem::take(&mut self.header);
            self.unsent.splice(..0, header);
        }
        let Self { stage, unsent, write_error, .. } = self;
        let polled = match stage {
            Stage::Connected(backend) => {
                ready!(poll_exchange(backend, unsent, write_error, context, answer))
            }
            _ => Ok(()),
        };
        let count = answer.filled().len();
        self.worker.shard.sent(u64::try_from(count).unwrap_or(0));
        if let (Ok(()), 1..) = (&polled, count) {
            self.is_answered = true;
            return Poll::Ready(());
        }
        // The relay will read EOF again, but an error would not be reported again.
        self.stage = match (std::mem::replace(&mut self.stage, Stage::Idle), polled) {
            (Stage::Connected(backend), Ok(())) => Stage::Done(BackendState::Connected(backend)),
            (Stage::Connected(_), Err(error)) => Stage::Done(BackendState::Failed(error)),
            (other, _) => other,
        };
        Poll::Ready(())
    }
}

impl Drop for EarlyDataBackend {
    /// Resets the backend after a failed handshake: the early data may be from an attacker, and the
    /// backend could mistake it for a complete request if the connection ended cleanly.
    fn drop(&mut self) {
        match &self.stage {
            Stage::Connected(backend) | Stage::Done(BackendState::Connected(backend)) => {
                backend.reset();
            }
            Stage::Done(BackendState::Failed(_)) => {}
            _ => return,
        }
        self.worker.shard.early_data_abandoned();
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::io::{AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test]
    async fn answer_is_read_from_a_backend_that_stops_reading_early() {
        let (mut near, mut far) = duplex(100);
        let (mut unsent, mut write_error) = (vec![7; 1000], None);
        far.write_all(b"too early").await.unwrap();
        for expected in [b"too early".as_slice(), b"and done"] {
            let mut room = [0; 64];
            let mut answer = ReadBuf::new(&mut room);
            poll_fn(|cx| poll_exchange(&mut near, &mut unsent, &mut write_error, cx, &mut answer))
                .await
                .unwrap();
            assert_eq!(answer.filled(), expected);
            assert_eq!(unsent.len(), 900);
            if expected == b"too early" {
                far.write_all(b"and done").await.unwrap();
                drop(std::mem::replace(&mut far, duplex(1).0));
            }
        }
        // The backend closed with unread data. Its answer was read in full, and the end is an
        // error.
        let mut room = [0; 64];
        let mut answer = ReadBuf::new(&mut room);
        let end =
            poll_fn(|cx| poll_exchange(&mut near, &mut unsent, &mut write_error, cx, &mut answer));
        assert_eq!(end.await.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        assert_eq!(unsent.len(), 900);
    }
}

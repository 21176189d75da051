//! One connection from accept to end.
//!
//! What is needed only for a while (the handshake, connecting) is in boxes that go; what stays is the
//! [`Session`]. Must not know: how bytes move. Next: [`crate::session`].

use std::borrow::Cow;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Instant;

use tercel_tokio::TlsStream;
use tokio::net::TcpStream;

use crate::backend::BackendStream;
use crate::config::{Connect, OnTruncation};
use crate::early::{EarlyBackend, Exchanged, Outcome};
use crate::limits::Permit;
use crate::listener::refused;
use crate::metrics::labels::{BackendFailure, Refused};
use crate::proxy_protocol::{self, Ends};
use crate::reach::Way;
use crate::session::{End, Session};
use crate::worker::{Counted, Hub, View};

/// Serves a client that was just accepted.
pub(crate) async fn serve(
    hub: Rc<Hub>,
    view: Rc<View>,
    transport: TcpStream,
    client: SocketAddr,
    listener: usize,
    permit: Permit,
    _counted: Counted,
) {
    let arrival = Arrival { hub, view, client, listener, permit };
    let Some(mut established) = Box::pin(arrival.establish(transport)).await else { return };
    if established.lazy {
        if let Err(end) = established.session.first_byte().await {
            return Box::pin(established.session.close(&end)).await;
        }
    }
    let Some((mut session, backend)) = Box::pin(established.connect()).await else { return };
    let end = session.relay(backend).await;
    Box::pin(finish(session, end)).await;
}

/// A client of whom nothing is known yet.
struct Arrival {
    hub: Rc<Hub>,
    view: Rc<View>,
    client: SocketAddr,
    listener: usize,
    permit: Permit,
}

/// A client with which a handshake is complete.
struct Established {
    session: Box<Session>,
    /// The backend is not connected to before the client has spoken.
    lazy: bool,
    /// The backend that has got early data already, or what became of it.
    early: Option<Outcome>,
    /// The first that goes to the backend came early, and has waited for the handshake.
    kept_early_data: bool,
    /// By the configuration of the handshake, which is this connection's to its end.
    way: Way,
}

impl Arrival {
    /// The PROXY header, if there is to be one, and the handshake.
    async fn establish(mut self, mut transport: TcpStream) -> Option<Box<Established>> {
        let begun = Instant::now();
        let listener = self.view.listener(self.listener)?;
        let mut ends = None;
        if listener.accept_proxy_protocol {
            match self.proxy_header(&mut transport).await {
                Ok(told) => ends = told,
                Err(error) => {
                    self.hub.shard.refused(Refused::ProxyHeader);
                    self.log_failure(&error, "refused");
                    return None;
                }
            }
        }
        if let Some(ends) = ends {
            self.client = ends.source;
        }
        let most = self.view.most(self.listener);
        if let Err(reason) = self.permit.for_client(self.client.ip(), most) {
            self.hub.shard.refused(refused(reason));
            tracing::debug!(client = %self.client, "refused: {reason}");
            return None;
        }
        // Less what the header took.
        let left = self.view.live.timeouts.handshake.saturating_sub(begun.elapsed());
        let mut acceptor = Cow::Borrowed(&listener.acceptor);
        if listener.accept_proxy_protocol {
            acceptor = Cow::Owned(listener.acceptor.clone().time_limit(Some(left)));
        }
        let mut early = None;
        let accepted = if listener.early_data_at_once {
            ends = ends.or_else(|| ends_of(&transport));
            let (hub, view) = (Rc::clone(&self.hub), Rc::clone(&self.view));
            let backend = EarlyBackend::new(hub, view, self.client, self.listener, ends);
            let backend = early.insert(backend);
            acceptor.accept_exchanging(transport, backend).await
        } else {
            acceptor.accept(transport).await
        };
        let stream = match accepted {
            Ok(stream) => stream,
            Err(error) => {
                self.hub.shard.handshake_failed(&error);
                self.log_failure(&error, "handshake failed");
                return None;
            }
        };
        self.hub.shard.handshake_done(stream.facts(), begun.elapsed());
        let early = match early {
            Some(early) => early.finish().await,
            None => None,
        };
        self.established(stream, ends, early)
    }

    fn established(
        self,
        mut stream: TlsStream<TcpStream>,
        ends: Option<Ends>,
        exchanged: Option<Exchanged>,
    ) -> Option<Box<Established>> {
        let listener = self.view.listener(self.listener)?;
        let number = listener.names.find(stream.facts().server_name.as_deref())?;
        let route = listener.routes.get(number)?;
        let facts = stream.facts();
        tracing::debug!(
            client = %self.client,
            server_name = facts.server_name,
            version = ?facts.version,
            suite = ?facts.cipher_suite,
            group = ?facts.group,
            resumed = facts.resumed,
            early_data = ?facts.early_data,
            "connected"
        );
        let late = stream.take_early_data();
        let facts = stream.facts();
        let (mut first, mut early, mut has_spoken) = (Vec::new(), None, !late.is_empty());
        if let Some(Exchanged { unsent, is_answered, outcome }) = exchanged {
            (first, early, has_spoken) = (unsent, Some(outcome), has_spoken || !is_answered);
        } else if route.send_proxy_protocol {
            let ends = ends.or_else(|| ends_of(stream.transport()))?;
            first = proxy_protocol::write::header(ends, facts);
        }
        let protocol = facts.alpn.as_deref();
        let http = matches!(protocol, Some(b"h2" | b"http/1.1" | b"http/1.0"));
        let kept_early_data = early.is_none() && !late.is_empty();
        let lazy = early.is_none()
            && !kept_early_data
            && match route.connect {
                Connect::Auto => http,
                Connect::AtOnce => false,
                Connect::FirstByte => true,
            };
        first.extend(late);
        let may_end = match route.on_truncation {
            OnTruncation::Auto => http,
            OnTruncation::Reset => false,
            OnTruncation::Close => true,
        };
        forget_facts(&mut stream);
        let Self { hub, view, client, listener, permit } = self;
        hub.shard.opened();
        let mut session = Session::new(stream, first, http, Rc::clone(&hub), permit);
        session.take_truncation_for_an_end(may_end);
        if has_spoken {
            session.client_has_spoken();
        }
        let (listener, route) = (u32::try_from(listener).ok()?, u32::try_from(number).ok()?);
        let way = Way { hub, view, client, listener, route };
        Some(Box::new(Established { session, lazy, early, kept_early_data, way }))
    }

    async fn proxy_header(&self, transport: &mut TcpStream) -> io::Result<Option<Ends>> {
        let listener = self.view.listener(self.listener);
        if !listener.is_some_and(|listener| listener.believes(self.client.ip())) {
            let reason = "not from where a PROXY header may come";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
        }
        let limit = self.view.live.timeouts.handshake;
        let header = proxy_protocol::read::header(transport);
        match tokio::time::timeout(limit, header).await {
            Ok(read) => read,
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    fn log_failure(&self, error: &io::Error, what: &str) {
        if let Some(left_out) = self.hub.repeats.admit(Instant::now()) {
            tracing::info!(client = %self.client, %error, left_out, "{what}");
        }
    }
}

impl Established {
    /// A connection to the first backend that can be reached. If there is none the client is told that
    /// there is nothing to come.
    async fn connect(self: Box<Self>) -> Option<(Box<Session>, BackendStream)> {
        let Self { mut session, early, kept_early_data, way, .. } = *self;
        let backend = match early {
            None => way.reach().await,
            Some(Outcome::There(backend)) => Some(backend),
            Some(Outcome::Nobody) => None,
            Some(Outcome::Broken(error)) => {
                finish(session, End::Backend(error)).await;
                return None;
            }
        };
        match &backend {
            Some(_) if kept_early_data => session.hub().shard.early_data_kept(),
            Some(_) => {}
            None => session.say_goodbye().await,
        }
        backend.map(|backend| (session, backend))
    }
}

async fn finish(session: Box<Session>, end: End) {
    match &end {
        End::Backend(error) => {
            session.hub().shard.backend_failed(BackendFailure::of(error));
            tracing::debug!(%error, "the backend broke off");
        }
        End::Client(error) => tracing::debug!(%error, "the client broke off"),
        End::Done | End::Idle | End::Drained => {}
    }
    session.close(&end).await;
}

/// Lets go of what was agreed: what mattered of it is with the session.
fn forget_facts(stream: &mut TlsStream<TcpStream>) {
    let facts = stream.facts_mut();
    drop(facts.take_peer_chain());
    facts.server_name = None;
    facts.alpn = None;
    facts.ocsp_response = None;
    facts.signed_certificate_timestamps = None;
}

fn ends_of(transport: &TcpStream) -> Option<Ends> {
    let (source, destination) = (transport.peer_addr().ok()?, transport.local_addr().ok()?);
    Some(Ends { source, destination })
}

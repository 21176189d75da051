//! A client's new sessions: their creation from NewSessionTicket messages, which
//! `post_handshake.rs` parses and checks, and where they go. RFC 9846 4.7.1

use std::sync::Arc;

use tercel_wire::{NewSessionTicket, TlsFlags};

use crate::config::clock::Clock;
use crate::config::resumption::ClientResumption;
use crate::keys::tls13::ResumptionSecret;
use crate::record::limits;
use crate::resumption::session::Session;
use crate::resumption::session::client_session::ClientSession;
use crate::resumption::session::client_store::{ClientSessionKey, ClientSessionStore};
use crate::resumption::session::new_client_session::NewClientSession;

/// The new sessions of a client's connection.
pub(crate) struct NewSessions {
    /// TLS 1.3: processes tickets. `None` if no further ticket is processed.
    pub(crate) tickets: Option<TicketHandler>,
    pub(crate) destination: Destination,
}

/// Where a client's new sessions go.
pub(crate) enum Destination {
    Store(Arc<dyn ClientSessionStore>),
    /// To the caller, who has not taken these yet.
    Caller(Vec<NewClientSession>),
}

/// The handler of a client's tickets: creates a session from each ticket.
pub(crate) struct TicketHandler {
    pub(crate) secret: ResumptionSecret,
    pub(crate) template: Session,
    pub(crate) key: ClientSessionKey,
    pub(crate) clock: Arc<dyn Clock>,
    /// The number of tickets that may still be processed.
    pub(crate) left: u8,
}

impl Destination {
    /// Returns the destination that is configured. `None` if the client resumes no sessions.
    pub(crate) fn of(resumption: &ClientResumption) -> Option<Self> {
        let store = resumption.store.as_ref()?;
        Some(match resumption.return_new_sessions {
            true => Self::Caller(Vec::new()),
            false => Self::Store(Arc::clone(store)),
        })
    }
}

impl NewSessions {
    /// Whether a ticket was received, and further ones are processed.
    pub(crate) fn has_received_ticket(&self) -> bool {
        let has_received = |handler: &TicketHandler| handler.left < limits::MAX_TICKETS_RECEIVED;
        self.tickets.as_ref().is_some_and(has_received)
    }

    /// Whether no further ticket will be processed.
    #[cfg(feature = "quic")]
    pub(crate) fn is_done(&self) -> bool {
        self.tickets.as_ref().is_none_or(|handler| handler.left == 0)
    }

    /// Creates a session with this ticket, unless the ticket cannot be used.
    pub(crate) fn receive(&mut self, ticket: &NewSessionTicket<'_>) {
        let Some(handler) = &mut self.tickets else { return };
        if handler.apply(ticket).is_none() {
            return;
        }
        let (key, session) = (&handler.key, &handler.template);
        let across_names = session.resumption_across_names;
        match &mut self.destination {
            Destination::Store(store) => {
                let Some(bytes) = session.to_stored_bytes() else { return };
                if across_names {
                    store.put_across_names(key, bytes, session.expires());
                } else {
                    store.put(key, bytes, session.expires());
                }
            }
            Destination::Caller(sessions) => sessions.push(NewClientSession {
                key: key.clone(),
                expires: session.expires(),
                session: ClientSession::new(Box::new(session.duplicate())),
                across_names,
            }),
        }
    }

    /// Processes no further ticket. Frees the memory for that, but keeps the sessions that the
    /// caller has not taken.
    pub(crate) fn stop(sessions: &mut Option<Box<Self>>) {
        match sessions {
            Some(kept) if kept.has_untaken() => kept.tickets = None,
            _ => *sessions = None,
        }
    }

    /// Adds a session for the caller.
    pub(crate) fn add(sessions: &mut Option<Box<Self>>, session: NewClientSession) {
        let new = || Box::new(Self { tickets: None, destination: Destination::Caller(Vec::new()) });
        if let Destination::Caller(sessions) = &mut sessions.get_or_insert_with(new).destination {
            sessions.push(session);
        }
    }

    /// Takes the sessions for the caller.
    pub(crate) fn take(sessions: &mut Option<Box<Self>>) -> Vec<NewClientSession> {
        let Some(kept) = sessions else { return Vec::new() };
        let taken = match &mut kept.destination {
            Destination::Store(_) => Vec::new(),
            Destination::Caller(sessions) => core::mem::take(sessions),
        };
        if kept.tickets.is_none() {
            *sessions = None;
        }
        taken
    }

    fn has_untaken(&self) -> bool {
        matches!(&self.destination, Destination::Caller(sessions) if !sessions.is_empty())
    }
}

impl TicketHandler {
    /// Sets the values of this ticket in the template. `None` if the ticket cannot be used.
    fn apply(&mut self, ticket: &NewSessionTicket<'_>) -> Option<()> {
        self.left = self.left.checked_sub(1)?;
        // A ticket with a lifetime of zero must be discarded. RFC 9846 4.7.1
        if ticket.ticket_lifetime == 0 || ticket.ticket.len() > limits::MAX_TICKET_LENGTH {
            return None;
        }
        let session = &mut self.template;
        session.created = self.clock.now().as_secs();
        session.lifetime = ticket.ticket_lifetime;
        session.age_add = ticket.ticket_age_add;
        session.max_early_data = ticket.extensions.early_data.unwrap_or(0);
        let flags = ticket.extensions.tls_flags;
        session.resumption_across_names =
            flags.is_some_and(|flags| flags.has(TlsFlags::RESUMPTION_ACROSS_NAMES));
        session.identity = ticket.ticket.to_vec();
        session.secret = self.secret.psk(ticket.ticket_nonce);
        Some(())
    }
}

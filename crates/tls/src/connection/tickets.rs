//! Creation of sessions from NewSessionTicket messages, which `post_handshake.rs` parses and
//! checks. RFC 9846 4.7.1

use std::sync::Arc;

use tercel_wire::{NewSessionTicket, TlsFlags};

use crate::config::clock::Clock;
use crate::keys::tls13::ResumptionSecret;
use crate::record::limits;
use crate::resumption::session::Session;
use crate::resumption::session::client_store::{ClientSessionKey, ClientSessionStore};

/// The handler of a client's tickets: creates a session from each ticket and stores it.
pub(crate) struct TicketHandler {
    pub(crate) secret: ResumptionSecret,
    pub(crate) template: Session,
    pub(crate) key: ClientSessionKey,
    pub(crate) store: Arc<dyn ClientSessionStore>,
    pub(crate) clock: Arc<dyn Clock>,
    /// The number of tickets that may still be processed.
    pub(crate) left: u8,
}

impl TicketHandler {
    /// Whether a ticket was received.
    pub(crate) fn has_received_ticket(&self) -> bool {
        self.left < limits::MAX_TICKETS_RECEIVED
    }

    /// Whether no further ticket will be processed.
    #[cfg(feature = "quic")]
    pub(crate) fn is_done(&self) -> bool {
        self.left == 0
    }

    /// Stores a session with this ticket, unless the ticket cannot be used.
    pub(crate) fn store(&mut self, ticket: &NewSessionTicket<'_>) {
        let Some(left) = self.left.checked_sub(1) else { return };
        self.left = left;
        // A ticket with a lifetime of zero must be discarded. RFC 9846 4.7.1
        if ticket.ticket_lifetime == 0 || ticket.ticket.len() > limits::MAX_TICKET_LENGTH {
            return;
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
        if let Some(bytes) = session.to_stored_bytes() {
            if session.resumption_across_names {
                self.store.put_across_names(&self.key, bytes, session.expires());
            } else {
                self.store.put(&self.key, bytes, session.expires());
            }
        }
    }
}

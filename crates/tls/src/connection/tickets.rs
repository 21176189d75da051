//! A client's end of NewSessionTicket: what the connection must remember to make sessions of tickets.
//! RFC 9846 4.7.1
//!
//! Must not know: how sessions are stored. Next: `session/state.rs`.

use std::sync::Arc;

use tercel_wire::{NewSessionTicket, TlsFlags};

use crate::config::policy::Clock;
use crate::keys::tls13::ResumptionSecret;
use crate::record::limits;
use crate::session::client_store::{ClientSessionKey, ClientSessionStore};
use crate::session::state::Session;

/// Tickets of one connection that are looked at; a server has no reason to send more.
pub(crate) const MAX_TICKETS: u8 = 16;

/// Makes a session of each ticket and stores it.
pub(crate) struct TicketTaker {
    pub(crate) secret: ResumptionSecret,
    pub(crate) template: Session,
    pub(crate) key: ClientSessionKey,
    pub(crate) store: Arc<dyn ClientSessionStore>,
    pub(crate) clock: Arc<dyn Clock>,
    /// Tickets that will still be looked at.
    pub(crate) left: u8,
}

impl TicketTaker {
    /// Whether a ticket came.
    pub(crate) fn has_some(&self) -> bool {
        self.left < MAX_TICKETS
    }

    /// Takes a ticket; one that cannot be used is passed over.
    pub(crate) fn take(&mut self, ticket: &NewSessionTicket<'_>) {
        let Some(left) = self.left.checked_sub(1) else { return };
        self.left = left;
        // A lifetime of zero means: discard at once. RFC 9846 4.7.1
        if ticket.ticket_lifetime == 0 || ticket.ticket.len() > limits::MAX_KEPT_TICKET {
            return;
        }
        let session = &mut self.template;
        session.created = self.clock.now().as_secs();
        session.lifetime = ticket.ticket_lifetime;
        session.age_add = ticket.ticket_age_add;
        session.max_early_data = ticket.extensions.early_data.unwrap_or(0);
        let flags = ticket.extensions.tls_flags;
        session.across_names =
            flags.is_some_and(|flags| flags.has(TlsFlags::RESUMPTION_ACROSS_NAMES));
        session.identity = ticket.ticket.to_vec();
        session.secret = self.secret.psk(ticket.ticket_nonce);
        if let Some(bytes) = session.to_stored_bytes() {
            if session.across_names {
                self.store.put_across_names(&self.key, bytes, session.expires());
            } else {
                self.store.put(&self.key, bytes, session.expires());
            }
        }
    }
}

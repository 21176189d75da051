//! Encoding of the state with which a client stores tickets.
//!
//! ```text
//! key: see `resumption/session/client_store.rs` | tickets left to process 1 | session 3..
//! ```
//!
//! The secret of the session is the resumption secret. The store and the clock are not saved: they
//! come from the configuration at restoration.

use std::sync::Arc;

use tercel_crypto::Secret;
use tercel_wire::{Reader, Writer};
use zeroize::Zeroizing;

use crate::config::client::ClientConfig;
use crate::connection::tickets::{Destination, NewSessions, TicketHandler};
use crate::keys::suite::Suite;
use crate::keys::tls13::ResumptionSecret;
use crate::resumption::session::Session;
use crate::resumption::session::client_store::ClientSessionKey;

/// Encodes the state. Returns `None` if a part is longer than its length field. A session with such
/// a part could not be stored, either. Sessions that the caller has not taken are not saved.
pub(super) fn to_bytes(sessions: &mut NewSessions) -> Option<Zeroizing<Vec<u8>>> {
    let TicketHandler { secret, template, key, clock: _, left } = sessions.tickets.as_mut()?;
    // The template's secret is unused: each ticket replaces it by its own secret.
    template.secret = Secret::new(secret.as_bytes());
    let session = Zeroizing::new(template.to_bytes()?);
    let mut bytes = Zeroizing::new(Vec::with_capacity(session.len().saturating_add(1024)));
    let mut w = Writer::new(&mut bytes);
    key.write(&mut w);
    w.u8(*left);
    w.opaque24(&session);
    w.finish().ok()?;
    Some(bytes)
}

/// Decodes the state. Returns `None` if it is malformed, and `Some(None)` if the configuration has
/// no store.
#[allow(clippy::option_option)]
pub(super) fn read(
    r: &mut Reader<'_>,
    config: &ClientConfig,
    suite: &'static Suite,
) -> Option<Option<Box<NewSessions>>> {
    let key = ClientSessionKey::read(r)?;
    let left = r.u8().ok()?;
    let template = Session::from_bytes(r.opaque24().ok()?)?;
    if template.suite != suite {
        return None;
    }
    let secret = ResumptionSecret::from_bytes(suite, template.secret.as_bytes())?;
    // The key contains a digest of the requirements that the server met. Therefore a configuration
    // with other requirements does not find the session.
    Some(Destination::of(&config.resumption).map(|destination| {
        let clock = Arc::clone(&config.common.clock);
        let tickets = Some(TicketHandler { secret, template, key, clock, left });
        Box::new(NewSessions { tickets, destination })
    }))
}

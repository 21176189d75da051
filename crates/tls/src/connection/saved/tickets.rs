//! A client's means to take tickets, as bytes.
//!
//! ```text
//! key: see `session/client_store.rs` | left 1 | session 3.., whose secret is the resumption secret
//! ```
//!
//! Where sessions are stored, and the clock, are objects: the next configuration's take their place.
//! Must not know: what a ticket is good for. Next: `connection/tickets.rs`.

use std::sync::Arc;

use tercel_crypto::Secret;
use tercel_wire::{Reader, Writer};
use zeroize::Zeroizing;

use crate::config::client::ClientConfig;
use crate::connection::tickets::TicketTaker;
use crate::keys::suite::Suite;
use crate::keys::tls13::ResumptionSecret;
use crate::session::client_store::ClientSessionKey;
use crate::session::state::Session;

/// `None` if a part is longer than its length field: such a session could not be stored either.
pub(super) fn to_bytes(taker: &mut TicketTaker) -> Option<Zeroizing<Vec<u8>>> {
    let TicketTaker { secret, template, key, store: _, clock: _, left } = taker;
    // Each ticket puts its own secret there.
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

/// `None`: malformed. `Some(None)`: there is no place for tickets any more.
#[allow(clippy::option_option)]
pub(super) fn read(
    r: &mut Reader<'_>,
    config: &ClientConfig,
    suite: &'static Suite,
) -> Option<Option<Box<TicketTaker>>> {
    let key = ClientSessionKey::read(r)?;
    let left = r.u8().ok()?;
    let template = Session::from_bytes(r.opaque24().ok()?)?;
    if template.suite != suite {
        return None;
    }
    let secret = ResumptionSecret::from_bytes(suite, template.secret.as_bytes())?;
    // The key names the demands that the server met: a configuration with others will not find the session.
    Some(config.resumption.store.as_ref().map(|store| {
        let clock = Arc::clone(&config.common.clock);
        Box::new(TicketTaker { secret, template, key, store: Arc::clone(store), clock, left })
    }))
}

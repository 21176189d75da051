//! Keys that encrypt session tickets.

use core::ptr;
use core::time::Duration;
use std::sync::{Arc, OnceLock};

use tercel::error::ConfigError;
use tercel::pki_types::UnixTime;
use tercel::session::{RotatingTickets, SharedTickets, TicketKeySet, TicketSealer};

use crate::entry::pointers::{self, Memory, Place};
use crate::entry::{entry, shared};
use crate::status::codes::{TERCEL_MISUSE_INVALID_ARGUMENT, TERCEL_MISUSE_ZERO_LENGTH};
use crate::status::{self, Status};

/// Keys that encrypt session tickets, shared by any number of configurations and threads.
pub enum Tickets {
    /// Keys that are replaced after this period. The first one is made for the first configuration,
    /// with the time of its clock.
    Rotating(Duration, OnceLock<Arc<RotatingTickets>>),
    /// Keys that the caller replaces.
    Shared(Arc<SharedTickets>),
}

impl Tickets {
    /// Returns the sealer for a configuration, whose clock shows this time.
    pub(crate) fn sealer(
        &self,
        now: UnixTime,
    ) -> core::result::Result<Arc<dyn TicketSealer>, ConfigError> {
        match self {
            Self::Shared(tickets) => Ok(Arc::clone(tickets) as _),
            Self::Rotating(period, started) => {
                if let Some(tickets) = started.get() {
                    return Ok(Arc::clone(tickets) as _);
                }
                let new = RotatingTickets::with_period(*period, now);
                let new = Arc::new(new.map_err(|_| ConfigError::Random)?);
                Ok(Arc::clone(started.get_or_init(|| new)) as _)
            }
        }
    }
}

/// Creates keys for the servers of this process, which replaces them after each period. A ticket
/// can be used for up to two periods. The first period begins when the first configuration with
/// these keys is built; configurations that share keys need clocks with the same time.
/// Configurations without tickets of their own have such keys with a period of six hours.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_tickets_rotating(
    period_seconds: u32,
    tickets: *mut *const Tickets,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let mut place = Place::new(tickets, ptr::null())?;
        if period_seconds == 0 {
            return Err(TERCEL_MISUSE_ZERO_LENGTH);
        }
        let period = Duration::from_secs(period_seconds.into());
        place.set(shared::new(Tickets::Rotating(period, OnceLock::new())));
        Ok(())
    })
}

/// Creates keys that several processes share. The caller distributes them, and replaces them with
/// tercel_tickets_set_keys.
///
/// The keys are encoded as: version (2 bytes, 00 01), the current key, a byte 1 and the next key or
/// a byte 0, a byte 1 and the previous key or a byte 0. A key is encoded as: name (16 random
/// bytes), secret (32 random bytes), the time from which it encrypts (8 bytes, big-endian, seconds
/// since 1970).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_tickets_shared(
    keys: *const u8,
    len: usize,
    lifetime_seconds: u32,
    tickets: *mut *const Tickets,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let mut place = Place::new(tickets, ptr::null())?;
        let keys = pointers::slice(keys, len)?;
        place.separate(&[Memory::of(keys)])?;
        let keys = TicketKeySet::from_bytes(keys);
        let lifetime = Duration::from_secs(lifetime_seconds.into());
        if lifetime.is_zero() {
            return Err(TERCEL_MISUSE_ZERO_LENGTH);
        }
        let keys = keys.map_err(status::of_ticket_keys)?;
        let tickets = Arc::new(SharedTickets::new(&keys, lifetime));
        place.set(shared::new(Tickets::Shared(tickets)));
        Ok(())
    })
}

/// Replaces the keys of tercel_tickets_shared, at any time and from any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_tickets_set_keys(
    tickets: *const Tickets,
    keys: *const u8,
    len: usize,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let tickets = shared::get(tickets)?;
        let Tickets::Shared(shared) = &*tickets else {
            return Err(TERCEL_MISUSE_INVALID_ARGUMENT);
        };
        let keys = TicketKeySet::from_bytes(pointers::slice(keys, len)?);
        shared.set_keys(&keys.map_err(status::of_ticket_keys)?);
        Ok(())
    })
}

/// Adds a reference to a set of keys, which tercel_tickets_release removes. Returns its argument.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_tickets_retain(tickets: *const Tickets) -> *const Tickets {
    // SAFETY: the caller's duty.
    unsafe { shared::retain(tickets) }
}

/// Removes a reference to a set of keys; the last one frees it. NULL has no effect.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_tickets_release(tickets: *const Tickets) {
    // SAFETY: the caller's duty.
    _ = entry(|| unsafe { shared::release(tickets) });
}

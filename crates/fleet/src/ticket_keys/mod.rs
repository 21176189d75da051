//! Ticket keys that all nodes of a fleet have.

pub(crate) mod file;
pub(crate) mod shared;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tercel::pki_types::UnixTime;
use tercel::session::{SharedTickets, TicketKeySet, TicketSealer};

/// A ticket sealer with the latest keys of the fleet. Without keys it seals and opens nothing.
pub(crate) struct FleetTicketSealer {
    /// The sealer of the keys, set when the first keys arrive.
    tickets: OnceLock<SharedTickets>,
    lifetime: Duration,
    /// The time in seconds since 1970 from which this node seals no tickets: other nodes may then
    /// have newer keys, and no longer have the keys of this node.
    seals_until: AtomicU64,
}

impl FleetTicketSealer {
    pub(crate) fn new(lifetime: Duration) -> Self {
        Self { tickets: OnceLock::new(), lifetime, seals_until: AtomicU64::new(0) }
    }

    pub(crate) fn set(&self, keys: &TicketKeySet, seals_until: u64) {
        match self.tickets.get() {
            Some(tickets) => tickets.set_keys(keys),
            None => {
                // If another thread was first, the sealer exists now.
                if self.tickets.set(SharedTickets::new(keys, self.lifetime)).is_err() {
                    return self.set(keys, seals_until);
                }
            }
        }
        self.seals_until.store(seals_until, Ordering::Release);
    }

    /// The time at which the current key began to seal; `None` if no key seals.
    pub(crate) fn seals_since(&self, now: UnixTime) -> Option<UnixTime> {
        if now.as_secs() >= self.seals_until.load(Ordering::Acquire) {
            return None;
        }
        self.tickets.get()?.seals_since(now)
    }

    pub(crate) fn has_keys(&self) -> bool {
        self.tickets.get().is_some()
    }
}

impl TicketSealer for FleetTicketSealer {
    fn seal(&self, session: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        if now.as_secs() >= self.seals_until.load(Ordering::Acquire) {
            return None;
        }
        self.tickets.get()?.seal(session, now)
    }

    fn open(&self, ticket: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.tickets.get()?.open(ticket, now)
    }

    fn lifetime(&self) -> Duration {
        self.lifetime
    }

    fn is_fips_approved(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use tercel::session::TicketKey;

    use super::*;

    fn at(seconds: u64) -> UnixTime {
        UnixTime::since_unix_epoch(Duration::from_secs(seconds))
    }

    fn keys(number: u8) -> TicketKeySet {
        let key = TicketKey::new([number; 16], &[number; 32], at(100));
        TicketKeySet::new(key, None, None).unwrap()
    }

    #[test]
    fn without_keys_nothing_is_sealed_or_opened() {
        let tickets = FleetTicketSealer::new(Duration::from_secs(60));
        assert!(!tickets.has_keys());
        assert_eq!(tickets.seal(b"session", at(200)), None);
        assert_eq!(tickets.open(&[1; 100], at(200)), None);
        assert_eq!(tickets.lifetime(), Duration::from_secs(60));
    }

    #[test]
    fn past_its_end_a_set_opens_and_does_not_seal() {
        let tickets = FleetTicketSealer::new(Duration::from_secs(60));
        tickets.set(&keys(1), 300);
        assert_eq!(tickets.seal(b"session", at(99)), None);
        let since = [99, 100, 299, 300].map(|now| tickets.seals_since(at(now)));
        assert_eq!(since, [None, Some(at(100)), Some(at(100)), None]);
        let ticket = tickets.seal(b"session", at(299)).unwrap();
        assert_eq!(tickets.seal(b"session", at(300)), None);
        assert_eq!(tickets.open(&ticket, at(340)).unwrap(), b"session");
    }

    #[test]
    fn new_keys_take_the_place_of_old_ones() {
        let tickets = FleetTicketSealer::new(Duration::from_secs(60));
        tickets.set(&keys(1), 300);
        let ticket = tickets.seal(b"session", at(200)).unwrap();
        tickets.set(&keys(2), 400);
        assert_eq!(tickets.open(&ticket, at(200)), None);
        let ticket = tickets.seal(b"session", at(399)).unwrap();
        assert_eq!(tickets.open(&ticket, at(399)).unwrap(), b"session");
    }
}

//! Tickets under random keys of a single process, which are rotated during use.
//!
//! Threads read the keys without a lock and do not wait for a rotation.

use std::process;
use std::sync::Arc;
use std::time::Duration;

use pki_types::UnixTime;
use tercel_crypto::{
    AeadAlgorithm, CryptoError, RandomNonceKey, Secret, fill_random, has_fast_aes,
};

use super::sealing::{SealingKey, TicketAead};
use super::swap::Swap;
use super::{TicketSealer, sealing};
use crate::record::limits;

/// A ticket sealer with random keys that never leave memory. A key seals tickets for one period, by
/// default six hours, and opens them for a further period.
///
/// After a fork, the child process generates its own key before it seals a ticket, and still opens
/// tickets that the parent sealed before. A fork is detected by a change of the process ID. A child
/// that keeps the ID, such as the first process of another container, shares the parent's key until
/// the next rotation. Nonces do not repeat in this case either, because they are random.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
/// use tercel::{Credential, ServerConfig, pki_types::UnixTime, session::RotatingTickets};
///
/// # fn run(credential: Credential) -> Result<(), Box<dyn std::error::Error>> {
/// let tickets = RotatingTickets::with_period(Duration::from_secs(3600), UnixTime::now())?;
/// let config = ServerConfig::builder().credential(credential).tickets(Arc::new(tickets)).build()?;
/// # let _ = config; Ok(()) }
/// ```
pub struct RotatingTickets {
    keys: Swap<Keys>,
    period: u32,
    limit: u64,
}

impl RotatingTickets {
    /// The default period, in seconds.
    pub const PERIOD: u32 = 6 * 60 * 60;

    /// Creates a sealer and generates its first key.
    ///
    /// # Errors
    /// If the random generator fails.
    pub fn new(now: UnixTime) -> Result<Self, CryptoError> {
        Self::with_period(Duration::from_secs(u64::from(Self::PERIOD)), now)
    }

    /// Creates a sealer like [`Self::new`], with another period. The period is limited to between
    /// one minute and seven days, the longest lifetime of a ticket.
    ///
    /// # Errors
    /// If the random generator fails.
    pub fn with_period(period: Duration, now: UnixTime) -> Result<Self, CryptoError> {
        let period = limits::ticket_lifetime(period).max(60);
        Self::with_limit(period, sealing::MAX_SEALS, process::id(), now)
    }

    /// Returns the time at which the current key was generated, for monitoring of key rotation.
    #[must_use]
    pub fn seals_since(&self) -> UnixTime {
        UnixTime::since_unix_epoch(Duration::from_secs(self.keys.load().current.created))
    }

    fn with_limit(
        period: u32,
        limit: u64,
        process: u32,
        now: UnixTime,
    ) -> Result<Self, CryptoError> {
        let first = Key::draw(now.as_secs(), process, limit)?;
        let keys = Keys { current: Arc::new(first), older: Vec::new() };
        Ok(Self { keys: Swap::new(keys), period, limit })
    }

    fn seal_in(&self, process: u32, session: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        if !sealing::fits(&[0; NAME], session) {
            return None;
        }
        for _ in 0..ATTEMPTS {
            let keys = self.keys.load();
            let current = &keys.current;
            if self.needs_rotation(current, now) || !current.sealing.may_seal(process) {
                self.replace(&keys, process, now)?;
                continue;
            }
            // The result is `None` if other threads have sealed the last tickets since the check.
            if let Some(ticket) = current.sealing.seal(&current.name, FORMAT, session) {
                return Some(ticket);
            }
        }
        None
    }

    /// Makes a new key the current key. If several threads do so at once, only the first succeeds,
    /// and the others use its key.
    fn replace(&self, seen: &Arc<Keys>, process: u32, now: UnixTime) -> Option<()> {
        let current = Arc::new(Key::draw(now.as_secs(), process, self.limit).ok()?);
        // Keys with a later time are kept, because the clock of this caller may be behind.
        let older = seen.newest_first().filter(|key| key.age(now) < self.twice_the_period());
        let older = older.take(MAX_OLDER).cloned().collect();
        self.keys.replace(seen, Keys { current, older });
        Some(())
    }

    /// Whether `key` has to be replaced: either its period has ended, or its time is so far in the
    /// future that the clock must have been set back.
    fn needs_rotation(&self, key: &Key, now: UnixTime) -> bool {
        key.age(now) >= u64::from(self.period) || !self.is_accepted(key, now)
    }

    /// Whether tickets of `key` are still accepted. They are accepted up to two periods after the
    /// key's generation, when its last tickets are one period old.
    fn is_accepted(&self, key: &Key, now: UnixTime) -> bool {
        now.as_secs().abs_diff(key.created) < self.twice_the_period()
    }

    fn twice_the_period(&self) -> u64 {
        u64::from(self.period).saturating_mul(2)
    }
}

impl TicketSealer for RotatingTickets {
    fn seal(&self, session: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.seal_in(process::id(), session, now)
    }

    fn open(&self, ticket: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        let (name, sealed) = ticket.split_first_chunk::<NAME>()?;
        if !sealing::has_valid_length(sealed) {
            return None;
        }
        let mut keys = self.keys.load();
        // Keys are also rotated here, so that a server that only opens tickets drops old keys. If
        // the random generator fails, the old keys are used.
        if self.needs_rotation(&keys.current, now)
            && self.replace(&keys, process::id(), now).is_some()
        {
            keys = self.keys.load();
        }
        let key = keys.newest_first().find(|key| key.name == *name)?;
        if !self.is_accepted(key, now) {
            return None;
        }
        key.sealing.open(FORMAT, sealed)
    }

    fn lifetime(&self) -> Duration {
        Duration::from_secs(self.period.into())
    }

    fn is_fips_approved(&self) -> bool {
        true
    }
}

debug_fields!(RotatingTickets: period);

/// The key that seals tickets, and older keys that still open tickets, newest first.
struct Keys {
    current: Arc<Key>,
    older: Vec<Arc<Key>>,
}

impl Keys {
    fn newest_first(&self) -> impl Iterator<Item = &Arc<Key>> {
        std::iter::once(&self.current).chain(&self.older)
    }
}

struct Key {
    name: [u8; NAME],
    sealing: SealingKey,
    /// The time at which the key was generated, in seconds since the epoch.
    created: u64,
}

impl Key {
    fn draw(created: u64, process: u32, limit: u64) -> Result<Self, CryptoError> {
        let drawn = Secret::try_with(NAME + KEY, fill_random)?;
        let mut name = [0; NAME];
        let (first, key) = drawn.as_bytes().split_at_checked(NAME).ok_or(CryptoError::Internal)?;
        name.copy_from_slice(first);
        let algorithm =
            if has_fast_aes() { AeadAlgorithm::Aes256Gcm } else { AeadAlgorithm::ChaCha20Poly1305 };
        let key = TicketAead::new(algorithm, key)?;
        Ok(Self { name, sealing: SealingKey::new(key, process, limit), created })
    }

    /// Returns the age in seconds. It is 0 if the key was generated later than `now`.
    fn age(&self, now: UnixTime) -> u64 {
        now.as_secs().saturating_sub(self.created)
    }
}

const NAME: usize = 16;
const KEY: usize = 32;

/// Identifies the layout of tickets and its version. It is authenticated with each ticket.
const FORMAT: &[u8] =
    if RandomNonceKey::IS_REQUIRED { b"tercel ticket 2" } else { b"tercel ticket 1" };

/// The maximum number of older keys. Rotation by time needs one; forks and exhausted keys add more.
const MAX_OLDER: usize = 4;

/// The number of attempts to seal a ticket. They suffice for two rounds in which the key is
/// replaced and other threads then seal all tickets of the new key.
const ATTEMPTS: usize = 4;

#[cfg(all(test, loom))]
mod models;
#[cfg(test)]
mod tests;

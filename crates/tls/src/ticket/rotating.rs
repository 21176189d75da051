//! Tickets under keys of this process alone, replaced on the fly.
//!
//! For: the default of a server that shares its tickets with nobody. No thread reads behind a lock, and
//! none waits for another's rotation. Must not know: a clock; the caller says what time it is.
//! Next: `sealing.rs`; `swap.rs`; [`super::shared`] if other processes are to open the tickets.

use core::fmt;
use std::process;
use std::sync::Arc;
use std::time::Duration;

use pki_types::UnixTime;
use tercel_crypto::{AeadAlgorithm, AeadKey, CryptoError, Secret, fill_random, has_fast_aes};

use super::sealing::{self, NONCE, SealingKey};
use super::swap::Swap;
use super::{MAX_LIFETIME, TicketSealer};

/// Seals under random keys that never leave memory. A key seals for one period, six hours by default, and
/// opens for one more.
///
/// After a fork the child draws a key of its own before it seals, and still opens what the parent sealed
/// before. A fork is noticed by the process id. What keeps the id is not: a
/// machine's snapshot started twice, or a first process of a container that forks into another.
pub struct RotatingTickets {
    keys: Swap<Keys>,
    period: u32,
    limit: u64,
}

impl RotatingTickets {
    /// The usual period, in seconds.
    pub const PERIOD: u32 = 6 * 60 * 60;

    /// Draws the first key.
    ///
    /// # Errors
    /// If there is no randomness.
    pub fn new(now: UnixTime) -> Result<Self, CryptoError> {
        Self::with_period(Duration::from_secs(u64::from(Self::PERIOD)), now)
    }

    /// With another period; it is held between one minute and seven days, the longest life of a ticket.
    ///
    /// # Errors
    /// If there is no randomness.
    pub fn with_period(period: Duration, now: UnixTime) -> Result<Self, CryptoError> {
        let period = u32::try_from(period.as_secs()).unwrap_or(u32::MAX).clamp(60, MAX_LIFETIME);
        Self::with_limit(period, sealing::SEALS, process::id(), now)
    }

    /// Since when the key that sealed last has been sealing: for those who watch that keys are replaced.
    #[must_use]
    pub fn seals_since(&self) -> UnixTime {
        UnixTime::since_unix_epoch(Duration::from_secs(self.keys.load().current.began))
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
            if self.is_due(current, now) || !current.sealing.may_seal(process) {
                self.replace(&keys, process, now)?;
                continue;
            }
            // `None` if other threads took the last nonces just now.
            if let Some(ticket) = current.sealing.seal(&current.name, FORMAT, session) {
                return Some(ticket);
            }
        }
        None
    }

    /// Puts a new key in front. Who comes second finds it done, and goes on with the winner's key.
    fn replace(&self, seen: &Arc<Keys>, process: u32, now: UnixTime) -> Option<()> {
        let current = Arc::new(Key::draw(now.as_secs(), process, self.limit).ok()?);
        // Keys of a later time stay: this caller may be the one that is behind.
        let older = seen.newest_first().filter(|key| key.age(now) < self.twice_the_period());
        let older = older.take(MAX_OLDER).cloned().collect();
        self.keys.replace(seen, Keys { current, older });
        Some(())
    }

    /// Whether `key` has sealed long enough, or comes from a time that the clock was set back from.
    fn is_due(&self, key: &Key, now: UnixTime) -> bool {
        key.age(now) >= u64::from(self.period) || !self.is_accepted(key, now)
    }

    /// Whether tickets under `key` may still be used: the last of them are one period old at the end.
    fn is_accepted(&self, key: &Key, now: UnixTime) -> bool {
        now.as_secs().abs_diff(key.began) < self.twice_the_period()
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
        if !sealing::may_be_sealed(sealed) {
            return None;
        }
        let mut keys = self.keys.load();
        // A server that only resumes lets go of its old keys too. Without randomness it keeps them.
        if self.is_due(&keys.current, now) && self.replace(&keys, process::id(), now).is_some() {
            keys = self.keys.load();
        }
        let key = keys.newest_first().find(|key| key.name == *name)?;
        if !self.is_accepted(key, now) {
            return None;
        }
        key.sealing.open(FORMAT, sealed)
    }

    fn lifetime(&self) -> u32 {
        self.period
    }
}

impl fmt::Debug for RotatingTickets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RotatingTickets").field("period", &self.period).finish_non_exhaustive()
    }
}

/// The key in use and those that may still open, newest first.
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
    /// In seconds since 1970.
    began: u64,
}

impl Key {
    fn draw(began: u64, process: u32, limit: u64) -> Result<Self, CryptoError> {
        let drawn = Secret::try_with(NAME + KEY + NONCE, fill_random)?;
        let mut name = [0; NAME];
        let mut start = [0; NONCE];
        let (first, rest) = drawn.as_bytes().split_at_checked(NAME).ok_or(CryptoError::Internal)?;
        let (key, last) = rest.split_at_checked(KEY).ok_or(CryptoError::Internal)?;
        name.copy_from_slice(first);
        start.copy_from_slice(last);
        let algorithm =
            if has_fast_aes() { AeadAlgorithm::Aes256Gcm } else { AeadAlgorithm::ChaCha20Poly1305 };
        let key = AeadKey::new(algorithm, key)?;
        Ok(Self { name, sealing: SealingKey::new(key, start, process, limit), began })
    }

    /// In seconds; 0 if the key is of a later time.
    fn age(&self, now: UnixTime) -> u64 {
        now.as_secs().saturating_sub(self.began)
    }
}

const NAME: usize = 16;
const KEY: usize = 32;

/// Bound to each ticket, with the version of the layout.
const FORMAT: &[u8] = b"tercel ticket 1";

/// One is kept by time alone. More come from forks and from keys spent early.
const MAX_OLDER: usize = 4;

/// Replacing a key and losing the new one's last nonces to others, twice, is not worth a third try.
const ATTEMPTS: usize = 4;

#[cfg(all(test, loom))]
mod models;
#[cfg(test)]
mod tests;

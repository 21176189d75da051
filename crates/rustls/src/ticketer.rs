//! Tickets of servers, under keys that are rotated.
//!
//! Threads read the keys without a lock. A ticket is the name of its key, a random nonce, and the
//! session under AES-256-GCM, or ChaCha20-Poly1305 on a processor without instructions for AES.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::{ArcSwap, Guard};
use rustls::Error;
use rustls::pki_types::UnixTime;
use rustls::server::ProducesTickets;
use tercel_crypto::{AeadAlgorithm, AeadKey, CryptoError, Secret, fill_random, has_fast_aes};

/// Makes the tickets of a server's clients, for `ServerConfig::ticketer`.
///
/// ```
/// use tercel_rustls::{Ticketer, rustls::ServerConfig};
///
/// fn enable_tickets(config: &mut ServerConfig) -> Result<(), tercel_rustls::rustls::Error> {
///     config.ticketer = Ticketer::new()?;
///     Ok(())
/// }
/// ```
#[derive(Debug)]
pub struct Ticketer(());

impl Ticketer {
    /// A ticketer with random keys, which never leave this process. A key makes tickets for six
    /// hours, and opens them for at most six more.
    ///
    /// # Errors
    /// [`Error::FailedToGetRandomBytes`] if the random generator fails.
    #[allow(clippy::new_ret_no_self, reason = "the form of rustls' own ticketers")]
    pub fn new() -> Result<Arc<dyn ProducesTickets>, Error> {
        let tickets = Tickets::new(now(), MAX_SEALS);
        Ok(Arc::new(tickets.map_err(|_| Error::FailedToGetRandomBytes)?))
    }
}

/// The keys, and the number of tickets that each may make.
struct Tickets {
    keys: ArcSwap<Keys>,
    limit: u64,
}

/// The key that makes tickets, and its predecessor.
struct Keys {
    current: Arc<Key>,
    previous: Option<Arc<Key>>,
}

impl Tickets {
    fn new(now: u64, limit: u64) -> Result<Self, CryptoError> {
        let current = Arc::new(Key::draw(now)?);
        Ok(Self { keys: ArcSwap::from_pointee(Keys { current, previous: None }), limit })
    }

    fn seal(&self, session: &[u8], now: u64) -> Option<Vec<u8>> {
        for _ in 0..ATTEMPTS {
            let keys = self.rotated(now, true)?;
            // Other threads may have made the last tickets of this key since.
            if keys.current.count_ticket(self.limit) {
                return keys.current.seal(session);
            }
        }
        None
    }

    fn open(&self, ticket: &[u8], now: u64) -> Option<Vec<u8>> {
        let (name, sealed) = ticket.split_first_chunk::<NAME>()?;
        // Keys are rotated here, too, so that a server that makes no tickets drops old keys.
        let keys = self.rotated(now, false)?;
        let previous = keys.previous.as_ref();
        let mut known = [Some(&keys.current), previous].into_iter().flatten();
        let key = known.find(|key| key.name == *name)?;
        (key.age(now) < u64::from(LIFETIME)).then(|| key.open(sealed))?
    }

    /// The keys, after a rotation if it is due. If several threads rotate at once, one of them
    /// succeeds, and the others use its keys.
    fn rotated(&self, now: u64, for_sealing: bool) -> Option<Guard<Arc<Keys>>> {
        let keys = self.keys.load();
        let age = keys.current.age(now);
        let is_used_up = for_sealing && keys.current.is_used_up(self.limit);
        if age < u64::from(PERIOD) && !is_used_up {
            return Some(keys);
        }
        let current = Arc::new(Key::draw(now).ok()?);
        let previous = (age < u64::from(LIFETIME)).then(|| Arc::clone(&keys.current));
        self.keys.compare_and_swap(&*keys, Arc::new(Keys { current, previous }));
        Some(self.keys.load())
    }
}

impl ProducesTickets for Tickets {
    fn enabled(&self) -> bool {
        true
    }

    fn lifetime(&self) -> u32 {
        LIFETIME
    }

    fn encrypt(&self, session: &[u8]) -> Option<Vec<u8>> {
        self.seal(session, now())
    }

    fn decrypt(&self, ticket: &[u8]) -> Option<Vec<u8>> {
        self.open(ticket, now())
    }
}

impl fmt::Debug for Tickets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tickets(..)")
    }
}

/// A key of tickets.
struct Key {
    name: [u8; NAME],
    key: AeadKey,
    created: u64,
    sealed: AtomicU64,
}

impl Key {
    fn draw(now: u64) -> Result<Self, CryptoError> {
        let algorithm = match has_fast_aes() {
            true => AeadAlgorithm::Aes256Gcm,
            false => AeadAlgorithm::ChaCha20Poly1305,
        };
        let key = Secret::try_with(algorithm.key_len(), fill_random)?;
        let mut name = [0; NAME];
        fill_random(&mut name)?;
        let key = AeadKey::new(algorithm, key.as_bytes())?;
        Ok(Self { name, key, created: now, sealed: AtomicU64::new(0) })
    }

    /// The age of the key; large also if the clock was set back by much.
    fn age(&self, now: u64) -> u64 {
        self.created.abs_diff(now)
    }

    fn is_used_up(&self, limit: u64) -> bool {
        self.sealed.load(Ordering::Relaxed) >= limit
    }

    /// Counts a ticket. Returns `false` if the key has made as many as it may.
    fn count_ticket(&self, limit: u64) -> bool {
        self.sealed.fetch_add(1, Ordering::Relaxed) < limit
    }

    fn seal(&self, session: &[u8]) -> Option<Vec<u8>> {
        // After a fork both processes have the key. Random nonces differ there, too.
        let mut nonce = [0; NONCE];
        fill_random(&mut nonce).ok()?;
        let length = session.len().checked_add(const { NAME + NONCE + TAG })?;
        // `opaque ticket<1..2^16-1>`. RFC 9846 4.7.1
        u16::try_from(length).ok()?;
        let mut ticket = Vec::with_capacity(length);
        ticket.extend_from_slice(&self.name);
        ticket.extend_from_slice(&nonce);
        let start = ticket.len();
        ticket.extend_from_slice(session);
        let sealed = ticket.get_mut(start..)?;
        let tag = self.key.seal_with_separate_tag(&nonce, &self.name, sealed).ok()?;
        ticket.extend_from_slice(&tag);
        Some(ticket)
    }

    fn open(&self, sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, sealed) = sealed.split_first_chunk()?;
        let mut session = sealed.to_vec();
        let length = self.key.open_in_place(nonce, &self.name, &mut session).ok()?;
        session.truncate(length);
        Some(session)
    }
}

fn now() -> u64 {
    UnixTime::now().as_secs()
}

/// For how many seconds a key makes tickets.
const PERIOD: u32 = 6 * 60 * 60;

/// For how many seconds after its creation a key opens tickets.
const LIFETIME: u32 = 2 * PERIOD;

/// The number of tickets that a key may make. Two of 2^32 random nonces are equal with a
/// probability of at most 2^-33. NIST SP 800-38D 8.3
const MAX_SEALS: u64 = 1 << 32;

/// How often a ticket is tried, if other threads use up the keys.
const ATTEMPTS: usize = 4;

const NAME: usize = 16;
const NONCE: usize = AeadAlgorithm::NONCE_LEN;
const TAG: usize = AeadAlgorithm::TAG_LEN;

#[cfg(test)]
mod tests;

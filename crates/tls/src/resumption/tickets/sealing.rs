//! Encryption of tickets under one key.
//!
//! Nonces are counted, so they never repeat under a key and need no randomness for each ticket. The
//! exception is the feature `fips`: the FIPS module draws a nonce for each ticket.

use tercel_crypto::{AeadAlgorithm, AeadKey, CryptoError, RandomNonceKey, wipe};

use crate::sync::atomic::{AtomicU64, Ordering};

/// The AEAD key of tickets. The variants are two layouts of tickets, of equal length.
pub(super) enum TicketAead {
    /// The nonce, then ciphertext and tag.
    CountedNonces(AeadKey),
    /// Ciphertext and tag, then the nonce.
    RandomNonces(RandomNonceKey),
}

impl TicketAead {
    /// Creates a key. `algorithm`, whose keys have 32 bytes, is ignored if the FIPS module requires
    /// another.
    pub(super) fn new(algorithm: AeadAlgorithm, key: &[u8]) -> Result<Self, CryptoError> {
        if RandomNonceKey::IS_REQUIRED {
            return RandomNonceKey::new(key).map(Self::RandomNonces);
        }
        AeadKey::new(algorithm, key).map(Self::CountedNonces)
    }

    /// Decrypts `sealed`, which consists of ciphertext, tag and nonce. `format` identifies the
    /// layout and is authenticated, so that a ticket of one layout cannot be interpreted as a
    /// ticket of another.
    pub(super) fn open(&self, format: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        let (session, length) = match self {
            Self::CountedNonces(key) => {
                let (nonce, sealed) = sealed.split_first_chunk()?;
                let mut session = sealed.to_vec();
                let length = key.open_in_place(nonce, format, &mut session);
                (session, length)
            }
            Self::RandomNonces(key) => {
                let mut session = sealed.to_vec();
                let length = key.open_in_place(format, &mut session);
                (session, length)
            }
        };
        let mut session = session;
        session.truncate(length.ok()?);
        Some(session)
    }
}

/// A key with which one process may seal a limited number of tickets.
pub(super) struct SealingKey {
    key: TicketAead,
    process: u32,
    /// The nonces: `prefix`, then a counter that begins at `start`. Each nonce is returned once.
    prefix: [u8; 4],
    start: u64,
    used: Counter,
    limit: u64,
}

impl SealingKey {
    /// Creates a key with which only `process` may seal: after a fork, parent and child would use
    /// the same nonces. `start` must be random; it hides the number of earlier tickets from
    /// clients.
    pub(super) fn new(key: TicketAead, start: [u8; NONCE], process: u32, limit: u64) -> Self {
        let [a, b, c, d, count @ ..] = start;
        let (prefix, start) = ([a, b, c, d], u64::from_be_bytes(count));
        Self { key, process, prefix, start, used: Counter(AtomicU64::new(0)), limit }
    }

    /// Whether this process may seal another ticket.
    pub(super) fn may_seal(&self, process: u32) -> bool {
        self.process == process && self.used.0.load(Ordering::Relaxed) < self.limit
    }

    /// Creates a ticket with `header` in plaintext and `session` encrypted. Returns `None` if no
    /// nonce is left.
    pub(super) fn seal(&self, header: &[u8], format: &[u8], session: &[u8]) -> Option<Vec<u8>> {
        let length = sealed_length(header, session)?;
        let nonce = self.next_nonce()?;
        // The session is sealed in place, since copying it costs less than zeroing a buffer.
        let mut ticket = Vec::with_capacity(length);
        ticket.extend_from_slice(header);
        if let TicketAead::CountedNonces(_) = &self.key {
            ticket.extend_from_slice(&nonce);
        }
        let start = ticket.len();
        ticket.extend_from_slice(session);
        ticket.resize(length, 0);
        let sealed = ticket.get_mut(start..)?;
        let result = match &self.key {
            TicketAead::CountedNonces(key) => {
                key.seal_in_place(&nonce, format, sealed, session.len(), &[])
            }
            TicketAead::RandomNonces(key) => key.seal_in_place(format, sealed, session.len()),
        };
        if result.is_err() {
            wipe(sealed);
            return None;
        }
        Some(ticket)
    }

    fn next_nonce(&self) -> Option<[u8; NONCE]> {
        // `Relaxed` suffices, since the number only has to be unique. It cannot wrap: an exhausted
        // key is replaced, and counting to 2^64 would take centuries.
        let used = self.used.0.fetch_add(1, Ordering::Relaxed);
        if used >= self.limit {
            return None;
        }
        let [a, b, c, d] = self.prefix;
        let [e, f, g, h, i, j, k, l] = self.start.wrapping_add(used).to_be_bytes();
        Some([a, b, c, d, e, f, g, h, i, j, k, l])
    }

    /// See [`TicketAead::open`].
    pub(super) fn open(&self, format: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        self.key.open(format, sealed)
    }
}

/// Whether the length of `sealed` is possible. This is checked before any more expensive work.
pub(super) fn has_valid_length(sealed: &[u8]) -> bool {
    (NONCE + TAG..=MAX_TICKET).contains(&sealed.len())
}

/// Whether a ticket with `session` fits in a NewSessionTicket message.
pub(super) fn fits(header: &[u8], session: &[u8]) -> bool {
    sealed_length(header, session).is_some()
}

fn sealed_length(header: &[u8], session: &[u8]) -> Option<usize> {
    let length = header.len().checked_add(NONCE + TAG)?.checked_add(session.len())?;
    (length <= MAX_TICKET).then_some(length)
}

/// An atomic counter on its own cache line: each ticket writes it, while all cores read the
/// adjacent key.
#[repr(align(64))]
struct Counter(AtomicU64);

/// The number of tickets that a key may seal. If each ticket has 64 blocks, the advantage of a
/// forger or distinguisher is at most 2^-53.
pub(super) const MAX_SEALS: u64 = 1 << 32;

pub(super) const NONCE: usize = AeadAlgorithm::NONCE_LEN;
const TAG: usize = AeadAlgorithm::TAG_LEN;

/// The maximum length of a ticket: `opaque ticket<1..2^16-1>`. RFC 9846 4.7.1
const MAX_TICKET: usize = 0xffff;

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn key(limit: u64) -> SealingKey {
        let key = AeadKey::new(AeadAlgorithm::Aes256Gcm, &[7; 32]).unwrap();
        SealingKey::new(TicketAead::CountedNonces(key), [0xff; NONCE], 1, limit)
    }

    fn random_nonce_key(limit: u64) -> SealingKey {
        let key = RandomNonceKey::new(&[7; 32]).unwrap();
        SealingKey::new(TicketAead::RandomNonces(key), [0xff; NONCE], 1, limit)
    }

    #[test]
    fn tickets_of_the_two_layouts_refuse_each_other() {
        let (counted, random) = (key(9), random_nonce_key(9));
        for session in [&b""[..], b"session", &[1; 300]] {
            let [one, other] = [&counted, &random].map(|key| key.seal(b"hd", b"f", session));
            let (one, other) = (one.unwrap(), other.unwrap());
            assert_eq!(one.len(), other.len());
            assert_eq!(counted.open(b"f", &one[2..]).unwrap(), session);
            assert_eq!(random.open(b"f", &other[2..]).unwrap(), session);
            assert_eq!(counted.open(b"f", &other[2..]), None);
            assert_eq!(random.open(b"f", &one[2..]), None);
        }
    }

    #[test]
    fn random_nonces_differ_and_are_limited() {
        let key = random_nonce_key(2);
        let [one, other] = [(); 2].map(|()| key.seal(b"hd", b"f", b"session").unwrap());
        assert_ne!(one[one.len() - NONCE..], other[other.len() - NONCE..]);
        assert_ne!(one[2..9], other[2..9]);
        assert!(!key.may_seal(1) && key.seal(b"hd", b"f", b"session").is_none());
        assert_eq!(key.open(b"g", &one[2..]), None);
        for at in 2..one.len() {
            let mut damaged = one.clone();
            damaged[at] ^= 1;
            assert_eq!(key.open(b"f", &damaged[2..]), None, "byte {at}");
            assert_eq!(key.open(b"f", &one[2..at]), None, "length {at}");
        }
    }

    fn nonce(ticket: &[u8]) -> [u8; NONCE] {
        *ticket[2..].first_chunk().unwrap()
    }

    #[test]
    fn nonces_never_repeat_also_when_the_counter_wraps() {
        let key = key(3);
        let tickets: HashSet<_> =
            (0..3).map(|_| nonce(&key.seal(b"hd", b"f", b"session").unwrap())).collect();
        assert_eq!(tickets.len(), 3);
        assert!(tickets.contains(&[0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 1]));
    }

    #[test]
    fn threads_never_share_a_nonce() {
        let key = key(4000);
        let nonces: Vec<_> = std::thread::scope(|scope| {
            let seal = || (0..1000).map(|_| nonce(&key.seal(b"hd", b"f", b"").unwrap())).collect();
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(seal)).collect();
            threads.into_iter().flat_map(|thread| -> Vec<_> { thread.join().unwrap() }).collect()
        });
        assert_eq!(nonces.iter().collect::<HashSet<_>>().len(), 4000);
        assert!(key.seal(b"hd", b"f", b"").is_none());
    }

    #[test]
    fn an_exhausted_key_opens_but_does_not_seal() {
        let key = key(1);
        let ticket = key.seal(b"hd", b"f", b"session").unwrap();
        assert!(!key.may_seal(1));
        assert_eq!(key.seal(b"hd", b"f", b"session"), None);
        assert_eq!(key.open(b"f", &ticket[2..]).unwrap(), b"session");
        assert_eq!(key.open(b"g", &ticket[2..]), None);
    }

    #[test]
    fn another_process_may_not_seal() {
        assert!(key(1).may_seal(1));
        assert!(!key(1).may_seal(2));
    }

    #[test]
    fn a_ticket_too_long_for_a_message_is_not_made() {
        let longest = vec![1; 0xffff - 2 - NONCE - TAG];
        let key = key(2);
        assert_eq!(key.seal(b"hd", b"f", &longest).unwrap().len(), 0xffff);
        assert_eq!(key.seal(b"hdr", b"f", &longest), None);
        assert!(fits(b"hd", &longest) && !fits(b"hdr", &longest));
        assert!(key.may_seal(1), "the refusal used a nonce");
    }
}

//! Encryption of tickets under one key.
//!
//! The nonce of each ticket is random. A fork that keeps its process ID, such as that of a
//! container's first process, would duplicate a counter together with the key. The random generator
//! detects such a fork, too. With the feature `fips`, the FIPS module draws the nonces.

use tercel_crypto::{AeadAlgorithm, AeadKey, CryptoError, RandomNonceKey, fill_random, wipe};

use crate::sync::atomic::{AtomicU64, Ordering};

/// The AEAD key of tickets. The variants are two layouts of tickets, of equal length.
pub(super) enum TicketAead {
    /// The nonce, then ciphertext and tag.
    NonceFirst(AeadKey),
    /// Ciphertext and tag, then the nonce.
    NonceLast(RandomNonceKey),
}

impl TicketAead {
    /// Creates a key. `algorithm`, whose keys have 32 bytes, is ignored if the FIPS module requires
    /// another.
    pub(super) fn new(algorithm: AeadAlgorithm, key: &[u8]) -> Result<Self, CryptoError> {
        if RandomNonceKey::IS_REQUIRED {
            return RandomNonceKey::new(key).map(Self::NonceLast);
        }
        AeadKey::new(algorithm, key).map(Self::NonceFirst)
    }

    /// Decrypts `sealed`, which consists of ciphertext, tag and nonce. `format` identifies the
    /// layout and is authenticated, so that a ticket of one layout cannot be interpreted as a
    /// ticket of another.
    pub(super) fn open(&self, format: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        let (session, length) = match self {
            Self::NonceFirst(key) => {
                let (nonce, sealed) = sealed.split_first_chunk()?;
                let mut session = sealed.to_vec();
                let length = key.open_in_place(nonce, format, &mut session);
                (session, length)
            }
            Self::NonceLast(key) => {
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
    used: Counter,
    limit: u64,
}

impl SealingKey {
    /// Creates a key with which only `process` may seal, so that the limit holds for each key and
    /// not for each process after a fork.
    pub(super) fn new(key: TicketAead, process: u32, limit: u64) -> Self {
        Self { key, process, used: Counter(AtomicU64::new(0)), limit }
    }

    /// Whether this process may seal another ticket.
    pub(super) fn may_seal(&self, process: u32) -> bool {
        self.process == process && self.used.0.load(Ordering::Relaxed) < self.limit
    }

    /// Creates a ticket with `header` in plaintext and `session` encrypted. Returns `None` if the
    /// limit is reached, or if the random generator fails.
    pub(super) fn seal(&self, header: &[u8], format: &[u8], session: &[u8]) -> Option<Vec<u8>> {
        let length = sealed_length(header, session)?;
        self.count_ticket()?;
        let mut nonce = [0; NONCE];
        // The session is sealed in place, since copying it costs less than zeroing a buffer.
        let mut ticket = Vec::with_capacity(length);
        ticket.extend_from_slice(header);
        if let TicketAead::NonceFirst(_) = &self.key {
            fill_random(&mut nonce).ok()?;
            ticket.extend_from_slice(&nonce);
        }
        let start = ticket.len();
        ticket.extend_from_slice(session);
        ticket.resize(length, 0);
        let sealed = ticket.get_mut(start..)?;
        let result = match &self.key {
            TicketAead::NonceFirst(key) => {
                key.seal_in_place(&nonce, format, sealed, session.len(), &[])
            }
            TicketAead::NonceLast(key) => key.seal_in_place(format, sealed, session.len()),
        };
        if result.is_err() {
            wipe(sealed);
            return None;
        }
        Some(ticket)
    }

    /// Counts a ticket. Returns `None` if the key has sealed as many as it may.
    fn count_ticket(&self) -> Option<()> {
        // `Relaxed` suffices, since nothing else depends on the number. The number cannot wrap: an
        // exhausted key is replaced, and counting to 2^64 would take centuries.
        (self.used.0.fetch_add(1, Ordering::Relaxed) < self.limit).then_some(())
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

/// The number of tickets that a key may seal, as SP 800-38D 8.3 permits for random nonces: two
/// tickets have the same nonce with a probability of at most 2^-33. If each ticket has 64 blocks,
/// the advantage of a forger or distinguisher is at most 2^-53.
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
        SealingKey::new(TicketAead::NonceFirst(key), 1, limit)
    }

    fn nonce_last_key(limit: u64) -> SealingKey {
        let key = RandomNonceKey::new(&[7; 32]).unwrap();
        SealingKey::new(TicketAead::NonceLast(key), 1, limit)
    }

    #[test]
    fn tickets_of_the_two_layouts_refuse_each_other() {
        let (first, last) = (key(9), nonce_last_key(9));
        for session in [&b""[..], b"session", &[1; 300]] {
            let [one, other] = [&first, &last].map(|key| key.seal(b"hd", b"f", session));
            let (one, other) = (one.unwrap(), other.unwrap());
            assert_eq!(one.len(), other.len());
            assert_eq!(first.open(b"f", &one[2..]).unwrap(), session);
            assert_eq!(last.open(b"f", &other[2..]).unwrap(), session);
            assert_eq!(first.open(b"f", &other[2..]), None);
            assert_eq!(last.open(b"f", &one[2..]), None);
        }
    }

    #[test]
    fn nonces_of_the_fips_module_differ_and_are_limited() {
        let key = nonce_last_key(2);
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

    /// A fork that keeps its process ID leaves two copies of a key.
    #[test]
    fn copies_of_a_key_do_not_repeat_nonces() {
        let copies = [(); 2].map(|()| key(3));
        let seal = |key: &SealingKey| nonce(&key.seal(b"hd", b"f", b"session").unwrap());
        let nonces: HashSet<_> = copies.iter().flat_map(|key| [seal(key), seal(key)]).collect();
        assert_eq!(nonces.len(), 4);
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
        assert!(key.may_seal(1), "the refusal was counted");
    }
}

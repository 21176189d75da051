//! Keys from secrets, as implementations of QUIC make them. RFC 9001 5.1, 5.2, 5.4, 6.1
//!
//! A library that makes handshakes only gives secrets, while quinn's traits give keys. For the
//! comparison, its worker makes the same keys as the others hold, with the library's own functions.

use lab_scenario::{Result, Suite};

use crate::units::Kind;
use crate::worker::FIRST_ID;

/// The functions of a library that make keys.
pub trait KeyFunctions {
    /// A key that protects packets.
    type PacketKey;
    /// A key that protects headers.
    type HeaderKey;

    /// HKDF-Extract with SHA-256.
    ///
    /// # Errors
    /// Any error of the library.
    fn extract_sha256(salt: &[u8], secret: &[u8]) -> Result<[u8; 32]>;

    /// HKDF-Expand with the hash function of the suite.
    ///
    /// # Errors
    /// Any error of the library.
    fn expand(suite: Suite, secret: &[u8], info: &[u8], out: &mut [u8]) -> Result<()>;

    /// A key to seal packets, if `sends`, or to open them.
    ///
    /// # Errors
    /// Any error of the library.
    fn packet_key(suite: Suite, key: &[u8], sends: bool) -> Result<Self::PacketKey>;

    /// A key for headers. RFC 9001 5.4.3, 5.4.4
    ///
    /// # Errors
    /// Any error of the library.
    fn header_key(suite: Suite, key: &[u8]) -> Result<Self::HeaderKey>;
}

/// The keys that an implementation of QUIC holds for a connection.
pub struct Keyring<F: KeyFunctions> {
    initial: Option<[Direction<F>; 2]>,
    handshake: Vec<Direction<F>>,
    application: Vec<Direction<F>>,
    /// The keys of the next key phase.
    next: Vec<Packets<F>>,
}

/// The keys of one direction.
struct Direction<F: KeyFunctions> {
    _packets: Packets<F>,
    _headers: F::HeaderKey,
}

struct Packets<F: KeyFunctions> {
    _key: F::PacketKey,
    _iv: [u8; 12],
}

/// The suite of Initial packets. RFC 9001 5.2
const INITIAL_SUITE: Suite = Suite::Aes128GcmSha256;

/// The salt of Initial packets in version 1. RFC 9001 5.2
const INITIAL_SALT: [u8; 20] = [
    0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34, 0xb3, 0x4d, 0x17, 0x9a, 0xe6, 0xa4, 0xc8, 0x0c, 0xad,
    0xcc, 0xbb, 0x7f, 0x0a,
];

/// The longest output of a suite's hash function.
const MAX_HASH: usize = 48;

impl<F: KeyFunctions> Keyring<F> {
    /// The keys of Initial packets.
    ///
    /// # Errors
    /// Any error of the library.
    pub fn new(is_client: bool) -> Result<Self> {
        let secret = F::extract_sha256(&INITIAL_SALT, &FIRST_ID)?;
        let direction = |label, sends| {
            Direction::new(INITIAL_SUITE, &Hash::expand::<F>(INITIAL_SUITE, &secret, label)?, sends)
        };
        let initial = [direction("client in", is_client)?, direction("server in", !is_client)?];
        let (handshake, application, next) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { initial: Some(initial), handshake, application, next })
    }

    /// Adds the keys of a secret of this level.
    ///
    /// # Errors
    /// Any error of the library.
    pub fn add(&mut self, level: Kind, suite: Suite, secret: &[u8], sends: bool) -> Result<()> {
        let keys = Direction::new(suite, secret, sends)?;
        if level == Kind::Handshake {
            self.handshake.push(keys);
            return Ok(());
        }
        self.application.push(keys);
        let next = Hash::expand::<F>(suite, secret, "quic ku")?;
        self.next.push(Packets::new(suite, &next, sends)?);
        Ok(())
    }

    /// Drops keys as an implementation of QUIC does when the handshake is confirmed.
    pub fn confirm(&mut self) {
        (self.initial, self.handshake) = (None, Vec::new());
    }

    /// Whether the keys of both directions are there.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        [self.application.len(), self.next.len()] == [2; 2]
    }
}

impl<F: KeyFunctions> Direction<F> {
    fn new(suite: Suite, secret: &[u8], sends: bool) -> Result<Self> {
        let packets = Packets::new(suite, secret, sends)?;
        let mut key = [0; 32];
        let key = key.get_mut(..key_length(suite)).ok_or("a long key")?;
        expand_label::<F>(suite, secret, "quic hp", key)?;
        Ok(Self { _packets: packets, _headers: F::header_key(suite, key)? })
    }
}

impl<F: KeyFunctions> Packets<F> {
    fn new(suite: Suite, secret: &[u8], sends: bool) -> Result<Self> {
        let (mut key, mut iv) = ([0; 32], [0; 12]);
        let key = key.get_mut(..key_length(suite)).ok_or("a long key")?;
        expand_label::<F>(suite, secret, "quic key", key)?;
        expand_label::<F>(suite, secret, "quic iv", &mut iv)?;
        Ok(Self { _key: F::packet_key(suite, key, sends)?, _iv: iv })
    }
}

/// A secret with the length of a hash function.
struct Hash {
    bytes: [u8; MAX_HASH],
    length: usize,
}

impl Hash {
    fn expand<F: KeyFunctions>(suite: Suite, secret: &[u8], label: &str) -> Result<Self> {
        let length = if suite == Suite::Aes256GcmSha384 { 48 } else { 32 };
        let mut hash = Self { bytes: [0; MAX_HASH], length };
        expand_label::<F>(suite, secret, label, &mut hash.bytes[..length])?;
        Ok(hash)
    }
}

impl std::ops::Deref for Hash {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

fn key_length(suite: Suite) -> usize {
    if suite == Suite::Aes128GcmSha256 { 16 } else { 32 }
}

/// HKDF-Expand-Label without a context. RFC 9846 7.1
fn expand_label<F: KeyFunctions>(
    suite: Suite,
    secret: &[u8],
    label: &str,
    out: &mut [u8],
) -> Result<()> {
    let mut info = Vec::with_capacity(32);
    info.extend_from_slice(&u16::try_from(out.len())?.to_be_bytes());
    info.push(u8::try_from("tls13 ".len() + label.len())?);
    info.extend_from_slice(b"tls13 ");
    info.extend_from_slice(label.as_bytes());
    info.push(0);
    F::expand(suite, secret, &info, out)
}

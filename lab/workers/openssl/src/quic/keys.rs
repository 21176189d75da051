//! The keys that an implementation of QUIC makes from secrets. RFC 9001 5.1, 5.2, 5.4
//!
//! OpenSSL gives secrets, while quinn's traits give keys, so this worker makes the same keys as the
//! other workers hold: one for packets and one for headers in each direction.

use lab_scenario::{Result, Suite};
use openssl::cipher::{Cipher, CipherRef};
use openssl::cipher_ctx::CipherCtx;
use openssl::md::{Md, MdRef};
use openssl::pkey::Id;
use openssl::pkey_ctx::{HkdfMode, PkeyCtx};

/// The suite of Initial packets. RFC 9001 5.2
const INITIAL_SUITE: Suite = Suite::Aes128GcmSha256;

/// The salt of Initial packets in version 1. RFC 9001 5.2
const INITIAL_SALT: [u8; 20] = [
    0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34, 0xb3, 0x4d, 0x17, 0x9a, 0xe6, 0xa4, 0xc8, 0x0c, 0xad,
    0xcc, 0xbb, 0x7f, 0x0a,
];

/// The longest output of a suite's hash function.
const MAX_HASH: usize = 48;

/// The keys of one direction.
pub(crate) struct Direction {
    _packets: PacketKey,
    _headers: CipherCtx,
}

impl Direction {
    /// The keys of this secret.
    pub(crate) fn new(suite: Suite, secret: &[u8], sends: bool) -> Result<Self> {
        let packets = PacketKey::new(suite, secret, sends)?;
        let mut key = [0; 32];
        let key = key.get_mut(..key_length(suite)).ok_or("a long key")?;
        expand(suite, secret, "quic hp", key)?;
        let mut headers = CipherCtx::new()?;
        headers.encrypt_init(Some(ciphers(suite).1), Some(key), None)?;
        Ok(Self { _packets: packets, _headers: headers })
    }
}

/// The keys of Initial packets, of the client and of the server.
pub(crate) fn initial(connection_id: &[u8], is_client: bool) -> Result<[Direction; 2]> {
    let (md, length) = hash(INITIAL_SUITE);
    let mut secret = [0; MAX_HASH];
    let secret = secret.get_mut(..length).ok_or("a long hash")?;
    let mut context = PkeyCtx::new_id(Id::HKDF)?;
    context.derive_init()?;
    context.set_hkdf_mode(HkdfMode::EXTRACT_ONLY)?;
    context.set_hkdf_md(md)?;
    context.set_hkdf_salt(&INITIAL_SALT)?;
    context.set_hkdf_key(connection_id)?;
    context.derive(Some(secret))?;
    let direction = |label, sends| -> Result<Direction> {
        let mut of_side = [0; MAX_HASH];
        let of_side = of_side.get_mut(..length).ok_or("a long hash")?;
        expand(INITIAL_SUITE, secret, label, of_side)?;
        Direction::new(INITIAL_SUITE, of_side, sends)
    };
    Ok([direction("client in", is_client)?, direction("server in", !is_client)?])
}

/// A key that protects packets.
pub(crate) struct PacketKey {
    _context: CipherCtx,
    _iv: [u8; 12],
}

impl PacketKey {
    fn new(suite: Suite, secret: &[u8], sends: bool) -> Result<Self> {
        let (mut key, mut iv) = ([0; 32], [0; 12]);
        let key = key.get_mut(..key_length(suite)).ok_or("a long key")?;
        expand(suite, secret, "quic key", key)?;
        expand(suite, secret, "quic iv", &mut iv)?;
        let (mut context, cipher) = (CipherCtx::new()?, ciphers(suite).0);
        if sends {
            context.encrypt_init(Some(cipher), Some(key), None)?;
        } else {
            context.decrypt_init(Some(cipher), Some(key), None)?;
        }
        Ok(Self { _context: context, _iv: iv })
    }

    /// The key of the next key phase. RFC 9001 6.1
    pub(crate) fn of_next_phase(suite: Suite, secret: &[u8], sends: bool) -> Result<Self> {
        let mut next = [0; MAX_HASH];
        let next = next.get_mut(..hash(suite).1).ok_or("a long hash")?;
        expand(suite, secret, "quic ku", next)?;
        Self::new(suite, next, sends)
    }
}

fn key_length(suite: Suite) -> usize {
    if suite == Suite::Aes128GcmSha256 { 16 } else { 32 }
}

/// The ciphers of packets and of headers. RFC 9001 5.4.3, 5.4.4
fn ciphers(suite: Suite) -> (&'static CipherRef, &'static CipherRef) {
    match suite {
        Suite::Aes128GcmSha256 => (Cipher::aes_128_gcm(), Cipher::aes_128_ecb()),
        Suite::Aes256GcmSha384 => (Cipher::aes_256_gcm(), Cipher::aes_256_ecb()),
        _ => (Cipher::chacha20_poly1305(), Cipher::chacha20()),
    }
}

/// The hash function of a suite, and the length of its output.
fn hash(suite: Suite) -> (&'static MdRef, usize) {
    match suite {
        Suite::Aes256GcmSha384 => (Md::sha384(), 48),
        _ => (Md::sha256(), 32),
    }
}

/// HKDF-Expand-Label without a context. RFC 9846 7.1
fn expand(suite: Suite, secret: &[u8], label: &str, out: &mut [u8]) -> Result<()> {
    let mut info = Vec::with_capacity(32);
    info.extend_from_slice(&u16::try_from(out.len())?.to_be_bytes());
    info.push(u8::try_from("tls13 ".len() + label.len())?);
    info.extend_from_slice(b"tls13 ");
    info.extend_from_slice(label.as_bytes());
    info.push(0);
    let mut context = PkeyCtx::new_id(Id::HKDF)?;
    context.derive_init()?;
    context.set_hkdf_mode(HkdfMode::EXPAND_ONLY)?;
    context.set_hkdf_md(hash(suite).0)?;
    context.set_hkdf_key(secret)?;
    context.add_hkdf_info(&info)?;
    context.derive(Some(out))?;
    Ok(())
}

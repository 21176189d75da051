//! The keys that an implementation of QUIC makes from secrets. RFC 9001 5.1, 5.2, 5.4
//!
//! BoringSSL gives secrets, while quinn's traits give keys, so this worker makes the same keys as
//! the other workers hold: one for packets and one for headers in each direction.

use boring::error::ErrorStack;
use boring_sys as ffi;
use lab_scenario::{Result, Suite};

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
    _headers: HeaderKey,
}

impl Direction {
    /// The keys of this secret.
    pub(crate) fn new(suite: Suite, secret: &[u8]) -> Result<Self> {
        Ok(Self {
            _packets: PacketKey::new(suite, secret)?,
            _headers: HeaderKey::new(suite, secret)?,
        })
    }
}

/// The keys of Initial packets, of the client and of the server.
pub(crate) fn initial(connection_id: &[u8]) -> Result<[Direction; 2]> {
    let (mut secret, mut length) = ([0; MAX_HASH], 0);
    // SAFETY: the output has room for every hash function, and all lengths are those of the slices.
    let extracted = unsafe {
        ffi::HKDF_extract(
            secret.as_mut_ptr(),
            &raw mut length,
            hash(INITIAL_SUITE).0,
            connection_id.as_ptr(),
            connection_id.len(),
            INITIAL_SALT.as_ptr(),
            INITIAL_SALT.len(),
        )
    };
    done(extracted)?;
    let secret = secret.get(..length).ok_or("a long hash")?;
    let direction = |label| -> Result<Direction> {
        let (of_side, length) = expand_hash(INITIAL_SUITE, secret, label)?;
        Direction::new(INITIAL_SUITE, of_side.get(..length).unwrap_or_default())
    };
    Ok([direction("client in")?, direction("server in")?])
}

/// A key that protects packets.
pub(crate) struct PacketKey {
    context: *mut ffi::EVP_AEAD_CTX,
    _iv: [u8; 12],
}

impl PacketKey {
    /// The key of this secret.
    pub(crate) fn new(suite: Suite, secret: &[u8]) -> Result<Self> {
        let (mut key, mut iv) = ([0; 32], [0; 12]);
        let key = key.get_mut(..key_length(suite)).ok_or("a long key")?;
        expand(suite, secret, "quic key", key)?;
        expand(suite, secret, "quic iv", &mut iv)?;
        // SAFETY: the key has the length of the algorithm; null means failure.
        let context = unsafe {
            let algorithm = match suite {
                Suite::Aes128GcmSha256 => ffi::EVP_aead_aes_128_gcm(),
                Suite::Aes256GcmSha384 => ffi::EVP_aead_aes_256_gcm(),
                _ => ffi::EVP_aead_chacha20_poly1305(),
            };
            ffi::EVP_AEAD_CTX_new(algorithm, key.as_ptr(), key.len(), 0)
        };
        if context.is_null() {
            Err(ErrorStack::get().into())
        } else {
            Ok(Self { context, _iv: iv })
        }
    }

    /// The key of the next key phase. RFC 9001 6.1
    pub(crate) fn of_next_phase(suite: Suite, secret: &[u8]) -> Result<Self> {
        let (next, length) = expand_hash(suite, secret, "quic ku")?;
        Self::new(suite, next.get(..length).unwrap_or_default())
    }
}

impl Drop for PacketKey {
    fn drop(&mut self) {
        // SAFETY: the context was allocated by `EVP_AEAD_CTX_new`.
        unsafe { ffi::EVP_AEAD_CTX_free(self.context) };
    }
}

/// A key that protects headers. RFC 9001 5.4
enum HeaderKey {
    Aes { _key: Box<ffi::AES_KEY> },
    ChaCha20 { _key: [u8; 32] },
}

impl HeaderKey {
    fn new(suite: Suite, secret: &[u8]) -> Result<Self> {
        let mut bytes = [0; 32];
        let key = bytes.get_mut(..key_length(suite)).ok_or("a long key")?;
        expand(suite, secret, "quic hp", key)?;
        if suite == Suite::ChaCha20Poly1305Sha256 {
            return Ok(Self::ChaCha20 { _key: bytes });
        }
        let (mut expanded, bits) =
            (Box::<ffi::AES_KEY>::new_uninit(), u32::try_from(key.len() * 8)?);
        // SAFETY: the key has the given length, and the call initialises its output if it succeeds.
        unsafe {
            if ffi::AES_set_encrypt_key(key.as_ptr(), bits, expanded.as_mut_ptr()) != 0 {
                return Err("no AES key".into());
            }
            Ok(Self::Aes { _key: expanded.assume_init() })
        }
    }
}

fn key_length(suite: Suite) -> usize {
    if suite == Suite::Aes128GcmSha256 { 16 } else { 32 }
}

/// The hash function of a suite, and the length of its output.
fn hash(suite: Suite) -> (*const ffi::EVP_MD, usize) {
    // SAFETY: these functions have no conditions.
    unsafe {
        match suite {
            Suite::Aes256GcmSha384 => (ffi::EVP_sha384(), 48),
            _ => (ffi::EVP_sha256(), 32),
        }
    }
}

/// HKDF-Expand-Label with the length of the suite's hash function. Returns that length, too.
fn expand_hash(suite: Suite, secret: &[u8], label: &str) -> Result<([u8; MAX_HASH], usize)> {
    let (mut out, length) = ([0; MAX_HASH], hash(suite).1);
    expand(suite, secret, label, out.get_mut(..length).ok_or("a long hash")?)?;
    Ok((out, length))
}

/// HKDF-Expand-Label without a context. RFC 9846 7.1
fn expand(suite: Suite, secret: &[u8], label: &str, out: &mut [u8]) -> Result<()> {
    let mut info = Vec::with_capacity(32);
    info.extend_from_slice(&u16::try_from(out.len())?.to_be_bytes());
    info.push(u8::try_from("tls13 ".len() + label.len())?);
    info.extend_from_slice(b"tls13 ");
    info.extend_from_slice(label.as_bytes());
    info.push(0);
    // SAFETY: all lengths are those of the slices.
    done(unsafe {
        ffi::HKDF_expand(
            out.as_mut_ptr(),
            out.len(),
            hash(suite).0,
            secret.as_ptr(),
            secret.len(),
            info.as_ptr(),
            info.len(),
        )
    })
}

fn done(result: std::ffi::c_int) -> Result<()> {
    if result == 1 { Ok(()) } else { Err(ErrorStack::get().into()) }
}

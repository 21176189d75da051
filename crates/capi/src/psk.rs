//! External pre-shared keys.

use core::ptr;
use std::sync::Arc;

use tercel::crypto::HashAlgorithm;
use tercel::psk::{FindPreSharedKey, PreSharedKey, PreSharedKeyError, PreSharedKeyRequest};
use zeroize::Zeroizing;

use crate::entry::pointers::{self, Memory, Place};
use crate::entry::{Result, entry, shared};
use crate::status::codes::TERCEL_MISUSE_UNKNOWN_NUMBER;
use crate::status::{self, Status};

/// An external pre-shared key, shared by any number of configurations and threads.
pub struct Psk {
    parameters: Parameters,
    /// The keys for handshakes: one, or one for each hash if the key is imported.
    pub(crate) keys: Vec<Arc<PreSharedKey>>,
}

/// The arguments from which the keys are made.
struct Parameters {
    identity: Vec<u8>,
    /// The context of an imported key.
    context: Option<Vec<u8>>,
    secret: Zeroizing<Vec<u8>>,
    hash: HashAlgorithm,
}

/// The hash function of a pre-shared key.
pub type Hash = u32;

/// SHA-256, which is the default if the peers agreed on none.
pub const TERCEL_HASH_SHA256: Hash = 1;
/// SHA-384.
pub const TERCEL_HASH_SHA384: Hash = 2;

impl Parameters {
    fn make(&self) -> core::result::Result<Vec<PreSharedKey>, PreSharedKeyError> {
        let Self { identity, context, secret, hash } = self;
        match context {
            None => Ok(vec![PreSharedKey::external(identity, secret, *hash)?]),
            Some(context) => Ok(PreSharedKey::import(identity, context, secret, *hash)?.into()),
        }
    }

    fn into_handle(self) -> Result<*const Psk> {
        let keys = self.make().map_err(status::of_psk)?;
        Ok(shared::new(Psk { parameters: self, keys: keys.into_iter().map(Arc::new).collect() }))
    }
}

impl Psk {
    /// Returns the keys once more, for a client's configuration.
    pub(crate) fn make(&self) -> Result<Vec<PreSharedKey>> {
        self.parameters.make().map_err(status::of_psk)
    }
}

/// Creates a key that is used as it is. It has at least 16 random bytes; a password is not
/// suitable. Both peers need the same hash. RFC 9846 4.3.11, RFC 9257
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_psk_external(
    identity: *const u8,
    identity_len: usize,
    key: *const u8,
    key_len: usize,
    hash: Hash,
    psk: *mut *const Psk,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let mut place = Place::new(psk, ptr::null())?;
        let identity = pointers::slice(identity, identity_len)?;
        let key = pointers::slice(key, key_len)?;
        place.separate(&[Memory::of(identity), Memory::of(key)])?;
        let parameters = Parameters {
            identity: identity.to_vec(),
            context: None,
            secret: Zeroizing::new(key.to_vec()),
            hash: algorithm(hash)?,
        };
        place.set(parameters.into_handle()?);
        Ok(())
    })
}

/// Creates a key by the import of an external key, for suites with any hash. The context may be
/// empty (NULL and 0); both peers need the same. RFC 9258
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_psk_import(
    identity: *const u8,
    identity_len: usize,
    context: *const u8,
    context_len: usize,
    key: *const u8,
    key_len: usize,
    hash: Hash,
    psk: *mut *const Psk,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let mut place = Place::new(psk, ptr::null())?;
        let identity = pointers::slice(identity, identity_len)?;
        let context = pointers::slice_or_empty(context, context_len)?;
        let key = pointers::slice(key, key_len)?;
        place.separate(&[Memory::of(identity), Memory::of(context), Memory::of(key)])?;
        let parameters = Parameters {
            identity: identity.to_vec(),
            context: Some(context.to_vec()),
            secret: Zeroizing::new(key.to_vec()),
            hash: algorithm(hash)?,
        };
        place.set(parameters.into_handle()?);
        Ok(())
    })
}

fn algorithm(hash: Hash) -> Result<HashAlgorithm> {
    match hash {
        TERCEL_HASH_SHA256 => Ok(HashAlgorithm::Sha256),
        TERCEL_HASH_SHA384 => Ok(HashAlgorithm::Sha384),
        _ => Err(TERCEL_MISUSE_UNKNOWN_NUMBER),
    }
}

/// A server's keys. The first one that fits is selected.
pub(crate) struct ServerKeys(pub(crate) Vec<Arc<PreSharedKey>>);

impl FindPreSharedKey for ServerKeys {
    fn find_pre_shared_key(&self, request: &PreSharedKeyRequest<'_>) -> Option<Arc<PreSharedKey>> {
        find(&self.0, request)
    }

    fn knows(&self, _: &[u8], fingerprint: &[u8; 32]) -> bool {
        self.0.iter().any(|key| key.fingerprint() == *fingerprint)
    }
}

/// Finds a key that fits, with the most preferred hash that has one.
pub(crate) fn find(
    keys: &[Arc<PreSharedKey>],
    request: &PreSharedKeyRequest<'_>,
) -> Option<Arc<PreSharedKey>> {
    request.hashes.iter().find_map(|hash| {
        keys.iter().find(|key| key.hash() == *hash && request.fits(key)).map(Arc::clone)
    })
}

/// Adds a reference to a key, which tercel_psk_release removes. Returns its argument.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_psk_retain(psk: *const Psk) -> *const Psk {
    // SAFETY: the caller's duty.
    unsafe { shared::retain(psk) }
}

/// Removes a reference to a key; the last one frees it. NULL has no effect.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_psk_release(psk: *const Psk) {
    // SAFETY: the caller's duty.
    _ = entry(|| unsafe { shared::release(psk) });
}

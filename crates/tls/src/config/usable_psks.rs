//! The pre-shared keys of a client that can be offered. RFC 9846 4.3.11

use std::sync::Arc;

use super::common::Common;
use crate::error::config::ConfigError;
use crate::psk::PreSharedKey;

/// Returns the keys whose hash is also the hash of an enabled cipher suite. It is an error if there
/// are keys, but none of them is usable.
pub(crate) fn keys(
    mut keys: Vec<Arc<PreSharedKey>>,
    common: &Common,
) -> Result<Vec<Arc<PreSharedKey>>, ConfigError> {
    if keys.is_empty() {
        return Ok(keys);
    }
    keys.retain(|key| common.has_hash13(key.hash()));
    if keys.is_empty() {
        return Err(ConfigError::UnusablePreSharedKeys);
    }
    let mut identities: Vec<&[u8]> = keys.iter().map(|key| key.identity()).collect();
    identities.sort_unstable();
    identities.dedup();
    let bytes = identities.iter().map(|identity| identity.len()).fold(0, usize::saturating_add);
    if identities.len() != keys.len() || keys.len() > MAX_KEYS || bytes > MAX_IDENTITY_BYTES {
        return Err(ConfigError::TooManyPreSharedKeys);
    }
    Ok(keys)
}

/// The maximum number of keys. Each key adds a binder, and servers need not examine more.
const MAX_KEYS: usize = 16;

/// The maximum total length of the identities, so that the other extensions fit too.
const MAX_IDENTITY_BYTES: usize = 32768;

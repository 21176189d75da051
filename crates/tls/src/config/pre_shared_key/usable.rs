//! A client's pre-shared keys: which of those given can be offered. RFC 9846 4.3.11
//!
//! Must not know: what else a hello holds. Next: `config/client.rs`, its caller.

use std::sync::Arc;

use super::PreSharedKey;
use crate::config::common::Common;
use crate::config::error::ConfigError;

/// The keys that a suite of ours goes with. Of those at least one, or it was not worth giving any.
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

/// A server need not look at more, and each costs a binder.
const MAX_KEYS: usize = 16;

/// What leaves room for everything else in a ClientHello.
const MAX_IDENTITY_BYTES: usize = 32768;

//! Errors of `tercel-crypto` as errors of rustls.

use std::sync::Arc;

use rustls::{Error, OtherError};
use tercel_crypto::CryptoError;

/// A failure that rustls has no name for. The cause is the source of the error.
pub(crate) fn other(error: CryptoError) -> Error {
    OtherError(Arc::new(error)).into()
}

//! The place of the configurations for QUIC in the configuration from which they are derived.

use std::sync::{Arc, OnceLock};

use crate::error::config::ConfigError;
use crate::keys::quic::Version;

/// The configurations for QUIC that are derived from one of an application: one for each version of
/// QUIC, once it is needed. A clone is empty, because the options of a cloned configuration may be
/// changed.
pub(crate) struct DerivedForQuic<C> {
    v1: OnceLock<Derived<C>>,
    v2: OnceLock<Derived<C>>,
}

type Derived<C> = Result<Arc<C>, ConfigError>;

impl<C> DerivedForQuic<C> {
    pub(super) fn new() -> Self {
        Self { v1: OnceLock::new(), v2: OnceLock::new() }
    }

    pub(super) fn get_or_derive(
        &self,
        version: Version,
        derive: impl FnOnce() -> Derived<C>,
    ) -> Derived<C> {
        let derived = match version {
            Version::V1 => &self.v1,
            Version::V2 => &self.v2,
        };
        derived.get_or_init(derive).clone()
    }
}

impl<C> Clone for DerivedForQuic<C> {
    fn clone(&self) -> Self {
        Self::new()
    }
}

//! The verifiers that come with the library: a chain of certificates, and none at all.
//!
//! Must not know: handshakes. Next: the crate `tercel-pki`, which does the work.

use core::fmt;
use std::sync::Arc;

use tercel_pki::{ChainVerifier, Refusal, Roots, Usage};

use super::common::ConfigError;
use super::policy::{PeerIdentity, Policy, Side, VerifyPeer};

/// Trusts peers whose certificate chain ends in a trusted root: names for servers, usage for both.
pub struct ChainPolicy {
    verifier: ChainVerifier,
    authorities: Vec<Vec<u8>>,
}

impl ChainPolicy {
    /// Trusts these roots, without revocation lists or pins.
    ///
    /// # Errors
    /// [`ConfigError::NothingTrusted`] if there is no root.
    pub fn new(roots: Roots) -> Result<Self, ConfigError> {
        let verifier = ChainVerifier::builder(Arc::new(roots)).build();
        verifier.map(Self::with_verifier).map_err(|_| ConfigError::NothingTrusted)
    }

    /// Uses a chain verifier with settings of its own.
    #[must_use]
    pub fn with_verifier(verifier: ChainVerifier) -> Self {
        let authorities = verifier.roots().subjects().collect();
        Self { verifier, authorities }
    }
}

impl VerifyPeer for ChainPolicy {
    fn verify_peer(&self, identity: &PeerIdentity<'_>) -> Result<(), Box<Refusal>> {
        let usage = match identity.side {
            Side::Server => Usage::Server,
            Side::Client => Usage::Client,
        };
        self.verifier
            .verify(
                usage,
                identity.chain,
                identity.server_name,
                identity.ocsp_response,
                identity.now,
            )
            .map(|_| ())
    }

    fn authorities(&self) -> Vec<Vec<u8>> {
        self.authorities.clone()
    }
}

impl fmt::Debug for ChainPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChainPolicy").finish_non_exhaustive()
    }
}

/// The policy that trusts chains ending in these roots.
pub(crate) fn from_roots(roots: Roots) -> Result<Policy<dyn VerifyPeer>, ConfigError> {
    ChainPolicy::new(roots).map(|policy| Policy::Here(Arc::new(policy) as Arc<dyn VerifyPeer>))
}

/// Trusts every peer. The connection is encrypted, to whoever answers: for tests and diagnosis only.
#[derive(Clone, Copy, Debug, Default)]
pub struct AcceptAnyPeer;

impl VerifyPeer for AcceptAnyPeer {
    fn verify_peer(&self, _: &PeerIdentity<'_>) -> Result<(), Box<Refusal>> {
        Ok(())
    }
}

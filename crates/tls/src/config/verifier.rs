//! The verifiers that come with the library: a chain of certificates, and none at all.
//!
//! Must not know: handshakes. Next: the crate `tercel-pki`, which does the work.

use core::fmt;

use tercel_pki::{ChainVerifier, Refusal, Roots, Usage};

use super::policy::{PeerIdentity, Side, VerifyPeer};

/// Trusts peers whose certificate chain ends in a trusted root: names for servers, usage for both.
pub struct ChainPolicy {
    verifier: ChainVerifier,
    authorities: Vec<Vec<u8>>,
}

impl ChainPolicy {
    /// Trusts these roots, without revocation lists or pins.
    #[must_use]
    pub fn new(roots: Roots) -> Self {
        Self::with_verifier(ChainVerifier::new(roots))
    }

    /// Uses a chain verifier with settings of its own.
    #[must_use]
    pub fn with_verifier(verifier: ChainVerifier) -> Self {
        let authorities = verifier.roots().subjects().map(<[u8]>::to_vec).collect();
        Self { verifier, authorities }
    }
}

impl VerifyPeer for ChainPolicy {
    fn verify_peer(&self, identity: &PeerIdentity<'_>) -> Result<(), Refusal> {
        let usage = match identity.side {
            Side::Server => Usage::Server,
            Side::Client => Usage::Client,
        };
        self.verifier
            .verify(usage, identity.chain, identity.server_name, identity.ocsp_response, identity.now)
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

/// Trusts every peer. The connection is encrypted, to whoever answers: for tests and diagnosis only.
#[derive(Clone, Copy, Debug, Default)]
pub struct AcceptAnyPeer;

impl VerifyPeer for AcceptAnyPeer {
    fn verify_peer(&self, _: &PeerIdentity<'_>) -> Result<(), Refusal> {
        Ok(())
    }
}

//! What a client offers in pre-shared keys, as a server's application sees it. RFC 9846 4.3.11
//!
//! Must not know: which keys there are. Next: [`super::set`], `config/policy.rs`.

use core::fmt;

use tercel_crypto::HashAlgorithm;
use tercel_wire::{List, PskIdentity, SignatureScheme};

use super::PreSharedKey;
use crate::record::limits;

/// The keys that a client would use, and what a key must fit.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct PreSharedKeyRequest<'a> {
    /// The hashes of the suites in common, that of the suite we like best first: a key with another hash
    /// cannot be used, and one with a later hash decides on another suite.
    pub hashes: &'a [HashAlgorithm],
    /// The host name that the client asked for.
    pub server_name: Option<&'a str>,
    /// What the client can verify in signatures: `None` if it wants no certificate in place of a key.
    pub signature_schemes: Option<List<'a, SignatureScheme>>,
    pub(crate) identities: List<'a, PskIdentity<'a>>,
}

impl<'a> PreSharedKeyRequest<'a> {
    /// The identities, in the client's order; tickets may be among them. After the first
    /// 32 the rest is not looked at.
    pub fn identities(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.identities.iter().map(|each| each.identity).take(limits::MAX_PSK_IDENTITIES)
    }

    /// Whether this key is among those offered and its hash among those possible.
    #[must_use]
    pub fn fits(&self, key: &PreSharedKey) -> bool {
        self.hashes.contains(&key.hash()) && self.identities().any(|name| name == key.identity())
    }
}

impl fmt::Debug for PreSharedKeyRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("PreSharedKeyRequest");
        shown.field("hashes", &self.hashes).field("server_name", &self.server_name);
        shown.field("signature_schemes", &self.signature_schemes).finish_non_exhaustive()
    }
}

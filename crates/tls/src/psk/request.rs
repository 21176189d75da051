//! The interface of a server's external pre-shared key store. RFC 9846 4.3.11

use std::sync::Arc;

use tercel_crypto::HashAlgorithm;
use tercel_wire::{List, PskIdentity, SignatureScheme};

use super::PreSharedKey;
use crate::record::limits;

/// The pre-shared keys that a client offers, and the negotiated conditions for their use.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct PreSharedKeyRequest<'a> {
    /// The hashes of the common suites, in the server's order of preference. A key with another
    /// hash cannot be used. A key whose hash is later in this list causes a less preferred suite to
    /// be selected.
    pub hashes: &'a [HashAlgorithm],
    /// The server name that the client sent.
    pub server_name: Option<&'a str>,
    /// The client's signature schemes. `None` if the client does not accept a certificate instead
    /// of a pre-shared key.
    pub signature_schemes: Option<List<'a, SignatureScheme>>,
    pub(crate) identities: List<'a, PskIdentity<'a>>,
}

impl<'a> PreSharedKeyRequest<'a> {
    /// Returns the first 32 identities, in the client's order. Some may be tickets. Further
    /// identities are ignored.
    pub fn identities(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.identities.iter().map(|each| each.identity).take(limits::MAX_PSK_IDENTITIES)
    }

    /// Returns whether the client offers this key, and a common suite has the hash of the key.
    #[must_use]
    pub fn fits(&self, key: &PreSharedKey) -> bool {
        self.hashes.contains(&key.hash()) && self.identities().any(|name| name == key.identity())
    }
}

debug_fields!(PreSharedKeyRequest<'_>: hashes, server_name, signature_schemes);

/// A server's external pre-shared key store. RFC 9846 4.3.11
///
/// An example with a single key:
///
/// ```
/// use std::sync::Arc;
/// use tercel::psk::{FindPreSharedKey, PreSharedKey, PreSharedKeyRequest};
///
/// struct Tenant(Arc<PreSharedKey>);
///
/// impl FindPreSharedKey for Tenant {
///     fn find_pre_shared_key(
///         &self,
///         request: &PreSharedKeyRequest<'_>,
///     ) -> Option<Arc<PreSharedKey>> {
///         request.fits(&self.0).then(|| Arc::clone(&self.0))
///     }
///
///     fn knows(&self, _: &[u8], fingerprint: &[u8; 32]) -> bool {
///         *fingerprint == self.0.fingerprint()
///     }
/// }
/// ```
pub trait FindPreSharedKey: Send + Sync {
    /// Returns the key to use. `None` if the server knows none of the offered keys, or prefers to
    /// present a certificate. A key that the client did not offer, or whose hash belongs to no
    /// common suite, is ignored: see [`PreSharedKeyRequest::fits`].
    ///
    /// The identity of an imported key can be parsed with [`tercel_wire::ImportedIdentity::parse`],
    /// and the key created with [`PreSharedKey::import`].
    fn find_pre_shared_key(&self, request: &PreSharedKeyRequest<'_>) -> Option<Arc<PreSharedKey>>;

    /// Returns whether a session of the key with this [external
    /// identity](PreSharedKey::external_identity) and [fingerprint](PreSharedKey::fingerprint) may
    /// be resumed. The result should be `true` only if a full handshake with this key would be
    /// accepted now, so `false` for a removed key.
    ///
    /// Servers that share ticket keys or a store can open each other's sessions, so a wrong `true`
    /// accepts a client of another server. The identity does not suffice for the decision: a key
    /// that replaced this one, or the key of another tenant, may have the same identity. The
    /// fingerprint distinguishes them.
    fn knows(&self, external_identity: &[u8], fingerprint: &[u8; 32]) -> bool;
}

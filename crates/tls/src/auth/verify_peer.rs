//! [`VerifyPeer`]: the decision whether to trust a peer.

use core::fmt;

use pki_types::{CertificateDer, UnixTime};
use tercel_pki::{Refusal, RefusalReason, ServerName};

use crate::side::Side;

/// The certificate chain or raw public key that a peer presented, for [`VerifyPeer`].
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct PeerIdentity<'a> {
    /// Whether the peer is the client or the server.
    pub side: Side,
    /// The certificate chain, leaf first; empty if and only if there is a raw public key.
    pub chain: &'a [CertificateDer<'a>],
    /// The raw public key, a SubjectPublicKeyInfo (DER), in place of a chain. It is present only if
    /// the configuration accepts this certificate type. RFC 7250
    pub raw_public_key: Option<&'a [u8]>,
    /// The name for which the server has to be authenticated; `None` for clients.
    pub server_name: Option<&'a ServerName<'a>>,
    /// Whether a stapled OCSP response was requested.
    pub ocsp_requested: bool,
    /// The stapled OCSP response (DER). RFC 6066 8
    pub ocsp_response: Option<&'a [u8]>,
    /// The `SignedCertificateTimestampList` of the leaf. RFC 6962 3.3
    pub signed_certificate_timestamps: Option<&'a [u8]>,
    /// The current time of the configuration's clock.
    pub now: UnixTime,
    /// Whether the peer was authenticated by an earlier handshake, whose session is to be resumed.
    /// A refusal then leads to a full handshake.
    pub resumed: bool,
}

impl PeerIdentity<'_> {
    /// Creates a refusal of this peer, which a verifier returns as its error.
    ///
    /// [`VerifyPeer`] has an example.
    #[must_use]
    pub fn refusal(&self, reason: RefusalReason) -> Refusal {
        Refusal::new(reason, self.chain, self.server_name, self.now)
    }
}

/// The output contains no certificates.
impl fmt::Debug for PeerIdentity<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PeerIdentity")
            .field("side", &self.side)
            .field("certificates", &self.chain.len())
            .field("raw_public_key", &self.raw_public_key.is_some())
            .field("server_name", &self.server_name)
            .field("now", &self.now)
            .finish_non_exhaustive()
    }
}

/// A verifier of peers' identities.
///
/// It decides alone whether a peer is trusted, so it has to verify the chain, for instance with a
/// [`ChainPolicy`](crate::certificates::ChainPolicy) or a [`ChainVerifier`]. This one accepts
/// servers and clients by their SPIFFE ID, whatever name the client requested:
///
/// ```
/// use tercel::certificates::{PeerIdentity, VerifyPeer};
/// use tercel::pki::{ChainVerifier, Refusal, RefusalReason, Usage, spiffe_id};
/// use tercel::{ClientConfig, Policy, Side, error::ConfigError};
///
/// struct Service {
///     chains: ChainVerifier, // ChainVerifier::builder(Arc::new(roots)).build()?
///     id: &'static str,
/// }
///
/// impl VerifyPeer for Service {
///     fn verify_peer(&self, identity: &PeerIdentity<'_>) -> Result<(), Box<Refusal>> {
///         let usage = match identity.side {
///             Side::Client => Usage::Client,
///             Side::Server => Usage::Server,
///         };
///         // `None` accepts any name.
///         self.chains.verify(usage, identity.chain, None, None, identity.now)?;
///         let id = identity.chain.first().and_then(|leaf| spiffe_id(leaf).ok()?);
///         if id.as_deref() == Some(self.id) {
///             return Ok(());
///         }
///         let refusal = identity.refusal(RefusalReason::NameMismatch);
///         Err(Box::new(refusal.with_explanation("another SPIFFE ID")))
///     }
/// }
///
/// fn client(chains: ChainVerifier) -> Result<std::sync::Arc<ClientConfig>, ConfigError> {
///     let verifier = Service { chains, id: "spiffe://example.org/orders" };
///     ClientConfig::builder().verifier(Policy::Here(std::sync::Arc::new(verifier))).build()
/// }
/// ```
///
/// A server passes it to [`client_verifier`](crate::server::ServerConfigBuilder::client_verifier).
/// Without a [fingerprint](Self::fingerprint), sessions are resumed only by the same configuration,
/// or, among configurations with the same `session_context`, once this verifier has accepted the
/// peer again ([`PeerIdentity::resumed`]).
///
/// [`ChainVerifier`]: crate::pki::ChainVerifier
pub trait VerifyPeer: Send + Sync {
    /// Verifies that the chain or raw public key is trusted for this name and at this time.
    ///
    /// # Errors
    /// A [`Refusal`] with the reason. [`crate::Handshake::refusal`] returns it.
    fn verify_peer(&self, identity: &PeerIdentity<'_>) -> Result<(), Box<Refusal>>;

    /// Returns a digest of everything that this verifier's decisions depend on, or `None` if that
    /// is unknown. A session is resumed only if the fingerprint is the same as when the session was
    /// established.
    fn fingerprint(&self) -> Option<[u8; 32]> {
        None
    }

    /// Returns whether this verifier verifies signatures only by this library: with a
    /// [`ChainVerifier`](crate::pki::ChainVerifier), or not at all if it compares keys. Default:
    /// false; then a configuration with this verifier is not approved in the sense of
    /// [FIPS 140-3](crate::fips).
    fn is_fips_approved(&self) -> bool {
        false
    }

    /// Returns the names (DER) of the trusted authorities, which servers send in
    /// `CertificateRequest`. RFC 9846 4.3.4
    fn authorities(&self) -> Vec<Vec<u8>> {
        Vec::new()
    }
}

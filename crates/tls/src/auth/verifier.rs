//! The verifiers of this library: certificate chains, raw public keys, every peer, and no peer.

use std::sync::{Arc, OnceLock};

use pki_types::SubjectPublicKeyInfoDer;
use tercel_crypto::PartsHash;
use tercel_pki::{ChainVerifier, Refusal, RefusalReason, Roots, Staple, Usage};
use tercel_wire::CertificateType;

use super::verify_peer::{PeerIdentity, VerifyPeer};
use crate::error::config::ConfigError;
use crate::policy::Policy;
use crate::side::Side;

/// A verifier of certificate chains. It accepts a chain that ends in a trusted root and has the key
/// usage of the peer's side. A server's chain must also be valid for the server's name.
pub struct ChainPolicy {
    verifier: ChainVerifier,
    // The authorities and the fingerprint are computed on first use: clients send no authorities,
    // and only resumption needs the fingerprint.
    authorities: OnceLock<Vec<Vec<u8>>>,
    fingerprint: OnceLock<[u8; 32]>,
}

impl ChainPolicy {
    /// Creates a verifier that trusts these roots, without revocation lists or pins.
    ///
    /// # Errors
    /// [`ConfigError::NoTrustConfigured`] if there is no root.
    pub fn new(roots: Roots) -> Result<Self, ConfigError> {
        let verifier = ChainVerifier::builder(Arc::new(roots)).build();
        verifier.map(Self::with_verifier).map_err(|_| ConfigError::NoTrustConfigured)
    }

    /// Creates a verifier from a [`ChainVerifier`], which has further settings: revocation lists,
    /// pins, OCSP responses.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tercel::pki::{ChainVerifier, OcspPolicy, Roots};
    /// use tercel::{certificates::ChainPolicy, client::ClientConfigBuilder, Policy};
    ///
    /// /// Requires servers to staple an OCSP response.
    /// fn with_staples(
    ///     client: ClientConfigBuilder,
    ///     roots: Roots,
    /// ) -> Result<ClientConfigBuilder, Box<dyn std::error::Error>> {
    ///     let verifier = ChainVerifier::builder(Arc::new(roots)).ocsp_policy(OcspPolicy::Require);
    ///     let policy = ChainPolicy::with_verifier(verifier.build()?);
    ///     Ok(client.verifier(Policy::Here(Arc::new(policy))))
    /// }
    /// ```
    #[must_use]
    pub fn with_verifier(verifier: ChainVerifier) -> Self {
        let (authorities, fingerprint) = (OnceLock::new(), OnceLock::new());
        Self { verifier, authorities, fingerprint }
    }
}

impl VerifyPeer for ChainPolicy {
    fn verify_peer(&self, identity: &PeerIdentity<'_>) -> Result<(), Box<Refusal>> {
        let usage = match identity.side {
            Side::Server => Usage::Server,
            Side::Client => Usage::Client,
        };
        let staple = identity.ocsp_response.map_or(Staple::Missing, Staple::Response);
        self.verifier
            .verify(
                usage,
                identity.chain,
                identity.server_name,
                identity.ocsp_requested.then_some(staple),
                identity.now,
            )
            .map(|_| ())
    }

    fn fingerprint(&self) -> Option<[u8; 32]> {
        Some(*self.fingerprint.get_or_init(|| self.verifier.fingerprint()))
    }

    fn is_fips_approved(&self) -> bool {
        true
    }

    fn authorities(&self) -> Vec<Vec<u8>> {
        self.authorities.get_or_init(|| self.verifier.roots().subjects().collect()).clone()
    }
}

debug_fields!(ChainPolicy);

/// A verifier of raw public keys, and optionally of chains with another verifier. RFC 7250
///
/// A raw public key contains no name: the owner of a trusted key is accepted as any server.
pub struct TrustedRawKeys {
    keys: Vec<SubjectPublicKeyInfoDer<'static>>,
    chains: Option<Arc<dyn VerifyPeer>>,
}

impl TrustedRawKeys {
    /// Creates a verifier that trusts these keys (`SubjectPublicKeyInfo`, compared bytewise) and no
    /// chain.
    ///
    /// # Errors
    /// [`ConfigError::NoTrustConfigured`] if there is no key.
    pub fn new(keys: Vec<SubjectPublicKeyInfoDer<'static>>) -> Result<Self, ConfigError> {
        if keys.is_empty() {
            return Err(ConfigError::NoTrustConfigured);
        }
        Ok(Self { keys, chains: None })
    }

    /// Sets the verifier of chains. Without it, peers that present a chain are refused.
    #[must_use]
    pub fn or_chains(mut self, verifier: Arc<dyn VerifyPeer>) -> Self {
        self.chains = Some(verifier);
        self
    }
}

impl VerifyPeer for TrustedRawKeys {
    fn verify_peer(&self, identity: &PeerIdentity<'_>) -> Result<(), Box<Refusal>> {
        match (identity.raw_public_key, &self.chains) {
            (Some(key), _) if self.keys.iter().any(|trusted| trusted.as_ref() == key) => Ok(()),
            (Some(_), _) => Err(refusal(RefusalReason::UntrustedRawKey, identity)),
            (None, Some(chains)) => chains.verify_peer(identity),
            (None, None) => Err(refusal(RefusalReason::UnknownIssuer, identity)),
        }
    }

    /// Covers the keys and the verifier of chains; `None` if that has none.
    fn fingerprint(&self) -> Option<[u8; 32]> {
        let chains = match &self.chains {
            Some(chains) => Some(chains.fingerprint()?),
            None => None,
        };
        let mut hash = PartsHash::new();
        hash.add(b"raw public keys");
        hash.add(chains.as_ref().map_or(&[], |chains| &chains[..]));
        self.keys.iter().for_each(|key| hash.add(key));
        Some(hash.finish())
    }

    fn is_fips_approved(&self) -> bool {
        self.chains.as_ref().is_none_or(|chains| chains.is_fips_approved())
    }

    fn authorities(&self) -> Vec<Vec<u8>> {
        self.chains.as_ref().map(|chains| chains.authorities()).unwrap_or_default()
    }
}

debug_fields!(TrustedRawKeys, key_set: keys = key_set.keys.len());

fn refusal(reason: RefusalReason, identity: &PeerIdentity<'_>) -> Box<Refusal> {
    Box::new(identity.refusal(reason))
}

/// A builder's verifier, if it has one.
pub(crate) type Verifier = Option<Policy<dyn VerifyPeer>>;

/// Combines a builder's raw keys and its verifier of chains into one verifier. Returns this
/// verifier and the certificate types that it can verify.
pub(crate) fn with_raw_keys(
    keys: Option<Vec<SubjectPublicKeyInfoDer<'static>>>,
    chains: Verifier,
) -> Result<(Verifier, Vec<CertificateType>), ConfigError> {
    let Some(keys) = keys else { return Ok((chains, vec![CertificateType::X509])) };
    let trusted = TrustedRawKeys::new(keys)?;
    let (trusted, types) = match chains {
        None => (trusted, vec![CertificateType::RAW_PUBLIC_KEY]),
        Some(Policy::Here(chains)) => (
            trusted.or_chains(chains),
            vec![CertificateType::RAW_PUBLIC_KEY, CertificateType::X509],
        ),
        Some(Policy::Ask) => return Err(ConfigError::RawKeysWithAsk),
    };
    Ok((Some(Policy::Here(Arc::new(trusted))), types))
}

/// Returns a policy that trusts the chains that end in one of these roots.
pub(crate) fn from_roots(roots: Roots) -> Result<Policy<dyn VerifyPeer>, ConfigError> {
    ChainPolicy::new(roots).map(|policy| Policy::Here(Arc::new(policy) as Arc<dyn VerifyPeer>))
}

/// A verifier that accepts every peer, for tests and diagnosis only: the peer is not authenticated.
#[derive(Clone, Copy, Debug, Default)]
pub struct AcceptAnyPeer;

impl VerifyPeer for AcceptAnyPeer {
    fn verify_peer(&self, _: &PeerIdentity<'_>) -> Result<(), Box<Refusal>> {
        Ok(())
    }

    fn fingerprint(&self) -> Option<[u8; 32]> {
        Some(*b"any peer is accepted: no trust  ")
    }
}

/// A verifier that refuses every peer, for a configuration in which no peer has a certificate: its
/// peers have a pre-shared key, or no peer is trusted yet.
///
/// A client that has only pre-shared keys has this verifier by itself. The client of this example
/// trusts no server; its program builds another configuration when it has authorities:
///
/// ```
/// use std::sync::Arc;
/// use tercel::certificates::RefuseAnyPeer;
/// use tercel::{ClientConfig, Policy, error::ConfigError};
///
/// fn without_trust() -> Result<Arc<ClientConfig>, ConfigError> {
///     ClientConfig::builder().verifier(Policy::Here(Arc::new(RefuseAnyPeer))).build()
/// }
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct RefuseAnyPeer;

impl VerifyPeer for RefuseAnyPeer {
    fn verify_peer(&self, identity: &PeerIdentity<'_>) -> Result<(), Box<Refusal>> {
        let reason = match identity.raw_public_key {
            Some(_) => RefusalReason::UntrustedRawKey,
            None => RefusalReason::UnknownIssuer,
        };
        Err(refusal(reason, identity))
    }

    fn fingerprint(&self) -> Option<[u8; 32]> {
        Some(*b"every peer is refused: no trust ")
    }

    /// True: no signature is verified.
    fn is_fips_approved(&self) -> bool {
        true
    }
}

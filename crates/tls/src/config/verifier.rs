//! The verifiers that come with the library: a chain of certificates, and none at all.
//!
//! Must not know: handshakes. Next: the crate `tercel-pki`, which does the work.

use core::fmt;
use std::sync::{Arc, OnceLock};

use pki_types::{CertificateDer, SubjectPublicKeyInfoDer};
use tercel_pki::{ChainVerifier, Refusal, RefusalReason, Roots, Staple, Usage};
use tercel_wire::CertificateType;

use super::error::ConfigError;
use super::policy::{PeerIdentity, Policy, Side, VerifyPeer};

/// Trusts peers whose certificate chain ends in a trusted root: names for servers, usage for both.
pub struct ChainPolicy {
    verifier: ChainVerifier,
    /// Whether the roots are all that it decides by.
    by_roots: bool,
    // Made when they are first asked for: clients name no authorities, and without resumption nobody wants the fingerprint.
    authorities: OnceLock<Vec<Vec<u8>>>,
    fingerprint: OnceLock<[u8; 32]>,
}

impl ChainPolicy {
    /// Trusts these roots, without revocation lists or pins.
    ///
    /// # Errors
    /// [`ConfigError::NothingTrusted`] if there is no root.
    pub fn new(roots: Roots) -> Result<Self, ConfigError> {
        let verifier = ChainVerifier::builder(Arc::new(roots)).build();
        let policy = verifier.map(Self::with_verifier).map_err(|_| ConfigError::NothingTrusted)?;
        Ok(Self { by_roots: true, ..policy })
    }

    /// Uses a chain verifier with settings of its own: revocation lists, pins, OCSP staples.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tercel::pki::{ChainVerifier, OcspPolicy, Roots};
    /// use tercel::{ChainPolicy, ClientConfigBuilder, Policy};
    ///
    /// /// Servers have to staple a good OCSP response.
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
        Self { verifier, by_roots: false, authorities, fingerprint }
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
        let of_roots = || self.verifier.roots().fingerprint();
        self.by_roots.then(|| *self.fingerprint.get_or_init(of_roots))
    }

    fn authorities(&self) -> Vec<Vec<u8>> {
        self.authorities.get_or_init(|| self.verifier.roots().subjects().collect()).clone()
    }
}

impl fmt::Debug for ChainPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChainPolicy").finish_non_exhaustive()
    }
}

/// Trusts peers that show one of these raw public keys, and, if told so, chains that another
/// verifier trusts. RFC 7250
///
/// A key names nobody: whoever has it passes for the peer that was asked for.
pub struct TrustedRawKeys {
    keys: Vec<SubjectPublicKeyInfoDer<'static>>,
    chains: Option<Arc<dyn VerifyPeer>>,
}

impl TrustedRawKeys {
    /// Trusts these keys (`SubjectPublicKeyInfo`, compared byte by byte) and no chain.
    ///
    /// # Errors
    /// [`ConfigError::NothingTrusted`] if there is no key.
    pub fn new(keys: Vec<SubjectPublicKeyInfoDer<'static>>) -> Result<Self, ConfigError> {
        if keys.is_empty() {
            return Err(ConfigError::NothingTrusted);
        }
        Ok(Self { keys, chains: None })
    }

    /// Leaves peers that show a chain to another verifier.
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

    fn authorities(&self) -> Vec<Vec<u8>> {
        self.chains.as_ref().map(|chains| chains.authorities()).unwrap_or_default()
    }
}

impl fmt::Debug for TrustedRawKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TrustedRawKeys").field("keys", &self.keys.len()).finish_non_exhaustive()
    }
}

fn refusal(reason: RefusalReason, identity: &PeerIdentity<'_>) -> Box<Refusal> {
    Box::new(Refusal {
        reason,
        chain: identity.chain.iter().map(|der| CertificateDer::from(der.to_vec())).collect(),
        names: Vec::new(),
        wanted: identity.server_name.map(pki_types::ServerName::to_owned),
        position: None,
        time: identity.now,
    })
}

/// A builder's verifier, if it has one.
pub(crate) type Verifier = Option<Policy<dyn VerifyPeer>>;

/// What a builder was told about trust, as one verifier and the certificate types it can judge.
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
        Some(Policy::Ask) => return Err(ConfigError::RawKeysBesideAsk),
    };
    Ok((Some(Policy::Here(Arc::new(trusted))), types))
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

/// Stands where there is no verifier because pre-shared keys do without. Nothing is shown to it, and were
/// it otherwise, it would say no.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TrustNobody;

impl VerifyPeer for TrustNobody {
    fn verify_peer(&self, identity: &PeerIdentity<'_>) -> Result<(), Box<Refusal>> {
        Err(refusal(RefusalReason::UnknownIssuer, identity))
    }

    fn fingerprint(&self) -> Option<[u8; 32]> {
        Some(*b"pre-shared keys and nothing else")
    }
}

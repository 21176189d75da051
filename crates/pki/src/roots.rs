//! Trust anchors, and the sources from which they are loaded.
//!
//! A set of anchors is built once and shared ([`std::sync::Arc`]); nothing is verified here.

use std::fmt;

use pki_types::{CertificateDer, TrustAnchor};
use tercel_crypto::{Hash, HashAlgorithm};

use crate::der;
use crate::pem::{PemError, load_certs_pem};
use crate::reason::RefusalReason;

/// A set of trust anchors.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut roots = tercel_pki::Roots::new();
/// roots.add_pem(&std::fs::read("ca.pem")?)?;
/// println!("{} authorities", roots.len());
/// # Ok(()) }
/// ```
#[derive(Clone, Default)]
pub struct Roots {
    anchors: Vec<TrustAnchor<'static>>,
}

impl Roots {
    /// An empty set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the authority of this certificate: its subject, its key and its name constraints. Its
    /// validity and its signature are not checked. RFC 5280 6.1.1
    pub fn add_der(&mut self, certificate: &CertificateDer<'_>) -> Result<(), RootsError> {
        self.add_trust_anchor(anchor(certificate)?);
        Ok(())
    }

    /// Adds every certificate of a PEM file and returns their number. If a certificate cannot be
    /// parsed, no certificate is added.
    pub fn add_pem(&mut self, pem: &[u8]) -> Result<usize, RootsError> {
        let certificates = load_certs_pem(pem).map_err(RootsError::Pem)?;
        let added = certificates.iter().map(anchor).collect::<Result<Vec<_>, _>>()?;
        self.anchors.reserve(added.len());
        added.into_iter().for_each(|anchor| self.add_trust_anchor(anchor));
        Ok(certificates.len())
    }

    /// Adds a parsed anchor, unless the set has it already.
    pub fn add_trust_anchor(&mut self, anchor: TrustAnchor<'static>) {
        // Most anchors differ in the last bytes of their keys, so most comparisons end there.
        let end =
            |anchor: &TrustAnchor<'_>| anchor.subject_public_key_info.last_chunk::<8>().copied();
        let own = end(&anchor);
        if !self.anchors.iter().any(|known| end(known) == own && *known == anchor) {
            self.anchors.push(anchor);
        }
    }

    /// The number of anchors.
    #[must_use]
    pub fn len(&self) -> usize {
        self.anchors.len()
    }

    /// Whether there are no anchors.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.anchors.is_empty()
    }

    /// A digest of the anchors, including their keys and constraints, in order.
    #[must_use]
    pub fn fingerprint(&self) -> [u8; 32] {
        let mut hash = Hash::new(HashAlgorithm::Sha256);
        for anchor in &self.anchors {
            let constraints = anchor.name_constraints.as_deref().unwrap_or_default();
            for part in [&*anchor.subject, &*anchor.subject_public_key_info, constraints] {
                hash.update(&part.len().to_be_bytes());
                hash.update(part);
            }
        }
        hash.finish().first_chunk().copied().unwrap_or_default()
    }

    /// The anchors' distinguished names, each a whole DER `Name`, as in the
    /// certificate_authorities extension.
    pub fn subjects(&self) -> impl Iterator<Item = Vec<u8>> + '_ {
        self.anchors.iter().map(|anchor| der::sequence(&anchor.subject))
    }

    pub(crate) fn anchors(&self) -> &[TrustAnchor<'static>] {
        &self.anchors
    }
}

/// Omits the anchors themselves.
impl fmt::Debug for Roots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Roots").field("anchors", &self.anchors.len()).finish()
    }
}

fn anchor(certificate: &CertificateDer<'_>) -> Result<TrustAnchor<'static>, RootsError> {
    let anchor = webpki::anchor_from_trusted_cert(certificate)
        .map_err(|error| RootsError::Certificate(error.into()))?;
    Ok(anchor.to_owned())
}

#[cfg(feature = "webpki-roots")]
#[cfg_attr(docsrs, doc(cfg(feature = "webpki-roots")))]
impl Roots {
    /// The authorities of Mozilla's root programme, as compiled into the program.
    #[must_use]
    pub fn webpki() -> Self {
        Self { anchors: webpki_roots::TLS_SERVER_ROOTS.to_vec() }
    }
}

#[cfg(feature = "native-roots")]
#[cfg_attr(docsrs, doc(cfg(feature = "native-roots")))]
impl Roots {
    /// The authorities that the operating system trusts. `SSL_CERT_FILE` and `SSL_CERT_DIR` are
    /// honoured.
    ///
    /// System stores often have some unusual certificates, so those that cannot be parsed are
    /// counted and skipped. An empty result is an error.
    pub fn native() -> Result<NativeRoots, RootsError> {
        let found = rustls_native_certs::load_native_certs();
        let mut roots = Self::new();
        let mut unreadable = found.errors.len();
        for certificate in &found.certs {
            if roots.add_der(certificate).is_err() {
                unreadable += 1;
            }
        }
        if roots.is_empty() {
            return Err(RootsError::NothingFound);
        }
        Ok(NativeRoots { roots, unreadable })
    }
}

/// The authorities that the operating system trusts.
#[cfg(feature = "native-roots")]
#[cfg_attr(docsrs, doc(cfg(feature = "native-roots")))]
#[derive(Clone, Debug)]
pub struct NativeRoots {
    /// The authorities.
    pub roots: Roots,
    /// The number of files or certificates that could not be read.
    pub unreadable: usize,
}

/// The reason why trust anchors could not be loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RootsError {
    /// The file is not PEM, or has no certificates.
    Pem(PemError),
    /// A certificate cannot be used as an anchor.
    Certificate(RefusalReason),
    /// The operating system has no authorities, or they are not accessible.
    NothingFound,
}

impl fmt::Display for RootsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pem(error) => write!(f, "no trust anchors: {error}"),
            Self::Certificate(reason) => write!(f, "unusable trust anchor: {reason}"),
            Self::NothingFound => f.write_str("the system has no trust anchors"),
        }
    }
}

impl std::error::Error for RootsError {}

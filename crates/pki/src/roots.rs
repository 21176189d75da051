//! Trust anchors, and the sources from which they are loaded.
//!
//! A set of anchors is built once and shared ([`std::sync::Arc`]); nothing is verified here.

use std::fmt;

use pki_types::{CertificateDer, TrustAnchor};
use tercel_crypto::{Hash, HashAlgorithm};

use crate::anchor::{AnchorLimits, NotAnAnchor, NotAuthority};
use crate::certificate::{Certificate, CertificateSummary, bad_encoding};
use crate::der;
use crate::pem::{PemError, load_certs_pem};
use crate::reason::RefusalReason;

/// A set of trust anchors.
///
/// An anchor keeps the restrictions that its certificate states: its extended key usages, its path
/// length, its name constraints, and its validity (unless
/// [`ignore_anchor_validity`](crate::ChainVerifierBuilder::ignore_anchor_validity) is set). A
/// certificate that is not an authority's never becomes an anchor: see [`Roots::add_der`].
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut roots = tercel_pki::Roots::new();
/// roots.add_pem(&std::fs::read("ca.pem")?)?;
/// println!("{} authorities", roots.len());
/// for other in roots.not_anchors() {
///     println!("warning: {other}");
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Default)]
pub struct Roots {
    anchors: Vec<TrustAnchor<'static>>,
    /// The restrictions of the anchor with the same index.
    limits: Vec<AnchorLimits>,
    /// Self-issued certificates that are not authorities', trusted only as themselves.
    leaves: Vec<CertificateDer<'static>>,
    not_anchors: Vec<NotAnAnchor>,
}

impl Roots {
    /// An empty set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the authority of this certificate, with the restrictions that the certificate states.
    /// Its signature is not checked. RFC 5280 6.1.1, 6.2
    ///
    /// A self-issued certificate that is not an authority's is pinned instead: a peer that presents
    /// it is trusted, and its key certifies no other. Any other certificate that is not an
    /// authority's is an error.
    pub fn add_der(&mut self, certificate: &CertificateDer<'_>) -> Result<(), RootsError> {
        let kind = Kind::of(certificate)?;
        if let Kind::Other(reason) = kind {
            return Err(RootsError::NotAuthority(reason));
        }
        self.add(certificate, kind);
        Ok(())
    }

    /// Adds the certificates of a PEM file, and returns the number of those that are trusted: as
    /// authorities, or pinned, see [`Self::add_der`]. The others are left out
    /// ([`Self::not_anchors`]). If no certificate is trusted, or one of them cannot be parsed,
    /// nothing is added.
    pub fn add_pem(&mut self, pem: &[u8]) -> Result<usize, RootsError> {
        let certificates = load_certs_pem(pem).map_err(RootsError::Pem)?;
        let kinds = certificates.iter().map(Kind::of).collect::<Result<Vec<_>, _>>()?;
        let refusal = |kind: &Kind| match kind {
            Kind::Other(reason) => Some(*reason),
            _ => None,
        };
        let trusted = kinds.iter().filter(|kind| refusal(kind).is_none()).count();
        if let (0, Some(reason)) = (trusted, kinds.first().and_then(refusal)) {
            return Err(RootsError::NotAuthority(reason));
        }
        self.anchors.reserve(trusted);
        for (certificate, kind) in certificates.iter().zip(kinds) {
            self.add(certificate, kind);
        }
        Ok(trusted)
    }

    /// Adds a parsed anchor without restrictions other than its name constraints, unless the set
    /// has it already.
    pub fn add_trust_anchor(&mut self, anchor: TrustAnchor<'static>) {
        self.add_anchor(anchor, AnchorLimits::default());
    }

    fn add(&mut self, certificate: &CertificateDer<'_>, kind: Kind) {
        let (reason, is_pinned) = match kind {
            Kind::Anchor(anchor, limits) => return self.add_anchor(anchor, limits),
            Kind::Leaf(reason) => (reason, true),
            Kind::Other(reason) => (reason, false),
        };
        if is_pinned {
            if self.leaves.iter().any(|known| known == certificate) {
                return;
            }
            self.leaves.push(certificate.clone().into_owned());
        }
        let subject = CertificateSummary::new(certificate).map(|summary| summary.subject);
        let subject = subject.unwrap_or_default();
        self.not_anchors.push(NotAnAnchor { subject, reason, is_pinned });
    }

    fn add_anchor(&mut self, anchor: TrustAnchor<'static>, limits: AnchorLimits) {
        // Most anchors differ in the last bytes of their keys, so most comparisons end there.
        let end =
            |anchor: &TrustAnchor<'_>| anchor.subject_public_key_info.last_chunk::<8>().copied();
        let own = end(&anchor);
        let mut known = self.anchors.iter().zip(&self.limits);
        // The same authority may have certificates with different restrictions: each is an anchor.
        if !known.any(|(known, of)| end(known) == own && *known == anchor && *of == limits) {
            self.anchors.push(anchor);
            self.limits.push(limits);
        }
    }

    /// The number of trusted certificates: anchors, and pinned certificates.
    #[must_use]
    pub fn len(&self) -> usize {
        self.anchors.len().saturating_add(self.leaves.len())
    }

    /// Whether there are no trusted certificates.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.anchors.is_empty() && self.leaves.is_empty()
    }

    /// The added certificates that are no anchors, because they are not authorities': pinned, or
    /// left out.
    #[must_use]
    pub fn not_anchors(&self) -> &[NotAnAnchor] {
        &self.not_anchors
    }

    /// A digest of the trusted certificates, in order: of the anchors' keys and restrictions, and
    /// of the pinned certificates.
    #[must_use]
    pub fn fingerprint(&self) -> [u8; 32] {
        let mut hash = Hash::new(HashAlgorithm::Sha256);
        let mut add = |part: &[u8]| {
            hash.update(&part.len().to_be_bytes());
            hash.update(part);
        };
        for (anchor, limits) in self.anchors.iter().zip(&self.limits) {
            let constraints = anchor.name_constraints.as_deref().unwrap_or_default();
            for part in [&*anchor.subject, &*anchor.subject_public_key_info, constraints] {
                add(part);
            }
            add(&limits.encoded());
        }
        add(b"pinned");
        self.leaves.iter().for_each(|leaf| add(leaf));
        hash.finish().first_chunk().copied().unwrap_or_default()
    }

    /// The distinguished names of the trusted certificates, each a whole DER `Name`, as in the
    /// certificate_authorities extension.
    pub fn subjects(&self) -> impl Iterator<Item = Vec<u8>> + '_ {
        let of_leaves = self.leaves.iter().filter_map(|leaf| Certificate::parse(leaf).ok());
        let subjects = self.anchors.iter().map(|anchor| der::sequence(&anchor.subject));
        subjects.chain(of_leaves.map(|leaf| der::sequence(leaf.subject)))
    }

    pub(crate) fn anchors(&self) -> &[TrustAnchor<'static>] {
        &self.anchors
    }

    /// Self-issued certificates that are trusted only as themselves.
    pub(crate) fn leaves(&self) -> &[CertificateDer<'static>] {
        &self.leaves
    }

    /// The restrictions of an anchor of this set, which is found by its address. `None` for any
    /// other anchor.
    pub(crate) fn limits_of(&self, anchor: &TrustAnchor<'_>) -> Option<&AnchorLimits> {
        let same = |own: &TrustAnchor<'static>| std::ptr::addr_eq(own, anchor);
        self.limits.get(self.anchors.iter().position(same)?)
    }
}

/// Omits the anchors themselves.
impl fmt::Debug for Roots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Roots").field("anchors", &self.anchors.len()).finish()
    }
}

/// What a certificate is as a trusted one.
enum Kind {
    Anchor(TrustAnchor<'static>, AnchorLimits),
    /// A self-issued certificate that is not an authority's.
    Leaf(NotAuthority),
    /// Another certificate that is not an authority's.
    Other(NotAuthority),
}

impl Kind {
    fn of(certificate: &CertificateDer<'_>) -> Result<Self, RootsError> {
        let anchor = webpki::anchor_from_trusted_cert(certificate)
            .map_err(|error| RootsError::Certificate(error.into()))?;
        let malformed = |error| RootsError::Certificate(bad_encoding(error));
        let parsed = Certificate::parse(certificate).map_err(malformed)?;
        Ok(match AnchorLimits::of(&parsed).map_err(malformed)? {
            Ok(limits) => Self::Anchor(anchor.to_owned(), limits),
            Err(reason) if parsed.subject == parsed.issuer => Self::Leaf(reason),
            Err(reason) => Self::Other(reason),
        })
    }
}

#[cfg(feature = "webpki-roots")]
#[cfg_attr(docsrs, doc(cfg(feature = "webpki-roots")))]
impl Roots {
    /// The authorities of Mozilla's root programme, as compiled into the program.
    #[must_use]
    pub fn webpki() -> Self {
        let anchors = webpki_roots::TLS_SERVER_ROOTS.to_vec();
        Self { limits: vec![AnchorLimits::default(); anchors.len()], anchors, ..Self::default() }
    }
}

#[cfg(feature = "native-roots")]
#[cfg_attr(docsrs, doc(cfg(feature = "native-roots")))]
impl Roots {
    /// The authorities that the operating system trusts. `SSL_CERT_FILE` and `SSL_CERT_DIR` are
    /// honoured.
    ///
    /// System stores often have some unusual certificates. Those that cannot be parsed are counted
    /// and skipped. Those that are not authorities' are left out and not pinned, because a system's
    /// store is not made for one program: [`Roots::not_anchors`] lists them. An empty result is an
    /// error.
    pub fn native() -> Result<NativeRoots, RootsError> {
        let found = rustls_native_certs::load_native_certs();
        let mut roots = Self::new();
        let mut unreadable = found.errors.len();
        for certificate in &found.certs {
            match Kind::of(certificate) {
                Ok(Kind::Leaf(reason)) => roots.add(certificate, Kind::Other(reason)),
                Ok(kind) => roots.add(certificate, kind),
                Err(_) => unreadable += 1,
            }
        }
        if roots.is_empty() {
            let first = roots.not_anchors.first();
            let reason = |one: &NotAnAnchor| RootsError::NotAuthority(one.reason);
            return Err(first.map_or(RootsError::NothingFound, reason));
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
    /// The certificate, or each certificate of the file or of the system, is not an authority's.
    NotAuthority(NotAuthority),
    /// The operating system has no authorities, or they are not accessible.
    NothingFound,
}

impl fmt::Display for RootsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pem(error) => write!(f, "no trust anchors: {error}"),
            Self::Certificate(reason) => write!(f, "unusable trust anchor: {reason}"),
            Self::NotAuthority(reason) => write!(f, "no trust anchor: {reason}"),
            Self::NothingFound => f.write_str("the system has no trust anchors"),
        }
    }
}

impl std::error::Error for RootsError {}

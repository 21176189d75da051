//! Trust anchors, and the sources from which they are loaded.
//!
//! A set of anchors is built once and shared ([`std::sync::Arc`]); nothing is verified here.

use std::fmt;

use pki_types::{CertificateDer, TrustAnchor};
use tercel_crypto::PartsHash;

use crate::anchor::{AnchorLimits, NotAnAnchor, NotAuthority};
use crate::certificate::{Certificate, CertificateSummary, bad_encoding};
use crate::der::{self, Malformed};
use crate::pem::{PemError, load_certs_pem};
use crate::reason::RefusalReason;
#[cfg(feature = "native-roots")]
use crate::system_store::Found;

/// A set of trust anchors.
///
/// An anchor keeps the restrictions that its certificate states: its extended key usages, its path
/// length, its name constraints, and its validity (unless
/// [`ignore_anchor_validity`](crate::ChainVerifierBuilder::ignore_anchor_validity) is set). Each
/// certificate is also trusted as itself (pinned): a peer that presents it is accepted, if its
/// validity, its names and its usage permit. A certificate that is not an authority's never
/// certifies others.
///
/// Anchors may share a name. The work for one chain is limited, so if they are more than fifty or
/// so, their certificates and the chain's should have key identifiers, which are compared first.
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
    /// What else the certificate of the anchor with the same index states.
    statements: Vec<Statements>,
    /// The certificates of anchors. An anchor may have several, or none.
    certificates: Vec<CertificateDer<'static>>,
    /// Certificates that are not authorities', trusted only as themselves.
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
    /// A certificate that is not an authority's is only pinned: a peer that presents it is trusted,
    /// and its key certifies no other ([`Self::not_anchors`]).
    pub fn add_der(&mut self, certificate: &CertificateDer<'_>) -> Result<(), RootsError> {
        let kind = Kind::of(certificate)?;
        self.add(certificate, kind, Source::Caller);
        Ok(())
    }

    /// Adds the certificates of a PEM file as [`Self::add_der`] does, and returns their number. If
    /// one of them cannot be parsed, nothing is added.
    pub fn add_pem(&mut self, pem: &[u8]) -> Result<usize, RootsError> {
        let certificates = load_certs_pem(pem).map_err(RootsError::Pem)?;
        let kinds = certificates.iter().map(Kind::of).collect::<Result<Vec<_>, _>>()?;
        self.anchors.reserve(certificates.len());
        for (certificate, kind) in certificates.iter().zip(kinds) {
            self.add(certificate, kind, Source::Caller);
        }
        Ok(certificates.len())
    }

    /// Adds a parsed anchor without restrictions other than its name constraints, unless the set
    /// has it already.
    pub fn add_trust_anchor(&mut self, anchor: TrustAnchor<'static>) {
        self.add_anchor(anchor, Statements::default());
    }

    fn add(&mut self, certificate: &CertificateDer<'_>, kind: Kind, source: Source) {
        let trusted = match (&kind, source) {
            (Kind::Anchor(..), _) => Some(&mut self.certificates),
            (Kind::Leaf(_), Source::Caller) => Some(&mut self.leaves),
            // A system's store is not made for one program.
            (Kind::Leaf(_), Source::System) => None,
        };
        let is_pinned = trusted.is_some();
        if let Some(trusted) = trusted {
            if trusted.iter().any(|known| known == certificate) {
                return;
            }
            trusted.push(certificate.clone().into_owned());
        }
        match kind {
            Kind::Anchor(anchor, statements) => self.add_anchor(anchor, statements),
            Kind::Leaf(reason) => {
                let summary = CertificateSummary::new(certificate);
                let subject = summary.map(|summary| summary.subject).unwrap_or_default();
                self.not_anchors.push(NotAnAnchor { subject, reason, is_pinned });
            }
        }
    }

    fn add_anchor(&mut self, anchor: TrustAnchor<'static>, statements: Statements) {
        // Most anchors differ in the last bytes of their keys, so most comparisons end there.
        let end =
            |anchor: &TrustAnchor<'_>| anchor.subject_public_key_info.last_chunk::<8>().copied();
        let own = end(&anchor);
        let mut known = self.anchors.iter().zip(&self.statements);
        // The same authority may have certificates with different restrictions, or with different
        // identifiers of its key: each is an anchor.
        if !known.any(|(known, of)| end(known) == own && *known == anchor && *of == statements) {
            self.anchors.push(anchor);
            self.statements.push(statements);
        }
    }

    /// The number of anchors, and of pinned certificates that are not anchors'.
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

    /// A digest of what is trusted, in order: the anchors' keys and restrictions, and the pinned
    /// certificates.
    #[must_use]
    pub fn fingerprint(&self) -> [u8; 32] {
        let mut hash = PartsHash::new();
        let mut add = |part: &[u8]| hash.add(part);
        // A key identifier of its own is not part of the digest: it decides only which anchor is
        // tried first, and a verifier without a budget for all refuses.
        for (anchor, Statements { limits, .. }) in self.anchors.iter().zip(&self.statements) {
            let constraints = anchor.name_constraints.as_deref().unwrap_or_default();
            for part in [&*anchor.subject, &*anchor.subject_public_key_info, constraints] {
                add(part);
            }
            add(&limits.encoded());
        }
        for pinned in [&self.leaves, &self.certificates] {
            add(b"pinned");
            pinned.iter().for_each(|certificate| add(certificate));
        }
        hash.finish()
    }

    /// The distinguished names of the anchors and of the issuers of other pinned certificates, each
    /// a whole DER `Name`, as in the certificate_authorities extension.
    pub fn subjects(&self) -> impl Iterator<Item = Vec<u8>> + '_ {
        let of_leaves = self.leaves.iter().filter_map(|leaf| Certificate::parse(leaf).ok());
        let subjects = self.anchors.iter().map(|anchor| der::sequence(&anchor.subject));
        subjects.chain(of_leaves.map(|leaf| der::sequence(leaf.issuer)))
    }

    pub(crate) fn anchors(&self) -> &[TrustAnchor<'static>] {
        &self.anchors
    }

    /// Whether a certificate that is not an authority's is trusted as itself.
    pub(crate) fn has_leaves(&self) -> bool {
        !self.leaves.is_empty()
    }

    /// Whether this certificate is trusted as itself.
    pub(crate) fn is_pinned(&self, leaf: &CertificateDer<'_>) -> bool {
        self.leaves.iter().chain(&self.certificates).any(|own| own == leaf)
    }

    /// The restrictions of the anchor with this index.
    pub(crate) fn limits(&self, index: usize) -> &AnchorLimits {
        // Each anchor has its restrictions.
        self.statements.get(index).map_or(&AnchorLimits::NOTHING, |of| &of.limits)
    }

    /// The identifier of the key of the anchor with this index, if its certificate states one. It
    /// decides which anchor is tried first.
    pub(crate) fn key_identifier(&self, index: usize) -> Option<&[u8]> {
        self.statements.get(index)?.key_identifier.as_deref()
    }
}

/// Omits the anchors themselves.
impl fmt::Debug for Roots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Roots").field("anchors", &self.anchors.len()).finish()
    }
}

/// What an anchor's certificate states, besides its name, its key and its name constraints. The
/// default is for an anchor that was given without a certificate.
#[derive(Clone, Default, PartialEq, Eq)]
struct Statements {
    limits: AnchorLimits,
    /// The subjectKeyIdentifier. RFC 5280 4.2.1.2
    key_identifier: Option<Box<[u8]>>,
}

/// What a certificate is as a trusted one.
enum Kind {
    Anchor(TrustAnchor<'static>, Statements),
    /// A certificate that is not an authority's.
    Leaf(NotAuthority),
}

/// The origin of the trust in a certificate.
#[derive(Clone, Copy)]
enum Source {
    Caller,
    #[cfg_attr(not(feature = "native-roots"), expect(dead_code))]
    System,
}

impl Kind {
    fn of(certificate: &CertificateDer<'_>) -> Result<Self, RootsError> {
        let malformed = |error| RootsError::Certificate(bad_encoding(error));
        let fields = Certificate::parse(certificate).map_err(malformed)?;
        fields.check_form().map_err(RootsError::Certificate)?;
        Ok(match AnchorLimits::of(&fields).map_err(malformed)? {
            Ok(limits) => {
                let key_identifier = fields.key_identifier().map(Into::into);
                let anchor = anchor_of(&fields).map_err(malformed)?;
                Self::Anchor(anchor, Statements { limits, key_identifier })
            }
            Err(reason) => Self::Leaf(reason),
        })
    }
}

/// The anchor of an authority's certificate: name, key and name constraints. RFC 5280 6.1.1, 6.2
fn anchor_of(fields: &Certificate<'_>) -> Result<TrustAnchor<'static>, Malformed> {
    let key = der::single(fields.subject_public_key_info, der::SEQUENCE)?;
    let anchor = TrustAnchor {
        subject: fields.subject.into(),
        subject_public_key_info: key.into(),
        name_constraints: fields.name_constraints()?.map(Into::into),
    };
    Ok(anchor.to_owned())
}

#[cfg(feature = "webpki-roots")]
#[cfg_attr(docsrs, doc(cfg(feature = "webpki-roots")))]
impl Roots {
    /// The authorities of Mozilla's root programme, as compiled into the program.
    #[must_use]
    pub fn webpki() -> Self {
        let anchors = webpki_roots::TLS_SERVER_ROOTS.to_vec();
        Self { statements: vec![Statements::default(); anchors.len()], anchors, ..Self::default() }
    }
}

#[cfg(feature = "native-roots")]
#[cfg_attr(docsrs, doc(cfg(feature = "native-roots")))]
impl Roots {
    /// The authorities that the operating system trusts. If `SSL_CERT_FILE` or `SSL_CERT_DIR` is
    /// set, only what they name is read; for OpenSSL and Go, each replaces either the system's file
    /// or its folder, and the other remains trusted.
    ///
    /// All files of a folder are read, as by Go. OpenSSL reads only those that are named by the
    /// hash of their subject (`openssl rehash`). A folder therefore needs no such links, and must
    /// contain only authorities that are to be trusted, whatever the names of their files are.
    ///
    /// System stores often have some unusual certificates. Those that cannot be read are skipped
    /// ([`NativeRoots::problems`]). Sections in OpenSSL's own form (`TRUSTED CERTIFICATE`) are
    /// skipped in folders, because the same authorities are there in the usual form, too. Those
    /// that are not authorities' are left out and not pinned, because a system's store is not made
    /// for one program ([`Roots::not_anchors`]). [`NativeRoots::left_out`] is a text about both. An
    /// empty result is an error.
    pub fn native() -> Result<NativeRoots, RootsError> {
        Self::of_store(Found::of_system())
    }

    pub(crate) fn of_store(found: Found) -> Result<NativeRoots, RootsError> {
        let (mut roots, mut problems) = (Self::new(), found.problems);
        for certificate in found.certificates.into_iter().map(CertificateDer::from) {
            match Kind::of(&certificate) {
                Ok(kind) => roots.add(&certificate, kind, Source::System),
                Err(error) => problems.push(error.to_string()),
            }
        }
        if roots.is_empty() {
            if let Some(first) = roots.not_anchors.first() {
                return Err(RootsError::NotAuthority(first.reason));
            }
            if !problems.is_empty() {
                return Err(RootsError::Unreadable(problems.swap_remove(0)));
            }
            let is_set =
                |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
            let variable = ["SSL_CERT_FILE", "SSL_CERT_DIR"].into_iter().find(is_set);
            return Err(variable.map_or(RootsError::NothingFound, RootsError::NothingAt));
        }
        Ok(NativeRoots { roots, problems })
    }
}

/// The authorities that the operating system trusts.
#[cfg(feature = "native-roots")]
#[cfg_attr(docsrs, doc(cfg(feature = "native-roots")))]
#[derive(Clone, Debug)]
pub struct NativeRoots {
    /// The authorities.
    pub roots: Roots,
    /// The files and certificates that could not be read, each with the reason.
    pub problems: Vec<String>,
}

#[cfg(feature = "native-roots")]
#[cfg_attr(docsrs, doc(cfg(feature = "native-roots")))]
impl NativeRoots {
    /// How many certificates of the system's store are left out, with the subjects or reasons of
    /// the first three. `None` if there are none.
    #[must_use]
    pub fn left_out(&self) -> Option<String> {
        let others = self.roots.not_anchors.iter().map(NotAnAnchor::shown);
        let all: Vec<_> = others.chain(self.problems.iter().cloned()).collect();
        let more = all.len().checked_sub(1)?.saturating_sub(2);
        let first = all.iter().take(3).map(String::as_str).collect::<Vec<_>>().join(", ");
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        Some(format!(
            "{} left out of the system's trusted certificates (no authority, or unreadable): \
             {first}{more}",
            all.len()
        ))
    }
}

/// The reason why trust anchors could not be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RootsError {
    /// The file is not PEM, or has no certificates.
    Pem(PemError),
    /// A certificate cannot be used as an anchor.
    Certificate(RefusalReason),
    /// Each certificate of the system's store is not an authority's.
    NotAuthority(NotAuthority),
    /// The system's store has no authority that can be read: the first file or certificate that
    /// cannot, with its reason.
    Unreadable(String),
    /// The operating system has no authorities.
    NothingFound,
    /// The file or folder that this environment variable names has no authorities.
    NothingAt(&'static str),
}

impl fmt::Display for RootsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pem(error) => write!(f, "no trust anchors: {error}"),
            Self::Certificate(reason) => write!(f, "unusable trust anchor: {reason}"),
            Self::NotAuthority(reason) => write!(f, "no trust anchor: {reason}"),
            Self::Unreadable(problem) => write!(f, "no trust anchors: {problem}"),
            Self::NothingFound => f.write_str("the system has no trust anchors"),
            Self::NothingAt(variable) => {
                write!(f, "{variable} names no file or folder with trust anchors")
            }
        }
    }
}

impl std::error::Error for RootsError {}

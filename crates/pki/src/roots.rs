//! Trust anchors: the authorities a verifier believes, and where they are read from.
//!
//! A set of anchors is built once and shared ([`std::sync::Arc`]); nothing is verified here. Next: [`crate::verifier`].

use std::fmt;

use pki_types::{CertificateDer, TrustAnchor};
use tercel_crypto::{Hash, HashAlgorithm};

use crate::pem::{PemError, load_certs_pem};
use crate::refusal::RefusalReason;

/// A set of trust anchors.
#[derive(Clone, Debug, Default)]
pub struct Roots {
    anchors: Vec<TrustAnchor<'static>>,
}

impl Roots {
    /// No anchor yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Trusts the authority of this certificate: its subject, its key and its name constraints. Its validity and its
    /// signature are not looked at. RFC 5280 6.1.1
    pub fn add_der(&mut self, certificate: &CertificateDer<'_>) -> Result<(), RootsError> {
        self.add_trust_anchor(anchor(certificate)?);
        Ok(())
    }

    /// Trusts every certificate of a PEM file and returns how many that were. If one cannot be read, none is added.
    pub fn add_pem(&mut self, pem: &[u8]) -> Result<usize, RootsError> {
        let certificates = load_certs_pem(pem).map_err(RootsError::Pem)?;
        let added = certificates.iter().map(anchor).collect::<Result<Vec<_>, _>>()?;
        self.anchors.reserve(added.len());
        added.into_iter().for_each(|anchor| self.add_trust_anchor(anchor));
        Ok(certificates.len())
    }

    /// Trusts an anchor that was taken apart before. One that is here already is not added again.
    pub fn add_trust_anchor(&mut self, anchor: TrustAnchor<'static>) {
        // The ends of keys differ where anchors do, nearly always: most comparisons end with those eight bytes.
        let end =
            |anchor: &TrustAnchor<'_>| anchor.subject_public_key_info.last_chunk::<8>().copied();
        let own = end(&anchor);
        if !self.anchors.iter().any(|known| end(known) == own && *known == anchor) {
            self.anchors.push(anchor);
        }
    }

    /// How many anchors there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.anchors.len()
    }

    /// Whether nobody is trusted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.anchors.is_empty()
    }

    /// A digest of the anchors, their keys and constraints included; their order counts.
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

    /// The anchors' distinguished names, each a whole DER `Name`, as the certificate_authorities extension wants them.
    pub fn subjects(&self) -> impl Iterator<Item = Vec<u8>> + '_ {
        self.anchors.iter().map(|anchor| sequence(&anchor.subject))
    }

    pub(crate) fn anchors(&self) -> &[TrustAnchor<'static>] {
        &self.anchors
    }
}

fn anchor(certificate: &CertificateDer<'_>) -> Result<TrustAnchor<'static>, RootsError> {
    let anchor = webpki::anchor_from_trusted_cert(certificate)
        .map_err(|error| RootsError::Certificate(error.into()))?;
    Ok(anchor.to_owned())
}

#[cfg(feature = "webpki-roots")]
impl Roots {
    /// The authorities of Mozilla's root programme, as compiled into the program.
    #[must_use]
    pub fn webpki() -> Self {
        Self { anchors: webpki_roots::TLS_SERVER_ROOTS.to_vec() }
    }
}

#[cfg(feature = "native-roots")]
impl Roots {
    /// The authorities the operating system trusts. `SSL_CERT_FILE` and `SSL_CERT_DIR` are honoured.
    ///
    /// Systems carry odd certificates, so what cannot be read is counted, not refused. Finding nothing at all is an error.
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

/// What the operating system trusts.
#[cfg(feature = "native-roots")]
#[derive(Clone, Debug)]
pub struct NativeRoots {
    /// The authorities.
    pub roots: Roots,
    /// How many files or certificates could not be read.
    pub unreadable: usize,
}

/// Why trust anchors could not be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RootsError {
    /// The file is not PEM with certificates in it.
    Pem(PemError),
    /// A certificate cannot serve as an anchor.
    Certificate(RefusalReason),
    /// The operating system has no authorities, or hides them.
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

/// The parts of an anchor lack the tag and length of their SEQUENCE; this puts them back.
pub(crate) fn sequence(content: &[u8]) -> Vec<u8> {
    let length = content.len().to_be_bytes();
    let start = length.iter().take_while(|&&byte| byte == 0).count();
    let digits = length.get(start..).unwrap_or_default();
    let mut name = Vec::with_capacity(content.len() + 2 + digits.len());
    name.push(crate::der::SEQUENCE);
    match digits {
        [] => name.push(0),
        [short] if *short < 0x80 => name.push(*short),
        // At most the eight bytes of a usize.
        #[expect(clippy::cast_possible_truncation)]
        long => {
            name.push(0x80 | long.len() as u8);
            name.extend_from_slice(long);
        }
    }
    name.extend_from_slice(content);
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::der;

    #[test]
    fn names_of_every_length_are_whole_again() {
        for length in [0, 1, 0x7f, 0x80, 0xff, 0x100, 0x1234] {
            let content = vec![5; length];
            let name = sequence(&content);
            assert_eq!(der::single(&name, der::SEQUENCE), Ok(&content[..]));
        }
    }
}

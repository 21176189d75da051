//! Where a refused chain ended, for its explanation.

use std::fmt;

/// The end of the best path that leads from the leaf towards a trust anchor: the one that comes
/// nearest to an anchor, and of those the longest.
///
/// `Display` continues the sentence that names the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChainEnd {
    /// The position in the chain of the path's last certificate, 0 for the leaf.
    pub position: usize,
    /// The subject of that certificate, as in
    /// [`CertificateSummary`](crate::CertificateSummary::subject), shortened if it is long.
    pub subject: String,
    /// Its issuer, likewise. It equals the subject if the certificate is self-issued.
    pub issuer: String,
    /// What the trust anchors have that is nearest to the missing authority.
    pub nearest: NearestAnchor,
}

/// The trust anchor that is nearest to the authority at which a chain ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NearestAnchor {
    /// No anchor has the authority's name.
    None,
    /// The peer sent the authority's certificate, and an anchor has its name but another key.
    OtherKey,
    /// An anchor has the authority's name, but its key did not sign the last certificate.
    OtherSigner,
}

impl fmt::Display for ChainEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { subject, issuer, .. } = self;
        match subject == issuer {
            true if self.position == 0 => {}
            true => write!(f, "; the chain ends at \"{subject}\", which is in no trusted store")?,
            false => {
                write!(f, "; the chain ends at \"{subject}\", issued by \"{issuer}\"")?;
                if self.nearest == NearestAnchor::None {
                    f.write_str(", which is in no trusted store")?;
                }
            }
        }
        f.write_str(match self.nearest {
            NearestAnchor::None => "",
            NearestAnchor::OtherKey => "; a trusted authority has this name but another key",
            NearestAnchor::OtherSigner => {
                "; a trusted authority has this name, but its key did not sign the certificate"
            }
        })
    }
}

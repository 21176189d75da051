//! Limits on a peer's chain, checked before path building, to bound its work.
//!
//! Path building tries every certificate as the issuer of every other, up to 200,000 times: about
//! thirty certificates with one subject keep it busy for more than a tenth of a second, far longer
//! than the rest of a handshake. Real chains have one to four intermediates, rarely two with one
//! subject (cross-signing). Within these limits, the worst case takes about a tenth of that time.

use pki_types::CertificateDer;

use crate::certificate::Certificate;
use crate::reason::RefusalReason;

/// Refuses chains that exceed the limits. No real chain exceeds them.
pub(super) fn check(intermediates: &[CertificateDer<'_>]) -> Result<(), RefusalReason> {
    if intermediates.len() > MAX_INTERMEDIATES {
        return Err(RefusalReason::PathLimits);
    }
    // Too few intermediates to exceed the limit of equal subjects: the subjects need not be parsed.
    if intermediates.len() <= MAX_SAME_SUBJECT {
        return Ok(());
    }
    let mut subjects: Vec<&[u8]> = intermediates
        .iter()
        .filter_map(|der| Certificate::parse(der).ok())
        .map(|certificate| certificate.subject)
        .collect();
    subjects.sort_unstable();
    let crowded =
        subjects.chunk_by(|left, right| left == right).any(|same| same.len() > MAX_SAME_SUBJECT);
    if crowded {
        return Err(RefusalReason::PathLimits);
    }
    Ok(())
}

/// The maximum number of certificates apart from the leaf.
const MAX_INTERMEDIATES: usize = 31;
/// The maximum number of certificates with one subject: each multiplies the number of possible
/// paths.
const MAX_SAME_SUBJECT: usize = 3;

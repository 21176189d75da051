//! Bounds on the work a peer's chain can cause before it is looked at.
//!
//! Path building tries every certificate as the issuer of every other, up to 200,000 times: some thirty certificates under
//! one name keep it busy for a tenth of a second and more, far longer than the rest of a handshake. Real chains have one to
//! four intermediates, rarely two under one name (cross-signing). Within these limits the worst takes about a tenth of that.

use pki_types::CertificateDer;

use crate::certificate::Certificate;
use crate::refusal::RefusalReason;

/// Refuses chains that no honest peer sends.
pub(super) fn check(intermediates: &[CertificateDer<'_>]) -> Result<(), RefusalReason> {
    if intermediates.len() > INTERMEDIATES {
        return Err(RefusalReason::PathLimits);
    }
    // Too few to pass the other limit: no need to look inside.
    if intermediates.len() <= SAME_SUBJECT {
        return Ok(());
    }
    let mut subjects: Vec<&[u8]> = intermediates
        .iter()
        .filter_map(|der| Certificate::parse(der).ok())
        .map(|certificate| certificate.subject)
        .collect();
    subjects.sort_unstable();
    let crowded =
        subjects.chunk_by(|left, right| left == right).any(|same| same.len() > SAME_SUBJECT);
    if crowded {
        return Err(RefusalReason::PathLimits);
    }
    Ok(())
}

/// Certificates beside the leaf.
const INTERMEDIATES: usize = 31;
/// Certificates under one name: each multiplies the number of possible paths.
const SAME_SUBJECT: usize = 3;

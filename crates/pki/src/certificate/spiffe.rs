//! The syntax of SPIFFE IDs.

/// The maximum lengths in bytes. SPIFFE-ID 2.1, 2.3
const MAX_TRUST_DOMAIN: usize = 255;
const MAX_ID: usize = 2048;

/// Whether a URI is the SPIFFE ID of a workload: `spiffe://`, a trust domain, and a path, which an
/// authority's ID does not have. SPIFFE-ID 2, X.509-SVID 3.1, 5.2
pub(super) fn is_spiffe_id(uri: &str) -> bool {
    let Some(rest) = uri.strip_prefix("spiffe://") else { return false };
    let Some((trust_domain, path)) = rest.split_once('/') else { return false };
    uri.len() <= MAX_ID
        && !trust_domain.is_empty()
        && trust_domain.len() <= MAX_TRUST_DOMAIN
        && trust_domain.bytes().all(|byte| is_common(byte) && !byte.is_ascii_uppercase())
        && path.split('/').all(is_segment)
}

/// Whether a part of the path is permitted. Dots alone would change the meaning of the path.
/// SPIFFE-ID 2.2
fn is_segment(segment: &str) -> bool {
    !["", ".", ".."].contains(&segment) && segment.bytes().all(is_common)
}

/// Whether a byte may occur in a path. Escapes such as `%2f` may not. SPIFFE-ID 2.2
fn is_common(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"._-".contains(&byte)
}

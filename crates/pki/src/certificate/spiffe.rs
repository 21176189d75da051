//! The syntax of SPIFFE IDs.

/// The maximum lengths in bytes. SPIFFE-ID 2.1, 2.3
const MAX_TRUST_DOMAIN: usize = 255;
const MAX_ID: usize = 2048;

/// Whether a URI is a SPIFFE ID: `spiffe://`, a trust domain, and a path that may be empty.
/// SPIFFE-ID 2
pub(super) fn is_spiffe_id(uri: &str) -> bool {
    let Some(rest) = uri.strip_prefix("spiffe://") else { return false };
    let (trust_domain, path) = match rest.split_once('/') {
        Some((trust_domain, path)) => (trust_domain, Some(path)),
        None => (rest, None),
    };
    uri.len() <= MAX_ID
        && !trust_domain.is_empty()
        && trust_domain.len() <= MAX_TRUST_DOMAIN
        && trust_domain.bytes().all(|byte| is_common(byte) && !byte.is_ascii_uppercase())
        && path.is_none_or(|path| path.split('/').all(is_segment))
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

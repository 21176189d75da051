//! HKDF-Expand-Label and Derive-Secret, of which the whole schedule is made. RFC 9846 7.1
//!
//! Must not know: which secret is derived. Next: [`super::early`], where the schedule begins.

use tercel_crypto::{Prk, Secret};

/// HKDF-Expand-Label. RFC 9846 7.1
pub(in crate::keys) fn expand_label(prk: &Prk, label: &[u8], context: &[u8], out: &mut [u8]) {
    let [.., high, low] = out.len().to_be_bytes();
    let [.., label_length] = label.len().wrapping_add(PREFIX.len()).to_be_bytes();
    let [.., context_length] = context.len().to_be_bytes();
    let info: [&[u8]; 5] = [&[high, low, label_length], PREFIX, label, &[context_length], context];
    prk.expand(&info, out);
}

const PREFIX: &[u8] = b"tls13 ";

/// What the prefix leaves of the 255 bytes a label may have. RFC 9846 7.1
pub(super) const MAX_LABEL: usize = 249;

/// Derive-Secret, with the transcript hash already taken. RFC 9846 7.1
pub(in crate::keys) fn derive_secret(prk: &Prk, label: &[u8], transcript: &[u8]) -> Secret {
    Secret::with(prk.hmac().algorithm().output_len(), |out| {
        expand_label(prk, label, transcript, out);
    })
}

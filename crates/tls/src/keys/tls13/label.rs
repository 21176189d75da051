//! HKDF-Expand-Label and Derive-Secret, of which the whole schedule is made: one, or several that do not depend on each
//! other. RFC 9846 7.1
//!
//! Must not know: which secret is derived. Next: [`super::early`], where the schedule begins.

use tercel_crypto::{Expansion, Mac, Prk, Secret, SecretBytes, expand_several};

/// HKDF-Expand-Label. RFC 9846 7.1
pub(in crate::keys) fn expand_label(prk: &Prk, label: &[u8], context: &[u8], out: &mut [u8]) {
    prk.expand(&HkdfLabel::new(out.len(), label, context).parts(), out);
}

/// Derive-Secret, with the transcript hash already taken. RFC 9846 7.1
pub(in crate::keys) fn derive_secret(prk: &Prk, label: &[u8], transcript: &[u8]) -> Secret {
    Secret::with(prk.hmac().algorithm().output_len(), |out| {
        expand_label(prk, label, transcript, out);
    })
}

/// [`derive_secret`] for several labels and transcript hashes at once.
pub(super) fn derive_secrets<const LENGTH: usize, const N: usize>(
    prk: &Prk,
    derived: [(&[u8], &[u8]); N],
) -> [SecretBytes<LENGTH>; N] {
    SecretBytes::several([prk.hmac().algorithm().output_len(); N], |outs| {
        let mut derived = derived.into_iter();
        let steps = outs.map(|out| {
            let (label, context) = derived.next().unwrap_or_default();
            Labelled { prk, label, context, out }
        });
        expand_labels(steps, &mut []);
    })
}

/// One HKDF-Expand-Label of several.
pub(super) struct Labelled<'a> {
    pub(super) prk: &'a Prk,
    pub(super) label: &'a [u8],
    pub(super) context: &'a [u8],
    pub(super) out: &'a mut [u8],
}

/// [`expand_label`] for several at once, and MACs that do not depend on them.
pub(super) fn expand_labels<const N: usize>(steps: [Labelled<'_>; N], beside: &mut [Mac<'_>]) {
    let labels =
        steps.each_ref().map(|step| HkdfLabel::new(step.out.len(), step.label, step.context));
    let infos = labels.each_ref().map(HkdfLabel::parts);
    let mut infos = infos.iter();
    let mut all = steps.map(|Labelled { prk, out, .. }| {
        let info = infos.next().map(<[&[u8]; 5]>::as_slice).unwrap_or_default();
        Expansion { prk, info, out }
    });
    expand_several(&mut all, beside);
}

/// The structure HkdfLabel, in its parts. RFC 9846 7.1
struct HkdfLabel<'a> {
    lengths: [u8; 3],
    label: &'a [u8],
    context_length: [u8; 1],
    context: &'a [u8],
}

impl<'a> HkdfLabel<'a> {
    fn new(length: usize, label: &'a [u8], context: &'a [u8]) -> Self {
        let [.., high, low] = length.to_be_bytes();
        let [.., label_length] = label.len().wrapping_add(PREFIX.len()).to_be_bytes();
        let [.., context_length] = context.len().to_be_bytes();
        let lengths = [high, low, label_length];
        Self { lengths, label, context_length: [context_length], context }
    }

    fn parts(&self) -> [&[u8]; 5] {
        [&self.lengths, PREFIX, self.label, &self.context_length, self.context]
    }
}

const PREFIX: &[u8] = b"tls13 ";

/// What the prefix leaves of the 255 bytes a label may have. RFC 9846 7.1
pub(super) const MAX_LABEL: usize = 249;

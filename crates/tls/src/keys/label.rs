//! HKDF-Expand-Label and Derive-Secret, for one value or for several independent values at once.
//! RFC 9846 7.1

use tercel_crypto::{Expansion, InterleavedHash, Mac, Prk, Secret, SecretBytes, expand_batch};

/// Computes HKDF-Expand-Label for a label of any length. RFC 9846 7.1
pub(in crate::keys) fn expand_label(prk: &Prk, label: &[u8], context: &[u8], out: &mut [u8]) {
    let [.., high, low] = out.len().to_be_bytes();
    let [.., label_length] = label.len().wrapping_add(PREFIX.len()).to_be_bytes();
    let [.., context_length] = context.len().to_be_bytes();
    let info: [&[u8]; 5] = [&[high, low, label_length], PREFIX, label, &[context_length], context];
    prk.expand(&info, out);
}

/// Computes Derive-Secret with a transcript hash, for a label of any length. RFC 9846 7.1
pub(in crate::keys) fn derive_secret(prk: &Prk, label: &[u8], transcript_hash: &[u8]) -> Secret {
    Secret::with(prk.hmac().algorithm().output_len(), |out| {
        expand_label(prk, label, transcript_hash, out);
    })
}

/// Computes HKDF-Expand-Label with an output as long as the hash. If `context` is a transcript
/// hash, this is Derive-Secret.
pub(super) fn derive<const LENGTH: usize>(
    prk: &Prk,
    label: Label,
    context: &[u8],
) -> SecretBytes<LENGTH> {
    let length = prk.hmac().algorithm().output_len();
    let label = HkdfLabel::new(length, label, context);
    SecretBytes::with(length, |out| prk.expand(&label.parts(), out))
}

/// Computes [`derive`] for several labels and contexts at once.
pub(super) fn derive_secrets<const LENGTH: usize, const N: usize>(
    prk: &Prk,
    inputs: [(Label, &[u8]); N],
) -> [SecretBytes<LENGTH>; N] {
    SecretBytes::batch([prk.hmac().algorithm().output_len(); N], |outs| {
        let mut outs = outs.into_iter();
        let steps = inputs.map(|(label, context)| {
            let out = outs.next().unwrap_or_default();
            ExpandLabel { prk, label, context, out }
        });
        expand_labels(steps, &mut []);
    })
}

/// Does the same as [`derive_secrets`], interleaved with the hashing of a message.
pub(super) fn derive_interleaved<const LENGTH: usize, const N: usize>(
    interleaved: &mut InterleavedHash<'_>,
    prk: &Prk,
    inputs: [(Label, &[u8]); N],
) -> [SecretBytes<LENGTH>; N] {
    let length = prk.hmac().algorithm().output_len();
    let labels = inputs.map(|(label, context)| HkdfLabel::new(length, label, context));
    interleaved.expand(prk, labels.each_ref().map(HkdfLabel::parts))
}

/// The arguments of one HKDF-Expand-Label.
pub(super) struct ExpandLabel<'a> {
    pub(super) prk: &'a Prk,
    pub(super) label: Label,
    pub(super) context: &'a [u8],
    pub(super) out: &'a mut [u8],
}

/// Computes several HKDF-Expand-Label operations and independent MACs at once.
pub(super) fn expand_labels<const N: usize>(steps: [ExpandLabel<'_>; N], macs: &mut [Mac<'_>]) {
    let labels =
        steps.each_ref().map(|step| HkdfLabel::new(step.out.len(), step.label, step.context));
    let infos = labels.each_ref().map(HkdfLabel::parts);
    let mut infos = infos.iter();
    let mut all = steps.map(|ExpandLabel { prk, out, .. }| {
        let info = infos.next().map(<[&[u8]; 2]>::as_slice).unwrap_or_default();
        Expansion { prk, info, out }
    });
    expand_batch(&mut all, macs);
}

/// The `HkdfLabel` structure. RFC 9846 7.1
struct HkdfLabel<'a> {
    head: Label,
    context: &'a [u8],
}

impl<'a> HkdfLabel<'a> {
    fn new(length: usize, label: Label, context: &'a [u8]) -> Self {
        let mut head = label;
        let [.., high, low] = length.to_be_bytes();
        [head.bytes[0], head.bytes[1]] = [high, low];
        let [.., context_length] = context.len().to_be_bytes();
        if let Some(place) = head.bytes.get_mut(head.end) {
            *place = context_length;
        }
        Self { head, context }
    }

    fn parts(&self) -> [&[u8]; 2] {
        [self.head.bytes.get(..=self.head.end).unwrap_or_default(), self.context]
    }
}

/// A label of the key schedule: the beginning of an `HkdfLabel`. The lengths of output and context
/// are not set yet.
#[derive(Clone, Copy)]
pub(super) struct Label {
    bytes: [u8; LABEL_BUFFER],
    /// The position of the length of the context.
    end: usize,
}

impl Label {
    /// Creates a label. Only the constants below call this function, so a label that is too long is
    /// a compile-time error.
    #[allow(
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        clippy::cast_possible_truncation
    )]
    const fn new(label: &[u8]) -> Self {
        let mut bytes = [0; LABEL_BUFFER];
        bytes[2] = (PREFIX.len() + label.len()) as u8;
        let mut end = 3;
        while end < 3 + PREFIX.len() + label.len() {
            let at = end - 3;
            bytes[end] = if at < PREFIX.len() { PREFIX[at] } else { label[at - PREFIX.len()] };
            end += 1;
        }
        assert!(end < LABEL_BUFFER);
        Self { bytes, end }
    }

    // RFC 9846 7.1
    pub(super) const EXTERNAL_BINDER: Self = Self::new(b"ext binder");
    pub(super) const RESUMPTION_BINDER: Self = Self::new(b"res binder");
    /// RFC 9258 5.2
    pub(super) const IMPORTED_BINDER: Self = Self::new(b"imp binder");
    pub(super) const CLIENT_EARLY_TRAFFIC: Self = Self::new(b"c e traffic");
    pub(super) const EARLY_EXPORTER: Self = Self::new(b"e exp master");
    pub(super) const DERIVED: Self = Self::new(b"derived");
    pub(super) const CLIENT_HANDSHAKE_TRAFFIC: Self = Self::new(b"c hs traffic");
    pub(super) const SERVER_HANDSHAKE_TRAFFIC: Self = Self::new(b"s hs traffic");
    pub(super) const CLIENT_APPLICATION_TRAFFIC: Self = Self::new(b"c ap traffic");
    pub(super) const SERVER_APPLICATION_TRAFFIC: Self = Self::new(b"s ap traffic");
    pub(super) const EXPORTER: Self = Self::new(b"exp master");
    pub(super) const RESUMPTION: Self = Self::new(b"res master");
    // RFC 9846 4.5.3, 7.3, 7.2, 4.7.1
    pub(super) const FINISHED: Self = Self::new(b"finished");
    pub(super) const KEY: Self = Self::new(b"key");
    pub(super) const IV: Self = Self::new(b"iv");
    pub(super) const TRAFFIC_UPDATE: Self = Self::new(b"traffic upd");
    pub(super) const TICKET: Self = Self::new(b"resumption");
}

#[cfg(feature = "quic")]
impl Label {
    // RFC 9001 5.1, 5.2, 6.1
    pub(super) const QUIC_CLIENT_IN: Self = Self::new(b"client in");
    pub(super) const QUIC_SERVER_IN: Self = Self::new(b"server in");
    pub(super) const QUIC_KEY: Self = Self::new(b"quic key");
    pub(super) const QUIC_IV: Self = Self::new(b"quic iv");
    pub(super) const QUIC_HP: Self = Self::new(b"quic hp");
    pub(super) const QUIC_KU: Self = Self::new(b"quic ku");
    // RFC 9369 3.3.2
    pub(super) const QUICV2_KEY: Self = Self::new(b"quicv2 key");
    pub(super) const QUICV2_IV: Self = Self::new(b"quicv2 iv");
    pub(super) const QUICV2_HP: Self = Self::new(b"quicv2 hp");
    pub(super) const QUICV2_KU: Self = Self::new(b"quicv2 ku");
}

/// The maximum length of a label's bytes: two bytes for the length of the output, one for the
/// length of the label, the longest label, and one byte for the length of the context.
const LABEL_BUFFER: usize = 3 + PREFIX.len() + 12 + 1;

const PREFIX: &[u8] = b"tls13 ";

/// The length of the longest label: 255 bytes minus the prefix. RFC 9846 7.1
pub(super) const MAX_LABEL: usize = 249;

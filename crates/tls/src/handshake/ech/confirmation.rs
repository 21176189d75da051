//! The confirmation in an encoded HelloRetryRequest or ServerHello. RFC 9849 7.2, 7.2.1

use tercel_crypto::constant_time_eq;
use tercel_wire::ServerHello;

use crate::handshake::transcript::Transcript;
use crate::keys::tls13::EchConfirmation;

/// The number of bytes of a handshake message before its body.
const HEADER: usize = 4;

/// Writes the confirmation to its place in the message. The transcript ends before the message.
pub(super) fn insert(
    message: &mut [u8],
    kind: EchConfirmation,
    inner_random: &[u8; 32],
    transcript: &Transcript,
) {
    let Some(place) = place(message) else { return };
    if let Some(place) = message.get_mut(place.clone()) {
        place.fill(0);
    }
    let hash = transcript.digest_with(message);
    let confirmation = kind.compute(transcript.algorithm(), inner_random, &hash);
    if let Some(place) = message.get_mut(place) {
        place.copy_from_slice(&confirmation);
    }
}

/// Whether the message has the confirmation.
pub(super) fn is_in(
    message: &[u8],
    kind: EchConfirmation,
    inner_random: &[u8; 32],
    transcript: &Transcript,
) -> bool {
    let mut expected = message.to_vec();
    insert(&mut expected, kind, inner_random, transcript);
    place(message).is_some() && constant_time_eq(&expected, message)
}

fn place(message: &[u8]) -> Option<core::ops::Range<usize>> {
    let body = ServerHello::confirmation(message.get(HEADER..)?)?;
    Some(body.start.saturating_add(HEADER)..body.end.saturating_add(HEADER))
}

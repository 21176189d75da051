//! The kernel by portable vectors, and Poly1305 against its definition, for tests and fuzzing.

use core::mem::MaybeUninit;

use super::avx512::Zmm;
use super::chacha20::Start;
use super::definition;
use super::message;
use super::poly1305::{BLOCK, GROUP, Lanes};
use super::portable::Portable;
use super::scalar::{self, OneTimeKey};
use super::self_test::Input;
use super::subroutines::Subroutines;
use super::*;

/// Seals by portable vectors.
pub(crate) fn seal_portably(
    secret: &[u8; 32],
    nonce: &[u8; 12],
    aad: &[u8],
    data: &[u8],
    extra: &[u8],
) -> Vec<u8> {
    by_portable::<true>(secret, &Input { nonce: *nonce, aad, data, extra })
}

/// Opens by portable vectors.
#[cfg(test)]
pub(in crate::backend::kernels) fn open_portably(
    secret: &[u8; 32],
    nonce: &[u8; 12],
    aad: &[u8],
    sealed: &[u8],
) -> Option<Vec<u8>> {
    let (body, tag) = sealed.split_at(sealed.len() - TAG_LEN);
    let input = Input { nonce: *nonce, aad, data: body, extra: &[] };
    let mut opened = by_portable::<false>(secret, &input);
    let made = opened.split_off(body.len());
    (made == tag).then_some(opened)
}

/// Seals or opens by portable vectors.
pub(super) fn by_portable<const SEAL: bool>(secret: &[u8; 32], input: &Input<'_>) -> Vec<u8> {
    let mut out = vec![0; input.total() + TAG_LEN];
    let text = input.text(out.as_mut_ptr());
    let start = Start { key: secret, nonce: &input.nonce };
    // SAFETY: the output is longer than the input.
    let tag = unsafe {
        if input.total() <= message::SHORT {
            message::short::<Portable, SEAL>((), start, input.aad, &text)
        } else {
            message::long::<Portable, SEAL>((), start, input.aad, &text, &mut Stream::new())
        }
    };
    out[input.total()..].copy_from_slice(&tag);
    out
}

/// Poly1305 of whole blocks, one after the other.
fn scalar_tag(key: &[u8; 32], message: &[u8]) -> [u8; 16] {
    let key = OneTimeKey::new(key);
    let absorb = |sum, block| key.multiply(scalar::add(sum, scalar::with_end(block)));
    key.tag(message.chunks(BLOCK).fold([0; 3], absorb))
}

/// Poly1305 of whole blocks, at least one, in lanes. The first `begin` blocks are absorbed before.
fn tag_in_lanes<V: Subroutines>(
    proof: V::Proof,
    key: &[u8; 32],
    message: &[u8],
    begin: usize,
) -> [u8; 16] {
    let key = OneTimeKey::new(key);
    let (before, after) = message.split_at(begin * BLOCK);
    let add = |sum, block| scalar::add(key.multiply(sum), scalar::with_end(block));
    let before = before.chunks(BLOCK).fold([0; 3], add);
    let blocks = after.len() / BLOCK;
    // What follows the last block must not matter.
    let mut room = after.to_vec();
    room.resize(after.len() + GROUP * BLOCK, 0xa5);
    let groups = (blocks - 1) / GROUP;
    let mut powers = MaybeUninit::uninit();
    let powers = V::powers(&mut powers, proof, key.r, groups);
    let mut lanes = Lanes::<V>::new(proof, before);
    // SAFETY: there are as many blocks, and a group more.
    let sum = unsafe {
        V::absorb(&mut lanes, powers, room.as_ptr(), groups);
        let last = room[groups * GROUP * BLOCK..].as_ptr();
        lanes.finish(powers, last, blocks - groups * GROUP)
    };
    key.tag(sum)
}

/// Checks all implementations against the definition, for a message of whole blocks.
pub(crate) fn check_poly1305(key: &[u8; 32], message: &[u8]) {
    let expected = definition::poly1305(key, message);
    assert_eq!(scalar_tag(key, message), expected, "{key:x?} {message:x?}");
    for begin in [0, 1] {
        if message.len() <= begin * BLOCK {
            continue;
        }
        let tag = tag_in_lanes::<Portable>((), key, message, begin);
        assert_eq!(tag, expected, "{key:x?} {message:x?}");
        if is_available() {
            // SAFETY: the instructions are available.
            let proof = unsafe { Available::new() };
            let tag = tag_in_lanes::<Zmm>(proof, key, message, begin);
            assert_eq!(tag, expected, "{key:x?} {message:x?}");
        }
    }
}

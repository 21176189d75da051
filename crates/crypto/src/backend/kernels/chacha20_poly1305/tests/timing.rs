//! The time does not depend on keys and texts. See `kernels/timing.rs`.

use super::*;
use crate::backend::kernels::tests::aead_timing::{Aead, check};

/// A key in its place.
struct Timed(Box<MaybeUninit<Key>>);

impl Aead for Timed {
    fn set_key(&mut self, secret: &[u8]) {
        // SAFETY: the instructions are available.
        unsafe { Key::write(&mut self.0, secret.try_into().unwrap()) };
    }

    fn seal(&self, nonce: &[u8; 12], aad: &[u8], data: &[u8], out: &mut [u8]) {
        let (body, tag) = out.split_at_mut(data.len());
        let output = body.as_mut_ptr();
        let text = Text { input: data.as_ptr(), len: data.len(), extra: &[], output };
        // SAFETY: the key was written; the output is longer than the input by a tag.
        unsafe { self.0.assume_init_ref().seal(nonce, aad, text, tag.as_mut_ptr()).unwrap() };
    }

    fn open(&self, nonce: &[u8; 12], aad: &[u8], sealed: &[u8], out: &mut [u8]) -> bool {
        let (body, tag) = sealed.split_at(sealed.len() - TAG_LEN);
        let output = out.as_mut_ptr();
        let text = Text { input: body.as_ptr(), len: body.len(), extra: &[], output };
        // SAFETY: the key was written; input and output have the same length.
        unsafe { self.0.assume_init_ref().open(nonce, aad, text, tag) }.is_ok()
    }
}

#[test]
#[ignore = "takes minutes, for `just kernel-timing`"]
fn time_does_not_depend_on_keys_or_texts() {
    if is_available() {
        check(AeadAlgorithm::ChaCha20Poly1305, || Timed(Box::new_uninit()));
    }
}

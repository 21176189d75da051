//! The time does not depend on keys and contents. See `kernels/timing.rs`.

use super::*;
use crate::backend::kernels::tests::aead_timing::{Aead, check};

/// A key in its place.
struct Timed(Box<Key>);

impl Aead for Timed {
    fn set_key(&mut self, secret: &[u8]) {
        // SAFETY: the instructions are available; the key is written to the place of another.
        unsafe { Avx512::expand(&mut self.0, secret) };
    }

    fn seal(&self, nonce: &[u8; 12], aad: &[u8], data: &[u8], out: &mut [u8]) {
        let (body, tag) = out.split_at_mut(data.len());
        let data = Data { input: data.as_ptr(), out: body.as_mut_ptr(), len: data.len() };
        // SAFETY: the output is longer than the input by a tag.
        unsafe { self.0.seal(nonce, aad, data, &[], tag.as_mut_ptr()) }.unwrap();
    }

    fn open(&self, nonce: &[u8; 12], aad: &[u8], sealed: &[u8], out: &mut [u8]) -> bool {
        let (body, tag) = sealed.split_last_chunk().unwrap();
        let data = Data { input: body.as_ptr(), out: out.as_mut_ptr(), len: body.len() };
        // SAFETY: input and output have the same length.
        unsafe { self.0.open(nonce, aad, data, tag) }.is_ok()
    }
}

#[test]
#[ignore = "takes minutes, for `just kernel-timing`"]
fn time_does_not_depend_on_keys_or_data() {
    if !is_available() {
        return println!("absent: AVX-512 with VAES and VPCLMULQDQ");
    }
    for algorithm in ALGORITHMS {
        check(algorithm, || Timed(Box::new(Key::EMPTY)));
    }
}

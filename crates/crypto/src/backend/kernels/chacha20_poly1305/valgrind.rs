//! Checks by Valgrind that no branch and no address depends on keys or texts.
//!
//! `tools/constant-time.sh` runs it. Valgrind does not support AVX-512, so portable vectors run the
//! text of the kernel. See `client_requests.rs` for the requests to Valgrind.

use core::hint::black_box;

use super::Text;
use super::chacha20::Start;
use super::message::{self, Stream};
use super::portable::Portable;
use super::self_test::LENGTHS;
use crate::backend::client_requests::{
    MAKE_DEFINED, MAKE_UNDEFINED, assert_that_leaks_are_detected, errors, mark, runs_under_valgrind,
};

#[test]
#[ignore = "for tools/constant-time.sh, which runs it under Valgrind"]
fn nothing_depends_on_keys_or_texts() {
    assert!(runs_under_valgrind(), "this runs under Valgrind");
    assert_eq!(errors(), 0);
    for len in LENGTHS {
        let (mut secret, mut nonce, mut aad) = ([1; 32], [2; 12], [3; 13]);
        let (mut data, mut out, mut extra) = (vec![4_u8; len], vec![0_u8; len + 2], [5; 2]);
        mark(MAKE_UNDEFINED, &mut secret);
        mark(MAKE_UNDEFINED, &mut nonce);
        mark(MAKE_UNDEFINED, &mut aad);
        mark(MAKE_UNDEFINED, &mut data);
        mark(MAKE_UNDEFINED, &mut extra);
        let start = Start { key: &secret, nonce: &nonce };
        let (input, output) = (data.as_ptr(), out.as_mut_ptr());
        let text = Text { input, len, extra: &extra[..len % 3], output };
        let mut stream = Stream::new();
        // SAFETY: the output is longer than the input by the extra bytes.
        let mut tags = unsafe {
            if text.total() <= message::SHORT {
                [
                    message::short::<Portable, true>((), start, &aad, &text),
                    message::short::<Portable, false>((), start, &aad, &text),
                ]
            } else {
                [
                    message::long::<Portable, true>((), start, &aad, &text, &mut stream),
                    message::long::<Portable, false>((), start, &aad, &text, &mut stream),
                ]
            }
        };
        assert_eq!(errors(), 0, "{len}");
        mark(MAKE_DEFINED, &mut tags);
        mark(MAKE_DEFINED, &mut out);
        black_box((tags, out));
    }
    assert_that_leaks_are_detected();
}

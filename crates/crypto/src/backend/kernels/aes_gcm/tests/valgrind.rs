//! Checks by Valgrind that no branch and no address depends on keys or data.
//!
//! Valgrind does not support AVX-512, so the portable vector runs: all text but the vector's own
//! operations is the same.

use super::*;
use crate::backend::client_requests::{
    MAKE_DEFINED, MAKE_UNDEFINED, assert_that_leaks_are_detected, errors, mark, runs_under_valgrind,
};

#[test]
#[ignore = "for tools/constant-time.sh, which runs it under Valgrind"]
fn nothing_depends_on_keys_or_data() {
    assert!(runs_under_valgrind(), "this runs under Valgrind");
    assert_eq!(errors(), 0);
    for algorithm in ALGORITHMS {
        let mut secret = vec![0x5a; algorithm.key_len()];
        mark(MAKE_UNDEFINED, &mut secret);
        let kernel = Kernel::portable(&secret);
        for (turn, len) in LENGTHS.into_iter().enumerate() {
            let (mut data, mut out) = (vec![1; len], vec![0; len + 1]);
            let (mut nonce, mut aad, mut tag) = ([2; 12], vec![3; turn * 13 % 40], [0; TAG_LEN]);
            mark(MAKE_UNDEFINED, &mut data);
            mark(MAKE_UNDEFINED, &mut nonce);
            mark(MAKE_UNDEFINED, &mut aad);
            let message = |extra, out: *mut u8, tag: *mut u8| Message {
                nonce: &nonce,
                aad_block: &aad,
                aad_len: aad.len(),
                input: data.as_ptr(),
                input_len: len,
                extra,
                out,
                received_tag: tag,
                tag,
            };
            let extra = [None, Some(23)][turn % 2];
            // SAFETY: the vector needs no instructions; the output has room for data and extra
            // byte.
            unsafe {
                let sealed = message(extra, out.as_mut_ptr(), tag.as_mut_ptr());
                run::<PortableEntries, true>(&kernel.key, &sealed);
                // The tag is replaced by the difference, which is not compared here: the result
                // of that comparison is public.
                let opened = message(None, out.as_mut_ptr(), tag.as_mut_ptr());
                run::<PortableEntries, false>(&kernel.key, &opened);
            }
            mark(MAKE_DEFINED, &mut out);
            mark(MAKE_DEFINED, &mut tag);
            assert_eq!(errors(), 0, "{len}");
        }
    }
    assert_that_leaks_are_detected();
}

//! The portable vector at the shortest lengths that use each branch, in a test that Miri runs:
//! `just miri`.

use super::*;

/// One to four vectors with a header; after a header, one to four vectors of the end, one and four
/// vectors before it, and the inner loop, once and twice.
const BRANCHES: [usize; 13] = [0, 1, 32, 33, 80, 160, 208, 209, 288, 336, 481, 592, 1104];

/// With longer keys only the number of rounds differs: a short message, and both inner loops.
const BRANCHES_AES_256: [usize; 2] = [33, 1104];

#[test]
fn in_miri_messages_are_sealed_opened_and_rejected() {
    for algorithm in ALGORITHMS {
        let secret: Vec<u8> = (1..).take(algorithm.key_len()).collect();
        let kernel = Kernel::portable(&secret);
        let lengths = if secret.len() == 16 { &BRANCHES[..] } else { &BRANCHES_AES_256[..] };
        for (turn, len) in lengths.iter().copied().enumerate() {
            let text: Vec<u8> = (0..len + 40).map(|at| at as u8).collect();
            let (aad, data, extra) = (&text[..turn * 13 % 40], &text[..len], &text[..turn % 3]);
            let total = len + extra.len();
            let mut sealed = vec![0; total + TAG_LEN];
            kernel.seal(&[3; 12], aad, data, extra, &mut sealed);
            // Miri cannot call AWS-LC.
            #[cfg(not(miri))]
            {
                let mut expected = vec![0; total + TAG_LEN];
                let aws_lc = AeadContext::by_aws_lc(algorithm, &secret).unwrap();
                aws_lc.sealer().seal(&[3; 12], aad, data, extra, &mut expected).unwrap();
                assert_eq!(sealed, expected, "{len}");
            }
            let mut opened = vec![0; total];
            kernel.open(&[3; 12], aad, &sealed, &mut opened).unwrap();
            assert_eq!(opened, [data, extra].concat());
            sealed[total] ^= 1;
            assert_eq!(
                kernel.open_in_place(&[3; 12], aad, &mut sealed),
                Err(CryptoError::Rejected)
            );
            assert!(sealed[..total].iter().all(|byte| *byte == 0));
        }
    }
}

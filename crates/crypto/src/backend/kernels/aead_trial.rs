//! The work by which kernels of AEADs are compared with AWS-LC. See `trial.rs` for the timing.

use core::hint::black_box;

use super::trial::Trial;
use crate::algorithm::AeadAlgorithm;
use crate::error::CryptoError;

const TAG_LEN: usize = AeadAlgorithm::TAG_LEN;

/// Seals a message of this length, and as many extra bytes as `extra`. The functions write the
/// ciphertext and the tag into a buffer of just this size.
pub(super) fn seal(
    len: usize,
    extra: usize,
    by_kernel: impl Fn(&[u8], &mut [u8]) -> Result<(), CryptoError> + 'static,
    by_aws_lc: impl Fn(&[u8], &mut [u8]) -> Result<(), CryptoError> + 'static,
) -> Trial {
    Trial::new(seal_work(len, extra, by_kernel), seal_work(len, extra, by_aws_lc))
}

/// Seals with buffers of its own.
fn seal_work(
    len: usize,
    extra: usize,
    seal: impl Fn(&[u8], &mut [u8]) -> Result<(), CryptoError>,
) -> impl FnMut() {
    let (input, mut out) = (vec![1; len], vec![0; len + extra + TAG_LEN]);
    move || {
        let done = seal(black_box(&input), &mut out);
        black_box((done.is_ok(), &mut out));
    }
}

/// Opens this message, which ends with a tag. The functions take the ciphertext, the tag, and a
/// buffer of the ciphertext's length.
pub(super) fn open(
    sealed: Vec<u8>,
    by_kernel: impl Fn(&[u8], &[u8], &mut [u8]) -> Result<(), CryptoError> + 'static,
    by_aws_lc: impl Fn(&[u8], &[u8], &mut [u8]) -> Result<(), CryptoError> + 'static,
) -> Trial {
    Trial::new(open_work(sealed.clone(), by_kernel), open_work(sealed, by_aws_lc))
}

/// Opens with an output of its own.
fn open_work(
    sealed: Vec<u8>,
    open: impl Fn(&[u8], &[u8], &mut [u8]) -> Result<(), CryptoError>,
) -> impl FnMut() {
    let len = sealed.len() - TAG_LEN;
    let mut out = vec![0; len];
    move || {
        let (body, tag) = black_box(&sealed).split_at(len);
        let done = open(body, tag, &mut out);
        black_box((done.is_ok(), &mut out));
    }
}

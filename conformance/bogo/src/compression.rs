//! The runner's ways to compress certificates, made to be recognized and not to save anything.
//!
//! Must not know: who uses them. Next: [`crate::config`].

use std::sync::Arc;

use tercel::crypto::fill_random;
use tercel::wire::CertificateCompressionAlgorithm;
use tercel::{CompressCertificate, DecompressionFailed};

use crate::options::Options;

/// The algorithms that the options name, in the order that the runner takes for granted.
pub(crate) fn algorithms(options: &Options) -> Vec<Arc<dyn CompressCertificate>> {
    let all: [Arc<dyn CompressCertificate>; 3] =
        [Arc::new(Expanding), Arc::new(Shrinking), Arc::new(Random)];
    let wanted = |algorithm: &Arc<dyn CompressCertificate>| {
        options.compression || options.one_compression == Some(algorithm.algorithm().0)
    };
    all.into_iter().filter(wanted).collect()
}

/// Leaves out the first two bytes of a certificate message, which are zeros in a handshake.
struct Shrinking;

impl CompressCertificate for Shrinking {
    fn algorithm(&self) -> CertificateCompressionAlgorithm {
        CertificateCompressionAlgorithm(0xff01)
    }

    fn compress(&self, certificate: &[u8]) -> Option<Vec<u8>> {
        certificate.strip_prefix(LEFT_OUT).map(<[u8]>::to_vec)
    }

    fn decompress(&self, compressed: &[u8], out: &mut [u8]) -> Result<(), DecompressionFailed> {
        let (start, rest) = out.split_at_mut_checked(LEFT_OUT.len()).ok_or(DecompressionFailed)?;
        start.copy_from_slice(LEFT_OUT);
        fill(rest, compressed)
    }
}

/// Puts four bytes in front.
struct Expanding;

impl CompressCertificate for Expanding {
    fn algorithm(&self) -> CertificateCompressionAlgorithm {
        CertificateCompressionAlgorithm(0xff02)
    }

    fn compress(&self, certificate: &[u8]) -> Option<Vec<u8>> {
        Some([PUT_IN_FRONT, certificate].concat())
    }

    fn decompress(&self, compressed: &[u8], out: &mut [u8]) -> Result<(), DecompressionFailed> {
        fill(out, compressed.strip_prefix(PUT_IN_FRONT).ok_or(DecompressionFailed)?)
    }
}

/// Puts a random byte in front.
struct Random;

impl CompressCertificate for Random {
    fn algorithm(&self) -> CertificateCompressionAlgorithm {
        CertificateCompressionAlgorithm(0xff03)
    }

    fn compress(&self, certificate: &[u8]) -> Option<Vec<u8>> {
        let mut byte = [0];
        fill_random(&mut byte).ok()?;
        Some([&byte, certificate].concat())
    }

    fn decompress(&self, compressed: &[u8], out: &mut [u8]) -> Result<(), DecompressionFailed> {
        fill(out, compressed.get(1..).ok_or(DecompressionFailed)?)
    }
}

fn fill(out: &mut [u8], bytes: &[u8]) -> Result<(), DecompressionFailed> {
    if out.len() != bytes.len() {
        return Err(DecompressionFailed);
    }
    out.copy_from_slice(bytes);
    Ok(())
}

const LEFT_OUT: &[u8] = &[0, 0];
const PUT_IN_FRONT: &[u8] = &[1, 2, 3, 4];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_compressed_comes_back_at_its_own_length_only() {
        let message = [0, 0, 7, 8, 9];
        let options = Options { compression: true, ..Options::default() };
        for algorithm in algorithms(&options) {
            let compressed = algorithm.compress(&message).unwrap();
            assert_ne!(compressed, message);
            let mut out = [1; 5];
            assert!(algorithm.decompress(&compressed, &mut out).is_ok());
            assert_eq!(out, message);
            assert!(algorithm.decompress(&compressed, &mut [0; 4]).is_err());
        }
    }
}

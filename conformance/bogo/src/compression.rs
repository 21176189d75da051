//! The runner's certificate compression algorithms. Their output can be recognized, but they do not
//! save space.

use std::sync::Arc;

use tercel::certificates::{CompressCertificate, DecompressionFailed};
use tercel::wire::CertificateCompressionAlgorithm;
use tercel_crypto::fill_random;

use crate::options::Options;

/// The algorithms of the options, in the order that the runner expects.
pub(crate) fn algorithms(options: &Options) -> Vec<Arc<dyn CompressCertificate>> {
    let all: [Arc<dyn CompressCertificate>; 3] =
        [Arc::new(Expanding), Arc::new(Shrinking), Arc::new(Random)];
    let wanted = |algorithm: &Arc<dyn CompressCertificate>| {
        options.compression || options.one_compression == Some(algorithm.algorithm().0)
    };
    all.into_iter().filter(wanted).collect()
}

/// An algorithm that removes the first two bytes of a Certificate message, which are zero in a
/// handshake.
struct Shrinking;

impl CompressCertificate for Shrinking {
    fn algorithm(&self) -> CertificateCompressionAlgorithm {
        CertificateCompressionAlgorithm(0xff01)
    }

    fn compress(&self, certificate: &[u8]) -> Option<Vec<u8>> {
        certificate.strip_prefix(REMOVED).map(<[u8]>::to_vec)
    }

    fn decompress(&self, compressed: &[u8], out: &mut [u8]) -> Result<(), DecompressionFailed> {
        let (start, rest) = out.split_at_mut_checked(REMOVED.len()).ok_or(DecompressionFailed)?;
        start.copy_from_slice(REMOVED);
        fill(rest, compressed)
    }
}

/// An algorithm that prepends four bytes.
struct Expanding;

impl CompressCertificate for Expanding {
    fn algorithm(&self) -> CertificateCompressionAlgorithm {
        CertificateCompressionAlgorithm(0xff02)
    }

    fn compress(&self, certificate: &[u8]) -> Option<Vec<u8>> {
        Some([PREFIX, certificate].concat())
    }

    fn decompress(&self, compressed: &[u8], out: &mut [u8]) -> Result<(), DecompressionFailed> {
        fill(out, compressed.strip_prefix(PREFIX).ok_or(DecompressionFailed)?)
    }
}

/// An algorithm that prepends a random byte.
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

const REMOVED: &[u8] = &[0, 0];
const PREFIX: &[u8] = &[1, 2, 3, 4];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decompression_requires_the_original_length() {
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

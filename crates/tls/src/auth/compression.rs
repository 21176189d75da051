//! Compression algorithms for Certificate messages: the trait, and the implementations of this
//! library. RFC 8879

use std::sync::Arc;

use tercel_wire::CertificateCompressionAlgorithm;

/// A compression algorithm for Certificate messages. RFC 8879
///
/// See [`crate::client::ClientConfigBuilder::certificate_compression`]. Implementations with the
/// same [`Self::algorithm`] have to be able to decompress each other's output.
pub trait CompressCertificate: Send + Sync {
    /// Returns the algorithm's code point.
    fn algorithm(&self) -> CertificateCompressionAlgorithm;

    /// Compresses the body of a Certificate message. The result is cached with the credential.
    ///
    /// `None` if the result would not be smaller, or compression failed: then the message is sent
    /// uncompressed.
    fn compress(&self, certificate: &[u8]) -> Option<Vec<u8>>;

    /// Decompresses a peer's message into `out`, whose length is the `uncompressed_length` that the
    /// peer sent.
    ///
    /// # Errors
    /// [`DecompressionFailed`] unless all of `compressed` was read and the result has exactly the
    /// length of `out`.
    fn decompress(&self, compressed: &[u8], out: &mut [u8]) -> Result<(), DecompressionFailed>;
}

/// The error of a compressed message that is malformed or has the wrong uncompressed length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecompressionFailed;

impl core::fmt::Display for DecompressionFailed {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the compressed certificate is malformed or has the wrong length")
    }
}

impl std::error::Error for DecompressionFailed {}

/// Returns the algorithms that are compiled in, the one with the best compression ratio first. They
/// are offered to peers by default.
pub(crate) fn compiled() -> Vec<Arc<dyn CompressCertificate>> {
    vec![
        #[cfg(feature = "brotli")]
        Arc::new(Brotli),
        #[cfg(feature = "zstd")]
        Arc::new(Zstd),
        #[cfg(feature = "zlib")]
        Arc::new(Zlib),
    ]
}

/// Returns the algorithms that compress this side's own certificates by default: those compiled in,
/// except zlib.
///
/// The same bytes have many deflate encodings. Some clients decompress the message, compress it
/// again, and add the result to their transcript, so that the handshake fails if their compressor
/// produces other bytes.
pub(crate) fn sent_by_default() -> Vec<Arc<dyn CompressCertificate>> {
    let mut algorithms = compiled();
    algorithms.retain(|each| each.algorithm() != CertificateCompressionAlgorithm::ZLIB);
    algorithms
}

/// Returns the compressed bytes if they are shorter than the original.
#[cfg(any(feature = "zlib", feature = "brotli", feature = "zstd"))]
fn if_smaller(compressed: Vec<u8>, original: &[u8]) -> Option<Vec<u8>> {
    (compressed.len() < original.len()).then_some(compressed)
}

/// zlib (RFC 1950), with the crate `miniz_oxide`. Requires the feature `zlib`.
///
/// By default, zlib decompresses the certificates of peers, but does not compress the certificates
/// of this side: see [`crate::server::ServerConfigBuilder::certificate_compression`].
#[cfg(feature = "zlib")]
#[derive(Clone, Copy, Debug, Default)]
pub struct Zlib;

#[cfg(feature = "zlib")]
impl CompressCertificate for Zlib {
    fn algorithm(&self) -> CertificateCompressionAlgorithm {
        CertificateCompressionAlgorithm::ZLIB
    }

    fn compress(&self, certificate: &[u8]) -> Option<Vec<u8>> {
        // The highest level is affordable because the result is cached.
        if_smaller(miniz_oxide::deflate::compress_to_vec_zlib(certificate, 9), certificate)
    }

    fn decompress(&self, compressed: &[u8], out: &mut [u8]) -> Result<(), DecompressionFailed> {
        use miniz_oxide::inflate::TINFLStatus;
        use miniz_oxide::inflate::core::{DecompressorOxide, decompress, inflate_flags};
        let flags = inflate_flags::TINFL_FLAG_PARSE_ZLIB_HEADER
            | inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
        let mut state = Box::<DecompressorOxide>::default();
        let (status, read, written) = decompress(&mut state, compressed, out, 0, flags);
        let whole = status == TINFLStatus::Done && read == compressed.len() && written == out.len();
        if whole { Ok(()) } else { Err(DecompressionFailed) }
    }
}

/// Brotli (RFC 7932), with the crate `brotli`. Requires the feature `brotli`.
#[cfg(feature = "brotli")]
#[derive(Clone, Copy, Debug, Default)]
pub struct Brotli;

#[cfg(feature = "brotli")]
impl CompressCertificate for Brotli {
    fn algorithm(&self) -> CertificateCompressionAlgorithm {
        CertificateCompressionAlgorithm::BROTLI
    }

    fn compress(&self, mut certificate: &[u8]) -> Option<Vec<u8>> {
        let original = certificate;
        let mut compressed = Vec::new();
        let params = brotli::enc::BrotliEncoderParams {
            quality: 9,
            // A window of 64 KB is enough for a chain. The receiver has to allocate such a window.
            lgwin: 16,
            size_hint: certificate.len(),
            ..Default::default()
        };
        brotli::BrotliCompress(&mut certificate, &mut compressed, &params).ok()?;
        if_smaller(compressed, original)
    }

    fn decompress(&self, compressed: &[u8], out: &mut [u8]) -> Result<(), DecompressionFailed> {
        use brotli::enc::StandardAlloc;
        use brotli::{BrotliDecompressStream, BrotliResult, BrotliState};
        let allocator = StandardAlloc::default;
        let mut state = BrotliState::new_strict(allocator(), allocator(), allocator());
        let (mut unread, mut read) = (compressed.len(), 0);
        let (mut room, mut written, mut total) = (out.len(), 0, 0);
        let result = BrotliDecompressStream(
            &mut unread,
            &mut read,
            compressed,
            &mut room,
            &mut written,
            out,
            &mut total,
            &mut state,
        );
        let whole = matches!(result, BrotliResult::ResultSuccess) && unread == 0 && room == 0;
        if whole { Ok(()) } else { Err(DecompressionFailed) }
    }
}

/// Zstandard (RFC 8878), with the crate `ruzstd`. Requires the feature `zstd` and Rust 1.87.
#[cfg(feature = "zstd")]
#[derive(Clone, Copy, Debug, Default)]
pub struct Zstd;

#[cfg(feature = "zstd")]
impl CompressCertificate for Zstd {
    fn algorithm(&self) -> CertificateCompressionAlgorithm {
        CertificateCompressionAlgorithm::ZSTD
    }

    fn compress(&self, certificate: &[u8]) -> Option<Vec<u8>> {
        use ruzstd::encoding::{CompressionLevel, compress_to_vec};
        if_smaller(compress_to_vec(certificate, CompressionLevel::Fastest), certificate)
    }

    fn decompress(&self, compressed: &[u8], out: &mut [u8]) -> Result<(), DecompressionFailed> {
        use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
        let failed = |_| DecompressionFailed;
        let mut decoder = FrameDecoder::new();
        // The window size that the RFC recommends decoders to support. RFC 8878 3.1.1.1.2
        decoder.set_max_window_size(8 << 20);
        let mut unread = compressed;
        decoder.init(&mut unread).map_err(failed)?;
        // Decoding stops after the block that exceeds `out`.
        let enough = BlockDecodingStrategy::UptoBytes(out.len().saturating_add(1));
        let ended = decoder.decode_blocks(&mut unread, enough).map_err(failed)?;
        let result = decoder.collect().filter(|result| result.len() == out.len());
        match result {
            Some(result) if ended && unread.is_empty() => out.copy_from_slice(&result),
            _ => return Err(DecompressionFailed),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns bytes that are as repetitive as a chain, and bytes that cannot be compressed.
    fn samples() -> [Vec<u8>; 2] {
        let chain = b"certificate issued by an authority to a service; "
            .iter()
            .copied()
            .cycle()
            .take(3000)
            .enumerate()
            .map(|(at, byte)| if at % 7 == 0 { u8::try_from(at % 251).unwrap() } else { byte })
            .collect();
        let mut noise = vec![0; 500];
        tercel_crypto::fill_random(&mut noise).unwrap();
        [chain, noise]
    }

    #[test]
    fn decompression_restores_the_original() {
        let [chain, noise] = samples();
        for algorithm in compiled() {
            let compressed = algorithm.compress(&chain).unwrap();
            assert!(compressed.len() < chain.len());
            let mut out = vec![0xee; chain.len()];
            assert_eq!(algorithm.decompress(&compressed, &mut out), Ok(()));
            assert_eq!(out, chain, "{:?}", algorithm.algorithm());
            assert_eq!(algorithm.compress(&noise), None);
        }
    }

    #[test]
    fn the_result_has_exactly_the_announced_length() {
        let [chain, _] = samples();
        for algorithm in compiled() {
            let compressed = algorithm.compress(&chain).unwrap();
            for wrong in [0, 1, chain.len() - 1, chain.len() + 1, 2 * chain.len()] {
                let refused = algorithm.decompress(&compressed, &mut vec![0; wrong]);
                assert_eq!(refused, Err(DecompressionFailed), "{:?}", algorithm.algorithm());
            }
        }
    }

    #[test]
    fn truncated_and_trailing_bytes_are_refused() {
        let [chain, _] = samples();
        for algorithm in compiled() {
            let compressed = algorithm.compress(&chain).unwrap();
            let mut out = vec![0; chain.len()];
            for length in 0..compressed.len() {
                let refused = algorithm.decompress(&compressed[..length], &mut out);
                assert_eq!(refused, Err(DecompressionFailed), "{:?}", algorithm.algorithm());
            }
            for tail in [&b"\0"[..], b"more", &compressed] {
                let longer = [&compressed[..], tail].concat();
                let refused = algorithm.decompress(&longer, &mut out);
                assert_eq!(refused, Err(DecompressionFailed), "{:?}", algorithm.algorithm());
            }
        }
    }

    #[test]
    fn corrupted_bytes_cause_no_panic() {
        let [chain, _] = samples();
        for algorithm in compiled() {
            let compressed = algorithm.compress(&chain).unwrap();
            let mut out = vec![0; chain.len()];
            for bit in 0..compressed.len() * 8 {
                let mut damaged = compressed.clone();
                damaged[bit / 8] ^= 1 << (bit % 8);
                let _ = algorithm.decompress(&damaged, &mut out);
            }
        }
    }

    #[test]
    fn a_decompression_bomb_stops_at_the_end_of_the_output() {
        let zeros = vec![0; 4 << 20];
        for algorithm in compiled() {
            let bomb = algorithm.compress(&zeros).unwrap();
            assert!(bomb.len() < 40_000);
            let refused = algorithm.decompress(&bomb, &mut vec![0; 1000]);
            assert_eq!(refused, Err(DecompressionFailed), "{:?}", algorithm.algorithm());
        }
    }

    /// A frame header contains the required window size. RFC 8878 3.1.1.1.2
    #[cfg(feature = "zstd")]
    #[test]
    fn a_zstd_window_of_more_than_8_megabytes_is_refused() {
        for (exponent, expected) in [(13, Ok(())), (14, Err(DecompressionFailed))] {
            // Magic number, descriptor, window of 2^(10 + exponent) bytes, raw block of 3 bytes.
            let magic_and_descriptor = [0x28, 0xb5, 0x2f, 0xfd, 0];
            let block = [(3 << 3) | 1, 0, 0, b'a', b'b', b'c'];
            let frame = [&magic_and_descriptor[..], &[exponent << 3], &block].concat();
            assert_eq!(Zstd.decompress(&frame, &mut [0; 3]), expected);
        }
    }

    /// The compressed bytes were made by Python's `zlib`, Node's `brotliCompressSync`, and `zstd
    /// -19`.
    #[test]
    fn output_of_other_implementations_is_decompressed() {
        let text = b"tercel tercel tercel tercel";
        let streams: [(CertificateCompressionAlgorithm, &[u8]); 3] = [
            (
                CertificateCompressionAlgorithm::ZLIB,
                &[
                    0x78, 0xda, 0x2b, 0x49, 0x2d, 0x4a, 0x4e, 0xcd, 0x51, 0x28, 0xc1, 0x42, 0x01,
                    0x00, 0x91, 0x91, 0x0a, 0x5d,
                ],
            ),
            (
                CertificateCompressionAlgorithm::BROTLI,
                &[
                    0x1b, 0x1a, 0x00, 0xf8, 0x8d, 0x94, 0x6e, 0xde, 0xb4, 0x06, 0x19, 0x2b, 0xa3,
                    0x53, 0x6c, 0x72, 0x31, 0x4f, 0x24, 0xd0, 0x6b, 0x00,
                ],
            ),
            (
                CertificateCompressionAlgorithm::ZSTD,
                &[
                    0x28, 0xb5, 0x2f, 0xfd, 0x24, 0x1b, 0x6d, 0x00, 0x00, 0x38, 0x74, 0x65, 0x72,
                    0x63, 0x65, 0x6c, 0x20, 0x01, 0x00, 0xa2, 0x8b, 0x11, 0xc5, 0xd2, 0xa3, 0xac,
                ],
            ),
        ];
        for algorithm in compiled() {
            let mut tried = 0;
            for (_, stream) in streams.iter().filter(|(code, _)| *code == algorithm.algorithm()) {
                let mut out = vec![0; text.len()];
                assert_eq!(algorithm.decompress(stream, &mut out), Ok(()));
                assert_eq!(out, text);
                tried += 1;
            }
            assert!(tried > 0);
        }
    }
}

//! Ways to make a Certificate message smaller, and those that come with the library. RFC 8879
//!
//! An algorithm sees bytes and nothing else. Must not know: messages, peers, who may send what.
//! Next: `handshake/compression.rs`, which packs and opens the message.

use std::sync::Arc;

use tercel_wire::CertificateCompressionAlgorithm;

/// A compression of Certificate messages, for [`crate::ClientConfigBuilder::certificate_compression`].
///
/// Implement it for an algorithm, a compressor or a dictionary that is not here. An algorithm's code
/// names what it makes: two implementations with one code must understand each other.
pub trait CompressCertificate: Send + Sync {
    /// The algorithm's code.
    fn algorithm(&self) -> CertificateCompressionAlgorithm;

    /// The compressed form, which is then kept with the credential. `None` sends the certificate as
    /// it is, because it does not get smaller or something failed.
    fn compress(&self, certificate: &[u8]) -> Option<Vec<u8>>;

    /// Decompresses what a peer sent into `out`, which is exactly as long as the peer says that the
    /// result is.
    ///
    /// # Errors
    /// [`DecompressionFailed`] unless all of `compressed` was read and it filled `out`.
    fn decompress(&self, compressed: &[u8], out: &mut [u8]) -> Result<(), DecompressionFailed>;
}

/// Compressed bytes are malformed, or do not make what their sender said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecompressionFailed;

impl core::fmt::Display for DecompressionFailed {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the compressed certificate is malformed")
    }
}

impl std::error::Error for DecompressionFailed {}

/// The algorithms compiled in, best first: those that make certificates smallest. A peer may use
/// any of them where it is asked to compress.
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

/// The algorithms in which our own certificates are compressed by default: those compiled in, but
/// zlib.
///
/// A deflate stream has many encodings of the same bytes. There are clients that put the message
/// they have compressed anew into their transcript, and refuse a server whose compressor chose
/// otherwise.
pub(crate) fn sent_by_default() -> Vec<Arc<dyn CompressCertificate>> {
    let mut algorithms = compiled();
    algorithms.retain(|each| each.algorithm() != CertificateCompressionAlgorithm::ZLIB);
    algorithms
}

/// `Some` if it was worth the effort.
#[cfg(any(feature = "zlib", feature = "brotli", feature = "zstd"))]
fn if_smaller(compressed: Vec<u8>, original: &[u8]) -> Option<Vec<u8>> {
    (compressed.len() < original.len()).then_some(compressed)
}

/// zlib, RFC 1950, by `miniz_oxide`. Feature `zlib`. By default certificates are read in it, but
/// not sent: see [`crate::ServerConfigBuilder::certificate_compression`].
#[cfg(feature = "zlib")]
#[derive(Clone, Copy, Debug, Default)]
pub struct Zlib;

#[cfg(feature = "zlib")]
impl CompressCertificate for Zlib {
    fn algorithm(&self) -> CertificateCompressionAlgorithm {
        CertificateCompressionAlgorithm::ZLIB
    }

    fn compress(&self, certificate: &[u8]) -> Option<Vec<u8>> {
        // Done once for a credential, so the best level is cheap.
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

/// Brotli, RFC 7932, by `brotli`. Feature `brotli`.
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
            // A window of 64 KB holds any chain, and the receiver has to have room for it.
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

/// Zstandard, RFC 8878, by `ruzstd`. Feature `zstd`, which needs Rust 1.87.
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
        // What receivers should be able to hold, and no more. RFC 8878 3.1.1.1.2
        decoder.set_max_window_size(8 << 20);
        let mut unread = compressed;
        decoder.init(&mut unread).map_err(failed)?;
        // Ends with the block that makes more than there is room for.
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

    /// Something as repetitive as a chain, and something that cannot be made smaller.
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
    fn what_was_compressed_comes_back() {
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
    fn the_result_fills_the_room_to_the_byte() {
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
    fn nothing_may_be_missing_or_left_over() {
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
    fn damage_is_refused_or_gives_other_bytes_but_never_more() {
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
    fn a_bomb_stops_where_the_room_ends() {
        let zeros = vec![0; 4 << 20];
        for algorithm in compiled() {
            let bomb = algorithm.compress(&zeros).unwrap();
            assert!(bomb.len() < 40_000);
            let refused = algorithm.decompress(&bomb, &mut vec![0; 1000]);
            assert_eq!(refused, Err(DecompressionFailed), "{:?}", algorithm.algorithm());
        }
    }

    /// Streams that others made: Python's `zlib`, Node's `brotliCompressSync`, `zstd -19`.
    #[test]
    fn streams_of_others_are_read() {
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

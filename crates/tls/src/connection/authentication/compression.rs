//! CompressedCertificate: a Certificate message made smaller, and opened again. RFC 8879 4
//!
//! Must not know: how bytes are compressed, whose turn it is. Next: `config/compression.rs` for the
//! algorithms, [`super::certificate`], which writes and reads the message.

use std::sync::Arc;

use tercel_wire::{
    CertificateCompressionAlgorithm, CompressedCertificate, HandshakeMessage, HandshakeType, List,
};

use crate::config::compression::CompressCertificate;
use crate::error::{Error, Local, Peer};
use crate::record::limits;

/// The algorithms of a configuration, best first.
pub(crate) type Algorithms = [Arc<dyn CompressCertificate>];

/// The codes to put into a compress_certificate extension. RFC 8879 3
pub(crate) fn codes(algorithms: &Algorithms) -> Vec<CertificateCompressionAlgorithm> {
    algorithms.iter().map(|algorithm| algorithm.algorithm()).collect()
}

/// The best of our algorithms that the peer can decompress.
pub(crate) fn choose<'c>(
    ours: &'c Algorithms,
    theirs: Option<List<'_, CertificateCompressionAlgorithm>>,
) -> Option<&'c Arc<dyn CompressCertificate>> {
    let theirs = theirs?;
    ours.iter().find(|ours| theirs.contains(ours.algorithm()))
}

/// The CompressedCertificate message for a Certificate message, both with their headers. `None` if
/// the algorithm would rather not.
pub(crate) fn compress(
    algorithm: &dyn CompressCertificate,
    certificate: &[u8],
) -> Result<Option<Vec<u8>>, Error> {
    let body = certificate.get(4..).ok_or(Local::Encode)?;
    let Some(compressed) = algorithm.compress(body) else { return Ok(None) };
    let message = CompressedCertificate {
        algorithm: algorithm.algorithm(),
        uncompressed_length: u32::try_from(body.len()).map_err(|_| Local::Encode)?,
        compressed_certificate_message: &compressed,
    };
    let mut encoded = Vec::new();
    message.encode(&mut encoded)?;
    Ok(Some(encoded))
}

/// The body of the Certificate message in the body of a CompressedCertificate.
pub(crate) fn decompress(offered: &Algorithms, body: &[u8]) -> Result<Vec<u8>, Error> {
    let message = CompressedCertificate::parse(body)?;
    // An algorithm that we named, or none. RFC 8879 4
    let algorithm = offered
        .iter()
        .find(|offered| offered.algorithm() == message.algorithm)
        .ok_or(Peer::UnknownCertificateCompression)?;
    // The claimed length costs us that much memory, so it is held to what an uncompressed message
    // may have. RFC 8879 5
    let length = usize::try_from(message.uncompressed_length)
        .ok()
        .filter(|length| *length <= limits::message_body(HandshakeType::CERTIFICATE))
        .ok_or(Peer::UncompressedCertificateTooLong)?;
    let mut certificate = vec![0; length];
    // The length is the one claimed, to the byte. RFC 8879 4
    algorithm
        .decompress(message.compressed_certificate_message, &mut certificate)
        .map_err(|_| Peer::BadCompressedCertificate)?;
    Ok(certificate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::compression::DecompressionFailed;

    /// Leaves out the last byte, which it takes to be 7.
    struct Shorter(u16);

    impl CompressCertificate for Shorter {
        fn algorithm(&self) -> CertificateCompressionAlgorithm {
            CertificateCompressionAlgorithm(self.0)
        }

        fn compress(&self, certificate: &[u8]) -> Option<Vec<u8>> {
            certificate.strip_suffix(&[7]).map(<[u8]>::to_vec)
        }

        fn decompress(&self, compressed: &[u8], out: &mut [u8]) -> Result<(), DecompressionFailed> {
            let (last, rest) = out.split_last_mut().ok_or(DecompressionFailed)?;
            if rest.len() != compressed.len() {
                return Err(DecompressionFailed);
            }
            rest.copy_from_slice(compressed);
            *last = 7;
            Ok(())
        }
    }

    fn algorithms(codes: &[u16]) -> Vec<Arc<dyn CompressCertificate>> {
        codes.iter().map(|code| Arc::new(Shorter(*code)) as Arc<dyn CompressCertificate>).collect()
    }

    #[test]
    fn a_message_comes_back_as_it_was() {
        let certificate = [&[11, 0, 0, 4][..], &[1, 2, 3, 7]].concat();
        let packed = compress(&Shorter(9), &certificate).unwrap().unwrap();
        assert_eq!(packed, [25, 0, 0, 11, 0, 9, 0, 0, 4, 0, 0, 3, 1, 2, 3]);
        assert_eq!(decompress(&algorithms(&[8, 9]), &packed[4..]), Ok(vec![1, 2, 3, 7]));
        assert_eq!(compress(&Shorter(9), &[11, 0, 0, 1, 6]), Ok(None));
    }

    #[test]
    fn our_order_decides_among_what_the_peer_reads() {
        let ours = algorithms(&[1, 2, 3]);
        let chosen = |theirs: &[u16]| {
            let theirs: Vec<_> =
                theirs.iter().map(|code| CertificateCompressionAlgorithm(*code)).collect();
            choose(&ours, Some(List::of(&theirs))).map(|chosen| chosen.algorithm().0)
        };
        assert_eq!(chosen(&[3, 9, 2]), Some(2));
        assert_eq!(chosen(&[9]), None);
        assert!(choose(&ours, None).is_none());
        assert_eq!(codes(&ours).len(), 3);
    }

    #[test]
    fn a_compression_that_was_not_offered_is_refused() {
        let body = [0, 9, 0, 0, 2, 0, 0, 1, 1];
        let refused = decompress(&algorithms(&[8]), &body);
        assert_eq!(refused, Err(Peer::UnknownCertificateCompression.into()));
    }

    #[test]
    fn a_length_that_is_not_the_result_s_is_refused() {
        for length in [0, 1, 3, 200] {
            let body = [0, 9, 0, 0, length, 0, 0, 1, 1];
            let refused = decompress(&algorithms(&[9]), &body);
            assert_eq!(refused, Err(Peer::BadCompressedCertificate.into()), "{length}");
        }
    }

    #[test]
    fn a_length_beyond_that_of_any_certificate_is_refused_before_memory_is_spent() {
        let most = u32::try_from(limits::message_body(HandshakeType::CERTIFICATE)).unwrap();
        for (length, expected) in [
            (most, Peer::BadCompressedCertificate),
            (most + 1, Peer::UncompressedCertificateTooLong),
            (0xff_ffff, Peer::UncompressedCertificateTooLong),
        ] {
            let [_, a, b, c] = length.to_be_bytes();
            let body = [0, 9, a, b, c, 0, 0, 1, 1];
            assert_eq!(decompress(&algorithms(&[9]), &body), Err(expected.into()), "{length}");
        }
    }

    #[test]
    fn a_malformed_message_is_a_decode_error() {
        for body in [&[][..], &[0, 9, 0, 0, 2, 0, 0, 0], &[0, 9, 0, 0, 2, 0, 0, 1, 1, 1]] {
            let refused = decompress(&algorithms(&[9]), body);
            assert!(matches!(refused, Err(Error::Peer(Peer::Decode(_)))), "{body:?}");
        }
    }
}

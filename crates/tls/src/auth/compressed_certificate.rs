//! Compression and decompression of Certificate messages. RFC 8879 4

use std::sync::Arc;

use tercel_wire::{
    CertificateCompressionAlgorithm, CompressedCertificate, HandshakeMessage, HandshakeType, List,
};

use super::compression::CompressCertificate;
use crate::error::{Error, InternalError, PeerError};
use crate::record::limits;

/// The compression algorithms of a configuration, most preferred first.
pub(crate) type Algorithms = [Arc<dyn CompressCertificate>];

/// Returns the algorithms for a compress_certificate extension. RFC 8879 3
pub(crate) fn codes(algorithms: &Algorithms) -> Vec<CertificateCompressionAlgorithm> {
    algorithms.iter().map(|algorithm| algorithm.algorithm()).collect()
}

/// Selects this side's most preferred algorithm that the peer can decompress.
pub(crate) fn choose<'c>(
    ours: &'c Algorithms,
    theirs: Option<List<'_, CertificateCompressionAlgorithm>>,
) -> Option<&'c Arc<dyn CompressCertificate>> {
    let theirs = theirs?;
    ours.iter().find(|ours| theirs.contains(ours.algorithm()))
}

/// Makes the CompressedCertificate message for a Certificate message, both with their headers.
/// Returns `None` if the algorithm does not compress the message.
pub(crate) fn compress(
    algorithm: &dyn CompressCertificate,
    certificate: &[u8],
) -> Result<Option<Vec<u8>>, Error> {
    let body = certificate.get(4..).ok_or(InternalError::Encode)?;
    let Some(compressed) = algorithm.compress(body) else { return Ok(None) };
    let message = CompressedCertificate {
        algorithm: algorithm.algorithm(),
        uncompressed_length: u32::try_from(body.len()).map_err(|_| InternalError::Encode)?,
        compressed_certificate_message: &compressed,
    };
    let mut encoded = Vec::new();
    message.encode(&mut encoded)?;
    Ok(Some(encoded))
}

/// Decompresses the body of a CompressedCertificate into the body of a Certificate.
pub(crate) fn decompress(offered: &Algorithms, body: &[u8]) -> Result<Vec<u8>, Error> {
    let message = CompressedCertificate::parse(body)?;
    // Only an offered algorithm is allowed. RFC 8879 4
    let algorithm = offered
        .iter()
        .find(|offered| offered.algorithm() == message.algorithm)
        .ok_or(PeerError::UnknownCertificateCompression)?;
    // Memory of this length is allocated, so the length has the same limit as that of an
    // uncompressed message. RFC 8879 5
    let length = usize::try_from(message.uncompressed_length)
        .ok()
        .filter(|length| *length <= limits::message_body(HandshakeType::CERTIFICATE))
        .ok_or(PeerError::UncompressedCertificateTooLong)?;
    let mut certificate = vec![0; length];
    // The result must have exactly the announced length. RFC 8879 4
    algorithm
        .decompress(message.compressed_certificate_message, &mut certificate)
        .map_err(|_| PeerError::BadCompressedCertificate)?;
    Ok(certificate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::compression::DecompressionFailed;

    /// A compression that removes the last byte if it is 7.
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
    fn a_decompressed_message_equals_the_original() {
        let certificate = [&[11, 0, 0, 4][..], &[1, 2, 3, 7]].concat();
        let packed = compress(&Shorter(9), &certificate).unwrap().unwrap();
        assert_eq!(packed, [25, 0, 0, 11, 0, 9, 0, 0, 4, 0, 0, 3, 1, 2, 3]);
        assert_eq!(decompress(&algorithms(&[8, 9]), &packed[4..]), Ok(vec![1, 2, 3, 7]));
        assert_eq!(compress(&Shorter(9), &[11, 0, 0, 1, 6]), Ok(None));
    }

    #[test]
    fn the_own_order_decides_among_the_peer_s_algorithms() {
        let ours = algorithms(&[1, 2, 3]);
        let chosen = |theirs: &[u16]| {
            let theirs: Vec<_> =
                theirs.iter().map(|code| CertificateCompressionAlgorithm(*code)).collect();
            choose(&ours, Some(List::new(&theirs))).map(|chosen| chosen.algorithm().0)
        };
        assert_eq!(chosen(&[3, 9, 2]), Some(2));
        assert_eq!(chosen(&[9]), None);
        assert!(choose(&ours, None).is_none());
        assert_eq!(codes(&ours).len(), 3);
    }

    #[test]
    fn an_algorithm_that_was_not_offered_is_refused() {
        let body = [0, 9, 0, 0, 2, 0, 0, 1, 1];
        let refused = decompress(&algorithms(&[8]), &body);
        assert_eq!(refused, Err(PeerError::UnknownCertificateCompression.into()));
    }

    #[test]
    fn an_uncompressed_length_that_is_wrong_is_refused() {
        for length in [0, 1, 3, 200] {
            let body = [0, 9, 0, 0, length, 0, 0, 1, 1];
            let refused = decompress(&algorithms(&[9]), &body);
            assert_eq!(refused, Err(PeerError::BadCompressedCertificate.into()), "{length}");
        }
    }

    /// RFC 8879 5
    #[test]
    fn an_uncompressed_length_over_the_limit_is_refused_before_allocation() {
        let most = u32::try_from(limits::message_body(HandshakeType::CERTIFICATE)).unwrap();
        for (length, expected) in [
            (most, PeerError::BadCompressedCertificate),
            (most + 1, PeerError::UncompressedCertificateTooLong),
            (0xff_ffff, PeerError::UncompressedCertificateTooLong),
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
            assert!(matches!(refused, Err(Error::Peer(PeerError::Decode(_)))), "{body:?}");
        }
    }
}

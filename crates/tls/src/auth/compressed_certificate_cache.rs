//! A cache of a credential's compressed Certificate messages. RFC 8879 6
//!
//! Reads take no lock.

use std::sync::Arc;

use arc_swap::ArcSwap;
use tercel_wire::CertificateCompressionAlgorithm;

/// The key of a cached message: everything that the message depends on, except the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Variant {
    pub(crate) algorithm: CertificateCompressionAlgorithm,
    /// Whether the message contains the OCSP response.
    pub(crate) staple: bool,
    /// Whether the message contains the signed certificate timestamps.
    pub(crate) timestamps: bool,
}

/// The cached messages; `None` for a variant that is sent uncompressed.
#[derive(Default)]
pub(crate) struct CompressedCertificateCache(ArcSwap<Vec<(Variant, CachedMessage)>>);

type CachedMessage = Option<Arc<[u8]>>;

impl CompressedCertificateCache {
    /// Returns the cached message, or makes the message on first use. Concurrent first uses may
    /// each make it.
    pub(crate) fn get_or_make<E>(
        &self,
        variant: Variant,
        make: impl FnOnce() -> Result<Option<Vec<u8>>, E>,
    ) -> Result<CachedMessage, E> {
        if let Some((_, made)) = self.0.load().iter().find(|(known, _)| *known == variant) {
            return Ok(made.clone());
        }
        let made: CachedMessage = make()?.map(Into::into);
        self.0.rcu(|known| {
            let mut all = Vec::clone(known);
            if all.len() < MAX_VARIANTS && !all.iter().any(|(known, _)| *known == variant) {
                all.push((variant, made.clone()));
            }
            all
        });
        Ok(made)
    }
}

/// The maximum number of cached messages: enough for three algorithms with and without each
/// extension, and for some algorithms of the application.
const MAX_VARIANTS: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    fn variant(number: u16) -> Variant {
        let algorithm = CertificateCompressionAlgorithm(number);
        Variant { algorithm, staple: false, timestamps: false }
    }

    /// RFC 8879 6
    #[test]
    fn each_variant_is_made_once() {
        let cache = CompressedCertificateCache::default();
        let mut made = 0;
        for _ in 0..3 {
            let mut make = |bytes: Option<Vec<u8>>| {
                made += 1;
                Ok::<_, ()>(bytes)
            };
            let with_staple = Variant { staple: true, ..variant(1) };
            assert_eq!(
                cache.get_or_make(variant(1), || make(Some(vec![1]))),
                Ok(Some([1][..].into()))
            );
            assert_eq!(cache.get_or_make(variant(2), || make(None)), Ok(None));
            let other = cache.get_or_make(with_staple, || make(Some(vec![2])));
            assert_eq!(other, Ok(Some([2][..].into())));
        }
        assert_eq!(made, 3);
    }

    #[test]
    fn a_failure_is_not_cached() {
        let cache = CompressedCertificateCache::default();
        assert_eq!(cache.get_or_make(variant(1), || Err("failed")), Err("failed"));
        assert_eq!(cache.get_or_make(variant(1), || Ok::<_, ()>(None)), Ok(None));
    }

    #[test]
    fn the_number_of_cached_variants_is_limited() {
        let cache = CompressedCertificateCache::default();
        for number in 0..100 {
            let made = cache.get_or_make(variant(number), || Ok::<_, ()>(Some(vec![7])));
            assert_eq!(made, Ok(Some([7][..].into())));
        }
        assert_eq!(cache.0.load().len(), MAX_VARIANTS);
    }
}

//! The keys of trust anchors, parsed once. Parsing an RSA key takes a tenth of the time of a
//! verification, because AWS-LC computes auxiliary values for it.
//!
//! A key is parsed when a chain first leads to its anchor, so loading a hundred anchors stays
//! cheap. Only keys of the configuration are kept, never keys of a peer.

use core::fmt;
use std::sync::OnceLock;

use pki_types::{
    AlgorithmIdentifier, InvalidSignature, SignatureVerificationAlgorithm, TrustAnchor,
};
use tercel_crypto::PublicKey;

use crate::algorithms::CertificateAlgorithm;

/// A slot for the parsed key of each anchor, filled when the key is first used. A slot has `None`
/// if the key cannot be parsed.
#[derive(Default)]
pub(super) struct AnchorKeys(OnceLock<Box<[KeySlot]>>);

type KeySlot = OnceLock<Option<PublicKey>>;

impl fmt::Debug for AnchorKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AnchorKeys(..)")
    }
}

/// The trust anchors and their keys.
#[derive(Debug)]
pub(super) struct Anchors<'v> {
    pub(super) anchors: &'v [TrustAnchor<'static>],
    pub(super) keys: &'v AnchorKeys,
}

impl Anchors<'_> {
    /// The key of the anchor that contains `bits`, found by address: path building passes a part
    /// of the anchor itself. An equal key in a peer's certificate is parsed like any other key.
    fn key(&self, algorithm: &CertificateAlgorithm, bits: &[u8]) -> Option<&PublicKey> {
        let holds = |anchor: &TrustAnchor<'_>| {
            anchor.subject_public_key_info.as_ptr_range().contains(&bits.as_ptr())
                // The key is at the end of a SubjectPublicKeyInfo. RFC 5280 4.1
                && anchor.subject_public_key_info.ends_with(bits)
        };
        let index = self.anchors.iter().position(holds)?;
        let place = || self.anchors.iter().map(|_| KeySlot::new()).collect();
        let places = self.keys.0.get_or_init(place);
        let read = || PublicKey::from_raw(algorithm.key(), bits).ok();
        let key = places.get(index)?.get_or_init(read).as_ref()?;
        // Path building calls only algorithms for the kind of key that the anchor names.
        (key.kind() == algorithm.key()).then_some(key)
    }
}

/// A signature algorithm that uses the parsed keys of the anchors.
#[derive(Clone, Copy, Debug)]
pub(super) struct AnchorAlgorithm<'v> {
    pub(super) algorithm: &'static CertificateAlgorithm,
    pub(super) anchors: &'v Anchors<'v>,
}

impl SignatureVerificationAlgorithm for AnchorAlgorithm<'_> {
    fn verify_signature(
        &self,
        key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        match self.anchors.key(self.algorithm, key) {
            Some(key) => self.algorithm.verify_by(key, message, signature),
            None => self.algorithm.verify_signature(key, message, signature),
        }
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        self.algorithm.public_key_alg_id()
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.algorithm.signature_alg_id()
    }
}

/// Calls `make` for each algorithm, and `build_path` with all results. The results live as long as
/// the call.
pub(super) fn with_algorithms<A, T>(
    algorithms: &[&'static CertificateAlgorithm],
    make: impl Fn(&'static CertificateAlgorithm) -> A,
    build_path: impl FnOnce(&[&dyn SignatureVerificationAlgorithm]) -> T,
) -> T
where
    A: SignatureVerificationAlgorithm,
{
    let slots: [_; CertificateAlgorithm::ALL.len()] = core::array::from_fn(|index| {
        make(algorithms.get(index).copied().unwrap_or(CertificateAlgorithm::ALL[0]))
    });
    let shared = slots.each_ref().map(|each| each as &dyn SignatureVerificationAlgorithm);
    build_path(shared.get(..algorithms.len()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use pki_types::{CertificateDer, UnixTime};
    use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

    use crate::{ChainVerifier, RefusalReason, Roots, Usage};

    fn authority(name: &str, key: KeyPair) -> CertifiedIssuer<'static, KeyPair> {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        CertifiedIssuer::self_signed(params, key).unwrap()
    }

    fn leaf(issuer: &CertifiedIssuer<'static, KeyPair>) -> CertificateDer<'static> {
        let params = CertificateParams::new(vec!["a.example".to_owned()]).unwrap();
        params.signed_by(&KeyPair::generate().unwrap(), issuer).unwrap().into()
    }

    fn filled(verifier: &ChainVerifier) -> Vec<bool> {
        let places = verifier.anchor_keys.0.get().into_iter().flatten();
        places.map(|place| matches!(place.get(), Some(Some(_)))).collect()
    }

    #[test]
    fn an_anchors_key_is_parsed_on_first_use_and_used_for_no_other_anchor() {
        let p384 = || KeyPair::generate_for(&rcgen::PKCS_ECDSA_P384_SHA384).unwrap();
        // The last anchor has the name of another anchor, and a different key.
        let anchors = [
            authority("A", KeyPair::generate().unwrap()),
            authority("B", p384()),
            authority("B", KeyPair::generate().unwrap()),
        ];
        let stranger = authority("B", p384());
        for remember in [false, true] {
            let mut roots = Roots::new();
            anchors.iter().for_each(|anchor| roots.add_der(anchor.der()).unwrap());
            let verifier = ChainVerifier::builder(Arc::new(roots)).cache_signatures(remember);
            let verifier = verifier.build().unwrap();
            let now = UnixTime::since_unix_epoch(Duration::from_secs(1_800_000_000));
            let verify = |issuer| {
                let chain = [leaf(issuer)];
                let verdict = verifier.verify(Usage::Server, &chain, None, None, now);
                verdict.map(drop).map_err(|refusal| refusal.reason)
            };
            assert_eq!(filled(&verifier), []);
            assert_eq!(verify(&anchors[1]), Ok(()));
            assert_eq!(filled(&verifier), [false, true, false]);
            for _ in 0..2 {
                // Each anchor with that name is tried, with its own key.
                assert_eq!(verify(&stranger), Err(RefusalReason::BadSignature));
                assert_eq!(verify(&anchors[1]), Ok(()));
                assert_eq!(verify(&anchors[2]), Ok(()));
                assert_eq!(filled(&verifier), [false, true, true]);
            }
            assert_eq!(verify(&anchors[0]), Ok(()));
            assert_eq!(filled(&verifier), [true; 3]);
        }
    }
}

//! The keys of trust anchors, parsed once. Parsing an RSA key takes a tenth of the time of a
//! verification, because AWS-LC computes auxiliary values for it.
//!
//! A key is parsed when a chain first leads to its anchor, so loading a hundred anchors stays
//! cheap. Only keys of the configuration are kept, never keys of a peer.

use core::fmt;
use std::sync::OnceLock;

use pki_types::TrustAnchor;
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

impl AnchorKeys {
    /// The key of the anchor with this index; `bits` are those of the key. `None` if it cannot be
    /// used.
    pub(super) fn key(
        &self,
        anchors: &[TrustAnchor<'static>],
        index: usize,
        algorithm: &CertificateAlgorithm,
        bits: &[u8],
    ) -> Option<&PublicKey> {
        let slots = self.0.get_or_init(|| anchors.iter().map(|_| KeySlot::new()).collect());
        let key = slots.get(index)?.get_or_init(|| algorithm.parse_key(bits).ok()).as_ref()?;
        // The anchor's identifier names one kind of key.
        (key.kind() == algorithm.key()).then_some(key)
    }
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
        let places = verifier.trusted.anchor_keys.0.get().into_iter().flatten();
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

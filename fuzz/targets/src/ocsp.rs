//! Stapled OCSP responses: parsed, and accepted or refused.

use std::sync::{Arc, OnceLock};

use pki_types::CertificateDer;
use tercel_pki::{ChainVerifier, OcspPolicy, Roots, Staple, Usage};

use crate::material;

const ROOT: &[u8] = include_bytes!("../material/ocsp-root.der");
const LEAF: &[u8] = include_bytes!("../material/ocsp-leaf.der");

/// Verifies a response about the only leaf. Returns whether it states that the leaf is good.
pub fn ocsp_response(bytes: &[u8]) -> bool {
    let chain = [CertificateDer::from(LEAF)];
    let judge = |staple| verifier().verify(Usage::Server, &chain, None, staple, material::now());
    match judge(Some(Staple::Response(bytes))) {
        Ok(_) => true,
        Err(refusal) => {
            assert!(!format!("{refusal} {refusal:?}").is_empty());
            false
        }
    }
}

fn verifier() -> &'static ChainVerifier {
    static VERIFIER: OnceLock<ChainVerifier> = OnceLock::new();
    VERIFIER.get_or_init(|| {
        let mut roots = Roots::new();
        roots.add_der(&CertificateDer::from(ROOT)).expect("the root is an authority");
        let builder = ChainVerifier::builder(Arc::new(roots)).ocsp_policy(OcspPolicy::Require);
        builder.build().expect("a root is trusted")
    })
}

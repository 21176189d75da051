//! Certificate chains: parsed, printed, accepted or refused.

use std::sync::{Arc, OnceLock};

use pki_types::CertificateDer;
use tercel::ServerName;
use tercel_pki::{
    CertificateSummary, ChainVerifier, Usage, dns_names, end_entity_public_key, issuer,
    subject_public_key_info,
};

use crate::material;
use crate::script::Script;

/// Verifies a chain: the first byte selects the usage, and each certificate follows two bytes with
/// its length. Returns whether the chain is accepted.
pub fn chain(bytes: &[u8]) -> bool {
    let mut script = Script::new(bytes);
    let (usage, name) = match script.byte() {
        Some(0) => (Usage::Server, Some("localhost")),
        Some(1) => (Usage::Client, None),
        Some(2) => (Usage::Server, Some("127.0.0.1")),
        _ => (Usage::Server, Some("elsewhere.example")),
    };
    let mut chain = Vec::new();
    while let Some(length) = script.number() {
        chain.push(CertificateDer::from(script.take(length)));
    }
    chain.iter().for_each(describe);
    // Each function is called even if the other one has refused the chain.
    let key = end_entity_public_key(&chain);
    let name = name.map(|name| ServerName::try_from(name).expect("a name"));
    match verifier().verify(usage, &chain, name.as_ref(), None, material::now()) {
        Ok(_) => {
            assert!(!chain.is_empty(), "an empty chain is accepted");
            key.is_ok()
        }
        Err(refusal) => {
            assert!(!format!("{refusal} {refusal:?}").is_empty());
            false
        }
    }
}

/// All functions that parse a certificate must agree on whether it is valid.
fn describe(certificate: &CertificateDer<'_>) {
    let summary = CertificateSummary::new(certificate);
    assert_eq!(issuer(certificate).is_ok(), summary.is_ok());
    let key = subject_public_key_info(certificate);
    assert_eq!(key.is_ok(), summary.is_ok());
    let names = dns_names(certificate);
    assert_eq!(names.is_ok(), summary.is_ok());
    let Ok(summary) = summary else { return };
    assert_eq!(names.as_ref(), Ok(&summary.dns_names));
    assert!(!summary.to_string().is_empty());
}

fn verifier() -> &'static ChainVerifier {
    static VERIFIER: OnceLock<ChainVerifier> = OnceLock::new();
    VERIFIER.get_or_init(|| {
        ChainVerifier::builder(Arc::new(material::roots())).build().expect("a root is trusted")
    })
}

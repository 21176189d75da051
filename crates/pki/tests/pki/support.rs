//! Authorities, certificates and verifiers for the tests. They do not depend on files or on the
//! current date.

use std::sync::Arc;
use std::time::Duration;

use pki_types::{CertificateDer, UnixTime};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose, PublicKeyData, SignatureAlgorithm, date_time_ymd,
};
use tercel_pki::{ChainVerifier, Refusal, RefusalReason, Roots, ServerName, Trust, Usage};

pub(crate) type Authority = CertifiedIssuer<'static, KeyPair>;
pub(crate) type Chain = Vec<CertificateDer<'static>>;

pub(crate) const P256: &SignatureAlgorithm = &rcgen::PKCS_ECDSA_P256_SHA256;

/// The time of every verification: 28 May 2026.
pub(crate) fn now() -> UnixTime {
    at(1_780_000_000)
}

pub(crate) fn at(seconds: u64) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(seconds))
}

pub(crate) fn key(algorithm: &'static SignatureAlgorithm) -> KeyPair {
    KeyPair::generate_for(algorithm).unwrap()
}

/// A root and an intermediate with everything needed to issue and verify leaves.
pub(crate) struct Pki {
    pub(crate) root: Authority,
    pub(crate) intermediate: Authority,
}

impl Pki {
    pub(crate) fn new() -> Self {
        Self::with_keys(P256)
    }

    pub(crate) fn with_keys(algorithm: &'static SignatureAlgorithm) -> Self {
        let root = Authority::self_signed(ca_params("Root"), key(algorithm)).unwrap();
        let intermediate =
            Authority::signed_by(ca_params("Intermediate"), key(algorithm), &root).unwrap();
        Self { root, intermediate }
    }

    /// The leaf with these parameters, followed by the intermediate.
    pub(crate) fn chain(&self, leaf: &CertificateParams) -> Chain {
        self.chain_for_key(leaf, &key(P256))
    }

    pub(crate) fn chain_for_key(
        &self,
        leaf: &CertificateParams,
        key: &impl PublicKeyData,
    ) -> Chain {
        let leaf = leaf.signed_by(key, &self.intermediate).unwrap();
        vec![leaf.der().clone(), self.intermediate.der().clone()]
    }

    pub(crate) fn roots(&self) -> Arc<Roots> {
        roots(&[&self.root])
    }

    pub(crate) fn verifier(&self) -> ChainVerifier {
        ChainVerifier::builder(self.roots()).build().unwrap()
    }
}

pub(crate) fn roots(authorities: &[&Authority]) -> Arc<Roots> {
    let mut roots = Roots::new();
    for authority in authorities {
        roots.add_der(authority.der()).unwrap();
    }
    Arc::new(roots)
}

pub(crate) fn ca_params(common_name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, common_name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    dated(params)
}

/// A server's leaf with these DNS names or IP addresses.
pub(crate) fn leaf_params(names: &[&str]) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    let mut params = CertificateParams::new(names).unwrap();
    params.distinguished_name.push(DnType::CommonName, "leaf");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    dated(params)
}

fn dated(mut params: CertificateParams) -> CertificateParams {
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(2040, 1, 1);
    params
}

pub(crate) fn name(name: &str) -> ServerName<'_> {
    ServerName::try_from(name).unwrap()
}

/// Verifies as a client of `service.example` would.
pub(crate) fn verify(
    verifier: &ChainVerifier,
    chain: &[CertificateDer<'_>],
) -> Result<Trust, Box<Refusal>> {
    verify_name(verifier, chain, "service.example")
}

pub(crate) fn verify_name(
    verifier: &ChainVerifier,
    chain: &[CertificateDer<'_>],
    wanted: &str,
) -> Result<Trust, Box<Refusal>> {
    verifier.verify(Usage::Server, chain, Some(&name(wanted)), None, now())
}

pub(crate) fn reason(result: Result<Trust, Box<Refusal>>) -> RefusalReason {
    result.unwrap_err().reason
}

/// A leaf for `service.example`.
pub(crate) fn service() -> CertificateParams {
    leaf_params(&["service.example"])
}

/// DER encoded by hand, for forms that the issuing library does not write.
pub(crate) mod der {
    pub(crate) fn wrap(tag: u8, content: &[u8]) -> Vec<u8> {
        let mut bytes = vec![tag];
        match u16::try_from(content.len()).unwrap().to_be_bytes() {
            [0, short @ 0..0x80] => bytes.push(short),
            [0, long] => bytes.extend_from_slice(&[0x81, long]),
            [high, low] => bytes.extend_from_slice(&[0x82, high, low]),
        }
        bytes.extend_from_slice(content);
        bytes
    }

    /// The complete first element of `bytes`, and the bytes after it.
    pub(crate) fn split(bytes: &[u8]) -> (&[u8], &[u8]) {
        let header = header(bytes);
        let length = match bytes[1] {
            0x81 => usize::from(bytes[2]),
            0x82 => usize::from(u16::from_be_bytes([bytes[2], bytes[3]])),
            short => usize::from(short),
        };
        bytes.split_at(header + length)
    }

    pub(crate) fn content(element: &[u8]) -> &[u8] {
        &split(element).0[header(element)..]
    }

    fn header(bytes: &[u8]) -> usize {
        match bytes[1] {
            0x81 => 3,
            0x82 => 4,
            _ => 2,
        }
    }
}

/// Replaces every occurrence of `from` in the certificate, of which there must be `times`. Lengths
/// do not change.
pub(crate) fn patch(
    certificate: &CertificateDer<'_>,
    from: &[u8],
    to: &[u8],
    times: usize,
) -> CertificateDer<'static> {
    assert_eq!(from.len(), to.len());
    let mut bytes = certificate.to_vec();
    let mut found = 0;
    for start in 0..=bytes.len() - from.len() {
        let window = &mut bytes[start..start + from.len()];
        if window == from {
            window.copy_from_slice(to);
            found += 1;
        }
    }
    assert_eq!(found, times);
    bytes.into()
}

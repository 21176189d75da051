//! Verifiers with pinned leaves or revocation lists, and which verifiers have a fingerprint.

use std::sync::Arc;

use rcgen::{
    CertificateParams, CertificateRevocationListParams, CertifiedIssuer, KeyIdMethod, KeyPair,
    KeyUsagePurpose, RevokedCertParams, SerialNumber, date_time_ymd,
};
use tercel::pki::{ChainVerifier, RefusalReason, Roots};
use tercel::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};
use tercel::wire::{AlertDescription, ProtocolVersion};
use tercel::{
    ClientConfig, Credential, Error, Policy, ServerConfig,
    certificates::{ChainPolicy, VerifyPeer},
    server::ClientAuth,
};

use crate::fixtures::{NAME, roots};
use crate::pair::Pair;

const BOTH_VERSIONS: [ProtocolVersion; 2] = [ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2];

#[test]
fn a_pinned_leaf_is_trusted_from_any_issuer() {
    let (own, others) = (self_signed(NAME), self_signed(NAME));
    let misnamed = self_signed("other.example");
    let verifier = |leaves: &[&Identity]| {
        let mut builder = ChainVerifier::builder(Arc::new(Roots::new()));
        for leaf in leaves {
            builder = builder.pin(leaf.certificate.clone());
        }
        chain_policy(builder.build().unwrap())
    };
    for version in BOTH_VERSIONS {
        let client =
            ClientConfig::builder().versions(&[version]).verifier(verifier(&[&own, &misnamed]));
        let client = client.credential(own.credential()).build().unwrap();
        let connect = |shown: &Identity, trusted: &Identity| {
            let server = ServerConfig::builder()
                .credential(shown.credential())
                .client_verifier(ClientAuth::Required, verifier(&[trusted]))
                .build()
                .unwrap();
            Pair::new(&client, &server, NAME).connect()
        };
        connect(&own, &own).unwrap().talk();
        // A leaf that is not pinned is refused although it has the name, and a pinned leaf with
        // another name is refused too.
        for (shown, reason) in
            [(&others, RefusalReason::SelfSigned), (&misnamed, RefusalReason::NameMismatch)]
        {
            let failure = connect(shown, &own).unwrap_err();
            assert_eq!(failure.client, Some(Error::Refused(reason)), "{version:?}");
        }
        let failure = connect(&own, &others).unwrap_err();
        assert_eq!(failure.server, Some(Error::Refused(RefusalReason::SelfSigned)));
    }
}

#[test]
fn a_revoked_leaf_is_refused_by_both_sides() {
    let authority = authority();
    let (good, revoked) = (issue(&authority, 7), issue(&authority, 8));
    let verifier = || {
        let mut roots = Roots::new();
        roots.add_der(authority.der()).unwrap();
        let builder = ChainVerifier::builder(Arc::new(roots)).crl(&list(&authority, 8)).unwrap();
        chain_policy(builder.build().unwrap())
    };
    for version in BOTH_VERSIONS {
        let connect = |of_client: &Identity, of_server: &Identity| {
            let client = ClientConfig::builder()
                .versions(&[version])
                .verifier(verifier())
                .credential(of_client.credential())
                .build()
                .unwrap();
            let server = ServerConfig::builder()
                .credential(of_server.credential())
                .client_verifier(ClientAuth::Required, verifier())
                .build()
                .unwrap();
            Pair::new(&client, &server, NAME).connect()
        };
        connect(&good, &good).unwrap().talk();
        let refused = Some(Error::Refused(RefusalReason::Revoked));
        let reported = Some(Error::AlertReceived(AlertDescription::CERTIFICATE_REVOKED));
        let failure = connect(&good, &revoked).unwrap_err();
        assert_eq!((failure.client, failure.server), (refused, reported), "{version:?}");
        let failure = connect(&revoked, &good).unwrap_err();
        assert_eq!(failure.server, refused, "{version:?}");
    }
}

/// A leaf and its key.
struct Identity {
    certificate: CertificateDer<'static>,
    key: Vec<u8>,
}

impl Identity {
    fn credential(&self) -> Credential {
        let key = PrivateKeyDer::Pkcs8(self.key.clone().into());
        Credential::new(vec![self.certificate.clone()], &key).unwrap()
    }
}

type Authority = CertifiedIssuer<'static, KeyPair>;

fn self_signed(name: &str) -> Identity {
    let made = rcgen::generate_simple_self_signed(vec![name.to_owned()]).unwrap();
    Identity { certificate: made.cert.der().clone(), key: made.signing_key.serialize_der() }
}

fn authority() -> Authority {
    let mut params = CertificateParams::default();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.distinguished_name.push(rcgen::DnType::CommonName, "revoking authority");
    Authority::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

fn issue(authority: &Authority, number: u64) -> Identity {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec![NAME.to_owned()]).unwrap();
    params.serial_number = Some(SerialNumber::from(number));
    let certificate = params.signed_by(&key, authority).unwrap().der().clone();
    Identity { certificate, key: key.serialize_der() }
}

/// A revocation list with one entry.
fn list(authority: &Authority, number: u64) -> CertificateRevocationListDer<'static> {
    let revoked = RevokedCertParams {
        serial_number: SerialNumber::from(number),
        revocation_time: date_time_ymd(2021, 1, 1),
        reason_code: None,
        invalidity_date: None,
    };
    let params = CertificateRevocationListParams {
        this_update: date_time_ymd(2021, 1, 1),
        next_update: date_time_ymd(4000, 1, 1),
        crl_number: SerialNumber::from(1),
        issuing_distribution_point: None,
        revoked_certs: vec![revoked],
        key_identifier_method: KeyIdMethod::Sha256,
    };
    params.signed_by(authority).unwrap().der().clone()
}

fn chain_policy(verifier: ChainVerifier) -> Policy<dyn VerifyPeer> {
    Policy::Here(Arc::new(ChainPolicy::with_verifier(verifier)) as Arc<dyn VerifyPeer>)
}

/// Everything that decides about chains is in the fingerprint; the cache of signatures is not.
#[test]
fn the_fingerprint_of_a_verifier_covers_its_settings() {
    let authority = authority();
    let leaf = self_signed(NAME).certificate;
    let builder = || ChainVerifier::builder(Arc::new(roots()));
    let of = |builder: tercel::pki::ChainVerifierBuilder| {
        ChainPolicy::with_verifier(builder.build().unwrap()).fingerprint().unwrap()
    };
    let plain = of(builder());
    assert_eq!(ChainPolicy::new(roots()).unwrap().fingerprint(), Some(plain));
    assert_eq!(of(builder().cache_signatures(false)), plain);
    let policy = tercel::pki::RevocationPolicy {
        end_entity_only: true,
        ..tercel::pki::RevocationPolicy::default()
    };
    let mut seen = vec![plain];
    for other in [
        builder().pin(leaf.clone()),
        builder().crl(&list(&authority, 1)).unwrap(),
        builder().crl(&list(&authority, 2)).unwrap(),
        builder().crl(&list(&authority, 1)).unwrap().revocation_policy(policy),
        builder().ocsp_policy(tercel::pki::OcspPolicy::Require),
        builder().algorithms(&tercel::pki::CertificateAlgorithm::ALL[..2]),
        builder().ignore_anchor_validity(true),
    ] {
        let fingerprint = of(other);
        assert!(!seen.contains(&fingerprint));
        seen.push(fingerprint);
    }
}

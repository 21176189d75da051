//! Chains that are made to cost time with revocation lists: an authority chooses the number of its
//! distribution points, and its lists if the application loads them.

use std::sync::Arc;

use rcgen::{
    CertificateParams, CertificateRevocationListParams, CrlDistributionPoint,
    CrlIssuingDistributionPoint, Issuer, KeyIdMethod, RevokedCertParams, SerialNumber, SigningKey,
    date_time_ymd,
};
use tercel::pki::{ChainVerifier, Roots};

use crate::chains::{Authority, Chain, authority, key};

/// The length of a list that is hashed for several keys, in entries of about 23 bytes.
const ENTRIES: u64 = 90_000;

/// Refused chains, each with a name and a verifier with lists.
pub(crate) fn cases() -> Vec<(&'static str, Chain, Arc<ChainVerifier>)> {
    let root = Authority::self_signed(authority("Root"), key()).unwrap();
    let point = |number: usize| format!("http://a.example/{number}");
    let for_points: Vec<_> =
        (0..1000).map(|number| list(&root, &[], Some(point(10_000 + number)))).collect();
    let stranger = Authority::self_signed(authority("Issuer"), key()).unwrap();
    let large = list(&stranger, &(1..=ENTRIES).collect::<Vec<_>>(), None);
    let of_strangers: Vec<_> = (0..200)
        .map(|_| {
            let other = Authority::self_signed(authority("Root"), key()).unwrap();
            list(&other, &[7], None)
        })
        .collect();
    vec![
        (
            "lists: a thousand, and 1500 distribution points",
            {
                let mut params = CertificateParams::new(["service.example".to_owned()]).unwrap();
                let uris = |number| CrlDistributionPoint { uris: vec![point(number)] };
                params.crl_distribution_points = (0..1500).map(uris).collect();
                vec![params.signed_by(&key(), &root).unwrap().der().clone()]
            },
            verifier(&root, &for_points),
        ),
        ("lists: one of two megabytes, and eight keys", by_many(&root, 8), {
            verifier(&root, &[large, list(&root, &[], None)])
        }),
        (
            "lists: two hundred that have the certificate, by others",
            {
                let mut params = CertificateParams::new(["service.example".to_owned()]).unwrap();
                params.serial_number = Some(SerialNumber::from(7));
                vec![params.signed_by(&key(), &root).unwrap().der().clone()]
            },
            verifier(&root, &of_strangers),
        ),
    ]
}

fn verifier(root: &Authority, lists: &[Vec<u8>]) -> Arc<ChainVerifier> {
    let mut roots = Roots::new();
    roots.add_der(root.der()).unwrap();
    let mut builder = ChainVerifier::builder(roots.into());
    for list in lists {
        builder = builder.crl(&list.as_slice().into()).unwrap();
    }
    Arc::new(builder.build().unwrap())
}

/// A list with these serial numbers, for a distribution point if there is a name.
fn list(issuer: &Issuer<'_, impl SigningKey>, revoked: &[u64], point: Option<String>) -> Vec<u8> {
    let entry = |number: &u64| RevokedCertParams {
        serial_number: SerialNumber::from(*number),
        revocation_time: date_time_ymd(2021, 1, 1),
        reason_code: None,
        invalidity_date: None,
    };
    let params = CertificateRevocationListParams {
        this_update: date_time_ymd(2021, 1, 1),
        next_update: date_time_ymd(2036, 1, 1),
        crl_number: SerialNumber::from(1),
        issuing_distribution_point: point.map(|name| CrlIssuingDistributionPoint {
            distribution_point: CrlDistributionPoint { uris: vec![name] },
            scope: None,
        }),
        revoked_certs: revoked.iter().map(entry).collect(),
        key_identifier_method: KeyIdMethod::Sha256,
    };
    params.signed_by(issuer).unwrap().der().to_vec()
}

/// A leaf, and certificates of its issuer by issuers of one name, each with another key.
fn by_many(root: &Authority, count: usize) -> Chain {
    let middle = key();
    let below = Issuer::new(authority("Middle"), &middle);
    let leaf = CertificateParams::new(["service.example".to_owned()]).unwrap();
    let mut chain = vec![leaf.signed_by(&key(), &below).unwrap().der().clone()];
    for _ in 0..count {
        let issuer = Authority::signed_by(authority("Issuer"), key(), root).unwrap();
        chain.push(authority("Middle").signed_by(&middle, &issuer).unwrap().der().clone());
        chain.push(issuer.der().clone());
    }
    chain
}

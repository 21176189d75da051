//! The work for revocation lists that a chain can cause: comparisons, signatures, and hashed bytes.

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer,
    CrlDistributionPoint, CrlIssuingDistributionPoint, DnType, IsCa, Issuer as Signing,
    KeyIdMethod, KeyPair, RevokedCertParams, SerialNumber, date_time_ymd,
};

use super::*;
use crate::budget::{MOST_SIGNATURES, MOST_UNITS};
use crate::{ChainVerifier, RevocationPolicy};

type Authority = CertifiedIssuer<'static, KeyPair>;
type Chain = Vec<CertificateDer<'static>>;

fn key() -> KeyPair {
    KeyPair::generate().unwrap()
}

fn authority(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params
}

fn leaf(points: usize) -> CertificateParams {
    let mut params = CertificateParams::new(["service.example".to_owned()]).unwrap();
    let point = |number| CrlDistributionPoint { uris: vec![format!("http://a.example/{number}")] };
    params.crl_distribution_points = (0..points).map(point).collect();
    params
}

/// A list with this number of entries, for a distribution point if there is a name.
fn list(
    issuer: &Signing<'_, impl rcgen::SigningKey>,
    entries: u64,
    point: Option<String>,
) -> Vec<u8> {
    let point = point.map(|name| CrlIssuingDistributionPoint {
        distribution_point: CrlDistributionPoint { uris: vec![name] },
        scope: None,
    });
    let entry = |number| RevokedCertParams {
        serial_number: SerialNumber::from(number),
        revocation_time: date_time_ymd(2021, 1, 1),
        reason_code: None,
        invalidity_date: None,
    };
    let params = CertificateRevocationListParams {
        this_update: date_time_ymd(2021, 1, 1),
        next_update: date_time_ymd(2036, 1, 1),
        crl_number: SerialNumber::from(1),
        issuing_distribution_point: point,
        revoked_certs: (1..=entries).map(entry).collect(),
        key_identifier_method: KeyIdMethod::Sha256,
    };
    params.signed_by(issuer).unwrap().der().to_vec()
}

/// The work of one search.
#[derive(Debug)]
struct Spent {
    result: Result<(), RefusalReason>,
    units: usize,
    list_signatures: usize,
    /// The bytes of the lists that were hashed.
    hashed: usize,
}

/// Searches with these lists, and ensures that the work has its limits.
fn search(what: &str, root: &Authority, lists: &[Vec<u8>], chain: &Chain) -> Spent {
    let mut roots = Roots::new();
    roots.add_der(root.der()).unwrap();
    let mut builder = ChainVerifier::builder(Arc::new(roots));
    for list in lists {
        builder = builder.crl(&list.clone().into()).unwrap();
    }
    let policy = RevocationPolicy { allow_unknown_status: true, ..RevocationPolicy::default() };
    let verifier = builder.revocation_policy(policy).build().unwrap();
    let leaf = PathCertificate::of(Certificate::parse(&chain[0]).unwrap()).unwrap();
    let now = UnixTime::since_unix_epoch(std::time::Duration::from_secs(1_780_000_000));
    let (issuers, refused) = candidates(&verifier.trusted, &leaf, &chain[1..]);
    let mut work = Work::new();
    let found = (&issuers[..], refused);
    let result =
        Search::new(&verifier.trusted, Usage::Server, now, found, &mut work).run(&leaf).map(drop);
    let (paid, units) = work.budget.spent();
    let (list_signatures, hashed) = work.signatures.counted(&verifier.trusted.revocation);
    let work = Spent { result, units, list_signatures, hashed };
    println!("{what}: {work:?}");
    assert!(paid <= MOST_SIGNATURES && units <= MOST_UNITS);
    assert!(list_signatures <= usize::try_from(MOST_SIGNATURES).unwrap());
    let total: usize = lists.iter().map(Vec::len).sum();
    assert!(hashed <= 2 * total + 4 * MOST_UNITS, "{hashed} of {total}");
    work
}

/// A certificate with many distribution points is compared once with each list of its issuer, not
/// each point with each list. RFC 5280 4.2.1.13
#[test]
fn lists_and_distribution_points_do_not_multiply() {
    let root = Authority::self_signed(authority("Root"), key()).unwrap();
    let lists: Vec<_> = (0..300)
        .map(|number| list(&root, 0, Some(format!("http://a.example/{}", 1000 + number))))
        .collect();
    let of = |points| {
        let leaf = leaf(points).signed_by(&key(), &root).unwrap();
        let chain = vec![leaf.der().clone()];
        search(&format!("300 lists, {points} points"), &root, &lists, &chain)
    };
    let (few, many) = (of(3), of(1000));
    assert_eq!((few.result, few.list_signatures), (Ok(()), 0));
    assert_eq!((many.result, many.list_signatures), (Ok(()), 0));
    assert!((300..2000).contains(&few.units), "{few:?}");
    // The extension is read once.
    assert!(many.units < few.units + 20_000, "{many:?}");
    // The list of one of the points is enough.
    let found = of(1050);
    assert_eq!((found.result, found.list_signatures), (Ok(()), 1));
}

/// Certificates of one authority by many issuers of one name: each issuer's key is tried with the
/// list of this name.
fn by_many(root: &Authority, count: u64) -> Chain {
    let middle = key();
    let below = Signing::new(authority("Middle"), &middle);
    let mut chain = vec![leaf(0).signed_by(&key(), &below).unwrap().der().clone()];
    for _ in 0..count {
        let issuer = Authority::signed_by(authority("Issuer"), key(), root).unwrap();
        chain.push(authority("Middle").signed_by(&middle, &issuer).unwrap().der().clone());
        chain.push(issuer.der().clone());
    }
    chain
}

/// A list is hashed once for nothing, and again only as far as the budget reaches.
#[test]
fn a_large_list_is_not_hashed_for_each_path() {
    let root = Authority::self_signed(authority("Root"), key()).unwrap();
    let stranger = Authority::self_signed(authority("Issuer"), key()).unwrap();
    let chain = by_many(&root, 8);
    let small = search("8 keys, a small list", &root, &[list(&stranger, 1, None)], &chain);
    assert_eq!((small.result, small.list_signatures), (Err(RefusalReason::InvalidCrl), 8));
    let large = list(&stranger, 40_000, None);
    assert!(large.len() > 750_000);
    let work = search("8 keys, a large list", &root, &[large], &chain);
    assert_eq!(work.result, Err(RefusalReason::PathLimits));
    assert!((2..8).contains(&work.list_signatures), "{work:?}");
    assert!(work.hashed > work.list_signatures * 750_000, "{work:?}");
}

/// The status of a certificate is found once, although many paths have it.
#[test]
fn a_status_is_found_once_for_each_key() {
    let root = Authority::self_signed(authority("Root"), key()).unwrap();
    let (upper, lower) = (key(), key());
    let upper = Authority::signed_by(authority("Upper"), upper, &root).unwrap();
    // Authorities of one name and key below an authority, all of which are refused.
    let below = Signing::new(authority("Lower"), &lower);
    let mut chain = vec![leaf(0).signed_by(&key(), &below).unwrap().der().clone()];
    for number in 1..=20 {
        let mut params = authority("Lower");
        params.serial_number = Some(SerialNumber::from(number));
        chain.push(params.signed_by(&lower, &upper).unwrap().der().clone());
    }
    chain.push(upper.der().clone());
    let mut lists = vec![list(&upper, 20, None), list(&root, 0, None)];
    lists.extend((0..100).map(|number| list(&root, 0, Some(format!("http://a.example/{number}")))));
    let work = search("20 revoked authorities", &root, &lists, &chain);
    // Each of the two lists has one signer.
    assert_eq!((work.result, work.list_signatures), (Err(RefusalReason::Revoked), 2));
    assert!(work.units < 5000, "{work:?}");
}

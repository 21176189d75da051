//! URIs and e-mail addresses in the subjectAltName, as applications get them. RFC 5280 4.2.1.6

use pki_types::CertificateDer;
use rcgen::{BasicConstraints, CustomExtension, IsCa, KeyUsagePurpose, SanType, string::Ia5String};
use tercel_pki::{RefusalReason, dns_names, email_names, spiffe_id, uri_names};

use crate::support::{P256, der, key, leaf_params};

const SPIFFE_ID: &str = "spiffe://example.org/ns/shop/sa/cart";

/// The tags of GeneralName. RFC 5280 4.2.1.6
const EMAIL: u8 = 0x81;
const DNS: u8 = 0x82;
const URI: u8 = 0x86;

/// A certificate with these names.
fn certificate(names: Vec<SanType>) -> CertificateDer<'static> {
    let mut params = leaf_params(&[]);
    params.subject_alt_names = names;
    params.self_signed(&key(P256)).unwrap().der().clone()
}

/// A certificate whose subjectAltName extension has this value.
fn with_extension(value: Vec<u8>) -> CertificateDer<'static> {
    let mut params = leaf_params(&[]);
    params.custom_extensions.push(CustomExtension::from_oid_content(&[2, 5, 29, 17], value));
    params.self_signed(&key(P256)).unwrap().der().clone()
}

/// The value of a subjectAltName with these names, each a tag and its content.
fn names(names: &[(u8, &[u8])]) -> Vec<u8> {
    let content: Vec<u8> =
        names.iter().flat_map(|(tag, content)| der::wrap(*tag, content)).collect();
    der::wrap(0x30, &content)
}

fn text(name: &str) -> Ia5String {
    name.try_into().unwrap()
}

/// RFC 5280 4.2.1.6
#[test]
fn names_are_returned_by_kind_and_in_order() {
    let certificate = certificate(vec![
        SanType::URI(text(SPIFFE_ID)),
        SanType::Rfc822Name(text("one@example.org")),
        SanType::DnsName(text("a.example")),
        SanType::URI(text("https://example.org/?a=%20#b")),
        SanType::IpAddress([192, 0, 2, 7].into()),
        SanType::Rfc822Name(text("two@example.org")),
    ]);
    assert_eq!(uri_names(&certificate).unwrap(), [SPIFFE_ID, "https://example.org/?a=%20#b"]);
    assert_eq!(email_names(&certificate).unwrap(), ["one@example.org", "two@example.org"]);
    assert_eq!(dns_names(&certificate).unwrap(), ["a.example"]);
}

#[test]
fn a_certificate_without_such_names_has_none() {
    for certificate in [certificate(vec![]), certificate(vec![SanType::DnsName(text("a.example"))])]
    {
        assert_eq!(uri_names(&certificate), Ok(vec![]));
        assert_eq!(email_names(&certificate), Ok(vec![]));
    }
}

/// A name that an application could misread is an error, even if another name is valid.
#[test]
fn names_with_other_characters_than_visible_ascii_are_an_error() {
    let bad: [&[u8]; 8] = [
        b"a\0b",
        b"a\nb",
        b"a b",
        b"\x1b[2J",
        b"a\x7f",
        b"caf\xe9",
        "caf\u{e9}".as_bytes(),
        b"\xff",
    ];
    for content in bad {
        let uri = with_extension(names(&[(URI, SPIFFE_ID.as_bytes()), (URI, content)]));
        assert_eq!(uri_names(&uri), Err(RefusalReason::BadEncoding), "{content:02x?}");
        let email = with_extension(names(&[(EMAIL, content), (EMAIL, b"one@example.org")]));
        assert_eq!(email_names(&email), Err(RefusalReason::BadEncoding), "{content:02x?}");
        // Names of the other kind are still returned.
        assert_eq!(email_names(&uri), Ok(vec![]));
        assert_eq!(uri_names(&email), Ok(vec![]));
    }
}

/// RFC 5280 4.2.1.6
#[test]
fn a_malformed_extension_is_an_error() {
    let whole = names(&[(DNS, b"a.example"), (URI, SPIFFE_ID.as_bytes()), (EMAIL, b"a@b.example")]);
    assert_eq!(uri_names(&with_extension(whole.clone())).unwrap(), [SPIFFE_ID]);
    // The value is truncated at every position: first with the original length field, then with a
    // corrected length field.
    for length in 0..whole.len() {
        let cut = with_extension(whole[..length].to_vec());
        assert_eq!(uri_names(&cut), Err(RefusalReason::BadEncoding), "{length}");
        assert_eq!(email_names(&cut), Err(RefusalReason::BadEncoding), "{length}");
    }
    let inside = der::content(&whole);
    // A list that is truncated between two names is well-formed if its length field is corrected.
    let first = der::split(inside).0.len();
    let second = der::split(&inside[first..]).0.len();
    let between = [0, first, first + second];
    for length in (0..inside.len()).filter(|length| !between.contains(length)) {
        let cut = with_extension(der::wrap(0x30, &inside[..length]));
        assert_eq!(uri_names(&cut), Err(RefusalReason::BadEncoding), "{length}");
        assert_eq!(email_names(&cut), Err(RefusalReason::BadEncoding), "{length}");
    }
    let mut longer = whole.clone();
    longer.push(0);
    let set = der::wrap(0x31, inside);
    let indefinite = [&[0x30, 0x80], inside, &[0, 0]].concat();
    for value in [longer, set, indefinite] {
        let certificate = with_extension(value);
        assert_eq!(uri_names(&certificate), Err(RefusalReason::BadEncoding));
        assert_eq!(email_names(&certificate), Err(RefusalReason::BadEncoding));
    }
}

#[test]
fn bytes_that_are_no_certificate_are_an_error() {
    let whole = certificate(vec![SanType::URI(text(SPIFFE_ID))]);
    for length in [0, 1, 10, whole.len() - 1] {
        let cut = CertificateDer::from(whole[..length].to_vec());
        assert_eq!(uri_names(&cut), Err(RefusalReason::BadEncoding), "{length}");
        assert_eq!(email_names(&cut), Err(RefusalReason::BadEncoding), "{length}");
    }
}

/// X.509-SVID 2, SPIFFE-ID 2
#[test]
fn a_spiffe_id_is_the_only_uri_and_well_formed() {
    let with_uris = |uris: &[&str]| {
        let names = uris.iter().map(|uri| SanType::URI(text(uri))).collect();
        spiffe_id(&certificate(names)).unwrap()
    };
    let longest = format!("spiffe://{}/{}", "a".repeat(255), "b".repeat(2048 - 265));
    for id in [SPIFFE_ID, "spiffe://example.org/a", "spiffe://1_a-b.c/A/..a/b.-_9", &longest] {
        assert_eq!(with_uris(&[id]).as_deref(), Some(id));
    }
    let long_domain = format!("spiffe://{}/a", "a".repeat(256));
    for uri in [
        "https://example.org/a",
        "SPIFFE://example.org/a",
        "spiffe:example.org/a",
        "spiffe:///a",
        "spiffe://example.org",
        "spiffe://Example.org/a",
        "spiffe://example.org:80/a",
        "spiffe://user@example.org/a",
        "spiffe://example.org/",
        "spiffe://example.org/a/",
        "spiffe://example.org//a",
        "spiffe://example.org/a/../b",
        "spiffe://example.org/./b",
        "spiffe://example.org/a%2fb",
        "spiffe://example.org/a?b",
        "spiffe://example.org/a#b",
        &long_domain,
        &format!("{longest}b"),
    ] {
        assert_eq!(with_uris(&[uri]), None, "{uri}");
    }
    assert_eq!(with_uris(&[]), None);
    assert_eq!(with_uris(&[SPIFFE_ID, SPIFFE_ID]), None);
    assert_eq!(with_uris(&[SPIFFE_ID, "https://example.org/"]), None);
    // Other names do not count.
    let named =
        certificate(vec![SanType::DnsName(text("a.example")), SanType::URI(text(SPIFFE_ID))]);
    assert_eq!(spiffe_id(&named).unwrap().as_deref(), Some(SPIFFE_ID));
    let malformed = with_extension(names(&[(URI, b"spiffe://example.org/\x1b")]));
    assert_eq!(spiffe_id(&malformed), Err(RefusalReason::BadEncoding));
}

/// An authority's certificate has the ID of what it certifies, and authenticates nothing.
/// X.509-SVID 3.2, 5.2
#[test]
fn an_authority_has_no_spiffe_id() {
    let with = |is_ca, usages: &[KeyUsagePurpose]| {
        let mut params = leaf_params(&[]);
        params.subject_alt_names = vec![SanType::URI(text(SPIFFE_ID))];
        (params.is_ca, params.key_usages) = (is_ca, usages.to_vec());
        spiffe_id(params.self_signed(&key(P256)).unwrap().der()).unwrap().is_some()
    };
    let signature = KeyUsagePurpose::DigitalSignature;
    assert!(with(IsCa::NoCa, &[]));
    assert!(with(IsCa::ExplicitNoCa, &[signature]));
    assert!(!with(IsCa::Ca(BasicConstraints::Unconstrained), &[signature]));
    assert!(!with(IsCa::Ca(BasicConstraints::Unconstrained), &[]));
    for other in [KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign] {
        assert!(!with(IsCa::NoCa, &[signature, other]));
    }
}

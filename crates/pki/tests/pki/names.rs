//! Names: DNS, wildcards, IP addresses, and the text of a refusal about them.

use rcgen::{DnType, ExtendedKeyUsagePurpose};
use tercel_pki::{RefusalReason, Usage};

use crate::support::{Chain, Pki, leaf_params, now, reason, service, verify_name};

fn accepts(pki: &Pki, chain: &Chain, wanted: &str) -> bool {
    match verify_name(&pki.verifier(), chain, wanted) {
        Ok(_) => true,
        Err(refusal) => {
            assert_eq!(refusal.reason, RefusalReason::NameMismatch);
            false
        }
    }
}

#[test]
fn a_name_mismatch_lists_the_valid_names() {
    let pki = Pki::new();
    let chain = pki.chain(&leaf_params(&["a.example", "*.b.example", "192.0.2.7", "2001:db8::7"]));
    let refusal = verify_name(&pki.verifier(), &chain, "wrong.example").unwrap_err();
    assert_eq!(refusal.reason, RefusalReason::NameMismatch);
    assert_eq!(refusal.names, ["a.example", "*.b.example", "192.0.2.7", "2001:db8::7"]);
    assert_eq!(
        refusal.to_string(),
        "the certificate is not valid for wrong.example; \
         it is valid for a.example, *.b.example, 192.0.2.7, 2001:db8::7"
    );
}

#[test]
fn a_long_list_of_names_is_truncated() {
    let pki = Pki::new();
    let names: Vec<String> = (0..20).map(|number| format!("n{number}.example")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let refusal =
        verify_name(&pki.verifier(), &pki.chain(&leaf_params(&names)), "x.example").unwrap_err();
    assert_eq!(refusal.names.len(), 20);
    assert!(refusal.to_string().ends_with("n7.example and 12 more"), "{refusal}");
}

/// RFC 5280 4.1.2.6
#[test]
fn the_common_name_is_ignored() {
    let pki = Pki::new();
    let mut leaf = leaf_params(&[]);
    leaf.distinguished_name.push(DnType::CommonName, "service.example");
    let refusal = verify_name(&pki.verifier(), &pki.chain(&leaf), "service.example").unwrap_err();
    assert_eq!(refusal.reason, RefusalReason::NameMismatch);
    assert_eq!(
        refusal.to_string(),
        "the certificate is not valid for service.example; it has no DNS name and no IP address"
    );
}

/// RFC 5280 4.2.1.6
#[test]
fn dns_names_match_whole_and_without_case() {
    let pki = Pki::new();
    let chain = pki.chain(&service());
    assert!(accepts(&pki, &chain, "service.example"));
    assert!(accepts(&pki, &chain, "SERVICE.Example"));
    assert!(accepts(&pki, &chain, "service.example."));
    assert!(!accepts(&pki, &chain, "a.service.example"));
    assert!(!accepts(&pki, &chain, "example"));
}

/// RFC 5280 4.2.1.6, RFC 1034 3.5
#[test]
fn a_dns_name_with_a_final_dot_matches_nothing() {
    let pki = Pki::new();
    let chain = pki.chain(&leaf_params(&["Service.example."]));
    for wanted in ["service.example", "service.example."] {
        let refusal = verify_name(&pki.verifier(), &chain, wanted).unwrap_err();
        assert_eq!(
            refusal.to_string(),
            "the certificate is not valid for service.example; it has this name with a final dot, \
             which is not accepted"
        );
    }
}

#[test]
fn a_wildcard_stands_for_one_label() {
    let pki = Pki::new();
    let chain = pki.chain(&leaf_params(&["*.wild.example"]));
    assert!(accepts(&pki, &chain, "a.wild.example"));
    assert!(!accepts(&pki, &chain, "a.b.wild.example"));
    assert!(!accepts(&pki, &chain, "wild.example"));
}

#[test]
fn ip_addresses_match_ip_addresses_only() {
    let pki = Pki::new();
    let chain = pki.chain(&leaf_params(&["192.0.2.7", "2001:db8::7"]));
    assert!(accepts(&pki, &chain, "192.0.2.7"));
    assert!(accepts(&pki, &chain, "2001:db8::7"));
    assert!(accepts(&pki, &chain, "2001:db8:0:0:0:0:0:7"));
    assert!(!accepts(&pki, &chain, "192.0.2.8"));
    assert!(!accepts(&pki, &chain, "2001:db8::8"));
    // The IPv4-mapped IPv6 address is another name.
    assert!(!accepts(&pki, &chain, "::ffff:192.0.2.7"));
    let dns_only = pki.chain(&service());
    assert!(!accepts(&pki, &dns_only, "192.0.2.7"));
}

#[test]
fn an_untrusted_chain_is_refused_for_that_before_its_name() {
    let pki = Pki::new();
    let chain = pki.chain(&service());
    let refused = reason(verify_name(&pki.verifier(), &chain[..1], "wrong.example"));
    assert_eq!(refused, RefusalReason::UnknownIssuer);
}

#[test]
fn without_a_requested_name_any_is_accepted() {
    let pki = Pki::new();
    let mut leaf = leaf_params(&[]);
    leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let chain = pki.chain(&leaf);
    pki.verifier().verify(Usage::Client, &chain, None, None, now()).unwrap();
}

/// A malformed name makes the extension malformed, wherever it is. RFC 5280 4.2.1.6
#[test]
fn no_name_is_read_from_a_malformed_extension() {
    let pki = Pki::new();
    // The tags and lengths of an otherName, a directoryName, and a tag that no GeneralName has.
    for malformed in [&[0x82, 9, b'b'][..], &[0x82], &[0xa4, 0x80, 0, 0], &[0x89, 1, b'x']] {
        for is_first in [true, false] {
            let own = [&[0x82, 9][..], b"a.example"].concat();
            let names = if is_first { [malformed, &own] } else { [&own[..], malformed] }.concat();
            let names = [&[0x30, u8::try_from(names.len()).unwrap()], &names[..]].concat();
            let mut leaf = leaf_params(&[]);
            let oid = &[2, 5, 29, 17];
            leaf.custom_extensions = vec![rcgen::CustomExtension::from_oid_content(oid, names)];
            let refused = verify_name(&pki.verifier(), &pki.chain(&leaf), "a.example").unwrap_err();
            let expected = [RefusalReason::BadEncoding, RefusalReason::NameMismatch];
            assert!(expected.contains(&refused.reason), "{malformed:?}: {refused}");
        }
    }
}

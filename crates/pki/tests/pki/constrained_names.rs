//! Names that constraints must see, in whatever form a certificate has them. RFC 5280 4.2.1.10

use rcgen::{CustomExtension, DnType, DnValue, GeneralSubtree, NameConstraints};
use tercel_pki::{RefusalReason, Trust, Usage, common_name, constrained_common_name};

use crate::support::der::wrap;
use crate::support::{Authority, P256, Pki, ca_params, key, leaf_params, now};

/// The result for a client below an authority that may certify only one subtree. The client has a
/// subjectAltName with this content.
fn judge(permitted: GeneralSubtree, names: &[u8]) -> Result<Trust, RefusalReason> {
    let mut leaf = leaf_params(&[]);
    leaf.extended_key_usages.clear();
    leaf.custom_extensions =
        vec![CustomExtension::from_oid_content(&[2, 5, 29, 17], wrap(0x30, names))];
    judge_leaf(permitted, &leaf)
}

fn judge_leaf(
    permitted: GeneralSubtree,
    leaf: &rcgen::CertificateParams,
) -> Result<Trust, RefusalReason> {
    let pki = Pki::new();
    let mut limited = ca_params("Limited");
    limited.name_constraints =
        Some(NameConstraints { permitted_subtrees: vec![permitted], excluded_subtrees: vec![] });
    let limited = Authority::signed_by(limited, key(P256), &pki.root).unwrap();
    let leaf = leaf.signed_by(&key(P256), &limited).unwrap();
    let chain = [leaf.der().clone(), limited.der().clone()];
    let verdict = pki.verifier().verify(Usage::Client, &chain, None, None, now());
    verdict.map_err(|refusal| refusal.reason)
}

/// OpenSSL reads a string that consists of parts, and so do programs that use it. RFC 5280 4.2.1.6,
/// X.690 10.2
#[test]
fn a_name_in_parts_does_not_escape_constraints() {
    let dns = || GeneralSubtree::DnsName("a.example".to_owned());
    let email = || GeneralSubtree::Rfc822Name("a.example".to_owned());
    assert_eq!(judge(dns(), &wrap(0x82, b"b.a.example")), Ok(Trust::Anchor));
    assert_eq!(judge(dns(), &wrap(0x82, b"b.example")), Err(RefusalReason::NameConstraint));
    let refused = Err(RefusalReason::BadEncoding);
    assert_eq!(judge(dns(), &wrap(0xa2, &wrap(0x16, b"b.example"))), refused);
    assert_eq!(judge(email(), &wrap(0xa1, &wrap(0x16, b"x@b.example"))), refused);
    // A primitive directoryName.
    assert_eq!(judge(dns(), &wrap(0x84, &[0x30, 0])), refused);
}

/// A SmtpUTF8Mailbox is an e-mail address, so constraints on these apply. RFC 9598 3, 6,
/// RFC 6531 3.3
#[test]
fn an_address_of_another_form_does_not_escape_constraints_on_email() {
    let other_name = |kind: u8, address: &str| {
        let kind = [0x2b, 6, 1, 5, 5, 7, 8, kind];
        let value = wrap(0xa0, &wrap(0x0c, address.as_bytes()));
        wrap(0xa0, &[wrap(6, &kind), value].concat())
    };
    let email = || GeneralSubtree::Rfc822Name("a.example".to_owned());
    let outside = Err(RefusalReason::NameConstraint);
    assert_eq!(judge(email(), &other_name(9, "\u{e4}@a.example")), Ok(Trust::Anchor));
    assert_eq!(judge(email(), &other_name(9, "\u{e4}@b.example")), outside);
    assert_eq!(judge(email(), &other_name(9, "admin@b.example")), outside);
    let host_in_unicode = judge(email(), &other_name(9, "\u{e4}@\u{e4}.example"));
    assert_eq!(host_in_unicode, Err(RefusalReason::UnsupportedNameConstraint));
    // Without a constraint on addresses, and other names of no known form.
    let dns = GeneralSubtree::DnsName("a.example".to_owned());
    assert_eq!(judge(dns, &other_name(9, "\u{e4}@b.example")), Ok(Trust::Anchor));
    assert_eq!(judge(email(), &other_name(4, "\u{e4}@b.example")), Ok(Trust::Anchor));
    let truncated = wrap(0xa0, &wrap(6, &[0x2b, 6, 1, 5, 5, 7, 8, 9]));
    assert_eq!(judge(email(), &truncated), Err(RefusalReason::BadEncoding));
}

/// The types of strings that others show as text. RFC 5280 4.1.2.4, X.680 41
#[test]
fn a_common_name_of_any_type_of_string_is_seen() {
    let outside = RefusalReason::NameConstraint;
    let types =
        [(0x13, "b.example", outside), (0x1a, "b.example", outside), (0x12, "1.2", outside)];
    for (tag, name, expected) in types {
        let mut leaf = leaf_params(&[]);
        leaf.extended_key_usages.clear();
        leaf.distinguished_name = rcgen::DistinguishedName::new();
        leaf.distinguished_name.push(DnType::CommonName, DnValue::Utf8String(name.to_owned()));
        let dns = GeneralSubtree::DnsName("a.example".to_owned());
        let pki = Pki::new();
        let mut limited = ca_params("Limited");
        limited.name_constraints =
            Some(NameConstraints { permitted_subtrees: vec![dns], excluded_subtrees: vec![] });
        let limited = Authority::signed_by(limited, key(P256), &pki.root).unwrap();
        let leaf = leaf.signed_by(&key(P256), &limited).unwrap();
        let from = [&[0x0c, u8::try_from(name.len()).unwrap()], name.as_bytes()].concat();
        let leaf = crate::validation::rebuilt(leaf.der(), limited.key(), |fields| {
            for field in fields {
                if let Some(at) = field.windows(from.len()).position(|part| part == from) {
                    field[at] = tag;
                }
            }
        });
        assert_eq!(common_name(&leaf).unwrap().as_deref(), Some(name), "{tag:#x}");
        let chain = [leaf, limited.der().clone()];
        let verdict = pki.verifier().verify(Usage::Client, &chain, None, None, now());
        assert_eq!(verdict.map_err(|refusal| refusal.reason), Err(expected), "{tag:#x}");
    }
}

/// The commonName that programs decide by is held against constraints, or names no host.
/// RFC 5280 4.1.2.6
#[test]
fn a_constrained_common_name_names_no_host_outside_the_constraints() {
    for (name, names, expected) in [
        ("admin.a.example", &[][..], Some("admin.a.example")),
        ("admin.b.example", &[], None),
        ("admin.b.example.", &[], None),
        ("*.b.example", &[], None),
        ("\u{a0}admin.b.example", &[], None),
        ("admin.b.example", &["x.a.example"], None),
        ("admin.b.example.", &["x.a.example"], None),
        ("X.a.example", &["x.A.example"], Some("X.a.example")),
        ("192.0.2.1", &[], None),
        ("192.0.2.1", &["x.a.example"], None),
        ("2001:db8::1", &[], None),
        ("2001:db8::1", &["x.a.example"], None),
        ("[2001:db8::1]", &["2001:db8::2"], None),
        ("2001:db8::1", &["2001:0db8::1"], Some("2001:db8::1")),
        ("Alice", &[], Some("Alice")),
        ("Alice B. Example", &["x.a.example"], Some("Alice B. Example")),
    ] {
        let mut leaf = leaf_params(names);
        leaf.extended_key_usages.clear();
        leaf.distinguished_name = rcgen::DistinguishedName::new();
        leaf.distinguished_name.push(DnType::CommonName, name);
        let verdict = judge_leaf(GeneralSubtree::DnsName("a.example".to_owned()), &leaf);
        let certificate = leaf.self_signed(&key(P256)).unwrap();
        let shown = constrained_common_name(certificate.der()).unwrap();
        assert_eq!(common_name(certificate.der()).unwrap().as_deref(), Some(name));
        assert_eq!(verdict.ok().and(shown.as_deref()), expected, "{name} {names:?}");
    }
}

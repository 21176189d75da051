//! The faults of single certificates. Each has a label, by which differences are explained.

use super::certificate::{
    BMP_STRING, CRL_SIGN, Content, DIGITAL_SIGNATURE, GeneralName, KEY_CERT_SIGN, KEY_ENCIPHERMENT,
    KeyForm, Name, PRINTABLE_STRING, Purpose, TELETEX_STRING, Time, UTF8_STRING, Value,
};
use super::lists::POINTS;
use super::random::Random;

/// The role of a certificate.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Root,
    Issuer,
    Leaf,
}

type Fault = (&'static str, fn(&mut Content, &mut Random));

/// Changes a certificate, and returns the label.
pub(crate) fn add(content: &mut Content, role: Role, random: &mut Random) -> &'static str {
    let own = if role == Role::Leaf { LEAF } else { AUTHORITY };
    let index = random.below(COMMON.len() + own.len());
    let (label, change) = COMMON.get(index).unwrap_or_else(|| &own[index - COMMON.len()]);
    change(content, random);
    label
}

const COMMON: &[Fault] = &[
    ("expired", |it, _| it.not_after = Time::utc("200101000000Z")),
    ("not yet valid", |it, _| it.not_before = Time::utc("300101000000Z")),
    ("notBefore 1950", |it, _| it.not_before = Time::utc("500101000000Z")),
    ("notBefore year 0", |it, _| it.not_before = Time::generalized("00000101000000Z")),
    ("notBefore 1969", |it, _| it.not_before = Time::generalized("19691231235959Z")),
    ("notAfter 9999", |it, _| it.not_after = Time::generalized("99991231235959Z")),
    ("notAfter 1960", |it, _| it.not_after = Time::utc("600101000000Z")),
    ("reversed validity", |it, _| std::mem::swap(&mut it.not_before, &mut it.not_after)),
    ("GeneralizedTime", |it, _| it.not_before = Time::generalized("20200101000000Z")),
    ("month 13", |it, _| it.not_before = Time::utc("201301000000Z")),
    ("no seconds", |it, _| it.not_before = Time::utc("2001010000Z")),
    ("time zone", |it, _| it.not_before = Time::utc("200101000000+0000")),
    ("wrong signature", |it, _| it.wrong_signature = true),
    ("explicit curve", |it, _| it.key_form = KeyForm::Explicit),
    ("version 1", |it, _| it.version = 1),
    ("version 2", |it, _| it.version = 2),
    ("serial 0", |it, _| it.serial = vec![0]),
    ("negative serial", |it, _| it.serial = vec![0x80]),
    ("serial of 21 bytes", |it, _| it.serial = vec![1; 21]),
    ("unknown extension", |it, _| it.set(false, Value::Unknown)),
    ("unknown critical extension", |it, _| it.set(true, Value::Unknown)),
    ("policies", |it, _| it.set(false, Value::Policies)),
    ("critical policies", |it, _| it.set(true, Value::Policies)),
    ("repeated extension", |it, _| {
        let first = it.extensions.first().cloned();
        it.extensions.extend(first);
    }),
    ("no key usage", |it, _| it.remove(|value| matches!(value, Value::KeyUsage(_)))),
    ("empty key usage", |it, _| it.set(true, Value::KeyUsage(0))),
    ("key usage digitalSignature", |it, _| it.set(true, Value::KeyUsage(DIGITAL_SIGNATURE))),
    ("key usage keyEncipherment", |it, _| it.set(true, Value::KeyUsage(KEY_ENCIPHERMENT))),
    ("key usage keyCertSign", |it, _| it.set(true, Value::KeyUsage(KEY_CERT_SIGN))),
    ("no purpose", |it, _| it.remove(|value| matches!(value, Value::Purposes(_)))),
    ("purpose serverAuth", |it, _| it.set(false, purposes(&[Purpose::Server]))),
    ("purpose clientAuth", |it, _| it.set(false, purposes(&[Purpose::Client]))),
    ("purposes of TLS", |it, _| it.set(true, purposes(&[Purpose::Client, Purpose::Server]))),
    ("any purpose", |it, _| it.set(false, purposes(&[Purpose::Any]))),
    ("purpose codeSigning", |it, _| it.set(true, purposes(&[Purpose::Code]))),
    ("empty purposes", |it, _| it.set(false, purposes(&[]))),
    ("no key identifiers", |it, _| {
        it.remove(|value| matches!(value, Value::SubjectKey(_) | Value::AuthorityKey(_)));
    }),
    ("other authority key identifier", |it, _| {
        it.set(false, Value::AuthorityKey("other".to_owned()));
    }),
    ("issuer in capitals", |it, _| it.issuer.text.make_ascii_uppercase()),
    ("issuer as PrintableString", |it, _| {
        if it.issuer.text.is_ascii() {
            it.issuer.string = PRINTABLE_STRING;
        }
    }),
    ("issuer as another string", |it, random| {
        it.issuer.string = *random.pick(&[UTF8_STRING, BMP_STRING, TELETEX_STRING]);
    }),
    ("distribution point", |it, random| {
        it.set(false, Value::DistributionPoints(vec![*random.pick(&POINTS)]));
    }),
    ("two distribution points", |it, _| {
        it.set(false, Value::DistributionPoints(POINTS.to_vec()));
    }),
    ("empty subject", |it, _| it.subject.text.clear()),
];

const AUTHORITY: &[Fault] = &[
    ("no basic constraints", |it, _| {
        it.remove(|value| matches!(value, Value::BasicConstraints { .. }));
    }),
    ("CA:FALSE", |it, _| it.set(true, authority(false, None))),
    ("basic constraints not critical", |it, _| {
        it.set(false, authority(true, None));
    }),
    ("pathlen 0", |it, _| it.set(true, authority(true, Some(0)))),
    ("pathlen 1", |it, _| it.set(true, authority(true, Some(1)))),
    ("pathlen 2", |it, _| it.set(true, authority(true, Some(2)))),
    ("pathlen 300", |it, _| it.set(true, authority(true, Some(300)))),
    ("pathlen -1", |it, _| it.set(true, authority(true, Some(-1)))),
    ("permitted name", |it, random| constrain(it, List::Permitted, dns(random))),
    ("excluded name", |it, random| constrain(it, List::Excluded, dns(random))),
    ("permitted name", |it, random| constrain(it, List::Permitted, dns(random))),
    ("excluded name", |it, random| constrain(it, List::Excluded, dns(random))),
    ("permitted address", |it, random| {
        constrain(it, List::Permitted, GeneralName::Address(random.pick::<&[u8]>(ADDRESSES)));
    }),
    ("excluded address", |it, random| {
        constrain(it, List::Excluded, GeneralName::Address(random.pick::<&[u8]>(ADDRESSES)));
    }),
    ("permitted directoryName", |it, random| constrain(it, List::Permitted, directory(random))),
    ("excluded directoryName", |it, random| constrain(it, List::Excluded, directory(random))),
    ("permitted e-mail", |it, random| {
        constrain(it, List::Permitted, GeneralName::Email(random.pick::<&[u8]>(EMAIL)));
    }),
    ("excluded e-mail", |it, random| {
        constrain(it, List::Excluded, GeneralName::Email(random.pick::<&[u8]>(EMAIL)));
    }),
    ("permitted quoted e-mail", |it, random| {
        constrain(it, List::Permitted, GeneralName::Email(random.pick::<&[u8]>(QUOTED)));
    }),
    ("excluded quoted e-mail", |it, random| {
        constrain(it, List::Excluded, GeneralName::Email(random.pick::<&[u8]>(QUOTED)));
    }),
    ("permitted URI", |it, random| {
        constrain(it, List::Permitted, GeneralName::Uri(random.pick::<&[u8]>(DNS)));
    }),
    ("excluded URI", |it, random| {
        constrain(it, List::Excluded, GeneralName::Uri(random.pick::<&[u8]>(DNS)));
    }),
    ("empty name constraints", |it, _| {
        it.set(true, Value::NameConstraints { permitted: vec![], excluded: vec![] });
    }),
    ("constraints not critical", |it, random| {
        constrain(it, List::Permitted, dns(random));
        let is_other = |value: &Value| !matches!(value, Value::NameConstraints { .. });
        it.extensions.iter_mut().for_each(|one| one.critical &= is_other(&one.value));
    }),
    ("critical policy constraints", |it, _| {
        it.set(true, Value::RequireExplicitPolicy(0));
    }),
    ("critical policy constraints of 1", |it, _| {
        it.set(true, Value::RequireExplicitPolicy(1));
    }),
    ("critical policy constraints of 2", |it, _| {
        it.set(true, Value::RequireExplicitPolicy(2));
    }),
    ("critical policy constraints of 5", |it, _| {
        it.set(true, Value::RequireExplicitPolicy(5));
    }),
    ("critical inhibitAnyPolicy", |it, _| it.set(true, Value::InhibitAnyPolicy)),
    ("subject in capitals", |it, _| it.subject.text.make_ascii_uppercase()),
    ("key usage cRLSign", |it, _| it.set(true, Value::KeyUsage(CRL_SIGN))),
];

const LEAF: &[Fault] = &[
    ("CA:TRUE leaf", |it, _| it.set(true, authority(true, None))),
    ("CA:FALSE with pathlen", |it, _| {
        it.set(true, authority(false, Some(0)));
    }),
    ("no names", |it, _| it.remove(|value| matches!(value, Value::Names(_)))),
    ("no names, commonName", |it, _| {
        it.remove(|value| matches!(value, Value::Names(_)));
        it.subject = Name::new("a.service.example");
    }),
    ("empty names", |it, _| names(it, vec![])),
    ("other name", |it, _| names(it, vec![dns_name(b"other.example")])),
    ("wildcard", |it, _| names(it, vec![dns_name(b"*.service.example")])),
    ("wildcard above", |it, _| names(it, vec![dns_name(b"*.example")])),
    ("wildcard of all", |it, _| names(it, vec![dns_name(b"*")])),
    ("wildcard within", |it, _| names(it, vec![dns_name(b"a*.service.example")])),
    ("wildcard inside", |it, _| names(it, vec![dns_name(b"a.*.example")])),
    ("wildcard twice", |it, _| names(it, vec![dns_name(b"*.*.example")])),
    ("name in capitals", |it, _| names(it, vec![dns_name(b"A.SERVICE.EXAMPLE")])),
    ("name with final dot", |it, _| names(it, vec![dns_name(b"a.service.example.")])),
    ("name with first dot", |it, _| names(it, vec![dns_name(b".service.example")])),
    ("name with NUL", |it, _| names(it, vec![dns_name(b"a.service.example\0.other.example")])),
    ("name with space", |it, _| names(it, vec![dns_name(b"a.service.example ")])),
    ("name with underscore", |it, _| {
        names(it, vec![dns_name(b"a.service.example"), dns_name(b"a_b.service.example")]);
    }),
    ("name with hyphen at the end", |it, _| {
        names(it, vec![dns_name(b"a.service.example"), dns_name(b"a-.service.example")]);
    }),
    ("name that is no host name", |it, _| {
        names(it, vec![dns_name(b"a.service.example"), dns_name(b"a..b")]);
    }),
    ("name not in ASCII", |it, _| {
        names(it, vec![dns_name(b"a.service.example"), dns_name("ä.example".as_bytes())]);
    }),
    ("empty name", |it, _| names(it, vec![dns_name(b"a.service.example"), dns_name(b"")])),
    ("address", |it, _| names(it, vec![GeneralName::Address(&[127, 0, 0, 1])])),
    ("address and name", |it, _| {
        names(it, vec![dns_name(b"a.service.example"), GeneralName::Address(&[127, 0, 0, 1])]);
    }),
    ("address as a name", |it, _| names(it, vec![dns_name(b"127.0.0.1")])),
    ("address of 5 bytes", |it, _| {
        names(it, vec![dns_name(b"a.service.example"), GeneralName::Address(&[127, 0, 0, 1, 1])]);
    }),
    ("mapped address", |it, _| {
        names(
            it,
            vec![GeneralName::Address(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 127, 0, 0, 1])],
        );
    }),
    ("e-mail and name", |it, _| {
        names(it, vec![dns_name(b"a.service.example"), GeneralName::Email(b"a@service.example")]);
    }),
    ("quoted e-mail and name", |it, random| {
        let quoted = GeneralName::Email(random.pick::<&[u8]>(QUOTED));
        names(it, vec![dns_name(b"a.service.example"), quoted]);
    }),
    ("subject not in ASCII", |it, random| it.subject = random.pick(&zoes()).clone()),
    ("subject not in ASCII", |it, random| it.subject = random.pick(&zoes()).clone()),
    ("URI and name", |it, _| {
        names(
            it,
            vec![dns_name(b"a.service.example"), GeneralName::Uri(b"https://service.example/a")],
        );
    }),
    ("directoryName and name", |it, _| {
        names(
            it,
            vec![dns_name(b"a.service.example"), GeneralName::Directory(Name::new("service"))],
        );
    }),
    ("critical names", |it, _| {
        it.extensions
            .iter_mut()
            .for_each(|one| one.critical |= matches!(one.value, Value::Names(_)));
    }),
    ("many names", |it, _| {
        let many = (0..50).map(|n| format!("n{n}.service.example"));
        let mut all: Vec<_> = many.map(|one| dns_name(one.as_bytes())).collect();
        all.push(dns_name(b"a.service.example"));
        names(it, all);
    }),
];

/// Sets the subjectAltName.
pub(crate) fn names(content: &mut Content, list: Vec<GeneralName>) {
    content.set(false, Value::Names(list));
}

pub(crate) fn dns_name(text: &[u8]) -> GeneralName {
    GeneralName::Dns(text.to_vec())
}

/// A base of a constraint on distinguished names.
fn directory(random: &mut Random) -> GeneralName {
    let mut all = zoes().to_vec();
    all.extend([Name::new("Leaf"), Name::of_type(PRINTABLE_STRING, "LEAF")]);
    GeneralName::Directory(random.pick(&all).clone())
}

/// One name in several spellings. RFC 5280 7.1
fn zoes() -> [Name; 4] {
    [
        Name::new("Zo\u{eb}"),
        Name::of_type(BMP_STRING, "Zo\u{eb}"),
        Name::of_type(TELETEX_STRING, "ZO\u{eb}"),
        Name::new("ZO\u{cb}"),
    ]
}

/// A base of a constraint on DNS names.
fn dns(random: &mut Random) -> GeneralName {
    dns_name(random.pick::<&[u8]>(DNS))
}

/// The list of a name constraint.
#[derive(Clone, Copy)]
enum List {
    Permitted,
    Excluded,
}

fn constrain(content: &mut Content, list: List, base: GeneralName) {
    let value = match list {
        List::Permitted => Value::NameConstraints { permitted: vec![base], excluded: vec![] },
        List::Excluded => Value::NameConstraints { permitted: vec![], excluded: vec![base] },
    };
    content.set(true, value);
}

/// The basicConstraints.
pub(crate) fn authority(ca: bool, path_length: Option<i16>) -> Value {
    Value::BasicConstraints { ca, path_length }
}

pub(crate) fn purposes(list: &[Purpose]) -> Value {
    Value::Purposes(list.to_vec())
}

/// Bases of constraints on DNS names.
const DNS: &[&[u8]] = &[
    b"example",
    b"service.example",
    b"a.service.example",
    b"b.service.example",
    b".service.example",
    b".example",
    b"other.example",
    b"SERVICE.EXAMPLE",
    b"ervice.example",
    b"service.example.",
    b"*.service.example",
    b"",
];

/// Bases of constraints on addresses: address and mask.
const ADDRESSES: &[&[u8]] = &[
    &[127, 0, 0, 0, 255, 0, 0, 0],
    &[127, 0, 0, 1, 255, 255, 255, 255],
    &[10, 0, 0, 0, 255, 0, 0, 0],
    &[0, 0, 0, 0, 0, 0, 0, 0],
    &[127, 0, 0, 1, 255, 0, 255, 0],
    &[127, 0, 0, 1],
];

/// Mailboxes with a quoted local part. The first is another spelling of a@service.example.
/// RFC 5321 4.1.2
const QUOTED: &[&[u8]] = &[
    br#""a"@service.example"#,
    br#""a b"@service.example"#,
    br#""a@b"@service.example"#,
    br#""\a"@service.example"#,
    br#""a"@other.example"#,
];

const EMAIL: &[&[u8]] = &[b"service.example", b".example", b"a@service.example", b"other.example"];

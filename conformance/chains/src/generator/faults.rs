//! The faults of single certificates. Each has a label, by which differences are explained.

use super::certificate::{
    AUTHORITY_KEY, BASIC_CONSTRAINTS, Content, EXT_KEY_USAGE, KEY_USAGE, KeyForm, NAME_CONSTRAINTS,
    SUBJECT_ALT_NAME, SUBJECT_KEY, name, sequence, time, wrap,
};
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
    ("expired", |it, _| it.not_after = time("200101000000Z")),
    ("not yet valid", |it, _| it.not_before = time("300101000000Z")),
    ("notBefore 1950", |it, _| it.not_before = time("500101000000Z")),
    ("notBefore year 0", |it, _| it.not_before = time("00000101000000Z")),
    ("notBefore 1969", |it, _| it.not_before = time("19691231235959Z")),
    ("notAfter 9999", |it, _| it.not_after = time("99991231235959Z")),
    ("notAfter 1960", |it, _| it.not_after = time("600101000000Z")),
    ("reversed validity", |it, _| std::mem::swap(&mut it.not_before, &mut it.not_after)),
    ("GeneralizedTime", |it, _| it.not_before = time("20200101000000Z")),
    ("month 13", |it, _| it.not_before = time("201301000000Z")),
    ("no seconds", |it, _| it.not_before = wrap(0x17, b"2001010000Z")),
    ("time zone", |it, _| it.not_before = wrap(0x17, b"200101000000+0000")),
    ("wrong signature", |it, _| it.wrong_signature = true),
    ("explicit curve", |it, _| it.key_form = KeyForm::Explicit),
    ("version 1", |it, _| it.version = 1),
    ("version 2", |it, _| it.version = 2),
    ("serial 0", |it, _| it.serial = vec![0]),
    ("negative serial", |it, _| it.serial = vec![0x80]),
    ("serial of 21 bytes", |it, _| it.serial = vec![1; 21]),
    ("unknown extension", |it, _| it.set(UNKNOWN, false, vec![5, 0])),
    ("unknown critical extension", |it, _| it.set(UNKNOWN, true, vec![5, 0])),
    ("policies", |it, _| it.set(POLICIES, false, policies())),
    ("critical policies", |it, _| it.set(POLICIES, true, policies())),
    ("repeated extension", |it, _| {
        let first = it.extensions.first().cloned();
        it.extensions.extend(first);
    }),
    ("no key usage", |it, _| it.remove(KEY_USAGE)),
    ("empty key usage", |it, _| it.set(KEY_USAGE, true, vec![3, 1, 0])),
    ("key usage digitalSignature", |it, _| it.set(KEY_USAGE, true, vec![3, 2, 7, 0x80])),
    ("key usage keyEncipherment", |it, _| it.set(KEY_USAGE, true, vec![3, 2, 5, 0x20])),
    ("key usage keyCertSign", |it, _| it.set(KEY_USAGE, true, vec![3, 2, 2, 0x04])),
    ("no purpose", |it, _| it.remove(EXT_KEY_USAGE)),
    ("purpose serverAuth", |it, _| it.set(EXT_KEY_USAGE, false, purposes(&[SERVER]))),
    ("purpose clientAuth", |it, _| it.set(EXT_KEY_USAGE, false, purposes(&[CLIENT]))),
    ("purposes of TLS", |it, _| it.set(EXT_KEY_USAGE, true, purposes(&[CLIENT, SERVER]))),
    ("any purpose", |it, _| it.set(EXT_KEY_USAGE, false, purposes(&[ANY]))),
    ("purpose codeSigning", |it, _| it.set(EXT_KEY_USAGE, true, purposes(&[CODE]))),
    ("empty purposes", |it, _| it.set(EXT_KEY_USAGE, false, purposes(&[]))),
    ("no key identifiers", |it, _| {
        it.remove(SUBJECT_KEY);
        it.remove(AUTHORITY_KEY);
    }),
    ("other authority key identifier", |it, _| {
        it.set(AUTHORITY_KEY, false, sequence(&[&wrap(0x80, b"other")]));
    }),
    ("issuer in capitals", |it, _| change_name(&mut it.issuer, u8::to_ascii_uppercase)),
    ("issuer as PrintableString", |it, _| {
        if let Some(tag) = it.issuer.iter_mut().find(|byte| **byte == 0x0c) {
            *tag = 0x13;
        }
    }),
    ("empty subject", |it, _| it.subject = wrap(0x30, &[])),
];

const AUTHORITY: &[Fault] = &[
    ("no basic constraints", |it, _| it.remove(BASIC_CONSTRAINTS)),
    ("CA:FALSE", |it, _| it.set(BASIC_CONSTRAINTS, true, sequence(&[]))),
    ("basic constraints not critical", |it, _| {
        it.set(BASIC_CONSTRAINTS, false, sequence(&[&CA]));
    }),
    ("pathlen 0", |it, _| it.set(BASIC_CONSTRAINTS, true, sequence(&[&CA, &[2, 1, 0]]))),
    ("pathlen 1", |it, _| it.set(BASIC_CONSTRAINTS, true, sequence(&[&CA, &[2, 1, 1]]))),
    ("pathlen 2", |it, _| it.set(BASIC_CONSTRAINTS, true, sequence(&[&CA, &[2, 1, 2]]))),
    ("pathlen 300", |it, _| it.set(BASIC_CONSTRAINTS, true, sequence(&[&CA, &[2, 2, 1, 44]]))),
    ("pathlen -1", |it, _| it.set(BASIC_CONSTRAINTS, true, sequence(&[&CA, &[2, 1, 0xff]]))),
    ("permitted name", |it, random| constrain(it, random, 0xa0, 2, DNS)),
    ("excluded name", |it, random| constrain(it, random, 0xa1, 2, DNS)),
    ("permitted name", |it, random| constrain(it, random, 0xa0, 2, DNS)),
    ("excluded name", |it, random| constrain(it, random, 0xa1, 2, DNS)),
    ("permitted address", |it, random| constrain(it, random, 0xa0, 7, ADDRESSES)),
    ("excluded address", |it, random| constrain(it, random, 0xa1, 7, ADDRESSES)),
    ("permitted directoryName", |it, _| directory_name(it, 0xa0)),
    ("excluded directoryName", |it, _| directory_name(it, 0xa1)),
    ("permitted e-mail", |it, random| constrain(it, random, 0xa0, 1, EMAIL)),
    ("excluded e-mail", |it, random| constrain(it, random, 0xa1, 1, EMAIL)),
    ("permitted URI", |it, random| constrain(it, random, 0xa0, 6, DNS)),
    ("excluded URI", |it, random| constrain(it, random, 0xa1, 6, DNS)),
    ("empty name constraints", |it, _| it.set(NAME_CONSTRAINTS, true, sequence(&[]))),
    ("constraints not critical", |it, random| {
        constrain(it, random, 0xa0, 2, DNS);
        it.extensions.iter_mut().for_each(|one| one.critical &= one.oid != NAME_CONSTRAINTS);
    }),
    ("critical policy constraints", |it, _| {
        it.set(POLICY_CONSTRAINTS, true, sequence(&[&wrap(0x80, &[0])]));
    }),
    ("critical policy constraints of 5", |it, _| {
        it.set(POLICY_CONSTRAINTS, true, sequence(&[&wrap(0x80, &[5])]));
    }),
    ("critical inhibitAnyPolicy", |it, _| it.set(INHIBIT_ANY_POLICY, true, vec![2, 1, 0])),
    ("subject in capitals", |it, _| change_name(&mut it.subject, u8::to_ascii_uppercase)),
];

const LEAF: &[Fault] = &[
    ("CA:TRUE leaf", |it, _| it.set(BASIC_CONSTRAINTS, true, sequence(&[&CA]))),
    ("CA:FALSE with pathlen", |it, _| {
        it.set(BASIC_CONSTRAINTS, true, sequence(&[&[2, 1, 0]]));
    }),
    ("no names", |it, _| it.remove(SUBJECT_ALT_NAME)),
    ("no names, commonName", |it, _| {
        it.remove(SUBJECT_ALT_NAME);
        it.subject = name(0x0c, "a.service.example");
    }),
    ("empty names", |it, _| it.set(SUBJECT_ALT_NAME, false, sequence(&[]))),
    ("other name", |it, _| names(it, &[(2, b"other.example")])),
    ("wildcard", |it, _| names(it, &[(2, b"*.service.example")])),
    ("wildcard above", |it, _| names(it, &[(2, b"*.example")])),
    ("wildcard of all", |it, _| names(it, &[(2, b"*")])),
    ("wildcard within", |it, _| names(it, &[(2, b"a*.service.example")])),
    ("wildcard inside", |it, _| names(it, &[(2, b"a.*.example")])),
    ("wildcard twice", |it, _| names(it, &[(2, b"*.*.example")])),
    ("name in capitals", |it, _| names(it, &[(2, b"A.SERVICE.EXAMPLE")])),
    ("name with final dot", |it, _| names(it, &[(2, b"a.service.example.")])),
    ("name with first dot", |it, _| names(it, &[(2, b".service.example")])),
    ("name with NUL", |it, _| names(it, &[(2, b"a.service.example\0.other.example")])),
    ("name with space", |it, _| names(it, &[(2, b"a.service.example ")])),
    ("name with underscore", |it, _| {
        names(it, &[(2, b"a.service.example"), (2, b"a_b.service.example")]);
    }),
    ("name with hyphen at the end", |it, _| {
        names(it, &[(2, b"a.service.example"), (2, b"a-.service.example")]);
    }),
    ("name that is no host name", |it, _| {
        names(it, &[(2, b"a.service.example"), (2, b"a..b")]);
    }),
    ("name not in ASCII", |it, _| {
        names(it, &[(2, b"a.service.example"), (2, "ä.example".as_bytes())]);
    }),
    ("empty name", |it, _| names(it, &[(2, b"a.service.example"), (2, b"")])),
    ("address", |it, _| names(it, &[(7, &[127, 0, 0, 1])])),
    ("address and name", |it, _| {
        names(it, &[(2, b"a.service.example"), (7, &[127, 0, 0, 1])]);
    }),
    ("address as a name", |it, _| names(it, &[(2, b"127.0.0.1")])),
    ("address of 5 bytes", |it, _| {
        names(it, &[(2, b"a.service.example"), (7, &[127, 0, 0, 1, 1])]);
    }),
    ("mapped address", |it, _| {
        names(it, &[(7, &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 127, 0, 0, 1])]);
    }),
    ("e-mail and name", |it, _| {
        names(it, &[(2, b"a.service.example"), (1, b"a@service.example")]);
    }),
    ("URI and name", |it, _| {
        names(it, &[(2, b"a.service.example"), (6, b"https://service.example/a")]);
    }),
    ("directoryName and name", |it, _| {
        let directory = name(0x0c, "service");
        names(it, &[(2, b"a.service.example"), (0x24, &directory)]);
    }),
    ("critical names", |it, _| {
        it.extensions.iter_mut().for_each(|one| one.critical |= one.oid == SUBJECT_ALT_NAME);
    }),
    ("many names", |it, _| {
        let many: Vec<_> = (0..50).map(|n| format!("n{n}.service.example")).collect();
        let mut all: Vec<(u8, &[u8])> = many.iter().map(|one| (2, one.as_bytes())).collect();
        all.push((2, b"a.service.example"));
        names(it, &all);
    }),
];

/// The subjectAltName with these names, each with the number of its form. Bit 5 marks a constructed
/// form.
pub(crate) fn names(content: &mut Content, list: &[(u8, &[u8])]) {
    let all: Vec<u8> = list.iter().flat_map(|(form, text)| wrap(0x80 | form, text)).collect();
    content.set(SUBJECT_ALT_NAME, false, wrap(0x30, &all));
}

fn constrain(content: &mut Content, random: &mut Random, list: u8, form: u8, bases: &[&[u8]]) {
    let base: &[u8] = random.pick::<&[u8]>(bases);
    let base = sequence(&[&wrap(0x80 | form, base)]);
    content.set(NAME_CONSTRAINTS, true, sequence(&[&wrap(list, &base)]));
}

fn directory_name(content: &mut Content, list: u8) {
    let base = sequence(&[&wrap(0xa4, &name(0x0c, "Leaf"))]);
    content.set(NAME_CONSTRAINTS, true, sequence(&[&wrap(list, &base)]));
}

/// Changes the text of the commonName.
fn change_name(name: &mut [u8], change: fn(&u8) -> u8) {
    // Two headers, the object identifier and the header of the value precede the text.
    if let Some(text) = name.get_mut(13..) {
        text.iter_mut().for_each(|byte| *byte = change(byte));
    }
}

pub(crate) fn purposes(list: &[&[u8]]) -> Vec<u8> {
    let all: Vec<u8> = list.iter().flat_map(|oid| wrap(6, oid)).collect();
    wrap(0x30, &all)
}

fn policies() -> Vec<u8> {
    sequence(&[&sequence(&[&wrap(6, &[0x67, 0x81, 0x0c, 1, 2, 1])])])
}

/// cA TRUE
pub(crate) const CA: [u8; 3] = [1, 1, 0xff];

const UNKNOWN: &[u8] = &[0x2b, 6, 1, 4, 1, 0x83, 0x7f];
const POLICIES: &[u8] = &[0x55, 0x1d, 32];
const POLICY_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 36];
const INHIBIT_ANY_POLICY: &[u8] = &[0x55, 0x1d, 54];

pub(crate) const SERVER: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 1];
pub(crate) const CLIENT: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 2];
const CODE: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 3];
const ANY: &[u8] = &[0x55, 0x1d, 37, 0];

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

const EMAIL: &[&[u8]] = &[b"service.example", b".example", b"a@service.example", b"other.example"];

//! Certificates written field by field, so that each field can be wrong.
//!
//! [`Content`] states what is in a certificate; [`super::oracle`] judges it without reading DER.

use pki_types::CertificateDer;
use rcgen::{KeyPair, PublicKeyData as _, SigningKey as _};

/// An element of DER.
pub(crate) fn wrap(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    match u16::try_from(content.len()).expect("a short element").to_be_bytes() {
        [0, short @ 0..0x80] => bytes.push(short),
        [0, long] => bytes.extend_from_slice(&[0x81, long]),
        [high, low] => bytes.extend_from_slice(&[0x82, high, low]),
    }
    bytes.extend_from_slice(content);
    bytes
}

pub(crate) fn sequence(parts: &[&[u8]]) -> Vec<u8> {
    wrap(0x30, &parts.concat())
}

/// A distinguished name of one commonName, or of nothing if the text is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    /// The tag of the string.
    pub(crate) string: u8,
    pub(crate) text: String,
}

impl Name {
    pub(crate) fn new(text: &str) -> Self {
        Self { string: UTF8_STRING, text: text.to_owned() }
    }

    /// A name whose string has another type than UTF8String.
    pub(crate) fn of_type(string: u8, text: &str) -> Self {
        Self { string, text: text.to_owned() }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        if self.text.is_empty() {
            return wrap(0x30, &[]);
        }
        let value = match self.string {
            BMP_STRING => self.text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
            // OpenSSL, Go and all other readers take it for ISO 8859-1.
            TELETEX_STRING => self.text.chars().map(latin_1).collect(),
            _ => self.text.clone().into_bytes(),
        };
        let value = wrap(self.string, &value);
        wrap(0x30, &wrap(0x31, &sequence(&[&wrap(6, &[0x55, 4, 3]), &value])))
    }
}

/// The character in ISO 8859-1.
fn latin_1(character: char) -> u8 {
    u8::try_from(u32::from(character)).expect("a character of ISO 8859-1")
}

/// A moment as written: a UTCTime, or a GeneralizedTime if the year has four digits.
#[derive(Clone, Copy)]
pub(crate) struct Time {
    pub(crate) text: &'static str,
    pub(crate) is_generalized: bool,
}

impl Time {
    pub(crate) const fn utc(text: &'static str) -> Self {
        Self { text, is_generalized: false }
    }

    pub(crate) const fn generalized(text: &'static str) -> Self {
        Self { text, is_generalized: true }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        wrap(if self.is_generalized { 0x18 } else { 0x17 }, self.text.as_bytes())
    }
}

/// A name of a subjectAltName, or the base of a constraint.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum GeneralName {
    Email(&'static [u8]),
    Dns(Vec<u8>),
    Directory(Name),
    Uri(&'static [u8]),
    /// An address; with its mask in a constraint.
    Address(&'static [u8]),
}

impl GeneralName {
    fn encode(&self) -> Vec<u8> {
        match self {
            Self::Email(text) => wrap(0x81, text),
            Self::Dns(text) => wrap(0x82, text),
            Self::Directory(name) => wrap(0xa4, &name.encode()),
            Self::Uri(text) => wrap(0x86, text),
            Self::Address(bytes) => wrap(0x87, bytes),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Server,
    Client,
    Code,
    Any,
}

impl Purpose {
    fn oid(self) -> &'static [u8] {
        match self {
            Self::Server => &[0x2b, 6, 1, 5, 5, 7, 3, 1],
            Self::Client => &[0x2b, 6, 1, 5, 5, 7, 3, 2],
            Self::Code => &[0x2b, 6, 1, 5, 5, 7, 3, 3],
            Self::Any => &[0x55, 0x1d, 37, 0],
        }
    }
}

/// The bits of a key usage: the first byte of the BIT STRING. RFC 5280 4.2.1.3
pub(crate) const DIGITAL_SIGNATURE: u8 = 0x80;
pub(crate) const KEY_ENCIPHERMENT: u8 = 0x20;
pub(crate) const KEY_CERT_SIGN: u8 = 0x04;
pub(crate) const CRL_SIGN: u8 = 0x02;

/// The content of an extension.
#[derive(Clone)]
pub(crate) enum Value {
    BasicConstraints {
        ca: bool,
        path_length: Option<i16>,
    },
    KeyUsage(u8),
    Purposes(Vec<Purpose>),
    Names(Vec<GeneralName>),
    NameConstraints {
        permitted: Vec<GeneralName>,
        excluded: Vec<GeneralName>,
    },
    SubjectKey(String),
    AuthorityKey(String),
    /// One policy, the same in every certificate.
    Policies,
    RequireExplicitPolicy(u8),
    InhibitAnyPolicy,
    /// The URIs of the issuer's lists, each at a point of its own.
    DistributionPoints(Vec<&'static str>),
    Unknown,
}

impl Value {
    fn oid(&self) -> &'static [u8] {
        match self {
            Self::SubjectKey(_) => &[0x55, 0x1d, 14],
            Self::KeyUsage(_) => &[0x55, 0x1d, 15],
            Self::Names(_) => &[0x55, 0x1d, 17],
            Self::BasicConstraints { .. } => &[0x55, 0x1d, 19],
            Self::NameConstraints { .. } => &[0x55, 0x1d, 30],
            Self::DistributionPoints(_) => &[0x55, 0x1d, 31],
            Self::Policies => &[0x55, 0x1d, 32],
            Self::AuthorityKey(_) => &[0x55, 0x1d, 35],
            Self::RequireExplicitPolicy(_) => &[0x55, 0x1d, 36],
            Self::Purposes(_) => &[0x55, 0x1d, 37],
            Self::InhibitAnyPolicy => &[0x55, 0x1d, 54],
            Self::Unknown => &[0x2b, 6, 1, 4, 1, 0x83, 0x7f],
        }
    }

    /// Whether both are of one kind of extension.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.oid() == other.oid()
    }

    fn encode(&self) -> Vec<u8> {
        let list = |names: &[GeneralName]| -> Vec<u8> {
            names.iter().flat_map(GeneralName::encode).collect()
        };
        match self {
            Self::BasicConstraints { ca, path_length } => {
                let ca: &[u8] = if *ca { &[1, 1, 0xff] } else { &[] };
                sequence(&[ca, &path_length.map(integer).unwrap_or_default()])
            }
            Self::KeyUsage(0) => wrap(3, &[0]),
            Self::KeyUsage(bits) => {
                let unused = u8::try_from(bits.trailing_zeros()).expect("a few bits");
                wrap(3, &[unused, *bits])
            }
            Self::Purposes(purposes) => {
                let all: Vec<u8> = purposes.iter().flat_map(|one| wrap(6, one.oid())).collect();
                wrap(0x30, &all)
            }
            Self::Names(names) => wrap(0x30, &list(names)),
            Self::NameConstraints { permitted, excluded } => {
                let subtrees = |tag, names: &[GeneralName]| match names {
                    [] => Vec::new(),
                    _ => {
                        let subtree = |name: &GeneralName| wrap(0x30, &name.encode());
                        wrap(tag, &names.iter().flat_map(subtree).collect::<Vec<_>>())
                    }
                };
                sequence(&[&subtrees(0xa0, permitted), &subtrees(0xa1, excluded)])
            }
            Self::SubjectKey(identifier) => wrap(4, identifier.as_bytes()),
            Self::AuthorityKey(identifier) => sequence(&[&wrap(0x80, identifier.as_bytes())]),
            Self::Policies => sequence(&[&sequence(&[&wrap(6, &[0x67, 0x81, 0x0c, 1, 2, 1])])]),
            Self::RequireExplicitPolicy(skipped) => sequence(&[&wrap(0x80, &[*skipped])]),
            Self::InhibitAnyPolicy => vec![2, 1, 0],
            Self::DistributionPoints(uris) => {
                let point = |uri: &&str| sequence(&[&point_name(uri)]);
                wrap(0x30, &uris.iter().flat_map(point).collect::<Vec<_>>())
            }
            Self::Unknown => vec![5, 0],
        }
    }
}

/// The distributionPoint of a URI, which certificates and lists contain. RFC 5280 4.2.1.13, 5.2.5
pub(crate) fn point_name(uri: &str) -> Vec<u8> {
    wrap(0xa0, &wrap(0xa0, &wrap(0x86, uri.as_bytes())))
}

#[derive(Clone)]
pub(crate) struct Extension {
    pub(crate) critical: bool,
    pub(crate) value: Value,
}

/// The form of a key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyForm {
    Named,
    /// The parameters of the curve, written out.
    Explicit,
}

/// All that a certificate states.
#[derive(Clone)]
pub(crate) struct Content {
    pub(crate) version: u8,
    pub(crate) serial: Vec<u8>,
    pub(crate) issuer: Name,
    pub(crate) not_before: Time,
    pub(crate) not_after: Time,
    pub(crate) subject: Name,
    pub(crate) key_form: KeyForm,
    pub(crate) extensions: Vec<Extension>,
    pub(crate) wrong_signature: bool,
}

impl Content {
    /// Replaces the extensions of this kind.
    pub(crate) fn set(&mut self, critical: bool, value: Value) {
        self.extensions.retain(|extension| !extension.value.is_like(&value));
        self.extensions.push(Extension { critical, value });
    }

    pub(crate) fn remove(&mut self, is_removed: fn(&Value) -> bool) {
        self.extensions.retain(|extension| !is_removed(&extension.value));
    }

    /// The extensions that the certificate contains: only version 3 has some. RFC 5280 4.1.2.1
    pub(crate) fn written(&self) -> &[Extension] {
        if self.version == 3 { &self.extensions } else { &[] }
    }

    /// Signs the certificate of `key` by `signer`.
    pub(crate) fn sign(&self, key: &KeyPair, signer: &KeyPair) -> CertificateDer<'static> {
        let algorithm = algorithm(signer);
        let version = match self.version {
            1 => Vec::new(),
            other => wrap(0xa0, &wrap(2, &[other - 1])),
        };
        let extensions: Vec<u8> = self.written().iter().flat_map(Extension::encode).collect();
        let extensions = match extensions.as_slice() {
            [] => Vec::new(),
            list => wrap(0xa3, &wrap(0x30, list)),
        };
        let key = match self.key_form {
            KeyForm::Named => key.subject_public_key_info(),
            KeyForm::Explicit => explicit(key),
        };
        let signed = sequence(&[
            &version,
            &wrap(2, &self.serial),
            &algorithm,
            &self.issuer.encode(),
            &sequence(&[&self.not_before.encode(), &self.not_after.encode()]),
            &self.subject.encode(),
            &key,
            &extensions,
        ]);
        let mut signature = signer.sign(&signed).expect("a signature");
        if self.wrong_signature {
            signature = signer.sign(b"something else").expect("a signature");
        }
        signature.insert(0, 0);
        sequence(&[&signed, &algorithm, &wrap(3, &signature)]).into()
    }
}

impl Extension {
    fn encode(&self) -> Vec<u8> {
        let critical: &[u8] = if self.critical { &[1, 1, 0xff] } else { &[] };
        sequence(&[&wrap(6, self.value.oid()), critical, &wrap(4, &self.value.encode())])
    }
}

/// An INTEGER in its shortest form. X.690 8.3.2
fn integer(number: i16) -> Vec<u8> {
    match number.to_be_bytes() {
        [0, low @ ..=0x7f] | [0xff, low @ 0x80..=0xff] => wrap(2, &[low]),
        both => wrap(2, &both),
    }
}

/// ecdsa-with-SHA256 or ecdsa-with-SHA384. RFC 5758 3.2
pub(crate) fn algorithm(signer: &KeyPair) -> Vec<u8> {
    let last = if signer.algorithm() == &rcgen::PKCS_ECDSA_P384_SHA384 { 3 } else { 2 };
    sequence(&[&wrap(6, &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, last])])
}

/// A P-256 key with the parameters of the curve written out. RFC 3279 2.3.5
fn explicit(key: &KeyPair) -> Vec<u8> {
    let number = |text: &str| {
        let mut bytes = vec![0];
        bytes.extend(hex(text));
        wrap(2, &bytes)
    };
    let field = sequence(&[&wrap(6, &[0x2a, 0x86, 0x48, 0xce, 0x3d, 1, 1]), &number(PRIME)]);
    let curve = sequence(&[&wrap(4, &hex(A)), &wrap(4, &hex(B))]);
    let parameters = sequence(&[
        &wrap(2, &[1]),
        &field,
        &curve,
        &wrap(4, &[&[4], hex(BASE).as_slice()].concat()),
        &number(ORDER),
        &wrap(2, &[1]),
    ]);
    let kind = wrap(6, &[0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1]);
    let mut point = vec![0];
    point.extend_from_slice(key.der_bytes());
    sequence(&[&sequence(&[&kind, &parameters]), &wrap(3, &point)])
}

fn hex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks(2);
    let byte = |pair| u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16);
    digits.map(|pair| byte(pair).expect("hexadecimal")).collect()
}

/// The parameters of P-256. SP 800-186 3.2.1.3
const PRIME: &str = "ffffffff00000001000000000000000000000000ffffffffffffffffffffffff";
const A: &str = "ffffffff00000001000000000000000000000000fffffffffffffffffffffffc";
const B: &str = "5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604b";
const BASE: &str = "6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296\
                    4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5";
const ORDER: &str = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551";

pub(crate) const UTF8_STRING: u8 = 0x0c;
pub(crate) const PRINTABLE_STRING: u8 = 0x13;
pub(crate) const TELETEX_STRING: u8 = 0x14;
pub(crate) const BMP_STRING: u8 = 0x1e;

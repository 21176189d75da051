//! Certificates written field by field, so that each field can be wrong.

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

/// An extension: its object identifier (content), whether it is critical, and its value.
#[derive(Clone)]
pub(crate) struct Extension {
    pub(crate) oid: &'static [u8],
    pub(crate) critical: bool,
    pub(crate) value: Vec<u8>,
}

pub(crate) const BASIC_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 19];
pub(crate) const KEY_USAGE: &[u8] = &[0x55, 0x1d, 15];
pub(crate) const EXT_KEY_USAGE: &[u8] = &[0x55, 0x1d, 37];
pub(crate) const SUBJECT_ALT_NAME: &[u8] = &[0x55, 0x1d, 17];
pub(crate) const NAME_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 30];
pub(crate) const SUBJECT_KEY: &[u8] = &[0x55, 0x1d, 14];
pub(crate) const AUTHORITY_KEY: &[u8] = &[0x55, 0x1d, 35];

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
    pub(crate) issuer: Vec<u8>,
    pub(crate) not_before: Vec<u8>,
    pub(crate) not_after: Vec<u8>,
    pub(crate) subject: Vec<u8>,
    pub(crate) key_form: KeyForm,
    pub(crate) extensions: Vec<Extension>,
    pub(crate) wrong_signature: bool,
}

impl Content {
    pub(crate) fn set(&mut self, oid: &'static [u8], critical: bool, value: Vec<u8>) {
        self.remove(oid);
        self.extensions.push(Extension { oid, critical, value });
    }

    pub(crate) fn remove(&mut self, oid: &[u8]) {
        self.extensions.retain(|extension| extension.oid != oid);
    }

    /// Signs the certificate of `key` by `signer`.
    pub(crate) fn sign(&self, key: &KeyPair, signer: &KeyPair) -> CertificateDer<'static> {
        let algorithm = algorithm(signer);
        let version = match self.version {
            1 => Vec::new(),
            other => wrap(0xa0, &wrap(2, &[other - 1])),
        };
        let extensions: Vec<u8> = self.extensions.iter().flat_map(encode).collect();
        let extensions = match self.version {
            3 if !extensions.is_empty() => wrap(0xa3, &wrap(0x30, &extensions)),
            _ => Vec::new(),
        };
        let key = match self.key_form {
            KeyForm::Named => key.subject_public_key_info(),
            KeyForm::Explicit => explicit(key),
        };
        let signed = sequence(&[
            &version,
            &wrap(2, &self.serial),
            &algorithm,
            &self.issuer,
            &sequence(&[&self.not_before, &self.not_after]),
            &self.subject,
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

fn encode(extension: &Extension) -> Vec<u8> {
    let critical: &[u8] = if extension.critical { &[1, 1, 0xff] } else { &[] };
    sequence(&[&wrap(6, extension.oid), critical, &wrap(4, &extension.value)])
}

/// ecdsa-with-SHA256 or ecdsa-with-SHA384. RFC 5758 3.2
fn algorithm(signer: &KeyPair) -> Vec<u8> {
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

/// A name with one commonName of this string type.
pub(crate) fn name(string_type: u8, text: &str) -> Vec<u8> {
    let attribute = sequence(&[&wrap(6, &[0x55, 4, 3]), &wrap(string_type, text.as_bytes())]);
    wrap(0x30, &wrap(0x31, &attribute))
}

/// A UTCTime, or a GeneralizedTime if the text has four digits for the year.
pub(crate) fn time(text: &str) -> Vec<u8> {
    wrap(if text.len() == 13 { 0x17 } else { 0x18 }, text.as_bytes())
}

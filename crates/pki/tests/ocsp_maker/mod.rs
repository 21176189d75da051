//! OCSP responses encoded by hand, because the library that makes certificates does not make them.
//! RFC 6960 4.2.1
//!
//! Every field can be set to a wrong value.

// Not every user of this file sets every field.
#![allow(dead_code)]

use tercel_crypto::{Hash, HashAlgorithm, SignatureAlgorithm, SigningKey, sha1_name};

/// The digest of the issuer's name and key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Digest {
    Sha1,
    Sha2(HashAlgorithm),
    /// An unknown hash algorithm.
    Unknown,
}

/// A SingleResponse.
#[derive(Clone)]
pub(crate) struct Single {
    pub(crate) digest: Digest,
    /// The complete Name of the issuer.
    pub(crate) issuer_name: Vec<u8>,
    /// The issuer's SubjectPublicKeyInfo.
    pub(crate) issuer_key: Vec<u8>,
    /// The content of the INTEGER.
    pub(crate) serial: Vec<u8>,
    /// The complete CertStatus.
    pub(crate) status: Vec<u8>,
    /// `YYYYMMDDHHMMSSZ`
    pub(crate) this_update: String,
    pub(crate) next_update: Option<String>,
    /// The complete SEQUENCE OF Extension.
    pub(crate) extensions: Option<Vec<u8>>,
}

/// A response to be signed and encoded.
#[derive(Clone)]
pub(crate) struct Response {
    pub(crate) status: u8,
    /// The content of the responseType's OBJECT IDENTIFIER.
    pub(crate) kind: Vec<u8>,
    /// The complete ResponderID.
    pub(crate) responder: Vec<u8>,
    pub(crate) singles: Vec<Single>,
    pub(crate) extensions: Option<Vec<u8>>,
    pub(crate) certificates: Vec<Vec<u8>>,
}

pub(crate) fn good() -> Vec<u8> {
    vec![0x80, 0]
}

pub(crate) fn revoked() -> Vec<u8> {
    let reason = wrap(0xa0, &wrap(0x0a, &[1]));
    wrap(0xa1, &[wrap(0x18, b"20250101000000Z"), reason].concat())
}

pub(crate) fn unknown() -> Vec<u8> {
    vec![0x82, 0]
}

/// A list of one extension, with a private OID and an empty value.
pub(crate) fn extensions(critical: bool) -> Vec<u8> {
    let mut extension = wrap(6, &[0x2a, 3, 4]);
    if critical {
        extension.extend(wrap(1, &[0xff]));
    }
    extension.extend(wrap(4, &[]));
    wrap(0x30, &wrap(0x30, &extension))
}

pub(crate) fn responder_by_name(name: &[u8]) -> Vec<u8> {
    wrap(0xa1, name)
}

pub(crate) fn responder_by_key(key: &[u8]) -> Vec<u8> {
    wrap(0xa2, &wrap(4, &sha1_name(key_bits(key))))
}

impl Single {
    /// A response for the leaf, whose issuer has this key: "good" from `this_update` until
    /// `next_update`.
    pub(crate) fn new(
        leaf: &[u8],
        issuer_key: &[u8],
        this_update: &str,
        next_update: &str,
    ) -> Self {
        let (serial, issuer_name) = serial_and_issuer(leaf);
        Self {
            digest: Digest::Sha1,
            issuer_name,
            issuer_key: issuer_key.to_vec(),
            serial,
            status: good(),
            this_update: this_update.to_owned(),
            next_update: Some(next_update.to_owned()),
            extensions: None,
        }
    }

    fn encode(&self) -> Vec<u8> {
        let (oid, digest): (&[u8], _) = match self.digest {
            Digest::Sha1 => (&[0x2b, 0x0e, 3, 2, 0x1a], Digest::Sha1),
            Digest::Sha2(HashAlgorithm::Sha256) => {
                (&[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 1], self.digest)
            }
            Digest::Sha2(HashAlgorithm::Sha384) => {
                (&[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 2], self.digest)
            }
            Digest::Sha2(_) => (&[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 3], self.digest),
            Digest::Unknown => (&[0x2b, 0x0e, 3, 2, 0x1b], Digest::Sha1),
        };
        let digest = |of: &[u8]| match digest {
            Digest::Sha2(algorithm) => Hash::digest(algorithm, &[of]).to_vec(),
            _ => sha1_name(of).to_vec(),
        };
        // SHA-1 identifiers usually have NULL parameters, and SHA-2 identifiers none.
        let parameters = if oid.len() == 5 { wrap(5, &[]) } else { Vec::new() };
        let algorithm = wrap(0x30, &[wrap(6, oid), parameters].concat());
        let id = [
            algorithm,
            wrap(4, &digest(&self.issuer_name)),
            wrap(4, &digest(key_bits(&self.issuer_key))),
            wrap(2, &self.serial),
        ];
        let mut fields = [wrap(0x30, &id.concat()), self.status.clone()].concat();
        fields.extend(wrap(0x18, self.this_update.as_bytes()));
        if let Some(next_update) = &self.next_update {
            fields.extend(wrap(0xa0, &wrap(0x18, next_update.as_bytes())));
        }
        if let Some(extensions) = &self.extensions {
            fields.extend(wrap(0xa1, extensions));
        }
        wrap(0x30, &fields)
    }
}

impl Response {
    /// A valid response, identified by the issuer's name and signed by the issuer.
    pub(crate) fn new(single: Single) -> Self {
        Self {
            status: 0,
            kind: vec![0x2b, 6, 1, 5, 5, 7, 0x30, 1, 1],
            responder: responder_by_name(&single.issuer_name),
            singles: vec![single],
            extensions: None,
            certificates: Vec::new(),
        }
    }

    /// Signs with ECDSA and SHA-256 by this P-256 key (PKCS#8).
    pub(crate) fn sign(&self, key: &[u8]) -> Vec<u8> {
        let ecdsa_with_sha256 = [0x30, 10, 6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2];
        self.sign_as(key, SignatureAlgorithm::EcdsaSha256, &ecdsa_with_sha256)
    }

    /// Signs with this algorithm; `identifier` is the encoded AlgorithmIdentifier.
    pub(crate) fn sign_as(
        &self,
        key: &[u8],
        algorithm: SignatureAlgorithm,
        identifier: &[u8],
    ) -> Vec<u8> {
        if self.status != 0 {
            return wrap(0x30, &wrap(0x0a, &[self.status]));
        }
        let singles: Vec<u8> = self.singles.iter().flat_map(Single::encode).collect();
        let mut data = self.responder.clone();
        data.extend(wrap(0x18, b"20260101000000Z"));
        data.extend(wrap(0x30, &singles));
        if let Some(extensions) = &self.extensions {
            data.extend(wrap(0xa1, extensions));
        }
        let data = wrap(0x30, &data);
        let signature = SigningKey::from_der(key).unwrap().sign(algorithm, &data).unwrap();
        let mut basic = [data, identifier.to_vec()].concat();
        basic.extend(wrap(3, &[&[0], &*signature].concat()));
        if !self.certificates.is_empty() {
            basic.extend(wrap(0xa0, &wrap(0x30, &self.certificates.concat())));
        }
        let bytes = [wrap(6, &self.kind), wrap(4, &wrap(0x30, &basic))].concat();
        let bytes = wrap(0xa0, &wrap(0x30, &bytes));
        wrap(0x30, &[wrap(0x0a, &[0]), bytes].concat())
    }
}

/// The content of the serial number and the complete name of the issuer, from a certificate of
/// version 3.
fn serial_and_issuer(certificate: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let tbs = content(split(content(certificate)).0);
    let (serial, rest) = split(split(tbs).1);
    let (issuer, _) = split(split(rest).1);
    (content(serial).to_vec(), issuer.to_vec())
}

/// The key bits of a SubjectPublicKeyInfo.
fn key_bits(key: &[u8]) -> &[u8] {
    &content(split(content(key)).1)[1..]
}

fn wrap(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    match u16::try_from(content.len()).unwrap().to_be_bytes() {
        [0, short @ 0..0x80] => bytes.push(short),
        [0, long] => bytes.extend([0x81, long]),
        [high, low] => bytes.extend([0x82, high, low]),
    }
    bytes.extend(content);
    bytes
}

/// The complete first element, and the bytes after it.
fn split(bytes: &[u8]) -> (&[u8], &[u8]) {
    let (header, length) = header(bytes);
    bytes.split_at(header + length)
}

fn content(element: &[u8]) -> &[u8] {
    let (header, length) = header(element);
    &element[header..header + length]
}

fn header(bytes: &[u8]) -> (usize, usize) {
    match bytes[1] {
        0x81 => (3, bytes[2].into()),
        0x82 => (4, u16::from_be_bytes([bytes[2], bytes[3]]).into()),
        short => (2, short.into()),
    }
}

//! Operands of calls: keys, buffers, and the certificates of the row.
//!
//! Everything that a library could prepare before a connection is created before the timed loop.

use std::fs;
use std::hint::black_box;

use lab_bare::{self as bare, Aead, AeadName};
use lab_scenario::{Files, Result, Row, Scheme, Suite};
use tercel_crypto::{Hash, HashAlgorithm, HmacKey, PublicKey, SignatureAlgorithm, SigningKey};
use tercel_pki::{load_certs_pem, load_key_pem, subject_public_key_info};

use crate::calls::{Call, SESSION, Sizes};

/// Keys and buffers for every call of a row.
pub(crate) struct Operands {
    x25519: ([u8; 32], [u8; 32]),
    ml_kem: bare::MlKem768,
    ml_kem_share: Vec<u8>,
    ml_kem_ciphertext: Vec<u8>,
    signing_key: SigningKey,
    algorithm: SignatureAlgorithm,
    signed: [u8; 146],
    signature: Vec<u8>,
    chain: Vec<Certificate>,
    chain_length: usize,
    hash: HashAlgorithm,
    secret: Vec<u8>,
    hmac: HmacKey,
    aead_name: AeadName,
    aead: Aead,
    message: Vec<u8>,
    out: Vec<u8>,
    /// Encrypted records by the length of their content.
    sealed: Vec<Vec<u8>>,
    ticket: Vec<u8>,
}

/// A parsed certificate of the chain.
struct Certificate {
    signed: Vec<u8>,
    signature: Vec<u8>,
    algorithm: SignatureAlgorithm,
    spki: Vec<u8>,
    /// The issuer's public key.
    issuer: PublicKey,
    own: PublicKey,
}

const NONCE: [u8; 12] = [3; 12];
const AAD: [u8; 5] = [23, 3, 3, 1, 0];
/// TLS 1.3 encrypts the content type with the content.
const CONTENT_TYPE: [u8; 1] = [22];
/// The size of the message buffer, which exceeds any transcript.
const MESSAGE: usize = 32 << 10;

impl Operands {
    pub(crate) fn new(row: &Row, files: &Files) -> Result<Self> {
        let (share, private) = bare::x25519_keypair();
        let (ml_kem, ml_kem_share) = bare::MlKem768::generate();
        let (ml_kem_ciphertext, _) = bare::MlKem768::encapsulate(&ml_kem_share);
        let key = load_key_pem(&fs::read(files.server_key(row.chain))?)?;
        let signing_key = SigningKey::from_der(key.secret_der())?;
        let algorithm = match row.chain.scheme() {
            Scheme::RsaPssRsaeSha256 => SignatureAlgorithm::RsaPssSha256,
            Scheme::EcdsaSecp256r1Sha256 => SignatureAlgorithm::EcdsaSha256,
            Scheme::Ed25519 => SignatureAlgorithm::Ed25519,
        };
        let signed = [0x20; 146];
        let signature = signing_key.sign(algorithm, &signed)?;
        let pem = fs::read(files.server_chain(row.chain))?;
        let chain_length = load_certs_pem(&pem)?.iter().map(|der| der.len() + 3).sum();
        let (hash, secret) = match row.suite.name().ends_with("SHA384") {
            true => (HashAlgorithm::Sha384, vec![6; 48]),
            false => (HashAlgorithm::Sha256, vec![6; 32]),
        };
        let aead_name = aead_name(row.suite);
        let aead = Aead::new(aead_name);
        let mut ticket = vec![0; SESSION + 16];
        aead.seal(&NONCE, &AAD, &[1; SESSION], &[], &mut ticket);
        Ok(Self {
            x25519: (share, private),
            ml_kem,
            ml_kem_share,
            ml_kem_ciphertext,
            signing_key,
            algorithm,
            signed,
            signature,
            chain: chain(&pem, row)?,
            chain_length,
            hmac: HmacKey::new(hash, &secret),
            hash,
            secret,
            aead_name,
            aead,
            message: vec![5; MESSAGE],
            out: vec![0; MESSAGE],
            sealed: Vec::new(),
            ticket,
        })
    }

    pub(crate) fn sizes(&self) -> Sizes {
        Sizes { chain: self.chain_length, signature: self.signature.len() }
    }

    /// Encrypts the records that these calls decrypt.
    pub(crate) fn settle(&mut self, calls: &[Call]) {
        for call in calls {
            let Call::Open(length) = *call else { continue };
            let mut record = vec![0; length + CONTENT_TYPE.len() + 16];
            let content = self.message.get(..length).unwrap_or_default();
            self.aead.seal(&NONCE, &AAD, content, &CONTENT_TYPE, &mut record);
            if self.record(length).is_none() {
                self.sealed.push(record);
            }
        }
    }

    /// Executes a call.
    pub(crate) fn perform(&mut self, call: Call) {
        match call {
            Call::Random(bytes) => bare::random(&mut self.out[..bytes]),
            Call::X25519Generate => _ = black_box(bare::x25519_keypair()),
            Call::X25519Agree => {
                let (share, private) = &self.x25519;
                black_box(bare::x25519(black_box(private), black_box(share)));
            }
            Call::MlKemGenerate => _ = black_box(bare::MlKem768::generate()),
            Call::MlKemEncapsulate => {
                black_box(bare::MlKem768::encapsulate(black_box(&self.ml_kem_share)));
            }
            Call::MlKemDecapsulate => {
                black_box(self.ml_kem.decapsulate(black_box(&self.ml_kem_ciphertext)));
            }
            Call::Sign => {
                // The result is ignored, because a key that has signed once can sign again.
                _ = black_box(self.signing_key.sign(self.algorithm, black_box(&self.signed)));
            }
            Call::VerifyHandshake => {
                let key = &self.chain[0].own;
                let good = key.verify(self.algorithm, black_box(&self.signed), &self.signature);
                assert!(black_box(good).is_ok());
            }
            Call::ParseKey(place) => {
                _ = black_box(PublicKey::from_spki(black_box(&self.chain[place].spki)));
            }
            Call::VerifyCertificate(place) => verify_certificate(&self.chain[place]),
            Call::Transcript { bytes, finishes } => {
                let mut hash = Hash::new(self.hash);
                let pieces = self.message[..bytes].chunks(bytes.div_ceil(finishes));
                for piece in pieces {
                    hash.update(black_box(piece));
                    black_box(hash.current_digest());
                }
            }
            Call::HmacKey => {
                black_box(HmacKey::new(self.hash, black_box(&self.secret)));
            }
            Call::Hmac(bytes) => {
                black_box(self.hmac.sign(&[black_box(&self.message[..bytes])]));
            }
            Call::RecordKey => drop(black_box(Aead::new(black_box(self.aead_name)))),
            Call::Seal(bytes) => {
                let out = &mut self.out[..bytes + CONTENT_TYPE.len() + 16];
                self.aead.seal(&NONCE, &AAD, &self.message[..bytes], &CONTENT_TYPE, out);
            }
            Call::Open(bytes) => {
                let place = self.sealed.iter().position(|each| each.len() == bytes + 17);
                let Some(record) = place.map(|place| &self.sealed[place]) else { return };
                self.aead.open(&NONCE, &AAD, black_box(record), &mut self.out[..=bytes]);
            }
            Call::SealTicket => self.ticket(true),
            Call::OpenTicket => self.ticket(false),
        }
    }

    /// This function is not inlined, so that profiles list it.
    #[inline(never)]
    fn ticket(&mut self, seal: bool) {
        if seal {
            let out = &mut self.out[..SESSION + 16];
            self.aead.seal(&NONCE, &AAD, &self.message[..SESSION], &[], out);
        } else {
            self.aead.open(&NONCE, &AAD, black_box(&self.ticket), &mut self.out[..SESSION]);
        }
    }

    fn record(&self, content: usize) -> Option<&Vec<u8>> {
        self.sealed.iter().find(|record| record.len() == content + 17)
    }
}

/// This function is not inlined, so that profiles distinguish it from the verification of the
/// handshake's signature.
#[inline(never)]
fn verify_certificate(certificate: &Certificate) {
    let Certificate { signed, signature, algorithm, issuer, .. } = certificate;
    assert!(issuer.verify(*algorithm, black_box(signed), signature).is_ok());
}

/// The AEAD of a suite.
pub(crate) fn aead_name(suite: Suite) -> AeadName {
    match suite {
        Suite::Aes128GcmSha256
        | Suite::EcdheRsaAes128GcmSha256
        | Suite::EcdheEcdsaAes128GcmSha256 => AeadName::Aes128Gcm,
        Suite::Aes256GcmSha384
        | Suite::EcdheRsaAes256GcmSha384
        | Suite::EcdheEcdsaAes256GcmSha384 => AeadName::Aes256Gcm,
        Suite::ChaCha20Poly1305Sha256
        | Suite::EcdheRsaChaCha20Poly1305
        | Suite::EcdheEcdsaChaCha20Poly1305 => AeadName::ChaCha20Poly1305,
    }
}

/// The leaf and the intermediate of a chain.
fn chain(pem: &[u8], row: &Row) -> Result<Vec<Certificate>> {
    let chain = load_certs_pem(pem)?;
    let algorithm = match row.chain.scheme() {
        Scheme::RsaPssRsaeSha256 => SignatureAlgorithm::RsaPkcs1Sha256,
        Scheme::EcdsaSecp256r1Sha256 => SignatureAlgorithm::EcdsaSha256,
        Scheme::Ed25519 => SignatureAlgorithm::Ed25519,
    };
    let mut certificates = Vec::new();
    for pair in chain.windows(2) {
        let [certificate, issuer] = pair else { continue };
        let spki =
            subject_public_key_info(certificate).map_err(|refusal| format!("{refusal:?}"))?;
        let of_issuer =
            subject_public_key_info(issuer).map_err(|refusal| format!("{refusal:?}"))?;
        let (signed, signature) = parse_certificate(certificate).ok_or("malformed certificate")?;
        certificates.push(Certificate {
            signed: signed.to_vec(),
            signature: signature.to_vec(),
            algorithm,
            own: PublicKey::from_spki(spki)?,
            spki: spki.to_vec(),
            issuer: PublicKey::from_spki(of_issuer)?,
        });
    }
    Ok(certificates)
}

/// The signed part of a certificate, and its signature. RFC 5280 4.1
fn parse_certificate(certificate: &[u8]) -> Option<(&[u8], &[u8])> {
    let (whole, _) = element(certificate)?;
    let body = whole.content;
    let (signed, rest) = element(body)?;
    let (_, rest) = element(rest)?;
    let (signature, _) = element(rest)?;
    // The first byte of a BIT STRING is the number of unused bits.
    Some((signed.whole, signature.content.get(1..)?))
}

struct Element<'d> {
    whole: &'d [u8],
    content: &'d [u8],
}

/// The first DER element, and the rest.
fn element(der: &[u8]) -> Option<(Element<'_>, &[u8])> {
    let short = usize::from(*der.get(1)?);
    let (header, length) = match short {
        0..=0x7f => (2, short),
        0x81 => (3, usize::from(*der.get(2)?)),
        0x82 => (4, usize::from(u16::from_be_bytes([*der.get(2)?, *der.get(3)?]))),
        _ => return None,
    };
    let whole = der.get(..header + length)?;
    Some((Element { whole, content: whole.get(header..)? }, der.get(header + length..)?))
}

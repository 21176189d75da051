//! The cipher suites of TLS 1.2, and their records.

use rustls::crypto::KeyExchangeAlgorithm;
use rustls::crypto::cipher::{
    AeadKey, InboundOpaqueMessage, InboundPlainMessage, Iv, KeyBlockShape, MessageDecrypter,
    MessageEncrypter, NONCE_LEN, OutboundOpaqueMessage, OutboundPlainMessage, PrefixedPayload,
    Tls12AeadAlgorithm, UnsupportedOperationError, make_tls12_aad,
};
use rustls::{
    CipherSuite, CipherSuiteCommon, ConnectionTrafficSecrets, Error, SignatureScheme,
    SupportedCipherSuite, Tls12CipherSuite,
};
use tercel_crypto::{AeadAlgorithm, HashAlgorithm, RecordKey, RecordNonces};

use crate::hash;
use crate::key_derivation::Prf;
use crate::records::{self, AES_GCM_RECORDS, CHACHA20_POLY1305_RECORDS, MAX_FRAGMENT, WriteIv};

/// ECDHE, certificates with ECDSA or Ed25519 keys, AES-256-GCM with SHA-384.
pub static TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384: SupportedCipherSuite =
    SupportedCipherSuite::Tls12(&Tls12CipherSuite {
        common: CipherSuiteCommon {
            suite: CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
            hash_provider: &hash::SHA384,
            confidentiality_limit: AES_GCM_RECORDS,
        },
        prf_provider: &Prf(HashAlgorithm::Sha384),
        kx: KeyExchangeAlgorithm::ECDHE,
        sign: ECDSA_SCHEMES,
        aead_alg: &AES_256_GCM,
    });

/// ECDHE, certificates with ECDSA or Ed25519 keys, AES-128-GCM with SHA-256.
pub static TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: SupportedCipherSuite =
    SupportedCipherSuite::Tls12(&Tls12CipherSuite {
        common: CipherSuiteCommon {
            suite: CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
            hash_provider: &hash::SHA256,
            confidentiality_limit: AES_GCM_RECORDS,
        },
        prf_provider: &Prf(HashAlgorithm::Sha256),
        kx: KeyExchangeAlgorithm::ECDHE,
        sign: ECDSA_SCHEMES,
        aead_alg: &AES_128_GCM,
    });

/// ECDHE, certificates with ECDSA or Ed25519 keys, ChaCha20-Poly1305 with SHA-256.
pub static TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256: SupportedCipherSuite =
    SupportedCipherSuite::Tls12(&Tls12CipherSuite {
        common: CipherSuiteCommon {
            suite: CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
            hash_provider: &hash::SHA256,
            confidentiality_limit: CHACHA20_POLY1305_RECORDS,
        },
        prf_provider: &Prf(HashAlgorithm::Sha256),
        kx: KeyExchangeAlgorithm::ECDHE,
        sign: ECDSA_SCHEMES,
        aead_alg: &CHACHA20_POLY1305,
    });

/// ECDHE, certificates with RSA keys, AES-256-GCM with SHA-384.
pub static TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384: SupportedCipherSuite =
    SupportedCipherSuite::Tls12(&Tls12CipherSuite {
        common: CipherSuiteCommon {
            suite: CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
            hash_provider: &hash::SHA384,
            confidentiality_limit: AES_GCM_RECORDS,
        },
        prf_provider: &Prf(HashAlgorithm::Sha384),
        kx: KeyExchangeAlgorithm::ECDHE,
        sign: RSA_SCHEMES,
        aead_alg: &AES_256_GCM,
    });

/// ECDHE, certificates with RSA keys, AES-128-GCM with SHA-256.
pub static TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: SupportedCipherSuite =
    SupportedCipherSuite::Tls12(&Tls12CipherSuite {
        common: CipherSuiteCommon {
            suite: CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
            hash_provider: &hash::SHA256,
            confidentiality_limit: AES_GCM_RECORDS,
        },
        prf_provider: &Prf(HashAlgorithm::Sha256),
        kx: KeyExchangeAlgorithm::ECDHE,
        sign: RSA_SCHEMES,
        aead_alg: &AES_128_GCM,
    });

/// ECDHE, certificates with RSA keys, ChaCha20-Poly1305 with SHA-256.
pub static TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256: SupportedCipherSuite =
    SupportedCipherSuite::Tls12(&Tls12CipherSuite {
        common: CipherSuiteCommon {
            suite: CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
            hash_provider: &hash::SHA256,
            confidentiality_limit: CHACHA20_POLY1305_RECORDS,
        },
        prf_provider: &Prf(HashAlgorithm::Sha256),
        kx: KeyExchangeAlgorithm::ECDHE,
        sign: RSA_SCHEMES,
        aead_alg: &CHACHA20_POLY1305,
    });

static ECDSA_SCHEMES: &[SignatureScheme] = &[
    SignatureScheme::ED25519,
    SignatureScheme::ECDSA_NISTP521_SHA512,
    SignatureScheme::ECDSA_NISTP384_SHA384,
    SignatureScheme::ECDSA_NISTP256_SHA256,
];

static RSA_SCHEMES: &[SignatureScheme] = &[
    SignatureScheme::RSA_PSS_SHA512,
    SignatureScheme::RSA_PSS_SHA384,
    SignatureScheme::RSA_PSS_SHA256,
    SignatureScheme::RSA_PKCS1_SHA512,
    SignatureScheme::RSA_PKCS1_SHA384,
    SignatureScheme::RSA_PKCS1_SHA256,
];

static AES_256_GCM: Aead =
    Aead { algorithm: AeadAlgorithm::Aes256Gcm, explicit_nonce_len: EXPLICIT_NONCE };
static AES_128_GCM: Aead =
    Aead { algorithm: AeadAlgorithm::Aes128Gcm, explicit_nonce_len: EXPLICIT_NONCE };
static CHACHA20_POLY1305: Aead =
    Aead { algorithm: AeadAlgorithm::ChaCha20Poly1305, explicit_nonce_len: 0 };

/// The length of the part of a nonce that a record with AES-GCM contains. RFC 5288 3
const EXPLICIT_NONCE: usize = 8;

/// The record protection of a suite.
struct Aead {
    algorithm: AeadAlgorithm,
    /// [`EXPLICIT_NONCE`], or 0 for ChaCha20-Poly1305 (RFC 7905 2).
    explicit_nonce_len: usize,
}

impl Aead {
    fn records(&self, key: &AeadKey, fixed: &[u8], explicit: &[u8]) -> Box<Records> {
        // rustls' explicit nonces are not in order, unlike those of `RecordNonces::Tls12`, which
        // AWS-LC's FIPS module checks: like those of TLS 1.3, they are a number XOR a value that
        // the key block gives.
        let key = records::record_key(self.algorithm, RecordNonces::Tls13, key);
        let iv = WriteIv(iv(fixed, explicit));
        Box::new(Records { key, iv, explicit_nonce_len: self.explicit_nonce_len })
    }
}

/// The fixed part of the IV, then that with which explicit nonces begin.
fn iv(fixed: &[u8], explicit: &[u8]) -> [u8; NONCE_LEN] {
    let mut iv = [0; NONCE_LEN];
    iv.iter_mut().zip(fixed.iter().chain(explicit)).for_each(|(byte, given)| *byte = *given);
    iv
}

impl Tls12AeadAlgorithm for Aead {
    fn encrypter(&self, key: AeadKey, fixed: &[u8], explicit: &[u8]) -> Box<dyn MessageEncrypter> {
        self.records(&key, fixed, explicit)
    }

    fn decrypter(&self, key: AeadKey, fixed: &[u8]) -> Box<dyn MessageDecrypter> {
        self.records(&key, fixed, &[])
    }

    fn key_block_shape(&self) -> KeyBlockShape {
        let explicit_nonce_len = self.explicit_nonce_len;
        KeyBlockShape {
            enc_key_len: self.algorithm.key_len(),
            fixed_iv_len: NONCE_LEN.saturating_sub(explicit_nonce_len),
            explicit_nonce_len,
        }
    }

    fn extract_keys(
        &self,
        key: AeadKey,
        fixed: &[u8],
        explicit: &[u8],
    ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
        records::traffic_secrets(self.algorithm, key, Iv::new(iv(fixed, explicit)))
    }
}

/// The records of one direction.
struct Records {
    key: RecordKey,
    iv: WriteIv,
    explicit_nonce_len: usize,
}

impl Records {
    /// By how many bytes the payload of a record is longer than its plaintext.
    fn overhead(&self) -> usize {
        self.explicit_nonce_len.saturating_add(records::TAG_LEN)
    }
}

impl MessageEncrypter for Records {
    fn encrypt(
        &mut self,
        message: OutboundPlainMessage<'_>,
        sequence_number: u64,
    ) -> Result<OutboundOpaqueMessage, Error> {
        let plaintext = message.payload.len();
        let mut payload = PrefixedPayload::with_capacity(self.encrypted_payload_len(plaintext));
        // The explicit part is the last of the nonce. It differs in each record.
        let nonce = self.iv.nonce(sequence_number);
        let explicit = nonce.split_at(NONCE_LEN.saturating_sub(self.explicit_nonce_len)).1;
        payload.extend_from_slice(explicit);
        let aad = make_tls12_aad(sequence_number, message.typ, message.version, plaintext);
        records::seal(&mut self.key, &nonce, &aad, (&message.payload, &[]), &mut payload)?;
        Ok(OutboundOpaqueMessage::new(message.typ, message.version, payload))
    }

    fn encrypted_payload_len(&self, plaintext: usize) -> usize {
        plaintext.saturating_add(self.overhead())
    }
}

impl MessageDecrypter for Records {
    fn decrypt<'a>(
        &mut self,
        mut message: InboundOpaqueMessage<'a>,
        sequence_number: u64,
    ) -> Result<InboundPlainMessage<'a>, Error> {
        let length = message.payload.len();
        let length = length.checked_sub(self.overhead()).ok_or(Error::DecryptError)?;
        let (explicit, sealed) = message.payload.split_at_mut(self.explicit_nonce_len);
        let nonce = match self.explicit_nonce_len {
            0 => self.iv.nonce(sequence_number),
            received => {
                let [a, b, c, d, ..] = self.iv.0;
                debug_assert_eq!(received, EXPLICIT_NONCE);
                iv(&[a, b, c, d], explicit)
            }
        };
        let aad = make_tls12_aad(sequence_number, message.typ, message.version, length);
        self.key.open_in_place(&nonce, &aad, sealed).map_err(|_| Error::DecryptError)?;
        if length > MAX_FRAGMENT {
            return Err(Error::PeerSentOversizedRecord);
        }
        let start = self.explicit_nonce_len;
        Ok(message.into_plain_message_range(start..start.saturating_add(length)))
    }
}

//! The cipher suites of TLS 1.3, and their records.

use rustls::crypto::cipher::{
    AeadKey, InboundOpaqueMessage, InboundPlainMessage, Iv, MessageDecrypter, MessageEncrypter,
    OutboundOpaqueMessage, OutboundPlainMessage, PrefixedPayload, Tls13AeadAlgorithm,
    UnsupportedOperationError, make_tls13_aad,
};
use rustls::{
    CipherSuite, CipherSuiteCommon, ConnectionTrafficSecrets, ContentType, Error, ProtocolVersion,
    SupportedCipherSuite, Tls13CipherSuite,
};
use tercel_crypto::{AeadAlgorithm, HashAlgorithm, RecordKey, RecordNonces};

use crate::key_derivation::Hkdf;
use crate::records::{self, AES_GCM_RECORDS, CHACHA20_POLY1305_RECORDS, TAG_LEN, WriteIv};
use crate::{hash, quic};

/// AES-256-GCM with SHA-384.
pub static TLS13_AES_256_GCM_SHA384: SupportedCipherSuite =
    SupportedCipherSuite::Tls13(&Tls13CipherSuite {
        common: CipherSuiteCommon {
            suite: CipherSuite::TLS13_AES_256_GCM_SHA384,
            hash_provider: &hash::SHA384,
            confidentiality_limit: AES_GCM_RECORDS,
        },
        hkdf_provider: &Hkdf(HashAlgorithm::Sha384),
        aead_alg: &Aead(AeadAlgorithm::Aes256Gcm),
        quic: Some(&quic::Packets(AeadAlgorithm::Aes256Gcm)),
    });

/// AES-128-GCM with SHA-256.
pub static TLS13_AES_128_GCM_SHA256: SupportedCipherSuite =
    SupportedCipherSuite::Tls13(&Tls13CipherSuite {
        common: CipherSuiteCommon {
            suite: CipherSuite::TLS13_AES_128_GCM_SHA256,
            hash_provider: &hash::SHA256,
            confidentiality_limit: AES_GCM_RECORDS,
        },
        hkdf_provider: &Hkdf(HashAlgorithm::Sha256),
        aead_alg: &Aead(AeadAlgorithm::Aes128Gcm),
        quic: Some(&quic::Packets(AeadAlgorithm::Aes128Gcm)),
    });

/// ChaCha20-Poly1305 with SHA-256.
pub static TLS13_CHACHA20_POLY1305_SHA256: SupportedCipherSuite =
    SupportedCipherSuite::Tls13(&Tls13CipherSuite {
        common: CipherSuiteCommon {
            suite: CipherSuite::TLS13_CHACHA20_POLY1305_SHA256,
            hash_provider: &hash::SHA256,
            confidentiality_limit: CHACHA20_POLY1305_RECORDS,
        },
        hkdf_provider: &Hkdf(HashAlgorithm::Sha256),
        aead_alg: &Aead(AeadAlgorithm::ChaCha20Poly1305),
        quic: Some(&quic::Packets(AeadAlgorithm::ChaCha20Poly1305)),
    });

/// The record protection of a suite.
struct Aead(AeadAlgorithm);

impl Aead {
    fn records(&self, key: &AeadKey, iv: &Iv) -> Box<Records> {
        let key = records::record_key(self.0, RecordNonces::Tls13, key);
        Box::new(Records { key, iv: iv.into() })
    }
}

impl Tls13AeadAlgorithm for Aead {
    fn encrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageEncrypter> {
        self.records(&key, &iv)
    }

    fn decrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageDecrypter> {
        self.records(&key, &iv)
    }

    fn key_len(&self) -> usize {
        self.0.key_len()
    }

    fn extract_keys(
        &self,
        key: AeadKey,
        iv: Iv,
    ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
        records::traffic_secrets(self.0, key, iv)
    }
}

/// The records of one direction.
struct Records {
    key: RecordKey,
    iv: WriteIv,
}

impl MessageEncrypter for Records {
    fn encrypt(
        &mut self,
        message: OutboundPlainMessage<'_>,
        sequence_number: u64,
    ) -> Result<OutboundOpaqueMessage, Error> {
        let length = self.encrypted_payload_len(message.payload.len());
        let mut payload = PrefixedPayload::with_capacity(length);
        let nonce = self.iv.nonce(sequence_number);
        // The content type follows the plaintext. RFC 9846 5.2
        let plaintext = (&message.payload, &message.typ.to_array()[..]);
        records::seal(&mut self.key, &nonce, &make_tls13_aad(length), plaintext, &mut payload)?;
        let (content_type, version) = (ContentType::ApplicationData, ProtocolVersion::TLSv1_2);
        Ok(OutboundOpaqueMessage::new(content_type, version, payload))
    }

    fn encrypted_payload_len(&self, plaintext: usize) -> usize {
        plaintext.saturating_add(1 + TAG_LEN)
    }
}

impl MessageDecrypter for Records {
    fn decrypt<'a>(
        &mut self,
        mut message: InboundOpaqueMessage<'a>,
        sequence_number: u64,
    ) -> Result<InboundPlainMessage<'a>, Error> {
        let nonce = self.iv.nonce(sequence_number);
        let aad = make_tls13_aad(message.payload.len());
        let opened = self.key.open_in_place(&nonce, &aad, &mut message.payload);
        message.payload.truncate(opened.map_err(|_| Error::DecryptError)?);
        message.into_tls13_unpadded_message()
    }
}

//! What the records of both versions have in common.

use rustls::ConnectionTrafficSecrets;
use rustls::Error;
use rustls::crypto::cipher::{
    AeadKey, Iv, NONCE_LEN, OutboundChunks, PrefixedPayload, UnsupportedOperationError,
};
use tercel_crypto::{AeadAlgorithm, RecordKey, RecordNonces};

pub(crate) const TAG_LEN: usize = AeadAlgorithm::TAG_LEN;

/// The longest plaintext of a record. RFC 5246 6.2.1
#[cfg(feature = "tls12")]
pub(crate) const MAX_FRAGMENT: usize = 1 << 14;

/// The number of records that may be sealed with an AES-GCM key, rounded down from 2^24.5.
/// RFC 9846 5.5
pub(crate) const AES_GCM_RECORDS: u64 = 1 << 24;

/// Records that ChaCha20-Poly1305 may seal: the sequence number reaches its end first.
/// RFC 9846 5.5
pub(crate) const CHACHA20_POLY1305_RECORDS: u64 = u64::MAX;

/// The message of a panic that has no other cause: rustls derives keys of the length that it asked
/// for, and its traits have no errors here.
pub(crate) const NO_MEMORY: &str = "the cryptographic library got no memory";

pub(crate) fn record_key(
    algorithm: AeadAlgorithm,
    nonces: RecordNonces,
    key: &AeadKey,
) -> RecordKey {
    RecordKey::with_nonces(algorithm, nonces, key.as_ref()).expect(NO_MEMORY)
}

/// The IV of records or packets, from which nonces are made. It is not wiped, as in `tercel`:
/// docs/security/secrets.md.
pub(crate) struct WriteIv(pub(crate) [u8; NONCE_LEN]);

impl WriteIv {
    /// The IV XOR `number`, which is left-padded to the length of the IV. RFC 9846 5.3,
    /// RFC 9001 5.3
    #[inline]
    pub(crate) fn nonce(&self, number: u64) -> [u8; NONCE_LEN] {
        self.nonce_of_path(0, number)
    }

    /// The IV XOR the path identifier and the number. draft-ietf-quic-multipath 4, "Nonce
    /// Calculation"
    #[inline]
    pub(crate) fn nonce_of_path(&self, path: u32, number: u64) -> [u8; NONCE_LEN] {
        let number = (u128::from(path) << 64) | u128::from(number);
        let [_, _, _, _, number @ ..] = number.to_be_bytes();
        let mut nonce = self.0;
        nonce.iter_mut().zip(number).for_each(|(byte, other)| *byte ^= other);
        nonce
    }
}

impl From<&Iv> for WriteIv {
    fn from(iv: &Iv) -> Self {
        let mut own = [0; NONCE_LEN];
        own.copy_from_slice(iv.as_ref());
        Self(own)
    }
}

/// Seals `plaintext` followed by `extra`, and appends the ciphertext and its tag to `payload`.
pub(crate) fn seal(
    key: &mut RecordKey,
    nonce: &[u8; NONCE_LEN],
    aad: &[u8],
    (plaintext, extra): (&OutboundChunks<'_>, &[u8]),
    payload: &mut PrefixedPayload,
) -> Result<(), Error> {
    let start = payload.as_ref().len();
    let room = extra.len().saturating_add(TAG_LEN);
    let sealed = match *plaintext {
        OutboundChunks::Single(plaintext) => {
            append_zeros(payload, plaintext.len().saturating_add(room));
            key.seal(nonce, aad, plaintext, extra, payload.as_mut().split_at_mut(start).1)
        }
        OutboundChunks::Multiple { .. } => {
            payload.extend_from_chunks(plaintext);
            append_zeros(payload, room);
            let sealed = payload.as_mut().split_at_mut(start).1;
            key.seal_in_place(nonce, aad, sealed, plaintext.len(), extra)
        }
    };
    sealed.map(|_| ()).map_err(|_| Error::EncryptError)
}

/// Appends zeros, which the ciphertext replaces. rustls has no function that would only resize.
fn append_zeros(payload: &mut PrefixedPayload, mut length: usize) {
    static ZEROS: [u8; 4096] = [0; 4096];
    while length > 0 {
        let zeros = ZEROS.get(..length).unwrap_or(&ZEROS);
        payload.extend_from_slice(zeros);
        length = length.saturating_sub(zeros.len());
    }
}

/// The keys of a direction in the form in which rustls hands them out, such as for kernel TLS.
pub(crate) fn traffic_secrets(
    algorithm: AeadAlgorithm,
    key: AeadKey,
    iv: Iv,
) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
    match algorithm {
        AeadAlgorithm::Aes128Gcm => Ok(ConnectionTrafficSecrets::Aes128Gcm { key, iv }),
        AeadAlgorithm::Aes256Gcm => Ok(ConnectionTrafficSecrets::Aes256Gcm { key, iv }),
        AeadAlgorithm::ChaCha20Poly1305 => {
            Ok(ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv })
        }
        _ => Err(UnsupportedOperationError),
    }
}

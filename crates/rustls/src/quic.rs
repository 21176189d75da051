//! Packets of QUIC: protection of their payloads and of their headers. RFC 9001 5.3, 5.4

use rustls::Error;
use rustls::crypto::cipher::{AeadKey, Iv};
use rustls::quic::{Algorithm, HeaderProtectionKey, PacketKey, Tag};
use tercel_crypto::{self as crypto, AeadAlgorithm};

use crate::records::{NO_MEMORY, TAG_LEN, WriteIv};

/// The packet protection of a suite.
pub(crate) struct Packets(pub(crate) AeadAlgorithm);

impl Algorithm for Packets {
    fn packet_key(&self, key: AeadKey, iv: Iv) -> Box<dyn PacketKey> {
        let key = crypto::AeadKey::new(self.0, key.as_ref()).expect(NO_MEMORY);
        Box::new(Payloads { key, iv: WriteIv::from(&iv) })
    }

    fn header_protection_key(&self, key: AeadKey) -> Box<dyn HeaderProtectionKey> {
        Box::new(Headers(crypto::HeaderProtectionKey::new(self.0, key.as_ref()).expect(NO_MEMORY)))
    }

    fn aead_key_len(&self) -> usize {
        self.0.key_len()
    }
}

/// The key that protects the payloads of packets in one direction.
struct Payloads {
    key: crypto::AeadKey,
    iv: WriteIv,
}

impl Payloads {
    fn seal(&self, nonce: &[u8; 12], header: &[u8], payload: &mut [u8]) -> Result<Tag, Error> {
        let tag = self.key.seal_with_separate_tag(nonce, header, payload);
        Ok(Tag::from(&tag.map_err(|_| Error::EncryptError)?[..]))
    }

    fn open<'a>(
        &self,
        nonce: &[u8; 12],
        header: &[u8],
        payload: &'a mut [u8],
    ) -> Result<&'a [u8], Error> {
        let opened = self.key.open_in_place(nonce, header, payload);
        payload.get(..opened.map_err(|_| Error::DecryptError)?).ok_or(Error::DecryptError)
    }
}

impl PacketKey for Payloads {
    fn encrypt_in_place(
        &self,
        packet_number: u64,
        header: &[u8],
        payload: &mut [u8],
    ) -> Result<Tag, Error> {
        self.seal(&self.iv.nonce(packet_number), header, payload)
    }

    fn encrypt_in_place_for_path(
        &self,
        path: u32,
        packet_number: u64,
        header: &[u8],
        payload: &mut [u8],
    ) -> Result<Tag, Error> {
        self.seal(&self.iv.nonce_of_path(path, packet_number), header, payload)
    }

    fn decrypt_in_place<'a>(
        &self,
        packet_number: u64,
        header: &[u8],
        payload: &'a mut [u8],
    ) -> Result<&'a [u8], Error> {
        self.open(&self.iv.nonce(packet_number), header, payload)
    }

    fn decrypt_in_place_for_path<'a>(
        &self,
        path: u32,
        packet_number: u64,
        header: &[u8],
        payload: &'a mut [u8],
    ) -> Result<&'a [u8], Error> {
        self.open(&self.iv.nonce_of_path(path, packet_number), header, payload)
    }

    fn tag_len(&self) -> usize {
        TAG_LEN
    }

    /// The number of packets that may be protected with this key. RFC 9001 6.6
    fn confidentiality_limit(&self) -> u64 {
        match self.key.algorithm() {
            AeadAlgorithm::ChaCha20Poly1305 => u64::MAX,
            _ => 1 << 23,
        }
    }

    /// The number of packets that may fail authentication. RFC 9001 6.6
    fn integrity_limit(&self) -> u64 {
        match self.key.algorithm() {
            AeadAlgorithm::ChaCha20Poly1305 => 1 << 36,
            _ => 1 << 52,
        }
    }
}

/// The key that protects the headers of packets in one direction.
struct Headers(crypto::HeaderProtectionKey);

impl Headers {
    /// Adds or removes protection. If an argument has a wrong length, nothing is changed.
    fn apply(
        &self,
        sample: &[u8],
        first: &mut u8,
        packet_number: &mut [u8],
        is_protected: bool,
    ) -> Result<(), Error> {
        let Ok(sample) = sample.try_into() else {
            return Err(Error::General("a sample of a packet has 16 bytes".into()));
        };
        let [mask, masks @ ..] = self.0.mask(sample);
        if packet_number.len() > masks.len() {
            return Err(Error::General("a packet number has at most 4 bytes".into()));
        }
        // A long header has four protected bits, a short header five. RFC 9001 5.4.1
        let bits = mask & if *first & 0x80 == 0 { 0x1f } else { 0x0f };
        let clear = if is_protected { *first ^ bits } else { *first };
        *first ^= bits;
        let length = usize::from(clear & 3).saturating_add(1);
        packet_number.iter_mut().zip(masks).take(length).for_each(|(byte, mask)| *byte ^= mask);
        Ok(())
    }
}

impl HeaderProtectionKey for Headers {
    fn encrypt_in_place(
        &self,
        sample: &[u8],
        first: &mut u8,
        packet_number: &mut [u8],
    ) -> Result<(), Error> {
        self.apply(sample, first, packet_number, false)
    }

    fn decrypt_in_place(
        &self,
        sample: &[u8],
        first: &mut u8,
        packet_number: &mut [u8],
    ) -> Result<(), Error> {
        self.apply(sample, first, packet_number, true)
    }

    fn sample_len(&self) -> usize {
        crypto::HeaderProtectionKey::SAMPLE_LEN
    }
}

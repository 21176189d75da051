//! Protection of packets and of their headers. RFC 9001 5.3, 5.4

use tercel_crypto::{AeadAlgorithm, AeadKey, CryptoError, HeaderProtectionKey};

use crate::error::Error;

/// The key that protects the payloads of packets in one direction. RFC 9001 5.3
///
/// ```
/// use tercel::{Side, quic};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let keys = quic::initial_keys(quic::Version::V1, b"\x83\x94\xc8\xf0", Side::Client)?;
/// let mut payload = [&b"frames"[..], &[0; quic::PacketKey::TAG_LEN]].concat();
/// keys.local.packet.seal(2, b"header", &mut payload)?;
/// let server = quic::initial_keys(quic::Version::V1, b"\x83\x94\xc8\xf0", Side::Server)?;
/// let length = server.remote.packet.open(2, b"header", &mut payload)?;
/// assert_eq!(&payload[..length], b"frames");
/// # Ok(()) }
/// ```
pub struct PacketKey {
    key: AeadKey,
    /// It is not wiped, like the IV of records: docs/security/secrets.md.
    iv: [u8; AeadAlgorithm::NONCE_LEN],
}

impl PacketKey {
    /// The length of the authentication tag, by which a protected payload is longer.
    pub const TAG_LEN: usize = AeadAlgorithm::TAG_LEN;

    pub(super) fn new(algorithm: AeadAlgorithm, key: &[u8], iv: &[u8]) -> Result<Self, Error> {
        let key = AeadKey::new(algorithm, key)?;
        let iv = iv.first_chunk().copied().ok_or(CryptoError::InvalidKey)?;
        Ok(Self { key, iv })
    }

    /// Protects a payload in place. The last [`Self::TAG_LEN`] bytes of `payload` are for the tag.
    /// `header` is the packet up to the payload, before header protection. A packet number must not
    /// be used twice with one key.
    ///
    /// # Errors
    /// [`CryptoError::BufferTooSmall`] if `payload` has no place for the tag.
    pub fn seal(
        &self,
        packet_number: u64,
        header: &[u8],
        payload: &mut [u8],
    ) -> Result<(), CryptoError> {
        let length = payload.len().checked_sub(Self::TAG_LEN).ok_or(CryptoError::BufferTooSmall)?;
        self.key.seal_in_place(&self.nonce(packet_number), header, payload, length, &[])?;
        Ok(())
    }

    /// Opens a protected payload in place. Returns the length of the frames at its start. `header`
    /// is the packet up to the payload, without header protection.
    ///
    /// # Errors
    /// [`CryptoError::Rejected`] if the packet is not authentic. Its payload is lost.
    pub fn open(
        &self,
        packet_number: u64,
        header: &[u8],
        payload: &mut [u8],
    ) -> Result<usize, CryptoError> {
        self.key.open_in_place(&self.nonce(packet_number), header, payload)
    }

    /// Returns the number of packets that may be protected with this key. RFC 9001 6.6
    #[must_use]
    pub fn confidentiality_limit(&self) -> u64 {
        match self.key.algorithm() {
            AeadAlgorithm::ChaCha20Poly1305 => u64::MAX,
            _ => 1 << 23,
        }
    }

    /// Returns the number of packets that may fail authentication with all keys of a connection,
    /// before the connection has to be closed. RFC 9001 6.6
    #[must_use]
    pub fn integrity_limit(&self) -> u64 {
        match self.key.algorithm() {
            AeadAlgorithm::ChaCha20Poly1305 => 1 << 36,
            _ => 1 << 52,
        }
    }

    /// Returns the IV XOR the packet number, which is left-padded to the length of the IV.
    /// RFC 9001 5.3
    #[inline]
    fn nonce(&self, packet_number: u64) -> [u8; AeadAlgorithm::NONCE_LEN] {
        let [a, b, c, d, rest @ ..] = self.iv;
        let number = packet_number.to_be();
        let [e, f, g, h, i, j, k, l] = (u64::from_ne_bytes(rest) ^ number).to_ne_bytes();
        [a, b, c, d, e, f, g, h, i, j, k, l]
    }
}

debug_fields!(PacketKey, key: algorithm = key.key.algorithm());

/// The key that protects the headers of packets in one direction. RFC 9001 5.4
pub struct HeaderKey(HeaderProtectionKey);

impl HeaderKey {
    /// The length of the sample of a packet.
    pub const SAMPLE_LEN: usize = HeaderProtectionKey::SAMPLE_LEN;

    pub(super) fn new(algorithm: AeadAlgorithm, key: &[u8]) -> Result<Self, Error> {
        Ok(Self(HeaderProtectionKey::new(algorithm, key)?))
    }

    /// Returns the mask for a packet with this sample: one byte for the bits of the first byte, and
    /// four for the packet number. RFC 9001 5.4.1
    #[must_use]
    pub fn mask(&self, sample: &[u8; Self::SAMPLE_LEN]) -> [u8; 5] {
        self.0.mask(sample)
    }

    /// Protects the header of a packet, whose packet number begins at this position. Returns
    /// `false`, and changes nothing, if the packet is too short for a sample. RFC 9001 5.4.1, 5.4.2
    #[must_use]
    pub fn protect(&self, packet_number_at: usize, packet: &mut [u8]) -> bool {
        self.apply(packet_number_at, packet, true).is_some()
    }

    /// Removes the protection of a packet's header. See [`Self::protect`].
    #[must_use]
    pub fn unprotect(&self, packet_number_at: usize, packet: &mut [u8]) -> bool {
        self.apply(packet_number_at, packet, false).is_some()
    }

    fn apply(&self, packet_number_at: usize, packet: &mut [u8], protects: bool) -> Option<()> {
        let (header, rest) = packet.split_at_mut_checked(packet_number_at)?;
        // The sample begins four bytes after the start of the packet number. RFC 9001 5.4.2
        let (number, payload) = rest.split_at_mut_checked(4)?;
        let [mask, masks @ ..] = self.mask(payload.first_chunk()?);
        let first = header.first_mut()?;
        // A long header has four protected bits, a short header five. RFC 9001 5.4.1
        let bits = mask & if *first & 0x80 == 0 { 0x1f } else { 0x0f };
        let clear = if protects { *first } else { *first ^ bits };
        *first ^= bits;
        let length = usize::from(clear & 3).saturating_add(1);
        number.iter_mut().zip(masks).take(length).for_each(|(byte, mask)| *byte ^= mask);
        Some(())
    }
}

debug_fields!(HeaderKey);

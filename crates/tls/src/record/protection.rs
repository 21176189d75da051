//! Record protection in one direction: key, nonce, additional data and sequence number.
//! RFC 9846 5.2-5.3, RFC 5288, RFC 7905
//!
//! No other module constructs nonces. With the feature `fips`, the module that computes AES-GCM
//! checks them. In TLS 1.3 it takes the nonce of the first sealed record as the IV, so that a key
//! that has sealed records cannot be replaced by the same key: see
//! [`Construction::seals_from_zero`].

use tercel_crypto::{AeadAlgorithm, CryptoError, RecordKey, RecordNonces};
use tercel_wire::ContentType;

use super::limits;
use crate::error::{Error, InternalError, PeerError};

/// The construction of nonces and additional data for a protocol version and AEAD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Construction {
    /// RFC 9846 5.2, 5.3: the nonce is the IV XOR the sequence number, the content type is
    /// encrypted, and the header is the additional data.
    Tls13,
    /// RFC 5288: the nonce has four fixed bytes and eight explicit bytes, which the record
    /// contains.
    Tls12Gcm,
    /// RFC 7905: the nonce is constructed as in TLS 1.3, the additional data as in TLS 1.2.
    Tls12ChaCha,
}

impl Construction {
    /// Returns the construction of TLS 1.2 for this algorithm.
    pub(crate) fn tls12(algorithm: AeadAlgorithm) -> Self {
        match algorithm {
            AeadAlgorithm::ChaCha20Poly1305 => Self::Tls12ChaCha,
            _ => Self::Tls12Gcm,
        }
    }

    /// Returns the order of nonces for the AEAD.
    fn nonces(self) -> RecordNonces {
        match self {
            Self::Tls13 => RecordNonces::Tls13,
            Self::Tls12Gcm | Self::Tls12ChaCha => RecordNonces::Tls12,
        }
    }

    /// Whether an expanded key can seal only from sequence number 0 on. Such a key cannot be freed
    /// and expanded again in the middle of its records. Keys that open records have no such limit.
    pub(crate) fn seals_from_zero(self, algorithm: AeadAlgorithm) -> bool {
        self.nonces().begin_at_zero(algorithm)
    }

    /// Returns the number of bytes of the IV from the key schedule. RFC 9846 5.3, RFC 5288 3,
    /// RFC 7905 2
    pub(crate) fn iv_len(self) -> usize {
        match self {
            Self::Tls13 | Self::Tls12ChaCha => AeadAlgorithm::NONCE_LEN,
            Self::Tls12Gcm => AeadAlgorithm::NONCE_LEN - EXPLICIT_NONCE,
        }
    }
}

/// The number of bytes of the authentication tag, which is the same for all suites.
const TAG_LEN: usize = AeadAlgorithm::TAG_LEN;

/// The number of bytes of the explicit nonce of RFC 5288.
pub(crate) const EXPLICIT_NONCE: usize = 8;

/// Record protection in one direction.
pub(crate) struct Protection {
    /// The expanded key. `None` while it is parked.
    key: Option<RecordKey>,
    iv: [u8; 12],
    sequence: u64,
    construction: Construction,
    algorithm: AeadAlgorithm,
}

/// The common part of `seal` and `seal_in_place`, which differ only in the block that is run with
/// key, nonce, additional data and output. This is a macro, because a function with a closure would
/// not be inlined and would cost 60 instructions for each record.
macro_rules! seal_with {
    (
        $this:ident, $content_type:ident, $length:expr, $out:ident,
        |$key:ident, $nonce:ident, $aad:ident, $body:ident| $seal:block
    ) => {
        let ($key, sequence) = ($this.key.as_mut().ok_or(PARKED)?, $this.sequence);
        $this.sequence = next_sequence(sequence)?;
        let (header, $body) =
            $out.split_first_chunk_mut::<{ limits::HEADER }>().ok_or(InternalError::Encode)?;
        match $this.construction {
            Construction::Tls13 => {
                let ($nonce, $aad) = (&xor_nonce(&$this.iv, sequence), &*header);
                $seal
            }
            Construction::Tls12ChaCha => {
                let $nonce = &xor_nonce(&$this.iv, sequence);
                let $aad = &tls12_aad(sequence, $content_type, $length);
                $seal
            }
            Construction::Tls12Gcm => {
                let (explicit, $body) =
                    $body.split_first_chunk_mut::<EXPLICIT_NONCE>().ok_or(InternalError::Encode)?;
                *explicit = sequence.to_be_bytes();
                let $nonce = &explicit_nonce(&$this.iv, *explicit);
                let $aad = &tls12_aad(sequence, $content_type, $length);
                $seal
            }
        };
    };
}

impl Protection {
    /// Creates protection that starts at sequence number 0. In TLS 1.2, `write_iv` has 4 bytes for
    /// GCM (RFC 5288 3), and 12 for ChaCha20-Poly1305 (RFC 7905 2).
    pub(crate) fn new(
        algorithm: AeadAlgorithm,
        construction: Construction,
        key: &[u8],
        write_iv: &[u8],
    ) -> Result<Self, Error> {
        let key = Some(RecordKey::with_nonces(algorithm, construction.nonces(), key)?);
        Ok(Self { key, iv: padded_iv(write_iv), sequence: 0, construction, algorithm })
    }

    /// Replaces the key in `place`, reuses its memory, and starts at sequence number 0. After an
    /// error the old key is parked.
    pub(crate) fn replace(
        place: &mut Option<Self>,
        algorithm: AeadAlgorithm,
        construction: Construction,
        key: &[u8],
        write_iv: &[u8],
    ) -> Result<(), Error> {
        let Some(old) = place.as_mut().and_then(|old| old.key.take()) else {
            *place = Some(Self::new(algorithm, construction, key, write_iv)?);
            return Ok(());
        };
        let key = Some(old.renew(algorithm, construction.nonces(), key)?);
        let iv = padded_iv(write_iv);
        *place = Some(Self { key, iv, sequence: 0, construction, algorithm });
        Ok(())
    }

    /// Creates a parked protection, which has no key and has protected `sequence` records.
    pub(crate) fn parked(
        algorithm: AeadAlgorithm,
        construction: Construction,
        sequence: u64,
    ) -> Self {
        Self { key: None, iv: [0; 12], sequence, construction, algorithm }
    }

    /// Frees the expanded key. Records cannot be sealed or opened before [`Self::wake`].
    pub(crate) fn park(&mut self) {
        self.key = None;
    }

    pub(crate) fn is_parked(&self) -> bool {
        self.key.is_none()
    }

    /// Takes over key and IV of `recreated`, which was created from the same secret, and keeps the
    /// sequence number.
    pub(crate) fn wake(&mut self, recreated: Self) {
        *self = Self { sequence: self.sequence, ..recreated };
    }

    /// Whether this protection can seal only with the key that it has now. See
    /// [`Construction::seals_from_zero`].
    pub(crate) fn seals_from_zero(&self) -> bool {
        self.construction.seals_from_zero(self.algorithm)
    }

    pub(crate) fn construction(&self) -> Construction {
        self.construction
    }

    /// Returns the number of bytes that protection adds to a fragment, the inner content type
    /// included.
    #[inline]
    pub(crate) fn overhead(&self) -> usize {
        match self.construction {
            Construction::Tls13 => 1 + TAG_LEN,
            Construction::Tls12Gcm => EXPLICIT_NONCE + TAG_LEN,
            Construction::Tls12ChaCha => TAG_LEN,
        }
    }

    /// Returns the number of bytes between the header of a record and its ciphertext.
    pub(crate) fn explicit_length(&self) -> usize {
        match self.construction {
            Construction::Tls13 | Construction::Tls12ChaCha => 0,
            Construction::Tls12Gcm => EXPLICIT_NONCE,
        }
    }

    /// Returns the sequence number of the next record.
    pub(crate) fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Whether the key is not parked and not [nearly spent](Self::nearly_spent).
    pub(crate) fn is_ready(&self) -> bool {
        self.key.is_some() && !self.nearly_spent()
    }

    /// Whether this key may seal only a few more records. RFC 9846 5.5
    pub(crate) fn nearly_spent(&self) -> bool {
        match self.algorithm {
            AeadAlgorithm::ChaCha20Poly1305 => self.sequence >= u64::MAX - (1 << 16),
            _ => self.sequence >= limits::AES_GCM_RECORDS_PER_KEY,
        }
    }

    #[cfg(test)]
    pub(crate) fn set_sequence(&mut self, sequence: u64) {
        self.sequence = sequence;
    }

    /// Seals `plaintext` and `inner` (TLS 1.3: content type and padding) after the header in `out`.
    ///
    /// `out` has exactly the length of the record, and the five header bytes are already written.
    #[inline(always)]
    pub(crate) fn seal(
        &mut self,
        content_type: ContentType,
        plaintext: &[u8],
        inner: &[u8],
        out: &mut [u8],
    ) -> Result<(), Error> {
        seal_with!(self, content_type, plaintext.len(), out, |key, nonce, aad, body| {
            key.seal(nonce, aad, plaintext, inner, body)?
        });
        Ok(())
    }

    /// Seals a plaintext of `length` bytes that `out` already contains, [`Self::explicit_length`]
    /// bytes after the header. See [`Self::seal`].
    pub(crate) fn seal_in_place(
        &mut self,
        content_type: ContentType,
        length: usize,
        inner: &[u8],
        out: &mut [u8],
    ) -> Result<(), Error> {
        seal_with!(self, content_type, length, out, |key, nonce, aad, body| {
            key.seal_in_place(nonce, aad, body, length, inner)?
        });
        Ok(())
    }

    /// Opens `record` (header included) in place. Returns the position of the plaintext in
    /// `record`.
    #[inline(always)]
    pub(crate) fn open(
        &mut self,
        content_type: ContentType,
        record: &mut [u8],
    ) -> Result<core::ops::Range<usize>, Error> {
        let (key, sequence) = (self.key.as_ref().ok_or(PARKED)?, self.sequence);
        self.sequence = next_sequence(sequence)?;
        let short = Error::Peer(PeerError::BadRecordMac);
        let (header, body) = record.split_first_chunk_mut::<{ limits::HEADER }>().ok_or(short)?;
        let (start, opened) = match self.construction {
            Construction::Tls13 => {
                let nonce = xor_nonce(&self.iv, sequence);
                (limits::HEADER, key.open_in_place(&nonce, header, body))
            }
            Construction::Tls12ChaCha => {
                let nonce = xor_nonce(&self.iv, sequence);
                let length = body.len().checked_sub(TAG_LEN).ok_or(short)?;
                let aad = tls12_aad(sequence, content_type, length);
                (limits::HEADER, key.open_in_place(&nonce, &aad, body))
            }
            Construction::Tls12Gcm => {
                let (explicit, body) =
                    body.split_first_chunk_mut::<EXPLICIT_NONCE>().ok_or(short)?;
                let nonce = explicit_nonce(&self.iv, *explicit);
                let length = body.len().checked_sub(TAG_LEN).ok_or(short)?;
                let aad = tls12_aad(sequence, content_type, length);
                (limits::HEADER + EXPLICIT_NONCE, key.open_in_place(&nonce, &aad, body))
            }
        };
        let length = opened.map_err(|_| short)?;
        Ok(start..start.saturating_add(length))
    }

    /// Opens `record` into `out`. Returns the number of bytes written, which in TLS 1.3 include the
    /// inner content type and padding.
    #[inline(always)]
    pub(crate) fn open_into(
        &mut self,
        content_type: ContentType,
        record: &[u8],
        out: &mut [u8],
    ) -> Result<usize, Error> {
        let (key, sequence) = (self.key.as_ref().ok_or(PARKED)?, self.sequence);
        self.sequence = next_sequence(sequence)?;
        let short = Error::Peer(PeerError::BadRecordMac);
        let (header, body) = record.split_first_chunk::<{ limits::HEADER }>().ok_or(short)?;
        let opened = match self.construction {
            Construction::Tls13 => key.open(&xor_nonce(&self.iv, sequence), header, body, out),
            Construction::Tls12ChaCha => {
                let length = body.len().checked_sub(TAG_LEN).ok_or(short)?;
                let aad = tls12_aad(sequence, content_type, length);
                key.open(&xor_nonce(&self.iv, sequence), &aad, body, out)
            }
            Construction::Tls12Gcm => {
                let (explicit, body) = body.split_first_chunk::<EXPLICIT_NONCE>().ok_or(short)?;
                let length = body.len().checked_sub(TAG_LEN).ok_or(short)?;
                let aad = tls12_aad(sequence, content_type, length);
                key.open(&explicit_nonce(&self.iv, *explicit), &aad, body, out)
            }
        };
        opened.map_err(|_| short)
    }

    /// Decrements the sequence number, because the last record did not authenticate and is skipped.
    /// RFC 9846 4.3.10
    pub(crate) fn rewind(&mut self) {
        self.sequence = self.sequence.saturating_sub(1);
    }
}

/// The error of using a parked key. It is an internal error, since connections restore keys before
/// they use them.
const PARKED: Error = Error::Internal(InternalError::Crypto(CryptoError::InvalidKey));

/// Pads the IV with zeros where TLS 1.2 AES-GCM has the explicit nonce of each record.
fn padded_iv(write_iv: &[u8]) -> [u8; 12] {
    let mut iv = [0; 12];
    iv.iter_mut().zip(write_iv).for_each(|(to, from)| *to = *from);
    iv
}

/// Returns the following sequence number, which must not wrap. RFC 9846 5.3
#[inline]
fn next_sequence(sequence: u64) -> Result<u64, Error> {
    sequence.checked_add(1).ok_or(InternalError::KeyExhausted.into())
}

/// Returns the IV XOR the sequence number, which is left-padded to the length of the IV.
/// RFC 9846 5.3
#[inline]
fn xor_nonce(iv: &[u8; 12], sequence: u64) -> [u8; 12] {
    let [a, b, c, d, rest @ ..] = *iv;
    let [e, f, g, h, i, j, k, l] = (u64::from_ne_bytes(rest) ^ sequence.to_be()).to_ne_bytes();
    [a, b, c, d, e, f, g, h, i, j, k, l]
}

#[inline]
fn explicit_nonce(iv: &[u8; 12], explicit: [u8; EXPLICIT_NONCE]) -> [u8; 12] {
    let [a, b, c, d, ..] = *iv;
    let [e, f, g, h, i, j, k, l] = explicit;
    [a, b, c, d, e, f, g, h, i, j, k, l]
}

/// Returns the additional data of a TLS 1.2 record. RFC 5246 6.2.3.3
#[inline]
fn tls12_aad(sequence: u64, content_type: ContentType, length: usize) -> [u8; 13] {
    let s = sequence.to_be_bytes();
    let [.., high, low] = length.to_be_bytes();
    [s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7], content_type.0, 3, 3, high, low]
}

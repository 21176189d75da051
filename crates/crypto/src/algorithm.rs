//! The names and lengths of hash functions and AEAD algorithms.

/// The supported hash functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HashAlgorithm {
    /// SHA-256.
    Sha256,
    /// SHA-384.
    Sha384,
    /// SHA-512.
    Sha512,
}

impl HashAlgorithm {
    /// The length of a digest.
    #[must_use]
    pub const fn output_len(self) -> usize {
        match self {
            Self::Sha256 => 32,
            Self::Sha384 => 48,
            Self::Sha512 => 64,
        }
    }

    /// The length of the blocks that the function compresses.
    #[must_use]
    pub const fn block_len(self) -> usize {
        match self {
            Self::Sha256 => 64,
            Self::Sha384 | Self::Sha512 => 128,
        }
    }
}

/// The AEAD algorithms of TLS 1.3 and of the AEAD suites of TLS 1.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AeadAlgorithm {
    /// AES-GCM with a 128-bit key.
    Aes128Gcm,
    /// AES-GCM with a 256-bit key.
    Aes256Gcm,
    /// ChaCha20 and Poly1305, RFC 8439.
    ChaCha20Poly1305,
}

impl AeadAlgorithm {
    /// The length of every nonce.
    pub const NONCE_LEN: usize = 12;
    /// The length of every tag.
    pub const TAG_LEN: usize = 16;

    /// The length of a key.
    #[must_use]
    pub const fn key_len(self) -> usize {
        match self {
            Self::Aes128Gcm => 16,
            Self::Aes256Gcm | Self::ChaCha20Poly1305 => 32,
        }
    }
}

/// Marks keys whose nonces the caller chooses: an [`AeadKey`](crate::AeadKey) that is not a
/// [`RecordKey`](crate::RecordKey).
#[derive(Debug)]
pub enum AnyNonces {}

/// How the nonces of records are made. Each is used once, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RecordNonces {
    /// TLS 1.3: the IV XOR the sequence number. RFC 9846 5.3
    Tls13,
    /// TLS 1.2: with AES-GCM four fixed bytes, then eight that rise, such as the sequence number.
    /// RFC 5288 3
    Tls12,
}

impl RecordNonces {
    /// Whether the first record sealed with a key must have sequence number 0. This is so for
    /// AES-GCM in TLS 1.3 if AWS-LC is its FIPS module, which takes the first nonce as the IV.
    #[must_use]
    pub const fn begin_at_zero(self, algorithm: AeadAlgorithm) -> bool {
        cfg!(feature = "fips")
            && matches!(self, Self::Tls13)
            && matches!(algorithm, AeadAlgorithm::Aes128Gcm | AeadAlgorithm::Aes256Gcm)
    }
}

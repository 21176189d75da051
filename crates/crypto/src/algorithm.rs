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

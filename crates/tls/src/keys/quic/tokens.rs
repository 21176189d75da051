//! Keys of an endpoint for its own values: stateless reset tokens, and address validation tokens.
//! RFC 9000 10.3, 8.1

use tercel_crypto::{
    AeadAlgorithm, AeadKey, CryptoError, Digest, HashAlgorithm, HmacKey, Prk, Secret, fill_random,
};

/// The key with which an endpoint computes stateless reset tokens: HMAC-SHA256. RFC 9000 10.3.2
pub struct ResetKey(HmacKey);

impl ResetKey {
    /// The length of a signature.
    pub const SIGNATURE_LEN: usize = 32;

    /// Creates a key from 32 random bytes, which several processes may share.
    #[must_use]
    pub fn new(key: &[u8; KEY]) -> Self {
        Self::of(key)
    }

    fn of(key: &[u8]) -> Self {
        Self(HmacKey::new(HashAlgorithm::Sha256, key))
    }

    /// Creates a random key.
    ///
    /// # Errors
    /// [`CryptoError::Internal`] if the random generator fails.
    pub fn random() -> Result<Self, CryptoError> {
        Ok(Self::of(Secret::try_with(KEY, fill_random)?.as_bytes()))
    }

    /// Signs data, such as a connection ID.
    #[must_use]
    pub fn sign(&self, data: &[u8]) -> [u8; Self::SIGNATURE_LEN] {
        let signature: Digest = self.0.sign(&[data]);
        signature.first_chunk().copied().unwrap_or_default()
    }

    /// Whether this is the signature of the data. The comparison takes constant time.
    #[must_use]
    pub fn verify(&self, data: &[u8], signature: &[u8]) -> bool {
        self.0.verify(&[data], signature)
    }
}

debug_fields!(ResetKey);

/// The secret from which a server derives a key for each of its address validation tokens, by
/// HKDF-SHA256. RFC 9000 8.1.4
pub struct TokenKey(Prk);

impl TokenKey {
    /// Creates a secret from 32 random bytes, which several processes may share.
    #[must_use]
    pub fn new(secret: &[u8; KEY]) -> Self {
        Self::of(secret)
    }

    fn of(secret: &[u8]) -> Self {
        Self(Prk::extract(HashAlgorithm::Sha256, &[], secret))
    }

    /// Creates a random secret.
    ///
    /// # Errors
    /// [`CryptoError::Internal`] if the random generator fails.
    pub fn random() -> Result<Self, CryptoError> {
        Ok(Self::of(Secret::try_with(KEY, fill_random)?.as_bytes()))
    }

    /// Derives the key of one token. The random bytes are sent with the token; they must not be
    /// used for another token, because all tokens have the same nonce.
    ///
    /// # Errors
    /// If the cryptographic library fails, for example because it gets no memory.
    pub fn for_token(&self, random: &[u8]) -> Result<TokenSealer, CryptoError> {
        let key = self.0.expand_secret(&[random], KEY);
        Ok(TokenSealer(AeadKey::new(AeadAlgorithm::Aes256Gcm, key.as_bytes())?))
    }
}

debug_fields!(TokenKey);

/// The key of one address validation token: AES-256-GCM.
pub struct TokenSealer(AeadKey);

impl TokenSealer {
    /// Encrypts the content of the token in place. Only one content may be encrypted.
    ///
    /// # Errors
    /// [`CryptoError::LimitExceeded`] for a content that is too long for the algorithm.
    pub fn seal(&self, content: &mut Vec<u8>, additional_data: &[u8]) -> Result<(), CryptoError> {
        let length = content.len();
        content.resize(length.saturating_add(AeadAlgorithm::TAG_LEN), 0);
        let sealed = self.0.seal_in_place(&NONCE, additional_data, content, length, &[]);
        sealed.map(|_| ()).inspect_err(|_| content.clear())
    }

    /// Decrypts the content of a token in place. Returns its length.
    ///
    /// # Errors
    /// [`CryptoError::Rejected`] if the token is not authentic.
    pub fn open(&self, token: &mut [u8], additional_data: &[u8]) -> Result<usize, CryptoError> {
        self.0.open_in_place(&NONCE, additional_data, token)
    }
}

debug_fields!(TokenSealer);

/// Each key encrypts one content, so the nonce may be constant.
const NONCE: [u8; AeadAlgorithm::NONCE_LEN] = [0; AeadAlgorithm::NONCE_LEN];

/// The length of random secrets and of the keys of tokens.
const KEY: usize = 32;

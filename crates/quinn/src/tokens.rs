//! Keys of an endpoint for stateless resets and for address validation tokens.

use quinn_proto::crypto::{AeadKey, CryptoError, HandshakeTokenKey, HmacKey};
use tercel::quic;

use crate::keys::NO_MEMORY;

/// The key for stateless resets, for `quinn::EndpointConfig::new`. RFC 9000 10.3
///
/// ```
/// use tercel_quinn::{ResetKey, tercel::quic};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let key = ResetKey(quic::ResetKey::random()?);
/// let config = quinn::EndpointConfig::new(std::sync::Arc::new(key));
/// # let _ = config; Ok(()) }
/// ```
#[derive(Debug)]
pub struct ResetKey(pub quic::ResetKey);

impl HmacKey for ResetKey {
    fn sign(&self, data: &[u8], signature_out: &mut [u8]) {
        // Quinn passes a buffer of `signature_len` bytes.
        let signature = self.0.sign(data);
        signature_out.iter_mut().zip(signature).for_each(|(to, from)| *to = from);
    }

    fn signature_len(&self) -> usize {
        quic::ResetKey::SIGNATURE_LEN
    }

    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        if self.0.verify(data, signature) { Ok(()) } else { Err(CryptoError) }
    }
}

/// The secret for address validation tokens, for `quinn::ServerConfig::new`. RFC 9000 8.1
#[derive(Debug)]
pub struct TokenKey(pub quic::TokenKey);

impl HandshakeTokenKey for TokenKey {
    fn aead_from_hkdf(&self, random_bytes: &[u8]) -> Box<dyn AeadKey> {
        Box::new(TokenSealer(self.0.for_token(random_bytes).expect(NO_MEMORY)))
    }
}

struct TokenSealer(quic::TokenSealer);

impl AeadKey for TokenSealer {
    fn seal(&self, data: &mut Vec<u8>, additional_data: &[u8]) -> Result<(), CryptoError> {
        self.0.seal(data, additional_data).map_err(|_| CryptoError)
    }

    fn open<'a>(
        &self,
        data: &'a mut [u8],
        additional_data: &[u8],
    ) -> Result<&'a mut [u8], CryptoError> {
        let length = self.0.open(data, additional_data).map_err(|_| CryptoError)?;
        data.get_mut(..length).ok_or(CryptoError)
    }
}

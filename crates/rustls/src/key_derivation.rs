//! HKDF of TLS 1.3 and the PRF of TLS 1.2.

use rustls::crypto::hmac::Tag;
use rustls::crypto::tls13::{self, HkdfExpander, OkmBlock, OutputLengthError};
use tercel_crypto::{Digest, HashAlgorithm, HmacKey, Prk};

/// HKDF with a hash function. RFC 5869
pub(crate) struct Hkdf(pub(crate) HashAlgorithm);

impl tls13::Hkdf for Hkdf {
    fn extract_from_zero_ikm(&self, salt: Option<&[u8]>) -> Box<dyn HkdfExpander> {
        let zeros = [0; Digest::MAX_LEN];
        self.extract_from_secret(salt, zeros.split_at(self.0.output_len()).0)
    }

    fn extract_from_secret(&self, salt: Option<&[u8]>, secret: &[u8]) -> Box<dyn HkdfExpander> {
        // An empty salt is a salt of zeros.
        Box::new(Expander(Prk::extract(self.0, salt.unwrap_or_default(), secret)))
    }

    fn expander_for_okm(&self, prk: &OkmBlock) -> Box<dyn HkdfExpander> {
        Box::new(Expander(Prk::from_bytes(self.0, prk.as_ref())))
    }

    fn hmac_sign(&self, key: &OkmBlock, message: &[u8]) -> Tag {
        Tag::new(HmacKey::new(self.0, key.as_ref()).secret_mac(&[message]).as_bytes())
    }
}

/// A pseudorandom key.
struct Expander(Prk);

impl HkdfExpander for Expander {
    fn expand_slice(&self, info: &[&[u8]], out: &mut [u8]) -> Result<(), OutputLengthError> {
        if out.len() > self.0.max_output_len() {
            return Err(OutputLengthError);
        }
        self.0.expand(info, out);
        Ok(())
    }

    fn expand_block(&self, info: &[&[u8]]) -> OkmBlock {
        OkmBlock::new(self.0.expand_secret(info, self.hash_len()).as_bytes())
    }

    fn hash_len(&self) -> usize {
        self.0.hmac().algorithm().output_len()
    }
}

#[cfg(feature = "tls12")]
pub(crate) use of_tls12::Prf;

#[cfg(feature = "tls12")]
mod of_tls12 {
    use rustls::Error;
    use rustls::crypto::{ActiveKeyExchange, tls12};
    use rustls::version::TLS12;
    use tercel_crypto::{HashAlgorithm, Tls12Prf};

    /// The PRF with a hash function. RFC 5246 5
    pub(crate) struct Prf(pub(crate) HashAlgorithm);

    impl tls12::Prf for Prf {
        fn for_key_exchange(
            &self,
            output: &mut [u8; 48],
            exchange: Box<dyn ActiveKeyExchange>,
            peer_share: &[u8],
            label: &[u8],
            seed: &[u8],
        ) -> Result<(), Error> {
            let secret = exchange.complete_for_tls_version(peer_share, &TLS12)?;
            self.for_secret(output, secret.secret_bytes(), label, seed);
            Ok(())
        }

        fn for_secret(&self, output: &mut [u8], secret: &[u8], label: &[u8], seed: &[u8]) {
            Tls12Prf::new(self.0, secret).fill(label, &[seed], output);
        }
    }
}

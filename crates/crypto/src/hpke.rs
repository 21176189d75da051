//! HPKE, RFC 9180: encryption of messages to a public key, for Encrypted ClientHello.
//!
//! Only the base mode with DHKEM(X25519, HKDF-SHA256) is supported. See `backend/hpke.rs` for the
//! calls of AWS-LC.

use core::fmt;

use crate::algorithm::{AeadAlgorithm, HashAlgorithm};
use crate::backend::hpke::{Context, KEY_LEN, KeyPair};
use crate::backend::secret::SecretBytes;
use crate::error::CryptoError;

/// The KDF and the AEAD of an encryption context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HpkeSuite {
    /// The hash function of the KDF: SHA-256 or SHA-384.
    pub kdf: HashAlgorithm,
    /// The AEAD.
    pub aead: AeadAlgorithm,
}

/// A recipient's key pair, on the heap and wiped on drop.
pub struct HpkeKey(KeyPair);

impl HpkeKey {
    /// The length of public keys, private keys and encapsulated keys.
    pub const LEN: usize = KEY_LEN;

    /// Generates a key pair.
    ///
    /// # Errors
    ///
    /// [`CryptoError::Internal`] when the random generator fails.
    pub fn generate() -> Result<Self, CryptoError> {
        let private = SecretBytes::<KEY_LEN>::try_with(KEY_LEN, crate::fill_random)?;
        Self::from_private(private.as_bytes())
    }

    /// A key pair from its private key.
    ///
    /// # Errors
    ///
    /// [`CryptoError::InvalidKey`] when the key is not [`Self::LEN`] bytes long.
    pub fn from_private(private: &[u8]) -> Result<Self, CryptoError> {
        let private = private.try_into().map_err(|_| CryptoError::InvalidKey)?;
        KeyPair::from_private(private).map(Self)
    }

    /// The public key.
    ///
    /// # Errors
    ///
    /// [`CryptoError::Internal`] when AWS-LC fails.
    pub fn public_key(&self) -> Result<[u8; Self::LEN], CryptoError> {
        self.0.public()
    }

    /// The private key.
    ///
    /// # Errors
    ///
    /// [`CryptoError::Internal`] when AWS-LC fails.
    pub fn private_key(&self) -> Result<SecretBytes<KEY_LEN>, CryptoError> {
        SecretBytes::try_with(KEY_LEN, |out| self.0.write_private(out))
    }
}

impl fmt::Debug for HpkeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HpkeKey(..)")
    }
}

/// The sender's encryption context, on the heap and wiped on drop.
pub struct HpkeSender(Context);

impl HpkeSender {
    /// Sets up a context for messages to this public key (RFC 9180 5.1.1). Also returns the
    /// encapsulated key, which the recipient needs.
    ///
    /// # Errors
    ///
    /// [`CryptoError::InvalidShare`] when the public key is of a wrong length, or gives an all-zero
    /// secret; [`CryptoError::Unsupported`] for a KDF with SHA-512, or with SHA-384 in AWS-LC's
    /// FIPS module.
    pub fn new(
        suite: HpkeSuite,
        public_key: &[u8],
        info: &[u8],
    ) -> Result<(Self, [u8; HpkeKey::LEN]), CryptoError> {
        let ephemeral = SecretBytes::<KEY_LEN>::try_with(KEY_LEN, crate::fill_random)?;
        let (context, encapsulated) =
            Context::sender((suite.kdf, suite.aead), ephemeral.as_bytes(), public_key, info)?;
        Ok((Self(context), encapsulated))
    }

    /// Seals the next message: writes the ciphertext and the tag to `out`, which is
    /// [`AeadAlgorithm::TAG_LEN`] bytes longer than the plaintext. The context counts messages, so
    /// the recipient has to open them in the same order.
    ///
    /// # Errors
    ///
    /// [`CryptoError::BufferTooSmall`] when `out` is too short.
    pub fn seal(
        &mut self,
        aad: &[u8],
        plaintext: &[u8],
        out: &mut [u8],
    ) -> Result<(), CryptoError> {
        self.0.seal(aad, plaintext, out)
    }
}

impl fmt::Debug for HpkeSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HpkeSender(..)")
    }
}

/// The recipient's encryption context, on the heap and wiped on drop.
pub struct HpkeRecipient(Context);

impl HpkeRecipient {
    /// Sets up a context with the encapsulated key (RFC 9180 5.1.1).
    ///
    /// # Errors
    ///
    /// [`CryptoError::InvalidShare`] when the encapsulated key is of a wrong length, or gives an
    /// all-zero secret; [`CryptoError::Unsupported`] for a KDF with SHA-512.
    pub fn new(
        suite: HpkeSuite,
        key: &HpkeKey,
        encapsulated: &[u8],
        info: &[u8],
    ) -> Result<Self, CryptoError> {
        Context::recipient((suite.kdf, suite.aead), &key.0, encapsulated, info).map(Self)
    }

    /// Opens the next message. Returns the plaintext. After a failure, the same message can be
    /// tried again with other associated data.
    ///
    /// # Errors
    ///
    /// [`CryptoError::Rejected`] when the tag does not verify.
    pub fn open(&mut self, aad: &[u8], ciphertext: &[u8]) -> Result<Vec<u8>, CryptoError> {
        let mut out = vec![0; ciphertext.len()];
        let len = self.0.open(aad, ciphertext, &mut out)?;
        out.truncate(len);
        Ok(out)
    }
}

impl fmt::Debug for HpkeRecipient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HpkeRecipient(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deterministic::with_bytes;

    /// The vectors of base mode. Info, associated data and plaintext are the same in all.
    struct Vector {
        aead: AeadAlgorithm,
        private_key: &'static str,
        public_key: &'static str,
        /// The sender's ephemeral private key.
        seed: &'static str,
        enc: &'static str,
        /// The first three messages.
        ciphertexts: [&'static str; 3],
    }

    /// RFC 9180 A.1 and A.2, and the vector for AES-256-GCM of the file that the RFC refers to.
    const VECTORS: [Vector; 3] = [
        Vector {
            aead: AeadAlgorithm::Aes128Gcm,
            private_key: "4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8",
            public_key: "3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d",
            seed: "52c4a758a802cd8b936eceea314432798d5baf2d7e9235dc084ab1b9cfa2f736",
            enc: "37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431",
            ciphertexts: [
                "f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218a3\
                 55a96d8770ac83d07bea87e13c512a",
                "af2d7e9ac9ae7e270f46ba1f975be53c09f8d875bdc8535458c2494e8a6e\
                 ab251c03d0c22a56b8ca42c2063b84",
                "498dfcabd92e8acedc281e85af1cb4e3e31c7dc394a1ca20e173cb725164\
                 91588d96a19ad4a683518973dcc180",
            ],
        },
        Vector {
            aead: AeadAlgorithm::Aes256Gcm,
            private_key: "497b4502664cfea5d5af0b39934dac72242a74f8480451e1aee7d6a53320333d",
            public_key: "430f4b9859665145a6b1ba274024487bd66f03a2dd577d7753c68d7d7d00c00c",
            seed: "179d4b53b6365c45b600c4163b61d95cbc2f4d9e36f1695558dce265ab8bab11",
            enc: "6c93e09869df3402d7bf231bf540fadd35cd56be14f97178f0954db94b7fc256",
            ciphertexts: [
                "e5d84cd531cfb583096e7cfa9641bd3079cf3a91cda813c52deb5f512be9\
                 931980a41de125a925cdad859d5b7a",
                "2c43aff25343fdbff864506f0818b9d87df84ea01b1a2144d23b4d40c26b\
                 f655fdf197fe40297a8aebeed5cc2d",
                "e0a8f2cf92ff61215edbb8c55dc31fe9e2eb42a5685867bb685421154209\
                 9f9e940c4b41c192bc390835b1a5f7",
            ],
        },
        Vector {
            aead: AeadAlgorithm::ChaCha20Poly1305,
            private_key: "8057991eef8f1f1af18f4a9491d16a1ce333f695d4db8e38da75975c4478e0fb",
            public_key: "4310ee97d88cc1f088a5576c77ab0cf5c3ac797f3d95139c6c84b5429c59662a",
            seed: "f4ec9b33b792c372c1d2c2063507b684ef925b8c75a42dbcbf57d63ccd381600",
            enc: "1afa08d3dec047a643885163f1180476fa7ddb54c6a8029ea33f95796bf2ac4a",
            ciphertexts: [
                "1c5250d8034ec2b784ba2cfd69dbdb8af406cfe3ff938e131f0def8c8b60\
                 b4db21993c62ce81883d2dd1b51a28",
                "6b53c051e4199c518de79594e1c4ab18b96f081549d45ce015be002090bb\
                 119e85285337cc95ba5f59992dc98c",
                "71146bd6795ccc9c49ce25dda112a48f202ad220559502cef1f34271e0cb\
                 4b02b4f10ecac6f48c32f878fae86b",
            ],
        },
    ];

    fn bytes(hex: &str) -> Vec<u8> {
        let digits = hex.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
        digits.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
    }

    /// RFC 9180 5.1.1, 7.1.2, A.1
    #[test]
    fn the_vectors_are_reproduced_by_both_sides() {
        let info = b"Ode on a Grecian Urn";
        let plaintext = b"Beauty is truth, truth beauty";
        for vector in VECTORS {
            let suite = HpkeSuite { kdf: HashAlgorithm::Sha256, aead: vector.aead };
            let public = bytes(vector.public_key);
            let key = HpkeKey::from_private(&bytes(vector.private_key)).unwrap();
            assert_eq!(key.public_key().unwrap().as_slice(), public);
            assert_eq!(key.private_key().unwrap().as_bytes(), bytes(vector.private_key));
            let set_up = || HpkeSender::new(suite, &public, info).unwrap();
            let (mut sender, enc) = with_bytes(&bytes(vector.seed), set_up);
            assert_eq!(enc.as_slice(), bytes(vector.enc));
            let mut recipient = HpkeRecipient::new(suite, &key, &enc, info).unwrap();
            for (index, ciphertext) in vector.ciphertexts.iter().enumerate() {
                let aad = format!("Count-{index}");
                let mut sealed = vec![0; plaintext.len() + AeadAlgorithm::TAG_LEN];
                sender.seal(aad.as_bytes(), plaintext, &mut sealed).unwrap();
                assert_eq!(sealed, bytes(ciphertext));
                let wrong = recipient.open(b"other", &sealed);
                assert_eq!(wrong, Err(CryptoError::Rejected));
                assert_eq!(recipient.open(aad.as_bytes(), &sealed).unwrap(), plaintext);
            }
        }
    }

    /// The vectors are for SHA-256, and AWS-LC's FIPS module has nothing else.
    const KDF: HashAlgorithm =
        if cfg!(feature = "fips") { HashAlgorithm::Sha256 } else { HashAlgorithm::Sha384 };
    const SUITE: HpkeSuite = HpkeSuite { kdf: KDF, aead: AeadAlgorithm::Aes256Gcm };

    #[test]
    fn generated_keys_differ_and_work_with_each_kdf() {
        let (one, other) = (HpkeKey::generate().unwrap(), HpkeKey::generate().unwrap());
        assert_ne!(one.public_key(), other.public_key());
        let (mut sender, enc) = HpkeSender::new(SUITE, &one.public_key().unwrap(), b"i").unwrap();
        let mut sealed = [0; 3 + 16];
        sender.seal(b"", b"abc", &mut sealed).unwrap();
        let open = |key| HpkeRecipient::new(SUITE, key, &enc, b"i").unwrap().open(b"", &sealed);
        assert_eq!(open(&one), Ok(b"abc".to_vec()));
        assert_eq!(open(&other), Err(CryptoError::Rejected));
        let of_other_info = HpkeRecipient::new(SUITE, &one, &enc, b"j").unwrap().open(b"", &sealed);
        assert_eq!(of_other_info, Err(CryptoError::Rejected));
    }

    /// RFC 9180 7.1.4
    #[test]
    fn bad_public_and_encapsulated_keys_are_refused() {
        let key = HpkeKey::generate().unwrap();
        for bad in [&[0; 32][..], &[9; 31], &[9; 33], &[]] {
            let recipient = HpkeRecipient::new(SUITE, &key, bad, b"");
            assert_eq!(recipient.unwrap_err(), CryptoError::InvalidShare);
            let sender = HpkeSender::new(SUITE, bad, b"");
            assert_eq!(sender.unwrap_err(), CryptoError::InvalidShare);
        }
        assert_eq!(HpkeKey::from_private(&[1; 31]).unwrap_err(), CryptoError::InvalidKey);
        let with_sha512 = HpkeSuite { kdf: HashAlgorithm::Sha512, ..SUITE };
        let sender = HpkeSender::new(with_sha512, &key.public_key().unwrap(), b"");
        assert_eq!(sender.unwrap_err(), CryptoError::Unsupported);
    }

    #[test]
    fn a_short_output_and_a_short_ciphertext_are_refused() {
        let key = HpkeKey::generate().unwrap();
        let (mut sender, enc) = HpkeSender::new(SUITE, &key.public_key().unwrap(), b"").unwrap();
        let sealed = sender.seal(b"", b"abc", &mut [0; 3 + 15]);
        assert_eq!(sealed, Err(CryptoError::BufferTooSmall));
        let mut recipient = HpkeRecipient::new(SUITE, &key, &enc, b"").unwrap();
        for length in 0..16 {
            assert_eq!(recipient.open(b"", &vec![0; length]), Err(CryptoError::Rejected));
        }
    }

    #[test]
    fn debug_shows_nothing() {
        let key = HpkeKey::generate().unwrap();
        assert_eq!(format!("{key:?}"), "HpkeKey(..)");
        let (sender, enc) = HpkeSender::new(SUITE, &key.public_key().unwrap(), b"").unwrap();
        let recipient = HpkeRecipient::new(SUITE, &key, &enc, b"").unwrap();
        assert_eq!(format!("{sender:?} {recipient:?}"), "HpkeSender(..) HpkeRecipient(..)");
    }
}

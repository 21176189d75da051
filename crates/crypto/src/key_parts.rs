//! What public and private keys have in common: their kinds and sizes.
//!
//! See `public_key.rs` and `signing_key.rs`, which parse and use them.

#[cfg(feature = "fips")]
use core::ops::Deref;

use crate::algorithm::HashAlgorithm;
use crate::backend::ec::EcKey;
use crate::backend::ml_dsa::MlDsaKey;
use crate::backend::rsa::RsaKey;
use crate::error::CryptoError;
#[cfg(not(feature = "fips"))]
use crate::hash::{Digest, Hash};
use crate::signature::{KeyKind, SignatureAlgorithm, pss_algorithms};

/// A public or private key. `Ed` is the form of an Ed25519 key, which differs between the two.
pub(crate) enum KeyParts<Ed> {
    /// An RSA key with its kind and the algorithms that it may be used with.
    Rsa(RsaKey, KeyKind, &'static [SignatureAlgorithm]),
    Ec(EcKey),
    Ed25519(Ed),
    MlDsa(MlDsaKey),
}

impl<Ed> KeyParts<Ed> {
    /// An RSA key under rsaEncryption.
    pub(crate) fn rsa(key: RsaKey, sizes: RsaSizes) -> Result<Self, CryptoError> {
        Ok(Self::Rsa(sizes.check(key)?, KeyKind::Rsa, KeyKind::Rsa.algorithms()))
    }

    /// An RSA key under id-RSASSA-PSS, and the only hash that its parameters allow, if any.
    pub(crate) fn rsa_pss(
        key: RsaKey,
        only: Option<HashAlgorithm>,
        sizes: RsaSizes,
    ) -> Result<Self, CryptoError> {
        Ok(Self::Rsa(sizes.check(key)?, KeyKind::RsaPss, pss_algorithms(only)))
    }

    pub(crate) fn kind(&self) -> KeyKind {
        match self {
            Self::Rsa(_, kind, _) => *kind,
            Self::Ec(key) => key.curve().into(),
            Self::Ed25519(_) => KeyKind::Ed25519,
            Self::MlDsa(key) => key.set().into(),
        }
    }

    pub(crate) fn bits(&self) -> usize {
        match self {
            Self::Rsa(key, ..) => key.bits(),
            Self::Ec(key) => key.curve().bits(),
            Self::Ed25519(_) => 256,
            Self::MlDsa(key) => key.set().public_key_len() * 8,
        }
    }

    pub(crate) fn algorithms(&self) -> &'static [SignatureAlgorithm] {
        match self {
            Self::Rsa(_, _, algorithms) => algorithms,
            _ => self.kind().algorithms(),
        }
    }
}

/// The sizes of RSA keys that are accepted.
#[derive(Clone, Copy)]
pub(crate) enum RsaSizes {
    /// From 2048 bits: smaller keys are weak.
    Strong,
    /// From 1024 bits, for a peer that is not authenticated. With the FIPS module, which does not
    /// approve these keys, as `Strong`.
    Legacy,
}

impl RsaSizes {
    /// Above 8192 bits a peer could make each verification slow. The FIPS module approves no
    /// modulus with an odd number of bits.
    fn check(self, key: RsaKey) -> Result<RsaKey, CryptoError> {
        const FIPS: bool = cfg!(feature = "fips");
        let least = if matches!(self, Self::Legacy) && !FIPS { 1024 } else { 2048 };
        let bits = key.bits();
        if (least..=8192).contains(&bits) && (!FIPS || bits % 2 == 0) {
            Ok(key)
        } else {
            Err(CryptoError::InvalidKey)
        }
    }
}

/// What an RSA or ECDSA key of the backend signs and verifies: the digest of a message.
#[cfg(not(feature = "fips"))]
pub(crate) fn to_be_signed(hash: HashAlgorithm, message: &[u8]) -> Digest {
    Hash::digest(hash, &[message])
}

/// What an RSA or ECDSA key of the backend signs and verifies: the FIPS module hashes the message.
#[cfg(feature = "fips")]
pub(crate) fn to_be_signed(_: HashAlgorithm, message: &[u8]) -> Message<'_> {
    Message(message)
}

/// A message that is not hashed yet.
#[cfg(feature = "fips")]
pub(crate) struct Message<'m>(&'m [u8]);

#[cfg(feature = "fips")]
impl Deref for Message<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0
    }
}

//! IANA code points of cipher suites, groups and signature schemes.

use crate::row::{Group, Scheme, Suite};

impl Suite {
    /// The code point.
    #[must_use]
    pub fn number(self) -> u16 {
        match self {
            Self::Aes128GcmSha256 => 0x1301,
            Self::Aes256GcmSha384 => 0x1302,
            Self::ChaCha20Poly1305Sha256 => 0x1303,
            Self::EcdheEcdsaAes128GcmSha256 => 0xc02b,
            Self::EcdheEcdsaAes256GcmSha384 => 0xc02c,
            Self::EcdheRsaAes128GcmSha256 => 0xc02f,
            Self::EcdheRsaAes256GcmSha384 => 0xc030,
            Self::EcdheRsaChaCha20Poly1305 => 0xcca8,
            Self::EcdheEcdsaChaCha20Poly1305 => 0xcca9,
        }
    }

    /// The suite of a code point.
    #[must_use]
    pub fn of_number(number: u16) -> Option<Self> {
        Self::ALL.iter().find(|each| each.number() == number).copied()
    }
}

impl Group {
    /// The code point.
    #[must_use]
    pub fn number(self) -> u16 {
        match self {
            Self::Secp256r1 => 0x0017,
            Self::X25519 => 0x001d,
            Self::X25519MlKem768 => 0x11ec,
        }
    }

    /// The group of a code point.
    #[must_use]
    pub fn of_number(number: u16) -> Option<Self> {
        Self::ALL.iter().find(|each| each.number() == number).copied()
    }
}

impl Scheme {
    /// The code point.
    #[must_use]
    pub fn number(self) -> u16 {
        match self {
            Self::EcdsaSecp256r1Sha256 => 0x0403,
            Self::RsaPssRsaeSha256 => 0x0804,
            Self::Ed25519 => 0x0807,
        }
    }

    /// The scheme of a code point.
    #[must_use]
    pub fn of_number(number: u16) -> Option<Self> {
        Self::ALL.iter().find(|each| each.number() == number).copied()
    }
}

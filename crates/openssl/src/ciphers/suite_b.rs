//! The profiles of Suite B: AES-GCM, ECDHE and ECDSA with P-256 and P-384. RFC 6460

use core::ffi::c_ulong;

use tercel::wire::{CipherSuite, NamedGroup, SignatureScheme};

use CipherSuite as C;
use SignatureScheme as S;

/// The flags of certificates that select a profile (`ssl.h`), which libcrypto has for chains, too.
pub(crate) const FLAGS: u32 = 0x3_0000;
const ONLY_128: u32 = 0x1_0000;
const ONLY_192: u32 = 0x2_0000;

/// What a profile allows.
pub(crate) struct Profile {
    pub(crate) suites: &'static [CipherSuite],
    pub(crate) groups: &'static [NamedGroup],
    pub(crate) schemes: &'static [SignatureScheme],
    /// The flags for the verification of chains.
    pub(crate) flags: c_ulong,
}

const AES128: [CipherSuite; 2] =
    [C::TLS_AES_128_GCM_SHA256, C::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256];
const AES256: [CipherSuite; 2] =
    [C::TLS_AES_256_GCM_SHA384, C::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384];

static LEVEL_128_ONLY: Profile = Profile {
    suites: &AES128,
    groups: &[NamedGroup::SECP256R1],
    schemes: &[S::ECDSA_SECP256R1_SHA256],
    flags: 0x1_0000,
};
static LEVEL_192: Profile = Profile {
    suites: &AES256,
    groups: &[NamedGroup::SECP384R1],
    schemes: &[S::ECDSA_SECP384R1_SHA384],
    flags: 0x2_0000,
};
static LEVEL_128: Profile = Profile {
    suites: &[AES128[0], AES128[1], AES256[0], AES256[1]],
    groups: &[NamedGroup::SECP256R1, NamedGroup::SECP384R1],
    schemes: &[S::ECDSA_SECP256R1_SHA256, S::ECDSA_SECP384R1_SHA384],
    flags: 0x3_0000,
};

/// The profile that the flags of certificates select.
pub(crate) fn profile(flags: u32) -> Option<&'static Profile> {
    match flags & FLAGS {
        0 => None,
        ONLY_128 => Some(&LEVEL_128_ONLY),
        ONLY_192 => Some(&LEVEL_192),
        _ => Some(&LEVEL_128),
    }
}

/// The flags of the profile with whose name a cipher string begins.
pub(crate) fn named(text: &str) -> Option<u32> {
    if text.starts_with("SUITEB128ONLY") {
        Some(ONLY_128)
    } else if text.starts_with("SUITEB192") {
        Some(ONLY_192)
    } else {
        text.starts_with("SUITEB128").then_some(FLAGS)
    }
}

/// The cipher string that takes the place of each other one if the flags select a profile.
pub(crate) fn rule(flags: u32, text: &str) -> Option<&'static str> {
    match flags & FLAGS {
        0 => None,
        ONLY_128 => Some("ECDHE-ECDSA-AES128-GCM-SHA256"),
        ONLY_192 => Some("ECDHE-ECDSA-AES256-GCM-SHA384"),
        _ if text.starts_with("SUITEB128C2") => Some("ECDHE-ECDSA-AES256-GCM-SHA384"),
        _ => Some("ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384"),
    }
}

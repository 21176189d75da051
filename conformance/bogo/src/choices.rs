//! What is offered and accepted: versions, suites, groups, signature schemes.
//!
//! Where the runner sets nothing these are BoringSSL's defaults, which its tests take for granted.
//! Must not know: the library's builders. Next: [`crate::config`].

use tercel::wire::{CipherSuite, NamedGroup, ProtocolVersion, SignatureScheme};

use crate::options::{self, CredentialOptions, Options, Unfit};

pub(crate) fn versions(options: &Options) -> Vec<ProtocolVersion> {
    let highest = if options.max_version == 0 { u16::MAX } else { options.max_version };
    let allowed = |version: &ProtocolVersion| {
        let off = match *version {
            ProtocolVersion::TLS1_3 => options.no_tls13,
            _ => options.no_tls12,
        };
        !off && (options.min_version..=highest).contains(&version.0)
    };
    [ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2].into_iter().filter(allowed).collect()
}

pub(crate) fn groups(options: &Options) -> Result<Option<Vec<NamedGroup>>, Unfit> {
    if !options.curves.is_empty() {
        return known_groups(&options.curves).map(Some);
    }
    Ok(match options.policy {
        Some(options::Policy::Fips202205) => {
            Some(vec![NamedGroup::SECP256R1, NamedGroup::SECP384R1])
        }
        Some(options::Policy::Wpa202304) => Some(vec![NamedGroup::SECP384R1]),
        None => None,
    })
}

/// The groups to send shares for, where the library's choice is not BoringSSL's: a hybrid after a classic
/// group gets a share too.
pub(crate) fn key_shares(options: &Options) -> Result<Option<Vec<NamedGroup>>, Unfit> {
    if let Some(shares) = &options.key_shares {
        return known_groups(shares).map(Some);
    }
    let groups = known_groups(&options.curves)?;
    let hybrid = groups.iter().copied().find(|group| HYBRIDS.contains(group));
    Ok(match (groups.first(), hybrid) {
        (Some(first), Some(hybrid)) if *first != hybrid => Some(vec![*first, hybrid]),
        _ => None,
    })
}

fn known_groups(codes: &[u16]) -> Result<Vec<NamedGroup>, Unfit> {
    let known = |code: &u16| {
        let group = NamedGroup(*code);
        let error = || Unfit::Unimplemented(format!("the group {group}"));
        GROUPS.contains(&group).then_some(group).ok_or_else(error)
    };
    codes.iter().map(known).collect()
}

/// The groups of the library, which refuses others when a configuration is built.
const GROUPS: [NamedGroup; 7] = [
    NamedGroup::X25519MLKEM768,
    NamedGroup::X25519,
    NamedGroup::SECP256R1,
    NamedGroup::SECP384R1,
    NamedGroup::SECP521R1,
    NamedGroup::SECP256R1MLKEM768,
    NamedGroup::SECP384R1MLKEM1024,
];

const HYBRIDS: [NamedGroup; 3] =
    [NamedGroup::X25519MLKEM768, NamedGroup::SECP256R1MLKEM768, NamedGroup::SECP384R1MLKEM1024];

pub(crate) fn suites(policy: options::Policy) -> &'static [CipherSuite] {
    const AES_256: [CipherSuite; 3] = [
        CipherSuite::TLS_AES_256_GCM_SHA384,
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
    ];
    const AES: [CipherSuite; 6] = [
        CipherSuite::TLS_AES_128_GCM_SHA256,
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        AES_256[0],
        AES_256[1],
        AES_256[2],
    ];
    match policy {
        options::Policy::Fips202205 => &AES,
        options::Policy::Wpa202304 => &AES_256,
    }
}

/// What we verify; by default what BoringSSL verifies by default, which leaves out P-521 and Ed25519.
pub(crate) fn verified_schemes(options: &Options) -> Vec<SignatureScheme> {
    if !options.verify_prefs.is_empty() {
        return options.verify_prefs.iter().copied().map(SignatureScheme).collect();
    }
    options.policy.map_or(VERIFIED.to_vec(), schemes)
}

/// What a credential signs with, where that is restricted.
pub(crate) fn signing_schemes(
    from: &CredentialOptions,
    options: &Options,
) -> Option<Vec<SignatureScheme>> {
    if !from.signing_prefs.is_empty() {
        return Some(from.signing_prefs.iter().copied().map(SignatureScheme).collect());
    }
    options.policy.map(schemes)
}

fn schemes(policy: options::Policy) -> Vec<SignatureScheme> {
    let allowed = |scheme: &SignatureScheme| match policy {
        options::Policy::Fips202205 => true,
        options::Policy::Wpa202304 => !matches!(
            *scheme,
            SignatureScheme::ECDSA_SECP256R1_SHA256
                | SignatureScheme::RSA_PSS_RSAE_SHA256
                | SignatureScheme::RSA_PKCS1_SHA256
        ),
    };
    VERIFIED.into_iter().filter(allowed).collect()
}

const VERIFIED: [SignatureScheme; 8] = [
    SignatureScheme::ECDSA_SECP256R1_SHA256,
    SignatureScheme::RSA_PSS_RSAE_SHA256,
    SignatureScheme::RSA_PKCS1_SHA256,
    SignatureScheme::ECDSA_SECP384R1_SHA384,
    SignatureScheme::RSA_PSS_RSAE_SHA384,
    SignatureScheme::RSA_PKCS1_SHA384,
    SignatureScheme::RSA_PSS_RSAE_SHA512,
    SignatureScheme::RSA_PKCS1_SHA512,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_follow_every_flag_that_restricts_them() {
        let all = [ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2];
        let with = |change: fn(&mut Options)| {
            let mut options = Options::default();
            change(&mut options);
            versions(&options)
        };
        assert_eq!(with(|_| {}), all);
        assert_eq!(with(|o| o.no_tls12 = true), all[..1]);
        assert_eq!(with(|o| o.max_version = 0x0303), all[1..]);
        assert_eq!(with(|o| o.min_version = 0x0304), all[..1]);
        assert!(with(|o| o.max_version = 0x0302).is_empty());
    }

    #[test]
    fn a_group_we_lack_is_not_implemented() {
        assert_eq!(known_groups(&[29]).ok(), Some(vec![NamedGroup::X25519]));
        assert!(matches!(known_groups(&[29, 30]), Err(Unfit::Unimplemented(_))));
    }
}

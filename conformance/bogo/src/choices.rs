//! The values that the shim offers and accepts: versions, suites, groups, signature schemes.
//!
//! If the runner sets no flag, the values are BoringSSL's defaults, on which its tests rely.

use tercel::wire::{
    CertificateType, CipherSuite, ClientHello, List, NamedGroup, ProtocolVersion, SignatureScheme,
};
use tercel_crypto::has_fast_aes;

use crate::cipher_string;
use crate::options::{self, CredentialOptions, Options, Unsupported};

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

/// The groups, best first. Groups of equal preference are in the order of `hello`, if there is one.
pub(crate) fn groups(
    options: &Options,
    hello: Option<&ClientHello<'_>>,
) -> Result<Option<Vec<NamedGroup>>, Unsupported> {
    if !options.curves.is_empty() {
        let theirs = hello.and_then(|hello| hello.extensions.supported_groups);
        let theirs: Vec<NamedGroup> = theirs.iter().flat_map(List::iter).collect();
        let mut classes: Vec<Vec<NamedGroup>> = Vec::new();
        let mut joins = false;
        for (position, group) in known_groups(&options.curves)?.into_iter().enumerate() {
            match classes.last_mut().filter(|_| joins) {
                Some(equal) => equal.push(group),
                None => classes.push(vec![group]),
            }
            joins = options.curves_flags.get(position) == Some(&1);
        }
        return Ok(Some(approved(options, in_order(classes, &theirs), &NOT_APPROVED_GROUPS)));
    }
    Ok(match options.policy {
        Some(options::Policy::Fips202205) => {
            Some(vec![NamedGroup::SECP256R1, NamedGroup::SECP384R1])
        }
        Some(options::Policy::Wpa202304) => Some(vec![NamedGroup::SECP384R1]),
        Some(options::Policy::Cnsa1) => Some(vec![NamedGroup::MLKEM1024, NamedGroup::SECP384R1]),
        Some(options::Policy::Cnsa2) => Some(vec![NamedGroup::MLKEM1024]),
        Some(options::Policy::Cnsa202407) | None => None,
    })
}

/// Concatenates classes of equal preference, each in the peer's order.
fn in_order<T: PartialEq>(mut classes: Vec<Vec<T>>, theirs: &[T]) -> Vec<T> {
    let place = |item: &T| theirs.iter().position(|their| their == item).unwrap_or(theirs.len());
    classes.iter_mut().for_each(|equal| equal.sort_by_key(place));
    classes.into_iter().flatten().collect()
}

/// The groups that the server is assumed to support. The library ignores unknown groups.
pub(crate) fn server_groups(options: &Options) -> Vec<NamedGroup> {
    options.server_groups.iter().copied().map(NamedGroup).collect()
}

/// The groups of the key shares, if BoringSSL's choice differs from the library's: the best classic
/// group and the best group with ML-KEM.
pub(crate) fn key_shares(options: &Options) -> Result<Option<Vec<NamedGroup>>, Unsupported> {
    if let Some(shares) = &options.key_shares {
        let shares = approved(options, known_groups(shares)?, &NOT_APPROVED_GROUPS);
        // The library would refuse them, because they are not among its groups.
        let refused = shares.iter().find(|share| NOT_APPROVED_GROUPS.contains(share));
        return match refused.filter(|_| options.fips) {
            Some(group) => Err(Unsupported::NotFips(format!("key_shares: {group}"))),
            None => Ok(Some(shares)),
        };
    }
    let groups = approved(options, known_groups(&options.curves)?, &NOT_APPROVED_GROUPS);
    let best = |post_quantum: bool| {
        let place = groups.iter().position(|group| POST_QUANTUM.contains(group) == post_quantum);
        place.filter(|_| groups.first().is_some_and(|first| !HYBRIDS.contains(first)))
    };
    Ok(match (best(false), best(true)) {
        (Some(classic), Some(other)) => {
            let places = [classic.min(other), classic.max(other)];
            Some(places.into_iter().filter_map(|place| groups.get(place).copied()).collect())
        }
        _ => None,
    })
}

fn known_groups(codes: &[u16]) -> Result<Vec<NamedGroup>, Unsupported> {
    let known = |code: &u16| {
        let group = NamedGroup(*code);
        let error = || Unsupported::Unimplemented(format!("the group {group}"));
        GROUPS.contains(&group).then_some(group).ok_or_else(error)
    };
    codes.iter().map(known).collect()
}

/// The groups that the library supports. A configuration with an unsupported group cannot be built.
const GROUPS: [NamedGroup; 8] = [
    NamedGroup::X25519MLKEM768,
    NamedGroup::X25519,
    NamedGroup::SECP256R1,
    NamedGroup::SECP384R1,
    NamedGroup::SECP521R1,
    NamedGroup::SECP256R1MLKEM768,
    NamedGroup::SECP384R1MLKEM1024,
    NamedGroup::MLKEM1024,
];

/// The hybrid groups whose classic group the library also offers alone.
const HYBRIDS: [NamedGroup; 3] =
    [NamedGroup::X25519MLKEM768, NamedGroup::SECP256R1MLKEM768, NamedGroup::SECP384R1MLKEM1024];

const POST_QUANTUM: [NamedGroup; 4] = [HYBRIDS[0], HYBRIDS[1], HYBRIDS[2], NamedGroup::MLKEM1024];

/// The cipher suites, if a test sets them. Suites of equal preference are in the order of the
/// client, if `hello` is given.
pub(crate) fn suites(
    options: &Options,
    hello: Option<&ClientHello<'_>>,
) -> Result<Option<Vec<CipherSuite>>, Unsupported> {
    if let Some(policy) = options.policy {
        return Ok(Some(suites_of(policy)));
    }
    let Some(string) = &options.cipher else { return Ok(None) };
    let unknown = || Unsupported::Unimplemented(format!("the cipher suites {string}"));
    let classes = cipher_string::suites(string).ok_or_else(unknown)?;
    let theirs: Vec<CipherSuite> =
        hello.iter().flat_map(|hello| hello.cipher_suites.iter()).collect();
    // The string does not affect TLS 1.3.
    let mut tls13 = TLS13.to_vec();
    if !has_fast_aes() {
        tls13.rotate_right(1);
    }
    let mut suites = approved(options, tls13, &NOT_APPROVED_SUITES);
    suites.extend(approved(options, in_order(classes, &theirs), &NOT_APPROVED_SUITES));
    Ok(Some(suites))
}

/// With the option `fips`, removes the values that it does not allow from a list, unless no other
/// is left: then the library refuses the list.
fn approved<T: PartialEq>(options: &Options, mut list: Vec<T>, not_approved: &[T]) -> Vec<T> {
    if options.fips && !list.iter().all(|item| not_approved.contains(item)) {
        list.retain(|item| !not_approved.contains(item));
    }
    list
}

/// The groups of the library that are not approved in the sense of FIPS 140-3.
const NOT_APPROVED_GROUPS: [NamedGroup; 2] = [NamedGroup::X25519, NamedGroup::MLKEM1024];

/// The cipher suites of the library that are not approved in the sense of FIPS 140-3.
const NOT_APPROVED_SUITES: [CipherSuite; 3] = [
    CipherSuite::TLS_CHACHA20_POLY1305_SHA256,
    CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
    CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
];

const TLS13: [CipherSuite; 3] = [
    CipherSuite::TLS_AES_128_GCM_SHA256,
    CipherSuite::TLS_AES_256_GCM_SHA384,
    CipherSuite::TLS_CHACHA20_POLY1305_SHA256,
];

fn suites_of(policy: options::Policy) -> Vec<CipherSuite> {
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
        options::Policy::Fips202205 => AES.to_vec(),
        options::Policy::Wpa202304 | options::Policy::Cnsa1 => AES_256.to_vec(),
        options::Policy::Cnsa2 => AES_256[..1].to_vec(),
        options::Policy::Cnsa202407 => {
            let tls13 = [TLS13[1], TLS13[0], TLS13[2]];
            tls13.into_iter().chain(cipher_string::all()).collect()
        }
    }
}

/// The certificate types that the peer may send, if a test sets them. RFC 7250
pub(crate) fn accepted_types(options: &Options) -> Option<Vec<CertificateType>> {
    types(&options.accepted_types)
}

/// The certificate types that a client can send: the types set by a flag, or else the types of its
/// credentials. RFC 7250
pub(crate) fn available_types(options: &Options) -> Option<Vec<CertificateType>> {
    types(&options.available_types).or_else(|| {
        let mut found = Vec::new();
        for credential in &options.credentials {
            let raw = credential.raw_public_key;
            let kind = if raw { CertificateType::RAW_PUBLIC_KEY } else { CertificateType::X509 };
            if !found.contains(&kind) {
                found.push(kind);
            }
        }
        Some(found).filter(|found| !found.is_empty())
    })
}

fn types(codes: &[u8]) -> Option<Vec<CertificateType>> {
    let types: Vec<_> = codes.iter().copied().map(CertificateType).collect();
    Some(types).filter(|types| !types.is_empty())
}

/// The signature schemes that are verified. Default: BoringSSL's schemes, without P-521 and
/// Ed25519.
pub(crate) fn verified_schemes(options: &Options) -> Vec<SignatureScheme> {
    if !options.verify_prefs.is_empty() {
        return options.verify_prefs.iter().copied().map(SignatureScheme).collect();
    }
    options.policy.map_or(VERIFIED.to_vec(), schemes)
}

/// The schemes that a credential signs with, if restricted.
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
        options::Policy::Fips202205 | options::Policy::Cnsa202407 => true,
        options::Policy::Cnsa1 | options::Policy::Cnsa2 => matches!(
            *scheme,
            SignatureScheme::ECDSA_SECP384R1_SHA384
                | SignatureScheme::RSA_PSS_RSAE_SHA384
                | SignatureScheme::RSA_PKCS1_SHA384
        ),
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
    fn each_version_flag_restricts_the_versions() {
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
    fn the_option_fips_restricts_lists() {
        let mut options = Options { curves: vec![29, 23], ..Options::default() };
        let both = [NamedGroup::X25519, NamedGroup::SECP256R1];
        assert_eq!(groups(&options, None).ok().flatten().unwrap(), both);
        options.fips = true;
        assert_eq!(groups(&options, None).ok().flatten().unwrap(), both[1..]);
        options.curves = vec![29];
        assert_eq!(groups(&options, None).ok().flatten().unwrap(), both[..1]);
    }

    #[test]
    fn an_unsupported_group_is_not_implemented() {
        assert_eq!(known_groups(&[29]).ok(), Some(vec![NamedGroup::X25519]));
        assert!(matches!(known_groups(&[29, 30]), Err(Unsupported::Unimplemented(_))));
    }
}

//! Offer against configuration: pure functions, one decision each.
//!
//! Must not know: keys, messages to be sent, how a handshake waits. Next: [`super::retry`].

use tercel_crypto::HashAlgorithm;
use tercel_wire::{
    CertificateRequestTls12, CipherSuite, ClientCertificateType, ClientHello, ClientVersions, List,
    NamedGroup, ProtocolVersion, SignatureScheme,
};

use super::certificate_type;
use super::group::KnownGroups;
use crate::config::certificate_types::TypeSet;
use crate::config::common::Common;
use crate::config::credential::{CredentialRequest, Known};
use crate::config::places::Places;
use crate::config::policy::Side;
use crate::config::scheme::SchemeSet;
use crate::config::server::ServerConfig;
use crate::error::{Error, Peer};
use crate::keys::suite::{self, Authentication, Suite};

/// The highest version in common. RFC 9846 4.3.1, 4.2.1
pub(crate) fn version(
    hello: &ClientVersions<'_>,
    common: &Common,
) -> Result<ProtocolVersion, Error> {
    let offered = |version| match &hello.supported_versions {
        Some(versions) => versions.contains(version),
        // Without the extension the legacy field means what it says. RFC 9846 4.2.1
        None => {
            version == ProtocolVersion::TLS1_2 && hello.legacy_version >= ProtocolVersion::TLS1_2
        }
    };
    let both = |version: &ProtocolVersion| common.has_version(*version) && offered(*version);
    let best = [ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2];
    let chosen = best.into_iter().find(both);
    let highest = best.into_iter().find(|version| common.has_version(*version));
    let fallback = hello.cipher_suites.contains(CipherSuite::TLS_FALLBACK_SCSV);
    // A client that fell back could have had more, also one that fell below all we have. RFC 7507 3
    if fallback && highest != chosen {
        return Err(Peer::InappropriateFallback.into());
    }
    chosen.ok_or_else(|| Peer::UnsupportedVersion.into())
}

/// A client's suites that we have, in its order: its list read once, for all questions about it.
#[derive(Clone, Copy)]
pub(crate) struct KnownSuites(Places);

impl KnownSuites {
    pub(crate) fn of(hello: &ClientHello<'_>) -> Self {
        Self(Places::of(hello.cipher_suites.iter().map(suite::place)))
    }

    fn has(&self, suite: &Suite) -> bool {
        suite::place(suite.code).is_some_and(|place| self.0.has(place))
    }

    fn iter(&self) -> impl Iterator<Item = &'static Suite> {
        self.0.iter().filter_map(|place| suite::ALL.get(usize::from(place)))
    }
}

/// The best suite of TLS 1.3 in common; if a pre-shared key is to be used, the best with its hash.
/// RFC 9846 4.3.11
pub(crate) fn suite13(
    theirs: &KnownSuites,
    config: &ServerConfig,
    hash: Option<HashAlgorithm>,
) -> Result<&'static Suite, Error> {
    choose_suite(theirs, config, Suite::is_tls13, hash)
}

/// The hashes of the suites of TLS 1.3 in common, that of the best suite first.
pub(crate) fn hashes13(
    theirs: &KnownSuites,
    config: &ServerConfig,
) -> Result<Vec<HashAlgorithm>, Error> {
    let mut hashes = vec![suite13(theirs, config, None)?.hash];
    for other in [HashAlgorithm::Sha256, HashAlgorithm::Sha384] {
        if !hashes.contains(&other) && suite13(theirs, config, Some(other)).is_ok() {
            hashes.push(other);
        }
    }
    Ok(hashes)
}

/// The best suite of TLS 1.2 in common that this kind of authentication serves.
pub(crate) fn suite12(
    theirs: &KnownSuites,
    config: &ServerConfig,
    authentication: Authentication,
) -> Result<&'static Suite, Error> {
    choose_suite(theirs, config, |suite| suite.authentication == Some(authentication), None)
}

fn choose_suite(
    theirs: &KnownSuites,
    config: &ServerConfig,
    fits: impl Fn(&Suite) -> bool,
    hash: Option<HashAlgorithm>,
) -> Result<&'static Suite, Error> {
    let allowed = |suite: &&'static Suite| hash.is_none_or(|hash| suite.hash == hash);
    let ours = || config.common.usable_suites().filter(|suite| fits(suite));
    let in_their_order = || theirs.iter().filter(|suite| ours().any(|own| own == *suite));
    let in_our_order = || ours().filter(|suite| theirs.has(suite));
    let chosen = if config.client_order {
        in_their_order().find(allowed)
    } else if config.common.suites_chosen {
        in_our_order().find(allowed)
    } else {
        // A client that puts ChaCha20 first lacks fast AES, and its battery counts for more. First of
        // all, that is: not of what a hash leaves.
        let chacha = |suite: &&Suite| suite.aead == tercel_crypto::AeadAlgorithm::ChaCha20Poly1305;
        let first = in_their_order().next().filter(chacha).filter(allowed);
        first.or_else(|| in_our_order().find(allowed))
    };
    chosen.ok_or_else(|| Peer::NoSharedCipherSuite.into())
}

/// The group of a TLS 1.3 handshake: ours in order, but among equals one whose share is there.
///
/// A post-quantum group is worth a round trip, one classic group instead of another is not.
pub(crate) fn group13(hello: &ClientHello<'_>, config: &ServerConfig) -> Result<NamedGroup, Error> {
    let theirs = hello.extensions.supported_groups.ok_or(Peer::MissingExtension)?;
    let shares = hello.extensions.key_share.ok_or(Peer::MissingExtension)?;
    let theirs = KnownGroups::of(theirs.iter());
    let shared = KnownGroups::of(shares.iter().map(|share| share.group));
    let ours = || config.common.groups.iter().copied().enumerate();
    let rank = |(ours, group): (usize, NamedGroup)| {
        let theirs = theirs.rank(group)?;
        Some((if config.client_order { theirs } else { ours }, group))
    };
    let (_, best) =
        ours().filter_map(rank).min_by_key(|(rank, _)| *rank).ok_or(Peer::NoSharedGroup)?;
    let equal = |group: NamedGroup| is_post_quantum(group) == is_post_quantum(best);
    let there = ours().filter(|(_, group)| equal(*group) && shared.has(*group)).filter_map(rank);
    Ok(there.min_by_key(|(rank, _)| *rank).map_or(best, |(_, group)| group))
}

/// The group of a TLS 1.2 handshake, which is a classic one.
pub(crate) fn group12(hello: &ClientHello<'_>, config: &ServerConfig) -> Result<NamedGroup, Error> {
    let mut ours = config.common.groups.iter().copied().filter(|group| !is_post_quantum(*group));
    let theirs = hello.extensions.supported_groups.map(|list| KnownGroups::of(list.iter()));
    let chosen = match theirs {
        // A client that says nothing takes any; P-256 is what all of them have. RFC 8422 4
        None => ours.find(|group| *group == NamedGroup::SECP256R1),
        Some(theirs) if config.client_order => theirs
            .iter()
            .find(|group| config.common.groups.contains(group) && !is_post_quantum(*group)),
        Some(theirs) => ours.find(|group| theirs.has(*group)),
    };
    chosen.ok_or_else(|| Peer::NoSharedGroup.into())
}

/// Whether a group has ML-KEM in it, alone or beside a classic exchange; such are for TLS 1.3 only.
pub(crate) fn is_post_quantum(group: NamedGroup) -> bool {
    matches!(
        group,
        NamedGroup::X25519MLKEM768
            | NamedGroup::SECP256R1MLKEM768
            | NamedGroup::SECP384R1MLKEM1024
            | NamedGroup::MLKEM768
            | NamedGroup::MLKEM1024
    )
}

/// The application protocol: ours in order. RFC 7301 3.2
pub(crate) fn alpn<'c>(
    hello: &ClientHello<'_>,
    config: &'c ServerConfig,
) -> Result<Option<&'c [u8]>, Error> {
    let Some(theirs) = &hello.extensions.alpn else { return Ok(None) };
    if config.common.alpn.is_empty() {
        return Ok(None);
    }
    match config.common.alpn.best(theirs.iter().map(|name| name.0)) {
        Some(name) => Ok(Some(name)),
        None if config.ignore_unknown_alpn => Ok(None),
        None => Err(Peer::NoApplicationProtocol.into()),
    }
}

/// The host a client asked for. IP addresses are not host names; who sends one is not heard. RFC 6066 3
pub(crate) fn server_name<'a>(hello: &ClientHello<'a>) -> Option<&'a str> {
    let name = hello.extensions.server_name?.host_name()?;
    if name.is_ip_address() { None } else { Some(name.as_str()) }
}

/// What a server's credential must fit. `None` if the client cannot verify anything.
pub(crate) fn credential_request<'a>(
    hello: &ClientHello<'a>,
    version: ProtocolVersion,
    config: &ServerConfig,
) -> Option<CredentialRequest<'a>> {
    let schemes = hello.extensions.signature_algorithms?;
    Some(request_for(hello, version, config, schemes, SchemeSet::of(schemes)))
}

/// The same for a client that offers a session. It may leave `signature_algorithms` out, since it is then asked to verify
/// nothing; which credential it would be shown is decided as if it could verify everything. RFC 9846 9.2
pub(crate) fn request_to_resume<'a>(
    hello: &ClientHello<'a>,
    version: ProtocolVersion,
    config: &ServerConfig,
) -> CredentialRequest<'a> {
    credential_request(hello, version, config)
        .unwrap_or_else(|| request_for(hello, version, config, List::of(&[]), SchemeSet::all()))
}

fn request_for<'a>(
    hello: &ClientHello<'a>,
    version: ProtocolVersion,
    config: &ServerConfig,
    signature_schemes: List<'a, SignatureScheme>,
    known_schemes: SchemeSet,
) -> CredentialRequest<'a> {
    let tls13 = version == ProtocolVersion::TLS1_3;
    let suites = (!tls13).then(|| KnownSuites::of(hello));
    let serves = |authentication: Authentication| {
        suites.is_none_or(|suites| suite12(&suites, config, authentication).is_ok())
    };
    let certificate_signature_schemes = hello.extensions.signature_algorithms_cert;
    let certificate_types = certificate_type::of_server(hello);
    // In TLS 1.3 the groups say nothing of certificates. RFC 9846 4.3.7
    let groups_of_certificates = hello.extensions.supported_groups.filter(|_| !tls13);
    let known = Known::of(
        known_schemes,
        certificate_signature_schemes,
        groups_of_certificates,
        certificate_types,
    );
    CredentialRequest {
        side: Side::Server,
        version,
        server_name: server_name(hello),
        known,
        signature_schemes,
        certificate_signature_schemes,
        groups: hello.extensions.supported_groups,
        certificate_types,
        key_kinds: (serves(Authentication::Rsa), serves(Authentication::Ecdsa)),
        client_certificate_types: None,
        authorities: hello.extensions.certificate_authorities,
    }
}

/// The error for a server that has no credential to show.
pub(crate) fn no_credential(hello: &ClientHello<'_>, config: &ServerConfig) -> Error {
    let unknown =
        |known: &crate::config::credential::Credentials| known.refuses_name(server_name(hello));
    if config.known_names.as_deref().is_some_and(unknown) {
        return Peer::UnrecognizedName.into();
    }
    let types = TypeSet::of(certificate_type::of_server(hello));
    let ours = config.known_names.as_deref();
    if ours.is_some_and(|ours| ours.lacks_type_of(types)) {
        return Peer::NoCommonCertificateType.into();
    }
    if KnownSuites::of(hello).0.is_empty() {
        Peer::NoSharedCipherSuite.into()
    } else {
        Peer::NoCommonSignatureScheme.into()
    }
}

/// The (RSA, ECDSA and EdDSA) kinds a TLS 1.2 server accepts from clients. RFC 5246 7.4.4, RFC 8422 5.5
pub(crate) fn key_kinds_of(request: &CertificateRequestTls12<'_>) -> (bool, bool) {
    let types = request.certificate_types;
    (
        types.contains(ClientCertificateType::RSA_SIGN),
        types.contains(ClientCertificateType::ECDSA_SIGN),
    )
}

#[cfg(test)]
mod tests {
    use tercel_wire::List;

    use super::*;

    #[test]
    fn a_client_that_fell_back_is_told_so_also_below_our_versions() {
        let common = Common::new();
        let version_of = |legacy_version, fallback: bool| {
            let mut suites = vec![CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256];
            if fallback {
                suites.push(CipherSuite::TLS_FALLBACK_SCSV);
            }
            let cipher_suites = List::of(&suites);
            let hello = ClientVersions { legacy_version, cipher_suites, supported_versions: None };
            version(&hello, &common)
        };
        let (old, newer) = (ProtocolVersion::TLS1_1, ProtocolVersion::TLS1_2);
        assert_eq!(version_of(newer, false), Ok(newer));
        assert_eq!(version_of(newer, true), Err(Peer::InappropriateFallback.into()));
        assert_eq!(version_of(old, false), Err(Peer::UnsupportedVersion.into()));
        assert_eq!(version_of(old, true), Err(Peer::InappropriateFallback.into()));
    }
}
